"""JSON: the document that a text is, or a refusal, and values as JSON has them."""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from typing import Any

from bestchannel.disk import decoded, refuse_too_many_fields
from bestchannel.errors import InputError


def finite_or_none(value: float) -> float | None:
    """The number as JSON may have it, where infinity and NaN are null."""
    return value if math.isfinite(value) else None


def shortened(value: object) -> str:
    """The value as JSON in at most 60 letters, to be shown in a sentence."""
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def json_of(data: bytes) -> Any:
    """The document that these bytes are the JSON of."""
    text = decoded(data)
    refuse_too_many_fields(text, ",")
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"the file must be JSON; line {error.lineno}, column {error.colno} is not JSON ({error.msg})"
        ) from None
    except RecursionError:
        raise InputError("the file must be JSON of a few levels; it is nested too deeply to be read") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"a number in the file cannot be read ({error})") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise InputError(f"a name must occur once in an object; {reprlib.repr(repeated)} occurs more often")
    return content


def sorted_text(value: object) -> str:
    """A value as JSON, its keys in order, so that equal values give equal texts; what JSON has not is an error."""
    return json.dumps(value, sort_keys=True, allow_nan=False)
