/* What it costs to bring the best channel down: φ(s) = min_u Σ_x w_x D(W_x‖u_x) + s C(u) at a price s.

   Convex, and solved once for all rivals on a grid of prices, by steps of Blahut and Arimoto [Bla72, Ari72]. */
#pragma once
#include "row_costs.h"

static const double INPUT_RATE = 1.5;     /* exponent of their steps: 1 is theirs, and below 2 they converge */
static const double LEAST_INPUT = 1e-30;  /* so that an input which a step has ruled out can come back */

/* The rows of one channel with their weights: a = w W, and base = Σ a log W. */
typedef struct {
    Size n, m;
    const double *a, *w;  /* [x, y], [x] */
    double base;
} Side;

/* Room for steps of a side. */
typedef struct { double *P, *Q, *log_Q, *h, *tilt, *weights, *v; } StepRoom;  /* [x], and [y] */

static StepRoom step_room(Space *space, Size n, Size m) {
    double *P = take(space, n), *Q = take(space, 6 * m);
    return (StepRoom){P, Q, Q + m, Q + 2 * m, Q + 3 * m, Q + 4 * m, Q + 5 * m};
}

/* The leader at every price of a grid: φ(s), and where it is reached. */
typedef struct {
    Side side;
    Size count;
    const double *s;                      /* rising */
    double *phi, *capacity;               /* proved lower bounds; C(u), falling */
    double *u, *P;                        /* [s, x, y], [s, x] the best input of u */
    StepRoom step;
    double *between_u, *between_P, *new;  /* room for `phi_at`: [x, y], [x], [x, y] */
} Curve;

static void curve_room(Space *space, Curve *curve) {
    Size n = curve->side.n, m = curve->side.m;
    curve->step = step_room(space, n, m);
    curve->between_u = take(space, n * m), curve->between_P = take(space, n), curve->new = take(space, n * m);
}

/* Q = Pv and its logarithms, in room. */
static void outputs_of(Size n, Size m, const double *v, const double *P, const StepRoom *room) {
    output(n, m, v, P, room->Q);
    FOR(y, m) room->log_Q[y] = log_of(room->Q[y]);
}

/* One step P ← P exp(rate D(v_x‖Pv)), and how far it went. */
static double improve_input(Size n, Size m, const double *v, double *P, const StepRoom *room) {
    double total = 0.0, *new = room->P;
    outputs_of(n, m, v, P, room);
    FOR(x, n) {
        double D = 0.0;
        FOR(y, m) {
            double p = v[x * m + y];
            if (p > 0.0) D += p * (bc_log(p) - room->log_Q[y]);
        }
        new[x] = P[x] * bc_exp(INPUT_RATE * smaller(D, 100.0));
        total += new[x];
    }
    FOR(x, n) new[x] = larger(new[x] / total, LEAST_INPUT);
    return move(P, new, n);
}

/* A value with its slope. */
typedef struct { double value, slope; } Sloped;

/* Add ⟨h, v⟩, and Σ_y weight (h - mean h)²: how fast it follows its price along one row. */
static void add_row(Sloped *all, Size m, const StepRoom *room, const double *v) {
    double total = TINY, mean = 0.0, square = 0.0;
    FOR(y, m) {
        double h = room->h[y], weight = room->weights[y];
        all->value += h * v[y];
        total += weight;
        mean += weight * h;
        square += weight * h * h;
    }
    all->slope += larger(square - mean * mean / total, 0.0);
}

/* The rows at the price s while Q = Pu stays: a descent step, as C(u) is a minimum over Q as well. Returns Σ_x P_x
   D(new_x‖Q) and how fast it falls with s. */
static Sloped leader_step(const Side *side, double s, const double *u, const double *P, double *new,
                          const StepRoom *room) {
    Size n = side->n, m = side->m;
    Sloped information = {0.0, 0.0};
    outputs_of(n, m, u, P, room);
    FOR(x, n) {
        const double t = s * P[x], *a = side->a + x * m;
        double *row = new + x * m;
        divergence_sum_row(m, a, side->w[x], t, room->log_Q, row);
        FOR(y, m) {
            room->h[y] = P[x] * (log_of(row[y]) - room->log_Q[y]);
            room->weights[y] = row[y] * row[y] / larger(a[y] + t * row[y], TINY);
        }
        add_row(&information, m, room, row);
    }
    return information;
}

