/* One row of a rival: how much the bets can lose there at most, over all rows that it may truly have. With

       f(w) = sum_y a_y log w_y + sum_e N_e log z_e(w) + s sum_y w_y log(w_y/R_y),  z_e(w) = sum_y w_y^(1-τ_e) Q_ey^(τ_e),

   log z <= log z0 - 1 + z/z0 and a multiplier λ for sum w = 1 separate the letters, and each is the least value over
   0 < v <= 1 of a function

       ψ(v) = λ v - a log v - s v log(v/R) - sum_e (N_e/z0_e) v^(1-τ_e) Q_e^(τ_e),

   which is convex up to some point and concave beyond, since v ψ''(v) falls. docs/theory/adaptive.md, "One row". */
#pragma once
#include "kernel.h"

enum { ROW_STEPS = 40, HALVINGS = 60, GUESSES = 5, MANY = 8 };  /* MANY: letters from which on falls are bounded first */
static const double LEAST_CHANGE = -0.6, LARGEST_CHANGE = 1.0;  /* of a letter's probability in a step, relatively */
static const double STILL = 1e-6;  /* changes below which the row is where most is lost, also where ψ is concave there */
static const double LEAST_LOG = -690.0;         /* of the least probability that a row is given */
static const double FIRST_PROBABILITY = 1e-12;  /* of a letter, at least, before the first step */
static const double UNLIKELY = -700.0;          /* log Q below which a power may be too small for a number */
static const double LOG_OF_A_TENTH = -2.3;
static const double NEAR = 1e-11;  /* nats of log v */
static const double SURELY = 1e-6;  /* of what is added up: far more than rounding can make of it */

/* What a row is bet on, and room: (Q/w)^τ, z, N/z, f' and v ψ'', the v at which a letter's ψ is least, what else a step
   needs of every letter, and of every epoch and letter. Letters lie side by side, filled up to whole vectors, or where
   they are few to a part of one, so that the next epoch follows in it: what fills up is in no sum over letters. */
typedef struct {
    Size epochs, m;
    double *powers, *terms, *exponents;                  /* [e, y]; the last are τ, for every letter */
    double *z, *weights;                                 /* [e] */
    double *slope, *bend, *reach, *change, *share, *fall;  /* [y] */
    double *seen, *logR, *logw;                          /* [y] a, log R and log w */
    const double *N, *tau, *logQ;                        /* [e], [e], [e, y] */
    double s;
    int64_t likely;  /* whether no log Q is below `UNLIKELY`, nor above 0 */
} Row;

/* How many letters fill whole vectors. */
static inline Size filled(Size m) { return (m + HELD - 1) / HELD * HELD; }

/* From one epoch to the next: whole vectors, or a part of one, into which they divide it. */
static inline Size epoch_size(Size m) {
    Size size = HELD;
    while (size > 1 && size / 2 >= m) size /= 2;
    return m <= size ? size : filled(m);
}

/* Numbers of every epoch and letter; the last vector, which begins with any epoch, may go beyond them. */
static double *take_epochs(Space *space, Size epochs, Size m) { return take(space, epochs * epoch_size(m) + HELD); }

static Row row_room(Space *space, Size epochs, Size m) {
    Size wide = filled(m);
    return (Row){.epochs = epochs, .m = m, .powers = take_epochs(space, epochs, m), .terms = take_epochs(space, epochs, m),
                 .exponents = take_epochs(space, epochs, m), .z = take(space, epochs), .weights = take(space, epochs), .slope = take(space, wide),
                 .bend = take(space, wide), .reach = take(space, wide), .change = take(space, wide),
                 .share = take(space, wide), .fall = take(space, wide), .seen = take(space, wide),
                 .logR = take(space, wide), .logw = take(space, wide)};
}

/* target = source, filled up. */
static inline void fill_up(const double *source, double *restrict target, Size m) {
    FOR(y, filled(m)) target[y] = y < m ? source[y] : 0.0;  /* in whole vectors, as it is read */
}

/* The letters of one epoch, for all epochs of a vector. */
static inline void repeat(double *letters, Size size) {
    for (Size y = size; y < HELD; y++) letters[y] = letters[y - size];
}

