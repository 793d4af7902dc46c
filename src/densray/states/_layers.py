"""Methods and layers side by side: held-out AUROC per layer, the layer chosen inside the folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import clone

from densray._lexicon_files import check_proposed
from densray._threads import Progress, map_parallel
from densray.alignment import GroupProposal, group_folds, propose_groups
from densray.axes._evidence import degrees_between
from densray.axes._permutation import permuted_aucs, permuted_labels
from densray.errors import DensRayError, TaskError
from densray.metrics import Interval, auc, auc_interval, weighted_auc
from densray.report import Column, Input, Provenance, Result, Table
from densray.rotations import Rotation, make_rotation
from densray.states._storage import States

DEFAULT_METHODS = ("ridge", "mean-difference", "densray-unit")
_CHANCE = 0.5
#: Resamples of the groups behind an interval.
_RESAMPLES = 500


@dataclass(frozen=True)
class LayerScore:
    """How well one method reads the concept after one layer, on texts held out.

    Attributes
    ----------
    layer : int
    method : str
    auc : float
        AUROC of held-out scores, the mean over folds; 0.5 where no axis could be fitted.
    interval : Interval
        Over groups resampled, of scores ranked within their fold.
    p_value : float
        Share of label permutations, every fold fitted again, that are read as well (see :func:`compare_layers`).
    note : str
        Why there is no axis, where there is none.
    """

    layer: int
    method: str
    auc: float
    interval: Interval
    p_value: float
    note: str = ""


@dataclass(frozen=True)
class ChosenLayer:
    """What a method reads at the layer that its own training texts choose, fold by fold.

    Attributes
    ----------
    method : str
    auc : float
        AUROC on texts that took no part in the choice, the mean over folds.
    interval : Interval
    layers : tuple of int
        The layer chosen in each fold.
    layer : int
        The layer that all texts choose: the one to use.
    p_value : float
        Share of label permutations whose best layer is read as well as the best one here.
    """

    method: str
    auc: float
    interval: Interval
    layers: tuple[int, ...]
    layer: int
    p_value: float


@dataclass(frozen=True)
class LayerComparison(Result):
    """Held-out AUROC of every method at every layer.

    Attributes
    ----------
    scores : tuple of LayerScore
    chosen : tuple of ChosenLayer
    angles : mapping of str to array
        Degrees between the axes of each two layers, per method; None where the widths differ.
    n_texts, n_groups, n_folds : int
    ends : tuple of str
        The labels of the low and of the high end.
    held_out : mapping of (int, str) to array
        The score of each text at a layer by a method, from an axis that has not seen it: the share of its fold that
        lies below it. Missing where no axis could be fitted.
    axes : mapping of (int, str) to array
        The axis of all texts, of unit length.
    proposal : GroupProposal or None
        Texts that should be held out together and were not.
    """

    title: ClassVar[str] = "A concept, layer by layer"

    scores: tuple[LayerScore, ...]
    chosen: tuple[ChosenLayer, ...]
    angles: Mapping[str, NDArray[np.float64]]
    n_texts: int
    n_groups: int
    n_folds: int
    grouped: str
    ends: tuple[str, str]
    held_out: Mapping[tuple[int, str], NDArray[np.float64]] = field(repr=False, metadata={"report": False})
    axes: Mapping[tuple[int, str], NDArray[np.float64]] = field(repr=False, metadata={"report": False})
    proposal: GroupProposal | None = None

    def ranked_texts(self, states: States, layer: int, method: str) -> list[dict[str, Any]]:
        """Return the texts from the high end to the low one: ``text``, ``label``, ``held_out``, ``right``.

        ``right`` says whether a text lies in the half of its fold that its label names.
        """
        if (layer, method) not in self.held_out:
            raise TaskError(f"no axis was fitted at layer {layer} by {method}.")
        scores, labels = self.held_out[layer, method], states.labels or ("",) * len(states)
        rows = []
        for place in np.argsort(-scores, kind="stable").tolist():
            label, score = str(labels[place]), float(scores[place])
            right = label in self.ends and (label == self.ends[1]) == (score > _CHANCE)
            rows.append({"text": states.texts[place], "label": label, "held_out": score, "right": right})
        return rows

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per layer and method: ``layer``, ``method``, ``auc``, ``low``, ``high``, ``p``."""
        return [
            {
                "layer": score.layer,
                "method": score.method,
                "auc": score.auc,
                "low": score.interval.low,
                "high": score.interval.high,
                "p": score.p_value,
                "note": score.note,
            }
            for score in self.scores
        ]

    def tables(self) -> list[Table]:
        """Return the chosen layers, then AUROC per layer with a column per method."""
        methods = list(dict.fromkeys(score.method for score in self.scores))
        by_layer: dict[int, dict[str, Any]] = {}
        for score in self.scores:
            by_layer.setdefault(score.layer, {"layer": score.layer})[score.method] = score.auc
        note = f"{self.n_texts:,} texts in {self.n_groups:,} groups ({self.grouped}), {self.n_folds} folds."
        low, high = self.ends
        notes = [note, f"Above 0.5 the label {high} scores higher than {low}; p is that of the best of all layers."]
        notes += [] if self.proposal is None else [self.proposal.line]
        chosen = [
            {"method": c.method, "AUROC": c.auc, "low": c.interval.low, "high": c.interval.high, "layer": c.layer}
            | {"p": c.p_value}
            for c in self.chosen
        ]
        numbers = [Column(name, decimals=3) for name in ("AUROC", "low", "high", "p")]
        return [
            Table("The layer chosen inside the folds", ["method", *numbers, "layer"], chosen, notes),
            Table(
                "Held-out AUROC by layer",
                ["layer", *(Column(method, decimals=3) for method in methods)],
                [by_layer[layer] for layer in sorted(by_layer)],
                ["A layer's own best figure is chosen with hindsight; the table above is not."],
            ),
        ]

    def figure(self) -> Any:
        """Return the curve of each method over layers with its band, as an altair chart."""
        from densray.figures import layer_curves

        return layer_curves(self.rows())


