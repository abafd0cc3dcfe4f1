/* The functions of mathematics.h on arrays, for Python: out[i] = f(x[i]). */
#include "kernel.h"

#define ON_ARRAYS(name)                                                                                                \
    BC_EXPORT void BC(name)(int64_t count, const double *x, double *out) {                                             \
        for (int64_t i = 0; i < count; i++) out[i] = bc_##name(x[i]);                                                  \
    }

ON_ARRAYS(log)
ON_ARRAYS(quick_log)
ON_ARRAYS(log1p)
ON_ARRAYS(exp)
ON_ARRAYS(psi)
