"""Check the sizes that a parquet file declares against each other, before memory is allocated for them.

Polars allocates as much memory as the header of a page requests. One damaged byte there may request more than there is,
and a failed allocation ends the whole process. Headers and footer use Thrift's compact protocol, of which only numbers
are read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from densray.errors import FormatError, shorten

_HEADER_BYTES = 512
_LONGEST_HEADER_BYTES = 1 << 20
_SPARE_BYTES = 1 << 20
_DEEPEST = 24
_SHORTEST_FILE_BYTES = 12
#: Unlisted data may precede the footer; the boundary of joined files is searched in this many bytes.
_JOIN_BYTES = 1 << 16
#: Field types of the compact protocol.
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 11, 12


def check_sizes(name: str, file: IO[bytes]) -> None:
    """Refuse a parquet file whose pages declare other sizes and counts than its footer."""
    try:
        _check(file)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FormatError(f"{name}: the parquet data are damaged ({shorten(error)}). Write the file again.") from error


def _check(file: IO[bytes]) -> None:
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or length > size - 12:
        raise ValueError("it does not end as a parquet file does")
    file.seek(size - 8 - length)
    footer = _Reader(file.read(length)).struct()
    groups: list[dict[int, Any]] = footer[4]
    if sum(group[3] for group in groups) != footer[3] or any(group[3] < 0 for group in groups):
        raise ValueError("the groups do not have as many rows as the file")
    if _is_joined(file, groups, data_end=size - 8 - length):
        raise ValueError("several files, joined into one")
    for group in groups:
        for column in group[1]:
            _check_column(file, column[3], rows=group[3], data_end=size - 8 - length)


def _is_joined(file: IO[bytes], groups: list[dict[int, Any]], *, data_end: int) -> bool:
    """Return whether another parquet file precedes the one whose footer was read.

    Offsets in a footer count from the beginning of its own file. After another file, the data seem to end before the
    footer, by the length of the other file; at that point one file ends and the next begins.
    """
    last = 0
    for group in groups:
        for column in group[1]:
            data = column[3]
            pages = min(data[9], data.get(11) or data[9]) + data[7]
            indexes = [column.get(4, 0) + column.get(5, 0), column.get(6, 0) + column.get(7, 0)]
            bloom_filter = data.get(14, 0) + data.get(15, 0)
            last = max(last, pages, *indexes, bloom_filter)
    between = data_end - last
    if between < _SHORTEST_FILE_BYTES:
        return False
    begin = max(0, between - _JOIN_BYTES)
    file.seek(begin)
    return b"PAR1PAR1" in file.read(between + 4 - begin)


def _check_column(file: IO[bytes], column: dict[int, Any], *, rows: int, data_end: int) -> None:
    """Compare the pages of a column in one row group with the footer."""
    values, unpacked, packed = column[5], column[6], column[7]
    begin = min(column[9], column.get(11) or column[9])
    if begin < 4 or packed < 0 or begin + packed > data_end or values < rows:
        raise ValueError("a column lies outside the file, or has fewer values than rows")
    n_values = 0
    for header in _pages(file, begin, begin + packed):
        if not 0 <= header[2] <= 2 * unpacked + _SPARE_BYTES:
            raise ValueError(f"a page of {header[2]:,} bytes in a column of {unpacked:,}")
        data = header.get(5) or header.get(8)
        counts = data or {1: 0}
        if any(not 0 <= number <= values for number in (counts[1], header.get(8, {}).get(3, 0))):
            raise ValueError(f"a page of {counts[1]:,} values in a column of {values:,}")
        # a dictionary may have more values than the column: it may be that of all row groups
        entries = header.get(7, {1: 0})[1]
        if not 0 <= entries <= header[2]:
            raise ValueError(f"a dictionary of {entries:,} values in {header[2]:,} bytes")
        n_values += counts[1] if data else 0
    if n_values != values:
        raise ValueError(f"pages of {n_values:,} values in a column of {values:,}")


def _pages(file: IO[bytes], begin: int, end: int) -> Iterator[dict[int, Any]]:
    """Yield the header of each page between two offsets of a file."""
    while begin < end:
        header, length = _page_header(file, begin)
        begin += length + header[3]
        if header[3] < 0 or begin > end:
            raise ValueError("a page does not fit its column")
        yield header


def _page_header(file: IO[bytes], begin: int) -> tuple[dict[int, Any], int]:
    """Return the header of a page and its length; most are only a few bytes long."""
    size = _HEADER_BYTES
    while True:
        file.seek(begin)
        reader = _Reader(file.read(size))
        try:
            return reader.struct(), reader.place
        except IndexError:
            if size >= _LONGEST_HEADER_BYTES:
                raise
            size = _LONGEST_HEADER_BYTES


class _Reader:
    """Reads values of Thrift's compact protocol; reading past the end is an `IndexError`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number; texts and maps are skipped."""
        if depth > _DEEPEST:
            raise ValueError("structs within structs without end")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if _BYTE < kind <= _I64:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        return self._pass_over(kind, depth)

    def _pass_over(self, kind: int, depth: int) -> None:
        if kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind == _MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            for _ in range(count):
                self._element(kinds >> 4, depth)
                self._element(kinds & 15, depth)
        else:
            raise ValueError(f"a field of the unknown type {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        if count > len(self._data) - self.place:
            raise IndexError("a list that is longer than the data")
        return [self._element(head & 15, depth) for _ in range(count)]

    def _element(self, kind: int, depth: int) -> Any:
        """Return an element of a list or map, where a boolean takes one byte."""
        return self._byte() if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _skip(self, count: int) -> None:
        self.place += count
        if self.place > len(self._data):
            raise IndexError("a value ends after the data")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than ten bytes")

    def _integer(self) -> int:
        """Return a signed number (zigzag encoding: the sign is the last bit)."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
