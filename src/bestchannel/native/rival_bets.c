/* How to bet on a rival's senses: the saddle point between the bets and the rows that they push the rival to.

   For a weight s on the leader let W' be the rows near W that minimise sum_x N_x D(W_x‖W'_x) - s C(W'), P' an optimal
   input of W' and Q = P'W'. Bets with t_x = P'_x ω_x such that the tilted row W'^(1-t) Q^t / z has the mean of log(W'/Q)
   under W lose most at (P', W'): there the derivative in every P_x is s D(W'_x‖Q), the same for all inputs, and that in
   the rows vanishes along log(W'/Q). docs/theory/adaptive.md, "Which bets". */
#include "leader.h"
#include "rival.h"

enum { ROUNDS = 12, NEWTON_STEPS = 12 };
static const double LIKELY = 0.05;  /* an input's probability from which on the saddle point says how it is bet on */
static const double LEAST_TILT = 0.8, LARGEST_TILT = 1.2;  /* multiples of s/N_x between which a tilt is taken */
static const double CLOSE_ENOUGH = 3e-3;  /* nats to which the loss to be expected is found */
static const double PUSHED = 1e-3;  /* nats to which the pushed rows are found, or 1e-6 a sense if that is less */
static const double MOST_PUSH = 0.6;  /* s P_x relative to N_x up to which rows are pushed; convex below 1 */

/* A rival about to be sensed, and room for its saddle point. */
typedef struct {
    Size n, m;
    const double *W, *P, *N;
    double *rows, *logw, *pushed, *logQ, *factors;  /* N_x W_x, log W', P', log Q, [x] */
    RowRoom row;
} Push;

static Push push_room(Space *space, Size n, Size m) {
    Push push = {n, m, 0, 0, 0, take(space, n * m), take(space, n * m), take(space, n), take(space, m), take(space, n),
                 row_room(space, 0, m)};
    return push;
}

/* Where a push begins. */
static void begin(const Push *push, const double *W, const double *P, const double *N) {
    copy(P, push->pushed, push->n);
    for (Size x = 0; x < push->n; x++)
        for (Size y = 0; y < push->m; y++) {
            Size i = x * push->m + y;
            push->logw[i] = quick_log(W[i]), push->rows[i] = N[x] * W[i];
        }
}

/* log of the output distribution of the rows under the input distribution P. */
static void log_outputs(const double *logw, const double *P, double *restrict logQ, Size n, Size m) {
    for (Size y = 0; y < m; y++) logQ[y] = 0.0;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) logQ[y] += P[x] * quick_exp(logw[x * m + y]);
    for (Size y = 0; y < m; y++) logQ[y] = quick_log(logQ[y]);
}

/* A step of Blahut and Arimoto [Bla72, Ari72]: P_x times exp of its divergence, scaled; how far it went. */
static double towards_capacity(const Push *push) {
    double total = 0.0, change = 0.0, *restrict P = push->pushed, *restrict term = push->row.slope;
    for (Size x = 0; x < push->n; x++) {
        double divergence = 0.0;
        const double *logw = push->logw + x * push->m;
        for (Size y = 0; y < push->m; y++) term[y] = quick_exp(logw[y]) * (logw[y] - push->logQ[y]);
        for (Size y = 0; y < push->m; y++) divergence += term[y];
        push->factors[x] = quick_exp(divergence);
        total += P[x] * push->factors[x];
    }
    for (Size x = 0; x < push->n; x++) {
        double new = P[x] * push->factors[x] / total;
        change = larger(change, fabs(new - P[x]));
        P[x] = new;
    }
    return change;
}

/* Move the rows and inputs to the saddle point (W', P') for the weight s. */
static void push_rows(const Push *push, double s, int fixed) {
    Size n = push->n, m = push->m;
    for (int i = 0; i < ROUNDS; i++) {
        log_outputs(push->logw, push->pushed, push->logQ, n, m);
        for (Size x = 0; x < n; x++) {
            RowBets row = {0, m, push->rows + x * m, 0, 0, 0, smaller(s * push->pushed[x], MOST_PUSH * push->N[x]),
                           push->logQ};
            row_bound(&row, push->logw + x * m, &push->row, smaller(1e-6 * push->N[x], PUSHED));
        }
        log_outputs(push->logw, push->pushed, push->logQ, n, m);
        if (fixed || towards_capacity(push) < 1e-4) break;
    }
    log_outputs(push->logw, push->pushed, push->logQ, n, m);
}

