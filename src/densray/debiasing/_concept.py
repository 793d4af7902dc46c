"""A concept to remove: its words, pairs and tests, by name or from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from densray._text_files import TextFile
from densray.analogies import AnalogyCategory, AnalogyPair, AnalogySet
from densray.datasets import (
    AssociationTest,
    SimilaritySet,
    WordGroup,
    data_folder,
    is_at_hand,
    load_analogies,
    load_lexicon,
    load_pairs,
    load_similarity,
    load_weat,
    load_word_list,
)
from densray.debiasing._associations import SemBiasQuestion, read_sembias
from densray.errors import TaskError, suggest
from densray.lexicon import Lexicon
from densray.removers import parse_remover
from densray.space import WordSpace, as_space

_PARTS = ("first_target", "second_target", "first_attribute", "second_attribute")
_NEEDED = ("lexicon", "anchors", "neutral")


class _Lists:
    """The values of one file; strings are names of other files, next to it, or of data sets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = TextFile(path, encoding="utf-8", error=TaskError).text
        try:
            self.values: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TaskError(f"{path} is not a TOML file of word lists: {error}.") from error

    def path_of(self, name: str) -> Path:
        return self.path.parent / name

    def fail(self, key: str, value: object, requirement: str) -> TaskError:
        return TaskError(f"{self.path}: '{key}' is {value!r}; {requirement} is needed.")

    def words(self, key: str, values: Any = None) -> tuple[str, ...]:
        """Return a list of words, or the words of the file it names, one per line."""
        value = self.values.get(key, []) if values is None else values
        if isinstance(value, str):
            return tuple(line.split("\t")[0].strip() for line in self._file(key, value).words(comment="#"))
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.fail(key, value, "a list of words, or the name of a file with one per line")
        return tuple(value)

    def pairs(self, key: str) -> Pairs:
        """Return a list of pairs, or the pairs of the file it names, one per line."""
        value = self.values.get(key, [])
        if isinstance(value, str):
            return tuple((first, second) for _, first, second in self._file(key, value).pairs())
        if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise self.fail(key, value, "a list of pairs, or the name of a file with one per line")
        return tuple((str(first), str(second)) for first, second in value)

    def couple(self, key: str) -> tuple[str, str]:
        value = self.values[key]
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(word, str) for word in value):
            raise self.fail(key, value, "a list of two words")
        return value[0], value[1]

    def named(self, key: str, value: Any, load: Callable[[str], Any]) -> Any:
        """Load a file next to this one, or a data set."""
        if not isinstance(value, str):
            raise self.fail(key, value, "the name of a file or a data set")
        return load(str(self.path_of(value)) if self.path_of(value).exists() else value)

    def _file(self, key: str, name: str) -> TextFile:
        try:
            return TextFile(self.path_of(name), encoding="utf-8", error=TaskError)
        except TaskError as error:
            raise TaskError(
                f"{self.path}: '{key}' names the file {name}, which cannot be read: ", *error.args
            ) from error


