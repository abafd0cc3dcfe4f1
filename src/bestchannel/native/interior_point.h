/* One step of the interior point for the capacity of a channel, in LANES channels of one size at a time.

   The problem is max_P I(P; W) over the simplex. With D_x = D(W_x || PW) its optimality conditions, relaxed by mu > 0,

       D_x - C + s_x = 0,    p_x s_x = mu,    sum_x p_x = 1,    p, s > 0,

   say at mu = 0 that D_x <= C with equality on the support of P. A Newton step, by Mehrotra's predictor and corrector
   [Meh92] on one factorisation of an n x n matrix, solves

       (K + diag(s/p)) dp + dC 1 = D - C 1 + mu/p,    1' dp = 0,    K = U diag(1/q) U',    U = W - 1 q',    q = PW.

   U rather than W keeps K accurate when the rows are nearly equal. Three choices make it hold where the textbook step
   fails. K p = 0, so K alone would leave the system as singular as mu is small: since 1' dp = 0, adding theta 11' to K
   changes nothing but its condition. mu is never aimed below what the tolerance needs. And the second-order term of D is
   dropped where the predictor would halve some q_y.

   The lane is the last index of every array, so that innermost loops are the same arithmetic on neighbouring channels and
   become vector instructions. The file is included once for each kind of lanes, whose name is part of the names:
   PART(step). `capacity/device.cu` includes it for one lane a thread, in float32 and in float64, with words of its own for
   what a processor and a device do in different ways; those for a processor are here. */
#ifndef BC_INTERIOR_POINT_H
#define BC_INTERIOR_POINT_H

#define BC_TINY 1e-300
#define BC_LEAST_SLACK 1e-30
#define BC_FIRST_MARGIN 1.02
#define BC_SHORT_OF_BOUNDARY 0.995
#define BC_MAX_ITERATIONS 50
#define BC_ROW_SUM_TOLERANCE 1e-9

#define BC_JOIN_(a, b) a##b
#define BC_JOIN(a, b) BC_JOIN_(a, b)
#define AT(array, i) (array)[(i) * LANES + l]
#define RATIO(a, b) OVER(a, DIVISOR(b))
#define OF(array, i, columns, j) (array)[((i) * (columns) + (j)) * LANES + l]

#ifndef REAL /* the words of a processor */
#include "mathematics.h"

#define EACH(i, from, to) for (int i = (from); i < (to); i++)
#ifdef __clang__ /* no lane reads what another writes */
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#endif
#define PART(name) BC_JOIN(name, LANES)
#define STEP static void
#define REAL double
#define MATRIX double
#define LOG bc_quick_log
#define PSI bc_psi
#define MAX(a, b) larger(b, a)
#define MIN(a, b) smaller(b, a)
#define DIVISOR(b) (b)
#define OVER(a, divisor) ((a) / (divisor))
#define LEAST BC_TINY                          /* what no output and no sum is below */
#define LEAST_PIVOT(j) BC_TINY
#define CENTRE(x, y) OF(at->U, x, m, y) = OF(at->W, x, m, y) - AT(at->q, y)
#define CENTRED(x, y) OF(at->U, x, m, y)       /* W(y|x) - q_y */
#define SHIFTED 1                              /* whether theta 11' has to be added */
#endif

#endif

#ifdef LANES

/* The state of the interior point, one channel in each lane; the lane is the last index of all. */
typedef struct {
    MATRIX *W;                              /* [x, y] */
    REAL *U, *A;                            /* [x, y] W - 1 q'; [x, x] the factors of the Newton matrix */
    REAL *p, *s, *D, *neg_entropy;          /* [x] input, slack C - D_x, D(W_x || q) in nats, sum_y W log W */
    REAL *v, *dp, *ds, *aim, *weight;       /* [x] A^-1 1, steps, what p_x s_x / p_x is aimed at, s/p */
    REAL *q, *r, *log_q, *dq;               /* [y] output pW, 1/q, log q, its change and then half that squared */
    REAL *low, *high, *goal;                /* I(p; W), max_x D_x, and the gap at which it has converged */
    REAL *mu, *step_p, *step_s;
    REAL *some, *more;                      /* a sum that no function leaves to another; the divisor sum_x v_x */
} PART(Lanes);

/* neg_entropy_x = sum_y W log W, each logarithm to 2 ulp. */
STEP PART(neg_entropies_of)(const PART(Lanes) *at, const int n, const int m) {
    EACH(x, 0, n) {
        EACH_LANE AT(at->neg_entropy, x) = 0;
        EACH(y, 0, m) EACH_LANE {
            REAL entry = OF(at->W, x, m, y);
            AT(at->neg_entropy, x) += entry * LOG(MAX(entry, LEAST));
        }
    }
}

/* p scaled to sum 1, q = pW, r = 1/q, U = W - 1q', D_x = D(W_x || q) in nats, and the certificate low <= C <= high.
   The quick form of D_x subtracts two entropies and is exact to some 1e-16 nats. The precise form, sum_y q psi(u) with
   u = (W-q)/q, keeps its relative accuracy for a channel of tiny capacity. */
