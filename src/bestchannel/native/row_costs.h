/* What it costs to make a rival as good as the leader, in nats: docs/theory/characteristic-time.md. Here one row of a
   channel is moved elsewhere: the minimisations that the bounds are made of.

   A row with law W and weight w moves to v at the cost w D(W‖v). With a = wW this is base - Σ_y a_y log v_y,
   base = Σ_y a_y log W_y, the same for every v.

       tilted      min_v  w D(W‖v) + ⟨h, v⟩
       sum         min_v  w D(W‖v) + t D(v‖Q)
       difference  min_v  w D(W‖v) - t D(v‖Q),  low ≤ v ≤ high

   Each relaxes Σ_y v_y = 1 by a multiplier ν, after which the letters separate. Any ν gives a lower bound; the best one
   makes the letters sum to 1. The difference alone is not convex: a letter's share is convex up to v_y = a_y/t and
   concave beyond, so that its minimum over a range is known; a range where ν leaves a gap is cut in two. */
#pragma once
#include "kernel.h"

#define TINY 1e-300
enum { MOST_STEPS = 100 };
enum { MOST_PARTS = 24 };  /* into how many a range is cut at most */
static const double NEGLIGIBLE = 1e-14;  /* a weight t, relative to the row's, below which D(v‖Q) moves nothing */
static const double NARROW_PART = 1e-13;

/* log p, and a very negative number instead of -∞ for p = 0. */
static inline double log_of(double p) { return bc_log(larger(p, TINY)); }

/* The index of the smallest of the first `count` values. */
static inline Size lowest(const double *values, Size count) {
    Size best = 0;
    FOR(i, count) if (values[i] < values[best]) best = i;
    return best;
}

/* Fill v with argmin w D(W‖v) + ⟨h, v⟩ and return a lower bound of the minimum, base included. v = a/(ν+h), and  w - ν
   + Σ_y a_y log((ν+h_y)/w)  for any ν with ν + h ≥ 0. */
static double tilted_row(Size m, const double *a, double w, const double *h, double *v) {
    double least = BC_INFINITY, nu = 0.0, total = 0.0;  /* ν relative to -min h: a small a_y needs ν + h_y to its last digit */
    FOR(y, m) least = smaller(least, h[y]);
    FOR(y, m) nu = larger(nu, a[y] - (h[y] - least));
    FOR(i, MOST_STEPS) {
        double slope = 0.0;
        total = 0.0;
        FOR(y, m) {
            double shifted = nu + (h[y] - least);
            v[y] = a[y] > 0.0 ? a[y] / shifted : 0.0;
            total += v[y];
            slope += a[y] > 0.0 ? v[y] / shifted : 0.0;
        }
        if (!(total > 1.0 + 1e-14)) break;
        nu += (total - 1.0) * total / slope;  /* Newton's step for 1/Σv = 1, concave in ν: it never goes too far */
    }
    double value = w - nu + least;
    FOR(y, m) {
        if (a[y] > 0.0) value += a[y] * bc_log((nu + (h[y] - least)) / w);
        else if (nu == 0.0 && h[y] == least && total < 1.0)  /* a letter that W excludes takes what is left */
            v[y] = 1.0 - total, total = 1.0;
    }
    return value;
}

/* The multiplier for Σ v = 1, between `low` and `high`, and the step by which an open end is moved. */
typedef struct { double nu, low, high, step; } Multiplier;

/* Newton's ν, kept inside (low, high), after the letters at ν summed to `total`, which falls with this slope. */
static void improve_multiplier(Multiplier *at, double total, double slope) {
    if (total > 1.0) at->low = at->nu;
    else at->high = at->nu;
    double new = slope > 0.0 ? at->nu + (total - 1.0) / slope : BC_INFINITY;
    if (new > at->low && new < at->high) at->nu = new;
    else if (at->low == -BC_INFINITY) at->nu -= at->step;
    else at->nu = at->high == BC_INFINITY ? at->nu + at->step : 0.5 * (at->low + at->high);
    at->step *= 2.0;
}

/* log y for the y with y + log y = c, by Newton's steps from above. */
static double sum_with_log(double c) {
    double z = c < 1.0 ? c : bc_log(c);
    FOR(i, MOST_STEPS) {
        double y = bc_exp(z), step = (z + y - c) / (1.0 + y);
        z -= step;
        if (!(step > 1e-14 * (1.0 + fabs(z)))) break;
    }
    return z;
}

