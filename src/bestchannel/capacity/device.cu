// Capacities of many small channels on a CUDA device, one channel per thread: N inputs, M outputs.
//
// `sketch_and_polish` finds the optimum of most channels with little float64. A few steps of the
// interior point of native/interior_point.h in float32 tell which inputs are used; on those alone the conditions
// D_x = C are solved by Newton's method with the divergences in float64 and the matrix in float32.
// Whatever the steps did, the answer is certified from p alone, in float64: I(p; W) <= C <= max_x D_x.
// What is not certified to the goal, or not a channel, goes to `interior_point`: the same in
// float64, step by step. A lane whose channel is finished takes the next one from the queue.
//
// The steps are those of native/interior_point.h. Here is what a processor does not have: the sketch and the queue, and
// reciprocals and logarithms by the instructions of a device, which are not the same to the bit elsewhere.

constexpr double CAUTIOUS = 0.5;  // of the way to the boundary, when in circles
constexpr double NATS_PER_BIT = 0.69314718055994530942;
constexpr int IN_CIRCLES = 8, WARP = 32, LARGER = N > M ? N : M;
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

// `bc_psi`, by a branch where a processor computes both ways in its vectors.
__device__ double psi(double u) {
    if (u <= -1.0) return 1.0;
    if (fabs(u) > 0.02) return (1.0 + u) * log1p(u) - u;
    double total = 0.0;
#pragma unroll
    for (int k = 10; k > 1; k--) total = total * -u + 1.0 / (k * (k - 1));  // sum_{k >= 2} (-u)^k / (k (k-1))
    return u * u * total;
}

// The words of native/interior_point.h. Loops have bounds that the compiler knows, so that arrays stay in registers.
#define EACH(i, from, to) _Pragma("unroll") for (int i = 0; i < LARGER; i++) if (i >= (from) && i < (to))
#define EACH_LANE for (int l = 0; l < LANES; l++)
#define LANES 1
#define PART(name) BC_JOIN(name, REAL)
#define STEP __device__ __forceinline__ void
#define LOG logarithm
#define PSI psi
#define MAX max
#define MIN min
#define DIVISOR(b) reciprocal(b)
#define OVER(a, divisor) ((a) * (divisor))
#define LEAST_PIVOT(j) AT(at->weight, j) /* B + diag(weight), B >= 0, has no smaller one but for rounding */
#define CENTRE(x, y) (void)0             /* no array holds U */

#define REAL float
#define MATRIX float
#define LEAST 1e-30f
#define CENTRED(x, y) OF(at->W, x, m, y) /* W serves for U, as sum dp = 0 and W diag(r) W' = K + 11' */
#define SHIFTED 0
#include "interior_point.h"
#undef REAL
#undef MATRIX
#undef LEAST
#undef CENTRED
#undef SHIFTED

#define REAL double
#define MATRIX volatile double /* in shared memory, or the compiler would keep all of it in registers */
#define LEAST BC_TINY
#define CENTRED(x, y) (OF(at->W, x, m, y) - AT(at->q, y))
#define SHIFTED 1
#include "interior_point.h"

// What a thread holds of a channel beside its rows.
template <class R> struct Room {
    R A[N * N], p[N], s[N], D[N], neg_entropy[N], v[N], dp[N], ds[N], aim[N], weight[N], q[M], r[M], log_q[M], dq[M];
    R low, high, goal, mu, step_p, step_s, some, more;

    template <class Lanes, class Matrix> __device__ __forceinline__ Lanes with(Matrix *W) {
        return {W, nullptr, A, p, s, D, neg_entropy, v, dp, ds, aim, weight, q, r, log_q, dq,
                &low, &high, &goal, &mu, &step_p, &step_s, &some, &more};
    }
};

// Which inputs are used, and the solution of D_x = C on those alone, p_x = 0 on the others, in float32.
struct Support {
    bool used[N];

