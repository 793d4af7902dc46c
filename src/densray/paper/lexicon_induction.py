"""Table 1 and figure 1 of the paper on the spaces at hand; what is not at hand is said, and where to get it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from densray.datasets import load_lexicon
from densray.errors import DataError
from densray.journal import Journal
from densray.lexicon import Lexicon
from densray.metrics import macro_mean
from densray.space import WordSpace
from densray.tasks.lexicon_induction import LexiconInduction, check_methods, evaluate_induction
from densray.tasks.protocol import PAPER_METHODS, Protocol
from densray.tasks.steps import Advance, part_of

__all__ = ["EMBEDDINGS", "LINES", "SLICE", "Line", "table1"]

#: The embedded part of GoogleNews, which stands in for it where a user gives nothing else.
SLICE = "googlenews-26k"

#: The embeddings of table 1, and where they come from.
EMBEDDINGS = {
    "CZ": "Czech vectors of Rothe, Ebert & Schütze 2016, or any other Czech space",
    "DE": "German vectors of Rothe, Ebert & Schütze 2016, or another German space (densray data fetch fasttext-de)",
    "ES": "Spanish vectors of Rothe, Ebert & Schütze 2016, or any other Spanish space",
    "FR": "frWac vectors of Fauconnier 2015, or another French space (densray data fetch fasttext-fr)",
    "EN": "GoogleNews (densray data fetch googlenews)",
    "EN(t)": "Twitter vectors of Rothe, Ebert & Schütze 2016, or any other space of English tweets",
}


@dataclass(frozen=True)
class Line:
    """A line of table 1: as printed, and the data sets behind it."""

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


_MERGED = "trial and test words of SemEval-2015 together: their published file does not part them"

LINES = (
    Line(1, "sent", "CZ", "SubLex", "SubLex", "sublex"),
    Line(2, "sent", "DE", "GermanPC", "GermanPC", "germanpc"),
    Line(3, "sent", "ES", "fullstrength", "fullstrength", "fullstrength"),
    Line(4, "sent", "FR", "FEEL", "FEEL", "feel"),
    Line(5, "sent", "EN", "WHM", "WHM", "whm"),
    Line(6, "sent", "EN(t)", "WHM", "SE Trial*", "whm", "semeval2015-e", _MERGED),
    Line(7, "sent", "EN(t)", "WHM", "SE Test*", "whm", "semeval2015-e", _MERGED),
    Line(8, "conc", "EN", "BWK*", "BWK*", "bwk"),
)

_MACRO = Line(9, "Macro Mean", "", "", "", "")


def table1(
    spaces: Mapping[str, WordSpace],
    *,
    methods: Sequence[str] = PAPER_METHODS,
    protocol: Protocol | None = None,
    advance: Advance | None = None,
    journal: Journal | None = None,
) -> list[dict[str, Any]]:
    """Return one row a line and method: ours, its interval, words used, coverage, and a note on what differs.

    Parameters
    ----------
    spaces : mapping from an embedding of `EMBEDDINGS` to a space
        Lines whose embedding is not among them have ``ours`` None and say where to get it.
    methods : sequence of str
        The paper's four by default; others have no published cell.
    protocol : Protocol, optional
    advance : callable, optional
        Told how many cells are done, and of how many.
    journal : Journal, optional
        Keeps the cells until the table is done; see `densray.journal`.
    """
    methods = check_methods(methods)
    unknown = [name for name in spaces if name not in EMBEDDINGS]
    if unknown:
        raise DataError(f"'{unknown[0]}' is no embedding of table 1. Known: {', '.join(EMBEDDINGS)}.")
    found = {line: _lexicons(line, spaces.get(line.embedding)) for line in LINES}
    total = len(methods) * sum(not isinstance(lexicons, str) for lexicons in found.values())
    rows: list[dict[str, Any]] = []
    for line, lexicons in found.items():
        if isinstance(lexicons, str):
            rows += [_row(line, method, None, f"not computed: {lexicons}") for method in methods]
            continue
        space, done = spaces[line.embedding], sum(row["ours"] is not None for row in rows)
        step = part_of(advance, done, total)
        result = evaluate_induction(
            space, lexicons[0], test=lexicons[1], methods=methods, protocol=protocol, advance=step, journal=journal
        )
        rows += [_row(line, method, result, _note(line, space)) for method in methods]
    return rows + _macro_rows(rows, methods)


def _lexicons(line: Line, space: WordSpace | None) -> tuple[Lexicon, Lexicon | None] | str:
    """Return the training and the test lexicon of a line, or why it cannot be computed."""
    if space is None:
        return f"needs --space '{line.embedding}=FILE', {EMBEDDINGS[line.embedding]}"
    try:
        return load_lexicon(line.lexicon), None if line.gold is None else load_lexicon(line.gold)
    except DataError as error:
        return str(error)


def _note(line: Line, space: WordSpace) -> str:
    stands_in = f"{len(space):,} words of GoogleNews, not the paper's vocabulary" if space.name == SLICE else ""
    return "; ".join(part for part in (stands_in, line.note) if part)


def _row(line: Line, method: str, result: LexiconInduction | None, note: str) -> dict[str, Any]:
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
    found = []
    for method in methods:
        cell = _MACRO.cell(method)
        taus = {row["line"]: row["ours"] for row in rows if row["method"] == cell["method"]}
        absent = [str(line) for line, tau in taus.items() if tau is None]
        row = _row(_MACRO, method, None, f"not computed: lines {', '.join(absent)} are missing" if absent else "")
        found.append(row if absent else row | {"ours": macro_mean(taus.values())})
    return found
