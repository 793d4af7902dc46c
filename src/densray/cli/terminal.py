"""What commands write: results, progress, and what they keep of an interrupted run."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from densray._threads import Progress
    from densray.journal import Journal
    from densray.report import Figure, Report, Result, Section, Table

Found = TypeVar("Found", bound="Result")

_TABLES = (".csv", ".tsv", ".txt", ".json", ".parquet")
_PAGES = (".html", ".htm", "")
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


def check_page(path: Path, *, overwrite: bool) -> Path:
    """Return ``path`` if an HTML page may be written there; a name with the ending of something else is refused."""
    from densray.errors import OutputError

    if path.suffix.lower() not in _PAGES and not path.is_dir():
        raise OutputError(f"{path}: a report is an HTML page, not '{path.suffix}'. Name it {path.stem}.html.")
    return check_output(path, overwrite=overwrite)


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


def write_figure(draw: Callable[[], Any], path: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Write the figure that `draw` draws where a file was asked for."""
    if path is None:
        return
    from densray.figures import save

    save(draw(), path, overwrite=overwrite)
    note(f"Wrote {path}", quiet=quiet)


def check_report(path: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Refuse, before any work is done, a report that was asked for and could not be written; say if it will be."""
    if path is None:
        return
    check_page(path, overwrite=overwrite)
    from densray.figures._style import check_ready

    check_ready()
    note(f"Writing {path} at the end", quiet=quiet)


def write_report(
    path: Path | None,
    title: str,
    result: Found,
    draw: Callable[[Found], list[Figure]],
    *,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Write a result with its figures as one HTML page, where one was asked for."""
    if path is None:
        return
    from densray._files import atomic_write
    from densray.report import Report, Section, to_html

    page = to_html(Report(title, [Section.of(result, figures=draw(result))]))
    with atomic_write(path, overwrite=overwrite) as partial:
        partial.write_text(page, encoding="utf-8")
    note(f"Wrote {path}", quiet=quiet)


def show(
    answer: Report | Section | Result | Table, *, as_json: bool, quiet: bool = False, details: bool = True
) -> None:
    """Print an answer on stdout: laid out as tables, without its provenance where ``quiet``, or as JSON.

    Without ``details``, folded tables are only named.
    """
    if as_json:
        print_json(answer)
        return
    from rich.console import Console

    from densray.report import to_terminal

    drawing = to_terminal(answer, provenance=not quiet, details=details)
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


def complain(text: str) -> None:
    """Print a line on stderr; on a screen, broken between words."""
    line = f"densray: {text}"
    if sys.stderr.isatty():
        line = textwrap.fill(line, shutil.get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr)


_SECONDS_BEFORE_BAR = 1.0


@contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Show ``description`` with a bar while the block runs; yield a function to say how far it is.

    Nothing appears in the first second, with ``quiet``, or where stderr is not a terminal.

    Examples
    --------
    >>> with progress_bar("Counting") as progress:
    ...     for number in range(3):
    ...         progress(number + 1, 3)
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return

    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),  # empty until the first step is done: no 0% that stands still
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    job = bar.add_task(description, total=None)

    def progress(done: int, total: int | None) -> None:
        bar.update(job, completed=done, total=total)

    delayed = threading.Timer(_SECONDS_BEFORE_BAR, bar.start)
    delayed.daemon = True
    delayed.start()
    try:
        yield progress
    finally:
        delayed.cancel()
        delayed.join()
        bar.stop()


class InterruptedRun(Exception):  # noqa: N818 - not an error
    """A run was interrupted; the message says what was kept."""


class LongRun:
    """A run, the journal of its parts and how many there are in all."""

    def __init__(self, journal: Journal, *, quiet: bool) -> None:
        self.journal = journal
        self._quiet = quiet
        self._total: int | None = None

    @contextmanager
    def progress(self, description: str, *, by_parts: bool = True) -> Iterator[Progress]:
        """Show progress as :func:`densray.cli.terminal.progress_bar` does; say at the end what was not computed again.

        `by_parts` says whether a step of the progress is a part of the journal.
        """
        with progress_bar(description, quiet=self._quiet) as show:

            def progress(done: int, total: int | None) -> None:
                self._total = total if by_parts else None
                show(done, total)

            yield progress
        if self.journal.n_reused and not self._quiet:
            taken = self._count(self.journal.n_reused)
            complain(f"{taken} taken from an interrupted run; --fresh computes everything again")

    def interrupted(self) -> str:
        """Say what an interruption left; nothing is written after that."""
        self.journal.stop()
        kept = self.journal.n_stored
        if not kept:
            return "interrupted"
        return f"interrupted; {self._count(kept)} kept: the same command goes on from there"

    def _count(self, number: int) -> str:
        verb = "is" if number == 1 else "are"
        if self._total is not None and self._total >= number:
            return f"{number} of {self._total} parts {verb}"
        return f"{number} finished part{'' if number == 1 else 's'} {verb}"


@contextmanager
def long_run(*, fresh: bool, quiet: bool) -> Iterator[LongRun]:
    """Keep the finished parts of what is computed inside until its answer is out.

    An interruption ends in one line that says what was kept; an error (a full disk, say) keeps the parts as well.
    """
    from densray.journal import Journal

    run = LongRun(Journal(_folder(), fresh=fresh), quiet=quiet)
    try:
        yield run
    except KeyboardInterrupt:
        raise InterruptedRun(run.interrupted()) from None
    except BrokenPipeError:  # the reader of the answer has gone: it is out
        run.journal.clear()
        raise
    run.journal.clear()


def _folder() -> Path | None:
    """Return the folder of the journal: what ``DENSRAY_JOURNAL`` names (nothing: no journal), else in the cache."""
    named = os.environ.get("DENSRAY_JOURNAL")
    if named is not None:
        return Path(named).expanduser() if named.strip() else None
    from densray.datasets import cache_folder

    return cache_folder() / "journal"