/* λ = sum_y w_y f'_y; fills powers, z, weights and reach = w, which is scaled to sum to 1. */
static double normalised(const Row *row) {
    Size m = row->m, epochs = row->epochs, wide = filled(m), size = epoch_size(m);
    double *restrict w = row->reach, *restrict logw = row->logw, *restrict part = row->change;
    double divergence = 0.0, counted = 0.0, unbound = 0.0;
    if (epochs > 1) repeat(logw, size);
    FOR(y, wide) w[y] = exp_within(logw[y]);
    double total = sum(w, m), shift = quick_log(total);
    FOR(y, wide) {
        logw[y] -= shift;
        w[y] /= total;
        part[y] = w[y] * (logw[y] - row->logR[y]);
    }
    FOR(y, m) counted += row->seen[y], divergence += part[y];
    for (Size i = 0; i < epochs * size; i += wide) {
        const double *logQ = row->logQ + i, *tau = row->exponents + i;
        double *restrict power = row->powers + i, *restrict term = row->terms + i;
        if (row->likely) FOR(y, wide) power[y] = exp_within(tau[y] * (logQ[y] - logw[y]));
        else FOR(y, wide) power[y] = quick_exp(tau[y] * (logQ[y] - logw[y]));
        FOR(y, wide) term[y] = w[y] * power[y];
    }
    FOR(e, epochs) row->z[e] = sum(row->terms + e * size, m);
    FOR(e, epochs) row->weights[e] = row->N[e] / row->z[e];
    FOR(e, epochs) unbound += row->N[e] * (1.0 - row->tau[e]);
    return counted + unbound + row->s * (divergence + 1.0);
}

/* f(w) where the row was normalised. */
static double value_there(const Row *row) {
    double value = 0.0, divergence = 0.0;
    FOR(y, row->m) {
        value += row->seen[y] * row->logw[y];
        divergence += row->reach[y] * (row->logw[y] - row->logR[y]);
    }
    FOR(e, row->epochs) value += row->N[e] * quick_log(row->z[e]);
    return value + row->s * divergence;
}