/* t in [0, most] with the mean of log(v/Q) under v^(1-t) Q^t / z equal to that under w. */
static double tilt_of(const double *w, const double *logv, const double *logQ, double most, double *restrict part, Size m) {
    double wanted = 0.0, t = 0.0;
    for (Size y = 0; y < m; y++) wanted += w[y] * (logv[y] - logQ[y]);
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double z = 0.0, mean = 0.0, square = 0.0;
        for (Size y = 0; y < m; y++) part[y] = quick_exp(logv[y] - t * (logv[y] - logQ[y]));
        for (Size y = 0; y < m; y++) {
            double ratio = logv[y] - logQ[y];
            z += part[y];
            mean += part[y] * ratio;
            square += part[y] * ratio * ratio;
        }
        mean /= z;
        double step = (mean - wanted) / larger(square / z - mean * mean, 1e-12);
        t = smaller(larger(t + step, 0.0), most);
        if (fabs(step) < 1e-4 * (t + 1e-6)) break;
    }
    return t;
}

/* Fill ω for the weight s, from the rows and inputs to which it pushes. */
static void fill_tilts(const Push *push, double s, double most, double *tilts) {
    Size m = push->m;
    for (Size x = 0; x < push->n; x++) {
        double first = s > 0.0 ? s / push->N[x] : 0.0, p = push->pushed[x];  /* what small pushes demand, whatever p */
        double tilt = first;
        if (p > LIKELY)
            tilt = tilt_of(push->W + x * m, push->logw + x * m, push->logQ, most * p, push->row.slope, m) / p;
        tilts[x] = smaller(smaller(larger(tilt, LEAST_TILT * first), LARGEST_TILT * first), most);
    }
}

static void fill_outputs(const Push *push, double *restrict Q) {
    for (Size y = 0; y < push->m; y++) Q[y] = quick_exp(push->logQ[y]);
}

/* How many numbers `room` of the next function must have. */
BC_EXPORT Size BC(rival_tilts_room)(Size n, Size m) {
    Space space = {0, 0};
    push_room(&space, n, m);
    return space.used;
}

/* Fill tilts [c, x] and Q [c, y] of every case c: W [c, x, y], a good input P [c, x] of it, senses N [c, x] and a weight
   [c]; `most` is the largest tilt, and with `fixed` P stays. */
BC_EXPORT void BC(rival_tilts)(Size cases, Size n, Size m, Size fixed, const double *W, const double *P, const double *N,
                               const double *weights, double most, double *tilts, double *Q, double *room) {
    Space space = {room, 0};
    Push push = push_room(&space, n, m);
    for (Size c = 0; c < cases; c++) {
        push.W = W + c * n * m, push.P = P + c * n, push.N = N + c * n;
        begin(&push, push.W, push.P, push.N);
        push_rows(&push, weights[c], fixed != 0);
        fill_tilts(&push, weights[c], most, tilts + c * n);
        fill_outputs(&push, Q + c * m);
    }
}

/* Room for one rival's bets of several weights: its push, climbs from two starts, and the bets as they are expected. */
typedef struct {
    Push push;
    Losses losses;
    double *counts, *charged, *starts, *at, *logR, *omega;  /* [x, y], [x], [start, x], [start, x, y], [start, y], [x] */
    Room room;
} Choice;

static Choice choice_room(Space *space, Size n, Size m) {
    Choice choice = {.push = push_room(space, n, m), .losses = losses_room(space, 1, 1, n, m)};
    choice.counts = take(space, n * m), choice.charged = take(space, n), choice.starts = take(space, 2 * n);
    choice.at = take(space, 2 * n * m), choice.logR = take(space, 2 * m), choice.omega = take(space, n);
    choice.room = loss_room(space, 1, n, m);
    return choice;
}

