/* One row of a rival: how much the bets can lose there at most, over all rows that it may truly have. With

       f(w) = sum_y a_y log w_y + sum_e N_e log z_e(w) + s sum_y w_y log(w_y/R_y),  z_e(w) = sum_y w_y^(1-τ_e) Q_ey^(τ_e),

   log z <= log z0 - 1 + z/z0 and a multiplier λ for sum w = 1 separate the letters, and each is the least value over
   0 < v <= 1 of a function

       ψ(v) = λ v - a log v - s v log(v/R) - sum_e (N_e/z0_e) v^(1-τ_e) Q_e^(τ_e),

   which is convex up to some point and concave beyond, since v ψ''(v) falls. docs/theory/adaptive.md, "One row". */
#pragma once
#include "kernel.h"

enum { ROW_STEPS = 40, HALVINGS = 60, GUESSES = 5 };
static const double LEAST_CHANGE = -0.6, LARGEST_CHANGE = 1.0;  /* of a letter's probability in a step, relatively */
static const double STILL = 1e-6;  /* changes below which the row is where most is lost, also where ψ is concave there */
static const double LEAST_LOG = -690.0;         /* of the least probability that a row is given */
static const double FIRST_PROBABILITY = 1e-12;  /* of a letter, at least, before the first step */
static const double LOG_OF_A_TENTH = -2.3;
static const double NEAR = 1e-11;  /* nats of log v */

/* What a row is bet on, and room: (Q/w)^τ, z, N/z, f' and v ψ'', the v at which a letter's ψ is least, what else a step
   needs of every letter, and of every letter and epoch. Epochs lie side by side, so that their powers are vectors. */
typedef struct {
    Size epochs, m;
    double *powers, *z, *weights, *slope, *bend, *reach, *change, *share, *fall, *terms;  /* [y, e], [e], [e], [y] …, [y, e] */
    const double *a, *N, *tau, *logQ, *logR;                                              /* [y], [e], [e], [y, e], [y] */
    double s;
} Row;

static Row row_room(Space *space, Size epochs, Size m) {
    return (Row){.epochs = epochs, .m = m, .powers = take(space, epochs * m), .z = take(space, epochs),
                 .weights = take(space, epochs), .slope = take(space, m), .bend = take(space, m), .reach = take(space, m),
                 .change = take(space, m), .share = take(space, m), .fall = take(space, m),
                 .terms = take(space, epochs * m)};
}

/* λ = sum_y w_y f'_y; fills powers, z, weights and reach = w, which is scaled to sum to 1. */
static double normalised(const Row *row, double *restrict logw) {
    Size m = row->m, epochs = row->epochs;
    double *restrict w = row->reach, *restrict powers = row->powers, *restrict z = row->z;
    double divergence = 0.0, counted = 0.0, unbound = 0.0;
    FOR(y, m) w[y] = quick_exp(logw[y]);
    double total = sum(w, m), shift = quick_log(total);
    FOR(y, m) {
        logw[y] -= shift;
        w[y] /= total;
        counted += row->a[y];
        divergence += w[y] * (logw[y] - row->logR[y]);
    }
    FOR(y, m) FOR(e, epochs) powers[y * epochs + e] = row->tau[e] * (row->logQ[y * epochs + e] - logw[y]);
    FOR(i, epochs * m) powers[i] = quick_exp(powers[i]);  /* of all letters at once: few are slow */
    FOR(e, epochs) z[e] = 0.0;
    FOR(y, m) FOR(e, epochs) z[e] += w[y] * powers[y * epochs + e];
    FOR(e, epochs) row->weights[e] = row->N[e] / z[e];
    FOR(e, epochs) unbound += row->N[e] * (1.0 - row->tau[e]);
    return counted + unbound + row->s * (divergence + 1.0);
}

/* f(w) where the row was normalised. */
static double value_there(const Row *row, const double *logw) {
    double value = 0.0, divergence = 0.0;
    FOR(y, row->m) value += row->a[y] * logw[y], divergence += row->reach[y] * (logw[y] - row->logR[y]);
    FOR(e, row->epochs) value += row->N[e] * quick_log(row->z[e]);
    return value + row->s * divergence;
}

/* slope = f'_y and bend = v ψ''(v) at every letter. */
static void fill_slopes(const Row *row, const double *restrict logw) {
    Size epochs = row->epochs;
    double *restrict factor = row->terms;
    FOR(e, epochs) factor[e] = row->weights[e] * (1.0 - row->tau[e]);
    FOR(y, row->m) {
        double seen = row->a[y] / row->reach[y], slope = seen + row->s * (logw[y] - row->logR[y] + 1.0), bend = seen - row->s;
        FOR(e, epochs) {
            double term = factor[e] * row->powers[y * epochs + e];
            slope += term;
            bend += term * row->tau[e];
        }
        row->slope[y] = slope, row->bend[y] = bend;
    }
}

