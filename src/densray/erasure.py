"""Erasure: the affine map that removes a concept, the rows it was learned from, and the data it is applied to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from densray._arrays import HALF_TYPES, to_host, type_name
from densray._files import ArchiveKind, Contents
from densray._leace import leace_of_moments
from densray._threads import ignored_warnings
from densray._vocabulary import spelled_alike, unit_rows
from densray.affine import (
    AffineMap,
    HasAxes,
    check_leaves_something,
    equalized,
    erasing,
    warn_of_missing_keep,
)
from densray.axes import KnownVectors, SpaceRecord, inputs_of
from densray.datasets import load_space
from densray.errors import (
    Advice,
    Argument,
    PersistenceError,
    SignalWarning,
    TaskError,
    VectorError,
    ZeroVectorWarning,
    check_flag,
    checked_pairs,
    load_extra,
    one_line,
    refuse_text,
    suggest,
)
from densray.folds import fold_numbers
from densray.groups import first_copies
from densray.persistence import format_of, read_tensors, write_tensors
from densray.probes import MODELS, Model
from densray.remains import (
    FEWEST_TESTED,
    LabelSet,
    Remains,
    Trial,
    explain_too_few,
    measure_trials,
    places_without,
    read_remains,
    with_transfer,
)
from densray.removers import (
    DEFAULT_REMOVER,
    PREDICTIVE,
    CurvePoint,
    DirectionChoice,
    PairRows,
    Remover,
    Request,
    parse_remover,
)
from densray.report import Input, Provenance
from densray.rotations import LinearRotation
from densray.rotations._rows import check_finite
from densray.rows import Rows
from densray.space import WordSpace, as_space, is_space
from densray.streaming import Rewritten, rewrite_space
from densray.tables import (
    SAMPLED_ROWS,
    EncoderRecord,
    LabelledTable,
    RewrittenTable,
    VectorTable,
    is_large,
    is_table,
    open_table,
    rewrite_table,
    sample_sets,
    with_columns,
)

if TYPE_CHECKING:
    import torch

    from densray.progress import Progress

__all__ = ["Erasure"]

Pairs: TypeAlias = Iterable[tuple[str, str]]

#: How often rows are halved for the linear probe: more often if they are few, since the halves then matter more.
_HALVINGS_OF_FEW, _HALVINGS_OF_MANY, _FEW_ROWS = 10, 5, 400

#: What follows if vectors are those of another space.
_OTHER_SPACE = "the erasure does not remove the concept there. Learn it on this space."

_KIND = ArchiveKind("densray-erasure", 1, "erasure", "Fit an erasure and save it.")


@dataclass(frozen=True, eq=False)
class Erasure(AffineMap):
    """The affine map that removes a concept. It keeps its training rows and measures how much of the concept remains.

    Make one with :meth:`Erasure.fit`, :meth:`Erasure.of` (a fitted rotation) or :meth:`Erasure.load` (a file).

    Attributes
    ----------
    rows : Rows or None
        The labelled rows it was learned from. None if it was made by :meth:`of` or loaded from a file.
    more : tuple of Rows
        Other labels of the same vectors that it removes as well.
    kept : tuple of Rows
        Other labels of the same vectors that it keeps linearly predictable.
    pairs : tuple of pairs of str
        The pairs it was learned from, if its method needs pairs.
    remarks : tuple of str
        Remarks for the user.
    warning : str
        Reason to prefer another method; empty if there is none.
    choice : DirectionChoice or None
        How the number of directions was chosen, with the curve of AUCs. None if you gave the number, or if the method
        does not choose one.
    provenance : Provenance
        Inputs, method, versions and seed.

    Examples
    --------
    >>> from densray import load_lexicon, load_space
    >>> space = load_space("googlenews-26k")
    >>> erasure = Erasure.fit(load_lexicon("gender").align(space))
    >>> neutral = erasure.apply(space)
    >>> round(space.cosine("actress", "woman"), 2), round(neutral.cosine("actress", "woman"), 2)
    (0.46, 0.38)

    `keep` preserves another set of labels, which stay linearly predictable (LEACE only):

    >>> random = np.random.default_rng(0)
    >>> source, topic = random.integers(2, size=400), random.integers(2, size=400)
    >>> X = random.normal(size=(400, 3)) + np.outer(source, [2, 2, 0]) + np.outer(topic, [2, 0, 2])
    >>> by_source, by_topic = Rows.from_arrays(X, source), Rows.from_arrays(X, topic)
    >>> erased = Erasure.fit(by_source, keep=by_topic, normalize=False).apply(X)
    >>> gap = lambda X, y: X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    >>> bool(abs(gap(erased, source)).max() < 1e-9), bool(np.allclose(gap(erased, topic), gap(X, topic)))
    (True, True)
    """

    rows: Rows | None = field(default=None, repr=False)
    more: tuple[Rows, ...] = field(default=(), repr=False)
    kept: tuple[Rows, ...] = field(default=(), repr=False)
    pairs: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    warning: str = ""
    choice: DirectionChoice | None = field(default=None, repr=False)
    provenance: Provenance = field(default_factory=Provenance, repr=False)
    _measured: dict[Any, Remains] = field(default_factory=dict, repr=False)
    _stored: Remains | None = field(default=None, repr=False)
    _space: SpaceRecord | None = field(default=None, repr=False)
    _encoder: EncoderRecord | None = field(default=None, repr=False)
    _any_space: bool = field(default=False, repr=False)

    def __repr__(self) -> str:
        rows, (width, n_axes) = self.rows, self.left.shape
        learned = "" if rows is None else f" from {len(rows):,} rows"
        concept = "" if rows is None else f" of '{one_line(rows.concept, width=40)}'"
        known = next(iter(self._measured.values()), self._stored)
        found = "" if known is None else f". {known.headline}"
        return f"Erasure{concept} by {self.method}{learned}: removes {n_axes} of {width:,} dimensions{found}"

    @classmethod
    def fit(
        cls,
        rows: Rows | Sequence[Rows],
        method: str = DEFAULT_REMOVER,
        *,
        keep: Rows | Sequence[Rows] = (),
        n_axes: int | None = None,
        pairs: Pairs = (),
        normalize: bool = True,
        random_state: int | None = 0,
    ) -> Erasure:
        """Learn the map that removes a concept. The labels of the rows define the concept.

        Parameters
        ----------
        rows : Rows or sequence of Rows
            Two classes, or numeric labels if the method accepts them (:doc:`/debiasing` lists which do). ``"leace"``,
            ``"mean-difference"`` and ``"covariance-difference"`` also accept more classes. Give several Rows with the
            same vectors to remove several sets of labels together (only ``"leace"`` and ``"mean-difference"``).
        method : str, default="leace"
            A name in `densray.removers.REMOVERS`. It may be followed by a colon and the number of axes: ``"densray"``,
            ``"inlp:30"``.
        keep : Rows or sequence of Rows
            Other labels of the same vectors that must stay linearly predictable (not words, as in :meth:`apply`): their
            covariance with the vectors does not change. Only ``"leace"`` can do that.
        n_axes : int, optional
            Number of axes, unless it is part of the name. Each method has its own default.
            ``"covariance-difference"`` chooses it on held-out rows (:func:`densray.removers.choose_directions`; see
            `choice`).
        pairs : iterable of pairs of str
            Words that differ only in the concept, higher label first. Only hard and double-hard debiasing use them. A
            pair is skipped unless both words are in the space that the rows come from (`rows.background`).
        normalize : bool, default=True
            Whether to learn from vectors at unit length.
        random_state : int or None, default=0
            Random seed of the method, and of the splits of :meth:`remains`.

        Examples
        --------
        >>> rows = Rows.from_arrays(np.array([[1.0, 5.0], [-1.0, 5.0], [2.0, 4.0], [-2.0, 4.0]]), [1, -1, 1, -1])
        >>> Erasure.fit(rows, "mean-difference", normalize=False).apply(np.array([[3.0, 4.0]]))
        array([[0., 4.]])
        """
        began = Provenance.begin(seed=random_state)
        check_flag(normalize, "normalize")
        rows, *others = (each.held_together(normalize=normalize) for each in _checked_rows(rows, "rows"))
        more = tuple(others)
        kept = tuple(each.held_together(normalize=normalize) for each in _checked_rows(keep, "keep"))
        remover, named_axes = parse_remover(method)
        remover.check_rows(rows, more, kept)
        count = _count_axes(remover, rows, named_axes, n_axes, several_sets=bool(more))
        pairs = tuple(checked_pairs(pairs, "pairs")) if remover.needs_pairs else ()
        training = _training_rows(rows, normalize=normalize)
        pair_rows: PairRows = ()
        if remover.needs_pairs:
            space = _space_of_pairs(rows, remover, pairs, normalize=normalize)
            training, pair_rows = replace(training, background=space), _locate_pairs(pairs, space)
        request = Request(training, pairs=pair_rows, n_axes=count, random_state=random_state, more=more, keep=kept)
        choice = remover.choose(request) if remover.choose and count is None else None
        count = choice.n_axes if choice else count
        with ignored_warnings(SignalWarning):  # a remark says it
            found = remover.find(replace(request, n_axes=count))
        name = remover.full_name(count)
        return cls(
            method=name,
            left=found.left,
            right=found.right,
            origin=found.origin,
            shift=found.shift,
            unit_length=normalize,
            n_signal_axes=found.n_signal_axes,
            rows=rows,
            more=more,
            kept=kept,
            pairs=pairs,
            remarks=tuple(
                filter(
                    None,
                    (
                        choice.summary if choice else "",
                        *_remarks(remover, name, count, found, normalize),
                        *filter(None, map(_remark_on_codes, (rows, *more))),
                        rows.case_note,
                    ),
                )
            ),
            choice=choice,
            warning=_predictive_warning(remover.name) if remover.name in PREDICTIVE and count == 1 else "",
            provenance=began.finish(
                inputs=[*inputs_of(rows), *(Input("lexicon", each.concept, size=len(each)) for each in more)],
                used=len(rows),
                missing=rows.missing,
                set_aside=rows.set_aside,
                method=name,
            ),
        )

    @classmethod
    def fit_table(
        cls,
        table: Any,
        labels: str | Sequence[str],
        method: str = DEFAULT_REMOVER,
        *,
        keep: str | Sequence[str] = (),
        groups: str | None = None,
        names: str | None = None,
        classes: bool = False,
        normalize: bool = True,
        random_state: int | None = 0,
        progress: Progress | None = None,
    ) -> Erasure:
        """Learn an erasure from columns of a table, whether its vectors fit into memory or not.

        Up to 256 MB of vectors are read into memory. Larger tables are read block by block for LEACE, which then learns
        from all rows; :meth:`remains` uses a random sample of 10,000 rows, and a remark says so. For any other method,
        all vectors are read into memory.

        Parameters
        ----------
        table : VectorTable, path or frame
        labels : str or sequence of str
            Columns of the labels to remove. Rows are left out unless they have a label in every one of these columns
            and of those in `keep`.
        method : str, default="leace"
        keep : str or sequence of str
            Columns whose labels must stay linearly predictable (LEACE only).
        groups, names, classes
            See :meth:`densray.tables.VectorTable.rows`.
        normalize, random_state
            See :meth:`fit`.
        progress : callable, optional
            Called with the number of rows read and their total.
        """
        opened = open_table(table)
        removed, kept = ([each] if isinstance(each, str) else list(each) for each in (labels, keep))
        if not is_large(opened) or method != DEFAULT_REMOVER:
            sets = opened.label_sets([*removed, *kept], groups=groups, names=names, classes=classes)
            n = len(removed)
            _warn_of_zeros(opened.name, sets[0])
            with ignored_warnings(ZeroVectorWarning):  # said already
                return cls.fit(sets[:n], method, keep=sets[n:], normalize=normalize, random_state=random_state)
        columns = [LabelledTable.of(opened, name, classes=classes).usable() for name in (*removed, *kept)]
        return cls._fit_large(columns, len(removed), groups, names, normalize, random_state, progress)

    @classmethod
    def _fit_large(
        cls,
        columns: list[LabelledTable],
        n_removed: int,
        groups: str | None,
        names: str | None,
        normalize: bool,
        random_state: int | None,
        progress: Progress | None,
    ) -> Erasure:
        """Return LEACE of all rows that have a label in every column; its rows are a random sample of them."""
        labelled = np.logical_and.reduce([np.isfinite(each.y) for each in columns])
        columns = [replace(each, y=np.where(labelled, each.y, np.nan)) for each in columns]
        rows = sample_sets(columns, SAMPLED_ROWS, groups=groups, names=names, random_state=random_state)
        sampled = cls.fit(rows[:n_removed], keep=rows[n_removed:], normalize=normalize, random_state=random_state)
        places = np.flatnonzero(labelled)
        scales = [_means_and_spreads(each, places) for each in columns]

        def factors(places: NDArray[np.intp]) -> NDArray[np.float64]:
            parts = [
                (each.columns(places) - mean) / spread for each, (mean, spread) in zip(columns, scales, strict=True)
            ]
            return np.hstack(parts).T

        moments, cross = columns[0].sums(factors, unit=normalize, dtype=np.float64, progress=progress)
        count, width = len(places), sum(len(mean) for mean, _ in scales[:n_removed])
        found = leace_of_moments(moments.mean, moments.scatter, cross.T, count, width)
        sample = f"a random sample of {len(rows[0]):,} of them"
        remark = f"Learned from {count:,} rows. What remains was measured on {sample}."
        return replace(
            sampled,
            left=found.left,
            right=found.right,
            origin=found.origin,
            shift=found.shift,
            remarks=(*sampled.remarks, remark),
            provenance=replace(sampled.provenance, words_used=count),
        )

    @classmethod
    def of(
        cls, rotation: HasAxes, n_axes: int = 1, *, origin: ArrayLike | None = None, method: str | None = None
    ) -> Self:
        """Return the erasure of the first axes of a fitted rotation; see :meth:`densray.affine.AffineMap.of`."""
        linear = str(rotation.estimator) if isinstance(rotation, LinearRotation) else ""
        found = super().of(rotation, n_axes, origin=origin, method=method or linear or None)
        return replace(
            found,
            n_signal_axes=getattr(rotation, "n_signal_axes_", None),
            warning=_predictive_warning(linear) if linear and n_axes == 1 else "",
            provenance=Provenance.begin().finish(method=found.method),
        )

    def remains(
        self,
        rows: Rows | None = None,
        *,
        keep: Iterable[str] = (),
        strength: float = 1.0,
        models: Sequence[Model] = MODELS,
        progress: Progress | None = None,
    ) -> Remains:
        """Measure how well models still recover the concept in rows that the erasure was not learned from.

        The labelled rows are split in half, by groups. An erasure of the same method is learned from one half, and each
        model is cross-validated on the other half, before and after the erasure. An RBF model is also fitted on the
        erased rows of the first half, and tested on the other. Then the halves are exchanged. The linear model is
        tested on ten random splits, or on five if there are more than 400 rows. Each model is fitted on at most 2,000
        rows, drawn at random. The nonlinear models, which take most of the time, are tested on at most four halves.

        With other labelled `rows`, models are cross-validated on those, before and after this erasure. An RBF model is
        also fitted on the erased rows that this erasure was learned from, if they are known. Numeric labels are split
        into two classes at their median. If the number of directions was chosen automatically (see `choice`), it is
        reused in both halves. If several sets of labels were removed, or some were kept, each has its own results.

        Parameters
        ----------
        rows : Rows, optional
            Labelled rows that the erasure was not learned from. If some were used to learn it, the result says so, and
            its `grade` is "unclear" or "none". (A grade says how complete the removal is: "good" means that no tested
            model recovers the concept.)
        keep : iterable of str
            Names of rows that are left unchanged and not tested (not the labels `keep` of :meth:`fit`).
        strength : float, default=1.0
            How much of the change to apply, from 0 to 1.
        models : sequence of {"linear", "rbf", "mlp"}
            A ridge axis, a support vector machine with an RBF kernel, and a small neural network.
        progress : callable, optional
            Called with the number of models tested so far and their total.

        Returns
        -------
        Remains
            The result is cached: a second call with the same arguments does not compute it again. If there are
            too few rows, `Remains.reason` says so.
        """
        refuse_text(keep, "keep")
        kept_names, chosen = frozenset(keep), _checked_models(models)
        if rows is not None:
            rows = _checked_set(rows, "rows").held_together(normalize=self.unit_length)
            trial = Trial(self, places_without(rows, kept_names))
            remains = self._measure_trials([LabelSet(rows)], [trial], strength, chosen, progress)
            remains = replace(remains, n_learned=self._count_learned(rows.take(trial.unseen)))
            if self.rows is None or "rbf" not in chosen:
                return remains
            learned = self.rows.take(places_without(self.rows, kept_names))
            return with_transfer(remains, self, learned, rows.take(trial.unseen), strength=strength)
        key = kept_names, strength, chosen
        if key not in self._measured:
            with ignored_warnings(ZeroVectorWarning):  # of each part of the rows; `fit` has warned of all of them
                self._measured[key] = self._measure(kept_names, strength, chosen, progress)
        return self._measured[key]

    def _count_learned(self, rows: Rows) -> int:
        """Return how many of some rows have the vector of a row that the erasure was learned from."""
        if self.rows is None or rows.width != self.rows.width:
            return 0
        learned = self.rows
        if parse_remover(self.method)[0].needs_pairs:  # learned from the pairs alone
            words = {word for pair in self.pairs for word in pair}
            learned = learned.take(np.flatnonzero([name in words for name in learned.names]))
        vectors = [np.asarray(to_host(each.X), dtype=np.float64) for each in (learned, rows)]
        if self.unit_length:
            vectors = [unit_rows(each) for each in vectors]
        return int(np.sum(first_copies(np.concatenate(vectors))[len(learned) :] < len(learned)))

    def _nothing_measured(self) -> Remains:
        """Return why remaining AUCs are not known for an erasure from a file."""
        if self._stored is None:
            return Remains((), reason="What remains was not measured: that needs the labelled rows.")
        return Remains((), reason="What remains was measured for the whole change alone, with no row kept.")

    def _measure(
        self, keep: frozenset[str], strength: float, models: tuple[Model, ...], progress: Progress | None
    ) -> Remains:
        """Cross-validate models on the rows that an erasure of this method has not seen."""
        if self.rows is None:
            whole = not keep and strength == 1.0
            return self._stored if self._stored is not None and whole else self._nothing_measured()
        label_sets = self._label_sets(self.rows)
        if parse_remover(self.method)[0].needs_pairs:  # learned from the pairs alone: every other row is unseen
            words = {word for pair in self.pairs for word in pair}
            trial = Trial(self, places_without(self.rows, keep | words))
            return self._measure_trials(label_sets, [trial], strength, models, progress)
        for each in label_sets:
            few = explain_too_few(each.rows, np.arange(len(each.rows)), 2 * FEWEST_TESTED)
            if few:
                return Remains((), reason=few)
        try:
            trials = self._learn_from_halves(self.rows, keep)
        except TaskError as error:
            return Remains((), reason=f"What remains was not measured: {error}")
        return self._measure_trials(label_sets, trials, strength, models, progress)

    def _measure_trials(
        self,
        label_sets: Sequence[LabelSet],
        trials: Sequence[Trial],
        strength: float,
        models: tuple[Model, ...],
        progress: Progress | None,
    ) -> Remains:
        """Measure trials with the seed and the normalisation of this erasure."""
        return measure_trials(
            label_sets,
            trials,
            models,
            strength=strength,
            unit_length=self.unit_length,
            seed=self.provenance.seed,
            progress=progress,
        )

    def _label_sets(self, rows: Rows) -> list[LabelSet]:
        """Return the labels that were removed and those that were kept, with names if there are several."""
        sets = [(each, False) for each in (rows, *self.more)] + [(each, True) for each in self.kept]
        return [LabelSet(each, each.concept if len(sets) > 1 else "", kept) for each, kept in sets]

    def _learn_from_halves(self, rows: Rows, keep: frozenset[str]) -> list[Trial]:
        """Halve the rows several times, and learn an erasure from each half; the other half is unseen."""
        n_halvings = _HALVINGS_OF_FEW if len(rows) <= _FEW_ROWS else _HALVINGS_OF_MANY
        random_states = check_random_state(self.provenance.seed).randint(2**31 - 1, size=n_halvings)
        tested = places_without(rows, keep)
        trials = []
        for random_state in random_states.tolist():
            try:
                half_of = fold_numbers(
                    rows.y if rows.is_multiclass else rows.sides, rows.held_out_groups, 2, random_state
                )
            except TaskError as error:
                raise TaskError(f"the rows cannot be halved. {error}") from error
            for half in (0, 1):
                try:
                    erasure = self._learn_again(rows, np.flatnonzero(half_of != half))
                except ValueError as error:
                    raise TaskError(f"from half of the rows, {error}") from error
                unseen = np.intersect1d(tested, np.flatnonzero(half_of == half))
                trials.append(Trial(erasure, unseen, np.flatnonzero(half_of != half)))
        return trials

    def _learn_again(self, rows: Rows, places: NDArray[np.intp]) -> Erasure:
        """Return an erasure of the same method and labels, learned from the rows at these places."""
        learned = rows.take(places)
        return Erasure.fit(
            [learned, *(replace(each.take(places), X=learned.X) for each in self.more)],
            self.method,
            keep=[replace(each.take(places), X=learned.X) for each in self.kept],
            normalize=self.unit_length,
            random_state=self.provenance.seed,
        )

    def save(self, path: str | Path, *, overwrite: bool = False, card: bool = False) -> Path:
        """Write the erasure to a safetensors file; return its path.

        The result of :meth:`remains` is stored too, if it was computed for all rows and models at full strength.

        Parameters
        ----------
        path : path
            The extension ``.safetensors`` is added if there is none.
        overwrite : bool, default=False
        card : bool, default=False
            Whether to write a ``README.md`` next to it, ready to be published with the file.
        """
        remains = self._measured.get((frozenset(), 1.0, MODELS), self._stored)
        record = self.space_record
        space, sample = (None, {}) if record is None else record.to_parts()
        description = {
            "method": self.method,
            "unit_length": self.unit_length,
            "n_signal_axes": self.n_signal_axes,
            "remarks": list(self.remarks),
            "warning": self.warning,
            "choice": None if self.choice is None else self.choice.to_dict(),
            "space": space,
            "encoder": None if self.encoder is None else self.encoder.to_dict(),
            "remains": None if remains is None else remains.to_dict(),
            "provenance": self.provenance.to_dict(),
        }
        arrays = {"left": self.left, "right": self.right, "origin": self.origin, "shift": self.shift, **sample}
        text = (lambda name: self._card(name, remains)) if card else None
        return write_tensors(path, _KIND, description, arrays, overwrite=overwrite, card=text)

    def _card(self, file_name: str, remains: Remains | None) -> str:
        """Return the card of an erasure: its concept, its training rows, the remaining AUC, and how to apply it."""
        record = self.space_record
        where = f"the space `{record.name}`" if record else "vectors"
        rows = "rows that the file does not list" if self.rows is None else f"{len(self.rows):,} labelled rows"
        concept = "A concept" if self.rows is None else f"`{self.rows.concept}`"
        scale = "\nX = X / np.linalg.norm(X, axis=1, keepdims=True)" if self.needs_unit_length else ""
        return f"""# {concept}, erased

