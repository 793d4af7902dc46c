"""What the explorer computes: the steps of its pages, a cache of what they found, and those that run."""

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

from densray._threads import Progress, part_of
from densray.alignment import Alignment
from densray.axes import Diagnosis, diagnose_axis
from densray.axes._comparison import FailedTrial, MethodComparison, MethodTrial, compare_trials, try_method
from densray.axes._model import AxisModel
from densray.axes._options import find_seeds, fit_rotation
from densray.axes._scoring import Induction, score_vocabulary
from densray.axes._spaces import SpaceComparison, compare_spaces
from densray.debiasing import Concept, RemovalResult, concept_of, evaluate_removal, find_erasure, measure_original
from densray.debiasing._preview import FoundErasure
from densray.lexicon import Lexicon
from densray.rotations import Rotation
from densray.space import WordSpace

Found = TypeVar("Found")

#: Bytes of results that are kept, over all visitors: of any space, and at most.
LEAST_KEPT, MOST_KEPT = 64 * 2**20, 1024 * 2**20
#: Bytes that a result counts for beside its arrays: words and single numbers.
RESULT_BYTES = 64 * 2**10


def count_bytes(found: Any) -> int:
    """Return about how many bytes a result takes: its arrays, wherever they are in it; a space is shared and free.

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
        return sum(map(of, vars(part).values())) if isinstance(part, Rotation) else 0

    return RESULT_BYTES + of(found)


def bytes_to_keep(space: WordSpace) -> int:
    """Return how many bytes of results are kept of a space: twice its own, within bounds."""
    return min(max(8 * len(space) * space.width, LEAST_KEPT), MOST_KEPT)


#: Seconds after which a step that no page looks at ends; a click runs the page again, which looks well before.
SECONDS_UNWATCHED = 5.0


class Abandoned(BaseException):
    """Ends a step nobody waits for; no error, so that nothing takes it for a result."""


class Job:
    """A step that runs, how far it is, and what it found.

    Parameters
    ----------
    find : callable
        Given a function to call with the steps done and their number; it ends there when nobody waits for it.
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
    """The steps that run, by name: whoever asks for one that runs already looks at the same."""

    def __init__(self) -> None:
        self._running: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, name: str, find: Callable[[Progress], Any]) -> Job:
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


@dataclass(frozen=True)
class Axis:
    """An axis found for the page: its seeds, its rotation and the vocabulary in its order."""

    lexicon: Lexicon
    method: str
    seeds: Alignment
    rotation: Rotation
    model: AxisModel
    ranking: Induction


@dataclass(frozen=True)
class RemovalWords:
    """The words a removal is looked at with: its two ends, what should be free of it, what is left as it is."""

    anchors: tuple[str, str]
    neutral: tuple[str, ...]
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step(Generic[Found]):
    """Something a page needs: what decides it, how it is found, and how a kept one takes the names it is asked for by.

    Attributes
    ----------
    bench : Workbench
        Keeps what is found.
    key : tuple
        All that decides the result; it begins with the kind of step.
    find : callable
        Given a function to call with the steps done and their number, or None.
    renamed : callable, optional
        What decides a result does not include names: puts them in.
    says : callable, optional
        Names what is being done, given the steps done and their number.
    """

    bench: Workbench
    key: tuple[Hashable, ...]
    find: Callable[[Progress | None], Found]
    renamed: Callable[[Found], Found] = field(default=lambda found: found)
    says: Callable[[int, int], str] = field(default=lambda done, total: "")

    @property
    def name(self) -> str:
        """Tells this step from others while it runs."""
        return f"{self.key[0]} {hash(self.key)}"

    @property
    def is_known(self) -> bool:
        """Whether it was found before and is kept."""
        return self.bench.holds(self.key)

    def run(self, progress: Progress | None = None) -> Found:
        """Return the result: the one that is kept, or found now."""
        return self.renamed(self.bench.recall(self.key, lambda: self.find(progress)))


