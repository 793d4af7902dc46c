"""Measure what the smaller tables of the pages show, and the published tables on the bundled space.

    python scripts/measure_tables.py              all of docs/tables.json
    python scripts/measure_tables.py weat table3  some of it

Lexicons and BATS come from ``DENSRAY_DATA``. `write_results.py` puts the tables on their pages.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from densray import Axis, load_lexicon, load_space
from densray.axes import find_rows
from densray.axes._protocol import PAPER_METHODS
from densray.axes._stability import DEFAULT_SIZES, STABILITY_METHODS, evaluate_stability
from densray.datasets import load_analogies, load_weat
from densray.debiasing import association_test
from densray.erasure import Erasure
from densray.paper import agreement, compare, published
from densray.paper._tables import analogy_tables, occupation_gaps, reproduce_analogies, table1, table3
from densray.report import Column, Table, best_cells, show_number, to_markdown

NUMBERS = Path(__file__).parents[1] / "docs" / "tables.json"
SPACE = "googlenews-26k"
METHODS = (*PAPER_METHODS, "mean-difference", "ridge")
REMOVERS = ("mean-difference", "leace", "densray", "ridge:5", "inlp:10", "logistic", "ridge", "svm")
N_SPLITS = 3  # of the words whose sentiment is erased
WORD_COUNTS, N_DRAWS = (16, 32, 64, 128, 512), 20
#: Effect sizes of table 1 of Caliskan et al. (2017), for the tests of which the slice has words.
PUBLISHED_WEAT = {2: 1.63, 4: 1.24, 5: 0.72, 7: 0.97, 8: 1.24, 9: 1.30}
WEAT_NAMES = {
    2: "instruments and weapons",
    4: "names, pleasant and unpleasant",
    5: "names, pleasant and unpleasant",
    7: "mathematics and arts",
    8: "science and arts",
    9: "mental and physical disease",
}
#: Seeds of which probabilities are learned, None for all, and the random splits of each.
SEED_COUNTS = {50: 10, 200: 10, None: 5}
HELD_BACK = 0.3

Row = dict[str, Any]


def measure_table1() -> list[Row]:
    """Return the lines of table 1 that the bundled space can answer."""
    rows = compare(table1({"EN": load_space(SPACE)}, methods=METHODS), published("table1"))
    return [row for row in rows if row["ours"] is not None]


def measure_table3() -> list[Row]:
    """Return the cosines of table 3."""
    return compare(table3(occupation_gaps(load_space(SPACE))), published("table3"))


def measure_analogies(table: str) -> list[Row]:
    """Return the cells of table 5 or 6."""
    return reproduce_analogies(table, load_space(SPACE), [load_analogies("google"), load_analogies("bats")])


def measure_figure1() -> list[Row]:
    """Return mean and standard deviation of τ by method and number of training words, on concreteness."""
    found = evaluate_stability(load_space(SPACE), load_lexicon("bwk"), methods=STABILITY_METHODS, sizes=DEFAULT_SIZES)
    return found.rows()


def measure_word_counts() -> list[Row]:
    """Return the same for ridge on Hu & Liu."""
    lexicon, options = load_lexicon("hu-liu"), {"sizes": WORD_COUNTS, "n_samples": N_DRAWS}
    return evaluate_stability(load_space(SPACE), lexicon, methods=["ridge"], **options).rows()


def measure_erased_sentiment() -> list[Row]:
    """Return the AUC of a ridge axis in words the erasure has not seen, before and after sentiment is erased."""
    words = load_lexicon("hu-liu").align(load_space(SPACE))
    rows = []
    for remover in REMOVERS:
        erasures = [Erasure.fit(words, remover, random_state=split) for split in range(N_SPLITS)]
        probes = [erasure.remains(models=("linear",))["linear"] for erasure in erasures]
        after = [probe.after.auc for probe in probes]
        rows.append({"remover": remover, "before": [probe.before.auc for probe in probes], "after": after})
    return rows


def measure_weat() -> list[Row]:
    """Return effect sizes and p-values of the association tests, with the words the slice has."""
    space, tests = load_space(SPACE).normalized(), {test.number: test for test in load_weat()}
    rows = []
    for number in PUBLISHED_WEAT:
        test, found = tests[number], association_test(space, tests[number])
        parts = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
        n_words = sum(len(group.words) for group in parts)
        row = {"number": number, "words": n_words - len(found.missing), "words_total": n_words}
        rows.append({**row, "effect": found.value, "p": found.p_value})
    return rows


def measure_probabilities() -> dict[str, Any]:
    """Return how good the probabilities of unseen words are, and the error of expected labels."""
    space, rows = load_space(SPACE), []
    for count, n_splits in SEED_COUNTS.items():
        for split in range(n_splits):
            training, test = load_lexicon("hu-liu").split(HELD_BACK, random_state=split)
            seeds, unseen = (find_rows(space, each, order="lexicon") for each in (training, test))
            if count is not None:
                seeds = seeds.take(np.sort(np.random.default_rng(split).permutation(len(seeds))[:count]))
            chance, positive = Axis.fit(seeds, "ridge").score(unseen.X).probability, unseen.y > 0
            given = np.isfinite(chance)  # a word unlike the seeds has none
            rows.append({"seeds": len(seeds), "all": count is None, **judge(chance[given], positive[given])})
    training, test = load_lexicon("bwk").split(0.25, random_state=0)
    seeds, unseen = find_rows(space, training), find_rows(space, test)
    expected = Axis.fit(seeds, "ridge").score(unseen.X).expected_label
    error = float(np.sqrt(np.nanmean((expected - unseen.y) ** 2)))
    return {"classes": rows, "scores": {"error": error, "spread": float(unseen.y.std())}}


def judge(chance: np.ndarray[Any, Any], positive: np.ndarray[Any, Any]) -> dict[str, float]:
    """Return Brier score, that of the share of positive words alone, log loss, and calibration error in ten bins."""
    bins = np.array_split(np.argsort(chance), 10)
    return {
        "brier": float(np.mean((chance - positive) ** 2)),
        "brier_of_share": float(np.mean((positive.mean() - positive) ** 2)),
        "log_loss": float(-np.mean(np.log(np.where(positive, chance, 1.0 - chance)))),
        "calibration_error": float(np.mean([abs(chance[rows].mean() - positive[rows].mean()) for rows in bins])),
    }


MEASURED: dict[str, Callable[[], Any]] = {
    "table1": measure_table1,
    "table3": measure_table3,
    "table5": lambda: measure_analogies("table5"),
    "table6": lambda: measure_analogies("table6"),
    "figure1": measure_figure1,
    "word_counts": measure_word_counts,
    "erased_sentiment": measure_erased_sentiment,
    "weat": measure_weat,
    "probabilities": measure_probabilities,
}


# -- tables -----------------------------------------------------------------------------------------------------------


def tables() -> dict[str, str]:
    """Return every table in Markdown by the name the pages give it, from the numbers at hand."""
    numbers = json.loads(NUMBERS.read_text("utf-8"))
    blocks = {table: analogy_tables(table, numbers[table]) for table in ("table5", "table6")}
    return {
        "table1": to_markdown(_table1(numbers["table1"])),
        "table3": _table3(numbers["table3"]),
        **{table: "\n".join(to_markdown(block) for block in found) for table, found in blocks.items()},
        "figure1": _figure1(numbers["figure1"]),
        "word-counts": _word_counts(numbers["word_counts"]),
        "erased-sentiment": _erased_sentiment(numbers["erased_sentiment"]),
        "weat": _weat(numbers["weat"]),
        "probabilities": _probabilities(numbers["probabilities"]),
    }


def _table1(rows: list[Row]) -> Table:
    lines: dict[int, Row] = {}
    for row in rows:
        words = f"{row['n_training']:,} / {row['n_test']:,}"
        line = lines.setdefault(row["line"], {"lexicon": f"{row['train']} (line {row['line']})", "words": words})
        line[row["method"]] = row["ours"]
        line[f"{row['method']}, paper"] = row["paper"]
    methods = [name.removesuffix("-unit") for name in METHODS]
    columns: list[Column | str] = ["lexicon", Column("words", "training / test words")]
    for method in sorted(methods, key=lambda method: method != "ridge"):
        columns.append(Column(method, decimals=3))
        if method in PAPER_METHODS or method == "densray":
            columns.append(Column(f"{method}, paper", decimals=3))
    return Table("", columns, list(lines.values()), best=best_cells(list(lines.values()), methods))


def _table3(rows: list[Row]) -> str:
    lines: dict[str, dict[str, Row]] = {"original": {}, "complement": {}}
    for row in rows:
        line = lines[row["block"]].setdefault(row["word"], {"word": row["word"], "listed": row["listed"]})
        line |= {f"{row['anchor']}, {source}": row[source] for source in ("ours", "paper")}
    numbers = [f"{anchor}, {source}" for anchor in ("man", "woman") for source in ("ours", "paper")]
    columns = ["word", "listed", *(Column(name, decimals=2) for name in numbers)]
    parts = [to_markdown(Table(f"Table 3, {block}", columns, list(lines[block].values()))) for block in lines]
    totals = agreement(rows, decimals=2)
    return "\n".join(
        [
            f"{totals['equal']} of {totals['compared']} cosines agree with the paper to two decimals; the largest "
            f"difference is {show_number(totals['largest_difference'], 3)}.",
            "",
            "<details>",
            "<summary>Table 3: cosines of occupations with <em>man</em> and <em>woman</em></summary>",
            "",
            "*Listed* says whether the word is among the five most biased words of each gender here, as in the paper.",
            "",
            *parts,
            "</details>",
        ]
    )


def _figure1(rows: list[Row]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = [f"| size | {' | '.join(methods)} |", "| ---: |" + " ---: |" * len(methods)]
    for size in dict.fromkeys(row["size"] for row in rows):
        found = {row["method"]: row for row in rows if row["size"] == size}
        best = max(row["mean"] for row in found.values())
        cells = []
        for method in methods:
            mean = f"{found[method]['mean']:.3f}"
            cells.append(f"{f'**{mean}**' if found[method]['mean'] == best else mean} ({found[method]['std']:.3f})")
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _word_counts(rows: list[Row]) -> str:
    lines = [
        ("words", "size", ""),
        ("mean τ on unseen words", "mean", ".2f"),
        ("its standard deviation over draws", "std", ".2f"),
    ]
    shown = [f"| {title} | {' | '.join(format(row[key], form) for row in rows)} |" for title, key, form in lines]
    return "\n".join([shown[0], "| --- |" + " ---: |" * len(rows), *shown[1:]])


def _erased_sentiment(rows: list[Row]) -> str:
    found = {"nothing": np.mean([row["before"] for row in rows])}
    found |= {row["remover"]: np.mean(row["after"]) for row in rows}
    return "\n".join(
        ["| erased | AUC |", "| --- | ---: |", *(f"| {name} | {auc:.2f} |" for name, auc in found.items())]
    )


def _weat(rows: list[Row]) -> str:
    lines = ["| test | words in the bundled vectors | ours | p | published |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        words, effect = f"{row['words']} of {row['words_total']}", f"{row['effect']:.2f}"
        number = row["number"]
        name = f"{number}, {WEAT_NAMES[number]}"
        lines.append(f"| {name} | {words} | {effect} | {row['p']:.2g} | {PUBLISHED_WEAT[number]:.2f} |")
    return "\n".join(lines)


def _probabilities(found: dict[str, Any]) -> str:
    lines = [
        "| seeds | Brier score | Brier score without the axis | log loss | calibration error |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for count in SEED_COUNTS:
        rows = [row for row in found["classes"] if (row["all"] if count is None else row["seeds"] == count)]
        mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
        lines.append(
            f"| {mean['seeds']:,.0f} | {mean['brier']:.3f} | {mean['brier_of_share']:.3f} | {mean['log_loss']:.2f} | "
            f"{mean['calibration_error']:.3f} |"
        )
    scores = found["scores"]
    return "\n".join(lines) + (
        "\n\nIn the concreteness lexicon, with a quarter of the ratings held out, the root mean square error of "
        "`expected_label`\n(explained below) is "
        f"{scores['error']:.2f}. The standard deviation of the ratings is {scores['spread']:.2f}."
    )


def main() -> None:
    """Measure what the command line names, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MEASURED)}; all by default")
    for name in parser.parse_args().names or MEASURED:
        started = perf_counter()
        found = MEASURED[name]()
        numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
        NUMBERS.write_text(json.dumps({**numbers, name: found}, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"{name}: {perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
