/* What the bets against a rival can lose on its own senses at most, over all its rows and inputs.

   F(P) = min_R sum_x u_x(P_x; R), with u_x the bound of a row (rival_rows.c), is bounded from above over all P of the
   simplex without an entry above `largest`, by branch and bound over boxes. On a box one R serves all P, u_x is convex
   in P_x and so at most its chord, and the largest sum of chords is a fractional knapsack.
   docs/theory/adaptive.md, "All inputs". */
#include "rival.h"

static const double SETTLED = 1e-3;
enum { SWEEPS = 6 };  /* how often, at most, the rows at the ends of a box are computed, each time for another R */
static const double FIRST_PART = 0.6, LATER_PART = 0.4;  /* of the way to the best R; of that, where it led up */
static const double WORTH_IT = 0.05;  /* of what a bound is too large, by which it has to fall to be looked at again */
static const double TOWARDS_KNAPSACK = 0.3;  /* how far P goes to the solution of the knapsack before it is balanced */
static const double CUT = 0.6;  /* from a face of its box towards the point where most is lost, where a box is cut */

/* A box of input distributions, with its R, the rows at its ends and the P where most is lost. */
typedef struct { double *ends, *logR, *logw, *P, *bound; } Box;  /* [side, x], [y], [side, x, y], [x], [] */

static Size box_size(Size n, Size m) { return 2 * n + m + 2 * n * m + n + 1; }

static Box box_at(double *boxes, Size number, Size n, Size m) {
    double *at = boxes + number * box_size(n, m);
    return (Box){at, at + 2 * n, at + 2 * n + m, at + 2 * n + m + 2 * n * m, at + 3 * n + m + 2 * n * m};
}

/* All input distributions without an entry above `largest`. */
static void first_box(Box box, const double *P, const double *logW, const double *logR, double largest, Size n, Size m) {
    copy(logR, box.logR, m);
    copy(P, box.P, n);
    for (Size x = 0; x < n; x++) box.ends[x] = 0.0, box.ends[n + x] = smaller(largest, 1.0);
    copy(logW, box.logw, n * m);
    copy(logW, box.logw + n * m, n * m);
}

/* Shrink the box to what the simplex leaves of it; whether anything is left. */
static int tighten(double *ends, Size n) {
    double low = 0.0, high = 0.0;
    for (Size x = 0; x < n; x++) low += ends[x], high += ends[n + x];
    if (low > 1.0 + 1e-12 || high < 1.0 - 1e-12) return 0;
    for (Size x = 0; x < n; x++) {
        double least = 1.0 - (high - ends[n + x]), most = 1.0 - (low - ends[x]);
        ends[x] = larger(ends[x], least), ends[n + x] = smaller(ends[n + x], most);
    }
    return 1;
}

/* u_x at both ends of every input, and p v there, with v where the bound of the row is reached. */
static void fill_ends(const Losses *losses, Box box, const Room *room) {
    Size n = losses->n, m = losses->m;
    for (Size i = 0; i < 2 * n; i++) {
        room->at_ends[i] = row_loss(losses, i % n, box.ends[i], box.logR, box.logw + i * m, room);
        for (Size y = 0; y < m; y++) room->reached[i * m + y] = box.ends[i] * room->row.reach[y];
    }
}

/* The largest sum of chords over the P of the box, which is left in room->P. */
static double knapsack(const double *ends, const Room *room, Size n) {
    double value = 0.0, left = 1.0;
    for (Size x = 0; x < n; x++) {
        double width = ends[n + x] - ends[x];
        value += room->at_ends[x];
        left -= ends[x];
        room->P[x] = ends[x];
        room->slopes[x] = width > 0.0 ? (room->at_ends[n + x] - room->at_ends[x]) / width : -BC_INFINITY;
    }
    for (Size i = 0; i < n; i++) {
        Size steepest = 0;
        for (Size x = 0; x < n; x++)
            if (room->slopes[x] > room->slopes[steepest]) steepest = x;
        if (left <= 0.0 || room->slopes[steepest] == -BC_INFINITY) break;
        double part = smaller(left, ends[n + steepest] - ends[steepest]);
        value += part * room->slopes[steepest];
        room->P[steepest] += part;
        left -= part;
        room->slopes[steepest] = -BC_INFINITY;
    }
    return value;
}

/* The least sum of chords over all R, largest in P, with the rows as they are, from below; P moves there. The output at
   that P, which is the best R, is left in room->R[1]. */
static double saddle_of(const Losses *losses, Box box, const Room *room) {
    Size n = losses->n, m = losses->m;
    double constant = 0.0, weight = losses->weight;
    for (Size y = 0; y < m; y++) room->rest[y] = 0.0;
    for (Size x = 0; x < n; x++) {
        double low = box.ends[x], high = box.ends[n + x], width = larger(high - low, 1e-12);
        double lower = room->at_ends[x], upper = room->at_ends[n + x];
        room->ends[x] = low, room->ends[n + x] = high;
        box.P[x] += TOWARDS_KNAPSACK * (room->P[x] - box.P[x]);
        for (Size y = 0; y < m; y++) {
            double at_low = room->reached[x * m + y], at_high = room->reached[(n + x) * m + y];
            lower += weight * at_low * box.logR[y];
            upper += weight * at_high * box.logR[y];
            room->parts[x * m + y] = (at_high - at_low) / width;
            room->rest[y] += at_low;
        }
        constant += lower;
        room->rises[x] = (upper - lower) / width;
    }
    return constant + balance(weight, box.P, room, n, m);
}