def read_concept(path: str | Path) -> Concept:
    """Return the concept of a TOML file, with lists in the file or in files that it names.

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
        similarities=tuple(
            lists.named("similarities", each, load_similarity) for each in values.get("similarities", [])
        ),
        analogies=lists.named("analogies", values["analogies"], load_analogies) if "analogies" in values else None,
    )


def _check_keys(path: Path, values: dict[str, Any]) -> None:
    missing = [key for key in _NEEDED if key not in values]
    if missing:
        raise TaskError(f"{path} has no '{missing[0]}'. A concept needs {', '.join(_NEEDED)}.")
    keys = {*Concept.__dataclass_fields__, "sembias"} - {"questions", "probed"}
    unknown = [key for key in values if key not in keys]
    if unknown:
        raise TaskError(f"{path}: '{unknown[0]}' is unknown. {suggest(unknown[0], sorted(keys))}")


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


Pairs = tuple[tuple[str, str], ...]

_SIMILARITIES = ("men", "simlex-999", "wordsim-353", "rg-65", "rare-words")
_GENDER_TESTS = (6, 7, 8)


@dataclass(frozen=True)
class Concept:
    """The word lists of a concept. Labelled words are enough to erase it; some measures need further lists.

    Attributes
    ----------
    name : str
    lexicon : Lexicon
        Labelled words that the removers learn from.
    anchors : pair of str
        Two words that represent the ends of the concept, the word with the higher label first.
    neutral : tuple of str
        Words that should be free of it, such as occupations.
    poles : pair of str, optional
        The pair whose difference determines which words are biased (default: the anchors).
    pairs : tuple of pairs
        Words that differ only in the concept, higher label first.
    keep : tuple of str
        Words that belong to the concept by definition.
    equalize : tuple of pairs
        Pairs that hard debiasing equalises.
    associations : tuple of AssociationTest
        Association tests that removal should weaken.
    identities, positive, negative : tuples of str
        Words for people, and sentiment words, for RNSB.
    questions : tuple of SemBiasQuestion
    similarities : tuple of SimilaritySet
        Ratings that removal should not hurt.
    analogies : AnalogySet, optional
        Analogies that removal should not hurt.
    probed : Lexicon, optional
        Labelled words for the probes (default: the words that the removers learn from).
    """

    name: str
    lexicon: Lexicon
    anchors: tuple[str, str] = ("", "")
    neutral: tuple[str, ...] = ()
    poles: tuple[str, str] | None = None
    pairs: Pairs = ()
    keep: tuple[str, ...] = ()
    equalize: Pairs = ()
    associations: tuple[AssociationTest, ...] = ()
    identities: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    questions: tuple[SemBiasQuestion, ...] = ()
    similarities: tuple[SimilaritySet, ...] = ()
    analogies: AnalogySet | None = None
    probed: Lexicon | None = None

    def __repr__(self) -> str:
        return f"Concept '{self.name}': {len(self.lexicon):,} labelled words, {len(self.neutral):,} neutral words"

    def exceptions(self, method: str) -> tuple[tuple[str, ...], Pairs]:
        """Return the words to keep and the pairs to equalise; empty unless the published method has them."""
        return (self.keep, self.equalize) if parse_remover(method)[0].equalizes else ((), ())

    def with_lexicon(self, lexicon: Lexicon) -> Concept:
        """Return the concept with other labelled words."""
        return replace(self, lexicon=lexicon, probed=self.probed or self.lexicon)

    def spelled_as(self, space: WordSpace) -> Concept:
        """Return the concept in the spelling of a space, for words that it lacks if only the case differs."""
        space = as_space(space)
        changed: dict[str, Any] = {
            name: _respell(value, space)
            for name, value in vars(self).items()
            if name not in ("name", "lexicon", "probed") and value
        }
        for name in ("lexicon", "probed"):
            lexicon = getattr(self, name)
            if lexicon is not None:
                changed[name] = lexicon.spelled_as(space)
        return replace(self, **changed)


#: Fields that contain words, by the type of their elements.
_WORDS_OF: dict[type, tuple[str, ...]] = {
    AssociationTest: _PARTS,
    WordGroup: ("words",),
    SemBiasQuestion: ("definition", "stereotype", "others"),
    SimilaritySet: ("pairs",),
    AnalogyCategory: ("pairs",),
    AnalogyPair: ("query", "answers"),
}


def _respell(value: Any, space: WordSpace) -> Any:
    """Return words, or structures of words, in the spelling of a space."""
    if isinstance(value, str):
        row = int(space.locate([value], any_case=True)[0])
        return value if row < 0 else str(space.words[row])
    if isinstance(value, tuple):
        return tuple(_respell(each, space) for each in value)
    if isinstance(value, AnalogySet):
        return AnalogySet([_respell(category, space) for category in value], name=value.name)
    return replace(value, **{name: _respell(getattr(value, name), space) for name in _WORDS_OF[type(value)]})


def is_concept(name: str) -> bool:
    """Return whether a name is the name of a concept or of a TOML file, not of a lexicon.

    >>> is_concept("gender"), is_concept("age.toml"), is_concept("hu-liu")
    (True, True, False)
    """
    return name in CONCEPTS or name.lower().endswith(".toml")


def load_concept(name_or_path: str | Path) -> Concept:
    """Return a concept by its name, or from a TOML file of word lists.

    Parameters
    ----------
    name_or_path : str or path
        ``"gender"`` (English), or a file: see the guide to removing a concept for its fields.

    Examples
    --------
    >>> concept = load_concept("gender")
    >>> concept.anchors, len(concept.neutral)
    (('man', 'woman'), 320)
    """
    if str(name_or_path) in CONCEPTS:
        return CONCEPTS[str(name_or_path)]()
    path = Path(name_or_path)
    if not path.is_file():
        raise TaskError(
            f"'{name_or_path}' is neither a known concept nor a file. {suggest(str(name_or_path), CONCEPTS)} "
            f"Others are TOML files of word lists."
        )

    return read_concept(path)


def concept_of(
    lexicon: Lexicon, anchors: tuple[str, str], neutral: Iterable[str], *, keep: Iterable[str] = ()
) -> Concept:
    """Return a concept from your own words, to be measured with the bundled ratings and analogies.

    The words of the lexicon count as part of the concept by definition. If it is the lexicon of a concept with a name,
    the other lists of that concept are included.

    Parameters
    ----------
    lexicon : Lexicon
    anchors : pair of str
        Two words that represent the ends of the concept; their difference determines which words are biased.
    neutral : iterable of str
    keep : iterable of str
        Further words that belong to the concept by definition.
    """
    kept = (*lexicon.words, *keep)
    for make in CONCEPTS.values():
        concept = make()
        if set(concept.lexicon.words) == set(lexicon.words):
            kept = (*concept.keep, *kept)
            return replace(concept, lexicon=lexicon, anchors=anchors, neutral=tuple(neutral), poles=None, keep=kept)
    similarities, analogies = _ratings_at_hand(), load_analogies("google")
    return Concept(
        lexicon.name, lexicon, anchors, tuple(neutral), keep=kept, similarities=similarities, analogies=analogies
    )


def _ratings_at_hand() -> tuple[SimilaritySet, ...]:
    """Return the similarity sets on this machine, bundled or downloaded."""
    return tuple(load_similarity(name) for name in _SIMILARITIES if is_at_hand(name))


def _gender() -> Concept:
    """Return gender in English: the lists of Dufter & Schütze, Bolukbasi et al. and Caliskan et al."""
    definitional = tuple((male, female) for female, male in load_pairs("gender-definitional"))
    tests = load_weat()
    names = {
        name for test in tests for group in (test.first_target, test.second_target) for name in _names(group.words)
    }
    sentiment = load_lexicon("hu-liu")
    positive, negative = (tuple(word for word, label in sentiment.items() if label == side) for side in (1.0, -1.0))
    return Concept(
        name="gender",
        lexicon=load_lexicon("gender"),
        anchors=("man", "woman"),
        neutral=tuple(load_word_list("occupations")),
        poles=("he", "she"),
        pairs=definitional,
        keep=(*load_word_list("gender-specific"), *sorted(names)),
        equalize=_add_cases((*load_pairs("gender-equalize"), *definitional)),
        associations=tuple(test for test in tests if test.number in _GENDER_TESTS),
        identities=tuple(word for pair in definitional for word in pair),
        positive=positive,
        negative=negative,
        questions=_published_questions(),
        similarities=_ratings_at_hand(),
        analogies=load_analogies("google"),
    )


def _names(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word[0].isupper()]


def _add_cases(pairs: Pairs) -> Pairs:
    """Return pairs in lower case, capitalised and in upper case, as equalised by Bolukbasi et al."""
    forms = (str.lower, str.title, str.upper)
    return tuple(dict.fromkeys((form(first), form(second)) for first, second in pairs for form in forms))


def _published_questions() -> tuple[SemBiasQuestion, ...]:
    """Return the SemBias questions if they are in the data folder, otherwise none."""
    file = data_folder() / "bias" / "sembias" / "SemBias"
    return tuple(read_sembias(file)) if file.is_file() else ()


CONCEPTS = {"gender": _gender}
"""Concepts by name."""
