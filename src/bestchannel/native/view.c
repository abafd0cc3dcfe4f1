/* What counts suggest of many channels of one size: estimates and a plan, of which nothing is certified. */
#include "kernel.h"

/* Of the numbers that may be added to every count [r, y], the one with which the other senses of a row predict each of
   its senses best: the largest sum of n log((n - 1 + added) / (N - 1 + m added)) over all rows. */
static double likeliest_addition(Size rows, Size m, const int64_t *counts, Size tried, const double *grid) {
    double best = grid[0], most = -BC_INFINITY;
    FOR(i, tried) {
        double likelihood = 0.0;
        FOR(r, rows) {
            int64_t total = 0;
            FOR(y, m) total += counts[r * m + y];
            double others = (double)total - 1.0 + (double)m * grid[i];
            FOR(y, m) {
                double n = (double)counts[r * m + y];
                if (n > 0.0) likelihood += n * quick_log((n - 1.0 + grid[i]) / others);
            }
        }
        if (likelihood > most) most = likelihood, best = grid[i];
    }
    return best;
}

/* W [c, x, y] = (counts + added) / (senses + m added) of the channels places [c], and the senses [c, x] of every row: with
   the number of the grid that suits the counts [., x, y] of all channels best. */
BC_EXPORT void BC(smoothed_rows)(Size channels, Size n, Size m, const int64_t *counts, Size cases, const int64_t *places,
                                 Size tried, const double *grid, double *restrict W, double *restrict senses) {
    double added = likeliest_addition(channels * n, m, counts, tried, grid);
    FOR(c, cases) FOR(x, n) {
        const int64_t *row = counts + (places[c] * n + x) * m;
        int64_t total = 0;
        FOR(y, m) total += row[y];
        *senses = (double)total;
        FOR(y, m) *W++ = ((double)row[y] + added) / (*senses + (double)m * added);
        senses++;
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

/* `estimate` of every channel c with W [c, x, y], P, senses and costs [c, x], and `spread` for a leader and for a rival,
   with two parts that are spread evenly: numbers [4, c] are values, variances and the unit variances of both roles;
   deviations [c, x] and shares [role, c, x]. `room` has n + m. */
BC_EXPORT void BC(view)(Size cases, Size n, Size m, const double *W, const double *P, const double *senses,
                        const double *costs, double evenly_on_leader, double evenly_on_rival, double *numbers,
                        double *deviations, double *shares, double *room) {
    FOR(c, cases) {
        numbers[c] = estimate(n, m, W + c * n * m, P + c * n, senses + c * n, numbers + cases + c, deviations + c * n, room);
        FOR(role, 2)
            numbers[(2 + role) * cases + c] =
                spread(n, P + c * n, deviations + c * n, costs + c * n, role ? evenly_on_rival : evenly_on_leader,
                       shares + (role * cases + c) * n, room);
    }
}

/* The fewest senses of the leader, returned, and of every rival a, which bring the evidence that is needed against it:
   gap² / (2 needed) = v/n + v_a/n_a with the variances v [a] of the leader's value and v_a [a] of the rival's.

   Each n_a follows from n, which is looked for on a grid, relative to the fewest possible and at most what is `left`. A
   rival brings at least the part `least` of its evidence. `room` has two numbers for every rival. */
BC_EXPORT double BC(fewest_senses)(Size rivals, const double *gaps, const double *needed, const double *v,
                                   const double *v_a, Size tried, const double *grid, double left, double least,
                                   double *senses, double *room) {
    double fewest = -BC_INFINITY, best = BC_INFINITY, leader = 0.0, *evidence = room, *n_a = room + rivals;
    FOR(a, rivals) {
        evidence[a] = gaps[a] * gaps[a] / (2.0 * needed[a]);
        fewest = larger(fewest, v[a] / evidence[a]);
    }
    FOR(i, tried) {
        double n = smaller(larger(fewest * grid[i], 1.0), larger(left, 1.0));
        FOR(a, rivals) n_a[a] = v_a[a] / larger(evidence[a] - v[a] / n, least * evidence[a]);
        double total = n + sum_by_halves(n_a, rivals);
        if (i > 0 && !(total < best)) continue;
        best = total, leader = n;
        copy(n_a, senses, rivals);
    }
    return leader;
}
