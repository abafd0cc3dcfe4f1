/* What the bets against a rival can lose on its own senses at most, over all its rows and inputs.

   F(P) = min_R sum_x u_x(P_x; R), with u_x the bound of a row (rival_rows.h), is bounded from above over all P of the
   simplex without an entry above `largest`, by branch and bound over boxes. On a box one R serves all P, u_x is convex
   in P_x and so at most its chord, and the largest sum of chords is a fractional knapsack.
   docs/theory/adaptive.md, "All inputs". */
#pragma once
#include "rival_losses.h"

enum { SWEEPS = 6 };  /* how often, at most, the rows at the ends of a box are computed, each time for another R */
static const double FIRST_PART = 0.6, LATER_PART = 0.4;  /* of the way to the best R; of that, where it led up */
static const double WORTH_IT = 0.05;  /* of what a bound is too large, by which it has to fall to be looked at again */
static const double TOWARDS_KNAPSACK = 0.3;  /* how far P goes to the solution of the knapsack before it is balanced */
static const double CUT = 0.6;  /* from a face of its box towards the point where most is lost, where a box is cut */

/* A box of input distributions, with its R, the rows at its ends and the P where most is lost. */
typedef struct { double *ends, *logR, *logw, *P, *bound; } Box;  /* [side, x], [y], [side, x, y], [x], [] */

static Size box_size(Size n, Size m) { return 2 * n + m + 2 * n * m + n + 1; }

static Box box_at(double *boxes, Size number, Size n, Size m) {
    double *at = boxes + number * box_size(n, m), *logR = at + 2 * n, *logw = logR + m, *P = logw + 2 * n * m;
    return (Box){at, logR, logw, P, P + n};
}

/* Shrink the box to what the simplex leaves of it; whether anything is left. */
static int tighten(double *ends, Size n) {
    double low = 0.0, high = 0.0;
    FOR(x, n) low += ends[x], high += ends[n + x];
    if (low > 1.0 + 1e-12 || high < 1.0 - 1e-12) return 0;
    FOR(x, n) {
        double least = 1.0 - (high - ends[n + x]), most = 1.0 - (low - ends[x]);
        ends[x] = larger(ends[x], least), ends[n + x] = smaller(ends[n + x], most);
    }
    return 1;
}

/* u_x at both ends of every input, and p v there, with v where the bound of the row is reached. */
static void fill_ends(const Losses *losses, Box box) {
    Size n = losses->n, m = losses->m;
    FOR(i, 2 * n) {
        losses->at_ends[i] = losses->loss(losses, i % n, box.ends[i], box.logR, box.logw + i * m);
        FOR(y, m) losses->reached[i * m + y] = box.ends[i] * losses->row.reach[y];
    }
}

/* The largest sum of chords over the P of the box, which is left in losses->P. */
static double knapsack(const Losses *losses, const double *ends) {
    Size n = losses->n;
    double value = 0.0, left = 1.0, *slopes = losses->slopes;
    FOR(x, n) {
        double width = ends[n + x] - ends[x];
        value += losses->at_ends[x];
        left -= ends[x];
        losses->P[x] = ends[x];
        slopes[x] = width > 0.0 ? (losses->at_ends[n + x] - losses->at_ends[x]) / width : -BC_INFINITY;
    }
    FOR(i, n) {
        Size steepest = 0;
        FOR(x, n) if (slopes[x] > slopes[steepest]) steepest = x;
        if (left <= 0.0 || slopes[steepest] == -BC_INFINITY) break;
        double part = smaller(left, ends[n + steepest] - ends[steepest]);
        value += part * slopes[steepest];
        losses->P[steepest] += part;
        left -= part;
        slopes[steepest] = -BC_INFINITY;
    }
    return value;
}

/* The least sum of chords over all R, largest in P, with the rows as they are, from below; P moves there. The output at
   that P, which is the best R, is left in losses->R[1]. */
static double saddle_of(const Losses *losses, Box box) {
    Size n = losses->n, m = losses->m;
    double constant = 0.0, weight = losses->weight;
    FOR(y, m) losses->rest[y] = 0.0;
    FOR(x, n) {
        double low = box.ends[x], high = box.ends[n + x], width = larger(high - low, 1e-12);
        double lower = losses->at_ends[x], upper = losses->at_ends[n + x];
        losses->ends[x] = low, losses->ends[n + x] = high;
        box.P[x] += TOWARDS_KNAPSACK * (losses->P[x] - box.P[x]);
        FOR(y, m) {
            double at_low = losses->reached[x * m + y], at_high = losses->reached[(n + x) * m + y];
            lower += weight * at_low * box.logR[y];
            upper += weight * at_high * box.logR[y];
            losses->parts[x * m + y] = (at_high - at_low) / width;
            losses->rest[y] += at_low;
        }
        constant += lower;
        losses->rises[x] = (upper - lower) / width;
    }
    return constant + balance(losses, box.P);
}

