"""Compare methods and layers: held-out AUC per layer, with the layer chosen inside the folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from densray._threads import map_parallel
from densray.axes import Agreement, Axis, degrees_between, measure_agreement
from densray.errors import Advice, Argument, DensRayError, TaskError, shorten
from densray.folds import draw_folds
from densray.groups import GroupProposal, check_named_groups, count_templated
from densray.metrics import Interval, auc
from densray.progress import Progress
from densray.report import Column, Input, Provenance, Result, Table, show_estimate
from densray.rotations import make_rotation
from densray.rows import Rows
from densray.states._storage import States
from densray.statistics import check_n_permutations, is_linear_in_labels, p_value, refit

DEFAULT_METHODS = ("ridge", "mean-difference", "densray-unit")
_CHANCE = 0.5
#: Share of texts from templates from which on the verdict asks for groups.
_TEMPLATED_SHARE = 0.1
#: A control detects a concept as well as the model if its AUC is at most this much lower.
_AS_WELL = 0.05
#: Why some texts share a group that nobody gave.
_PROPOSED = (
    "Texts that repeat, and pairs that differ in one word and have different labels, are held out together (proposed "
    "groups), because one reveals the label of the other. Your own groups, such as the topics of texts, may be wider."
)


@dataclass(frozen=True)
class LayerScore:
    """How well the axis of one method separates the classes after one layer, on held-out texts.

    Attributes
    ----------
    layer : int
    method : str
    auc : float
        AUC of held-out scores; 0.5 if no axis could be fitted.
    interval : Interval
        95% interval over groups of texts.
    p_value : float
        Share of label permutations with at least this AUC; see :func:`compare_layers`.
    note : str
        Reason why there is no axis; empty if there is one.
    """

    layer: int
    method: str
    auc: float
    interval: Interval
    p_value: float
    note: str = ""


@dataclass(frozen=True)
class ChosenLayer:
    """How well the axis of a method separates the classes at a layer chosen within each fold, from training texts only.

    Attributes
    ----------
    method : str
    auc : float
        AUC on texts that were not used for the choice, ranked within their fold.
    interval : Interval
    layers : tuple of int
        The layer chosen in each fold, without the texts of that fold.
    layer : int
        The layer to use: the one with the highest AUC over all texts.
    p_value : float
        Share of label permutations whose best layer has at least the AUC of the best layer here.
    """

    method: str
    auc: float
    interval: Interval
    layers: tuple[int, ...]
    layer: int
    p_value: float


@dataclass(frozen=True)
class LayerControl:
    """Result of a method on control states: mean token embeddings, or an untrained model.

    Attributes
    ----------
    name : str
        ``"embeddings"`` or ``"untrained"``; see :func:`read_controls`.
    method : str
    layer : int or None
        The layer of the untrained copy: the best layer of the model on all texts.
    auc : float
    interval : Interval
    as_well : bool
        Whether the AUC is above chance and at most 0.05 lower than that of the same method at its best layer.
    """

    name: str
    method: str
    layer: int | None
    auc: float
    interval: Interval
    as_well: bool


@dataclass(frozen=True)
class LayerComparison(Result):
    """Held-out AUC of every method at every layer.

    Attributes
    ----------
    scores : tuple of LayerScore
    chosen : tuple of ChosenLayer
    angles : mapping of str to array
        Degrees between the axes of each two layers, per method; NaN if there is no axis.
    n_texts, n_groups, n_folds : int
    grouped : str
        Source of the groups: "as given", "as proposed" or "each text alone".
    ends : tuple of str
        The labels of the low and of the high end.
    held_out_ranks : mapping of (int, str) to array
        Held-out rank of each text by layer and method: the share of the texts of its fold that score lower. Missing if
        no axis could be fitted.
    axes : mapping of (int, str) to array
        The axis of all texts, of unit length.
    n_templated : int
        If no groups are given: number of texts that differ from two or more others in the same word only.
    proposal : GroupProposal or None
        Texts that should be held out together but were not.
    controls : tuple of LayerControl
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
    held_out_ranks: Mapping[tuple[int, str], NDArray[np.float64]] = field(repr=False, metadata={"report": False})
    axes: Mapping[tuple[int, str], NDArray[np.float64]] = field(repr=False, metadata={"report": False})
    proposal: GroupProposal | None = None
    n_templated: int = 0
    controls: tuple[LayerControl, ...] = ()

    @property
    def summary(self) -> str:
        """The verdict: AUC of the best method, and whether a control reaches it."""
        failures = [score.note for score in self.scores]
        if all(failures):
            return f"No axis could be fitted: {failures[0]}"
        parts = [self._no_choice]
        if self.chosen:
            best = max(self.chosen, key=lambda each: each.auc)
            estimate = show_estimate(best.auc, best.interval.low, best.interval.high, 2)
            place = "at the layer chosen inside the folds"
            if best.interval.low <= _CHANCE:
                return f"Not detected beyond chance: {best.method}, the best method, has AUC {estimate} {place}."
            parts = [f"Detected by {best.method} with AUC {estimate} {place}."]
        if self.n_templated:
            parts.append(
                f"{self.n_templated:,} of {self.n_texts:,} texts come from templates and are held out separately, so "
                "the AUC may come from words that occur in several texts. Give groups, such as these words."
            )
        if self._early:
            parts.append(
                "Readable after the first block already, which may be a surface feature. The controls of densray model "
                "read (read_controls) would show it."
            )
        if control := self._control_as_good("embeddings"):
            parts.append(f"Readable before the first block{self._by_other(control)}: a surface feature.")
        if control := self._control_as_good("untrained"):
            reader = self._by_other(control)
            parts.append(
                f"An untrained copy of the model reads it as well{reader}: the model need not have learned it."
            )
        return " ".join(parts)

    @property
    def _named_method(self) -> str:
        """The method that the verdict names: the best one."""
        found: Sequence[ChosenLayer | LayerScore] = self.chosen or self.scores
        return max(found, key=lambda each: each.auc).method

    def _control_as_good(self, name: str) -> LayerControl | None:
        """Return the control above chance that comes within 0.05 of the verdict's method at its best layer, if any.

        The control of the same method comes first. What another method reads counts only if it is that good.
        """
        named = self._named_method
        needed = max(score.auc for score in self.scores if score.method == named) - _AS_WELL
        found = [each for each in self.controls if each.name == name and each.interval.low > _CHANCE]
        return max(
            (each for each in found if each.auc >= needed),
            key=lambda each: (each.method == named, each.auc),
            default=None,
        )

    def _by_other(self, control: LayerControl) -> str:
        return "" if control.method == self._named_method else f", by {control.method}"

    def best_layer(self, method: str) -> int:
        """Return the layer with the highest AUC of a method on all texts: the first of several equal ones."""
        scores = [score for score in self.scores if score.method == method]
        return max(scores, key=lambda score: (score.auc, -score.layer)).layer

    @property
    def _no_choice(self) -> str:
        return (
            f"No layer can be chosen: this needs at least three folds, and there are {self.n_folds}. "
            "Ask for more folds, or add texts in other groups."
        )

    @property
    def _early(self) -> bool:
        """Whether the first block reads the concept about as well as the best layer, and there are no controls."""
        first, *others = dict.fromkeys(score.layer for score in sorted(self.scores, key=lambda score: score.layer))
        if first != 0 or not others or self.controls:
            return False
        best = max(score.auc for score in self.scores)
        return any(
            score.layer == 0 and score.interval.low > _CHANCE and score.auc >= best - _AS_WELL for score in self.scores
        )

    def text(self) -> str:
        """Return the verdict, which comes first."""
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, and the verdict."""
        return {"summary": self.summary, **super().to_dict()}

    def ranked_texts(self, states: States, layer: int, method: str) -> list[dict[str, Any]]:
        """Return the texts from the high end to the low end: ``text``, ``label``, ``rank``, ``correct``.

        ``rank`` is the share of its fold that scores lower; ``correct`` tells whether the text is in the half of its
        label.
        """
        if (layer, method) not in self.held_out_ranks:
            raise TaskError(f"no axis was fitted at layer {layer} by {method}.")
        ranks, labels = self.held_out_ranks[layer, method], states.labels or ("",) * len(states)
        rows = []
        for place in np.argsort(-ranks, kind="stable").tolist():
            label, rank = str(labels[place]), float(ranks[place])
            correct = label in self.ends and (label == self.ends[1]) == (rank > 0.5)
            rows.append({"text": states.texts[place], "label": label, "rank": rank, "correct": correct})
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
        """Return the chosen layers, then AUC per layer with a column per method."""
        methods = list(dict.fromkeys(score.method for score in self.scores))
        by_layer: dict[int, dict[str, Any]] = {}
        for score in self.scores:
            record = by_layer.setdefault(score.layer, {"layer": score.layer})
            record[score.method] = None if score.note else score.auc
        low, high = self.ends
        p_meaning = (
            "p compares the best layer with the best layer under shuffled labels. For methods other than ridge and the "
            "mean difference, it is the p of the mean difference."
        )
        notes = [
            f"{self.n_texts:,} texts in {self.n_groups:,} groups ({self.grouped}), {self.n_folds} folds.",
            f"Above 0.5, texts labelled {high} score higher than texts labelled {low}.",
            *([p_meaning] if self.chosen else []),
            *([_PROPOSED] if self.grouped == "as proposed" else []),
            *([] if self.proposal is None else [self.proposal.line]),
        ]
        chosen = [
            {
                "method": each.method,
                "AUC": each.auc,
                "low": each.interval.low,
                "high": each.interval.high,
                "p": each.p_value,
                "layers": ", ".join(map(str, each.layers)),
                "layer": each.layer,
            }
            for each in self.chosen
        ]
        numbers = [Column(name, decimals=3) for name in ("AUC", "low", "high", "p")]
        chosen_layers = [Column("layers", "chosen in each fold"), Column("layer", "best on all texts")]
        failed = [
            f"No axis at layer {score.layer} by {score.method}: {score.note}" for score in self.scores if score.note
        ]
        hindsight = "The best number of this table was chosen with hindsight"
        notes_by_layer = [f"{hindsight}; the table above was not."] if chosen else [*notes, f"{hindsight}."]
        tables = []
        if chosen:
            columns: list[Column | str] = ["method", *numbers, *chosen_layers]
            tables.append(Table("The layer chosen inside the folds", columns, chosen, notes))
        tables.append(
            Table(
                "Held-out AUC by layer",
                ["layer", *(Column(method, decimals=3) for method in methods)],
                [by_layer[layer] for layer in sorted(by_layer)],
                [*notes_by_layer, *failed[:5]],
            )
        )
        if self.controls:
            rows = [
                {"control": each.name, "method": each.method, "layer": each.layer, "AUC": each.auc}
                | {"low": each.interval.low, "high": each.interval.high, "as well": "yes" if each.as_well else "no"}
                for each in self.controls
            ]
            meanings = [
                "embeddings: the mean of the token embeddings. untrained: the same model with random weights.",
                "As well: above chance, and at most 0.05 below the same method at its best layer in the model.",
            ]
            as_well = Column("as well", "as well as in the model")
            tables.append(
                Table(
                    "Controls that have learned nothing",
                    ["control", "method", "layer", *numbers[:3], as_well],
                    rows,
                    meanings,
                )
            )
        return tables

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
    standardize: bool = True,
    layers: Sequence[int] | None = None,
    controls: Mapping[str, States] | None = None,
    folds: int = 5,
    n_permutations: int = 199,
    random_state: int = 0,
    progress: Progress | None = None,
) -> LayerComparison:
    """Measure how well each method separates two classes after each layer, on held-out groups of texts.

    Parameters
    ----------
    states : States
    labels : array of shape (n,), optional
        Two classes, one label per text (default: those stored with the states).
    groups : sequence, "proposed" or "none", optional
        Groups of texts that belong together (an occupation, a city, a pair). Whole groups are held out. "proposed"
        holds out together texts that repeat, and pairs of texts that differ in one word and have different labels
        (:func:`densray.groups.propose_groups`). With "none", each text is its own group. Default: the groups stored
        with the states, or else "proposed".
    methods : sequence of str
        Names of methods, as for :func:`densray.fit_axis`.
    standardize : bool, default=True
        Whether to divide the columns by their standard deviations before axes are fitted.
    layers : sequence of int, optional
        Layers to compare (default: all).
    controls : mapping of str to States, optional
        Control states of the same texts: their mean token embeddings, or the states of an untrained copy of the model
        (:func:`read_controls`). Every method is tested on them, too.
    folds : int, default=5
    n_permutations : int, default=199
        Number of permutations. Labels are permuted between whole groups. Only ridge and the mean difference are fitted
        to the permuted labels, to save time. Rows of other methods show the p-value of the mean difference.
    random_state : int, default=0
    progress : callable, optional
        Called with the number of fits done and their total.
    """
    began = Provenance.begin(seed=random_state)
    check_n_permutations(n_permutations)
    compared = tuple(layers) if layers is not None else states.layers
    rows, grouped = _grouped_rows(states, compared[0], labels, groups)
    rows = replace(rows, groups_final=True)  # all layers share the groups, and so the folds
    if not rows.is_binary:
        raise TaskError(f"{len(np.unique(rows.y))} different labels are given; two classes are needed.")
    n_folds = _count_folds(rows, folds, random_state, proposed=grouped == "as proposed")
    for method in methods:
        make_rotation(method)  # raises if the name is unknown
    _check_controls(controls or {}, states)
    jobs = [(layer, method) for layer in compared for method in methods]

    options = {
        "folds": folds,
        "n_permutations": n_permutations,
        "random_state": random_state,
        "standardize": standardize,
    }

    def fit(job: tuple[int, str]) -> _LayerFit:
        layer, method = job
        X = np.asarray(states[layer], dtype=np.float32)
        return _fit_layer(replace(rows, X=X, background=X), method, options)

    fits = dict(zip(jobs, map_parallel(fit, jobs, progress=progress), strict=True))
    best = {
        method: max(
            (fits[layer, method].score(layer, method) for layer in compared),
            key=lambda score: (score.auc, -score.layer),
        )
        for method in methods
    }
    return LayerComparison(
        controls=tuple(_read_controls(rows, controls or {}, best, folds, random_state, standardize=standardize)),
        scores=tuple(fitted.score(*job) for job, fitted in fits.items()),
        chosen=tuple(_choose(method, compared, fits, rows) for method in methods) if n_folds > 2 else (),
        angles={method: _angles([fits[layer, method].axis for layer in compared]) for method in methods},
        n_texts=len(states),
        n_groups=rows.n_groups,
        n_folds=n_folds,
        grouped=grouped,
        proposal=rows.proposal,
        n_templated=_templated(states, grouped, groups),
        ends=_ends(rows),
        held_out_ranks={job: fitted.ranks for job, fitted in fits.items() if fitted.axis is not None},
        axes={job: fitted.axis.direction for job, fitted in fits.items() if fitted.axis is not None},
        provenance=began.finish(
            inputs=[Input("states", states.model or "states", states.checksum or None, len(states))],
            used=len(states),
            method=", ".join(methods),
        ),
    )


def _templated(states: States, grouped: str, groups: Sequence[Any] | str | None) -> int:
    """Return the number of texts from templates if groups could only be proposed; 0 if they are few."""
    if grouped == "as given" or (isinstance(groups, str) and groups == "none"):
        return 0
    count = count_templated([str(text) for text in states.texts])
    return count if count >= _TEMPLATED_SHARE * len(states) else 0


def _grouped_rows(
    states: States, layer: int, labels: ArrayLike | None, groups: Sequence[Any] | str | None
) -> tuple[Rows, str]:
    """Return the rows of a layer in their groups, and the source of the groups."""
    if groups is None and states.groups is None:
        groups = "proposed"
    if not isinstance(groups, str):
        return states.rows(layer, labels, groups), "as given"  # type: ignore[arg-type]
    check_named_groups(groups, ("proposed", "none"))
    if groups == "none":
        return states.rows(layer, labels).grouped(None), "each text alone"  # type: ignore[arg-type]
    rows = states.rows(layer, labels, groups)  # type: ignore[arg-type]
    return rows, "each text alone" if rows.groups is None else "as proposed"


def _count_folds(rows: Rows, folds: int, random_state: int, *, proposed: bool) -> int:
    """Return the number of folds; raise if the groups allow none."""
    try:
        return int(draw_folds(rows, folds, random_state).max()) + 1
    except TaskError as error:
        if not proposed:
            raise
        advice = Advice(" Give groups of your own, or hold out each text alone (", Argument("groups", "none"), ").")
        raise TaskError(
            "the proposed groups (texts that repeat or differ in one word) do not allow folds: ", *error.args, advice
        ) from None


def _check_controls(controls: Mapping[str, States], states: States) -> None:
    """Raise unless all controls have the texts of the states, in the same order."""
    for name, control in controls.items():
        if len(control) != len(states):
            raise TaskError(
                f"the control '{name}' has {len(control):,} texts; {len(states):,} are needed: the same ones."
            )
        for number, (given, needed) in enumerate(zip(control.texts, states.texts, strict=True), start=1):
            if given != needed:
                raise TaskError(
                    f"the control '{name}' has other texts than the states: text {number} is {shorten(given)}, not "
                    f"{shorten(needed)}. Read the controls of the same texts, in the same order (read_controls)."
                )


def _read_controls(
    rows: Rows,
    controls: Mapping[str, States],
    best: Mapping[str, LayerScore],
    folds: int,
    random_state: int,
    *,
    standardize: bool,
) -> Iterator[LayerControl]:
    """Yield the AUC of each method on each control, with the folds of the comparison."""
    for name, states in controls.items():
        for method, found in best.items():
            layer = found.layer if found.layer in states.layers and len(states.layers) > 1 else states.layers[-1]
            X = np.asarray(states[layer], dtype=np.float32)
            try:
                axis = Axis.fit(
                    replace(rows, X=X, background=X), method, normalize=False, folds=folds, random_state=random_state,
                    standardize=standardize,
                )  # fmt: skip
                area, interval = axis.agreement.auc, axis.agreement.auc_interval
            except DensRayError:  # states without differences, such as the same last token in every text
                area, interval = _CHANCE, Interval(0.0, 1.0)
            as_well = interval.low > _CHANCE and area >= found.auc - _AS_WELL
            yield LayerControl(name, method, layer if len(states.layers) > 1 else None, area, interval, as_well)


def _ends(rows: Rows) -> tuple[str, str]:
    """Return the names of the lower and the higher label."""
    if rows.class_names:
        return rows.class_names[0], rows.class_names[1]
    low, high = np.unique(rows.y)
    return f"{low:g}", f"{high:g}"


@dataclass
class _LayerFit:
    """One method at one layer: its axis, its held-out scores, and the numbers for the choice of a layer.

    Attributes
    ----------
    axis : Axis or None
        None if no axis could be fitted; `note` gives the reason.
    ranks : array of shape (n,)
        Held-out rank of each text within its fold, since each fold has its own axis.
    inner_aucs : array of shape (n_folds,)
        For each fold, the AUC of the layer on the other folds. The axes that score a fold were fitted without it and
        without the fold that the layer is chosen for.
    agreement : Agreement or None
        Held-out AUC with its interval.
    p_value : float
    statistic : float
        Statistic of the permutation test: rank correlation of labels and held-out scores.
    shuffled : array of shape (n_permutations,)
        The same statistic of each permutation. All layers share the permutations.
    """

    axis: Axis | None
    ranks: NDArray[np.float64]
    inner_aucs: NDArray[np.float64]
    agreement: Agreement | None = None
    p_value: float = 1.0
    statistic: float = 0.0
    shuffled: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    note: str = ""

    @property
    def n_folds(self) -> int:
        return len(self.inner_aucs)

    def score(self, layer: int, method: str) -> LayerScore:
        if self.agreement is None:
            return LayerScore(layer, method, _CHANCE, Interval(0.0, 1.0), 1.0, self.note)
        return LayerScore(layer, method, self.agreement.auc, self.agreement.auc_interval, self.p_value)


def _fit_layer(rows: Rows, method: str, options: dict[str, Any]) -> _LayerFit:
    """Return the axis of one method at one layer with its held-out results, or the reason why it failed."""
    try:
        axis = Axis.fit(rows, method, normalize=False, **options)
        agreement, inner_aucs = axis.agreement, _inner_aucs(axis)
        # other methods would need a refit per permutation, so they get the p-value of the mean difference
        closed = is_linear_in_labels(axis.rotation, axis.known_rows)
        tested = axis if closed else Axis.fit(rows, "mean-difference", normalize=False, **options)
        test = tested.permutation_test()
    except DensRayError as error:
        return _LayerFit(None, np.zeros(len(rows)), np.empty(0), note=str(error))
    return _LayerFit(
        axis,
        ranks=_rank_in_folds(axis.held_out, axis.folds),
        inner_aucs=inner_aucs,
        agreement=agreement,
        p_value=test.p_value,
        statistic=test.statistic,
        shuffled=test.shuffled,
    )


def _inner_aucs(axis: Axis) -> NDArray[np.float64]:
    """Return for each fold the AUC on all other folds, by axes fitted without that fold and without the scored one.

    An axis fitted without folds i and j is used twice: to score j for i, and i for j.
    """
    rows, folds = axis.known_rows, axis.folds
    n_folds = int(folds.max()) + 1
    if n_folds < 3:
        return np.full(n_folds, _CHANCE)
    scores = np.full((n_folds, len(rows)), np.nan)
    for one in range(n_folds):
        for two in range(one):
            training = np.flatnonzero((folds != one) & (folds != two))
            direction = refit(axis.rotation, rows.take(training))
            centred = rows.X - rows.X[training].mean(axis=0, dtype=np.float64)
            for left_out, scored in ((one, two), (two, one)):
                scores[left_out, folds == scored] = centred[folds == scored] @ direction
    return np.array([auc(rows.sides[folds != k], scores[k, folds != k]) for k in range(n_folds)])


def _rank_in_folds(scores: NDArray[np.float64], folds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each score as the share of its fold that lies below it."""
    ranks = np.zeros(len(scores))
    for number in np.unique(folds):
        test = folds == number
        ranks[test] = (rankdata(scores[test]) - 0.5) / test.sum()
    return ranks


