"""Lines of words and numbers into arrays: at once where all lines are regular, one by one where some are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray.errors import FormatError
from densray.formats._detection import NUMBER
from densray.formats._encoding import decode_words, undecodable
from densray.formats._stream import Block, ReadOptions

__all__ = ["LineParser"]


class _Line(NamedTuple):
    word: bytes
    numbers: bytes
    row: int
    line: int
    start: int


@dataclass
class LineParser:
    """Parses runs of lines, each a word and `width` numbers, read from the right: a word may hold blanks."""

    name: str
    width: int
    separator: bytes
    options: ReadOptions

    def __post_init__(self) -> None:
        wanted = self.options.words
        self._beginnings = (
            None
            if wanted is None
            else {word.encode(self.options.encoding, "replace").split(self.separator)[0] for word in wanted}
        )

    @cached_property
    def _schema(self) -> dict[str, Any]:
        import polars as pl

        return {"": pl.String} | {str(axis): pl.Float32 for axis in range(self.width)}

    def parse(self, text: bytes, *, row: int, line: int, offset: int, allowed: int | None) -> tuple[Block, int, int]:
        """Return the block of these lines, and the row and the line that come next."""
        if self._beginnings is None:
            block = self._parse_regular(text if allowed is None else _head(text, allowed), row, line)
            if block is not None:
                return block, row + len(block.words), line + len(block.words)
        block, taken = self._parse_each(text, row, line, offset, allowed)
        return block, row + taken, line + text.count(b"\n")

    def _parse_regular(self, text: bytes, row: int, line: int) -> Block | None:
        """Return the block if every line has its `width` numbers and a word that is text, None if any has not."""
        blank = self.separator + b"\n"
        if text[: text.index(b"\n") + 1].endswith(blank):
            text = text.replace(blank, b"\n")
        words = _first_tokens(text, self.separator)
        # Enough separators in all, and none too few anywhere (those give NaN): as many as needed everywhere.
        if _count(text, self.separator) != len(words) * self.width:
            return None
        decoded = decode_words(words, self.options)
        vectors = self._numbers(text)
        if vectors is None or len(vectors) != len(words) or not np.isfinite(vectors).all() or None in decoded:
            return None
        rows = range(row, row + len(words))
        return Block(decoded, vectors, rows, range(line, line + len(words)))  # type: ignore[arg-type]

    def _numbers(self, text: bytes) -> NDArray[np.float32] | None:
        """Return the numbers of regular lines, or None where one does not parse."""
        import polars as pl

        if text.startswith(b"\xef\xbb\xbf"):
            return None  # polars would take the first word's beginning for a byte-order mark
        try:
            frame = pl.read_csv(
                text,
                separator=self.separator.decode(),
                has_header=False,
                quote_char=None,
                encoding="utf8-lossy",  # words are decoded elsewhere; here they only must not stand in the way
                schema=self._schema,
                columns=list(range(1, self.width + 1)),
            )
        except pl.exceptions.PolarsError:
            return None
        return frame.to_numpy()

    def _parse_each(self, text: bytes, row: int, line: int, offset: int, allowed: int | None) -> tuple[Block, int]:
        """Return the block of the wanted lines and how many rows were passed; a line that is wrong is named."""
        kept: list[_Line] = []
        taken = 0
        for number, content, start in _numbered(text, line, offset):
            if allowed is not None and taken >= allowed:
                break
            taken += 1
            if self._beginnings is not None and content.split(self.separator, 1)[0] not in self._beginnings:
                continue
            word = self._word_of(content)
            problem = self._problem(content, word)
            if problem:
                self._reject(problem, number, start)
            elif word is not None:
                kept.append(_Line(word, content[len(word) :], row + taken - 1, number, start))
        return self._block_of(kept), taken

    def _word_of(self, content: bytes) -> bytes | None:
        """Return what stands before the last `width` separators of a line, None where it has not so many."""
        count = content.count(self.separator)
        if count == self.width:
            return content[: content.index(self.separator)]
        return content.rsplit(self.separator, self.width)[0] if count > self.width else None

    def _problem(self, content: bytes, word: bytes | None) -> str | None:
        """Return what is wrong with the shape of a line or with its word, None where nothing is."""
        if word is None:
            return f"{content.count(self.separator)} numbers where {self.width} are needed ({_shown(content)})"
        if self.separator in word and NUMBER.fullmatch(word.rsplit(self.separator, 1)[1]):
            return f"more than {self.width} numbers, or a word that ends in a number ({_shown(content)})"
        if None in decode_words([word], self.options):
            return undecodable(word, self.options)
        return None

    def _reject(self, problem: str, line: int, start: int) -> None:
        message = f"{self.name}, line {line:,} (byte {start:,}): {problem}"
        if not self.options.skip_bad_rows:
            raise FormatError(f"{message}. Correct the line, or leave such lines out with bad_rows='skip'.")
        self.options.skipped.append(message)

    def _block_of(self, lines: list[_Line]) -> Block:
        """Return the wanted lines as a block."""
        decoded = decode_words([entry.word for entry in lines], self.options)
        wanted = self.options.words
        chosen = [
            (word, entry)
            for word, entry in zip(decoded, lines, strict=True)
            if word is not None and (wanted is None or word in wanted)
        ]
        vectors = self._numbers(b"".join(entry.numbers + b"\n" for _, entry in chosen)) if chosen else None
        if vectors is None or len(vectors) != len(chosen) or not np.isfinite(vectors).all():
            chosen = [(word, entry) for word, entry in chosen if self._is_numeric(entry)]
            values = [[float(token) for token in entry.numbers.split(self.separator)[1:]] for _, entry in chosen]
            with np.errstate(over="ignore"):
                vectors = np.array(values, dtype=np.float32).reshape(len(values), self.width)
        return Block(
            [word for word, _ in chosen],
            vectors,
            [entry.row for _, entry in chosen],
            [entry.line for _, entry in chosen],
        )

    def _is_numeric(self, entry: _Line) -> bool:
        """Say whether all numbers of a line are; the one that is not is named."""
        for token in entry.numbers.split(self.separator)[1:]:
            if not NUMBER.fullmatch(token):
                shown = _shown(entry.word + entry.numbers)
                problem = f"{_shown(token)} is not a number; a word and {self.width} numbers are needed ({shown})"
                self._reject(problem, entry.line, entry.start)
                return False
        return True


def _first_tokens(text: bytes, separator: bytes) -> list[bytes]:
    """Return what stands before the first separator of each line."""
    words: list[bytes] = []
    start, end = 0, len(text)
    find = text.find
    while start < end:
        cut = find(separator, start)
        if cut < 0:
            break
        words.append(text[start:cut])
        start = find(b"\n", cut) + 1
    return words


def _head(text: bytes, lines: int) -> bytes:
    """Return the first lines of a text, all of it where it has no more."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return text if len(ends) <= lines else text[: ends[lines - 1] + 1]


def _count(text: bytes, byte: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == byte[0]))


def _numbered(text: bytes, line: int, offset: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield number, content and first byte of each line that is not blank, without blanks at its end."""
    for number, raw in enumerate(text.split(b"\n")[:-1], start=line):
        content = raw.rstrip(b" \t\r")
        if content:
            yield number, content, offset
        offset += len(raw) + 1


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "backslashreplace")[:60]) + (" …" if len(text) > 60 else "")
