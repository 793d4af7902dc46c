"""``diagnose``: everything asked of an axis, in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from densray._threads import Progress, part_of
from densray.alignment import Alignment
from densray.axes._diagnosis import Agreement, Diagnosis, judge
from densray.axes._evidence import (
    degrees_between,
    eigenvalues_of,
    near_misses,
    outlying_rows,
    pair_consistency,
    vocabulary_spread,
)
from densray.axes._influence import leave_one_out_axes
from densray.axes._model import AxisModel
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions, find_seeds, fit_rotation
from densray.axes._permutation import PermutationTest, permutation_test
from densray.axes._resampling import (
    HELD_OUT_INFLATION,
    count_folds,
    held_out_scores,
    is_closed_form,
    stratified_folds,
)
from densray.lexicon import Lexicon
from densray.metrics import auc, auc_interval, kendall_tau, tau_interval
from densray.report import Input, Provenance
from densray.rotations import DensRay, PairDirection, Rotation, name_method
from densray.space import WordSpace

#: Axes whose held-out agreement is measured, where each is cheap.
MEASURED_AXES = 3
#: So few seeds that they may not span as many axes.
FEW_SEEDS = 100


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
    """Return how far the axis of some labelled words can be trusted.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
        The seeds.
    method : str or rotation, default="auto"
        The name of a method, or a rotation; a fitted one is taken as it is.
    pairs : pairs of words, optional
        Words that differ in the concept, the higher first, whose differences should be parallel.
    options : AxisOptions, optional
    progress : callable, optional
        Called with the steps done and their number.
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name, such as ``any_case=True`` or ``folds=5``.
    """
    options, pairs = options.changed(**choices), None if pairs is None else list(pairs)
    seeds = find_seeds(space, lexicon, options, pairs=pairs)
    rotation = fit_rotation(method, seeds, scale=options.scale)
    named = name_method(method)
    return diagnose_axis(
        space, seeds, rotation, method=named, lexicon=lexicon, pairs=pairs, options=options, progress=progress
    )


def diagnose_axis(
    space: WordSpace,
    seeds: Alignment,
    rotation: Rotation,
    *,
    method: str,
    lexicon: Lexicon,
    pairs: Iterable[Sequence[str]] | None = None,
    options: AxisOptions = DEFAULTS,
    progress: Progress | None = None,
) -> Diagnosis:
    """Return how far an axis that is fitted already can be trusted; see :func:`diagnose`."""
    provenance = Provenance.begin(seed=options.random_state)
    random = np.random.default_rng(options.random_state)
    folding, resampling, permuting, leaving_out = (part_of(progress, at, at + 100, 400) for at in range(0, 400, 100))
    n_folds = count_folds(seeds, options.folds)
    numbers = stratified_folds(seeds, n_folds, random)
    n_axes = _count_axes(rotation, seeds, numbers)
    held_out = held_out_scores(rotation, seeds, numbers, n_axes=n_axes, progress=folding)
    model = AxisModel.of(rotation, seeds, space, options, held_out=held_out[:, 0], progress=resampling)
    test = permutation_test(rotation, seeds, n_permutations=options.n_permutations, random=random, progress=permuting)
    rows, how = _seed_rows(rotation, seeds, model, held_out[:, 0], options.max_refits, leaving_out)
    about = _about_seeds(space, seeds, rows)
    return Diagnosis(
        **_figures(space, seeds, model, held_out, test, eigenvalues_of(rotation, seeds), about["contradictions"]),
        **about,
        method=method,
        lexicon=lexicon.name,
        folds=n_folds,
        pairs=None if pairs is None else pair_consistency(pairs, space, model.axis, options),
        influence=how,
        rotation=rotation,
        model=model,
        label_names=options.label_names,
        provenance=provenance.finish(
            inputs=[Input.of("space", space), Input.of("lexicon", lexicon)],
            used=seeds.n_words,
            missing=seeds.missing,
            set_aside=seeds.set_aside,
            method=method,
        ),
    )


def _figures(
    space: WordSpace,
    seeds: Alignment,
    model: AxisModel,
    held_out: NDArray[np.float64],
    test: PermutationTest,
    eigenvalues: NDArray[np.float64] | None,
    contradictions: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Return the verdict and the figures it is made of."""
    axes = [_agreement(seeds, scores, number) for number, scores in enumerate(held_out.T)]
    spread = vocabulary_spread(space, model)
    assert model.errors is not None
    angle = model.errors.seed_angle
    verdict = judge(
        auc=axes[0].auc,
        auc_low=axes[0].auc_interval.low,
        auc_high=axes[0].auc_interval.high,
        p_value=test.p_value,
        reliability=spread.reliability,
        seed_angle=angle.upper,
        n_high=int(np.sum(seeds.sides > 0)),
        n_low=int(np.sum(seeds.sides < 0)),
        contradicting=[row["word"] for row in contradictions],
    )
    return {
        "verdict": verdict,
        "axes": axes,
        "tau_interval": tau_interval(seeds.y, held_out[:, 0], inflation=HELD_OUT_INFLATION, groups=seeds.groups),
        "n_signal_axes": _count_leading(axis.auc_interval.low > 0.5 for axis in axes),
        "permutation": test,
        "seed_angle": angle,
        "vocabulary": spread,
        "eigenvalues": None if eigenvalues is None else eigenvalues[:10].tolist(),
        "eigenvalue_gap": _gap(eigenvalues),
    }


