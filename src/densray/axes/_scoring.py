"""Scoring a vocabulary: the induced lexicon, and how to look words up in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from densray._arrays import is_dask
from densray._files import atomic_write
from densray._threads import Progress
from densray._vocabulary import Vocabulary
from densray.alignment import Alignment, GroupProposal, sides_of
from densray.axes._diagnosis import Verdict, judge
from densray.axes._evidence import reliability
from densray.axes._model import AxisModel, WordScores
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions, find_seeds, fit_rotation
from densray.axes._resampling import HELD_OUT_INFLATION, draw_folds, held_out_scores
from densray.errors import OutputError, TaskError
from densray.lexicon import Lexicon
from densray.metrics import auc, auc_interval
from densray.report import Column, Input, Provenance, Result, Table, show_number, show_share
from densray.rotations import Rotation, name_method
from densray.space import WordSpace

if TYPE_CHECKING:
    import polars

#: The files an induced lexicon can be written to, by ending.
WRITERS = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Induction(Result):
    """An induced lexicon: every word of a space with its score, in the order of the space.

    Attributes
    ----------
    method : str
        How the axis was found.
    n_words, n_seeds : int
    highest, lowest : lists of dict
        The words at the two ends.
    words : sequence of str
    scores : WordScores
        Coordinate, probability, likeness to the seeds, standard error and, for lexicons of scores, expected label of
        each word.
    rank : array of int
        1 is the highest score; equal scores share a rank.
    labels : dict
        The labels of the seeds.
    verdict : Verdict or None
        How far the axis can be trusted; without the permutation test that :func:`densray.axes.diagnose`
        makes. None where the axis is all that is known.
    even_odds : float or None
        The score at which the probability is one half: where neutral words lie, which is not at 0.
    label_names : pair of str or None
        What the low and the high end are called.
    proposal : GroupProposal or None
        Seeds that should be held out together and were not.
    """

    title = "Induced lexicon"

    method: str
    n_words: int
    n_seeds: int | None
    highest: list[dict[str, Any]]
    lowest: list[dict[str, Any]]
    words: Any = field(repr=False, metadata={"report": False})
    scores: WordScores = field(repr=False, metadata={"report": False})
    rank: NDArray[np.int64] = field(repr=False, metadata={"report": False})
    labels: dict[str, float] = field(repr=False, metadata={"report": False})
    verdict: Verdict | None = None
    even_odds: float | None = None
    label_names: tuple[str, str] | None = None
    proposal: GroupProposal | None = None

    @property
    def percentile(self) -> NDArray[np.float64]:
        """The share of the vocabulary that scores as high or lower, in percent."""
        return np.asarray(100.0 * (self.n_words - self.rank + 1) / self.n_words)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame, the highest score first.

        Columns: word, score, rank, percentile; with seeds also probability (of the higher class, or of a score above
        the seeds' median, among words like the seeds; drawn to the share of that class for others), like_seeds (1: as
        like the seeds as most of them, 0: as the average word), standard_error, expected_label (lexicons of scores
        only) and label (of the seeds themselves, empty elsewhere).
        """
        import polars

        columns: dict[str, Any] = {
            "word": list(self.words),
            "score": self.scores.score,
            "rank": self.rank,
            "percentile": self.percentile,
        }
        for name in ("probability", "like_seeds", "standard_error", "expected_label"):
            if getattr(self.scores, name) is not None:
                columns[name] = getattr(self.scores, name)
        if self.labels:
            columns["label"] = polars.Series([self.labels.get(word) for word in self.words], dtype=polars.Float64)
        return polars.DataFrame(columns).sort("rank", maintain_order=True)

    def entries(self, rows: Sequence[int], *, known: WordScores | None = None) -> list[dict[str, Any]]:
        """Return what is known of the words in these rows: score, rank, percentile, and with seeds more.

        `known` are the scores of these very rows by a model with errors, where the lexicon has none.
        """
        scores = self.scores if known is None else known
        places = rows if known is None else range(len(rows))
        percentile = self.percentile
        entries = []
        for row, place in zip(rows, places, strict=True):
            entry: dict[str, Any] = {
                "word": self.words[row],
                "score": float(self.scores.score[row]),
                "rank": int(self.rank[row]),
                "percentile": float(percentile[row]),
            }
            for name in ("probability", "like_seeds", "standard_error", "expected_label"):
                values = getattr(scores, name)
                if values is not None:
                    entry[name] = float(values[place])
            if self.labels:
                entry["label"] = self.labels.get(self.words[row])
            entries.append(entry)
        return entries

    def ends(
        self, n_words: int = 15, *, space: WordSpace | None = None, model: AxisModel | None = None
    ) -> list[dict[str, Any]]:
        """Return the words at the two ends, so many of each, the highest first.

        A `model` of the same axis and the `space` give errors and probabilities, found for the words returned alone.
        """
        if n_words < 1:
            raise TaskError(f"n_words is {n_words}; it must be at least 1.")
        order = np.argsort(self.rank, kind="stable")
        rows = order if len(order) <= 2 * n_words else np.concatenate([order[:n_words], order[-n_words:]])
        return self.entries(rows.tolist(), known=_score_rows(space, model, rows))

    def lookup(
        self, words: Sequence[str], *, space: WordSpace | None = None, model: AxisModel | None = None
    ) -> list[dict[str, Any]]:
        """Return where words stand; those that are not in the space are left out. `space`, `model`: as for `ends`."""
        vocabulary = Vocabulary(self.words) if space is None else space
        located = vocabulary.locate(words)
        rows = located[located >= 0]
        return self.entries(rows.tolist(), known=_score_rows(space, model, rows))

    def seed_scores(self) -> dict[str, NDArray[np.float64]]:
        """Return the scores of the seeds, those of the higher labels and those of the lower (see `sides_of`)."""
        labels = np.array([self.labels.get(word, np.nan) for word in self.words])
        known = ~np.isnan(labels)
        if not known.any():
            return {}
        scores, sides = self.scores.score[known], sides_of(labels[known])
        return {"high seeds": scores[sides > 0], "low seeds": scores[sides < 0]}

    def with_ends(self, n_words: int) -> Induction:
        """Return the same lexicon with so many words of each end in `highest` and `lowest`."""
        order = np.argsort(self.rank, kind="stable")
        ends = order[:n_words].tolist(), order[::-1][:n_words].tolist()
        return replace(self, highest=self.entries(ends[0]), lowest=self.entries(ends[1]))

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the lexicon as .csv, .tsv or .parquet; the file appears whole or not at all."""
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
        """Return the two ends of the lexicon."""
        columns = [Column("word"), Column("score", decimals=3), Column("standard_error", "±", decimals=3)]
        columns += [Column("probability", decimals=3, open_ends=True), Column("label", "seed label")]
        shown = [column for column in columns if column.key in self.highest[0]]
        low, high = (f": {name}" for name in self.label_names) if self.label_names else ("", "")
        return [Table(f"Highest{high}", shown, self.highest), Table(f"Lowest{low}", shown, self.lowest)]

    def text(self) -> str:
        """Return the verdict, and what a score of 0 is not."""
        said = [] if self.verdict is None else [self.verdict.sentence or self.verdict.line]
        if self.verdict is not None and self.n_seeds is not None:
            said.append("Without a permutation test: diagnose makes one, and names the seeds to look at.")
        if self.scores.like_seeds is not None:
            alike = float(np.mean(self.scores.like_seeds >= 1.0))
            others = (
                " For others they are drawn towards the share of the higher class (like_seeds)." if alike < 1.0 else ""
            )
            said.append(f"Probabilities hold for words like the seeds: {show_share(alike)} of the vocabulary.{others}")
        if self.even_odds is not None:
            said.append(
                f"Scores are coordinates on the axis; 0 is not neutral: even odds lie at {show_number(self.even_odds)}."
            )
        if self.proposal is not None:
            said.append(self.proposal.line)
        return "\n".join(said)


def check_ending(path: Path) -> None:
    """Raise if the file's ending names no kind of file that can be written."""
    if path.suffix not in WRITERS:
        raise OutputError(f"{path}: the ending '{path.suffix}' names no table. Use {', '.join(WRITERS)}.")


