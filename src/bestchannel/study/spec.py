"""What a study is to run: policies, sets of channels, error probabilities, and how often.

    name = "tie"                # what the tables call it; by default the name of the file
    seed = 1
    runs = 1000                 # of every policy on every set or family, at every delta
    deltas = [0.1, 0.01]
    max_senses = 100000         # a run that would pass it ends undecided; left out: no limit
    lower_bound = 0.01          # set the senses beside T* kl(δ, 1-δ), with T* within 1 %; left out: do not
    question = { kind = "top", m = 2 }  # what the policies are asked; left out: which channel is the best

    [[policies]]
    policy = "adaptive"         # or "package.module:Class"; also: name, and the options of the policy

    [[instances]]
    channels = "links.json"     # a file of channels, beside this one; also: name, runs, max_senses, lower_bound,
                                # and policies = the names of those that sense it, by default all

    [[instances]]
    family = "near-tie"         # see `FAMILIES`; also its own numbers, and sets = how many sets are drawn
    gap = 0.001

Gaps and accuracies are in bits; `gap_nats` may stand for `gap`. Each family is a function of a generator and its own
numbers; its gap is between the best channel and the second best. In the hostile families the best channel comes last:
where estimates are equal, policies favour the first.
"""

from __future__ import annotations

import inspect
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, number_in, whole_number
from bestchannel.capacity import capacities, capacity
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, z_channel
from bestchannel.counts import read_channels
from bestchannel.disk import decoded, errors_naming, read_bytes
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT, binary_entropy
from bestchannel.lower_bound.characteristic_time import LEAST_RTOL
from bestchannel.policies import Policy, make_policy
from bestchannel.policies.catalogue import policy_class
from bestchannel.sensing.simulator import CAPACITY_TOLERANCE, GAP_TOLERANCE, Instance, random_binary_channels

POOL, DRAWS = 4096, 20_000  # random channels, and sets of k drawn from them in search of the requested gap
NOISES = (0.4, 0.3, 0.2, 0.12, 0.05)  # how often the letters of the channels with low noise go astray


def random_binary(rng: np.random.Generator, *, k: int, gap: float) -> Instance:
    """k random binary channels, the best one `gap` ahead of the second within 2 % [EBWGW24, Sec. IV]."""
    return random_binary_channels(rng, k, gap * NATS_PER_BIT)


def random_set(
    rng: np.random.Generator,
    *,
    k: int,
    n_inputs: int = 2,
    n_outputs: int = 2,
    gap: float | None = None,
    concentration: float = 1.0,
) -> Instance:
    """k independent channels whose rows have a symmetric Dirichlet law (1: uniform), given their gap within 2 %.

    Without `gap` as they come. Channels with many letters are nearly equally good; a
    `concentration` below 1 spreads them.
    """
    W = rng.dirichlet(np.full(n_outputs, concentration), size=(POOL, n_inputs))
    sets = rng.integers(POOL, size=(DRAWS, k))
    if gap is None:
        return Instance.of([Channel.from_rows(rows, normalize=True) for rows in W[sets[0]]])
    answer = capacities(W, normalize=True, workers=1)
    second, first = np.moveaxis(np.partition(answer.lower[sets], k - 2, axis=1)[:, -2:], 1, 0)
    fitting = np.flatnonzero(np.abs(first - second - gap) <= GAP_TOLERANCE * gap)
    if not len(fitting):
        raise InputError(
            f"none of {DRAWS} random sets of {k} channels {n_inputs} x {n_outputs} has a gap of {gap:.4g} bits;"
            " ask for another gap, or a concentration below 1"
        )
    return Instance.of([Channel.from_rows(rows, normalize=True) for rows in W[sets[fitting[0]]]])


def low_noise(rng: np.random.Generator, *, n_letters: int = 3) -> Instance:
    """Five channels (1 - e) I + e D with e = 0.4, 0.3, 0.2, 0.12, 0.05, the rows of each D uniform on the simplex."""
    return Instance.of([_mostly_right(rng, n_letters, noise) for noise in NOISES])


def tie(rng: np.random.Generator, *, k: int = 2, n_letters: int = 2, noise: float = 1.0) -> Instance:
    """k channels that are equally good: one with low noise (1: random rows), with rows and columns permuted."""
    W = _mostly_right(rng, n_letters, number_in(noise, "the noise of a tie", low=0.0, high=1.0)).W
    return Instance.of([_permuted(W, *(rng.permutation(n_letters).tolist() for _ in range(2))) for _ in range(k)])


