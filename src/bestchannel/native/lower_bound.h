/* What it costs to make a rival as good as the leader: what the files of it share. Everything in nats.
   docs/theory/characteristic-time.md. */
#ifndef BC_LOWER_BOUND_H
#define BC_LOWER_BOUND_H

#include "kernel.h"

#define TINY 1e-300

/* log p, and a very negative number instead of -∞ for p = 0. */
static inline double log_of(double p) { return bc_log(larger(p, TINY)); }

/* The index of the smallest of the first `count` values. */
static inline Size lowest(const double *values, Size count) {
    Size best = 0;
    for (Size i = 1; i < count; i++)
        if (values[i] < values[best]) best = i;
    return best;
}

/* The rows of one channel with their weights: a = w W, and base = Σ a log W. */
typedef struct {
    Size n, m;
    const double *a, *w;  /* [x, y], [x] */
    double base;
} Side;

/* The parts of a range, each with its ends, the law that nearly has the least value there, and a bound of that. */
enum { MOST_PARTS = 24 };  /* into how many a range is cut at most */
typedef struct { double *low, *high, *law, *bound, *other; } Parts;  /* [part, y], [part, y], [part, y], [part], [y] */

#define tilted_row BC(lower_tilted_row)
#define divergence_sum_row BC(lower_divergence_sum_row)
#define row_parts BC(lower_row_parts)
#define difference_row BC(lower_difference_row)
#define tighten_ranges BC(lower_tighten_ranges)
#define between BC(lower_between)
double tilted_row(Size m, const double *a, double w, const double *h, double *v);
void divergence_sum_row(Size m, const double *a, double w, double t, const double *log_Q, double *v);
Parts row_parts(Space *space, Size m);
double difference_row(Size m, const double *a, double w, double t, const double *log_Q, const double *low,
                      const double *high, double *v, const Parts *parts, double tol);
int tighten_ranges(double *low, double *high, Size m);
double between(double cut, double low, double high, double margin);

/* Room for steps of a side. */
typedef struct { double *P, *Q, *log_Q, *h, *tilt, *weights, *v; } StepRoom;  /* [x], and [y] */

/* A value with its slope. */
typedef struct { double value, slope; } Sloped;

/* The leader at every price of a grid: φ(s) = min_u Σ w D(W‖u) + s C(u), and where it is reached. */
typedef struct {
    Side side;
    Size count;
    const double *s;        /* rising */
    double *phi, *capacity; /* proved lower bounds; C(u), falling */
    double *u, *P;          /* [s, x, y], [s, x] the best input of u */
    StepRoom step;
    double *between_u, *between_P, *new;  /* room for `phi_at`: [x, y], [x], [x, y] */
} Curve;

/* F(c), the price s that gives it, and F''(c). */
typedef struct { double paid, s, bend; } Price;

#define step_room BC(lower_step_room)
#define curve_room BC(lower_curve_room)
#define output BC(lower_output)
#define improve_input BC(lower_improve_input)
#define spread BC(lower_spread)
#define leader_step BC(lower_leader_step)
#define move BC(lower_move)
#define phi_at BC(lower_phi_at)
#define leader_cost BC(lower_leader_cost)
StepRoom step_room(Space *space, Size n, Size m);
void curve_room(Space *space, Curve *curve);
void output(Size n, Size m, const double *v, const double *P, double *Q);
double improve_input(Size n, Size m, const double *v, double *P, const StepRoom *room);
double spread(Size m, const double *weights, const double *h);
Sloped leader_step(const Side *side, double s, const double *u, const double *P, double *new, const StepRoom *room);
double move(double *old, const double *new, Size count);
double phi_at(const Curve *curve, double s);
Price leader_cost(const Curve *curve, double c);

#endif
