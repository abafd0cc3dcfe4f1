"""An attack on the readers: `python -m tests.counts.attack FILES COMMANDS SEED` prints what was done and what was found.

Half of the files are counts in disguise, written as other programs may write them, with other names and labels; what is
read must be what was written, or nothing. The other half are sound files with bytes changed; they are read or refused,
and where a check sum protects the content, what is read is what was there. Command lines are random options on such files:
an exit code that is promised, one sentence where it is 1, JSON where it is asked for.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.io import savemat

from bestchannel.counts import read_channels, read_counts, read_trials
from bestchannel.errors import BestChannelError
from tests.counts import written
from tests.journeys.command import bestchannel

NAMES = ["x", "y", "X", "Y", "p", "n", "count", "channel", "tx", "rx", "sent", "got", "0", "1", "2", "3", "7", "01", "-1", "1.5",
         "2,5", "1.000", "1,000", "heard", "lost", "a", "b", "c", "z", "v", "w", "é", "日本", "a b", "a,b", "a;b", "(0, 1)", "#1",
         "true", "nan", "Total", "All", "sum", "input", "output", "1e2", "+1", "0x1", "None"]  # fmt: skip
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
        ".zst": lambda data: pa.compress(data, "zstd", asbytes=True)}  # fmt: skip
CHECKED = (".gz", ".bz2", ".xz")
"""Packings with a check sum."""

PIECES = [b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"'", b"\r", b"\n", b",", b";", b"\t", b" ", b"(", b")", b"//", b"#", b"-",
          b"1e999", b"nan", b"9" * 30, b"x,y\n", b"x", b"y", b"count", b"{", b"}", b"[", b"]", b":", b".", b"0", b"1", b"PK", b"e",
          "\u2028".encode(), b"a" * 3000]  # fmt: skip


class Attack:
    """What was tried, by outcome, and what must not be."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.draw, self.folder = random.Random(seed), folder
        self.outcomes: Counter[str] = Counter()
        self.found: list[str] = []

    def matrix(self):
        """Random counts with labels that differ by more than spaces, often the same on both sides."""
        draw = self.draw
        inputs = draw.sample(NAMES, draw.randint(1, 4))
        outputs = inputs if draw.random() < 0.3 else draw.sample(NAMES, draw.randint(1, 4))
        counts = [
            [draw.choice([0, 1, 2, 5, draw.randrange(200), draw.randrange(10**6)]) for _ in outputs] for _ in inputs
        ]
        return np.array(counts), inputs, outputs

    def read(self, path, **options):
        """What is read, None where it is refused; anything else is a finding."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return read_counts(path, **options)
        except BestChannelError as error:
            if "\n" in str(error) or not str(error).startswith(f"{path}: "):
                self.found.append(f"{path.name}: a refusal that is no sentence of the file: {str(error)!r}")
            return None
        except Exception:
            self.found.append(f"{path.name}: {traceback.format_exc(limit=-2)} {keep(path)}")
            return None

    def disguised(self) -> None:
        """Counts in a random kind of file, with what does not change their meaning."""
        matrix = self.matrix()
        kind = self.draw.choice([*written.KINDS, "rows", "rows", "rows", "matrix", "matrix"])
        try:
            name, data = self.text(kind, matrix) if kind in ("rows", "matrix") else (kind, written.KINDS[kind](*matrix))
        except Exception:  # what the other program refuses to write
            self.outcomes["not written"] += 1
            return
        packing = self.draw.choice(["", "", "", *PACK]) if not name.endswith(".gz") else ""
        path = self.folder / f"{name}{packing}"
        path.write_bytes(PACK[packing](data))
        found = self.read(path)
        self.judge(path, found, matrix)

    def text(self, kind, matrix):
        """Rows or a matrix as text: any delimiter, line end, quotes, mark, blank lines, further columns, order."""
        draw = self.draw
        if kind == "rows":
            rows = [list(row) for row in written.long_rows(*matrix)]
            if draw.random() < 0.3:
                order = draw.sample(range(4), 4)
                rows = [[row[i] for i in order] for row in rows]
            if draw.random() < 0.3:
                rows = [[draw.choice(["time", "", "id"]), *rows[0]], *([i, *row] for i, row in enumerate(rows[1:]))]
            if draw.random() < 0.3:
                rows[0] = [str(title).upper() for title in rows[0]]
            if draw.random() < 0.3:
                rows[1:] = draw.sample(rows[1:], len(rows) - 1)
        else:
            rows = written.matrix_rows(*matrix, corner=draw.choice(["", "", "x", "sent", "x\\y", "true"]))
        buffer = io.StringIO(newline="")
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
        ends = draw.choice(["\n", "\r\n", "\r"])
        csv.writer(buffer, delimiter=draw.choice(",;\t"), quoting=quoting, lineterminator=ends).writerows(rows)
        text = draw.choice(["", "\ufeff", ends]) + buffer.getvalue() + draw.choice(["", ends, ends * 3])
        return f"{kind}.{draw.choice(['csv', 'tsv', 'txt'])}", text.encode()

    def judge(self, path, found, matrix) -> None:
        if found is None:
            self.outcomes["refused"] += 1
            return
        self.outcomes["read"] += 1
        got = [{(a.strip(), b.strip()): int(c.counts[i, j]) for i, a in enumerate(c.inputs) for j, b in enumerate(c.outputs)}
               for c in found.values()]  # fmt: skip
        truth = {(a.strip(), b.strip()): n for a, b, n in written.cells(*matrix)}
        if got != [truth]:
            self.found.append(f"SILENT {path.name}: {got} in place of {truth} {keep(path)}")

    def damaged(self) -> None:
        """A sound file with some bytes changed."""
        matrix = self.matrix()
        kind = self.draw.choice([*written.KINDS, "mat", "npy"])
        packing = self.draw.choice(["", "", "", "", *CHECKED])
        try:
            sound = PACK[packing](self.sound(kind, matrix))
        except Exception:
            self.outcomes["not written"] += 1
            return
        name = {"mat": "links.mat", "npy": "links.npy"}.get(kind, kind)
        path = self.folder / f"damaged-{name}{packing}"
        data = self.changed(sound)
        path.write_bytes(sound)
        truth = self.read(path) if packing else None
        path.write_bytes(data)
        found = self.read(path)
        self.outcomes["damaged, refused" if found is None else "damaged, read"] += 1
        if packing and found is not None and (truth is None or shown(found) != shown(truth)):
            self.found.append(f"SILENT {path.name}: damaged, and read as {shown(found)} {keep(path)}")
        for read in (read_trials, read_channels):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    read(path)
            except BestChannelError:
                pass
            except Exception:
                self.found.append(f"{path.name}: {read.__name__} {traceback.format_exc(limit=-2)} {keep(path)}")

    def sound(self, kind, matrix):
        if kind in written.KINDS:
            return written.KINDS[kind](*matrix)
        buffer = io.BytesIO()
        if kind == "npy":
            np.save(buffer, matrix[0])
        else:
            savemat(buffer, {"links": matrix[0], "more": {"a": matrix[0]}}, do_compression=self.draw.random() < 0.5)
        return buffer.getvalue()

    def changed(self, data):
        content = bytearray(data)
        for _ in range(self.draw.randint(1, 4)):
            start = self.draw.randint(0, len(content))
            stop = min(len(content), start + self.draw.choice([0, 1, 1, 2, 8, 40]))
            piece = self.draw.choice([self.draw.choice(PIECES), self.draw.randbytes(2), content[start:stop] * 2, b""])
            content[start:stop] = piece
        return bytes(content)

    def command(self) -> None:
        """A random command line on a random file."""
        draw = self.draw
        path = self.folder / "command.csv"
        matrix = self.matrix()
        name, data = self.text(draw.choice(["rows", "matrix"]), matrix)
        path = self.folder / f"command-{name}"
        path.write_bytes(data if draw.random() < 0.6 else self.changed(data))
        verb = draw.choice(["estimate", "estimate", "estimate", "capacity", "bound", "verify", "report"])
        options = [["--json"], ["--delta", draw.choice(["0.05", "0", "x", "1e-9"])], ["--columns", draw.choice(["x=x,y=y", "x", "a=b"])],
                   ["--form", draw.choice(["matrix", "rows", "neither"])], ["--outputs", draw.choice(["0,1", "a", ""])],
                   ["--transpose"], ["--channel-axis", "first"], ["--epsilon", "0.1"], ["--nothing"]]  # fmt: skip
        words = [word for option in draw.sample(options, draw.randint(0, 3)) for word in option]
        words += ["-o", str(self.folder / "report.html")] if verb == "report" else []
        try:
            run = bestchannel(verb, path, *words, cwd=self.folder)
        except Exception:
            self.found.append(f"{verb} {words}: {traceback.format_exc(limit=-3)} {keep(path)}")
            return
        self.outcomes[f"exit code {run.returncode}"] += 1
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        if run.returncode not in (0, 1, 2, 3) or "Traceback" in run.stderr:
            self.found.append(f"{verb} {words}: exit code {run.returncode} {run.stderr!r} {keep(path)}")
        if run.returncode == 1 and (len(lines) != 1 or run.stdout):
            self.found.append(f"{verb} {words}: a refusal of {len(lines)} lines {run.stderr!r} {keep(path)}")
        if run.returncode in (0, 3) and "--json" in words:
            json.loads(run.stdout)


def shown(found):
    return {name: (c.counts.tolist(), c.inputs, c.outputs) for name, c in found.items()}


def keep(path):
    """The content, to try it again."""
    return repr(path.read_bytes()[:600])


def attacked(files, commands, seed, folder):
    """The attack, after so many files and command lines."""
    attack = Attack(seed, folder)
    for i in range(files):
        attack.damaged() if i % 2 else attack.disguised()
    for _ in range(commands):
        attack.command()
    return attack


def main(files, commands, seed):
    with tempfile.TemporaryDirectory() as folder:
        attack = attacked(int(files), int(commands), int(seed), Path(folder))
    print(json.dumps(attack.outcomes, indent=1))
    for line in attack.found[:40]:
        print(line)
    print(f"{len(attack.found)} findings")
    return bool(attack.found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
