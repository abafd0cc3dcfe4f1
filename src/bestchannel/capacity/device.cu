// Capacities of many small channels on a CUDA device, one channel per thread: N inputs, M outputs.
//
// `sketch_and_polish` finds the optimum of most channels with little float64. A few steps of the
// interior point of native/interior_point.h in float32 tell which inputs are used; on those alone the conditions
// D_x = C are solved by Newton's method with the divergences in float64 and the matrix in float32.
// Whatever the steps did, the answer is certified from p alone, in float64: I(p; W) <= C <= max_x D_x.
// What is not certified to the goal, or not a channel, goes to `interior_point`: the same in
// float64, step by step. A lane whose channel is finished takes the next one from the queue.

#define EVERY(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)

constexpr double TINY = 1e-300, LEAST_SLACK = 1e-30, FIRST_MARGIN = 1.02;
constexpr double SHORT_OF_BOUNDARY = 0.995, CAUTIOUS = 0.5;  // of the way to the boundary, and when in circles
constexpr double ROW_SUM_TOLERANCE = 1e-9, NATS_PER_BIT = 0.69314718055994530942;
constexpr int MAX_ITERATIONS = 50, IN_CIRCLES = 8, WARP = 32, BLOCK = 64;
constexpr int STRIDE = (N * M) | 1;  // odd, so that the lanes of a warp read shared memory without conflict
constexpr unsigned ALL = 0xffffffffu;

// How `sketch_and_polish` shares out its steps: the fastest of those measured. More inputs than outputs leave
// many supports to choose from.
constexpr int INTERIOR_STEPS = N > M ? 2 : 1, SUPPORT_STEPS = N > 2 ? 3 : 1, POLISHES = N == 3 || N == 4 ? 1 : 2;
constexpr float USED = 2.0f;  // an input is used where p_x > USED s_x after the interior steps

// Blocks of either kernel that a multiprocessor should hold, which limits the registers of a thread.
constexpr bool SMALL = N <= 4 && M <= 4;
constexpr int RESIDENT_QUICK = N <= 2 && M <= 2 ? 16 : SMALL ? 9 : 1, RESIDENT_THOROUGH = SMALL ? 8 : 1;
constexpr int REFILL = 8;  // idle lanes of a warp for which `interior_point` goes to the queue

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float logarithm(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y * 0.693147181f;
}

__device__ __forceinline__ double rough_reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}

// To about one unit in the last place: 20 bits and more from the hardware, and one step of third order.
__device__ __forceinline__ double reciprocal(double x) {
    double y = rough_reciprocal(x), e = fma(-x, y, 1.0);
    return fma(y, fma(e, e, e), y);
}

// log x for x >= 2.3e-308, to 2 units in the last place, as `bc_quick_log`: x = 2^k m with m in
// [sqrt(1/2), sqrt 2); log m = 2 artanh(t), t = (m-1)/(m+1), by the polynomial in t^2 that
// interpolates the series of artanh at seven Chebyshev nodes (relative error 5e-18).
__device__ __forceinline__ double logarithm(double x) {
    int high = __double2hiint(x), k = (high - 0x3fe6a09e) >> 20;
    double m = __hiloint2double(high - (k << 20), __double2loint(x));
    double t = (m - 1.0) * reciprocal(m + 1.0), z = t * t;
    double series = 7.30822484252170307e-02;
    series = fma(series, z, 7.66586080027802097e-02);
    series = fma(series, z, 9.09144456263086126e-02);
    series = fma(series, z, 1.11111055673975404e-01);
    series = fma(series, z, 1.42857143129877434e-01);
    series = fma(series, z, 1.99999999999497524e-01);
    series = fma(series, z, 3.33333333333333481e-01);
    double t2 = t + t, e = (double)k;
    // log 2 in two parts; the first has 32 zero bits, so that e times it is exact
    return fma(e, 0.693147180369123816490, fma(t2 * z, series, fma(e, 1.90821492927058770002e-10, t2)));
}

// A channel in shared memory; volatile, or the compiler would keep all of it in registers.
struct Rows {
    volatile double *entries;
    __device__ __forceinline__ volatile double *operator[](int x) const { return entries + x * M; }
};