def induce(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    method: str | Rotation = "auto",
    options: AxisOptions = DEFAULTS,
    progress: Progress | None = None,
    **choices: Unpack[AxisChoices],
) -> Induction:
    """Return every word of a space with its score, its error and its calibrated probability.

    Parameters
    ----------
    space : WordSpace
        May be larger than memory: it is read in blocks. For a Dask dataframe there is
        :func:`densray.axes.induce_frame`.
    lexicon : Lexicon
        The seeds.
    method : str or rotation, default="auto"
        The name of a method, or a rotation; a fitted one is used as it is, and the lexicon gives errors and
        calibration.
    options : AxisOptions, optional
    progress : callable, optional
        Called with the fits done and their number.
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name, such as ``any_case=True`` or ``folds=5``.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import Lexicon, WordSpace
    >>> angles = np.linspace(0, np.pi, 9)
    >>> space = WordSpace(list("abcdefghi"), np.column_stack([np.cos(angles), np.sin(angles)]))
    >>> induced = induce(space, Lexicon({"a": 1, "b": 1, "h": -1, "i": -1}), method="mean-difference")
    >>> "".join(induced.to_polars()["word"])
    'abcdefghi'
    """
    if is_dask(space):
        raise TaskError(
            f"a {type(space).__module__.partition('.')[0]} {type(space).__name__} is given, a WordSpace is needed. "
            "Use densray.axes.induce_frame, which scores the words of a Dask dataframe."
        )
    options = options.changed(**choices)
    provenance = Provenance.begin(seed=options.random_state)
    seeds = find_seeds(space, lexicon, options)
    rotation = fit_rotation(method, seeds, scale=options.scale)
    held_out = held_out_scores(rotation, seeds, draw_folds(seeds, options))[:, 0]
    model = AxisModel.of(rotation, seeds, space, options, held_out=held_out, progress=progress)
    induced = score_vocabulary(
        space,
        model,
        method=name_method(method),
        seeds=seeds,
        label_names=options.label_names,
        provenance=provenance,
        inputs=[Input.of("space", space), Input.of("lexicon", lexicon)],
    )
    return replace(induced, verdict=_judge(induced.scores, model, seeds, held_out), proposal=seeds.proposal)


