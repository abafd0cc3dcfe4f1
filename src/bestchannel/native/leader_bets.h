/* Bets on the leader's senses.

   A bet of the weight s on N_x senses of the rows W at the input distribution P pays log((ν_x + s P_x g_x(y)) / N_x) with
   g_x = log(V_x / PV) and ν_x such that V_x = W_x / e^pays sums to 1. Whatever V and ν_x, the price
   sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for every W_b, since
   log z <= z - 1. docs/theory/adaptive.md, "Bets on the leader". */
#pragma once
#include "kernel.h"

enum { ROOT_STEPS = 60, LINE_SEARCHES = 3, REFINEMENTS = 12 };  /* REFINEMENTS: of V, at most */
static const double CLOSE = 1e-12, SHORT_OF_END = 0.999;
static const double REFINED = 1e-3;  /* the relative change of V below which it is left as it is */
static const double ROUNDING = 1e-9, RELATIVE_ROUNDING = 1e-14;  /* nats, and for each nat staked or paid */

/* A leader about to be sensed: rows W, inputs P and the senses N_x; the weight of a bet on it; and room. */
typedef struct {
    Size n, m;
    const double *W, *P, *senses;
    double weight, *stakes, *target, *trial, *wealth, *Q;
} Leader;

static Leader leader_room(Space *space, Size n, Size m) {
    return (Leader){.n = n, .m = m, .stakes = take(space, n * m), .target = take(space, n * m),
                    .trial = take(space, n * m), .wealth = take(space, n * m), .Q = take(space, m)};
}

/* The slope of sum_x N_x D(W_x‖V_x) + s I(P; V) from V to the target, a part t of the way. */
static double slope_at(const Leader *b, const double *V, double t) {
    Size n = b->n, m = b->m;
    double *restrict trial = b->trial, *restrict term = b->stakes;
    FOR(i, n * m) trial[i] = (1.0 - t) * V[i] + t * b->target[i];
    output(n, m, trial, b->P, b->Q);
    FOR(x, n)
        for (Size i = x * m, y = 0; y < m; y++, i++)
            term[i] = (b->target[i] - V[i]) *
                      (b->weight * b->P[x] * quick_log(trial[i] / b->Q[y]) - b->senses[x] * b->W[i] / trial[i]);
    return sum(term, n * m);
}

/* Move V towards the target to about where sum_x N_x D(W_x‖V_x) + s I(P; V), which is convex, is least. */
static void move_to_target(const Leader *b, double *restrict V) {
    double slope_low = slope_at(b, V, 0.0), slope_high = slope_at(b, V, SHORT_OF_END);
    double low = 0.0, high = SHORT_OF_END, t = 1.0;
    for (int i = 0; i < LINE_SEARCHES && slope_high > 0.0; i++) {
        t = low + (high - low) * smaller(larger(slope_low / (slope_low - slope_high), 0.1), 0.9);
        double slope = slope_at(b, V, t);
        if (slope > 0.0) high = t, slope_high = slope;
        else low = t, slope_low = slope;
    }
    FOR(i, b->n * b->m) V[i] = (1.0 - t) * V[i] + t * b->target[i];
}

/* ν with sum_y W n / (ν + stakes) = 1; fills the wealth (ν + stakes) / n. Newton's method for the left side, which is
   convex and falls in ν, climbs to the root from the left: from where the term of the smallest stake alone is 1, or
   from n - sum_y W stakes, where the left side is at least 1 by Jensen's inequality. The smallest stake is taken off
   first: large ones must not swallow a small root. */
static double multiplier_of(const double *W, double n, const double *stakes, double *restrict wealth, Size m) {
    double least = stakes[0], at = W[0], mean = 0.0;
    FOR(y, m) if (stakes[y] < least) least = stakes[y], at = W[y];
    FOR(y, m) mean += W[y] * (stakes[y] - least);
    double nu = larger(n * at, n - mean);
    FOR(i, ROOT_STEPS) {
        double excess = -1.0, slope = 0.0;
        FOR(y, m) {
            double odds = W[y] * n / (nu + (stakes[y] - least));
            excess += odds;
            slope += odds / (nu + (stakes[y] - least));
        }
        nu += excess / slope;
        if (!(excess >= CLOSE)) break;
    }
    FOR(y, m) wealth[y] = (nu + (stakes[y] - least)) / n;
    return nu - least;
}

/* sum_x max_y (N_x (e^pays - 1) - stakes) and what rounding may add; fills the pays. */
static double priced(const Leader *b, double *restrict pays) {
    double price = 0.0, at_stake = 0.0;
    FOR(i, b->n * b->m) pays[i] = quick_log(b->wealth[i]);
    FOR(x, b->n) {
        double most = -BC_INFINITY;
        for (Size i = x * b->m; i < (x + 1) * b->m; i++) {
            most = larger(most, b->senses[x] * (b->wealth[i] - 1.0) - b->stakes[i]);
            at_stake += b->senses[x] * (fabs(pays[i]) * (1.0 + b->wealth[i]));
        }
        price += most;
    }
    return price + ROUNDING + RELATIVE_ROUNDING * (b->weight + at_stake);
}

/* One bet: fills pays [x, y], V [x, y] and ν [x], and returns its price. V is improved by repetition: the best rows are
   those, less valuable than W, that the bets are hardest to tell from W. */
static double leader_bet(const Leader *b, double *pays, double *V, double *nu) {
    Size n = b->n, m = b->m;
    double *restrict stakes = b->stakes;
    copy(b->W, V, n * m);
    for (int left = REFINEMENTS; left > 0; left--) {
        double change = 0.0;
        output(n, m, V, b->P, b->Q);
        FOR(x, n)
            for (Size i = x * m, y = 0; y < m; y++, i++) stakes[i] = b->weight * b->P[x] * quick_log(V[i] / b->Q[y]);
        FOR(x, n) {
            nu[x] = multiplier_of(b->W + x * m, b->senses[x], stakes + x * m, b->wealth + x * m, m);
            for (Size i = x * m; i < (x + 1) * m; i++) {
                b->target[i] = b->W[i] / b->wealth[i];
                change = larger(change, fabs(b->target[i] - V[i]) / V[i]);
            }
        }
        if (left == 1 || change < REFINED) break;
        move_to_target(b, V);
    }
    return priced(b, pays);
}