/* slope = f'_y and bend = v ψ''(v) at every letter. */
static void fill_slopes(const Row *row) {
    Size wide = filled(row->m), size = epoch_size(row->m);
    for (Size y = 0; y < wide; y += HELD) {
        Held seen = AS_HELD(row->seen + y) / AS_HELD(row->reach + y);
        Held slope = seen + row->s * (AS_HELD(row->logw + y) - AS_HELD(row->logR + y) + 1.0), bend = seen - row->s;
        FOR(e, row->epochs) {
            Held term = row->weights[e] * (1.0 - row->tau[e]) * AS_HELD(row->powers + e * size + y);
            slope += term;
            bend += term * row->tau[e];
        }
        *(Held *)(row->slope + y) = slope, *(Held *)(row->bend + y) = bend;
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

/* fall = ψ(w) - ψ(1) of every letter, and 0 where w is 1; or without an exponential, as 1 + u + u²/2 is more than e^u for
   u < 0, what is as much or more. */
static void fill_falls(const Row *row, double multiplier, int roughly) {
    Size wide = filled(row->m), size = epoch_size(row->m);
    double *restrict at_one = row->share, *restrict here = row->change, *restrict ends = row->terms;
    if (!roughly) FOR(i, row->epochs * size) ends[i] = quick_exp(row->exponents[i] * row->logQ[i]);
    FOR(y, wide) at_one[y] = multiplier + row->s * row->logR[y];
    FOR(y, wide) here[y] = multiplier - row->s * (row->logw[y] - row->logR[y]);
    FOR(e, row->epochs) {
        double weight = row->weights[e], tau = row->tau[e];
        const double *logQ = row->logQ + e * size, *powers = row->powers + e * size, *end = ends + e * size;
        if (roughly) FOR(y, wide) at_one[y] -= weight * (1.0 + tau * logQ[y] * (1.0 + 0.5 * tau * logQ[y]));
        else FOR(y, wide) at_one[y] -= weight * end[y];
        FOR(y, wide) here[y] -= weight * powers[y];
    }
    FOR(y, wide) {
        double w = row->reach[y];
        row->fall[y] = w < 1.0 ? w * here[y] - row->seen[y] * row->logw[y] - at_one[y] : 0.0;
    }
}

/* Whether no letter falls from w to 1, for sure. */
static int rises_to_end(const Row *row, double multiplier) {
    double large = fabs(multiplier);
    int rises = 1;
    fill_falls(row, multiplier, 1);
    FOR(e, row->epochs) large += row->weights[e];
    FOR(y, row->m) {
        double added = large + row->s * fabs(row->logR[y]) - (row->s + row->seen[y]) * row->logw[y];
        rises &= row->fall[y] < -SURELY * added;
    }
    return rises;
}

/* The allowance of all letters together, also where ψ is concave and so least at 1. Where ψ(1) is less than ψ(w), the
   difference is lost; or a larger λ lifts it by d, at the price of d in every slope. */
static double beyond_convexity(const Row *row, double multiplier, double allowed) {
    double lift = 0.0, lost = 0.0, lifted = 0.0, *fall = row->fall;
    if (row->likely && row->m >= MANY && rises_to_end(row, multiplier)) return allowed;
    fill_falls(row, multiplier, 0);
    FOR(y, row->m) if (fall[y] > 0.0) lost += fall[y], lift = larger(lift, fall[y] / (1.0 - row->reach[y]));
    if (lost == 0.0) return allowed;
    FOR(y, row->m) {
        lifted += allowance(multiplier + lift - row->slope[y], row->bend[y], row->reach[y], row->s);
        if (fall[y] > 0.0) row->reach[y] = 1.0;
    }
    return smaller(allowed + lost, lifted);
}

/* ψ, -ψ', v ψ'' and how fast that falls with log v, of the letters of a register, each at a v of its own. */
typedef struct { double value[HELD], fall_rate[HELD], bending[HELD], straightening[HELD]; } Letters;

static void fill_letters(const Row *row, Size y, const double *logv, double multiplier, Letters *at) {
    Size size = epoch_size(row->m);
    double s = row->s, *restrict powers = row->terms, v[HELD], of_all[HELD];
    FOR(l, HELD) of_all[l] = logv[l];
    repeat(of_all, size);
    for (Size i = y; i < row->epochs * size; i += size < HELD ? HELD : size)
        FOR(l, HELD) powers[i + l] = quick_exp(row->exponents[i + l] * (row->logQ[i + l] - of_all[l]));
    FOR(l, HELD) v[l] = quick_exp(logv[l]);
    Held ratio = AS_HELD(logv) - AS_HELD(row->logR + y), a = AS_HELD(row->seen + y), seen = a / AS_HELD(v);
    Held value = AS_HELD(v) * (multiplier - s * ratio) - a * AS_HELD(logv);
    Held slope = multiplier - seen - s * (ratio + 1.0), bending = seen - s, straightening = seen;
    FOR(e, row->epochs) {
        double tau = row->tau[e];
        Held power = row->weights[e] * AS_HELD(powers + e * size + y), unbound = power * (1.0 - tau), bound = unbound * tau;
        value -= AS_HELD(v) * power;
        slope -= unbound;
        bending += bound;
        straightening += bound * tau;
    }
    *(Held *)at->value = value, *(Held *)at->fall_rate = -slope;
    *(Held *)at->bending = bending, *(Held *)at->straightening = straightening;
}

/* Of the letters of a register, log v up to which ψ is convex, or falls: in `low`, and next to it in `high`, where it does
   not do so at first; by halving. What comes of those that are not `wanted` does not matter.

   There is one such place. Newton's method from `about`, for ψ' or log(v ψ'' + s), tells where; if it lies within NEAR of
   that, what is further away need not be looked at. */
static void find_last(const Row *row, Size y, double multiplier, int falling, const int *wanted, double *about,
                      double *restrict low, double *restrict high) {
    double before[HELD], after[HELD], middle[HELD], s = row->s;
    Letters at;
    const double *goes_on = falling ? at.fall_rate : at.bending;  /* where it is 0 or more */
    FOR(i, GUESSES) {
        fill_letters(row, y, about, multiplier, &at);
        FOR(l, HELD) {
            double missing = quick_log(1.0 + at.bending[l] / s) * (at.bending[l] + s) / at.straightening[l];
            about[l] += falling ? at.fall_rate[l] / at.bending[l] : missing;
        }
    }
    FOR(l, HELD) before[l] = about[l] - NEAR, after[l] = about[l] + NEAR, low[l] = LEAST_LOG;
    fill_letters(row, y, before, multiplier, &at);
    FOR(l, HELD) if (!(before[l] < high[l] && goes_on[l] >= 0.0)) before[l] = -BC_INFINITY;
    fill_letters(row, y, after, multiplier, &at);
    FOR(l, HELD) if (!(after[l] > about[l]) || goes_on[l] >= 0.0) after[l] = BC_INFINITY;
    FOR(l, HELD) if (!wanted[l]) before[l] = BC_INFINITY;
    FOR(i, HALVINGS) {
        int64_t open = 0;
        FOR(l, HELD) {
            middle[l] = 0.5 * (low[l] + high[l]);
            open |= (before[l] < middle[l]) & (middle[l] < after[l]);
        }
        if (open) fill_letters(row, y, middle, multiplier, &at);
        FOR(l, HELD) {
            int inside = (middle[l] <= before[l]) | ((middle[l] < after[l]) & (goes_on[l] >= 0.0));
            low[l] = inside ? middle[l] : low[l];
            high[l] = inside ? high[l] : middle[l];
        }
    }
}

/* A lower bound of ψ on (0, v] for the least v, of the letters of a register. */
static void fill_left_ends(const Row *row, Size y, double multiplier, double *restrict value) {
    Size size = epoch_size(row->m);
    FOR(l, HELD) value[l] = -quick_exp(LEAST_LOG) * (fabs(multiplier) + row->s * (1.0 + fabs(row->logR[y + l])));
    FOR(e, row->epochs) FOR(l, HELD) {
        double tau = row->tau[e];
        value[l] -= row->weights[e] * quick_exp(tau * row->logQ[e * size + y + l] + (1.0 - tau) * LEAST_LOG);
    }
}

/* The least value of ψ on (0, 1], from below, of every letter of a register, and about where it is: in row->reach, where
   first the row's v is. */
static void fill_least(const Row *row, Size y, double multiplier, double *least) {
    double ones[HELD] = {0.0}, lows[HELD], high[HELD] = {0.0}, end[HELD], about[HELD] = {0.0}, at[HELD], ends[HELD];
    int concave[HELD], falls[HELD], any = 0;
    Letters one, start, last, bottom;
    FOR(l, HELD) lows[l] = LEAST_LOG;
    fill_letters(row, y, ones, multiplier, &one);
    fill_letters(row, y, lows, multiplier, &start);
    fill_left_ends(row, y, multiplier, ends);
    FOR(l, HELD) any |= concave[l] = y + l < row->m && !(one.bending[l] >= 0.0);
    if (any) find_last(row, y, multiplier, 0, concave, about, end, high);
    FOR(l, HELD) if (!concave[l]) end[l] = 0.0;
    fill_letters(row, y, end, multiplier, &last);
    any = 0;
    FOR(l, HELD) {
        int rises = start.bending[l] < 0.0 || start.fall_rate[l] < 0.0;
        least[l] = rises ? smaller(start.value[l], ends[l]) : last.value[l];
        at[l] = rises ? LEAST_LOG : end[l];
        any |= falls[l] = y + l < row->m && !rises && last.fall_rate[l] < 0.0;
        high[l] = end[l];
        about[l] = quick_log(smaller(row->reach[y + l], row->seen[y + l] / multiplier));
    }
    if (any) {
        find_last(row, y, multiplier, 1, falls, about, lows, high);
        fill_letters(row, y, lows, multiplier, &bottom);
        FOR(l, HELD) if (falls[l]) {
            least[l] = bottom.value[l] - bottom.fall_rate[l] * (quick_exp(high[l]) - quick_exp(lows[l]));
            at[l] = lows[l];
        }
    }
    FOR(l, HELD) {
        row->reach[y + l] = least[l] < one.value[l] ? quick_exp(at[l]) : 1.0;
        least[l] = least[l] < one.value[l] ? least[l] : one.value[l];
    }
}

/* Of every letter its allowance, and what a step that keeps sum w = 1 is made of. */
static inline void plan_step(Size count, double multiplier, double s, const double *restrict w,
                             const double *restrict slopes, const double *restrict bends, double *restrict allowances,
                             double *restrict changes, double *restrict shares) {
    FOR(y, count) {
        double h = stiffness(bends[y], s);
        allowances[y] = allowance(multiplier - slopes[y], bends[y], w[y], s);
        changes[y] = w[y] * slopes[y] / h;
        shares[y] = w[y] / h;
    }
}

/* Step to where all slopes are about the target. */
static inline void take_step(Size count, double s, double target, const double *restrict slopes,
                             const double *restrict bends, double *restrict changes, double *restrict logw) {
    FOR(y, count) {
        changes[y] = smaller(larger((slopes[y] - target) / stiffness(bends[y], s), LEAST_CHANGE), LARGEST_CHANGE);
        logw[y] = larger(logw[y] + quick_log(1.0 + changes[y]), LEAST_LOG);
    }
}

/* Begin at the row from which a search starts. */
static void begin_row_search(const Row *row) {
    Size m = row->m;
    double senses = row->s;
    FOR(y, m) senses += row->seen[y];
    FOR(e, row->epochs) senses += row->N[e];
    FOR(y, filled(m)) {  /* a row from earlier counts may have next to nothing where something was counted since */
        double least = quick_log(0.1 * row->seen[y] / senses + FIRST_PROBABILITY), logw = row->logw[y];
        row->logw[y] = logw < LOG_OF_A_TENTH ? larger(logw, least) : logw;
    }
}

/* The bound for the row as it is: from the least value of every letter, found by halving. */
static double bound_by_halving(const Row *row) {
    double multiplier = normalised(row), bound = multiplier, least[HELD];
    FOR(e, row->epochs) bound += row->N[e] > 0.0 ? row->N[e] * (quick_log(row->N[e] / row->weights[e]) - 1.0) : 0.0;
    for (Size y = 0; y < row->m; y += HELD) {
        fill_least(row, y, multiplier, least);
        for (Size l = 0; l < HELD && y + l < row->m; l++) bound -= least[l];
    }
    return bound;
}

/* `row_bound` of a row that was taken in. */
static double searched(const Row *row, double tolerance) {
    Size m = row->m, wide = filled(m);
    double s = row->s, *slopes = row->slope, *bends = row->bend, *changes = row->change;
    for (int i = 0, moving = 1; i < ROW_STEPS && moving; i++) {
        double multiplier = normalised(row);
        fill_slopes(row);
        plan_step(wide, multiplier, s, row->reach, slopes, bends, row->fall, changes, row->share);
        double allowed = sum(row->fall, m);
        if (allowed <= tolerance) {
            double value = value_there(row), beyond = beyond_convexity(row, multiplier, allowed);
            if (beyond < BC_INFINITY) return value + beyond;
            break;
        }
        take_step(wide, s, sum(changes, m) / sum(row->share, m), slopes, bends, changes, row->logw);
        moving = 0;
        FOR(y, m) moving |= fabs(changes[y]) >= STILL;
    }
    return bound_by_halving(row);
}

/* An upper bound of max_w f(w) for the counts a and output R, within `tolerance` of it where that can be shown; `logw`
   moves to the maximiser. Steps are Newton's for every letter by itself, with λ such that the changes sum to 0; where
   they show nothing, the least value of every letter is found by halving: slow, and always right. row->reach is left at
   the v at which ψ is least: the derivative of the bound in log R_y is -s reach_y. */
static double row_bound(Row *row, const double *a, const double *logR, double *logw, double tolerance) {
    fill_up(a, row->seen, row->m);
    fill_up(logR, row->logR, row->m);
    fill_up(logw, row->logw, row->m);
    begin_row_search(row);
    int64_t likely = 1;
    Size size = epoch_size(row->m);
    FOR(e, row->epochs) FOR(y, size) row->exponents[e * size + y] = row->tau[e];
    FOR(i, row->epochs * size) likely &= (row->logQ[i] > UNLIKELY) & (row->logQ[i] <= 0.0);
    row->likely = likely;
    double bound = searched(row, tolerance);
    copy(row->logw, logw, row->m);
    return bound;
}
