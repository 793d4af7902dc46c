"""Word lists, pairs, association tests and word-similarity sets, as the package carries them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from densray.datasets._places import existing_path, path_of
from densray.datasets._registry import find_dataset, is_dataset
from densray.lexicons import read_pairs

__all__ = [
    "AssociationTest",
    "SimilaritySet",
    "WordGroup",
    "load_pairs",
    "load_similarity",
    "load_weat",
    "load_word_list",
]


@dataclass(frozen=True)
class SimilaritySet:
    """Word pairs and how similar people find them.

    Attributes
    ----------
    name : str
    pairs : tuple of (str, str)
    scores : array of float64, one per pair, read-only, on the scale of the set
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class WordGroup:
    """A named list of words, and the words its authors left out as too rare."""

    name: str
    words: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssociationTest:
    """One word-embedding association test: two target groups, two attribute groups."""

    number: int
    first_target: WordGroup
    second_target: WordGroup
    first_attribute: WordGroup
    second_attribute: WordGroup


def load_word_list(name: str) -> list[str]:
    """Return the words of a list, in its order.

    Parameters
    ----------
    name : {"occupations", "gender-specific", "gender-specific-seed"}

    Examples
    --------
    >>> occupations = load_word_list("occupations")
    >>> len(occupations), occupations[0]
    (320, 'accountant')
    """
    rows = _read_rows(name, "words")
    return [row[0] for row in (rows[1:] if len(rows[0]) > 1 else rows)]


def load_pairs(name_or_path: str | PathLike[str]) -> list[tuple[str, str]]:
    """Return pairs of words: a list the package carries, or one read from a file.

    Parameters
    ----------
    name_or_path : str or path
        ``"gender-definitional"``, ``"gender-equalize"``, or a file that :func:`densray.lexicons.read_pairs` reads.

    Examples
    --------
    >>> load_pairs("gender-definitional")[0]
    ('woman', 'man')
    """
    if is_dataset(name_or_path):
        return [(first, second) for first, second in _read_rows(str(name_or_path), "pairs")[1:]]
    return read_pairs(existing_path(name_or_path, "pairs"))


def load_similarity(name: str) -> SimilaritySet:
    """Return word pairs with human similarity scores.

    Parameters
    ----------
    name : {"men", "mturk-771", "rare-words", "rg-65", "simlex-999", "wordsim-353"}

    Examples
    --------
    >>> ratings = load_similarity("simlex-999")
    >>> len(ratings), ratings.pairs[0], float(ratings.scores[0])
    (999, ('old', 'new'), 1.58)
    """
    rows = _read_rows(name, "similarity")[1:]
    scores = np.array([float(score) for _, _, score in rows])
    scores.flags.writeable = False
    return SimilaritySet(name, tuple((first, second) for first, second, _ in rows), scores)


def load_weat() -> tuple[AssociationTest, ...]:
    """Return the ten tests of Caliskan et al. (2017), with the words the authors used and left out.

    Examples
    --------
    >>> test = load_weat()[5]
    >>> test.first_target.name, test.first_attribute.words[:2]
    ('Male names', ('executive', 'management'))
    """
    tests = json.loads(path_of("weat").read_text("utf-8"))
    return tuple(
        AssociationTest(
            test.pop("number"),
            *(WordGroup(group["name"], tuple(group["words"]), tuple(group["left_out"])) for group in test.values()),
        )
        for test in tests
    )


def _read_rows(name: str, kind: str) -> list[list[str]]:
    find_dataset(name, kind)
    return [line.split("\t") for line in path_of(name).read_text("utf-8").splitlines()]