/* Bound F on one box; R moves to where the bound is least, as far as the target demands and allows.

   With the rows as they are the best R belongs to a saddle point that is found at once (`saddle_of`); for it the rows
   are computed anew. Where the bound grows, since the rows have moved far, R goes a part of the way only. */
static void bound_box(const Losses *losses, Box box, double target, const Room *room) {
    Size m = losses->m;
    double best = BC_INFINITY, saddle = -BC_INFINITY, part = FIRST_PART;
    *box.bound = -BC_INFINITY;
    if (!tighten(box.ends, losses->n)) return;
    for (int i = 0; i < SWEEPS; i++) {
        fill_ends(losses, box, room);
        double value = knapsack(box.ends, room, losses->n);
        if (value < best) {
            int worth_it = best - value > WORTH_IT * (value - target);
            best = value;
            if (best <= target || saddle > target || !worth_it) break;
            for (Size y = 0; y < m; y++) room->R[y] = quick_exp(box.logR[y]);
            saddle = saddle_of(losses, box, room);
        } else {
            part *= LATER_PART;
        }
        for (Size y = 0; y < m; y++) box.logR[y] = quick_log((1.0 - part) * room->R[y] + part * room->R[m + y]);
    }
    *box.bound = best;
}

/* Which input to cut a box at, and where: that whose chord is furthest above u_x at P, or in the middle. */
static Size cut_of(const Losses *losses, Box box, const Room *room, double *where) {
    Size n = losses->n, m = losses->m, widest = 0;
    double most = -1.0;
    fill_ends(losses, box, room);
    *where = 0.5 * (box.ends[0] + box.ends[n]);
    for (Size x = 0; x < n; x++) {
        double low = box.ends[x], high = box.ends[n + x], width = high - low, P = box.P[x];
        if (width <= 1e-9) continue;
        double middle = low + 0.02 * width < P && P < high - 0.02 * width ? P : 0.5 * (low + high);
        copy(box.logw + (n + x) * m, room->logw, m);
        double chord = room->at_ends[x] + (middle - low) / width * (room->at_ends[n + x] - room->at_ends[x]);
        double gap = chord - row_loss(losses, x, middle, box.logR, room->logw, room);
        if (gap > most) {
            widest = x, most = gap;
            if (middle != P) *where = middle;
            else if (middle - low > high - middle) *where = low + CUT * (middle - low);
            else *where = high - CUT * (high - middle);
        }
    }
    return widest;
}

/* An upper bound of F over all P, at most `target` where that can be shown with so many boxes; fills how many were used,
   and cuts [box, 3]: the box of which this one was cut off as the upper part, at which input, and where.

   P is where F is about largest. Where nothing can be shown, P, the rows and R move to the box with the largest bound. */
static double search(const Losses *losses, double *P, double *logW, double *logR, double largest, double target,
                     Size most_boxes, double *boxes, double *cuts, Size *used, const Room *room) {
    Size n = losses->n, m = losses->m;
    first_box(box_at(boxes, 0, n, m), P, logW, logR, largest, n, m);
    bound_box(losses, box_at(boxes, 0, n, m), target, room);
    for (*used = 1;; ++*used) {
        Size at = 0;
        for (Size i = 1; i < *used; i++)
            if (*box_at(boxes, i, n, m).bound > *box_at(boxes, at, n, m).bound) at = i;
        Box worst = box_at(boxes, at, n, m), other = box_at(boxes, *used, n, m);
        double before = *worst.bound, *cut = cuts + 3 * *used;
        if (!(before > target)) return before;
        if (*used == most_boxes) {
            copy(worst.P, P, n);
            copy(worst.logR, logR, m);
            copy(worst.logw + n * m, logW, n * m);
            return before;
        }
        Size x = cut_of(losses, worst, room, cut + 2);
        cut[0] = (double)at, cut[1] = (double)x;
        copy(worst.ends, other.ends, box_size(n, m));
        worst.ends[n + x] = other.ends[x] = cut[2];
        bound_box(losses, worst, target, room);
        bound_box(losses, other, target, room);
        *worst.bound = smaller(*worst.bound, before);
        *other.bound = smaller(*other.bound, before);
    }
}

/* Room for a rival's bets, a climb, and so many boxes. */
typedef struct { Losses losses; Room room; double *boxes; } Workplace;

static Workplace workplace(Space *space, Size requests, Size groups, Size n, Size m, Size boxes) {
    Workplace place = {.losses = losses_room(space, requests, groups, n, m)};
    place.room = loss_room(space, place.losses.epochs, n, m);
    place.boxes = take(space, boxes * box_size(n, m));
    return place;
}

