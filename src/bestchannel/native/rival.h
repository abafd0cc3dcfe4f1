/* Bets against a rival on its own senses: what the files of it share. docs/theory/adaptive.md, "Bets on a rival". */
#ifndef BC_RIVAL_H
#define BC_RIVAL_H

#include "kernel.h"

/* What a row is bet on: f(w) = sum_y a_y log w_y + sum_e N_e log z_e(w) + s sum_y w_y log(w_y / R_y), with
   z_e(w) = sum_y w_y^(1-τ_e) Q_ey^(τ_e). */
typedef struct {
    Size epochs, m;
    const double *a, *N, *tau, *logQ;  /* [y], [e], [e], [e, y] */
    double s;
    const double *logR;  /* [y] */
} RowBets;

/* Room for one row: (Q/w)^τ, N/z, slopes and their derivatives, and the v at which a letter's ψ is least. */
typedef struct { double *powers, *weights, *slope, *bend, *reach; } RowRoom;  /* [e, y], [e], [y], [y], [y] */

#define row_room BC(rival_row_space)
#define row_bound BC(rival_row_bound)
RowRoom row_room(Space *space, Size epochs, Size m);
double row_bound(const RowBets *row, double *logw, const RowRoom *room, double tolerance);

/* The bets on a rival's senses: what was counted, and under which tilts and output distributions. */
typedef struct {
    Size n, m, epochs;
    const double *counts;   /* [x, y] n̄: every sense weighted with its ω */
    const double *charged;  /* [x] c: the sum over the senses of ω log Q */
    double *senses, *tilts, *logQ;  /* [x, e], [x, e] ω, [x, e, y] */
    double weight;  /* S */
} Losses;

/* Arrays to work in. */
typedef struct {
    double *a, *tau;                           /* [y], [e] */
    RowRoom row;
    double *logw, *rest, *logR;                /* [y] */
    double *at_ends, *ends;                    /* [side, x] */
    double *P, *slopes, *rises;                /* [x] */
    double *parts, *reached;                   /* [x, y], [side, x, y] */
    double *R, *pulls;                         /* [2, y] */
} Room;

#define losses_room BC(rival_losses_space)
#define loss_room BC(rival_loss_space)
#define merged_losses BC(rival_merged_losses)
#define row_loss BC(rival_row_loss)
#define balance BC(rival_balance)
#define climb BC(rival_climb)
Losses losses_room(Space *space, Size requests, Size groups, Size n, Size m);
Room loss_room(Space *space, Size epochs, Size n, Size m);
void merged_losses(Losses *losses, Size requests, const double *history);
double row_loss(const Losses *losses, Size x, double p, const double *logR, double *logw, const Room *room);
double balance(double weight, double *P, const Room *room, Size n, Size m);
double climb(const Losses *losses, double *P, double *logW, double *logR, double largest, double settled,
             const Room *room);

#endif
