"""word2vec binary: a text header, then each word, a space and its raw little-endian float32 numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from densray.errors import Advice, Argument, FormatError, shorten
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape
from densray.formats._bytes import Source, check_encoding, decode_words, header_of, undecodable

_LONGEST_WORD = 1 << 16
_BLOCK_BYTES = 1 << 20
#: Distinct numbers needed to detect the other byte order: a few tiny numbers may be intended.
_ENOUGH_NUMBERS = 16

#: A word with a space in it ends too early, so that the numbers of its row seem to begin with the rest of the word.
_TEXT = rb"[^\x00-\x1f\x7f]"
_REST_OF_WORD = re.compile(_TEXT + rb"*? ")
#: A rest of whole numbers: its last byte, a space, is the exponent of a number near 1e-19.
_REST_OF_WHOLE_NUMBERS = re.compile(rb"(?:" + _TEXT + rb"{4})*?" + _TEXT + rb"{3} ")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_LONGEST_REST = 256

_OUT_OF_STEP = (
    " A word has a space in it, which word2vec binary cannot hold, or the header is wrong. Write the file again with "
    "“_” instead, or in another format."
)
#: An encoding is the only remedy: to leave out or replace such words would hide that rows are out of step.
_ENCODING_ADVICE = Advice(
    " Give the encoding of the file, for example ",
    Argument("encoding", "latin-1"),
    ". If a word has a space in it, which word2vec binary cannot hold, write the file again with “_” instead.",
)


def read_word2vec_binary(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a word2vec binary file."""
    name = source.path.name
    header = header_of(source.peek(128))
    if header is None:
        raise FormatError(
            f"{name}, byte 0: {shorten(source.peek(24))} is not a header; word2vec binary begins with '3000000 300'."
        )
    rows, width, length = header
    check_shape(f"{name}, byte 0", rows, width)
    check_encoding(options)
    least = length + rows * (4 * width + 1)
    if source.size is not None and source.size < least:
        raise FormatError(
            f"{name}, byte {source.size:,}: the header says {rows:,} words of {width:,} numbers, at least {least:,} "
            f"bytes, and the file ends here. It is cut off, or the header is wrong."
        )
    source.read(length)
    return SpaceStream(width, rows, _blocks(source, options, rows=rows, width=width), unit="byte")


def _blocks(source: Source, options: ReadOptions, *, rows: int, width: int) -> Iterator[Block]:
    wanted_rows = rows if options.limit is None else min(rows, options.limit)
    data, row = b"", 0
    while row < wanted_rows:
        begin = source.offset - len(data)
        piece = source.read(max(_BLOCK_BYTES, 4 * width + 1))
        data += piece
        words, starts, end = _rows_in(data, 4 * width, most=wanted_rows - row)
        if not piece and not words:
            raise FormatError(
                f"{source.path.name}, byte {source.offset:,}: the file ends within row {row + 1:,} of {rows:,} "
                f"({shorten(data[:24])}). It is cut off, or the header is wrong."
            )
        if not words and len(data) - 4 * width > _LONGEST_WORD:
            raise FormatError(
                f"{source.path.name}, byte {begin:,}: no space ends the word {shorten(data[:24])} … of row "
                f"{row + 1:,}. The width {width:,} in the header is wrong, or this is not a word2vec binary file."
            )
        block = _block(data, words, starts, options, source=source, begin=begin, row=row, width=width)
        if row == 0:
            _check_byte_order(source, block.vectors)
        yield block
        row += len(words)
        data = data[end:]
    if options.limit is not None:
        return
    rest = (data + source.read(64)).strip(b"\n")  # read to the end, where compressed files have their checksum
    if rest:
        raise FormatError(
            f"{source.path.name}, byte {source.offset - len(data):,}: the header says {rows:,} words, and more bytes "
            f"follow ({shorten(rest[:24])}).",
            Advice(f" Correct the header, or read the first {rows:,} with ", Argument("limit", rows), "."),
        )


def _share_of_absurd(numbers: NDArray[np.float32]) -> float:
    size = np.abs(numbers[numbers != 0])
    return 1.0 - float(((size > 1e-20) & (size < 1e20)).mean()) if size.size else 0.0


def _check_byte_order(source: Source, vectors: NDArray[np.float32]) -> None:
    """Refuse numbers that are absurd, but ordinary with their bytes in the other order."""
    swapped = vectors.byteswap()
    if _share_of_absurd(vectors) <= 0.25 or _share_of_absurd(swapped) >= 0.01:
        return
    if np.unique(swapped).size >= _ENOUGH_NUMBERS:
        raise FormatError(
            f"{source.path.name}: the numbers are big-endian, and word2vec binary is little-endian. Swap the four "
            "bytes of each number, or write the file as text."
        )