/* By how much ψ may fall below ψ(w) where it is convex, from ψ'(w) and h = w ψ''(w), which falls with w. */
static inline double allowance(double slope, double h, double w, double s) {
    double r = -2.0 * slope / h, curvature = (h - r * s) / ((1.0 + r) * (1.0 + r) * w);  /* from below on [w, w(1+r)] */
    double below = 0.5 * slope * slope * w / h, beyond = 0.5 * slope * slope / curvature;
    beyond = curvature > 0.0 ? beyond : BC_INFINITY;
    beyond = -slope > curvature * r * w ? BC_INFINITY : beyond;
    beyond = slope > 0.0 ? below : beyond;
    return h > 0.0 ? beyond : BC_INFINITY;
}

/* What a step divides by: v ψ'', kept above 0 where ψ is concave. */
static inline double stiffness(double h, double s) { return larger(h, 0.05 * (h + s) + 1e-300); }

/* fall = ψ(w) - ψ(1) of every letter, and 0 where w is 1. */
static void fill_falls(const Row *row, const double *logw, double multiplier) {
    Size epochs = row->epochs;
    double *restrict at_end = row->terms;
    FOR(y, row->m) FOR(e, epochs) at_end[y * epochs + e] = row->tau[e] * row->logQ[y * epochs + e];
    FOR(i, epochs * row->m) at_end[i] = quick_exp(at_end[i]);
    FOR(y, row->m) {
        double w = row->reach[y], ratio = logw[y] - row->logR[y];
        double at_one = multiplier + row->s * row->logR[y], here = multiplier - row->s * ratio;
        FOR(e, epochs) {
            at_one -= row->weights[e] * at_end[y * epochs + e];
            here -= row->weights[e] * row->powers[y * epochs + e];
        }
        row->fall[y] = w < 1.0 ? w * here - row->a[y] * logw[y] - at_one : 0.0;
    }
}

/* The allowance of all letters together, also where ψ is concave and so least at 1. Where ψ(1) is less than ψ(w), the
   difference is lost; or a larger λ lifts it by d, at the price of d in every slope. */
static double beyond_convexity(const Row *row, const double *logw, double multiplier, double allowed) {
    double lift = 0.0, lost = 0.0, lifted = 0.0, *fall = row->fall;
    fill_falls(row, logw, multiplier);
    FOR(y, row->m) if (fall[y] > 0.0) lost += fall[y], lift = larger(lift, fall[y] / (1.0 - row->reach[y]));
    if (lost == 0.0) return allowed;
    FOR(y, row->m) {
        lifted += allowance(multiplier + lift - row->slope[y], row->bend[y], row->reach[y], row->s);
        if (fall[y] > 0.0) row->reach[y] = 1.0;
    }
    return smaller(allowed + lost, lifted);
}

/* ψ, ψ', v ψ'' and how fast that falls with log v, of one letter at v. */
typedef struct { double value, slope, bending, fall; } Letter;

static Letter letter(const Row *row, Size y, double logv, double multiplier) {
    double v = quick_exp(logv), ratio = logv - row->logR[y], a = row->a[y], s = row->s;
    Letter at = {v * (multiplier - s * ratio) - a * logv, multiplier - a / v - s * (ratio + 1.0), a / v - s, a / v};
    const double *logQ = row->logQ + y * row->epochs;
    double *restrict powers = row->terms;
    FOR(e, row->epochs) powers[e] = row->weights[e] * quick_exp(row->tau[e] * (logQ[e] - logv));
    FOR(e, row->epochs) {
        double tau = row->tau[e], power = powers[e];
        at.value -= v * power;
        at.slope -= power * (1.0 - tau);
        at.bending += power * (1.0 - tau) * tau;
        at.fall += power * (1.0 - tau) * tau * tau;
    }
    return at;
}

/* Whether ψ falls at v, or else is convex there. */
static int goes_on(const Row *row, Size y, double logv, double multiplier, int falling) {
    Letter at = letter(row, y, logv, multiplier);
    return falling ? at.slope <= 0.0 : at.bending >= 0.0;
}

/* log v up to which ψ is convex, or falls, where it does not do so at `high`, which moves next to it: by halving.

   There is one such place. Newton's method from `about`, for ψ' or log(v ψ'' + s), tells where; if it lies within NEAR of
   that, what is further away need not be looked at. */
static double last_of(const Row *row, Size y, double multiplier, int falling, double about, double *high) {
    FOR(i, GUESSES) {
        Letter at = letter(row, y, about, multiplier);
        if (falling) about -= at.slope / at.bending;
        else about += quick_log(1.0 + at.bending / row->s) * (at.bending + row->s) / at.fall;
    }
    double low = LEAST_LOG, before = about - NEAR, after = about + NEAR;
    if (!(before < *high && goes_on(row, y, before, multiplier, falling))) before = -BC_INFINITY;
    if (!(after > about) || goes_on(row, y, after, multiplier, falling)) after = BC_INFINITY;
    FOR(i, HALVINGS) {
        double middle = 0.5 * (low + *high);
        if (middle <= before || (middle < after && goes_on(row, y, middle, multiplier, falling))) low = middle;
        else *high = middle;
    }
    return low;
}