/* What bets lose on N senses of W as they are expected, where they lose most; the place of a start moves there. */
static double expected_loss(Choice *choice, double s, double largest, Size start) {
    const Push *push = &choice->push;
    Size n = push->n, m = push->m;
    Losses *losses = &choice->losses;
    for (Size x = 0; x < n; x++) {
        double charged = 0.0, often = choice->omega[x] * push->N[x];
        losses->senses[x] = push->N[x], losses->tilts[x] = choice->omega[x];
        for (Size y = 0; y < m; y++) {
            choice->counts[x * m + y] = often * push->W[x * m + y];
            losses->logQ[x * m + y] = push->logQ[y];
            charged += choice->counts[x * m + y] * push->logQ[y];
        }
        choice->charged[x] = charged;
    }
    losses->counts = choice->counts, losses->charged = choice->charged, losses->weight = s;
    return climb(losses, choice->starts + start * n, choice->at + start * n * m, choice->logR + start * m, largest,
                 CLOSE_ENOUGH, &choice->room);
}

/* What bets of the i-th weight on the leader should win. */
typedef double (*Gain)(void *leader, Size i);

/* From which growth on bets of a weight win more than those of the next, if growths are s gap - s² v/2. */
static double least_growth(double gap, double weight, double next) { return gap * weight * next / (weight + next); }

/* Fill tilts [x] and Q [y] for that of the weights, which fall, whose bets should win most: which one that is.

   growths[i] is what bets of weights[i] on the leader should win, or what `gain` of i says; what the rival is expected to
   lose is taken off, until that leaves less than for the weight before, or the next one can hardly leave more. P is a
   good input of W; it is the fixed one where largest <= 0. `worst` is where most was lost so far, or null. */
static Size best_bet(Choice *choice, double gap, Size count, const double *weights, double *growths, Gain gain,
                     void *leader, const double *worst, double largest, double most, double *tilts, double *Q) {
    const Push *push = &choice->push;
    Size n = push->n, m = push->m, starts = worst ? 2 : 1;
    begin(push, push->W, push->P, push->N);
    for (Size x = 0; x < n; x++) choice->starts[x] = largest > 0.0 ? 0.5 * push->P[x] + 0.5 / (double)n : push->P[x];
    if (worst) copy(worst, choice->starts + n, n);
    for (Size start = 0; start < starts; start++) {
        copy(push->logw, choice->at + start * n * m, n * m);
        log_outputs(push->logw, choice->starts + start * n, choice->logR + start * m, n, m);
    }
    for (Size i = 0; i < count; i++) {
        double lost = -BC_INFINITY;
        push_rows(push, weights[i], largest <= 0.0);
        fill_tilts(push, weights[i], most, choice->omega);
        for (Size start = 0; start < starts; start++)
            lost = larger(lost, expected_loss(choice, weights[i], largest, start));
        growths[i] = (gain ? gain(leader, i) : growths[i]) - lost;
        if (i > 0 && !(growths[i] > growths[i - 1])) return i - 1;
        copy(choice->omega, tilts, n);
        fill_outputs(push, Q);
        if (i + 1 < count && growths[i] > least_growth(gap, weights[i], weights[i + 1])) return i;
    }
    return count - 1;
}

/* How many numbers `room` of the next function must have. */
BC_EXPORT Size BC(rival_choices_room)(Size n, Size m) {
    Space space = {0, 0};
    choice_room(&space, n, m);
    return space.used;
}

/* The best bet on every rival c of one size, of `count` weights [c, i] that fall: fills which one it is [c], its tilts
   [c, x] and Q [c, y], and takes what the rival is expected to lose off growths [c, i], as far as it was looked for.
   W is [c, x, y], P [c, x], N [c, x], gaps [c]; worst [c, x] counts where known [c] is not 0. See `best_bet`. */
