"""The shipped checks have power: a policy or a sensor that breaks one promise fails the check of that promise."""

from functools import partial

import numpy as np
import pytest

from bestchannel import BestChanID, NaiveChanSel, Recording, Request, Simulator, testing
from bestchannel.channels import bec, bsc
from bestchannel.policies import ChannelLabels
from bestchannel.testing import POLICY_CHECKS, SENSOR_CHECKS, check_policy, check_sensor


class Restless(BestChanID):
    """Asks something else each time."""

    asked = 0

    def ask(self):
        self.asked += 1
        request = super().ask()
        return request and Request(request.number + self.asked - 1, request.senses)

    def tell(self, observation):
        super().tell(observation)
        self.asked = 0


class Nosy(NaiveChanSel):
    """Asks about channels that are no candidates any more."""

    def _script(self):
        self.candidates = self.candidates[:2]
        return (yield dict.fromkeys(range(len(self.alphabets)), (4, 4))) and self.candidates[-1]


class Trusting(BestChanID):
    """Takes any answer."""

    def tell(self, observation):
        right = {c: np.array([[n, 0] for n in senses]) for c, senses in self.ask().senses.items()}
        super().tell(type(observation)(self.ask().number, right) if observation else observation)


class Scribbling(BestChanID):
    """Writes to what it is told."""

    def tell(self, observation):
        super().tell(observation)
        for table in observation.counts.values():
            table += 1


class Lending(BestChanID):
    """Hands out the mapping that it goes by."""

    def ask(self):
        request = super().ask()
        if request is not None:
            object.__setattr__(request, "senses", self.__dict__.setdefault("lent", dict(request.senses)))
        return request


class Moody(NaiveChanSel):
    """Draws at random how often it senses."""

    rng = np.random.default_rng(1)

    def _script(self):
        yield {channel: (int(self.rng.integers(10, 99)),) * 2 for channel in self.candidates}
        self.candidates = (1,)
        return 1


class Contrary(BestChanID):
    """Names the first channel that it ruled out."""

    def _script(self):
        best = yield from super()._script()
        self.candidates = (0 if best else 1,)
        return self.candidates[0]


class Partial(NaiveChanSel):
    """Names the second channel whatever it is told, without senses for fewer than two."""

    def _script(self):
        if len(self.candidates) > 1:
            yield {channel: (9,) * self.alphabets[channel][0] for channel in self.candidates}
        self.candidates = (min(1, len(self.alphabets) - 1),)
        return self.candidates[0]


class Decisive(BestChanID):
    """Names a channel after three rounds at the latest."""

    def _script(self):
        script, counts = super()._script(), None
        for _ in range(6):
            try:
                counts = yield script.send(counts)
            except StopIteration as end:
                return end.value
        self.candidates = self.candidates[:1]
        return self.candidates[0]


class Uncounted(BestChanID):
    """Says that it was told nothing."""

    senses = 0


class Forgetful(BestChanID):
    """Says nothing of the subroutine that it was made with."""

    @property
    def options(self):
        return {}


class Lenient(BestChanID):
    """Takes any delta."""

    def __init__(self, alphabets, *, delta, subroutine="naive"):
        super().__init__(alphabets, delta=delta if type(delta) is float and 0 < delta < 1 else 0.1)


