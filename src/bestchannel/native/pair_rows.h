/* One row of a rival under linear bets on pairs of answers: how much they can lose there at most, over all rows w.

   Term k of the letter y has the count c_k and f_k(v) = α_k + β_k p - p κ_k log v > 0, the factor of its bets, and

       u_x(p; R) = max_w sum_y φ_y(w_y) + level_x + p slope_x,   φ_y(v) = h_y(v) + t_y v,   h_y(v) = -sum_k c_k log f_k(v),

   with t_y = p (drift_y - S log R_y). v h'(v) = G = sum_k c pκ/f, and v² h''(v) = sum_k c (pκ/f)(pκ/f - 1): h is concave
   where all f_k >= pκ_k, hence up to some v₁, since f falls in v. There it lies below its tangents, so that for all
   v_y <= v₁ and every λ that is at least all h'(v_y) + t_y, and t_y of letters without a term,

       u_x <= λ + sum_y (h_y(v_y) - G_y) + level_x + p slope_x;

   beyond v₁, h_y(v) + t_y v - λ v <= h_y(1) - (λ - t_y) v₁. docs/theory/joint-trials.md, "One row". */
#pragma once
#include "rival_losses.h"

static const double LEAST_BEND = 0.2;  /* of G/v: what a step of Newton's method divides by, at least */
static const double PAIR_TOLERANCE = 1e-5;  /* nats by which the bound of a row may exceed what is lost there */
static const double TOO_SMALL = 0.2;   /* of G / sum G, below which a letter begins there */
enum { LANES = 8 };                    /* the terms of a letter are a multiple of these, filled up with counts of 0 */

/* The bets on all trials that two channels answered: the terms of letter (x, y) begin at first[x m + y]. */
typedef struct Pairs {
    const int64_t *first;                        /* [x m + y], and the end */
    const double *count, *alpha, *beta, *kappa;  /* [k] */
    const double *drift, *level, *slope;         /* [y], [x], [x] */
    double *A, *B;                               /* [k] α + β p and κ p */
    double *pull, *bend, *t, *v, *most, *at_zero;  /* [y] G, -v h'', t, v, log v₁; [x] -sum c log α */
} Pairs;

/* -sum c log(A - B logv) of some terms. */
static double letter_loss(const Pairs *pairs, Size begin, Size end, double logv) {
    double r[LANES] = {0.0};
    for (Size k = begin; k < end; k += LANES)
        FOR(j, LANES) r[j] -= pairs->count[k + j] * quick_log(pairs->A[k + j] - pairs->B[k + j] * logv);
    return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
}

/* log v₁: 0 where h is concave up to 1. */
static double concave_up_to(const Pairs *pairs, Size begin, Size end) {
    double most = 0.0;
    for (Size k = begin; k < end; k++)
        if (pairs->A[k] < pairs->B[k]) most = smaller(most, pairs->A[k] / pairs->B[k] - 1.0);
    return most;
}

/* G of a letter, and sum c (pκ/f)². */
static double letter_pull(const Pairs *pairs, Size begin, Size end, double logv, double *square) {
    double r[LANES] = {0.0}, s[LANES] = {0.0};
    for (Size k = begin; k < end; k += LANES)
        FOR(j, LANES) {
            double part = pairs->B[k + j] / (pairs->A[k + j] - pairs->B[k + j] * logv);
            r[j] += pairs->count[k + j] * part;
            s[j] += pairs->count[k + j] * part * part;
        }
    *square = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
}

/* Fill G, -v h'' and v of every letter that has a term, at logw. */
static void fill_pulls(const Pairs *pairs, Size x, Size m, const double *logw) {
    FOR(y, m) {
        Size begin = pairs->first[x * m + y], end = pairs->first[x * m + y + 1];
        double square = 0.0;
        pairs->v[y] = begin < end ? quick_exp(logw[y]) : 0.0;
        pairs->pull[y] = begin < end ? letter_pull(pairs, begin, end, logw[y], &square) : 0.0;
        pairs->bend[y] = larger(pairs->pull[y] - square, LEAST_BEND * pairs->pull[y]) / larger(pairs->v[y], 1e-300);
    }
}

/* The least λ that the tangents at v allow, the multiplier for which a step of Newton's method leads to sum v = 1, and
   how much the bound exceeds what is lost at v. */
typedef struct { double steepest, target, excess; } Balance;

static Balance balance_letters(const Pairs *pairs, Size m) {
    double idle = -BC_INFINITY, steepest = -BC_INFINITY, mass = 0.0, moved = 0.0, total = 0.0, level = 0.0;
    FOR(y, m) {
        double v = pairs->v[y], t = pairs->t[y];
        if (!(v > 0.0)) {
            idle = larger(idle, t);
            continue;
        }
        double slope = pairs->pull[y] / v + t, share = v / pairs->bend[y];
        steepest = larger(steepest, slope);
        mass += v, level += v * slope, moved += share * slope, total += share;
    }
    steepest = larger(steepest, idle);
    double target = total > 0.0 ? larger((mass + moved - 1.0) / total, idle) : idle, rest = 1.0 - mass;
    double unused = rest > 0.0 && idle > -BC_INFINITY ? rest * (steepest - idle) : fabs(rest * steepest);
    return (Balance){steepest, target, steepest * mass - level + unused};
}

