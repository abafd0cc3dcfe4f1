"""Channels and counts as JSON: matrices by name, records, one per line too, nested dictionaries, lists of matrices.

`{"channels": {name: [[...]]}}`, or `{"rows", "inputs", "outputs"}` in place of the rows; `[{"x": …, "y": …}, …]`;
`{sent: {got: n}}`, by channel or of one; calibrations of mthree.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts import named_matrix
from bestchannel.counts.columns import SHOWN, named_columns
from bestchannel.counts.labelled_counts import Hints
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none, refuse_trials
from bestchannel.counts.table import Part, Place, Table, place_from
from bestchannel.counts.text_log import without_comments
from bestchannel.disk import OpenFile, decoded
from bestchannel.errors import InputError
from bestchannel.json_text import json_of

LINES = (".jsonl", ".ndjson")  # what files with one record per line are called by
ROWS = 2**16  # records read at a time
_BLOCK = _LONGEST = 2**20  # bytes read at a time, and the longest line
_SHORT = 2**8  # bytes of a line that is worth remembering: most logs have few different ones
MOST_DOCUMENTS = 2**20  # the most lines of a file with a document on each, which are all read at once
PRINTED = re.compile(r"\s*(?:\w+\.)?(?:array\()?\[\s*\[", re.ASCII)  # how an array begins that NumPy has printed

Record = Mapping[str, Any]


def read_table(source: OpenFile, hints: Hints, use: str) -> Table | None:
    """The table of records, whose keys are its columns; None for any other document."""
    if source.ending in LINES:
        records = _lines(source)
    else:
        document = source.parsed(_document)
        if not (isinstance(document, list) and document and all(isinstance(row, dict) for row in document)):
            return None
        records = iter(document)
    first = list(islice(records, ROWS if use == "count" else None))
    if not first:
        raise InputError("there must be records; there is none")
    header = list(dict.fromkeys(key for record in first for key in record))

    def cells(i: int) -> list[Any]:
        return [record.get(header[i]) for record in first[:SHOWN]]

    def parts(columns: Mapping[str, int], gaps: bool) -> Iterator[Part]:
        done = 0
        for some in chain([first], iter(lambda: list(islice(records, ROWS)), [])):
            for key in dict.fromkeys(key for record in some for key in record if key not in header):
                # the first were read without it
                if named_columns([*header, key], hints.columns).keys() != columns.keys():
                    raise InputError(
                        f"all records must have the same keys; none of the first {ROWS:,} has {reprlib.repr(key)}"
                    )
            place = partial(place_from, done)
            names = {role: header[i] for role, i in columns.items()}
            yield Part({role: _values(some, role, name, place) for role, name in names.items()}, len(some), place)
            done += len(some)

    return Table(header, cells, len(first) <= SHOWN, parts)


def _document(data: bytes) -> Any:
    """The document; of several, one per line, the list; of an array as NumPy prints it, its rows."""
    try:
        return json_of(data)
    except InputError as error:
        text = without_comments(decoded(data))
        if PRINTED.match(text):
            spelled = _spelled_out(text).encode()
            with suppress(InputError):  # what is no such array is said of the document as it stands
                return json_of(spelled)
        if "Extra data" not in str(error) or b"\n" not in data.strip():
            raise
        if data.count(b"\n") > MOST_DOCUMENTS:
            raise InputError(
                f"a .json file of several documents must have at most {MOST_DOCUMENTS:,} lines; it has more (name it"
                " .jsonl)"
            ) from None
        return [json_of(line) for line in data.split(b"\n") if line.strip()]


def _spelled_out(text: str) -> str:
    """The JSON of an array that NumPy has printed, with spaces between numbers, and perhaps a point after them."""
    if "..." in text:
        raise InputError(
            "the printed array leaves out numbers (...); write it with numpy.savetxt, or print it after"
            " numpy.set_printoptions(threshold=10**9)"
        )
    array = re.fullmatch(r"(?:\w+\.)?array\((.*?)(?:,\s*dtype=[\w.']+)?\)", text.strip(), re.DOTALL)
    divided = re.sub(r"(?<=[\d.\]])\s+(?=[-\d\[])", ",", array[1] if array else text)
    return re.sub(r"(?<=\d)\.(?!\d)", ".0", divided)


def _values(records: Sequence[Record], role: str, name: str, place: Place) -> NDArray[Any]:
    """The values of a key, numbers as numbers where these are counts or probabilities."""
    values: list[Any] = [record.get(name) for record in records]
    if role not in ("count", "p"):
        return np.fromiter(values, object, len(values))
    for i, value in enumerate(values):
        if type(value) not in (int, float):
            raise InputError(f"{place(i)}, {name} must be a number; it is {reprlib.repr(value)}")
        if abs(value) >= 2**63:
            raise InputError(f"{place(i)}, {role} must be at most 2^53; it is {reprlib.repr(value)}")
    whole = role == "count" and all(value % 1 == 0 for value in values)  # as integers none is rounded
    return np.array(list(map(int, values)), np.int64) if whole else np.array(values, np.float64)


def _lines(source: OpenFile) -> Iterator[Record]:
    """The record of every line that is not blank; the same line is parsed once."""
    known: dict[bytes, Record] = {}
    for number, line in enumerate(_split(source), 1):
        record = known.get(line)
        if record is not None:
            yield record
        elif line.strip():
            try:
                record = json_of(line)
            except InputError as error:
                raise InputError(f"line {number}: {error}") from None
            if not isinstance(record, dict):
                wanted = "a JSON object with the keys x and y"
                raise InputError(f"line {number} must be {wanted}; it is {reprlib.repr(record)}")
            if len(line) < _SHORT and len(known) < ROWS:
                known[line] = record
            yield record


def _split(source: OpenFile) -> Iterator[bytes]:
    room, rest = memoryview(bytearray(_BLOCK)), b""
    while n := source.fill(room):
        *lines, rest = (rest + room[:n].tobytes()).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST:
            raise InputError(f"a line of JSON must be shorter than {_LONGEST:,} bytes; one is longer")
    yield rest


def read_matrices(source: OpenFile, hints: Hints, counts: bool) -> list[NamedMatrix]:
    """The matrices of a document: by name, nested dictionaries, a list of lists, or a calibration of mthree."""
    document, name = source.parsed(_document), source.name
    if isinstance(document, list) and document:
        if None in document:  # as mthree saved calibrations once
            return named_matrix.mthree_matrices(document, None, counts=counts)
        first = document[0]
        if isinstance(first, list) and first and isinstance(first[0], list):
            return [_labelled(str(k), rows) for k, rows in enumerate(document)]
        matrix = _labelled(name, document)
        if counts and len({len(row) if isinstance(row, list) else 0 for row in document}) == 1:
            refuse_trials(np.array(document), hints)
        return [matrix]
    content = document if isinstance(document, dict) else {}
    if isinstance(content.get("cals"), list):
        return named_matrix.mthree_matrices(content["cals"], content.get("shots"), counts=counts)
    if "rows" in content:
        return [_labelled(name, content)]
    if "channels" in content:
        if "audit" in content:
            raise InputError(
                "this is the result of an identification; save it, and give the file to estimate or report"
            )
        if "asymptotic_verdict" in content:
            raise InputError("this is an estimate as JSON; save it, and give the file alone to estimate or report")
        if not isinstance(content["channels"], dict):
            raise InputError(
                f'"channels" must be an object of names and rows; it is {reprlib.repr(content["channels"])}'
            )
        return [_labelled(name, rows) for name, rows in content["channels"].items()]
    found = named_matrix.matrices_of(content, name)
    if found is None:
        values, way = list(content.values()), ""
        if values and all(isinstance(value, list) and value and isinstance(value[0], list) for value in values):
            way = ' (put {"channels": …} around these matrices)'
        elif {"x", "y"} <= content.keys():
            way = ' (pandas: to_json(path, orient="records"))'
        raise InputError(
            'the file must be a JSON object with the key "channels", records with the keys x and y, or'
            f" {{sent: {{got: n}}}}{way}; it is {reprlib.repr(document)}"
        )
    return found


def _labelled(name: str, content: Any) -> NamedMatrix:
    if named_matrix.is_nested(content):
        return named_matrix.matrix_of(name, content)
    content = content if isinstance(content, dict) else {"rows": content}
    if "rows" not in content or not content.keys() <= {"rows", "inputs", "outputs"}:
        raise InputError(
            f'channel "{name}" must have the keys rows and perhaps inputs and outputs; it has {", ".join(content)}'
        )
    for x, row in enumerate(content["rows"] if isinstance(content["rows"], list) else []):
        for y, cell in enumerate(row if isinstance(row, list) else []):
            if type(cell) not in (int, float):  # an array made of it would turn true into 1 and 0.5 into text
                raise InputError(
                    f'row x={x}, column y={y} of channel "{name}" must be a number; it is {reprlib.repr(cell)}'
                )
    inputs, outputs = content.get("inputs"), content.get("outputs")
    for side, labels in (("inputs", inputs), ("outputs", outputs)):
        if labels is not None and not (isinstance(labels, list) and {str, int}.issuperset(map(type, labels))):
            raise InputError(f'{side} of channel "{name}" must be a list of texts; it is {reprlib.repr(labels)}')
    return NamedMatrix(name, content["rows"], inputs and list(map(str, inputs)), outputs and list(map(str, outputs)))


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as JSON, one line per channel; labels are written unless they are 0, 1, 2, ..."""
    lines = []
    for name, channel in channels.items():
        sides = {"inputs": labels_or_none(channel.inputs), "outputs": labels_or_none(channel.outputs)}
        labels = {side: labels for side, labels in sides.items() if labels is not None}
        content = {"rows": channel.W.tolist(), **labels} if labels else channel.W.tolist()
        lines.append("  " + json.dumps({name: content}, ensure_ascii=False, allow_nan=False)[1:-1])
    return ('{"channels": {\n' + ",\n".join(lines) + "\n}}\n").encode()
