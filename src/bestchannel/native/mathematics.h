/* Logarithm and exponential, written once, so that every machine computes the same bits.

   Each is free of branches and calls, so that a loop over it becomes vector instructions; + - * / alone are used, which
   IEEE 754 rounds in one way only. An error is stated in units in the last place (ulp) of the true value, where 1/2 is the
   least possible; tests/native/test_mathematics.py compares with 200 digits. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BC_INLINE static inline

#define BC_INFINITY (1e300 * 1e300)
#define BC_NAN (BC_INFINITY - BC_INFINITY)

/* log 2 in two parts; the first has 32 zero bits, so that its product with an exponent is exact. */
#define BC_LOG2_HIGH 0.693147180369123816490
#define BC_LOG2_LOW 1.90821492927058770002e-10

BC_INLINE uint64_t bc_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

BC_INLINE double bc_from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The number |k| < 2^51 whose low 64 bits, in two's complement, are given. */
BC_INLINE double bc_from_integer(uint64_t k) {
    return bc_from_bits(k + 0x4338000000000000u) - 6755399441055744.0;
}

/* The larger and the smaller of two numbers; a `b` that is no number changes nothing. */
BC_INLINE double larger(double a, double b) { return b > a ? b : a; }
BC_INLINE double smaller(double a, double b) { return b < a ? b : a; }

/* The exponent k of x = 2^k m with m in [sqrt(1/2), sqrt 2), for a normal x > 0, in two's complement. */
BC_INLINE uint64_t bc_exponent(uint64_t bits) {
    return ((bits - 0x3FE6A09E667F3BCDu + 0x4000000000000000u) >> 52) - 0x400u;
}

/* sum_{k=1}^{10} z^(k-1) / (2k+1): artanh(t) = t + t z series(z) with z = t^2 < 0.02945, to 2^-60 of it. */
BC_INLINE double bc_artanh_series(double z) {
    double tail = 1.0 / 13 + z * (1.0 / 15 + z * (1.0 / 17 + z * (1.0 / 19 + z * (1.0 / 21))));
    return 1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * tail))));
}

/* log x for a normal x > 0, to 2 ulp: what the interior points take. x = 2^k m with m in [sqrt(1/2), sqrt 2), and
   log m = 2 artanh(t), t = (m-1)/(m+1), |t| < 0.1716. */
BC_INLINE double bc_quick_log(double x) {
    uint64_t bits = bc_bits(x), exponent = bc_exponent(bits);
    double k = bc_from_integer(exponent), m = bc_from_bits(bits - (exponent << 52));
    double t = (m - 1.0) / (m + 1.0), z = t * t, series = bc_artanh_series(z);
    return k * BC_LOG2_HIGH + (2.0 * t + (2.0 * t * z * series + k * BC_LOG2_LOW));
}

/* k log 2 + log(1 + f + g) for sqrt(1/2) <= 1 + f < sqrt 2 and |g| <= 2^-53, to 0.6 ulp: t = f/(2+f) in two parts, as the
   remainder f - t (2+f) is exact by Dekker's product [Dek71]. */
BC_INLINE double bc_log_of_parts(double k, double f, double g) {
    double d = 2.0 + f, below = (2.0 - d) + f, inverse = 1.0 / d, t = f * inverse;
    double a = t * 134217729.0, t_high = a - (a - t), t_low = t - t_high;
    double b = d * 134217729.0, d_high = b - (b - d), d_low = d - d_high;
    double product = t * d;
    double error = ((t_high * d_high - product) + t_high * d_low + t_low * d_high) + t_low * d_low;
    double rest = (((f - product) - error) - t * below + g * (1.0 - t)) * inverse;
    double z = t * t, tail = 2.0 * t * z * bc_artanh_series(z) + (2.0 * rest + k * BC_LOG2_LOW);
    double high = k * BC_LOG2_HIGH, sum = high + 2.0 * t;
    return sum + (((high - sum) + 2.0 * t) + tail);
}

