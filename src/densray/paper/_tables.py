"""Reproduce the tables and figures of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from densray.analogies import AnalogySet
from densray.analogy import AnalogyResult, CategoryResult, IntCos, LRCos, Solver, compare_solvers
from densray.analogy._result import weighted_mean
from densray.axes._lexicon_evaluation import LexiconInduction, check_methods, evaluate_induction
from densray.axes._protocol import PAPER_METHODS, Protocol
from densray.datasets import load_lexicon
from densray.errors import DataError
from densray.journal import Journal
from densray.lexicon import Lexicon
from densray.metrics import macro_mean
from densray.paper._published import DECIMALS, GROUPS, agreement, compare, published
from densray.progress import Progress, part_of
from densray.report import Column, Table, best_cells
from densray.space import WordSpace

if TYPE_CHECKING:
    from densray.debiasing._direction import AnchorGap
    from densray.space import WordSpace

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
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> list[dict[str, Any]]:
    """Recompute a published table on a space: for each cell our number, the paper's, and the pairs that are covered.

    Parameters
    ----------
    table : "table4", "table5" or "table6"
    space : WordSpace
        The paper uses the first 80,000 words.
    analogies : sequence of AnalogySet
        Named "google" or "bats".
    embedding : "GN" or "FT"
        The corresponding space of the paper.
    journal : Journal, optional
        Stores each solved category until the table is done; see `densray.journal`.

    Returns
    -------
    list of dict
        ``{block, category, column, pairs, pairs_total, ours, paper, difference}`` in the order of the paper; ``ours``
        is None if fewer than two pairs of a category are in the space. A group row is a mean over pairs. As in the
        paper, the macro rows count the group and micro rows as categories (see `densray.paper.published`).
    """
    reference = published(table)
    names = list(dict.fromkeys(row["column"] for row in reference if row["column"] not in _COSINES))
    solvers = _solvers(space)
    n_done, total = 0, sum(len(one.categories) for one in analogies)
    rows = []
    for one in analogies:
        block = f"{embedding}/{_SETS[one.name.lower()]}"
        cells = [row for row in reference if row["block"] == block]
        step = part_of(progress, n_done, n_done + len(one.categories), total)
        column_solvers = [solvers[name] for name in names]
        results = compare_solvers(space, one, column_solvers, protocol="paper", k=1, progress=step, journal=journal)
        n_done += len(one.categories)
        rows += _block_rows(block, dict(zip(names, results, strict=True)), cells)
    return compare(rows, reference)


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
        if line is not None:  # a set may contain only some categories
            rows.append({"block": block, "category": cell["category"], "column": cell["column"], **line})
    return rows


def _key(category: str) -> str:
    """Return the identifier of a category in every copy of BATS: its code; other names are unchanged."""
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
    """Return the mean over pairs, and the number of pairs behind it."""
    measured = [one for one in members if one.precision is not None]
    return {
        "pairs": sum(one.pairs for one in measured),
        "pairs_total": sum(one.pairs_total for one in members),
        "ours": weighted_mean(measured, lambda one: getattr(one, measure)),
    }


def analogy_tables(table: str, rows: Sequence[dict[str, Any]]) -> list[Table]:
    """Return compared rows laid out as in the paper, one table per block: ours, then the paper's; the best in bold."""
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
    columns_shown: list[Column | str] = ["category", Column("coverage", "pairs")]
    for column in columns:
        columns_shown.append(Column(column, _HEADINGS[column], decimals=2))
        columns_shown.append(Column(f"{column} paper", "paper", decimals=2))
    line_rows = list(lines.values())
    best = best_cells(line_rows, solved) | best_cells(line_rows, [f"{column} paper" for column in solved])
    best = frozenset(cell for cell in best if line_rows[cell[0]]["category"] != "Macro Std")
    totals = agreement(rows, decimals=DECIMALS[table])
    note = f"{totals['equal']} of {totals['compared']} cells agree with the paper to {DECIMALS[table]} decimals"
    full = [row for row in rows if row["pairs"] >= 0.95 * row["pairs_total"]]
    if full:
        near = sum(abs(row["difference"]) * row["pairs"] <= 2.5 for row in full if row["column"] in solved)
        n_cells = sum(row["column"] in solved for row in full)
        note += (
            f". Of {n_cells} precisions with at least 95% of their pairs, {near} are within two queries of the paper"
        )
    return Table(f"{table[:-1].capitalize()} {table[-1]}, {block}", columns_shown, line_rows, [f"{note}."], best)