BC_EXPORT void BC(rival_choices)(Size rivals, Size count, Size n, Size m, const double *W, const double *P,
                                 const double *N, const double *gaps, const double *weights, double *growths,
                                 const double *worst, const int64_t *known, double largest, double most, int64_t *sizes,
                                 double *tilts, double *Q, double *room) {
    Space space = {room, 0};
    Choice choice = choice_room(&space, n, m);
    for (Size c = 0; c < rivals; c++) {
        choice.push.W = W + c * n * m, choice.push.P = P + c * n, choice.push.N = N + c * n;
        sizes[c] = best_bet(&choice, gaps[c], count, weights + c * count, growths + c * count, 0, 0,
                            known[c] ? worst + c * n : 0, largest, most, tilts + c * n, Q + c * m);
    }
}

/* sum_x P_x^2 V_x / N_x: the variance of a value estimated from so many senses. */
static double variance(Size n, const double *P, const double *deviations, const double *N, double *restrict term) {
    for (Size x = 0; x < n; x++) term[x] = (P[x] * deviations[x]) * (P[x] * deviations[x]) / N[x];
    return sum_by_halves(term, n);
}

/* sum_x P_x D(W_x‖PW); `term` has n m + m. */
static double value(Size n, Size m, const double *W, const double *P, double *restrict term) {
    double *restrict Q = term + n * m;
    for (Size y = 0; y < m; y++) Q[y] = 0.0;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) Q[y] += P[x] * W[x * m + y];
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) term[x * m + y] = P[x] * W[x * m + y] * bc_log(W[x * m + y] / Q[y]);
    return sum_by_halves(term, n * m);
}

/* Weights that are tried until less is won, relative to gap / (v_b + v_a), which is best for a small gap. */
enum { TRIED = 4 };
static const double PARTS[TRIED] = {1.0, 0.75, 0.5, 0.25};

/* Bets on the leader of each weight that is tried, ε, and room. */
typedef struct {
    Leader leader;
    double epsilon, weights[TRIED], prices[TRIED], gains[TRIED], *pays, *V, *nu, *term;
    LeaderRoom room;
    Choice choice;
} Wagers;

static Wagers wagers_room(Space *space, Size n_b, Size m_b, Size n, Size m) {
    Wagers wagers = {.room = leader_room(space, n_b, m_b)};
    wagers.pays = take(space, TRIED * n_b * m_b), wagers.V = take(space, TRIED * n_b * m_b);
    wagers.nu = take(space, TRIED * n_b), wagers.term = take(space, n_b * m_b + m_b + n);
    wagers.choice = choice_room(space, n, m);
    return wagers;
}

/* The bets of the i-th weight on the leader, and what they should win. */
static double gain_on_leader(void *wagers, Size i) {
    Wagers *w = wagers;
    Leader *b = &w->leader;
    Size n = b->n, m = b->m;
    double *pays = w->pays + i * n * m;
    b->weight = w->weights[i];
    w->prices[i] = leader_bet(b, &w->room, pays, w->V + i * n * m, w->nu + i * n);
    for (Size x = 0; x < n; x++)
        for (Size j = x * m; j < (x + 1) * m; j++) w->term[j] = pays[j] * (b->senses[x] * b->W[j]);
    return w->gains[i] = sum_by_halves(w->term, n * m) - w->prices[i] + b->weight * w->epsilon;
}

/* How many numbers `room` of the next function must have. */
BC_EXPORT Size BC(wagers_room)(Size n_b, Size m_b, Size n, Size m) {
    Space space = {0, 0};
    wagers_room(&space, n_b, m_b, n, m);
    return space.used;
}

/* The bets against every rival c of one size that should win most, of some weights, and the bets on the leader with them.

   The leader has the rows W_b [x, y], inputs P_b, deviations D_b = sqrt(V) and senses N_b [x]. Rival c is number
   places [c] of those with W [., x, y], P and D [., x]; it has the senses N [c, x], is behind by gaps [c], cautiously,
   and `worst` [c] is where the inputs are at which most was lost so far, or null. Its weight is at most `largest` for
   each sense of its least sensed input. With n = 0 it has the value 0 by its alphabet, and there is nothing to bet on but
   the leader. ε is what the leader gains for each unit of weight.

   Fills numbers [c, 3]: the weight s, what the bets should win, and the variance v_b of the leader's value at which bets
   on it bring s C_b - s² v_b/2; tilts [c, x] and Q [c, y]; pays and V [c, x, y], price [c] and ν [c, x] of the leader. */
