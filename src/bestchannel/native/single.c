/* The capacity of one larger channel: the interior point with its innermost loops over inputs, and the certificate.
 *
 * Plain capacity only: no floor, no cost, no relative accuracy. The Newton matrix A is kept in its upper triangle, row
 * after row; with four rows r and coefficients f at a time, A_ij += sum_k f_ki r_kj both adds up K and eliminates. It
 * is not the source of the small channels because there the innermost loop runs over channels, of which there is one.
 * Sums over letters are taken in 16 parts that are then added in pairs, so that every width of vectors rounds alike.
 */
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
    for (Size i = 0; i < count; i++) parts[i % PARTS] += a[i];
    return in_pairs(parts);
}

static double largest(const double *a, Size count) {
    double most = a[0];
    for (Size i = 1; i < count; i++) most = larger(most, a[i]);
    return most;
}

static void scale_to_one(double *p, Size count) {
    double total = sum_of(p, count);
    for (Size x = 0; x < count; x++) p[x] /= total;
}

/* out += f row. */
static void add_row(double *restrict out, double f, const double *restrict row, Size count) {
    for (Size k = 0; k < count; k++) out[k] += f * row[k];
}

/* out += f' rows, four rows of `stride` numbers at a time. */
static void add_rows(double *restrict out, const double *f, const double *restrict rows, Size n, Size count,
                     Size stride) {
    Size i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        const double *r = rows + i * stride, *s = r + stride, *t = s + stride, *u = t + stride;
        double a = f[i], b = f[i + 1], c = f[i + 2], d = f[i + 3];
        for (Size k = 0; k < count; k++) out[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k]);
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
        for (Size k = 0; k < width - j; k++) out[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k]);
    }
}

/* The rows, laid out both ways with the non-zero entries of every column where they are few, an input distribution, what
   follows from it, and scratch. */
typedef struct {
    Size n, m, width;          /* inputs, outputs, and inputs filled up to whole vectors */
    const double *W;           /* [x, y] */
    const double *neg_entropy; /* [x] sum_y W log W */
    double *by_output;         /* [y, x] */
    int sparse;
    double *starts;  /* [y + 1] where the entries of column y begin */
    double *inputs;  /* [entry] their x, ascending in a column */
    double *entries; /* [entry] W */
    double *p, *s, *D, *q, *log_q;
    double *U;      /* [y, x] (W - 1q') / sqrt q, filled up with zeros to whole blocks of y */
    double *A;      /* [x, x] upper triangle: the diagonal matrix times the unit triangle of the factors */
    double *pivots; /* [x] 1 / the diagonal matrix */
    double *weight, *v, *dp, *ds, *aim, *ahead, *dq;
    double *F; /* [k, x] coefficients of one block */
} Single;

static Single laid_out(Space *space, Size n, Size m) {
    Size width = (n + PARTS - 1) / PARTS * PARTS, columns = (m + BLOCK - 1) / BLOCK * BLOCK;
    Single at = {.n = n, .m = m, .width = width};
    double **of_inputs[] = {&at.p, &at.s, &at.D, &at.pivots, &at.weight, &at.v, &at.dp, &at.ds, &at.aim, &at.ahead};
    double **of_outputs[] = {&at.q, &at.log_q, &at.dq};
    for (int i = 0; i < 10; i++) *of_inputs[i] = take(space, n);
    for (int i = 0; i < 3; i++) *of_outputs[i] = take(space, m);
    at.by_output = take(space, n * m);
    at.U = take(space, columns * width);
    at.A = take(space, width * width);
    at.F = take(space, BLOCK * n);
    at.starts = take(space, m + 1);
    at.inputs = at.U; /* listed entries take the place of U, which is then not used */
    at.entries = at.U ? at.U + columns * width / 2 : 0;
    return at;
}

/* Transpose the rows, and list the entries where K needs SPARSE times fewer products over those that are not 0. */
static void read_rows(Single *at, const double *W, const double *neg_entropy) {
    Size n = at->n, m = at->m;
    at->W = W, at->neg_entropy = neg_entropy;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) at->by_output[y * n + x] = W[x * m + y];
    double products = 0.0;
    for (Size y = 0; y < m; y++) {
        double count = 0.0;
        for (Size x = 0; x < n; x++) count += at->by_output[y * n + x] > 0.0;
        products += count * count;
    }
    at->sparse = products * SPARSE <= (double)n * (double)n * (double)m;
    if (!at->sparse) {
        for (Size i = 0; i < (m + BLOCK - 1) / BLOCK * BLOCK * at->width; i++) at->U[i] = 0.0;
        return;
    }
    Size e = 0;
    for (Size y = 0; y < m; y++) {
        at->starts[y] = (double)e;
        for (Size x = 0; x < n; x++)
            if (at->by_output[y * n + x] > 0.0) {
                at->inputs[e] = (double)x;
                at->entries[e++] = at->by_output[y * n + x];
            }
    }
    at->starts[m] = (double)e;
}

