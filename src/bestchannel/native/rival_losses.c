/* What the bets against a rival have lost on its own senses if an input distribution P is the truth.

   F(P) = min_R sum_x u_x(P_x; R), with u_x the bound of a row (rival_rows.c), and where it is about largest; that it is
   not larger elsewhere is shown in rival_bounds.c. */
#include "rival.h"

static const double TOLERANCE = 1e-4;  /* nats by which the bound of a row may exceed the row's largest loss */
enum { CLIMBS = 30, MOVES = 12 };      /* how often, at most, R moves; and P, with it */
enum { BALANCINGS = 30, FITTINGS = 60 };
static const double LARGEST_PART = 0.5;  /* of the way to the output of the present rows that R goes in one step */
static const double LEAST_BACK = 0.25, MOST_BACK = 0.75;  /* parts of its last step by which R goes back from too far */
static const double BALANCED = 1e-3;  /* by which the entries of P still change when it is left as it is */
static const double BOLDER = 1.3;     /* the factor by which steps of P grow while they lead up */
static const double LEAST_FACTOR = 1e-13;  /* by which input distributions are scaled, at least; its inverse, at most */
static const double FITS = 1e-12;          /* by which the sum of an input distribution may miss 1 */

/* Room for the bets of so many requests, merged to two epochs a group where there are more. */
Losses losses_room(Space *space, Size requests, Size groups, Size n, Size m) {
    Size epochs = requests < 2 * groups ? requests : 2 * groups;
    Losses losses = {n, m, epochs, 0, 0, 0, 0, 0, 0.0};
    losses.senses = take(space, n * epochs);
    losses.tilts = take(space, n * epochs);
    losses.logQ = take(space, n * epochs * m);
    return losses;
}

Room loss_room(Space *space, Size epochs, Size n, Size m) {
    Room room = {.a = take(space, m), .tau = take(space, epochs), .row = row_room(space, epochs, m)};
    room.logw = take(space, m), room.rest = take(space, m), room.logR = take(space, m);
    room.at_ends = take(space, 2 * n), room.ends = take(space, 2 * n);
    room.P = take(space, n), room.slopes = take(space, n), room.rises = take(space, n);
    room.parts = take(space, n * m), room.reached = take(space, 2 * n * m);
    room.R = take(space, 2 * m), room.pulls = take(space, 2 * m);
    return room;
}

static double sum(const double *values, Size count) {
    double total = 0.0;
    for (Size i = 0; i < count; i++) total += values[i];
    return total;
}

/* The epoch of one end of a chord: at the least ω (side 0) or at the largest (side 1) of some requests. */
static void merge(Losses *losses, const double *history, Size first, Size last, Size x, int side, Size at) {
    Size n = losses->n, m = losses->m, width = 2 * n + m;
    double low = BC_INFINITY, high = -BC_INFINITY, total = 0.0, *restrict logQ = losses->logQ + (x * losses->epochs + at) * m;
    for (Size y = 0; y < m; y++) logQ[y] = 0.0;
    for (Size i = first; i < last; i++) {
        double senses = history[i * width + x], tilt = history[i * width + n + x];
        if (senses > 0.0) low = smaller(low, tilt), high = larger(high, tilt);
    }
    for (Size i = first; i < last; i++) {
        const double *request = history + i * width;
        double upper = high > low ? (request[n + x] - low) / (high - low) : 0.0;
        double part = request[x] * (side ? upper : 1.0 - upper);
        total += part;
        for (Size y = 0; y < m; y++) logQ[y] += part * request[2 * n + y];
    }
    losses->tilts[x * losses->epochs + at] = high >= low ? (side ? high : low) : 0.0;
    losses->senses[x * losses->epochs + at] = total;
    for (Size y = 0; y < m; y++) logQ[y] = total > 0.0 ? quick_log(logQ[y] / total) : 0.0;
}

/* All requests, history [i, senses of x | tilts of x | Q of y], as few epochs, which lose at least as much.

   log z is convex in ω, so that it is at most its chord between the least and the largest ω of a group of requests; and
   z is concave in Q, so that at each of the two the mean of Q serves for all. Requests are grouped in their order, the
   groups about equal in senses. */
void merged_losses(Losses *losses, Size requests, const double *history) {
    Size n = losses->n, m = losses->m, width = 2 * n + m, first = 0;
    if (losses->epochs == requests) {
        for (Size i = 0; i < requests; i++)
            for (Size x = 0; x < n; x++) {
                const double *request = history + i * width;
                Size at = x * requests + i;
                losses->senses[at] = request[x], losses->tilts[at] = request[n + x];
                for (Size y = 0; y < m; y++) losses->logQ[at * m + y] = quick_log(request[2 * n + y]);
            }
        return;
    }
    Size groups = losses->epochs / 2;
    double total = 0.0, so_far = 0.0;
    for (Size i = 0; i < requests; i++) total += sum(history + i * width, n);
    for (Size group = 0; group < groups; group++) {
        Size last = first;
        while (last < requests && (group == groups - 1 || so_far < total * (double)(group + 1) / groups))
            so_far += sum(history + last++ * width, n);
        for (Size x = 0; x < n; x++)
            for (int side = 0; side < 2; side++) merge(losses, history, first, last, x, side, 2 * group + side);
        first = last;
    }
}

