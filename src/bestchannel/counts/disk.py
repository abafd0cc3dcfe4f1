"""Bytes in and out: a file is opened once and refused if it cannot be read; what is written appears at once."""

from __future__ import annotations

import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from bestchannel.display import on_one_line
from bestchannel.errors import InputError, MissingFileError


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Let every `InputError` raised inside begin with the path of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(on_one_line(f"{path}: {error}")) from None


class OpenFile:
    """A file that is open for reading, once: what a pipe has given it does not give again.

    `name` is the file's without its ending, and what a channel is called that the file does not name; `ending`
    is in small letters; `size` is in bytes, None where it is not known beforehand.
    """

    def __init__(self, path: Path, file: BufferedReader) -> None:
        status = os.fstat(file.fileno())
        self.name, self.ending = path.stem, path.suffix.lower()
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None
        self.done = 0
        self._file, self._ahead = file, memoryview(b"")
        self._content: bytes | None = None

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
            with _read_errors():
                n = self._file.readinto(room)
        else:
            n = min(len(room), len(self._ahead))
            room[:n], self._ahead = self._ahead[:n], self._ahead[n:]
        self.done += n
        return n

    def content(self) -> bytes:
        """All that the file holds, which is not nothing."""
        if self._content is None:
            self._content = self._ahead.tobytes() + self._read(-1)
            self._ahead = memoryview(b"")
        if not self._content or self._content.isspace():
            raise InputError("the file is empty")
        return self._content

    def seekable(self) -> BinaryIO:
        """The file for a reader that jumps about in it."""
        return self._file if self._file.seekable() else io.BytesIO(self.content())

    def _read(self, size: int) -> bytes:
        with _read_errors():
            return self._file.read(size)


@contextmanager
def opened(path: Path) -> Iterator[OpenFile]:
    """The file, open for reading."""
    if os.path.isdir(path):
        raise InputError("this is a folder, and a file is required")
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"this is no path of a file ({error})") from None
    with file:
        yield OpenFile(path, file)


@contextmanager
def _read_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})") from None


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
        raise InputError("the file must be text; it holds NUL characters, so it is of another kind than its name says")
    return text


def make_folder(path: Path) -> None:
    """Have the folder, with those above it."""
    with errors_naming(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder cannot be made ({error.strerror})") from None
        except ValueError as error:  # a NUL in the path
            raise InputError(f"this is no path of a folder ({error})") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the file by `data`: a reader, or a crash, meets the old content or the new, never a part."""
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        _replace(target, data)
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no folder to write it into") from None
    except OSError as error:
        raise InputError(f"the file cannot be written ({error.strerror})") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"this is no path of a file ({error})") from None


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