def mixed(rng: np.random.Generator, *, capacity: float = 0.5, gap: float = 0.02) -> Instance:
    """A binary symmetric channel and an erasure channel of one capacity, and a ternary one that is `gap` better."""
    capacity = number_in(capacity, "the capacity of mixed channels (bits)", low=0.0, high=1.0)
    best = _noisier(lambda p: q_ary_symmetric(3, p), capacity + gap, most=2 / 3)
    return Instance.of([bsc(bsc_of_capacity(capacity)), bec(1.0 - capacity), best])


def near_tie(rng: np.random.Generator, *, k: int = 2, gap: float = 1e-4, capacity: float = 0.3) -> Instance:
    """k - 1 binary symmetric channels of one capacity, and one that is `gap` better."""
    rival, best = bsc(bsc_of_capacity(capacity)), bsc(bsc_of_capacity(capacity + gap))
    return Instance.of([rival] * (k - 1) + [best])


def noiseless_rival(rng: np.random.Generator, *, gap: float = 0.05) -> Instance:
    """A rival that never errs, with 1 bit; a ternary symmetric channel that errs, with 1 + gap; and a poor one."""
    best = _noisier(lambda p: q_ary_symmetric(3, p), 1.0 + gap, most=2 / 3)
    return Instance.of([bsc(0.0), bsc(0.01), best])


def useless_rivals(rng: np.random.Generator, *, k: int = 5, gap: float = 0.03) -> Instance:
    """k - 1 channels of capacity 0, and one of capacity `gap`."""
    return Instance.of([bsc(0.5)] * (k - 1) + [bsc(bsc_of_capacity(gap))])


def z_against_bsc(rng: np.random.Generator, *, q: float = 0.5, gap: float = 1e-3) -> Instance:
    """A Z-channel between two binary symmetric channels, one `gap` worse and one `gap` better."""
    worse, better = (bsc(bsc_of_capacity(z_capacity(q) + sign * gap)) for sign in (-1, 1))
    return Instance.of([z_channel(q), worse, better])


def relabelled(rng: np.random.Generator, *, k: int = 4, n_letters: int = 3, gap: float = 0.02) -> Instance:
    """A random channel, and k - 1 rivals: that channel blurred until it is `gap` worse, rows and columns permuted."""
    W = rng.dirichlet(np.ones(n_letters), size=n_letters)
    target = max(capacity(W, tol=CAPACITY_TOLERANCE).lower - gap, 0.0)
    blurred = _noisier(lambda t: Channel.from_rows((1 - t) * W + t / n_letters, normalize=True), target, most=1.0).W
    orders = list(permutations(range(n_letters)))
    shuffled = [_permuted(blurred, *(orders[i] for i in rng.integers(len(orders), size=2))) for _ in range(k - 1)]
    return Instance.of([*shuffled, Channel.from_rows(W)])


def _mostly_right(rng: np.random.Generator, n_letters: int, noise: float) -> Channel:
    """(1 - noise) I + noise D, the rows of D uniform on the simplex."""
    wrong = rng.dirichlet(np.ones(n_letters), size=n_letters)
    return Channel.from_rows((1.0 - noise) * np.eye(n_letters) + noise * wrong, normalize=True)


def _permuted(W: Floats, rows: Sequence[int], columns: Sequence[int]) -> Channel:
    return Channel.from_rows(W[np.ix_(rows, columns)])


def _noisier(family: Callable[[float], Channel], bits: float, *, most: float) -> Channel:
    """The member of a family whose capacity falls with its parameter that has this capacity, by bisection."""
    low, high = 0.0, most
    while high - low > 1e-14:
        middle = (low + high) / 2
        above = capacity(family(middle), tol=CAPACITY_TOLERANCE).lower > bits
        low, high = (middle, high) if above else (low, middle)
    return family(low)


def z_capacity(q: float) -> float:
    """The Z-channel's capacity log2(1 + (1-q) q^(q/(1-q))), in bits [CT06, Problem 7.8 for q = 1/2].

    [EBWGW24, Sec. VI] prints (1-q)^(q/(1-q)) for the second summand.

    >>> round(z_capacity(0.5) * NATS_PER_BIT, 4)
    0.2231
    """
    return math.log1p((1 - q) * q ** (q / (1 - q))) / NATS_PER_BIT


def bsc_of_capacity(bits: float) -> float:
    """The p <= 1/2 at which the BSC has this capacity: h(p) = 1 - C, by bisection to the last digit."""
    low, high = 0.0, 0.5
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if 1 - binary_entropy(middle) < bits else (middle, high)
    return low


