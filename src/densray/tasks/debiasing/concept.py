"""A concept as word lists: what defines it, what should be free of it, what to measure it with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from densray.analogies import AnalogySet
from densray.bias import SemBiasQuestion, read_sembias
from densray.datasets import (
    AssociationTest,
    SimilaritySet,
    data_folder,
    load_analogies,
    load_lexicon,
    load_pairs,
    load_similarity,
    load_weat,
    load_word_list,
)
from densray.errors import TaskError, suggest
from densray.lexicon import Lexicon

__all__ = ["CONCEPTS", "Concept", "Pairs", "concept_of", "load_concept"]

Pairs = tuple[tuple[str, str], ...]

_SIMILARITIES = ("men", "simlex-999", "wordsim-353", "rg-65", "rare-words")
_GENDER_TESTS = (6, 7, 8)


@dataclass(frozen=True)
class Concept:
    """The word lists of a concept; all but the first four may be left out, and the measures that need them with them.

    Attributes
    ----------
    name : str
    lexicon : Lexicon
        Labelled words the removers learn from.
    anchors : pair of str
        Two words that stand for the ends of the concept, the one of the higher label first.
    neutral : tuple of str
        Words that should be free of it, such as occupations.
    poles : pair of str, optional
        The pair whose difference tells which words are biased; absent: the anchors.
    pairs : tuple of pairs
        Words that differ in the concept alone, higher label first.
    keep : tuple of str
        Words that carry the concept by right.
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
        Labelled words for the probes; absent: those the removers learn from.
    """

    name: str
    lexicon: Lexicon
    anchors: tuple[str, str]
    neutral: tuple[str, ...]
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

    def with_lexicon(self, lexicon: Lexicon) -> Concept:
        """Return the concept with other words for the removers to learn from."""
        return replace(self, lexicon=lexicon, probed=self.probed or self.lexicon)


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
            f"'{name_or_path}' is neither a concept densray knows nor a file. {suggest(str(name_or_path), CONCEPTS)} "
            f"Others are TOML files of word lists."
        )
    from densray.tasks.debiasing.concept_files import read_concept

    return read_concept(path)


def concept_of(
    lexicon: Lexicon, anchors: tuple[str, str], neutral: Iterable[str], *, keep: Iterable[str] = ()
) -> Concept:
    """Return a concept of one's own words, to be measured with the embedded ratings and analogies.

    The words of the lexicon count as carrying the concept by right. Where it is the lexicon of a concept known by name,
    the other lists of that one come along.

    Parameters
    ----------
    lexicon : Lexicon
    anchors : pair of str
        Two words that stand for the ends of the concept; their difference tells which words are biased.
    neutral : iterable of str
    keep : iterable of str
        Further words that carry the concept by right.
    """
    kept = (*lexicon.words, *keep)
    for make in CONCEPTS.values():
        known = make()
        if set(known.lexicon.words) == set(lexicon.words):
            kept = (*known.keep, *kept)
            return replace(known, lexicon=lexicon, anchors=anchors, neutral=tuple(neutral), poles=None, keep=kept)
    similarities = tuple(load_similarity(name) for name in _SIMILARITIES)
    analogies = load_analogies("google")
    return Concept(
        lexicon.name, lexicon, anchors, tuple(neutral), keep=kept, similarities=similarities, analogies=analogies
    )


def _gender() -> Concept:
    """Return gender in English: the lists of Dufter & Schütze, Bolukbasi et al. and Caliskan et al."""
    definitional = tuple((male, female) for female, male in load_pairs("gender-definitional"))
    tests = load_weat()
    names = {
        name for test in tests for group in (test.first_target, test.second_target) for name in _names(group.words)
    }
    sentiment = load_lexicon("hu-liu")
    positive, negative = (tuple(word for word, label in sentiment.items() if label == wanted) for wanted in (1.0, -1.0))
    return Concept(
        name="gender",
        lexicon=load_lexicon("gender"),
        anchors=("man", "woman"),
        neutral=tuple(load_word_list("occupations")),
        poles=("he", "she"),
        pairs=definitional,
        keep=(*load_word_list("gender-specific"), *sorted(names)),
        equalize=_cased((*load_pairs("gender-equalize"), *definitional)),
        associations=tuple(test for test in tests if test.number in _GENDER_TESTS),
        identities=tuple(word for pair in definitional for word in pair),
        positive=positive,
        negative=negative,
        questions=_published_questions(),
        similarities=tuple(load_similarity(name) for name in _SIMILARITIES),
        analogies=load_analogies("google"),
    )


def _names(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word[0].isupper()]


def _cased(pairs: Pairs) -> Pairs:
    """Return pairs in lower case, with capitals and in upper case, as Bolukbasi et al. equalise them."""
    forms = (str.lower, str.title, str.upper)
    return tuple(dict.fromkeys((form(first), form(second)) for first, second in pairs for form in forms))


def _published_questions() -> tuple[SemBiasQuestion, ...]:
    """Return the SemBias questions where they were placed in the data folder, none elsewhere."""
    file = data_folder() / "bias" / "sembias" / "SemBias"
    return tuple(read_sembias(file)) if file.is_file() else ()


CONCEPTS = {"gender": _gender}
"""The concepts known by name."""
