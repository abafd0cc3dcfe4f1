/* A lower bound, proved by branch and bound, of what it costs to make a rival as good as the leader.

       Z = min over v of  Σ_x w_x D(W_x‖v_x) + F(C(v)),   F(c) = min{Σ_x w_bx D(W_bx‖u_x): C(u) ≤ c}.

   F(c) ≥ φ(s) - sc for every price s ≥ 0, and C(v) = max_P min_Q Σ_x P_x D(v_x‖Q). So on a box, a range of every P_x and
   of every v_x(y), for every s and every output Q,

       Z ≥ φ(s) + min_P Σ_x ψ_x(sP_x),    ψ_x(t) = min_v w_x D(W_x‖v) - t D(v‖Q).

   ψ_x is concave, hence above its chord over the range of P_x, and with chords for ψ_x the minimum over P is a linear
   programme that sorting solves. (s, Q) are chosen by the model of bound_model.h. The first box holds all inputs, and all
   rows but those that cost the target by one letter alone. A box whose bound stays below the target is cut where the
   bound gives away most: in P_x, next to the mixture's P_x, or in a letter of a row, where the answers disagree. */
#include "bound_model.h"

enum { PROVED, VIOLATED, EXHAUSTED };  /* the target holds; rows were found that cost less; neither within the boxes */
enum { NO_CUT, CUT_INPUT, CUT_LETTER };
enum { EXTRA_ANSWERS = 16, MOST_ROUNDS = 20, HALVINGS = 50 };
static const double MODEL_TOLERANCE = 2e-4, ROW_TOLERANCE = 2e-4;
/* A box is left when bound and model are this close, relative to the target, or the model is below the target and the
   bound this close to it, relative to what is missing. */
static const double CLOSED = 1e-3, HOPELESS = 0.25;
static const double LEAST_OUTPUT = 1e-12;
/* Of the sum of all weights and s max_y log 1/Q_y: more than the rounding errors of a bound add up to. */
static const double ROUNDING = 64.0 * 0x1p-52;
/* Where a range of P_x is cut: this far from the mixture's P_x to the farther end, so that one side keeps the mixture
   well inside and the other one is easily proved. */
static const double NEAR_CUT = 0.25;
/* How much more the rows must give away than the inputs before a letter is cut: cuts of inputs tell more. */
static const double LETTERS_OVER_INPUTS = 10.0;
static const double NARROW = 1e-12;  /* ranges of this width are not cut any more */

/* An open box: its ranges [LOW or HIGH, x] and [LOW or HIGH, x, y], where its bound was reached, and where to cut it. */
typedef struct { double *P, *v, *Q, *s, *bound, *kind, *row, *letter, *cut; } Box;

/* The rows at both ends of every P_x, and the P that the linear programme chose. */
typedef struct { double *psi, *v, *slope, *P, *share, *log_Q; } Ends;  /* [x], [end, x, y], [x], [x], [x], [y] */

/* The problem, and all that bounding a box needs: scratch, and the mixture that the model ended with. */
typedef struct {
    Side rival;
    Curve curve;
    Ends ends;
    Answers answers;
    ModelRoom model;
    Parts parts;
    double *P, *v, *Q, *law;  /* [x] and [x, y] of the mixture; [y], [y] */
    double *boxes, *bounds;   /* [box, …], [box] */
} Work;

static Size box_size(Size n, Size m) { return 2 * n + 2 * n * m + m + 5; }

static Box box_at(const Work *work, Size i) {
    Size n = work->rival.n, m = work->rival.m;
    double *P = work->boxes + i * box_size(n, m), *v = P + 2 * n, *Q = v + 2 * n * m, *s = Q + m;
    return (Box){P, v, Q, s, work->bounds + i, s + 1, s + 2, s + 3, s + 4};
}

static void work_room(Space *space, Work *work, Size boxes) {
    Size n = work->rival.n, m = work->rival.m, most = n + EXTRA_ANSWERS;
    curve_room(space, &work->curve);
    work->ends = (Ends){take(space, n), take(space, 2 * n * m), take(space, n), take(space, n), take(space, n),
                        take(space, m)};
    work->answers = answers_room(space, most, n, m);
    work->model = model_room(space, most);
    work->parts = row_parts(space, m);
    work->P = take(space, n), work->v = take(space, n * m), work->Q = take(space, m), work->law = take(space, m);
    work->bounds = take(space, boxes), work->boxes = take(space, boxes * box_size(n, m));
}

