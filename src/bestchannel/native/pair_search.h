/* A leader and a rival, moved until the rival is as good: local solutions.

       minimise  Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x)   subject to  C(v) ≥ C(u).

   At a price s ≥ 0 for capacity the two sides separate. The leader's side, Σ w D(W‖u) + s C(u), is convex; the rival's
   side, Σ w D(W‖v) - s C(v), is not, and is followed to a local minimum only. */
#pragma once
#include "leader_cost.h"

enum { MOST_PRICES = 40 };

/* A side with its rows and input, its next rows, and those kept of the low price and of the high one. */
typedef struct {
    Side side;
    double *rows, *P, *new, *kept;  /* [x, y], [x], [x, y], [low or high, x, y] */
    StepRoom step;
} Mover;

static Mover mover(Space *space, Size n, Size m, const double *a, const double *w, double *rows, double *P) {
    return (Mover){.side = {n, m, a, w, 0.0}, .rows = rows, .P = P, .new = take(space, n * m),
                   .kept = take(space, 2 * n * m), .step = step_room(space, n, m)};
}

/* The rival's rows at the price s with C replaced by its tangent at v: a descent step, as C is convex. Returns the
   tangent's value at the new rows and how fast it rises with s. */
static Sloped rival_step(const Mover *rival, double s) {
    Size n = rival->side.n, m = rival->side.m;
    const StepRoom *room = &rival->step;
    Sloped tangent = {0.0, 0.0};
    outputs_of(n, m, rival->rows, rival->P, room);
    FOR(x, n) {
        const double *a = rival->side.a + x * m, *v = rival->rows + x * m;
        double *new = rival->new + x * m;
        FOR(y, m) {
            room->h[y] = rival->P[x] * (log_of(v[y]) - room->log_Q[y]);
            room->tilt[y] = -s * room->h[y];
        }
        tilted_row(m, a, rival->side.w[x], room->tilt, new);
        FOR(y, m) room->weights[y] = a[y] > 0.0 ? new[y] * new[y] / a[y] : 0.0;
        add_row(&tangent, m, room, new);
    }
    return tangent;
}

/* Fill the new rows of both sides at the price where they meet; the price. Newton's steps, kept between a price that
   is too low and one that is too high. A letter that W nearly excludes jumps with the price; the two sides of the jump
   are then blended. */
static double meet(const Mover *leader, const Mover *rival, double s) {
    const Mover *both[2] = {leader, rival};
    double low = 0.0, high = BC_INFINITY, missing = 0.0, over = 0.0;
    FOR(i, MOST_PRICES) {
        Sloped leads = leader_step(&leader->side, s, leader->rows, leader->P, leader->new, &leader->step);
        Sloped follows = rival_step(rival, s);
        double gap = leads.value - follows.value;
        FOR(k, 2) {
            Size size = both[k]->side.n * both[k]->side.m;
            copy(both[k]->new, both[k]->kept + (gap > 0.0 ? 0 : size), size);
        }
        if (gap > 0.0) low = s, missing = gap;
        else high = s, over = -gap;
        double next = smaller(larger(s + gap / larger(leads.slope + follows.slope, TINY), 0.3 * s), 3.0 * s);
        if (!(next > low && next < high)) next = high < BC_INFINITY ? 0.5 * (low + high) : 3.0 * s;
        int near = fabs(next - s) < 0.03 * s;
        s = next;
        if (near) break;
    }
    if (low > 0.0 && high < BC_INFINITY && missing + over > 0.0) {
        double share = missing / (missing + over);
        FOR(k, 2) {
            Size size = both[k]->side.n * both[k]->side.m;
            const double *kept = both[k]->kept;
            FOR(i, size) both[k]->new[i] = (1.0 - share) * kept[i] + share * kept[size + i];
        }
    }
    return s;
}
