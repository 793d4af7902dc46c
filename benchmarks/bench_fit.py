"""Fitting: ratios to its matrix products, to a loop over words and to others; memory; growth over n and d."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.measurement import Measurement, exponent, peak_bytes, seconds
from densray import Densifier, DensRay, LinearRotation, MeanDifference, load_space
from densray.datasets import load_lexicon

__all__ = ["main", "planted"]

Rows = NDArray[np.float32]


def planted(n: int, width: int) -> tuple[Rows, NDArray[np.int64]]:
    """Return unit vectors of two classes that differ along the first coordinate."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    X = rng.standard_normal((n, width), dtype=np.float32)
    X[:, 0] += y
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def _plain() -> list[Measurement]:
    X, y = planted(200_000, 300)
    scatter = (X.T @ X).astype(np.float64)
    parts = seconds(lambda: X.T @ X) + seconds(lambda: eigh(scatter))
    ours = seconds(lambda: DensRay().fit(X, y))
    what = "plain DensRay().fit, 200k × 300 float32"
    note = f"{ours:.2f} s, {_megabytes(lambda: DensRay().fit(X, y))} in addition to the rows"
    measurements = [Measurement(f"{what}, against XᵀX plus one eigh", ours / parts, "×", "≤ 1.6", note)]
    for name, model in (
        ("PCA", PCA(svd_solver="covariance_eigh")),
        ("LDA", LinearDiscriminantAnalysis(solver="eigen")),
    ):
        theirs = seconds(lambda model=model: model.fit(X, y), repeats=2)  # type: ignore[misc]
        note = f"{theirs:.2f} s, {_megabytes(lambda model=model: model.fit(X, y))} in addition to the rows"  # type: ignore[misc]
        measurements.append(
            Measurement(f"scikit-learn {name} on the same rows, against ours", theirs / ours, "×", note=note)
        )
    return measurements + _against_leace(X, y)


def _against_leace(X: Rows, y: NDArray[np.int64]) -> list[Measurement]:
    """Return the times of LEACE, by the library concept-erasure, over ours; nothing where it is not installed."""
    try:
        import torch
        from concept_erasure import LeaceEraser
    except ImportError:
        return []
    from densray.removers import leace

    rows, labels = torch.from_numpy(X), torch.from_numpy(y.astype(np.float32))
    eraser, fitted = LeaceEraser.fit(rows, labels), MeanDifference().fit(X, y)
    fit = seconds(lambda: LeaceEraser.fit(rows, labels), repeats=3)
    pairs = {
        "fit, LEACE of concept-erasure over ours": (fit, seconds(lambda: leace(X, y))),
        "fit, LEACE of concept-erasure over plain DensRay": (fit, seconds(lambda: DensRay(1).fit(X, y))),
        "fit, LEACE of concept-erasure over the mean difference": (fit, seconds(lambda: MeanDifference().fit(X, y))),
        "erase, LEACE of concept-erasure over ours": (seconds(lambda: eraser(rows)), seconds(lambda: fitted.erase(X))),
    }
    return [
        Measurement(f"{what}, 200k × 300 float32", theirs / ours, "×", note=f"{theirs:.3f} s against {ours:.3f} s")
        for what, (theirs, ours) in pairs.items()
    ]


def _megabytes(act: Callable[[], object]) -> str:
    return f"{peak_bytes(act) / 1e6:.0f} MB"


def _pairs_of_one_word(X: Rows, y: NDArray[np.int64], row: int) -> NDArray[np.float32]:
    """One turn of the loop over words: the unit differences of one word to all others, and their products."""
    d = X[row] - X
    lengths = np.linalg.norm(d, axis=1, keepdims=True)
    d = np.divide(d, lengths, out=np.zeros_like(d), where=lengths > 0)
    unlike = y != y[row]
    product: NDArray[np.float32] = 0.5 * (d[unlike].T @ d[unlike]) - 0.5 * (d[~unlike].T @ d[~unlike])
    return product


def _unit() -> list[Measurement]:
    aligned = load_lexicon("hu-liu").align(load_space("googlenews-26k", normalize=True))
    X, y = np.ascontiguousarray(aligned.X), aligned.y.astype(np.int64)
    ours = seconds(lambda: DensRay(normalize_differences=True, weights=(0.5, 0.5)).fit(X, y))
    products = seconds(lambda: (X @ X.T) @ X)
    some = range(0, len(X), 40)
    loop = seconds(lambda: [_pairs_of_one_word(X, y, row) for row in some], repeats=1) * len(X) / len(some)
    what = f"unit differences, {len(X):,} × {X.shape[1]} float32"
    memory = _megabytes(lambda: DensRay(normalize_differences=True, weights=(0.5, 0.5)).fit(X, y))
    note = f"{ours:.2f} s, {memory} in addition to the rows"
    return [
        Measurement(f"{what}, against its two matrix products", ours / products, "×", "≤ 1.5", note),
        Measurement(f"{what}, faster than the loop over words", loop / ours, "×", "≥ 300", f"{loop:.0f} s"),
    ]


def _growth() -> list[Measurement]:
    """Exponents of time and memory over n and d."""
    forms: dict[str, tuple[Callable[[], Any], str, list[int]]] = {
        "plain DensRay over n, 1 expected": (lambda: DensRay(1), "n", [25_000, 50_000, 100_000, 200_000]),
        "plain DensRay over d, 1 to 2 expected": (lambda: DensRay(1), "d", [128, 256, 512, 1024]),
        "mean difference over n, 1 expected": (MeanDifference, "n", [25_000, 50_000, 100_000, 200_000]),
        "mean difference over d, 1 expected": (MeanDifference, "d", [128, 256, 512, 1024]),
        "unit differences over n, 2 expected": (
            lambda: DensRay(1, normalize_differences=True),
            "n",
            [2000, 4000, 8000, 16_000],
        ),
        "unit differences over d, 1 expected": (
            lambda: DensRay(1, normalize_differences=True),
            "d",
            [128, 256, 512, 1024],
        ),
        "exact Densifier over n, 1 expected": (Densifier, "n", [2500, 5000, 10_000, 20_000]),
        "ridge over n, 1 expected": (LinearRotation, "n", [10_000, 20_000, 40_000, 80_000]),
    }
    measurements = []
    for name, (make, over, sizes) in forms.items():
        rows = 4000 if "unit" in name else 20_000
        times, peaks = [], []
        for size in sizes:
            X, y = planted(size, 300) if over == "n" else planted(rows, size)
            fit = lambda X=X, y=y, make=make: make().fit(X, y)  # type: ignore[misc]  # noqa: E731
            times.append(seconds(fit, repeats=3))
            peaks.append(float(peak_bytes(fit)))
        memory = f"memory grows with {exponent(sizes, peaks):.2f}, to {peaks[-1] / 1e6:.0f} MB"
        note = f"{times[-1]:.2f} s at {sizes[-1]:,}; {memory}"
        measurements.append(Measurement(f"growth of {name}", exponent(sizes, times), "exponent", note=note))
    return measurements


def main() -> list[Measurement]:
    """Return what was measured."""
    return [*_plain(), *_unit(), *_growth()]
