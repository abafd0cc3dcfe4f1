/* Which variant of the kernels this processor runs. */
#include "kernel.h"

#if defined(WIDE_VECTORS) && (defined(__x86_64__) || defined(_M_X64))
#include <cpuid.h>

/* The state that the operating system saves: bits 1, 2 for AVX, and 5, 6, 7 for AVX-512. */
static uint32_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* 0: the baseline; 1: AVX2; 2: AVX-512 F, DQ, CD, BW and VL too. */
BC_EXPORT int64_t bc_widest(void) {
    const uint32_t avx = 1u << 27 | 1u << 28; /* OSXSAVE, AVX */
    const uint32_t avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & avx) != avx || (saved_state() & 6u) != 6u) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & avx2)) return 0;
    return (b & avx512) == avx512 && (saved_state() & 0xe6u) == 0xe6u ? 2 : 1;
}
#else
BC_EXPORT int64_t bc_widest(void) { return 0; }
#endif

#ifndef STAMP
#define STAMP ""
#endif
/* SHA-256 of the sources that the library was built from. */
BC_EXPORT const char *bc_stamp(void) { return STAMP; }
