"""``diagnose``: everything asked of an axis, in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._threads import Progress, part_of
from densray._vocabulary import check_seed
from densray.axes._diagnosis import Agreement, Diagnosis, judge
from densray.axes._evidence import (
    bootstrap_cone,
    degrees_between,
    eigenvalues_of,
    near_misses,
    pair_consistency,
    vocabulary_spread,
)
from densray.axes._influence import leave_one_out_axes
from densray.axes._model import AxisModel
from densray.axes._permutation import PermutationTest, permutation_test
from densray.axes._resampling import count_folds, held_out_scores, is_closed_form, stratified_folds
from densray.axes._seeds import Seeds, fitted
from densray.journal import Journal, Run
from densray.lexicon import Lexicon
from densray.metrics import auc, auc_interval, kendall_tau, tau_interval
from densray.report import Input, Provenance
from densray.rotations import DensRay, PairDirection, Rotation, name_method
from densray.space import WordSpace

#: Axes whose held-out agreement is measured, where each is cheap.
AXES = 3
#: So few seeds that they may not span as many axes.
FEW = 100


def diagnose(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    method: str | Rotation = "auto",
    pairs: Iterable[Sequence[str]] | None = None,
    normalize: bool = True,
    any_case: bool = False,
    folds: int = 10,
    n_resamples: int | None = None,
    n_permutations: int | None = None,
    max_refits: int = 50,
    random_state: int = 0,
    label_names: tuple[str, str] | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
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
    normalize : bool, default=True
        Whether vectors count at unit length.
    any_case : bool, default=False
    folds : int, default=10
        Of the cross-validation; fewer where the seeds are few.
    n_resamples, n_permutations : int, optional
        Of the bootstrap (200, or 50 where each is a fit) and of the test (999, or 99 on a sample of the seeds).
    max_refits : int, default=50
        Seeds left out one by one where that has no closed form.
    random_state : int, default=0
    label_names : pair of str, optional
        What the low and the high end of the axis are called.
    progress : callable, optional
        Called with the steps done and their number.
    journal : Journal, optional
        Keeps what each fit found until the diagnosis is done, for methods that are fitted many times; see
        `densray.journal`.
    """
    seeds = Seeds.of(space, lexicon, normalize=normalize, any_case=any_case)
    return diagnose_axis(
        space,
        seeds,
        fitted(method, seeds),
        method=name_method(method),
        lexicon=lexicon,
        pairs=pairs,
        normalize=normalize,
        any_case=any_case,
        folds=folds,
        n_resamples=n_resamples,
        n_permutations=n_permutations,
        max_refits=max_refits,
        random_state=random_state,
        label_names=label_names,
        progress=progress,
        journal=journal,
    )


