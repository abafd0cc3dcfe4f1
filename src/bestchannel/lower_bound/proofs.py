"""Proofs of the value of weights against every rival, with surplus weight for those that are hard to prove.

The surplus is weight beyond what the game gives to a rival. Far rivals have small weights and long
proofs; for next to nothing they get room to spare, and where the boxes run out a larger surplus still
leaves a bracket, if a wider one.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from bestchannel.arrays import Floats
from bestchannel.lower_bound.alternatives import Position, alternative_at, cut_of
from bestchannel.lower_bound.certificate import Leader, Proof
from bestchannel.lower_bound.known_channels import KnownChannels
from bestchannel.process import Progress, usable_cores

Attempts = tuple[tuple[int, int], ...]

FIRST_LOOK: Attempts = ((1, 24),)
"""Surplus and boxes of a first look for missing alternatives; nearly all show by then."""

LONG_LOOK: Attempts = ((1, 400), (4, 400), (16, 700), (64, 700), (256, 700), (1024, 700), (1, 12_000))
"""Surplus and boxes of the attempts at a proof, in this order, less those that could not improve on an earlier one."""

BOX_WORK, BOXES_AT_LEAST = 1_000_000, 700
"""An attempt has at most BOX_WORK/(inputs times outputs)² boxes, or BOXES_AT_LEAST: some ten seconds."""

MANY_TIMES, REACH, LITTLE = 4, 0.9, 0.3
"""An attempt is made with MANY_TIMES the boxes of the last one; or if the last bound, raised as the weights are, would
come within REACH of the target; or if it was so LITTLE that it says nothing."""


@dataclass(frozen=True, eq=False)
class Claim:
    """The weights have the value `target` against every rival, if these are given a little more.

    `smallest_surplus` is a share of all senses, or of what they cost; `guesses` are rows of each rival near a solution.
    """

    known: KnownChannels
    weights: Floats
    target: float
    smallest_surplus: float
    guesses: Mapping[int, Floats]

    def prove(self, attempts: Attempts, progress: Progress) -> dict[int, Proof]:
        """The proof against each rival, in parallel."""
        known, b = self.known, self.known.leader
        leader = Leader(known.W[b], self.weights[known.blocks[b]], known.capacities[b])
        proofs: dict[int, Proof] = {}
        with ThreadPoolExecutor(usable_cores()) as pool:
            answers = pool.map(lambda a: self._best_proof(leader, a, attempts), known.rivals)
            for a, proof in zip(known.rivals, answers, strict=True):
                proofs[a] = proof
                progress(len(proofs), len(known.rivals))
        return proofs

    def _best_proof(self, leader: Leader, rival: int, attempts: Attempts) -> Proof:
        """The first attempt that meets a doubt, or else the one with the largest value for what it gives."""
        share = (self.weights[self.known.blocks[rival]] * self.known.costs[rival]).sum()
        most = max(BOXES_AT_LEAST, BOX_WORK // self.known.W[rival].size ** 2)
        best, value, last, spent = Proof(0.0, False, None), 0.0, Proof(0.0, False, None), 1
        for times, boxes in attempts:
            surplus = times * self.smallest_surplus
            raised = 1.0 + surplus / share
            many = min(boxes, most) >= MANY_TIMES * spent
            if self.target / (1.0 + surplus) <= value or not (many or self._promises(last, raised)):
                continue
            last, spent = self._attempt(leader, rival, raised, min(boxes, most)), min(boxes, most)
            if last.doubt is not None:
                return last
            if last.bound / (1.0 + surplus) > value:
                best, value = last, last.bound / (1.0 + surplus)
        return best

    def _promises(self, last: Proof, raised: float) -> bool:
        """Whether about as many boxes with weights raised so much may do: Z grows at most as they do."""
        reach = last.bound / self.target * raised / last.raised
        return reach >= REACH or last.bound < LITTLE * self.target

    def _attempt(self, leader: Leader, rival: int, raised: float, boxes: int) -> Proof:
        """An attempt with the rival's weights raised by a factor; doubts that are none are ignored."""
        W, w = self.known.W[rival], raised * self.weights[self.known.blocks[rival]]
        proof = leader.prove(W, w, self.guesses[rival], self.target, most_boxes=boxes)
        if proof.doubt is not None and self._cost(rival, raised, proof.doubt) >= self.target:
            proof = leader.prove(W, w, self.guesses[rival], self.target, most_boxes=boxes, alarm=False)
        return replace(proof, raised=raised)

    def _cost(self, rival: int, raised: float, position: Position) -> float:
        """What the alternative at a position costs with the rival's weights raised."""
        given = self.weights.copy()
        given[self.known.blocks[rival]] *= raised
        return float(cut_of(self.known, alternative_at(rival, position)) @ given)
