"""The library pyarrow, imported when a table is opened, and its errors about damaged files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from densray.errors import DensRayError, TableError, load_extra, shorten


def arrow() -> Any:
    """Return the module ``pyarrow``."""
    load_extra("pyarrow.compute", "Tables need", extra="tables")
    return load_extra("pyarrow", "Tables need", extra="tables")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of Arrow and polars about a damaged file into an error that names the file."""
    import polars as pl

    pa = arrow()
    try:
        yield
    except DensRayError:
        raise
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, KeyError) as error:
        raise TableError(
            f"{path}: the file cannot be read ({shorten(error)}). Write it again, or leave it out."
        ) from error
