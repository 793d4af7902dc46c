"""Text vectors, written: the shortest decimals that give the same float32 back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import numpy as np

from densray.errors import FormatError
from densray.formats._detection import NUMBER
from densray.formats._stream import Pieces, rows_per_block

__all__ = ["write_glove", "write_word2vec_text"]


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
            raise FormatError(
                f"The word {word!r} {'has a line end in it' if chr(10) in word else 'ends in a blank and a number'}, "
                f"which a text format cannot hold. Write native, .npz or .parquet."
            )