An affine map for {where} of width {self.width}. It removes {concept} by `{self.method}`, learned from {rows}.

## What remains

{"Not measured." if remains is None else remains.summary}

## Use

With densray:

```python
from densray import Erasure

Erasure.load("{file_name}").apply(space)
```

With NumPy and safetensors alone:

```python
import numpy as np
from safetensors.numpy import load_file

t = load_file("{file_name}"){scale}
X = X - t["shift"] - (X - t["origin"]) @ t["left"] @ t["right"]
```
"""

    @staticmethod
    def is_file(path: str | Path) -> bool:
        """Return whether a file is a saved erasure."""
        return format_of(path) == _KIND.format

    @classmethod
    def load(cls, path: str | Path, space: WordSpace | str | Path | None = None, *, any_space: bool = False) -> Erasure:
        """Return an erasure from its file, ready to apply.

        Parameters
        ----------
        path : path
        space : WordSpace or KeyedVectors, path or name of a data set, optional
            The space it will be applied to. An error is raised unless the erasure was learned on this space, on a part
            of it, or on a larger version of it.
        any_space : bool, default=False
            Whether another space, or vectors of another encoder, of the same width are accepted.
        """
        contents = read_tensors(path, _KIND)
        left = contents.array("left", None, None)
        width, n_axes = left.shape
        record = SpaceRecord.from_contents(contents, width)
        if isinstance(space, str | Path):
            space = None if any_space or record is None else record.open_part(space)
        space = None if space is None else as_space(space)
        if space is not None and space.width != width:
            raise PersistenceError(
                f"{path} was fitted on vectors of width {width}; '{space.name}' has width {space.width}. Use the space "
                "that the erasure was fitted on, or fit it again."
            )
        if space is not None and record is not None and not any_space:
            record.check(space, Path(path))
        return cls(
            method=contents.value("method", str),
            left=left,
            right=contents.array("right", n_axes, width),
            origin=contents.array("origin", width),
            shift=contents.array("shift", width),
            unit_length=contents.value("unit_length", bool),
            n_signal_axes=contents.value("n_signal_axes", int, type(None)),
            remarks=tuple(contents.listed("remarks", str)),
            warning=contents.value("warning", str),
            choice=_read_choice(contents),
            provenance=_read_provenance(contents),
            _stored=read_remains(contents),
            _space=record,
            _encoder=None if any_space else EncoderRecord.from_dict(contents.value("encoder", dict, type(None))),
            _any_space=any_space,
        )

    @property
    def space_record(self) -> SpaceRecord | None:
        """Record of the space it was learned on; None for other vectors."""
        if self._space is None and self.rows is not None and isinstance(self.rows.background, WordSpace):
            return SpaceRecord.of(self.rows.background, lengths=not self.unit_length)
        return self._space

    @property
    def encoder(self) -> EncoderRecord | None:
        """Record of the encoder whose vectors it was learned on; None if it is not known."""
        return self._encoder if self.rows is None else self.rows.encoder

    @overload
    def apply(self, target: WordSpace, *, keep: Iterable[str] = ..., equalize: Pairs = ..., strength: float = ...) -> WordSpace: ...  # noqa: E501  # fmt: skip
    @overload
    def apply(self, target: str | Path, *, output: str | Path, keep: Iterable[str] = ..., equalize: Pairs = ..., strength: float = ..., **writing: Any) -> Rewritten: ...  # noqa: E501  # fmt: skip
    @overload
    def apply(self, target: VectorTable, *, output: str | Path, strength: float = ..., **writing: Any) -> RewrittenTable: ...  # noqa: E501  # fmt: skip
    @overload
    def apply(self, target: Any, *, layers: Sequence[int] | None = ..., strength: float = ...) -> Any: ...
    def apply(
        self,
        target: Any,
        *,
        output: str | Path | None = None,
        keep: Iterable[str] = (),
        equalize: Pairs = (),
        layers: Sequence[int] | None = None,
        strength: float = 1.0,
        **writing: Any,
    ) -> Any:
        """Remove the concept from vectors, in the original coordinates.

        If the map was learned from vectors of unit length and has a constant term (as LEACE has), vectors are scaled to
        unit length first.

        Parameters
        ----------
        target : array, WordSpace or KeyedVectors, table, str or path, or States
            An array (NumPy, PyTorch, CuPy, memory map) gives an array of the same kind and precision. A space gives a
            WordSpace, and hidden states give hidden states. A table (a frame of polars or pandas, a ``pyarrow.Table``,
            …; see :func:`densray.tables.open_table`) comes back with its vectors replaced, or is written to `output`.
            A file of a space, or the name of a data set, is rewritten block by block to `output`.
        output : path, optional
            The file to write, or a folder for the shards of a table.
        keep : iterable of str
            Words of a space or file that stay unchanged. (If the map scales vectors to unit length, they are scaled,
            too.) Words that are not there give a warning.
        equalize : iterable of pairs of str
            Pairs of words to place at equal distance from every neutral word, even if they are in `keep`. LEACE, the
            default method, cannot do that; ``"mean-difference"`` can.
        layers : sequence of int, optional
            Layers of hidden states that are changed. Default: all.
        strength : float, default=1.0
            How much of the change to apply, from 0 to 1.
        **writing
            For a file: ``overwrite`` and ``progress``. For the file of a space, also ``normalize``, ``limit``,
            ``format`` and other options of :func:`densray.streaming.rewrite_space`.
        """
        refuse_text(keep, "keep")
        keep, equalize = tuple(keep), checked_pairs(equalize, "equalize")
        given = {"output": output is not None, "keep": keep, "equalize": equalize, "layers": layers is not None}
        given |= dict.fromkeys(writing, True)
        if is_space(target):
            _refuse_others(given, ("keep", "equalize"), target)
            return as_space(target).erased(self, keep=keep, equalize=equalize, strength=strength)
        if isinstance(target, str | Path):
            _refuse_others(given, ("output", "keep", "equalize", *_SPACE_WRITING), target)
            if output is None:
                raise TaskError(
                    f"{target} is a file and no output is given.",
                    Advice(" Name the file to write: ", Argument("output", "erased.bin"), "."),
                )
            return self._rewrite_space(target, output, frozenset(keep), equalize, strength, **writing)
        if hasattr(target, "layers") and hasattr(target, "mapped"):  # hidden states
            _refuse_others(given, ("layers",), target)
            return target.mapped(lambda X: self.apply(X, strength=strength), layers)
        if is_table(target):
            _refuse_others(given, ("output", *_TABLE_WRITING), target)
            return self._apply_to_table(open_table(target), output, strength, **writing)
        _refuse_others(given, (), target)
        return super().apply(target, strength=strength)

    def warn_of_other_space(self, space: WordSpace) -> None:
        """Warn if words have other vectors in this space than in the one that the erasure was learned on."""
        known = self._known_vectors()
        if known is not None and (self.rows is None or space is not self.rows.background):
            known.compare_space(space)
            known.warn_of_other_space(space.name, _OTHER_SPACE)

    def _known_vectors(self) -> KnownVectors | None:
        return None if self._any_space else KnownVectors.of(self.rows, self._space)

    def _rewrite_space(
        self,
        source: str | Path,
        output: str | Path,
        keep: frozenset[str],
        equalize: list[tuple[str, str]],
        strength: float,
        *,
        normalize: bool = False,
        limit: int | None = None,
        progress: Progress | None = None,
        **writing: Any,
    ) -> Rewritten:
        """Write a file of a space without the concept to another file, block by block."""
        replaced: dict[str, NDArray[np.float32]] = {}
        if equalize:
            words = {form for pair in equalize for word in pair for form in spelled_alike(word)}
            part = load_space(source, limit=limit, words=words)
            replaced = equalized(part.normalized(zeros="keep") if normalize else part, self, equalize)
        kept = {form for word in keep for form in spelled_alike(word)}
        erase, known = erasing(self, keep=kept, replaced=replaced, strength=strength), self._known_vectors()

        def change(words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
            if known is not None:
                known.compare_block(words, vectors)
            return erase(words, vectors)

        written = rewrite_space(
            source,
            output,
            change=change,
            normalize=normalize,
            limit=limit,
            expected=keep,
            progress=progress,
            **writing,
        )
        warn_of_missing_keep(written.missing, str(source))
        if known is not None:
            known.warn_of_other_space(str(source), _OTHER_SPACE)
        changed = kept.intersection(replaced).union(written.missing)
        return replace(written, unchanged=sum(changed.isdisjoint(spelled_alike(word)) for word in keep))

    def _apply_to_table(
        self, table: VectorTable, output: str | Path | None, strength: float, **writing: Any
    ) -> RewrittenTable | Any:
        """Return the table with other vectors, or write it to `output`, batch by batch."""
        check_leaves_something(self, strength)
        if self.encoder is not None:
            self.encoder.check_matches(table.encoder, "the erasure", table.name)
        if table.width != self.width:
            raise VectorError(
                f"the erasure was fitted on vectors of width {self.width}; {table.name} has width {table.width}. Use "
                "vectors of the same encoder, or fit it again."
            )

        def changed_columns(X: NDArray[Any], usable: NDArray[np.bool_]) -> dict[str, Any]:
            rows = X if usable.all() else np.where(usable[:, None], X, np.zeros_like(X))
            return table.vectors_as_columns(self.apply(rows, strength=strength), usable)

        if output is None:
            return with_columns(table, changed_columns)
        depends_on = [self.left, self.right, self.origin, self.shift, self.needs_unit_length, strength]
        return rewrite_table(table, output, changed_columns, depends_on=depends_on, **writing)

    def to_torch(self, *, strength: float = 1.0) -> torch.nn.Module:
        """Return the map as a PyTorch module, for tensors of any leading shape.

        Parameters
        ----------
        strength : float, default=1.0
            How much of the change to apply, from 0 to 1.
        """
        load_extra("torch", "A PyTorch module needs", extra="torch")
        from densray._erasure_layer import ErasureLayer

        return ErasureLayer(self, strength=strength)

    def into(self, model: Any, *, strength: float = 1.0) -> Any:
        """Return an encoder that erases the concept from its vectors.

        If the given encoder normalises its vectors, the new one does so after the erasure.

        Parameters
        ----------
        model : SentenceTransformer or model2vec StaticModel
            A sentence encoder gets a dense layer before its normalisation. ``save_pretrained`` saves this layer, and
            sentence-transformers loads it without densray. A static model gets a new matrix.
        strength : float, default=1.0
            How much of the change to apply, from 0 to 1.
        """
        load_extra("torch", "An encoder needs", extra="torch")
        from densray._erasure_layer import into_sentence_transformer, into_static_model

        if hasattr(model, "embedding") and hasattr(model, "tokenizer") and hasattr(model, "dim"):
            return into_static_model(self, model, strength=strength)
        if hasattr(model, "encode") and hasattr(model, "children"):
            return into_sentence_transformer(self, model, strength=strength)
        raise TaskError(
            f"{type(model).__name__} is given; a SentenceTransformer or a StaticModel of model2vec is needed. For "
            "other models, use to_torch()."
        )


def _checked_models(models: Sequence[Model]) -> tuple[Model, ...]:
    """Return the models to test as a tuple; raise for an unknown name, or if there is none."""
    chosen = tuple(models)
    if not chosen or not set(chosen) <= set(MODELS):
        raise TaskError(
            Argument("models", models if isinstance(models, str) else list(chosen)),
            f" is given; a list of some of {', '.join(MODELS)} is needed.",
        )
    return chosen


def _means_and_spreads(
    labelled: LabelledTable, places: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means and standard deviations of the columns of labels of some rows; 1 in place of 0."""
    if labelled.is_multiclass:
        shares = np.bincount(labelled.y[places].astype(np.int64), minlength=len(labelled.class_names)) / len(places)
        means, spreads = shares, np.sqrt(shares * (1.0 - shares))
    else:
        y = labelled.y[places]
        means, spreads = np.array([y.mean()]), np.array([y.std()])
    return means, np.where(spreads > 0, spreads, 1.0)


