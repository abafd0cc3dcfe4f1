/* What a certificate I(p; W) <= C <= max_x D(W_x || Q) is made of, with sums that lose nothing.
 *
 * Every sum is compensated [Neu74]: what an addition rounds off is added up beside it, so that a sum of any length is
 * wrong by half a unit in its last place and the square of that. `bracket.rounding_compensated` rests on this, on
 * products that are rounded once, and on logarithms of W to 2 ulp and of Q to 0.6 ulp.
 */
#include "interior_point.h"
#include "kernel.h"

/* total + lost += term, exactly but for what is lost of `lost` itself; of numbers, and of eight side by side. */
#define ADD(total, lost, term)                                                                                         \
    do {                                                                                                               \
        __typeof__(total) term_ = (term), sum_ = (total) + term_, back_ = sum_ - (total);                              \
        (lost) += ((total) - (sum_ - back_)) + (term_ - back_);                                                        \
        (total) = sum_;                                                                                                \
    } while (0)

/* sum_i a_i b_i, and sum_i a_i where b is null. */
static inline double compensated(const double *a, const double *b, Size count) {
    Wide total = {0.0}, lost = {0.0};
    double last[WIDE] = {0.0}, all = 0.0, rest = 0.0;
    Size whole = count - count % WIDE;
    for (Size i = 0; i < whole; i += WIDE) {
        Wide term = AS_WIDE(a + i);
        if (b) term *= AS_WIDE(b + i);
        ADD(total, lost, term);
    }
    for (Size i = whole; i < count; i++) last[i - whole] = b ? a[i] * b[i] : a[i];
    ADD(total, lost, AS_WIDE(last));
    for (int k = 0; k < WIDE; k++) ADD(all, rest, total[k]);
    for (int k = 0; k < WIDE; k++) rest += lost[k];
    return all + rest;
}

/* neg_entropy[r] = sum_y W log W of every row W[r, y], in nats, and excess[r] = sum_y W - 1; `space` has m numbers. */
BC_EXPORT void BC(neg_entropies)(int64_t rows, int64_t m, const double *W, double *neg_entropy, double *excess,
                                 double *space) {
    for (Size r = 0; r < rows; r++) {
        const double *row = W + r * m;
        for (Size y = 0; y < m; y++) space[y] = bc_quick_log(larger(row[y], BC_TINY));
        neg_entropy[r] = compensated(row, space, m);
        excess[r] = compensated(row, 0, m) - 1.0;
    }
}

/* Q[c, y] = sum_x P[c, x] W[c, x, y]; `space` has m numbers. */
BC_EXPORT void BC(outputs)(int64_t count, int64_t n, int64_t m, const double *W, const double *P, double *Q,
                           double *space) {
    for (Size c = 0; c < count; c++) {
        double *restrict total = Q + c * m, *restrict lost = space;
        for (Size y = 0; y < m; y++) total[y] = lost[y] = 0.0;
        for (Size x = 0; x < n; x++) {
            const double *restrict row = W + (c * n + x) * m, p = P[c * n + x];
            if (p == 0.0) continue;
            for (Size y = 0; y < m; y++) ADD(total[y], lost[y], p * row[y]);
        }
        for (Size y = 0; y < m; y++) total[y] += lost[y];
    }
}

/* D[c, x] = D(W_x || Q) in nats of every row, divided by its sum 1 + excess, for Q[c, y] >= 1e-300.
 *
 * sum_y W log W - sum_y W log Q, then D / (1 + excess) - log(1 + excess) to first order, as |excess| is some 1e-15.
 * `space` has m numbers.
 */
BC_EXPORT void BC(certified_divergences)(int64_t count, int64_t n, int64_t m, const double *W,
                                         const double *neg_entropy, const double *excess, const double *Q, double *D,
                                         double *space) {
    for (Size c = 0; c < count; c++) {
        for (Size y = 0; y < m; y++) space[y] = bc_log(larger(Q[c * m + y], BC_TINY));
        for (Size r = c * n; r < (c + 1) * n; r++) {
            double divergence = neg_entropy[r] - compensated(W + r * m, space, m);
            D[r] = divergence - excess[r] * (1.0 + divergence);
        }
    }
}
