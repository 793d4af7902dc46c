"""Computation behind the pages: steps, a cache of results, and running jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from cachetools import LRUCache

from densray.axes import (
    Axis,
    Diagnosis,
    FailedMethod,
    Induction,
    MethodComparison,
    MethodTrial,
    SpaceComparison,
    check_rows,
    compare_spaces,
    compare_trials,
    find_rows,
    rank_words,
    try_method,
)
from densray.debiasing import (
    RemovalResult,
    concept_of,
    evaluate_removal,
    measure_original,
    measure_topics,
)
from densray.erasure import Erasure
from densray.lexicon import Lexicon
from densray.progress import Progress, part_of
from densray.rotations import Rotation
from densray.rows import Rows
from densray.space import WordSpace

Value = TypeVar("Value")

#: Cache size in bytes over all visitors: the minimum for any space, and the maximum.
LEAST_KEPT, MOST_KEPT = 64 * 2**20, 1024 * 2**20
#: Bytes counted for a result in addition to its arrays, for words and single numbers.
RESULT_BYTES = 64 * 2**10


def count_bytes(found: Any) -> int:
    """Return the approximate size of a result in bytes: its arrays, at any depth; shared spaces count as 0.

    >>> count_bytes({"scores": np.zeros(100_000)}) >= 800_000
    True
    """
    seen: set[int] = set()

    def of(part: Any) -> int:
        if id(part) in seen or isinstance(part, str | int | float | WordSpace | None):
            return 0
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            return int(part.nbytes)
        if isinstance(part, Mapping):
            return sum(map(of, part.values()))
        if isinstance(part, list | tuple):
            return sum(map(of, part))
        if is_dataclass(part):
            return sum(of(getattr(part, field.name)) for field in fields(part))
        return sum(map(of, vars(part).values())) if isinstance(part, Rotation | Axis) else 0

    return RESULT_BYTES + of(found)


def bytes_to_keep(space: WordSpace) -> int:
    """Return the cache size for a space in bytes: twice its own size, within limits."""
    return min(max(8 * len(space) * space.width, LEAST_KEPT), MOST_KEPT)


#: Seconds after which a step ends if no page checks it; a click reruns the page, which checks it much earlier.
SECONDS_UNWATCHED = 5.0


class Abandoned(BaseException):
    """Raised to end a step that no page waits for."""


class Job:
    """A running step, its progress, and its result.

    Parameters
    ----------
    find : callable
        Called with a progress function; reporting progress ends the step if no page waits for it.
    """

    def __init__(self, find: Callable[[Progress], Any]) -> None:
        self.progress = (0, 1)
        self._find = find
        self._seen = time.monotonic()
        self._is_cancelled = False
        self._finished = threading.Event()
        self._found: Any = None
        self._problem: BaseException | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def watch(self, seconds: float) -> bool:
        """Wait for the step for a while; return whether it has ended."""
        self._seen = time.monotonic()
        return self._finished.wait(seconds)

    def cancel(self) -> None:
        """Stop the step at its next progress report."""
        self._is_cancelled = True

    @property
    def is_running(self) -> bool:
        """Whether the step is still running and wanted."""
        return not self._finished.is_set() and not self._is_cancelled

    def result(self) -> Any:
        """Return the result of an ended step, or raise its error."""
        if self._problem is not None:
            raise self._problem
        return self._found

    def _run(self) -> None:
        try:
            self._found = self._find(self._report)
        except BaseException as problem:
            self._problem = problem
        finally:
            self._finished.set()

    def _report(self, done: int, total: int | None) -> None:
        if self._is_cancelled or time.monotonic() - self._seen > SECONDS_UNWATCHED:
            raise Abandoned
        self.progress = done, total or 1


class Jobs:
    """Running steps by name; requests for a running step share it."""

    def __init__(self) -> None:
        self._running: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, name: str, find: Callable[[Progress], Any]) -> Job:
        """Return the running step of that name; start one if there is none."""
        with self._lock:
            self._running = {key: job for key, job in self._running.items() if job.is_running}
            if name not in self._running:
                self._running[name] = Job(find)
            return self._running[name]

    def cancel(self, name: str) -> None:
        """Stop the step of that name, if it is running."""
        with self._lock:
            if name in self._running:
                self._running.pop(name).cancel()


@dataclass(frozen=True)
class ShownAxis:
    """An axis on a page: its lexicon, the requested method, and the ranked vocabulary."""

    lexicon: Lexicon
    method: str
    axis: Axis
    ranking: Induction

    @property
    def rows(self) -> Rows:
        """The labelled words the axis was fitted on."""
        return self.axis.known_rows


@dataclass(frozen=True)
class RemovalWords:
    """The words to evaluate a removal with: its two ends, words that should be neutral, words to keep."""

    anchors: tuple[str, str]
    neutral: tuple[str, ...]
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step(Generic[Value]):
    """A result that a page needs: its cache key, how to compute it, and how to rename a cached one.

    Attributes
    ----------
    bench : Bench
        Caches the result.
    key : tuple
        Cache key: everything the result depends on; it begins with the kind of step.
    find : callable
        Called with a progress function, or None.
    renamed : callable, optional
        Names are not part of the cache key: this function inserts them into a cached result.
    says : callable, optional
        Returns a description of the current work, from the number of steps done and their total.
    """

    bench: Bench
    key: tuple[Hashable, ...]
    find: Callable[[Progress | None], Value]
    renamed: Callable[[Value], Value] = field(default=lambda found: found)
    says: Callable[[int, int], str] = field(default=lambda done, total: "")

    @property
    def name(self) -> str:
        """Identifier of this step while it runs."""
        return f"{self.key[0]} {hash(self.key)}"

    @property
    def is_known(self) -> bool:
        """Whether the result is in the cache."""
        return self.bench.holds(self.key)

    def run(self, progress: Progress | None = None) -> Value:
        """Return the result, from the cache or computed now."""
        return self.renamed(self.bench.recall(self.key, lambda: self.find(progress)))


class Bench:
    """Cached results about one object on show, and the long steps that run.

    Parameters
    ----------
    name : str
        Name on the pages.
    source : str
        The file or data set it was read from, for commands and code on the pages.
    max_bytes : int
        Size of the cache; the least recently used results are dropped, and a larger result is not cached.
    """

    def __init__(self, name: str, source: str, max_bytes: int) -> None:
        self.name, self.source = name, source
        self.jobs = Jobs()
        self._results: LRUCache[Hashable, Any] = LRUCache(max_bytes, getsizeof=count_bytes)
        self._lock = threading.Lock()

    def recall(self, key: Hashable, find: Callable[[], Value]) -> Value:
        """Return the cached result of a key; compute and cache it if there is none."""
        with self._lock:
            if key in self._results:
                kept: Value = self._results[key]
                return kept
        found = find()  # outside the lock, so that others can read the cache
        with self._lock, suppress(ValueError):  # ignore results larger than the cache
            self._results[key] = found
        return found

    def holds(self, key: Hashable) -> bool:
        """Return whether a key is in the cache."""
        with self._lock:
            return key in self._results


class Workbench(Bench):
    """A space, results about it, and the long steps that run.

    Parameters
    ----------
    space : WordSpace
    source : str, optional
        The file or data set the space was read from (default: its name).
    max_bytes : int, optional
        Size of the cache (default: by the size of the space, see `bytes_to_keep`).
    """

    def __init__(self, space: WordSpace, *, source: str | None = None, max_bytes: int | None = None) -> None:
        source = source or space.name
        # a file without a stored name is named after the file
        name = space.name if space.name not in ("", "space") else Path(source).stem
        super().__init__(name, source, bytes_to_keep(space) if max_bytes is None else max_bytes)
        self.space = space if space.name == self.name else space.renamed(self.name)

    def axis(self, lexicon: Lexicon, method: str) -> Step[ShownAxis]:
        """Fit the axis of labelled words, and rank the vocabulary along it."""

        def find(_: Progress | None) -> ShownAxis:
            axis = Axis.fit(find_rows(self.space, lexicon), method)
            return ShownAxis(lexicon, method, axis, rank_words(axis, self.space))

        return Step(self, ("axis", *identity(lexicon, method)), find, lambda found: replace(found, lexicon=lexicon))

    def neighbors(self, word: str, count: int) -> str:
        """Return the nearest words of a word, comma-separated."""
        found = self.recall(("neighbors", word, count), lambda: self.space.neighbors(word, k=count))
        return ", ".join(other for other, _ in found)

    def diagnosis(self, shown: ShownAxis) -> Step[Diagnosis]:
        """Check how reliable an axis is."""
        key = ("diagnosis", *identity(shown.lexicon, shown.method))
        return Step(
            self,
            key,
            lambda progress: shown.axis.diagnose(progress=progress),
            lambda found: replace(found, lexicon=shown.lexicon.name),
        )

    def trial(self, lexicon: Lexicon, method: str) -> Step[MethodTrial | FailedMethod]:
        """Evaluate one method on a concept."""

        def find(progress: Progress | None) -> MethodTrial | FailedMethod:
            return try_method(find_rows(self.space, lexicon), method, progress=progress)

        return Step(self, ("trial", *identity(lexicon, method)), find)

    def comparison(self, lexicon: Lexicon, methods: Sequence[str]) -> Step[MethodComparison]:
        """Compare the evaluated methods on a concept."""

        def find(_: Progress | None) -> MethodComparison:
            trials = [self.trial(lexicon, method).run() for method in methods]
            return compare_trials(find_rows(self.space, lexicon), trials)

        key = ("comparison", *identity(lexicon, ",".join(methods)))
        return Step(self, key, find, lambda found: replace(found, lexicon=lexicon.name))

    def moves(
        self,
        other: Workbench,
        lexicon: Lexicon,
        method: str,
        other_lexicon: Lexicon | None = None,
        pairs: tuple[tuple[str, str], ...] | None = None,
    ) -> Step[SpaceComparison]:
        """Find the words that moved along an axis from this space to another."""

        def find(_: Progress | None) -> SpaceComparison:
            return compare_spaces(
                self.space.renamed(self.name),
                other.space.renamed(other.name),
                lexicon,
                other_lexicon=other_lexicon,
                pairs=pairs,
                method=method,
            )

        theirs = None if other_lexicon is None else identity(other_lexicon, method)
        return Step(self, ("moves", other.name, *identity(lexicon, method), theirs, pairs), find)

    def erasure(self, lexicon: Lexicon, remover: str) -> Step[Erasure]:
        """Learn an erasure from the words of a concept."""
        key = ("erasure", *identity(lexicon, remover))
        return Step(self, key, lambda _: Erasure.fit(check_rows(find_rows(self.space, lexicon)), remover))

    def removal(self, lexicon: Lexicon, remover: str, words: RemovalWords) -> Step[RemovalResult]:
        """Measure how much of the concept a remover removed, and the quality of the rest."""
        planned: list[str] = []

        def says(done: int, total: int) -> str:
            if not planned or done >= total:
                return ""
            number, share = divmod(2 * done / total, 1.0)  # the original space, then the erased one
            return f"{planned[int(share * len(planned))]} of the {'erased' if number else 'original'} space"

        def find(progress: Progress | None) -> RemovalResult:
            concept = concept_of(lexicon, words.anchors, words.neutral, keep=words.keep)
            planned.extend(measure_topics(concept))
            original = self.recall(
                ("original", *identity(lexicon, ""), words),  # the same for every remover
                lambda: measure_original(self.space, concept, progress=part_of(progress, 0, 100, 200)),
            )
            result = evaluate_removal(
                self.space, concept, [remover], keep=words.keep, original=original, progress=progress
            )
            return replace(result, removed_spaces=())  # not cached, since they are as large as the space

        key = ("removal", *identity(lexicon, remover), words)
        return Step(self, key, find, lambda found: replace(found, concept=lexicon.name), says)


def identity(lexicon: Lexicon, method: str) -> tuple[Hashable, ...]:
    """Cache key of an axis."""
    return method, lexicon.words, lexicon.labels.tobytes()


#: The workbenches on show, by name; global, because nothing can be passed to the script that runs the pages.
_benches: dict[str, Workbench] = {}


def use(*workbenches: Workbench) -> None:
    """Serve these workbenches; spaces of the same name are named after their files, then numbered."""
    _benches.clear()
    names = [bench.name for bench in workbenches]
    for bench in workbenches:
        if names.count(bench.name) > 1:
            bench.name = Path(bench.source).stem
        number, stem = 1, bench.name
        while bench.name in _benches:
            number += 1
            bench.name = f"{stem} ({number})"
        _benches[bench.name] = bench


def benches() -> dict[str, Workbench]:
    """Return the workbenches by name (default: that of the bundled space)."""
    if not _benches:
        from densray.datasets import load_space

        use(Workbench(load_space("googlenews-26k")))
    return dict(_benches)


def current(name: str = "") -> Workbench:
    """Return a workbench by its name; the first if the name is unknown."""
    found = benches()
    return found.get(name) or next(iter(found.values()))