def _count_axes(
    remover: Remover, rows: Rows, named: int | None, n_axes: int | None, *, several_sets: bool
) -> int | None:
    """Return how many axes to remove; None: as many as the classes or sets of labels need.

    The number may be `named` after the method (``"inlp:30"``) or given as `n_axes`.
    """
    if n_axes is not None and (not isinstance(n_axes, int | np.integer) or n_axes < 1):
        raise TaskError(Argument("n_axes", n_axes), " is given; a number of axes, 1 or more, is needed.")
    if n_axes is not None and named not in (None, n_axes):
        raise TaskError(
            Argument("n_axes", n_axes), f" is given with '{remover.name}:{named}'. Give the number of axes once."
        )
    count = named if n_axes is None else int(n_axes)
    bound_to_rows = not remover.needs_pairs and not remover.may_stop
    if count is None:
        if several_sets or rows.is_multiclass or remover.n_axes is None:
            return None
        return max(1, min(remover.n_axes, len(rows), rows.width - 1)) if bound_to_rows else remover.n_axes
    if bound_to_rows and count > len(rows):
        raise TaskError(
            f"{count} axes were asked for, but there are only {len(rows)} labelled rows; at least as many rows as axes "
            "are needed. Remove fewer axes, or give more rows."
        )
    return count


