"""Embedding files, read and written: any common format, by content, in bounded memory.

`read_space` opens a file, `write_space` writes one, `rewrite` turns one into another block by block. Nothing is
ever unpickled, and nothing is extracted to disk.
"""

from __future__ import annotations

from densray.formats._arrays import open_archive
from densray.formats._parquet import open_table
from densray.formats._reading import FORMATS, Format, name_of, read_space
from densray.formats._safetensors import MatrixFile, check_native
from densray.formats._writing import ENDINGS, Change, format_for, rewrite, write_space

__all__ = [
    "ENDINGS",
    "FORMATS",
    "Change",
    "Format",
    "MatrixFile",
    "check_native",
    "format_for",
    "name_of",
    "open_archive",
    "open_table",
    "read_space",
    "rewrite",
    "write_space",
]
