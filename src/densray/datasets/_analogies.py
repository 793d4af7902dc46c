"""Analogy sets by name or from a file."""

from __future__ import annotations

from os import PathLike

from densray.analogies import AnalogySet
from densray.datasets._places import existing_path, path_of
from densray.datasets._registry import find_dataset, is_dataset

__all__ = ["load_analogies"]


def load_analogies(name_or_path: str | PathLike[str]) -> AnalogySet:
    """Return an analogy set: one the package carries, one fetched before, or one read from a file or folder.

    Parameters
    ----------
    name_or_path : str or path
        ``"google"`` or ``"msr"``, which the package carries, ``"bats"``, or a file or folder that
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
