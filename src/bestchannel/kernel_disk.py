"""Whether compiled kernels are on disk, without importing numba, which takes longer than small work does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

USER_CACHES = ("~/.cache/numba", "~/Library/Caches/numba", "~/AppData/Local/numba/Cache")
"""Where numba keeps what it cannot keep beside its source, by system."""


def kept(module: str, stamp: str) -> bool:
    """Whether some folder has kernels of the module that were compiled from what it is made of now, by its stamp."""
    name = f"{module.rsplit('.', maxsplit=1)[-1]}.*.py{sys.version_info[0]}{sys.version_info[1]}*.nbi"
    return any(stamp.encode() in _content(path) for folder in _folders(module) for path in folder.glob(name))


def _folders(module: str) -> Iterator[Path]:
    """Where numba looks: in the folder that is named; without one, beside the source and in those of the user."""
    named, cache = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    if named:
        yield from _children(Path(named))
        return
    yield Path(getattr(find_spec(module), "origin", None) or "nowhere").parent / "__pycache__"
    for each in ([f"{cache}/numba"] if cache else []) + list(USER_CACHES):
        yield from _children(Path(each).expanduser())


def _children(folder: Path) -> Iterator[Path]:
    """The folders in a folder; numba has one for each folder of sources."""
    try:
        yield from (child for child in folder.iterdir() if child.is_dir())
    except OSError:  # there is none
        return


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it went away, or is none of ours
        return b""