def compare_layers(
    states: States,
    labels: ArrayLike | None = None,
    *,
    groups: Sequence[Any] | str | None = None,
    methods: Sequence[str] = DEFAULT_METHODS,
    scale: str | None = None,
    layers: Sequence[int] | None = None,
    folds: int = 5,
    n_permutations: int = 199,
    random_state: int = 0,
    progress: Progress | None = None,
) -> LayerComparison:
    """Return how well each method reads a concept after each layer, on texts held out by group.

    Parameters
    ----------
    states : States
    labels : array of shape (n,), optional
        Two classes, one label per text; by default those stored with the states.
    groups : sequence, optional
        What texts share (an occupation, a city, the two halves of a pair): a group is held out whole. By default the
        groups stored with the states, else each text is a group of its own, and the result says where texts repeat or
        differ in one word: "proposed" holds those out together.
    methods : sequence of str
        Names of methods, as for :func:`densray.fit_axis`.
    scale : {None, "columns"}
        Whether axes are found in columns divided by their standard deviations.
    layers : sequence of int, optional
        Layers to compare; all by default.
    folds : int, default=5
    n_permutations : int, default=199
        Labels are permuted within groups that have both classes, and group for group among the others. Methods other
        than ridge and the mean difference are tested by the mean difference, which needs no refits.
    random_state : int, default=0
    progress : callable, optional
        Called with the number of fits done and their total.
    """
    began = Provenance.begin(seed=random_state)
    if labels is None and states.labels is None:
        raise TaskError("the states hold no labels. Give one label per text, or read texts that have a label column.")
    y, ends = _classes(states.labels if labels is None else labels, len(states))
    held = _Groups.of(states.groups if groups is None else groups, states.texts, y)
    parts = held.folds(y, folds, random_state)
    chosen_layers = tuple(layers) if layers is not None else states.layers
    for method in methods:
        make_rotation(method)  # an unknown name is an error, not a layer without an axis
    jobs = [(layer, method) for layer in chosen_layers for method in methods]

    generator = np.random.default_rng(random_state)
    orders = permuted_labels(y, held.numbers, n_permutations, generator)

    def run(job: tuple[int, str]) -> _Read:
        layer, method = job
        X = np.asarray(states[layer], dtype=np.float32)
        read = _read(X, y, held, parts, make_rotation(method).set_params(scale=scale))
        if not read.note:
            read.permuted = permuted_aucs(X, y, parts, orders, ridge=method in ("ridge", "auto"), scale=scale)
        return read

    found = dict(zip(jobs, map_parallel(run, jobs, progress=progress), strict=True))
    scores = []
    for layer, method in jobs:
        read = found[layer, method]
        interval = Interval(0.0, 1.0) if read.note else _interval(y, read.scores, held, parts, generator)
        scores.append(LayerScore(layer, method, read.whole, interval, _p_value(read.permuted), read.note))
    chosen = tuple(_choose(method, chosen_layers, found, y, held, parts, generator) for method in methods)
    angles = {method: _angles([found[layer, method].axis for layer in chosen_layers]) for method in methods}
    return LayerComparison(
        scores=tuple(scores),
        chosen=chosen,
        angles=angles,
        n_texts=len(states),
        n_groups=held.count,
        n_folds=len(parts),
        grouped=held.said,
        proposal=held.proposal,
        ends=ends,
        held_out={job: _ranked(read.scores, parts) for job, read in found.items() if not read.note},
        axes={job: read.axis for job, read in found.items() if read.axis is not None},
        provenance=began.finish(
            inputs=[Input("states", states.model or "states", states.checksum or None, len(states))],
            used=len(states),
            method=", ".join(methods),
        ),
    )


