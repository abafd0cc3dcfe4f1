"""Forged records and honest ones, in numbers: python -m tests.verification.forged_records --forged 1000 --honest 2000.

With --questions, those of questions other than for the best.

A forger has honest answers and is free in everything that he writes around them afterwards. Printed for every kind of
forgery: how many were made, how many have evidence in which the independent code finds no fault, and how many `verify`
accepts, which must be none; and of honest records how many it refuses, which must be none either.
"""

import argparse
import copy
import functools
import itertools
import json
import sys
from collections import Counter

import numpy as np

from bestchannel import (
    Above,
    Adaptive,
    BestChanID,
    InputError,
    MedianChanEl,
    NaiveChanSel,
    Order,
    Request,
    Simulator,
    Top,
    Within,
    identify,
)
from bestchannel.arrays import ChannelLabels
from bestchannel.channels import bsc, random_channel
from bestchannel.evidence.bets import leader_bets
from bestchannel.policies import Observation, Supply
from bestchannel.policies.adaptive.bets import Bets, RivalStake
from bestchannel.policies.adaptive.sampling import RULES
from bestchannel.policies.policy import outcome
from bestchannel.policies.transcript import as_document
from bestchannel.verification import verify
from tests.verification.records import bets_of, falls

MOST_SENSES = 20_000


def written(result):
    """The JSON of a result, through text and back."""
    return json.loads(json.dumps(as_document(result)))


# --- honest records ---------------------------------------------------------------------------


def channels_of(rng, sizes=(2, 2, 2, 3)):
    size = int(rng.choice(sizes))
    noise = np.sort(rng.uniform(0.0, 0.4, size=rng.integers(2, 5)))
    return [bsc(p) if size == 2 else random_channel(size, size, rng=rng) for p in rng.permutation(noise)]


def options_of(rng, n_inputs):
    """A policy and its options, drawn among all that there are."""
    kind = rng.choice([Adaptive] * 7 + [BestChanID, NaiveChanSel, MedianChanEl])
    options = {"delta": float(rng.choice([0.5, 0.3, 0.1, 0.05, 0.01, 1e-4]))}
    if rng.random() < 0.2:
        options["input_distribution"] = rng.dirichlet(np.full(n_inputs, 5.0)).tolist()
    if kind is Adaptive:
        options["sampling"] = str(rng.choice(list(RULES) + ["fewest"] * 5))
        options["epsilon"] = float(rng.choice([0.0, 0.0, 0.02, 0.1]))
    elif kind is BestChanID:
        options["subroutine"] = str(rng.choice(["naive", "median"]))
    else:
        options["epsilon"] = float(rng.choice([0.05, 0.2]))
    return kind, options


def whims(rng, policy):
    """Limits that somebody sets, changes and takes back before an answer: of all senses, or of those of each input."""
    for _ in range(rng.choice([0, 1, 2, 3, 4])):
        more = int(rng.choice([0, 1, 40, 200, 1000, 10**6]))
        each = None
        if rng.random() < 0.4:
            each = tuple(tuple(map(int, rng.choice([0, 10, 100, 1000], size=n))) for n, _ in policy.alphabets)
        yield Supply(None if rng.random() < 0.3 else policy.senses + more, each)


