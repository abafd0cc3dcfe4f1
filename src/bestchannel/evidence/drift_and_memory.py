"""E-values against "one and the same memoryless channel throughout", from the order of its senses.

Given the inputs, and how often each gave each output, such a channel makes all orders of the outputs of an input
equally likely: they come out of an urn that is known from the beginning. So each sense has known chances, and a bet on
it at fair odds multiplies its stake by 1 on average, whatever the channel is. Bets are on what drift and memory would
change. `bestchannel explain checks` has the theorem. Evidence is the logarithm of an e-value, in nats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers

SCALES = (0.5, 1.0, 2.0, 4.0)  # tilts of a bet, in units of the standard deviation of what it is about
PERIODIC_SCALES = (2.0, 4.0, 8.0)  # amplitudes of a periodic tilt, in the same: of many frequencies one must win much
LARGEST_TILT = 2.0  # the most by which a bet changes the logarithm of the odds
MOST_LETTERS = 16  # outputs and contexts that are told apart; rarer ones are taken together
LEVELS = 3  # halves, quarters and eighths of the senses of an input are compared
MOST_CELLS = 2**22  # of a table of inputs and outputs, or of inputs, contexts and letters
LAGS = (1, 2, 3, 4)  # how many senses before a sense are looked at; half of the stake is on the first
FEWEST_PERIODS = 4  # what comes again less often within the senses is drift
MOST_SIGNALS = 4  # inputs, the most frequent ones, of which each is searched for a period on its own
RUN = 2**12  # consecutive senses that are kept together where there are too many to look at all


def shared_errors(sent: NDArray[Any], one: NDArray[Any], other: NDArray[Any]) -> float:
    """Nats against the answers of two channels to the same inputs being independent: whether both are unusual at once.

    A quarter of the senses says which output of an input is the usual one. Of the others, the mixture of all joint laws
    of being unusual [KT81] is divided by the largest likelihood of independent ones.
    """
    from scipy.special import gammaln, xlogy  # deferred: as `logsumexp`

    learned, unusual = len(sent) // 4, np.zeros((len(sent), 2), np.int64)
    for x in np.unique(sent):
        here = sent == x
        for side, got in enumerate((one, other)):
            if (seen := got[:learned][here[:learned]]).size:
                unusual[here, side] = got[here] != np.bincount(seen).argmax()
    nats = 0.0
    for x in np.unique(sent[learned:]):
        a, b = unusual[learned:][sent[learned:] == x].T
        table = np.bincount(2 * a + b, minlength=4).reshape(2, 2)
        n, sides = table.sum(), np.concatenate([table.sum(axis=0), table.sum(axis=1)])
        nats += float((gammaln(table + 0.5) - gammaln(0.5)).sum() - gammaln(n + 2.0) - xlogy(sides, sides / n).sum())
    return nats


def drift_and_memory(
    sent: NDArray[Any], received: NDArray[Any], alphabet: tuple[int, int], *, most_senses: int = 2**20
) -> OrderEvidence:
    """Evidence of drift, of memory and of a period: in sense t of a channel, input sent[t] gave output received[t].

    Each is the logarithm of a mean of e-values, one per bet. Of more than `most_senses`, runs of RUN senses are
    looked at, spread evenly; which they are depends on nothing but how many senses there are. Alphabets too large
    for a table of the chances give no evidence.
    """
    if alphabet[0] * max(alphabet[1], MOST_LETTERS**2) > MOST_CELLS:
        return OrderEvidence(0.0, 0.0, 0.0, None)
    kept: slice | Integers = slice(None)
    if len(sent) > most_senses:
        starts = np.linspace(0, len(sent) - RUN, max(most_senses // RUN, 1)).astype(np.int64)
        kept = np.unique((starts[:, None] + np.arange(RUN)).ravel())
    senses = _Senses(sent[kept].astype(np.int64), received[kept].astype(np.int64), alphabet)
    drift = _log_mean([_evidence(senses.questions, bet) for bet in _drift(senses)])
    lags = [_log_mean([_evidence(senses.questions, bet) for bet in _memory(senses, lag)]) for lag in LAGS]
    memory = np.logaddexp(lags[0], _log_mean(lags[1:])) - np.log(2.0)
    return OrderEvidence(float(drift), float(memory), *_period(senses))


class OrderEvidence(NamedTuple):
    """Evidence against one and the same memoryless channel, in nats, and the period, in senses, with most of it."""

    drift: float
    memory: float
    periodic: float
    period: float | None


class _Questions(NamedTuple):
    """Questions with a yes or no each: is the output of sense `sense` the letter `letter`, if it is none before it?"""

    sense: Integers
    letter: Integers
    yes: NDArray[np.bool_]
    chance: Floats  # of a yes, given what is left in the urn


class _Wager(NamedTuple):
    """Question i is tilted with those of the same cells[i] (-1: not at all), in which yes varies by variance[cell].

    The variance, which chooses the tilt, depends on nothing but the inputs and the counts.
    """

    cells: Integers
    variance: Floats


@dataclass(frozen=True, eq=False)
class _Senses:
    """The senses of a channel in their order."""

    x: Integers
    y: Integers
    alphabet: tuple[int, int]

    @cached_property
    def totals(self) -> Integers:
        """How many senses each input has."""
        return np.bincount(self.x, minlength=self.alphabet[0])

    @cached_property
    def letters(self) -> Integers:
        """letters[x, y]: the rank of output y among those of input x, the most frequent being 0."""
        n_inputs, n_outputs = self.alphabet
        return _ranks(np.bincount(self.x * n_outputs + self.y, minlength=n_inputs * n_outputs).reshape(self.alphabet))

    @cached_property
    def letter(self) -> Integers:
        """The letter of every sense."""
        return np.asarray(self.letters[self.x, self.y])

    @cached_property
    def counts(self) -> Integers:
        """counts[x, letter]."""
        n_letters = min(self.alphabet[1], MOST_LETTERS)
        flat = np.bincount(self.x * n_letters + self.letter, minlength=self.alphabet[0] * n_letters)
        return flat.reshape(self.alphabet[0], n_letters)

    @cached_property
    def variance(self) -> Floats:
        """variance[x, letter] of the answer to a question about one sense of x, 0 if it is not asked."""
        not_before = self.counts[:, ::-1].cumsum(axis=1)[:, ::-1]
        yes = self.counts / np.maximum(not_before, 1)
        return np.asarray(not_before / np.maximum(self.totals, 1)[:, None] * yes * (1.0 - yes))

    @cached_property
    def by_input(self) -> Integers:
        """The senses of input 0 in their order, then those of input 1, …"""
        return np.argsort(self.x, kind="stable")

    @cached_property
    def rank(self) -> Integers:
        """How many senses of the same input came before."""
        rank = np.empty(len(self.x), np.int64)
        rank[self.by_input] = np.arange(len(self.x)) - np.repeat(np.cumsum(self.totals) - self.totals, self.totals)
        return rank

    @cached_property
    def questions(self) -> _Questions:
        """All questions of which the answer is not certain."""
        parts = list(self._questions_by_letter())
        return _Questions(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _questions_by_letter(self) -> Iterator[tuple[Integers, Integers, NDArray[np.bool_], Floats]]:
        order, x = self.by_input, self.x[self.by_input]
        letter = self.letter[order]
        first = (np.cumsum(self.totals) - self.totals)[x]
        left = self.totals[x] - self.rank[order]  # in the urn, of this letter and those after it
        for k in range(self.counts.shape[1]):
            before = np.concatenate([[0], np.cumsum(letter == k)])
            of_letter = self.counts[x, k] - (before[:-1] - before[first])
            asked = np.flatnonzero((letter >= k) & (of_letter > 0) & (of_letter < left))
            yield order[asked], np.full(len(asked), k), letter[asked] == k, of_letter[asked] / left[asked]
            left = left - of_letter


def _ranks(counts: Integers) -> Integers:
    """The rank of each entry of the last axis, the largest being 0; those after MOST_LETTERS share the last."""
    order = np.argsort(-counts, axis=-1, kind="stable")
    return np.minimum(np.argsort(order, axis=-1, kind="stable"), MOST_LETTERS - 1)


def _drift(senses: _Senses) -> Iterator[_Wager]:
    """The first half of the senses of an input against the second, and the same within halves and quarters."""
    n_inputs = senses.alphabet[0]
    for level in range(LEVELS):
        block = senses.rank * 2 ** (level + 1) // senses.totals[senses.x]
        earlier = np.where(block % 2 == 0, block // 2, -1)
        size = np.bincount(senses.x * 2**level + block // 2, earlier >= 0, minlength=n_inputs * 2**level)
        half = size.reshape(n_inputs, -1) / 2.0  # of what is drawn from an urn of twice the size
        yield _own(senses, earlier, half)
        yield _shared(senses, earlier, half)


def _memory(senses: _Senses, lag: int) -> Iterator[_Wager]:
    """What was sent `lag` senses before, what came then, whether that was usual, and whether it comes again."""
    n_inputs, n_outputs = senses.alphabet
    sent = _before(_ranks(senses.totals)[senses.x], lag)
    n_contexts = min(n_inputs, MOST_LETTERS)
    size = np.bincount((senses.x * n_contexts + sent)[lag:], minlength=n_inputs * n_contexts)
    yield _own(senses, sent, size.reshape(n_inputs, n_contexts))
    of_output = np.bincount(senses.y, minlength=n_outputs)
    kind = _ranks(of_output)
    share = np.bincount(kind, of_output) / len(senses.x)
    yield _own(senses, _before(kind[senses.y], lag), senses.totals[:, None] * share)
    usual = np.bincount(senses.letter == 0, minlength=2) / len(senses.x)
    yield _shared(senses, _before(senses.letter == 0, lag), senses.totals[:, None] * usual)
    yield _repeated(senses, lag, of_output / len(senses.x))


def _before(values: NDArray[Any], lag: int) -> Integers:
    """The value `lag` senses before each sense; -1, on which nothing is bet, where there is none."""
    return np.concatenate([np.full(min(lag, len(values)), -1), values[:-lag]]).astype(np.int64)


def _own(senses: _Senses, context: Integers, size: Floats | Integers) -> _Wager:
    """Every input and letter on its own in every context; about size[x, context] senses of an input are in one."""
    questions, (_, n_letters) = senses.questions, senses.counts.shape
    here = context[questions.sense]
    cells = (senses.x[questions.sense] * size.shape[1] + here) * n_letters + questions.letter
    variance = size[:, :, None] * senses.variance[:, None, :]
    return _Wager(np.where(here >= 0, cells, -1), variance.ravel())


def _shared(senses: _Senses, context: Integers, size: Floats | Integers) -> _Wager:
    """Whether the usual output of an input comes, all inputs together."""
    questions = senses.questions
    cells = np.where(questions.letter == 0, context[questions.sense], -1)
    return _Wager(cells, np.asarray((size * senses.variance[:, :1]).sum(axis=0)))


def _repeated(senses: _Senses, lag: int, share: Floats) -> _Wager:
    """Whether the output of `lag` senses before comes again."""
    questions, earlier = senses.questions, _before(senses.y, lag)
    letter = np.where(earlier >= 0, senses.letters[senses.x, earlier], -1)
    again = letter[questions.sense] == questions.letter
    variance = senses.totals[:, None] * np.take_along_axis(senses.variance, senses.letters, axis=1) * share
    return _Wager(np.where(again, 0, -1), np.array([variance.sum()]))


def _period(senses: _Senses) -> tuple[float, float | None]:
    """Evidence that the usual output comes more and less often in turn, and with which period, in senses.

    Question t is tilted by a cos(2π f t + φ), for all f = k/n from k = 4 on, all φ alike and a few a. For each f and a,
    what is won on average over φ is at least I0(a |S(f)|) exp(-(e^a - 1 - a) (V + |V(2f)|) / 2), where S and V are the
    Fourier transforms of yes - chance and of chance (1 - chance).
    """
    n, questions = len(senses.x), senses.questions
    about = questions.letter == 0
    sense, chance = questions.sense[about], questions.chance[about]
    surprise, variance = np.zeros(n), np.zeros(n)
    surprise[sense], variance[sense] = questions.yes[about] - chance, chance * (1.0 - chance)
    expected = senses.totals * senses.variance[:, 0]
    often = np.argsort(-senses.totals, kind="stable")[:MOST_SIGNALS].tolist() if len(senses.totals) > 1 else []
    signals = [(np.ones(n, np.bool_), expected.sum()), *((senses.x == x, expected[x]) for x in often)]
    found = np.array([_of_frequencies(surprise * own, variance * own, size) for own, size in signals if size > 0.0])
    if not found.size:
        return 0.0, None
    return float(_log_mean(found.ravel())), n / float(FEWEST_PERIODS + found.max(axis=0).argmax())


def _of_frequencies(surprise: Floats, variance: Floats, expected: float) -> Floats:
    """What is won with each frequency 4/n, 5/n, … up to one half, the logarithm of a mean over amplitudes.

    `expected` is about the sum of the variances, and depends on nothing but the inputs and the counts.
    """
    from scipy.special import i0e  # deferred: as `logsumexp`

    n, total = len(surprise), float(variance.sum())
    k = np.arange(FEWEST_PERIODS, n // 2 + 1)
    size, double = np.abs(np.fft.rfft(surprise))[k], np.abs(np.fft.fft(variance))[2 * k % n]
    amplitudes = np.minimum(np.array(PERIODIC_SCALES) / np.sqrt(expected / 2.0), LARGEST_TILT)
    won = [np.log(i0e(a * size)) + a * size - (np.expm1(a) - a) * (total + double) / 2.0 for a in amplitudes.tolist()]
    return np.asarray(_log_mean(won))


def _evidence(questions: _Questions, bet: _Wager) -> float:
    """What a bet has won: with all cells tilted alike, or with few of many, at even odds."""
    inside, possible = bet.cells >= 0, _possible(bet)
    if not inside.any() or not possible.any():
        return 0.0
    cells, yes, chance = bet.cells[inside], questions.yes[inside], questions.chance[inside]
    won = _won(cells, yes, chance, bet.variance)[:, possible]
    rate = 1.0 / won.shape[1]
    few = np.logaddexp(np.log1p(-rate) if rate < 1.0 else -np.inf, np.log(rate) + _log_mean(won)).sum()
    return float(_log_mean([_log_mean(won.sum(axis=1)), few]))


def _possible(bet: _Wager) -> NDArray[np.bool_]:
    """The cells that may be met; not those that were, which depends on outputs."""
    return bet.variance > 0.0


def _won(cells: Integers, yes: NDArray[np.bool_], chance: Floats, variance: Floats) -> Floats:
    """Per scale and cell, the logarithm of the mean over both signs of Π e^{±θ yes} / (1 + chance (e^{±θ} - 1))."""
    scales = np.array(SCALES)[:, None] / np.sqrt(np.maximum(variance, 1e-9))
    tilt = np.minimum(scales, LARGEST_TILT)[:, cells]
    places = (np.arange(len(SCALES))[:, None] * len(variance) + cells).ravel()
    sides = [
        np.bincount(places, (yes * theta - np.log1p(chance * np.expm1(theta))).ravel(), minlength=scales.size)
        for theta in (tilt, -tilt)
    ]
    return np.asarray(_log_mean(sides)).reshape(scales.shape)


def _log_mean(logarithms: Sequence[Any] | Floats) -> Any:
    """The logarithm of the mean over the first axis of what these are the logarithms of."""
    values = np.asarray(logarithms)
    from scipy.special import logsumexp  # deferred: slow to import, and only trials in their order need it

    return logsumexp(values, axis=0) - np.log(len(values))
