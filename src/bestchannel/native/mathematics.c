/* The functions of mathematics.h on arrays, for Python, and what the processor has. */
#include "library.h"
#include "mathematics.h"

/* out[i] = log x[i], to 0.6 ulp. */
BC_EXPORT void BC(log)(int64_t count, const double *x, double *out) {
    for (int64_t i = 0; i < count; i++) out[i] = bc_log(x[i]);
}

/* out[i] = log x[i] for normal x[i] > 0, to 2 ulp. */
BC_EXPORT void BC(quick_log)(int64_t count, const double *x, double *out) {
    for (int64_t i = 0; i < count; i++) out[i] = bc_quick_log(x[i]);
}

/* out[i] = log(1 + x[i]), to 0.6 ulp. */
BC_EXPORT void BC(log1p)(int64_t count, const double *x, double *out) {
    for (int64_t i = 0; i < count; i++) out[i] = bc_log1p(x[i]);
}

/* out[i] = exp x[i], to 0.6 ulp, and 1 ulp below 2.3e-308. */
BC_EXPORT void BC(exp)(int64_t count, const double *x, double *out) {
    for (int64_t i = 0; i < count; i++) out[i] = bc_exp(x[i]);
}

/* out[i] = psi(x[i]) = (1 + x[i]) log(1 + x[i]) - x[i]. */
BC_EXPORT void BC(psi)(int64_t count, const double *x, double *out) {
    for (int64_t i = 0; i < count; i++) out[i] = bc_psi(x[i]);
}
