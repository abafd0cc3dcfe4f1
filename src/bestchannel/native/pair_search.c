/* A leader and a rival, moved until the rival is as good: local solutions.

       minimise  Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x)   subject to  C(v) ≥ C(u).

   At a price s ≥ 0 for capacity the two sides separate. The leader's side, Σ w D(W‖u) + s C(u), is convex; the rival's
   side, Σ w D(W‖v) - s C(v), is not, and is followed to a local minimum only. */
#include "lower_bound.h"

enum { MOST_PRICES = 40 };

/* A side with its rows and input, its next rows, and those kept of the low price and of the high one. */
typedef struct {
    Side side;
    double *rows, *P, *new, *kept;  /* [x, y], [x], [x, y], [low or high, x, y] */
    StepRoom step;
} Mover;

static void mover_room(Space *space, Mover *mover) {
    Size n = mover->side.n, m = mover->side.m;
    mover->new = take(space, n * m), mover->kept = take(space, 2 * n * m);
    mover->step = step_room(space, n, m);
}

/* The rival's rows at the price s with C replaced by its tangent at v: a descent step, as C is convex.

   Returns the tangent's value at the new rows and how fast it rises with s. */
static Sloped rival_step(const Mover *rival, double s) {
    Size n = rival->side.n, m = rival->side.m;
    const StepRoom *room = &rival->step;
    Sloped tangent = {0.0, 0.0};
    output(n, m, rival->rows, rival->P, room->Q);
    for (Size y = 0; y < m; y++) room->log_Q[y] = log_of(room->Q[y]);
    for (Size x = 0; x < n; x++) {
        const double *a = rival->side.a + x * m, *v = rival->rows + x * m;
        double *new = rival->new + x * m;
        for (Size y = 0; y < m; y++) {
            room->h[y] = rival->P[x] * (log_of(v[y]) - room->log_Q[y]);
            room->tilt[y] = -s * room->h[y];
        }
        tilted_row(m, a, rival->side.w[x], room->tilt, new);
        for (Size y = 0; y < m; y++) {
            room->weights[y] = a[y] > 0.0 ? new[y] * new[y] / a[y] : 0.0;
            tangent.value += room->h[y] * new[y];
        }
        tangent.slope += spread(m, room->weights, room->h);
    }
    return tangent;
}

/* The new rows = what was kept of the low price and of the high one, the latter by `share`. */
static void blend(const Mover *mover, double share) {
    Size size = mover->side.n * mover->side.m;
    for (Size i = 0; i < size; i++) mover->new[i] = (1.0 - share) * mover->kept[i] + share * mover->kept[size + i];
}

static void keep(const Mover *mover, int side) {
    Size size = mover->side.n * mover->side.m;
    copy(mover->new, mover->kept + side * size, size);
}

/* Fill the new rows of both sides at the price where they meet; the price.

   Newton's steps, kept between a price that is too low and one that is too high. A letter that W nearly excludes jumps
   with the price; the two sides of the jump are then blended. */
static double meet(const Mover *leader, const Mover *rival, double s) {
    double low = 0.0, high = BC_INFINITY, missing = 0.0, over = 0.0;
    for (int i = 0; i < MOST_PRICES; i++) {
        Sloped leads = leader_step(&leader->side, s, leader->rows, leader->P, leader->new, &leader->step);
        Sloped follows = rival_step(rival, s);
        double gap = leads.value - follows.value;
        int side = gap > 0.0 ? 0 : 1;
        keep(leader, side);
        keep(rival, side);
        if (gap > 0.0) low = s, missing = gap;
        else high = s, over = -gap;
        double next = smaller(larger(s + gap / larger(leads.slope + follows.slope, TINY), 0.3 * s), 3.0 * s);
        if (!(next > low && next < high)) next = high < BC_INFINITY ? 0.5 * (low + high) : 3.0 * s;
        int near = fabs(next - s) < 0.03 * s;
        s = next;
        if (near) break;
    }
    if (low > 0.0 && high < BC_INFINITY && missing + over > 0.0) {
        blend(leader, missing / (missing + over));
        blend(rival, missing / (missing + over));
    }
    return s;
}

/* How many numbers `room` of the next function must have. */
BC_EXPORT Size BC(pair_search_room)(Size n_b, Size m_b, Size n_a, Size m_a) {
    Space space = {0, 0};
    Mover leader = {.side = {n_b, m_b, 0, 0, 0.0}}, rival = {.side = {n_a, m_a, 0, 0, 0.0}};
    mover_room(&space, &leader);
    mover_room(&space, &rival);
    return space.used;
}

/* Move the leader (b) with the rows u [x, y] and the input P_u, and the rival (a) with v and P_v, from the price s to a
   nearby local solution, in place; the price there.

   Each step replaces C(v) ≥ C(u) by a tangent that implies it, so that v stays in the component of {C(v) ≥ c} where it
   began. C(v) = C(u) holds nearly; `lower_bound.alternatives` makes it exact. */
BC_EXPORT double BC(pair_search)(Size n_b, Size m_b, const double *a_b, const double *w_b, Size n_a, Size m_a,
                                 const double *a_a, const double *w_a, double s, double *u, double *P_u, double *v,
                                 double *P_v, Size most, double tol, double *room) {
    Space space = {room, 0};
    Mover leader = {.side = {n_b, m_b, a_b, w_b, 0.0}, .rows = u, .P = P_u};
    Mover rival = {.side = {n_a, m_a, a_a, w_a, 0.0}, .rows = v, .P = P_v};
    mover_room(&space, &leader);
    mover_room(&space, &rival);
    for (Size i = 0; i < most; i++) {
        double change = improve_input(n_b, m_b, u, P_u, &leader.step), before = s;
        change = larger(change, improve_input(n_a, m_a, v, P_v, &rival.step));
        s = meet(&leader, &rival, s);
        change = larger(change, fabs(s / before - 1.0));
        change = larger(change, move(u, leader.new, n_b * m_b));
        change = larger(change, move(v, rival.new, n_a * m_a));
        if (change < tol) break;
    }
    return s;
}