ANCHORS = ("man", "woman")


def occupation_gaps(space: WordSpace | None = None) -> dict[str, AnchorGap]:
    """Return the cosine gaps of 320 occupations in the original space and in its complement.

    The gender axis comes from the pairs of the `family` section of the Google analogies (left 1, right -1) by
    DensRay with unit-length differences and balanced weights, over unit vectors.

    Parameters
    ----------
    space : WordSpace, optional
        Default: ``googlenews-26k``.
    """
    from densray.datasets import load_lexicon, load_space, load_word_list
    from densray.debiasing._direction import anchor_gap
    from densray.rotations import DensRay

    unit = (load_space("googlenews-26k") if space is None else space).normalized(zeros="keep")
    gender = load_lexicon("gender").align(unit, any_case=False, minimum=2, order="lexicon")
    rotation = DensRay(n_components=1, normalize_differences=True).fit(gender.X, gender.y)
    spaces = {"original": unit, "complement": unit.erased(rotation)}
    occupations = load_word_list("occupations")
    return {block: anchor_gap(each, occupations, ANCHORS) for block, each in spaces.items()}


def table3(gaps: dict[str, AnchorGap]) -> list[dict[str, Any]]:
    """Return our cosine for every published cell of table 3, and whether our list has the word too.

    Words of the paper that are not in the space have no number.
    """
    rows = []
    for cell in published("table3"):
        block, word, anchor = (cell[key] for key in ("block", "word", "anchor"))
        gap = gaps[block]
        place = gap.words.index(word) if word in gap.words else None
        ours = None if place is None else float(gap.cosines[place, ANCHORS.index(anchor)])
        rows.append({"block": block, "word": word, "anchor": anchor, "ours": ours, "listed": word in gap.extremes()})
    return rows


def figure2(gaps: dict[str, AnchorGap]) -> list[dict[str, Any]]:
    """Return one row per occupation and space, with its cosine to each anchor: the data of figure 2."""
    return [
        {"space": block, "word": word, ANCHORS[0]: float(first), ANCHORS[1]: float(second)}
        for block, gap in gaps.items()
        for word, (first, second) in zip(gap.words, gap.cosines, strict=True)
    ]


#: The bundled part of GoogleNews, used by default.
SLICE = "googlenews-26k"

#: The embeddings of table 1 and their sources.
EMBEDDINGS = {
    "CZ": "Czech vectors of Rothe, Ebert & Schütze 2016, or any other Czech space",
    "DE": "German vectors of Rothe, Ebert & Schütze 2016, or another German space (densray data fetch fasttext-de)",
    "ES": "Spanish vectors of Rothe, Ebert & Schütze 2016, or any other Spanish space",
    "FR": "frWac vectors of Fauconnier 2015, or another French space (densray data fetch fasttext-fr)",
    "EN": "GoogleNews (densray data fetch googlenews)",
    "EN(t)": "Twitter vectors of Rothe, Ebert & Schütze 2016, or any other space of English tweets",
}


@dataclass(frozen=True)
class PublishedLine:
    """A line of table 1: its printed cells, and the data sets behind it."""

    line: int
    task: str
    embedding: str
    train: str
    test: str
    lexicon: str
    gold: str | None = None  # None: held out from the training lexicon
    note: str = ""

    def cell(self, method: str) -> dict[str, Any]:
        """Return the keys of a published cell; the paper's DensRay is our "densray-unit"."""
        keys = ("line", "task", "embedding", "train", "test")
        return {key: getattr(self, key) for key in keys} | {"method": method.removesuffix("-unit")}


_MERGED = "trial and test words of SemEval-2015 together: their published file does not separate them"