def _classes(labels: Any, count: int) -> tuple[NDArray[np.float64], tuple[str, str]]:
    values = np.asarray(labels)
    if values.shape != (count,):
        raise TaskError(f"{values.shape} labels are given for {count:,} texts; one per text is needed.")
    kinds = np.unique(values)
    if len(kinds) != 2:
        raise TaskError(f"{len(kinds)} different labels are given; two classes are needed to read a concept.")
    return np.where(values == kinds[1], 1.0, -1.0), (str(kinds[0]), str(kinds[1]))


@dataclass(frozen=True)
class _Groups:
    """Which texts are held out together."""

    numbers: NDArray[np.int64]
    said: str
    proposal: GroupProposal | None = None

    @classmethod
    def of(cls, groups: Sequence[Any] | None, texts: Sequence[str], y: NDArray[np.float64]) -> _Groups:
        count = len(texts)
        if groups is None or isinstance(groups, str):
            proposal = propose_groups(texts, y)
            if groups is None or proposal is None:
                return cls(np.arange(count), "each text alone", proposal)
            check_proposed(groups)
            return cls(proposal.numbers, "as proposed")
        if len(groups) != count:
            raise TaskError(f"{len(groups):,} groups are given for {count:,} texts; one per text is needed.")
        _, numbers = np.unique(np.asarray([str(group) for group in groups]), return_inverse=True)
        return cls(numbers, "as given")

    @property
    def count(self) -> int:
        return int(self.numbers.max()) + 1

    def folds(self, y: NDArray[np.float64], n_folds: int, random_state: int) -> list[NDArray[np.int64]]:
        """Return the held-out rows of each fold, whole groups with classes in proportion."""
        n_folds = min(n_folds, self.count)
        if n_folds < 2:
            raise TaskError("one group is given; at least two are needed, to hold one out.")
        numbers = group_folds(y, self.numbers, n_folds, random_state)
        rows = [np.flatnonzero(numbers == number) for number in range(n_folds)]
        for test in rows:
            train = np.setdiff1d(np.arange(len(y)), test)
            for part, name in ((test, "held-out"), (train, "training")):
                if len(np.unique(y[part])) < 2:
                    raise TaskError(
                        f"the {name} texts of a fold have one class only: {self.count} groups are too few, or each "
                        f"has one label. Use fewer folds, or groups that hold both classes."
                    )
        return rows


@dataclass
class _Read:
    """Held-out scores of one method at one layer, and what choosing it needs."""

    scores: NDArray[np.float64]
    inner: NDArray[np.float64]
    axis: NDArray[np.float64] | None
    whole: float
    note: str = ""
    permuted: NDArray[np.float64] | None = None


def _read(
    X: NDArray[np.float32], y: NDArray[np.float64], held: _Groups, folds: list[NDArray[np.int64]], rotation: Rotation
) -> _Read:
    """Return scores of every fold, and how the layer looks to somebody who has the other folds only."""
    n_folds = len(folds)
    try:
        axes: dict[tuple[int, ...], NDArray[np.float64]] = {}
        for one in range(n_folds):
            axes[one,] = _axis_without(X, y, held, folds, (one,), rotation)
        if n_folds > 2:  # an axis without two folds marks each of them for the other
            for one in range(n_folds):
                for two in range(one + 1, n_folds):
                    axes[one, two] = _axis_without(X, y, held, folds, (one, two), rotation)
        whole = _axis_without(X, y, held, folds, (), rotation)
    except DensRayError as error:
        return _Read(np.zeros(len(y)), np.full(n_folds, _CHANCE), None, _CHANCE, str(error))
    scores, inner = np.zeros(len(y)), np.full(n_folds, _CHANCE)
    for one, test in enumerate(folds):
        scores[test] = X[test].astype(np.float64) @ axes[one,]
        others = [other for other in range(n_folds) if other != one and n_folds > 2]
        marks = [auc(y[folds[k]], X[folds[k]].astype(np.float64) @ axes[min(one, k), max(one, k)]) for k in others]
        inner[one] = float(np.mean(marks)) if marks else _CHANCE
    return _Read(scores, inner, whole, _mean_auc(y, scores, folds))


