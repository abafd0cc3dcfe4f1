"""Whole files in and out: what cannot be read is refused, what is written appears at once or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bestchannel.errors import InputError, MissingFileError


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Let every `InputError` raised inside begin with the path of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_bytes(path: Path) -> bytes:
    """The content of the file, which is not empty."""
    if os.path.isdir(path):
        raise InputError("this is a folder, and a file is wanted")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"this is no path of a file ({error})") from None
    if not data.strip():
        raise InputError("the file is empty")
    return data


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