def _choose(method: str, layers: Sequence[int], fits: Mapping[tuple[int, str], _LayerFit], rows: Rows) -> ChosenLayer:
    """Return the held-out results of a method, with the layer of each fold chosen without that fold."""
    fitted = {layer: fits[layer, method] for layer in layers if fits[layer, method].axis is not None}
    if not fitted:
        return ChosenLayer(method, _CHANCE, Interval(0.0, 1.0), layers=(), layer=layers[0], p_value=1.0)
    first = next(iter(fitted.values()))
    assert first.axis is not None
    folds, chosen, ranks = first.axis.folds, [], np.zeros(len(rows))
    for number in range(first.n_folds):
        best_inside = max(fitted, key=lambda layer: (fitted[layer].inner_aucs[number], -layer))
        chosen.append(best_inside)
        test = folds == number
        ranks[test] = fitted[best_inside].ranks[test]
    agreement = measure_agreement(rows, ranks)
    best = max(fitted, key=lambda layer: (fitted[layer].agreement.auc, -layer))  # type: ignore[union-attr]
    # the best of all layers, compared with the best of all layers under each permutation
    observed = max(each.statistic for each in fitted.values())
    shuffled = np.max([each.shuffled for each in fitted.values()], axis=0)
    return ChosenLayer(
        method,
        agreement.auc,
        agreement.auc_interval,
        layers=tuple(chosen),
        layer=best,
        p_value=p_value(observed, shuffled),
    )


def _angles(axes: Sequence[Axis | None]) -> NDArray[np.float64]:
    """Return the degrees between the axes of each two layers; NaN if one is missing or the widths differ."""
    degrees = np.full((len(axes), len(axes)), np.nan)
    for one, first in enumerate(axes):
        for two, second in enumerate(axes):
            if first is not None and second is not None and first.width == second.width:
                degrees[one, two] = float(degrees_between(first.direction, second.direction))
    return degrees
