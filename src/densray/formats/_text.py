"""Text formats: word2vec text and GloVe, read and written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._files import NUMBER
from densray._threads import map_ahead
from densray.errors import Advice, Argument, FormatError, shorten
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape, rows_per_block
from densray.formats._bytes import (
    BOM,
    DECODING_ADVICE,
    Source,
    check_encoding,
    decode_words,
    fields_of,
    header_of,
    separator_of,
    undecodable,
)


class _Line(NamedTuple):
    word: bytes
    numbers: bytes
    line: int
    start: int


class _Regular(NamedTuple):
    """Lines with single separators between fields, and their vectors."""

    text: bytes
    vectors: NDArray[np.float32]


_CORRECT = Advice(" Correct the line, or leave such lines out with ", Argument("bad_rows", "skip"), ".")


@dataclass
class LineParser:
    """Parses lines with a word and `width` numbers, from the right: a word may contain spaces.

    With a tab as separator, fields are separated by single tabs. Otherwise they are separated by any number of spaces
    and tabs. A word neither begins nor ends with a space.
    """

    name: str
    width: int
    separator: bytes
    options: ReadOptions

    def __post_init__(self) -> None:
        wanted = self.options.words
        self._beginnings = (
            None
            if wanted is None
            else {self._beginning(word.encode(self.options.encoding, "replace")) for word in wanted} | {b""}
        )

    def _beginning(self, line: bytes) -> bytes:
        """Return the part before the first separator."""
        first = line.split(self.separator, 1)[0]
        return first if self.separator == b"\t" else first.split(b"\t", 1)[0]

    @cached_property
    def _schema(self) -> dict[str, Any]:
        import polars as pl

        return {"": pl.String} | {str(axis): pl.Float32 for axis in range(self.width)}

    def parse(
        self, text: bytes, regular: _Regular | None, *, row: int, line: int, offset: int, allowed: int | None
    ) -> tuple[Block, int, int]:
        """Return the block of these lines, and the next row and line numbers.

        `regular` comes from `look_ahead`, which skips pieces of which only some lines are `allowed`.
        """
        if self._beginnings is None:
            block = self._regular_block(regular if allowed is None else self._regular(_head(text, allowed)), line)
            if block is not None:
                return block, row + len(block.words), line + len(block.words)
        block, taken = self._parse_each(text, line, offset, allowed)
        return block, row + taken, line + text.count(b"\n")

    def look_ahead(self, pieces: Iterator[tuple[bytes, int]]) -> Iterator[tuple[tuple[bytes, int], _Regular | None]]:
        """Yield pieces with their regular form, computed ahead if all lines are wanted."""
        if self._beginnings is None and self.options.limit is None:
            yield from map_ahead(lambda piece: self._regular(piece[0]), pieces)
        else:
            yield from ((piece, None) for piece in pieces)

    def _regular(self, text: bytes) -> _Regular | None:
        """Return lines with single separators and their numbers; None if they are not regular."""
        if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
            return None
        if self.separator == b"\t":
            padded = b" \t" in text or b"\t " in text or b"\n " in text or text.startswith(b" ")
            return None if padded else self._with_vectors(text)
        found = None if b"\t" in text else self._with_vectors(text)
        if found is None and not _has_single_blanks(text):
            return self._with_vectors(_with_single_blanks(text))
        return found

    def _with_vectors(self, text: bytes) -> _Regular | None:
        """Return lines with their vectors if each has `width` numbers, otherwise None."""
        blank = self.separator + b"\n"
        if text[: text.index(b"\n") + 1].endswith(blank):
            text = text.replace(blank, b"\n")
        # Enough separators in total, and no line with too few (which gives NaN): the right number everywhere.
        if _count(text, self.separator) != _count(text, b"\n") * self.width:
            return None
        vectors = self._numbers(text)
        return None if vectors is None or not np.isfinite(vectors).all() else _Regular(text, vectors)

    def _regular_block(self, regular: _Regular | None, line: int) -> Block | None:
        """Return the block if each line has a vector and all words are valid text."""
        if regular is None:
            return None
        words = _first_tokens(regular.text, self.separator)
        decoded = decode_words(words, self.options)
        if len(regular.vectors) != len(words) or None in decoded:
            return None
        return Block(decoded, regular.vectors, range(line, line + len(words)))  # type: ignore[arg-type]

    def _numbers(self, text: bytes) -> NDArray[np.float32] | None:
        """Return the numbers of regular lines; None if one cannot be parsed."""
        import polars as pl

        if text.startswith(b"\xef\xbb\xbf"):
            return None  # polars would take the beginning of the first word for a byte-order mark
        try:
            frame = pl.read_csv(
                text,
                separator=self.separator.decode(),
                has_header=False,
                quote_char=None,
                encoding="utf8-lossy",  # words are decoded elsewhere; here they must only not fail
                schema=self._schema,
            )
        except pl.exceptions.PolarsError:
            return None
        frame.drop_in_place("")  # faster than selecting the other columns when parsing
        return frame.to_numpy()

    def _parse_each(self, text: bytes, line: int, offset: int, allowed: int | None) -> tuple[Block, int]:
        """Return the block of the wanted lines and the number of rows passed; errors name the line."""
        kept: list[_Line] = []
        taken = 0
        single = self.separator == b" " and _has_single_blanks(text)
        for number, content, start in _numbered(text, line, offset):
            if allowed is not None and taken >= allowed:
                break
            taken += 1
            if self._beginnings is not None and self._beginning(content) not in self._beginnings:
                continue
            entry = self._split(content, number, start, single=single)
            if entry is not None:
                kept.append(entry)
        return self._block_of(kept), taken

    def _split(self, content: bytes, line: int, start: int, *, single: bool) -> _Line | None:
        """Return the word and the numbers of a line; the error for another shape names the line.

        With `single`, no line has tabs or several spaces in a row.
        """
        regular = self._regular_fields(content) if single or b"  " not in content else None
        if regular is not None:
            word, numbers, count = regular
        elif self.separator == b"\t":
            word, *fields = (field.strip(b" ") for field in content.split(b"\t"))
            numbers, count = b"\t".join(fields), len(fields)
        else:
            tokens = list(_TOKEN.finditer(content))
            named = len(tokens) > self.width or content[:1] in (b" ", b"\t")
            found = tokens[-self.width :] if named else tokens[1:]
            count = len(found)
            word = content[: found[0].start() if found else len(content)].strip(b" \t")
            numbers = b" ".join(token[0] for token in found)
        problem = self._problem(content, word, count)
        if problem:
            self._reject(problem, line, start)
            return None
        if None in decode_words([word], self.options):
            self._reject(undecodable(word, self.options), line, start, advice=DECODING_ADVICE)
            return None
        return _Line(word, self.separator + numbers, line, start)

    def _regular_fields(self, content: bytes) -> tuple[bytes, bytes, int] | None:
        """Return word, numbers and their count of a line with single spaces before its numbers; else None."""
        blanks = content.count(b" ")
        if self.separator == b"\t" or blanks < self.width or content[:1] == b" " or b"\t" in content:
            return None
        if blanks == self.width:
            word, _, numbers = content.partition(b" ")
        else:
            word = content.rsplit(b" ", self.width)[0]
            numbers = content[len(word) + 1 :]
        return word, numbers, self.width

    def _problem(self, content: bytes, word: bytes, count: int) -> str | None:
        """Return the problem with the shape of a line; None if it is valid."""
        if b"\r" in content:
            return f"a line end of CR alone within the line ({_shown(content)})"
        if count < self.width:
            return f"{count} numbers where {self.width} are needed ({_shown(content)})"
        if count > self.width:
            return f"more than {self.width} numbers ({_shown(content)})"
        problem = self._phrase_problem(word) if self.separator != b"\t" else None
        return problem and problem.format(_shown(content))

    def _phrase_problem(self, word: bytes) -> str | None:
        """Return the problem with the spaces in a word, with a placeholder for the line; None if there is none."""
        later = _TOKEN.findall(word)[1:]
        if not later:
            return None
        if NUMBER.fullmatch(later[-1]):
            return f"more than {self.width} numbers, or a word that ends in a number ({{}})"
        if _has_a_vector(later, self.width):
            return "two rows in one line, or numbers within a word ({})"
        if _is_quoted(word):
            return "the word is in quotation marks ({}). Write it without them, or between tabs"
        return None

    def _reject(self, problem: str, line: int, start: int, *, advice: Advice = _CORRECT) -> None:
        message = f"{self.name}, line {line:,} (byte {start:,}): {problem}"
        if not self.options.skip_bad_rows:
            raise FormatError(f"{message}.", advice)
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
        """Return whether all numbers of a line are numeric; the error names the first one that is not."""
        for token in entry.numbers.split(self.separator)[1:]:
            if not NUMBER.fullmatch(token):
                shown = _shown(entry.word + entry.numbers)
                problem = f"{_shown(token)} is not a number; a word and {self.width} numbers are needed ({shown})"
                self._reject(problem, entry.line, entry.start)
                return False
        return True


def _first_tokens(text: bytes, separator: bytes) -> list[bytes]:
    """Return the part before the first separator of each line."""
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
    """Return the first lines of a text, or all of it if it has fewer."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return text if len(ends) <= lines else text[: ends[lines - 1] + 1]


