/* What counts suggest of many channels of one size: estimates and a plan, of which nothing is certified. */
#include "kernel.h"

static double sum(const double *values, Size count) {
    double total = 0.0;
    for (Size i = 0; i < count; i++) total += values[i];
    return total;
}

/* W [c, x, y] = (counts + 1/m) / (senses + 1), one sense shared by all outputs, and the senses [c, x] of every row. */
BC_EXPORT void BC(smoothed_rows)(Size rows, Size m, const int64_t *counts, double *restrict W, double *restrict senses) {
    for (Size r = 0; r < rows; r++) {
        int64_t total = 0;
        for (Size y = 0; y < m; y++) total += counts[r * m + y];
        senses[r] = (double)total;
        for (Size y = 0; y < m; y++) W[r * m + y] = ((double)counts[r * m + y] + 1.0 / (double)m) / (senses[r] + 1.0);
    }
}

/* The value sum_x P_x D(W_x‖PW) of every channel c with the rows W [c, x, y], the inputs P [c, x] and the senses [c, x]:
   fills values [c] and their variances [c], and the standard deviation [c, x] of log(W_x/PW) under W_x. */
static void estimate(Size cases, Size n, Size m, const double *W, const double *P, const double *senses, double *values,
                     double *variances, double *deviations, double *room) {
    for (Size c = 0; c < cases; c++, W += n * m, P += n, senses += n, deviations += n) {
        double value = 0.0, variance = 0.0, most = 0.0, *restrict Q = room;
        for (Size y = 0; y < m; y++) Q[y] = 0.0;
        for (Size x = 0; x < n; x++)
            for (Size y = 0; y < m; y++) Q[y] += P[x] * W[x * m + y];
        for (Size x = 0; x < n; x++) {
            double mean = 0.0, square = 0.0, often = larger(senses[x], 1.0);
            for (Size y = 0; y < m; y++) {
                double w = W[x * m + y], g = quick_log(w / Q[y]);
                mean += w * g;
                square += w * (g * g);
            }
            double spread = larger(square - mean * mean, 0.0);
            deviations[x] = sqrt(spread);
            value += P[x] * mean;
            variance += P[x] * P[x] * spread / often;
            most = larger(most, 0.5 * P[x] / often);
        }
        values[c] = larger(value, 0.0);  /* rounding must not put a channel below the value 0 */
        variances[c] = variance + most * most;  /* so that a channel that has hardly erred does not look certain */
    }
}

/* How the senses of every channel c are spread over its inputs: shares [c, x] = P_x sqrt(V_x/c_x), up to a factor, and a
   part `evenly` as 1/sqrt(c_x), with costs [c, x]; and the variance [c] of its value, times the number of senses. */
static void spread(Size cases, Size n, const double *P, const double *deviations, const double *costs, double evenly,
                   double *shares, double *unit_variances, double *room) {
    for (Size c = 0; c < cases; c++, P += n, deviations += n, costs += n, shares += n) {
        double unit = 0.0, *restrict even = room;
        for (Size x = 0; x < n; x++) even[x] = 1.0 / sqrt(costs[x]), shares[x] = P[x] * deviations[x] * even[x];
        double best = larger(sum(shares, n), 1e-300), all = sum(even, n);
        for (Size x = 0; x < n; x++) {
            double informative = P[x] * deviations[x];
            shares[x] = (1.0 - evenly) * shares[x] / best + evenly * even[x] / all;
            unit += informative * informative / shares[x];
        }
        unit_variances[c] = larger(unit, 1e-4);
    }
}

/* `estimate`, and `spread` for a leader and for a rival, with two parts that are spread evenly: numbers [4, c] are values,
   variances and the unit variances of both roles, shares [role, c, x]. `room` has n + m. */
BC_EXPORT void BC(view)(Size cases, Size n, Size m, const double *W, const double *P, const double *senses,
                        const double *costs, double evenly_on_leader, double evenly_on_rival, double *numbers,
                        double *deviations, double *shares, double *room) {
    estimate(cases, n, m, W, P, senses, numbers, numbers + cases, deviations, room);
    spread(cases, n, P, deviations, costs, evenly_on_leader, shares, numbers + 2 * cases, room);
    spread(cases, n, P, deviations, costs, evenly_on_rival, shares + cases * n, numbers + 3 * cases, room);
}

/* The fewest senses of the leader, returned, and of every rival a, which bring the evidence that is needed against it:
   gap² / (2 needed) = v/n + v_a/n_a with the variances v [a] of the leader's value and v_a [a] of the rival's.

   Each n_a follows from n, which is looked for on a grid, relative to the fewest possible and at most what is `left`. A
   rival brings at least the part `least` of its evidence. `room` has twice as many numbers as there are rivals. */
BC_EXPORT double BC(fewest_senses)(Size rivals, const double *gaps, const double *needed, const double *v,
                                   const double *v_a, Size tried, const double *grid, double left, double least,
                                   double *senses, double *room) {
    double fewest = -BC_INFINITY, best = BC_INFINITY, leader = 0.0, *restrict evidence = room, *restrict n_a = room + rivals;
    for (Size a = 0; a < rivals; a++) {
        evidence[a] = gaps[a] * gaps[a] / (2.0 * needed[a]);
        fewest = larger(fewest, v[a] / evidence[a]);
    }
    for (Size i = 0; i < tried; i++) {
        double n = smaller(larger(fewest * grid[i], 1.0), larger(left, 1.0));
        for (Size a = 0; a < rivals; a++) n_a[a] = v_a[a] / larger(evidence[a] - v[a] / n, least * evidence[a]);
        double total = n + sum_by_halves(n_a, rivals);
        if (i > 0 && !(total < best)) continue;
        best = total, leader = n;
        copy(n_a, senses, rivals);
    }
    return leader;
}
