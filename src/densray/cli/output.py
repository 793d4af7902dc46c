"""Where files go and answers appear."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from densray.report import Report, Result, Section, Table

__all__ = ["check_figure", "check_output", "named_npz", "note", "print_json", "show"]

_TABLES = (".csv", ".tsv", ".txt", ".json", ".parquet")
_PIPE_WIDTH = 240  # wide enough that no cell is folded where nobody's screen is the limit


def check_output(path: Path, *, overwrite: bool) -> Path:
    """Return ``path`` if a file may be written there; refuse before any work is done.

    Refused are a missing folder, a folder or a device in place of a file, an existing file without ``overwrite``
    and a folder where nothing can be written.
    """
    from densray.errors import OutputError

    folder = path.parent
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Name the file to write.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file. Name the file to write.")
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder {folder} does not exist. Create it, or write elsewhere.")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already. Pass --overwrite to replace it, or write elsewhere.")
    try:
        with TemporaryFile(dir=folder):
            return path
    except OSError as error:
        raise OutputError(f"{path}: cannot write in {folder} ({error.strerror}). Write elsewhere.") from error


def named_npz(path: Path) -> Path:
    """Return where an axis goes: the name given, with the ending .npz where it has none; that of a table is refused."""
    from densray.errors import OutputError

    if path.suffix.lower() in _TABLES and not path.is_dir():
        raise OutputError(f"{path}: an axis is written as .npz, not as '{path.suffix}'. Name it {path.stem}.npz.")
    return path if path.suffix or path.is_dir() else path.with_suffix(".npz")


def check_figure(path: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Refuse, before any work is done, a figure that was asked for and could not be written; say if it will be."""
    if path is None:
        return
    check_output(path, overwrite=overwrite)
    from densray.figures import check_chart_path

    check_chart_path(path)
    note(f"Writing {path} at the end", quiet=quiet)


def show(answer: Report | Section | Result | Table, *, as_json: bool, quiet: bool = False) -> None:
    """Print an answer on stdout: laid out as tables, without its provenance where ``quiet``, or as JSON."""
    if as_json:
        print_json(answer)
        return
    from rich.console import Console

    from densray.report import to_terminal

    drawing = to_terminal(answer, provenance=not quiet)
    if sys.stdout.isatty():
        Console(highlight=False).print(drawing)
        return
    console = Console(file=io.StringIO(), width=_PIPE_WIDTH, highlight=False, color_system=None)
    with console.capture() as drawn:
        console.print(drawing)
    print("\n".join(line.rstrip() for line in drawn.get().rstrip().splitlines()))


def print_json(answer: Report | Section | Result | Table | Mapping[str, Any] | Sequence[Any]) -> None:
    """Print an answer on stdout as JSON, unrounded; in an encoding other than UTF-8, other letters are escaped."""
    from densray.report import to_json

    print(to_json(answer, ascii_only=not _is_utf8(sys.stdout.encoding)))


def _is_utf8(encoding: str | None) -> bool:
    return encoding is None or encoding.lower().replace("-", "") == "utf8"


def note(text: str, *, quiet: bool = False) -> None:
    """Tell someone at a terminal, on stderr, what is being done or was written."""
    if not quiet and sys.stderr.isatty():
        print(text, file=sys.stderr)
