"""Which format a file has, by its content."""

from __future__ import annotations

import re

from densray.errors import FormatError
from densray.formats._source import Source

__all__ = ["FORMATS", "NUMBER", "detect_format", "header_of", "separator_of"]

FORMATS = (
    "word2vec-text",
    "word2vec-binary",
    "fasttext",
    "glove",
    "npy",
    "npz",
    "safetensors",
    "parquet",
    "native",
)
"""Every format by name; ``fasttext`` is word2vec text with the blank fastText leaves at the end of a line."""

NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)
"""A number as text formats write it."""

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\s*(\d+)[ \t]+(\d+)[ \t]*\r?\n")
_HEAD_BYTES = 1 << 16
_BEGINNINGS = {b"DENSRAY\0": "native", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1\x15": "parquet"}
_REFUSED = {
    re.compile(rb"\x80[\x02-\x05]"): (
        "a Python pickle (gensim's .kv and .model are), and opening one runs whatever code it holds. "
        "Load it with the gensim that wrote it, then kv.save_word2vec_format('space.bin', binary=True)"
    ),
    re.compile(rb"\xba\x16\x4f\x2f"): (
        "a fastText model (.bin) of subword vectors. Use the .vec file that comes with it"
    ),
    re.compile(rb"\x89HDF\r\n\x1a\n"): "an HDF5 file. Write its vectors to .npz (words, vectors) first",
    re.compile(
        rb"7z\xbc\xaf|\xfd7zXZ|Rar!\x1a"
    ): "an archive of a kind that is not read (gz, bz2, zst and zip are). Unpack it",
}


def detect_format(source: Source) -> str:
    """Return the name of the format that the first bytes of a file show."""
    head = source.peek(_HEAD_BYTES)
    if not head.strip():
        raise FormatError(f"{source.path.name}: the file is empty{' but for blanks' if head else ''}.")
    for magic, name in _BEGINNINGS.items():
        if head.startswith(magic):
            return name
    for pattern, what in _REFUSED.items():
        if pattern.match(head):
            raise FormatError(f"{source.path.name}: this is {what}.")
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27:
        return "safetensors"
    header = header_of(head)
    if header is not None:
        return "word2vec-text" if _looks_like_text(head[header[2] :], header[1]) else "word2vec-binary"
    if _looks_like_glove(head):
        return "glove"
    raise _unknown(source, head)


def header_of(head: bytes) -> tuple[int, int, int] | None:
    """Return rows, width and length of the first line where it is a word2vec header."""
    match = _HEADER.match(head[:128])
    if match is None:
        return None
    return int(match[1]), int(match[2]), match.end()


def separator_of(line: bytes) -> bytes:
    """Return what stands before the numbers of a line (whose end may be cut off): a tab, or else a blank."""
    return b"\t" if any(NUMBER.fullmatch(token) for token in line.strip().split(b"\t")[1:][-2:]) else b" "


def _looks_like_text(body: bytes, width: int) -> bool:
    """Say whether what follows a header reads as numbers after a word, rather than as raw floats."""
    line = body.partition(b"\n")[0]
    tokens = line.rstrip(b" \t\r").split(separator_of(line))
    numbers = tokens[max(1, len(tokens) - width) :]
    if not numbers:
        return not any(byte < 9 for byte in body)
    return sum(NUMBER.fullmatch(token) is not None for token in numbers) * 2 > len(numbers)


def _looks_like_glove(head: bytes) -> bool:
    """Say whether the first line that is not blank is a word and numbers; the last may be cut off."""
    line = head.lstrip(b"\r\n").partition(b"\n")[0]
    tokens = line.rstrip(b" \t\r").split(separator_of(line))
    return any(NUMBER.fullmatch(token) for token in tokens[1:][-2:])


def _unknown(source: Source, head: bytes) -> FormatError:
    return FormatError(
        f"{source.path.name}, byte 0: {head[:24]!r} begins no format that is known. "
        f"Known: {', '.join(FORMATS)}; plain or in gz, bz2, zst, zip. Name it with format='…' if it is one."
    )
