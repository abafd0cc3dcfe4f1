"""Counts in MAT files, as scipy writes them and MATLAB does."""

import struct

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from bestchannel.counts import read_counts
from bestchannel.errors import InputError

A = np.array([[9, 1], [2, 8]])
B = np.array([[5, 5, 0], [1, 1, 8]])


def read(tmp_path, variables, **options):
    savemat(tmp_path / "counts.mat", variables)
    return read_counts(tmp_path / "counts.mat", **options)


def tables(found):
    return {name: content.counts.tolist() for name, content in found.items()}


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_every_matrix_is_a_channel(tmp_path, dtype):
    assert tables(read(tmp_path, {"a": A.astype(dtype), "b": B.astype(dtype)})) == {"a": A.tolist(), "b": B.tolist()}


def test_packed_variables_are_read(tmp_path):
    savemat(tmp_path / "counts.mat", {"a": A, "many": {"b": B}}, do_compression=True)
    assert tables(read_counts(tmp_path / "counts.mat")) == {"a": A.tolist(), "many.b": B.tolist()}


def test_file_of_a_machine_with_the_other_byte_order_is_read(tmp_path):
    # one matrix of doubles stored as bytes, written by hand after the published format
    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data.ljust(-(-len(data) // 8) * 8, b"\0")

    parts = [(6, struct.pack(">II", 6, 0)), (5, struct.pack(">ii", 2, 2)), (1, b"a"), (2, bytes([9, 2, 1, 8]))]
    matrix = b"".join(element(kind, data) for kind, data in parts)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    (tmp_path / "counts.mat").write_bytes(header + element(14, matrix))
    assert tables(read_counts(tmp_path / "counts.mat")) == {"a": A.tolist()}


def test_stack_has_its_channels_along_the_third_dimension(tmp_path):
    assert tables(read(tmp_path, {"links": np.stack([A, A + 1, A + 2], axis=2)})) == {
        "links(1)": A.tolist(),
        "links(2)": (A + 1).tolist(),
        "links(3)": (A + 2).tolist(),
    }


def test_struct_and_cell_of_matrices_are_channels(tmp_path):
    assert tables(read(tmp_path, {"links": {"good": A, "bad": B}})) == {"good": A.tolist(), "bad": B.tolist()}
    cell = np.empty((1, 2), dtype=object)
    cell[0, 0], cell[0, 1] = A, B
    assert tables(read(tmp_path, {"links": cell})) == {"links{1}": A.tolist(), "links{2}": B.tolist()}


def test_cells_of_texts_label_inputs_and_outputs(tmp_path):
    labels = {"inputs": np.array(["kitten", "puppy"], dtype=object), "outputs": np.array(["cat", "dog"], dtype=object)}
    content = read(tmp_path, {"a": A, **labels})["a"]
    assert (content.inputs, content.outputs) == (("kitten", "puppy"), ("cat", "dog"))


def test_vectors_x_and_y_are_a_log(tmp_path):
    found = read(tmp_path, {"x": np.array([1, 1, 2.0]), "y": np.array([[1], [2], [2]]), "count": np.array([4, 1, 6])})
    assert tables(found) == {"counts": [[4, 1], [0, 6]]}


def test_vectors_of_which_one_counts_are_not_channels_of_one_input(tmp_path):
    with pytest.raises(InputError, match="rows must have the columns x and y"):
        read(tmp_path, {"Bit": np.array([68, 5, 68]), "bar": np.array([0, 1, 2]), "number": np.array([868, 4186, 901])})


def test_transpose_takes_columns_for_inputs(tmp_path):
    assert tables(read(tmp_path, {"a": A.T}, transpose=True)) == {"a": A.tolist()}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"a": A, "note": "text"}, "the variable note must be a matrix of counts.* it is a text"),
        ({"a": A * 1j}, "the variable a must be a full matrix of real numbers; it is complex"),
        ({"a": csc_array(A)}, "the variable a must be a full matrix of real numbers; it is sparse"),
        ({"a": np.array([(A,), (A,)], dtype=[("m", object)])}, "it is a cell or struct array"),
        ({"a": A / 7}, r'row x=0, column y=0 of the counts of channel "a" must be a whole number'),
        ({"a": -A}, "it is -9"),
        ({"a": np.zeros((2, 0))}, "must not be empty"),
        ({}, "at least one channel"),
        ({"x": np.arange(3), "y": np.arange(4)}, r"equally long; their lengths are {'x': 3, 'y': 4}"),
        ({"a": A, "inputs": np.array(["one"], dtype=object)}, "a different label for each of their 2 inputs"),
    ],
)
def test_other_variables_are_refused_by_name(tmp_path, variables, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, variables)


def test_version_7_3_is_refused_with_the_way_out(tmp_path):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n"
    (tmp_path / "counts.mat").write_bytes(header)
    with pytest.raises(InputError, match=r"version 7\.3, which is not read; save it in MATLAB with .*'-v7'"):
        read_counts(tmp_path / "counts.mat")


def test_damaged_and_older_files_are_refused(tmp_path):
    path = tmp_path / "counts.mat"
    savemat(path, {"a": A})
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(InputError, match=r"counts\.mat: the MAT file ends 66 bytes too early"):
        read_counts(path)
    savemat(path, {"a": A.astype(float)}, format="4")
    with pytest.raises(InputError, match="must be a MAT file of version 5 to 7"):
        read_counts(path)