STEP PART(divergences_of)(const PART(Lanes) *at, const int n, const int m, const int precise) {
    REAL *p = at->p, *q = at->q, *r = at->r, *D = at->D, *log_q = at->log_q, *mass = at->some;
    EACH_LANE mass[l] = 0;
    EACH(x, 0, n) EACH_LANE mass[l] += AT(p, x);
    EACH_LANE mass[l] = DIVISOR(mass[l]);
    EACH(x, 0, n) EACH_LANE AT(p, x) = OVER(AT(p, x), mass[l]);
    EACH(x, 0, n) EACH_LANE AT(D, x) = precise ? 0 : AT(at->neg_entropy, x);
    EACH(y, 0, m) {
        EACH_LANE AT(q, y) = LEAST;
        EACH(x, 0, n) EACH_LANE AT(q, y) += AT(p, x) * OF(at->W, x, m, y);
        EACH_LANE AT(r, y) = RATIO((REAL)1, AT(q, y));
        EACH_LANE AT(log_q, y) = LOG(AT(q, y));
    }
    EACH(x, 0, n) EACH(y, 0, m) {
        EACH_LANE CENTRE(x, y);
        if (precise) {
            EACH_LANE AT(D, x) += AT(q, y) * PSI(CENTRED(x, y) * AT(r, y));
        } else {
            EACH_LANE AT(D, x) -= OF(at->W, x, m, y) * AT(log_q, y);
        }
    }
    EACH_LANE at->low[l] = at->high[l] = 0;
    EACH(x, 0, n) EACH_LANE {
        at->low[l] += AT(p, x) * AT(D, x);
        at->high[l] = MAX(AT(D, x), at->high[l]);
    }
}

/* The uniform input, with what it shows, and slacks that are positive there. */
STEP PART(begin)(const PART(Lanes) *at, const int n, const int m, const int precise) {
    EACH(x, 0, n) EACH_LANE AT(at->p, x) = (REAL)1 / n;
    PART(neg_entropies_of)(at, n, m);
    PART(divergences_of)(at, n, m, precise);
    EACH(x, 0, n) EACH_LANE
        AT(at->s, x) = (REAL)BC_FIRST_MARGIN * at->high[l] - AT(at->D, x) + (REAL)BC_LEAST_SLACK;
}

/* A = K + theta 11', the lower half. */
STEP PART(add_up)(const PART(Lanes) *at, const int n, const int m) {
    REAL *A = at->A, *theta = at->some, *scaled = at->dq;
    EACH_LANE theta[l] = 0;
    EACH(i, 0, n) {
        EACH(y, 0, m) EACH_LANE AT(scaled, y) = CENTRED(i, y) * AT(at->r, y);
        EACH(j, 0, i + 1) {
            REAL sum[LANES];
            EACH_LANE sum[l] = 0;
            EACH(y, 0, m) EACH_LANE sum[l] += AT(scaled, y) * CENTRED(j, y);
            EACH_LANE OF(A, i, n, j) = sum[l];
        }
        EACH_LANE theta[l] = MAX(OF(A, i, n, i), theta[l]);
    }
    if (SHIFTED) EACH(i, 0, n) EACH(j, 0, i + 1) EACH_LANE OF(A, i, n, j) += theta[l];
}

/* A's L D L' factors: L below the diagonal, 1/D on it. */
STEP PART(factor)(const PART(Lanes) *at, const int n) {
    REAL *A = at->A, *ratio = at->some;
    EACH(j, 0, n) {
        EACH_LANE OF(A, j, n, j) = RATIO((REAL)1, MAX(OF(A, j, n, j), LEAST_PIVOT(j)));
        /* column j still holds L D while the rows below are updated with it */
        EACH(i, j + 1, n) {
            EACH_LANE ratio[l] = OF(A, i, n, j) * OF(A, j, n, j);
            EACH(c, j + 1, i + 1) EACH_LANE OF(A, i, n, c) -= ratio[l] * OF(A, c, n, j);
        }
        EACH(i, j + 1, n) EACH_LANE OF(A, i, n, j) *= OF(A, j, n, j);
    }
}

