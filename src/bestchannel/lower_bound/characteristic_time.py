"""The characteristic time: how many senses every nat of confidence costs, at best.

    1/T* = max_w min_(b,a) inf_{C(λ_a) ≥ C(λ_b)} Σ_x w_bx D(W_bx‖λ_bx) + Σ_x w_ax D(W_ax‖λ_ax)

over the weights w ≥ 0 of all (channel, input) with Σ w = 1 and pairs (b, a) of which b is to be shown to be the better:
the best channel with every other, the best m with all others, or neighbours in an order. Every policy that errs
with probability at most δ on all sets of channels of these sizes senses E[τ] ≥ T* kl(δ, 1-δ) times on
average, and none can have a smaller constant as δ → 0 [GK16]. See docs/theory/characteristic-time.md.

Where senses of the rows have costs c, the least expected cost is T* kl(δ, 1-δ), with Σ c w = 1 in place of Σ w = 1.
The game is then played for the shares v = c w of the cost, with the evidence d/c of a unit of cost.

[BN07] Ben-Ameur, Neto, "Acceleration of cutting-plane and column generation algorithms".
[GK16] Garivier, Kaufmann, "Optimal Best Arm Identification with Fixed Confidence".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, frozen, number_in
from bestchannel.errors import InputError
from bestchannel.lower_bound.alternatives import (
    FIRST_LOOK,
    LONG_LOOK,
    Alternative,
    Attempts,
    Claim,
    Position,
    Proof,
    alternative_at,
    cut_of,
    first_positions,
    respond,
)
from bestchannel.lower_bound.known_channels import (
    KnownChannels,
    Pair,
    named_channels,
    priced_deviations,
    small_gap_time,
)
from bestchannel.process import Progress

LEAST_RTOL = 1e-4  # no narrower bracket is asked for
MOST_ROUNDS, MOST_STEPS = 12, 80
CLOSE = 1.5  # alternatives up to this much dearer than a rival's cheapest one become cuts as well
LEAST_VALUE = 3e-14  # nats per sense below which rounding swallows every proof: a gap of about 1e-7 nat

PLAY_SHARE, PROOF_SHARE, SURPLUS_SHARE = 0.25, 0.45, 0.2
"""Of the accuracy asked for: what the game may leave open, what the proof may, and the least surplus of all rivals."""

INWARD = 0.5
"""How far the next weights lie from the solution of the programme towards the best ones so far: the solution alone
jumps between corners [BN07]."""

LEAST_WEIGHT = 1e-6  # of an even share, given to every row: without any weight a row may move for nothing
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class CharacteristicTime:
    """lower ≤ T* ≤ upper, in senses per nat.

    `lower` is proved by `alternatives` with the probabilities `mixture`: whatever the senses, one of them stays
    plausible. `upper` is proved for `allocation`, the share of the senses that every input of every channel gets; it is
    infinite where the proof was out of reach. Where senses have costs, it is cost per nat, and the shares are those of
    the cost.
    """

    lower: float
    upper: float
    allocation: tuple[Floats, ...]
    alternatives: tuple[Alternative, ...]
    mixture: tuple[float, ...]

    @property
    def relative_gap(self) -> float:
        """upper/lower - 1, and 0 where both are 0 or infinite."""
        return 0.0 if self.lower == self.upper else self.upper / self.lower - 1.0


def kl_nats(delta: float) -> float:
    """kl(δ, 1-δ) = (1-2δ) log((1-δ)/δ), and 0 from δ = 1/2 on, where guessing one of two is good enough.

    >>> round(kl_nats(0.01), 4)
    4.5032
    """
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta) if delta < 0.5 else 0.0


def characteristic_time(
    known: KnownChannels, pairs: Sequence[Pair] | None = None, *, rtol: float = 0.01, progress: Progress | None = None
) -> CharacteristicTime:
    """T* between two proved bounds, at most about `rtol` apart where that is within reach; of the best without pairs.

    Infinite where the brackets of the capacities leave open which of two is the better, 0 where none of the rivals can
    ever be. `progress(done, total)` counts the pairs proved in each round.

    >>> from bestchannel.channels import Channel
    >>> pair = [Channel.from_rows([[1 - p, p], [p, 1 - p]]) for p in (0.1, 0.2)]
    >>> T = characteristic_time(KnownChannels.of(pair))
    >>> T.lower < 100.08 < T.upper < 1.01 * T.lower
    True
    """
    rtol = number_in(rtol, "rtol", low=LEAST_RTOL, high=1.0, low_open=False)
    pairs = known.best_with_all() if pairs is None else pairs
    C = known.capacities
    tied = not all(C[b].lower > C[a].upper for b, a in pairs)
    possible = [(b, a) for b, a in pairs if min(known.W[a].shape) > 1]
    if tied or not possible:
        nothing = tuple(frozen(np.zeros(len(W))) for W in known.W)
        T = math.inf if tied else 0.0
        return CharacteristicTime(T, T, nothing, (), ())
    return _Search(known, possible, rtol, progress).run()


class _Search:
    """Weights against alternatives until they meet, then proofs; what a proof finds missing joins the game."""

    def __init__(self, known: KnownChannels, pairs: Sequence[Pair], rtol: float, progress: Progress | None) -> None:
        self.known = known
        self.pairs = pairs
        self.rtol = rtol
        self.progress = progress or (lambda _done, _total: None)
        self.cost = known.cost
        self.game = CuttingPlanes(known.n_rows)
        self.alternatives: list[Alternative] = []
        self.starts = {pair: first_positions(known, pair) for pair in pairs}
        self.positions: dict[Pair, list[Position]] = {pair: [] for pair in pairs}
        self.proved = 0.0
        self.allocation: Floats | None = None

    def run(self) -> CharacteristicTime:
        """Play and prove, first with few boxes, which finds most of what is missing, then with all."""
        small = small_gap_time(self.known, self.pairs).shares
        inputs = [
            share * each / max(each.sum(), 1e-300)
            for share, each in zip(small, priced_deviations(self.known), strict=True)
        ]
        solution = self.play(0.5 / self.known.n_rows + 0.5 * np.concatenate(inputs))  # half even, half for small gaps
        for attempts in (FIRST_LOOK, LONG_LOOK):
            for _ in range(MOST_ROUNDS):
                if not self.prove(attempts):
                    break
                solution = self.play(self.game.best[0])
        return self.answer(solution)

    def play(self, weights: Floats) -> Solution:
        """Improve the weights until their value is that of the game, to within the accuracy."""
        positions = {pair: self.positions[pair] + self.starts[pair] for pair in self.pairs}
        for _ in range(MOST_STEPS):
            self.progress(0, len(self.pairs))  # nothing is proved yet
            weights = self.game.try_weights(weights)
            for pair in self.pairs:
                found = respond(self.known, pair, weights / self.cost, positions[pair])
                assert found, "every search from every start failed"
                self.positions[pair] = [at for _, at in found]
                self.join(pair, [at for cost, at in found if cost <= CLOSE * found[0][0]])
            solution = self.game.solve()
            if self.game.best[1] >= solution.value * (1.0 - PLAY_SHARE * self.rtol):
                break
            weights = self.game.next_weights(solution)
            positions = self.positions
        return solution

    def join(self, pair: Pair, positions: list[Position]) -> None:
        """Make these positions alternatives, and let them join the game."""
        near = [alternative_at(pair, at) for at in positions]
        self.alternatives += near
        self.game.add_cuts(np.array([cut_of(self.known, each) / self.cost for each in near]))

    def prove(self, attempts: Attempts) -> bool:
        """Prove the value of the best weights, with a surplus for the rivals; whether an alternative was missing."""
        weights, value = self.game.best
        if value < LEAST_VALUE:
            return False
        target = value * (1.0 - PROOF_SHARE * self.rtol)
        guesses = {pair: positions[0].v for pair, positions in self.positions.items()}
        surplus = SURPLUS_SHARE * self.rtol / len(guesses)
        proofs = Claim(self.known, weights / self.cost, target, surplus, guesses).prove(attempts, self.progress)
        self.keep(weights, proofs)
        missing = {pair: proof.doubt for pair, proof in proofs.items() if proof.doubt is not None}
        for pair, position in missing.items():
            self.starts[pair].append(position)
            self.join(pair, [position])
        return bool(missing)

    def keep(self, weights: Floats, proofs: dict[Pair, Proof]) -> None:
        """Remember the shares of the cost with the surplus and their proved value, if that is the most so far."""
        given = weights.copy()
        for a in {a for _, a in proofs}:  # Z grows with the weights: the largest surplus serves all pairs
            given[self.known.blocks[a]] *= max(proof.raised for (_, rival), proof in proofs.items() if rival == a)
        total = float(given.sum())
        least = min(proof.bound for proof in proofs.values()) / total
        if least > self.proved:
            self.proved, self.allocation = least, given / total

    def answer(self, solution: Solution) -> CharacteristicTime:
        """Both ends, with the weights and the alternatives that prove them."""
        weights = self.game.best[0] if self.allocation is None else self.allocation
        used = np.flatnonzero(solution.mixture > 0.0)
        return CharacteristicTime(
            1.0 / solution.value,
            1.0 / self.proved if self.proved > 0.0 else math.inf,
            tuple(frozen(weights[block].copy()) for block in self.known.blocks),
            tuple(self.alternatives[i] for i in used),
            tuple(solution.mixture[used].tolist()),
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """The value of the game, from above; the mixture that proves it; the weights that the programme chose."""

    value: float
    mixture: Floats
    weights: Floats


class CuttingPlanes:
    """The game max_w min_i ⟨w, d_i⟩ on the alternatives known so far, d_i being the evidence of one sense of each row.

    More alternatives lower the value, so that with finitely many it is at least 1/T*. A mixture μ of them proves it:
    the value is at most max_(j,x) Σ_i μ_i d_i(j, x), however the programme was solved.
    """

    def __init__(self, n_rows: int) -> None:
        self.cuts = np.empty((0, n_rows))
        self.tried = np.empty((0, n_rows))
        self.values = np.empty(0)

    def add_cuts(self, cuts: Floats) -> None:
        """More alternatives, which lower the values of the weights."""
        self.cuts = np.concatenate([self.cuts, cuts])
        if len(self.tried):
            self.values = np.minimum(self.values, (self.tried @ cuts.T).min(axis=1))

    def try_weights(self, w: Floats) -> Floats:
        """w with a little for every row, summing to 1, remembered with its value."""
        raised = np.maximum(w, LEAST_WEIGHT / len(w))
        raised /= raised.sum()
        value = (self.cuts @ raised).min() if len(self.cuts) else np.inf
        self.tried = np.concatenate([self.tried, raised[None]])
        self.values = np.append(self.values, value)
        return raised

    @property
    def best(self) -> tuple[Floats, float]:
        """The best weights that were tried, and their value against the alternatives known so far."""
        i = int(np.argmax(self.values))
        return self.tried[i], float(self.values[i])

    def next_weights(self, solution: Solution) -> Floats:
        """Between the programme's weights and the best ones."""
        return (1.0 - INWARD) * solution.weights + INWARD * self.best[0]

    def solve(self) -> Solution:
        """The linear programme over w, and its value proved by its multipliers."""
        best = self.best[1]
        # evidence is of the order of the best value, and the solver has absolute tolerances; where its simplex method
        # fails on the scaled programme, the interior point or the programme as it is may serve
        for scale, method in ((best, "highs"), (best, "highs-ipm"), (1.0, "highs")):
            answer = _programme(self.cuts / scale, method)
            if answer.status == 0:
                break
        assert answer.status == 0, f"the linear programme was not solved: {answer.message}"
        mixture = np.maximum(-answer.ineqlin.marginals, 0.0)
        mixture /= mixture.sum()
        value = float((mixture @ self.cuts).max()) * (1.0 + ROUNDING)
        return Solution(value, mixture, np.maximum(answer.x[:-1], 0.0))


