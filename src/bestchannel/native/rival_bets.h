/* How to bet on a rival's senses: the saddle point between the bets and the rows that they push the rival to.

   For a weight s on the leader let W' be the rows near W that minimise sum_x N_x D(W_x‖W'_x) - s C(W'), P' an optimal
   input of W' and Q = P'W'. Bets with t_x = P'_x ω_x such that the tilted row W'^(1-t) Q^t / z has the mean of log(W'/Q)
   under W lose most at (P', W'): there the derivative in every P_x is s D(W'_x‖Q), the same for all inputs, and that in
   the rows vanishes along log(W'/Q). docs/theory/adaptive.md, "Which bets". */
#pragma once
#include "leader_bets.h"
#include "rival_losses.h"

enum { ROUNDS = 12, TILT_STEPS = 12 };
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
    Row row;
} Push;

static Push push_room(Space *space, Size n, Size m) {
    return (Push){.n = n, .m = m, .rows = take(space, n * m), .logw = take(space, n * m), .pushed = take(space, n),
                  .logQ = take(space, m), .factors = take(space, n), .row = row_room(space, 0, m)};
}

/* Begin to push the rival number c of those with W [c, x, y] and P [c, x], with the senses N [x]. */
static void begin(Push *push, const double *W, const double *P, Size c, const double *N) {
    Size n = push->n, m = push->m;
    push->W = W + c * n * m, push->P = P + c * n, push->N = N;
    copy(push->P, push->pushed, n);
    FOR(i, n * m) push->logw[i] = quick_log(push->W[i]);
    FOR(x, n) FOR(y, m) push->rows[x * m + y] = N[x] * push->W[x * m + y];
}

/* log of the output distribution of the rows under the input distribution P. */
static void log_outputs(const Push *push, const double *P, double *restrict logQ) {
    FOR(y, push->m) logQ[y] = 0.0;
    FOR(x, push->n) FOR(y, push->m) logQ[y] += P[x] * quick_exp(push->logw[x * push->m + y]);
    FOR(y, push->m) logQ[y] = quick_log(logQ[y]);
}

/* A step of Blahut and Arimoto [Bla72, Ari72]: P_x times exp of its divergence, scaled; how far it went. */
static double towards_capacity(const Push *push) {
    Size n = push->n, m = push->m;
    double total = 0.0, *new = push->factors, *restrict term = push->row.slope;
    FOR(x, n) {
        const double *logw = push->logw + x * m;
        FOR(y, m) term[y] = quick_exp(logw[y]) * (logw[y] - push->logQ[y]);
        new[x] = push->pushed[x] * quick_exp(sum(term, m));
        total += new[x];
    }
    FOR(x, n) new[x] /= total;
    return move(push->pushed, new, n);
}

/* Move the rows and inputs to the saddle point (W', P') for the weight s. */
static void push_rows(const Push *push, double s, int fixed) {
    Size m = push->m;
    Row row = push->row;
    FOR(i, ROUNDS) {
        log_outputs(push, push->pushed, push->logQ);
        FOR(x, push->n) {
            row.s = smaller(s * push->pushed[x], MOST_PUSH * push->N[x]);
            row_bound(&row, push->rows + x * m, push->logQ, push->logw + x * m, smaller(1e-6 * push->N[x], PUSHED));
        }
        log_outputs(push, push->pushed, push->logQ);
        if (fixed || towards_capacity(push) < 1e-4) break;
    }
    log_outputs(push, push->pushed, push->logQ);
}

