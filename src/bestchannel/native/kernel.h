/* What every file of kernels begins with: how a function is exported, sizes, loops over numbers, and work space.

   The same source is compiled once for every width of vectors, with VARIANT = _baseline, _avx2 or _avx512, and the loader
   takes the functions of the widest that the processor has. All variants give the same bits: contraction is off, sums
   keep their order, and of the C library's mathematics sqrt, fabs and floor are called, which are exact. */
#pragma once

#include "mathematics.h"

#ifndef VARIANT
#define VARIANT _baseline
#endif
#define BC_JOINED_(a, b) a##b
#define BC_JOINED(a, b) BC_JOINED_(a, b)
#define BC(name) BC_JOINED(bc_##name, VARIANT)

#if defined(_WIN32)
#define BC_EXPORT __declspec(dllexport)
#else
#define BC_EXPORT __attribute__((visibility("default")))
#endif

typedef int64_t Size;

/* Eight numbers side by side: vector instructions where the processor has them, and the same bits where it has not. */
enum { WIDE = 8 };
typedef double Wide __attribute__((vector_size(WIDE * sizeof(double)), aligned(8), may_alias));
#define AS_WIDE(numbers) (*(const Wide *)(numbers))

/* As many numbers as a register of vectors holds, for loops that keep sums of several of them there. */
#if defined(__AVX512F__)
enum { HELD = 8 };
#elif defined(__AVX__)
enum { HELD = 4 };
#else
enum { HELD = 2 };
#endif
typedef double Held __attribute__((vector_size(HELD * sizeof(double)), aligned(8), may_alias));
#define AS_HELD(numbers) (*(const Held *)(numbers))

/* log x to 2 ulp: for loops over few letters, where that of mathematics.h takes twice as long; -708.4 below 2^-1022. */
static inline double quick_log(double x) {
    double value = bc_quick_log(x > 0x1p-1022 ? x : 0x1p-1022);
    value = x < BC_INFINITY ? value : x;
    value = x > 0.0 ? value : BC_NAN;
    return x == 0.0 ? -BC_INFINITY : value;
}

/* exp x to 2 ulp for |x| <= 708. x = k log 2 + r with |r| <= 0.347, and exp r by its power series up to r^13. */
static inline double exp_within(double x) {
    double shifted = x * 1.44269504088896340736 + 6755399441055744.0, k = shifted - 6755399441055744.0;
    double r = (x - k * BC_LOG2_HIGH) - k * BC_LOG2_LOW, r2 = r * r, r4 = r2 * r2;
    double first = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    double second = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    double third = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    double value = 1.0 + (r + r2 * (first + r4 * (second + r4 * third)));
    return value * bc_from_bits((bc_bits(shifted) - 0x4338000000000000u + 0x3FFu) << 52);
}

/* exp x to 2 ulp; 0 below -708. */
static inline double quick_exp(double x) {
    double inside = x > -708.0 ? x : -708.0;
    inside = inside < 709.7 ? inside : 709.7;
    double value = exp_within(inside);
    value = x > 709.7 ? BC_INFINITY : value;
    value = x < -708.0 ? 0.0 : value;
    return x == x ? value : x;
}

/* i = 0, 1, …, count - 1: what most loops are. */
#define FOR(i, count) for (Size i = 0; i < (count); i++)

/* target = source, for vectors that do not overlap. */
static inline void copy(const double *restrict source, double *restrict target, Size count) {
    FOR(i, count) target[i] = source[i];
}

static inline double sum(const double *values, Size count) {
    double total = 0.0;
    FOR(i, count) total += values[i];
    return total;
}

/* The sum of many numbers by halves, down to 128 of them in eight sums: as NumPy adds, to the bit. */
static inline double sum_by_halves(const double *a, Size count) {
    double total = 0.0, r[8];
    Size i = 0;
    if (count > 128) {
        Size half = count / 2 - count / 2 % 8;
        return sum_by_halves(a, half) + sum_by_halves(a + half, count - half);
    }
    if (count >= 8) {
        for (; i < 8; i++) r[i] = a[i];
        for (; i + 8 <= count; i += 8) FOR(j, 8) r[j] += a[i + j];
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < count; i++) total += a[i];
    return total;
}

/* old = new, and how far that was. */
static inline double move(double *restrict old, const double *restrict new, Size count) {
    double change = 0.0;
    FOR(i, count) change = larger(change, fabs(new[i] - old[i])), old[i] = new[i];
    return change;
}

/* Q = PW, for rows W [x, y]. */
static inline void output(Size n, Size m, const double *W, const double *P, double *restrict Q) {
    FOR(y, m) Q[y] = 0.0;
    FOR(x, n) FOR(y, m) Q[y] += P[x] * W[x * m + y];
}

/* Work space from the caller; with `at` null it only counts what is used. */
typedef struct { double *at; Size used; } Space;

static inline double *take(Space *space, Size count) {
    double *here = space->at ? space->at + space->used : 0;
    space->used += count;
    return here;
}

/* NAME_room, by the code that lays it out: how many numbers the room of the kernel NAME must have for these sizes. */
#define ROOM(name, sizes, ...)                                                                                         \
    BC_EXPORT Size BC(name##_room) sizes {                                                                             \
        Space space = {0, 0};                                                                                          \
        __VA_ARGS__;                                                                                                   \
        return space.used;                                                                                             \
    }