// L D L' factors of B + diag(weight), B >= 0, given by its lower half: L below the diagonal, 1/D on it.
// No pivot is below its weight but for rounding.
template <class R> __device__ __forceinline__ void factor(R (&A)[N][N], const R (&weight)[N]) {
    EVERY(j, N) {
        A[j][j] = reciprocal(max(A[j][j], weight[j]));
        // column j still holds L D while the rows below are updated with it
        EVERY(i, N) if (i > j) EVERY(c, N) if (c > j && c <= i) A[i][c] -= A[i][j] * A[j][j] * A[c][j];
        EVERY(i, N) if (i > j) A[i][j] *= A[j][j];
    }
}

// Overwrite b with A^-1 b, by the factors in A.
template <class R> __device__ __forceinline__ void solve(const R (&A)[N][N], R (&b)[N]) {
    EVERY(i, N) EVERY(j, N) if (j < i) b[i] -= A[i][j] * b[j];
    EVERY(k, N) {
        const int i = N - 1 - k;
        b[i] *= A[i][i];
        EVERY(j, N) if (j > i) b[i] -= A[j][i] * b[j];
    }
}

// Overwrite b with the solution of A dp + c 1 = b, 1' dp = 0, where v = A^-1 1 and share = 1 / sum v.
template <class R>
__device__ __forceinline__ void solve_within_simplex(const R (&A)[N][N], const R (&v)[N], R share, R (&b)[N]) {
    solve(A, b);
    R sum = 0;
    EVERY(x, N) sum += b[x];
    EVERY(x, N) b[x] -= sum * share * v[x];
}

// K + theta 11', K = U diag(r) U', U = W - 1q', lower half. For float64 theta is the largest entry of K;
// for float32 it is 1, when the matrix is W diag(r) W'.
__device__ __forceinline__ void newton_matrix(const float (&W)[N][M], const float (&)[M], const float (&r)[M],
                                              float (&A)[N][N]) {
    EVERY(i, N) {
        float scaled[M];
        EVERY(y, M) scaled[y] = W[i][y] * r[y];
        EVERY(j, N) if (j <= i) {
            A[i][j] = 0;
            EVERY(y, M) A[i][j] += scaled[y] * W[j][y];
        }
    }
}

template <class Matrix>
__device__ __forceinline__ void newton_matrix(const Matrix &W, const double (&q)[M], const double (&r)[M],
                                              double (&A)[N][N]) {
    double theta = 0;
    EVERY(i, N) EVERY(j, N) if (j <= i) A[i][j] = 0;
    EVERY(y, M) {
        double U[N];
        EVERY(x, N) U[x] = W[x][y] - q[y];
        EVERY(i, N) EVERY(j, N) if (j <= i) A[i][j] += U[i] * r[y] * U[j];
    }
    EVERY(i, N) theta = max(theta, A[i][i]);
    EVERY(i, N) EVERY(j, N) if (j <= i) A[i][j] += theta;
}

__device__ __forceinline__ float centred(float w, float) { return w; }
__device__ __forceinline__ double centred(double w, double q) { return w - q; }

// The change of log q along dp. Since sum dp = 0, W serves for U where that is accurate enough.
template <class R, class Matrix>
__device__ __forceinline__ void relative_change(const Matrix &W, const R (&q)[M], const R (&r)[M], const R (&dp)[N],
                                                R (&dq)[M]) {
    EVERY(y, M) {
        R sum = 0;
        EVERY(x, N) sum += dp[x] * centred(W[x][y], q[y]);
        dq[y] = sum * r[y];
    }
}