/* Fill v with argmin w D(W‖v) + t D(v‖Q), t ≥ 0. */
static void divergence_sum_row(Size m, const double *a, double w, double t, const double *log_Q, double *v) {
    Multiplier at = {w - t, -BC_INFINITY, BC_INFINITY, 0.5 * (w + t)};
    double total = 1.0;
    if (t <= NEGLIGIBLE * w) {
        FOR(y, m) v[y] = a[y] / w;
        return;
    }
    FOR(i, MOST_STEPS) {
        /* -a/v + t (log v + 1 - log Q) + ν = 0, which is y + log y = c with y = a/(tv) */
        double slope = 0.0;
        total = 0.0;
        FOR(y, m) {
            double ratio = log_Q[y] - 1.0 - at.nu / t;
            if (a[y] > 0.0) {
                double start = bc_log(a[y] / t);
                ratio = start - sum_with_log(start - ratio);
            }
            v[y] = bc_exp(smaller(ratio, 700.0));
            total += v[y];
            slope += v[y] * v[y] / (a[y] + t * v[y]);
        }
        if (fabs(total - 1.0) < 1e-12) break;
        improve_multiplier(&at, total, slope);
    }
    FOR(y, m) v[y] /= total;
}

/* The y ≥ 1 with y - log y = c, by Newton's steps from the bound 1 + √(2u) + 2u/3, u = c - 1 [Cha13]. */
static double difference_with_log(double c) {
    double u = c - 1.0;
    if (!(u > 0.0)) return 1.0;
    double y = 1.0 + sqrt(2.0 * u) + 2.0 * u / 3.0;
    FOR(i, MOST_STEPS) {
        double step = (y - bc_log(y) - c) * y / (y - 1.0);
        y -= step;
        if (!(fabs(step) > 1e-13 * y)) break;
    }
    return y;
}

/* -a log v - t v log v + β v. */
static double letter_value(double a, double t, double beta, double v) {
    if (v > 0.0) return -(a + t * v) * bc_log(v) + beta * v;
    return a == 0.0 ? 0.0 : BC_INFINITY;
}

/* argmin of -a log v - t v log v + β v over [low, high]: convex up to v = a/t, concave beyond. */
static double least_letter(double a, double t, double beta, double low, double high) {
    double edge = a / t, top = smaller(edge, high), v = low;
    if (low < top) {
        if (-a / top - t * (bc_log(top) + 1.0) + beta <= 0.0) return high;  /* falling up to the edge, faster beyond */
        v = edge / difference_with_log(beta / t - 1.0 - bc_log(edge));
        v = smaller(larger(v, low), top);
    }
    if (high <= edge) return v;
    return letter_value(a, t, beta, v) <= letter_value(a, t, beta, high) ? v : high;
}

typedef struct { double value, total, slope; } Letters;

/* Fill v with the letters at ν; their value, their sum and how fast it falls with ν. */
static Letters least_letters(Size m, const double *a, double t, const double *log_Q, double nu, const double *low,
                             const double *high, double *v) {
    Letters all = {-nu, 0.0, 0.0};
    FOR(y, m) {
        double beta = t * log_Q[y] + nu;
        v[y] = least_letter(a[y], t, beta, low[y], high[y]);
        all.value += letter_value(a[y], t, beta, v[y]);
        all.total += v[y];
        if (v[y] > low[y] && v[y] < high[y] && a[y] > t * v[y]) all.slope += v[y] * v[y] / (a[y] - t * v[y]);
    }
    return all;
}

/* A lower bound of the least difference, without base, and in v a law near it. Where the letters jump past the sum 1,
   v mixes the two sides: the bound is then one on the convex hull, and v costs more than it. */
