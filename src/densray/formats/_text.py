"""Text formats: word2vec text and GloVe, read and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._files import NUMBER
from densray._threads import map_ahead
from densray.errors import FormatError, shorten
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape, rows_per_block
from densray.formats._bytes import Source, check_encoding, decode_words, header_of, separator_of, undecodable


class _Line(NamedTuple):
    word: bytes
    numbers: bytes
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

    def parse(
        self,
        text: bytes,
        vectors: NDArray[np.float32] | None,
        *,
        row: int,
        line: int,
        offset: int,
        allowed: int | None,
    ) -> tuple[Block, int, int]:
        """Return the block of these lines, and the row and the line that come next.

        `vectors` is what `look_ahead` found in them; where only some of them are `allowed`, it did not look.
        """
        if self._beginnings is None:
            head = text if allowed is None else _head(text, allowed)
            block = self._regular_block(head, vectors if allowed is None else self._vectors(head), line)
            if block is not None:
                return block, row + len(block.words), line + len(block.words)
        block, taken = self._parse_each(text, line, offset, allowed)
        return block, row + taken, line + text.count(b"\n")

    def look_ahead(
        self, pieces: Iterator[tuple[bytes, int]]
    ) -> Iterator[tuple[tuple[bytes, int], NDArray[np.float32] | None]]:
        """Yield pieces with the vectors of their lines, found ahead where all of them are wanted."""
        if self._beginnings is None and self.options.limit is None:
            yield from map_ahead(lambda piece: self._vectors(piece[0]), pieces)
        else:
            yield from ((piece, None) for piece in pieces)

    def _vectors(self, text: bytes) -> NDArray[np.float32] | None:
        """Return the numbers of lines if each has its `width` of them, None if any has not."""
        blank = self.separator + b"\n"
        if text[: text.index(b"\n") + 1].endswith(blank):
            text = text.replace(blank, b"\n")
        # Enough separators in all, and none too few anywhere (those give NaN): as many as needed everywhere.
        if _count(text, self.separator) != _count(text, b"\n") * self.width:
            return None
        vectors = self._numbers(text)
        return None if vectors is None or not np.isfinite(vectors).all() else vectors

    def _regular_block(self, text: bytes, vectors: NDArray[np.float32] | None, line: int) -> Block | None:
        """Return the block if there are vectors, one for each line, and every word is text."""
        if vectors is None:
            return None
        words = _first_tokens(text, self.separator)
        decoded = decode_words(words, self.options)
        if len(vectors) != len(words) or None in decoded:
            return None
        return Block(decoded, vectors, range(line, line + len(words)))  # type: ignore[arg-type]

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
            )
        except pl.exceptions.PolarsError:
            return None
        frame.drop_in_place("")  # to ask for the other columns would take longer than to parse this one
        return frame.to_numpy()

    def _parse_each(self, text: bytes, line: int, offset: int, allowed: int | None) -> tuple[Block, int]:
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
                kept.append(_Line(word, content[len(word) :], number, start))
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
        return Block([word for word, _ in chosen], vectors, [entry.line for _, entry in chosen])

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
    return shorten(text.decode("utf-8", "backslashreplace"))


_LONGEST_LINE = 1 << 26
_TEXT_BYTES = 5 << 18  # polars needs several times this beside the matrix, for each piece that is parsed ahead


def read_word2vec_text(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a text file whose first line says how many words and numbers follow."""
    header = header_of(source.peek(128))
    if header is None:
        line = source.peek(64).partition(b"\n")[0]
        raise FormatError(
            f"{source.path.name}, line 1: {shorten(line)} is not a header. word2vec text begins with the number of "
            f"words and the width, '50000 300'; a file without that line has the format 'glove'."
        )
    rows, width, length = header
    _check_declared(source, rows, width)
    source.read(length)
    return _stream(source, options, width=width, rows=rows)


