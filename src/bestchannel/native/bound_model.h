/* A model from above of the bound of one box, built of the answers that it has met.

   For an input P and rows v the value at the price s and the output Q is

       φ(s) + Σ_x w_x D(W_x‖v_x) - s Σ_x P_x D(v_x‖Q) = φ(s) + cost - s (inner - Σ_y (Pv)_y log Q_y),

   inner = Σ_x P_x Σ_y v_x log v_x. The bound of a box is the largest over (s, Q) of the smallest over the (P, v) of the
   box. With finitely many answers in place of the box, the order may be changed:

       min over mixtures α of  Σ_j α_j cost_j + F(I(α)),   I(α) = Σ_j α_j inner_j - Σ_y q_y log q_y,  q = Σ_j α_j (Pv)_j,

   with F the leader's cost of a capacity. That is convex in α, and its solution says which (s, Q) to try next:
   s = -F'(I) and Q = q. It is at least the bound of the box, so that a box whose model falls below what is required must
   be cut. An interior point solves it. */
#pragma once
#include "leader_cost.h"

enum { MODEL_STEPS = 60, MOST_HALVINGS = 20 };
static const double SHORT_OF_BOUNDARY = 0.95, NEGLIGIBLE_PIVOT = 1e-14;
static const double MOST_CHANGE = 3.0;  /* by which factor a step may change the price; F bends too much for longer ones */

/* Inputs and rows that were the smallest for some (s, Q), the mixture α of them that the model likes best, and room. */
typedef struct {
    Size most, n, m;
    double *cost, *inner;    /* [j] Σ_x w_x D(W_x‖v_x), Σ_x P_x Σ_y v log v */
    double *output, *P, *v;  /* [j, y] Pv, [j, x], [j, x, y] */
    double *share, *trial;   /* [j] α, scratch */
    double *gain, *gradient, *slack, *d_share, *d_slack, *A;  /* [j], and [i, j] */
} Answers;

static Answers answers_room(Space *space, Size most, Size n, Size m) {
    return (Answers){.most = most, .n = n, .m = m, .cost = take(space, most), .inner = take(space, most),
                     .output = take(space, most * m), .P = take(space, most * n), .v = take(space, most * n * m),
                     .share = take(space, most), .trial = take(space, most), .gain = take(space, most),
                     .gradient = take(space, most), .slack = take(space, most), .d_share = take(space, most),
                     .d_slack = take(space, most), .A = take(space, most * most)};
}

typedef struct { double cost, information; } Mixture;

/* Cost and information of a mixture; fills Q with its output. */
static Mixture mixture(const Answers *answers, const double *shares, Size count, double *Q) {
    Mixture all = {0.0, 0.0};
    FOR(y, answers->m) {
        Q[y] = TINY;
        FOR(j, count) Q[y] += shares[j] * answers->output[j * answers->m + y];
        all.information -= Q[y] * bc_log(Q[y]);
    }
    FOR(j, count) all.information += shares[j] * answers->inner[j], all.cost += shares[j] * answers->cost[j];
    return all;
}

/* Overwrite b and c with A⁻¹b and A⁻¹c, A [i, j] symmetric positive definite and given below its diagonal. */
static void solve_twice(Size n, double *A, double *b, double *c) {
    FOR(j, n) {
        A[j * n + j] = larger(A[j * n + j], TINY);
        for (Size i = j + 1; i < n; i++) {
            double f = A[i * n + j] / A[j * n + j];
            for (Size k = j + 1; k <= i; k++) A[i * n + k] -= f * A[k * n + j];
            b[i] -= f * b[j];
            c[i] -= f * c[j];
        }
    }
    for (Size i = n - 1; i >= 0; i--) {
        for (Size k = i + 1; k < n; k++) b[i] -= A[k * n + i] * b[k], c[i] -= A[k * n + i] * c[k];
        b[i] /= A[i * n + i];
        c[i] /= A[i * n + i];
    }
}

/* A = the Hessian s Σ_y u_i u_j/q + F'' d_i d_j, u = output - q, d = gain - I, made regular along 1. */
static void fill_newton(const Answers *answers, Size count, Price price, double information, const double *Q) {
    Size m = answers->m;
    double size = 0.0, *A = answers->A;
    FOR(i, count) {
        const double *one = answers->output + i * m;
        FOR(j, i + 1) {
            const double *other = answers->output + j * m;
            double total = price.bend * (answers->gain[i] - information) * (answers->gain[j] - information);
            FOR(y, m) total += price.s * (one[y] - Q[y]) * (other[y] - Q[y]) / Q[y];
            A[i * count + j] = total;
        }
        size = larger(size, A[i * count + i]);
    }
    FOR(i, count) {
        FOR(j, i + 1) A[i * count + j] += size;
        A[i * count + i] += NEGLIGIBLE_PIVOT * size;
    }
}

