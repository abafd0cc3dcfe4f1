/* A model from above of the bound of one box, built of the answers that it has met.

   For an input P and rows v the value at the price s and the output Q is

       φ(s) + Σ_x w_x D(W_x‖v_x) - s Σ_x P_x D(v_x‖Q) = φ(s) + cost - s (inner - Σ_y (Pv)_y log Q_y),

   inner = Σ_x P_x Σ_y v_x log v_x. The bound of a box is the largest over (s, Q) of the smallest over the (P, v) of the
   box. With finitely many answers in place of the box, the order may be changed:

       min over mixtures α of  Σ_j α_j cost_j + F(I(α)),   I(α) = Σ_j α_j inner_j - Σ_y q_y log q_y,  q = Σ_j α_j (Pv)_j,

   with F the leader's cost of a capacity. That is convex in α, and its solution says which (s, Q) to try next:
   s = -F'(I) and Q = q. It is at least the bound of the box, so that a box whose model falls below what is required must
   be cut. An interior point solves it. */
#include "bound_model.h"

enum { MOST_STEPS = 60, MOST_HALVINGS = 20 };
static const double SHORT_OF_BOUNDARY = 0.95, NEGLIGIBLE_PIVOT = 1e-14;
static const double MOST_CHANGE = 3.0;  /* by which factor a step may change the price; F bends too much for longer ones */

Answers answers_room(Space *space, Size most, Size n, Size m) {
    Answers answers = {.most = most, .n = n, .m = m, .cost = take(space, most), .inner = take(space, most)};
    answers.output = take(space, most * m), answers.P = take(space, most * n), answers.v = take(space, most * n * m);
    answers.share = take(space, most), answers.trial = take(space, most);
    return answers;
}

ModelRoom model_room(Space *space, Size most) {
    return (ModelRoom){take(space, most), take(space, most), take(space, most), take(space, most), take(space, most),
                       take(space, most * most)};
}

typedef struct { double cost, information; } Mixture;

/* Cost and information of a mixture; fills Q with its output. */
static Mixture mixture(const Answers *answers, const double *shares, Size count, double *Q) {
    Mixture all = {0.0, 0.0};
    for (Size y = 0; y < answers->m; y++) {
        Q[y] = TINY;
        for (Size j = 0; j < count; j++) Q[y] += shares[j] * answers->output[j * answers->m + y];
        all.information -= Q[y] * bc_log(Q[y]);
    }
    for (Size j = 0; j < count; j++) {
        all.information += shares[j] * answers->inner[j];
        all.cost += shares[j] * answers->cost[j];
    }
    return all;
}

/* Overwrite b and c with A⁻¹b and A⁻¹c, A [i, j] symmetric positive definite and given below its diagonal. */
static void solve_twice(Size n, double *A, double *b, double *c) {
    for (Size j = 0; j < n; j++) {
        A[j * n + j] = larger(A[j * n + j], TINY);
        for (Size i = j + 1; i < n; i++) {
            double f = A[i * n + j] / A[j * n + j];
            for (Size k = j + 1; k <= i; k++) A[i * n + k] -= f * A[k * n + j];
            b[i] -= f * b[j];
            c[i] -= f * c[j];
        }
    }
    for (Size i = n - 1; i >= 0; i--) {
        for (Size k = i + 1; k < n; k++) {
            b[i] -= A[k * n + i] * b[k];
            c[i] -= A[k * n + i] * c[k];
        }
        b[i] /= A[i * n + i];
        c[i] /= A[i * n + i];
    }
}

/* A = the Hessian s Σ_y u_i u_j/q + F'' d_i d_j, u = output - q, d = gain - I, made regular along 1. */
static void fill_newton(const Answers *answers, const ModelRoom *room, Size count, double s, double bend,
                        double information, const double *Q) {
    Size m = answers->m;
    double size = 0.0, *A = room->A;
    for (Size i = 0; i < count; i++) {
        const double *one = answers->output + i * m;
        for (Size j = 0; j <= i; j++) {
            const double *other = answers->output + j * m;
            double sum = bend * (room->gain[i] - information) * (room->gain[j] - information);
            for (Size y = 0; y < m; y++) sum += s * (one[y] - Q[y]) * (other[y] - Q[y]) / Q[y];
            A[i * count + j] = sum;
        }
        size = larger(size, A[i * count + i]);
    }
    for (Size i = 0; i < count; i++) {
        for (Size j = 0; j <= i; j++) A[i * count + j] += size;
        A[i * count + i] += NEGLIGIBLE_PIVOT * size;
    }
}

