/* The capacity of one larger channel: the interior point with its innermost loops over inputs, and the certificate.

   Plain capacity only: no floor, no cost, no relative accuracy. The Newton matrix A is kept in its upper triangle, row
   after row; with four rows r and coefficients f at a time, A_ij += sum_k f_ki r_kj both adds up K and eliminates. It is
   not the source of the small channels because there the innermost loop runs over channels, of which there is one. Sums
   over letters are taken in 16 parts that are then added in pairs, so that every width of vectors rounds alike. */
#include "interior_point.h"
#include "kernel.h"

enum { BLOCK = 4, PARTS = 16, SPARSE = 16, STEPS = 80 };

#define EPS 0x1p-52
#define FIRST_RATE 0.5

static double in_pairs(double *parts) {
    for (int width = PARTS / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) parts[k] += parts[k + width];
    return parts[0];
}

static double dot(const double *a, const double *b, Size count) {
    double parts[PARTS] = {0.0};
    Size whole = count - count % PARTS;
    for (Size i = 0; i < whole; i += PARTS)
        for (int k = 0; k < PARTS; k++) parts[k] += a[i + k] * b[i + k];
    for (Size i = whole; i < count; i++) parts[i - whole] += a[i] * b[i];
    return in_pairs(parts);
}

static double sum_of(const double *a, Size count) {
    double parts[PARTS] = {0.0};
    FOR(i, count) parts[i % PARTS] += a[i];
    return in_pairs(parts);
}

static double largest(const double *a, Size count) {
    double most = a[0];
    FOR(i, count) most = larger(most, a[i]);
    return most;
}

static void scale_to_one(double *p, Size count) {
    double total = sum_of(p, count);
    FOR(x, count) p[x] /= total;
}

/* out += f row. */
static void add_row(double *restrict out, double f, const double *restrict row, Size count) {
    FOR(k, count) out[k] += f * row[k];
}

/* out += f' rows, four rows of `stride` numbers at a time. */
static void add_rows(double *restrict out, const double *f, const double *restrict rows, Size n, Size count,
                     Size stride) {
    Size i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        const double *r = rows + i * stride, *s = r + stride, *t = s + stride, *u = t + stride;
        double a = f[i], b = f[i + 1], c = f[i + 2], d = f[i + 3];
        FOR(k, count) out[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k]);
    }
    for (; i < n; i++) add_row(out, f[i], rows + i * stride, count);
}

/* A_ij += sum_k F_ki rows_kj for the four k and first <= i <= j; some j < i, for whole vectors, do no harm. */
static void add_block(double *restrict A, const double *F, Size F_stride, const double *restrict rows, Size first,
                      Size n, Size width) {
    for (Size i = first; i < n; i++) {
        double a = F[i], b = F[F_stride + i], c = F[2 * F_stride + i], d = F[3 * F_stride + i];
        Size j = i - i % PARTS;
        const double *r = rows + j, *s = r + width, *t = s + width, *u = t + width;
        double *out = A + i * width + j;
        FOR(k, width - j) out[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k]);
    }
}

/* The rows, laid out both ways with the non-zero entries of every column where they are few, an input distribution, what
   follows from it, and scratch. */
typedef struct {
    Size n, m, width, columns;    /* inputs, outputs, and these filled up to whole vectors and blocks */
    int sparse;
    const double *W;              /* [x, y] */
    const double *neg_entropy;    /* [x] sum_y W log W */
    double *by_output;            /* [y, x] */
    double *starts;               /* [y + 1] where the listed entries of column y begin */
    double *inputs, *entries;     /* [entry] their x, ascending in a column, and W, in the place of U, not used then */
    double *p, *s, *D, *q, *log_q;
    double *U;                    /* [y, x] (W - 1q') / sqrt q, filled up with zeros to whole blocks of y */
    double *A;                    /* [x, x] upper triangle: the diagonal matrix times the unit triangle of the factors */
    double *pivots;               /* [x] 1 / the diagonal matrix */
    double *F;                    /* [k, x] coefficients of one block */
    double *weight, *v, *dp, *ds, *aim, *ahead, *dq;
} Single;

static Single laid_out(Space *space, Size n, Size m) {
    Size width = (n + PARTS - 1) / PARTS * PARTS, columns = (m + BLOCK - 1) / BLOCK * BLOCK;
    Single at = {.n = n, .m = m, .width = width, .columns = columns};
    at.U = take(space, columns * width), at.A = take(space, width * width);  /* first: their rows are whole cache lines */
    double **vectors[] = {&at.p, &at.s, &at.D, &at.pivots, &at.weight, &at.v, &at.dp, &at.ds, &at.aim, &at.ahead, &at.q,
                          &at.log_q, &at.dq};
    FOR(i, 13) *vectors[i] = take(space, i < 10 ? n : m);
    at.by_output = take(space, n * m), at.F = take(space, BLOCK * n), at.starts = take(space, m + 1);
    at.inputs = at.U, at.entries = at.U ? at.U + columns * width / 2 : 0;
    return at;
}

