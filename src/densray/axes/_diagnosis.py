"""The diagnosis of an axis: all statistics about it, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray.axes._citation import cite_axis
from densray.axes._evidence import (
    OUTLYING_LENGTH,
    NearMiss,
    OutlyingRow,
    PairConsistency,
    VocabularySpread,
    degrees_between,
    eigenvalues_of,
    near_misses,
    outlying_rows,
    pair_consistency,
)
from densray.axes._people import FEW_SEEDS, advise_ratings
from densray.axes._suspects import SuspectLabels, find_suspects
from densray.axes._verdict import AUC_MARKS, Verdict, show_reliability
from densray.errors import TaskError, one_line, shorten
from densray.groups import GroupProposal, WordForms
from densray.methods import note_errors
from densray.metrics import Interval, tau_ceiling
from densray.progress import Progress, parts_of
from densray.report import (
    P_MARKS,
    Citation,
    Column,
    Input,
    Provenance,
    Result,
    Table,
    show_count,
    show_estimate,
    show_number,
    show_share,
)
from densray.rotations import DensRay, PairDirection
from densray.rows import Rows
from densray.space import WordSpace
from densray.statistics import (
    PermutationTest,
    SeedAngle,
    axes_without_each,
    is_closed_form,
    is_linear_in_labels,
    keeps_closed_form,
)
from densray.statistics._jackknife import MOST_REFITS
from densray.statistics._permutation import FOLDS_REFIT, PERMUTATIONS_REFIT, SAMPLED_ROWS

if TYPE_CHECKING:
    from densray.axes._axis import Axis

#: A limitation of every diagnosis; see docs/people.md for the evidence.
_ABOUT_LABELS = {
    "word": "The verdict is about the word lists. Whether people would agree is another question: rate some words.",
    "row": "The verdict is about the labels. Whether people would agree with the scores is another question.",
}
#: Why a label may be wrong.
_REASONS = {"outlying": "far outside the range of the others", "misplaced": "far from its held-out score"}
#: Number of axes whose held-out agreement is measured, if they are cheap to fit.
MEASURED_AXES = 3
#: Up to this many seeds, the rows of a fold may not span several axes.
ROWS_THAT_MAY_NOT_SPAN = 100


@dataclass(frozen=True)
class Agreement:
    """Held-out agreement of one axis with the labels, with a 95% interval over seeds."""

    axis: int
    auc: float
    auc_interval: Interval
    tau: float


@dataclass(frozen=True)
class Diagnosis(Result):
    """All statistics on how far an axis can be trusted.

    Attributes
    ----------
    verdict : Verdict
    method, lexicon : str
    n_seeds, n_high, n_low : int
        Number of all seeds, of seeds in the higher class (or above the median score), and of the others.
    labels : str
        "classes" or "scores".
    folds : int
    axes : list of Agreement
        Held-out agreement of the leading axes; the first is the concept.
    tau_interval : Interval
        95% interval of τ of the first axis.
    tau_ceiling : float
        The τ of a perfect order: below 1 if some labels are equal.
    n_signal_axes : int
        Number of leading axes whose 95% interval of the AUC lies above 0.5.
    permutation : PermutationTest
    seed_angle : SeedAngle
    vocabulary : VocabularySpread
    eigenvalues : list of float or None
        The ten largest eigenvalues, for methods that have them.
    eigenvalue_gap : float or None
        Difference between the first and the second eigenvalue, relative to the first.
    pairs : PairConsistency or None
    influence : str
        How the influence of the seeds was computed (the influence itself is in `seeds`).
    seeds : list of dict
        Each seed with its label, its held-out `score` (from the origin of the space, as in `induce`; `Axis.held_out`
        measures it from the mean of the training rows), the probability of its own side (`agreement`) and the angle by
        which the axis turns when it is left out (`influence`, degrees). The most influential seed comes first.
    contradictions : list of dict
        The seeds that score on the wrong side when they are left out, the least probable label first.
    coverage : float
        The share of the lexicon that is in the space.
    near_misses : list of NearMiss
        Missing words, each with a similar word of the space.
    n_groups : int or None
        Number of groups; None if every seed is its own group.
    proposal : GroupProposal or None
        Seeds that should be held out together but were not.
    forms : WordForms or None
        Seeds that were held out together as forms of one word.
    suspects : SuspectLabels or None
        Labels that may be wrong, and their cost.
    outlying : list of OutlyingRow
        Seeds whose norm is more than five times the median.
    citation : Citation
        A sentence for a methods section, and BibTeX.
    label_names : pair of str or None
        Names of the low and the high end.
    fitted_on : int or None
        Number of rows of a large table that the axis was fitted on. All results come from a random sample of `n_seeds`
        of them.
    error_note : str
        A warning if the standard errors of the method are known to be wrong or were not checked; otherwise empty.
    axis : Axis
        The axis itself.
    """

    title = "How far the axis can be trusted"

    verdict: Verdict
    method: str
    lexicon: str
    n_seeds: int
    n_high: int
    n_low: int
    labels: str
    folds: int
    axes: list[Agreement]
    tau_interval: Interval
    tau_ceiling: float
    n_signal_axes: int
    permutation: PermutationTest
    seed_angle: SeedAngle
    vocabulary: VocabularySpread
    eigenvalues: list[float] | None
    eigenvalue_gap: float | None
    pairs: PairConsistency | None
    influence: str
    seeds: list[dict[str, Any]]
    contradictions: list[dict[str, Any]]
    coverage: float
    near_misses: list[NearMiss]
    n_groups: int | None
    proposal: GroupProposal | None
    forms: WordForms | None
    suspects: SuspectLabels | None
    outlying: list[OutlyingRow]
    citation: Citation
    axis: Axis = field(repr=False, metadata={"report": False})
    label_names: tuple[str, str] | None = None
    fitted_on: int | None = None
    error_note: str = ""

    def tables(self) -> list[Table]:
        """Return the statistics behind the verdict, the influential seeds, and the missing words."""
        together = [each.line for each in (self.forms, self.proposal) if each is not None]
        notes = [
            *together,
            *self._outlying_notes(),
            *([] if self._lacks_ratings else [_ABOUT_LABELS[self.axis.noun]]),
        ]
        tables = [Table("The numbers behind the verdict", ["statistic", "value", "meaning"], self._figures(), notes)]
        tables += self._suspect_tables()
        seed_columns: list[Column | str] = [
            Column("word", self.axis.noun),
            Column("label", grouped=False),
            Column("score", "held-out score", decimals=3),
            Column("agreement", "probability of its label", decimals=3, open_ends=True),
            Column("influence", "turns the axis by (°)", decimals=2),
        ]
        title = f"Seeds that move the axis most ({self.influence})"
        moving = self.influential[:10]
        others = [row for row in self.contradictions if row not in moving]
        contradicting, above = len(self.contradictions), len(self.contradictions) - len(others)
        verb = "contradicts the rest: its" if contradicting == 1 else "contradict the rest: their"
        said = f"{contradicting:,} of {self.n_seeds:,} seeds {verb} label has a probability below 0.5"
        among = f"; {above} of them {'is' if above == 1 else 'are'} in this table" if others and above else ""
        notes = [f"{said}{among}."] if contradicting else []
        tables.append(Table(title, seed_columns, self._shown(moving), [*notes, *self._score_notes()]))
        if others:
            title = f"{'Other seeds' if above else 'Seeds'} that contradict the rest, the least probable label first"
            tables.append(Table(title, seed_columns, self._shown(others[:10])))
        if self.near_misses:
            rows = [{"missing": m.word, "in the space": m.found, "difference": m.difference} for m in self.near_misses]
            title = f"Missing words the space may have otherwise: {len(rows)}"
            tables.append(Table(title, ["missing", "in the space", "difference"], rows[:10], self._case_notes()))
        return tables

    def _suspect_tables(self) -> list[Table]:
        """Return the labels that may be wrong, if there are any, with their cost."""
        if self.suspects is None:
            return []
        rows = [
            {"word": each.word, "label": each.label, "expected": each.expected, "reason": _REASONS[each.reason]}
            for each in self.suspects.labels
        ]
        columns: list[Column | str] = [
            Column("word", self.axis.noun),
            Column("label", grouped=False),
            Column("expected", "label by its held-out score", decimals=3),
            *(["reason"] if self.suspects.of("outlying") else []),
        ]
        notes = self.suspects.lines_with(self.label_names, self.axis.noun, misplaced=False)
        title = "Labels that may be wrong, the furthest from their held-out scores first"
        title += f" (10 of {len(rows):,})" if len(rows) > 10 else ""
        return [Table(title, columns, self._shown(rows[:10]), notes)]

    def _shown(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return seeds with long texts, such as documents, cut to one line, and with the names of their labels."""
        names = {} if self.label_names is None else dict(zip((-1, 1), self.label_names, strict=True))
        return [{**row, "word": one_line(row["word"]), "label": names.get(row["label"], row["label"])} for row in rows]

    def __repr__(self) -> str:
        return f"Diagnosis by {self.method}: {self.n_seeds:,} seeds, {self.verdict.line}"

    def text(self) -> str:
        """Return the verdict in plain words, with advice, and labels far outside the range of the others.

        If there are too few seed words to tell, the advice is to add ratings by people.
        """
        doubts = self._suspect_lines[:1] if self.suspects is not None and self.suspects.of("outlying") else []
        ratings = [advise_ratings()] if self._lacks_ratings else []
        cased = "" if self.axis.rows is None else self.axis.rows.case_note
        lines = [self.verdict.sentence, self.error_note, cased, *self._sample_notes(), *doubts, *ratings]
        return "\n".join(filter(None, lines))

    @property
    def _suspect_lines(self) -> list[str]:
        return [] if self.suspects is None else self.suspects.lines_with(self.label_names, self.axis.noun)

    def _sample_notes(self) -> list[str]:
        if self.fitted_on is None:
            return []
        return [
            f"The axis was fitted on {self.fitted_on:,} rows. All numbers, and the standard errors of scores, come "
            f"from fits on a random sample of {self.n_seeds:,} of them. The axis itself varies less."
        ]

    @property
    def _lacks_ratings(self) -> bool:
        """Whether the seeds are too few words of two classes, without rated items."""
        named = self.axis.noun == "word" and self.axis.known_rows.is_binary and self.axis.seeds is None
        return named and self.n_seeds < FEW_SEEDS and self.verdict.grade in ("unclear", "none")

    @property
    def end_names(self) -> tuple[str, str]:
        """Names of the low and the high end for a legend; if they have none, two typical seed words of each."""
        rows = self.axis.rows
        if self.label_names is not None:
            return self.label_names
        if rows is None or self.axis.noun != "word":
            return "low label", "high label"
        from densray.axes._views import axis_ends

        low, high = (", ".join(one_line(word, width=24) for word in words) for words in axis_ends(rows))
        return f"low end: {low}", f"high end: {high}"

    @property
    def influential(self) -> list[dict[str, Any]]:
        """The seeds with known influence, the most influential first, as `densray.figures.seed_influence` shows."""
        return [row for row in self.seeds if row["influence"] is not None]

    def _case_notes(self) -> list[str]:
        cased = sum(miss.difference == "case" for miss in self.near_misses)
        return (
            [f"{cased} of them differ in case only, and match several words or are matched by exact case."]
            if cased
            else []
        )

    def _outlying_notes(self) -> list[str]:
        if not self.outlying:
            return []
        count, most = len(self.outlying), 3
        named = ", ".join(f"{shorten(row.word)} ({show_number(row.times, 0)} times)" for row in self.outlying[:most])
        more = f" and {count - most:,} more" if count > most else ""
        what = "one seed has a vector" if count == 1 else f"{count:,} seeds have vectors"
        line = f"{what} more than {OUTLYING_LENGTH:g} times as long as the median: {named}{more}."
        unit = isinstance(self.axis.rotation, DensRay) and self.axis.rotation.normalize_differences
        advice = (
            "This method scales every difference to unit length, so they do not affect it."
            if unit
            else "Such vectors pull the axis of any method that uses differences or means as they are. Leave these "
            "seeds out, or use densray-unit, which scales every difference to unit length."
        )
        return [f"{line[0].upper()}{line[1:]} {advice}"]

    def _score_notes(self) -> list[str]:
        even, notes = self.axis.even_odds, []
        if self.labels == "scores":
            median = np.median([row["label"] for row in self.seeds])
            notes.append(f"Labels are split at their median, {median:g}: above it is the high side.")
        scale = "A score is a coordinate on the axis, as in induce"
        return [
            *notes,
            *([] if even is None else [f"{scale}. 0 is not neutral: even odds lie at {show_number(even)}."]),
        ]

    def _figures(self) -> list[dict[str, str]]:
        first, test, spread = self.axes[0], self.permutation, self.vocabulary
        low, high = self.label_names or ("lower", "higher")
        noun, all_rows = self.axis.noun, "vocabulary" if self.axis.noun == "word" else "rows"
        grouped = "" if self.n_groups is None else f"; held out in {show_count(self.n_groups)} groups"
        rows = [
            ("seeds", show_count(self.n_seeds),
             f"{self.n_high:,} {high}, {self.n_low:,} {low}; {show_share(self.coverage)} found{grouped}"),
            (
                "held-out AUC",
                _with_interval(first.auc, first.auc_interval, AUC_MARKS),
                f"an unseen {_pair_of(self.label_names, noun)}",
            ),
            ("held-out τ", _with_interval(first.tau, self.tau_interval),
             f"Kendall τ-b with the {self.labels}; at most {show_number(self.tau_ceiling)}, for a perfect order"),
            ("permutation p", show_number(test.p_value, open_ends=True, marks=P_MARKS),
             f"{test.n_permutations:,} shuffles of {test.n_seeds:,} seeds"),
            ("seed angle", f"{show_number(self.seed_angle.upper, 1)}°", "at most (95%), from the average axis of "
             f"other sets of seeds of this size; estimated angle {show_number(self.seed_angle.median, 1)}°"),
            ("reliability", show_reliability(spread.reliability, *spread.reliability_interval),
             f"expected correlation with the scores of the {all_rows} from other seeds"),
            ("standard error", show_number(spread.standard_error, 4), f"median over the {all_rows}"),
            ("variance", show_share(spread.variance_share, 2),
             f"of the space along the axis; with equal directions {show_share(1 / self._width, 2)}"),
            ("signal axes", f"{self.n_signal_axes}", f"of the first {len(self.axes)} separate unseen {noun}s"),
        ]  # fmt: skip
        if self.eigenvalue_gap is not None:
            rows.append(
                ("eigenvalue gap", show_number(self.eigenvalue_gap), "relative gap between the first and the second")
            )
        if self.pairs is not None:
            pairs = self.pairs
            rows.append(
                ("pairs", show_number(pairs.parallelism), f"mean cosine of {pairs.n_pairs} differences (PairDir)")
            )
            alignment = show_number(pairs.alignment)
            rows.append(("pairs ordered", show_share(pairs.ordered), f"mean cosine with the axis {alignment}"))
        return [dict(zip(("statistic", "value", "meaning"), row, strict=True)) for row in rows]

    @property
    def _width(self) -> int:
        return self.axis.width


