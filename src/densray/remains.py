"""How much of a concept an erasure leaves: probes on rows that the erasure was not learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray._arrays import to_host
from densray._files import Contents
from densray._vocabulary import unit_rows
from densray.affine import AffineMap
from densray.errors import TaskError, one_line
from densray.metrics import Interval, auc, auc_interval
from densray.probes import MODELS, Model, Recovery, mean_recovery, recovery, transfer_scores
from densray.report import Column, Table, show_estimate, show_number
from densray.rows import Rows

if TYPE_CHECKING:
    from densray.progress import Progress

__all__ = ["ProbeResult", "Remains"]

_FOLDS = 5
#: Rows of each class, at least, that are tested: with fewer, no interval says anything.
FEWEST_TESTED = 3
#: Rows that a probe sees at most, and halves that a nonlinear probe sees at most: they take most of the time.
_MOST_TESTED, _MOST_NONLINEAR_HALVES = 2000, 4
#: AUC at which the concept is still there, and at which part of it is left.
_PLAIN, _SOME = 0.8, 0.7
#: Width of an interval that is too wide to choose between these.
_WIDE = 0.15
_ON_UNSEEN = "On rows the erasure has not seen"
#: Reasons why nothing could be measured.
_NOT_MEASURED = "What remains was not measured: {}"
_ONE_GROUP = "half of the rows are in one group, and probes hold out whole groups. Use narrower groups."
#: What is left for linear models.
_GONE, _MOSTLY_GONE, _PARTLY = (
    "gone for linear models",
    "mostly gone for linear models",
    "partly left for linear models",
)
_THERE, _UNFOUND = "still there for linear models", "linear models did not find it before either"
_UNSURE = "too few rows to say how much is left for linear models"
_TOO_FEW = "Too few rows to say how much is left"
#: Grades from worst to best, and the findings that do not depend on nonlinear models.
_GRADES = ("none", "unclear", "weak", "fair", "good")
_LINEAR_FINDINGS = {
    _THERE: ("none", "Still there, even for linear models"),
    _PARTLY: ("weak", "Partly left, even for linear models"),
    _UNSURE: ("unclear", _TOO_FEW),
    _UNFOUND: ("unclear", "There was little to remove: linear models did not find it before either"),
}
_MODEL_NAMES = {"linear": "a linear model", "rbf": "an RBF model", "mlp": "a neural network"}
#: Name of the second AUC of an RBF model, in the table and in the chart.
_LEARNED = "trained on erased rows"


@dataclass(frozen=True)
class ProbeResult:
    """How well a model recovers the concept before and after an erasure, on held-out rows.

    Attributes
    ----------
    model : {"linear", "rbf", "mlp"}
    before, after : Recovery
        AUC with its interval; 0.5 is chance. With several classes: the mean AUC of one class against the rest.
    concept : str
        Name of the labels, if several sets of labels were removed or some were kept.
    kept : bool
        Whether these labels were to be kept.
    after_learned : Recovery or None
        For "rbf" only: AUC of a model fitted on the erased training rows of the erasure, which are often more, and
        tested on the same rows. None if the erasure was not learned from such rows.
    """

    model: Model
    before: Recovery
    after: Recovery
    concept: str = ""
    kept: bool = False
    after_learned: Recovery | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return every number in plain form."""
        return {
            "model": self.model,
            "concept": self.concept,
            "kept": self.kept,
            "before": self.before.auc,
            "before_low": self.before.interval.low,
            "before_high": self.before.interval.high,
            "after": self.after.auc,
            "low": self.after.interval.low,
            "high": self.after.interval.high,
            "after_learned": None if self.after_learned is None else self.after_learned.auc,
            "after_learned_low": None if self.after_learned is None else self.after_learned.interval.low,
            "after_learned_high": None if self.after_learned is None else self.after_learned.interval.high,
        }

    @property
    def name(self) -> str:
        """The model in words, such as “RBF model”."""
        return _MODEL_NAMES[self.model].split(maxsplit=1)[1]

    @property
    def strongest(self) -> tuple[str, Recovery]:
        """The name of the model, and the higher of its two AUCs after the erasure."""
        name = _MODEL_NAMES[self.model]
        if self.after_learned is not None and self.after_learned.auc > self.after.auc:
            return f"{name} fitted on the erased training rows", self.after_learned
        return name, self.after


