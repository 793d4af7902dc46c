"""Files that are whole or not there: written beside their place, moved into it at the end."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from densray.errors import OutputError

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary path in the same folder; it takes the place of `path` if nothing goes wrong.

    Until then the old file stays whole, whatever happens: an error, a full disk, a kill.
    """
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists. Pass overwrite=True to replace it, or choose another name.")
    temporary = path.with_name(f".{path.name[:64]}.{secrets.token_hex(6)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(
            f"{path}: {error.strerror or error}. What was there is unchanged; free space or choose another folder."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