def _about_seeds(space: WordSpace, seeds: Alignment, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what there is to say of the seeds, from what is known of each, and of those missing."""
    return {
        "n_seeds": seeds.n_words,
        "n_high": int(np.sum(seeds.sides > 0)),
        "n_low": int(np.sum(seeds.sides < 0)),
        "labels": "classes" if seeds.is_binary else "scores",
        "seeds": rows,
        "contradictions": sorted(
            (row for row in rows if row["agreement"] < 0.5), key=lambda row: float(row["agreement"])
        ),
        "n_groups": None if seeds.groups is None else len(seeds.members),
        "proposal": seeds.proposal,
        "outlying": outlying_rows(seeds),
        "coverage": seeds.n_words / (seeds.n_words + len(seeds.missing)),
        "near_misses": near_misses(seeds.missing, space),
    }


def _count_axes(rotation: Rotation, seeds: Alignment, folds: NDArray[np.int64]) -> int:
    """Return how many axes to look at: several where they come cheap, one where each takes long to fit."""
    if not isinstance(rotation, DensRay | PairDirection) and not is_closed_form(rotation, seeds):
        return 1
    if seeds.n_words > FEW_SEEDS:
        return min(MEASURED_AXES, int(seeds.X.shape[1]))
    trainings = (seeds.X[folds != number] for number in np.unique(folds))
    # an axis in the complement of the others needs rows that still differ there
    ranks = [int(np.linalg.matrix_rank(rows - rows.mean(axis=0))) for rows in trainings]
    return max(min(MEASURED_AXES, *ranks), 1)


def _agreement(seeds: Alignment, scores: NDArray[np.float64], axis: int) -> Agreement:
    return Agreement(
        axis,
        auc(seeds.sides, scores),
        auc_interval(seeds.sides, scores, inflation=HELD_OUT_INFLATION, groups=seeds.groups),
        kendall_tau(seeds.y, scores),
    )


def _seed_rows(
    rotation: Rotation,
    seeds: Alignment,
    model: AxisModel,
    held_out: NDArray[np.float64],
    max_refits: int,
    progress: Progress | None,
) -> tuple[list[dict[str, Any]], str]:
    """Return what is known of each seed, the most influential first, and how it was found."""
    assert model.calibration is not None
    first = np.argsort(seeds.sides * held_out, kind="stable")  # those on the wrong side before the others
    axes = leave_one_out_axes(rotation, seeds, first=first, max_refits=max_refits, progress=progress)
    known = np.asarray(np.isfinite(axes).all(axis=1))
    n, centred = seeds.n_words, seeds.X - seeds.X.mean(axis=0, dtype=np.float64)
    for rows in seeds.members:  # measured from the mean of the others, which lies the other way from the mean of all
        centred[rows] += centred[rows].sum(axis=0) / max(n - len(rows), 1)
    alone = np.einsum("ij,ij->i", centred, np.where(known[:, None], axes, 0.0))
    every = known.all()
    scores = alone if every else held_out
    chance = model.calibration.probability(scores)
    own = np.where(seeds.sides > 0, chance, 1.0 - chance)
    angles = np.where(known, degrees_between(axes, model.axis), np.nan)
    order = np.argsort(np.where(known, -angles, np.inf), kind="stable")
    left_out = "leave-one-out" if seeds.groups is None else "leave-group-out"
    how = f"{left_out}, closed form" if every else f"{left_out}, refits of {int(known.sum())} of {n} seeds"
    return [
        {
            "word": seeds.words[row],
            "label": float(seeds.y[row]),
            "score": float(scores[row]) + model.offset,  # counted from the origin, as induce counts
            "agreement": float(own[row]),
            "influence": float(angles[row]) if known[row] else None,
        }
        for row in order.tolist()
    ], how


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
