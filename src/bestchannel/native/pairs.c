/* What Python calls of linear bets on pairs of answers, whose terms are those of pair_rows.h. */
#include "pair_rows.h"
#include "rival_bounds.h"

static const double PAIR_SETTLED = 1e-3;  /* nats by which a climb still rises when it ends */

#define TERMS const int64_t *first, const double *count, const double *alpha, const double *beta, const double *kappa, \
              const double *drift, const double *level, const double *slope, double weight

static Losses pairs_of(Space *space, Pairs *pairs, Size terms, Size n, Size m, TERMS) {
    *pairs = (Pairs){.first = first, .count = count, .alpha = alpha, .beta = beta, .kappa = kappa, .drift = drift,
                     .level = level, .slope = slope};
    Losses losses = pairs_room(space, terms, n, m, pairs);
    losses.weight = weight;
    fill_at_zero(pairs, n, m);
    return losses;
}

/* F(P) where it is about largest, without an entry of P above `largest`; P [x], logW [x, y] and logR [y] move there. */
BC_EXPORT double BC(pair_climbed)(Size terms, Size n, Size m, TERMS, double *P, double *logW, double *logR, double largest,
                                  double *room) {
    Space space = {room, 0};
    Pairs pairs;
    Losses losses = pairs_of(&space, &pairs, terms, n, m, first, count, alpha, beta, kappa, drift, level, slope, weight);
    return climb(&losses, P, logW, logR, largest, PAIR_SETTLED);
}
ROOM(pair_climbed, (Size terms, Size n, Size m), Pairs pairs; pairs_room(&space, terms, n, m, &pairs))

/* An upper bound of F over all P with ends[i, 0, x] <= P_x <= ends[i, 1, x] for an i, at most `target` where so many boxes
   show that; P, logW and logR are where F is about largest, and move to the worst box where they do not. */
BC_EXPORT double BC(pair_bounded)(Size terms, Size n, Size m, TERMS, double *P, double *logW, double *logR,
                                  Size begun, const double *ends, double target, Size boxes, double *room) {
    Space space = {room, 0};
    Pairs pairs;
    Size used;
    Losses losses = pairs_of(&space, &pairs, terms, n, m, first, count, alpha, beta, kappa, drift, level, slope, weight);
    double *searched = take(&space, boxes * box_size(n, m)), *cuts = take(&space, 3 * (boxes + 1));
    FOR(i, begun) copy(ends + 2 * i * n, searched + i * box_size(n, m), 2 * n);
    return search(&losses, P, logW, logR, target, begun, boxes, searched, cuts, &used);
}
ROOM(pair_bounded, (Size terms, Size n, Size m, Size boxes), Pairs pairs; pairs_room(&space, terms, n, m, &pairs),
     take(&space, boxes * box_size(n, m)), take(&space, 3 * (boxes + 1)))

/* For tests: u_x(p; R) from above. */
BC_EXPORT double BC(pair_row)(Size terms, Size n, Size m, TERMS, Size x, double p, const double *logR, double *logw,
                              double *room) {
    Space space = {room, 0};
    Pairs pairs;
    Losses losses = pairs_of(&space, &pairs, terms, n, m, first, count, alpha, beta, kappa, drift, level, slope, weight);
    return pair_loss(&losses, x, p, logR, logw);
}
ROOM(pair_row, (Size terms, Size n, Size m), Pairs pairs; pairs_room(&space, terms, n, m, &pairs))
