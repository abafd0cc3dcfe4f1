/* The interior point in LANES lanes, which take the next channel when theirs is done: included for each number. */
#include "interior_point.h"

/* Lanes in the caller's space, holding the useless channel, which no step disturbs. */
static PART(Lanes) PART(laid_out)(Space *space, int n, int m) {
    Size row = (Size)n * LANES, column = (Size)m * LANES;
    PART(Lanes) at = {.W = take(space, n * column), .U = take(space, n * column), .A = take(space, n * row)};
    double **of_inputs[] = {&at.p, &at.s, &at.D, &at.neg_entropy, &at.v, &at.dp, &at.ds, &at.aim, &at.weight};
    double **of_outputs[] = {&at.q, &at.r, &at.log_q, &at.dq};
    double **of_lanes[] = {&at.low, &at.high, &at.goal, &at.mu, &at.step_p, &at.step_s, &at.some, &at.more};
    for (int i = 0; i < 9; i++) *of_inputs[i] = take(space, row);
    for (int i = 0; i < 4; i++) *of_outputs[i] = take(space, column);
    for (int i = 0; i < 8; i++) *of_lanes[i] = take(space, LANES);
    if (!space->at) return at;
    for (Size i = 0; i < space->used; i++) space->at[i] = 0.0;
    for (Size i = 0; i < n * column; i++) at.W[i] = 1.0 / m;
    for (Size i = 0; i < row; i++) at.p[i] = 1.0 / n, at.s[i] = 1.0;
    for (Size i = 0; i < column; i++) at.q[i] = 1.0 / m, at.r[i] = m;
    for (Size i = 0; i < LANES; i++) at.goal[i] = 1.0;
    return at;
}

/* Lay `count` channels block[c, x, y] out in lanes with their rows summing to 1, and say which are refused. */
static void PART(read_block)(const double *block, int count, const PART(Lanes) *at, uint8_t *status, int normalize,
                             const int n, const int m) {
    double *W = at->W, *trouble = at->some, *total = at->more;
    EACH_LANE trouble[l] = OK;
    for (int x = 0; x < n; x++) {
        EACH_LANE total[l] = 0.0;
        for (int y = 0; y < m; y++) {
            for (int l = 0; l < count; l++) OF(W, x, m, y) = block[((Size)l * n + x) * m + y];
            for (int l = count; l < LANES; l++) OF(W, x, m, y) = 1.0 / m;
            EACH_LANE total[l] += OF(W, x, m, y);
            EACH_LANE trouble[l] = ((OF(W, x, m, y) >= 0.0) & (OF(W, x, m, y) <= 1e300)) ? trouble[l] : BAD_ENTRY;
        }
        EACH_LANE {
            int good = (fabs(total[l] - 1.0) <= BC_ROW_SUM_TOLERANCE) | (normalize & (total[l] > 0.0));
            trouble[l] = good ? trouble[l] : bc_max(trouble[l], BAD_SUM);
            total[l] = 1.0 / total[l];
        }
        for (int y = 0; y < m; y++) EACH_LANE OF(W, x, m, y) *= total[l];
    }
    for (int l = 0; l < count; l++) status[l] = (uint8_t)trouble[l];
}

/* A block of channels at the uniform input, set again for every block, so that no answer depends on which it was in. */
static void PART(stage)(const double *block, int count, const PART(Lanes) *at, uint8_t *status, int normalize,
                        const int n, const int m, const int precise) {
    for (int x = 0; x < n; x++) EACH_LANE AT(at->p, x) = 1.0 / n;
    PART(read_block)(block, count, at, status, normalize, n, m);
    PART(neg_entropies_of)(at, n, m);
    PART(divergences_of)(at, n, m, precise);
    for (int x = 0; x < n; x++) EACH_LANE AT(at->s, x) = BC_FIRST_MARGIN * at->high[l] - AT(at->D, x) + BC_LEAST_SLACK;
}

/* Move a staged channel into a lane. */
static void PART(move_in)(const PART(Lanes) *staged, int source, const PART(Lanes) *at, int lane, const int n,
                          const int m) {
    for (int i = 0; i < n * m; i++) {
        at->W[i * LANES + lane] = staged->W[i * LANES + source];
        at->U[i * LANES + lane] = staged->U[i * LANES + source];
    }
    for (int x = 0; x < n; x++) {
        at->p[x * LANES + lane] = staged->p[x * LANES + source];
        at->s[x * LANES + lane] = staged->s[x * LANES + source];
        at->D[x * LANES + lane] = staged->D[x * LANES + source];
        at->neg_entropy[x * LANES + lane] = staged->neg_entropy[x * LANES + source];
    }
    for (int y = 0; y < m; y++) {
        at->q[y * LANES + lane] = staged->q[y * LANES + source];
        at->r[y * LANES + lane] = staged->r[y * LANES + source];
    }
    at->high[lane] = staged->high[source];
    at->low[lane] = staged->low[source];
}

/* Write the answer for a channel that is done: its gap, in nats, reached the goal, or never will. */
static void PART(answer)(const Task *task, Size channel, const PART(Lanes) *at, int lane, int n, int m) {
    task->status[channel] = at->high[lane] - at->low[lane] <= at->goal[lane] ? OK : STALLED;
    task->lower[channel] = at->low[lane];
    task->upper[channel] = at->high[lane];
    for (int x = 0; x < n; x++) task->inputs[channel * n + x] = at->p[x * LANES + lane];
    for (int y = 0; y < m; y++) task->outputs[channel * m + y] = at->q[y * LANES + lane];
}

static void PART(solve_all)(const Task *task, Size first, Size last, double *space, const int n, const int m,
                            const int precise) {
    Space room = {space, 0};
    PART(Lanes) at = PART(laid_out)(&room, n, m);
    Space more = {space + room.used, 0};
    PART(Lanes) staged = PART(laid_out)(&more, n, m);
    Size owner[LANES], queue = first, staged_first = first, staged_last = first;
    int iterations[LANES] = {0};
    for (int l = 0; l < LANES; l++) owner[l] = -1;
    for (;;) {
        int busy = 0;
        for (int l = 0; l < LANES; l++) {
            if (owner[l] >= 0) {
                double gap = at.high[l] - at.low[l];
                at.goal[l] = precise ? bc_min(task->tol, task->rtol * at.high[l]) : task->tol;
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
                    PART(move_in)(&staged, (int)(queue - staged_first), &at, l, n, m);
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
