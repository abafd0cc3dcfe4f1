"""The policies by name: those of the project, and those of any other package as `package.module:Class`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from bestchannel.errors import InputError
from bestchannel.policies.adaptive.adaptive_policy import Adaptive
from bestchannel.policies.adaptive.joint_policy import JointAdaptive
from bestchannel.policies.paper_policies import BestChanID, MedianChanEl, NaiveChanSel
from bestchannel.policies.policy import Policy, keywords

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (Adaptive, JointAdaptive, BestChanID, NaiveChanSel, MedianChanEl)
}


def make_policy(name: str, alphabets: Iterable[Sequence[int]], /, *, delta: float, **options: Any) -> Policy:
    """The policy of this name with these options; those that are None count as left out.

    What the policy does not have, or lacks, is refused. A name `package.module:Class` is imported, so it runs the code
    of that package.

    >>> make_policy("naive", [(2, 2)] * 3, delta=0.1, epsilon=0.05).epsilon
    0.05
    """
    policy, given = policy_class(name), {key: value for key, value in options.items() if value is not None}
    _refuse_other_options(policy, name, given)
    try:
        made = policy(alphabets, delta=delta, **given)
    except InputError:
        raise
    except Exception as error:  # a constructor of another package may raise anything
        raise InputError(f"the policy {name} cannot be made ({type(error).__name__}: {error})") from error
    _refuse_unlike(made, name, delta, given)
    return made


def policy_class(name: str) -> type[Policy]:
    """The class behind a name, or an `InputError` that says what it lacks to be a policy."""
    if name in POLICIES:
        return POLICIES[name]
    module, colon, path = name.partition(":")
    if not colon:
        raise InputError(f"the policy must be one of {', '.join(POLICIES)}, or package.module:Class; it is {name!r}")
    found = _imported(module, path)
    if not isinstance(found, type) or not issubclass(found, Policy):
        raise InputError(f"the policy {name} must be a class derived from bestchannel.Policy; it is {found!r}")
    missing = sorted(found.__abstractmethods__)
    if not isinstance(getattr(found, "name", None), str):
        missing.insert(0, "name")
    if missing:
        raise InputError(f"the policy {name} must define name, guarantee and _script; it lacks {', '.join(missing)}")
    return found


def _imported(module: str, path: str) -> object:
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever the module does while it is imported
        raise InputError(
            f"the policy {module}:{path} cannot be imported ({type(error).__name__}: {error}); install its package,"
            " or put its folder on PYTHONPATH"
        ) from error
    try:
        return reduce(getattr, path.split("."), found)
    except AttributeError:
        raise InputError(f"the policy {module}:{path} must be in the module {module}; there is none") from None


def _refuse_other_options(policy: type[Policy], name: str, given: Mapping[str, Any]) -> None:
    known = keywords(policy)
    foreign = sorted(given.keys() - set(known))
    if foreign:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the policy {name} has no option {foreign[0]}, {has}; leave it out or choose another policy")
    missing = [option for option, required in known.items() if required and option not in given]
    if missing:
        raise InputError(f"the policy {name} requires the option {missing[0]}; give it")


def _refuse_unlike(policy: Policy, name: str, delta: float, given: Mapping[str, Any]) -> None:
    """Refuse a policy that could not be made again from what it says of itself, as a run on disk has to."""
    for option in policy.option_names():
        if not hasattr(policy, option):
            raise InputError(f"the policy {name} must keep its option {option} as an attribute of that name")
        if not _is_json(value := policy.options.get(option)):
            raise InputError(f"the option {option} of the policy {name} must be a value of JSON; it is {value!r}")
    if name not in POLICIES and not isinstance(policy.guarantee, str):
        raise InputError(f"the guarantee of the policy {name} must be a text; it is {policy.guarantee!r}")
    if policy.delta != delta or policy.epsilon != given.get("epsilon", policy.epsilon):
        raise InputError(f"the policy {name} must promise the delta and epsilon that it is given; it has others")


def _is_json(value: object) -> bool:
    """Whether JSON holds the value: null, a truth value, a finite number, a text, or lists and objects of them."""
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(content) for key, content in value.items())
    return value is None or isinstance(value, bool | str | int) or (isinstance(value, float) and math.isfinite(value))
