/* One step of the interior point for the capacity of a channel, in LANES channels of one size at a time.
 *
 * The problem is max_P I(P; W) over the simplex. With D_x = D(W_x || PW) its optimality conditions, relaxed by mu > 0,
 * are
 *
 *     D_x - C + s_x = 0,    p_x s_x = mu,    sum_x p_x = 1,    p, s > 0,
 *
 * and at mu = 0 they say D_x <= C with equality on the support of P. A Newton step solves
 *
 *     (K + diag(s/p)) dp + dC 1 = D - C 1 + mu/p,    1' dp = 0,
 *     K = U diag(1/q) U',    U = W - 1 q',    q = PW,
 *
 * one factorisation of an n x n matrix, with Mehrotra's predictor and corrector [Meh92] on it. U rather than W keeps K
 * accurate when the rows are nearly equal.
 *
 * Three choices make it hold where the textbook step fails. K p = 0, so K alone would leave the system as singular as
 * mu is small: since 1' dp = 0, adding theta 11' to K changes nothing but its condition. mu is never aimed below what
 * the tolerance needs. And the second-order term of D is dropped where the predictor would halve some q_y.
 *
 * Arrays are laid out with the lane last, so that every innermost loop is the same arithmetic on neighbouring channels
 * and becomes vector instructions. The file is included once for each number of LANES, which is part of the names:
 * PART(step). `capacity/device.cu` has steps of its own: its first ones are in float32, and it keeps U and 1/q in no array.
 */
#ifndef BC_INTERIOR_POINT_H
#define BC_INTERIOR_POINT_H

#include "mathematics.h"

#define BC_TINY 1e-300
#define BC_LEAST_SLACK 1e-30
#define BC_FIRST_MARGIN 1.02
#define BC_SHORT_OF_BOUNDARY 0.995
#define BC_MAX_ITERATIONS 50
#define BC_ROW_SUM_TOLERANCE 1e-9

#define EACH(i, from, to) for (int i = (from); i < (to); i++)
#ifdef __clang__ /* no lane reads what another writes */
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#endif
#define BC_JOIN_(a, b) a##b
#define BC_JOIN(a, b) BC_JOIN_(a, b)
#define PART(name) BC_JOIN(name, LANES)
#define AT(array, i) (array)[(i) * LANES + l]
#define OF(array, i, columns, j) (array)[((i) * (columns) + (j)) * LANES + l]

/* The state of the interior point, one channel in each lane. */
typedef struct {
    double *W;           /* [x, y, lane] */
    double *U;           /* [x, y, lane] W - 1 q' */
    double *A;           /* [x, x, lane] the factors of the Newton matrix */
    double *p;           /* [x, lane] input distribution */
    double *s;           /* [x, lane] slack C - D_x */
    double *D;           /* [x, lane] D(W_x || q), nats */
    double *neg_entropy; /* [x, lane] sum_y W log W */
    double *v;           /* [x, lane] A^-1 1 */
    double *dp;          /* [x, lane] */
    double *ds;          /* [x, lane] */
    double *aim;         /* [x, lane] what p_x s_x / p_x is aimed at */
    double *weight;      /* [x, lane] s/p */
    double *q;           /* [y, lane] output distribution pW */
    double *r;           /* [y, lane] 1/q */
    double *log_q;       /* [y, lane] */
    double *dq;          /* [y, lane] change of log q */
    double *low;         /* [lane] I(p; W) */
    double *high;        /* [lane] max_x D_x */
    double *goal;        /* [lane] the gap at which it has converged */
    double *mu;          /* [lane] */
    double *step_p;      /* [lane] */
    double *step_s;      /* [lane] */
    double *some, *more; /* [lane] sums that no function leaves to another */
} Lanes;

#endif

#ifdef LANES

/* neg_entropy_x = sum_y W log W, each logarithm to 2 ulp. */
static void PART(neg_entropies_of)(const Lanes *at, const int n, const int m) {
    const double *W = at->W;
    double *sum = at->neg_entropy;
    EACH(x, 0, n) {
        EACH_LANE AT(sum, x) = 0.0;
        EACH(y, 0, m) EACH_LANE AT(sum, x) += OF(W, x, m, y) * bc_quick_log(bc_max(OF(W, x, m, y), BC_TINY));
    }
}

/* p scaled to sum 1, q = pW, r = 1/q, U = W - 1q', D_x = D(W_x || q) in nats, and the certificate low <= C <= high.
 *
 * The quick form of D_x subtracts two entropies and is exact to some 1e-16 nats. The precise form, sum_y q psi(u) with
 * u = (W-q)/q, keeps its relative accuracy for a channel of tiny capacity.
 */