/* u_x(p; R), from above; `logw` moves to the row at which it is reached. */
double row_loss(const Losses *losses, Size x, double p, const double *logR, double *logw, const Room *room) {
    Size m = losses->m, epochs = losses->epochs;
    for (Size y = 0; y < m; y++) room->row.reach[y] = 0.0;
    if (p <= 0.0) return 0.0;
    for (Size y = 0; y < m; y++) room->a[y] = p * losses->counts[x * m + y];
    for (Size e = 0; e < epochs; e++) room->tau[e] = p * losses->tilts[x * epochs + e];
    RowBets row = {epochs, m, room->a, losses->senses + x * epochs, room->tau, losses->logQ + x * epochs * m,
                   p * losses->weight, logR};
    return row_bound(&row, logw, &room->row, TOLERANCE) - p * losses->charged[x];
}

/* du_x/dp at the row w = room->parts[x] but for the part -S sum_y w_y log R_y of R, after `row_loss`. */
static double rise_of(const Losses *losses, Size x, double p, const double *logw, const Room *room) {
    Size m = losses->m, epochs = losses->epochs;
    double rise = -losses->charged[x];
    const double *w = room->parts + x * m;
    for (Size y = 0; y < m; y++) rise += (losses->counts[x * m + y] + losses->weight * w[y]) * logw[y];
    for (Size e = 0; e < epochs && p > 0.0; e++) {
        double mean = 0.0;
        const double *logQ = losses->logQ + (x * epochs + e) * m, *powers = room->row.powers + e * m;
        for (Size y = 0; y < m; y++) mean += w[y] * powers[y] * (logQ[y] - logw[y]);
        rise += losses->tilts[x * epochs + e] * room->row.weights[e] * mean;
    }
    return rise;
}

/* Move R a part of the way to the output of the rows at which the bounds are reached: the part, and a limit.

   At the best R the two are the same. The rows go where R is small, so that R may go too far; then it goes back to about
   where the pull along the last step vanishes, and no later step is longer than this one. room->pulls[0] is the last. */
static void pull_outputs(const double *P, double *logR, double *part, double *limit, const Room *room, Size n, Size m) {
    double total = 0.0, along = 0.0, before = 0.0, square = 0.0;
    double *restrict last = room->pulls, *restrict pull = room->pulls + m, *restrict R = room->R;
    for (Size y = 0; y < m; y++) pull[y] = 1e-300;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) pull[y] += P[x] * room->reached[x * m + y];
    for (Size y = 0; y < m; y++) total += pull[y];
    for (Size y = 0; y < m; y++) R[y] = quick_exp(logR[y]);
    for (Size y = 0; y < m; y++) {
        pull[y] = pull[y] / total - R[y];
        along += last[y] * pull[y];
        before += last[y] * last[y];
        square += pull[y] * pull[y];
    }
    if (along < 0.0)
        *limit = smaller(larger(along / (along - before), LEAST_BACK), MOST_BACK) * *part * sqrt(before);
    *part = square > 0.0 ? smaller(LARGEST_PART, *limit / sqrt(square)) : 0.0;
    for (Size y = 0; y < m; y++) {
        last[y] = pull[y];
        logR[y] = quick_log(R[y] + *part * pull[y]);
    }
}

/* Scale P, cut off at the ends of its box, until it sums to 1.

   The sum is piecewise linear in the factor: that of the present piece is taken, or where it leads out of what is known
   of the factor, one in the middle. */
static void fit(double *restrict P, const double *low_end, const double *high_end, Size n) {
    double low = LEAST_FACTOR, high = 1.0 / LEAST_FACTOR, factor = 1.0;
    for (int i = 0; i < FITTINGS; i++) {
        double cut = 0.0, unbound = 0.0;
        for (Size x = 0; x < n; x++) {
            double scaled = P[x] * factor;
            if (low_end[x] < scaled && scaled < high_end[x]) unbound += P[x];
            else cut += smaller(larger(scaled, low_end[x]), high_end[x]);
        }
        double missing = 1.0 - cut - factor * unbound;
        if (fabs(missing) < FITS) break;
        if (missing < 0.0) high = factor;
        else low = factor;
        factor = unbound > 0.0 ? (1.0 - cut) / unbound : 0.0;
        if (!(low < factor && factor < high)) factor = sqrt(low * high);
    }
    for (Size x = 0; x < n; x++) P[x] = smaller(larger(P[x] * factor, low_end[x]), high_end[x]);
}

