/* The functions of mathematics.h and kernel.h on arrays, for Python: out[i] = f(x[i]). */
#include "kernel.h"

#define ON_ARRAYS(name, f)                                                                                             \
    BC_EXPORT void BC(name)(Size count, const double *x, double *out) { FOR(i, count) out[i] = f(x[i]); }

ON_ARRAYS(log, bc_log)
ON_ARRAYS(quick_log, bc_quick_log)
ON_ARRAYS(log1p, bc_log1p)
ON_ARRAYS(exp, bc_exp)
ON_ARRAYS(psi, bc_psi)
ON_ARRAYS(kernel_log, quick_log)
ON_ARRAYS(kernel_exp, quick_exp)