def _pair_of(label_names: tuple[str, str] | None, noun: str) -> str:
    if label_names is None:
        return f"higher {noun} scores above a lower one"
    return f"{noun} of “{label_names[1]}” scores above one of “{label_names[0]}”"


def _with_interval(value: float, interval: Interval, marks: Sequence[float] = ()) -> str:
    return show_estimate(value, interval.low, interval.high, marks=marks)


def diagnose_axis(axis: Axis, *, progress: Progress | None = None) -> Diagnosis:
    """Return all statistics about a fitted axis; see :meth:`densray.Axis.diagnose`."""
    rows, options = axis.known_rows, axis.options
    provenance = Provenance.begin(seed=options.random_state)
    folding, resampling, permuting, leaving_out, checking, finishing = parts_of(progress, _times(axis))
    agreements = axis.agreements(_count_axes(axis), progress=folding)
    axis.measure_errors(progress=resampling)
    test = axis.permutation_test(progress=permuting)
    seeds, how = _seed_figures(axis, leaving_out)
    contradictions = sorted((row for row in seeds if row["agreement"] < 0.5), key=lambda row: float(row["agreement"]))
    eigenvalues = eigenvalues_of(axis.rotation, rows)
    space = rows.background if isinstance(rows.background, WordSpace) else None
    suspects = find_suspects(axis.rotation, rows, axis.held_out, axis.folds, progress=checking)
    verdict = axis.quick_verdict([row["word"] for row in contradictions])
    diagnosis = Diagnosis(
        verdict=verdict,
        method=axis.method,
        lexicon=axis.concept,
        n_seeds=len(rows),
        n_high=int(np.sum(rows.sides > 0)),
        n_low=int(np.sum(rows.sides < 0)),
        labels="classes" if rows.is_binary else "scores",
        folds=len(np.unique(axis.folds)),
        axes=agreements,
        tau_interval=axis.tau_interval(),
        tau_ceiling=tau_ceiling(rows.y),
        n_signal_axes=_count_leading(each.auc_interval.low > 0.5 for each in agreements),
        permutation=test,
        seed_angle=axis.errors.seed_angle,
        vocabulary=axis.spread,
        eigenvalues=None if eigenvalues is None else eigenvalues[:10].tolist(),
        eigenvalue_gap=_gap(eigenvalues),
        pairs=None,
        influence=how,
        seeds=seeds,
        contradictions=contradictions,
        coverage=rows.coverage,
        near_misses=[] if space is None else near_misses(rows.missing, space),
        n_groups=None if rows.groups is None else rows.n_groups,
        proposal=rows.proposal,
        forms=rows.forms,
        suspects=suspects,
        outlying=outlying_rows(rows),
        citation=cite_axis(axis, verdict),
        error_note=note_errors(axis.method, axis.rotation),
        axis=axis,
        label_names=axis.label_names,
        provenance=provenance.finish(
            inputs=inputs_of(rows),
            used=len(rows),
            missing=rows.missing,
            set_aside=rows.set_aside,
            method=axis.method,
        ),
    )
    if finishing is not None:
        finishing(1, 1)
    return diagnosis


