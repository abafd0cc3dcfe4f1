"""What a run is about: written once, when the run is begun, and never changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bestchannel.errors import InputError
from bestchannel.json_text import shortened
from bestchannel.policies import ChannelLabels, Policy, Supply, make_policy
from bestchannel.policies.catalogue import policy_class
from bestchannel.promises import several

LABORATORY: Mapping[str, Any] = {"kind": "laboratory"}
"""The source of a run whose requests people answer."""

RECORDED = "recorded"
"""Under which a source says how many senses of each input of each channel it has, where they are limited."""


TYPES: Mapping[str, tuple[type, ...]] = {
    "channels": (list,),
    "policy": (str,),
    "delta": (float, int),
    "epsilon": (float, int),
    "options": (dict,),
    "source": (dict,),
    "inferred_outputs": (bool,),
}
"""What the settings of a run are in its file."""

WISHES: Mapping[str, type] = {"title": str, "note": str, "largest_request": int}
"""What may be there too."""

LONGEST_TITLE, LONGEST_NOTE = 200, 4000


@dataclass(frozen=True, eq=False)
class Settings:
    """The channels that take part, the policy that asks, and the source of the answers.

    `policy` is what `Policy.reference` says, and `options` are those of the policy beyond delta and epsilon;
    `source["kind"]` is laboratory, simulation, recording or sensor; `inferred_outputs` says that the outputs are only
    those that a recording happened to have. People call a run by its `title`, and are asked for at most
    `largest_request` senses at once.
    """

    parties: tuple[ChannelLabels, ...]
    policy: str
    delta: float
    epsilon: float
    options: Mapping[str, Any]
    source: Mapping[str, Any]
    inferred_outputs: bool = False
    title: str = ""
    note: str = ""
    largest_request: int | None = None

    @staticmethod
    def of(
        policy: Policy, parties: Sequence[ChannelLabels], source: Mapping[str, Any], inferred_outputs: bool = False
    ) -> Settings:
        """The settings that make such a policy, told nothing yet; one that they do not make again is refused."""
        policy.limit(_supply(source))
        name, first = policy.reference(), policy.ask()
        if policy.steps:
            raise InputError(
                f"a run requires a policy that was told nothing yet; this one has"
                f" {several(len(policy.steps), 'answer')}"
            )
        if name.startswith("__main__:"):
            raise InputError(f"a run requires a policy that other programs can import; put {name} into a module")
        settings = Settings(
            tuple(parties), name, policy.delta, policy.epsilon, policy.options, source, inferred_outputs
        )
        again = settings.new_policy()
        if type(again) is not type(policy) or again.ask() != first:
            raise InputError(f"the policy {name} made again from its options must ask the same; it asks something else")
        return settings

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel."""
        return [labels.alphabet for labels in self.parties]

    @property
    def supply(self) -> Supply:
        """What there is to be sensed, where the source is a recording."""
        return _supply(self.source)

    def new_policy(self) -> Policy:
        """The policy, told nothing yet but what there is to be sensed."""
        try:
            accuracy = {"epsilon": self.epsilon} if "epsilon" in policy_class(self.policy).option_names() else {}
            policy = make_policy(self.policy, self.alphabets, delta=self.delta, **accuracy, **self.options)
            policy.limit(self.supply)
            return policy
        except (InputError, TypeError) as error:  # of damaged settings even the names may be wrong
            raise InputError(f"the policy of the run cannot be made: {error}") from error

    def text(self) -> str:
        """The settings as JSON."""
        channels = [{"key": _key(labels), **labels.letters()} for labels in self.parties]
        content = {
            "channels": channels,
            "policy": self.policy,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "options": dict(self.options),
            "source": dict(self.source),
            "inferred_outputs": self.inferred_outputs,
        }
        wishes = {key: getattr(self, key) for key in WISHES if getattr(self, key)}
        return json.dumps(content | wishes, allow_nan=False)

    @staticmethod
    def parse(text: str) -> Settings:
        """The settings that `text` wrote, or an `InputError`."""
        try:
            content = json.loads(text)
            _require_types(content)
            return Settings(
                tuple(_labels(channel) for channel in content["channels"]),
                *(content[key] for key in TYPES if key != "channels"),
                **{key: content[key] for key in WISHES if key in content},
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"the settings of the run are damaged ({error!r}); restore the file from a copy") from None

    def refuse_other(self, other: Settings) -> None:
        """Refuse settings that are not these: a run answers one question."""
        mine, theirs = (_comparable(settings) for settings in (self, other))
        for key, value in mine.items():
            if theirs.get(key) != value:
                raise InputError(
                    f"the run was begun with {key} {shortened(value)}, and now it is {shortened(theirs.get(key))};"
                    " use these settings, or another file for another run"
                )


def refuse_wishes(title: str, note: str, largest_request: int | None) -> None:
    """Refuse a title, a note or a largest request that cannot be one."""
    for key, text, longest in (("title", title, LONGEST_TITLE), ("note", note, LONGEST_NOTE)):
        if len(text) > longest or not text.replace("\n", "" if key == "note" else "\0").isprintable():
            raise InputError(f"the {key} must be at most {longest} visible letters; it is {text[:40]!r}")
    if largest_request is not None and (type(largest_request) is not int or largest_request < 1):
        raise InputError(f"the largest request must be a whole number >= 1; it is {largest_request!r}")


def _supply(source: Mapping[str, Any]) -> Supply:
    recorded = source.get(RECORDED)
    return Supply(each=None if recorded is None else tuple(map(tuple, recorded)))


def _require_types(content: Any) -> None:
    for key, types in TYPES.items():
        if type(content[key]) not in types:
            raise ValueError(f"{key} must be {' or '.join(kind.__name__ for kind in types)}")
    for key, kind in WISHES.items():
        if key in content and (type(content[key]) is not kind or not content[key]):
            raise ValueError(f"{key} must be {kind.__name__}")
    if not isinstance(content["source"]["kind"], str):
        raise ValueError("the kind of the source must be a text")
    names = [channel["key"] for channel in content["channels"]]
    if not names or not {str, int}.issuperset(map(type, names)) or len(set(names)) < len(names):
        raise ValueError("the channels must have names, each its own")
    _supply(content["source"]).refuse_other(
        [(len(each["inputs"]), len(each["outputs"])) for each in content["channels"]]
    )


def _labels(channel: Mapping[str, Any]) -> ChannelLabels:
    """A channel of the file, whose letters must be texts."""
    for side in (channel["inputs"], channel["outputs"]):
        if not isinstance(side, list) or not side or not all(isinstance(letter, str) for letter in side):
            raise ValueError("a channel must have inputs and outputs, as texts")
    return ChannelLabels.with_letters(channel["key"], channel)


def _key(labels: ChannelLabels) -> int | str:
    """The name of a channel, or its position."""
    return labels.key if isinstance(labels.key, int | str) else str(labels.key)


def _comparable(settings: Settings) -> dict[str, Any]:
    """What must not change, by what it is called; a recording may move to another path."""
    content: dict[str, Any] = json.loads(settings.text())
    source = content.pop("source")
    # what a recording has is in its content, which is compared; checks of it may have been left out
    for key in ("path", "warnings", RECORDED):
        source.pop(key, None)
    source["senses"] = source.pop("kind")
    return content | source
