"""A Parquet table in parts: a folder of files, as Dask, Spark and pyarrow write it.

Parts add up to one table. A folder `channel=NAME` on the way to a part names the channel of all its rows, as Hive has
it; what neither a column nor a folder names is called as the folder of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from bestchannel.counts import parquet_format
from bestchannel.counts.disk import Hints, errors_naming, opened
from bestchannel.counts.labelled_counts import Combinations, RowBlock
from bestchannel.errors import InputError
from bestchannel.process import Progress


def read_log(folder: Path, seen: Combinations, hints: Hints, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of all parts, one part after the other."""
    parts = _parts(folder)
    done, total = 0, sum(part.stat().st_size for part in parts)
    for part in parts:
        named = _channel(part.relative_to(folder), hints)
        with (
            errors_naming(part.relative_to(folder)),
            opened(part, _without_channel(hints) if named else hints) as source,
        ):
            source.name = named or folder.stem
            if parquet_format.has_rows(source):
                yield from parquet_format.read_log(source, seen, None)
            done += source.size or 0
        if progress:
            progress(done, total)


def _parts(folder: Path) -> list[Path]:
    """The part files in the order of the numbers in their names; _ and . begin the names of the writer's notes."""
    found = [part for part in folder.rglob("*.parquet") if not re.search(r"(^|/)[._]", f"{part.relative_to(folder)}")]
    if not found:
        raise InputError("this is a folder, and a file is required, or a folder of files of counts, trials or channels")
    return sorted((part for part in found if part.is_file()), key=natural)


def natural(part: Path) -> list[tuple[int, str]]:
    """What files are sorted by, so that 10 comes after 9."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D*)(\d*)", str(part))]


def _channel(part: Path, hints: Hints) -> str | None:
    """The channel that a folder on the way to the part names."""
    column = hints.columns.get("channel", "channel") if isinstance(hints.columns, Mapping) else "channel"
    for name in part.parts[:-1]:
        key, equals, value = name.partition("=")
        if equals and key == column:
            return _unescaped(value)
    return None


def _without_channel(hints: Hints) -> Hints:
    if not isinstance(hints.columns, Mapping):
        return hints
    return replace(hints, columns={role: name for role, name in hints.columns.items() if role != "channel"})


def _unescaped(value: str) -> str:
    """The value whose letters that a path cannot hold were written as %XX."""
    escape = re.compile(rb"%([0-9A-Fa-f]{2})")
    return escape.sub(lambda found: bytes.fromhex(found[1].decode()), value.encode()).decode(errors="replace")