/* P = the low ends, then filled up to Σ P = 1 from row `first` on. */
static void fill_inputs(const Ends *ends, const double *low, const double *high, Size first, Size n) {
    double left = 1.0;
    for (Size x = 0; x < n; x++) left -= low[x];
    for (Size k = 0; k < n; k++) {
        Size x = (first + k) % n;
        double step = smaller(high[x] - low[x], larger(left, 0.0));
        ends->P[x] = low[x] + step;
        ends->share[x] = step > 0.0 ? step / (high[x] - low[x]) : 0.0;
        left -= step;
    }
}

/* P with the smallest chord values: the low ends, then filled up in the order of the slopes; the value. */
static double cheapest_inputs(const Ends *ends, const double *low, const double *high, Size n) {
    double left = 1.0, value = 0.0;
    for (Size x = 0; x < n; x++) {
        ends->P[x] = low[x], ends->share[x] = 0.0;
        value += ends->psi[x];
        left -= low[x];
    }
    while (left > 0.0) {
        Size x = -1;
        for (Size i = 0; i < n; i++)
            if (ends->P[i] < high[i] && (x < 0 || ends->slope[i] < ends->slope[x])) x = i;
        if (x < 0) break;
        double step = smaller(high[x] - low[x], left);
        ends->P[x] = step == high[x] - low[x] ? high[x] : low[x] + step;
        ends->share[x] = step / (high[x] - low[x]);
        value += ends->slope[x] * step;
        left -= step;
    }
    return value;
}

/* log_Q = the logarithms of Q, raised to LEAST_OUTPUT and scaled to sum 1; the largest log 1/Q. */
static double take_logs(const double *Q, double *log_Q, Size m) {
    double total = 0.0, most = 0.0;
    for (Size y = 0; y < m; y++) total += larger(Q[y], LEAST_OUTPUT);
    for (Size y = 0; y < m; y++) log_Q[y] = bc_log(larger(Q[y], LEAST_OUTPUT) / total);
    for (Size y = 0; y < m; y++) most = larger(most, -log_Q[y]);
    return most;
}

/* ψ_x(t) from below, without base, over the rows of a box; fills v. */
static double psi(const Work *work, const Box *box, Size x, double t, double *v, double tol) {
    Size n = work->rival.n, m = work->rival.m;
    return difference_row(m, work->rival.a + x * m, work->rival.w[x], t, work->ends.log_Q, box->v + x * m,
                          box->v + (n + x) * m, v, &work->parts, tol);
}

/* The bound of a box at (s, Q), a proof whatever they are; Q is made a law first. */
static double evaluate(const Work *work, const Box *box, double s, const double *Q, double tol) {
    Size n = work->rival.n, m = work->rival.m;
    const Ends *ends = &work->ends;
    double scale = s * (1.0 + take_logs(Q, ends->log_Q, m));
    for (Size x = 0; x < n; x++) {
        double low = box->P[x], high = box->P[n + x];
        ends->psi[x] = psi(work, box, x, s * low, ends->v + x * m, tol), ends->slope[x] = 0.0;
        if (high > low) {
            double top = psi(work, box, x, s * high, ends->v + (n + x) * m, tol);
            ends->slope[x] = (top - ends->psi[x]) / (high - low);
        }
        scale += work->rival.w[x];
    }
    double value = cheapest_inputs(ends, box->P, box->P + n, n);
    for (Size x = 0; x < work->curve.side.n; x++) scale += work->curve.side.w[x];
    return phi_at(&work->curve, s) + work->rival.base + value - ROUNDING * scale;
}

/* Write what the rows at the ends and P amount to as answer j. */
static void note_answer(const Work *work, const Box *box, Size j) {
    Size n = work->rival.n, m = work->rival.m;
    const Ends *ends = &work->ends;
    const Answers *answers = &work->answers;
    answers->cost[j] = work->rival.base, answers->inner[j] = 0.0;
    for (Size y = 0; y < m; y++) answers->output[j * m + y] = 0.0;
    for (Size x = 0; x < n; x++) {
        Size top = box->P[n + x] > box->P[x] ? 1 : 0;
        answers->P[j * n + x] = ends->P[x];
        for (Size y = 0; y < m; y++) {
            double mass = 0.0;
            for (Size end = 0; end < 2; end++) {
                double share = end ? ends->share[x] : 1.0 - ends->share[x];
                if (!(share > 0.0)) continue;
                double v = ends->v[(end * n + x) * m + y], p = share * box->P[end * n + x], logarithm = log_of(v);
                answers->cost[j] -= share * work->rival.a[x * m + y] * logarithm;
                answers->inner[j] += p * v * logarithm;
                mass += p * v;
            }
            answers->output[j * m + y] += mass;
            answers->v[(j * n + x) * m + y] =
                ends->P[x] > 1e-9 ? mass / ends->P[x] : ends->v[(top * n + x) * m + y];
        }
    }
}

