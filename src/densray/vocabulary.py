"""A vocabulary: the words of a space and the row of each, found with or without regard to case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from densray.errors import UnknownWordError, name_some

__all__ = ["Vocabulary"]


class Vocabulary:
    """The words of a space in the order of its rows; look-up tables are built when they are first needed.

    Parameters
    ----------
    words : sequence of str
        Distinct words. Any sequence that slices will do, also one that decodes its words when asked.
    index : mapping from word to row, optional
        Built at the first look-up where it is not given.
    """

    __slots__ = ("_folded", "_index", "_repeated", "words")

    def __init__(self, words: Sequence[str], index: Mapping[str, int] | None = None) -> None:
        self.words = words
        self._index = index
        self._folded: dict[str, int] | None = None
        self._repeated: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.words)

    @property
    def index(self) -> Mapping[str, int]:
        """The row of each word."""
        if self._index is None:
            self._index = {word: row for row, word in enumerate(self.words)}
        return self._index

    @property
    def lower_index(self) -> Mapping[str, int]:
        """The first row of each word in lower case."""
        if self._folded is None:
            folded: dict[str, int] = {}
            repeated: dict[str, list[int]] = {}
            for row, word in enumerate(self.words):
                lower = word.lower()
                if folded.setdefault(lower, row) != row:
                    repeated.setdefault(lower, []).append(row)
            self._repeated, self._folded = repeated, folded  # whole at once: other threads may be looking
        return self._folded

    def spellings(self, word: str) -> list[int]:
        """Return the rows of a word in upper and lower case, in order."""
        lower = word.lower()
        first = self.lower_index.get(lower)
        return [] if first is None else [first, *self._repeated.get(lower, ())]

    def locate(self, words: Iterable[str], *, match_case: bool = True) -> NDArray[np.int64]:
        """Return the row of each word, -1 where it is missing; see `WordSpace.locate`."""
        wanted = list(words)
        index = self.index
        rows = [index.get(word, -1) for word in wanted]
        if not match_case and -1 in rows:
            lower = self.lower_index
            rows = [row if row >= 0 else lower.get(word.lower(), -1) for row, word in zip(rows, wanted, strict=True)]
        return np.array(rows, dtype=np.int64)

    def find(self, words: Iterable[str], *, match_case: bool = True) -> NDArray[np.int64]:
        """Return the rows of words that must all be known; the error names those that are not."""
        wanted = list(words)
        rows = self.locate(wanted, match_case=match_case)
        missing = [word for word, row in zip(wanted, rows, strict=True) if row < 0]
        if missing:
            raise UnknownWordError(
                f"{name_some(missing)} not among the {len(self):,} words of the space.{self._hint(missing[0])}"
            )
        return rows

    def _hint(self, word: str) -> str:
        spellings = (word.replace(" ", "_"), word.replace("_", " "))
        row = int(self.locate(spellings, match_case=False).max())
        return f" Did you mean '{self.words[row]}'?" if row >= 0 else " Ask with `word in space` first."
