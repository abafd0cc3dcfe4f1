/* What Python calls of the bets on a leader's senses and on a rival's. NAME_room says how large the room of NAME is. */
#include "leader_bets.h"
#include "rival_bets.h"
#include "rival_bounds.h"

static const double SETTLED = 1e-3;  /* nats by which a climb still rises when it ends */

/* Bets for every case c on W [c, x, y] at P [c, x] with senses [c, x], of the weights [c, r]: fills pays [c, r, x, y],
   price [c, r], V [c, r, x, y] and ν [c, r, x]. */
BC_EXPORT void BC(leader_bets)(Size cases, Size weights, Size n, Size m, const double *W, const double *P,
                               const double *senses, const double *weight, double *pays, double *price, double *V,
                               double *nu, double *room) {
    Space space = {room, 0};
    Leader b = leader_room(&space, n, m);
    FOR(i, cases * weights) {
        Size c = i / weights;
        b.W = W + c * n * m, b.P = P + c * n, b.senses = senses + c * n, b.weight = weight[i];
        price[i] = leader_bet(&b, pays + i * n * m, V + i * n * m, nu + i * n);
    }
}
ROOM(leader_bets, (Size n, Size m), leader_room(&space, n, m))

/* Fill tilts [c, x] and Q [c, y] of every case c: W [c, x, y], a good input P [c, x] of it, senses N [c, x] and a weight
   [c]; `most` is the largest tilt, and with `fixed` P stays. */
BC_EXPORT void BC(rival_tilts)(Size cases, Size n, Size m, Size fixed, const double *W, const double *P, const double *N,
                               const double *weights, double most, double *tilts, double *Q, double *room) {
    Space space = {room, 0};
    Push push = push_room(&space, n, m);
    FOR(c, cases) {
        begin(&push, W, P, c, N + c * n);
        push_rows(&push, weights[c], fixed != 0);
        fill_tilts(&push, weights[c], most, tilts + c * n);
        fill_outputs(&push, Q + c * m);
    }
}
ROOM(rival_tilts, (Size n, Size m), push_room(&space, n, m))

/* The best bet on every rival c of one size, of `count` weights [c, i] that fall: fills which one it is [c], its tilts
   [c, x] and Q [c, y], and takes what the rival is expected to lose off growths [c, i], as far as it was looked for.
   W is [c, x, y], P [c, x], N [c, x], gaps [c]; worst [c, x] counts where known [c] is not 0. See `best_bet`. */
BC_EXPORT void BC(rival_choices)(Size rivals, Size count, Size n, Size m, const double *W, const double *P,
                                 const double *N, const double *gaps, const double *weights, double *growths,
                                 const double *worst, const int64_t *known, double largest, double most, int64_t *sizes,
                                 double *tilts, double *Q, double *room) {
    Space space = {room, 0};
    Choice choice = choice_room(&space, n, m);
    FOR(c, rivals) {
        begin(&choice.push, W, P, c, N + c * n);
        sizes[c] = best_bet(&choice, gaps[c], count, weights + c * count, growths + c * count, 0, 0,
                            known[c] ? worst + c * n : 0, largest, most, tilts + c * n, Q + c * m);
    }
}
ROOM(rival_choices, (Size n, Size m), choice_room(&space, n, m))

/* The bets against every rival c of one size that should win most, of some weights, and the bets on the leader with
   them. The leader has the rows W_b [x, y], inputs P_b, deviations D_b = sqrt(V) and senses N_b [x]. Rival c is number
   places [c] of those with W [., x, y], P and D [., x]; it has the senses N [c, x], is behind by gaps [c], cautiously,
   and `worst` [c] is where the inputs are at which most was lost so far, or null. Its weight is at most `largest` for
   each sense of its least sensed input. With n = 0 it has the value 0 by its alphabet, and there is nothing to bet on
   but the leader. ε is what the leader gains for each unit of weight: with n_b = 0, its value, which is known. Fills numbers [c, 3]: the weight s, what the
   bets should win, and the variance v_b of the leader's value at which bets on it bring s C_b - s² v_b/2; tilts [c, x]
   and Q [c, y]; pays and V [c, x, y], price [c] and ν [c, x] of the leader. */