/* gain = inner - Σ output log Q, gradient = cost - s gain; its smallest entry; fills its mean under the shares. */
static double fill_gradient(const Answers *answers, const ModelRoom *room, Size count, double s, const double *Q,
                            double *mean) {
    double least = BC_INFINITY;
    *mean = 0.0;
    for (Size j = 0; j < count; j++) room->gain[j] = answers->inner[j];
    for (Size y = 0; y < answers->m; y++) {
        double logarithm = log_of(Q[y]);
        for (Size j = 0; j < count; j++) room->gain[j] -= answers->output[j * answers->m + y] * logarithm;
    }
    for (Size j = 0; j < count; j++) {
        room->gradient[j] = answers->cost[j] - s * room->gain[j];
        least = smaller(least, room->gradient[j]);
        *mean += answers->share[j] * room->gradient[j];
    }
    return least;
}

/* Newton's direction towards share · slack = μ with room->gradient = gradient - λ; returns dλ. */
static double direction(const double *share, const ModelRoom *room, Size count) {
    double mu = 0.0, top = 0.0, bottom = 0.0, *d_share = room->d_share, *d_slack = room->d_slack;
    for (Size j = 0; j < count; j++) mu += 0.1 * share[j] * room->slack[j] / (double)count;
    for (Size j = 0; j < count; j++) {
        room->A[j * count + j] += room->slack[j] / share[j];
        d_share[j] = mu / share[j] - room->gradient[j];
        d_slack[j] = 1.0;
    }
    solve_twice(count, room->A, d_share, d_slack);
    for (Size j = 0; j < count; j++) top += d_share[j], bottom += d_slack[j];
    for (Size j = 0; j < count; j++) {
        d_share[j] -= top / bottom * d_slack[j];
        d_slack[j] = (mu - room->slack[j] * d_share[j]) / share[j] - room->slack[j];
    }
    return -top / bottom;
}

/* The longest step ≤ 1 that keeps value + step · change positive. */
static double longest(const double *value, const double *change, Size count) {
    double step = 1.0;
    for (Size j = 0; j < count; j++)
        if (change[j] < 0.0) step = smaller(step, -SHORT_OF_BOUNDARY * value[j] / change[j]);
    return step;
}

/* Give every answer a share, and the newest one a large one. */
static void leave_boundary(double *share, Size count, Size newest) {
    double total = 0.0;
    for (Size j = 0; j < count; j++) {
        share[j] = j == newest ? 0.2 : 0.8 * share[j] + 0.2 / (double)count;
        total += share[j];
    }
    for (Size j = 0; j < count; j++) share[j] /= total;
}

/* Move the shares along their change, by less where the price would change too much; the mixture there, and its price. */
static Mixture advance(const Answers *answers, const Curve *curve, const double *change, Size count, double step,
                       double *Q, Price *price) {
    Mixture at = {0.0, 0.0};
    double before = price->s;
    for (int i = 0; i < MOST_HALVINGS; i++) {
        for (Size j = 0; j < count; j++) answers->trial[j] = answers->share[j] + step * change[j];
        at = mixture(answers, answers->trial, count, Q);
        *price = leader_cost(curve, at.information);
        if (price->s < MOST_CHANGE * before && MOST_CHANGE * price->s > before) break;
        step *= 0.5;
    }
    copy(answers->trial, answers->share, count);
    return at;
}

/* The smallest value of the model to within `goal`, and its price; fills Q and the shares. */
double solve_model(const Answers *answers, const Curve *curve, const ModelRoom *room, Size count, Size newest, double *Q,
                   double goal, double *s) {
    double floor = 0.0, mean;
    leave_boundary(answers->share, count, newest);
    Mixture at = mixture(answers, answers->share, count, Q);
    Price price = leader_cost(curve, at.information);
    for (int step = 0; step < MOST_STEPS; step++) {
        double least = fill_gradient(answers, room, count, price.s, Q, &mean);
        if (!(mean - least > goal)) break;
        if (step == 0) {
            floor = least - 0.5 * (mean - least);
            for (Size i = 0; i < count; i++) room->slack[i] = room->gradient[i] - floor;
        }
        fill_newton(answers, room, count, price.s, price.bend, at.information, Q);
        for (Size j = 0; j < count; j++) room->gradient[j] -= floor;
        double d_floor = direction(answers->share, room, count);
        double forward = longest(answers->share, room->d_share, count);
        double rise = longest(room->slack, room->d_slack, count);
        at = advance(answers, curve, room->d_share, count, forward, Q, &price);
        floor += rise * d_floor;
        for (Size j = 0; j < count; j++) room->slack[j] += rise * room->d_slack[j];
    }
    *s = price.s;
    return at.cost + price.paid;
}