/* gain = inner - Σ output log Q, gradient = cost - s gain; its smallest entry; fills its mean under the shares. */
static double fill_gradient(const Answers *answers, Size count, double s, const double *Q, double *mean) {
    double least = BC_INFINITY;
    *mean = 0.0;
    copy(answers->inner, answers->gain, count);
    FOR(y, answers->m) {
        double logarithm = log_of(Q[y]);
        FOR(j, count) answers->gain[j] -= answers->output[j * answers->m + y] * logarithm;
    }
    FOR(j, count) {
        answers->gradient[j] = answers->cost[j] - s * answers->gain[j];
        least = smaller(least, answers->gradient[j]);
        *mean += answers->share[j] * answers->gradient[j];
    }
    return least;
}

/* Newton's direction towards share · slack = μ, the gradient less the floor λ; returns dλ. */
static double direction(const Answers *answers, Size count, double floor) {
    double mu = 0.0, *share = answers->share, *slack = answers->slack, *d_share = answers->d_share;
    double *d_slack = answers->d_slack;
    FOR(j, count) mu += 0.1 * share[j] * slack[j] / (double)count;
    FOR(j, count) {
        answers->A[j * count + j] += slack[j] / share[j];
        d_share[j] = mu / share[j] - (answers->gradient[j] - floor);
        d_slack[j] = 1.0;
    }
    solve_twice(count, answers->A, d_share, d_slack);
    double top = sum(d_share, count), bottom = sum(d_slack, count);
    FOR(j, count) {
        d_share[j] -= top / bottom * d_slack[j];
        d_slack[j] = (mu - slack[j] * d_share[j]) / share[j] - slack[j];
    }
    return -top / bottom;
}

/* The longest step ≤ 1 that keeps value + step · change positive. */
static double longest(const double *value, const double *change, Size count) {
    double step = 1.0;
    FOR(j, count) if (change[j] < 0.0) step = smaller(step, -SHORT_OF_BOUNDARY * value[j] / change[j]);
    return step;
}

/* Move the shares along their change, by less where the price would change too much; the mixture there, and its price. */
static Mixture advance(const Answers *answers, const Curve *curve, Size count, double *Q, Price *price) {
    Mixture at = {0.0, 0.0};
    double before = price->s, step = longest(answers->share, answers->d_share, count);
    FOR(i, MOST_HALVINGS) {
        FOR(j, count) answers->trial[j] = answers->share[j] + step * answers->d_share[j];
        at = mixture(answers, answers->trial, count, Q);
        *price = leader_cost(curve, at.information);
        if (price->s < MOST_CHANGE * before && MOST_CHANGE * price->s > before) break;
        step *= 0.5;
    }
    copy(answers->trial, answers->share, count);
    return at;
}

/* The smallest value of the model to within `goal`, and its price; fills Q and the shares, begun with one for every
   answer, and a large one for the newest. */
static double solve_model(const Answers *answers, const Curve *curve, Size count, Size newest, double *Q, double goal,
                          double *s) {
    double floor = 0.0, mean, *share = answers->share;
    FOR(j, count) share[j] = j == newest ? 0.2 : 0.8 * share[j] + 0.2 / (double)count;
    double total = sum(share, count);
    FOR(j, count) share[j] /= total;
    Mixture at = mixture(answers, share, count, Q);
    Price price = leader_cost(curve, at.information);
    FOR(step, MODEL_STEPS) {
        double least = fill_gradient(answers, count, price.s, Q, &mean);
        if (!(mean - least > goal)) break;
        if (step == 0) {
            floor = least - 0.5 * (mean - least);
            FOR(i, count) answers->slack[i] = answers->gradient[i] - floor;
        }
        fill_newton(answers, count, price, at.information, Q);
        double d_floor = direction(answers, count, floor), rise = longest(answers->slack, answers->d_slack, count);
        at = advance(answers, curve, count, Q, &price);
        floor += rise * d_floor;
        FOR(j, count) answers->slack[j] += rise * answers->d_slack[j];
    }
    *s = price.s;
    return at.cost + price.paid;
}