// One step of Mehrotra's predictor and corrector. With t = dp/p the predictor has ds/s = -(1 + t).
template <class R, class Matrix>
__device__ __forceinline__ void step(const Matrix &W, const R (&q)[M], const R (&r)[M], const R (&D)[N], R high, R goal,
                                     R short_of_boundary, R (&p)[N], R (&s)[N]) {
    R A[N][N], v[N], per_p[N], weight[N], dp[N], aim[N], dq[M];
    newton_matrix(W, q, r, A);
    EVERY(x, N) {
        per_p[x] = reciprocal(p[x]);
        weight[x] = s[x] * per_p[x];
        A[x][x] += weight[x];
        v[x] = 1;
        dp[x] = D[x] - high;
    }
    factor(A, weight);
    solve(A, v);
    R share = 0;
    EVERY(x, N) share += v[x];
    share = reciprocal(share);
    solve_within_simplex(A, v, share, dp);

    R least = 0, most = 0, now = 0, then = 0;
    EVERY(x, N) {
        least = min(least, dp[x] * per_p[x]);
        most = max(most, dp[x] * per_p[x]);
    }
    R step_p = reciprocal(max(-least, (R)1)), step_s = reciprocal(1 + most);
    EVERY(x, N) {
        R t = dp[x] * per_p[x], product = p[x] * s[x];
        now += product;
        then += product * (1 + step_p * t) * (1 - step_s * (1 + t));
        aim[x] = s[x] * t * (1 + t);
    }
    R ratio = then * reciprocal(max(now, (R)1e-37));
    R mu = max(ratio * ratio * then, (R)0.1 * goal) * (R)(1.0 / N);

    relative_change(W, q, r, dp, dq);
    R lowest = 0;
    EVERY(y, M) lowest = min(lowest, dq[y]);
    R curved = lowest < (R)-0.5 ? (R)0 : (R)0.5;
    EVERY(y, M) dq[y] *= curved * dq[y];
    EVERY(x, N) {
        aim[x] += mu * per_p[x];
        dp[x] = D[x] - high + aim[x];
        EVERY(y, M) dp[x] += W[x][y] * dq[y];
    }
    solve_within_simplex(A, v, share, dp);

    R fall_p = 1, fall_s = 1, ds[N];
    EVERY(x, N) {
        ds[x] = aim[x] - s[x] - weight[x] * dp[x];
        fall_p = max(fall_p, -dp[x] * per_p[x]);
        fall_s = max(fall_s, -ds[x] * reciprocal(s[x]));
    }
    step_p = fall_p > 1 ? short_of_boundary * reciprocal(fall_p) : (R)1;
    step_s = fall_s > 1 ? short_of_boundary * reciprocal(fall_s) : (R)1;
    EVERY(x, N) {
        p[x] += step_p * dp[x];
        s[x] += step_s * ds[x];
    }
}

// (1+u) log(1+u) - u without cancellation for u near 0.
__device__ double psi(double u) {
    if (u <= -1.0) return 1.0;
    if (fabs(u) > 0.02) return (1.0 + u) * log1p(u) - u;
    double total = 0.0;
    EVERY(i, 9) total = total * -u + 1.0 / ((10 - i) * (9 - i));  // sum_{k >= 2} (-u)^k / (k (k-1))
    return u * u * total;
}

// A certificate: p scaled to sum 1, q = pW, D_x = D(W_x || q) in nats, low = I(p; W), high = max_x D_x.
struct Point {
    double p[N], q[M], D[N], low, high;
};

// The quick form of D_x subtracts two entropies; the precise form keeps its relative accuracy.
template <bool precise, class Matrix>
__device__ __forceinline__ void certify(const Matrix &W, const double (&negative_entropy)[N], Point &at) {
    double mass = 0;
    EVERY(x, N) mass += at.p[x];
    mass = reciprocal(mass);
    EVERY(x, N) {
        at.p[x] *= mass;
        at.D[x] = precise ? 0.0 : negative_entropy[x];
    }
    EVERY(y, M) {
        double q = TINY, column[N];
        EVERY(x, N) column[x] = W[x][y];
        EVERY(x, N) q += at.p[x] * column[x];
        at.q[y] = q;
        if (precise) {
            double r = reciprocal(q);
            EVERY(x, N) at.D[x] += q * psi((column[x] - q) * r);
        } else {
            double log_q = logarithm(q);
            EVERY(x, N) at.D[x] -= column[x] * log_q;
        }
    }
    at.low = at.high = 0;
    EVERY(x, N) {
        at.low += at.p[x] * at.D[x];
        at.high = max(at.high, at.D[x]);
    }
}

