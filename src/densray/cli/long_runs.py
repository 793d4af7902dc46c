"""Runs that may be interrupted: finished parts are kept, and the same command goes on from there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from densray.cli.progress import Advance, progress

if TYPE_CHECKING:
    from densray.journal import Journal

__all__ = ["Fresh", "InterruptedRun", "LongRun", "long_run"]

Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Compute all anew, also what an interrupted run has finished.")
]


class InterruptedRun(Exception):  # noqa: N818 - not an error
    """A run was interrupted; the message says what was kept."""


class LongRun:
    """A run, the journal of its parts and how many there are in all."""

    def __init__(self, journal: Journal, *, quiet: bool) -> None:
        self.journal = journal
        self._quiet = quiet
        self._total: int | None = None

    @contextmanager
    def progress(self, description: str, *, by_parts: bool = True) -> Iterator[Advance]:
        """Show progress as :func:`densray.cli.progress.progress` does; say at the end what was not computed anew.

        `by_parts` says whether a step of the progress is a part of the journal.
        """
        with progress(description, quiet=self._quiet) as show:

            def advance(done: int, total: int | None = None, /) -> None:
                self._total = total if by_parts else None
                show(done, total)

            yield advance
        if self.journal.taken and not self._quiet:
            taken = self._count(self.journal.taken)
            print(f"densray: {taken} taken from an interrupted run; --fresh computes all anew", file=sys.stderr)

    def interrupted(self) -> str:
        """Say what an interruption left; nothing is written after that."""
        self.journal.stop()
        kept = self.journal.kept
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