/* Bound F on one box; R moves to where the bound is least, as far as the target demands and allows. With the rows as
   they are the best R belongs to a saddle point that is found at once (`saddle_of`); for it the rows are computed
   anew. Where the bound grows, since the rows have moved far, R goes a part of the way only. */
static void bound_box(const Losses *losses, Box box, double target) {
    Size m = losses->m;
    double best = BC_INFINITY, saddle = -BC_INFINITY, part = FIRST_PART, *R = losses->R;
    *box.bound = -BC_INFINITY;
    if (!tighten(box.ends, losses->n)) return;
    FOR(i, SWEEPS) {
        fill_ends(losses, box);
        double value = knapsack(losses, box.ends);
        if (value < best) {
            int worth_it = best - value > WORTH_IT * (value - target);
            best = value;
            if (best <= target || saddle > target || !worth_it) break;
            FOR(y, m) R[y] = quick_exp(box.logR[y]);
            saddle = saddle_of(losses, box);
        } else {
            part *= LATER_PART;
        }
        FOR(y, m) box.logR[y] = quick_log((1.0 - part) * R[y] + part * R[m + y]);
    }
    *box.bound = best;
}

/* Which input to cut a box at, and where: that whose chord is furthest above u_x at P, or in the middle. */
static Size cut_of(const Losses *losses, Box box, double *where) {
    Size n = losses->n, m = losses->m, widest = 0;
    double most = -1.0;
    fill_ends(losses, box);
    *where = 0.5 * (box.ends[0] + box.ends[n]);
    FOR(x, n) {
        double low = box.ends[x], high = box.ends[n + x], width = high - low, P = box.P[x];
        if (width <= 1e-9) continue;
        double middle = low + 0.02 * width < P && P < high - 0.02 * width ? P : 0.5 * (low + high);
        copy(box.logw + (n + x) * m, losses->logw, m);
        double chord = losses->at_ends[x] + (middle - low) / width * (losses->at_ends[n + x] - losses->at_ends[x]);
        double gap = chord - losses->loss(losses, x, middle, box.logR, losses->logw);
        if (!(gap > most)) continue;
        widest = x, most = gap;
        if (middle != P) *where = middle;
        else *where = middle - low > high - middle ? low + CUT * (middle - low) : high - CUT * (high - middle);
    }
    return widest;
}

/* An upper bound of F over the P of the `begun` first boxes, at most `target` where that can be shown with so many boxes;
   fills how many were used, and cuts [box, 3]: the box of which this one was cut off as the upper part, at which input,
   and where. P is where F is about largest. Where nothing can be shown, P, the rows and R move to the worst box. */
static double search(const Losses *losses, double *P, double *logW, double *logR, double target, Size begun,
                     Size most_boxes, double *boxes, double *cuts, Size *used) {
    Size n = losses->n, m = losses->m;
    FOR(i, begun) {
        Box box = box_at(boxes, i, n, m);
        copy(logR, box.logR, m);
        copy(P, box.P, n);
        FOR(side, 2) copy(logW, box.logw + side * n * m, n * m);
        bound_box(losses, box, target);
    }
    for (*used = begun;; ++*used) {
        Size at = 0;
        FOR(i, *used) if (*box_at(boxes, i, n, m).bound > *box_at(boxes, at, n, m).bound) at = i;
        Box worst = box_at(boxes, at, n, m), other = box_at(boxes, *used, n, m);
        double before = *worst.bound, *cut = cuts + 3 * *used;
        if (!(before > target)) return before;
        if (*used == most_boxes) {
            copy(worst.P, P, n);
            copy(worst.logR, logR, m);
            copy(worst.logw + n * m, logW, n * m);
            return before;
        }
        Size x = cut_of(losses, worst, cut + 2);
        cut[0] = (double)at, cut[1] = (double)x;
        copy(worst.ends, other.ends, box_size(n, m));
        worst.ends[n + x] = other.ends[x] = cut[2];
        bound_box(losses, worst, target);
        bound_box(losses, other, target);
        *worst.bound = smaller(*worst.bound, before);
        *other.bound = smaller(*other.bound, before);
    }
}