// Which inputs are used, and the solution of D_x = C on those alone, p_x = 0 on the others, in float32.
struct Support {
    bool used[N];

    // Overwrite b, D_x less any constant, with Newton's step: second order in D where that expansion holds.
    __device__ __forceinline__ void step(const float (&W)[N][M], const float (&q)[M], float (&b)[N]) const {
        float r[M], A[N][N], weight[N], v[N], dp[N], dq[M], share = 0, lowest = 0;
        EVERY(y, M) r[y] = reciprocal(q[y]);
        newton_matrix(W, q, r, A);
        EVERY(x, N) {
            weight[x] = used[x] ? 1e-6f : 1e20f;  // for inputs that are nearly equal; A[x][x] >= 1
            A[x][x] += used[x] ? 0.0f : 1e20f;
            v[x] = used[x] ? 1.0f : 0.0f;
            dp[x] = b[x] = used[x] ? b[x] : 0.0f;
        }
        factor(A, weight);
        solve(A, v);
        EVERY(x, N) share += v[x];
        share = reciprocal(share);
        solve_within_simplex(A, v, share, dp);
        relative_change(W, q, r, dp, dq);
        EVERY(y, M) lowest = min(lowest, dq[y]);
        float curved = lowest < -0.5f ? 0.0f : 0.5f;
        EVERY(y, M) dq[y] *= curved * dq[y];
        EVERY(x, N) if (used[x]) EVERY(y, M) b[x] += W[x][y] * dq[y];
        solve_within_simplex(A, v, share, b);
    }

    // Take the step: the input that contradicts most was added before, those below 0 leave.
    template <class R> __device__ __forceinline__ void move(R (&p)[N], const float (&dp)[N]) {
        EVERY(x, N) {
            R moved = p[x] + dp[x];
            used[x] = used[x] && moved > 0;
            p[x] = used[x] ? moved : (R)0;
        }
    }
};

// q = pW and D_x = D(W_x || q) in float32.
struct Sketch {
    float q[M], D[N], high;

    __device__ __forceinline__ Sketch(const float (&W)[N][M], const float (&negative_entropy)[N], const float (&p)[N]) {
        EVERY(x, N) D[x] = negative_entropy[x];
        EVERY(y, M) {
            q[y] = 1e-30f;
            EVERY(x, N) q[y] += p[x] * W[x][y];
            float log_q = logarithm(q[y]);
            EVERY(x, N) D[x] -= W[x][y] * log_q;
        }
        high = 0;
        EVERY(x, N) high = max(high, D[x]);
    }
};

// Find p in float32: steps of the interior point from the uniform input, then on the support that they show.
__device__ __forceinline__ Support sketch(const float (&W)[N][M], const float (&negative_entropy)[N], float (&p)[N]) {
    float s[N];
    Support support;
    EVERY(x, N) p[x] = 1.0f / N;
#pragma unroll 1
    for (int round = 0; round < INTERIOR_STEPS; round++) {
        Sketch at(W, negative_entropy, p);
        float r[M];
        EVERY(y, M) r[y] = reciprocal(at.q[y]);
        if (round == 0) EVERY(x, N) s[x] = (float)FIRST_MARGIN * at.high - at.D[x] + 1e-12f;
        step(W, at.q, r, at.D, at.high, 1e-6f, (float)SHORT_OF_BOUNDARY, p, s);
    }
    EVERY(x, N) {
        support.used[x] = p[x] > USED * s[x];
        p[x] = support.used[x] ? p[x] : 0.0f;
    }
#pragma unroll 1
    for (int round = 0; round < SUPPORT_STEPS; round++) {
        float mass = 0, b[N];
        EVERY(x, N) mass += p[x];
        mass = reciprocal(mass);
        EVERY(x, N) p[x] *= mass;
        Sketch at(W, negative_entropy, p);
        EVERY(x, N) {
            support.used[x] |= at.D[x] == at.high;
            b[x] = at.D[x] - at.high;
        }
        support.step(W, at.q, b);
        support.move(p, b);
    }
    return support;
}