def _checked_rows(rows: Any, name: str) -> tuple[Rows, ...]:
    """Return one or several sets of rows as a tuple; raise for anything else, such as an array."""
    if isinstance(rows, Rows | str | bytes) or hasattr(rows, "shape") or not isinstance(rows, Iterable):
        return (_checked_set(rows, name),)
    sets = tuple(rows)
    if not sets and name == "rows":
        return (_checked_set(rows, name),)
    return tuple(_checked_set(each, name) for each in sets)


def _checked_set(rows: Any, name: str) -> Rows:
    """Return a set of rows; raise for anything else, such as an array."""
    if not isinstance(rows, Rows):
        raise TaskError(
            Argument(name),
            f" needs Rows, and a {type(rows).__name__} is given. Make them with "
            "Rows.from_table(frame, 'column'), Rows.from_arrays(X, y) or lexicon.align(space).",
        )
    return rows


def _training_rows(rows: Rows, *, normalize: bool) -> Rows:
    """Return the rows for a remover: half precision as float32, at unit length if requested."""
    if type_name(rows.X) in HALF_TYPES:  # squared lengths of hidden states overflow half precision
        rows = replace(rows, X=np.asarray(to_host(rows.X), dtype=np.float32))
    rows = rows.unit() if normalize else rows
    check_finite(rows.X)
    return rows


