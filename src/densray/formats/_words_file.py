"""Words in a file of their own, one per line, beside vectors that carry none."""

from __future__ import annotations

from pathlib import Path

from densray.errors import FormatError
from densray.formats._encoding import check_encoding, decode_words, undecodable
from densray.formats._source import open_source
from densray.formats._stream import BLOCK_BYTES, ReadOptions
from densray.formats._target import compression_of

__all__ = ["read_words_beside", "words_path"]


def words_path(path: Path) -> Path:
    """Return where the words of ``vectors.npy`` are written: ``vectors.words.txt``."""
    return path.with_name(Path(compression_of(path)[1]).stem + ".words.txt")


def read_words_beside(path: Path, given: Path | None, options: ReadOptions, *, rows: int) -> list[str]:
    """Return the words of the first rows, from the file given or the one found beside the vectors."""
    stem = words_path(path).name.removesuffix(".words.txt")
    names = (f"{stem}.words.txt", f"{stem}.words", f"{stem}.vocab", f"{stem}.txt", "words.txt", "vocab.txt")
    found = given or next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if found is None:
        raise FormatError(
            f"{path.name} holds {rows:,} vectors and no words. Put them beside it in {names[0]}, one per line, "
            f"or name the file: words_file='…'."
        )
    wanted = rows if options.limit is None else min(rows, options.limit)
    lines = _lines(found, most=wanted + 1 if wanted == rows else wanted)
    if len(lines) != wanted:
        raise FormatError(
            f"{found.name}, line {len(lines):,}: {'more than ' if len(lines) > wanted else ''}"
            f"{min(len(lines), wanted):,} words for the {rows:,} vectors of {path.name}. The numbers must agree."
        )
    return _decoded(lines, found.name, options)


def _lines(path: Path, *, most: int) -> list[bytes]:
    """Return the first lines of a file, without their ends."""
    lines: list[bytes] = []
    rest = b""
    with open_source(path) as source:
        while len(lines) < most and (piece := source.read(BLOCK_BYTES)):
            *whole, rest = (rest + piece).split(b"\n")
            lines += whole
            if len(rest) > BLOCK_BYTES:
                raise FormatError(
                    f"{path.name}, line {len(lines) + 1:,}: a line of more than {BLOCK_BYTES:,} bytes is no word."
                )
    if rest:
        lines.append(rest)
    return [line.removesuffix(b"\r") for line in lines[:most]]


def _decoded(lines: list[bytes], name: str, options: ReadOptions) -> list[str]:
    check_encoding(options)
    words: list[str] = []
    for number, word in enumerate(decode_words(lines, options), start=1):
        if word is None:
            raise FormatError(f"{name}, line {number:,}: {undecodable(lines[number - 1], options)}")
        words.append(word)
    return words