def _axis_without(
    X: NDArray[np.float32],
    y: NDArray[np.float64],
    held: _Groups,
    folds: list[NDArray[np.int64]],
    left_out: tuple[int, ...],
    rotation: Rotation,
) -> NDArray[np.float64]:
    rows = np.concatenate([fold for number, fold in enumerate(folds) if number not in left_out])
    rows.sort()
    fitted = clone(rotation).fit(X[rows], y[rows], groups=held.numbers[rows])
    return np.asarray(fitted.components_[0], dtype=np.float64)


def _ranked(scores: NDArray[np.float64], folds: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return scores as shares of their fold that lie below: folds have axes, and so scales, of their own."""
    found = np.zeros(len(scores))
    for test in folds:
        found[test] = (rankdata(scores[test]) - 0.5) / len(test)
    return found


def _mean_auc(y: NDArray[np.float64], scores: NDArray[np.float64], folds: list[NDArray[np.int64]]) -> float:
    return float(np.mean([auc(y[test], scores[test]) for test in folds]))


def _interval(
    y: NDArray[np.float64],
    scores: NDArray[np.float64],
    held: _Groups,
    folds: list[NDArray[np.int64]],
    generator: np.random.Generator,
) -> Interval:
    """Return the 95% interval of the AUROC over groups: they are resampled, since their texts go together."""
    counts = generator.multinomial(held.count, np.full(held.count, 1.0 / held.count), size=_RESAMPLES).T
    weights = counts[held.numbers].astype(np.float64)
    ranked = _ranked(scores, folds)
    draws = weighted_auc(y, ranked, weights)
    low, high = np.nanquantile(draws, [0.025, 0.975])
    if low == high:  # no resample made a fault: the bound of as many faultless groups
        return auc_interval(*_one_row_per_group(y, ranked, held))
    return Interval(float(low), float(high))


def _one_row_per_group(
    y: NDArray[np.float64], scores: NDArray[np.float64], held: _Groups
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return labels and mean scores of each group and class."""
    keys, rows = np.unique(np.column_stack([held.numbers, y]), axis=0, return_inverse=True)
    return keys[:, 1], np.bincount(rows, weights=scores) / np.bincount(rows)


def _p_value(aucs: NDArray[np.float64] | None) -> float:
    """Return the share of permutations that are read as well as the labels, which come first."""
    return 1.0 if aucs is None else float((1 + np.sum(aucs[1:] >= aucs[0] - 1e-12)) / len(aucs))


def _choose(
    method: str,
    layers: Sequence[int],
    found: Mapping[tuple[int, str], _Read],
    y: NDArray[np.float64],
    held: _Groups,
    folds: list[NDArray[np.int64]],
    generator: np.random.Generator,
) -> ChosenLayer:
    picked, scores = [], np.zeros(len(y))
    for number, test in enumerate(folds):
        best = max(layers, key=lambda layer: (found[layer, method].inner[number], -layer))
        picked.append(best)
        scores[test] = found[best, method].scores[test]
    overall = max(layers, key=lambda layer: (found[layer, method].whole, -layer))
    if not scores.any():
        return ChosenLayer(method, _CHANCE, Interval(0.0, 1.0), tuple(picked), overall, 1.0)
    interval = _interval(y, scores, held, folds, generator)
    tested = [aucs for layer in layers if (aucs := found[layer, method].permuted) is not None]
    p_value = _p_value(np.max(tested, axis=0))
    return ChosenLayer(method, _mean_auc(y, scores, folds), interval, tuple(picked), overall, p_value)


def _angles(axes: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64]:
    """Return degrees between axes; NaN where one is missing or the widths differ."""
    found = np.full((len(axes), len(axes)), np.nan)
    for one, first in enumerate(axes):
        for two, second in enumerate(axes):
            if first is not None and second is not None and first.shape == second.shape:
                found[one, two] = float(degrees_between(first, second))
    return found
