"""Small files that ask for much room: `python -m tests.counts.bombs FOLDER` reads each and prints what it took.

One line of JSON per file: its name, its size, the refusal, and how far the largest memory of the process has risen, in
bytes, since before the first.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import resource
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from bestchannel.counts import read_channels, read_counts, read_trials, table_files
from bestchannel.errors import BestChannelError

GIGABYTE = 10**9


def npy_header(shape, dtype="<i8"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def npz(shape, method, dtype="|i1", size=GIGABYTE):
    """An archive with one array, of which `size` bytes are there, all zero.

    Deflated, they are one block again and again; the check sum at the end is wrong, but who looks there is too late.
    """
    if method != zipfile.ZIP_DEFLATED:
        packer = {zipfile.ZIP_BZIP2: bz2.compress, zipfile.ZIP_LZMA: lzma.compress, zipfile.ZIP_STORED: bytes}[method]
        return zipped(b"a.npy", packer(npy_header(shape, dtype) + bytes(size)), method, size)
    packer = zlib.compressobj(9, wbits=-15)
    head = packer.compress(npy_header(shape, dtype)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(10**7)) + packer.flush(zlib.Z_FULL_FLUSH)
    return zipped(b"a.npy", head + block * (size // 10**7) + packer.flush(), method, size)


def zipped(name, data, method, size):
    """A zip archive with one member, as it is packed already."""
    check, size = (zlib.crc32(data), len(data)) if method == zipfile.ZIP_STORED else (0, size + 128)
    about = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0, check, len(data), size, len(name), 0)
    local = b"PK\x03\x04" + about + name + data
    central = b"PK\x01\x02" + struct.pack("<H", 20) + about + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def mat(content):
    packed = zlib.compress(content, 1)
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed


def matrix(kind, shape, data):
    parts = [(6, struct.pack("<II", kind, 0)), (5, struct.pack(f"<{len(shape)}i", *shape)), (1, b"a")]
    return element(14, b"".join(element(*part) for part in parts) + data)


def parquet(table, **options):
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def arrow(table, codec):
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def lying_page():
    """A Parquet file whose first page says that it unpacks to 2 GB, which nothing else in the file says."""
    data = bytearray(parquet(pa.table({"x": ["0", "1"], "y": ["0", "1"]}), use_dictionary=False, compression="gzip"))
    at = data.index(b"\x15\x00\x15") + 3  # the type of a data page, 0, then its size as a varint of one byte
    data[at : at + 1] = b"\xfe\xff\xff\xff\x0f"
    return bytes(data)


def xlsx(member):
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(b" " * 10**7) + packer.flush(zlib.Z_FULL_FLUSH)
    return zipped(member, block * 100 + packer.flush(), zipfile.ZIP_DEFLATED, GIGABYTE)


def workbook(member, before, more):
    """A workbook with more markup in one of its members."""
    book, plain, buffer = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    book.active.append(["x", "y"])
    book.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(before, more + before) if name == member else old.read(name))
    return buffer.getvalue()


def gzipped(head, piece, size):
    """Packed text that begins with `head` and goes on with pieces."""
    many = piece * (10**7 // len(piece))
    return gzip.compress(head) + gzip.compress(many) * (size // len(many))


LONG = {"x": pa.DictionaryArray.from_arrays(pa.array(np.zeros(6000, np.int32)), ["a" * 10**6]), "y": ["b"] * 6000}

BOMBS = {
    "deflate.npz": lambda: npz((10**5, 10**4), zipfile.ZIP_DEFLATED),
    "bzip2.npz": lambda: npz((10**4, 10**4), zipfile.ZIP_BZIP2, size=10**7),
    "lzma.npz": lambda: npz((10**4, 10**4), zipfile.ZIP_LZMA, size=10**7),
    "texts.npz": lambda: npz((10**3,), zipfile.ZIP_DEFLATED, "<U1000000"),
    "nothing.npz": lambda: npz((10**6, 10**6), zipfile.ZIP_STORED, "<U0", size=0),
    "claimed.npy": lambda: npy_header((10**5, 10**5)),
    "zeros.mat": lambda: mat(matrix(6, (10**4, 10**4), element(2, bytes(10**8)))),
    "cells.mat": lambda: mat(matrix(1, (10**7, 1), element(14, b"") * 10**7)),
    "fields.mat": lambda: mat(matrix(2, (1, 1), element(5, struct.pack("<i", 1)) + element(1, b"a" * 10**8))),
    "dimensions.mat": lambda: mat(matrix(6, (2,) * 10**6, b"")),
    "labels.parquet": lambda: parquet(pa.table(LONG), compression="zstd", store_schema=False),
    "lying.parquet": lying_page,
    "buffer.arrow": lambda: arrow(pa.table({"x": np.zeros(10**8), "y": np.zeros(10**8)}), "zstd"),
    "sheet.xlsx": lambda: xlsx(b"xl/workbook.xml"),
    "formats.xlsx": lambda: workbook("xl/styles.xml", b"</cellXfs>", b"<xf/>" * 8 * 10**6),
    "cells.xlsx": lambda: workbook("xl/worksheets/sheet1.xml", b"</row>", b"<c/>" * 4 * 10**6),
    "letters.mat": lambda: mat(matrix(6, (2**24, 1), element(2, b"\1" * 2**24))),
    "matrix.csv.gz": lambda: gzipped(b"1,1\n", b",", 2 * GIGABYTE),
    "rows.csv.gz": lambda: gzipped(b"x,y\n", b" ", GIGABYTE),
    "document.json.gz": lambda: gzipped(b'{"channels": {"a": [[', b"[],", GIGABYTE),
    "numbers.json.xz": lambda: lzma.compress(b'{"channels": {"a": [[' + b"0," * 2 * 10**7, preset=1),
    "lines.jsonl.gz": lambda: gzipped(b'{"x": 0, "y": "', b"a", GIGABYTE),
    "commas.txt": lambda: b"(" + b"," * 10**6,
    "digits.csv": lambda: b"x,y,count\na,b," + b"9" * 10**6 + b"x\n",
    "quotes.csv": lambda: b'" ' * 10**6,
}
"""By the name of the file; all take less than a megabyte on disk, except those that show where time goes."""


def refusal(path):
    """What every reader says of the file."""
    said = []
    for read in (read_counts, read_trials, read_channels):
        try:
            read(path)
            said.append("read")
        except BestChannelError as error:
            said.append(str(error).removeprefix(f"{path}: "))
    return said


def peak():
    """The largest memory so far, of this process or of a decoder."""
    table_files.end_idle()  # what a process took is known once it has ended
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1024


def main(folder):
    before = peak()
    for path in sorted(Path(folder).iterdir()):
        said = refusal(path)
        print(
            json.dumps({"name": path.name, "size": path.stat().st_size, "said": said, "risen": peak() - before}),
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1])