// The same step with divergences in float64.
__device__ __forceinline__ void polish(const float (&W)[N][M], Support &support, Point &at) {
    float q[M], b[N];
    EVERY(y, M) q[y] = (float)at.q[y] + 1e-30f;
    EVERY(x, N) {
        support.used[x] |= at.D[x] == at.high;
        b[x] = (float)(at.D[x] - at.low);
    }
    support.step(W, q, b);
    support.move(at.p, b);
}

// Scale each row to sum 1; whether it is a channel. Whole numbers that do not sum to 1 are counts.
template <class Matrix> __device__ __forceinline__ bool admit(Matrix &W, bool normalize) {
    bool good = true, whole = true, above = false;
    EVERY(x, N) {
        double row[M], total = 0;
        EVERY(y, M) {
            row[y] = W[x][y];
            good &= row[y] >= 0.0;
            total += row[y];
        }
        if (normalize) {
            EVERY(y, M) whole &= floor(row[y]) == row[y];
            above |= total > 1.0;
            good &= total > 0.0 && total <= 1.7976931348623157e308;
        } else {
            good &= fabs(total - 1.0) <= ROW_SUM_TOLERANCE;
        }
        double scale = normalize ? 1.0 / total : 2.0 - total;  // 1/total but for the square of 1e-9
        EVERY(y, M) W[x][y] = row[y] * scale;
    }
    return good && !(normalize && whole && above);
}

template <class Matrix> __device__ __forceinline__ void negative_entropies(const Matrix &W, double (&h)[N]) {
    EVERY(x, N) {
        h[x] = 0;
        EVERY(y, M) {
            double entry = W[x][y];
            h[x] += entry * logarithm(max(entry, TINY));
        }
    }
}

// Where the answers go and how a bound in nats becomes one in bits, as in bracket.Tolerance.
struct Answers {
    double *lower, *upper, *input, *output;
    bool *converged;
    double tol, rtol, rounding, ceiling;

    __device__ __forceinline__ void write(long long c, const Point &at) const {
        double slack = rounding, size = fabs(at.high);
        if (PRECISE) slack = (rounding * (size + sqrt(2.0 * size)) + rounding * rounding) / NATS_PER_BIT;
        double high = min(max(at.high * (1.0 / NATS_PER_BIT) + slack, 0.0), ceiling);
        double low = min(max(at.low * (1.0 / NATS_PER_BIT) - slack, 0.0), high);
        lower[c] = low;
        upper[c] = high;
        converged[c] = high - low <= tol && high - low <= rtol * high;
        EVERY(x, N) input[c * N + x] = at.p[x];
        EVERY(y, M) output[c * M + y] = at.q[y];
    }
};

#define ANSWERS                                                                                                     \
    double *lower, double *upper, double *input, double *output, bool *converged, double tol, double rtol,           \
        double rounding, double ceiling

// Answer what can be answered quickly, and list the rest.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT_QUICK)
    sketch_and_polish(const double *stack, unsigned count, bool normalize, double goal, unsigned *queue,
                      unsigned *waiting, ANSWERS) {
    __shared__ double tiles[BLOCK / WARP][WARP * STRIDE];
    const Answers answers = {lower, upper, input, output, converged, tol, rtol, rounding, ceiling};
    const unsigned lane = threadIdx.x % WARP;
    double *tile = tiles[threadIdx.x / WARP];
    Rows W = {tile + lane * STRIDE};
    for (unsigned first = (blockIdx.x * BLOCK + threadIdx.x) - lane; first < count; first += gridDim.x * BLOCK) {
        const unsigned present = min(count - first, (unsigned)WARP);
        __syncwarp();
        EVERY(k, N * M) {
            unsigned e = k * WARP + lane;
            double entry = e < present * (N * M) ? stack[(long long)first * (N * M) + e] : 0.0;
            tile[e / (N * M) * STRIDE + e % (N * M)] = entry;
        }
        __syncwarp();
        bool answered = lane >= present;
        if (!answered && admit(W, normalize)) {
            float w[N][M], h[N], p[N];
            double negative_entropy[N];
            Point at;
            negative_entropies(W, negative_entropy);
            EVERY(x, N) {
                h[x] = (float)negative_entropy[x];
                EVERY(y, M) w[x][y] = (float)W[x][y];
            }
            Support support = sketch(w, h, p);
            EVERY(x, N) at.p[x] = p[x];
            certify<false>(W, negative_entropy, at);
#pragma unroll 1
            for (int round = 0; round < POLISHES && !(at.high - at.low <= goal); round++) {
                polish(w, support, at);
                certify<false>(W, negative_entropy, at);
            }
            answered = at.high - at.low <= goal;
            if (answered) answers.write(first + lane, at);
        }
        unsigned left = __ballot_sync(ALL, !answered), base = 0;
        if (left) {
            if (lane == 0) base = atomicAdd(waiting, __popc(left));
            base = __shfl_sync(ALL, base, 0);
            if (!answered) queue[base + __popc(left & ((1u << lane) - 1))] = first + lane;
        }
    }
}

