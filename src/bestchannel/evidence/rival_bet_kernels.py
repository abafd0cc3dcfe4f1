# mypy: ignore-errors
"""How to bet on a rival's senses, compiled: the saddle point between the bets and the rows that they push the rival to.

For a weight s on the leader let W' be the rows near W that minimise sum_x N_x D(W_x‖W'_x) - s C(W'), P' an optimal
input of W' and Q = P'W'. Bets with t_x = P'_x ω_x such that the tilted row W'^(1-t) Q^t / z has the mean of log(W'/Q)
under W lose most at (P', W'): there the derivative in every P_x is s D(W'_x‖Q), the same for all inputs, and that in
the rows vanishes along log(W'/Q).
"""

import math

import numpy as np

from bestchannel.compiled import entry, inner
from bestchannel.evidence.rival_bound_kernels import MATRIX, STACK, VECTOR
from bestchannel.evidence.rival_loss_kernels import Losses, climb, copy, new_room
from bestchannel.evidence.rival_row_kernels import row_bound

ROUNDS = 12
NEWTON_STEPS = 12

LIKELY = 0.05
"""The probability of an input from which on the saddle point says how it is bet on."""

LEAST_TILT, LARGEST_TILT = 0.8, 1.2
"""Between which multiples of s/N_x a tilt is taken."""

CLOSE_ENOUGH = 3e-3
"""Nats to which the loss to be expected is found."""

PUSHED = 1e-3
"""Nats to which the pushed rows are found, or a millionth of a nat for each sense if that is less."""

MOST_PUSH = 0.6
"""s P_x relative to N_x up to which the rows are pushed; the problem is convex below 1."""


@inner
def _outputs(logw, P, logQ):
    """log of the output distribution of the rows under the input distribution P."""
    for y in range(len(logQ)):
        total = 0.0
        for x in range(len(P)):
            total += P[x] * math.exp(logw[x, y])
        logQ[y] = math.log(total)


@inner
def _towards_capacity(logw, P, logQ, factors):
    """A step of Blahut and Arimoto: P_x times exp of its divergence, scaled; how far it went."""
    total = 0.0
    for x in range(len(P)):
        divergence = 0.0
        for y in range(len(logQ)):
            divergence += math.exp(logw[x, y]) * (logw[x, y] - logQ[y])
        factors[x] = math.exp(divergence)
        total += P[x] * factors[x]
    change = 0.0
    for x in range(len(P)):
        new = P[x] * factors[x] / total
        change = max(change, abs(new - P[x]))
        P[x] = new
    return change


@inner
def _tilt(w, logv, logQ, most):
    """t in [0, most] with the mean of log(v/Q) under v^(1-t) Q^t / z equal to that under w."""
    wanted, t = 0.0, 0.0
    for y in range(len(w)):
        wanted += w[y] * (logv[y] - logQ[y])
    for _ in range(NEWTON_STEPS):
        z, mean, square = 0.0, 0.0, 0.0
        for y in range(len(w)):
            ratio = logv[y] - logQ[y]
            part = math.exp(logv[y] - t * ratio)
            z += part
            mean += part * ratio
            square += part * ratio * ratio
        mean /= z
        step = (mean - wanted) / max(square / z - mean * mean, 1e-12)
        t = min(max(t + step, 0.0), most)
        if abs(step) < 1e-4 * (t + 1e-6):
            break
    return t


@inner
def _push(rows, N, s, fixed, P, logw, logQ, factors):
    """Move logw and P to the saddle point (W', P') for the weight s; `rows` are N_x W_x."""
    none, no_powers, reach = np.empty(0), np.empty((0, rows.shape[1])), np.empty(rows.shape[1])
    for _ in range(ROUNDS):
        _outputs(logw, P, logQ)
        for x in range(len(P)):
            push = min(s * P[x], MOST_PUSH * N[x])
            close = min(1e-6 * N[x], PUSHED)
            row_bound(rows[x], none, none, no_powers, push, logQ, logw[x], no_powers, none, reach, close)
        _outputs(logw, P, logQ)
        if fixed or _towards_capacity(logw, P, logQ, factors) < 1e-4:
            break
    _outputs(logw, P, logQ)


@inner
def _expected_loss(W, N, s, tilts, logQ, largest, P, logw, logR, room):
    """What bets lose on N senses of W as they are expected, where they lose most; P, logw and logR move there."""
    n_inputs, n_outputs = W.shape
    counts, charged, logQs = np.empty(W.shape), np.zeros(n_inputs), np.empty((n_inputs, 1, n_outputs))
    senses, omega = np.empty((n_inputs, 1)), np.empty((n_inputs, 1))
    for x in range(n_inputs):
        senses[x, 0], omega[x, 0] = N[x], tilts[x]
        for y in range(n_outputs):
            counts[x, y] = tilts[x] * N[x] * W[x, y]
            logQs[x, 0, y] = logQ[y]
            charged[x] += counts[x, y] * logQ[y]
    return climb(Losses(counts, charged, senses, omega, logQs, s), P, logw, logR, largest, CLOSE_ENOUGH, room)


