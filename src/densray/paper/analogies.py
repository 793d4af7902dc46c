"""Tables 4, 5 and 6: set-based analogies, our cells beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from densray.analogies import AnalogySet
from densray.journal import Journal
from densray.paper.comparison import agreement, compare
from densray.paper.published import DECIMALS, GROUPS, published
from densray.report import Column, Table, best_cells
from densray.space import WordSpace
from densray.tasks.analogy import AnalogyResult, CategoryResult, IntCos, LRCos, Solver, compare_solvers
from densray.tasks.analogy.result import weighted_mean
from densray.tasks.steps import Advance, part_of

__all__ = ["analogy_tables", "reproduce_analogies"]

_COSINES = {"inter": "inter", "intraL": "intra_left", "intraR": "intra_right"}
_HEADINGS = {
    "inter": "Inter",
    "intraL": "IntraL",
    "intraR": "IntraR",
    "intcos-complement-densray": "compl. DensRay",
    "intcos-complement-svm": "compl. SVM",
    "intcos-original-densray": "orig. DensRay",
    "intcos-original-svm": "orig. SVM",
    "lrcos": "LRCos",
}
_SETS = {"google": "GA", "bats": "BATS"}


def reproduce_analogies(
    table: str,
    space: WordSpace,
    analogies: Sequence[AnalogySet],
    *,
    embedding: str = "GN",
    n_jobs: int | None = None,
    advance: Advance | None = None,
    journal: Journal | None = None,
) -> list[dict[str, Any]]:
    """Return the cells of a published table computed on a space, with pairs covered and the paper's number.

    Parameters
    ----------
    table : "table4", "table5" or "table6"
    space : WordSpace
        The paper takes the first 80,000 words.
    analogies : sequence of AnalogySet
        Named "google" or "bats".
    embedding : "GN" or "FT"
        Which of the paper's spaces this one stands for.
    journal : Journal, optional
        Keeps each solved category until the table is done; see `densray.journal`.

    Returns
    -------
    list of dict
        ``{block, category, column, pairs, pairs_total, ours, paper, difference}`` in the order of the paper; ``ours``
        is None where fewer than two pairs of a category are in the space. A group line is a mean over pairs; the macro
        lines count the group and micro lines among the categories, as the paper's do (see `densray.paper.published`).
    """
    wanted = published(table)
    names = list(dict.fromkeys(row["column"] for row in wanted if row["column"] not in _COSINES))
    solvers = _solvers(space)
    done, total = 0, sum(len(one.categories) for one in analogies)
    rows = []
    for one in analogies:
        block = f"{embedding}/{_SETS[one.name.lower()]}"
        cells = [row for row in wanted if row["block"] == block]
        step = part_of(advance, done, total)
        asked = [solvers[name] for name in names]
        results = compare_solvers(space, one, asked, k=1, n_jobs=n_jobs, advance=step, journal=journal)
        done += len(one.categories)
        rows += _block_rows(block, dict(zip(names, results, strict=True)), cells)
    return compare(rows, wanted)


def _solvers(space: WordSpace) -> dict[str, Solver]:
    return {
        "intcos-complement-densray": IntCos(space, cosine="complement"),
        "intcos-complement-svm": IntCos(space, rotation="svm", cosine="complement"),
        "intcos-original-densray": IntCos(space),
        "intcos-original-svm": IntCos(space, rotation="svm"),
        "lrcos": LRCos(space),
    }


def _block_rows(block: str, results: dict[str, AnalogyResult], cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return our rows for the cells of one block."""
    lines: dict[str, dict[str, Any]] = {}
    for column in dict.fromkeys(row["column"] for row in cells):
        result = results.get(column, next(iter(results.values())))
        lines[column] = _column_lines(result, _COSINES.get(column, "precision"))
    rows = []
    for cell in cells:
        line = lines[cell["column"]].get(_key(cell["category"]))
        if line is not None:  # a set may have been cut down to some categories
            rows.append({"block": block, "category": cell["category"], "column": cell["column"], **line})
    return rows


def _key(category: str) -> str:
    """Return what names a category in every copy of BATS: its code; other names are kept."""
    first = category.split(" ", maxsplit=1)[0]
    return first if "[" in category else category


def _column_lines(result: AnalogyResult, measure: str) -> dict[str, dict[str, Any]]:
    """Return each line of a column: categories, groups, micro and macro means."""
    lines = {_key(one.category): _line([one], measure) for one in result.categories}
    for group in GROUPS:
        members = [one for one in result.categories if one.group == group]
        if members:
            lines[group] = _line(members, measure)
    lines["Micro Mean"] = _line(result.categories, measure)
    above = [line["ours"] for line in lines.values() if line["ours"] is not None]
    for name, sum_up in (("Macro Mean", np.mean), ("Macro Std", np.std)):
        lines[name] = {**lines["Micro Mean"], "ours": float(sum_up(above)) if above else None}
    return lines


def _line(members: Sequence[CategoryResult], measure: str) -> dict[str, Any]:
    """Return the mean over pairs, and how many pairs of the set it stands on."""
    asked = [one for one in members if one.precision is not None]
    return {
        "pairs": sum(one.pairs for one in asked),
        "pairs_total": sum(one.pairs_total for one in members),
        "ours": weighted_mean(asked, lambda one: getattr(one, measure)),
    }


def analogy_tables(table: str, rows: Sequence[dict[str, Any]]) -> list[Table]:
    """Return compared rows laid out as in the paper, a table a block: ours, then the paper's; the best in bold."""
    return [
        _block_table(table, block, [row for row in rows if row["block"] == block])
        for block in dict.fromkeys(row["block"] for row in rows)
    ]


def _block_table(table: str, block: str, rows: Sequence[dict[str, Any]]) -> Table:
    lines: dict[str, dict[str, Any]] = {}
    rows = [row for row in rows if row["ours"] is not None]
    for row in rows:
        line = lines.setdefault(
            row["category"], {"category": row["category"], "coverage": f"{row['pairs']}/{row['pairs_total']}"}
        )
        line[row["column"]] = row["ours"]
        line[f"{row['column']} paper"] = row["paper"]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    solved = [column for column in columns if column not in _COSINES]
    shown: list[Column | str] = ["category", Column("coverage", "pairs")]
    for column in columns:
        shown.append(Column(column, _HEADINGS[column], decimals=2))
        shown.append(Column(f"{column} paper", "paper", decimals=2))
    listed = list(lines.values())
    best = best_cells(listed, solved) | best_cells(listed, [f"{column} paper" for column in solved])
    best = frozenset(cell for cell in best if listed[cell[0]]["category"] != "Macro Std")
    found = agreement(rows, decimals=DECIMALS[table])
    note = f"{found['equal']} of {found['compared']} cells equal the paper's to {DECIMALS[table]} decimals"
    full = [row for row in rows if row["pairs"] >= 0.95 * row["pairs_total"]]
    if full:
        near = sum(abs(row["difference"]) * row["pairs"] <= 2.5 for row in full if row["column"] in solved)
        asked = sum(row["column"] in solved for row in full)
        note += f"; {near} of the {asked} precisions with 95 % of their pairs covered are within two queries of it"
    return Table(f"{table[:-1].capitalize()} {table[-1]}, {block}", shown, listed, [f"{note}."], best)
