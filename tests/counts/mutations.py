"""Mutated files: `python -m tests.counts.mutations FILES SEED [WORKERS]` prints what became of each.

Sound files of every format are changed: bits, bytes, pieces, fields that look like lengths, members of archives and what
is packed inside (with sums that are right again), headers of Thrift and of flat buffers, numbers in texts, parts many times
over. Each is below a megabyte and is read in a process that must neither crash nor raise anything but one sentence of
ours, nor take more than `ROOM` bytes or `SECONDS` of a processor. File i of a seed is always the same; `one(seed, i)` gives
it, and the readers that are tried.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from scipy.io import savemat

import bestchannel as bc
from bestchannel.counts.data_files import FORMATS
from bestchannel.errors import BestChannelError
from tests.counts import written

ROOM, SECONDS, LARGEST = 2**30, 60, 10**6
HARD, HANGS = 4 * 2**30, 1800
"""Where a worker that takes too much is stopped, or one that seems to wait for ever, in seconds of the clock."""

DECODED = (".parquet", ".arrow", ".feather", ".ipc", ".xlsx")
"""What a process of its own decodes, which takes longer: one reader is tried, not two."""

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lambda data: lzma.compress(data, preset=0),
        ".zst": lambda data: pa.compress(data, "zstd", asbytes=True)}  # fmt: skip
LENGTHS = [
    0,
    1,
    2,
    127,
    128,
    255,
    2**15,
    2**16 - 1,
    2**20,
    2**28,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**64 - 1,
]
PIECES = [b"\0", b"\xff", b"\x80", b"\x7f", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"'", b"\r", b"\n", b",", b";", b"\t", b" ", b"(", b")",
          b"[", b"{", b"]", b"}", b":", b"#", b"//", b"-", b".", b"e", b"1e999", b"nan", b"inf", b"9" * 30, b"9" * 5000, b"1e309",
          b"x,y\n", b"x", b"count", b"null", b"true", b"\\ud800", b"\\u0000", b"&#1;", b"&amp;", b"<!--", b"<![CDATA[", b"PK\x03\x04",
          b"PAR1", b"ARROW1", b"\x93NUMPY", b"\x1f\x8b\x08", "\u2028".encode(), "é".encode(), b"[" * 100000]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
TAG = re.compile(rb"<[A-Za-z][^<>]*/>|<([A-Za-z]+)\b[^<>]*>[^<>]*</\1>")
NUMBERS = [
    b"0",
    b"-1",
    b"1e3",
    b"1e400",
    b"0.5",
    b"nan",
    b"9" * 19,
    b"9" * 400,
    b"18446744073709551616",
    b"2147483648",
    b"1_0",
    b"0x10",
]


def matrix(draw):
    inputs = draw.sample(["0", "1", "2", "a", "b", "é", "a b", "x", "lost"], draw.randint(1, 4))
    outputs = draw.sample(["0", "1", "2", "c", "d", "日本", "y", "heard"], draw.randint(1, 4))
    return np.array([[draw.randrange(200) for _ in outputs] for _ in inputs]), inputs, outputs


def arrow(table, *, stream=False, **options):
    buffer = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(buffer, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def parquet(table, **options):
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def mat(draw, m):
    buffer = io.BytesIO()
    cells = np.empty(len(m[1]), object)
    cells[:] = m[1]
    content = draw.choice(
        [{"q": m[0]}, {"q": m[0], "r": {"a": m[0]}}, {"x": [0, 1, 1], "y": [1, 0, 1]}, {"q": m[0], "inputs": cells}]
    )
    savemat(buffer, content, do_compression=draw.random() < 0.6)
    return buffer.getvalue()


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def many_sheets(m):
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for title in ("near", "far"):
        sheet = book.create_sheet(title)
        for row in written.matrix_rows(*m):
            sheet.append(list(row))
    book.save(buffer)
    return buffer.getvalue()


def tables(draw, m):
    """A table of rows as Arrow may hold it."""
    kind = draw.randrange(4)
    rows = pa.table(written.frame(*m))
    if kind == 1:
        return pa.table(
            {name: rows[name].dictionary_encode() if name in "xy" else rows[name] for name in rows.column_names}
        )
    if kind == 2:
        n = draw.choice([5, 3000])
        return pa.table(
            {"x": [i % 3 for i in range(n)], "y": [str(i * i % 5) for i in range(n)], "t": [i / 7 for i in range(n)]}
        )
    if kind == 3:
        return pa.table({"channel": ["q"] * 4, "x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "p": [0.9, 0.1, 0.2, 0.8]})
    return rows


def channels(m):
    shares = (m[0] + 1) / (m[0] + 1).sum(axis=1, keepdims=True)
    return {"q": bc.Channel(shares, name="q", inputs=m[1], outputs=m[2])}


@cache
def bank(seed):
    """Sound files: name and content."""
    draw, found = random.Random(f"bank {seed}"), []
    for _ in range(4):
        m = matrix(draw)
        found += [(kind, write(*m)) for kind, write in written.KINDS.items()]
        found += [
            (f"channels{ending}", format.render(channels(m))) for ending, format in FORMATS.items() if format.render
        ]
        found += [("links.mat", mat(draw, m)) for _ in range(5)]
        found += [
            ("links.npy", saved(m[0])),
            ("stack.npy", saved(np.stack([m[0], m[0]]))),
            ("sheets.xlsx", many_sheets(m)),
        ]
        for codec in (None, "lz4", "zstd"):
            found += [("rows.arrow", arrow(tables(draw, m), compression=codec)) for _ in range(4)]
            found += [("stream.ipc", arrow(tables(draw, m), stream=True, compression=codec)) for _ in range(2)]
        for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
            options = {
                "compression": codec,
                "use_dictionary": draw.random() < 0.5,
                "data_page_version": draw.choice(["1.0", "2.0"]),
            }
            found += [("rows.parquet", parquet(tables(draw, m), **options)) for _ in range(2)]
        long = [("x", "y"), *((draw.randrange(3), draw.choice("abc")) for _ in range(4000))]
        found += [
            ("long.csv", written.delimited(long)),
            ("pairs.txt", b"".join(b"(%d, %d)\n" % (i % 2, i % 3) for i in range(50))),
        ]
        found += [("rows.ndjson", written.KINDS["rows.jsonl"](*m)), ("plain.dat", b"9 1\n2 8\n")]
    return found


def flipped(draw, data):
    at = draw.randrange(len(data))
    data[at] ^= 1 << draw.randrange(8)


def replaced(draw, data):
    at = draw.randrange(len(data))
    data[at] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])


def cut(draw, data):
    if draw.random() < 0.5:
        del data[draw.randrange(len(data)) :]
    else:
        at = draw.randrange(len(data))
        del data[at : at + draw.choice([1, 2, 4, 8, 50])]


def repeated(draw, data):
    at = draw.randrange(len(data))
    piece = data[at : at + draw.choice([1, 2, 8, 40, 300])]
    times = draw.choice([1, 1, 2, 20, 1000, 10**6]) if draw.random() < 0.3 else 1
    data[at:at] = bytes(piece) * min(times, max(1, (LARGEST - len(data)) // max(1, len(piece))))


def inserted(draw, data):
    at = draw.randrange(len(data) + 1)
    data[at : at + draw.choice([0, 0, 1, 2, 8])] = draw.choice(PIECES)


def length(draw, data):
    """A field that may be a length is another number."""
    width = draw.choice([1, 2, 4, 4, 4, 8, 8])
    at = draw.randrange(max(1, len(data) - width))
    at -= at % draw.choice([1, width])
    order = "big" if draw.random() < 0.1 else "little"
    old = int.from_bytes(data[at : at + width], order)
    new = draw.choice([*LENGTHS, old + 1, old - 1, old * 2, old // 2, len(data), len(data) - at, old + 8])
    data[at : at + width] = (new % 2 ** (8 * width)).to_bytes(width, order)


def varint(draw, data):
    """A number as Thrift has it becomes a large one; the length of a footer of Parquet stays right."""
    start = max(0, len(data) - 8 - footer(data)) if data.endswith(b"PAR1") and draw.random() < 0.7 else 0
    at = draw.randrange(start, len(data))
    new, number = bytearray(), draw.choice(LENGTHS)
    while number >= 0x80:
        new.append(number & 0x7F | 0x80)
        number >>= 7
    new.append(number)
    data[at : at + 1] = new
    if data.endswith(b"PAR1") and len(data) > 12 and start:
        data[-8:-4] = struct.pack("<I", (footer(data) + len(new) - 1) % 2**32)


def footer(data):
    return struct.unpack("<I", data[-8:-4])[0] if len(data) > 12 else 0


def number(draw, data):
    """A number of a text is another."""
    found = list(NUMBER.finditer(data))
    if found:
        data[slice(*draw.choice(found).span())] = draw.choice(NUMBERS)


def element(draw, data):
    """An element of XML comes many times."""
    found = list(TAG.finditer(data))
    if found:
        at = draw.choice(found)
        data[at.end() : at.end()] = at.group() * draw.choice([1, 10, 1000, 20000, 500000 // len(at.group())])


BYTES = [flipped, flipped, replaced, replaced, cut, repeated, inserted, length, length, length, varint, number]


def changed(draw, data, ways=BYTES):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        if data:
            draw.choice(ways)(draw, data)
    return bytes(data)


def archived(draw, data):
    """A member of a zip archive is changed, and its sums are right again."""
    old, buffer = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    names = old.namelist()
    victim, method = draw.choice(names), draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(buffer, "w", method) as new:
        for name in names:
            content = old.read(name)
            if name == victim:
                content = changed(draw, content, [*BYTES, *[element] * 6] if name.endswith(("xml", "rels")) else BYTES)
            if name != victim or draw.random() > 0.05:
                new.writestr(name, content)
    return buffer.getvalue()


def unpacked_matrices(draw, data):
    """What a MAT file has packed is changed, and packed again."""
    found, at = [data[:128]], 128
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        content = data[at + 8 : at + 8 + size]
        if kind == 15:
            content = zlib.compress(changed(draw, zlib.decompress(content)))
        found.append(struct.pack("<II", kind, len(content)) + content)
        at += 8 + size
    return b"".join(found)


def one(seed, i):
    """File i: its name, its content, and the reader that is tried beside `read_counts`."""
    draw = random.Random(f"{seed} {i}")
    name, data = draw.choice(bank(seed % 7))
    ways = [changed]
    if zipfile.is_zipfile(io.BytesIO(data)):
        ways += [archived] * 3
    if name.endswith(".mat"):
        ways += [unpacked_matrices]
    if not name.endswith(tuple(PACK)) and draw.random() < 0.15:
        packing = draw.choice([*PACK])
        inner = draw.random() < 0.6
        data = PACK[packing](draw.choice(ways)(draw, data) if inner else data)
        data = data if inner else changed(draw, data)
        name += packing
    elif name.endswith(".gz") and draw.random() < 0.5:
        data = gzip.compress(changed(draw, gzip.decompress(data)))
    else:
        data = draw.choice(ways)(draw, data)
    readers = [bc.read_counts, draw.choice([bc.read_trials, bc.read_channels])]
    if name.endswith(DECODED):
        readers = draw.choice([readers[:1], readers[1:]])
    return name, data[:LARGEST], readers, draw.random() < 0.02


def outcome(path, readers, judge):
    """What every reader makes of the file; anything but data or a sentence is a finding."""
    said = []
    for read in readers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = read(path)
                if judge and read is bc.read_counts and sum(c.counts.size for c in found.values()) < 1000:
                    warnings.simplefilter("default")
                    bc.estimate(found)
            said.append("read")
        except BestChannelError as error:
            text = str(error)
            sound = text.startswith(f"{path}: ") and "\n" not in text and len(text) < 5000
            if judge and not text.startswith(f"{path}: "):  # refused by estimate, which knows no file
                sound = "\n" not in text
            ended = "ends the decoder" in text or "decoder too long" in text
            said.append("decoder ended" if ended else "refused" if sound else f"NO SENTENCE {text[:300]!r}")
        except Exception:
            said.append(f"TRACEBACK {traceback.format_exc(limit=-3)}")
    return said


def peak():
    """The most memory since `forget_peak`, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def work(seed, start, stop, step, folder):
    """Read files `start`, `start + step`, ..., one line of JSON each; what is being read is said before."""
    resource.setrlimit(resource.RLIMIT_DATA, (HARD, HARD))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for i in range(start, stop, step):
        name, data, readers, judge = one(seed, i)
        path = Path(folder, name)
        path.write_bytes(data)
        print(json.dumps({"begun": i, "name": name}), flush=True)
        forget_peak()
        began = time.process_time()
        signal.alarm(HANGS)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        said = outcome(path, readers, judge)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        line = {"done": i, "name": name, "said": said, "seconds": round(time.process_time() - began, 2), "peak": peak()}
        print(json.dumps(line), flush=True)
        path.unlink()


