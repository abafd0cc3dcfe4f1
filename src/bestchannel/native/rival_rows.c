/* One row of a rival: how much the bets can lose there at most, over all rows that it may truly have.

   f(w) of `RowBets` is bounded from above over all distributions w: log z <= log z0 - 1 + z/z0 and a multiplier λ for
   sum w = 1 separate the letters, and each is the least value over 0 < v <= 1 of a function

       ψ(v) = λ v - a log v - s v log(v/R) - sum_e (N_e/z0_e) v^(1-τ_e) Q_e^(τ_e),

   which is convex up to some point and concave beyond, since v ψ''(v) falls. docs/theory/adaptive.md, "One row". */
#include "rival.h"

enum { MOST_STEPS = 40, HALVINGS = 60 };
static const double LEAST_CHANGE = -0.6, LARGEST_CHANGE = 1.0;  /* of a letter's probability in a step, relatively */
static const double STILL = 1e-6;  /* changes below which the row is where most is lost, also where ψ is concave there */
static const double LEAST_LOG = -690.0;         /* of the least probability that a row is given */
static const double FIRST_PROBABILITY = 1e-12;  /* of a letter, at least, before the first step */
static const double LOG_OF_A_TENTH = -2.3;

RowRoom row_room(Space *space, Size epochs, Size m) {
    return (RowRoom){take(space, epochs * m), take(space, epochs), take(space, m), take(space, m), take(space, m)};
}

/* A row from earlier counts may have next to nothing where something was counted since: begin with a little. */
static void lift_letters(const RowBets *row, double *logw) {
    double total = row->s;
    for (Size y = 0; y < row->m; y++) total += row->a[y];
    for (Size e = 0; e < row->epochs; e++) total += row->N[e];
    for (Size y = 0; y < row->m; y++)
        if (logw[y] < LOG_OF_A_TENTH)
            logw[y] = larger(logw[y], quick_log(0.1 * row->a[y] / total + FIRST_PROBABILITY));
}

/* f(w) and λ = sum_y w_y f'_y; fills powers = (Q/w)^τ, weights = N/z and reach = w, which is scaled to sum to 1. */
static double normalised_value(const RowBets *row, double *restrict logw, const RowRoom *room, double *multiplier) {
    Size m = row->m;
    double *restrict w = room->reach, *restrict powers = room->powers;
    double total = 0.0, value = 0.0, divergence = 0.0, counted = 0.0, unbound = 0.0;
    for (Size y = 0; y < m; y++) w[y] = quick_exp(logw[y]);
    for (Size y = 0; y < m; y++) total += w[y];
    double shift = quick_log(total);
    for (Size y = 0; y < m; y++) {
        logw[y] -= shift;
        w[y] /= total;
        value += row->a[y] * logw[y];
        counted += row->a[y];
        divergence += w[y] * (logw[y] - row->logR[y]);
    }
    for (Size e = 0; e < row->epochs; e++)
        for (Size y = 0; y < m; y++) powers[e * m + y] = row->tau[e] * (row->logQ[e * m + y] - logw[y]);
    for (Size i = 0; i < row->epochs * m; i++) powers[i] = quick_exp(powers[i]);  /* of all epochs at once: few are slow */
    for (Size e = 0; e < row->epochs; e++) {
        double z = 0.0;
        for (Size y = 0; y < m; y++) z += w[y] * powers[e * m + y];
        value += row->N[e] * quick_log(z);
        room->weights[e] = row->N[e] / z;
        unbound += row->N[e] * (1.0 - row->tau[e]);
    }
    *multiplier = counted + unbound + row->s * (divergence + 1.0);
    return value + row->s * divergence;
}

/* slope = f'_y and bend = v ψ''(v) at every letter. */
static void fill_slopes(const RowBets *row, const double *restrict logw, const RowRoom *room) {
    double *restrict slope = room->slope, *restrict bend = room->bend;
    for (Size y = 0; y < row->m; y++) {
        double seen = row->a[y] / room->reach[y];
        slope[y] = seen + row->s * (logw[y] - row->logR[y] + 1.0);
        bend[y] = seen - row->s;
    }
    for (Size e = 0; e < row->epochs; e++) {
        double tau = row->tau[e], factor = room->weights[e] * (1.0 - tau);
        const double *powers = room->powers + e * row->m;
        for (Size y = 0; y < row->m; y++) {
            double term = factor * powers[y];
            slope[y] += term;
            bend[y] += term * tau;
        }
    }
}

