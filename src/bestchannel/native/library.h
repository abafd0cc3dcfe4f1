/* What every file of kernels begins with: how a function is exported, and how it is called in each variant.
 *
 * The same source is compiled once for every width of vectors, with VARIANT = _baseline, _avx2 or _avx512, and the
 * loader takes the functions of the widest that the processor has. All variants give the same bits: contraction is
 * off, sums keep their order, and no function of the C library is called but sqrt, fabs and floor, which are exact.
 */
#ifndef BC_LIBRARY_H
#define BC_LIBRARY_H

#include <stdint.h>

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

#endif