/* t in [0, most] with the mean of log(v/Q) under v^(1-t) Q^t / z equal to that under w. */
static double tilt_of(const double *w, const double *logv, const double *logQ, double most, double *restrict part, Size m) {
    double wanted = 0.0, t = 0.0;
    FOR(y, m) wanted += w[y] * (logv[y] - logQ[y]);
    FOR(i, TILT_STEPS) {
        double z = 0.0, mean = 0.0, square = 0.0;
        FOR(y, m) part[y] = quick_exp(logv[y] - t * (logv[y] - logQ[y]));
        FOR(y, m) {
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
    FOR(x, push->n) {
        double first = s > 0.0 ? s / push->N[x] : 0.0, p = push->pushed[x];  /* what small pushes demand, whatever p */
        double tilt = first;
        if (p > LIKELY)
            tilt = tilt_of(push->W + x * m, push->logw + x * m, push->logQ, most * p, push->row.slope, m) / p;
        tilts[x] = smaller(smaller(larger(tilt, LEAST_TILT * first), LARGEST_TILT * first), most);
    }
}

static void fill_outputs(const Push *push, double *restrict Q) { FOR(y, push->m) Q[y] = quick_exp(push->logQ[y]); }

/* Room for one rival's bets of several weights: its push, climbs from two starts, and the bets as they are expected. */
typedef struct {
    Push push;
    Losses losses;
    double *counts, *charged, *starts, *at, *logR, *omega;  /* [x, y], [x], [start, x], [start, x, y], [start, y], [x] */
} Choice;

static Choice choice_room(Space *space, Size n, Size m) {
    return (Choice){.push = push_room(space, n, m), .losses = losses_room(space, 1, 1, n, m),
                    .counts = take(space, n * m), .charged = take(space, n), .starts = take(space, 2 * n),
                    .at = take(space, 2 * n * m), .logR = take(space, 2 * m), .omega = take(space, n)};
}

/* What bets lose on N senses of W as they are expected, where they lose most; the place of a start moves there. */
static double expected_loss(Choice *choice, double s, double largest, Size start) {
    const Push *push = &choice->push;
    Size n = push->n, m = push->m;
    Losses *losses = &choice->losses;
    FOR(x, n) {
        double charged = 0.0, often = choice->omega[x] * push->N[x];
        losses->senses[x] = push->N[x], losses->tilts[x] = choice->omega[x];
        FOR(y, epoch_size(m)) losses->logQ[x * epoch_size(m) + y] = y < m ? push->logQ[y] : 0.0;
        for (Size i = x * m, y = 0; y < m; y++, i++) {
            choice->counts[i] = often * push->W[i];
            charged += choice->counts[i] * push->logQ[y];
        }
        choice->charged[x] = charged;
    }
    losses->counts = choice->counts, losses->charged = choice->charged, losses->weight = s;
    return climb(losses, choice->starts + start * n, choice->at + start * n * m, choice->logR + start * m, largest,
                 CLOSE_ENOUGH);
}

/* What bets of the i-th weight on the leader should win. */
typedef double (*Gain)(void *leader, Size i);

/* Fill tilts [x] and Q [y] for that of the weights, which fall, whose bets should win most: which one that is.
   growths[i] is what bets of weights[i] on the leader should win, or what `gain` of i says; what the rival is expected
   to lose is taken off, until that leaves less than for the weight before, or so much that the next one can hardly
   leave more, if growths are s gap - s² v/2. P is a good input of W; it is the fixed one where largest <= 0. `worst`
   is where most was lost so far, or null. The push has begun. */
static Size best_bet(Choice *choice, double gap, Size count, const double *weights, double *growths, Gain gain,
                     void *leader, const double *worst, double largest, double most, double *tilts, double *Q) {
    const Push *push = &choice->push;
    Size n = push->n, m = push->m, starts = worst ? 2 : 1;
    FOR(x, n) choice->starts[x] = largest > 0.0 ? 0.5 * push->P[x] + 0.5 / (double)n : push->P[x];
    if (worst) copy(worst, choice->starts + n, n);
    FOR(start, starts) {
        copy(push->logw, choice->at + start * n * m, n * m);
        log_outputs(push, choice->starts + start * n, choice->logR + start * m);
    }
    FOR(i, count) {
        double lost = -BC_INFINITY, next = i + 1 < count ? weights[i + 1] : BC_NAN;
        push_rows(push, weights[i], largest <= 0.0);
        fill_tilts(push, weights[i], most, choice->omega);
        FOR(start, starts) lost = larger(lost, expected_loss(choice, weights[i], largest, start));
        growths[i] = (gain ? gain(leader, i) : growths[i]) - lost;
        if (i > 0 && !(growths[i] > growths[i - 1])) return i - 1;
        copy(choice->omega, tilts, n);
        fill_outputs(push, Q);
        if (growths[i] > gap * weights[i] * next / (weights[i] + next)) return i;
    }
    return count - 1;
}

/* sum_x P_x^2 V_x / N_x: the variance of a value estimated from so many senses. */
static double variance(Size n, const double *P, const double *deviations, const double *N, double *restrict term) {
    FOR(x, n) term[x] = (P[x] * deviations[x]) * (P[x] * deviations[x]) / N[x];
    return sum_by_halves(term, n);
}

/* sum_x P_x D(W_x‖PW); `term` has n m + m. */
static double value(Size n, Size m, const double *W, const double *P, double *restrict term) {
    double *restrict Q = term + n * m;
    output(n, m, W, P, Q);
    FOR(x, n) FOR(y, m) term[x * m + y] = P[x] * W[x * m + y] * bc_log(W[x * m + y] / Q[y]);
    return sum_by_halves(term, n * m);
}

/* Weights that are tried until less is won, relative to gap / (v_b + v_a), which is best for a small gap. */
enum { TRIED = 4 };
static const double PARTS[TRIED] = {1.0, 0.75, 0.5, 0.25};

/* Bets on the leader of each weight that is tried, ε, and room. */
typedef struct {
    Leader leader;
    double epsilon, weights[TRIED], prices[TRIED], gains[TRIED], *pays, *V, *nu, *term;
    Choice choice;
} Wagers;

static Wagers wagers_room(Space *space, Size n_b, Size m_b, Size n, Size m) {
    return (Wagers){.leader = leader_room(space, n_b, m_b), .pays = take(space, TRIED * n_b * m_b),
                    .V = take(space, TRIED * n_b * m_b), .nu = take(space, TRIED * n_b),
                    .term = take(space, n_b * m_b + m_b + n), .choice = choice_room(space, n, m)};
}

/* The bets of the i-th weight on the leader, and what they should win. */
static double gain_on_leader(void *wagers, Size i) {
    Wagers *w = wagers;
    Leader *b = &w->leader;
    Size n = b->n, m = b->m;
    double *pays = w->pays + i * n * m;
    b->weight = w->weights[i];
    w->prices[i] = leader_bet(b, pays, w->V + i * n * m, w->nu + i * n);
    FOR(x, n) FOR(y, m) w->term[x * m + y] = pays[x * m + y] * (b->senses[x] * b->W[x * m + y]);
    return w->gains[i] = sum_by_halves(w->term, n * m) - w->prices[i] + b->weight * w->epsilon;
}