def findings(line):
    bad = [said for said in line["said"] if said.startswith(("TRACEBACK", "NO SENTENCE"))]
    if line["peak"] > ROOM:
        bad.append(f"took {line['peak']:,} bytes")
    return bad


class Campaign:
    """What became of the files of one seed."""

    def __init__(self, files, seed):
        self.files, self.seed = files, seed
        self.outcomes, self.found = Counter(), []
        self.slowest, self.largest = (0.0, ""), (0, "")

    def run(self, workers):
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda k: self.share(k, workers, Path(folder, str(k))), range(workers)))
        return self

    def share(self, k, workers, folder):
        """Every so many-th file from k on; a worker that ends in the middle of one is followed by another."""
        folder.mkdir()
        start = k
        while start < self.files:
            start = self.followed(self.started(start, workers, folder), workers)

    def started(self, start, step, folder):
        words = [self.seed, start, self.files, step, folder]
        command = [sys.executable, "-m", "tests.counts.mutations", "work", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def followed(self, process, step):
        """The file after the one at which the worker ended."""
        begun = None
        for text in process.stdout:
            line = json.loads(text)
            if "begun" in line:
                begun = line
            else:
                begun = None
                self.add(line)
        code = process.wait()
        if begun is None:
            if code:
                raise RuntimeError(f"a worker ended with exit code {code} between two files")
            return self.files
        what = {-signal.SIGPROF: f"OVER {SECONDS} s", -signal.SIGALRM: "HANGS"}.get(code, f"CRASH {code}")
        self.outcomes[what] += 1
        self.found.append(f"{begun}: {what}")
        return begun["begun"] + step

    def add(self, line):
        self.outcomes["files"] += 1
        self.outcomes.update(said if said.islower() else said.split()[0] for said in line["said"])
        if self.outcomes["files"] % 1000 == 0:
            print(f"{self.outcomes['files']} files, {len(self.found)} findings", file=sys.stderr, flush=True)
        self.slowest = max(self.slowest, (line["seconds"], f"{line['done']} {line['name']}"))
        self.largest = max(self.largest, (line["peak"], f"{line['done']} {line['name']}"))
        self.found += [f"{line['done']} {line['name']}: {bad}" for bad in findings(line)]


def main(files, seed, workers="1"):
    campaign = Campaign(int(files), int(seed)).run(int(workers))
    print(json.dumps(campaign.outcomes, indent=1))
    print(f"slowest {campaign.slowest}, largest {campaign.largest}")
    for line in campaign.found[:60]:
        print(line)
    print(f"{len(campaign.found)} findings")
    return bool(campaign.found)


if __name__ == "__main__":
    if sys.argv[1] == "work":
        seed, start, stop, step = map(int, sys.argv[2:6])
        work(seed, start, stop, step, sys.argv[6])
    else:
        sys.exit(main(*sys.argv[1:]))