def with_whims(rng):
    """A record of a policy whose limits were changed all the time, also after its last answer."""
    channels = channels_of(rng)
    kind, options = options_of(rng, channels[0].n_inputs)
    sensor = Simulator(channels, rng=rng)
    policy = kind(sensor.alphabets, **options)
    for _ in range(rng.integers(1, 12)):
        limits = list(whims(rng, policy))
        if rng.random() < 0.3:
            limits.append(policy.limits[-1][1] if policy.limits else Supply())
        for supply in limits:
            policy.limit(supply)
        if (request := policy.ask()) is None:
            policy.limit(Supply())
            if (request := policy.ask()) is None:
                break
        policy.tell(Observation(request.number, sensor(request)))
    for supply in whims(rng, policy):
        policy.limit(supply)
    parties = [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    return written(outcome(policy, parties, inferred_outputs=False))


def honest(rng):
    """A record of a policy that did what it says, to the end or to a limit."""
    channels = channels_of(rng)
    kind, options = options_of(rng, channels[0].n_inputs)
    sensor = Simulator(channels, rng=rng)
    limit = int(rng.choice([0, 300, MOST_SENSES])) if kind is Adaptive else None
    return written(identify(sensor, kind(sensor.alphabets, **options), max_senses=limit))


# --- policies that pretend to be Adaptive -----------------------------------------------------


class Pretending(Adaptive):
    """Says that it is Adaptive itself."""

    @classmethod
    def reference(cls):
        return Adaptive.name


class WrongLeader(Pretending):
    """Keeps to the channel that it was told to favour, whatever the answers."""

    favourite = 0

    def _most_valuable(self, channels, view):
        return self.favourite if self.favourite in channels else super()._most_valuable(channels, view)


SIZES = np.geomspace(0.001, 1.0, 40)


class Hindsight(WrongLeader):
    """Looks at the answer first, and then stakes the one of 40 sizes that gains the most by it."""

    sensor = None

    def _bets(self, state, view, senses):
        for rival in state.rivals:
            if not state.bets[rival].betting:
                state.bets[rival].since = self._answered + 1
        answer = copy.deepcopy(self.sensor)(Request(1, senses))
        stakes = [self._of_size(size, state, view, senses) for size in (*SIZES, 0.0)]
        return max(stakes, key=lambda bets: self._gain(bets, view, answer))

    def _of_size(self, size, state, view, senses):
        b, rivals = state.leader, state.rivals if size else []
        weights = np.full(len(rivals), size * sum(senses[b]))
        return Bets(
            leader=b,
            inputs=view.of(b).inputs,
            on_leader=leader_bets(view.of(b).rows, view.of(b).inputs, np.array(senses[b], dtype=float), weights),
            on_rivals={r: self._stake(weights[i], view, senses[r], r) for i, r in enumerate(rivals)},
            since={rival: state.bets[rival].since for rival in rivals},
            restarts={rival: state.bets[rival].restarts for rival in rivals},
        )

    def _stake(self, weight, view, senses, rival):
        tilts = np.minimum(weight / np.maximum(senses, 1.0), 0.5)
        return RivalStake(float(weight), tilts, view.of(rival).inputs @ view.of(rival).rows)

    def _gain(self, bets, view, answer):
        """What the bets bring if the rival's rows are as they look."""
        paid = bets.on_leader.settled(answer[bets.leader].astype(float))
        return float(sum(paid)) + sum(self._own(bets.on_rivals[r], view, answer[r], r) for r in bets.on_rivals)

    def _own(self, stake, view, counts, rival):
        t = (view.of(rival).inputs * stake.tilts)[:, None]
        W, Q = view.of(rival).rows, stake.outputs
        z = (W ** (1.0 - t) * Q**t).sum(axis=1)
        lost = (counts * t * np.log(W / Q)).sum() + (counts.sum(axis=1) * np.log(z)).sum()
        return float(-lost - stake.weight * view.values[rival])

    def _gaps(self, state, view):
        gaps, errors = super()._gaps(state, view)
        return [abs(gap) + 2.0 * error for gap, error in zip(gaps, errors, strict=True)], errors

    def _senses(self, state, view, needed, left):
        return dict.fromkeys(needed, (20, 20))  # small requests, each to be polished


def pretended(kind, rng, delta=0.3):
    """A record of such a policy in favour of a channel that is not the best, and not what Adaptive would have done."""
    while True:
        sensor = Simulator([bsc(0.1), bsc(float(rng.uniform(0.1, 0.11)))], rng=rng)
        policy, untouched = kind(sensor.alphabets, delta=delta), copy.deepcopy(sensor)
        policy.favourite, policy.sensor = 1, sensor
        result = written(identify(sensor, policy, max_senses=MOST_SENSES))
        if result != written(identify(untouched, Adaptive(sensor.alphabets, delta=delta), max_senses=MOST_SENSES)):
            return result


def hindsight_sizes(rng):
    """A channel that is not the best is named, by bets whose sizes were picked after their answers."""
    return pretended(Hindsight, rng, float(rng.choice([0.3, 1e-3])))


def another_leader(rng):
    """The bets are on a channel that does not look best."""
    return pretended(WrongLeader, rng)


def another_rule(rng):
    """Of all sampling rules the luckiest on these answers, passed off as the usual one."""
    channels, seed = [bsc(0.1), bsc(0.2), bsc(0.15)], int(rng.integers(2**32))
    tried = []
    for rule in (rule for rule in RULES if rule != "fewest"):
        sensor = Simulator(channels, rng=seed)
        tried.append(identify(sensor, Adaptive(sensor.alphabets, delta=0.05, sampling=rule)))
    result = written(min(tried, key=lambda result: result.senses))
    result["audit"]["options"]["sampling"] = "fewest"
    return result


# --- honest records that were worked on afterwards ---------------------------------------------


def run_to_its_end(rng):
    """An honest record of Adaptive, decided, with bets."""
    while True:
        sensor = Simulator(channels_of(rng), rng=rng)
        result = written(identify(sensor, Adaptive(sensor.alphabets, delta=0.1), max_senses=MOST_SENSES))
        if result["decided"] and any(map(bets_of, result["audit"]["steps"])):
            return result


def steps_with_bets(result):
    return [step for step in result["audit"]["steps"] if bets_of(step)]


def one_of(rng, choices):
    return choices[rng.integers(len(choices))]


def dropped_bets(rng):
    """Some bets were never made, it says."""
    result = run_to_its_end(rng)
    step = one_of(rng, steps_with_bets(result))
    del bets_of(step)[one_of(rng, list(bets_of(step)))]
    return result


def forgotten_request(rng):
    """One request was never made, it says, and everything is numbered and added up anew."""
    result = run_to_its_end(rng)
    steps = result["audit"]["steps"]
    del steps[rng.integers(len(steps) - 1)]
    senses = itertools.accumulate(sum(map(sum, step["senses"].values())) for step in steps)
    for number, (step, total) in enumerate(zip(steps, senses, strict=True), start=1):
        step["request"], step["status"]["senses"], step["status"]["rounds"] = number, total, number
    result["senses"], result["rounds"] = steps[-1]["status"]["senses"], len(steps)
    return result


def swapped_answers(rng):
    """Two outputs of one input changed places in one answer, before the last one."""
    result = run_to_its_end(rng)
    rows = [row for step in result["audit"]["steps"][:-1] for table in step["counts"].values() for row in table]
    row = one_of(rng, [row for row in rows if row[0] != row[1]])
    row[0], row[1] = row[1], row[0]
    return result


def swapped_channels(rng):
    """Two channels changed places in one answer."""
    result = run_to_its_end(rng)
    first = result["audit"]["steps"][0]["counts"]  # every channel has as many senses there
    pairs = [(a, b) for a, b in itertools.combinations(first, 2) if first[a] != first[b]]
    if not pairs:
        return swapped_channels(rng)
    a, b = one_of(rng, pairs)
    first[a], first[b] = first[b], first[a]
    return result


def later_fall(rng):
    """A rival stayed a request longer than it did."""
    result = run_to_its_end(rng)
    step, rival = one_of(rng, list(falls(result))[:1])
    step["status"]["candidates"].append(rival)
    return result


def leaves_of(value, path=()):
    """The paths to all numbers, texts and truth values of a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, dict | list):
        yield path
    for key, child in children:
        yield from leaves_of(child, (*path, key))


def changed(value, rng):
    """Another value of the same kind."""
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1]))
    return value * (1.0 + 1e-3) + 1e-3 if isinstance(value, float) else f"{value}x"


WHO_WROTE_IT = ("audit", "version"), ("audit", "revision")
"""Decides nothing where the policy of today makes the same choices."""


def one_entry(rng, make=honest, spared=WHO_WROTE_IT):
    """One number or text, anywhere but at the places that are spared, is another one."""
    result = make(rng)
    leaves = [path for path in leaves_of(result) if not any(path[: len(place)] == place for place in spared)]
    *path, last = one_of(rng, leaves)
    place = functools.reduce(lambda inside, key: inside[key], path, result)
    place[last] = changed(place[last], rng)
    return result


def one_entry_with_whims(rng):
    """The same in a record whose limits were changed all the time."""
    return one_entry(rng, with_whims)


# --- other questions ------------------------------------------------------------------------------


def asked(rng, channels):
    """A question that may be asked of the channels."""
    level, k = float(rng.uniform(0.1, 0.9)), len(channels)
    m, epsilon = int(rng.integers(1, k + 1)), float(rng.choice([0.0, 0.05, 0.1]))
    questions = [
        Above(level, float(rng.choice([0.0, 0.05]))), Top(m, epsilon), Order(epsilon), Within(float(rng.choice([0.1, 0.3]))),
    ]  # fmt: skip
    return questions[rng.integers(len(questions))]


def honest_question(rng, most=None):
    """A record of Adaptive that was asked something else than for the best."""
    channels = channels_of(rng)
    options = {"delta": float(rng.choice([0.3, 0.1, 0.05, 0.01])), "question": asked(rng, channels)}
    if rng.random() < 0.2:
        options["input_distribution"] = rng.dirichlet(np.full(channels[0].n_inputs, 5.0)).tolist()
    if rng.random() < 0.2:
        options["cost"] = rng.uniform(1.0, 4.0, size=len(channels)).tolist()
    sensor = Simulator(channels, rng=rng)
    limit = int(rng.choice([0, 300, 3000])) if most is None else most
    return written(identify(sensor, Adaptive(sensor.alphabets, **options), max_senses=limit))


def answered_question(rng):
    """One that says something and has bets."""
    while True:
        result = honest_question(rng, 3000)
        wagers = [step for step in result["audit"]["steps"] if (step["stakes"] or {}).get("wagers")]
        if wagers and any(result.get(key) for key in ("answers", "top", "order", "pairs", "brackets", "nearly")):
            return result


def claimed_more(rng):
    """It says what its bets do not show: another side, another set, another order, nearer ends, nearer channels."""
    result = answered_question(rng)
    names = [channel["name"] for channel in result["audit"]["channels"]]
    if "answers" in result:
        name = one_of(rng, names)
        result["answers"][name] = "below" if result["answers"][name] == "above" else "above"
        result["decided"] = all(result["answers"].values())
    elif "brackets" in result:
        ends = result["brackets"][one_of(rng, names)]
        middle, half = (ends["lower"] + ends["upper"]) / 2, 0.35 * (ends["upper"] - ends["lower"])
        ends |= {"lower": middle - half, "upper": middle + half}
    elif result.get("nearly"):
        result["within_bits"] = max(0.5 * result["within_bits"], result["epsilon"])
    elif "top" in result:
        result["top"], result["out"] = result["out"], result["top"]
    else:
        result["pairs"] = [pair[::-1] for pair in result["pairs"]]
        result["order"] = result.get("order", names)[::-1]
    return result


def enlarged_wagers(rng):
    """The bets were larger, it says, once their answers are known."""
    result = answered_question(rng)
    for step in result["audit"]["steps"]:
        for wager in (step["stakes"] or {}).get("wagers", {}).values():
            wager["weight"] *= 1.2
    return result


def dropped_wagers(rng):
    """Some bet was never made, it says."""
    result = answered_question(rng)
    steps = [step for step in result["audit"]["steps"] if (step["stakes"] or {}).get("wagers")]
    wagers = one_of(rng, steps)["stakes"]["wagers"]
    del wagers[one_of(rng, list(wagers))]
    return result


def one_entry_of_a_question(rng):
    """One number or text is another one, where something was sensed: before, any options make an honest record."""

    def sensed(rng):
        while not (result := honest_question(rng))["audit"]["steps"]:
            pass
        return result

    return one_entry(rng, sensed)


QUESTION_FORGERIES = [claimed_more, enlarged_wagers, dropped_wagers, one_entry_of_a_question]

FORGERIES = [
    hindsight_sizes, another_leader, another_rule, dropped_bets, forgotten_request, swapped_answers, swapped_channels,
    later_fall, one_entry,
]  # fmt: skip


# --- the count ----------------------------------------------------------------------------------


def judged(document):
    """Whether the independent code finds the evidence in a record, and whether the record is accepted."""
    try:
        verdict = verify(document)
    except InputError:  # not even a record
        return False, False
    return len(verdict.checks) > 1, verdict.valid


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--forged", type=int, default=1000)
    parser.add_argument("--honest", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whims", action="store_true", help="honest records with limits that change all the time")
    parser.add_argument("--questions", action="store_true", help="records of questions other than for the best")
    given = parser.parse_args()
    given.make = with_whims if given.whims else honest_question if given.questions else honest
    kinds = [one_entry_with_whims] if given.whims else QUESTION_FORGERIES if given.questions else FORGERIES
    seeds = np.random.SeedSequence(given.seed).spawn(2)
    made, good, accepted = Counter(), Counter(), Counter()
    for number, seed in enumerate(seeds[0].spawn(given.forged)):
        forge = kinds[number % len(kinds)]
        found, valid = judged(forge(np.random.default_rng(seed)))
        made[forge], good[forge], accepted[forge] = made[forge] + 1, good[forge] + found, accepted[forge] + valid
    print(f"{'forgery':20}{'made':>8}{'evidence found':>18}{'accepted':>12}")
    for forge in kinds:
        print(f"{forge.__name__:20}{made[forge]:8}{good[forge]:18}{accepted[forge]:12}")
    refused = decided = 0
    for seed in seeds[1].spawn(given.honest):
        result = given.make(np.random.default_rng(seed))
        verdict = verify(result)
        decided += result["decided"]
        refused += not verdict.valid
        if not verdict.valid:
            print(verdict.failure)
    print(f"honest records: {given.honest}, of which {decided} decided; refused: {refused}")
    sys.exit(bool(refused or sum(accepted.values())))


if __name__ == "__main__":
    main()
