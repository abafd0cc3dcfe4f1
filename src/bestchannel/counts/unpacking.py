"""Files that are packed, and streams without an ending: what is inside is told by the first bytes."""

from __future__ import annotations

import io
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from bestchannel.counts.disk import MOST_BYTES, PACKED, Hints, OpenFile
from bestchannel.errors import InputError, MissingExtraError

_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",
    b"\x93NUMPY": ".npy",
    b"MATLAB 5.0": ".mat",
    b"PK\x03\x04": ".npz",
    b"{": ".json",
    b"[": ".json",
}
"""How files of each ending begin; what begins otherwise is text."""

_SHEET = (b"[Content_Types].xml", b"_rels/", b"xl/", b"docProps/")
"""How the first member of a workbook of Excel is called; an .npz is a zip archive too."""

_HEAD = 64

MOST_UNPACKED, _RATIO = 2**30, 64
"""What a packed file may unpack to: so many bytes, and so many for each of its own."""

_SLOW = (".jsonl", ".ndjson")
"""Endings of what is read line by line in Python."""


def told_by_content(path: Path, file: BufferedReader, size: int | None, hints: Hints) -> OpenFile:
    """The file without its packing, and with the ending that its name or its first bytes tell."""
    packing = path.suffix.lower() or _ending(file.peek(_HEAD))
    if packing not in PACKED:
        return _told(OpenFile(path, file, size, hints))
    name = path.with_suffix("") if path.suffix else path
    source = _told(OpenFile(name, _unpacked(file, packing), None, hints))
    if size is not None:
        most = MOST_BYTES if source.ending in _SLOW else MOST_UNPACKED
        source.most = most + _RATIO * size
    return source


def _told(source: OpenFile) -> OpenFile:
    source.ending = source.ending or _ending(source.head(_HEAD))
    return source


def _ending(head: bytes) -> str:
    """What the first bytes tell; `.txt` where they are none of those above."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    ending = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), ".txt")
    return ".xlsx" if ending == ".npz" and start[30:].startswith(_SHEET) else ending


def _unpacked(file: BufferedReader, packing: str) -> BufferedReader:
    return io.BufferedReader(cast(Any, _Unpacked(_stream(file, packing), packing)), 2**16)


def _stream(file: BufferedReader, packing: str) -> Any:
    if packing == ".gz":
        import gzip

        return gzip.GzipFile(fileobj=file)
    if packing == ".bz2":
        import bz2

        return bz2.BZ2File(file)
    if packing == ".xz":
        import lzma

        return lzma.LZMAFile(file)
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("reading .zst", "parquet") from None
    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


class _Unpacked(io.RawIOBase):
    """What comes out of a packed stream; whatever its library raises is one refusal."""

    def __init__(self, stream: Any, packing: str) -> None:
        self._stream, self._packing = stream, packing

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        try:
            data = self._stream.read(len(room))
        except (ArithmeticError, AssertionError, AttributeError, TypeError, NameError):
            raise  # a mistake of ours
        except Exception as error:
            # a damaged file makes zlib, bz2, lzma and Arrow raise half a dozen kinds, and all mean the same here
            reason = " ".join(str(error).split())
            raise InputError(f"the file must be a sound {self._packing} file; unpacking it failed ({reason})") from None
        room[: len(data)] = data
        return len(data)
