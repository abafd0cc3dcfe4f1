"""Bytes in and out: a file is opened once and refused if it cannot be read; what is written appears at once.

What is packed is unpacked on the way; of a stream without an ending the first bytes tell what it holds.
"""

from __future__ import annotations

import io
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from bestchannel.display import on_one_line
from bestchannel.errors import (
    BestChannelError,
    CountsFoundError,
    InputError,
    JointTrialsFoundError,
    MissingExtraError,
    MissingFileError,
)
from bestchannel.process import Progress

STDIN = Path("-")  # standard input, wherever a file is read
MOST_BYTES = 2**28  # the most that is read, or unpacked, of what must be in memory at once
MOST_FIELDS = 2**23  # the most fields of a text that is read at once; each takes some sixty bytes
MOST_STREAMED = 2**36  # the most that is read of what has no size, as a pipe: one without an end ends here
MOST_UNPACKED, _RATIO = 2**30, 64  # what a packed file may unpack to: so many bytes, and so many for each of its own
NOT_TEXT = "the file must be text; it holds NUL characters, so it is of another kind than its name says"

PACKED = (".gz", ".bz2", ".xz", ".zst")  # endings of files that are unpacked as they are read
_SLOW = (".jsonl", ".ndjson")  # endings of what is read line by line in Python
_MAGIC = {  # how files of each ending begin; what begins otherwise is text
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


_SHEET = (b"[Content_Types].xml", b"_rels/", b"xl/", b"docProps/")
"""How the first member of a workbook of Excel is called; an .npz is a zip archive too."""


_PIECE, _HEAD = 2**20, 64
"""Bytes read at a time where it is not known how many there are, and those that tell what a stream holds."""

_MOST_SAID, _LONGEST_SAID = 1000, 2100  # letters at either end of a longer refusal that are said, and of one in full


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Let every `InputError` raised inside begin with the path of the file."""
    try:
        yield
    except InputError as error:
        kind = type(error) if isinstance(error, CountsFoundError | JointTrialsFoundError) else InputError
        name = "standard input" if path == STDIN else path
        said = on_one_line(f"{name}: {error}")
        # a title or a label that it quotes may be as long as the file
        raise kind(said if len(said) <= _LONGEST_SAID else f"{said[:_MOST_SAID]} … {said[-_MOST_SAID:]}") from None


def name_of(path: Path) -> str:
    """The file's without its endings, and what a channel is called that the file does not name."""
    if path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return "stdin" if path == STDIN else path.stem


class OpenFile(ExitStack):
    """A file that is open for reading, once: what a pipe has given it does not give again.

    `name` is the file's without its ending, and what a channel is called that the file does not name; `ending`
    is in small letters; `size` is in bytes, None where it is not known beforehand, and `most` what is read then. What
    reading needs until the file is closed is entered as a context.
    """

    def __init__(
        self, path: Path, file: Any, size: int | None, errors: Callable[[], AbstractContextManager[None]] | None = None
    ) -> None:
        super().__init__()
        self._errors = errors or partial(_os_errors, "file", "read")
        self.name, self.ending = name_of(path), path.suffix.lower()
        self.size, self.done, self.most = size, 0, MOST_STREAMED
        self.progress: Progress | None = None
        self._path = None if path == STDIN or size is None else path
        self._file, self._ahead = file, memoryview(b"")
        self._parsed: Any = None

    def head(self, size: int) -> bytes:
        """The first bytes, `size` or as many as there are, which stay to be read."""
        if len(self._ahead) < size:
            self._ahead = memoryview(self._ahead.tobytes() + self._read(size - len(self._ahead)))
        return self._ahead[:size].tobytes()

    def skip(self, size: int) -> None:
        """Leave out so many bytes of the head."""
        self._ahead, self.done = self._ahead[size:], self.done + size

    def fill(self, room: memoryview) -> int:
        """Read the next bytes into `room`: how many these are, 0 at the end."""
        if not self._ahead:
            with self._errors():
                n: int = self._file.readinto(room)
        else:
            n = min(len(room), len(self._ahead))
            room[:n], self._ahead = self._ahead[:n], self._ahead[n:]
        self.done += n
        self.report(self.done)
        if self.size is None and self.done > self.most:
            raise InputError(f"what comes without a size must end within {self.most:,} bytes; there are more")
        return n

    def report(self, done: int) -> None:
        """Tell whoever wants to know it how many bytes are done, where it is known how many there are."""
        if self.progress and self.size is not None:
            self.progress(done, max(done, self.size))

    def content(self) -> bytes:
        """All that is left of the file, which is not nothing."""
        if (self.size or 0) > MOST_BYTES:
            raise InputError(_too_large(f"it has {self.size:,}"))
        pieces, total = [self._ahead.tobytes()], 0
        while piece := self._read(_PIECE if self.size is None else -1):
            total += len(piece)
            if self.size is None and total > MOST_BYTES:
                raise InputError(_too_large("there are more"))
            pieces.append(piece)
        content, self._ahead = b"".join(pieces), memoryview(b"")
        if not content or content.isspace():
            raise InputError("the file is empty")
        return content

    @classmethod
    def of_text(cls, name: str, text: bytes) -> OpenFile:
        """A text as the file of this name that has it."""
        source = cls(Path("text.csv"), io.BytesIO(text), len(text))
        source.name = name
        return source

    def parsed(self, parse: Callable[[bytes], Any]) -> Any:
        """What `parse` makes of the content; a second question does not parse again."""
        if self._parsed is None:
            self._parsed = parse(self.content())
        return self._parsed

    def on_disk(self) -> str:
        """The path of the file for another process; where a pipe or a packed file gives it, that of a copy."""
        if not self.head(64).strip():
            raise InputError("the file is empty")
        if self._path is not None:
            return os.path.abspath(self._path)
        folder = self.enter_context(tempfile.TemporaryDirectory(prefix="bestchannel-"))
        copy, room = os.path.join(folder, "copy"), memoryview(bytearray(_PIECE))
        with open(copy, "xb") as file:
            while n := self.fill(room):
                if self.size is None and self.done > MOST_BYTES:
                    raise InputError(_too_large("there are more"))
                file.write(room[:n])
        return copy

    def _read(self, size: int) -> bytes:
        with self._errors():
            return cast(bytes, self._file.read(size))


def _too_large(has: str) -> str:
    return f"a file that is read at once must have at most {MOST_BYTES:,} bytes; {has} (long logs: .csv, .parquet)"


@contextmanager
def opened(path: Path) -> Iterator[OpenFile]:
    """The file, open for reading; standard input for "-"; what is packed is unpacked on the way."""
    with _raw(path) as file:
        status = os.fstat(file.fileno())
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        packing = path.suffix.lower() or _ending(file.peek(_HEAD))
        packed = packing in PACKED
        with _unpacked(path, file, packing) if packed else OpenFile(path, file, size) as source:
            source.ending = source.ending or _ending(source.head(_HEAD))
            if packed and size is not None:  # what a file of this size may unpack to
                source.most = (MOST_BYTES if source.ending in _SLOW else MOST_UNPACKED) + _RATIO * size
            yield source


def _raw(path: Path) -> BufferedReader:
    if path == STDIN:
        return os.fdopen(0, "rb", closefd=False)
    if os.path.isdir(path):
        raise InputError("this is a folder, and a file is required")
    with _os_errors("file", "read", MissingFileError(f"{path}: there is no such file")):
        return path.open("rb")


def _ending(head: bytes) -> str:
    """What the first bytes tell; `.txt` where they are none of those above."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    ending = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), ".txt")
    return ".xlsx" if ending == ".npz" and start[30:].startswith(_SHEET) else ending


def _unpacked(path: Path, file: BufferedReader, packing: str) -> OpenFile:
    """What is inside a packed file."""
    inside = path.with_suffix("") if path.suffix else path
    return OpenFile(inside, _stream(file, packing), None, lambda: _unpacking(packing))


def _stream(file: BufferedReader, packing: str) -> Any:
    if packing == ".zst":
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtraError("reading .zst", "parquet") from None
        return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
    # deferred: few files are packed
    return import_module({".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}[packing]).open(file)


@contextmanager
def _unpacking(packing: str) -> Iterator[None]:
    """Make one refusal of whatever the library raises that unpacks."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, TypeError, NameError):
        raise  # a mistake of ours
    except Exception as error:
        # a damaged file makes zlib, bz2, lzma and Arrow raise half a dozen kinds, and all mean the same here
        reason = " ".join(str(error).split())
        raise InputError(f"the file must be a sound {packing} file; unpacking it failed ({reason})") from None


@contextmanager
def regular(path: Path) -> Iterator[Path]:
    """A file that can be opened again: the same, or a copy of what a pipe gives, whose ending its content tells."""
    if path != STDIN and (path.is_file() or path.is_dir() or not path.exists()):
        yield path
        return
    with errors_naming(path), opened(path) as source:
        name, data = f"{source.name}{source.ending}", source.content()
    with tempfile.TemporaryDirectory(prefix="bestchannel-") as folder:
        copy = Path(folder, name)
        copy.write_bytes(data)
        yield copy


@contextmanager
def _os_errors(kind: str, done: str, missing: MissingFileError | None = None) -> Iterator[None]:
    """Turn what the system says of a file or a folder that cannot be read, made or written into a refusal."""
    try:
        yield
    except BestChannelError:
        raise
    except (OSError, EOFError) as error:  # EOFError: a packed file that ends too early
        if missing is not None and isinstance(error, FileNotFoundError):
            raise missing from None
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"the {kind} cannot be {done} ({reason})") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"this is no path of a {kind} ({error})") from None


