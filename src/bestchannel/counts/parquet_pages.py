"""How large the pages of a Parquet file are once they are unpacked, from the headers of the pages themselves.

What a file says of its columns elsewhere may be wrong, and a reader makes room for what the header of a page says: some
hundred bytes may ask for gigabytes. The headers are Thrift structs in the compact protocol; here the two sizes are
read, and everything else is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from bestchannel.errors import InputError

MOST_PAGE = 2**28
"""The largest page, unpacked; writers make pages of about a megabyte."""

_HEADER = 2**16
"""The most bytes that the header of a page may take."""

_UNPACKED, _PACKED = 2, 3
"""The fields of a page's header that say its size, unpacked and as it is stored."""

_TRUE, _FALSE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 7, 8, 9, 10, 11, 12
_VARINTS = (4, 5, 6)


def refuse_large_pages(file: BinaryIO, metadata: Any, columns: set[str]) -> None:
    """Refuse a file with a page of one of these columns that is too large; the columns are paths as its schema has."""
    for group in range(metadata.num_row_groups):
        chunks = metadata.row_group(group)
        for i in range(chunks.num_columns):
            chunk = chunks.column(i)
            if chunk.path_in_schema in columns:
                _refuse_large(file, chunk)


def _refuse_large(file: BinaryIO, chunk: Any) -> None:
    start = min(at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at is not None)
    for size in _page_sizes(file, start, start + chunk.total_compressed_size):
        if not 0 <= size <= MOST_PAGE:
            raise InputError(
                f'a page of the column "{chunk.path_in_schema}" must take at most {MOST_PAGE:,} bytes once unpacked;'
                f" one takes {size:,} (write the file with smaller pages)"
            )


def _page_sizes(file: BinaryIO, start: int, stop: int) -> Iterator[int]:
    """What each page from `start` to `stop` takes once it is unpacked."""
    while start < stop:
        file.seek(start)
        header = _Thrift(file.read(_HEADER))
        sizes = header.struct()
        if sizes.get(_PACKED, -1) < 0 or _UNPACKED not in sizes:
            raise InputError("the Parquet file is damaged: a page does not say its size")
        yield sizes[_UNPACKED]
        start += header.at + sizes[_PACKED]


class _Thrift:
    """A struct in the compact protocol, from its first byte on."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[int, int]:
        """The fields that are whole numbers, by number; the others are passed over."""
        found: dict[int, int] = {}
        field = 0
        while kind := self._byte():
            delta, kind = kind >> 4, kind & 0xF
            field = field + delta if delta else self._zigzag()
            if kind in _VARINTS:
                found[field] = self._zigzag()
            elif kind not in (_TRUE, _FALSE):
                self._pass(kind, depth)
        return found

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise InputError("the Parquet file is damaged: the header of a page does not end")
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _pass(self, kind: int, depth: int) -> None:
        """Pass over a value."""
        if depth > 8:
            raise InputError("the Parquet file is damaged: the header of a page is nested too deeply")
        if kind in (_LIST, _SET, _MAP):
            self._pass_many(kind, depth)
        elif kind == _STRUCT:
            self.struct(depth + 1)
        elif kind in _VARINTS:
            self._varint()
        else:
            size = self._varint() if kind == _BINARY else {_DOUBLE: 8}.get(kind, 1)
            self.at += size

    def _pass_many(self, kind: int, depth: int) -> None:
        if kind == _MAP:
            size = self._varint()
            kinds = list(divmod(self._byte(), 16)) if size else []
        else:
            head = self._byte()
            size, kinds = (self._varint() if head >> 4 == 15 else head >> 4), [head & 0xF]
        for _ in range(min(size, len(self.data))):
            for each in kinds:
                self._pass(each, depth + 1)