def diagnose_axis(
    space: WordSpace,
    seeds: Seeds,
    rotation: Rotation,
    *,
    method: str,
    lexicon: Lexicon,
    pairs: Iterable[Sequence[str]] | None = None,
    normalize: bool = True,
    any_case: bool = False,
    folds: int = 10,
    n_resamples: int | None = None,
    n_permutations: int | None = None,
    max_refits: int = 50,
    random_state: int = 0,
    label_names: tuple[str, str] | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Diagnosis:
    """Return how far an axis that is fitted already can be trusted; see :func:`diagnose`."""
    check_seed(random_state)
    provenance = Provenance.begin(seed=random_state)
    random = np.random.default_rng(random_state)
    folding, resampling, permuting, leaving_out = (part_of(progress, at, at + 100, 400) for at in range(0, 400, 100))
    run = (journal or Journal()).run(
        "diagnosis", seeds, rotation, folds, n_resamples, n_permutations, max_refits, random_state
    )
    n_folds = count_folds(seeds, folds)
    numbers = stratified_folds(seeds, n_folds, random)
    n_axes = _count_axes(rotation, seeds, numbers)
    held_out = held_out_scores(rotation, seeds, numbers, n_axes=n_axes, progress=folding, run=run)
    model = AxisModel.of(
        rotation,
        seeds,
        space,
        normalize=normalize,
        n_resamples=n_resamples,
        random_state=random_state,
        held_out=held_out[:, 0],
        progress=resampling,
        run=run,
    )
    test = permutation_test(rotation, seeds, n_permutations=n_permutations, random=random, progress=permuting, run=run)
    rows, how = _seed_rows(rotation, seeds, model, held_out[:, 0], max_refits, leaving_out, run)
    return Diagnosis(
        **_figures(space, seeds, model, held_out, test, eigenvalues_of(rotation, seeds)),
        **_about_seeds(space, seeds, rows),
        method=method,
        lexicon=lexicon.name,
        folds=n_folds,
        pairs=None
        if pairs is None
        else pair_consistency(pairs, space, model.axis, normalize=normalize, any_case=any_case),
        influence=how,
        rotation=rotation,
        model=model,
        label_names=label_names,
        provenance=_finished(provenance, space, lexicon, seeds, method=method, resumed=run.taken),
    )


def _finished(
    provenance: Provenance, space: WordSpace, lexicon: Lexicon, seeds: Seeds, *, method: str, resumed: int
) -> Provenance:
    return provenance.finish(
        inputs=[Input.of("space", space), Input.of("lexicon", lexicon)],
        used=len(seeds),
        missing=seeds.missing,
        set_aside=seeds.set_aside,
        method=method,
        resumed=resumed,
    )


def _figures(
    space: WordSpace,
    seeds: Seeds,
    model: AxisModel,
    held_out: NDArray[np.float64],
    test: PermutationTest,
    eigenvalues: NDArray[np.float64] | None,
) -> dict[str, Any]:
    """Return the verdict and the figures it is made of."""
    axes = [_agreement(seeds, scores, number) for number, scores in enumerate(held_out.T)]
    cone, spread = bootstrap_cone(model), vocabulary_spread(space, model)
    verdict = judge(
        auc=axes[0].auc,
        auc_low=axes[0].auc_interval.low,
        auc_high=axes[0].auc_interval.high,
        p_value=test.p_value,
        reliability=spread.reliability,
        cone=cone.median,
    )
    return {
        "verdict": verdict,
        "axes": axes,
        "tau_interval": tau_interval(seeds.y, held_out[:, 0], n_resamples=200 if len(seeds) > 5000 else 1000),
        "n_signal_axes": _count_leading(axis.auc_interval.low > 0.5 for axis in axes),
        "permutation": test,
        "cone": cone,
        "vocabulary": spread,
        "eigenvalues": None if eigenvalues is None else eigenvalues[:10].tolist(),
        "eigenvalue_gap": _gap(eigenvalues),
    }


def _about_seeds(space: WordSpace, seeds: Seeds, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what there is to say of the seeds, from what is known of each, and of those missing."""
    return {
        "n_seeds": len(seeds),
        "n_high": int(np.sum(seeds.sides > 0)),
        "n_low": int(np.sum(seeds.sides < 0)),
        "labels": "classes" if seeds.binary else "scores",
        "seeds": rows,
        "contradictions": sorted(
            (row for row in rows if row["agreement"] < 0.5), key=lambda row: float(row["agreement"])
        ),
        "coverage": len(seeds) / (len(seeds) + len(seeds.missing)),
        "near_misses": near_misses(seeds.missing, space),
    }


def _count_axes(rotation: Rotation, seeds: Seeds, folds: NDArray[np.int64]) -> int:
    """Return how many axes to look at: several where they come cheap, one where each takes long to fit."""
    if not isinstance(rotation, DensRay | PairDirection) and not is_closed_form(rotation, seeds):
        return 1
    if len(seeds) > FEW:
        return min(AXES, int(seeds.X.shape[1]))
    trainings = (seeds.X[folds != number] for number in np.unique(folds))
    # an axis in the complement of the others needs rows that still differ there
    ranks = [int(np.linalg.matrix_rank(rows - rows.mean(axis=0))) for rows in trainings]
    return max(min(AXES, *ranks), 1)


def _agreement(seeds: Seeds, scores: NDArray[np.float64], axis: int) -> Agreement:
    return Agreement(
        axis,
        auc(seeds.sides, scores),
        auc_interval(seeds.sides, scores),
        kendall_tau(seeds.y, scores),
    )


def _seed_rows(
    rotation: Rotation,
    seeds: Seeds,
    model: AxisModel,
    held_out: NDArray[np.float64],
    max_refits: int,
    progress: Progress | None,
    run: Run,
) -> tuple[list[dict[str, Any]], str]:
    """Return what is known of each seed, the most influential first, and how it was found."""
    assert model.calibration is not None
    first = np.argsort(seeds.sides * held_out, kind="stable")  # those on the wrong side before the others
    axes = leave_one_out_axes(rotation, seeds, first=first, max_refits=max_refits, progress=progress, run=run)
    known = np.asarray(np.isfinite(axes).all(axis=1))
    n, centred = len(seeds), seeds.X - seeds.X.mean(axis=0, dtype=np.float64)
    # measured from the mean of the others, which is n/(n-1) times as far away as the mean of all
    alone = np.einsum("ij,ij->i", centred, np.where(known[:, None], axes, 0.0)) * n / (n - 1)
    every = known.all()
    scores = alone if every else held_out
    chance = model.calibration.probability(scores)
    own = np.where(seeds.sides > 0, chance, 1.0 - chance)
    angles = np.where(known, degrees_between(axes, model.axis), np.nan)
    order = np.argsort(np.where(known, -angles, np.inf), kind="stable")
    how = "leave-one-out, closed form" if every else f"leave-one-out, refits of {int(known.sum())} of {n} seeds"
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
