"""Words as bytes: encodings that text formats can carry, and what to say when bytes are not text."""

from __future__ import annotations

from collections.abc import Sequence

from densray.errors import FormatError
from densray.formats._stream import ReadOptions

__all__ = ["check_encoding", "decode_words", "undecodable"]


def check_encoding(options: ReadOptions) -> None:
    """Refuse an encoding that does not exist, or in which a blank is not the byte it is in ASCII."""
    try:
        kept = " 0\n".encode(options.encoding) == b" 0\n"
        b"\xff".decode("ascii", options.errors if options.errors != "strict" else "ignore")
    except (LookupError, UnicodeError) as error:
        raise FormatError(f"{error}. Use encoding='utf-8' or 'latin-1', errors='strict' or 'replace'.") from error
    if not kept:
        raise FormatError(
            f"The encoding '{options.encoding}' does not keep blanks and digits as ASCII does. "
            f"Convert the file to UTF-8 first."
        )


def decode_words(words: Sequence[bytes], options: ReadOptions) -> list[str | None]:
    """Return the words as text, None for each that is not text in this encoding."""
    if not words:
        return []
    try:
        decoded = b"\n".join(words).decode(options.encoding, options.errors).split("\n")
        if len(decoded) == len(words):
            return list(decoded)
    except UnicodeDecodeError:
        pass
    return [_decode(word, options) for word in words]


def undecodable(word: bytes, options: ReadOptions) -> str:
    """Return what is wrong with a word that is not text, and what to do."""
    return (
        f"{word[:40]!r} is not {options.encoding.upper()}. Give the file's own encoding (encoding='latin-1', say), "
        f"or errors='replace', or leave such rows out with bad_rows='skip'."
    )


def _decode(word: bytes, options: ReadOptions) -> str | None:
    try:
        return word.decode(options.encoding, options.errors)
    except UnicodeDecodeError:
        return None