def _times(axis: Axis) -> tuple[float, ...]:
    """Return the relative times of the parts of a diagnosis, in order.

    Parts: folds, jackknife, permutation test, each seed left out, suspect labels, and the rest.
    """
    rows, options = axis.known_rows, axis.options
    if is_linear_in_labels(axis.rotation, rows) and keeps_closed_form(axis.rotation, rows):
        return 40.0, 4.0, 24.0, 4.0, 22.0, 6.0  # measured with ridge on 3,881 seeds
    refits = min(options.max_refits, len(rows))
    permutations = options.n_permutations or PERMUTATIONS_REFIT
    sampled = FOLDS_REFIT * permutations * min(1.0, SAMPLED_ROWS / len(rows))
    n_folds = len(np.unique(axis.folds))
    return n_folds, options.n_resamples or MOST_REFITS, sampled, refits, 1.0, n_folds / 4


def with_pairs(diagnosis: Diagnosis, pairs: Iterable[Sequence[str]]) -> Diagnosis:
    """Return the diagnosis with statistics of pairs of words, the higher word first."""
    axis = diagnosis.axis
    space = axis.known_rows.background
    if not isinstance(space, WordSpace):
        raise TaskError("pairs need a space of words, and these rows do not come from one. Leave pairs out.")
    return replace(diagnosis, pairs=pair_consistency(pairs, space, axis.direction, axis.options))