/* Transpose the rows, and list the entries where K needs SPARSE times fewer products over those that are not 0. */
static void read_rows(Single *at, const double *W, const double *neg_entropy) {
    Size n = at->n, m = at->m, e = 0;
    double products = 0.0;
    at->W = W, at->neg_entropy = neg_entropy;
    FOR(x, n) FOR(y, m) at->by_output[y * n + x] = W[x * m + y];
    FOR(y, m) {
        double count = 0.0;
        FOR(x, n) count += at->by_output[y * n + x] > 0.0;
        products += count * count;
    }
    at->sparse = products * SPARSE <= (double)n * (double)n * (double)m;
    if (!at->sparse) {
        FOR(i, at->columns * at->width) at->U[i] = 0.0;
        return;
    }
    FOR(y, m) {
        at->starts[y] = (double)e;
        FOR(x, n)
            if (at->by_output[y * n + x] > 0.0) {
                at->inputs[e] = (double)x;
                at->entries[e++] = at->by_output[y * n + x];
            }
    }
    at->starts[m] = (double)e;
}

/* q = pW. */
static void fill_outputs(Size n, Size m, const double *W, const double *p, double *q) {
    FOR(y, m) q[y] = BC_TINY;
    add_rows(q, p, W, n, m, m);
}

/* q = pW and its logarithm, D, and the certificate low <= C <= high of p. */
static void evaluate(const Single *at, double *low, double *high) {
    fill_outputs(at->n, at->m, at->W, at->p, at->q);
    FOR(y, at->m) at->log_q[y] = -bc_quick_log(at->q[y]);
    copy(at->neg_entropy, at->D, at->n);
    add_rows(at->D, at->log_q, at->by_output, at->m, at->n, at->n);
    *low = dot(at->p, at->D, at->n) / sum_of(at->p, at->n);
    *high = largest(at->D, at->n);
}

/* A_ij = sum_y U_yi U_yj for four i and eight j: the sums stay in registers, over four outputs at a time. */
static void add_up_tile(const Single *at, Size i, Size j) {
    Size width = at->width;
    Wide sums[BLOCK] = {{0.0}};
    for (Size y = 0; y < at->m; y += BLOCK) {
        const double *r = at->U + y * width, *s = r + width, *t = s + width, *u = t + width;
        FOR(k, BLOCK)
            sums[k] += (r[i + k] * AS_WIDE(r + j) + s[i + k] * AS_WIDE(s + j)) +
                       (t[i + k] * AS_WIDE(t + j) + u[i + k] * AS_WIDE(u + j));
    }
    FOR(k, BLOCK) *(Wide *)(at->A + (i + k) * width + j) = sums[k];
}

/* A = K, or K + 11' where the non-zero entries are listed: one as good as the other, as 1' dp = 0. */
static void add_products(const Single *at) {
    Size n = at->n, m = at->m, width = at->width;
    if (!at->sparse) {
        FOR(y, m) {
            double q = at->q[y], root = 1.0 / sqrt(q);
            FOR(x, n) at->U[y * width + x] = (at->by_output[y * n + x] - q) * root;
        }
        for (Size i = 0; i < n; i += BLOCK)
            for (Size j = i - i % WIDE; j < width; j += WIDE) add_up_tile(at, i, j);
        return;
    }
    FOR(i, n * width) at->A[i] = 0.0;
    FOR(y, m) {
        Size last = (Size)at->starts[y + 1];
        for (Size i = (Size)at->starts[y]; i < last; i++) {
            double *row = at->A + (Size)at->inputs[i] * width, f = at->entries[i] / at->q[y];
            for (Size j = i; j < last; j++) row[(Size)at->inputs[j]] += f * at->entries[j];
        }
    }
}

/* The factors of K + theta 11' + diag(s/p), by blocks of four rows. */
static void factor_one(const Single *at) {
    Size n = at->n, width = at->width;
    double *A = at->A, *pivots = at->pivots, theta = 0.0;
    add_products(at);
    FOR(x, n) theta = larger(theta, A[x * width + x]);
    FOR(x, n) {
        at->weight[x] = at->s[x] / at->p[x];
        for (Size j = x; j < n; j++) A[x * width + j] += theta;
        A[x * width + x] += at->weight[x] + EPS * theta;
    }
    for (Size first = 0; first < n; first += BLOCK) {
        Size last = first + BLOCK < n ? first + BLOCK : n;
        for (Size j = first; j < last; j++) {
            for (Size k = first; k < j; k++)
                add_row(A + j * width + j, -pivots[k] * A[k * width + j], A + k * width + j, n - j);
            pivots[j] = 1.0 / larger(BC_TINY, A[j * width + j]);
        }
        if (last == n) break;
        FOR(k, BLOCK)
            for (Size i = last; i < n; i++) at->F[k * n + i] = -pivots[first + k] * A[(first + k) * width + i];
        add_block(A, at->F, n, A + first * width, last, n, width);
    }
}

