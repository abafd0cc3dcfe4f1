/* What counts suggest of many channels of one size: estimates for a plan, of which nothing is certified. */
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

/* `estimate`, and `spread` for a leader and for a rival, with two parts that are spread evenly: shares [role, c, x] and
   unit_variances [role, c]. `room` has n + m. */
BC_EXPORT void BC(view)(Size cases, Size n, Size m, const double *W, const double *P, const double *senses,
                        const double *costs, double evenly_on_leader, double evenly_on_rival, double *values,
                        double *variances, double *deviations, double *shares, double *unit_variances, double *room) {
    estimate(cases, n, m, W, P, senses, values, variances, deviations, room);
    spread(cases, n, P, deviations, costs, evenly_on_leader, shares, unit_variances, room);
    spread(cases, n, P, deviations, costs, evenly_on_rival, shares + cases * n, unit_variances + cases, room);
}
