"""Proofs of what weights are worth against every rival, with gifts to the rivals that are hard to prove.

A gift is weight beyond what the game gives to a rival. Far rivals have small weights and long
proofs; for next to nothing they get room to spare, and where the cells run out a larger gift still
leaves a bracket, if a wider one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from bestchannel.arrays import Floats
from bestchannel.compiled import usable_cores
from bestchannel.lower_bound.alternatives import Position, alternative_at, cut_of
from bestchannel.lower_bound.certificate import Leader, Proof
from bestchannel.lower_bound.known_channels import Instance

Progress = Callable[[int, int], None]
Attempts = tuple[tuple[int, int], ...]

FIRST_LOOK: Attempts = ((1, 24),)
"""Gift and cells of a first look for missing alternatives; nearly all show by then."""

LONG_LOOK: Attempts = ((1, 400), (4, 400), (16, 700), (64, 700), (256, 700), (1024, 700), (1, 12_000))
"""Gifts and cells of the attempts at a proof, in this order, without those that could not improve on an earlier one."""

CELL_WORK, CELLS_AT_LEAST = 1_000_000, 700
"""An attempt has at most CELL_WORK/(inputs times outputs)² cells, or CELLS_AT_LEAST: some ten seconds."""

MANY_TIMES, REACH, LITTLE = 4, 0.9, 0.3
"""An attempt is made with MANY_TIMES the cells of the last one; or if the last bound, raised as the weights are, would
come within REACH of the target; or if it was so LITTLE that it says nothing."""


@dataclass(frozen=True, eq=False)
class Claim:
    """The weights are worth the target against every rival, if these are given a little more.

    `smallest_gift` is a share of all senses, `guesses` are rows of each rival near a solution.
    """

    instance: Instance
    weights: Floats
    target: float
    smallest_gift: float
    guesses: Mapping[int, Floats]

    def prove(self, attempts: Attempts, progress: Progress) -> dict[int, Proof]:
        """The proof against each rival, in parallel."""
        instance, b = self.instance, self.instance.leader
        leader = Leader(instance.W[b], self.weights[instance.blocks[b]], instance.capacities[b])
        proofs: dict[int, Proof] = {}
        with ThreadPoolExecutor(usable_cores()) as pool:
            answers = pool.map(lambda a: self._best_proof(leader, a, attempts), instance.rivals)
            for a, proof in zip(instance.rivals, answers, strict=True):
                proofs[a] = proof
                progress(len(proofs), len(instance.rivals))
        return proofs

    def _best_proof(self, leader: Leader, rival: int, attempts: Attempts) -> Proof:
        """The first attempt that meets a doubt, or else the one worth most for what it gives."""
        share = self.weights[self.instance.blocks[rival]].sum()
        most = max(CELLS_AT_LEAST, CELL_WORK // self.instance.W[rival].size ** 2)
        best, value, last, spent = Proof(0.0, False, None), 0.0, Proof(0.0, False, None), 1
        for times, cells in attempts:
            gift = times * self.smallest_gift
            raised = 1.0 + gift / share
            many = min(cells, most) >= MANY_TIMES * spent
            if self.target / (1.0 + gift) <= value or not (many or self._promises(last, raised)):
                continue
            last, spent = self._attempt(leader, rival, raised, min(cells, most)), min(cells, most)
            if last.doubt is not None:
                return last
            if last.bound / (1.0 + gift) > value:
                best, value = last, last.bound / (1.0 + gift)
        return best

    def _promises(self, last: Proof, raised: float) -> bool:
        """Whether about as many cells with weights raised so much may do: Z grows at most as they do."""
        reach = last.bound / self.target * raised / last.raised
        return reach >= REACH or last.bound < LITTLE * self.target

    def _attempt(self, leader: Leader, rival: int, raised: float, cells: int) -> Proof:
        """An attempt with the rival's weights raised by a factor; doubts that are none are ignored."""
        W, w = self.instance.W[rival], raised * self.weights[self.instance.blocks[rival]]
        proof = leader.prove(W, w, self.guesses[rival], self.target, most_cells=cells)
        if proof.doubt is not None and self._cost(rival, raised, proof.doubt) >= self.target:
            proof = leader.prove(W, w, self.guesses[rival], self.target, most_cells=cells, alarm=False)
        return replace(proof, raised=raised)

    def _cost(self, rival: int, raised: float, position: Position) -> float:
        """What the alternative at a position costs with the rival's weights raised."""
        given = self.weights.copy()
        given[self.instance.blocks[rival]] *= raised
        return float(cut_of(self.instance, alternative_at(rival, position)) @ given)
