/* Bets on the leader's senses, for many cases and weights at once.

   A bet of the weight s on N_x senses of the rows W at the input distribution P pays log((ν_x + s P_x g_x(y)) / N_x) with
   g_x = log(V_x / PV) and ν_x such that V_x = W_x / e^pays sums to 1. Whatever V and ν_x, the price
   sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for every W_b, since
   log z <= z - 1. docs/theory/adaptive.md, "Bets on the leader". */
#include "leader.h"

enum { NEWTON_STEPS = 60, LINE_SEARCHES = 3, REFINEMENTS = 12 };  /* REFINEMENTS: of V, at most */
static const double CLOSE = 1e-12, SHORT_OF_END = 0.999;
static const double SETTLED = 1e-3;  /* the relative change of V below which it is left as it is */
static const double ROUNDING = 1e-9, RELATIVE_ROUNDING = 1e-14;  /* nats, and for each nat staked or paid */

LeaderRoom leader_room(Space *space, Size n, Size m) {
    return (LeaderRoom){take(space, n * m), take(space, n * m), take(space, n * m), take(space, n * m), take(space, m)};
}

/* Q = PV. */
static void output(const Leader *c, const double *V, double *restrict Q) {
    for (Size y = 0; y < c->m; y++) Q[y] = 0.0;
    for (Size x = 0; x < c->n; x++)
        for (Size y = 0; y < c->m; y++) Q[y] += c->P[x] * V[x * c->m + y];
}

/* The slope of sum_x N_x D(W_x‖V_x) + s I(P; V) from V to the target, a part t of the way. */
static double slope_at(const Leader *c, const double *V, const LeaderRoom *r, double t) {
    Size n = c->n, m = c->m;
    double slope = 0.0, *restrict trial = r->trial, *restrict term = r->stakes;
    for (Size i = 0; i < n * m; i++) trial[i] = (1.0 - t) * V[i] + t * r->target[i];
    output(c, trial, r->Q);
    for (Size x = 0; x < n; x++)
        for (Size i = x * m, y = 0; y < m; y++, i++)
            term[i] = (r->target[i] - V[i]) *
                      (c->weight * c->P[x] * quick_log(trial[i] / r->Q[y]) - c->senses[x] * c->W[i] / trial[i]);
    for (Size i = 0; i < n * m; i++) slope += term[i];
    return slope;
}

/* Move V towards the target to about where sum_x N_x D(W_x‖V_x) + s I(P; V), which is convex, is least. */
static void move(const Leader *c, double *restrict V, const LeaderRoom *r) {
    double low = 0.0, high = 1.0, t = 1.0;
    double slope_low = slope_at(c, V, r, 0.0), slope_high = slope_at(c, V, r, SHORT_OF_END);
    if (slope_high > 0.0) {
        high = SHORT_OF_END;
        for (int i = 0; i < LINE_SEARCHES; i++) {
            t = low + (high - low) * smaller(larger(slope_low / (slope_low - slope_high), 0.1), 0.9);
            double slope = slope_at(c, V, r, t);
            if (slope > 0.0) high = t, slope_high = slope;
            else low = t, slope_low = slope;
        }
    }
    for (Size i = 0; i < c->n * c->m; i++) V[i] = (1.0 - t) * V[i] + t * r->target[i];
}

/* stakes = s P_x log(V_x / PV). */
static void stake(const Leader *c, const double *V, const LeaderRoom *r) {
    double *restrict stakes = r->stakes;
    output(c, V, r->Q);
    for (Size x = 0; x < c->n; x++)
        for (Size i = x * c->m, y = 0; y < c->m; y++, i++) stakes[i] = c->weight * c->P[x] * quick_log(V[i] / r->Q[y]);
}

/* ν with sum_y W n / (ν + stakes) = 1; fills the wealth (ν + stakes) / n.

   Newton's method for the left side, which is convex and falls in ν, climbs to the root from the left: from where the
   term of the smallest stake alone is 1, or from n - sum_y W stakes, where the left side is at least 1 by Jensen's
   inequality. The smallest stake is taken off first: large ones must not swallow a small root. */