/* A lower bound of ψ on (0, v] for the least v. */
static double left_end(const Row *row, Size y, double multiplier) {
    double value = -quick_exp(LEAST_LOG) * (fabs(multiplier) + row->s * (1.0 + fabs(row->logR[y])));
    const double *logQ = row->logQ + y * row->epochs;
    double *restrict powers = row->terms;
    FOR(e, row->epochs) powers[e] = quick_exp(row->tau[e] * logQ[e] + (1.0 - row->tau[e]) * LEAST_LOG);
    FOR(e, row->epochs) value -= row->weights[e] * powers[e];
    return value;
}

/* The least value of ψ on (0, 1], from below, and about where it is: in `where`, which first is the row's v. */
static double least_of_letter(const Row *row, Size y, double multiplier, double *where) {
    Letter one = letter(row, y, 0.0, multiplier), start = letter(row, y, LEAST_LOG, multiplier);
    double high = 0.0, end = one.bending >= 0.0 ? 0.0 : last_of(row, y, multiplier, 0, 0.0, &high);
    double value = start.value, at = LEAST_LOG;
    if (start.bending < 0.0 || start.slope > 0.0) {
        value = smaller(value, left_end(row, y, multiplier));
    } else {
        Letter last = letter(row, y, end, multiplier);
        value = last.value, at = high = end;
        if (last.slope > 0.0) {
            at = last_of(row, y, multiplier, 1, quick_log(smaller(*where, row->a[y] / multiplier)), &high);
            Letter bottom = letter(row, y, at, multiplier);
            value = bottom.value + bottom.slope * (quick_exp(high) - quick_exp(at));
        }
    }
    *where = value < one.value ? quick_exp(at) : 1.0;
    return value < one.value ? value : one.value;
}

/* Of every letter its allowance, and what a step that keeps sum w = 1 is made of. */
static inline void plan_step(Size m, double multiplier, double s, const double *restrict w, const double *restrict slopes,
                             const double *restrict bends, double *restrict allowances, double *restrict changes,
                             double *restrict shares) {
    FOR(y, m) {
        double h = stiffness(bends[y], s);
        allowances[y] = allowance(multiplier - slopes[y], bends[y], w[y], s);
        changes[y] = w[y] * slopes[y] / h;
        shares[y] = w[y] / h;
    }
}

/* Step to where all slopes are about the target; whether any letter still changes. */
static inline int take_step(Size m, double s, double target, const double *restrict slopes, const double *restrict bends,
                            double *restrict changes, double *restrict logw) {
    int moving = 0;
    FOR(y, m) changes[y] = smaller(larger((slopes[y] - target) / stiffness(bends[y], s), LEAST_CHANGE), LARGEST_CHANGE);
    FOR(y, m) logw[y] = larger(logw[y] + quick_log(1.0 + changes[y]), LEAST_LOG);
    FOR(y, m) moving |= fabs(changes[y]) >= STILL;
    return moving;
}

/* An upper bound of max_w f(w), within `tolerance` of it where that can be shown; `logw` moves to the maximiser. Steps
   are Newton's for every letter by itself, with λ such that the changes sum to 0; where they show nothing, the least
   value of every letter is found by halving: slow, and always right. row->reach is left at the v at which ψ is least:
   the derivative of the bound in log R_y is -s reach_y. */
static double row_bound(const Row *row, double *restrict logw, double tolerance) {
    Size m = row->m;
    double multiplier, s = row->s, *slopes = row->slope, *bends = row->bend, *changes = row->change, senses = s;
    FOR(y, m) senses += row->a[y];
    FOR(e, row->epochs) senses += row->N[e];
    FOR(y, m) changes[y] = quick_log(0.1 * row->a[y] / senses + FIRST_PROBABILITY);
    FOR(y, m)  /* a row from earlier counts may have next to nothing where something was counted since */
        if (logw[y] < LOG_OF_A_TENTH) logw[y] = larger(logw[y], changes[y]);
    FOR(i, ROW_STEPS) {
        multiplier = normalised(row, logw);
        fill_slopes(row, logw);
        plan_step(m, multiplier, s, row->reach, slopes, bends, row->fall, changes, row->share);
        double allowed = sum(row->fall, m);
        if (allowed <= tolerance) {
            double value = value_there(row, logw), beyond = beyond_convexity(row, logw, multiplier, allowed);
            if (beyond < BC_INFINITY) return value + beyond;
            break;
        }
        if (!take_step(m, s, sum(changes, m) / sum(row->share, m), slopes, bends, changes, logw)) break;
    }
    multiplier = normalised(row, logw);
    double bound = multiplier;
    FOR(e, row->epochs) bound += row->N[e] > 0.0 ? row->N[e] * (quick_log(row->N[e] / row->weights[e]) - 1.0) : 0.0;
    FOR(y, m) bound -= least_of_letter(row, y, multiplier, row->reach + y);
    return bound;
}