/* How many numbers `room` of the next functions must have; a climb uses no boxes. */
BC_EXPORT Size BC(rival_room)(Size requests, Size groups, Size n, Size m, Size boxes) {
    Space space = {0, 0};
    workplace(&space, requests, groups, n, m, boxes);
    return space.used;
}

/* An upper bound of F over all P, at most `target` where that can be shown by so many boxes; P [x], logW [x, y] and
   logR [y] are where F is about largest. The bets are counts [x, y], charged [x], the history of all requests (see
   `merged_losses`), and S; requests are merged to so many groups.

   What shows it: how many boxes are used, their cuts [box, 3] (see `search`; the first box has none), their R as
   logRs [box, y], and the rows at both ends of their inputs as logws [box, side, x, y]. */
BC_EXPORT double BC(rival_bounded)(Size requests, Size groups, Size n, Size m, const double *counts,
                                   const double *charged, const double *history, double weight, double *P, double *logW,
                                   double *logR, double largest, double target, Size boxes, Size *used, double *cuts,
                                   double *logRs, double *logws, double *room) {
    Space space = {room, 0};
    Workplace place = workplace(&space, requests, groups, n, m, boxes);
    place.losses.counts = counts, place.losses.charged = charged, place.losses.weight = weight;
    merged_losses(&place.losses, requests, history);
    double bound = search(&place.losses, P, logW, logR, largest, target, boxes, place.boxes, cuts, used, &place.room);
    for (Size i = 0; i < *used; i++) {
        Box box = box_at(place.boxes, i, n, m);
        copy(box.logR, logRs + i * m, m);
        copy(box.logw, logws + 2 * i * n * m, 2 * n * m);
    }
    return bound;
}

/* Where a climb begins: the inputs P, the rows W and the output of both. */
static void start(Size n, Size m, const double *W, const double *P, double *logW, double *restrict logR) {
    for (Size i = 0; i < n * m; i++) logW[i] = quick_log(W[i]);
    for (Size y = 0; y < m; y++) logR[y] = 0.0;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) logR[y] += P[x] * W[x * m + y];
    for (Size y = 0; y < m; y++) logR[y] = quick_log(logR[y]);
}

/* How many numbers `room` of the next function must have, for up to so many requests of a rival. */
BC_EXPORT Size BC(rival_climbs_room)(Size requests, Size groups, Size n, Size m) {
    Space space = {0, 0};
    workplace(&space, requests, groups, n, m, 0);
    return space.used + n + n * m + m;
}

/* F(P) at a P where it is about largest, for every rival c of one size: fills lost [c]. With largest <= 0, P stays.

   The arrays of rival c are at the addresses [c, 6]: counts [x, y], charged [x], history, and P [x], logW [x, y] and
   logR [y], which move to where that is. It has so many requests [c], and weights [c]. Where known [c] is 0, the climb
   begins at P with the rows W [c, x, y]. A climb ends at the next top, which may not be the highest: where it stays at
   most targets [c], another one begins with all inputs alike. */
BC_EXPORT void BC(rival_climbs)(Size rivals, Size groups, Size n, Size m, double *const *addresses,
                                const int64_t *requests, const double *weights, const double *W, const int64_t *known,
                                const double *targets, double largest, double *lost, double *room) {
    double *other_P = room, *other_logW = other_P + n, *other_logR = other_logW + n * m;
    for (Size c = 0; c < rivals; c++, addresses += 6) {
        Space space = {other_logR + m, 0};
        Workplace place = workplace(&space, requests[c], groups, n, m, 0);
        double *P = addresses[3], *logW = addresses[4], *logR = addresses[5];
        place.losses.counts = addresses[0], place.losses.charged = addresses[1], place.losses.weight = weights[c];
        merged_losses(&place.losses, requests[c], addresses[2]);
        if (!known[c]) start(n, m, W + c * n * m, P, logW, logR);
        lost[c] = climb(&place.losses, P, logW, logR, largest, SETTLED, &place.room);
        if (!(largest > 0.0 && lost[c] <= targets[c])) continue;
        for (Size x = 0; x < n; x++) other_P[x] = 1.0 / (double)n;
        start(n, m, W + c * n * m, other_P, other_logW, other_logR);
        double there = climb(&place.losses, other_P, other_logW, other_logR, largest, SETTLED, &place.room);
        if (there > lost[c]) {
            lost[c] = there;
            copy(other_P, P, n);
            copy(other_logW, logW, n * m);
            copy(other_logR, logR, m);
        }
    }
}

/* The few epochs of `merged_losses`, for tests: senses [x, e], tilts [x, e] and logQ [x, e, y]. */
BC_EXPORT void BC(rival_epochs)(Size requests, Size epochs, Size n, Size m, const double *history, double *senses,
                                double *tilts, double *logQ) {
    Losses losses = {n, m, epochs, 0, 0, senses, tilts, logQ, 0.0};
    merged_losses(&losses, requests, history);
}
