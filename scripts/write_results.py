"""Writes docs/results.md: the published tables computed on the embedded space, every number by the library.

Run it as ``python scripts/write_results.py``; lexicons and BATS are looked for as everywhere (``DENSRAY_DATA``).
"""

from __future__ import annotations

from pathlib import Path

from densray import WordSpace, load_space
from densray.axes._protocol import PAPER_METHODS
from densray.datasets import load_analogies
from densray.paper import compare, comparison_table, published
from densray.paper._tables import analogy_tables, occupation_gaps, reproduce_analogies, table1, table3
from densray.report import Column, Table, best_cells, to_markdown

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
METHODS = (*PAPER_METHODS, "mean-difference", "ridge")

HEAD = """# Results

The published tables on `googlenews-26k`, computed by the library and written by `scripts/write_results.py`. It is a
slice of the paper's vocabulary, so coverage differs and cells with it; the number of pairs or words beside each says
how far. On the full vectors the same commands take `--space`. {doc}`protocol` says what was run.
"""

LEXICONS = """## Lexicon induction

Kendall's τ on held-out words, as in table 1 of the paper (`densray reproduce table1`), for the lines whose vectors
are in part at hand. Behind our numbers: the published ones, on the paper's vocabulary. `mean-difference` and `ridge`
are not in the paper. {doc}`lexicon_induction` has more, with intervals.
"""

REMOVAL = """## Gender removed

Table 3: cosines of the occupations to *man* and *woman* (`densray reproduce table3`); *listed* says whether a word is
among our own five and five.
"""

ANALOGIES = """## Analogies

Precision of IntCos and LRCos by category, as in tables 5 (cosine in the complement) and 6 (original space) of the
paper; *Inter*, *IntraL* and *IntraR* are mean cosines. The best of a line is bold.
"""


def induction_table(space: WordSpace) -> Table:
    """Return the lines of table 1 that the embedded space can answer, a column a method."""
    rows = compare(table1({"EN": space}, methods=METHODS), published("table1"))
    lines: dict[int, dict[str, object]] = {}
    for row in rows:
        if row["ours"] is None:
            continue
        words = f"{row['n_training']:,} / {row['n_test']:,}"
        line = lines.setdefault(row["line"], {"line": row["line"], "lexicon": row["train"], "words": words})
        line[row["method"]] = row["ours"]
        line[f"{row['method']} paper"] = row["paper"]
    methods = [name.removesuffix("-unit") for name in METHODS]
    columns: list[Column | str] = ["line", "lexicon", Column("words", "training / test words")]
    for method in methods:
        columns.append(Column(method, decimals=3))
        if method in PAPER_METHODS or method == "densray":
            columns.append(Column(f"{method} paper", "paper", decimals=3))
    return Table("", columns, list(lines.values()), best=best_cells(list(lines.values()), methods))


def removal_table(space: WordSpace) -> Table:
    """Return table 3, ours beside the paper's."""
    return comparison_table("table3", compare(table3(occupation_gaps(space)), published("table3")))


def main() -> None:
    """Write the page."""
    space = load_space("googlenews-26k")
    sets = [load_analogies("google"), load_analogies("bats")]
    parts = [HEAD, LEXICONS, to_markdown(induction_table(space)), REMOVAL, to_markdown(removal_table(space)), ANALOGIES]
    for table in ("table5", "table6"):
        parts += [to_markdown(block) for block in analogy_tables(table, reproduce_analogies(table, space, sets))]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