def read_glove(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a text file without a header: the width is that of most of its first lines."""
    lines = _first_lines(source)
    separator = separator_of(lines[0])
    counts = Counter(_trailing_numbers(line, separator) for line in lines)
    width = max(counts, key=lambda count: (counts[count], count))
    if width == 0:
        raise FormatError(
            f"{source.path.name}, line 1: {shorten(lines[0])} is not a word followed by numbers, "
            f"separated by blanks or tabs."
        )
    return _stream(source, options, width=width, rows=None)


def _check_declared(source: Source, rows: int, width: int) -> None:
    """Refuse a header that the size of a plain file shows to be wrong, before a byte is read on its word."""
    check_shape(f"{source.path.name}, line 1", rows, width)
    least = rows * width * 2  # a blank and a digit for each number
    if source.size is not None and source.size < least:
        raise FormatError(
            f"{source.path.name}, line 1: the header says {rows:,} words of {width:,} numbers, at least {least:,} "
            f"bytes; the file has {source.size:,}. It is cut off, or the header is wrong."
        )


def _first_lines(source: Source) -> list[bytes]:
    """Return the whole lines of the head of the file, at least one."""
    size = 1 << 16
    while len(head := source.peek(size)) == size and b"\n" not in head.lstrip(b"\r\n") and size < _LONGEST_LINE:
        size *= 4
    lines = head.split(b"\n")
    if len(head) == size and len(lines) > 1:
        lines.pop()  # cut off by the look ahead
    return [line.rstrip(b" \t\r") for line in lines if line.strip()] or [b""]


def _trailing_numbers(line: bytes, separator: bytes) -> int:
    tokens = line.split(separator)
    count = 0
    while count < len(tokens) - 1 and NUMBER.fullmatch(tokens[-1 - count]):
        count += 1
    return count


def _stream(source: Source, options: ReadOptions, *, width: int, rows: int | None) -> SpaceStream:
    check_encoding(options)
    first = source.peek(1 << 12).lstrip(b"\r\n").partition(b"\n")[0]
    parser = LineParser(source.path.name, width, separator_of(first), options)
    return SpaceStream(width, rows, _blocks(source, parser, options, rows), unit="line")


def _blocks(source: Source, parser: LineParser, options: ReadOptions, rows: int | None) -> Iterator[Block]:
    """Yield the parsed blocks, and check at the end that the header was right."""
    row, line = 0, 1 if rows is None else 2
    for (text, offset), vectors in parser.look_ahead(line_blocks(source)):
        allowed = None if options.limit is None else options.limit - row
        block, row, line = parser.parse(text, vectors, row=row, line=line, offset=offset, allowed=allowed)
        if rows is not None and row > rows:
            raise FormatError(
                f"{source.path.name}, line {line - (row - rows):,}: the header says {rows:,} words, and more lines "
                f"follow. Correct the header, or read the first {rows:,} with limit={rows}."
            )
        if block.words:
            yield block
        if options.limit is not None and row >= options.limit:
            return
    if rows is not None and row != rows:
        raise FormatError(
            f"{source.path.name}, line {line:,}: the header says {rows:,} words, the file ends after {row:,}. "
            f"It is cut off, or the header is wrong."
        )


def line_blocks(source: Source) -> Iterator[tuple[bytes, int]]:
    """Yield runs of whole lines and the byte each begins at; the last line may lack its end."""
    rest = b""
    while piece := source.read(_TEXT_BYTES):
        cut = piece.rfind(b"\n") + 1
        if not cut:
            rest += piece
            if len(rest) > _LONGEST_LINE:
                raise FormatError(
                    f"{source.path.name}, byte {source.offset - len(rest):,}: a line of more than "
                    f"{_LONGEST_LINE:,} bytes ({shorten(rest[:24])} …). This is not a text file of vectors."
                )
            continue
        text, rest = b"".join((rest, memoryview(piece)[:cut])), piece[cut:]
        del piece  # no more than one copy is held while the lines are parsed
        yield text, source.offset - len(text) - len(rest)
    if rest:
        yield rest + b"\n", source.offset - len(rest)


def write_word2vec_text(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write word2vec text, which is fastText's ``.vec`` too: a header, then a word and its numbers per line."""
    file.write(f"{rows} {width}\n".encode())
    write_glove(file, pieces, rows=rows, width=width)


def write_glove(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write GloVe text: a word and its numbers per line, no header."""
    import polars as pl

    step = rows_per_block(width, itemsize=16)  # a number takes about 12 characters
    names = [str(axis) for axis in range(width)]
    for words, vectors in pieces:
        _check_words(words)
        for start in range(0, len(words), step):
            frame = pl.from_numpy(np.ascontiguousarray(vectors[start : start + step]), schema=names)
            frame.insert_column(0, pl.Series("word", words[start : start + step], dtype=pl.String))
            frame.write_csv(file, include_header=False, separator=" ", quote_style="never")


def _check_words(words: Sequence[str]) -> None:
    """Refuse the words that no reader could tell from numbers or line ends."""
    for word in words:
        *_, last = word.rsplit(" ", 1)
        if "\n" in word or (last is not word and NUMBER.fullmatch(last.encode("utf-8", "replace"))):
            problem = "has a line end in it" if "\n" in word else "ends in a blank and a number"
            raise FormatError(
                f"The word {shorten(word)} {problem}, which a text format cannot hold. Write native, .npz or .parquet."
            )