@inner
def _tilts(W, N, s, pushed, logw, logQ, most, tilts):
    """Fill ω for the weight s, from the rows and inputs to which it pushes."""
    for x in range(len(N)):
        first = s / N[x]  # what small pushes demand, whatever the input's probability
        tilt = _tilt(W[x], logw[x], logQ, most * pushed[x]) / pushed[x] if pushed[x] > LIKELY else first
        tilts[x] = min(max(tilt, LEAST_TILT * first), LARGEST_TILT * first, most)


@inner
def _scaled(W, N, P, rows, logw, pushed):
    """Where a push begins: `rows` are N_x W_x."""
    copy(P, pushed)
    for x in range(len(P)):
        for y in range(W.shape[1]):
            logw[x, y], rows[x, y] = math.log(W[x, y]), N[x] * W[x, y]


@entry(f"void({STACK}, {MATRIX}, {MATRIX}, {VECTOR}, float64, {MATRIX}, {MATRIX})")
def bets(rows_of, inputs, numbers, weights, most, tilts, outputs):
    """Fill tilts[r, x] and Q, outputs[r, y], for every weight s = weights[r] > 0; `most` is the largest tilt.

    rows_of[r, x, y] are W, inputs[r, x] a good input P of them, numbers[r, x] the senses N.
    """
    _, n_inputs, n_outputs = rows_of.shape
    shape = (n_inputs, n_outputs)
    logw, rows, pushed = np.empty(shape), np.empty(shape), np.empty(shape[0])
    logQ, factors = np.empty(shape[1]), np.empty(shape[0])
    for r in range(len(weights)):
        _scaled(rows_of[r], numbers[r], inputs[r], rows, logw, pushed)
        _push(rows, numbers[r], weights[r], False, pushed, logw, logQ, factors)
        _tilts(rows_of[r], numbers[r], weights[r], pushed, logw, logQ, most, tilts[r])
        for y in range(shape[1]):
            outputs[r, y] = math.exp(logQ[y])


@inner
def _starts(P, worst, largest):
    """The input distributions near which most may be lost: P, with more of what it leaves out, and `worst`."""
    starts = np.empty((1 + len(worst) // len(P), len(P)))
    for x in range(len(P)):
        starts[0, x] = 0.5 * P[x] + 0.5 / len(P) if largest > 0.0 else P[x]
        for start in range(1, len(starts)):
            starts[start, x] = worst[x]
    return starts


@entry(
    f"int64({MATRIX}, {VECTOR}, {VECTOR}, float64, {VECTOR}, {VECTOR}, {VECTOR}, float64, float64, {VECTOR}, {VECTOR})"
)
def best_bet(W, P, N, gap, weights, growths, worst, largest, most, tilts, Q):
    """Fill tilts[x] and Q[y] for that of the weights, which fall, whose bets should win most: which one that is.

    growths[i] is what bets of weights[i] on the leader should win; what the rival is expected to lose is taken off,
    until that leaves less than for the weight before, or the next one can hardly leave more. P is a good input of W;
    it is the fixed one where largest <= 0. `worst` is where most was lost so far, or empty.
    """
    n_inputs, n_outputs = W.shape
    logw, rows, pushed, logQ = np.empty(W.shape), np.empty(W.shape), np.empty(n_inputs), np.empty(n_outputs)
    starts = _starts(P, worst, largest)
    at, logR = np.empty((len(starts), n_inputs, n_outputs)), np.empty((len(starts), n_outputs))
    omega, factors, room = np.empty(n_inputs), np.empty(n_inputs), new_room(1, n_inputs, n_outputs)
    _scaled(W, N, P, rows, logw, pushed)
    for start in range(len(starts)):
        for x in range(n_inputs):
            copy(logw[x], at[start, x])
        _outputs(logw, starts[start], logR[start])
    for i in range(len(weights)):
        _push(rows, N, weights[i], largest <= 0.0, pushed, logw, logQ, factors)
        _tilts(W, N, weights[i], pushed, logw, logQ, most, omega)
        lost = -np.inf
        for start in range(len(starts)):
            lost = max(lost, _expected_loss(
                W, N, weights[i], omega, logQ, largest, starts[start], at[start], logR[start], room
            ))  # fmt: skip
        growths[i] -= lost
        if i > 0 and not growths[i] > growths[i - 1]:
            return i - 1
        copy(omega, tilts)
        for y in range(n_outputs):
            Q[y] = math.exp(logQ[y])
        if i + 1 < len(weights) and growths[i] > _least_growth(gap, weights[i], weights[i + 1]):
            return i
    return len(weights) - 1


@inner
def _least_growth(gap, weight, next_weight):
    """From which growth on bets of a weight win more than those of the next, if growths are s gap - s² v/2."""
    return gap * weight * next_weight / (weight + next_weight)