/* Fill the output R at P, scaled, and its logarithm, room->logw, and return -sum_y output_y log R_y. */
static double output(const double *P, const Room *room, Size n, Size m) {
    double total = 0.0, value = 0.0, *restrict R = room->R + m, *restrict logR = room->logw;
    copy(room->rest, R, m);
    for (Size x = 0; x < n; x++) {
        double share = P[x] - room->ends[x];
        for (Size y = 0; y < m; y++) R[y] += share * room->parts[x * m + y];
    }
    for (Size y = 0; y < m; y++) R[y] = larger(R[y], 1e-300);
    for (Size y = 0; y < m; y++) total += R[y];
    for (Size y = 0; y < m; y++) logR[y] = quick_log(R[y] / total);
    for (Size y = 0; y < m; y++) {
        value -= R[y] * logR[y];
        R[y] /= total;
    }
    return value;
}

/* The slope of the value in every P_x, but for a constant; the largest of them. room->logw is log R. */
static double slopes(double weight, const Room *room, Size n, Size m) {
    double top = -BC_INFINITY;
    for (Size x = 0; x < n; x++) {
        double slope = room->rises[x];
        for (Size y = 0; y < m; y++) slope -= weight * room->parts[x * m + y] * room->logw[y];
        room->slopes[x] = slope;
        top = larger(top, slope);
    }
    return top;
}

/* Move P, within room->ends, to the largest value of min_R rises·P - weight sum_y output_y log R_y, returned.

   The output is rest + sum_x (P_x - ends_0x) parts_x, and the best R, room->R[1], is the output, scaled. Steps multiply
   P_x by exp(step slope_x / weight): with the step 1 they always lead up, as in Blahut's and Arimoto's algorithm, and
   with larger ones mostly. */
double balance(double weight, double *P, const Room *room, Size n, Size m) {
    double value = -BC_INFINITY, step = 2.0, *restrict new = room->P;
    fit(P, room->ends, room->ends + n, n);
    for (int i = 0; i < BALANCINGS; i++) {
        double before = value, change = 0.0;
        value = output(P, room, n, m) * weight;
        for (Size x = 0; x < n; x++) value += (P[x] - room->ends[x]) * room->rises[x];
        step = value >= before ? step * BOLDER : larger(1.0, 0.5 * step);
        double top = slopes(weight, room, n, m);
        for (Size x = 0; x < n; x++)
            new[x] = larger(P[x], 1e-9) * quick_exp(larger(step * (room->slopes[x] - top) / weight, -5.0));
        fit(new, room->ends, room->ends + n, n);
        for (Size x = 0; x < n; x++) {
            change = larger(change, fabs(new[x] - P[x]));
            P[x] = new[x];
        }
        if (change < BALANCED) break;
    }
    return value;
}

/* F(P) at a P where it is about largest; P, the rows and R move there. With largest <= 0, P stays. */
double climb(const Losses *losses, double *P, double *logW, double *logR, double largest, double settled,
             const Room *room) {
    Size n = losses->n, m = losses->m;
    for (Size x = 0; x < n; x++) room->ends[x] = 0.0, room->ends[n + x] = smaller(largest, 1.0);
    for (Size y = 0; y < m; y++) room->rest[y] = room->pulls[y] = 0.0;
    double lowest = BC_INFINITY, before = -BC_INFINITY, part = 0.0, limit = BC_INFINITY;
    for (int i = 0; i < CLIMBS; i++) {
        double value = 0.0;
        for (Size x = 0; x < n; x++) {
            double *logw = logW + x * m, *restrict parts = room->parts + x * m;
            value += row_loss(losses, x, P[x], logR, logw, room);
            copy(room->row.reach, room->reached + x * m, m);
            for (Size y = 0; y < m; y++) parts[y] = quick_exp(logw[y]);
            room->rises[x] = rise_of(losses, x, P[x], logw, room);
        }
        if (value < lowest) {
            lowest = value;
            copy(logR, room->logR, m);
        }
        if (fabs(value - before) < settled) break;
        before = value;
        if (largest > 0.0 && i < MOVES) {
            double moved = 0.0;
            copy(P, room->at_ends, n);
            balance(losses->weight, P, room, n, m);
            for (Size x = 0; x < n; x++) moved = larger(moved, fabs(P[x] - room->at_ends[x]));
            if (moved > BALANCED) lowest = BC_INFINITY;  /* that was the bound of another P */
        }
        pull_outputs(P, logR, &part, &limit, room, n, m);
    }
    if (lowest == BC_INFINITY) return before;
    copy(room->logR, logR, m);
    return lowest;
}
