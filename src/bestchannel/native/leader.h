/* Bets on the leader's senses, for the kernels that choose how large they are: see leader_bets.c. */
#ifndef BC_LEADER_H
#define BC_LEADER_H

#include "kernel.h"

/* A leader about to be sensed: rows W, inputs P and the senses N_x; and the weight of a bet on it. */
typedef struct {
    Size n, m;
    const double *W, *P, *senses;
    double weight;
} Leader;

typedef struct { double *stakes, *target, *trial, *wealth, *Q; } LeaderRoom;

#define leader_room BC(leader_bet_space)
#define leader_bet BC(leader_bet)
LeaderRoom leader_room(Space *space, Size n, Size m);
double leader_bet(const Leader *c, const LeaderRoom *r, double *pays, double *V, double *nu);

#endif
