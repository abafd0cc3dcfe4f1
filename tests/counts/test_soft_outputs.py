"""Measured outputs are recognised, in whatever they come, and logs of labels are never taken for them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bestchannel as bc
from bestchannel.counts import read_counts
from bestchannel.counts.labelled_counts import measured, refuse_measured
from bestchannel.errors import InputError

REFUSAL = "look like measured values"


def noisy(n, spread=0.8, seed=1):
    """Inputs 0 and 1 sent as -1 and 1, and what is received under Gaussian noise."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n)
    return x, 2 * x - 1 + rng.normal(0.0, spread, n)


def csv(x, y):
    return "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True))


FILES = {
    "short.csv": lambda path, x, y: path.write_text(csv(x, y)),
    "rounded.csv": lambda path, x, y: path.write_text(csv(x, (f"{v:.3f}" for v in y))),
    "comma.txt": lambda path, x, y: path.write_text(
        "x;y\n" + "".join(f"{a};{b:.6f}\n".replace(".", ",") for a, b in zip(x, y, strict=True))
    ),
    "complex.csv": lambda path, x, y: path.write_text(csv(x, y + 1j * y[::-1])),
    "adc.csv": lambda path, x, y: path.write_text(csv(x, (10_000 * y).astype(int))),
    "log.parquet": lambda path, x, y: pq.write_table(pa.table({"x": x, "y": y}), path),
    "log.npz": lambda path, x, y: np.savez(path, x=x, y=y),
    "iq.npz": lambda path, x, y: np.savez(path, x=x, y=y + 1j * y[::-1]),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("read", [bc.read_counts, bc.read_trials])
def test_measured_outputs_of_any_file_are_refused_with_the_way_out(tmp_path, name, read):
    FILES[name](tmp_path / name, *noisy(2000))
    with pytest.raises(InputError, match=f"{REFUSAL}.*--bins 8.*--bins=-1,0,1.*--bins none"):
        read(tmp_path / name)
    assert read(tmp_path / name, bins="none")


def test_measured_outputs_of_a_frame_are_refused():
    x, y = noisy(300)
    with pytest.raises(InputError, match=REFUSAL):
        bc.estimate(pd.DataFrame({"x": x, "y": y}))
    with pytest.raises(InputError, match=REFUSAL):
        bc.Recording(pd.DataFrame({"x": x, "y": y}))


def test_lines_of_leakiest_and_numbers_with_a_unit_are_recognised(tmp_path):
    x, y = noisy(300)
    path = tmp_path / "log.txt"
    path.write_text("".join(f"({a}, {b})\n" for a, b in zip(x, y, strict=True)))
    with pytest.raises(InputError, match=REFUSAL):
        bc.read_counts(path)
    path.write_text(csv(x, (f"{v:.4f} dBm" for v in y)))
    with pytest.raises(InputError, match=REFUSAL):
        bc.read_counts(path)


def test_measured_inputs_are_refused_too(tmp_path):
    x, y = noisy(300)
    path = tmp_path / "log.csv"
    path.write_text(csv(y, x))
    for read in (bc.read_counts, bc.read_trials):
        with pytest.raises(InputError, match=r"the inputs of channel .* look like measured values.*exchanged"):
            read(path)
        assert read(path, bins="none")
    path.write_text(csv(y, y))
    with pytest.raises(InputError, match="the inputs of channel"):
        bc.read_counts(path, bins=[0])


def test_a_log_of_more_than_four_megabytes_is_refused_alike(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(csv(*noisy(250_000)))
    assert path.stat().st_size > 2**22
    with pytest.raises(InputError, match=REFUSAL):
        bc.read_counts(path)


@pytest.mark.parametrize(
    ("labels", "n"),
    [
        ([f"{level / 2}" for level in range(-180, -80)], 2000),  # RSSI in half decibels
        ([f"{level / 10}" for level in range(8)], 12),
        ([str(label) for label in range(1000)], 600),  # a thousand classes, fewer senses
        ([f"word{label}" for label in range(5000)], 3000),
        ([f"{label}.5" for label in range(4000)] + ["lost"], 3000),  # one label is no number
    ],
)
def test_labels_are_not_taken_for_measurements(tmp_path, labels, n):
    rng = np.random.default_rng(2)
    path = tmp_path / "log.csv"
    path.write_text(csv(rng.integers(0, 2, n), rng.choice(labels, n)) + f"0,{labels[-1]}\n")
    assert bc.read_counts(path)
    assert bc.read_trials(path)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_ten_senses_per_output_are_never_refused(counts):
    """Singletons are at most the outputs, so at most a tenth of the senses."""
    totals = np.array(counts)
    totals[0] += max(0, 10 * len(totals) - totals.sum())
    refuse_measured("log", [f"{i}.25" for i in range(len(totals))], totals)


def test_declared_outputs_are_labels(tmp_path):
    x, y = noisy(200)
    path = tmp_path / "log.csv"
    path.write_text(csv(x, y))
    assert bc.read_counts(path, outputs=[str(v) for v in y])["log"].counts.sum() == 200


def test_counts_of_a_matrix_are_never_refused(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("," + ",".join(f"{i}.5" for i in range(40)) + "\n0," + ",".join("1" * 40) + "\n")
    assert bc.read_counts(path)["matrix"].counts.shape == (1, 40)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("1", (1.0,)),
        (" -0.5 ", (-0.5,)),
        ("1e-3", (0.001,)),
        (".5", (0.5,)),
        ("-inf", (-np.inf,)),
        ("0,25", (0.25,)),
        ("(1+2j)", (1.0, 2.0)),
        ("1.5-2e-1j", (1.5, -0.2)),
        ("3-4i", (3.0, -4.0)),
        ("-2.5j", (0.0, -2.5)),
        ("j", None),
        ("nan", None),
        ("1_000", None),
        ("1+2", None),
        ("0x10", None),
        ("lost", None),
        ("", None),
    ],
)
def test_labels_that_spell_numbers(label, value):
    assert measured(label) == value


@given(st.complex_numbers(allow_nan=False, allow_infinity=False))
def test_a_complex_number_is_read_as_python_writes_it(point):
    assert measured(str(point)) == (point.real, point.imag)


def test_measured_numbers_with_a_sign_between_thousands_are_refused(tmp_path):
    """1,003 beside 998 is no decimal number; beside 0,5 or alone it is one."""
    path = tmp_path / "log.txt"
    path.write_text("x;y\n" + "".join(f"{i % 2};{('998', '1,003')[i % 2]}\n" for i in range(40)))
    with pytest.raises(InputError, match="line 3, y is '1,003', which may be a number of thousands"):
        read_counts(path, bins=[1.0])
    path.write_text("x;y\n" + "".join(f"{i % 2};{('1,103', '1,003')[i % 2]}\n" for i in range(40)))
    assert read_counts(path, bins=[1.05])["log"].counts.tolist() == [[0, 20], [20, 0]]
