/* What the kernels of evidence, lower bounds and text share: sizes, the order of numbers, and their work space. */
#ifndef BESTCHANNEL_KERNEL_H
#define BESTCHANNEL_KERNEL_H

#include "library.h"
#include "mathematics.h"

typedef int64_t Size;

/* The larger and the smaller of two numbers; a `b` that is no number changes nothing. */
static inline double larger(double a, double b) { return b > a ? b : a; }
static inline double smaller(double a, double b) { return b < a ? b : a; }

/* target = source, for vectors that do not overlap. */
static inline void copy(const double *restrict source, double *restrict target, Size count) {
    for (Size i = 0; i < count; i++) target[i] = source[i];
}

/* Work space from the caller. Laid out with `at` null it only counts what is used: a kernel's function NAME_room, which
   says how many numbers its room must have, runs the very code that lays the room out. */
typedef struct { double *at; Size used; } Space;

static inline double *take(Space *space, Size count) {
    double *here = space->at ? space->at + space->used : 0;
    space->used += count;
    return here;
}

#endif
