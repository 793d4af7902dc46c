"""Do test words profit from training words with the same stem? Kendall's τ with and without such training words.

A test word such as *happily* may be easier when *happy* is among the training words. Every lexicon of
`compare_methods` is split ten times. A quarter of the words is for testing. The axis is learned twice, from equally
many words: from training words none of which may be a form of a test word, and from training words drawn from all
others. Forms are found by their letters alone (`densray.spelling.possible_forms`): words that share at least four
letters at the beginning and half of either word, and short words with another ending. That takes out more words than a
stemmer would. The label of the nearest training word is the control: it does profit. Run with

    DENSRAY_DATA=… python -m benchmarks.shared_stems [--spaces FOLDER]

FOLDER as for `compare_methods`. An interrupted run resumes from its file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare_methods import (
    LEXICONS,
    MOST_TEST,
    MOST_TRAINING,
    SPLITS,
    Vector,
    paired_error,
    random_effects,
    read_lexicon,
    read_space,
)
from densray.metrics import kendall_tau
from densray.rotations import make_rotation
from densray.spelling import possible_forms

Vectors = NDArray[np.float32]
Places = NDArray[np.intp]

DATA = Path(__file__).resolve().parents[1] / "docs" / "shared_stems.json"
SPACES = ("googlenews-26k", "glove-6b-100d")
METHODS = ("ridge", "mean-difference", "nearest word")


def find_forms(words: Sequence[str]) -> Places:
    """Return the pairs of words that may be forms of one word, both ways round: shape (pairs, 2)."""
    pairs = np.array([pair for kind in possible_forms(words) for pair in kind], dtype=np.intp).reshape(-1, 2)
    return np.concatenate([pairs, pairs[:, ::-1]])


def draw_words(n_words: int, forms: Places, split: int) -> tuple[Places, Places, Places, float]:
    """Return test words, training words without their forms, as many training words drawn from all, and a share.

    The share is that of the test words with a form among the latter training words.
    """
    random = np.random.default_rng(split)
    order = random.permutation(n_words)
    n_test = n_words // 4
    test, pool = order[: min(n_test, MOST_TEST)], order[n_test:]
    related = forms[np.isin(forms[:, 0], test), 1]
    without = pool[~np.isin(pool, related)][:MOST_TRAINING]
    sample = pool[: len(without)]
    leaking = forms[np.isin(forms[:, 0], test) & np.isin(forms[:, 1], sample), 0]
    return test, without, sample, len(np.unique(leaking)) / len(test)


def scores_of(method: str, X: Vectors, y: Vector, X_test: Vectors) -> Vector:
    """Return the scores of test words: along an axis, or the label of the nearest training word."""
    if method != "nearest word":
        return np.asarray(X_test @ make_rotation(method, 1).fit(X, y).components_[0], dtype=np.float64)
    return np.asarray(y[np.argmax(X_test @ X.T, axis=1)])


def measure_split(X: Vectors, y: Vector, forms: Places, split: int) -> dict[str, Any]:
    """Return τ of each method with and without forms of the test words among the training words."""
    test, without, sample, share = draw_words(len(y), forms, split)
    result: dict[str, Any] = {"test": len(test), "training": len(sample), "share": round(share, 4)}
    for method in METHODS:
        taus = [kendall_tau(y[test], scores_of(method, X[rows], y[rows], X[test])) for rows in (sample, without)]
        result[method] = [round(float(tau), 5) for tau in taus]
    return result


def measure(folder: Path, spaces: Sequence[str], known: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the splits of every lexicon and space not known."""
    for space_name in spaces:
        space = read_space(space_name, folder)
        for name in LEXICONS:
            if (space_name, name) not in known:
                rows = read_lexicon(name).align(space, order="lexicon", groups=None)
                forms = find_forms(rows.names)
                splits = [measure_split(rows.X, rows.y, forms, split) for split in range(SPLITS)]
                yield {"space": space_name, "lexicon": name, "splits": splits}


def change(rows: Sequence[dict[str, Any]], method: str) -> tuple[float, float, float, float]:
    """Return by how much τ changes without the forms: mean over lexicons, its 95% interval, and p."""
    means, errors = [], []
    for row in rows:
        gaps = np.array([split[method][1] - split[method][0] for split in row["splits"]])
        means.append(float(gaps.mean()))
        errors.append(max(paired_error(gaps, 1 / 3), 1e-6))
    return random_effects(np.array(means), np.array(errors))


def tables() -> dict[str, str]:
    """Return the table of docs/lexicon_induction.md."""
    rows = json.loads(DATA.read_text("utf-8"))
    lines = [
        "| space | test words with a form in training | τ of | with forms | without | change (95%), 10⁻⁴ |",
        "| --- | ---: | --- | ---: | ---: | --- |",
    ]
    for space in SPACES:
        part = [row for row in rows if row["space"] == space]
        share = np.mean([split["share"] for row in part for split in row["splits"]])
        for place, method in enumerate(METHODS if part else ()):
            taus = np.mean([split[method] for row in part for split in row["splits"]], axis=0)
            mean, low, high, _ = (1e4 * each for each in change(part, method))
            cells = [f"{space}, {len(part)} lexicons", f"{share:.0%}"] if place == 0 else ["", ""]
            interval = f"{mean:+.0f} ({low:+.0f} to {high:+.0f})".replace("-", "−")
            lines.append(f"| {' | '.join(cells)} | {method} | {taus[0]:.4f} | {taus[1]:.4f} | {interval} |")
    return {"shared-stems": "\n".join(lines)}


def main() -> None:
    """Measure the results that the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--spaces", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(arguments.out.read_text("utf-8")) if arguments.out.exists() else []
    spaces = SPACES if arguments.spaces else SPACES[:1]
    for row in measure(arguments.spaces or Path(), spaces, {(row["space"], row["lexicon"]) for row in rows}):
        rows.append(row)
        lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in rows)
        arguments.out.write_text(f"[\n{lines}\n]\n", "utf-8")
        print(row["space"], row["lexicon"], flush=True)


if __name__ == "__main__":
    main()
