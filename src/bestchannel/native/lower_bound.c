/* What Python calls of the costs of making a rival as good as the leader. NAME_room says how large the room of NAME is. */
#include "box_bound.h"
#include "pair_search.h"

/* Follow the leader with a [x, y] and w [x] from the first of `count` prices s on, started at the rows u0 and the input
   P0, which it overwrites: fills phi [s], capacity [s], u [s, x, y] and P [s, x]. */
BC_EXPORT void BC(leader_curve)(Size n, Size m, Size count, const double *a, const double *w, const double *s,
                                double *phi, double *capacity, double *u, double *P, double *u0, double *P0, Size most,
                                double tol, double *room) {
    Space space = {room, 0};
    Curve curve = {.side = {n, m, a, w, 0.0}};
    curve_room(&space, &curve);
    FOR(i, count) {
        FOR(step, most) {
            double change = improve_input(n, m, u0, P0, &curve.step);
            leader_step(&curve.side, s[i], u0, P0, curve.new, &curve.step);
            if (larger(change, move(u0, curve.new, n * m)) < tol) break;
        }
        phi[i] = leader_bound(&curve.side, s[i], u0, P0, &curve.step, capacity + i);
        copy(P0, P + i * n, n);
        copy(u0, u + i * n * m, n * m);
    }
}
ROOM(leader_curve, (Size n, Size m), curve_room(&space, &(Curve){.side = {.n = n, .m = m}}))

enum { PROVED, VIOLATED, EXHAUSTED };  /* the target holds; rows were found that cost less; neither within the boxes */

/* How it ended, and in `bound` a proved lower bound of min(Z, target), from a first guess (s, Q), for the leader's
   curve with a_b [x, y], w_b [x] and `count` prices as `leader_curve` fills it, and the rival with a [x, y], w [x] and
   base. With `alarm` it ends as VIOLATED once some rows seem to cost less than the target; those rows and their input
   are then v [x, y] and P [x]. */
BC_EXPORT Size BC(certify)(Size n_b, Size m_b, Size count, const double *a_b, const double *w_b, const double *prices,
                           double *phi, double *capacity, double *u_b, double *P_b, Size n, Size m, const double *a,
                           const double *w, double base, double s, const double *Q, double target, Size alarm,
                           Size most_boxes, double *bound, double *v, double *P, double *room) {
    Space space = {room, 0};
    Curve curve = {.side = {n_b, m_b, a_b, w_b, 0.0}, .count = count, .s = prices, .phi = phi, .capacity = capacity,
                   .u = u_b, .P = P_b};
    Work work = work_room(&space, (Side){n, m, a, w, base}, curve, most_boxes);
    start(&work, s, Q, target);
    Size used = 1, other = -1, i = 0;
    while (!visit(&work, i, target, alarm != 0)) {
        if (other >= 0) {  /* the second half of what was cut last */
            i = other, other = -1;
            continue;
        }
        i = lowest(work.bounds, used);
        *bound = work.bounds[i];
        if (*bound >= target) {
            *bound = target;
            return PROVED;
        }
        if (used == most_boxes || *box_at(&work, i).high == 0.0) return EXHAUSTED;
        split(&work, i, used);
        other = used++;
    }
    *bound = smaller(work.bounds[lowest(work.bounds, used)], target);
    copy(work.v, v, n * m);
    copy(work.P, P, n);
    return VIOLATED;
}
ROOM(certify, (Size n_b, Size m_b, Size n, Size m, Size boxes),
     work_room(&space, (Side){.n = n, .m = m}, (Curve){.side = {.n = n_b, .m = m_b}}, boxes))

/* Move the leader (b) with the rows u [x, y] and the input P_u, and the rival (a) with v and P_v, from the price s to
   a nearby local solution, in place; the price there. Each step replaces C(v) ≥ C(u) by a tangent that implies it, so
   that v stays in the component of {C(v) ≥ c} where it began. C(v) = C(u) holds nearly; `lower_bound.alternatives`
   makes it exact. */
BC_EXPORT double BC(pair_search)(Size n_b, Size m_b, const double *a_b, const double *w_b, Size n_a, Size m_a,
                                 const double *a_a, const double *w_a, double s, double *u, double *P_u, double *v,
                                 double *P_v, Size most, double tol, double *room) {
    Space space = {room, 0};
    Mover leader = mover(&space, n_b, m_b, a_b, w_b, u, P_u), rival = mover(&space, n_a, m_a, a_a, w_a, v, P_v);
    FOR(i, most) {
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
ROOM(pair_search, (Size n_b, Size m_b, Size n_a, Size m_a), mover(&space, n_b, m_b, 0, 0, 0, 0),
     mover(&space, n_a, m_a, 0, 0, 0, 0))

/* For tests: `phi_at` and the minimisations of row_costs.h. */
BC_EXPORT double BC(phi_at)(Size n, Size m, Size count, const double *a, const double *w, const double *s, double *u,
                            double *P, double price, double *room) {
    Space space = {room, 0};
    Curve curve = {.side = {n, m, a, w, 0.0}, .count = count, .s = s, .u = u, .P = P};
    curve_room(&space, &curve);
    return phi_at(&curve, price);
}
ROOM(phi_at, (Size n, Size m), curve_room(&space, &(Curve){.side = {.n = n, .m = m}}))

BC_EXPORT double BC(tilted_row)(Size m, const double *a, double w, const double *h, double *v) {
    return tilted_row(m, a, w, h, v);
}

BC_EXPORT void BC(divergence_sum_row)(Size m, const double *a, double w, double t, const double *log_Q, double *v) {
    divergence_sum_row(m, a, w, t, log_Q, v);
}

BC_EXPORT double BC(difference_row)(Size m, const double *a, double w, double t, const double *log_Q, const double *low,
                                    const double *high, double *v, double tol, double *room) {
    Space space = {room, 0};
    Parts parts = row_parts(&space, m);
    return difference_row(m, a, w, t, log_Q, low, high, v, &parts, tol);
}
ROOM(difference_row, (Size m), row_parts(&space, m))
