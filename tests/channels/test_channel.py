"""The channel: what is accepted, kept, compared and refused."""

import copy
import dataclasses
import pickle
import re
from decimal import Decimal

import numpy as np
import pytest

from bestchannel import BestChannelError, Channel, InputError
from bestchannel.arrays import ROW_SUM_TOLERANCE
from bestchannel.channels import as_channel

ROWS = [[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]


def refusal(message):
    """The whole message, literally."""
    return pytest.raises(InputError, match=f"^{re.escape(message)}$")


def test_rows_within_the_tolerance_are_kept_to_the_bit():
    rows = [[1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7 + 0.9 * ROW_SUM_TOLERANCE]]
    channel = Channel.from_rows(rows)
    assert channel.W.tolist() == rows
    assert channel.rescaled == 0.0


def test_normalize_keeps_rows_that_need_nothing_to_the_bit():
    channel = Channel.from_rows(ROWS, normalize=True)
    assert channel.W.tolist() == ROWS
    assert channel.rescaled == 0.0


def test_normalize_reports_the_largest_excess_it_removed():
    channel = Channel.from_rows([[0.5, 0.25], [1.5, 0.5]], normalize=True)
    # all numbers are dyadic: sums 3/4 and 2, so the excess is 1 and the quotients round once
    assert channel.rescaled == 1.0
    assert channel.W.tolist() == [[0.5 / 0.75, 0.25 / 0.75], [0.75, 0.25]]


def test_the_matrix_is_a_copy_that_cannot_be_written():
    rows = np.array(ROWS)
    channel = Channel.from_rows(rows)
    rows[0, 0] = 0.0
    assert channel.W[0, 0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        channel.W[0, 0] = 0.0


@pytest.mark.parametrize("field", ["W", "inputs", "outputs", "name", "rescaled", "n_inputs"])
def test_fields_cannot_be_assigned(field):
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        setattr(Channel.from_rows(ROWS), field, None)


def test_sizes_are_those_of_the_matrix():
    channel = Channel.from_rows(ROWS)
    assert (channel.n_inputs, channel.n_outputs) == (2, 3)
    assert repr(channel) == "Channel(2 inputs, 3 outputs)"
    assert repr(Channel.from_rows(ROWS, name="q7")) == "Channel('q7', 2 inputs, 3 outputs)"


def test_labels_are_numbers_from_zero_unless_given():
    plain = Channel.from_rows(ROWS)
    assert (plain.inputs, plain.outputs) == (("0", "1"), ("0", "1", "2"))
    named = Channel.from_rows(ROWS, inputs=["low", 5], outputs="abc")
    assert (named.inputs, named.outputs) == (("low", "5"), ("a", "b", "c"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": ["a"]}, 'inputs of channel "q7" must have 2 labels; 1 were given'),
        ({"outputs": ["a", "b", "c", "d"]}, 'outputs of channel "q7" must have 3 labels; 4 were given'),
        ({"outputs": ["a", "b", "a"]}, "outputs of channel \"q7\" must have distinct labels; 'a' occurs twice"),
        ({"inputs": [1, "1"]}, "inputs of channel \"q7\" must have distinct labels; '1' occurs twice"),
    ],
)
def test_labels_that_do_not_fit_are_refused(options, message):
    with refusal(message):
        Channel.from_rows(ROWS, name="q7", **options)


def test_channels_are_equal_when_rows_labels_and_name_are():
    channel = Channel.from_rows(ROWS, name="q7")
    same = Channel.from_rows(np.asfortranarray(ROWS), name="q7")
    assert channel == same
    assert hash(channel) == hash(same)
    assert channel != Channel.from_rows(ROWS, name="q8")
    assert channel != Channel.from_rows(ROWS, name="q7", inputs="ab")
    assert channel != Channel.from_rows(ROWS, name="q7", outputs="abc")
    assert channel != Channel.from_rows([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3]], name="q7")
    assert channel != ROWS


def test_channels_of_other_shape_differ():
    assert Channel.from_rows(np.ones((1, 1))) != Channel.from_rows(np.ones((2, 1)))
    assert Channel.from_rows([[1.0, 0.0]]) != Channel.from_rows([[1.0], [1.0]])


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_copied_or_pickled_channel_is_equal(again):
    channel = Channel.from_rows(ROWS, name="q7", inputs="ab")
    assert again(channel) == channel


def test_as_channel_passes_a_channel_through_and_reads_rows():
    channel = Channel.from_rows(ROWS)
    assert as_channel(channel) is channel
    assert as_channel(ROWS) == channel
    assert as_channel([[0.25, 0.25]], normalize=True) == Channel.from_rows([[0.5, 0.5]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64])
def test_every_real_number_type_is_read_as_double(dtype):
    channel = Channel.from_rows(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert channel.W.dtype == np.float64
    assert channel == Channel.from_rows([[1, 0], [0, 1]])


def test_a_transposed_or_strided_matrix_is_read_by_its_entries():
    rows = np.array(ROWS)
    wide = np.zeros((4, 6))
    wide[::2, ::2] = rows
    assert Channel.from_rows(rows.T.copy().T) == Channel.from_rows(ROWS)
    assert Channel.from_rows(wide[::2, ::2]) == Channel.from_rows(ROWS)


CHANNEL = 'channel "q7"'

REFUSED = {
    "NaN": ([[0.5, 0.5], [0.5, np.nan]], f"row x=1, column y=1 of {CHANNEL} must be a finite number >= 0; it is nan"),
    "inf": ([[0.5, 0.5], [np.inf, 0.5]], f"row x=1, column y=0 of {CHANNEL} must be a finite number >= 0; it is inf"),
    "minus inf": ([[-np.inf, 1.0]], f"row x=0, column y=0 of {CHANNEL} must be a finite number >= 0; it is -inf"),
    "negative": (
        [[0.5, 0.5], [1.25, -0.25]],
        f"row x=1, column y=1 of {CHANNEL} must be a finite number >= 0; it is -0.25",
    ),
    "row sum": (
        [[0.5, 0.5], [0.5, 0.47]],
        f"row x=1 of {CHANNEL} must sum to 1 within 1e-09; it sums to 0.97"
        " (normalize=True or --normalize divides each row by its sum)",
    ),
    "row sum just beyond the tolerance": (
        [[0.5, 0.500000002]],
        f"row x=0 of {CHANNEL} must sum to 1 within 1e-09; it sums to 1.000000002"
        " (normalize=True or --normalize divides each row by its sum)",
    ),
    "counts": (
        [[8, 2], [30, 7]],
        f"row x=1 of {CHANNEL} looks like counts (whole numbers with sum 37), and a channel requires"
        " probabilities; use `estimate` for counts, or divide percentages by 100",
    ),
    "no rows": ([], f"{CHANNEL} must not be empty; its shape is (0,)"),
    "empty rows": ([[], []], f"{CHANNEL} must not be empty; its shape is (2, 0)"),
    "empty matrix": (np.zeros((0, 3)), f"{CHANNEL} must not be empty; its shape is (0, 3)"),
    "a number": (
        1.0,
        f"{CHANNEL} must be a matrix (one row per input, one column per output); it has 0 dimensions",
    ),
    "a vector": (
        [0.5, 0.5],
        f"{CHANNEL} must be a matrix (one row per input, one column per output); it has 1 dimension",
    ),
    "a stack": (
        np.full((2, 2, 2), 0.5),
        f"{CHANNEL} must be a matrix (one row per input, one column per output); it has 3 dimensions",
    ),
    "complex": (np.eye(2, dtype=complex), f"{CHANNEL} must hold real numbers; it has dtype complex128"),
    "bool": (np.eye(2, dtype=bool), f"{CHANNEL} must hold real numbers; it has dtype bool"),
    "dates": (np.zeros((1, 1), dtype="M8[s]"), f"{CHANNEL} must hold real numbers; it has dtype datetime64[s]"),
    "ragged": ([[0.5, 0.5], [1.0]], f"row x=1 of {CHANNEL} must have 2 entries like row x=0; it has 1"),
    "text cell": ([[0.5, "half"]], f"row x=0, column y=1 of {CHANNEL} must be a number; it is 'half'"),
    "None cell": ([[0.5, 0.5], [None, 1.0]], f"row x=1, column y=0 of {CHANNEL} must be a number; it is None"),
    "Decimal cell": ([[Decimal(1)]], f"row x=0, column y=0 of {CHANNEL} must be a number; it is Decimal('1')"),
    "text": ("ab", f"row x=0 of {CHANNEL} must be a list of numbers; it is 'a'"),
    "row of text": ([[0.5, 0.5], "ab"], f"row x=1 of {CHANNEL} must be a list of numbers; it is 'ab'"),
    "nothing": (None, f"{CHANNEL} must be a rectangular matrix of numbers"),
    "mapping": ({"a": 1}, f"{CHANNEL} must be a rectangular matrix of numbers"),
}


@pytest.mark.parametrize(("rows", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_channel_is_refused_by_name_and_place(rows, message):
    with refusal(message):
        Channel.from_rows(rows, name="q7")


@pytest.mark.parametrize("case", [name for name in REFUSED if not name.startswith("row sum")])
def test_normalize_mends_row_sums_only(case):
    rows, message = REFUSED[case]
    with refusal(message):
        Channel.from_rows(rows, name="q7", normalize=True)


def test_a_row_of_zeros_cannot_be_normalized():
    with refusal("row x=1 of the channel sums to 0 and cannot be normalized"):
        Channel.from_rows([[0.5, 0.5], [0.0, 0.0]], normalize=True)


def test_entries_whose_sum_overflows_are_refused():
    with refusal("row x=0 of the channel must have a finite sum; its entries add up to more than 1e308"):
        Channel.from_rows([[1.5e308, 1.5e308]], normalize=True)


def test_a_refusal_is_both_the_librarys_and_a_value_error():
    for kind in (BestChannelError, ValueError, InputError):
        with pytest.raises(kind, match="the channel"):
            Channel.from_rows([[0.5]])


def test_a_permutation_matrix_of_whole_numbers_is_a_channel_and_no_counts():
    assert Channel.from_rows([[0, 1], [1, 0]]).W.tolist() == [[0.0, 1.0], [1.0, 0.0]]
