/* What the bets against a rival have lost on its own senses if an input distribution P is the truth.

   F(P) = min_R sum_x u_x(P_x; R), with u_x the bound of a row (rival_rows.h), and where it is about largest; that it is
   not larger elsewhere is shown in rival_bounds.h. */
#pragma once
#include "rival_rows.h"

static const double TOLERANCE = 1e-4;  /* nats by which the bound of a row may exceed the row's largest loss */
enum { CLIMBS = 30, MOVES = 12 };      /* how often, at most, R moves; and P, with it */
enum { BALANCINGS = 30, FITTINGS = 60 };
static const double LARGEST_PART = 0.5;  /* of the way to the output of the present rows that R goes in one step */
static const double LEAST_BACK = 0.25, MOST_BACK = 0.75;  /* parts of its last step by which R goes back from too far */
static const double BALANCED = 1e-3;  /* by which the entries of P still change when it is left as it is */
static const double BOLDER = 1.3;     /* the factor by which steps of P grow while they lead up */
static const double LEAST_FACTOR = 1e-13;  /* by which input distributions are scaled, at least; its inverse, at most */
static const double FITS = 1e-12;          /* by which the sum of an input distribution may miss 1 */

/* The bets on a rival's senses, what was counted and under which tilts and output distributions; and room. */
typedef struct Losses Losses;
struct Losses {
    Size n, m, epochs;
    double (*loss)(const Losses *, Size x, double p, const double *logR, double *logw);  /* `row_loss`, or that of other bets */
    double (*rise)(const Losses *, Size x, double p, const double *w, const double *logw);
    const struct Pairs *pairs;  /* those others */
    const double *counts, *charged;  /* [x, y] n̄, every sense weighted with its ω; [x] c, the sum of ω log Q over them */
    double weight;                   /* S */
    double *senses, *tilts, *logQ;   /* [x, e], [x, e] ω, [x, e, y], its letters filled up */
    Row row;
    double *a, *tau, *logw, *rest, *logR, *R, *pulls;  /* [y], [e], [y], [y], [y], [2, y], [2, y] */
    double *at_ends, *ends, *P, *slopes, *rises;       /* [side, x], [side, x], [x], [x], [x] */
    double *parts, *reached;                           /* [x, y], [side, x, y] */
};

/* The epoch of one end of a chord: at the least ω (side 0) or at the largest (side 1) of some requests. */
static void merge(Losses *losses, const double *history, Size first, Size last, Size x, int side, Size at) {
    Size n = losses->n, m = losses->m, width = 2 * n + m, epoch = x * losses->epochs + at;
    double low = BC_INFINITY, high = -BC_INFINITY, total = 0.0, *restrict logQ = losses->logQ + epoch * epoch_size(m);
    FOR(y, epoch_size(m)) logQ[y] = 0.0;
    for (Size i = first; i < last; i++) {
        double senses = history[i * width + x], tilt = history[i * width + n + x];
        if (senses > 0.0) low = smaller(low, tilt), high = larger(high, tilt);
    }
    for (Size i = first; i < last; i++) {
        const double *request = history + i * width;
        double upper = high > low ? (request[n + x] - low) / (high - low) : 0.0;
        double part = request[x] * (side ? upper : 1.0 - upper);
        total += part;
        FOR(y, m) logQ[y] += part * request[2 * n + y];
    }
    losses->tilts[epoch] = high >= low ? (side ? high : low) : 0.0;
    losses->senses[epoch] = total;
    FOR(y, m) logQ[y] = total > 0.0 ? quick_log(logQ[y] / total) : 0.0;
}

/* All requests, history [i, senses of x | tilts of x | Q of y], as few epochs, which lose at least as much. log z is
   convex in ω, so that it is at most its chord between the least and the largest ω of a group of requests; and z is
   concave in Q, so that at each of the two the mean of Q serves for all. Requests are grouped in their order, the
   groups about equal in senses. */
static inline void merge_requests(Losses *losses, Size requests, const double *history) {
    Size n = losses->n, m = losses->m, width = 2 * n + m, first = 0, groups = losses->epochs / 2;
    if (losses->epochs == requests) {
        FOR(i, requests) FOR(x, n) {
            const double *request = history + i * width;
            Size at = x * requests + i;
            losses->senses[at] = request[x], losses->tilts[at] = request[n + x];
            double *logQ = losses->logQ + at * epoch_size(m);
            FOR(y, epoch_size(m)) logQ[y] = y < m ? quick_log(request[2 * n + y]) : 0.0;
        }
        return;
    }
    double total = 0.0, so_far = 0.0;
    FOR(i, requests) total += sum(history + i * width, n);
    FOR(group, groups) {
        Size last = first;
        while (last < requests && (group == groups - 1 || so_far < total * (double)(group + 1) / groups))
            so_far += sum(history + last++ * width, n);
        FOR(x, n) FOR(side, 2) merge(losses, history, first, last, x, (int)side, 2 * group + side);
        first = last;
    }
}