/* q = pW and its logarithm, D, and the certificate low <= C <= high of p. */
static void evaluate(const Single *at, double *low, double *high) {
    for (Size y = 0; y < at->m; y++) at->q[y] = BC_TINY;
    add_rows(at->q, at->p, at->W, at->n, at->m, at->m);
    for (Size y = 0; y < at->m; y++) at->log_q[y] = -bc_quick_log(at->q[y]);
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
        for (int k = 0; k < BLOCK; k++)
            sums[k] += (r[i + k] * AS_WIDE(r + j) + s[i + k] * AS_WIDE(s + j)) +
                       (t[i + k] * AS_WIDE(t + j) + u[i + k] * AS_WIDE(u + j));
    }
    for (int k = 0; k < BLOCK; k++) *(Wide *)(at->A + (i + k) * width + j) = sums[k];
}

/* A = K, or K + 11' where the non-zero entries are listed: one as good as the other, as 1' dp = 0. */
static void add_products(const Single *at) {
    Size n = at->n, m = at->m, width = at->width;
    if (!at->sparse) {
        for (Size y = 0; y < m; y++) {
            double q = at->q[y], root = 1.0 / sqrt(q);
            for (Size x = 0; x < n; x++) at->U[y * width + x] = (at->by_output[y * n + x] - q) * root;
        }
        for (Size i = 0; i < n; i += BLOCK)
            for (Size j = i - i % WIDE; j < width; j += WIDE) add_up_tile(at, i, j);
        return;
    }
    for (Size i = 0; i < n * width; i++) at->A[i] = 0.0;
    for (Size y = 0; y < m; y++) {
        Size last = (Size)at->starts[y + 1];
        for (Size i = (Size)at->starts[y]; i < last; i++) {
            double *row = at->A + (Size)at->inputs[i] * width, f = at->entries[i] / at->q[y];
            for (Size j = i; j < last; j++) row[(Size)at->inputs[j]] += f * at->entries[j];
        }
    }
}

/* The factors of K + theta 11' + diag(s/p). */
static void factor_one(const Single *at) {
    Size n = at->n, width = at->width;
    double *A = at->A, *pivots = at->pivots, theta = 0.0;
    add_products(at);
    for (Size x = 0; x < n; x++) theta = larger(theta, A[x * width + x]);
    for (Size x = 0; x < n; x++) {
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
        for (int k = 0; k < BLOCK; k++)
            for (Size i = last; i < n; i++) at->F[k * n + i] = -pivots[first + k] * A[(first + k) * width + i];
        add_block(A, at->F, n, A + first * width, last, n, width);
    }
}

/* Overwrite b with A^-1 b. */
static void solve_one(const Single *at, double *b) {
    Size n = at->n, width = at->width;
    for (Size j = 0; j < n; j++) add_row(b + j + 1, -at->pivots[j] * b[j], at->A + j * width + j + 1, n - j - 1);
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
    for (Size x = 0; x < n; x++) step = smaller(step, value[x] / larger(value[x], -change[x]));
    return step;
}

static void step_along(double *value, const double *change, Size n) {
    double step = longest(value, change, n);
    add_row(value, step >= 1.0 ? step : BC_SHORT_OF_BOUNDARY * step, change, n);
}

