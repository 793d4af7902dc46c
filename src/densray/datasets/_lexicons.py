"""Lexicons by name or from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from densray import lexicons
from densray.datasets._places import existing_path, files_of
from densray.datasets._registry import find_dataset, is_dataset
from densray.errors import DataError
from densray.file_kinds import kind_of, say_kind
from densray.lexicon import Lexicon

__all__ = ["load_lexicon"]

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
    label_names: tuple[str, str] | None = None,
) -> Lexicon:
    """Return a lexicon: one the package carries, one fetched before, or one read from a file.

    Parameters
    ----------
    name_or_path : str or path
        The name of a data set, such as ``"hu-liu"`` or ``"gender"``; ``"whm"`` for the union of MPQA,
        Hu & Liu and NRC that the paper trains on; or a file that :meth:`densray.Lexicon.read` reads.
    word_column, label_column : str or int, optional
        Where a file has its words and labels: names of its first line, or places from 0; of no use with a data set.
    label_names : pair of str, optional
        What a file calls -1 and 1, such as ``("poor", "rich")``.

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
    if kind_of(path) in ("axis", "space", "parquet"):
        raise DataError(f"{path} is no word list. {say_kind(path)}")
    return Lexicon.read(path, word_column=word_column, label_column=label_column, label_names=label_names)