def _options_of(function: Callable[..., Any]) -> list[str]:
    """Return the names of the keyword arguments of a function that a caller of `Erasure.apply` may give."""
    keywords = [each.name for each in signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    return [name for name in keywords if name not in ("change", "drop", "depends_on", "expected")]


_SPACE_WRITING, _TABLE_WRITING = _options_of(rewrite_space), _options_of(rewrite_table)


def _refuse_others(given: Mapping[str, object], known: Sequence[str], target: Any) -> None:
    """Raise if an argument is given that has no effect on this target: it would be ignored."""
    name = next((name for name, value in given.items() if value and name not in known), None)
    if name is None:
        return
    kind = "the file of a space" if isinstance(target, str | Path) else f"a {type(target).__name__}"
    if name == "keep":
        remedy = "Leave those rows out, or give a WordSpace."
        raise TaskError(Argument(name), f" names words, and {kind} has none. {remedy}")
    raise TaskError(Argument(name), f" has no effect on {kind}. {suggest(name, ['strength', *known])}")


def _space_of_pairs(rows: Rows, remover: Remover, pairs: Sequence[tuple[str, str]], *, normalize: bool) -> WordSpace:
    """Return the space that a remover looks pairs up in: the whole background if it needs that, else their words."""
    if not pairs:
        raise TaskError(
            f"'{remover.name}' debiasing learns from pairs of words, but '{rows.concept}' has only labelled words. "
            "Give a concept with pairs (gender, or a TOML file of word lists), or use another remover."
        )
    background = rows.background
    if not isinstance(background, WordSpace):
        background = WordSpace(rows.names, np.asarray(to_host(rows.X), dtype=np.float32), name=rows.concept)
    if not remover.needs_background:
        words = dict.fromkeys(word for pair in pairs for word in pair if word in background)
        background = background.subset(list(words)) if words else background.limit(1)
    return background.normalized(zeros="keep") if normalize else background


def _locate_pairs(pairs: Sequence[tuple[str, str]], space: WordSpace) -> PairRows:
    """Return pairs as row numbers of a space; pairs with a missing word are left out."""
    located = [space.locate(pair).tolist() for pair in pairs]
    return [(left, right) for left, right in located if left >= 0 and right >= 0]


def _read_provenance(contents: Contents) -> Provenance:
    """Return the provenance stored in a file."""
    part = contents.part("provenance")
    inputs = [contents.checked("provenance", each, dict) for each in part.listed("inputs", dict)]
    try:
        return Provenance(**{**part.values, "inputs": tuple(Input(**each) for each in inputs)})
    except TypeError:
        raise contents.refusal("provenance") from None


def _read_choice(contents: Contents) -> DirectionChoice | None:
    """Return how the number of directions was chosen, as stored in a file."""
    if contents.value("choice", dict, type(None)) is None:
        return None
    part = contents.part("choice")
    points = part.listed("curve", dict)
    for values in points:
        for key in ("n_axes", "auc", "low", "high", "neighbors", "error"):
            contents.checked("choice", values.get(key), int, *([] if key == "n_axes" else [float]))
    choice = DirectionChoice(part.value("n_axes", int, least=1), tuple(map(CurvePoint.from_dict, points)))
    if not {0, choice.n_axes} <= {point.n_axes for point in choice.curve}:
        raise contents.refusal("choice")
    return choice


def _remarks(remover: Remover, name: str, count: int | None, found: AffineMap, normalize: bool) -> list[str]:
    """Return remarks if a method found fewer axes than requested, or if it changes the norm of vectors."""
    remarks = []
    if remover.name == "inlp" and count is not None and found.rank < count:
        axes = "1 axis" if found.rank == 1 else f"{found.rank} axes"
        remarks.append(
            f"“{name}” stopped after {axes}: in what is left a linear classifier separates unseen words no better "
            "than chance."
        )
    elif count is not None and found.n_signal_axes is not None and found.n_signal_axes < count:
        verb = "carries" if found.n_signal_axes == 1 else "carry"
        remarks.append(
            f"{count} axes were asked for, but only {found.n_signal_axes} {verb} signal; the others do not separate "
            "the labels."
        )
    if normalize and not found.is_linear:
        remarks.append(f"“{name}” was learned from vectors of unit length, so all vectors are scaled to unit length.")
    return remarks


def _warn_of_zeros(name: str, rows: Rows) -> None:
    """Warn of rows of a table that have vectors of zeros, which have no direction."""
    n_zero = int(np.sum(~to_host(rows.X).any(axis=1)))
    if not n_zero:
        return
    subject = "1 row has a vector" if n_zero == 1 else f"{n_zero:,} rows have vectors"
    message = (
        f"{name}: {subject} of zeros, as for a blank text. Such rows count as points at the origin, and all get the "
        "same new vector."
    )
    python = " To leave them out, open the table with open_table(…, bad_rows='skip')."
    advice = Advice(" To leave them out, pass ", Argument("bad_rows", "skip"), ".", python=python)
    warnings.warn(ZeroVectorWarning(message, advice), stacklevel=3)


def _remark_on_codes(rows: Rows) -> str:
    """Return a remark on whole numbers that recur as labels, since they may be codes of classes; empty for others."""
    if rows.is_binary or rows.is_multiclass or not np.all(rows.y == np.round(rows.y)):
        return ""
    n_values = len(np.unique(rows.y))
    if 3 * n_values > len(rows):
        return ""
    named = f" of “{rows.concept}”" if rows.concept else ""
    return (
        f"The labels{named} are {n_values} different whole numbers. They were removed as scores. If they stand for "
        "classes, remove them as classes (classes=True, or --classes)."
    )


def _predictive_warning(method: str) -> str:
    """Return a warning if the axis of a predictive method is erased, with a better method."""
    return (
        f"'{method}' finds the axis that predicts the labels best, and erasing it leaves most of what goes with them. "
        "Erase with leace, mean-difference or densray."
    )