/* By how much ψ may fall below ψ(w) where it is convex, from ψ'(w) and h = w ψ''(w), which falls with w. */
static double allowance(double slope, double h, double w, double s) {
    if (!(h > 0.0)) return BC_INFINITY;
    if (slope > 0.0) return 0.5 * slope * slope * w / h;
    double r = -2.0 * slope / h, curvature = (h - r * s) / ((1.0 + r) * (1.0 + r) * w);  /* from below on [w, w(1+r)] */
    if (!(curvature > 0.0) || -slope > curvature * r * w) return BC_INFINITY;
    return 0.5 * slope * slope / curvature;
}

/* What a step divides by: v ψ'', kept above 0 where ψ is concave. */
static inline double stiffness(double h, double s) { return larger(h, 0.05 * (h + s) + 1e-300); }

/* ψ(w) - ψ(1) of the letter y, and 0 where w is 1. */
static double fall_at_one(const RowBets *row, Size y, const double *logw, const RowRoom *room, double multiplier) {
    double w = room->reach[y], ratio = logw[y] - row->logR[y];
    double at_one = multiplier + row->s * row->logR[y], here = multiplier - row->s * ratio;
    for (Size e = 0; e < row->epochs; e++) {
        at_one -= room->weights[e] * quick_exp(row->tau[e] * row->logQ[e * row->m + y]);
        here -= room->weights[e] * room->powers[e * row->m + y];
    }
    return w < 1.0 ? w * here - row->a[y] * logw[y] - at_one : 0.0;
}

/* The allowance of all letters together, also where ψ is concave and so least at 1.

   Where ψ(1) is less than ψ(w), the difference is lost; or a larger λ lifts it by d, at the price of d in every slope. */
static double beyond_convexity(const RowBets *row, const double *logw, const RowRoom *room, double multiplier,
                               double allowed) {
    double lift = 0.0, lost = 0.0, lifted = 0.0, *reach = room->reach;
    for (Size y = 0; y < row->m; y++) {
        double fall = fall_at_one(row, y, logw, room, multiplier);
        if (fall > 0.0) {
            lost += fall;
            lift = larger(lift, fall / (1.0 - reach[y]));
        }
    }
    if (lost == 0.0) return allowed;
    for (Size y = 0; y < row->m; y++) {
        lifted += allowance(multiplier + lift - room->slope[y], room->bend[y], reach[y], row->s);
        if (fall_at_one(row, y, logw, room, multiplier) > 0.0) reach[y] = 1.0;
    }
    return smaller(allowed + lost, lifted);
}

/* ψ, ψ' and v ψ'' of one letter at v. */
typedef struct { double value, slope, bending; } Letter;

static Letter letter(const RowBets *row, Size y, double logv, const double *weights, double multiplier) {
    double v = quick_exp(logv), ratio = logv - row->logR[y], a = row->a[y], s = row->s;
    Letter at = {v * (multiplier - s * ratio) - a * logv, multiplier - a / v - s * (ratio + 1.0), a / v - s};
    for (Size e = 0; e < row->epochs; e++) {
        double tau = row->tau[e], power = weights[e] * quick_exp(tau * (row->logQ[e * row->m + y] - logv));
        at.value -= v * power;
        at.slope -= power * (1.0 - tau);
        at.bending += power * (1.0 - tau) * tau;
    }
    return at;
}

/* log v up to which ψ is convex, where it is not so at 1. */
static double last_convex(const RowBets *row, Size y, const double *weights, double multiplier) {
    double low = LEAST_LOG, high = 0.0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (letter(row, y, middle, weights, multiplier).bending >= 0.0) low = middle;
        else high = middle;
    }
    return low;
}

/* A lower bound of ψ on (0, v]. */
static double left_end(const RowBets *row, Size y, double logv, const double *weights, double multiplier) {
    double value = -quick_exp(logv) * (fabs(multiplier) + row->s * (1.0 + fabs(row->logR[y])));
    for (Size e = 0; e < row->epochs; e++)
        value -= weights[e] * quick_exp(row->tau[e] * row->logQ[e * row->m + y] + (1.0 - row->tau[e]) * logv);
    return value;
}

