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
    family = "near-tie"         # see `channel_sets`; also its own numbers, and sets = how many sets are drawn
    gap = 0.001

Gaps and accuracies are in bits; `gap_nats` may stand for `gap`.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestchannel.arrays import number_in
from bestchannel.counts import read_channels
from bestchannel.disk import decoded, errors_naming, read_bytes
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies import Policy, make_policy
from bestchannel.policies.catalogue import policy_class
from bestchannel.study.channel_sets import FAMILIES

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
    return one_that(lambda value: type(value) is int and value >= least, f"a whole number >= {least}")


def number(low: float, high: float) -> Check:
    """A number above `low`, up to `high`."""
    return lambda value, where: number_in(value, where, low=low, high=high)


EFFORT: Mapping[str, Check] = {"runs": whole(1), "max_senses": whole(1), "lower_bound": number(0.0, 1.0)}
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
        """The policy for small channels, as many as its question requires."""
        P, question = self.options.get("input_distribution"), self.options.get("question") or {}
        alphabet = len(P) if isinstance(P, list) else 2, 2
        most = question.get("m", 2)
        return self.make([alphabet] * max(2, most if isinstance(most, int) else 2), 0.1)


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
    epsilon = keys.take("epsilon", number(0.0, 64.0), None)
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
        keys.left["gap"] = keys.take("gap_nats", number(0.0, 64.0)) / NATS_PER_BIT
    numbers = {}
    for parameter in parameters:
        check = whole(2) if parameter.name in ("k", "n_inputs", "n_outputs", "n_letters") else number(0.0, 64.0)
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        numbers[parameter.name] = keys.take(parameter.name, check, *default)
    keys.refuse_rest([parameter.name for parameter in parameters])
    return {key: value for key, value in numbers.items() if value is not None}


def _deltas(value: object, where: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{where} must be a list of error probabilities; it is {value!r}")
    return tuple(number_in(delta, f"{where}[{i}]", low=0.0, high=0.5) for i, delta in enumerate(value))