static void PART(divergences_of)(const Lanes *at, const int n, const int m, const int precise) {
    const double *W = at->W;
    double *U = at->U, *p = at->p, *q = at->q, *r = at->r, *D = at->D, *log_q = at->log_q, *mass = at->some;
    EACH_LANE mass[l] = 0.0;
    EACH(x, 0, n) EACH_LANE mass[l] += AT(p, x);
    EACH(x, 0, n) EACH_LANE AT(p, x) /= mass[l];
    EACH(y, 0, m) {
        EACH_LANE AT(q, y) = BC_TINY;
        EACH(x, 0, n) EACH_LANE AT(q, y) += AT(p, x) * OF(W, x, m, y);
        EACH_LANE AT(r, y) = 1.0 / AT(q, y);
        EACH_LANE AT(log_q, y) = bc_quick_log(AT(q, y));
    }
    EACH(x, 0, n) {
        EACH_LANE AT(D, x) = precise ? 0.0 : AT(at->neg_entropy, x);
        EACH(y, 0, m) {
            EACH_LANE OF(U, x, m, y) = OF(W, x, m, y) - AT(q, y);
            if (precise) {
                EACH_LANE AT(D, x) += AT(q, y) * bc_psi(OF(U, x, m, y) * AT(r, y));
            } else {
                EACH_LANE AT(D, x) -= OF(W, x, m, y) * AT(log_q, y);
            }
        }
    }
    EACH_LANE at->low[l] = at->high[l] = 0.0;
    EACH(x, 0, n) EACH_LANE {
        at->low[l] += AT(p, x) * AT(D, x);
        at->high[l] = bc_max(AT(D, x), at->high[l]);
    }
}

/* L D L' factors of K + theta 11' + diag(s/p): L below the diagonal of A, 1/D on it. */
static void PART(factor)(const Lanes *at, const int n, const int m) {
    double *U = at->U, *A = at->A, *r = at->r, *theta = at->some, *scaled = at->dq;
    EACH_LANE theta[l] = 0.0;
    EACH(i, 0, n) {
        EACH(y, 0, m) EACH_LANE AT(scaled, y) = OF(U, i, m, y) * AT(r, y);
        EACH(j, 0, i + 1) {
            double sum[LANES];
            EACH_LANE sum[l] = 0.0;
            EACH(y, 0, m) EACH_LANE sum[l] += AT(scaled, y) * OF(U, j, m, y);
            EACH_LANE OF(A, i, n, j) = sum[l];
        }
        EACH_LANE theta[l] = bc_max(OF(A, i, n, i), theta[l]);
    }
    EACH(i, 0, n) {
        EACH(j, 0, i + 1) EACH_LANE OF(A, i, n, j) += theta[l];
        EACH_LANE {
            AT(at->weight, i) = AT(at->s, i) / AT(at->p, i);
            OF(A, i, n, i) += AT(at->weight, i);
        }
    }
    EACH(j, 0, n) {
        EACH_LANE OF(A, j, n, j) = 1.0 / bc_max(OF(A, j, n, j), BC_TINY);
        /* column j still holds L D while the rows below are updated with it */
        EACH(i, j + 1, n) {
            EACH_LANE theta[l] = OF(A, i, n, j) * OF(A, j, n, j);
            EACH(c, j + 1, i + 1) EACH_LANE OF(A, i, n, c) -= theta[l] * OF(A, c, n, j);
        }
        EACH(i, j + 1, n) EACH_LANE OF(A, i, n, j) *= OF(A, j, n, j);
    }
}

/* Overwrite b with A^-1 b, by the factors in A. */
static void PART(solve)(const double *A, double *b, const int n) {
    double rest[LANES];
    EACH(i, 0, n) {
        EACH_LANE rest[l] = AT(b, i);
        EACH(j, 0, i) EACH_LANE rest[l] -= OF(A, i, n, j) * AT(b, j);
        EACH_LANE AT(b, i) = rest[l];
    }
    EACH(k, 0, n) {
        const int i = n - 1 - k;
        EACH_LANE rest[l] = AT(b, i) * OF(A, i, n, i);
        EACH(j, i + 1, n) EACH_LANE rest[l] -= OF(A, j, n, i) * AT(b, j);
        EACH_LANE AT(b, i) = rest[l];
    }
}

/* Overwrite dp = b with the solution of A dp + c 1 = b, 1' dp = 0. */
static void PART(solve_within_simplex)(const Lanes *at, const int n) {
    double *dp = at->dp, *v = at->v, *top = at->some, *bottom = at->more;
    PART(solve)(at->A, dp, n);
    EACH_LANE top[l] = bottom[l] = 0.0;
    EACH(x, 0, n) EACH_LANE {
        top[l] += AT(dp, x);
        bottom[l] += AT(v, x);
    }
    EACH_LANE top[l] /= bottom[l];
    EACH(x, 0, n) EACH_LANE AT(dp, x) -= top[l] * AT(v, x);
}