/* The least value of ψ on (0, 1], from below, and about where it is. */
static double least(const RowBets *row, Size y, const double *weights, double multiplier, double *where) {
    Letter one = letter(row, y, 0.0, weights, multiplier), start = letter(row, y, LEAST_LOG, weights, multiplier);
    double end = one.bending >= 0.0 ? 0.0 : last_convex(row, y, weights, multiplier);
    double value = start.value, at = LEAST_LOG;
    if (start.bending < 0.0 || start.slope > 0.0) {
        value = smaller(value, left_end(row, y, LEAST_LOG, weights, multiplier));
    } else {
        Letter last = letter(row, y, end, weights, multiplier);
        value = last.value, at = end;
        if (last.slope > 0.0) {
            double low = LEAST_LOG, high = end;
            for (int i = 0; i < HALVINGS; i++) {
                double middle = 0.5 * (low + high);
                if (letter(row, y, middle, weights, multiplier).slope <= 0.0) low = middle;
                else high = middle;
            }
            Letter bottom = letter(row, y, low, weights, multiplier);
            value = bottom.value + bottom.slope * (quick_exp(high) - quick_exp(low)), at = low;
        }
    }
    *where = value < one.value ? quick_exp(at) : 1.0;
    return value < one.value ? value : one.value;
}

/* The bound of `row_bound` with the least value of every letter found by halving; slow, and always right. */
static double careful_bound(const RowBets *row, const RowRoom *room, double multiplier) {
    double bound = multiplier;
    for (Size e = 0; e < row->epochs; e++)
        bound += row->N[e] > 0.0 ? row->N[e] * (quick_log(row->N[e] / room->weights[e]) - 1.0) : 0.0;
    for (Size y = 0; y < row->m; y++) bound -= least(row, y, room->weights, multiplier, room->reach + y);
    return bound;
}

/* An upper bound of max_w f(w), within `tolerance` of it where that can be shown; `logw` moves to the maximiser.

   Steps are Newton's for every letter by itself, with λ such that the changes sum to 0. room->reach is left at the v at
   which ψ is least: the derivative of the bound in log R_y is -s reach_y. */
double row_bound(const RowBets *row, double *restrict logw, const RowRoom *room, double tolerance) {
    Size m = row->m;
    double multiplier, s = row->s, *slopes = room->slope, *bends = room->bend;
    lift_letters(row, logw);
    for (int i = 0; i < MOST_STEPS; i++) {
        double value = normalised_value(row, logw, room, &multiplier);
        double allowed = 0.0, moved = 0.0, total = 0.0, largest = 0.0;
        fill_slopes(row, logw, room);
        for (Size y = 0; y < m; y++) {
            double w = room->reach[y], slope = slopes[y], h = bends[y];
            allowed += allowance(multiplier - slope, h, w, s);
            h = stiffness(h, s);
            moved += w * slope / h;
            total += w / h;
        }
        if (allowed <= tolerance) {
            double beyond = beyond_convexity(row, logw, room, multiplier, allowed);
            if (beyond < BC_INFINITY) return value + beyond;
            break;
        }
        double target = moved / total;
        for (Size y = 0; y < m; y++) {
            double change = smaller(larger((slopes[y] - target) / stiffness(bends[y], s), LEAST_CHANGE), LARGEST_CHANGE);
            slopes[y] = fabs(change);
            logw[y] = larger(logw[y] + quick_log(1.0 + change), LEAST_LOG);
        }
        for (Size y = 0; y < m; y++) largest = larger(largest, slopes[y]);
        if (largest < STILL) break;
    }
    normalised_value(row, logw, room, &multiplier);
    return careful_bound(row, room, multiplier);
}

/* `row_bound` by itself, for tests; its room must have so many numbers. */
BC_EXPORT Size BC(rival_row_room)(Size epochs, Size m) {
    Space space = {0, 0};
    row_room(&space, epochs, m);
    return space.used;
}

BC_EXPORT double BC(rival_row)(Size epochs, Size m, const double *a, const double *N, const double *tau,
                               const double *logQ, double s, const double *logR, double *logw, double tolerance,
                               double *room) {
    Space space = {room, 0};
    RowRoom work = row_room(&space, epochs, m);
    RowBets row = {epochs, m, a, N, tau, logQ, s, logR};
    return row_bound(&row, logw, &work, tolerance);
}

/* `quick_log` and `quick_exp` of kernel.h on arrays, for tests. */
BC_EXPORT void BC(kernel_log)(Size count, const double *x, double *out) {
    for (Size i = 0; i < count; i++) out[i] = quick_log(x[i]);
}

BC_EXPORT void BC(kernel_exp)(Size count, const double *x, double *out) {
    for (Size i = 0; i < count; i++) out[i] = quick_exp(x[i]);
}