static double multiplier(const double *W, double n, const double *stakes, double *restrict wealth, Size m) {
    double least = stakes[0], at = W[0], mean = 0.0;
    for (Size y = 0; y < m; y++)
        if (stakes[y] < least) least = stakes[y], at = W[y];
    for (Size y = 0; y < m; y++) mean += W[y] * (stakes[y] - least);
    double nu = larger(n * at, n - mean);
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double excess = -1.0, slope = 0.0;
        for (Size y = 0; y < m; y++) {
            double odds = W[y] * n / (nu + (stakes[y] - least));
            excess += odds;
            slope += odds / (nu + (stakes[y] - least));
        }
        nu += excess / slope;
        if (!(excess >= CLOSE)) break;
    }
    for (Size y = 0; y < m; y++) wealth[y] = (nu + (stakes[y] - least)) / n;
    return nu - least;
}

/* sum_x max_y (N_x (e^pays - 1) - stakes) and what rounding may add; fills the pays. */
static double priced(const Leader *c, const LeaderRoom *r, double *restrict pays) {
    double price = 0.0, at_stake = 0.0;
    for (Size i = 0; i < c->n * c->m; i++) pays[i] = quick_log(r->wealth[i]);
    for (Size x = 0; x < c->n; x++) {
        double most = -BC_INFINITY;
        for (Size i = x * c->m; i < (x + 1) * c->m; i++) {
            most = larger(most, c->senses[x] * (r->wealth[i] - 1.0) - r->stakes[i]);
            at_stake += c->senses[x] * (fabs(pays[i]) * (1.0 + r->wealth[i]));
        }
        price += most;
    }
    return price + ROUNDING + RELATIVE_ROUNDING * (c->weight + at_stake);
}

/* One bet: fills pays [x, y], V [x, y] and ν [x], and returns its price. V is improved by repetition: the best rows are
   those, less valuable than W, that the bets are hardest to tell from W. */
double leader_bet(const Leader *c, const LeaderRoom *r, double *pays, double *V, double *nu) {
    Size n = c->n, m = c->m;
    copy(c->W, V, n * m);
    for (int left = REFINEMENTS; left > 0; left--) {
        double change = 0.0;
        stake(c, V, r);
        for (Size x = 0; x < n; x++) {
            nu[x] = multiplier(c->W + x * m, c->senses[x], r->stakes + x * m, r->wealth + x * m, m);
            for (Size i = x * m; i < (x + 1) * m; i++) {
                r->target[i] = c->W[i] / r->wealth[i];
                change = larger(change, fabs(r->target[i] - V[i]) / V[i]);
            }
        }
        if (left == 1 || change < SETTLED) break;
        move(c, V, r);
    }
    return priced(c, r, pays);
}

/* How many numbers `room` of the next function must have. */
BC_EXPORT Size BC(leader_bets_room)(Size n, Size m) {
    Space space = {0, 0};
    leader_room(&space, n, m);
    return space.used;
}

/* Bets for every case c on W [c, x, y] at P [c, x] with senses [c, x], of the weights [c, r]: fills pays [c, r, x, y],
   price [c, r], V [c, r, x, y] and ν [c, r, x]. */
BC_EXPORT void BC(leader_bets)(Size cases, Size weights, Size n, Size m, const double *W, const double *P,
                           const double *senses, const double *weight, double *pays, double *price, double *V,
                           double *nu, double *room) {
    Space space = {room, 0};
    LeaderRoom rows = leader_room(&space, n, m);
    for (Size c = 0; c < cases; c++)
        for (Size i = c * weights; i < (c + 1) * weights; i++) {
            Leader one = {n, m, W + c * n * m, P + c * n, senses + c * n, weight[i]};
            price[i] = leader_bet(&one, &rows, pays + i * n * m, V + i * n * m, nu + i * n);
        }
}
