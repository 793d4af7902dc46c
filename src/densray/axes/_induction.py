"""Induction: every word of a space scored along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._conversions import as_pandas
from densray._files import atomic_write
from densray.axes._axis import Axis
from densray.axes._citation import cite_axis
from densray.axes._diagnosis import inputs_of
from densray.axes._uncertainty import Scores
from densray.axes._verdict import Verdict
from densray.errors import Argument, OutputError, TaskError
from densray.groups import GroupProposal, WordForms
from densray.report import Citation, Column, Input, Provenance, Result, Table, show_number, show_share
from densray.rows import sides_of
from densray.space import WordSpace, as_space

if TYPE_CHECKING:
    import polars

#: Functions that write an induced lexicon, by file extension.
WRITERS = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Induction(Result):
    """An induced lexicon: every word of a space with its score, in the order of the space.

    Attributes
    ----------
    method : str
        Name of the method that found the axis.
    n_words, n_seeds : int
    highest, lowest : lists of dict
        The words at the two ends.
    axis : Axis
    space : WordSpace
    scores : Scores
        Score, probability, likeness to the seeds and standard error of each word; also the expected label, if labels
        are scores.
    rank : array of int
        1 is the highest score; equal scores share a rank.
    labels : dict
        The labels of the seeds.
    verdict : Verdict or None
        How far the axis can be trusted: the grade of :func:`densray.axes.diagnose`, without its search for seeds that
        contradict the rest. None if the axis was saved without standard errors.
    even_odds : float or None
        The score at which the probability is one half. Neutral words have this score, which is not 0.
    citation : Citation or None
        A sentence for a methods section, and BibTeX.
    label_names : pair of str or None
        Names of the low and the high end.
    proposal : GroupProposal or None
        Seeds that should be held out together but were not.
    forms : WordForms or None
        Seeds that were held out together as forms of one word.
    """

    title = "Induced lexicon"
    tables_before_figures = 0  # the words of the tables are in the chart

    method: str
    n_words: int
    n_seeds: int | None
    highest: list[dict[str, Any]]
    lowest: list[dict[str, Any]]
    axis: Axis = field(repr=False, compare=False, metadata={"report": False})
    space: WordSpace = field(repr=False, compare=False, metadata={"report": False})
    scores: Scores = field(repr=False, metadata={"report": False})
    rank: NDArray[np.int64] = field(repr=False, metadata={"report": False})
    labels: dict[str, float] = field(repr=False, metadata={"report": False})
    verdict: Verdict | None = None
    even_odds: float | None = None
    citation: Citation | None = None
    label_names: tuple[str, str] | None = None
    proposal: GroupProposal | None = None
    forms: WordForms | None = None

    @property
    def percentile(self) -> NDArray[np.float64]:
        """The share of the vocabulary that scores as high or lower, in percent."""
        return np.asarray(100.0 * (self.n_words - self.rank + 1) / self.n_words)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame, the highest score first.

        Columns: word, score, rank, percentile. If the seeds are known, there are also: probability (of the higher
        class, or of a score above the median of the seeds; null for words unlike the seeds), like_seeds (from 0 for the
        average word to 1 for words as like the seeds as most seeds are), standard_error, expected_label (only if labels
        are scores; null if the probability is) and label (of the seeds; null for other words).
        """
        import polars

        columns: dict[str, Any] = {
            "word": list(self.words),
            "score": self.scores.score,
            "rank": self.rank,
            "percentile": self.percentile,
        }
        scores = self.scores.columns()
        for name in ("probability", "like_seeds", "standard_error", "expected_label"):
            if name in scores:
                columns[name] = scores[name]
        if self.labels:
            columns["label"] = polars.Series([self.labels.get(word) for word in self.words], dtype=polars.Float64)
        return polars.DataFrame(columns, nan_to_null=True).sort("rank", maintain_order=True)

    def explain_empty(self) -> str:
        """Return the reason why some words have no probability; empty if all have one, or if none has."""
        uncertainty = self.axis.uncertainty if self.scores.probability is not None else None
        return "" if uncertainty is None else uncertainty.explain_empty()

    def to_pandas(self) -> Any:
        """Return a pandas frame with the columns of :meth:`to_polars`."""
        return as_pandas(self.to_polars().to_dict(as_series=False))

    def __repr__(self) -> str:
        ends = [", ".join(row["word"] for row in end[:3]) for end in (self.highest, self.lowest)]
        seeds = "" if self.n_seeds is None else f", {self.n_seeds:,} seeds"
        extremes = f"; highest {ends[0]} …; lowest {ends[1]} …" if any(ends) else ""
        return f"Induction by {self.method}: {self.n_words:,} words{seeds}{extremes}"

    @property
    def words(self) -> Sequence[str]:
        """The words of the space."""
        return self.space.words

    def entries(self, rows: Sequence[int] | NDArray[np.int64], *, errors: bool = False) -> list[dict[str, Any]]:
        """Return scores, ranks and other results of the words in these rows of the space.

        With `errors`, standard errors and probabilities are computed for these words if they are not known yet.
        """
        locations = np.asarray(rows, dtype=np.int64)
        columns = {name: values[locations] for name, values in self.scores.columns().items()}
        if errors and self.scores.standard_error is None and len(locations):
            columns = {**self.axis.score(self.space.vectors_at(locations)).columns(), "score": columns["score"]}
        percentile = self.percentile
        entries = []
        for place, row in enumerate(locations.tolist()):
            entry: dict[str, Any] = {
                "word": self.words[row],
                "score": float(columns["score"][place]),
                "rank": int(self.rank[row]),
                "percentile": float(percentile[row]),
            }
            for name in ("probability", "like_seeds", "standard_error", "expected_label"):
                if name in columns:
                    value = float(columns[name][place])
                    entry[name] = value if np.isfinite(value) else None
            if self.labels:
                entry["label"] = self.labels.get(self.words[row])
            entries.append(entry)
        return entries

    def ends(self, n_words: int = 15, *, errors: bool = False) -> list[dict[str, Any]]:
        """Return `n_words` words of each end, the highest first; `errors` as for :meth:`entries`."""
        if n_words < 1:
            raise TaskError(Argument("n_words"), f" is {n_words}; it must be at least 1.")
        order = np.argsort(self.rank, kind="stable")
        rows = order if len(order) <= 2 * n_words else np.concatenate([order[:n_words], order[-n_words:]])
        return self.entries(rows, errors=errors)

    def lookup(self, words: Sequence[str], *, errors: bool = False) -> list[dict[str, Any]]:
        """Return scores, ranks and other results of words; words that are not in the space are left out."""
        located = self.space.locate(words)
        return self.entries(located[located >= 0], errors=errors)

    def seed_scores(self) -> dict[str, NDArray[np.float64]]:
        """Return the scores of the seeds with higher labels, and of those with lower labels (see `sides_of`)."""
        labels = np.array([self.labels.get(word, np.nan) for word in self.words])
        is_seed = ~np.isnan(labels)
        if not is_seed.any():
            return {}
        scores, sides = self.scores.score[is_seed], sides_of(labels[is_seed])
        return {"high seeds": scores[sides > 0], "low seeds": scores[sides < 0]}

    def with_ends(self, n_words: int) -> Induction:
        """Return the same lexicon with that number of words in `highest` and in `lowest`."""
        order = np.argsort(self.rank, kind="stable")
        return replace(self, highest=self.entries(order[:n_words]), lowest=self.entries(order[::-1][:n_words]))

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the lexicon as .csv, .tsv or .parquet, atomically; return the path."""
        path = Path(path)
        check_ending(path)
        frame = self.to_polars()
        with atomic_write(path, overwrite=overwrite) as partial:
            if path.suffix == ".parquet":
                frame.write_parquet(partial)
            else:
                frame.write_csv(partial, separator="\t" if path.suffix == ".tsv" else ",")
        return path

    def tables(self) -> list[Table]:
        """Return the two ends of the lexicon, with notes on scores and probabilities below."""
        columns = [Column("word"), Column("score", decimals=3), Column("standard_error", "±", decimals=3)]
        columns += [Column("probability", decimals=3, open_ends=True), Column("label", "seed label", grouped=False)]
        columns_shown = [column for column in columns if column.key in self.highest[0]]
        low, high = (f": {name}" for name in self.label_names) if self.label_names else ("", "")
        return [
            Table(f"Highest{high}", columns_shown, self.highest),
            Table(f"Lowest{low}", columns_shown, self.lowest, self._notes()),
        ]

    def text(self) -> str:
        """Return the verdict, and notes on seeds in another case, on the neutral score and on probabilities."""
        return "\n".join(filter(None, [self.lead(), *self._notes_on_scores()]))

    def lead(self) -> str:
        """Return the verdict, and a note on seeds in another case; the other notes are below the tables."""
        verdict = "" if self.verdict is None else self.verdict.sentence or self.verdict.line
        cased = "" if self.axis.rows is None else self.axis.rows.case_note
        return "\n".join(filter(None, [verdict, cased]))

    def _notes(self) -> list[str]:
        """Return the notes below the tables: on the scores, on seeds that are held out together, and a command."""
        notes = self._notes_on_scores()
        notes += [each.line for each in (self.forms, self.proposal) if each is not None]
        if self.verdict is not None and self.n_seeds is not None:
            notes.append("Run `densray diagnose` for a list of suspect seeds.")
        return notes

    def _notes_on_scores(self) -> list[str]:
        """Return notes on the neutral point and on probabilities."""
        notes = []
        if self.even_odds is not None:
            even = show_number(self.even_odds)
            notes.append(f"Scores are coordinates on the axis. 0 is not neutral: even odds lie at {even}.")
        reason = self.explain_empty()
        if reason and self.even_odds is not None:
            notes.append(f"{reason} {show_share(self.scores.share_given)} of the vocabulary has one.")
        elif reason:
            notes.append(reason)
        return notes


def check_ending(path: Path) -> None:
    """Raise if the extension of the file is not supported."""
    if path.suffix not in WRITERS:
        raise OutputError(f"{path}: the extension '{path.suffix}' is not supported. Use {', '.join(WRITERS)}.")


def induce_by(axis: Axis, space: WordSpace, *, n_ends: int = 10) -> Induction:
    """Return every word of a space scored along an axis, with errors and probabilities if the axis has them.

    `n_ends` is the number of words in `highest` and in `lowest`.
    """
    provenance = Provenance.begin(seed=axis.options.random_state if axis.rows is not None else None)
    induced = _rank(axis, space, axis.score(space), provenance)
    verdict = axis.verdict if axis.rows is None else axis.quick_verdict()
    citation = axis.citation if axis.rows is None else cite_axis(axis, verdict)
    return replace(induced, verdict=verdict, even_odds=axis.even_odds, citation=citation).with_ends(n_ends)


def rank_words(axis: Axis, space: WordSpace) -> Induction:
    """Return every word of a space ranked along an axis, without errors: fast for a space of any size."""
    space = as_space(space)
    coordinates = np.concatenate([axis.coordinates(block) for _, block in space.blocks()])
    return _rank(axis, space, Scores(coordinates.astype(np.float64)), Provenance.begin()).with_ends(10)


def _rank(axis: Axis, space: WordSpace, scores: Scores, provenance: Provenance) -> Induction:
    """Return the words of a space with their scores and ranks; verdict, even odds and ends are added by the caller."""
    from scipy.stats import rankdata

    rows = axis.rows
    inputs = [Input.of("space", space), Input("axis", axis.concept or axis.method)] if rows is None else inputs_of(rows)
    return Induction(
        method=axis.method,
        n_words=len(space),
        n_seeds=None if rows is None else len(rows),
        highest=[],
        lowest=[],
        axis=axis,
        space=space,
        scores=scores,
        rank=rankdata(-scores.score, method="min").astype(np.int64),
        labels={} if rows is None else dict(zip(rows.names, rows.y.tolist(), strict=True)),
        label_names=axis.label_names,
        proposal=None if rows is None else rows.proposal,
        forms=None if rows is None else rows.forms,
        provenance=provenance.finish(
            inputs=inputs,
            used=None if rows is None else len(rows),
            missing=() if rows is None else rows.missing,
            set_aside={} if rows is None else rows.set_aside,
            method=axis.method,
        ),
    )
