"""Spaces, lexicons, analogies and word lists by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray import lexicons
from densray._files import kind_of, say_kind
from densray._text_files import TextFile, read_pairs
from densray.analogies import AnalogySet
from densray.datasets._registry import existing_path, files_of, find_dataset, is_dataset, path_of
from densray.errors import Advice, Argument, DataError, shorten
from densray.lexicon import Lexicon
from densray.space import WordSpace, as_space


@dataclass(frozen=True)
class SimilaritySet:
    """Word pairs with human similarity ratings.

    Attributes
    ----------
    name : str
    pairs : tuple of (str, str)
    scores : array of float64, one per pair, read-only, on the scale of the set
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    scores: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"SimilaritySet '{self.name}': {len(self):,} pairs"

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class WordGroup:
    """A named list of words, and the words that its authors left out as too rare."""

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

    def __repr__(self) -> str:
        names = (self.first_target, self.second_target, self.first_attribute, self.second_attribute)
        return f"AssociationTest {self.number}: {', '.join(group.name for group in names)}"


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
    """Return pairs of words: a bundled list, or one read from a file.

    Parameters
    ----------
    name_or_path : str or path
        ``"gender-definitional"``, ``"gender-equalize"``, or a file of pairs: see `Lexicon.from_pairs`.

    Examples
    --------
    >>> load_pairs("gender-definitional")[0]
    ('woman', 'man')
    """
    if is_dataset(name_or_path):
        return [(first, second) for first, second in _read_rows(str(name_or_path), "pairs")[1:]]
    return read_pairs(existing_path(name_or_path, "pairs"))


def load_similarity(name_or_path: str | PathLike[str]) -> SimilaritySet:
    """Return word pairs with human similarity scores: a data set, or a file.

    Parameters
    ----------
    name_or_path : str or path
        ``"men"``, ``"rg-65"`` or ``"wordsim-353"``, which come with densray; ``"mturk-771"``, ``"rare-words"`` or
        ``"simlex-999"``, which `fetch` downloads; or a file with two words and a score per line, separated by spaces or
        tabs. A header and lines that begin with ``#`` are skipped.

    Examples
    --------
    >>> ratings = load_similarity("men")
    >>> len(ratings), ratings.pairs[0], float(ratings.scores[0])
    (2997, ('stairs', 'staircase'), 49.0)
    """
    if is_dataset(name_or_path):
        name = find_dataset(str(name_or_path), "similarity").name
        path = path_of(name)
    else:
        path = existing_path(name_or_path, "similarity")
        name = path.stem
    pairs: list[tuple[str, str]] = []
    scores = []
    file = TextFile(path, encoding="utf-8", error=DataError)
    for line in file.lines(comment="#"):
        try:
            first, second, score = line.text.split("\t") if line.text.count("\t") == 2 else line.text.split()
            scores.append(float(score))
        except ValueError:
            if line.number > 1:
                raise file.problem(f"{shorten(line.text)} is not two words and a score.", line=line.number) from None
            continue  # a header
        pairs.append((first, second))
    values = np.array(scores)
    values.flags.writeable = False
    return SimilaritySet(name, tuple(pairs), values)


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


def load_analogies(name_or_path: str | PathLike[str]) -> AnalogySet:
    """Return an analogy set: bundled, downloaded before, or read from a file or folder.

    Parameters
    ----------
    name_or_path : str or path
        ``"google"``, which comes with densray, ``"msr"``, ``"bats"``, or a file or folder that
        :meth:`densray.analogies.AnalogySet.read` reads.

    Returns
    -------
    AnalogySet

    Raises
    ------
    DataError
        Neither a data set nor a file, or a data set that is not on this machine.

    Examples
    --------
    >>> google = load_analogies("google")
    >>> len(google), google["family"].pairs[0].words
    (14, ('boy', 'girl'))
    """
    if is_dataset(name_or_path):
        name = find_dataset(str(name_or_path), "analogies").name
        return AnalogySet.read(path_of(name), name=name)
    return AnalogySet.read(existing_path(name_or_path, "analogies"))


_READERS: dict[str, Callable[[Sequence[Path]], Lexicon]] = {
    "bwk": lambda files: lexicons.read_concreteness(files[0]),
    "feel": lambda files: lexicons.read_feel(files[0]),
    "fullstrength": lambda files: lexicons.read_fullstrength(files[0]),
    "gender": lambda files: Lexicon.read(files[0]),
    "germanpc": lexicons.read_german_polarity_clues,
    "hu-liu": lambda files: lexicons.read_opinion_lexicon(files[0].parent),
    "mpqa": lambda files: lexicons.read_mpqa(files[0]),
    "nrc": lambda files: lexicons.read_nrc(files[0]),
    "semeval2015-e": lambda files: lexicons.read_semeval2015(files[0]),
    "sublex": lambda files: lexicons.read_sublex(files[0]),
    "us-occupation-shares": lambda files: Lexicon.read(files[0], neutral="keep"),
}


