"""Arguments and options that several verbs share."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel.channels import Channel
from bestchannel.channels.families import family_list
from bestchannel.channels.sense_costs import sense_costs
from bestchannel.cli.reading import describes_reading
from bestchannel.counts.labelled_counts import ChannelLabels
from bestchannel.disk import read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.policies import Policy, make_policy
from bestchannel.policies.catalogue import POLICIES

FILE: dict[str, Any] = {"readable": False, "show_default": False}
"""Of every path: whether it can be read is found out, and said, where it is read."""

Channels = Annotated[
    list[Path],
    typer.Argument(
        help="Files of channels, a folder of them, - for standard input, or channels of families, as bsc:0.11 z:0.2:"
        f" {family_list()}.",
        **FILE,
    ),
]
Delta = Annotated[float, typer.Option(help="Largest probability of a wrong answer.")]
Epsilon = Annotated[float | None, typer.Option(help="Accept a channel within this many bits of the best.")]
MaxSenses = Annotated[int | None, typer.Option(help="Take no more senses than this.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
NoChecks = Annotated[
    bool, typer.Option("--no-checks", help="Do not look for drift and memory in the order of the senses.")
]


class DesignChoice(StrEnum):
    """How the numbers of senses came about."""

    fixed = "fixed"
    adaptive = "adaptive"


Design = Annotated[
    DesignChoice | None,
    typer.Option(
        help="fixed: nobody chose numbers of senses by looking at outputs, as in most recordings; adaptive: somebody"
        " did, or stopped when the result looked good. fixed proves much more, and is the default for counts."
    ),
]
Rank = Annotated[
    bool, typer.Option("--rank", help="Rank the channels: say of which pairs it is proved that one is better.")
]
InputDistribution = Annotated[
    str | None, typer.Option(help="Compare I(P;W) at this P instead of capacities, as 0.5,0.5: one for each input.")
]
Cost = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="CHANNEL=COST",
        help="What a sense costs, as q0=2, of one input as q0:1=3, or a JSON file; 1 where nothing is said.",
        show_default=False,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(help="The token, in place of that in the address.", envvar="BESTCHANNEL_TOKEN", show_default=False),
]
"""Of a service, for its clients."""


def labels_of(channels: Mapping[str, Channel]) -> list[ChannelLabels]:
    """What known channels and their letters are called."""
    return [ChannelLabels(name, channel.inputs, channel.outputs) for name, channel in channels.items()]


def parse_distribution(text: str | None) -> list[float] | None:
    """0.5,0.5 as numbers."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--input-distribution must look like 0.5,0.5; it is {text!r}") from None


def parse_costs(texts: Sequence[str], parties: Sequence[ChannelLabels]) -> dict[str, list[list[float]]]:
    """{"cost": that of every input of every channel}, or nothing where no text says any."""
    if not texts:
        return {}
    letters = {str(labels.key): labels.inputs for labels in parties}
    given: dict[tuple[str, str | None], Any] = {}
    for place, cost in (pair for text in texts for pair in _named_costs(text)):
        if (found := _place(place, letters)) in given:
            raise InputError(f"--cost must name each channel and each input once; {place!r} has two costs")
        given[found] = cost
    # that of an input comes before that of its channel
    costs = {
        name: [given.get((name, x), given.get((name, None), 1.0)) for x in inputs] for name, inputs in letters.items()
    }
    checked = sense_costs(costs, list(costs), [len(each) for each in costs.values()])
    return {"cost": [list(each) for each in checked]}


def _named_costs(text: str) -> list[tuple[str, Any]]:
    """q0=2 as a place and a number; of a file, all that it has."""
    place, sign, number = text.rpartition("=")
    if sign and place.strip():
        try:
            return [(place.strip(), float(number))]
        except ValueError:
            raise InputError(f"--cost must end with a number, as q0=2; it is {text!r}") from None
    found = json_of(read_bytes(Path(text)))
    if not isinstance(found, dict):
        raise InputError(f'{text}: a file of costs must be JSON as {{"q0": 2, "q1": {{"0": 1, "1": 5}}}}')
    return [
        (f"{name}:{x}" if x is not None else name, cost)
        for name, given in found.items()
        for x, cost in (given.items() if isinstance(given, dict) else [(None, given)])
    ]


