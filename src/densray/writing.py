"""Files that are whole or not there: written beside their place, moved into it at the end."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from densray.errors import DensRayError, OutputError

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary path in the same folder; it takes the place of `path` if nothing goes wrong.

    Until then the old file stays whole, whatever happens: an error, a full disk, a kill.
    """
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists. Pass overwrite=True to replace it, or choose another name.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file, and would be replaced by one. Choose another name.")
    temporary = path.with_name(f".{path.name[:64]}.{secrets.token_hex(6)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise OutputError(
            f"{path}: {reason}. What was there is unchanged; free space or choose another folder."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _reason(error: Exception) -> str | None:
    """Return why the system refused to write; None for an error of another kind.

    Polars wraps what the system says in errors of its own, and keeps its words: ``… (os error 28)``.
    """
    if isinstance(error, DensRayError):
        return None
    told = re.search(r"([^:]+) \(os error \d+\)", str(error))
    if told:
        return told[1].strip()
    return (error.strerror or str(error)) if isinstance(error, OSError) else None
