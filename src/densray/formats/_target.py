"""Files written through a compressor."""

from __future__ import annotations

import bz2
import gzip
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

__all__ = ["COMPRESSIONS", "compression_of", "open_target"]

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd", ".zip": "zip"}
"""Which ending of a file name asks for which compression."""


def compression_of(path: Path) -> tuple[str | None, str]:
    """Return the compression the name of a file asks for, and the name without that ending."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    return compression, path.stem if compression else path.name


@contextmanager
def open_target(path: Path, *, compression: str | None, inner: str) -> Iterator[IO[bytes]]:
    """Open a new file for writing through a compressor; `inner` is what a zip archive calls its one member."""
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("wb"))
        if compression == "gzip":
            file = cast(
                "IO[bytes]", stack.enter_context(gzip.GzipFile(inner, "wb", compresslevel=6, fileobj=file, mtime=0))
            )
        elif compression == "bzip2":
            file = stack.enter_context(bz2.BZ2File(file, "wb"))
        elif compression == "zstd":
            from zstandard import ZstdCompressor

            file = stack.enter_context(ZstdCompressor().stream_writer(file, closefd=False))
        elif compression == "zip":
            archive = stack.enter_context(zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED))
            file = stack.enter_context(archive.open(inner, "w", force_zip64=True))
        yield file
