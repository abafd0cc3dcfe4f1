/* Capacities of many small channels: the interior point in lanes, which take the next channel when theirs is done.
   Whatever the steps did, an answer is certified afresh from p alone: I(p; W) <= C <= max_x D_x. */
#include "kernel.h"

/* What became of a channel: solved, not converged, refused for an entry, refused for a row sum. */
enum { OK, STALLED, BAD_ENTRY, BAD_SUM };

enum { FEW_LANES = 8, MANY_LANES = 32 };
enum { BROUGHT = 10, ARRAYS = 24 };  /* of the state of lanes */

/* What the caller gives and takes: stack[c, x, y], and for each channel its bounds in nats, p, q and status. */
typedef struct {
    const double *stack;
    double tol, rtol;
    int normalize;
    double *lower, *upper, *inputs, *outputs;
    uint8_t *status;
} Task;

#define LANES 8
#include "lanes.h"
#undef LANES
#define LANES 32
#include "lanes.h"

/* How many numbers of work space `lanes_solve` requires; -1 for a size that it does not take. */
BC_EXPORT Size BC(lanes_solve_room)(Size n, Size m, Size lanes) {
    if (n < 1 || m < 1 || n > 1 << 10 || m > (1 << 24) / n || (lanes != FEW_LANES && lanes != MANY_LANES)) return -1;
    Space room = {0, 0};
    if (lanes == FEW_LANES) lay_out_both8(&room, &(Lanes8){0}, &(Lanes8){0}, n, m);
    else lay_out_both32(&room, &(Lanes32){0}, &(Lanes32){0}, n, m);
    return room.used;
}

/* Fill in the answers (nats) for the channels first <= c < last of stack[c, x, y], 8 or 32 at a time, each solved to a gap
   of tol, and of rtol times the upper end where rtol < 1. The answer depends neither on neighbours nor on the lanes. */
BC_EXPORT void BC(lanes_solve)(const double *stack, int64_t first, int64_t last, int64_t n_inputs, int64_t n_outputs,
                               int64_t lanes, double tol, double rtol, int64_t normalize, double *lower, double *upper,
                               double *inputs, double *outputs, uint8_t *status, double *space) {
    const Task task = {stack, tol, rtol, normalize != 0, lower, upper, inputs, outputs, status};
    const int n = (int)n_inputs, m = (int)n_outputs, precise = rtol < 1.0;
    (lanes == FEW_LANES ? solve_all8 : solve_all32)(&task, first, last, space, n, m, precise);
}
