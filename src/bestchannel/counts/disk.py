"""Whole files in and out: what cannot be read is refused, what is written appears at once or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from bestchannel.display import on_one_line
from bestchannel.errors import InputError, MissingFileError


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Let every `InputError` raised inside begin with the path of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(on_one_line(f"{path}: {error}")) from None


def open_bytes(path: Path) -> BufferedReader:
    """The file, open for reading."""
    if os.path.isdir(path):
        raise InputError("this is a folder, and a file is wanted")
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"this is no path of a file ({error})") from None


def read_bytes(path: Path) -> bytes:
    """The content of the file, which is not empty."""
    with open_bytes(path) as file:
        try:
            data = file.read()
        except OSError as error:
            raise InputError(f"the file cannot be read ({error.strerror})") from None
    if not data.strip():
        raise InputError("the file is empty")
    return data


def fill(file: BufferedReader, room: memoryview) -> int:
    """Read the next bytes of the file into `room`: how many these are, 0 at the end."""
    try:
        return file.readinto(room)
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})") from None


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