/* The step (dp, ds) of Mehrotra's predictor and corrector. */
static void newton(const Single *at, double high, double goal) {
    Size n = at->n, m = at->m;
    double *p = at->p, *s = at->s, *dp = at->dp, *ds = at->ds, *dq = at->dq, *aim = at->aim;
    factor_one(at);
    for (Size x = 0; x < n; x++) at->v[x] = 1.0, dp[x] = at->D[x] - high;
    solve_one(at, at->v);
    solve_one_within_simplex(at, dp);
    for (Size x = 0; x < n; x++) ds[x] = -s[x] - at->weight[x] * dp[x];
    double now = dot(p, s, n) + BC_TINY, step_p = longest(p, dp, n), step_s = longest(s, ds, n);
    for (Size x = 0; x < n; x++) at->ahead[x] = p[x] + step_p * dp[x], aim[x] = s[x] + step_s * ds[x];
    double ratio = dot(at->ahead, aim, n) / now;
    double mu = larger(0.1 * goal, ratio * ratio * ratio * now) / (double)n;
    for (Size y = 0; y < m; y++) dq[y] = 0.0;
    add_rows(dq, dp, at->W, n, m, m);
    double least = 0.0;
    for (Size y = 0; y < m; y++) dq[y] /= at->q[y], least = smaller(least, dq[y]);
    for (Size x = 0; x < n; x++) {
        aim[x] = (mu - dp[x] * ds[x]) / p[x];
        dp[x] = at->D[x] - high + aim[x];
    }
    if (least > -0.5) {
        for (Size y = 0; y < m; y++) dq[y] *= 0.5 * dq[y];
        add_rows(dp, dq, at->by_output, m, n, n);
    }
    solve_one_within_simplex(at, dp);
    for (Size x = 0; x < n; x++) ds[x] = aim[x] - s[x] - at->weight[x] * dp[x];
}

/* Lift p off the boundary in proportion to its gap, and take the first slacks. */
static void begin(const Single *at, double goal, double *low, double *high) {
    Size n = at->n;
    evaluate(at, low, high);
    double least = 0.1 / (double)n * larger(goal, *high - *low) / larger(BC_TINY, *high);
    for (Size x = 0; x < n; x++) at->p[x] = larger(least, at->p[x]);
    scale_to_one(at->p, n);
    evaluate(at, low, high);
    for (Size x = 0; x < n; x++) at->s[x] = *high + 0.1 * (*high - *low) - at->D[x] + BC_LEAST_SLACK;
}

static int fits(int64_t n, int64_t m) { return n >= 1 && m >= 1 && n <= 1 << 26 && m <= (1ll << 31) / n; }

/* How many numbers of work space `interior_point` requires; -1 for a size that it does not take. */
BC_EXPORT int64_t BC(interior_point_room)(int64_t n, int64_t m) {
    Space room = {0, 0};
    if (!fits(n, m)) return -1;
    laid_out(&room, n, m);
    return room.used;
}

/* best: the input distribution with the smallest gap on the way from p to a gap of at most goal nats.
 *
 * The rows W[x, y] sum to 1 and neg_entropy[x] = sum_y W log W.
 */
BC_EXPORT void BC(interior_point)(int64_t n, int64_t m, const double *W, const double *neg_entropy, const double *p,
                                  double goal, double *best, double *space) {
    Space room = {space, 0};
    Single at = laid_out(&room, n, m);
    double low, high, best_gap = BC_INFINITY;
    read_rows(&at, W, neg_entropy);
    copy(p, at.p, n);
    copy(p, best, n);
    begin(&at, goal, &low, &high);
    for (int step = 0; step < STEPS; step++) {
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

/* q = pW, D_x = D(W_x || q) in nats, each logarithm to 2 ulp and sums uncompensated: what steps go by, no certificate. */
static void divergences(Size n, Size m, const double *W, const double *neg_entropy, const double *p, double *q,
                        double *log_q, double *D) {
    for (Size y = 0; y < m; y++) q[y] = BC_TINY;
    add_rows(q, p, W, n, m, m);
    for (Size y = 0; y < m; y++) log_q[y] = bc_quick_log(q[y]);
    for (Size x = 0; x < n; x++) D[x] = neg_entropy[x] - dot(log_q, W + x * m, m);
}

/* best: the p with the smallest gap among those of some multiplicative steps p <- p exp(rate D), and its D in nats.
 *
 * Rate 1 is the step of Blahut and Arimoto [Bla72, Ari72]; here the rate grows for as long as the lower bound rises
 * [MD04]. `space` has 4 n + 2 m numbers.
 */
BC_EXPORT void BC(climb)(int64_t n, int64_t m, const double *W, const double *neg_entropy, const double *p,
                         int64_t steps, double *best, double *best_D, double *space) {
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
        for (Size x = 0; x < n; x++) tried[x] = at[x] * bc_exp(rate * (D[x] - high));
        scale_to_one(tried, n);
    }
}

/* What a certificate I(p; W) <= C <= max_x D(W_x || Q) is made of, with sums that lose nothing.
 *
 * Every sum is compensated [Neu74]: what an addition rounds off is added up beside it, so that a sum of any length is
 * wrong by half a unit in its last place and the square of that. `bracket.rounding_compensated` rests on this, on
 * products that are rounded once, and on logarithms of W to 2 ulp and of Q to 0.6 ulp.
 */

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