def score_vocabulary(
    space: WordSpace,
    model: AxisModel,
    *,
    method: str,
    seeds: Alignment | None = None,
    verdict: Verdict | None = None,
    label_names: tuple[str, str] | None = None,
    provenance: Provenance | None = None,
    inputs: list[Input] | None = None,
) -> Induction:
    """Return every word of a space scored by an axis whose errors and calibration are known."""
    from scipy.stats import rankdata

    provenance = provenance or Provenance.begin()
    scores = _join([model.score(vectors) for _, vectors in space.blocks()])
    rank = rankdata(-scores.score, method="min").astype(np.int64)
    labels = {} if seeds is None else dict(zip(seeds.words, seeds.y.tolist(), strict=True))
    induced = Induction(
        method=method,
        n_words=len(space),
        n_seeds=None if seeds is None else seeds.n_words,
        highest=[],
        lowest=[],
        words=space.words,
        scores=scores,
        rank=rank,
        labels=labels,
        verdict=verdict,
        even_odds=model.even_odds,
        label_names=label_names,
        provenance=provenance.finish(
            inputs=inputs or [Input.of("space", space)],
            used=None if seeds is None else seeds.n_words,
            missing=() if seeds is None else seeds.missing,
            set_aside={} if seeds is None else seeds.set_aside,
            method=method,
        ),
    )
    return induced.with_ends(10)


def _judge(scores: WordScores, model: AxisModel, seeds: Alignment, held_out: NDArray[np.float64]) -> Verdict:
    """Return the verdict that what was computed anyway allows: without a permutation test."""
    interval = auc_interval(seeds.sides, held_out, inflation=HELD_OUT_INFLATION, groups=seeds.groups)
    assert scores.standard_error is not None
    assert model.errors is not None
    return judge(
        auc=auc(seeds.sides, held_out),
        auc_low=interval.low,
        auc_high=interval.high,
        p_value=None,
        reliability=reliability(scores.score, scores.standard_error),
        seed_angle=model.errors.seed_angle.upper,
        n_high=int(np.sum(seeds.sides > 0)),
        n_low=int(np.sum(seeds.sides < 0)),
    )


def _join(blocks: list[WordScores]) -> WordScores:
    def column(name: str) -> Any:
        parts = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    return WordScores(
        *(column(name) for name in ("score", "probability", "standard_error", "expected_label", "like_seeds"))
    )


def _score_rows(space: WordSpace | None, model: AxisModel | None, rows: NDArray[np.int64]) -> WordScores | None:
    if space is None or model is None or not len(rows):
        return None
    return model.score(np.asarray(space.vectors[rows]))