BROKEN = {
    "check_ask_repeats_until_told": partial(Restless, delta=0.1),
    "check_requests_are_for_candidates": partial(Nosy, delta=0.1, epsilon=0.05),
    "check_wrong_answers_change_nothing": partial(Trusting, delta=0.1),
    "check_told_arrays_are_left_alone": partial(Scribbling, delta=0.1),
    "check_requests_cannot_be_changed": partial(Lending, delta=0.1),
    "check_replay_reaches_the_same_request": partial(Moody, delta=0.1, epsilon=0.05),
    "check_best_channel_is_named": partial(Contrary, delta=0.1),
    "check_relabelling_relabels_the_answer": partial(Partial, delta=0.1, epsilon=0.05),
    "check_nothing_is_sensed_in_vain": partial(Partial, delta=0.1, epsilon=0.05),
    "check_equal_channels_are_not_told_apart": partial(Decisive, delta=0.1),
    "check_limit_is_never_passed": partial(Uncounted, delta=0.1),
    "check_run_goes_on_where_it_stopped": partial(Uncounted, delta=0.1),
    "check_impossible_settings_are_refused": partial(Lenient, delta=0.1),
    "check_policy_is_made_again_from_its_options": partial(Forgetful, delta=0.1, subroutine="median"),
}


def test_every_check_of_policies_has_a_policy_that_fails_it():
    assert list(BROKEN) == [check.__name__ for check in POLICY_CHECKS]


@pytest.mark.parametrize("name", BROKEN)
def test_policy_that_breaks_a_promise_fails_its_check(name):
    with pytest.raises(AssertionError, match="must"):
        getattr(testing, name)(BROKEN[name])


def test_all_checks_run_on_a_policy():
    check_policy(partial(NaiveChanSel, delta=0.1, epsilon=0.05))
    with pytest.raises(AssertionError, match=r"delta=0.0 must be refused with an InputError; it is taken"):
        check_policy(partial(Lenient, delta=0.1))


TRIALS = [(x, y) for x in (0, 1) for y in (0, 1)] * 40
GOOD = {
    "simulator": lambda: Simulator({"a": bsc(0.1), "b": bec(0.2)}, rng=1),
    "one input": lambda: Simulator([[[0.5, 0.5]]], rng=1),
    "recording": lambda: Recording({"a": TRIALS, "b": TRIALS}),
}


@pytest.mark.parametrize("check", SENSOR_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", GOOD.values(), ids=GOOD)
def test_sensor_keeps_the_contract(check, make):
    check(make)


def plain(request):
    return {channel: np.array([[n, 0] for n in senses]) for channel, senses in request.senses.items()}


def test_any_callable_is_checked_with_the_sizes_that_it_does_not_say():
    check_sensor(lambda: plain, [(2, 2), (3, 2)])
    with pytest.raises(AssertionError, match="a sensor without parties needs alphabets"):
        check_sensor(lambda: plain)


class Twice:
    """Says of two channels that they are one."""

    parties = (ChannelLabels("a", ("0", "1"), ("0", "1")),) * 2

    def __call__(self, request):
        return plain(request)


class Emptying(Simulator):
    """Empties the request."""

    def __call__(self, request):
        counts = super().__call__(request)
        object.__setattr__(request, "senses", {})
        return counts


class Elsewhere(Simulator):
    """Draws from a generator that nobody sees."""

    hidden = np.random.default_rng(5)

    def __call__(self, request):
        return {c: self.hidden.multinomial(senses, self.channels[c].W) for c, senses in request.senses.items()}


def all_of_them(request):
    return plain(Request(request.number, {0: (2, 2), 1: (2, 2)}))


@pytest.mark.parametrize(
    ("make", "alphabets", "name"),
    [
        (Twice, None, "check_channels_are_described"),
        (lambda: Simulator([bsc(0.1)], rng=1), [(2, 3)], "check_channels_are_described"),
        (lambda: all_of_them, [(2, 2)] * 2, "check_answers_are_what_was_asked"),
        (lambda: plain, [(2, 3)], "check_answers_are_what_was_asked"),
        (partial(Emptying, [bsc(0.1)], rng=1), None, "check_answers_are_what_was_asked"),
        (partial(Elsewhere, [bsc(0.4)] * 4, rng=1), None, "check_random_state_is_its_own"),
    ],
)
def test_sensor_that_breaks_a_promise_fails_its_check(make, alphabets, name):
    with pytest.raises(AssertionError, match="must"):
        getattr(testing, name)(make, alphabets)