LINES = (
    PublishedLine(1, "sent", "CZ", "SubLex", "SubLex", "sublex"),
    PublishedLine(2, "sent", "DE", "GermanPC", "GermanPC", "germanpc"),
    PublishedLine(3, "sent", "ES", "fullstrength", "fullstrength", "fullstrength"),
    PublishedLine(4, "sent", "FR", "FEEL", "FEEL", "feel"),
    PublishedLine(5, "sent", "EN", "WHM", "WHM", "whm"),
    PublishedLine(6, "sent", "EN(t)", "WHM", "SE Trial*", "whm", "semeval2015-e", _MERGED),
    PublishedLine(7, "sent", "EN(t)", "WHM", "SE Test*", "whm", "semeval2015-e", _MERGED),
    PublishedLine(8, "conc", "EN", "BWK*", "BWK*", "bwk"),
)

_MACRO = PublishedLine(9, "Macro Mean", "", "", "", "")


def table1(
    spaces: Mapping[str, WordSpace],
    *,
    methods: Sequence[str] = PAPER_METHODS,
    protocol: Protocol | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> list[dict[str, Any]]:
    """Return one row per line and method: our number, its interval, words used, coverage, and a note on differences.

    Parameters
    ----------
    spaces : mapping from an embedding of `EMBEDDINGS` to a space
        For lines whose embedding is missing, ``ours`` is None and the note tells where to get it.
    methods : sequence of str
        Default: the four methods of the paper; others have no published cell.
    protocol : Protocol, optional
    progress : callable, optional
        Called with the number of cells done and their total.
    journal : Journal, optional
        Stores the cells until the table is done; see `densray.journal`.
    """
    methods, protocol = check_methods(methods), protocol or Protocol.paper()
    unknown = [name for name in spaces if name not in EMBEDDINGS]
    if unknown:
        raise DataError(f"'{unknown[0]}' is not an embedding of table 1. Known: {', '.join(EMBEDDINGS)}.")
    by_line = {line: _lexicons(line, spaces.get(line.embedding)) for line in LINES}
    total = len(methods) * sum(not isinstance(lexicons, str) for lexicons in by_line.values())
    rows: list[dict[str, Any]] = []
    for line, lexicons in by_line.items():
        if isinstance(lexicons, str):
            rows += [_row(line, method, None, f"not computed: {lexicons}") for method in methods]
            continue
        space, n_done = spaces[line.embedding], sum(row["ours"] is not None for row in rows)
        step = part_of(progress, n_done, n_done + len(methods), total)
        result = evaluate_induction(
            space,
            lexicons[0],
            test=lexicons[1],
            methods=methods,
            protocol=protocol or Protocol.paper(),
            progress=step,
            journal=journal,
        )
        rows += [_row(line, method, result, _note(line, space)) for method in methods]
    return rows + _macro_rows(rows, methods)


def _lexicons(line: PublishedLine, space: WordSpace | None) -> tuple[Lexicon, Lexicon | None] | str:
    """Return the training and the test lexicon of a line, or why it cannot be computed."""
    if space is None:
        return f"needs --space '{line.embedding}=FILE', {EMBEDDINGS[line.embedding]}"
    try:
        return load_lexicon(line.lexicon), None if line.gold is None else load_lexicon(line.gold)
    except DataError as error:
        return str(error)


def _note(line: PublishedLine, space: WordSpace) -> str:
    stands_in = f"{len(space):,} words of GoogleNews, not the paper's vocabulary" if space.name == SLICE else ""
    return "; ".join(part for part in (stands_in, line.note) if part)


def _row(line: PublishedLine, method: str, result: LexiconInduction | None, note: str) -> dict[str, Any]:
    score = None if result is None else result.score(method)
    return {
        **line.cell(method),
        "n_training": None if result is None else result.n_training,
        "n_test": None if result is None else result.n_test,
        "coverage": None if result is None else result.coverage,
        "low": None if score is None else score.tau_low,
        "high": None if score is None else score.tau_high,
        "ours": None if score is None else score.tau,
        "note": note,
    }


def _macro_rows(rows: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> list[dict[str, Any]]:
    macro = []
    for method in methods:
        cell = _MACRO.cell(method)
        taus = {row["line"]: row["ours"] for row in rows if row["method"] == cell["method"]}
        absent = [str(line) for line, tau in taus.items() if tau is None]
        row = _row(_MACRO, method, None, f"not computed: lines {', '.join(absent)} are missing" if absent else "")
        macro.append(row if absent else row | {"ours": macro_mean(taus.values())})
    return macro