/* The largest step <= 1 that keeps value + step * change >= 0. */
static void PART(longest_step)(const double *value, const double *change, double *step, const int n) {
    EACH_LANE step[l] = 1.0;
    EACH(x, 0, n) EACH_LANE step[l] = bc_min(AT(value, x) / bc_max(-AT(change, x), AT(value, x)), step[l]);
}

/* dp, ds straight to mu = 0, and the mu that the corrector should aim at. */
static void PART(predict)(const Lanes *at, const int n) {
    double *p = at->p, *s = at->s, *dp = at->dp, *ds = at->ds, *now = at->some;
    EACH(x, 0, n) EACH_LANE {
        AT(at->v, x) = 1.0;
        AT(dp, x) = AT(at->D, x) - at->high[l];
    }
    PART(solve)(at->A, at->v, n);
    PART(solve_within_simplex)(at, n);
    EACH(x, 0, n) EACH_LANE AT(ds, x) = -AT(s, x) - AT(at->weight, x) * AT(dp, x);
    PART(longest_step)(p, dp, at->step_p, n);
    PART(longest_step)(s, ds, at->step_s, n);
    EACH_LANE now[l] = BC_TINY;
    EACH_LANE at->mu[l] = 0.0;
    EACH(x, 0, n) EACH_LANE {
        now[l] += AT(p, x) * AT(s, x);
        at->mu[l] += (AT(p, x) + at->step_p[l] * AT(dp, x)) * (AT(s, x) + at->step_s[l] * AT(ds, x));
    }
    EACH_LANE {
        double ratio = at->mu[l] / now[l];
        at->mu[l] = bc_max(ratio * ratio * ratio * now[l], 0.1 * at->goal[l]) / n;
    }
}

/* dp, ds towards mu, with the second-order terms that the predictor shows. */
static void PART(correct)(const Lanes *at, const int n, const int m) {
    double *p = at->p, *s = at->s, *dp = at->dp, *ds = at->ds, *dq = at->dq, *aim = at->aim, *curved = at->some;
    EACH_LANE curved[l] = 0.5;
    EACH(y, 0, m) {
        EACH_LANE AT(dq, y) = 0.0;
        EACH(x, 0, n) EACH_LANE AT(dq, y) += AT(dp, x) * OF(at->U, x, m, y);
        EACH_LANE {
            AT(dq, y) *= AT(at->r, y);
            curved[l] = AT(dq, y) < -0.5 ? 0.0 : curved[l];
        }
    }
    EACH(x, 0, n) EACH_LANE {
        AT(aim, x) = (at->mu[l] - AT(dp, x) * AT(ds, x)) / AT(p, x);
        AT(dp, x) = AT(at->D, x) - at->high[l] + AT(aim, x);
    }
    EACH(y, 0, m) EACH_LANE AT(dq, y) *= curved[l] * AT(dq, y);
    EACH(x, 0, n) EACH(y, 0, m) EACH_LANE AT(dp, x) += OF(at->W, x, m, y) * AT(dq, y);
    PART(solve_within_simplex)(at, n);
    EACH(x, 0, n) EACH_LANE AT(ds, x) = AT(aim, x) - AT(s, x) - AT(at->weight, x) * AT(dp, x);
}

/* Step along (dp, ds), stopping short of the boundary. */
static void PART(move)(const Lanes *at, const int n, const double short_of_boundary) {
    PART(longest_step)(at->p, at->dp, at->step_p, n);
    PART(longest_step)(at->s, at->ds, at->step_s, n);
    EACH_LANE {
        at->step_p[l] *= at->step_p[l] >= 1.0 ? 1.0 : short_of_boundary;
        at->step_s[l] *= at->step_s[l] >= 1.0 ? 1.0 : short_of_boundary;
    }
    EACH(x, 0, n) EACH_LANE {
        AT(at->p, x) += at->step_p[l] * AT(at->dp, x);
        AT(at->s, x) += at->step_s[l] * AT(at->ds, x);
    }
}

/* One step from p and s to the next: Newton's, by predictor and corrector, and the certificate of where it leads. */
static void PART(step)(const Lanes *at, const int n, const int m, const int precise, const double short_of_boundary) {
    PART(factor)(at, n, m);
    PART(predict)(at, n);
    PART(correct)(at, n, m);
    PART(move)(at, n, short_of_boundary);
    PART(divergences_of)(at, n, m, precise);
}

#endif