/* u_x(p; R), from above; `logw` moves to the row at which it is reached. */
static double row_loss(const Losses *losses, Size x, double p, const double *logR, double *logw) {
    Size m = losses->m, epochs = losses->epochs;
    Row row = losses->row;
    FOR(y, m) row.reach[y] = 0.0;
    if (p <= 0.0) return 0.0;
    FOR(y, m) losses->a[y] = p * losses->counts[x * m + y];
    FOR(e, epochs) losses->tau[e] = p * losses->tilts[x * epochs + e];
    row.N = losses->senses + x * epochs, row.tau = losses->tau, row.logQ = losses->logQ + x * epochs * epoch_size(m);
    row.s = p * losses->weight;
    return row_bound(&row, losses->a, logR, logw, TOLERANCE) - p * losses->charged[x];
}

/* du_x/dp at the row w, but for the part -S sum_y w_y log R_y of R, after `row_loss`. */
static double rise_of(const Losses *losses, Size x, double p, const double *w, const double *logw) {
    Size m = losses->m, epochs = losses->epochs, size = epoch_size(m);
    double rise = -losses->charged[x];
    FOR(y, m) rise += (losses->counts[x * m + y] + losses->weight * w[y]) * logw[y];
    const double *logQ = losses->logQ + x * size * epochs, *powers = losses->row.powers;
    double *restrict terms = losses->row.terms;
    FOR(e, epochs) FOR(y, m) terms[e * size + y] = w[y] * powers[e * size + y] * (logQ[e * size + y] - logw[y]);
    for (Size e = 0; e < epochs && p > 0.0; e++)
        rise += losses->tilts[x * epochs + e] * losses->row.weights[e] * sum(terms + e * size, m);
    return rise;
}

/* Room for the bets of so many requests, merged to two epochs a group where there are more. */
static Losses losses_room(Space *space, Size requests, Size groups, Size n, Size m) {
    Size epochs = requests < 2 * groups ? requests : 2 * groups;
    return (Losses){
        .n = n, .m = m, .epochs = epochs, .loss = row_loss, .rise = rise_of, .senses = take(space, n * epochs),
        .tilts = take(space, n * epochs), .logQ = take_epochs(space, n * epochs, m), .row = row_room(space, epochs, m),
        .a = take(space, m), .tau = take(space, epochs), .logw = take(space, m), .rest = take(space, m), .logR = take(space, m),
        .R = take(space, 2 * m), .pulls = take(space, 2 * m), .at_ends = take(space, 2 * n), .ends = take(space, 2 * n),
        .P = take(space, n), .slopes = take(space, n), .rises = take(space, n), .parts = take(space, n * m),
        .reached = take(space, 2 * n * m)};
}

/* Move R a part of the way to the output of the rows at which the bounds are reached: the part, and a limit. At the
   best R the two are the same. The rows go where R is small, so that R may go too far; then it goes back to about
   where the pull along the last step vanishes, and no later step is longer than this one. pulls[0] is the last. */
static void pull_outputs(const Losses *losses, const double *P, double *logR, double *part, double *limit) {
    Size m = losses->m;
    double along = 0.0, before = 0.0, square = 0.0;
    double *restrict last = losses->pulls, *restrict pull = losses->pulls + m, *restrict R = losses->R;
    FOR(y, m) pull[y] = 1e-300;
    FOR(x, losses->n) FOR(y, m) pull[y] += P[x] * losses->reached[x * m + y];
    double total = sum(pull, m);
    FOR(y, m) R[y] = quick_exp(logR[y]);
    FOR(y, m) {
        pull[y] = pull[y] / total - R[y];
        along += last[y] * pull[y];
        before += last[y] * last[y];
        square += pull[y] * pull[y];
    }
    if (along < 0.0)
        *limit = smaller(larger(along / (along - before), LEAST_BACK), MOST_BACK) * *part * sqrt(before);
    *part = square > 0.0 ? smaller(LARGEST_PART, *limit / sqrt(square)) : 0.0;
    FOR(y, m) last[y] = pull[y], logR[y] = quick_log(R[y] + *part * pull[y]);
}