static double dual_bound(Size m, const double *a, double w, double t, const double *log_Q, const double *low,
                         const double *high, double *v, double *other) {
    t = larger(t, NEGLIGIBLE * w);  /* a larger t only lowers the value */
    Multiplier at = {w + t, -BC_INFINITY, BC_INFINITY, 0.5 * (w + t)};
    double best = -BC_INFINITY;
    FOR(y, m) at.nu += t * a[y] / w * (log_of(a[y] / w) - log_Q[y]);
    FOR(i, MOST_STEPS) {
        Letters all = least_letters(m, a, t, log_Q, at.nu, low, high, v);
        best = larger(best, all.value);
        if (fabs(all.total - 1.0) < 1e-10) return best;
        double before = at.nu;
        improve_multiplier(&at, all.total, all.slope);
        if (at.high - at.low < 1e-13 * (fabs(before) + t + w)) break;
    }
    double more = least_letters(m, a, t, log_Q, at.low, low, high, v).total;
    double less = least_letters(m, a, t, log_Q, at.high, low, high, other).total;
    double share = more > less ? smaller(larger((1.0 - less) / (more - less), 0.0), 1.0) : 0.0;
    FOR(y, m) v[y] = share * v[y] + (1.0 - share) * other[y];
    return best;
}

/* -Σ_y a_y log v_y - t D(v‖Q): what v costs, without base. */
static double difference_cost(Size m, const double *a, double t, const double *log_Q, const double *v) {
    double total = 0.0;
    FOR(y, m) {
        total -= a[y] * log_of(v[y]);
        if (v[y] > 0.0) total -= t * v[y] * (bc_log(v[y]) - log_Q[y]);
    }
    return total;
}

/* Shrink the ranges to what Σ v = 1 allows; whether anything is left, up to rounding. */
static int tighten_ranges(double *low, double *high, Size m) {
    double least = sum(low, m), most = sum(high, m);
    FOR(y, m) {
        double bottom = 1.0 - (most - high[y]), top = 1.0 - (least - low[y]);
        low[y] = larger(low[y], bottom), high[y] = smaller(high[y], top);
        if (!(low[y] <= high[y] + 1e-12)) return 0;
        high[y] = larger(low[y], high[y]);
    }
    return 1;
}

/* The cut, kept at least `margin` of the range away from its ends. */
static double between(double cut, double low, double high, double margin) {
    double room = margin * (high - low);
    return smaller(larger(cut, low + room), high - room);
}

/* The parts of a range, each with its ends, the law that nearly has the least value there, and a bound of that. */
typedef struct { double *low, *high, *law, *bound, *other; } Parts;  /* [part, y], [part, y], [part, y], [part], [y] */

static Parts row_parts(Space *space, Size m) {
    Size all = MOST_PARTS * m;
    return (Parts){take(space, all), take(space, all), take(space, all), take(space, MOST_PARTS), take(space, m)};
}

/* A lower bound of min w D(W‖v) - t D(v‖Q) over low ≤ v ≤ high, without base, and in v a law that nearly has it.

   Ranges where the convex hull is more than `tol` too low are cut in two at the letter that is farthest inside its range. */
static double difference_row(Size m, const double *a, double w, double t, const double *log_Q, const double *low,
                             const double *high, double *v, const Parts *parts, double tol) {
    double *bounds = parts->bound;
    bounds[0] = dual_bound(m, a, w, t, log_Q, low, high, v, parts->other);
    double reached = difference_cost(m, a, t, log_Q, v);
    Size count = 1;
    copy(low, parts->low, m);
    copy(high, parts->high, m);
    copy(v, parts->law, m);
    for (; count < MOST_PARTS; count++) {
        Size i = lowest(bounds, count), both[2] = {i, count}, y = 0;
        double *lows = parts->low + i * m, *highs = parts->high + i * m, *law = parts->law + i * m, above = bounds[i];
        double most = -1.0;
        FOR(k, m) {
            double inside = smaller(law[k] - lows[k], highs[k] - law[k]);
            if (inside > most) most = inside, y = k;
        }
        if (!(reached - above > tol) || !(highs[y] - lows[y] > NARROW_PART)) break;
        copy(lows, parts->low + count * m, m);
        copy(highs, parts->high + count * m, m);
        parts->low[count * m + y] = highs[y] = between(law[y], lows[y], highs[y], 0.05);
        FOR(half, 2) {
            Size j = both[half];
            double *part_low = parts->low + j * m, *part_high = parts->high + j * m, *part_law = parts->law + j * m;
            bounds[j] = BC_INFINITY;
            if (!tighten_ranges(part_low, part_high, m)) continue;
            bounds[j] = larger(above, dual_bound(m, a, w, t, log_Q, part_low, part_high, part_law, parts->other));
            double cost = difference_cost(m, a, t, log_Q, part_law);
            if (cost < reached) reached = cost, copy(part_law, v, m);
        }
    }
    return bounds[lowest(bounds, count)];
}