def read_bytes(path: Path) -> bytes:
    """The content of the file, which is not empty."""
    with opened(path) as source:
        return source.content()


def decoded(data: bytes) -> str:
    """UTF-8 text, with or without a byte-order mark."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"the file must be UTF-8 text; byte {error.start} is 0x{data[error.start]:02x}"
            " (it may be of another kind than its name says, or need saving as UTF-8)"
        ) from None
    if "\0" in text:
        raise InputError(NOT_TEXT)
    return text


def refuse_too_many_fields(text: str, *signs: str) -> None:
    """Refuse a text that these signs divide into more fields than are held at once."""
    n_fields = sum(map(text.count, signs))
    if n_fields > MOST_FIELDS:
        raise InputError(f"a text that is read at once must have at most {MOST_FIELDS:,} fields; it has {n_fields:,}")


def make_folder(path: Path) -> None:
    """Have the folder, with those above it."""
    with errors_naming(path), _os_errors("folder", "made"):
        path.mkdir(parents=True, exist_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the file by `data`: a reader, or a crash, meets the old content or the new, never a part."""
    with _os_errors("file", "written", MissingFileError(f"{path}: there is no folder to write it into")):
        if path.exists() and not path.is_file():  # a pipe or a device, as /dev/stdout
            with path.open("wb") as file:
                file.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data)  # a link stays a link


def _replace(target: Path, data: bytes) -> None:
    draft = target.with_name(f".bestchannel-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