BC_EXPORT void BC(wagers)(Size rivals, Size n_b, Size m_b, const double *W_b, const double *P_b, const double *D_b,
                          const double *N_b, Size n, Size m, const double *W, const double *P, const double *D,
                          const int64_t *places, const double *N, const double *gaps, const double *const *worst,
                          double epsilon, double largest, double largest_input, double largest_tilt, double *numbers,
                          double *tilts, double *Q, double *pays, double *V, double *price, double *nu, double *room) {
    Space space = {room, 0};
    Wagers w = wagers_room(&space, n_b, m_b, n, m);
    Size cells = n_b * m_b;
    double own = variance(n_b, P_b, D_b, N_b, w.term), C_b = value(n_b, m_b, W_b, P_b, w.term);
    w.leader = (Leader){n_b, m_b, W_b, P_b, N_b, 0.0}, w.epsilon = epsilon;
    for (Size c = 0; c < rivals; c++, N += n) {
        double growths[TRIED], most = BC_INFINITY;
        Size best = 0;
        for (Size x = 0; x < n; x++) most = smaller(most, N[x]);
        double theirs = variance(n, P + places[c] * n, D + places[c] * n, N, w.term);
        double first = smaller(gaps[c] / larger(1e-12, own + theirs), n ? largest * most : BC_INFINITY);
        for (Size i = 0; i < TRIED; i++) w.weights[i] = first * PARTS[i];
        if (n) {
            w.choice.push.W = W + places[c] * n * m, w.choice.push.P = P + places[c] * n, w.choice.push.N = N;
            best = best_bet(&w.choice, gaps[c], TRIED, w.weights, growths, gain_on_leader, &w, worst[c], largest_input,
                            largest_tilt, tilts + c * n, Q + c * m);
        } else {
            for (Size i = 0; i < TRIED; i++) growths[i] = gain_on_leader(&w, i);
            for (Size i = 0; i < TRIED; i++) best = growths[i] > growths[best] ? i : best;
        }
        double s = w.weights[best], *out = numbers + 3 * c;
        out[0] = s, out[1] = growths[best], out[2] = 2.0 * (s * (C_b + epsilon) - w.gains[best]) / (s * s);
        price[c] = w.prices[best];
        copy(w.pays + best * cells, pays + c * cells, cells);
        copy(w.V + best * cells, V + c * cells, cells);
        copy(w.nu + best * n_b, nu + c * n_b, n_b);
    }
}

/* Book the answers to bets on the senses of every rival c of one size, counts [c, x, y] under tilts [c, x] and Q [c, y]:
   ω n is added to n̄ [x, y], ω sum_y n log Q to c [x], and the next row of the history, number rows [c], is filled. These
   three are the first at the addresses [c, 6] of `rival_climbs`. Fills senses [c]; `room` has 2 m. */
BC_EXPORT void BC(rival_settle)(Size rivals, Size n, Size m, double *const *addresses, const int64_t *rows,
                                const double *tilts, const double *Q, const double *counts, double *senses,
                                double *room) {
    double *restrict logQ = room, *restrict term = room + m;
    for (Size c = 0; c < rivals; c++, addresses += 6, tilts += n, Q += m) {
        double *counted = addresses[0], *charged = addresses[1], *row = addresses[2] + rows[c] * (2 * n + m);
        for (Size y = 0; y < m; y++) logQ[y] = bc_log(Q[y]);
        for (Size x = 0; x < n; x++, counts += m) {
            for (Size y = 0; y < m; y++) term[y] = counts[y] * logQ[y];
            for (Size y = 0; y < m; y++) counted[x * m + y] += tilts[x] * counts[y];
            charged[x] += tilts[x] * sum_by_halves(term, m);
            row[x] = sum_by_halves(counts, m);
        }
        copy(tilts, row + n, n);
        copy(Q, row + 2 * n, m);
        senses[c] = sum_by_halves(row, n);
    }
}
