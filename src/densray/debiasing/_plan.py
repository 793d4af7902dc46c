"""A removal for a whole space, and what a model fitted again still finds in words it was not learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._threads import ignored_warnings
from densray.alignment import Alignment
from densray.debiasing._concept import Concept, Pairs
from densray.debiasing._measurement import Measurement, mean_interval
from densray.debiasing._recovery import refitted_auc
from densray.debiasing._removers import PREDICTIVE, Remover, make_remover
from densray.erasure import Erasure, Removal
from densray.errors import DensRayError, SignalWarning, TaskError
from densray.lexicon import Lexicon
from densray.metrics import Interval
from densray.report import show_estimate, show_number
from densray.rotations import LinearRotation, Rotation
from densray.space import WordSpace

#: What removes a concept where nothing else is asked for: of all single axes it leaves the least.
DEFAULT_REMOVER = "mean-difference"

_FOLDS = 5
#: How often the words are halved: often where they are few, since much then hangs on which half a word is in.
_HALVINGS_OF_FEW, _HALVINGS_OF_MANY, _FEW_WORDS = 10, 5, 400
_PLAIN, _SOME = 0.8, 0.7  # AUC from which on the concept is plainly there, and from which on some of it is


@dataclass(frozen=True)
class RefitTest:
    """How well a ridge axis, fitted again, ranks words that the removal was not learned from.

    Attributes
    ----------
    before, after : Measurement
        Mean AUC over folds in the original and in the erased vectors; 0.5 is chance.
    learned_from, tested_on : int
        Words of the lexicon the removal was learned from, and words that the models see.
    """

    before: Measurement
    after: Measurement
    learned_from: int
    tested_on: int

    @property
    def summary(self) -> str:
        """One sentence: how much is left."""
        value, (low, high) = self.after.value, self.after.interval or (float("nan"), float("nan"))
        verdict = (
            "much of the concept is still there"
            if value >= _PLAIN
            else "too few words to say how much is left"
            if high >= _PLAIN
            else "some of it is left"
            if value >= _SOME
            else "little of it is left to a linear model"
        )
        return (
            "Fitted again on words the removal has not seen, a ridge axis ranks them with AUC "
            f"{show_estimate(value, max(low, 0.0), min(high, 1.0), 2)} "
            f"(before: {show_number(self.before.value, 2)}; chance: 0.50): {verdict}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return every number in plain form."""
        low, high = self.after.interval or (None, None)
        return {
            "before": self.before.value,
            "after": self.after.value,
            "low": low,
            "high": high,
            "learned_from": self.learned_from,
            "tested_on": self.tested_on,
        }


@dataclass(frozen=True)
class PlannedRemoval:
    """What is to be done to every block of a space, and what is known of its effect.

    Attributes
    ----------
    removal : Removal
        What :func:`densray.streaming.rewrite_space` takes as ``change``.
    remover : str
        The method, with its number of axes where it is not one.
    found : Alignment or None
        The labelled words it was learned from, at unit length; None for a rotation that was fitted before.
    normalize : bool
        Whether vectors must be brought to unit length first: the map is not one through zero.
    refit : RefitTest or None
        What is left; None where there are too few words to try.
    remarks : tuple of str
        What is to be said of it.
    warning : str
        Why this is not the removal to make, where it is not; else empty.
    """

    removal: Removal
    remover: str
    found: Alignment | None = field(repr=False)
    normalize: bool
    refit: RefitTest | None
    remarks: tuple[str, ...] = ()
    warning: str = ""