@dataclass(frozen=True)
class Remains:
    """How much of a concept linear and nonlinear models recover after an erasure, on rows it was not learned from.

    Attributes
    ----------
    probes : tuple of ProbeResult
        One for each set of labels and model; empty if nothing could be measured.
    learned_from, tested_on : int
        Number of rows in the half that the erasure was learned from (0 if it was learned from other rows), and number
        of rows that each probe was cross-validated on. The rows are halved several times: these are mean numbers.
    reason : str
        Reason why nothing could be measured; empty otherwise.
    n_learned : int
        Number of tested rows that the erasure was learned from. On these rows an erasure always looks too good.
    """

    probes: tuple[ProbeResult, ...]
    learned_from: int = 0
    tested_on: int = 0
    reason: str = ""
    n_learned: int = 0

    def __repr__(self) -> str:
        probe = next((each for each in self.probes if each.model == "linear" and not each.kept), None)
        figures = (
            ""
            if probe is None
            else f" (linear AUC {show_number(probe.before.auc, 2)} before, {show_number(probe.after.auc, 2)} after, "
            f"{self.tested_on:,} rows)"
        )
        return f"Remains: {one_line(self.headline, width=120)}{figures}"

    def __getitem__(self, key: str | tuple[str, str]) -> ProbeResult:
        """Return the result of a model, or of labels and a model: ``remains["source", "linear"]``."""
        concept, model = (None, key) if isinstance(key, str) else key
        return next(probe for probe in self.probes if probe.model == model and concept in (None, probe.concept))

    @property
    def grade(self) -> str:
        """How complete the removal is: good, fair, weak, none, or "unclear" if nothing can be said."""
        grades = [grade for grade, _ in self._findings()]
        grades += ["unclear"] if self.n_learned else []
        return min(grades, key=_GRADES.index) if grades else "unclear"

    @property
    def headline(self) -> str:
        """The finding in a few words, such as “Hidden from linear models, not gone”."""
        findings = self._findings()
        if not findings:
            return "Not tested: how much is left is unknown."
        if len(findings) == 1:
            return f"{findings[0][1]}.{self._about_learned}"
        concepts = dict.fromkeys(probe.concept for probe in self.probes if not probe.kept)
        joined = " ".join(
            f"{concept}: {said[0].lower()}{said[1:]}." for concept, (_, said) in zip(concepts, findings, strict=True)
        )
        return f"{joined}{self._about_learned}"

    @property
    def _about_learned(self) -> str:
        """Return a sentence if the erasure was learned from tested rows, to be added to others; empty otherwise."""
        if not self.n_learned:
            return ""
        rows = "1 of these rows" if self.n_learned == 1 else f"{self.n_learned:,} of these rows"
        return (
            f" But the erasure was learned from {rows}, so this is no test: on unseen rows more may be left. "
            "Give other rows, or none (erasure.remains()), which tests on held-out halves."
        )

    def _findings(self) -> list[tuple[str, str]]:
        """Return the grade and the finding for each set of labels that was removed."""
        removed = [probe for probe in self.probes if not probe.kept]
        concepts = dict.fromkeys(probe.concept for probe in removed)
        return [_finding([probe for probe in removed if probe.concept == concept]) for concept in concepts]

    @property
    def summary(self) -> str:
        """One sentence: how much a linear model and the best nonlinear model still recover."""
        return self._summarized(after_headline=False)

    @property
    def details(self) -> str:
        """The summary as it follows the headline, which already says where there are too few rows."""
        return self._summarized(after_headline=True)

    def _summarized(self, *, after_headline: bool) -> str:
        if not self.probes:
            return self.reason
        concepts = dict.fromkeys(probe.concept for probe in self.probes)
        sentences = [self._sentence(concept, after_headline=after_headline) for concept in concepts]
        where = f"On rows of which the erasure has seen {self.n_learned:,}" if self.n_learned else _ON_UNSEEN
        return f"{where}: {'. '.join(sentences)}.{'' if after_headline else self._about_learned}"

    def _sentence(self, concept: str, *, after_headline: bool) -> str:
        """Return a sentence on how well models recover one set of labels."""
        probes = [probe for probe in self.probes if probe.concept == concept]
        linear = [probe for probe in probes if probe.model == "linear"]
        curved = [probe for probe in probes if probe.model != "linear"]
        parts = []
        if linear:
            after, before = linear[0].after, linear[0].before
            compared = f"before: {show_number(before.auc, 2)}; chance: 0.50"
            verdict = "linear models find it" if linear[0].kept else _linear_verdict(before, after)
            if verdict == _UNSURE and after_headline:
                parts.append(f"a linear model has AUC {_show(after)} ({compared})")
            else:
                parts.append(f"{verdict} (AUC {_show(after)}; {compared})")
        if curved:
            strongest, found = max((probe.strongest for probe in curved), key=lambda found: found[1].auc)
            kept = f"{strongest} finds it with AUC {_show(found)}"
            parts.append(kept if curved[0].kept else _curved_verdict(strongest, found))
        name = f"{concept} (kept)" if probes[0].kept else concept
        return f"{name}: {'; '.join(parts)}" if concept else "; ".join(parts)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per set of labels and model."""
        return [
            {**probe.to_dict(), "name": probe.name, "if_gone": None if probe.kept else 0.5} for probe in self.probes
        ]

    def intervals(self) -> list[dict[str, Any]]:
        """Return the AUC of each model before and after, as input for `densray.figures.interval_plot`."""
        return [
            {
                "model": probe.name,
                "space": name,
                "part": f"{probe.concept}{' (kept)' if probe.kept else ''}",
                "value": found.auc,
                "low": found.interval.low,
                "high": found.interval.high,
                "if_gone": None if probe.kept else 0.5,
            }
            for probe in self.probes
            for name, found in (("before", probe.before), ("after", probe.after), (_LEARNED, probe.after_learned))
            if found is not None
        ]

    def table(self) -> Table:
        """Return the AUC of each model before and after."""
        columns: list[Column | str] = ["concept"] if any(probe.concept for probe in self.probes) else []
        columns += [Column("name", "model"), Column("before", decimals=3)]
        columns += [Column("after", decimals=3, ends=("low", "high"))]
        unseen = f"that the erasure was not learned from ({self.learned_from:,} others)"
        seen = f"({self.n_learned:,} of these rows were used to learn the erasure)"
        note = (
            f"AUC of models cross-validated on {self.tested_on:,} rows {seen if self.n_learned else unseen}, with the "
            "95% interval of the AUC after it. Chance: 0.5."
        )
        if any(probe.after_learned is not None for probe in self.probes):
            ends = "after_learned_low", "after_learned_high"
            columns.append(Column("after_learned", _LEARNED, decimals=3, ends=ends))
            note += (
                f" “{_LEARNED.capitalize()}”: the AUC on the same rows of a model that was fitted on the erased rows "
                "that the erasure was learned from."
            )
        notes = [note] if self.probes else [self.reason]
        title = "What remains in rows that were used for learning" if self.n_learned else "What remains in unseen rows"
        return Table(title, columns, self.rows(), notes)

    def to_dict(self) -> dict[str, Any]:
        """Return every number in plain form, and the sentence."""
        return {
            "summary": self.summary,
            "probes": [probe.to_dict() for probe in self.probes],
            "chance": 0.5,
            "learned_from": self.learned_from,
            "tested_on": self.tested_on,
            **({"n_learned": self.n_learned} if self.n_learned else {}),
            "reason": self.reason or None,
        }


def _show(found: Recovery) -> str:
    return show_estimate(found.auc, found.interval.low, found.interval.high, 2)


def _linear_verdict(before: Recovery, after: Recovery) -> str:
    """Return the verdict on a linear model; an interval that is too wide to choose gets no other verdict."""
    low, high = after.interval.low, after.interval.high
    if before.interval.low <= 0.5 and before.auc < _SOME:
        return _UNFOUND
    if after.auc >= _PLAIN and low > 0.5:
        return _THERE
    if high - low > _WIDE and high > _SOME:
        return _UNSURE
    if after.auc >= _SOME:
        return _PARTLY
    return _GONE if low <= 0.5 else _MOSTLY_GONE


def _finding(probes: Sequence[ProbeResult]) -> tuple[str, str]:
    """Return the grade and the finding for one set of labels, in a few words."""
    linear = next((_linear_verdict(probe.before, probe.after) for probe in probes if probe.model == "linear"), "")
    curved = [probe.strongest for probe in probes if probe.model != "linear"]
    clear = any(each.auc >= _SOME and each.interval.low > 0.5 and not _is_unsure(each) for _, each in curved)
    if linear in _LINEAR_FINDINGS and not (linear == _UNSURE and clear):
        return _LINEAR_FINDINGS[linear]
    hidden = {_GONE: "Hidden from linear models", _MOSTLY_GONE: "Mostly hidden from linear models"}.get(linear, "")
    if not curved:
        gone = {_GONE: "Gone for linear models", _MOSTLY_GONE: "Mostly gone for linear models"}[linear]
        return "fair", f"{gone}. Nonlinear models were not tested; they usually still find it"
    name, found = max(curved, key=lambda each: each[1].auc)
    if _is_unsure(found) or (found.auc >= _SOME and found.interval.low <= 0.5):
        return "unclear", f"{hidden}. Too few rows to say whether nonlinear models find it" if hidden else _TOO_FEW
    if found.auc >= _SOME:
        still = f"{name} still finds {'it' if found.auc >= _PLAIN else 'part of it'}"
        return "weak", f"{hidden}, not gone: {still}" if hidden else f"Not gone: {still}"
    best = show_number(found.auc, 2)
    if found.interval.low <= 0.5 and linear in (_GONE, ""):
        return "good", f"Gone for every tested model: the best AUC is {best}, and 0.50 is chance"
    return "fair", f"Mostly gone: the best model has AUC {best}, and 0.50 is chance"


def _is_unsure(after: Recovery) -> bool:
    """Return whether the interval is too wide to say whether a nonlinear model finds part of it."""
    low, high = after.interval.low, after.interval.high
    return high - low > _WIDE and after.auc < _SOME < high


def _curved_verdict(name: str, after: Recovery) -> str:
    if after.interval.low <= 0.5 or _is_unsure(after):
        return f"the best nonlinear model, {name}, has AUC {_show(after)}"
    if after.auc >= _PLAIN:
        return f"{name} still recovers it with AUC {_show(after)}"
    if after.auc >= _SOME:
        return f"{name} still recovers part of it with AUC {_show(after)}"
    return f"the best nonlinear model recovers little of it (AUC {_show(after)})"


def read_remains(contents: Contents) -> Remains | None:
    """Return the remaining AUCs stored in a file; None if they were not measured."""
    if contents.value("remains", dict, type(None)) is None:
        return None
    part = contents.part("remains")
    probes = []
    for values in part.listed("probes", dict):
        numbers = [
            contents.checked("remains", values.get(key), float, int)
            for key in ("before", "before_low", "before_high", "after", "low", "high")
        ]
        if values.get("model") not in MODELS:
            raise contents.refusal("remains")
        before, after = (Recovery(value, Interval(low, high)) for value, low, high in (numbers[:3], numbers[3:]))
        concept = contents.checked("remains", values.get("concept"), str)
        kept = contents.checked("remains", values.get("kept"), bool)
        learned = [
            contents.checked("remains", values.get(key), float, int, type(None))
            for key in ("after_learned", "after_learned_low", "after_learned_high")
        ]
        transferred = None if None in learned else Recovery(learned[0], Interval(*learned[1:]))
        probes.append(ProbeResult(values["model"], before, after, concept, kept, transferred))
    learned, tested = (part.value(key, int, least=0) for key in ("learned_from", "tested_on"))
    return Remains(tuple(probes), learned, tested, part.value("reason", str, type(None)) or "")


def places_without(rows: Rows, names: Iterable[str]) -> NDArray[np.intp]:
    """Return the places of the rows without these names."""
    excluded = set(names)
    return np.array([place for place, name in enumerate(rows.names) if name not in excluded], dtype=np.intp)


def _size_of_smallest_class(rows: Rows, places: NDArray[np.intp]) -> int:
    """Return the size of the smallest class among some rows."""
    return min(int(min(np.sum(sides[places] > 0), np.sum(sides[places] < 0))) for sides in rows.contrasts)


def explain_too_few(rows: Rows, places: NDArray[np.intp], needed: int) -> str:
    """Return why rows cannot be probed; empty if they can."""
    smaller = _size_of_smallest_class(rows, places)
    if smaller >= needed:
        return ""
    return _NOT_MEASURED.format(
        f"every class needs {needed} rows (without those to keep), and the smallest has {smaller}. Leave out small "
        "classes, or label more rows."
    )


class LabelSet(NamedTuple):
    """Labels that probes try to recover: those that an erasure removed, or those that it kept."""

    rows: Rows
    concept: str = ""  # empty where there is one set only
    kept: bool = False


class Trial(NamedTuple):
    """An erasure, and held-out rows to test it on."""

    erasure: AffineMap
    unseen: NDArray[np.intp]  # places of those rows
    learned: Sequence[int] | NDArray[np.intp] = ()  # places of the rows that it was learned from


def _sample(places: Sequence[int] | NDArray[np.intp], random: np.random.RandomState) -> NDArray[np.intp]:
    """Return a random sample of places if there are too many for a probe."""
    found = np.asarray(places, dtype=np.intp)
    return found if len(found) <= _MOST_TESTED else np.sort(random.choice(found, _MOST_TESTED, replace=False))


def _tested_models(models: tuple[Model, ...], numbered: tuple[int, Trial]) -> list[Model]:
    """Return the models to test on the unseen rows of a trial: nonlinear models only on the first trials."""
    number, trial = numbered
    n_tested = min(len(trial.unseen), _MOST_TESTED)
    n_nonlinear = int(np.clip(_MOST_TESTED // max(n_tested, 1), 1, _MOST_NONLINEAR_HALVES))
    return [model for model in models if model == "linear" or number < n_nonlinear]


def _transferred(
    X: NDArray[Any], sides: NDArray[np.float64], unseen: NDArray[Any], answers: NDArray[np.float64], groups: Any
) -> Recovery:
    """Return how well an RBF model, fitted on some rows, recovers the classes of others."""
    scores = transfer_scores(X, sides, unseen, "rbf")
    return Recovery(auc(answers, scores), auc_interval(answers, scores, groups=groups))


def with_transfer(remains: Remains, erasure: AffineMap, learned: Rows, unseen: Rows, *, strength: float) -> Remains:
    """Add the AUC on `unseen` rows of an RBF model fitted on the erased rows that the erasure was learned from."""
    if not remains.probes or learned.is_multiclass or unseen.is_multiclass:
        return remains
    before, after = (np.asarray(to_host(each.X), dtype=np.float64) for each in (learned, unseen))
    if erasure.unit_length:
        before, after = unit_rows(before), unit_rows(after)
    places = _sample(np.arange(len(before)), check_random_state(0))
    transferred = _transferred(
        erasure.apply(before[places], strength=strength),
        learned.sides[places],
        erasure.apply(after, strength=strength),
        unseen.sides,
        unseen.held_out_groups,
    )
    probes = (replace(each, after_learned=transferred) if each.model == "rbf" else each for each in remains.probes)
    return replace(remains, probes=tuple(probes), learned_from=len(learned))


def measure_trials(
    label_sets: Sequence[LabelSet],
    trials: Sequence[Trial],
    models: tuple[Model, ...],
    *,
    strength: float,
    unit_length: bool,
    seed: int | None,
    progress: Progress | None,
) -> Remains:
    """Cross-validate each model on the unseen rows of each trial, before and after the erasure of the trial.

    The label sets have the same vectors. With `unit_length` they are scaled to unit length first.
    """
    rows = label_sets[0].rows
    X = np.asarray(to_host(rows.X), dtype=np.float64)
    X = unit_rows(X) if unit_length else X
    groups = rows.held_out_groups
    random = check_random_state(seed)
    contrasts = [each.rows.contrasts for each in label_sets]
    collected: dict[tuple[int, Model], tuple[list[Recovery], list[Recovery]]] = {
        (number, model): ([], []) for number in range(len(label_sets)) for model in models
    }
    fitted_on_learned: dict[int, list[Recovery]] = {number: [] for number in range(len(label_sets))}
    n_tested: list[int] = []
    done, total = 0, len(label_sets) * sum(len(_tested_models(models, each)) for each in enumerate(trials))
    for number, trial in enumerate(trials):
        places = _sample(trial.unseen, random)
        few = next(filter(None, (explain_too_few(each.rows, places, FEWEST_TESTED) for each in label_sets)), "")
        if few:
            return Remains((), reason=few)
        n_tested.append(len(places))
        n_folds = min(_FOLDS, *(_size_of_smallest_class(each.rows, places) for each in label_sets))
        tested_groups = None if groups is None else groups[places]
        if tested_groups is not None:
            n_folds = min(n_folds, len(np.unique(tested_groups)))
            if n_folds < 2:
                return Remains((), reason=_NOT_MEASURED.format(_ONE_GROUP))
        before_and_after = X[places], trial.erasure.apply(X[places], strength=strength)
        tested_models = _tested_models(models, (number, trial))
        for (labels, model), recoveries in collected.items():
            if model not in tested_models:
                continue
            for vectors, found in zip(before_and_after, recoveries, strict=True):
                try:
                    parts = [
                        recovery(
                            vectors, sides[places], model, n_folds=n_folds, groups=tested_groups, random_state=seed
                        )
                        for sides in contrasts[labels]
                    ]
                except TaskError as error:  # without some group, one class is left
                    return Remains((), reason=f"What remains was not measured: {error}")
                found.append(mean_recovery(parts))
            if model == "rbf" and len(trial.learned):
                learned = _sample(trial.learned, check_random_state(seed))
                rows_to_fit = trial.erasure.apply(X[learned], strength=strength)
                parts = [
                    _transferred(rows_to_fit, sides[learned], before_and_after[1], sides[places], tested_groups)
                    for sides in contrasts[labels]
                ]
                fitted_on_learned[labels].append(mean_recovery(parts))
            done += 1
            if progress is not None:
                progress(done, total)
    probes = (
        ProbeResult(
            model,
            before=mean_recovery(before),
            after=mean_recovery(after),
            concept=label_sets[labels].concept,
            kept=label_sets[labels].kept,
            after_learned=mean_recovery(fitted_on_learned[labels])
            if model == "rbf" and fitted_on_learned[labels]
            else None,
        )
        for (labels, model), (before, after) in collected.items()
    )
    # halves that keep groups whole have different sizes, which add up to all rows only on average
    learned_from, tested_on = (round(float(np.mean(sizes))) for sizes in ([len(t.learned) for t in trials], n_tested))
    return Remains(tuple(probes), learned_from=learned_from, tested_on=tested_on)
