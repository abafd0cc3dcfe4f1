/* A lower bound, proved by branch and bound, of what it costs to make a rival as good as the leader.

       Z = min over v of  Σ_x w_x D(W_x‖v_x) + F(C(v)),   F(c) = min{Σ_x w_bx D(W_bx‖u_x): C(u) ≤ c}.

   F(c) ≥ φ(s) - sc for every price s ≥ 0, and C(v) = max_P min_Q Σ_x P_x D(v_x‖Q). So on a box, a range of every P_x and
   of every v_x(y), for every s and every output Q,

       Z ≥ φ(s) + min_P Σ_x ψ_x(sP_x),    ψ_x(t) = min_v w_x D(W_x‖v) - t D(v‖Q).

   ψ_x is concave, hence above its chord over the range of P_x, and with chords for ψ_x the minimum over P is a linear
   programme that sorting solves. (s, Q) are chosen by the model of bound_model.h. The first box holds all inputs, and all
   rows but those that cost the target by one letter alone. A box whose bound stays below the target is cut where the
   bound gives away most: in P_x, next to the mixture's P_x, or in a letter of a row, where the answers disagree. */
#pragma once
#include "bound_model.h"

enum { EXTRA_ANSWERS = 16, MOST_ROUNDS = 20, HALVINGS = 50 };
static const double MODEL_TOLERANCE = 2e-4, ROW_TOLERANCE = 2e-4;
static const double CLOSED = 1e-3;     /* how close, relative to the target, bound and model are when a box is left; */
static const double HOPELESS = 0.25;   /* or, relative to what is missing, where the model is below the target */
static const double ROUNDING = 64.0 * 0x1p-52;  /* of all weights and s max_y log 1/Q_y: more than a bound is rounded */
static const double NEAR_CUT = 0.25;  /* from the mixture's P_x to the farther end of a cut range: that half is easy */
static const double LETTERS_OVER_INPUTS = 10.0;  /* how much more rows must give away to be cut: inputs tell more */
static const double LEAST_OUTPUT = 1e-12, NARROW = 1e-12;  /* ranges so narrow are not cut any more */

/* An open box: its ranges P [low or high, x], followed by v [low or high, x, y]; where its bound was reached; and where to
   cut it: P[*low] = P[*high] = *cut in its halves, or nowhere for *high = 0. */
typedef struct { double *P, *v, *Q, *s, *low, *high, *cut, *bound; } Box;

/* The problem, and all that bounding a box needs: scratch, and the mixture that the model ended with. */
typedef struct {
    Side rival;
    Curve curve;
    double *psi, *ends, *slope, *chosen, *share, *log_Q;  /* [x], rows at both ends of every P_x [end, x, y], … */
    Answers answers;
    Parts parts;
    double *P, *v, *Q, *law;  /* [x] and [x, y] of the mixture; [y], [y] */
    double *boxes, *bounds;   /* [box, …], [box] */
} Work;

static Size box_size(Size n, Size m) { return 2 * n + 2 * n * m + m + 4; }

static Box box_at(const Work *work, Size i) {
    Size n = work->rival.n, m = work->rival.m;
    double *P = work->boxes + i * box_size(n, m), *v = P + 2 * n, *Q = v + 2 * n * m, *s = Q + m;
    return (Box){P, v, Q, s, s + 1, s + 2, s + 3, work->bounds + i};
}

static Work work_room(Space *space, Side rival, Curve curve, Size boxes) {
    Size n = rival.n, m = rival.m;
    curve_room(space, &curve);
    return (Work){.rival = rival, .curve = curve, .psi = take(space, n), .ends = take(space, 2 * n * m),
                  .slope = take(space, n), .chosen = take(space, n), .share = take(space, n), .log_Q = take(space, m),
                  .answers = answers_room(space, n + EXTRA_ANSWERS, n, m), .parts = row_parts(space, m),
                  .P = take(space, n), .v = take(space, n * m), .Q = take(space, m), .law = take(space, m),
                  .bounds = take(space, boxes), .boxes = take(space, boxes * box_size(n, m))};
}