/* Note the last evaluation as one more answer, in place of the least useful where there is no room; their number.

   The first evaluation gives several answers, with the same rows and P at several corners of its box, so that the model
   can choose between them. */
static Size add_answer(const Work *work, const Box *box, Size count, Size *newest) {
    Size n = work->rival.n, full = count == work->answers.most;
    *newest = 0;
    if (count == 0) {
        for (Size x = 0; x < n; x++) {
            fill_inputs(&work->ends, box->P, box->P + n, x, n);
            note_answer(work, box, x);
            work->answers.share[x] = 1.0 / (double)n;
        }
        return n;
    }
    *newest = full ? lowest(work->answers.share, count) : count;
    note_answer(work, box, *newest);
    return full ? count : count + 1;
}

/* The mixture's input, and its rows weighted by how much each answer uses them. */
static void mix(const Work *work, Size count) {
    Size n = work->rival.n, m = work->rival.m;
    const Answers *answers = &work->answers;
    for (Size x = 0; x < n; x++) {
        double used = 0.0, *v = work->v + x * m;
        work->P[x] = 0.0;
        for (Size y = 0; y < m; y++) v[y] = 0.0;
        for (Size j = 0; j < count; j++) {
            double P = answers->P[j * n + x], share = answers->share[j] * (P + 1e-9);
            work->P[x] += answers->share[j] * P;
            used += share;
            for (Size y = 0; y < m; y++) v[y] += share * answers->v[(j * n + x) * m + y];
        }
        for (Size y = 0; y < m; y++) v[y] /= used;
    }
}

/* Raise the bound of a box until it meets the target or the model says that it cannot; the answers met. */
static Size bound_box(const Work *work, const Box *box, double target, double tol) {
    Size m = work->rival.m, count = 0, newest;
    double s = *box->s, *Q = work->Q;
    copy(box->Q, Q, m);
    for (int step = 0; step < MOST_ROUNDS; step++) {
        double bound = evaluate(work, box, s, Q, tol), before = s;
        if (bound > *box->bound) {  /* never true of what is no number */
            *box->bound = bound, *box->s = s;
            copy(Q, box->Q, m);
        }
        if (*box->bound >= target) return count;
        count = add_answer(work, box, count, &newest);
        double model = solve_model(&work->answers, &work->curve, &work->model, count, newest, Q,
                                   MODEL_TOLERANCE * target, &s);
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
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) {
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
    take_logs(box->Q, work->ends.log_Q, work->rival.m);
    for (Size x = 0; x < n; x++) {
        double low = box->P[x], high = box->P[n + x], p = work->P[x];
        if (!(high - low > NARROW)) continue;
        double bottom = psi(work, box, x, s * low, work->law, tol);
        double middle = psi(work, box, x, s * p, work->law, tol);
        double top = psi(work, box, x, s * high, work->law, tol);
        double gap = middle - bottom - (top - bottom) * (p - low) / (high - low);
        total += gap;
        if (gap > most) {
            double far = high - p > p - low ? high : low;
            most = gap;
            *box->kind = CUT_INPUT, *box->row = (double)x;
            *box->cut = between(p + NEAR_CUT * (far - p), low, high, 0.02);
        }
    }
    return total;
}

/* What the answers' rows give away by disagreeing, and the row and letter where they do so most.

   The model counts s Σ_j α_j P_jx D(v_jx‖v̄_x) too much, v̄ the mixture's rows: about
   Σ_y s Σ_j α_j P_jx (v_jx(y) - v̄_x(y))²/v̄_x(y). */
static double disputed_letter(const Work *work, const Box *box, Size count, Size *row, Size *letter) {
    Size n = work->rival.n, m = work->rival.m;
    const Answers *answers = &work->answers;
    double total = 0.0, most = 0.0;
    *row = *letter = 0;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) {
            double disagreement = 0.0, v = work->v[x * m + y];
            for (Size j = 0; j < count; j++) {
                double far = answers->v[(j * n + x) * m + y] - v;
                disagreement += answers->share[j] * answers->P[j * n + x] * (far * far);
            }
            disagreement *= *box->s / larger(v, TINY);
            total += disagreement;
            if (disagreement > most && box->v[(n + x) * m + y] - box->v[x * m + y] > NARROW)
                most = disagreement, *row = x, *letter = y;
        }
    return most > 0.0 ? total : 0.0;
}

/* Decide where a box is to be cut: where its bound gives away most. */
static void plan_cut(const Work *work, const Box *box, Size count, double tol) {
    Size n = work->rival.n, m = work->rival.m, x, y;
    *box->kind = NO_CUT;
    double rows = disputed_letter(work, box, count, &x, &y), inputs = plan_input_cut(work, box, tol);
    if (rows > LETTERS_OVER_INPUTS * inputs) {
        *box->kind = CUT_LETTER, *box->row = (double)x, *box->letter = (double)y;
        *box->cut = between(work->v[x * m + y], box->v[x * m + y], box->v[(n + x) * m + y], 0.1);
    }
}

