/* What counts suggest of many channels of one size: estimates for a plan, of which nothing is certified. */
#include "kernel.h"

/* W [c, x, y] = (counts + 1/m) / (senses + 1), one sense shared by all outputs, and the senses [c, x] of every row. */
BC_EXPORT void BC(smoothed_rows)(Size rows, Size m, const int64_t *counts, double *restrict W, double *restrict senses) {
    FOR(r, rows) {
        int64_t total = 0;
        FOR(y, m) total += counts[r * m + y];
        senses[r] = (double)total;
        FOR(y, m) W[r * m + y] = ((double)counts[r * m + y] + 1.0 / (double)m) / (senses[r] + 1.0);
    }
}

/* The value sum_x P_x D(W_x‖PW) of a channel with the rows W [x, y], the inputs P and the senses [x]; fills its variance,
   and the standard deviation [x] of log(W_x/PW) under W_x. */
static double estimate(Size n, Size m, const double *W, const double *P, const double *senses, double *variance,
                       double *deviations, double *Q) {
    double value = 0.0, squares = 0.0, most = 0.0;
    output(n, m, W, P, Q);
    FOR(x, n) {
        double mean = 0.0, square = 0.0, often = larger(senses[x], 1.0);
        FOR(y, m) {
            double w = W[x * m + y], g = quick_log(w / Q[y]);
            mean += w * g;
            square += w * (g * g);
        }
        double spread = larger(square - mean * mean, 0.0);
        deviations[x] = sqrt(spread);
        value += P[x] * mean;
        squares += P[x] * P[x] * spread / often;
        most = larger(most, 0.5 * P[x] / often);
    }
    *variance = squares + most * most;  /* so that a channel that has hardly erred does not look certain */
    return larger(value, 0.0);          /* rounding must not put a channel below the value 0 */
}

/* How the senses of a channel are spread over its inputs: shares [x] = P_x sqrt(V_x/c_x), up to a factor, and a part
   `evenly` as 1/sqrt(c_x), with costs [x]; the variance of its value, times the number of senses. */
static double spread(Size n, const double *P, const double *deviations, const double *costs, double evenly,
                     double *shares, double *restrict even) {
    double unit = 0.0;
    FOR(x, n) even[x] = 1.0 / sqrt(costs[x]), shares[x] = P[x] * deviations[x] * even[x];
    double best = larger(sum(shares, n), 1e-300), all = sum(even, n);
    FOR(x, n) {
        double informative = P[x] * deviations[x];
        shares[x] = (1.0 - evenly) * shares[x] / best + evenly * even[x] / all;
        unit += informative * informative / shares[x];
    }
    return larger(unit, 1e-4);
}

/* `estimate` of every channel c with W [c, x, y], P, senses and costs [c, x]: values, variances [c], deviations [c, x];
   and `spread` for a leader and for a rival, with two parts that are spread evenly: shares [role, c, x] and
   unit_variances [role, c]. `room` has n + m. */
BC_EXPORT void BC(view)(Size cases, Size n, Size m, const double *W, const double *P, const double *senses,
                        const double *costs, double evenly_on_leader, double evenly_on_rival, double *values,
                        double *variances, double *deviations, double *shares, double *unit_variances, double *room) {
    FOR(c, cases) {
        values[c] = estimate(n, m, W + c * n * m, P + c * n, senses + c * n, variances + c, deviations + c * n, room);
        FOR(role, 2)
            unit_variances[role * cases + c] =
                spread(n, P + c * n, deviations + c * n, costs + c * n, role ? evenly_on_rival : evenly_on_leader,
                       shares + (role * cases + c) * n, room);
    }
}
