"""RESULT.json with anything in any place: a page, or one sentence; never a traceback."""

import contextlib
import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestchannel.errors import InputError
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.report.page import page
from bestchannel.report.summary import require_consistent
from tests.report.examples import decided, undecided
from tests.report.reading import Page

DOCUMENT = json.loads(json.dumps(as_document(decided())))


def places(value, path=()):
    """The paths to everything inside a document."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


PLACES = [path for path in places(DOCUMENT) if "stakes" not in path]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(10**20), 2**63 - 1, 1e308, float("inf"), float("nan"), -0.5, 0.5]),
    st.text(max_size=5),
    st.sampled_from(["cable", "<script>", "\ud800", "x" * 3000]),
    st.lists(st.integers(0, 5), max_size=3),
    st.dictionaries(st.sampled_from(["cable", "radio", "name"]), st.integers(-1, 9), max_size=2),
)


def put(document, path, value):
    for key in path[:-1]:
        document = document[key]
    if value is Ellipsis:
        del document[path[-1]]
    else:
        document[path[-1]] = value


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.one_of(ANYTHING, st.just(...))), min_size=1, max_size=3))
def test_any_value_in_any_place_gives_a_page_or_one_sentence(changes):
    document = copy.deepcopy(DOCUMENT)
    try:
        for path, value in changes:
            put(document, path, value)
    except (KeyError, IndexError, TypeError):
        return  # an earlier change removed the place
    with contextlib.suppress(InputError):
        source = page(from_document(document))
        source.encode()
        found = Page(source)
        assert (found.open, found.faults) == ([], [])


def test_the_fuzz_reaches_both_ends():
    # so that the test above is about something
    untouched = from_document(copy.deepcopy(DOCUMENT))
    assert "cable has the largest capacity." in page(untouched)
    broken = copy.deepcopy(DOCUMENT)
    broken["senses"] += 1
    with pytest.raises(InputError, match="contradicts itself"):
        page(from_document(broken))


def changed(**outcome):
    return {**copy.deepcopy(DOCUMENT), **outcome}


def with_counts(table):
    document = copy.deepcopy(DOCUMENT)
    document["audit"]["steps"][0]["counts"]["cable"] = table
    return document


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (changed(delta=0), "delta of the record cannot be right; it is '0.0'"),
        (changed(delta="small"), r"Expected `float`, got `str` - at `\$\.delta`"),
        (changed(epsilon=-1), "epsilon of the record"),
        (changed(senses=3.5), r"Expected `int`, got `float` - at `\$\.senses`"),
        (changed(senses=-1), "senses of the record"),
        (changed(decided=False), "decided of the record"),
        (changed(best="nobody"), "none of its channels"),
        (changed(candidates=["nobody"]), "none of its channels"),
        (with_counts([[1, 2, 3]]), "2 x 2 counts"),
        (with_counts([[1, -2], [1, 1]]), "Expected `int` >= 0"),
        (with_counts([[1, 2], [1, 1]]), "contradicts itself"),
    ],
)
def test_a_record_that_cannot_be_right_is_refused_by_name(document, sentence):
    with pytest.raises(InputError, match=sentence):
        require_consistent(from_document(document))


def test_records_of_real_identifications_do_not_contradict_themselves():
    require_consistent(decided())
    require_consistent(undecided())