/* Overwrite b with A^-1 b. */
static void solve_one(const Single *at, double *b) {
    Size n = at->n, width = at->width;
    FOR(j, n) add_row(b + j + 1, -at->pivots[j] * b[j], at->A + j * width + j + 1, n - j - 1);
    for (Size j = n - 1; j >= 0; j--)
        b[j] = at->pivots[j] * (b[j] - dot(b + j + 1, at->A + j * width + j + 1, n - j - 1));
}

/* Overwrite b with the dp of A dp + c 1 = b, 1' dp = 0. */
static void solve_one_within_simplex(const Single *at, double *b) {
    solve_one(at, b);
    add_row(b, -sum_of(b, at->n) / sum_of(at->v, at->n), at->v, at->n);
}

/* The largest step <= 1 that keeps value + step * change >= 0. */
static double longest(const double *value, const double *change, Size n) {
    double step = 1.0;
    FOR(x, n) step = smaller(step, value[x] / larger(value[x], -change[x]));
    return step;
}

static void step_along(double *value, const double *change, Size n) {
    double step = longest(value, change, n);
    add_row(value, step >= 1.0 ? step : BC_SHORT_OF_BOUNDARY * step, change, n);
}

/* The step (dp, ds) of Mehrotra's predictor and corrector. */
static void newton(const Single *at, double high, double goal) {
    Size n = at->n, m = at->m;
    double *p = at->p, *s = at->s, *dp = at->dp, *ds = at->ds, *dq = at->dq, *aim = at->aim, least = 0.0;
    factor_one(at);
    FOR(x, n) at->v[x] = 1.0, dp[x] = at->D[x] - high;
    solve_one(at, at->v);
    solve_one_within_simplex(at, dp);
    FOR(x, n) ds[x] = -s[x] - at->weight[x] * dp[x];
    double now = dot(p, s, n) + BC_TINY, step_p = longest(p, dp, n), step_s = longest(s, ds, n);
    FOR(x, n) at->ahead[x] = p[x] + step_p * dp[x], aim[x] = s[x] + step_s * ds[x];
    double ratio = dot(at->ahead, aim, n) / now;
    double mu = larger(0.1 * goal, ratio * ratio * ratio * now) / (double)n;
    FOR(y, m) dq[y] = 0.0;
    add_rows(dq, dp, at->W, n, m, m);
    FOR(y, m) dq[y] /= at->q[y], least = smaller(least, dq[y]);
    FOR(x, n) aim[x] = (mu - dp[x] * ds[x]) / p[x], dp[x] = at->D[x] - high + aim[x];
    if (least > -0.5) {
        FOR(y, m) dq[y] *= 0.5 * dq[y];
        add_rows(dp, dq, at->by_output, m, n, n);
    }
    solve_one_within_simplex(at, dp);
    FOR(x, n) ds[x] = aim[x] - s[x] - at->weight[x] * dp[x];
}

/* best: the input distribution with the smallest gap on the way from p to a gap of at most goal nats. The rows W[x, y]
   sum to 1 and neg_entropy[x] = sum_y W log W. p is first lifted off the boundary in proportion to its gap. */
BC_EXPORT void BC(interior_point)(Size n, Size m, const double *W, const double *neg_entropy, const double *p,
                                  double goal, double *best, double *space) {
    Space room = {space, 0};
    Single at = laid_out(&room, n, m);
    double low, high, best_gap = BC_INFINITY;
    read_rows(&at, W, neg_entropy);
    copy(p, at.p, n);
    copy(p, best, n);
    evaluate(&at, &low, &high);
    double least = 0.1 / (double)n * larger(goal, high - low) / larger(BC_TINY, high);
    FOR(x, n) at.p[x] = larger(least, at.p[x]);
    scale_to_one(at.p, n);
    evaluate(&at, &low, &high);
    FOR(x, n) at.s[x] = high + 0.1 * (high - low) - at.D[x] + BC_LEAST_SLACK;
    FOR(step, STEPS) {
        double gap = high - low;
        if (gap < best_gap) copy(at.p, best, n), best_gap = gap;
        if (gap <= goal || !(gap < 1e300)) return;
        newton(&at, high, goal);
        step_along(at.p, at.dp, n);
        step_along(at.s, at.ds, n);
        scale_to_one(at.p, n);
        evaluate(&at, &low, &high);
    }
}
ROOM(interior_point, (Size n, Size m), laid_out(&space, n, m))

