"""Every error densray raises on bad input: what was given, what is needed, what to do.

All of them are :class:`DensRayError`, which is a ``ValueError``: one ``except`` catches the family, and code
written for scikit-learn keeps working.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError

__all__ = [
    "AnalogyError",
    "CoverageError",
    "DataError",
    "DensRayError",
    "DeviceMemoryError",
    "FormatError",
    "LabelError",
    "LexiconError",
    "MissingExtraError",
    "NotAdditiveError",
    "OutputError",
    "PersistenceError",
    "RotationNotFittedError",
    "SignalWarning",
    "SpaceError",
    "TaskError",
    "UnknownWordError",
    "VectorError",
    "VectorTypeError",
    "load_extra",
    "name_some",
    "shorten",
    "suggest",
]


#: An argument as messages of the library name it: ``name=value``, or the name alone where it has a low line.
ARGUMENT = re.compile(
    r"(?<![\w.])(?:(?P<name>[a-z][a-z_]*)=(?P<value>'[^']*'|\([^()]*\)|[\w…]+(?:[.-][\w…]+)*)?|(?P<alone>[a-z]+(?:_[a-z]+)+))"
    r"(?![\w=])"
)


class DensRayError(ValueError):
    """The root of every error densray raises on bad input."""


class VectorError(DensRayError):
    """Vectors that cannot be used: NaN, infinite, zero, of the wrong width or too few."""


class DeviceMemoryError(VectorError):
    """A device has too little memory, even for a few rows at a time."""


class VectorTypeError(VectorError, TypeError):
    """Vectors of a type that cannot be used, such as sparse ones; also a ``TypeError``, as scikit-learn raises."""


class LabelError(DensRayError):
    """Labels that cannot be used: one class, constant scores, another length, too many classes."""


if TYPE_CHECKING:

    class RotationNotFittedError(DensRayError, NotFittedError):
        """A rotation was used before ``fit``."""


def __getattr__(name: str) -> Any:
    """Make the one class with a base in scikit-learn when it is asked for: lists and paths need no scikit-learn."""
    if name == "RotationNotFittedError":
        return _not_fitted_error()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@cache
def _not_fitted_error() -> type[DensRayError]:
    from sklearn.exceptions import NotFittedError

    documented = {"__doc__": "A rotation was used before ``fit``.", "__module__": __name__}
    return type("RotationNotFittedError", (DensRayError, NotFittedError), documented)


class NotAdditiveError(DensRayError, AttributeError):
    """A form whose statistics do not add up over blocks was asked to update or merge."""


class PersistenceError(DensRayError):
    """A saved rotation that cannot be trusted: wrong version, shape, digest or a matrix that does not rotate."""


class SpaceError(DensRayError):
    """A word space that cannot be built or asked for: duplicate words, unknown words, another shape."""


class UnknownWordError(SpaceError, KeyError):
    """A word was asked for that is not in the space; also a ``KeyError``, as for any mapping."""

    __str__ = Exception.__str__  # a KeyError would show the message quoted


class FormatError(DensRayError):
    """An embedding file that cannot be read or written; carries file, line or byte offset, and the text found."""


class LexiconError(DensRayError):
    """A lexicon that cannot be read, or does not meet the space."""


class AnalogyError(DensRayError):
    """An analogy set that cannot be read, or has no usable pair."""


class DataError(DensRayError):
    """A data set that is unknown, not at hand, or does not match its checksum."""


class MissingExtraError(DensRayError, ImportError):
    """A library that is not installed and not always needed; the message names the command to install it."""


class OutputError(DensRayError):
    """A file that cannot be written where it was asked for: no such folder, or it exists already."""


class TaskError(DensRayError):
    """A task that cannot be run on what it was given."""


class CoverageError(TaskError):
    """A word list of which too little is in the space; the message names the first missing words."""


class SignalWarning(RuntimeWarning):
    """More axes were asked for than carry signal: the others do not tell the labels apart."""


def load_extra(module: str, need: str, *, extra: str | None = None) -> Any:
    """Return a module that is not always installed; where it is missing, the error names the command to install it.

    Parameters
    ----------
    module : str
        Its name, such as ``"dask.array"``.
    need : str
        What needs it, as the beginning of a sentence: ``"Dask collections need"``.
    extra : str, optional
        The extra of densray that brings it; absent: it is installed by its own name.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        target = package if extra is None else f'"densray[{extra}]"'
        raise MissingExtraError(f"{need} {package}, which is not installed. Run: pip install {target}") from error


_LONGEST = 60  # letters of an item that are shown


def name_some(items: Iterable[object], *, most: int = 5) -> str:
    """Return the first few items quoted, and how many more there are.

    >>> name_some(["Good", "Bad"])
    "'Good', 'Bad'"
    >>> name_some(range(7), most=2)
    "'0', '1' and 5 more"

    Long ones are cut.
    """
    listed = [f"'{text}'" if len(text) <= _LONGEST else f"'{text[: _LONGEST - 1]}…'" for text in map(str, items)]
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")


def shorten(value: object, *, width: int = 60) -> str:
    r"""Return text or bytes quoted, or the first line of an error as it is, cut to a number of letters.

    >>> shorten("good")
    "'good'"
    >>> shorten(b"\0" * 100, width=20)
    "b'\\x00\\x00\\x00\\x00…'"
    """
    if isinstance(value, BaseException):
        text = str(value).split("\n", maxsplit=1)[0]
        return text if len(text) <= width else text[: width - 1] + "…"
    text = repr(value)
    return text if len(text) <= width else text[: width - 2] + "…" + text[-1]


def suggest(given: str, known: Iterable[str]) -> str:
    """Return a hint naming the known word nearest to the one given, then all of them.

    >>> suggest("densrai", ["densray", "svm"])
    "Did you mean 'densray'? Known: densray, svm."
    """
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(given, names, n=1, cutoff=0.6)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}Known: {', '.join(names)}."