/* The chosen P = the low ends, then filled up to Σ P = 1 from row `first` on. */
static void fill_inputs(const Work *work, const double *low, const double *high, Size first) {
    Size n = work->rival.n;
    double left = 1.0;
    FOR(x, n) left -= low[x];
    FOR(k, n) {
        Size x = (first + k) % n;
        double step = smaller(high[x] - low[x], larger(left, 0.0));
        work->chosen[x] = low[x] + step;
        work->share[x] = step > 0.0 ? step / (high[x] - low[x]) : 0.0;
        left -= step;
    }
}

/* The chosen P with the smallest chord values: the low ends, then filled up in the order of the slopes; the value. */
static double cheapest_inputs(const Work *work, const double *low, const double *high) {
    Size n = work->rival.n;
    double left = 1.0, value = 0.0, *P = work->chosen;
    FOR(x, n) {
        P[x] = low[x], work->share[x] = 0.0;
        value += work->psi[x];
        left -= low[x];
    }
    while (left > 0.0) {
        Size x = -1;
        FOR(i, n) if (P[i] < high[i] && (x < 0 || work->slope[i] < work->slope[x])) x = i;
        if (x < 0) break;
        double step = smaller(high[x] - low[x], left);
        P[x] = step == high[x] - low[x] ? high[x] : low[x] + step;
        work->share[x] = step / (high[x] - low[x]);
        value += work->slope[x] * step;
        left -= step;
    }
    return value;
}

/* log_Q = the logarithms of Q, raised to LEAST_OUTPUT and scaled to sum 1; the largest log 1/Q. */
static double take_logs(const Work *work, const double *Q) {
    double total = 0.0, most = 0.0;
    FOR(y, work->rival.m) total += larger(Q[y], LEAST_OUTPUT);
    FOR(y, work->rival.m) work->log_Q[y] = bc_log(larger(Q[y], LEAST_OUTPUT) / total);
    FOR(y, work->rival.m) most = larger(most, -work->log_Q[y]);
    return most;
}

/* ψ_x(t) from below, without base, over the rows of a box; fills v. */
static double psi(const Work *work, const Box *box, Size x, double t, double *v, double tol) {
    Size n = work->rival.n, m = work->rival.m;
    return difference_row(m, work->rival.a + x * m, work->rival.w[x], t, work->log_Q, box->v + x * m,
                          box->v + (n + x) * m, v, &work->parts, tol);
}

/* The bound of a box at (s, Q), a proof whatever they are; Q is made a law first. */
static double evaluate(const Work *work, const Box *box, double s, const double *Q, double tol) {
    Size n = work->rival.n, m = work->rival.m;
    double scale = s * (1.0 + take_logs(work, Q));
    FOR(x, n) {
        double low = box->P[x], high = box->P[n + x];
        work->psi[x] = psi(work, box, x, s * low, work->ends + x * m, tol), work->slope[x] = 0.0;
        if (high > low) {
            double top = psi(work, box, x, s * high, work->ends + (n + x) * m, tol);
            work->slope[x] = (top - work->psi[x]) / (high - low);
        }
        scale += work->rival.w[x];
    }
    double value = cheapest_inputs(work, box->P, box->P + n);
    FOR(x, work->curve.side.n) scale += work->curve.side.w[x];
    return phi_at(&work->curve, s) + work->rival.base + value - ROUNDING * scale;
}

/* Write what the rows at the ends and P amount to as answer j. */
static void note_answer(const Work *work, const Box *box, Size j) {
    Size n = work->rival.n, m = work->rival.m;
    const Answers *answers = &work->answers;
    answers->cost[j] = work->rival.base, answers->inner[j] = 0.0;
    FOR(y, m) answers->output[j * m + y] = 0.0;
    copy(work->chosen, answers->P + j * n, n);
    FOR(x, n) FOR(y, m) {
        Size top = box->P[n + x] > box->P[x] ? 1 : 0;
        double mass = 0.0, P = work->chosen[x];
        FOR(end, 2) {
            double share = end ? work->share[x] : 1.0 - work->share[x];
            if (!(share > 0.0)) continue;
            double v = work->ends[(end * n + x) * m + y], p = share * box->P[end * n + x], logarithm = log_of(v);
            answers->cost[j] -= share * work->rival.a[x * m + y] * logarithm;
            answers->inner[j] += p * v * logarithm;
            mass += p * v;
        }
        answers->output[j * m + y] += mass;
        answers->v[(j * n + x) * m + y] = P > 1e-9 ? mass / P : work->ends[(top * n + x) * m + y];
    }
}

