"""What the format tests share: which ending belongs to which format, and what each format cannot hold."""

from __future__ import annotations

import re

from densray.formats import FORMATS

ENDING = {name: known.endings[0] for name, known in FORMATS.items()}
COMPRESSIBLE = [name for name, known in FORMATS.items() if known.compressible and not known.two_files]
PACKINGS = ("", ".gz", ".bz2", ".zst", ".zip")
FILES = [(kind, packing) for kind in ENDING for packing in (PACKINGS if kind in COMPRESSIBLE else ("",))]

_BLANK_NUMBER = re.compile(
    r"[ \t][+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|nan|inf(inity)?)\Z", re.IGNORECASE | re.ASCII
)


def cannot_hold(kind: str, word: str) -> bool:
    """Say whether a format has no way to write a word."""
    if kind in ("word2vec-text", "fasttext", "glove"):
        if kind == "glove" and word.startswith("\ufeff"):
            return True
        if re.fullmatch(r'"(.*[ \t].*|[ \t])"', word, re.DOTALL):
            return True
        return "\n" in word or "\r" in word or word != word.strip(" \t") or _BLANK_NUMBER.search(word) is not None
    if kind == "word2vec-binary":
        return re.search(r"[\x00-\x20\x7f]", word) is not None
    if kind == "npy":
        return "\n" in word or "\r" in word
    return kind == "npz" and word.endswith("\0")