def inputs_of(rows: Rows) -> list[Input]:
    """Return the inputs that rows came from, for the provenance of a result."""
    if rows.table:
        return [Input("table", rows.table, size=rows.n_in_table), Input("labels", rows.concept, size=len(rows))]
    lexicon = Input("lexicon", rows.concept, None, len(rows) + len(rows.missing) + len(rows.merged))
    return [Input.of("space", rows.background), lexicon] if isinstance(rows.background, WordSpace) else [lexicon]


def _count_axes(axis: Axis) -> int:
    """Return how many axes to measure: several if they are cheap to fit, otherwise one."""
    rows = axis.known_rows
    if not isinstance(axis.rotation, DensRay | PairDirection) and not is_closed_form(axis.rotation, rows):
        return 1
    if len(rows) > ROWS_THAT_MAY_NOT_SPAN:
        return min(MEASURED_AXES, rows.width)
    trainings = (rows.X[axis.folds != number] for number in np.unique(axis.folds))
    # an axis in the complement of the others needs rows that still differ there
    ranks = [int(np.linalg.matrix_rank(part - part.mean(axis=0))) for part in trainings]
    return max(min(MEASURED_AXES, *ranks), 1)


def _seed_figures(axis: Axis, progress: Progress | None) -> tuple[list[dict[str, Any]], str]:
    """Return the statistics of each seed, the most influential first, and how influence was computed.

    The score of a seed is its score along the leave-one-out axis if all of these are known, else along the axis fitted
    without its fold.
    """
    rows, uncertainty = axis.known_rows, axis.uncertainty
    assert uncertainty is not None
    wrong_side_first = np.argsort(rows.sides * axis.held_out, kind="stable")
    axes = axes_without_each(
        axis.rotation, rows, first=wrong_side_first, max_refits=axis.options.max_refits, progress=progress
    )
    computed = np.asarray(np.isfinite(axes).all(axis=1))
    scores = _left_out_scores(rows, axes) if computed.all() else axis.held_out
    high = uncertainty.calibration.probability(scores)
    probability_of_label = np.where(rows.sides > 0, high, 1.0 - high)
    angles = np.where(computed, degrees_between(axes, axis.direction), np.nan)
    offset = float(uncertainty.seed_mean @ axis.direction)  # held-out scores are measured from the mean of the seeds
    figures = [
        {
            "word": rows.names[row],
            "label": float(rows.y[row]),
            "score": float(scores[row]) + offset,
            "agreement": float(probability_of_label[row]),
            "influence": float(angles[row]) if computed[row] else None,
        }
        for row in np.argsort(np.where(computed, -angles, np.inf), kind="stable").tolist()
    ]
    left_out = "leave-one-out" if rows.groups is None else "leave-group-out"
    how = (
        "closed form" if keeps_closed_form(axis.rotation, rows) else f"refits of {computed.sum()} of {len(rows)} seeds"
    )
    return figures, f"{left_out}, {how}"


def _left_out_scores(rows: Rows, axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leave-one-out score of each row, measured from the mean of the other rows."""
    centred = rows.X - rows.X.mean(axis=0, dtype=np.float64)
    for group in rows.members:
        centred[group] += centred[group].sum(axis=0) / max(len(rows) - len(group), 1)
    return np.asarray(np.einsum("ij,ij->i", centred, axes))


def _count_leading(found: Iterable[Any]) -> int:
    count = 0
    for yes in found:
        if not yes:
            break
        count += 1
    return count


def _gap(eigenvalues: NDArray[np.float64] | None) -> float | None:
    if eigenvalues is None or len(eigenvalues) < 2 or eigenvalues[0] <= 0:
        return None
    return float((eigenvalues[0] - eigenvalues[1]) / eigenvalues[0])