/* log x to 0.6 ulp; -infinity at 0, NaN below. */
BC_INLINE double bc_log(double x) {
    double scaled = x < 0x1p-1000 ? x * 0x1p100 : x, shift = x < 0x1p-1000 ? -100.0 : 0.0;
    uint64_t bits = bc_bits(scaled), exponent = bc_exponent(bits);
    double value = bc_log_of_parts(bc_from_integer(exponent) + shift, bc_from_bits(bits - (exponent << 52)) - 1.0, 0.0);
    value = x < BC_INFINITY ? value : x;
    value = x > 0.0 ? value : BC_NAN;
    return x == 0.0 ? -BC_INFINITY : value;
}

/* log(1 + x) to 0.6 ulp; -infinity at -1, NaN below. */
BC_INLINE double bc_log1p(double x) {
    double u = 1.0 + x, more = larger(1.0, x), lost = (more - u) + (x > 1.0 ? 1.0 : x);
    uint64_t bits = bc_bits(u), exponent = bc_exponent(bits);
    double k = bc_from_integer(exponent), scale = bc_from_bits((0x3FFu - exponent) << 52);
    double f = exponent == 0 ? x : bc_from_bits(bits - (exponent << 52)) - 1.0;
    double g = ((exponent == 0) | (x > 0x1p60)) ? 0.0 : lost * scale;
    double value = bc_log_of_parts(k, f, g);
    value = fabs(x) < 0x1p-54 ? x : value;
    value = x < BC_INFINITY ? value : x;
    value = x > -1.0 ? value : BC_NAN;
    return x == -1.0 ? -BC_INFINITY : value;
}

/* exp x to 0.6 ulp where it is normal, and to 1 ulp below 2.3e-308: x = k log 2 + r with |r| <= 0.347, and
   exp r = 1 + r + r^2/2 + r^3 (1/6 + ...), the first three in two parts. */
BC_INLINE double bc_exp(double x) {
    double inside = smaller(710.0, larger(-746.0, x));
    double shifted = inside * 1.44269504088896340736 + 6755399441055744.0, k = shifted - 6755399441055744.0;
    double first = inside - k * BC_LOG2_HIGH, second = k * BC_LOG2_LOW;
    double r = first - second, missing = (first - r) - second;
    double a = r * 134217729.0, high = a - (a - r), low = r - high;
    double series = 1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * (1.0 / 39916800.0 + r * (1.0 / 479001600.0 +
                    r * (1.0 / 6227020800.0))));
    series = 1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 + r * series)))));
    double square = 0.5 * high * high, one = 1.0 + high, both = one + square;
    double tail = r * r * r * series + (missing * (1.0 + r) + 0.5 * low * (high + r));
    double lost = (1.0 - one) + high, lost_too = (one - both) + square;
    double value = both + (((lost + lost_too) + low) + tail);
    uint64_t exponent = bc_bits(shifted) - 0x4338000000000000u, half = ((exponent + 2048u) >> 1) - 1024u;
    value = value * bc_from_bits((0x3FFu + half) << 52) * bc_from_bits((0x3FFu + exponent - half) << 52);
    value = x > 709.782712893383973096 ? BC_INFINITY : value;
    value = x < -745.133219101941108420 ? 0.0 : value;
    return x == x ? value : x;
}

/* psi(u) = (1+u) log(1+u) - u >= 0 without cancellation for u near 0; 1 for u <= -1. D(W || Q) = sum_y Q psi((W-Q)/Q).
   Within |u| <= 0.02 it is sum_{k=2}^{10} (-u)^k / (k (k-1)). */
BC_INLINE double bc_psi(double u) {
    double total = 1.0 / 30 - u * (1.0 / 42 - u * (1.0 / 56 - u * (1.0 / 72 - u * (1.0 / 90))));
    total = 1.0 / 2 - u * (1.0 / 6 - u * (1.0 / 12 - u * (1.0 / 20 - u * total)));
    double far = (1.0 + u) * bc_log1p(u) - u;
    double value = fabs(u) > 0.02 ? far : u * u * total;
    return u <= -1.0 ? 1.0 : value;
}