    // dp = Newton's step from aim, D_x less any constant: second order in D where that expansion holds.
    __device__ __forceinline__ void step(const Lanesfloat *at) const {
        add_upfloat(at, N, M);
        EACH(x, 0, N) {
            at->weight[x] = used[x] ? 1e-6f : 1e20f;  // for inputs that are nearly equal; A[x][x] >= 1
            at->A[x * N + x] += used[x] ? 0.0f : 1e20f;
            at->v[x] = used[x] ? 1.0f : 0.0f;
            at->dp[x] = at->aim[x] = used[x] ? at->aim[x] : 0.0f;
        }
        factorfloat(at, N);
        solve_for_onesfloat(at, N);
        solve_within_simplexfloat(at, N);
        second_orderfloat(at, N, M);
        EACH(x, 0, N) {
            at->dp[x] = at->aim[x];
            if (used[x]) EACH(y, 0, M) at->dp[x] += at->W[x * M + y] * at->dq[y];
        }
        solve_within_simplexfloat(at, N);
    }

    // Take the step: the input that contradicts most was added before, those below 0 leave.
    template <class R> __device__ __forceinline__ void move(R *p, const float *dp) {
        EACH(x, 0, N) {
            R moved = p[x] + dp[x];
            used[x] = used[x] && moved > 0;
            p[x] = used[x] ? moved : (R)0;
        }
    }
};

// Find p in float32: steps of the interior point from the uniform input, then on the support that they show.
__device__ __forceinline__ Support sketch(const Lanesfloat *at) {
    Support support;
    EACH(x, 0, N) at->p[x] = 1.0f / N;
    *at->goal = 1e-6f;
#pragma unroll 1
    for (int round = 0; round < INTERIOR_STEPS; round++) {
        divergences_offloat(at, N, M, false);
        if (round == 0) EACH(x, 0, N) at->s[x] = (float)BC_FIRST_MARGIN * *at->high - at->D[x] + 1e-12f;
        stepfloat(at, N, M, (float)BC_SHORT_OF_BOUNDARY);
    }
    EACH(x, 0, N) {
        support.used[x] = at->p[x] > USED * at->s[x];
        at->p[x] = support.used[x] ? at->p[x] : 0.0f;
    }
#pragma unroll 1
    for (int round = 0; round < SUPPORT_STEPS; round++) {
        divergences_offloat(at, N, M, false);
        EACH(x, 0, N) {
            support.used[x] |= at->D[x] == *at->high;
            at->aim[x] = at->D[x] - *at->high;
        }
        support.step(at);
        support.move(at->p, at->dp);
    }
    return support;
}

// The same step with divergences in float64.
__device__ __forceinline__ void polish(const Lanesfloat *at, Support &support, Room<double> &exact) {
    EACH(y, 0, M) {
        at->q[y] = (float)exact.q[y] + 1e-30f;
        at->r[y] = reciprocal(at->q[y]);
    }
    EACH(x, 0, N) {
        support.used[x] |= exact.D[x] == exact.high;
        at->aim[x] = (float)(exact.D[x] - exact.low);
    }
    support.step(at);
    support.move(exact.p, at->dp);
}

// Scale each row to sum 1; whether it is a channel. Whole numbers that do not sum to 1 are counts.
__device__ __forceinline__ bool admit(volatile double *W, bool normalize) {
    bool good = true, whole = true, above = false;
    EACH(x, 0, N) {
        double row[M], total = 0;
        EACH(y, 0, M) {
            row[y] = W[x * M + y];
            good &= row[y] >= 0.0;
            total += row[y];
        }
        if (normalize) {
            EACH(y, 0, M) whole &= floor(row[y]) == row[y];
            above |= total > 1.0;
            good &= total > 0.0 && total <= 1.7976931348623157e308;
        } else {
            good &= fabs(total - 1.0) <= BC_ROW_SUM_TOLERANCE;
        }
        double scale = normalize ? 1.0 / total : 2.0 - total;  // 1/total but for the square of 1e-9
        EACH(y, 0, M) W[x * M + y] = row[y] * scale;
    }
    return good && !(normalize && whole && above);
}

// Where the answers go and how a bound in nats becomes one in bits, as in bracket.Tolerance.
struct Answers {
    double *lower, *upper, *input, *output;
    bool *converged;
    double tol, rtol, rounding, ceiling;

