"""Read and write embedding files of any common format, in bounded memory.

`read_space` opens a file, `write_space` writes one, `rewrite` converts one block by block. Nothing is
unpickled, and nothing is extracted to disk.
"""

from __future__ import annotations

from densray._files import foreign_kind
from densray.formats._arrays import open_archive
from densray.formats._parquet import open_parquet
from densray.formats._reading import FORMATS, Format, name_of, read_space, verify_space
from densray.formats._safetensors import MatrixFile
from densray.formats._writing import ENDINGS, Change, format_for, rewrite, write_space

__all__ = [
    "ENDINGS",
    "FORMATS",
    "Change",
    "Format",
    "MatrixFile",
    "foreign_kind",
    "format_for",
    "name_of",
    "open_archive",
    "open_parquet",
    "read_space",
    "rewrite",
    "verify_space",
    "write_space",
]
