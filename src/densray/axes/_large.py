"""Axes of tables that do not fit into memory: fitted on sums over all rows, evaluated on a sample of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from densray.axes._axis import Axis
from densray.axes._options import DEFAULTS, AxisOptions
from densray.errors import NotAdditiveError
from densray.progress import Progress
from densray.rotations import LinearRotation, Rotation, make_rotation, name_method
from densray.rows import order_classes, plausible_range
from densray.scale import fit_blocks
from densray.tables import SAMPLED_ROWS, LabelledTable, VectorTable, is_large, open_table


def fit_table(
    table: Any,
    labels: str,
    method: str = "auto",
    *,
    groups: str | None = None,
    names: str | None = None,
    classes: bool = False,
    n_components: int | None = 1,
    options: AxisOptions = DEFAULTS,
    progress: Progress | None = None,
    **choices: Any,
) -> Axis:
    """Return the axis of a label column of a table, whether its vectors fit into memory or not.

    Up to 256 MB of vectors are read into memory, as ``Axis.fit(table.rows(labels))`` does. Larger tables are read block
    by block, and the axis is fitted on all rows. This works for the mean difference, plain DensRay, and ridge (without
    groups, from a hundred rows per dimension on). Held-out results, errors and verdict then come from a random sample
    of 10,000 rows, and the diagnosis says so. For any other method, all vectors are read into memory.

    Parameters
    ----------
    table : VectorTable, path or frame
    labels : str
        Column of the labels: two classes, or numeric labels.
    method : str, default="auto"
    groups, names, classes
        See :meth:`densray.tables.VectorTable.rows`.
    n_components : int or None, default=1
    options : AxisOptions, optional
    progress : callable, optional
        Called with the number of rows read and their total.
    **choices
        Other fields of :class:`densray.axes.AxisOptions` by name, such as ``normalize=False``.

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> party = np.repeat(["left", "right"], 20)
    >>> X = rng.normal(size=(40, 3)) + 5 * np.outer(party == "right", [1, 0, 0])
    >>> axis = fit_table(polars.DataFrame({"party": party, "vector": X}), "party", normalize=False)
    >>> axis.label_names, bool(axis.direction[0] > 0.9)
    (('left', 'right'), True)
    """
    options, table = options.changed(**choices), open_table(table)
    columns: dict[str, Any] = {"groups": groups, "names": names, "classes": classes}
    streamed = fit_large(
        table, labels, method, **columns, n_components=n_components, options=options, progress=progress
    )
    if streamed is not None:
        return streamed
    return Axis.fit(table.rows(labels, **columns), method, n_components=n_components, options=options)


def fit_large(
    table: VectorTable,
    labels: str,
    method: str,
    *,
    groups: str | None,
    names: str | None,
    classes: bool,
    n_components: int | None,
    options: AxisOptions,
    progress: Progress | None = None,
) -> Axis | None:
    """Return the axis of a large table, read block by block; None if the table is small or the method needs all rows.

    Parameters are those of :func:`fit_table`.
    """
    if not is_large(table):
        return None
    labelled = LabelledTable.of(table, labels, classes=classes)
    if labelled.is_multiclass:
        return None
    labelled = order_classes(labelled.usable(), options.label_names)
    rotation = make_rotation(method, n_components)
    if options.standardize:
        rotation.set_params(standardize=True)
    if not _takes_blocks(rotation, labelled, grouped=groups is not None):
        return None
    clips = options.clip_labels or (options.clip_labels is None and method == "auto")
    fitted = _fit(rotation, _clip_labels(labelled) if clips else labelled, unit=options.normalize, progress=progress)
    rows = labelled.sample(SAMPLED_ROWS, groups=groups, names=names, random_state=options.random_state)
    sampled = Axis.fit(rows, method, n_components=n_components, options=options)
    return Axis(
        fitted,
        name_method(method),
        options=options,
        concept=sampled.concept,
        label_names=sampled.label_names,
        fitted_on=labelled.n_labelled,
        sampled=sampled,
        _encoder=table.encoder,
    )


def _takes_blocks(rotation: Rotation, labelled: LabelledTable, *, grouped: bool) -> bool:
    """Return whether a rotation finds the same axes in sums over blocks as in all rows at once."""
    if isinstance(rotation, LinearRotation):  # with groups, the penalty comes from leaving out whole groups
        return not grouped and rotation.takes_sums(labelled.n_labelled, labelled.table.width)
    check_additive = getattr(rotation, "check_additive", None)
    if check_additive is None:
        return False
    try:
        check_additive("a table")
    except NotAdditiveError:
        return False
    return True


def _fit(rotation: Rotation, labelled: LabelledTable, *, unit: bool, progress: Progress | None) -> Rotation:
    if not isinstance(rotation, LinearRotation):
        blocks = ((X, labelled.y[places]) for places, X in labelled.blocks(unit=unit, progress=progress))
        return fit_blocks(rotation, blocks)
    values = labelled.y[np.isfinite(labelled.y)]
    targets, two_classes = labelled.y - values.mean(), len(np.unique(values)) == 2
    moments, sums = labelled.sums(lambda places: targets[places][None, :], unit=unit, progress=progress)
    spread = float(np.sum((values - values.mean()) ** 2))
    return rotation.fit_sums(moments.scatter, sums[0], spread, labelled.n_labelled, two_classes=two_classes)


def _clip_labels(labelled: LabelledTable) -> LabelledTable:
    """Return the table with outlying scores clipped to the range of the other scores."""
    if labelled.class_names:
        return labelled
    low, high = plausible_range(labelled.y[np.isfinite(labelled.y)])
    return replace(labelled, y=np.clip(labelled.y, low, high))
