"""What the explorer computes: steps, kept results, running jobs."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from densray._threads import Progress, part_of
from densray.alignment import Alignment
from densray.axes import Diagnosis, diagnose_axis
from densray.axes._comparison import FailedTrial, MethodComparison, MethodTrial, compare_trials, try_method
from densray.axes._model import AxisModel
from densray.axes._options import find_seeds, fit_rotation
from densray.axes._scoring import Induction, score_vocabulary
from densray.debiasing import RemovalResult, concept_of, evaluate_removal, find_erasure, measure_original
from densray.debiasing._preview import FoundErasure
from densray.lexicon import Lexicon
from densray.rotations import Rotation
from densray.space import WordSpace

Kept = TypeVar("Kept")

#: Bytes of arrays kept at once, over all visitors.
MOST = 1024 * 2**20
#: What a result counts at least: words and numbers that are no arrays.
LEAST = 64 * 2**10


class Memory:
    """Results by what decides them, as many as fit.

    Parameters
    ----------
    most : int
        Bytes; the newest result is kept whatever its size.
    """

    def __init__(self, *, most: int = MOST) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key: Hashable, find: Callable[[], Kept]) -> Kept:
        """Return what is kept under a key; find and keep it where there is nothing."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: Kept = self._kept[key][0]
                return kept
        found = find()  # not under the lock: others may look up meanwhile
        with self._lock:
            self._kept[key] = found, weigh(found)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self.weight > self.most:
                self._kept.popitem(last=False)
        return found

    def holds(self, key: Hashable) -> bool:
        """Return whether something is kept under a key."""
        with self._lock:
            return key in self._kept

    @property
    def weight(self) -> int:
        """The bytes of everything kept."""
        return sum(weight for _, weight in self._kept.values())


def weigh(found: Any) -> int:
    """Return about how many bytes a result takes: its arrays, wherever they are in it; a space is shared and free.

    >>> weigh({"scores": np.zeros(100_000)}) >= 800_000
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

    return LEAST + of(found)


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
        if self._is_cancelled or time.monotonic() - self._seen > PATIENCE:
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


class Workbench(Memory):
    """A space, what was found in it, and the long steps that run.

    Parameters
    ----------
    space : WordSpace
    """

    def __init__(self, space: WordSpace) -> None:
        super().__init__()
        self.space = space
        self.jobs = Jobs()

    def axis(self, lexicon: Lexicon, method: str) -> Axis:
        """Return the axis of some labelled words, and the vocabulary in its order."""

        def find() -> Axis:
            seeds = find_seeds(self.space, lexicon)
            rotation = fit_rotation(method, seeds)
            model = AxisModel(rotation.components_[0])
            ranking = score_vocabulary(self.space, model, method=method, seeds=seeds)
            return Axis(lexicon, method, seeds, rotation, model, ranking)

        return replace(self.recall(("axis", *identity(lexicon, method)), find), lexicon=lexicon)

    def knows_axis(self, lexicon: Lexicon, method: str) -> bool:
        """Return whether an axis was found before."""
        return self.holds(("axis", *identity(lexicon, method)))

    def diagnosis(self, axis: Axis, progress: Progress | None = None) -> Diagnosis:
        """Return how far an axis can be trusted."""

        def find() -> Diagnosis:
            return diagnose_axis(
                self.space, axis.seeds, axis.rotation, method=axis.method, lexicon=axis.lexicon, progress=progress
            )

        found = self.recall(("diagnosis", *identity(axis.lexicon, axis.method)), find)
        return replace(found, lexicon=axis.lexicon.name)  # what decides it does not include its name

    def knows_diagnosis(self, axis: Axis) -> bool:
        """Return whether an axis was diagnosed before."""
        return self.holds(("diagnosis", *identity(axis.lexicon, axis.method)))

    def trial(self, lexicon: Lexicon, method: str, progress: Progress | None = None) -> MethodTrial | FailedTrial:
        """Return how one method does on a concept."""

        def find() -> MethodTrial | FailedTrial:
            return try_method(self.space, find_seeds(self.space, lexicon), method, progress=progress)

        return self.recall(("trial", *identity(lexicon, method)), find)

    def knows_trial(self, lexicon: Lexicon, method: str) -> bool:
        """Return whether a method was tried on a concept before."""
        return self.holds(("trial", *identity(lexicon, method)))

    def comparison(self, lexicon: Lexicon, methods: Sequence[str]) -> MethodComparison:
        """Return methods that were tried on a concept beside each other."""

        def find() -> MethodComparison:
            trials = [self.trial(lexicon, method) for method in methods]
            return compare_trials(self.space, lexicon, find_seeds(self.space, lexicon), trials)

        found = self.recall(("comparison", *identity(lexicon, ",".join(methods))), find)
        return replace(found, lexicon=lexicon.name)

    def erasure(self, lexicon: Lexicon, remover: str) -> FoundErasure:
        """Return what a remover learns from a concept."""
        find = partial(find_erasure, self.space, lexicon, remover)
        return self.recall(("erasure", *identity(lexicon, remover)), find)

    def knows_erasure(self, lexicon: Lexicon, remover: str) -> bool:
        """Return whether a remover learned a concept before."""
        return self.holds(("erasure", *identity(lexicon, remover)))

    def removal(
        self, lexicon: Lexicon, remover: str, words: RemovalWords, progress: Progress | None = None
    ) -> RemovalResult:
        """Return the tests of what a remover took from the space, and what it left."""

        def find() -> RemovalResult:
            concept = concept_of(lexicon, words.anchors, words.neutral, keep=words.keep)
            original = self.recall(
                ("original", *identity(lexicon, ""), words),  # the same for every remover
                lambda: measure_original(self.space, concept, progress=part_of(progress, 0, 100, 200)),
            )
            result = evaluate_removal(
                self.space, concept, [remover], keep=words.keep, original=original, progress=progress
            )
            return replace(result, removed_spaces=())  # as large as the space: not kept

        return replace(self.recall(("removal", *identity(lexicon, remover), words), find), concept=lexicon.name)

    def knows_removal(self, lexicon: Lexicon, remover: str, words: RemovalWords) -> bool:
        """Return whether these tests were made before."""
        return self.holds(("removal", *identity(lexicon, remover), words))


def identity(lexicon: Lexicon, method: str) -> tuple[Hashable, ...]:
    """Return what decides an axis, as a key."""
    return method, lexicon.words, lexicon.labels.tobytes()


_current: Workbench | None = None


def use(workbench: Workbench) -> None:
    """Show this one from now on."""
    global _current  # noqa: PLW0603  the pages run as a script of their own, which nothing can be handed to
    _current = workbench


def current() -> Workbench:
    """Return the workbench on show; where none was chosen, that of the embedded space."""
    if _current is None:
        from densray.datasets import load_space

        use(Workbench(load_space("googlenews-26k")))
    assert _current is not None
    return _current
