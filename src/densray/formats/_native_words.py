"""Words that stay on disk: decoded when asked for, found by a sorted table of hashes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from densray.errors import FormatError

__all__ = ["WordIndex", "WordTable"]


class WordTable(Sequence[str]):
    """The words of a native file, or a run of them."""

    def __init__(
        self,
        offsets: NDArray[np.uint64],
        text: NDArray[np.uint8],
        *,
        name: str,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self._offsets = offsets
        self._text = text
        self._name = name
        self._range = range(start, len(offsets) - 1 if stop is None else stop)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        if isinstance(row, slice):
            rows = self._range[row]
            if rows.step == 1:
                return WordTable(
                    self._offsets, self._text, name=self._name, start=rows.start, stop=max(rows.start, rows.stop)
                )
            return [self._decode(place) for place in rows]
        return self._decode(self._range[row])

    def __iter__(self) -> Iterator[str]:
        step = 1 << 14
        for start in range(self._range.start, self._range.stop, step):
            ends = self._offsets[start : min(start + step, self._range.stop) + 1].tolist()
            if ends[0] > ends[-1] or ends[-1] > len(self._text):
                self._fail(start)
            piece = self._text[ends[0] : ends[-1]].tobytes()
            for row, (begin, end) in enumerate(pairwise(ends), start=start):
                try:
                    yield piece[begin - ends[0] : end - ends[0]].decode()
                except UnicodeDecodeError:
                    self._fail(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"WordTable of {len(self):,} words"

    def _decode(self, row: int) -> str:
        begin, end = int(self._offsets[row]), int(self._offsets[row + 1])
        if begin > end or end > len(self._text):
            self._fail(row)
        try:
            return self._text[begin:end].tobytes().decode()
        except UnicodeDecodeError:
            self._fail(row)
        return ""

    def _fail(self, row: int) -> None:
        raise FormatError(f"{self._name}: word {row:,} is damaged. Write the file again from its source.")


class WordIndex(Mapping[str, int]):
    """The row of each word of a native file, looked up by hash: no dictionary is built."""

    def __init__(self, words: WordTable, hashes: NDArray[np.uint32], order: NDArray[np.uint32]) -> None:
        self._words = words
        self._hashes = hashes
        self._order = order

    def __getitem__(self, word: str) -> int:
        if isinstance(word, str):
            try:
                crc = np.uint32(zlib.crc32(word.encode()))
            except UnicodeEncodeError:
                raise KeyError(word) from None
            place = int(np.searchsorted(self._hashes, crc))
            while place < len(self._hashes) and self._hashes[place] == crc:
                row = int(self._order[place])
                if row < len(self._words) and self._words[row] == word:
                    return row
                place += 1
        raise KeyError(word)

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)