/* Move every letter towards the row where most is lost. */
static void move_letters(const Pairs *pairs, Size m, double target, double *logw) {
    FOR(y, m) {
        if (!(pairs->v[y] > 0.0)) continue;
        double change = (pairs->pull[y] / pairs->v[y] + pairs->t[y] - target) / pairs->bend[y];
        change = smaller(larger(change, LEAST_CHANGE), LARGEST_CHANGE);
        logw[y] = smaller(larger(logw[y] + quick_log(1.0 + change), LEAST_LOG), pairs->most[y]);
    }
}

/* Begin at the row that warm starts give, but for letters that are far too small there. */
static void begin_row(const Pairs *pairs, Size x, Size m, double *logw) {
    double total = 0.0;
    fill_pulls(pairs, x, m, logw);
    FOR(y, m) total += pairs->pull[y];
    FOR(y, m) {
        double share = pairs->pull[y] / total;
        if (pairs->v[y] > 0.0 && pairs->v[y] < TOO_SMALL * share) logw[y] = smaller(quick_log(share), pairs->most[y]);
    }
}

/* What the letters with terms leave goes to the steepest of the others. */
static void leave_rest(const Pairs *pairs, Size m, double rest, double *reach, double *logw) {
    Size to = -1;
    FOR(y, m) if (!(pairs->v[y] > 0.0)) {
        logw[y] = LEAST_LOG;
        if (to < 0 || pairs->t[y] > pairs->t[to]) to = y;
    }
    if (to >= 0 && rest > 0.0) reach[to] = rest, logw[to] = larger(quick_log(rest), LEAST_LOG);
}

/* u_x(p; R) from above; `logw` moves to the row at which it is reached, and row.reach is that row. */
static double pair_loss(const Losses *losses, Size x, double p, const double *logR, double *logw) {
    const Pairs *pairs = losses->pairs;
    Size m = losses->m, begin = pairs->first[x * m], end = pairs->first[(x + 1) * m];
    double *reach = losses->row.reach, value = pairs->level[x] + p * pairs->slope[x], rest = 1.0;
    FOR(y, m) reach[y] = 0.0;
    if (!(p > 0.0)) return pairs->at_zero[x] + value;
    for (Size k = begin; k < end; k++) pairs->A[k] = pairs->alpha[k] + p * pairs->beta[k], pairs->B[k] = p * pairs->kappa[k];
    FOR(y, m) {
        pairs->t[y] = p * (pairs->drift[y] - losses->weight * logR[y]);
        pairs->most[y] = concave_up_to(pairs, pairs->first[x * m + y], pairs->first[x * m + y + 1]);
        logw[y] = smaller(larger(logw[y], LEAST_LOG), pairs->most[y]);
    }
    begin_row(pairs, x, m, logw);
    Balance at;
    FOR(i, ROW_STEPS) {
        fill_pulls(pairs, x, m, logw);
        at = balance_letters(pairs, m);
        if (at.excess <= PAIR_TOLERANCE || i == ROW_STEPS - 1) break;
        move_letters(pairs, m, at.target, logw);
    }
    value += at.steepest;
    FOR(y, m) {
        Size from = pairs->first[x * m + y], to = pairs->first[x * m + y + 1];
        if (from == to) continue;
        double below = letter_loss(pairs, from, to, logw[y]) - pairs->pull[y], last = quick_exp(pairs->most[y]);
        double beyond = last < 1.0 ? letter_loss(pairs, from, to, 0.0) - (at.steepest - pairs->t[y]) * last : below;
        value += larger(below, beyond);
        reach[y] = pairs->v[y], rest -= pairs->v[y];
    }
    leave_rest(pairs, m, rest, reach, logw);
    return value;
}

/* du_x/dp at the row w, but for the part of R, after `pair_loss`. */
static double pair_rise(const Losses *losses, Size x, double p, const double *w, const double *logw) {
    const Pairs *pairs = losses->pairs;
    Size m = losses->m;
    double rise = pairs->slope[x];
    FOR(y, m) {
        rise += w[y] * pairs->drift[y];
        for (Size k = pairs->first[x * m + y]; k < pairs->first[x * m + y + 1]; k++) {
            double change = pairs->beta[k] - pairs->kappa[k] * logw[y];
            rise -= pairs->count[k] * change / (pairs->alpha[k] + p * change);
        }
    }
    return rise;
}

/* Room for a search over the inputs and rows of a rival of n inputs and m outputs, with so many terms. */
static Losses pairs_room(Space *space, Size terms, Size n, Size m, Pairs *pairs) {
    Losses losses = losses_room(space, 0, 0, n, m);
    pairs->A = take(space, terms), pairs->B = take(space, terms);
    pairs->pull = take(space, m), pairs->bend = take(space, m), pairs->t = take(space, m), pairs->v = take(space, m);
    pairs->most = take(space, m), pairs->at_zero = take(space, n);
    losses.pairs = pairs, losses.loss = pair_loss, losses.rise = pair_rise;
    return losses;
}

/* What is lost where an input has no probability, once for all boxes. */
static void fill_at_zero(const Pairs *pairs, Size n, Size m) {
    FOR(x, n) {
        pairs->at_zero[x] = 0.0;
        for (Size k = pairs->first[x * m]; k < pairs->first[(x + 1) * m]; k++)
            pairs->at_zero[x] -= pairs->count[k] * quick_log(pairs->alpha[k]);
    }
}
