/* A model from above of the bound of one box, built of the answers that it has met: see bound_model.c. */
#ifndef BC_BOUND_MODEL_H
#define BC_BOUND_MODEL_H

#include "lower_bound.h"

/* Inputs and rows that were the smallest for some (s, Q), and the mixture α of them that the model likes best. */
typedef struct {
    Size most, n, m;
    double *cost, *inner;       /* [j] Σ_x w_x D(W_x‖v_x), Σ_x P_x Σ_y v log v */
    double *output, *P, *v;     /* [j, y] Pv, [j, x], [j, x, y] */
    double *share, *trial;      /* [j] α, scratch */
} Answers;

typedef struct { double *gain, *gradient, *slack, *d_share, *d_slack, *A; } ModelRoom;  /* [j], and [i, j] */

#define answers_room BC(lower_answers_room)
#define model_room BC(lower_model_room)
#define solve_model BC(lower_solve_model)
Answers answers_room(Space *space, Size most, Size n, Size m);
ModelRoom model_room(Space *space, Size most);
double solve_model(const Answers *answers, const Curve *curve, const ModelRoom *room, Size count, Size newest, double *Q,
                   double goal, double *price);

#endif
