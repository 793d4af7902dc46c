"""Text vectors: word2vec text, fastText ``.vec`` and GloVe, a block of lines at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from densray.errors import FormatError
from densray.formats._detection import NUMBER, header_of, separator_of
from densray.formats._encoding import check_encoding
from densray.formats._lines import LineParser
from densray.formats._source import Source
from densray.formats._stream import Block, ReadOptions, SpaceStream, check_shape

__all__ = ["read_glove", "read_word2vec_text"]

_LONGEST_LINE = 1 << 26
_TEXT_BYTES = 5 << 19  # polars needs several times this beside the matrix


def read_word2vec_text(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a text file whose first line says how many words and numbers follow."""
    header = header_of(source.peek(128))
    if header is None:
        line = source.peek(64).partition(b"\n")[0]
        raise FormatError(
            f"{source.path.name}, line 1: {line!r} is not a header. word2vec text begins with the number of words "
            f"and the width, '50000 300'; a file without that line is format='glove'."
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
            f"{source.path.name}, line 1: {lines[0][:60]!r} is not a word followed by numbers, "
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
    name = "glove" if rows is None else "word2vec-text"
    return SpaceStream(name, width, rows, _blocks(source, parser, options, rows), unit="line")


def _blocks(source: Source, parser: LineParser, options: ReadOptions, rows: int | None) -> Iterator[Block]:
    """Yield the parsed blocks, and check at the end that the header told the truth."""
    row, line = 0, 1 if rows is None else 2
    for text, offset in _line_blocks(source):
        allowed = None if options.limit is None else options.limit - row
        block, row, line = parser.parse(text, row=row, line=line, offset=offset, allowed=allowed)
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


def _line_blocks(source: Source) -> Iterator[tuple[bytes, int]]:
    """Yield runs of whole lines and the byte each begins at; the last line may lack its end."""
    rest = b""
    while piece := source.read(_TEXT_BYTES):
        cut = piece.rfind(b"\n") + 1
        if not cut:
            rest += piece
            if len(rest) > _LONGEST_LINE:
                raise FormatError(
                    f"{source.path.name}, byte {source.offset - len(rest):,}: a line of more than "
                    f"{_LONGEST_LINE:,} bytes ({rest[:24]!r} …). This is not a text file of vectors."
                )
            continue
        text, rest = b"".join((rest, memoryview(piece)[:cut])), piece[cut:]
        del piece  # no more than one copy is held while the lines are parsed
        yield text, source.offset - len(text) - len(rest)
    if rest:
        yield rest + b"\n", source.offset - len(rest)
