"""The scan of text against the answers of its predecessor of version 0.2.0, on rows of all kinds, and its memory."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bestchannel.native import scan as kernel
from bestchannel.native.scan import Scan

GOLDEN = json.loads((Path(__file__).parent / "scan_of_0.2.0.json").read_text())


def scanned(text, **form):
    columns = {"width": 2, "key": (0, 1), "count": None, "delimiter": ",", "quote": '"', **form}
    scan = Scan(SimpleNamespace(**columns))
    return scan, scan(np.frombuffer(text, np.uint8), 0, True)


def test_rows_are_numbered_as_they_were():
    for case in GOLDEN:
        scan = Scan(SimpleNamespace(**case["form"]))
        codes, counts, stop, why = scan(np.frombuffer(case["text"].encode("latin-1"), np.uint8), 0, case["final"])
        assert (codes.tolist(), counts.tolist(), stop) == (case["codes"], case["counts"], case["stop"]), case
        assert (why == kernel.ODD, why == kernel.MORE) == (case["odd"], case["needs_more"]), case
        assert scan.state[kernel.LINE] == case["line"], case
        assert [[cell.decode("latin-1") for cell in scan.key(k)[0]] for k in range(scan.state[0])] == case["keys"], case


def test_golden_cases_end_in_every_way():
    assert {(case["odd"], case["needs_more"]) for case in GOLDEN} == {(True, False), (False, True)}


def test_keys_keep_their_numbers_when_the_memory_grows():
    text = "".join(f"x{i % 7000},{i % 3}\n" for i in range(30_000)).encode()
    scan, stop, codes = Scan(SimpleNamespace(width=2, key=(0, 1), count=None, delimiter=",", quote="")), 0, []
    while stop < len(text):
        some, _, stop, _ = scan(np.frombuffer(text, np.uint8), stop, True)
        codes += some.tolist()
    cells = [b",".join(scan.key(code)[0]) for code in codes]
    assert cells == text.split()
    assert scan.state[0] == len(set(cells)) == 21_000
    first = {cell: len(cells) - i for i, cell in enumerate(reversed(cells))}
    assert [scan.key(code)[1] for code in range(scan.state[0])] == sorted(first.values())


@pytest.mark.parametrize("text", [b"", b"\n", b"\r", b'"', b'"a', b",", b"a,b", b"a,b\r", b"\xff\xfe,\xff"])
def test_the_shortest_texts_end_within_themselves(text):
    _, (_, _, stop, _) = scanned(text)
    assert 0 <= stop <= len(text)


def test_a_scan_that_begins_outside_the_text_is_refused():
    scan, _ = scanned(b"")
    for start in (-1, 3):
        with pytest.raises(ValueError, match="must begin within the text of 2 bytes"):
            scan(np.zeros(2, np.uint8), start, True)