/* A lower bound of φ(s); fills the information of (P, u). C ≥ Σ_x P_x E_{·|x} log(u_x/Pu) for every P and u: a linear
   function, and the rows separate. */
static double leader_bound(const Side *side, double s, const double *u, const double *P, const StepRoom *room,
                           double *information) {
    Size n = side->n, m = side->m;
    double bound = 0.0;
    *information = 0.0;
    outputs_of(n, m, u, P, room);
    FOR(x, n) {
        FOR(y, m) {
            double h = P[x] * (log_of(u[x * m + y]) - room->log_Q[y]);
            room->tilt[y] = s * h;
            *information += u[x * m + y] * h;
        }
        bound += tilted_row(m, side->a + x * m, side->w[x], room->tilt, room->v);
    }
    return bound;
}

/* The i with x between values[i] and values[i + 1] of a monotone list; the first or last where x is outside. */
static Size segment(const double *values, Size count, double x) {
    Size low = 0, high = count - 1;
    int falling = values[low] > values[high];
    while (high - low > 1) {
        Size middle = (low + high) / 2;
        if ((values[middle] <= x) != falling) low = middle;
        else high = middle;
    }
    return low;
}

/* A lower bound of φ at any price, one step from what lies between the two nearest of the grid. */
static double phi_at(const Curve *curve, double s) {
    Size n = curve->side.n, m = curve->side.m, i = segment(curve->s, curve->count, s);
    double r = smaller(larger((s - curve->s[i]) / (curve->s[i + 1] - curve->s[i]), 0.0), 1.0), information;
    const double *u = curve->u + i * n * m, *P = curve->P + i * n;
    FOR(x, n) curve->between_P[x] = (1.0 - r) * P[x] + r * P[n + x];
    FOR(k, n * m)  /* small entries are about exponential in s */
        curve->between_u[k] = bc_exp((1.0 - r) * log_of(u[k]) + r * log_of(u[n * m + k]));
    leader_step(&curve->side, s, curve->between_u, curve->between_P, curve->new, &curve->step);
    return leader_bound(&curve->side, s, curve->new, curve->between_P, &curve->step, &information);
}

/* F(c), the price s that gives it, and F''(c). */
typedef struct { double paid, s, bend; } Price;

/* F(c) = min{Σ w D(W‖u): C(u) ≤ c} = max_s φ(s) - sc about. Only a guide: φ between the prices of the grid is Hermite's
   cubic, with φ' = C(u). */
static Price leader_cost(const Curve *curve, double c) {
    Size end = curve->count - 1;
    const double *s = curve->s, *phi = curve->phi, *C = curve->capacity;
    if (!(c < C[0])) return (Price){0.0, s[0], 0.0};
    if (!(c > C[end])) return (Price){phi[end] - s[end] * c, s[end], 0.0};
    Size i = segment(C, curve->count, c);
    double width = s[i + 1] - s[i], rise = phi[i + 1] - phi[i], first = width * C[i], last = width * C[i + 1];
    /* φ(s_i + r width) = φ_i + first r + square r² + cube r³, and its slope is to be c */
    double square = 3.0 * rise - 2.0 * first - last, cube = first + last - 2.0 * rise, excess = first - width * c;
    double r = excess / (sqrt(larger(square * square - 3.0 * cube * excess, 0.0)) - square);
    if (!(r >= 0.0 && r <= 1.0)) r = excess / (first - last);
    double bend = -(square + 3.0 * cube * r) * 2.0, price = s[i] + r * width;
    double value = phi[i] + r * (first + r * (square + r * cube));
    return (Price){value - price * c, price, width * width / larger(bend, 0.1 * (first - last))};
}
