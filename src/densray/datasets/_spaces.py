"""Word spaces by name or from a file."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

import numpy as np

from densray.datasets._places import existing_path, files_of, path_of
from densray.datasets._registry import find_dataset, is_dataset
from densray.errors import DataError
from densray.file_kinds import kind_of, say_kind
from densray.space import WordSpace

__all__ = ["load_space"]


def load_space(
    name_or_path: str | PathLike[str],
    *,
    limit: int | None = None,
    words: Iterable[str] | None = None,
    normalize: bool = False,
) -> WordSpace:
    """Return a word space: one the package carries, one fetched before, or one read from a file.

    Parameters
    ----------
    name_or_path : str or path
        The name of a data set, such as ``"googlenews-26k"``, or a file in any format
        :func:`densray.formats.read_space` reads.
    limit : int, optional
        Only the first words, the most frequent ones in most files.
    words : iterable of str, optional
        Only these words, of those within `limit`, in the order of the file.
    normalize : bool
        Whether to scale the vectors to unit length; else they are as in the file.

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
    if is_dataset(name_or_path):
        space = _load_dataset(str(name_or_path), limit, words)
    else:
        space = _read_file(name_or_path, limit, words)
    return space.normalized() if normalize else space


def _load_dataset(name: str, limit: int | None, words: Iterable[str] | None) -> WordSpace:
    entry = find_dataset(name, "space")
    if entry.embedded:
        return _load_embedded(name, limit, words)
    from densray.formats import read_space

    # published files are as they are: a repeated word or a broken row is left out, with a warning
    return read_space(path_of(name), limit=limit, words=words, name=name, bad_rows="skip")


def _load_embedded(name: str, limit: int | None, words: Iterable[str] | None) -> WordSpace:
    if limit is not None and limit < 1:
        raise DataError(f"limit is {limit}: give the number of words to read, 1 or more.")
    vector_file, word_file = files_of(name)
    vocabulary = word_file.read_text("utf-8").split("\n")[:-1][:limit]
    halves = np.load(vector_file, mmap_mode="r", allow_pickle=False)[: len(vocabulary)]
    if words is not None:
        wanted = set(words)
        rows = [row for row, word in enumerate(vocabulary) if word in wanted]
        vocabulary, halves = [vocabulary[row] for row in rows], halves[rows]
    return WordSpace(vocabulary, np.array(halves, dtype=np.float32), name=name)


def _read_file(path: str | PathLike[str], limit: int | None, words: Iterable[str] | None) -> WordSpace:
    existing = existing_path(path, "space")
    if kind_of(existing) in ("axis", "lexicon"):
        raise DataError(f"{existing} is no space. {say_kind(existing)}")
    from densray.formats import read_space

    return read_space(existing, limit=limit, words=words)
