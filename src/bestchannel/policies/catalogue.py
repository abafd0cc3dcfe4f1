"""The policies by the names that the command line and stored runs use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bestchannel.errors import InputError
from bestchannel.policies.adaptive.adaptive_policy import Adaptive
from bestchannel.policies.best_chan_id import BestChanID
from bestchannel.policies.median_chan_el import MedianChanEl
from bestchannel.policies.naive_chan_sel import NaiveChanSel
from bestchannel.policies.policy import Policy

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (Adaptive, BestChanID, NaiveChanSel, MedianChanEl)
}


OPTIONS: dict[str, tuple[str, ...]] = {
    Adaptive.name: ("epsilon", "sampling", "threshold"),
    BestChanID.name: ("subroutine",),
    NaiveChanSel.name: ("epsilon",),
    MedianChanEl.name: ("epsilon",),
}
"""What can be said of each policy beyond delta and a fixed input distribution."""


def make_policy(
    name: str,
    alphabets: Iterable[Sequence[int]],
    *,
    delta: float,
    epsilon: float | None = None,
    subroutine: str | None = None,
    sampling: str | None = None,
    threshold: str | None = None,
    input_distribution: Sequence[float] | None = None,
) -> Policy:
    """The named policy with these options; an option that it does not have is refused."""
    if name not in POLICIES:
        raise InputError(f"the policy must be one of {', '.join(POLICIES)}; it is {name!r}")
    options = {"epsilon": epsilon, "subroutine": subroutine, "sampling": sampling, "threshold": threshold}
    given = {option: value for option, value in options.items() if value is not None}
    foreign = sorted(given.keys() - set(OPTIONS[name]))
    if foreign:
        raise InputError(f"the policy {name} has no {foreign[0]}; leave it out or choose another policy")
    if name in (NaiveChanSel.name, MedianChanEl.name) and epsilon is None:
        raise InputError(f"the policy {name} wants an epsilon: within how many bits of the best its answer may be")
    policy: type[Policy] = POLICIES[name]
    return policy(alphabets, delta=delta, input_distribution=input_distribution, **given)  # type: ignore[arg-type]
