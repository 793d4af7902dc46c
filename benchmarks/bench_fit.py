"""Fitting: ratios to the matrix products it is made of, to a loop over words, to others, and growth with n and d."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.measurement import Measurement, seconds
from densray import Densifier, DensRay, LinearRotation, load_space
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
    found = [Measurement(f"{what}, against XᵀX plus one eigh", ours / parts, "×", "≤ 2.5", f"{ours:.2f} s")]
    for name, model in (
        ("PCA", PCA(svd_solver="covariance_eigh")),
        ("LDA", LinearDiscriminantAnalysis(solver="eigen")),
    ):
        theirs = seconds(lambda model=model: model.fit(X, y), repeats=2)  # type: ignore[misc]
        found.append(Measurement(f"scikit-learn {name} on the same rows, against ours", theirs / ours, "×"))
    return found


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
    return [
        Measurement(f"{what}, against its two matrix products", ours / products, "×", "≤ 3", f"{ours:.2f} s"),
        Measurement(f"{what}, faster than the loop over words", loop / ours, "×", "≥ 200", f"{loop:.0f} s"),
    ]


def _growth() -> list[Measurement]:
    """Exponents of time over n and d, by least squares in logarithms."""
    forms: dict[str, tuple[Callable[[], Any], str, list[int]]] = {
        "plain DensRay over n, 1 expected": (lambda: DensRay(1), "n", [25_000, 50_000, 100_000, 200_000]),
        "plain DensRay over d, 1 to 2 expected": (lambda: DensRay(1), "d", [128, 256, 512, 1024]),
        "unit differences over n, 2 expected": (
            lambda: DensRay(1, normalize_differences=True),
            "n",
            [2000, 4000, 8000, 16_000],
        ),
        "exact Densifier over n, 1 expected": (Densifier, "n", [2500, 5000, 10_000, 20_000]),
        "ridge over n, 1 expected": (LinearRotation, "n", [10_000, 20_000, 40_000, 80_000]),
    }
    found = []
    for name, (make, over, sizes) in forms.items():
        taken = []
        for size in sizes:
            X, y = planted(size, 300) if over == "n" else planted(20_000, size)
            taken.append(seconds(lambda X=X, y=y, make=make: make().fit(X, y), repeats=3))  # type: ignore[misc]
        exponent = float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])
        found.append(Measurement(f"growth of {name}", exponent, "exponent", note=f"{taken[-1]:.2f} s at {sizes[-1]:,}"))
    return found


def main() -> list[Measurement]:
    """Return what was measured."""
    return [*_plain(), *_unit(), *_growth()]