def _place(text: str, letters: Mapping[str, Sequence[str]]) -> tuple[str, str | None]:
    """The channel that a cost is of, and the input, None for all."""
    if text in letters:
        return text, None
    name, sign, x = text.rpartition(":")
    if sign and name in letters:
        if x not in letters[name]:
            raise InputError(f"--cost names input {x!r} of channel {name!r}, which has {', '.join(letters[name][:12])}")
        return name, x
    raise InputError(
        f"--cost names channel {text!r}, which takes no part; those that do: {', '.join(list(letters)[:12])}"
    )


@dataclass(frozen=True)
class ChosenPolicy:
    """The policy that a command describes, for channels that are known later."""

    name: str
    delta: float
    options: Mapping[str, Any]
    cost: Sequence[str] = ()

    def made_for(self, parties: Sequence[ChannelLabels]) -> Policy:
        """The policy for these channels, told nothing yet."""
        costs = parse_costs(self.cost, parties)
        return make_policy(
            self.name, [labels.alphabet for labels in parties], delta=self.delta, **{**self.options, **costs}
        )


def describes_policy(
    name: Annotated[
        str,
        typer.Option(
            "--policy",
            help=f"{', '.join(POLICIES)}, or package.module:Class.",
            autocompletion=lambda incomplete: [policy for policy in POLICIES if policy.startswith(incomplete)],
        ),
    ] = "adaptive",
    delta: Delta = 0.05,
    epsilon: Epsilon = None,
    subroutine: Annotated[str | None, typer.Option(help="naive or median, within best-chan-id.")] = None,
    sampling: Annotated[
        str | None, typer.Option(help="Where adaptive senses: fewest, or another rule to compare.")
    ] = None,
    threshold: Annotated[
        str | None, typer.Option(help="When adaptive stops: proved, or calibrated (fewer senses, no proof).")
    ] = None,
    input_distribution: InputDistribution = None,
    cost: Cost = None,
    policy_option: Annotated[
        list[str] | None,
        typer.Option(
            help="Another option of the policy, as margin=0.1; the value is JSON, or a text.", metavar="KEY=VALUE"
        ),
    ] = None,
) -> ChosenPolicy:
    """The policy that these options describe."""
    given = {
        "epsilon": epsilon,
        "subroutine": subroutine,
        "sampling": sampling,
        "threshold": threshold,
        "input_distribution": parse_distribution(input_distribution),
    }
    others = parse_pairs(policy_option or [])
    for key in others:
        if given.get(key) is not None:
            raise InputError(f"{key} must be given once; it is in --{key.replace('_', '-')} and in --policy-option")
    if cost and "cost" in others:
        raise InputError("cost must be given once; it is in --cost and in --policy-option")
    return ChosenPolicy(name, delta, given | others, cost or ())


GROUPS: dict[str, Callable[..., object]] = {"policy": describes_policy, "reading": describes_reading}
"""The function whose options a verb takes in place of its argument of this name."""


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which takes the options of a group in place of an argument that is called as the group."""
    theirs = inspect.signature(command, eval_str=True).parameters
    groups = {name: inspect.signature(GROUPS[name], eval_str=True).parameters for name in GROUPS if name in theirs}

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        described = {
            name: GROUPS[name](**{key: arguments.pop(key) for key in options}) for name, options in groups.items()
        }
        command(**described, **arguments)

    listed = [each for p in theirs.values() for each in (groups[p.name].values() if p.name in groups else [p])]
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in listed]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def parse_pairs(texts: Iterable[str]) -> dict[str, Any]:
    """margin=0.1 as a key and a value, JSON where it is that."""
    pairs = [text.partition("=") for text in texts]
    for key, sign, value in pairs:
        if not sign or not key.strip():
            raise InputError(f"--policy-option must look like margin=0.1; it is {key + sign + value!r}")
        if key.strip() == "delta":
            raise InputError("--policy-option is for what a policy has beyond delta; give --delta")
    found = {key.strip(): _value(value.strip()) for key, _, value in pairs}
    if len(found) < len(pairs):
        raise InputError(
            f"--policy-option must name each option once; it names {len(pairs)}, of them {', '.join(found)}"
        )
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