/* Note the last evaluation as one more answer, in place of the least useful where there is no room; their number. The
   first evaluation gives several answers, with the same rows and P at several corners of its box, so that the model
   can choose between them. */
static Size add_answer(const Work *work, const Box *box, Size count, Size *newest) {
    Size n = work->rival.n, full = count == work->answers.most;
    *newest = count == 0 ? 0 : full ? lowest(work->answers.share, count) : count;
    if (count > 0) note_answer(work, box, *newest);
    for (Size x = 0; count == 0 && x < n; x++) {
        fill_inputs(work, box->P, box->P + n, x);
        note_answer(work, box, x);
        work->answers.share[x] = 1.0 / (double)n;
    }
    return count == 0 ? n : full ? count : count + 1;
}

/* The mixture's input, and its rows weighted by how much each answer uses them. */
static void mix(const Work *work, Size count) {
    Size n = work->rival.n, m = work->rival.m;
    const Answers *answers = &work->answers;
    FOR(x, n) {
        double used = 0.0, *v = work->v + x * m;
        work->P[x] = 0.0;
        FOR(y, m) v[y] = 0.0;
        FOR(j, count) {
            double P = answers->P[j * n + x], share = answers->share[j] * (P + 1e-9);
            work->P[x] += answers->share[j] * P;
            used += share;
            FOR(y, m) v[y] += share * answers->v[(j * n + x) * m + y];
        }
        FOR(y, m) v[y] /= used;
    }
}

/* Raise the bound of a box until it meets the target or the model says that it cannot; the answers met. */
static Size bound_box(const Work *work, const Box *box, double target, double tol) {
    Size m = work->rival.m, count = 0, newest;
    double s = *box->s, *Q = work->Q;
    copy(box->Q, Q, m);
    FOR(step, MOST_ROUNDS) {
        double bound = evaluate(work, box, s, Q, tol), before = s;
        if (bound > *box->bound) {  /* never true of what is no number */
            *box->bound = bound, *box->s = s;
            copy(Q, box->Q, m);
        }
        if (*box->bound >= target) return count;
        count = add_answer(work, box, count, &newest);
        double model = solve_model(&work->answers, &work->curve, count, newest, Q, MODEL_TOLERANCE * target, &s);
        double left = model - *box->bound;
        if (!(left > CLOSED * target) || (step > 2 && left < HOPELESS * (target - model))) break;
        s = smaller(larger(s, before / 3.0), 3.0 * before);
    }
    mix(work, count);
    return count;
}

/* What the mixture's rows cost, by the leader's curve at the information of its input. */
static double true_cost(const Work *work) {
    Size n = work->rival.n, m = work->rival.m;
    double cost = work->rival.base, information = 0.0;
    output(n, m, work->v, work->P, work->Q);
    FOR(x, n) FOR(y, m) {
        double v = work->v[x * m + y];
        cost -= work->rival.a[x * m + y] * log_of(v);
        if (v > 0.0) information += work->P[x] * v * (bc_log(v) - log_of(work->Q[y]));
    }
    return cost + leader_cost(&work->curve, information).paid;
}

/* Plan to cut the P_x whose chord is farthest below ψ_x at the mixture; what all chords give away. */
static double plan_input_cut(const Work *work, const Box *box, double tol) {
    Size n = work->rival.n;
    double s = *box->s, most = 0.0, total = 0.0;
    take_logs(work, box->Q);
    FOR(x, n) {
        double low = box->P[x], high = box->P[n + x], p = work->P[x];
        if (!(high - low > NARROW)) continue;
        double bottom = psi(work, box, x, s * low, work->law, tol);
        double middle = psi(work, box, x, s * p, work->law, tol);
        double top = psi(work, box, x, s * high, work->law, tol);
        double gap = middle - bottom - (top - bottom) * (p - low) / (high - low), far = high - p > p - low ? high : low;
        total += gap;
        if (!(gap > most)) continue;
        most = gap, *box->low = (double)x, *box->high = (double)(n + x);
        *box->cut = between(p + NEAR_CUT * (far - p), low, high, 0.02);
    }
    return total;
}