BC_EXPORT void BC(wagers)(Size rivals, Size n_b, Size m_b, const double *W_b, const double *P_b, const double *D_b,
                          const double *N_b, Size n, Size m, const double *W, const double *P, const double *D,
                          const int64_t *places, const double *N, const double *gaps, const double *const *worst,
                          double epsilon, double largest, double largest_input, double largest_tilt, double *numbers,
                          double *tilts, double *Q, double *pays, double *V, double *price, double *nu, double *room) {
    Space space = {room, 0};
    Wagers w = wagers_room(&space, n_b, m_b, n, m);
    Size cells = n_b * m_b;
    double own = variance(n_b, P_b, D_b, N_b, w.term), C_b = value(n_b, m_b, W_b, P_b, w.term);
    w.leader.W = W_b, w.leader.P = P_b, w.leader.senses = N_b, w.epsilon = epsilon;
    for (Size c = 0; c < rivals; c++, N += n, numbers += 3) {
        double growths[TRIED], most = BC_INFINITY;
        Size best = 0;
        FOR(x, n) most = smaller(most, N[x]);
        double theirs = variance(n, P + places[c] * n, D + places[c] * n, N, w.term);
        double first = smaller(gaps[c] / larger(1e-12, own + theirs), n ? largest * most : BC_INFINITY);
        FOR(i, TRIED) w.weights[i] = first * PARTS[i];
        if (n) {
            begin(&w.choice.push, W, P, places[c], N);
            best = best_bet(&w.choice, gaps[c], TRIED, w.weights, growths, gain_on_leader, &w, worst[c], largest_input,
                            largest_tilt, tilts + c * n, Q + c * m);
        } else {
            FOR(i, TRIED) growths[i] = gain_on_leader(&w, i);
            FOR(i, TRIED) best = growths[i] > growths[best] ? i : best;
        }
        double s = numbers[0] = w.weights[best];
        numbers[1] = growths[best], numbers[2] = 2.0 * (s * (C_b + epsilon) - w.gains[best]) / (s * s);
        price[c] = w.prices[best];
        copy(w.pays + best * cells, pays + c * cells, cells);
        copy(w.V + best * cells, V + c * cells, cells);
        copy(w.nu + best * n_b, nu + c * n_b, n_b);
    }
}
ROOM(wagers, (Size n_b, Size m_b, Size n, Size m), wagers_room(&space, n_b, m_b, n, m))

/* Book the answers to bets on the senses of every rival c of one size, counts [c, x, y] under tilts [c, x] and Q [c, y]:
   ω n is added to n̄ [x, y], ω sum_y n log Q to c [x], and the next row of the history, number rows [c], is filled. These
   three are the first at the addresses [c, 6] of `rival_climbs`. Fills senses [c]; `room` has 2 m. */
BC_EXPORT void BC(rival_settle)(Size rivals, Size n, Size m, double *const *addresses, const int64_t *rows,
                                const double *tilts, const double *Q, const double *counts, double *senses,
                                double *room) {
    double *restrict logQ = room, *restrict term = room + m;
    for (Size c = 0; c < rivals; c++, addresses += 6, tilts += n, Q += m) {
        double *counted = addresses[0], *charged = addresses[1], *row = addresses[2] + rows[c] * (2 * n + m);
        FOR(y, m) logQ[y] = bc_log(Q[y]);
        for (Size x = 0; x < n; x++, counts += m) {
            FOR(y, m) term[y] = counts[y] * logQ[y];
            FOR(y, m) counted[x * m + y] += tilts[x] * counts[y];
            charged[x] += tilts[x] * sum_by_halves(term, m);
            row[x] = sum_by_halves(counts, m);
        }
        copy(tilts, row + n, n);
        copy(Q, row + 2 * n, m);
        senses[c] = sum_by_halves(row, n);
    }
}

/* An upper bound of F over all P, at most `target` where that can be shown by so many boxes; P [x], logW [x, y] and
   logR [y] are where F is about largest. The bets are counts [x, y], charged [x], the history of all requests (see
   `merge_requests`), and S; requests are merged to so many groups. What shows it: how many boxes are used, their cuts
   [box, 3] (see `search`; the first box has none), their R as logRs [box, y], and the rows at both ends of their
   inputs as logws [box, side, x, y]. */
BC_EXPORT double BC(rival_bounded)(Size requests, Size groups, Size n, Size m, const double *counts,
                                   const double *charged, const double *history, double weight, double *P, double *logW,
                                   double *logR, double largest, double target, Size boxes, Size *used, double *cuts,
                                   double *logRs, double *logws, double *room) {
    Space space = {room, 0};
    Losses losses = losses_room(&space, requests, groups, n, m);
    double *searched = take(&space, boxes * box_size(n, m));
    losses.counts = counts, losses.charged = charged, losses.weight = weight;
    merge_requests(&losses, requests, history);
    FOR(x, n) searched[x] = 0.0, searched[n + x] = smaller(largest, 1.0);  /* the first box */
    double bound = search(&losses, P, logW, logR, target, 1, boxes, searched, cuts, used);
    FOR(i, *used) {
        Box box = box_at(searched, i, n, m);
        copy(box.logR, logRs + i * m, m);
        copy(box.logw, logws + 2 * i * n * m, 2 * n * m);
    }
    return bound;
}
ROOM(rival_bounded, (Size requests, Size groups, Size n, Size m, Size boxes),
     losses_room(&space, requests, groups, n, m), take(&space, boxes * box_size(n, m)))

