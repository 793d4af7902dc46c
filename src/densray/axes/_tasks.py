"""Short functions from a space and a lexicon to an axis, its diagnosis, or a scored vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, Unpack

from densray._arrays import is_dask
from densray.axes._axis import Axis, advise_not_to_judge
from densray.axes._diagnosis import Diagnosis
from densray.axes._induction import Induction, induce_by
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions
from densray.errors import TaskError, checked_pairs, shorten
from densray.lexicon import Lexicon
from densray.progress import Progress
from densray.ratings import Ratings
from densray.report import Provenance
from densray.rotations import Rotation
from densray.rows import Rows
from densray.space import WordSpace, as_space


def find_rows(
    space: WordSpace,
    lexicon: Lexicon,
    options: AxisOptions = DEFAULTS,
    *,
    pairs: Iterable[Sequence[str]] | None = None,
    order: Literal["mixed", "lexicon"] = "mixed",
) -> Rows:
    """Return the words of a lexicon that are in a space, as Rows; raise if they are too few.

    `pairs` are words that belong together, for ``groups="proposed"``. The `order` is that of :meth:`Lexicon.align`:
    folds depend on it, so all tasks use the same.
    """
    if isinstance(lexicon, str | PathLike):
        name = shorten(fspath(lexicon))
        raise TaskError(f"{name} is a name, not a Lexicon. Open it first: load_lexicon({name}).")
    if not hasattr(lexicon, "align"):
        raise TaskError(
            f"a {type(lexicon).__name__} is given; a Lexicon is needed. Write Lexicon(…) around a dictionary of words "
            "and labels, or use load_lexicon for a file."
        )
    if isinstance(lexicon, Lexicon):
        lexicon.check_label_names(options.label_names)
    return lexicon.align(
        space, any_case=options.any_case, minimum=2, order=order, groups=options.groups, pairs=pairs or ()
    )


def fit_axis(
    space: WordSpace,
    lexicon: Lexicon,
    path: str | Path | None = None,
    *,
    ratings: Ratings | None = None,
    method: str | Rotation = "auto",
    n_components: int | None = None,
    judge: bool = True,
    pairs: Iterable[Sequence[str]] | None = None,
    options: AxisOptions = DEFAULTS,
    overwrite: bool = False,
    card: bool = False,
    progress: Progress | None = None,
    **choices: Unpack[AxisChoices],
) -> Axis:
    """Return the axis of labelled words, and write it to a file if a path is given.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    lexicon : Lexicon
        The labelled words (seeds).
    path : path, optional
        The safetensors file to write.
    ratings : Ratings, optional
        Items that people rated on the scale between the two ends of `lexicon`. The axis is fitted on both, and its
        held-out results are those of the rated items; see :class:`densray.rotations.SeededRidge`.
    method : str or rotation, default="auto"
    n_components : int, optional
        Number of axes to keep. The first is the concept, and the others complete the coordinate system (default: all).
    judge : bool, default=True
        Whether to diagnose the axis, and to save errors, calibration and verdict with it.
    pairs : pairs of words, optional
        Pairs of words that differ in the concept, the higher word first. Their differences should be parallel.
    options : AxisOptions, optional
    overwrite : bool, default=False
        Whether an existing file is replaced.
    card : bool, default=False
        Whether to write a ``README.md`` next to the file.
    progress : callable, optional
        Called with the steps done and their total.
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name, such as ``any_case=True`` or ``folds=5``.
    """
    space, options = as_space(space), options.changed(**choices)
    pairs = None if pairs is None else list(pairs)
    rows, ends = find_rows(space, lexicon, options, pairs=pairs), None
    if ratings is not None:
        rows, ends = ratings.align(space, any_case=options.any_case), rows
    axis = Axis.fit(rows, method, seeds=ends, n_components=n_components, options=options)
    if judge:
        with advise_not_to_judge():
            axis.diagnose(pairs=pairs, progress=progress)
    if path is not None:
        axis.save(path, overwrite=overwrite, judge=judge, card=card)
    return axis


def diagnose(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    method: str | Rotation = "auto",
    pairs: Iterable[Sequence[str]] | None = None,
    options: AxisOptions = DEFAULTS,
    progress: Progress | None = None,
    **choices: Unpack[AxisChoices],
) -> Diagnosis:
    """Check how far the axis of labelled words can be trusted, and return a :class:`Diagnosis`.

    The parameters mean the same as in :func:`densray.fit_axis`.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    lexicon : Lexicon
    method : str or rotation, default="auto"
    pairs : pairs of words, optional
    options : AxisOptions, optional
    progress : callable, optional
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name.
    """
    began = Provenance.begin()
    space, options = as_space(space), options.changed(**choices)
    pairs = None if pairs is None else checked_pairs(pairs, "pairs")
    axis = Axis.fit(find_rows(space, lexicon, options, pairs=pairs), method, options=options)
    diagnosis = axis.diagnose(pairs=pairs, progress=progress)
    return replace(diagnosis, provenance=diagnosis.provenance.since(began))


def induce(
    space: WordSpace,
    source: Lexicon | Axis,
    *,
    method: str | Rotation = "auto",
    n_ends: int = 10,
    options: AxisOptions = DEFAULTS,
    progress: Progress | None = None,
    **choices: Unpack[AxisChoices],
) -> Induction:
    """Return every word of a space with its score, its standard error and its probability.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
        It may be larger than memory, since it is read in blocks. To score partitions of a Dask dataframe, use a fitted
        axis: ``frame.map_partitions(axis.score)``.
    source : Lexicon or Axis
        The labelled words, or an axis.
    method : str or rotation, default="auto"
        For a lexicon: name of a method, or an estimator. A fitted estimator is used without refitting.
    n_ends : int, default=10
        Number of words to list in `highest` and in `lowest`.
    options : AxisOptions, optional
    progress : callable, optional
        Called with the refits done and their total.
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name, such as ``any_case=True`` or ``folds=5``.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import Lexicon, WordSpace
    >>> angles = np.linspace(0, np.pi, 9)
    >>> space = WordSpace(list("abcdefghi"), np.column_stack([np.cos(angles), np.sin(angles)]))
    >>> induced = induce(space, Lexicon({"a": 1, "b": 1, "h": -1, "i": -1}), method="mean-difference")
    >>> "".join(induced.to_polars()["word"])
    'abcdefghi'
    """
    if is_dask(space):
        raise TaskError(
            f"a {type(space).__module__.partition('.')[0]} {type(space).__name__} is given, a WordSpace is needed. "
            "Fit an axis on the labelled words, then score the partitions: frame.map_partitions(axis.score)."
        )
    space = as_space(space)
    if isinstance(source, Axis):
        return induce_by(source, space, n_ends=n_ends)
    began = Provenance.begin()
    options = options.changed(**choices)
    axis = Axis.fit(find_rows(space, source, options), method, options=options)
    axis.measure_errors(progress=progress)  # computed here, where progress can be shown
    induced = induce_by(axis, space, n_ends=n_ends)
    return replace(induced, provenance=induced.provenance.since(began))
