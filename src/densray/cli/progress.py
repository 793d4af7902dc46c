"""What is shown while a command works: a bar on stderr, on a terminal, after the first second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Advance", "progress"]

_PATIENCE = 1.0


class Advance(Protocol):
    """What a task calls to say how far it is."""

    def __call__(self, done: int, total: int | None = None, /) -> None: ...


@contextmanager
def progress(description: str, *, quiet: bool = False) -> Iterator[Advance]:
    """Show ``description`` with a bar while the block runs; yield a function to say how far it is.

    Nothing appears in the first second, with ``quiet``, or where stderr is not a terminal.

    Examples
    --------
    >>> with progress("Counting") as advance:
    ...     for number in range(3):
    ...         advance(number + 1, 3)
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done, total=None, /: None
        return

    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),  # empty until the first step is done: no 0 % that stands still
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    job = bar.add_task(description, total=None)

    def advance(done: int, total: int | None = None, /) -> None:
        bar.update(job, completed=done, total=total)

    delayed = threading.Timer(_PATIENCE, bar.start)
    delayed.daemon = True
    delayed.start()
    try:
        yield advance
    finally:
        delayed.cancel()
        delayed.join()
        bar.stop()