/* Scale P, cut off at the ends of its box, until it sums to 1. The sum is piecewise linear in the factor: that of the
   present piece is taken, or where it leads out of what is known of the factor, one in the middle. */
static void fit(const Losses *losses, double *restrict P) {
    const double *low_end = losses->ends, *high_end = losses->ends + losses->n;
    double low = LEAST_FACTOR, high = 1.0 / LEAST_FACTOR, factor = 1.0;
    FOR(i, FITTINGS) {
        double cut = 0.0, unbound = 0.0;
        FOR(x, losses->n) {
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
    FOR(x, losses->n) P[x] = smaller(larger(P[x] * factor, low_end[x]), high_end[x]);
}

/* Fill the output R[1] = rest + sum_x (P_x - ends_x) parts_x, scaled, and its logarithm, logw; -sum_y output_y log R_y. */
static double output_entropy(const Losses *losses, const double *P) {
    Size m = losses->m;
    double value = 0.0, *restrict R = losses->R + m, *restrict logR = losses->logw;
    copy(losses->rest, R, m);
    FOR(x, losses->n) {
        double share = P[x] - losses->ends[x];
        FOR(y, m) R[y] += share * losses->parts[x * m + y];
    }
    FOR(y, m) R[y] = larger(R[y], 1e-300);
    double total = sum(R, m);
    FOR(y, m) logR[y] = quick_log(R[y] / total);
    FOR(y, m) value -= R[y] * logR[y];
    FOR(y, m) R[y] /= total;
    return value;
}

/* Move P, within `ends`, to the largest value of min_R rises·P - weight sum_y output_y log R_y, returned; the best R,
   which is the output, scaled, is left in R[1]. Steps multiply P_x by exp(step slope_x / weight): with the step 1 they
   always lead up, as in Blahut's and Arimoto's algorithm, and with larger ones mostly. */
static double balance(const Losses *losses, double *P) {
    Size n = losses->n, m = losses->m;
    double value = -BC_INFINITY, step = 2.0, weight = losses->weight, *restrict new = losses->P;
    fit(losses, P);
    FOR(i, BALANCINGS) {
        double before = value, top = -BC_INFINITY;
        value = output_entropy(losses, P) * weight;
        FOR(x, n) value += (P[x] - losses->ends[x]) * losses->rises[x];
        step = value >= before ? step * BOLDER : larger(1.0, 0.5 * step);
        FOR(x, n) {
            double slope = losses->rises[x];
            FOR(y, m) slope -= weight * losses->parts[x * m + y] * losses->logw[y];
            losses->slopes[x] = slope;
            top = larger(top, slope);
        }
        FOR(x, n) new[x] = larger(P[x], 1e-9) * quick_exp(larger(step * (losses->slopes[x] - top) / weight, -5.0));
        fit(losses, new);
        if (move(P, new, n) < BALANCED) break;
    }
    return value;
}

/* F(P) at a P where it is about largest; P, the rows and R move there. With largest <= 0, P stays. */
static double climb(const Losses *losses, double *P, double *logW, double *logR, double largest, double settled) {
    Size n = losses->n, m = losses->m;
    FOR(x, n) losses->ends[x] = 0.0, losses->ends[n + x] = smaller(largest, 1.0);
    FOR(y, m) losses->rest[y] = losses->pulls[y] = 0.0;
    double lowest = BC_INFINITY, before = -BC_INFINITY, part = 0.0, limit = BC_INFINITY;
    FOR(i, CLIMBS) {
        double value = 0.0;
        FOR(x, n) {
            double *logw = logW + x * m, *restrict parts = losses->parts + x * m;
            value += losses->loss(losses, x, P[x], logR, logw);
            copy(losses->row.reach, losses->reached + x * m, m);
            FOR(y, m) parts[y] = quick_exp(logw[y]);
            losses->rises[x] = losses->rise(losses, x, P[x], parts, logw);
        }
        if (value < lowest) lowest = value, copy(logR, losses->logR, m);
        if (fabs(value - before) < settled) break;
        before = value;
        if (largest > 0.0 && i < MOVES) {
            double moved = 0.0;
            copy(P, losses->at_ends, n);
            balance(losses, P);
            FOR(x, n) moved = larger(moved, fabs(P[x] - losses->at_ends[x]));
            if (moved > BALANCED) lowest = BC_INFINITY;  /* that was the bound of another P */
        }
        pull_outputs(losses, P, logR, &part, &limit);
    }
    if (lowest == BC_INFINITY) return before;
    copy(losses->logR, logR, m);
    return lowest;
}
