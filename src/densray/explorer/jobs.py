"""Long steps in threads of their own: watched by pages, ended when nobody looks any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from densray.tasks.steps import Advance

__all__ = ["Abandoned", "Job", "Jobs"]

#: Seconds after which a step nobody looks at ends; a click runs the page anew, and it looks again well before.
PATIENCE = 5.0


class Abandoned(BaseException):
    """Ends a step nobody waits for; no error, so that nothing takes it for a result."""


class Job:
    """A step that runs, how far it is, and what it found.

    Parameters
    ----------
    find : callable
        Given a function to call with the steps done and their number; it ends there when nobody waits for it.
    """

    def __init__(self, find: Callable[[Advance], Any]) -> None:
        self.progress = (0, 1)
        self._find = find
        self._seen = time.monotonic()
        self._is_cancelled = False
        self._finished = threading.Event()
        self._found: Any = None
        self._problem: BaseException | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def watch(self, seconds: float) -> bool:
        """Look at the step for a while; return whether it has ended."""
        self._seen = time.monotonic()
        return self._finished.wait(seconds)

    def cancel(self) -> None:
        """End the step when it next says how far it is."""
        self._is_cancelled = True

    @property
    def is_running(self) -> bool:
        """Whether the step goes on, for whoever wants what it finds."""
        return not self._finished.is_set() and not self._is_cancelled

    def result(self) -> Any:
        """Return what an ended step found, or raise what ended it."""
        if self._problem is not None:
            raise self._problem
        return self._found

    def _run(self) -> None:
        try:
            self._found = self._find(self._advance)
        except BaseException as problem:
            self._problem = problem
        finally:
            self._finished.set()

    def _advance(self, done: int, total: int) -> None:
        if self._is_cancelled or time.monotonic() - self._seen > PATIENCE:
            raise Abandoned
        self.progress = done, total


class Jobs:
    """The steps that run, by name: whoever asks for one that runs already looks at the same."""

    def __init__(self) -> None:
        self._running: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, name: str, find: Callable[[Advance], Any]) -> Job:
        """Return the step of that name, begun now where none runs."""
        with self._lock:
            self._running = {key: job for key, job in self._running.items() if job.is_running}
            if name not in self._running:
                self._running[name] = Job(find)
            return self._running[name]

    def cancel(self, name: str) -> None:
        """End the step of that name, if one runs."""
        with self._lock:
            if name in self._running:
                self._running.pop(name).cancel()