def _programme(cuts: Floats, method: str) -> Any:
    """scipy's answer to: maximise z over w and z with ⟨w, d_i⟩ ≥ z, Σ w = 1, w ≥ 0."""
    from scipy.optimize import linprog  # deferred: slow to import
    from scipy.sparse import csr_array, hstack

    count, n_rows = cuts.shape
    return linprog(
        np.append(np.zeros(n_rows), -1.0),
        A_ub=hstack([csr_array(-cuts), csr_array(np.ones((count, 1)))], format="csr"),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(n_rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n_rows + [(None, None)],
        method=method,
    )


SHOTS_ACCURACY, MOST_SHOT_STEPS = 0.01, 40  # how near the game comes to its value, and when it ends anyway


@dataclass(frozen=True, eq=False)
class LeastShots:
    """`per_nat` ≤ T* in shots per nat, proved by alternatives; `lower_bound` = per_nat · kl(δ, 1-δ) shots on average.

    `shares` are those of the inputs that the game came to.
    """

    per_nat: float
    lower_bound: float
    shares: Floats


def least_shots(channels: Mapping[str, object] | Sequence[object], delta: float) -> LeastShots:
    """What every policy must spend in shots that all channels answer, where these are independent.

        1/T* = max_w min_{a≠b} inf_{C(λ_a) ≥ C(λ_b)} Σ_x w_x (D(W_bx‖λ_bx) + D(W_ax‖λ_ax))

    over the shares w ≥ 0 of the inputs, Σ w = 1. A shot of x tells the true channels from others by the sum of the
    divergences of all answers, if these are independent, so that every policy that errs with probability at most δ on
    all sets of such channels, and so every one that does whatever the dependence, takes E[τ] ≥ T* kl(δ, 1-δ) shots
    [GK16].

    >>> pair = {"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}
    >>> least_shots(pair, 0.01).per_nat < 51
    True
    """
    delta = number_in(delta, "delta", low=0.0, high=1.0, high_open=True)
    known = KnownChannels.of(list(named_channels(channels).values()))
    pairs = [(b, a) for b, a in known.best_with_all() if min(known.W[a].shape) > 1]
    inputs = {len(known.W[j]) for pair in pairs for j in pair}
    if len(inputs) > 1:
        raise InputError("channels that answer the same shots must have the same inputs; these have different numbers")
    if known.best is None or not pairs:
        T = math.inf if known.best is None else 0.0
        return LeastShots(T, T * kl_nats(delta) if T else 0.0, frozen(np.zeros(0)))
    per_nat, shares = _game_in_shots(known, pairs, inputs.pop())
    return LeastShots(per_nat, per_nat * kl_nats(delta), frozen(shares))


def _game_in_shots(known: KnownChannels, pairs: Sequence[Pair], n: int) -> tuple[float, Floats]:
    """The value of the game from above, as its time from below, and the best shares."""
    game, weights, taking = CuttingPlanes(n), np.full(n, 1.0 / n), {j for pair in pairs for j in pair}
    positions: dict[Pair, list[Position]] = {pair: first_positions(known, pair) for pair in pairs}
    for _ in range(MOST_SHOT_STEPS):
        weights = game.try_weights(weights)
        of_rows = np.concatenate([weights if j in taking else np.ones(len(W)) for j, W in enumerate(known.W)])
        for pair in pairs:
            positions[pair] = [at for _, at in respond(known, pair, of_rows, positions[pair])]
            cuts = [cut_of(known, alternative_at(pair, at)) for at in positions[pair][:2]]
            game.add_cuts(np.array([sum(cut[known.blocks[j]] for j in pair) for cut in cuts]))
        solution = game.solve()
        if game.best[1] >= solution.value * (1.0 - SHOTS_ACCURACY):
            break
        weights = game.next_weights(solution)
    return 1.0 / solution.value, game.best[0]
