"""The space on show, and results worth keeping: shared by all who look, copied for none."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from densray.explorer.jobs import Jobs
from densray.explorer.memory import Memory
from densray.lexicon import Lexicon
from densray.rotations import Rotation
from densray.space import WordSpace
from densray.tasks.axis_model import AxisModel
from densray.tasks.debiasing import RemovalResult, concept_of, evaluate_removal, find_erasure, measure_original
from densray.tasks.debiasing.preview import FoundErasure
from densray.tasks.diagnostics import Diagnosis, diagnose_axis
from densray.tasks.induction import Induction, score_vocabulary
from densray.tasks.method_comparison import MethodComparison, compare_trials
from densray.tasks.method_trials import FailedTrial, MethodTrial, try_method
from densray.tasks.seeds import Seeds, fitted
from densray.tasks.steps import Advance

__all__ = ["Axis", "RemovalWords", "Workbench", "current", "identity", "use"]


@dataclass(frozen=True)
class Axis:
    """An axis found for the page: its seeds, its rotation and the vocabulary in its order."""

    lexicon: Lexicon
    method: str
    seeds: Seeds
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
            seeds = Seeds.of(self.space, lexicon)
            rotation = fitted(method, seeds)
            model = AxisModel(rotation.components_[0])
            ranking = score_vocabulary(self.space, model, method=method, seeds=seeds)
            return Axis(lexicon, method, seeds, rotation, model, ranking)

        return replace(self.recall(("axis", *identity(lexicon, method)), find), lexicon=lexicon)

    def knows_axis(self, lexicon: Lexicon, method: str) -> bool:
        """Return whether an axis was found before."""
        return self.holds(("axis", *identity(lexicon, method)))

    def diagnosis(self, axis: Axis, advance: Advance | None = None) -> Diagnosis:
        """Return how far an axis can be trusted."""

        def find() -> Diagnosis:
            return diagnose_axis(
                self.space, axis.seeds, axis.rotation, method=axis.method, lexicon=axis.lexicon, advance=advance
            )

        found = self.recall(("diagnosis", *identity(axis.lexicon, axis.method)), find)
        return replace(found, lexicon=axis.lexicon.name)  # what decides it does not include its name

    def knows_diagnosis(self, axis: Axis) -> bool:
        """Return whether an axis was diagnosed before."""
        return self.holds(("diagnosis", *identity(axis.lexicon, axis.method)))

    def trial(self, lexicon: Lexicon, method: str, advance: Advance | None = None) -> MethodTrial | FailedTrial:
        """Return how one method does on a concept."""

        def find() -> MethodTrial | FailedTrial:
            return try_method(self.space, Seeds.of(self.space, lexicon), method, advance=advance)

        return self.recall(("trial", *identity(lexicon, method)), find)

    def knows_trial(self, lexicon: Lexicon, method: str) -> bool:
        """Return whether a method was tried on a concept before."""
        return self.holds(("trial", *identity(lexicon, method)))

    def comparison(self, lexicon: Lexicon, methods: Sequence[str]) -> MethodComparison:
        """Return methods that were tried on a concept beside each other."""

        def find() -> MethodComparison:
            trials = [self.trial(lexicon, method) for method in methods]
            return compare_trials(self.space, lexicon, Seeds.of(self.space, lexicon), trials)

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
        self, lexicon: Lexicon, remover: str, words: RemovalWords, advance: Advance | None = None
    ) -> RemovalResult:
        """Return the tests of what a remover took from the space, and what it left."""

        def find() -> RemovalResult:
            concept = concept_of(lexicon, words.anchors, words.neutral, keep=words.keep)
            half = None if advance is None else lambda done, total: advance(done, 2 * total)
            original = self.recall(
                ("original", *identity(lexicon, ""), words),  # the same for every remover
                lambda: measure_original(self.space, concept, advance=half),
            )
            result = evaluate_removal(
                self.space, concept, [remover], keep=words.keep, original=original, progress=advance
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
