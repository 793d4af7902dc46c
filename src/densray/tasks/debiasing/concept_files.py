"""Concepts from TOML files: any concept, any language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from densray.bias import read_sembias
from densray.datasets import AssociationTest, SimilaritySet, WordGroup, load_analogies, load_lexicon, load_similarity
from densray.errors import DensRayError, TaskError, suggest
from densray.lexicon import Lexicon
from densray.tasks.debiasing.concept import Concept, Pairs

__all__ = ["read_concept"]

_PARTS = ("first_target", "second_target", "first_attribute", "second_attribute")
_NEEDED = ("lexicon", "anchors", "neutral")


class _Lists:
    """The values of one file; those that are strings name other files, beside it, or data sets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.values: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise TaskError(f"{path} is not a TOML file of word lists: {error}.") from error

    def beside(self, name: str) -> Path:
        return self.path.parent / name

    def fail(self, key: str, found: object, needed: str) -> TaskError:
        return TaskError(f"{self.path}: '{key}' is {found!r}; {needed} is needed.")

    def words(self, key: str, values: Any = None) -> tuple[str, ...]:
        """Return a list of words, or the words of the file it names, one a line."""
        value = self.values.get(key, []) if values is None else values
        if isinstance(value, str):
            lines = self._text(key, value).splitlines()
            return tuple(line.split("\t")[0].strip() for line in lines if line.strip() and line[0] != "#")
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.fail(key, value, "a list of words, or the name of a file with one a line")
        return tuple(value)

    def pairs(self, key: str) -> Pairs:
        """Return a list of pairs, or the pairs of the file it names, one a line."""
        value = self.values.get(key, [])
        if isinstance(value, str):
            value = [line.split() for line in self._text(key, value).splitlines() if line.strip()]
        if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise self.fail(key, value, "a list of pairs, or the name of a file with one a line")
        return tuple((str(first), str(second)) for first, second in value)

    def couple(self, key: str) -> tuple[str, str]:
        value = self.values[key]
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(word, str) for word in value):
            raise self.fail(key, value, "a list of two words")
        return value[0], value[1]

    def named(self, key: str, value: Any, load: Callable[[str], Any]) -> Any:
        """Return what a file beside this one, or a data set, holds."""
        if not isinstance(value, str):
            raise self.fail(key, value, "the name of a file or a data set")
        return load(str(self.beside(value)) if self.beside(value).exists() else value)

    def _text(self, key: str, name: str) -> str:
        try:
            return self.beside(name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TaskError(f"{self.path}: '{key}' names the file {name}, which cannot be read: {error}.") from error


def read_concept(path: str | Path) -> Concept:
    """Return the concept of a TOML file; lists stand in it, or in files that it names.

    Parameters
    ----------
    path : path
        Needs ``lexicon``, ``anchors`` and ``neutral``; may have ``name``, ``poles``, ``pairs``, ``keep``, ``equalize``,
        ``identities``, ``positive``, ``negative``, ``sembias``, ``similarities``, ``analogies`` and tables
        ``[[associations]]`` with ``name``, ``first_target``, ``second_target``, ``first_attribute`` and
        ``second_attribute``.
    """
    path = Path(path)
    lists = _Lists(path)
    values = lists.values
    _check_keys(path, values)
    return Concept(
        name=str(values.get("name", path.stem)),
        lexicon=_lexicon(lists),
        anchors=lists.couple("anchors"),
        neutral=lists.words("neutral"),
        poles=lists.couple("poles") if "poles" in values else None,
        pairs=lists.pairs("pairs"),
        keep=lists.words("keep"),
        equalize=lists.pairs("equalize"),
        associations=tuple(_association(lists, i, each) for i, each in enumerate(values.get("associations", []), 1)),
        identities=lists.words("identities"),
        positive=lists.words("positive"),
        negative=lists.words("negative"),
        questions=tuple(lists.named("sembias", values["sembias"], read_sembias)) if "sembias" in values else (),
        similarities=tuple(lists.named("similarities", each, _similarity) for each in values.get("similarities", [])),
        analogies=lists.named("analogies", values["analogies"], load_analogies) if "analogies" in values else None,
    )


def _check_keys(path: Path, values: dict[str, Any]) -> None:
    missing = [key for key in _NEEDED if key not in values]
    if missing:
        raise TaskError(f"{path} has no '{missing[0]}'. A concept needs {', '.join(_NEEDED)}.")
    known = {*Concept.__dataclass_fields__, "sembias"} - {"questions", "probed"}
    unknown = [key for key in values if key not in known]
    if unknown:
        raise TaskError(f"{path}: '{unknown[0]}' is unknown. {suggest(unknown[0], sorted(known))}")


def _lexicon(lists: _Lists) -> Lexicon:
    value = lists.values["lexicon"]
    if isinstance(value, dict):
        return Lexicon(value, name=lists.path.stem)
    lexicon: Lexicon = lists.named("lexicon", value, load_lexicon)
    return lexicon


def _association(lists: _Lists, number: int, value: Any) -> AssociationTest:
    if not isinstance(value, dict) or any(part not in value for part in _PARTS):
        raise lists.fail("associations", value, f"a table with {', '.join(_PARTS)}")
    groups = (WordGroup(part.replace("_", " "), lists.words(part, value[part])) for part in _PARTS)
    return AssociationTest(number, *groups)


def _similarity(name: str) -> SimilaritySet:
    """Return a similarity set by name, or from a file: two words and a score a line, tabs between."""
    path = Path(name)
    if not path.is_file():
        return load_similarity(name)
    pairs, scores = [], []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        cells = line.split("\t")
        try:
            pairs.append((cells[0], cells[1]))
            scores.append(float(cells[2]))
        except (IndexError, ValueError):
            if number == 1:
                pairs.clear()  # a heading
                continue
            raise DensRayError(f"{path}, line {number}: {line!r} is not two words and a score, tabs between.") from None
    return SimilaritySet(path.stem, tuple(pairs), np.array(scores))
