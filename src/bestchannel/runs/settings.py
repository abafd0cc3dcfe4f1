"""What a run is about: written once, when the run is begun, and never changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.json import decode

from bestchannel.errors import InputError
from bestchannel.json_text import shortened
from bestchannel.policies import ChannelLabels, Policy, Supply, make_policy
from bestchannel.policies.catalogue import policy_class
from bestchannel.promises import several
from bestchannel.record import RunChannel, RunRecord

LABORATORY: Mapping[str, Any] = {"kind": "laboratory"}  # the source of a run whose requests people answer
RECORDED = "recorded"
"""Under which a source says how many senses of each input of each channel it has, where they are limited."""


LONGEST_TITLE, LONGEST_NOTE = 200, 4000


class Settings(RunRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is about, and the policy that follows from it."""

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
            channels=run_channels(parties),
            policy=name,
            delta=policy.delta,
            epsilon=policy.epsilon,
            options=policy.options,
            source=dict(source),
            inferred_outputs=inferred_outputs,
        )
        again = settings.new_policy()
        if type(again) is not type(policy) or again.ask() != first:
            raise InputError(f"the policy {name} made again from its options must ask the same; it asks something else")
        return settings

    @property
    def parties(self) -> tuple[ChannelLabels, ...]:
        """The channels, as policies and sensors know them."""
        return tuple(ChannelLabels(c.key, c.inputs, c.outputs, c.condition) for c in self.channels)

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel."""
        return [(len(channel.inputs), len(channel.outputs)) for channel in self.channels]

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
        return json.dumps(to_builtins(self), allow_nan=False)

    @staticmethod
    def parse(text: str) -> Settings:
        """The settings that `text` wrote, or an `InputError`."""
        try:
            settings = decode(text, type=Settings)
            if not isinstance(settings.source["kind"], str):
                raise ValueError("the kind of the source must be a text")
            if len({channel.key for channel in settings.channels}) < len(settings.channels):
                raise ValueError("no two channels may have the same name")
            settings.supply.refuse_other(settings.alphabets)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"the settings of the run are damaged ({error!r}); restore the file from a copy") from None
        return settings

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


def run_channels(parties: Iterable[ChannelLabels]) -> tuple[RunChannel, ...]:
    """The channels by their names, or their positions."""
    return tuple(
        RunChannel(
            key=labels.key if isinstance(labels.key, int | str) else str(labels.key),
            inputs=labels.inputs,
            outputs=labels.outputs,
            condition=labels.condition,
        )
        for labels in parties
    )


def _comparable(settings: Settings) -> dict[str, Any]:
    """What must not change, by what it is called; a recording may move to another path."""
    content: dict[str, Any] = json.loads(settings.text())
    source = content.pop("source")
    # what a recording has is in its content, which is compared; checks of it may have been left out
    for key in ("path", "warnings", RECORDED):
        source.pop(key, None)
    source["senses"] = source.pop("kind")
    return content | source