class Workbench:
    """A space, what was found in it, and the long steps that run.

    Parameters
    ----------
    space : WordSpace
    source : str, optional
        The file or data set the space was read from, for the commands and code that pages show; by default its name.
    max_bytes : int, optional
        Of the results that are kept, by default by the size of the space (`bytes_to_keep`); those looked at longest
        ago go first, and a larger one is not kept at all.
    """

    def __init__(self, space: WordSpace, *, source: str | None = None, max_bytes: int | None = None) -> None:
        self.source = source or space.name
        #: What pages call the space; a file that stores no name goes by its own.
        self.name = space.name if space.name not in ("", "space") else Path(self.source).stem
        self.space = space if space.name == self.name else space.renamed(self.name)
        self.jobs = Jobs()
        self._results: LRUCache[Hashable, Any] = LRUCache(
            bytes_to_keep(space) if max_bytes is None else max_bytes, getsizeof=count_bytes
        )
        self._lock = threading.Lock()

    def recall(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Return what is kept under a key; find and keep it where there is nothing."""
        with self._lock:
            if key in self._results:
                kept: Found = self._results[key]
                return kept
        found = find()  # not under the lock: others may look up meanwhile
        with self._lock, suppress(ValueError):  # larger than all that may be kept
            self._results[key] = found
        return found

    def holds(self, key: Hashable) -> bool:
        """Return whether something is kept under a key."""
        with self._lock:
            return key in self._results

    def axis(self, lexicon: Lexicon, method: str) -> Step[Axis]:
        """Find the axis of some labelled words, and the vocabulary in its order."""

        def find(_: Progress | None) -> Axis:
            seeds = find_seeds(self.space, lexicon)
            rotation = fit_rotation(method, seeds)
            model = AxisModel(rotation.components_[0])
            ranking = score_vocabulary(self.space, model, method=method, seeds=seeds)
            return Axis(lexicon, method, seeds, rotation, model, ranking)

        return Step(self, ("axis", *identity(lexicon, method)), find, lambda found: replace(found, lexicon=lexicon))

    def neighbors(self, word: str, count: int) -> str:
        """Return the words nearest to a word, with commas between."""
        found = self.recall(("neighbors", word, count), lambda: self.space.neighbors(word, k=count))
        return ", ".join(other for other, _ in found)

    def diagnosis(self, axis: Axis) -> Step[Diagnosis]:
        """Find out how far an axis can be trusted."""

        def find(progress: Progress | None) -> Diagnosis:
            return diagnose_axis(
                self.space, axis.seeds, axis.rotation, method=axis.method, lexicon=axis.lexicon, progress=progress
            )

        key = ("diagnosis", *identity(axis.lexicon, axis.method))
        return Step(self, key, find, lambda found: replace(found, lexicon=axis.lexicon.name))

    def trial(self, lexicon: Lexicon, method: str) -> Step[MethodTrial | FailedTrial]:
        """Find out how one method does on a concept."""

        def find(progress: Progress | None) -> MethodTrial | FailedTrial:
            return try_method(self.space, find_seeds(self.space, lexicon), method, progress=progress)

        return Step(self, ("trial", *identity(lexicon, method)), find)

    def comparison(self, lexicon: Lexicon, methods: Sequence[str]) -> Step[MethodComparison]:
        """Put methods that were tried on a concept beside each other."""

        def find(_: Progress | None) -> MethodComparison:
            trials = [self.trial(lexicon, method).run() for method in methods]
            return compare_trials(self.space, lexicon, find_seeds(self.space, lexicon), trials)

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

    def erasure(self, lexicon: Lexicon, remover: str) -> Step[FoundErasure]:
        """Find what a remover learns from a concept."""
        key = ("erasure", *identity(lexicon, remover))
        return Step(self, key, lambda _: find_erasure(self.space, lexicon, remover))

    def removal(self, lexicon: Lexicon, remover: str, words: RemovalWords) -> Step[RemovalResult]:
        """Test what a remover took from the space, and what it left."""
        planned: list[str] = []

        def says(done: int, total: int) -> str:
            if not planned or done >= total:
                return ""
            place, share = divmod(2 * done / total, 1.0)  # the original space, then the erased one
            return f"{planned[int(share * len(planned))]} of the {'erased' if place else 'original'} space"

        def find(progress: Progress | None) -> RemovalResult:
            concept = concept_of(lexicon, words.anchors, words.neutral, keep=words.keep)
            planned.extend(_tests_of(concept))
            original = self.recall(
                ("original", *identity(lexicon, ""), words),  # the same for every remover
                lambda: measure_original(self.space, concept, progress=part_of(progress, 0, 100, 200)),
            )
            result = evaluate_removal(
                self.space, concept, [remover], keep=words.keep, original=original, progress=progress
            )
            return replace(result, removed_spaces=())  # as large as the space: not kept

        key = ("removal", *identity(lexicon, remover), words)
        return Step(self, key, find, lambda found: replace(found, concept=lexicon.name), says)


def _tests_of(concept: Concept) -> list[str]:
    """Return the tests of a removal in their order, each in words."""
    return [
        *["distances"] * 3,
        *["word association tests"] * len(concept.associations),
        *["questions about stereotypes"] * bool(concept.questions),
        "clusters",
        *["classifiers"] * 2,
        "neighbours",
        *["probes"] * 2,
        *["sentiment"] * bool(concept.identities and concept.positive and concept.negative),
        *["similarity ratings"] * len(concept.similarities),
        *["analogies"] * (concept.analogies is not None),
        "kept neighbours",
    ]


def identity(lexicon: Lexicon, method: str) -> tuple[Hashable, ...]:
    """Return what decides an axis, as a key."""
    return method, lexicon.words, lexicon.labels.tobytes()


#: The workbenches on show, by name; the pages run as a script of their own, which nothing can be handed to.
_benches: dict[str, Workbench] = {}


def use(*workbenches: Workbench) -> None:
    """Show these from now on; spaces of one name go by their files, then by numbers."""
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
    """Return the workbenches on show by name; where there is none, that of the embedded space."""
    if not _benches:
        from densray.datasets import load_space

        use(Workbench(load_space("googlenews-26k")))
    return dict(_benches)


def current(name: str = "") -> Workbench:
    """Return a workbench by its name; the first where there is none of that name."""
    found = benches()
    return found.get(name) or next(iter(found.values()))
