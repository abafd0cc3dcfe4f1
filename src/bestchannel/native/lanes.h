/* The interior point in LANES lanes, which take the next channel when theirs is done: included for each number. */
#include "interior_point.h"

/* Lay lanes out in the caller's space: all of their arrays, or the first BROUGHT, which a channel brings. */
static void PART(lay_out)(Space *space, PART(Lanes) *at, Size n, Size m, Size arrays) {
    const struct { double **array; Size rows; } parts[] = {
        {&at->W, n * m}, {&at->U, n * m}, {&at->p, n}, {&at->s, n}, {&at->D, n}, {&at->neg_entropy, n}, {&at->q, m},
        {&at->r, m}, {&at->low, 1}, {&at->high, 1}, {&at->A, n * n}, {&at->v, n}, {&at->dp, n}, {&at->ds, n},
        {&at->aim, n}, {&at->weight, n}, {&at->log_q, m}, {&at->dq, m}, {&at->goal, 1}, {&at->mu, 1}, {&at->step_p, 1},
        {&at->step_s, 1}, {&at->some, 1}, {&at->more, 1}};
    FOR(i, arrays) *parts[i].array = take(space, parts[i].rows * LANES);
}

/* Lanes, and those where channels wait for one, with the same scratch. */
static void PART(lay_out_both)(Space *space, PART(Lanes) *at, PART(Lanes) *staged, Size n, Size m) {
    PART(lay_out)(space, at, n, m, ARRAYS);
    *staged = *at;
    PART(lay_out)(space, staged, n, m, BROUGHT);
}

/* A block of `count` channels block[c, x, y] at the uniform input, with their rows summing to 1, and which are refused;
   all is set again for every block, so that no answer depends on which it was in. */
static void PART(stage)(const double *block, int count, const PART(Lanes) *at, uint8_t *status, int normalize,
                        const int n, const int m, const int precise) {
    double *W = at->W, *trouble = at->some, *total = at->more;
    EACH_LANE trouble[l] = OK;
    EACH(x, 0, n) {
        EACH_LANE total[l] = 0.0;
        EACH(y, 0, m) {
            for (int l = 0; l < count; l++) OF(W, x, m, y) = block[((Size)l * n + x) * m + y];
            for (int l = count; l < LANES; l++) OF(W, x, m, y) = 1.0 / m;
            EACH_LANE total[l] += OF(W, x, m, y);
            EACH_LANE trouble[l] = ((OF(W, x, m, y) >= 0.0) & (OF(W, x, m, y) <= 1e300)) ? trouble[l] : BAD_ENTRY;
        }
        EACH_LANE {
            int good = (fabs(total[l] - 1.0) <= BC_ROW_SUM_TOLERANCE) | (normalize & (total[l] > 0.0));
            trouble[l] = good ? trouble[l] : larger(BAD_SUM, trouble[l]);
            total[l] = 1.0 / total[l];
        }
        EACH(y, 0, m) EACH_LANE OF(W, x, m, y) *= total[l];
    }
    for (int l = 0; l < count; l++) status[l] = (uint8_t)trouble[l];
    PART(begin)(at, n, m, precise);
}

/* Write the answer for a channel that is done: its gap, in nats, reached the goal, or never will. */
static void PART(answer)(const Task *task, Size channel, const PART(Lanes) *at, int l, int n, int m) {
    task->status[channel] = at->high[l] - at->low[l] <= at->goal[l] ? OK : STALLED;
    task->lower[channel] = at->low[l], task->upper[channel] = at->high[l];
    EACH(x, 0, n) task->inputs[channel * n + x] = AT(at->p, x);
    EACH(y, 0, m) task->outputs[channel * m + y] = AT(at->q, y);
}

static void PART(solve_all)(const Task *task, Size first, Size last, double *space, const int n, const int m,
                            const int precise) {
    Space room = {space, 0};
    PART(Lanes) at, staged;
    PART(lay_out_both)(&room, &at, &staged, n, m);
    Size owner[LANES], queue = first, staged_first = first, staged_last = first, brought = 2 * n * m + 4 * n + 2 * m + 2;
    int iterations[LANES] = {0};
    EACH_LANE owner[l] = -1, at.goal[l] = 1.0;
    FOR(i, brought * LANES) at.W[i] = 0.0;  /* idle lanes hold the useless channel, which no step disturbs */
    FOR(i, n * m * LANES) at.W[i] = 1.0 / m;
    FOR(i, n * LANES) at.p[i] = 1.0 / n, at.s[i] = 1.0;
    FOR(i, m * LANES) at.q[i] = 1.0 / m, at.r[i] = m;
    for (;;) {
        int busy = 0;
        for (int l = 0; l < LANES; l++) {
            if (owner[l] >= 0) {
                double gap = at.high[l] - at.low[l];
                at.goal[l] = precise ? smaller(task->rtol * at.high[l], task->tol) : task->tol;
                iterations[l]++;
                if (gap <= at.goal[l] || iterations[l] > BC_MAX_ITERATIONS || !(gap < 1e300)) {
                    PART(answer)(task, owner[l], &at, l, n, m);
                    owner[l] = -1;
                }
            }
            while (owner[l] < 0 && queue < last) {
                if (queue == staged_last) {
                    Size count = last - queue < LANES ? last - queue : LANES;
                    staged_first = queue, staged_last = queue + count;
                    PART(stage)(task->stack + queue * n * m, (int)count, &staged, task->status + queue, task->normalize,
                                n, m, precise);
                }
                if (task->status[queue] == OK) {
                    FOR(i, brought) at.W[i * LANES + l] = staged.W[i * LANES + (queue - staged_first)];
                    owner[l] = queue, iterations[l] = 0, at.goal[l] = task->tol;
                }
                queue++;
            }
            busy += owner[l] >= 0;
        }
        if (busy == 0) return;
        PART(step)(&at, n, m, BC_SHORT_OF_BOUNDARY);
        PART(divergences_of)(&at, n, m, precise);
    }
}