def plan_removal(
    space: WordSpace,
    concept: Concept | Lexicon,
    remover: Remover | str = DEFAULT_REMOVER,
    *,
    keep: Iterable[str] = (),
    strength: float = 1.0,
    any_case: bool = False,
    random_state: int | None = 0,
) -> PlannedRemoval:
    """Return the removal of a concept, learned from all its labelled words at unit length, and what it leaves.

    What it leaves is measured on the labelled words in two halves: the removal is learned from one, and a ridge axis
    is fitted and tested, in five folds, on the other; then the halves change places. Few words are halved ten times,
    many five times, and the interval allows for the choice of the halves. The removal itself is learned from all words.

    Parameters
    ----------
    space : WordSpace
        The space, or the part of it that holds the words of the concept; double-hard debiasing needs all of it.
    concept : Concept or Lexicon
        A concept brings pairs, words to keep and pairs to equalise, which `hard` and `double-hard` use.
    remover : Remover or str
        Such as ``"mean-difference"`` (the default), ``"leace"`` or ``"inlp:30"``.
    keep : iterable of str
        Words that stay as they are.
    strength : float
        Share of the change to make.
    any_case : bool
        Whether a word the space lacks takes the first word that differs in case only.
    random_state : int or None
        For the halves and the folds.

    Examples
    --------
    >>> from densray import load_lexicon, load_space
    >>> plan = plan_removal(load_space("googlenews-26k"), load_lexicon("hu-liu"))
    >>> round(plan.refit.before.value, 2), round(plan.refit.after.value, 1)
    (0.99, 0.6)
    """
    method = make_remover(remover) if isinstance(remover, str) else remover
    if isinstance(concept, Concept):
        concept = concept.spelled_as(space) if any_case else concept
        lexicon, pairs = concept.lexicon, concept.pairs
        kept, equalize = (concept.keep, concept.equalize) if method.equalizes else ((), ())
    else:
        lexicon, pairs, kept, equalize = concept, (), (), ()
    if method.needs_pairs and not pairs:
        raise TaskError(
            f"'{method.name}' debiasing learns from pairs of words, and '{lexicon.name}' has labelled words alone. "
            "Give a concept with pairs (gender, or a TOML file of word lists), or use another remover."
        )
    unit = space.normalized(zeros="keep")
    found = lexicon.align(unit, any_case=any_case, minimum=2)
    spelled = _lexicon_of(found, lexicon.name)
    with ignored_warnings(SignalWarning):  # a remark says it
        erasure = method.fit(unit, spelled, pairs=pairs)
    always = frozenset((*kept, *keep))
    in_scale = unit if not erasure.is_linear else space
    removal = Removal.of(erasure, keep=always, equalize=equalize, strength=strength, space=in_scale)
    refit, reason = _refit(unit, found, method, pairs, always, strength, random_state)
    remarks = [*_stopped(method, erasure), reason] if reason else _stopped(method, erasure)
    if not erasure.is_linear:
        remarks.append(f"'{method.label}' belongs to vectors of unit length: all of them are brought to it.")
    warning = _say_predictive(method.name) if method.name in PREDICTIVE and method.n_axes == 1 else ""
    if not warning and refit is not None and refit.after.value >= _PLAIN:
        more = "" if method.name == "inlp" else "; so may more axes (inlp:30)"
        remarks.append(f"More labelled words remove more{more}.")
    return PlannedRemoval(removal, method.label, found, not erasure.is_linear, refit, tuple(remarks), warning)


def plan_axis_removal(
    rotation: Rotation, *, n_axes: int = 1, keep: Iterable[str] = (), strength: float = 1.0
) -> PlannedRemoval:
    """Return the removal of the first axes of a fitted rotation; what it leaves is not known without labelled words."""
    removal = Removal.of(rotation, n_axes=n_axes, keep=keep, strength=strength)
    name = str(rotation.estimator) if isinstance(rotation, LinearRotation) else type(rotation).__name__
    warning = _say_predictive(name) if isinstance(rotation, LinearRotation) and n_axes == 1 else ""
    remarks = ("What is left was not measured: give the labelled words in place of the axis.",)
    return PlannedRemoval(removal, name, None, False, None, remarks, warning)


def words_needed(concept: Concept | Lexicon) -> tuple[str, ...]:
    """Return the words whose vectors :func:`plan_removal` looks at, with blanks and with underscores."""
    lexicon = concept if isinstance(concept, Lexicon) else concept.lexicon
    pairs = () if isinstance(concept, Lexicon) else (*concept.pairs, *concept.equalize)
    words = [*lexicon.words, *(word for pair in pairs for word in pair)]
    spelled = (form for word in words for form in (word, word.replace(" ", "_"), word.replace("_", " ")))
    return tuple(dict.fromkeys(spelled))


def fit_removers(
    unit: WordSpace, concept: Concept, removers: Sequence[Remover | str]
) -> tuple[list[tuple[Remover, Erasure, bool]], tuple[str, ...]]:
    """Return each remover that can run, its erasure and whether it was given by name; and what is to be said."""
    methods = [make_remover(each) if isinstance(each, str) else each for each in removers]
    fitted: list[tuple[Remover, Erasure, bool]] = []
    remarks: list[str] = []
    failed: list[DensRayError] = []
    for method, each in zip(methods, removers, strict=True):
        try:
            with ignored_warnings(SignalWarning):  # a remark says it
                erasure = method.fit(unit, concept.lexicon, pairs=concept.pairs)
        except DensRayError as error:
            failed.append(error)
            remarks.append(f"“{method.label}” was left out. {error}")
            continue
        remarks += _stopped(method, erasure)
        fitted.append((method, erasure, isinstance(each, str)))
    if failed and not fitted:
        raise failed[0]
    return fitted, tuple(remarks)


