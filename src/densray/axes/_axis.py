"""Axis: the direction of a concept, with its held-out scores, its errors and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray._arrays import HALF_TYPES, float_rows, namespace, to_host, type_name
from densray._files import ArchiveKind, Contents
from densray._vocabulary import unit_rows
from densray.axes._card import axis_card
from densray.axes._citation import cite_axis
from densray.axes._diagnosis import Agreement, Diagnosis, diagnose_axis, with_pairs
from densray.axes._ends import end_difference
from densray.axes._evidence import VocabularySpread
from densray.axes._fitted_rows import FittedRows
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions
from densray.axes._space_record import KnownVectors, SpaceRecord
from densray.axes._tables import score_table
from densray.axes._uncertainty import Scores, Uncertainty
from densray.axes._verdict import Verdict, judge
from densray.errors import (
    Advice,
    Argument,
    LabelError,
    PersistenceError,
    RowError,
    TaskError,
    TooFewRowsError,
    VectorError,
    name_some,
    shorten,
)
from densray.folds import draw_folds
from densray.lexicon import check_end_names
from densray.metrics import auc, auc_interval, kendall_tau, tau_interval
from densray.persistence import read_rotation, read_tensors, rotation_parts, write_tensors
from densray.progress import Progress
from densray.report import Citation
from densray.rotations import Rotation, SeededRidge, make_rotation, name_method
from densray.rows import Rows, order_classes
from densray.space import WordSpace, as_space, is_space
from densray.statistics import (
    HELD_OUT_INFLATION,
    AxisErrors,
    PermutationTest,
    axis_errors,
    held_out_scores,
    permutation_test,
)
from densray.tables import EncoderRecord, is_table, may_be_table, open_table

if TYPE_CHECKING:
    from densray.states import States

#: Number of background rows used for the interval of the reliability.
FREEDOM_ROWS = 2_000
_KIND = ArchiveKind("densray-axis", 1, "axis", "Fit it again: densray fit SPACE LEXICON -o AXIS.safetensors")


class _ScoredBackground(NamedTuple):
    """The score of every background row, and the spread of these scores."""

    scores: Scores
    spread: VocabularySpread


@dataclass(eq=False)
class Axis:
    """The direction of a concept. It scores vectors and reports how far the scores can be trusted.

    Make one with :meth:`Axis.fit` or :meth:`Axis.load`. Expensive results are computed on first access and cached.

    Attributes
    ----------
    rotation : fitted rotation
        The fitted estimator. Its axes are an orthonormal basis, and the first is the concept.
    method : str
        Name of the method.
    rows : Rows or None
        The labelled rows it was fitted on, at unit length if `options.normalize`; None for a loaded axis.
    options : AxisOptions
    concept : str
        Name of the concept.
    label_names : pair of str or None
        Names of the low and the high end.
    seeds : Rows or None
        The seed words of an axis that was fitted to ratings and seed words together. For any other axis None: its seeds
        are `rows`.
    fitted_on : int or None
        Number of table rows, if the axis was fitted block by block (`rows` is then None); otherwise None.
    sampled : Axis or None
        If `fitted_on` is set: an axis fitted on a random sample of those rows, from which the verdict and the standard
        errors are computed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([-1.0, 1.0], 20)
    >>> axis = Axis.fit(Rows.from_arrays(rng.normal(size=(40, 5)) + 4 * y[:, None] * np.eye(5)[0], y), normalize=False)
    >>> bool(axis.direction[0] > 0.99), axis.agreement.auc
    (True, 1.0)
    """

    rotation: Rotation
    method: str
    rows: Rows | None = None
    options: AxisOptions = DEFAULTS
    concept: str = ""
    label_names: tuple[str, str] | None = None
    seeds: Rows | None = field(default=None, repr=False)
    _held_out: NDArray[np.float64] | None = field(default=None, repr=False)
    _errors: AxisErrors | None = field(default=None, repr=False)
    _uncertainty: Uncertainty | None = field(default=None, repr=False)
    _verdict: Verdict | None = field(default=None, repr=False)
    _citation: Citation | None = field(default=None, repr=False)
    _space: SpaceRecord | None = field(default=None, repr=False)
    _diagnosis: Diagnosis | None = field(default=None, repr=False)
    _permutation: PermutationTest | None = field(default=None, repr=False)
    _seed_names: tuple[str, ...] | None = field(default=None, repr=False)
    _encoder: EncoderRecord | None = field(default=None, repr=False)
    _fitted_rows: FittedRows | None = field(default=None, repr=False)
    _any_space: bool = field(default=False, repr=False)
    fitted_on: int | None = None
    sampled: Axis | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        concept = f" '{self.concept}'" if self.concept else ""
        if self.label_names:
            concept += f" ({self.label_names[0]} → {self.label_names[1]})"
        n_rows = self.fitted_on or (None if self.rows is None else len(self.rows))
        rows = "" if n_rows is None else f"{n_rows:,} {self.noun}s × "
        verdict = self._verdict if self._diagnosis is None else self._diagnosis.verdict
        known = "" if verdict is None else f", {verdict.line}"
        return f"Axis{concept} by {self.method}: {rows}{self.width:,} dimensions{known}"

    # -- finding -------------------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        rows: Rows,
        method: str | Rotation = "auto",
        *,
        seeds: Rows | None = None,
        n_components: int | None = 1,
        options: AxisOptions = DEFAULTS,
        **choices: Unpack[AxisChoices],
    ) -> Axis:
        """Return the axis of labelled rows.

        Parameters
        ----------
        rows : Rows
            Two classes, or numeric labels.
        method : str or rotation, default="auto"
            Name of a method, or an estimator. A fitted estimator is used without refitting.
        seeds : Rows, optional
            Seed words for the two ends of the scale, if `rows` holds rated items. The axis is then fitted on both by
            :class:`densray.rotations.SeededRidge`, and `method` must be "auto".
        n_components : int or None, default=1
            Number of axes to find. None gives as many axes as dimensions: those that the method finds, and further ones
            orthogonal to them. (:func:`densray.fit_axis` does so by default, because a saved axis may be used to rotate
            a space.)
        options : AxisOptions, optional
        **choices
            Fields of :class:`densray.axes.AxisOptions` by name, such as ``folds=5``.
        """
        options = options.changed(**choices)
        rows = order_classes(check_rows(rows), options.label_names)
        are_words = isinstance(rows.background, WordSpace) and not rows.class_names
        if options.label_names and are_words and len(np.unique(rows.y)) == 2:
            check_end_names(rows.names, rows.y, options.label_names)
        if isinstance(options.groups, str) and options.groups == "proposed" and rows.proposal is not None:
            rows = rows.grouped(rows.proposal.numbers)
        rows = rows.prepared(normalize=options.normalize)
        if options.clip_labels or (options.clip_labels is None and method == "auto"):
            rows = rows.clipped()
        if seeds is not None:
            if method != "auto" or options.standardize:
                given = (
                    Argument("standardize", True) if options.standardize else Argument("method", name_method(method))
                )
                raise TaskError(
                    given,
                    " cannot be combined with seeds and rated rows, which have a method of their own. Leave it out.",
                )
            difference = end_difference(check_rows(seeds), normalize=options.normalize)
            method = SeededRidge(ends=difference, n_components=n_components)
        rotation = fit_rotation(method, rows, n_components=n_components, standardize=options.standardize)
        ends = options.label_names or (rows.class_names if len(rows.class_names) == 2 else None)
        return cls(rotation, name_method(method), rows, options, rows.concept, ends, seeds)

    @property
    def seed_names(self) -> tuple[str, ...] | None:
        """Names of all rows that the axis was fitted on; None if they are not known."""
        if self.rows is None:
            return self._seed_names
        return (*self.rows.names, *(() if self.seeds is None else self.seeds.names))

    @classmethod
    def of(cls, rotation: Rotation, *, space: WordSpace | None = None, normalize: bool = True) -> Axis:
        """Return the axis of a fitted estimator, without errors or verdict; `space` is where it was fitted."""
        if not hasattr(rotation, "components_"):
            raise TaskError(f"this {type(rotation).__name__} is not fitted. Call fit first.")
        record = None if space is None else SpaceRecord.of(as_space(space), lengths=not normalize)
        return cls(rotation, type(rotation).__name__, options=DEFAULTS.changed(normalize=normalize), _space=record)

    @property
    def noun(self) -> str:
        """The word for a row in reports: "word" if the rows come from a space of words, else "row"."""
        return "word" if self.rows is not None and isinstance(self.rows.background, WordSpace) else "row"

    @property
    def orientation(self) -> str:
        """Which end of the axis is high, in one sentence."""
        noun = "Words" if self.noun == "word" or self.space_record is not None else "Rows"
        if self.label_names is None:
            return f"{noun} with higher labels score high."
        low, high = self.label_names
        return f"{noun} of “{high}” score high, {noun.lower()} of “{low}” score low."

    @property
    def direction(self) -> NDArray[np.float64]:
        """The axis itself: a unit vector towards the higher label."""
        return np.asarray(self.rotation.components_[0], dtype=np.float64)

    @property
    def width(self) -> int:
        """Number of dimensions of the vectors it scores."""
        return int(self.rotation.components_.shape[1])

    # -- how far to trust it -------------------------------------------------------------------------------------------

    @cached_property
    def folds(self) -> NDArray[np.int64]:
        """Fold of each row in the cross-validation. Rows of a group are in the same fold."""
        return draw_folds(self.known_rows, self.options.folds, self.options.random_state)

    @property
    def held_out(self) -> NDArray[np.float64]:
        """Score of each row along an axis fitted without its fold, measured from the mean of the training rows."""
        if self._held_out is None:
            self._held_out = held_out_scores(self.rotation, self.known_rows, self.folds)[:, 0]
        return self._held_out

    @property
    def fitted_rows(self) -> FittedRows | None:
        """Fingerprints of the training rows and their held-out scores, to recognise these rows in a table.

        None for words, for an axis fitted block by block, and for an axis saved without errors.
        """
        rows = self.rows
        if self._fitted_rows is None and rows is not None and not isinstance(rows.background, WordSpace):
            self._fitted_rows = FittedRows.of(rows.X, self.direction, self.held_out, labels=rows.label_digest)
        return self._fitted_rows

    @cached_property
    def agreement(self) -> Agreement:
        """Held-out AUC with its 95% interval, and Kendall's τ."""
        return measure_agreement(self.known_rows, self.held_out)

    def agreements(self, n_axes: int, *, progress: Progress | None = None) -> list[Agreement]:
        """Return the held-out agreement of the first axes; the first is the concept."""
        scores = held_out_scores(self.rotation, self.known_rows, self.folds, n_axes=n_axes, progress=progress)
        if self._held_out is None:
            self._held_out = scores[:, 0]
        return [measure_agreement(self.known_rows, column, number) for number, column in enumerate(scores.T)]

    @property
    def errors(self) -> AxisErrors:
        """Jackknife estimate of how far other seeds of the same kind would move the axis."""
        return self.measure_errors()

    def measure_errors(self, *, progress: Progress | None = None) -> AxisErrors:
        """Return :attr:`errors`, with a call to `progress` after each refit if there is no closed form."""
        if self._errors is None:
            self._errors = axis_errors(
                self.rotation,
                self.known_rows,
                background=self._prepared(self.known_rows.background_sample(FREEDOM_ROWS)),
                n_refits=self.options.n_resamples,
                random_state=self.options.random_state,
                progress=progress,
            )
        return self._errors

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Standard errors and calibration; None for an axis saved or made without seeds."""
        if self._uncertainty is None and self.rows is not None:
            self._uncertainty = Uncertainty.of(
                self.direction, self.rows, self.held_out, self.errors, normalize=self.options.normalize
            )
        elif self._uncertainty is None and self.sampled is not None:
            sample = self.sampled
            self._uncertainty = Uncertainty.of(
                self.direction, sample.known_rows, sample.held_out, sample.errors, normalize=self.options.normalize
            )
        return self._uncertainty

    @cached_property
    def _background(self) -> _ScoredBackground:
        """Scores of the background and their spread, in one pass over it."""
        blocks, total, squares = [], np.zeros(self.width), 0.0
        for block in self.known_rows.background_blocks():
            X = self._prepared(block)
            blocks.append(self._score_prepared(X))
            total += X.sum(axis=0, dtype=np.float64)
            squares += float(np.einsum("ij,ij->", X, X, dtype=np.float64))
        scores = Scores.joined(blocks)
        mean = total / len(scores)
        variance = squares / len(scores) - float(mean @ mean)
        freedom = self.errors.freedom
        assert freedom is not None  # only errors read from a file have none
        return _ScoredBackground(scores, VocabularySpread.of(scores, variance, freedom))

    @property
    def spread(self) -> VocabularySpread:
        """Statistics of all words of the space: variance along the axis, reliability, median standard error."""
        return self._background.spread

    def permutation_test(self, *, progress: Progress | None = None) -> PermutationTest:
        """Return the permutation test: how often shuffled labels give held-out scores as good as these."""
        if self._permutation is None:
            rows, random = self.known_rows, np.random.default_rng(self.options.random_state)
            draw_folds(rows, self.options.folds, random)  # keeps the random stream of the folds
            self._permutation = permutation_test(
                self.rotation, rows, n_permutations=self.options.n_permutations, random=random, progress=progress
            )
        return self._permutation

    def quick_verdict(self, contradicting: Sequence[str] = ()) -> Verdict:
        """Return the grade of :attr:`verdict`, without a search for seeds that contradict the rest."""
        rows, figures = self.known_rows, self.agreement
        return judge(
            auc=figures.auc,
            auc_low=figures.auc_interval.low,
            auc_high=figures.auc_interval.high,
            p_value=self.permutation_test().p_value,
            reliability=self.spread.reliability,
            reliability_low=self.spread.reliability_interval.low,
            reliability_high=self.spread.reliability_interval.high,
            seed_angle=self.errors.seed_angle.upper,
            n_high=int(np.sum(rows.sides > 0)),
            n_low=int(np.sum(rows.sides < 0)),
            contradicting=contradicting,
            noun=self.noun,
            n_groups=None if rows.groups is None else rows.n_groups,
        )

    def diagnose(self, *, pairs: Iterable[Sequence[str]] | None = None, progress: Progress | None = None) -> Diagnosis:
        """Return all results about the axis: held-out agreement, errors, permutation test, influence of each seed.

        Parameters
        ----------
        pairs : pairs of words, optional
            Pairs of words that differ in the concept, the higher word first. Their differences should be parallel.
        progress : callable, optional
            Called with the steps done and their total.
        """
        if self._diagnosis is None and self.sampled is not None:
            sampled = self.sampled.diagnose(progress=progress)
            citation = cite_axis(self, sampled.verdict)
            self._diagnosis = replace(sampled, axis=self, fitted_on=self.fitted_on, citation=citation)
        elif self._diagnosis is None:
            self._diagnosis = diagnose_axis(self, progress=progress)
        return self._diagnosis if pairs is None else with_pairs(self._diagnosis, pairs)

    @property
    def verdict(self) -> Verdict | None:
        """How far to trust the axis, from :meth:`diagnose`. None after :meth:`of`, or if saved without errors."""
        if self.rows is None and self.sampled is None:
            return self._verdict
        return self.diagnose().verdict

    @property
    def citation(self) -> Citation:
        """A sentence for a methods section, and BibTeX; from :meth:`diagnose`, or from the file of a loaded axis.

        ``print(axis.citation)`` shows both.
        """
        if self.rows is not None or self.sampled is not None:
            return self.diagnose().citation
        return self._citation or cite_axis(self, None)

    def tau_interval(self) -> Any:
        """Return the 95% interval of the held-out τ."""
        rows = self.known_rows
        return tau_interval(rows.y, self.held_out, inflation=HELD_OUT_INFLATION, groups=rows.groups)

    # -- using it ------------------------------------------------------------------------------------------------------

    def coordinates(self, vectors: Any) -> NDArray[Any]:
        """Return the coordinate of each vector on the axis, in the precision of the vectors."""
        return self._project(self._prepared(vectors))

    def _project(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(X @ self.direction.astype(X.dtype))

    @overload
    def score(self, target: WordSpace | NDArray[Any], *, layer: int | None = ...) -> Scores: ...
    @overload
    def score(self, target: Any, *, layer: int | None = ...) -> Any: ...
    def score(self, target: Any, *, layer: int | None = None) -> Any:
        """Return scores with standard errors and probabilities, and expected labels if the training labels are scores.

        The first call refits the axis with each fold and each seed left out in turn, to estimate standard errors and to
        calibrate the probabilities.

        Parameters
        ----------
        target : WordSpace or KeyedVectors, States, array of shape (n, d), table, or path of a table
            A table (a frame of polars or pandas, a ``pyarrow.Table``, a relation of DuckDB, …; see
            :func:`densray.tables.open_table`) comes back with the columns ``score``, ``standard_error``,
            ``probability``, ``like_seeds`` and, if the labels are scores, ``expected_label``. A file of a table comes
            back as a ``pyarrow.Table``. Any other target gives :class:`Scores`.
        layer : int, optional
            The layer to score, for states of several layers.
        """
        if is_space(target):
            target = as_space(target)
            if self.rows is not None and target is self.rows.background:
                return replace(self._background.scores, names=tuple(target.words))  # shared with the verdict
            self.check_width(target.width, f"'{target.name}'")
            self._warn_of_other_vectors(target)
            blocks = [self._score_vectors(block) for _, block in target.blocks()]
            return Scores.joined(blocks, tuple(target.words))
        if hasattr(target, "texts"):
            return self._score_states(target, layer)
        if isinstance(target, list | tuple | np.ndarray) and len(target) and isinstance(target[0], str):
            raise TaskError(
                f"words are given ({name_some(target, most=2)}); an axis scores vectors. Use "
                "axis.score(space.subset(words))."
            )
        if isinstance(target, str | Path) and not may_be_table(target):
            raise TaskError(
                f"{target} is not the path of a table (parquet, Arrow, CSV, TSV or JSON lines). For a file of words "
                "and vectors, or a data set, use axis.score(load_space(…))."
            )
        of_table = isinstance(target, str | Path) or is_table(target)
        return score_table(self, open_table(target)) if of_table else self._score_vectors(target)

    def _warn_of_other_vectors(self, space: WordSpace) -> None:
        """Warn if words have other vectors in a space: the axis then belongs to another one."""
        known = None if self._any_space else KnownVectors.of(self.rows, self._space)
        if known is not None:
            known.compare_space(space)
            known.warn_of_other_space(space.name, "the scores mean little. Fit the axis on this space.")

    def _score_vectors(self, vectors: Any) -> Scores:
        return self._score_prepared(self._prepared(vectors))

    def _score_prepared(self, X: NDArray[Any]) -> Scores:
        coordinates = self._project(X)
        bad = np.flatnonzero(~np.isfinite(coordinates))
        if bad.size:
            raise VectorError(
                f"the vector of row {bad[0]:,} has no finite score: it holds NaN, infinity or huge numbers."
            )
        if self.uncertainty is None:
            return Scores(coordinates.astype(np.float64))
        return self.uncertainty.score(X, self.direction, coordinates)

    def _score_states(self, states: States, layer: int | None) -> Scores:
        if layer is None and len(states.layers) != 1:
            raise TaskError(
                f"the states have {len(states.layers)} layers.",
                Advice(" Choose one: axis.score(states, ", Argument("layer", ...), ")."),
            )
        scores = self._score_vectors(states[states.layers[0] if layer is None else layer])
        return replace(scores, names=tuple(states.texts))

    def spread_along(self, vectors: Any) -> float:
        """Return the variance of vectors along the axis, relative to their mean variance over all directions.

        Axes with a larger spread agreed somewhat better with people; see docs/people.md.
        """
        X = self._prepared(vectors).astype(np.float64)
        total = float(X.var(axis=0).sum())
        if total == 0.0:
            raise VectorError(
                f"all {len(X)} vectors are equal, so their spread is not defined. Give different vectors."
            )
        return float((X @ self.direction).var()) * self.width / total

    @property
    def even_odds(self) -> float | None:
        """The score at which both ends are equally likely. Neutral rows have this score, which is not 0."""
        return None if self.uncertainty is None else self.uncertainty.even_odds(self.direction)

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, overwrite: bool = False, judge: bool = True, card: bool = False) -> Path:
        """Write the axis to a safetensors file; return its path.

        Parameters
        ----------
        path : path
            The extension ``.safetensors`` is added if there is none.
        overwrite : bool, default=False
        judge : bool, default=True
            Whether to store errors, calibration and verdict as well; they are computed now if necessary.
        card : bool, default=False
            Whether to write a ``README.md`` next to it, ready to be published with the file.
        """
        description, arrays = rotation_parts(self.rotation)
        record = self.space_record
        space, sample = (None, {}) if record is None else record.to_parts()
        with advise_not_to_judge():
            uncertainty = self.uncertainty if judge else None
            verdict = self.verdict if judge else None
            known = self.rows is not None or self.sampled is not None
            diagnosis = self.diagnose() if judge and known else None
        citation = self.citation if judge else cite_axis(self, None)
        description |= {
            "method": self.method,
            "concept": self.concept,
            "label_names": None if self.label_names is None else list(self.label_names),
            "normalize": self.options.normalize,
            "space": space,
            "encoder": None if self.encoder is None else self.encoder.to_dict(),
            "seeds": None if record is None or self.seed_names is None else list(self.seed_names),
            "verdict": None if verdict is None else asdict(verdict),
            "citation": asdict(citation),
            "provenance": None if diagnosis is None else diagnosis.to_dict()["provenance"],
        }
        arrays |= sample | ({} if uncertainty is None else uncertainty.to_arrays())
        if judge and self.fitted_rows is not None:
            arrays |= self.fitted_rows.to_arrays()
        text = (lambda name: axis_card(self, name, verdict, diagnosis, citation)) if card else None
        return write_tensors(path, _KIND, description, arrays, overwrite=overwrite, card=text)

    @classmethod
    def load(cls, path: str | Path, space: WordSpace | str | Path | None = None, *, any_space: bool = False) -> Axis:
        """Return an axis from its file.

        Parameters
        ----------
        path : path
        space : WordSpace or KeyedVectors, path or name of a data set, optional
            The space it will be used on. An error is raised unless the axis was fitted on this space, on a part of it,
            or on a larger version of it. An axis fitted with ``normalize=False`` also needs vectors of the same norms.
        any_space : bool, default=False
            Whether another space, or vectors of another encoder, of the same width are accepted.
        """
        contents = read_tensors(path, _KIND)
        rotation = read_rotation(contents)
        width = int(rotation.components_.shape[1])
        names = contents.value("label_names", list, type(None))
        ends = None if names is None else tuple(contents.listed("label_names", str, length=2))
        record = SpaceRecord.from_contents(contents, width)
        axis = cls(
            rotation,
            contents.value("method", str),
            options=DEFAULTS.changed(normalize=contents.value("normalize", bool)),
            concept=contents.value("concept", str),
            label_names=ends,
            _uncertainty=Uncertainty.from_contents(contents, width),
            _verdict=_stored_verdict(contents),
            _citation=_stored_citation(contents),
            _space=record,
            _seed_names=None
            if contents.value("seeds", list, type(None)) is None
            else tuple(contents.listed("seeds", str)),
            _encoder=None if any_space else EncoderRecord.from_dict(contents.value("encoder", dict, type(None))),
            _fitted_rows=FittedRows.from_contents(contents, normalize=contents.value("normalize", bool)),
            _any_space=any_space,
        )
        if isinstance(space, str | Path):
            space = None if any_space or record is None else record.open_part(space)
        if space is not None:
            space = as_space(space)
            axis.check_width(space.width, f"'{space.name}'", path)
            if record is not None and not any_space:
                record.check(space, Path(path))
        return axis

    @property
    def space_record(self) -> SpaceRecord | None:
        """Record of the word space it was fitted on; None for an axis of other vectors."""
        if self._space is None and self.rows is not None and isinstance(self.rows.background, WordSpace):
            self._space = SpaceRecord.of(self.rows.background, lengths=not self.options.normalize)
        return self._space

    @property
    def encoder(self) -> EncoderRecord | None:
        """Record of the encoder whose vectors it was fitted on; None if it is not known."""
        return self._encoder if self.rows is None else self.rows.encoder

    # -- details -------------------------------------------------------------------------------------------------------

    @property
    def known_rows(self) -> Rows:
        """The rows the axis was fitted on. Raises an error if they are not known, as after loading."""
        if self.rows is None:
            raise TaskError(
                "this axis was loaded from a file, which does not contain the rows it was fitted on. Fit it again from "
                "the lexicon."
            )
        return self.rows

    def _prepared(self, vectors: Any) -> NDArray[Any]:
        """Return vectors ready to score: on the host, of the right width, at unit length if the axis needs it."""
        X = float_rows(to_host(vectors) if namespace(vectors) is not np else vectors)
        if X.ndim != 2:
            raise VectorError(f"vectors of shape {X.shape} are given; a table with one vector per row is needed.")
        self.check_width(X.shape[1], "the vectors")
        X = X.astype(np.float32) if type_name(X) in HALF_TYPES else X  # squares overflow in half precision
        return unit_rows(X) if self.options.normalize else X

    def check_width(self, width: int, what: str, path: str | Path | None = None) -> None:
        """Raise unless vectors have the width of the axis."""
        if width != self.width:
            named = "the axis" if path is None else str(path)
            error = VectorError if path is None else PersistenceError
            raise error(
                f"{named} was fitted on vectors of width {self.width}, and the width of {what} is {width}. Use the "
                "same space, or fit again."
            )


def fit_rotation(
    method: str | Rotation, rows: Rows, *, n_components: int | None = 1, standardize: bool = False
) -> Rotation:
    """Return a rotation fitted on rows, by name or as an estimator; a fitted one is returned unchanged.

    `standardize` applies to a method given by name, and to an unfitted estimator.
    """
    if isinstance(method, type) or not (isinstance(method, str) or hasattr(method, "fit")):
        given = method.__name__ if isinstance(method, type) else shorten(method)
        advice = f" Use {given}()." if isinstance(method, type) else ""
        raise TaskError(
            f"the method is {given}; the name of a method, such as 'ridge', or an estimator is needed.{advice}"
        )
    if isinstance(method, str) or not hasattr(method, "components_"):
        unfitted: Rotation = make_rotation(method, n_components) if isinstance(method, str) else clone(method)
        if standardize:
            unfitted.set_params(standardize=True)
        return unfitted.fit(rows.X, rows.y, groups=rows.groups)
    if method.components_.shape[1] != rows.width:
        raise VectorError(
            f"the rotation has axes of width {method.components_.shape[1]}, the rows have width {rows.width}. Use the "
            "space it was fitted on, or fit again."
        )
    return method


def measure_agreement(rows: Rows, scores: NDArray[np.float64], number: int = 0) -> Agreement:
    """Return how well held-out scores along one axis agree with the labels."""
    interval = auc_interval(rows.sides, scores, inflation=HELD_OUT_INFLATION, groups=rows.groups)
    return Agreement(number, auc(rows.sides, scores), interval, kendall_tau(rows.y, scores))


def check_rows(rows: Rows) -> Rows:
    """Return the rows on the host; raise if no axis can be fitted: several classes, one label, vectors of zeros."""
    if not isinstance(rows, Rows):
        raise TaskError(
            f"Rows are needed, and a {type(rows).__name__} is given. Make them with Rows.from_table(frame, 'column'), "
            "Rows.from_arrays(X, y) or lexicon.align(space)."
        )
    where = f" in '{rows.background.name}'" if isinstance(rows.background, WordSpace) else ""
    if rows.is_multiclass:
        raise LabelError(
            f"the rows have {len(rows.class_names)} classes ({name_some(rows.class_names)}); an axis needs two. Use "
            f"rows.against_rest({rows.class_names[0]!r}) for one class against all others."
        )
    if np.ptp(rows.y) == 0.0:
        absent = {**({"not in the space": rows.missing} if rows.missing else {}), **rows.dropped}
        left_out = " ".join(f"Left out ({why}): {name_some(names)}." for why, names in absent.items())
        raise LabelError(
            f"all {len(rows)} rows of '{rows.concept}'{where} have the label {rows.y[0]:g} "
            f"({name_some(rows.names)}); an axis needs another label. {left_out}".rstrip()
        )
    rows = rows if namespace(rows.X) is np else replace(rows, X=to_host(rows.X))
    zero = np.flatnonzero(~np.asarray(rows.X).any(axis=1))
    if zero.size:
        named = name_some(rows.names[row] for row in zero.tolist())
        problem = f"the vectors of {named} are zero: they have no direction. Leave those rows out"
        if rows.table:
            python = ", or open the table with open_table(…, bad_rows='skip')."
            advice = Advice(", or pass ", Argument("bad_rows", "skip"), ".", python=python)
            raise RowError(f"{rows.table}: {problem}", advice)
        raise VectorError(f"{problem}.")
    return rows


@contextmanager
def advise_not_to_judge() -> Iterator[None]:
    """Add advice to an error about too few rows: an axis can be saved without errors and verdict."""
    try:
        yield
    except TooFewRowsError as error:
        saved = Advice(" With ", Argument("judge", False), " the axis is saved alone.")
        raise TooFewRowsError(*error.args, saved) from None


def _stored_citation(contents: Contents) -> Citation:
    stored = contents.part("citation")
    return Citation(stored.value("sentence", str), stored.value("bibtex", str))


def _stored_verdict(contents: Contents) -> Verdict | None:
    if contents.value("verdict", dict, type(None)) is None:
        return None
    stored = contents.part("verdict")
    texts = [stored.value(name, str) for name in ("grade", "line", "sentence")]
    return Verdict(texts[0], tuple(stored.listed("limits", str)), *texts[1:])