def _count(text: bytes, byte: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == byte[0]))


def _is_quoted(word: bytes) -> bool:
    return len(word) > 1 and word[:1] == word[-1:] == b'"'


_TOKEN = re.compile(rb"[^ \t]+")
_NUMBER_FIRST = re.compile(rb"[+-]?\.?\d")


def _has_a_vector(tokens: list[bytes], width: int) -> bool:
    """Return whether a word contains a vector, because a line lost its end; its last number may touch the next word.

    For width 1, a vector cannot be distinguished from a number in a phrase.
    """
    run = 0
    for token in tokens if width > 1 else ():
        if run >= width - 1 and _NUMBER_FIRST.match(token):
            return True
        run = run + 1 if NUMBER.fullmatch(token) else 0
    return False


_CONTENT = re.compile(rb"[^ \t\r\n][^\n]*")


def _has_single_blanks(text: bytes) -> bool:
    """Return whether lines have no tabs, no two spaces in a row and none at their beginning."""
    letters = np.frombuffer(text, np.uint8)
    blanks = letters == ord(" ")
    return b"\t" not in text and not (blanks[0] or (blanks[1:] & (blanks[:-1] | (letters[:-1] == ord("\n")))).any())


def _with_single_blanks(text: bytes) -> bytes:
    """Return lines with single spaces between fields, and none at their ends."""
    single = re.sub(rb"[ \t]{2,}|\t", b" ", text).replace(b" \r\n", b"\n").replace(b" \n", b"\n").replace(b"\n ", b"\n")
    return single.removeprefix(b" ")