/* Overwrite b with A^-1 b, by the factors in A. */
STEP PART(solve)(const REAL *A, REAL *b, const int n) {
    REAL rest[LANES];
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

/* Overwrite v, which is 1, with A^-1 1, and keep what its sum divides. */
STEP PART(solve_for_ones)(const PART(Lanes) *at, const int n) {
    PART(solve)(at->A, at->v, n);
    EACH_LANE at->more[l] = 0;
    EACH(x, 0, n) EACH_LANE at->more[l] += AT(at->v, x);
    EACH_LANE at->more[l] = DIVISOR(at->more[l]);
}

/* Overwrite dp = b with the solution of A dp + c 1 = b, 1' dp = 0. */
STEP PART(solve_within_simplex)(const PART(Lanes) *at, const int n) {
    REAL *dp = at->dp, *c = at->some;
    PART(solve)(at->A, dp, n);
    EACH_LANE c[l] = 0;
    EACH(x, 0, n) EACH_LANE c[l] += AT(dp, x);
    EACH_LANE c[l] = OVER(c[l], at->more[l]);
    EACH(x, 0, n) EACH_LANE AT(dp, x) -= c[l] * AT(at->v, x);
}

/* dq = half the square of the change of log q along dp, of which D has second-order terms; 0 where q_y would be halved. */
STEP PART(second_order)(const PART(Lanes) *at, const int n, const int m) {
    REAL *dq = at->dq, *curved = at->some;
    EACH_LANE curved[l] = (REAL)0.5;
    EACH(y, 0, m) {
        EACH_LANE AT(dq, y) = 0;
        EACH(x, 0, n) EACH_LANE AT(dq, y) += AT(at->dp, x) * CENTRED(x, y);
        EACH_LANE {
            AT(dq, y) *= AT(at->r, y);
            curved[l] = AT(dq, y) < (REAL)-0.5 ? 0 : curved[l];
        }
    }
    EACH(y, 0, m) EACH_LANE AT(dq, y) *= curved[l] * AT(dq, y);
}

/* The largest step <= 1 that keeps value + step * change >= 0. */
STEP PART(longest_step)(const REAL *value, const REAL *change, REAL *step, const int n) {
    EACH_LANE step[l] = 1;
    EACH(x, 0, n) EACH_LANE step[l] = MIN(RATIO(AT(value, x), MAX(-AT(change, x), AT(value, x))), step[l]);
}

/* dp, ds straight to mu = 0, and the mu that the corrector should aim at. */
STEP PART(predict)(const PART(Lanes) *at, const int n) {
    REAL *p = at->p, *s = at->s, *dp = at->dp, *ds = at->ds, *now = at->some;
    EACH(x, 0, n) EACH_LANE {
        AT(at->v, x) = 1;
        AT(dp, x) = AT(at->D, x) - at->high[l];
    }
    PART(solve_for_ones)(at, n);
    PART(solve_within_simplex)(at, n);
    EACH(x, 0, n) EACH_LANE AT(ds, x) = -AT(s, x) - AT(at->weight, x) * AT(dp, x);
    PART(longest_step)(p, dp, at->step_p, n);
    PART(longest_step)(s, ds, at->step_s, n);
    EACH_LANE now[l] = LEAST;
    EACH_LANE at->mu[l] = 0;
    EACH(x, 0, n) EACH_LANE {
        now[l] += AT(p, x) * AT(s, x);
        at->mu[l] += (AT(p, x) + at->step_p[l] * AT(dp, x)) * (AT(s, x) + at->step_s[l] * AT(ds, x));
    }
    EACH_LANE {
        REAL ratio = RATIO(at->mu[l], now[l]);
        at->mu[l] = RATIO(MAX(ratio * ratio * ratio * now[l], (REAL)0.1 * at->goal[l]), (REAL)n);
    }
}

/* dp, ds towards mu, with the second-order terms that the predictor shows. */
STEP PART(correct)(const PART(Lanes) *at, const int n, const int m) {
    REAL *dp = at->dp, *ds = at->ds, *aim = at->aim;
    PART(second_order)(at, n, m);
    EACH(x, 0, n) EACH_LANE {
        AT(aim, x) = RATIO(at->mu[l] - AT(dp, x) * AT(ds, x), AT(at->p, x));
        AT(dp, x) = AT(at->D, x) - at->high[l] + AT(aim, x);
    }
    EACH(x, 0, n) EACH(y, 0, m) EACH_LANE AT(dp, x) += OF(at->W, x, m, y) * AT(at->dq, y);
    PART(solve_within_simplex)(at, n);
    EACH(x, 0, n) EACH_LANE AT(ds, x) = AT(aim, x) - AT(at->s, x) - AT(at->weight, x) * AT(dp, x);
}

/* Step along (dp, ds), stopping short of the boundary. */
STEP PART(move)(const PART(Lanes) *at, const int n, const REAL short_of_boundary) {
    PART(longest_step)(at->p, at->dp, at->step_p, n);
    PART(longest_step)(at->s, at->ds, at->step_s, n);
    EACH_LANE {
        at->step_p[l] *= at->step_p[l] >= 1 ? 1 : short_of_boundary;
        at->step_s[l] *= at->step_s[l] >= 1 ? 1 : short_of_boundary;
    }
    EACH(x, 0, n) EACH_LANE {
        AT(at->p, x) += at->step_p[l] * AT(at->dp, x);
        AT(at->s, x) += at->step_s[l] * AT(at->ds, x);
    }
}

/* From p and s, with what `divergences_of` says there, to the next: Newton's step, by predictor and corrector. */
STEP PART(step)(const PART(Lanes) *at, const int n, const int m, const REAL short_of_boundary) {
    PART(add_up)(at, n, m);
    EACH(i, 0, n) EACH_LANE {
        AT(at->weight, i) = RATIO(AT(at->s, i), AT(at->p, i));
        OF(at->A, i, n, i) += AT(at->weight, i);
    }
    PART(factor)(at, n);
    PART(predict)(at, n);
    PART(correct)(at, n, m);
    PART(move)(at, n, short_of_boundary);
}

#endif