/* What the answers' rows give away by disagreeing, and the cell where they do so most. The model counts s Σ_j α_j P_jx
   D(v_jx‖v̄_x) too much, v̄ the mixture's rows: about Σ_y s Σ_j α_j P_jx (v_jx(y) - v̄_x(y))²/v̄_x(y). */
static double disputed_letter(const Work *work, const Box *box, Size count, Size *cell) {
    Size n = work->rival.n, m = work->rival.m, cells = n * m;
    const Answers *answers = &work->answers;
    double total = 0.0, most = 0.0;
    *cell = 0;
    FOR(i, cells) {
        double disagreement = 0.0;
        FOR(j, count) {
            double far = answers->v[j * cells + i] - work->v[i];
            disagreement += answers->share[j] * answers->P[j * n + i / m] * (far * far);
        }
        disagreement *= *box->s / larger(work->v[i], TINY);
        total += disagreement;
        if (disagreement > most && box->v[cells + i] - box->v[i] > NARROW) most = disagreement, *cell = i;
    }
    return most > 0.0 ? total : 0.0;
}

/* Cut box i as planned; the upper part becomes box j. */
static void split(const Work *work, Size i, Size j) {
    Box box = box_at(work, i), other = box_at(work, j);
    copy(box.P, other.P, box_size(work->rival.n, work->rival.m));
    *other.bound = *box.bound;
    box.P[(Size)*box.high] = other.P[(Size)*box.low] = *box.cut;
}

/* The end (0 or 1) of [0, 1], moved towards p past q that cost p log(p/q) + (1-p) log((1-p)/(1-q)) > budget. */
static double affordable(double p, double budget, double end) {
    double inside = p;
    FOR(i, HALVINGS) {
        double q = 0.5 * (end + inside);
        double cost = p * (log_of(p) - log_of(q)) + (1.0 - p) * (log_of(1.0 - p) - log_of(1.0 - q));
        if (cost > budget) end = q;
        else inside = q;
    }
    return end;
}

/* The first box: all inputs, and the rows that do not cost the target by one letter alone. */
static void start(const Work *work, double s, const double *Q, double target) {
    Size n = work->rival.n, m = work->rival.m;
    Box box = box_at(work, 0);
    FOR(x, n) {
        double w = work->rival.w[x], budget = 1.000001 * target / w + 1e-14;
        box.P[x] = 0.0, box.P[n + x] = 1.0;
        FOR(y, m) FOR(end, 2)
            box.v[(end * n + x) * m + y] = affordable(work->rival.a[x * m + y] / w, budget, (double)end);
    }
    *box.s = s, *box.bound = -BC_INFINITY, *box.low = *box.high = *box.cut = 0.0;
    copy(Q, box.Q, m);
}

/* Bound a box and, if it stays open, plan its cut where the bound gives away most; whether the alarm went off. */
static int visit(const Work *work, Size i, double target, int alarm) {
    Size n = work->rival.n, m = work->rival.m;
    Box box = box_at(work, i);
    int empty = 0;
    FOR(x, n) empty |= !empty && !tighten_ranges(box.v + x * m, box.v + (n + x) * m, m);
    if (empty || !tighten_ranges(box.P, box.P + n, n)) {
        *box.bound = BC_INFINITY;
        return 0;
    }
    double tol = larger(ROW_TOLERANCE * target, 0.02 * (target - larger(*box.bound, 0.0)));
    Size count = bound_box(work, &box, target, tol);
    if (*box.bound >= target) return 0;
    if (alarm && true_cost(work) < target) return 1;
    *box.high = 0.0;
    double rows = disputed_letter(work, &box, count, &i), inputs = plan_input_cut(work, &box, tol);
    if (rows > LETTERS_OVER_INPUTS * inputs) {
        *box.low = (double)(2 * n + i), *box.high = (double)(2 * n + n * m + i);
        *box.cut = between(work->v[i], box.v[i], box.v[n * m + i], 0.1);
    }
    return 0;
}