/* Cut box i as planned; the upper part becomes box j. */
static void split(const Work *work, Size i, Size j) {
    Size n = work->rival.n, m = work->rival.m;
    Box box = box_at(work, i), other = box_at(work, j);
    copy(box.P, other.P, box_size(n, m));
    *other.bound = *box.bound;
    Size x = (Size)*box.row, y = (Size)*box.letter;
    if (*box.kind == CUT_INPUT) box.P[n + x] = other.P[x] = *box.cut;
    else box.v[(n + x) * m + y] = other.v[x * m + y] = *box.cut;
}

/* Tighten the ranges of a box; whether nothing is left. */
static int is_empty(const Box *box, Size n, Size m) {
    for (Size x = 0; x < n; x++)
        if (!tighten_ranges(box->v + x * m, box->v + (n + x) * m, m)) return 1;
    return !tighten_ranges(box->P, box->P + n, n);
}

/* The end (0 or 1) of [0, 1], moved towards p past q that cost p log(p/q) + (1-p) log((1-p)/(1-q)) > budget. */
static double affordable(double p, double budget, double end) {
    double inside = p;
    for (int i = 0; i < HALVINGS; i++) {
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
    for (Size x = 0; x < n; x++) {
        box.P[x] = 0.0, box.P[n + x] = 1.0;
        for (Size y = 0; y < m; y++) {
            double w = work->rival.w[x], p = work->rival.a[x * m + y] / w, budget = 1.000001 * target / w + 1e-14;
            box.v[x * m + y] = affordable(p, budget, 0.0);
            box.v[(n + x) * m + y] = affordable(p, budget, 1.0);
        }
    }
    *box.s = s, *box.bound = -BC_INFINITY, *box.kind = NO_CUT, *box.row = *box.letter = *box.cut = 0.0;
    copy(Q, box.Q, m);
}

/* Bound a box and, if it stays open, plan its cut; whether the alarm went off. */
static int visit(const Work *work, Size i, double target, int alarm) {
    Box box = box_at(work, i);
    if (is_empty(&box, work->rival.n, work->rival.m)) {
        *box.bound = BC_INFINITY;
        return 0;
    }
    double tol = larger(ROW_TOLERANCE * target, 0.02 * (target - larger(*box.bound, 0.0)));
    Size count = bound_box(work, &box, target, tol);
    if (*box.bound >= target) return 0;
    if (alarm && true_cost(work) < target) return 1;
    plan_cut(work, &box, count, tol);
    return 0;
}

/* How many numbers `room` of the next function must have. */
BC_EXPORT Size BC(certify_room)(Size n_b, Size m_b, Size n, Size m, Size boxes) {
    Space space = {0, 0};
    Work work = {.rival = {n, m, 0, 0, 0.0}, .curve = {.side = {n_b, m_b, 0, 0, 0.0}}};
    work_room(&space, &work, boxes);
    return space.used;
}

/* How it ended (PROVED 0, VIOLATED 1, EXHAUSTED 2), and in `bound` a proved lower bound of min(Z, target), from a first
   guess (s, Q), for the leader's curve with a_b [x, y], w_b [x] and `count` prices as `leader_curve` fills it, and the
   rival with a [x, y], w [x] and base.

   With `alarm` it ends as VIOLATED once some rows seem to cost less than the target; those rows and their input are then
   v [x, y] and P [x]. */
BC_EXPORT Size BC(certify)(Size n_b, Size m_b, Size count, const double *a_b, const double *w_b, const double *prices,
                           double *phi, double *capacity, double *u_b, double *P_b, Size n, Size m, const double *a,
                           const double *w, double base, double s, const double *Q, double target, Size alarm,
                           Size most_boxes, double *bound, double *v, double *P, double *room) {
    Space space = {room, 0};
    Work work = {.rival = {n, m, a, w, base},
                 .curve = {.side = {n_b, m_b, a_b, w_b, 0.0}, .count = count, .s = prices, .phi = phi,
                           .capacity = capacity, .u = u_b, .P = P_b}};
    work_room(&space, &work, most_boxes);
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
        if (used == most_boxes || *box_at(&work, i).kind == NO_CUT) return EXHAUSTED;
        split(&work, i, used);
        other = used++;
    }
    *bound = smaller(work.bounds[lowest(work.bounds, used)], target);
    copy(work.v, v, n * m);
    copy(work.P, P, n);
    return VIOLATED;
}