/* q = pW, D_x = D(W_x || q) in nats, each logarithm to 2 ulp and sums uncompensated: what steps go by, no certificate. */
static void divergences(Size n, Size m, const double *W, const double *neg_entropy, const double *p, double *q,
                        double *log_q, double *D) {
    fill_outputs(n, m, W, p, q);
    FOR(y, m) log_q[y] = bc_quick_log(q[y]);
    FOR(x, n) D[x] = neg_entropy[x] - dot(log_q, W + x * m, m);
}

/* best: the p with the smallest gap among those of some multiplicative steps p <- p exp(rate D), and its D in nats. Rate
   1 is the step of Blahut and Arimoto [Bla72, Ari72]; here the rate grows for as long as the lower bound rises [MD04]. */
BC_EXPORT void BC(climb)(Size n, Size m, const double *W, const double *neg_entropy, const double *p, Size steps,
                         double *best, double *best_D, double *space) {
    double *at = space, *D = at + n, *tried = D + n, *tried_D = tried + n, *q = tried_D + n, *log_q = q + m;
    double low = -BC_INFINITY, high = 0.0, rate = 0.0, best_gap = BC_INFINITY;
    copy(p, tried, n);
    for (Size step = 0; step == 0 || step <= steps; step++) {
        divergences(n, m, W, neg_entropy, tried, q, log_q, tried_D);
        double tried_low = dot(tried, tried_D, n);
        if (step == 0 || tried_low > low) {
            copy(tried, at, n);
            copy(tried_D, D, n);
            low = tried_low, high = largest(D, n);
            rate = step == 0 ? larger(FIRST_RATE / (high - low + BC_TINY), 2.0) : 1.5 * rate;
            if (step == 0 || high - low < best_gap) copy(at, best, n), copy(D, best_D, n), best_gap = high - low;
        } else {
            rate /= 3.0;
        }
        FOR(x, n) tried[x] = at[x] * bc_exp(rate * (D[x] - high));
        scale_to_one(tried, n);
    }
}
ROOM(climb, (Size n, Size m), take(&space, 4 * n + 2 * m))

/* What a certificate I(p; W) <= C <= max_x D(W_x || Q) is made of, with sums that lose nothing. Every sum is
   compensated [Neu74]: what an addition rounds off is added up beside it, so that a sum of any length is wrong by half
   a unit in its last place and the square of that. `stack.rounding_compensated` rests on this, on products that are
   rounded once, and on logarithms of W to 2 ulp and of Q to 0.6 ulp. */

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
    FOR(k, WIDE) ADD(all, rest, total[k]);
    FOR(k, WIDE) rest += lost[k];
    return all + rest;
}

/* neg_entropy[r] = sum_y W log W of every row W[r, y], in nats, and excess[r] = sum_y W - 1; `space` has m numbers. */
BC_EXPORT void BC(neg_entropies)(Size rows, Size m, const double *W, double *neg_entropy, double *excess, double *space) {
    FOR(r, rows) {
        const double *row = W + r * m;
        FOR(y, m) space[y] = bc_quick_log(larger(row[y], BC_TINY));
        neg_entropy[r] = compensated(row, space, m);
        excess[r] = compensated(row, 0, m) - 1.0;
    }
}

/* Q[c, y] = sum_x P[c, x] W[c, x, y]; `space` has m numbers. */
BC_EXPORT void BC(outputs)(Size count, Size n, Size m, const double *W, const double *P, double *Q, double *space) {
    FOR(c, count) {
        double *restrict total = Q + c * m, *restrict lost = space;
        FOR(y, m) total[y] = lost[y] = 0.0;
        FOR(x, n) {
            const double *restrict row = W + (c * n + x) * m, p = P[c * n + x];
            if (p == 0.0) continue;
            FOR(y, m) ADD(total[y], lost[y], p * row[y]);
        }
        FOR(y, m) total[y] += lost[y];
    }
}

/* D[c, x] = D(W_x || Q) in nats of every row, divided by its sum 1 + excess, for Q[c, y] >= 1e-300. sum_y W log W -
   sum_y W log Q, then D / (1 + excess) - log(1 + excess) to first order, as |excess| is some 1e-15. `space` has m
   numbers. */
BC_EXPORT void BC(certified_divergences)(Size count, Size n, Size m, const double *W, const double *neg_entropy,
                                         const double *excess, const double *Q, double *D, double *space) {
    FOR(c, count) {
        FOR(y, m) space[y] = bc_log(larger(Q[c * m + y], BC_TINY));
        for (Size r = c * n; r < (c + 1) * n; r++) {
            double divergence = neg_entropy[r] - compensated(W + r * m, space, m);
            D[r] = divergence - excess[r] * (1.0 + divergence);
        }
    }
}