def _numbered(text: bytes, line: int, offset: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield number, content and first byte of each line that is not empty, without trailing spaces."""
    if text.count(b"\n") < len(text) // 8:
        for number, raw in enumerate(text.split(b"\n")[:-1], start=line):
            content = raw.rstrip(b" \t\r")
            if content:
                yield number, content, offset
            offset += len(raw) + 1
        return
    seen = 0  # very short lines: most may be empty, and are skipped at once
    for match in _CONTENT.finditer(text):
        start = text.rfind(b"\n", 0, match.start()) + 1
        line += text.count(b"\n", seen, start)
        seen = start
        yield line, text[start : match.end()].rstrip(b" \t\r"), offset + start


def _shown(text: bytes) -> str:
    return shorten(text.decode("utf-8", "backslashreplace"))


_LONGEST_LINE = 1 << 26
_TEXT_BYTES = 5 << 18  # polars needs several times this for each piece parsed ahead, in addition to the matrix


def read_word2vec_text(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a text file whose first line declares the numbers of words and dimensions."""
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
    """Return the stream of a text file without a header: the width is the most common one of its first lines."""
    if source.peek(len(BOM)) == BOM:
        source.read(len(BOM))
    head = _first_lines(source)
    lines = [fields_of(line) for line in head]
    counts = Counter(_trailing_numbers(fields) for fields in lines)
    width = max(counts, key=lambda count: (counts[count], count))
    if width == 0:
        raise FormatError(
            f"{source.path.name}, line 1: {_shown(b' '.join(lines[0]))} is not a word followed by numbers, "
            f"separated by spaces or tabs."
        )
    problem = _table_problem(lines, width, tabs=separator_of(head[0]) == b"\t")
    if problem is not None:
        raise FormatError(f"{source.path.name}, line 1: {_shown(b' '.join(lines[0]))} {problem}.")
    return _stream(source, options, width=width, rows=None)


_FRACTION = re.compile(rb"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_COLUMN_NAMES = (b"", b"word", b"words", b"token", b"tokens", b"term", b"index", b"key", b"name", b"id", b"unnamed: 0")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_LIKE_A_NUMBER = re.compile(rb"[+-]?\.?\d[\d.,;:eEdD+-]*")
_QUOTED = re.compile(rb"(?:\".+\"|'.+')", re.DOTALL)


def _table_problem(lines: list[list[bytes]], width: int, *, tabs: bool) -> str | None:
    """Return why the first lines look like a table and not like words and numbers; None if they do not."""
    words = [fields[:-width] for fields in lines if _trailing_numbers(fields) == width]
    joined = [b" ".join(word) for word in words]
    numbered = [word[0] for word in words if len(word) > 1]
    counted = [[b"%d" % (start + row) for row in range(len(words))] for start in (0, 1)]
    several = len(words) > 1
    problems = {
        "seems to name columns. Leave that line out": _names_columns(lines, width, tabs=tabs),
        "has something between its numbers. Separate them by spaces or tabs, with decimal points, and leave none out": (
            2 * sum(_has_numbers(word[1:]) for word in words) >= len(words)
        ),
        "has a mark after its word, as all lines have. Separate fields by spaces or tabs": (
            several and all(word.endswith((b",", b";", b":", b"|")) for word in joined)
        ),
        "begins with a number. Put a word before the numbers of each line": (
            several and all(len(word) == 1 and _FRACTION.fullmatch(word[0]) for word in words)
        ),
        "has its word in quotation marks, as all lines have. Write the file without them": (
            several and all(map(_QUOTED.fullmatch, joined))
        ),
        "begins with the number of its row, as all lines do. Leave that column out": (
            len(words) > 2 and numbered in counted
        ),
    }
    return next((problem for problem, is_there in problems.items() if is_there), None)


def _names_columns(lines: list[list[bytes]], width: int, *, tabs: bool) -> bool:
    """Return whether the first line counts 0, 1, 2 … or 1, 2, 3 … where the others have fractions."""
    if len(lines) < 2 or lines[0][-width:] not in ([b"%d" % (s + axis) for axis in range(width)] for s in (0, 1)):
        return False
    if b" ".join(lines[0][:-width]).strip(b"\"'").lower() in _COLUMN_NAMES:
        return True
    others = (token for fields in lines[1:] for token in fields[len(fields) - _trailing_numbers(fields) :])
    return (tabs or width > 1) and not all(token.isdigit() or _NOT_FINITE.fullmatch(token) for token in others)


def _has_numbers(tokens: list[bytes]) -> bool:
    """Return whether the tokens of a word include a number, or end in something like a number."""
    return bool(tokens) and (any(map(NUMBER.fullmatch, tokens)) or _LIKE_A_NUMBER.fullmatch(tokens[-1]) is not None)


def _check_declared(source: Source, rows: int, width: int) -> None:
    """Refuse a header that contradicts the size of a plain file, before anything is read."""
    check_shape(f"{source.path.name}, line 1", rows, width)
    least = rows * width * 2  # a space and a digit per number
    if source.size is not None and source.size < least:
        raise FormatError(
            f"{source.path.name}, line 1: the header says {rows:,} words of {width:,} numbers, at least {least:,} "
            f"bytes; the file has {source.size:,}. It is cut off, or the header is wrong."
        )


def _first_lines(source: Source) -> list[bytes]:
    """Return the complete lines at the beginning of the file, at least one."""
    size = 1 << 16
    while len(head := source.peek(size)) == size and b"\n" not in head.lstrip(b"\r\n") and size < _LONGEST_LINE:
        size *= 4
    lines = head.split(b"\n")
    if len(head) == size and len(lines) > 1:
        lines.pop()  # incomplete, since only the beginning was read
    return [line.rstrip(b" \t\r") for line in lines if line.strip()] or [b""]


def _trailing_numbers(fields: list[bytes]) -> int:
    count = 0
    while count < len(fields) - 1 and NUMBER.fullmatch(fields[-1 - count]):
        count += 1
    return count


def _stream(source: Source, options: ReadOptions, *, width: int, rows: int | None) -> SpaceStream:
    check_encoding(options)
    head = source.peek(1 << 16)
    if b"\n" not in head and b"\r" in head.rstrip():
        raise FormatError(f"{source.path.name}, line 1: lines end in CR alone. Convert them to LF or CR LF.")
    parser = LineParser(source.path.name, width, separator_of(head.lstrip(b"\r\n").partition(b"\n")[0]), options)
    return SpaceStream(width, rows, _blocks(source, parser, options, rows), unit="line")


def _blocks(source: Source, parser: LineParser, options: ReadOptions, rows: int | None) -> Iterator[Block]:
    """Yield the parsed blocks, and compare them with the header at the end."""
    row, line = 0, 1 if rows is None else 2
    for (text, offset), regular in parser.look_ahead(line_blocks(source)):
        allowed = None if options.limit is None else options.limit - row
        block, row, line = parser.parse(text, regular, row=row, line=line, offset=offset, allowed=allowed)
        if rows is not None and row > rows:
            raise FormatError(
                f"{source.path.name}, line {line - (row - rows):,}: the header says {rows:,} words, and more lines "
                "follow.",
                Advice(f" Correct the header, or read the first {rows:,} with ", Argument("limit", rows), "."),
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
    """Yield groups of complete lines with the offset of the first byte; the last line may lack its end."""
    rest, blanks = b"", 0
    while piece := source.read(_TEXT_BYTES):
        blanks = 0 if piece.strip(b" \t\r\n") else blanks + len(piece)
        if blanks > _LONGEST_LINE:
            raise FormatError(
                f"{source.path.name}, byte {source.offset:,}: more than {_LONGEST_LINE:,} bytes of blank lines. "
                "This is not a text file of vectors."
            )
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
        del piece  # keep only one copy in memory while the lines are parsed
        yield text, source.offset - len(text) - len(rest)
    if rest:
        yield rest + b"\n", source.offset - len(rest)


def write_word2vec_text(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write word2vec text, the same as fastText's ``.vec``: a header, then a word and its numbers per line."""
    file.write(f"{rows} {width}\n".encode())
    _write_lines(file, pieces, width)


def write_glove(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write GloVe text: a word and its numbers per line, no header."""
    _write_lines(file, _without_mark(pieces), width)


def _without_mark(pieces: Pieces) -> Pieces:
    """Refuse words that begin with the byte-order mark, which readers drop at the beginning of a file."""
    for words, vectors in pieces:
        odd = next((word for word in words if word.startswith("\ufeff")), None)
        if odd is not None:
            raise FormatError(f"The word {shorten(odd)} begins with a byte-order mark. Write native, .npz or .parquet.")
        yield words, vectors


def _write_lines(file: IO[bytes], pieces: Pieces, width: int) -> None:
    import polars as pl

    step = rows_per_block(width, itemsize=16)  # a number takes about 12 characters
    names = [str(axis) for axis in range(width)]
    for words, vectors in pieces:
        _check_words(words, width)
        for start in range(0, len(words), step):
            frame = pl.from_numpy(np.ascontiguousarray(vectors[start : start + step]), schema=names)
            frame.insert_column(0, pl.Series("word", words[start : start + step], dtype=pl.String))
            frame.write_csv(file, include_header=False, separator=" ", quote_style="never")


def _check_words(words: Sequence[str], width: int) -> None:
    """Refuse words that a reader would confuse with numbers, separators or line ends."""
    for word in words:
        if word.isalnum():
            continue
        later = [token.encode("utf-8", "replace") for token in _BLANKS.split(word)[1:]]
        last = later[-1:]
        if "\n" in word or "\r" in word:
            problem = "has a line end in it"
        elif word != word.strip(" \t"):
            problem = "begins or ends with a space"
        elif last and NUMBER.fullmatch(last[0]):
            problem = "ends in a space and a number"
        elif _has_a_vector(later, width):
            problem = f"contains {width} numbers in a row"
        elif last and word[0] == word[-1] == '"':
            problem = "contains spaces and is in quotation marks"
        else:
            continue
        raise FormatError(
            f"The word {shorten(word)} {problem}, which a text format cannot hold. Write native, .npz or .parquet."
        )


_BLANKS = re.compile(r"[ \t]+")
