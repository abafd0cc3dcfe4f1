"""The record of an identification inside its report, so that the page can be checked again by itself."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.policies import Identification
from bestchannel.report.markup import Html, trusted
from bestchannel.runs.results import as_document

MOST_BYTES = 1_000_000
"""Of a page with its record: what mail and phones still take."""

MOST_UNPACKED = 2**27
"""Bytes of a record that a page holds packed; what unpacks to more is no record of ours."""

PLAIN, PACKED = "application/json", "application/json+deflate"
HELD = re.compile(rb'<script type="(application/json(?:\+deflate)?)" id="record">([^<]*)</script>')


def record_element(result: Identification, room: int) -> Html | None:
    """The record as an element of so many bytes at most: as JSON, or packed; None where neither fits."""
    document = json.dumps(as_document(result), allow_nan=False)
    plain = re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", document)
    if len(plain) <= room:
        return _element(PLAIN, plain)
    if len(document) > MOST_UNPACKED:
        return None
    packed = base64.b64encode(zlib.compress(document.encode(), 9)).decode()
    return _element(PACKED, packed) if len(packed) <= room else None


def _element(kind: str, content: str) -> Html:
    return trusted(f'<script type="{kind}" id="record">{content}</script>')


def record_in(page: bytes) -> Any:
    """The record that a report holds, as the JSON of an identification."""
    held = HELD.findall(page)
    if len(held) != 1:
        raise InputError(
            "the page must be a report of bestchannel with its record inside; it has none (a long record is left out of"
            " its report: give the run, or the JSON of the result)"
        )
    kind, content = held[0]
    return json_of(content if kind.decode() == PLAIN else _unpacked(content))


def _unpacked(content: bytes) -> bytes:
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(base64.b64decode(content, validate=True), MOST_UNPACKED)
    except (ValueError, zlib.error) as error:
        raise InputError(f"the record inside the page is damaged ({error})") from None
    if not unpacking.eof:
        raise InputError("the record inside the page is damaged: it does not end where it should")
    return data
