"""The slow, obvious way to solve analogies: refit for every pair, rotate the whole vocabulary, sort it; in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from densray import DensRay, WordSpace
from densray.analogies import AnalogyCategory, AnalogyPair

Vector = NDArray[np.float64]

COLUMNS = (
    "intcos-original-densray",
    "intcos-complement-densray",
    "intcos-original-svm",
    "intcos-complement-svm",
    "lrcos",
)


def solve(space: WordSpace, category: AnalogyCategory, column: str, *, most: int | None = None) -> list[list[str]]:
    """Return the three best answers to every pair of a category whose query and first answer are in the space.

    `most` asks the first few only; all others stay examples.
    """
    vectors = space.vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    usable = [pair for pair in category if (space.locate((pair.query, pair.answer), any_case=True) >= 0).all()]
    answers = []
    for pair in usable[:most]:
        with threadpool_limits(1):  # small matrices: threads would wait for each other
            scores = _scores(space, vectors, usable, pair, column)
        barred = [row for row, word in enumerate(space.words) if word.lower() == pair.query.lower()]
        scores[barred] = -np.inf
        answers.append([space.words[row] for row in np.argsort(-scores, kind="stable")[:3]])
    return answers


def _scores(
    space: WordSpace, vectors: Vector, usable: Sequence[AnalogyPair], asked: AnalogyPair, column: str
) -> Vector:
    banned = {word.lower() for word in asked.words}
    left = [pair.query for pair in usable if pair is not asked and pair.query.lower() not in banned]
    right = [pair.answer for pair in usable if pair is not asked and pair.answer.lower() not in banned]
    X = vectors[space.locate([*left, *right], any_case=True)]
    y = np.repeat([-1, 1], [len(left), len(right)])
    query = int(space.locate([asked.query], any_case=True)[0])
    cosine = vectors @ vectors[query]
    if column == "lrcos":
        model = LogisticRegression(C=1, class_weight="balanced", solver="newton-cholesky", tol=1e-12).fit(X, y)
        return np.asarray(model.predict_proba(vectors)[:, 1] * cosine)
    if column.endswith("densray"):
        axis = DensRay(1, normalize_differences=True).fit(X, y).components_[0]
    else:
        axis = SVC(kernel="linear", C=1, tol=1e-6).fit(X, y).coef_[0]
        axis = axis / np.linalg.norm(axis)
    coordinate = vectors @ axis
    if "complement" in column:
        rest = vectors - coordinate[:, None] * axis
        rest /= np.linalg.norm(rest, axis=1, keepdims=True)
        cosine = rest @ rest[query]
    class_score = (coordinate - coordinate.min()) / (coordinate.max() - coordinate.min())
    return np.asarray(class_score * cosine)