FAMILIES: Mapping[str, Callable[..., Instance]] = {
    "random-binary": random_binary,
    "random": random_set,
    "low-noise": low_noise,
    "tie": tie,
    "mixed": mixed,
    "near-tie": near_tie,
    "noiseless-rival": noiseless_rival,
    "useless-rivals": useless_rivals,
    "z-against-bsc": z_against_bsc,
    "relabelled": relabelled,
}
"""The families by the names that a study's file uses; their keywords are the file's keys."""


Rows = Mapping[str, list[list[float]]]

Check = Callable[[object, str], Any]
"""Of a value and the full name of its key: the value in the required type, or an `InputError`."""


class Keys:
    """A table of the file, from which keys are taken one by one; what is left over is refused."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self.left = dict(content)
        self.where = where

    def take(self, key: str, check: Check, *default: Any) -> Any:
        """The value of a key, checked; the default where the key is missing and there is one."""
        if key in self.left:
            return check(self.left.pop(key), f"{self.where}{key}")
        if default:
            return default[0]
        raise InputError(f"{self.where}{key} is missing; a study requires it")

    def tables(self, key: str) -> list[Keys]:
        """The tables [[key]], of which there is at least one."""
        tables = self.left.pop(key, None)
        if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            raise InputError(f"{key} must be one or more tables [[{key}]]; it is {tables!r}")
        return [Keys(table, f"{key}[{i}].") for i, table in enumerate(tables)]

    def refuse_rest(self, known: Sequence[str] = ()) -> None:
        """Refuse the first key that nothing asked for."""
        for key, value in self.left.items():
            more = f"; there are {', '.join(known)}" if known else "; leave it out"
            raise InputError(f"{self.where}{key} = {value!r} means nothing here{more}")


def one_that(fits: Callable[[Any], bool], what: str) -> Check:
    """A value that fits; any other is refused with the words that say what it must be."""

    def check(value: object, where: str) -> Any:
        if not fits(value):
            raise InputError(f"{where} must be {what}; it is {value!r}")
        return value

    return check


text = one_that(lambda value: isinstance(value, str) and value.strip() != "", "a text")


def whole(least: int) -> Check:
    """A whole number from `least` on."""
    return partial(whole_number, at_least=least)


def number(high: float, *, least: float | None = None) -> Check:
    """A number up to `high`, from `least` on, or above 0."""
    return partial(number_in, low=least or 0.0, high=high, low_open=least is None)


EFFORT: Mapping[str, Check] = {"runs": whole(1), "max_senses": whole(1), "lower_bound": number(1.0, least=LEAST_RTOL)}
"""The keys that say how much is run, of the study and of a source of channels."""


@dataclass(frozen=True)
class PolicyChoice:
    """A policy with its options, and what the tables call it."""

    name: str
    policy: str
    options: Mapping[str, Any]

    def make(self, alphabets: Sequence[tuple[int, int]], delta: float) -> Policy:
        """The policy, fresh, for channels of these sizes."""
        return make_policy(self.policy, alphabets, delta=delta, **self.options)

    def example(self) -> Policy:
        """The policy for small channels, as many as its question and costs are for."""
        P, costs, asked = (self.options.get(option) for option in ("input_distribution", "cost", "question"))
        m, rates = (asked.get(part) if isinstance(asked, Mapping) else None for part in ("m", "rates"))
        n_inputs = len(P) if isinstance(P, list) else 2
        of_each = [len(several) for several in (costs, rates) if isinstance(several, list)]
        return self.make([(n_inputs, 2)] * max(2, *of_each, m if isinstance(m, int) else 2), 0.1)


@dataclass(frozen=True)
class Source:
    """Where sets of channels come from: a file (`rows` by channel), or a family with its numbers."""

    name: str
    family: str
    numbers: Mapping[str, float]
    rows: Rows
    sets: int
    policies: tuple[str, ...]  # the names of those that sense them
    runs: int
    max_senses: int | None
    lower_bound: float | None  # within which T* is to be found; None: not at all


@dataclass(frozen=True)
class Spec:
    """A study, validated. Files of channels have been read."""

    name: str
    seed: int
    deltas: tuple[float, ...]
    policies: tuple[PolicyChoice, ...]
    instances: tuple[Source, ...]
    question: Mapping[str, Any] | None = None  # None: which channel is the best


def read_spec(path: str | Path) -> Spec:
    """The study that a TOML file describes, or an `InputError` that names the key at fault."""
    path = Path(path)
    with errors_naming(path):
        try:
            content = tomllib.loads(decoded(read_bytes(path)))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"the file must be TOML; reading it failed ({error})") from None
        return parse_spec(content, folder=path.parent, name=path.stem)


def parse_spec(content: Mapping[str, Any], *, folder: Path, name: str = "study") -> Spec:
    """The study that a mapping describes; files of channels are looked for in `folder`."""
    keys = Keys(content, "")
    title, seed = keys.take("name", text, name), keys.take("seed", whole(0))
    effort = _effort(keys, max_senses=None, lower_bound=None)
    deltas = keys.take("deltas", _deltas)
    epsilon = keys.take("epsilon", number(64.0), None)
    question = keys.take("question", one_that(lambda value: isinstance(value, dict), "a table, { kind = … }"), None)
    policies = [_policy(table, epsilon, question) for table in keys.tables("policies")]
    names = [policy.name for policy in policies]
    sources = [_source(table, folder, names, effort) for table in keys.tables("instances")]
    keys.refuse_rest()
    for key, given in {"policies": names, "instances": [source.name for source in sources]}.items():
        for i, word in enumerate(given):
            if word in given[:i]:
                raise InputError(f"{key}[{i}].name must differ from the others; {word!r} occurs twice")
    return Spec(title, seed, deltas, tuple(policies), tuple(sources), question)


def _policy(keys: Keys, epsilon: float | None, question: Mapping[str, Any] | None) -> PolicyChoice:
    policy = keys.take("policy", text)
    try:
        kind = policy_class(policy)
    except InputError as error:
        raise InputError(f"{keys.where}policy = {policy!r}: {error}") from error
    name, known = keys.take("name", text, kind.name), kind.option_names()
    options = {key: keys.left.pop(key) for key in known if key in keys.left}
    keys.refuse_rest(["policy", "name", *known])
    if epsilon is not None and "epsilon" in known:
        options.setdefault("epsilon", epsilon)
    if question is not None and "question" not in known:
        raise InputError(
            f"{keys.where}policy = {policy!r} names the best channel, and question asks for something else"
        )
    if question is not None:
        options.setdefault("question", question)
    choice = PolicyChoice(name, policy, options)
    try:  # options that the policy refuses, before anything runs
        choice.example()
    except InputError as error:
        raise InputError(f"{keys.where}policy = {policy!r}: {error}") from error
    return choice


def _effort(keys: Keys, **defaults: Any) -> dict[str, Any]:
    """How much is to be run: keys of the study, which a source may have too."""
    return {key: keys.take(key, check, *([defaults[key]] if key in defaults else [])) for key, check in EFFORT.items()}


def _source(keys: Keys, folder: Path, policies: Sequence[str], effort: Mapping[str, Any]) -> Source:
    listed = one_that(
        lambda value: isinstance(value, list) and len(value) > 0 and set(map(str, value)) <= set(policies),
        f"a list of names of policies, {', '.join(policies)}",
    )
    effort = _effort(keys, **effort) | {"policies": tuple(keys.take("policies", listed, policies))}
    if "channels" in keys.left:
        path = folder / keys.take("channels", text)
        rows = {name: channel.W.tolist() for name, channel in read_channels(path).items()}
        name = keys.take("name", text, path.stem)
        keys.refuse_rest(["channels", "name", "policies", *EFFORT])
        return Source(name, "", {}, rows, 1, **effort)
    known = one_that(lambda value: isinstance(value, str) and value in FAMILIES, f"one of {', '.join(FAMILIES)}")
    family = keys.take("family", known)
    name, sets = keys.take("name", text, family), keys.take("sets", whole(1), 1)
    return Source(name, family, _numbers(keys, family), {}, sets, **effort)


def _numbers(keys: Keys, family: str) -> dict[str, float]:
    """The keywords of the family's function that the table has."""
    parameters = list(inspect.signature(FAMILIES[family]).parameters.values())[1:]
    if "gap_nats" in keys.left and "gap" not in keys.left:
        keys.left["gap"] = keys.take("gap_nats", number(64.0)) / NATS_PER_BIT
    numbers = {}
    for parameter in parameters:
        check = whole(2) if parameter.name in ("k", "n_inputs", "n_outputs", "n_letters") else number(64.0)
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        numbers[parameter.name] = keys.take(parameter.name, check, *default)
    keys.refuse_rest([parameter.name for parameter in parameters])
    return {key: value for key, value in numbers.items() if value is not None}


def _deltas(value: object, where: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{where} must be a list of error probabilities; it is {value!r}")
    return tuple(number_in(delta, f"{where}[{i}]", low=0.0, high=0.5) for i, delta in enumerate(value))