def load_lexicon(
    name_or_path: str | PathLike[str],
    *,
    word_column: str | int | None = None,
    label_column: str | int | None = None,
    group_column: str | int | None = None,
    label_names: tuple[str, str] | None = None,
    header: bool | None = None,
    conflicts: Literal["drop", "error", "mean"] = "drop",
) -> Lexicon:
    """Return a lexicon: bundled, downloaded before, or read from a file.

    Parameters
    ----------
    name_or_path : str or path
        The name of a data set, such as ``"hu-liu"`` or ``"gender"``; ``"whm"`` for the union of MPQA,
        Hu & Liu and NRC that the paper trains on; or a file that :meth:`densray.Lexicon.read` reads.
    word_column, label_column : str or int, optional
        For a file: columns of the words and labels, as names in the first line or positions from 0.
    group_column : str or int, optional
        For a file: column of the groups. Words of one group are held out together.
    label_names : pair of str, optional
        Names of the labels -1 and 1 in the file, such as ``("poor", "rich")``.
    header : bool, optional
        For a file: whether the first line names the columns (default: detected).
    conflicts : {"drop", "error", "mean"}
        How to treat a word with conflicting labels: leave it out, raise an error, or take the mean.

    Returns
    -------
    Lexicon
        In a published lexicon, words with conflicting entries and neutral words are dropped.

    Raises
    ------
    DataError
        Neither a data set nor a file, or a data set that is not on this machine.

    Examples
    --------
    >>> lexicon = load_lexicon("hu-liu")
    >>> lexicon["good"], lexicon["bad"]
    (1.0, -1.0)
    """
    if is_dataset(name_or_path):
        entry = find_dataset(str(name_or_path), "lexicon")
        if entry.parts:
            return Lexicon.union(*map(load_lexicon, entry.parts), name=entry.name.upper())
        return _READERS[entry.name](files_of(entry.name))
    path = existing_path(name_or_path, "lexicon")
    if kind_of(path) in ("axis", "space", "parquet", "foreign"):
        raise DataError(f"{path} is not a word list. {say_kind(path)}")
    return Lexicon.read(
        path,
        word_column=word_column,
        label_column=label_column,
        group_column=group_column,
        label_names=label_names,
        header=header,
        conflicts=conflicts,
    )


def load_space(
    name_or_path: Any,
    *,
    limit: int | None = None,
    words: Iterable[str] | None = None,
    normalize: bool = False,
) -> WordSpace:
    """Return a word space: bundled, downloaded before, read from a file, or made from gensim's vectors.

    Parameters
    ----------
    name_or_path : str, path or KeyedVectors
        The name of a data set, such as ``"googlenews-26k"``, a file in any format
        that :func:`densray.formats.read_space` reads, or an object that :func:`densray.space.as_space` accepts.
    limit : int, optional
        Read only the first `limit` words. In most files these are the most frequent.
    words : iterable of str, optional
        Read only these words (within `limit`), in the order of the file.
    normalize : bool
        Whether to scale the vectors to unit length.

    Returns
    -------
    WordSpace

    Raises
    ------
    DataError
        Neither a data set nor a file, or a data set that is not on this machine.

    Examples
    --------
    >>> space = load_space("googlenews-26k", words=["man", "woman", "actress"])
    >>> round(space.cosine("actress", "man"), 2), round(space.cosine("actress", "woman"), 2)
    (0.23, 0.46)
    """
    if not isinstance(name_or_path, str | PathLike):
        space = as_space(name_or_path)
        space = space if limit is None else space.limit(limit)
        space = space if words is None else space.subset(words, missing="drop")
    elif is_dataset(name_or_path):
        space = _load_dataset(str(name_or_path), limit, words)
    else:
        space = _read_file(name_or_path, limit, words)
    return space.normalized() if normalize else space


def _load_dataset(name: str, limit: int | None, words: Iterable[str] | None) -> WordSpace:
    entry = find_dataset(name, "space")
    if entry.embedded:
        return _load_embedded(name, limit, words)
    from densray.formats import read_space

    # published files are used unchanged: a repeated word or a broken row is left out, with a warning
    return read_space(path_of(name), limit=limit, words=words, name=name, bad_rows="skip")


def _load_embedded(name: str, limit: int | None, words: Iterable[str] | None) -> WordSpace:
    if limit is not None and limit < 1:
        raise DataError(Argument("limit"), f" is {limit}: give the number of words to read, 1 or more.")
    vector_file, word_file = files_of(name)
    vocabulary = word_file.read_text("utf-8").split("\n")[:-1][:limit]
    halves = np.load(vector_file, mmap_mode="r", allow_pickle=False)[: len(vocabulary)]
    if words is not None:
        selection = set(words)
        rows = [row for row, word in enumerate(vocabulary) if word in selection]
        vocabulary, halves = [vocabulary[row] for row in rows], halves[rows]
    return WordSpace(vocabulary, np.array(halves, dtype=np.float32), name=name)


def _refuse_lists_of_words(path: Path) -> None:
    """Raise if a table with lists of numbers names a column of words: its vectors should be columns."""
    from densray.formats._parquet import WORD_COLUMNS

    with path.open(encoding="utf-8", errors="replace") as stream:
        header = stream.readline().strip("\ufeff\n")
    names = [name.strip(" \"'").lower() for name in re.split(r"[,;\t]", header)]
    word = next((name for name in WORD_COLUMNS if name in names), None)
    if word is not None:
        raise DataError(
            f"{path} has a column '{word}' and lists of numbers in one column. A space of words in a text file has one "
            "column per dimension. Write it so, or as parquet, which may have lists.",
            Advice(python=" If it is a table of documents, open it with densray.tables.open_table."),
        )


def _read_file(path: str | PathLike[str], limit: int | None, words: Iterable[str] | None) -> WordSpace:
    existing = existing_path(path, "space")
    if kind_of(existing) == "table":
        _refuse_lists_of_words(existing)
        raise DataError(
            f"{existing} seems to be a table of documents with vectors, not a space of words.",
            Advice(
                " Name its column of labels: ",
                Argument("label_column", ...),
                ". Or name the model that embeds words for it: ",
                Argument("encoder", ...),
                ".",
                python=" Open it with densray.tables.open_table.",
            ),
        )
    if kind_of(existing) in ("axis", "lexicon", "workbook", "foreign"):
        raise DataError(f"{existing} is not a space. {say_kind(existing)}")
    from densray.formats import read_space

    return read_space(existing, limit=limit, words=words)