/* Where a climb begins: the inputs P, the rows W and the output of both. */
static void start(Size n, Size m, const double *W, const double *P, double *logW, double *logR) {
    FOR(i, n * m) logW[i] = quick_log(W[i]);
    output(n, m, W, P, logR);
    FOR(y, m) logR[y] = quick_log(logR[y]);
}

/* F(P) at a P where it is about largest, for every rival c of one size: fills lost [c]. With largest <= 0, P stays.
   The arrays of rival c are at the addresses [c, 6]: counts [x, y], charged [x], history, and P [x], logW [x, y] and
   logR [y], which move to where that is. It has so many requests [c], and weights [c]. Where known [c] is 0, the climb
   begins at P with the rows W [c, x, y]. A climb ends at the next top, which may not be the highest: where it stays at
   most targets [c], another one begins with all inputs alike. The room is that for the most requests. */
BC_EXPORT void BC(rival_climbs)(Size rivals, Size groups, Size n, Size m, double *const *addresses,
                                const int64_t *requests, const double *weights, const double *W, const int64_t *known,
                                const double *targets, double largest, double *lost, double *room) {
    double *other_P = room, *other_logW = other_P + n, *other_logR = other_logW + n * m;
    for (Size c = 0; c < rivals; c++, addresses += 6) {
        Space space = {other_logR + m, 0};
        Losses losses = losses_room(&space, requests[c], groups, n, m);
        double *P = addresses[3], *logW = addresses[4], *logR = addresses[5];
        losses.counts = addresses[0], losses.charged = addresses[1], losses.weight = weights[c];
        merge_requests(&losses, requests[c], addresses[2]);
        if (!known[c]) start(n, m, W + c * n * m, P, logW, logR);
        lost[c] = climb(&losses, P, logW, logR, largest, SETTLED);
        if (!(largest > 0.0 && lost[c] <= targets[c])) continue;
        FOR(x, n) other_P[x] = 1.0 / (double)n;
        start(n, m, W + c * n * m, other_P, other_logW, other_logR);
        double there = climb(&losses, other_P, other_logW, other_logR, largest, SETTLED);
        if (there > lost[c]) {
            lost[c] = there;
            copy(other_P, P, n);
            copy(other_logW, logW, n * m);
            copy(other_logR, logR, m);
        }
    }
}
ROOM(rival_climbs, (Size requests, Size groups, Size n, Size m), losses_room(&space, requests, groups, n, m),
     take(&space, n + n * m + m))

/* For tests: the few epochs of `merge_requests`, senses [x, e], tilts [x, e] and logQ [x, y, e]; and `row_bound`. */
BC_EXPORT void BC(rival_epochs)(Size requests, Size epochs, Size n, Size m, const double *history, double *senses,
                                double *tilts, double *logQ, double *room) {
    Losses losses = {.n = n, .m = m, .epochs = epochs, .senses = senses, .tilts = tilts, .logQ = room};
    merge_requests(&losses, requests, history);
    FOR(x, n) FOR(y, m) FOR(e, epochs) logQ[(x * m + y) * epochs + e] = room[(x * epochs + e) * epoch_size(m) + y];
}
ROOM(rival_epochs, (Size epochs, Size n, Size m), take_epochs(&space, n * epochs, m))

BC_EXPORT double BC(rival_row)(Size epochs, Size m, const double *a, const double *N, const double *tau,
                               const double *logQ, double s, const double *logR, double *logw, double tolerance,
                               double *room) {
    Space space = {room, 0};
    Row row = row_room(&space, epochs, m);
    double *by_epoch = take_epochs(&space, epochs, m);
    FOR(i, epochs * epoch_size(m)) by_epoch[i] = 0.0;
    FOR(e, epochs) FOR(y, m) by_epoch[e * epoch_size(m) + y] = logQ[y * epochs + e];
    row.N = N, row.tau = tau, row.logQ = by_epoch, row.s = s;
    return row_bound(&row, a, logR, logw, tolerance);
}
ROOM(rival_row, (Size epochs, Size m), row_room(&space, epochs, m), take_epochs(&space, epochs, m))