def _stopped(method: Remover, erasure: Erasure) -> list[str]:
    """Say that INLP stopped early, where it did."""
    if method.name != "inlp" or erasure.rank >= method.n_axes:
        return []
    axes = "1 axis" if erasure.rank == 1 else f"{erasure.rank} axes"
    return [
        f"“{method.label}” stopped after {axes}: in what is left a linear classifier tells unseen words apart no "
        "better than chance."
    ]


def _say_predictive(method: str) -> str:
    """Return why the axis of a predictive method is the wrong one to erase, and what to erase instead."""
    return (
        f"'{method}' finds the axis that predicts the labels best, and erasing it leaves most of what goes with them. "
        f"Erase with {DEFAULT_REMOVER}, densray or leace."
    )


def _refit(
    unit: WordSpace,
    found: Alignment,
    method: Remover,
    pairs: Pairs,
    keep: frozenset[str],
    strength: float,
    random_state: int | None,
) -> tuple[RefitTest | None, str]:
    """Return what is left in words the removal has not seen, or why that cannot be said."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    sides = found.sides
    smaller = int(min((sides > 0).sum(), (sides < 0).sum()))
    few = (
        f"What is left was not measured: that needs {2 * _FOLDS} words of each side that are not kept as they are, and "
        f"{smaller} were found."
    )
    if smaller < 2 * _FOLDS:
        return None, few
    if method.needs_pairs:
        barred = {word for pair in pairs for word in pair}
        splits = [(np.empty(0, dtype=np.intp), _without(found, barred | keep))]
    else:
        repeats = _HALVINGS_OF_FEW if found.n_words <= _FEW_WORDS else _HALVINGS_OF_MANY
        halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=random_state)
        splits = [(learn, np.setdiff1d(test, _among(found, keep))) for learn, test in halves.split(found.X, sides)]
    before: list[list[float]] = []
    after: list[list[float]] = []
    X = found.X.astype(np.float64)
    for learn, test in splits:
        if min((sides[test] > 0).sum(), (sides[test] < 0).sum()) < _FOLDS:
            return None, few
        learned = found if method.needs_pairs else found.take(learn)
        try:
            with ignored_warnings(SignalWarning):  # said of the removal itself
                erasure = method.fit(unit, _lexicon_of(learned, "half"), pairs=pairs)
        except ValueError as error:
            return None, f"What is left was not measured: from half of the words, {error}"
        erased = erasure.erase(X[test], strength=strength)
        before.append(refitted_auc(X[test], sides[test], n_folds=_FOLDS, random_state=random_state))
        after.append(refitted_auc(erased, sides[test], n_folds=_FOLDS, random_state=random_state))
    measured = [
        Measurement("refitted AUC", float(np.mean(values)), _interval_of_halves(values), used=len(splits[0][1]))
        for values in (before, after)
    ]
    return RefitTest(measured[0], measured[1], len(splits[0][0]), len(splits[0][1])), ""


def _interval_of_halves(values: Sequence[Sequence[float]]) -> Interval:
    """Return the interval of a mean over halvings, which share their words (Nadeau & Bengio 2003); of one, over folds.

    >>> low, high = _interval_of_halves([[0.5, 0.7], [0.7, 0.9]])
    >>> round(low, 2), round(high, 2)
    (-1.5, 2.9)
    """
    if len(values) == 1:
        return mean_interval(values[0])
    means = np.array([np.mean(each) for each in values])
    mean, (low, high) = float(means.mean()), mean_interval(means)
    wider = float(np.sqrt(1.0 + len(means)))  # 1/J + tested/learned from, with as many of one as of the other, to 1/J
    return Interval(mean - wider * (mean - low), mean + wider * (high - mean))


def _among(found: Alignment, words: Iterable[str]) -> NDArray[np.intp]:
    barred = set(words)
    return np.array([place for place, word in enumerate(found.words) if word in barred], dtype=np.intp)


def _without(found: Alignment, words: Iterable[str]) -> NDArray[np.intp]:
    return np.setdiff1d(np.arange(found.n_words), _among(found, words))


def _lexicon_of(found: Alignment, name: str) -> Lexicon:
    return Lexicon(zip(found.words, found.y.tolist(), strict=True), name=name)
