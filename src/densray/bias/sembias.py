"""SemBias: which of four word pairs is most like he – she? (Zhao et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from densray.bias.measurement import Measurement, proportion_interval, require_words, unit_rows
from densray.errors import CoverageError, TaskError
from densray.neighbors import at_unit_length
from densray.space import WordSpace

__all__ = ["PairChoice", "SemBiasQuestion", "pair_choice", "read_sembias"]


@dataclass(frozen=True)
class SemBiasQuestion:
    """Four pairs: one that defines the concept, one stereotype, two that have nothing to do with it."""

    definition: tuple[str, str]
    stereotype: tuple[str, str]
    others: tuple[tuple[str, str], ...]

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs: the definition, the stereotype, the others."""
        return (self.definition, self.stereotype, *self.others)


@dataclass(frozen=True)
class PairChoice(Measurement):
    """A SemBias result: the value is the share of questions answered by the stereotype.

    Attributes
    ----------
    definition, stereotype, other : float
        The shares of questions answered by each kind of pair.
    """

    definition: float = 0.0
    stereotype: float = 0.0
    other: float = 0.0


def read_sembias(path: str | Path) -> list[SemBiasQuestion]:
    """Return the questions of a SemBias file: four tab-separated ``first:second`` pairs a line.

    In the published file the definition comes first and the stereotype last.
    """
    questions = []
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        pairs = [tuple(part.split(":")) for part in line.split("\t") if part]
        if len(pairs) < 3 or any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise TaskError(f"{path}, line {number}: {line!r} is not a list of pairs such as 'he:she', tabs between.")
        first, *middle, last = [(pair[0], pair[1]) for pair in pairs]
        questions.append(SemBiasQuestion(first, last, tuple(middle)))
    if not questions:
        raise TaskError(f"{path} holds no question. Give four tab-separated pairs a line.")
    return questions


def pair_choice(
    space: WordSpace, questions: Iterable[SemBiasQuestion], poles: tuple[str, str] = ("he", "she")
) -> PairChoice:
    """Return which kind of pair is most like the pair of poles, by the cosine of their differences.

    Questions with a word that is not in the space are left out; their words are reported.

    Parameters
    ----------
    space : WordSpace
    questions : iterable of SemBiasQuestion
    poles : pair of str

    References
    ----------
    .. [1] J. Zhao, Y. Zhou, Z. Li, W. Wang and K.-W. Chang. Learning Gender-Neutral Word Embeddings. EMNLP 2018.
    """
    require_words(space, poles, what="poles")
    asked = list(questions)
    usable = [each for each in asked if all(word in space for pair in each.pairs for word in pair)]
    missing = space.absent(word for each in asked for pair in each.pairs for word in pair)
    if not usable:
        raise CoverageError(
            f"none of {len(asked)} questions has all its words in '{space.name}'. Check case and language."
        )
    direction = _differences(space, [poles])[0]
    picked = np.array([int(np.argmax(_differences(space, each.pairs) @ direction)) for each in usable])
    shares = [float(np.mean(picked == 0)), float(np.mean(picked == 1)), float(np.mean(picked > 1))]
    return PairChoice(
        name="SemBias stereotype",
        value=shares[1],
        interval=proportion_interval(shares[1], len(usable)),
        used=len(usable),
        missing=tuple(missing),
        definition=shares[0],
        stereotype=shares[1],
        other=shares[2],
    )


def _differences(space: WordSpace, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    first, second = (unit_rows(space, [pair[side] for pair in pairs]) for side in (0, 1))
    return at_unit_length(first - second)