// The interior point for the channels of the queue, or for the first `*waiting` where there is none.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT_THOROUGH)
    interior_point(const double *stack, const unsigned *queue, const unsigned *waiting, unsigned *taken, bool normalize,
                   double goal, double relative_goal, unsigned long long offset, unsigned long long *refused, ANSWERS) {
    const Answers answers = {lower, upper, input, output, converged, tol, rtol, rounding, ceiling};
    const unsigned lane = threadIdx.x % WARP, total = *waiting;
    __shared__ double tile[BLOCK * STRIDE];
    Rows W = {tile + threadIdx.x * STRIDE};
    double negative_entropy[N], s[N];
    Point at;
    unsigned channel = 0;
    int iteration = 0;
    bool busy = false, exhausted = false;
    while (true) {
        unsigned idle = __ballot_sync(ALL, !busy);
        if (!exhausted && __popc(idle) >= REFILL) {
            unsigned base = 0;
            if (lane == 0) base = atomicAdd(taken, __popc(idle));
            base = __shfl_sync(ALL, base, 0);
            exhausted = base + __popc(idle) >= total;
            unsigned turn = base + __popc(idle & ((1u << lane) - 1));
            if (!busy && turn < total) {
                channel = queue ? queue[turn] : turn;
                EVERY(x, N) EVERY(y, M) W[x][y] = stack[(long long)channel * (N * M) + x * M + y];
                busy = admit(W, normalize);
                if (!busy) atomicMin(refused, offset + channel);
                negative_entropies(W, negative_entropy);
                EVERY(x, N) at.p[x] = 1.0 / N;
                certify<PRECISE>(W, negative_entropy, at);
                EVERY(x, N) s[x] = FIRST_MARGIN * at.high - at.D[x] + LEAST_SLACK;
                iteration = 0;
            }
        }
        if (busy) {
            double wanted = PRECISE ? min(goal, relative_goal * at.high) : goal, gap = at.high - at.low;
            if (gap <= wanted || ++iteration > MAX_ITERATIONS || !(gap < 1e300)) {
                if (!(gap < 1e300)) {  // no number: the uniform input proves a wide bracket
                    EVERY(x, N) at.p[x] = 1.0 / N;
                    certify<PRECISE>(W, negative_entropy, at);
                }
                answers.write(channel, at);
                busy = false;
            } else {
                double r[M];
                EVERY(y, M) r[y] = reciprocal(at.q[y]);
                // one channel in a million goes round in circles: its slacks afresh now and then, and half-steps
                if (iteration % IN_CIRCLES == 0) EVERY(x, N) s[x] = max(at.high - at.D[x], 0.0) + gap;
                double shorter = iteration > IN_CIRCLES ? CAUTIOUS : SHORT_OF_BOUNDARY;
                step(W, at.q, r, at.D, at.high, wanted, shorter, at.p, s);
                certify<PRECISE>(W, negative_entropy, at);
            }
        }
        if (exhausted && !__any_sync(ALL, busy)) break;
    }
}
