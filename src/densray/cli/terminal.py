"""Output of commands: results, files, progress bars, and the finished parts of interrupted runs."""

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
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from densray.journal import Journal
    from densray.progress import Progress
    from densray.report import Figure, Report, Result, Section, Table

AnyResult = TypeVar("AnyResult", bound="Result")

_TABLES = (".csv", ".tsv", ".txt", ".json", ".parquet")
_PAGES = (".html", ".htm", "")
_PIPE_WIDTH = 240  # columns; wide enough that no cell wraps in a pipe


def check_output(path: Path, *, overwrite: bool) -> Path:
    """Return ``path`` if a file may be written there; refuse before any work is done."""
    from densray.report import check_writable

    return check_writable(path, overwrite=overwrite)


def check_page(path: Path, *, overwrite: bool) -> Path:
    """Return ``path`` if an HTML page may be written there; refuse other file extensions."""
    from densray.errors import OutputError

    if path.suffix.lower() not in _PAGES and not path.is_dir():
        raise OutputError(f"{path}: a report is an HTML page, not '{path.suffix}'. Name it {path.stem}.html.")
    return check_output(path, overwrite=overwrite)


def with_tensor_ending(path: Path) -> Path:
    """Return the path for an axis or erasure, with .safetensors if it has no extension; refuse other extensions."""
    from densray.errors import OutputError
    from densray.persistence import ENDING

    if path.suffix not in ("", ENDING) and not path.is_dir():
        raise OutputError(
            f"{path}: axes and erasures are saved as {ENDING}, not as '{path.suffix}'. Use {path.stem}{ENDING}."
        )
    return path if path.suffix or path.is_dir() else path.with_suffix(ENDING)


def check_figure(path: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Check before any work that the figure can be written, and announce it."""
    if path is None:
        return
    check_output(path, overwrite=overwrite)
    from densray.figures import check_chart_path

    check_chart_path(path)
    note(f"Writing {path} at the end", quiet=quiet)


def write_figure(draw: Callable[[], Any], path: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Write the figure that `draw` returns, if a file was requested."""
    if path is None:
        return
    from densray.figures import save

    save(draw(), path, overwrite=overwrite)
    note(f"Wrote {path}", quiet=quiet)


def check_report(path: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Check before any work that the report can be written, and announce it."""
    if path is None:
        return
    check_page(path, overwrite=overwrite)
    from densray.figures import check_ready

    check_ready()
    note(f"Writing {path} at the end", quiet=quiet)


def write_report(
    path: Path | None,
    title: str,
    result: AnyResult,
    draw: Callable[[AnyResult], list[Figure]],
    *,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Write a result with its figures as one HTML page, if one was requested."""
    if path is None:
        return
    from densray.report import Report, Section, write_html

    write_html(Report(title, [Section.of(result, figures=draw(result))]), path, overwrite=overwrite)
    note(f"Wrote {path}", quiet=quiet)


def show(
    answer: Report | Section | Result | Table,
    *,
    as_json: bool,
    quiet: bool = False,
    details: bool = True,
    bibtex: bool = False,
) -> None:
    """Print a result on stdout as tables or as JSON; ``quiet`` leaves out the provenance.

    Without ``details``, only the titles of folded tables are printed; ``bibtex`` adds the BibTeX entries to cite.
    """
    if as_json:
        print_json(answer)
        return
    from rich.console import Console

    from densray.report import to_terminal

    drawing = to_terminal(answer, provenance=not quiet, details=details, bibtex=bibtex)
    if sys.stdout.isatty():
        Console(highlight=False).print(drawing)
        return
    console = Console(file=io.StringIO(), width=_PIPE_WIDTH, highlight=False, color_system=None)
    with console.capture() as drawn:
        console.print(drawing)
    print("\n".join(line.rstrip() for line in drawn.get().rstrip().splitlines()))


def print_json(answer: Report | Section | Result | Table | Mapping[str, Any] | Sequence[Any]) -> None:
    """Print a result on stdout as JSON, unrounded; outside UTF-8, non-ASCII letters are escaped."""
    from densray.report import to_json

    print(to_json(answer, ascii_only=not _is_utf8(sys.stdout.encoding)))


def _is_utf8(encoding: str | None) -> bool:
    return encoding is None or encoding.lower().replace("-", "") == "utf8"


def note(text: str, *, quiet: bool = False) -> None:
    """Print a note on stderr, on a terminal only."""
    if not quiet and sys.stderr.isatty():
        print(text, file=sys.stderr)


def say(text: str) -> None:
    """Print a line of a result on stdout; on a terminal, wrapped between words."""
    if sys.stdout.isatty():
        text = _wrapped(text)
    print(text)


def _wrapped(text: str) -> str:
    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def complain(text: str) -> None:
    """Print a message on stderr; on a terminal, wrapped between words."""
    line = f"densray: {text}"
    if sys.stderr.isatty():
        line = _wrapped(line)
    print(line, file=sys.stderr)


_SECONDS_BEFORE_BAR = 1.0


@contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Show a progress bar while the block runs; yield the function that updates it.

    Nothing appears in the first second, with ``quiet``, or if stderr is not a terminal.

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
        TaskProgressColumn(),  # empty until the first step is done, so that no 0% is shown
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
    """A run was interrupted; the message says how much of it is kept."""


class LongRun:
    """A run, the journal of its finished parts, and their total number."""

    def __init__(self, journal: Journal, *, quiet: bool) -> None:
        self.journal = journal
        self._quiet = quiet
        self._total: int | None = None

    @contextmanager
    def progress(self, description: str, *, by_parts: bool = True) -> Iterator[Progress]:
        """Show progress as :func:`densray.cli.terminal.progress_bar` does; report the reused parts at the end.

        `by_parts`: whether each step of the progress is one part of the journal.
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
        """Stop writing, and return a message on the parts that are kept."""
        self.journal.stop()
        kept = self.journal.n_stored
        if not kept:
            return "interrupted"
        return f"interrupted; {self._count(kept)} kept: the same command resumes from there"

    def _count(self, number: int) -> str:
        verb = "is" if number == 1 else "are"
        if self._total is not None and self._total >= number:
            return f"{number} of {self._total} parts {verb}"
        return f"{number} finished part{'' if number == 1 else 's'} {verb}"


@contextmanager
def long_run(*, fresh: bool, quiet: bool) -> Iterator[LongRun]:
    """Keep the finished parts of the computation inside until its result is printed.

    After an interruption, one line tells how many parts are kept. An error such as a full disk keeps them as well.
    """
    from densray.journal import Journal

    run = LongRun(Journal(_folder(), fresh=fresh), quiet=quiet)
    try:
        yield run
    except KeyboardInterrupt:
        raise InterruptedRun(run.interrupted()) from None
    except BrokenPipeError:  # the reader of the output has gone: the result is printed
        run.journal.clear()
        raise
    run.journal.clear()


def _folder() -> Path | None:
    """Return the folder of the journal: ``DENSRAY_JOURNAL`` (empty: no journal), by default in the cache."""
    named = os.environ.get("DENSRAY_JOURNAL")
    if named is not None:
        return Path(named).expanduser() if named.strip() else None
    from densray.datasets import cache_folder

    return cache_folder() / "journal"