def _rows_in(data: bytes, row_bytes: int, *, most: int) -> tuple[list[bytes], list[int], int]:
    """Return the words of complete rows, the offsets of their numbers, and the offset of the next row."""
    words: list[bytes] = []
    starts: list[int] = []
    begin, end = 0, len(data)
    find = data.find
    while len(words) < most:
        cut = find(b" ", begin)
        if cut < 0 or cut + 1 + row_bytes > end:
            break
        words.append(data[begin:cut].lstrip(b"\n"))  # the word2vec program ends each row with a line feed
        starts.append(cut + 1)
        begin = cut + 1 + row_bytes
    return words, starts, begin


def _check_step(
    data: bytes, words: list[bytes], starts: list[int], *, source: Source, begin: int, row: int, width: int
) -> None:
    """Refuse words with bytes of numbers in them, and rows whose numbers begin with the rest of a word.

    In an encoding where all bytes are text, nothing else would show that the rows are out of step.
    """
    for place, start in enumerate(starts):
        word = shorten(words[place], width=40)
        if _CONTROL.search(words[place]):
            problem = f"the word {word} contains a control character"
        elif rest := _rest_of_word(data, start, width):
            problem = f"text ({shorten(rest, width=40)}) stands where the numbers of {word} should begin"
        else:
            continue
        at = begin + start - len(words[place]) - 1
        raise FormatError(f"{source.path.name}, byte {at:,} (row {row + place + 1:,}): {problem}.{_OUT_OF_STEP}")


def _rest_of_word(data: bytes, start: int, width: int) -> bytes:
    """Return the text before the numbers of a row, after a word that contains a space; empty if there is none."""
    end = start + min(4 * width, _LONGEST_REST)
    rest = _REST_OF_WORD.match(data, start, end)
    if rest is None:
        return b""
    # a rest of whole numbers leaves all other numbers ordinary; any other rest makes about half of them absurd
    whole = _REST_OF_WHOLE_NUMBERS.match(data, start, end)
    if whole is None and _share_of_absurd(np.frombuffer(data, "<f4", width, start)) <= 0.25:
        return b""
    return bytes((whole or rest)[0])


def _block(
    data: bytes,
    words: list[bytes],
    starts: list[int],
    options: ReadOptions,
    *,
    source: Source,
    begin: int,
    row: int,
    width: int,
) -> Block:
    """Return the wanted rows as a block."""
    _check_step(data, words, starts, source=source, begin=begin, row=row, width=width)
    decoded = decode_words(words, options)
    kept: list[int] = []
    for place, word in enumerate(decoded):
        if word is None:
            message = (
                f"{source.path.name}, byte {begin + starts[place] - len(words[place]) - 1:,} "
                f"(row {row + place + 1:,}): {undecodable(words[place], options)}"
            )
            if not options.skip_bad_rows:
                raise FormatError(f"{message}.", _ENCODING_ADVICE)
            options.skipped.append(message)
        elif options.words is None or word in options.words:
            kept.append(place)
    view = memoryview(data)
    numbers = b"".join(view[starts[place] : starts[place] + 4 * width] for place in kept)
    return Block(
        [word for place in kept if (word := decoded[place]) is not None],
        np.frombuffer(numbers, dtype="<f4").reshape(len(kept), width),
        [begin + starts[place] - len(words[place]) - 1 for place in kept],
    )


def write_word2vec_binary(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write a word2vec binary file; words with spaces or control characters are refused."""
    file.write(f"{rows} {width}\n".encode())
    for words, vectors in pieces:
        odd = next((word for word in words if " " in word or _CONTROL.search(word.encode())), None)
        if odd is not None:
            raise FormatError(
                f"The word {shorten(odd)} has a space or a control character in it, which word2vec binary cannot hold. "
                f"Write native, .npz or .parquet."
            )
        raw = np.ascontiguousarray(vectors, dtype="<f4")
        for word, vector in zip(words, raw, strict=True):
            if _rest_of_word(vector.tobytes(), 0, width):
                raise FormatError(
                    f"The numbers of {shorten(word)} would be detected as another format: their bytes are letters. "
                    "Write native, .npz or .parquet."
                )
        file.write(
            b"".join(
                part for word, vector in zip(words, raw, strict=True) for part in (word.encode() + b" ", vector.data)
            )
        )