    __device__ __forceinline__ void write(long long c, const Room<double> &at) const {
        double slack = rounding, size = fabs(at.high);
        if (PRECISE) slack = (rounding * (size + sqrt(2.0 * size)) + rounding * rounding) / NATS_PER_BIT;
        double high = min(max(at.high * (1.0 / NATS_PER_BIT) + slack, 0.0), ceiling);
        double low = min(max(at.low * (1.0 / NATS_PER_BIT) - slack, 0.0), high);
        lower[c] = low;
        upper[c] = high;
        converged[c] = high - low <= tol && high - low <= rtol * high;
        EACH(x, 0, N) input[c * N + x] = at.p[x];
        EACH(y, 0, M) output[c * M + y] = at.q[y];
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
    volatile double *W = tile + lane * STRIDE;
    const unsigned first = blockIdx.x * BLOCK + threadIdx.x - lane;
    if (first >= count) return;  // a whole warp, as the others of the block wait for none
    const unsigned present = min(count - first, (unsigned)WARP);
#pragma unroll
    for (int k = 0; k < N * M; k++) {
        unsigned e = k * WARP + lane;
        double entry = e < present * (N * M) ? stack[(long long)first * (N * M) + e] : 0.0;
        tile[e / (N * M) * STRIDE + e % (N * M)] = entry;
    }
    __syncwarp();
    bool answered = lane >= present;
    if (!answered && admit(W, normalize)) {
        float w[N * M];
        Room<float> rough;
        Room<double> exact;
        const Lanesfloat sketched = rough.with<Lanesfloat>(w);
        const Lanesdouble at = exact.with<Lanesdouble>(W);
        neg_entropies_ofdouble(&at, N, M);
        EACH(x, 0, N) {
            rough.neg_entropy[x] = (float)exact.neg_entropy[x];
            EACH(y, 0, M) w[x * M + y] = (float)W[x * M + y];
        }
        Support support = sketch(&sketched);
        EACH(x, 0, N) exact.p[x] = rough.p[x];
        divergences_ofdouble(&at, N, M, false);
#pragma unroll 1
        for (int round = 0; round < POLISHES && !(exact.high - exact.low <= goal); round++) {
            polish(&sketched, support, exact);
            divergences_ofdouble(&at, N, M, false);
        }
        answered = exact.high - exact.low <= goal;
        if (answered) answers.write(first + lane, exact);
    }
    unsigned left = __ballot_sync(ALL, !answered), base = 0;
    if (left) {
        if (lane == 0) base = atomicAdd(waiting, __popc(left));
        base = __shfl_sync(ALL, base, 0);
        if (!answered) queue[base + __popc(left & ((1u << lane) - 1))] = first + lane;
    }
}

// The interior point for the channels of the queue, or for the first `*waiting` where there is none.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT_THOROUGH)
    interior_point(const double *stack, const unsigned *queue, const unsigned *waiting, unsigned *taken, bool normalize,
                   double goal, double relative_goal, unsigned long long offset, unsigned long long *refused, ANSWERS) {
    const Answers answers = {lower, upper, input, output, converged, tol, rtol, rounding, ceiling};
    const unsigned lane = threadIdx.x % WARP, total = *waiting;
    __shared__ double tile[BLOCK * STRIDE];
    volatile double *W = tile + threadIdx.x * STRIDE;
    Room<double> room;
    const Lanesdouble at = room.with<Lanesdouble>(W);
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
                EACH(x, 0, N) EACH(y, 0, M) W[x * M + y] = stack[(long long)channel * (N * M) + x * M + y];
                busy = admit(W, normalize);
                if (!busy) atomicMin(refused, offset + channel);
                begindouble(&at, N, M, PRECISE);
                iteration = 0;
            }
        }
        if (busy) {
            double gap = room.high - room.low;
            room.goal = PRECISE ? min(goal, relative_goal * room.high) : goal;
            if (gap <= room.goal || ++iteration > BC_MAX_ITERATIONS || !(gap < 1e300)) {
                if (!(gap < 1e300)) {  // no number: the uniform input proves a wide bracket
                    EACH(x, 0, N) room.p[x] = 1.0 / N;
                    divergences_ofdouble(&at, N, M, PRECISE);
                }
                answers.write(channel, room);
                busy = false;
            } else {
                // one channel in a million goes round in circles: its slacks afresh now and then, and half-steps
                if (iteration % IN_CIRCLES == 0) EACH(x, 0, N) room.s[x] = max(room.high - room.D[x], 0.0) + gap;
                stepdouble(&at, N, M, iteration > IN_CIRCLES ? CAUTIOUS : BC_SHORT_OF_BOUNDARY);
                divergences_ofdouble(&at, N, M, PRECISE);
            }
        }
        if (exhausted && !__any_sync(ALL, busy)) break;
    }
}
