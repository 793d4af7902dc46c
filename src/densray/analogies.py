"""Analogy sets: pairs of words in categories, and their file formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from densray._lexicon_files import parse_label
from densray._text_files import FilePath, Line, TextFile
from densray.errors import AnalogyError, shorten, suggest

__all__ = [
    "AnalogyCategory",
    "AnalogyPair",
    "AnalogySet",
    "read_analogies",
    "read_bats",
    "read_google",
    "read_msr",
    "read_pair_file",
]


@dataclass(frozen=True)
class AnalogyPair:
    """A query and its correct answers; solvers learn from the first answer."""

    query: str
    answers: tuple[str, ...]

    @property
    def answer(self) -> str:
        """The first answer."""
        return self.answers[0]

    @property
    def words(self) -> tuple[str, ...]:
        """The query and all its answers."""
        return (self.query, *self.answers)


@dataclass(frozen=True)
class AnalogyCategory:
    """Pairs of one relation, such as country and capital; `group` is the name of its group, or empty."""

    name: str
    pairs: tuple[AnalogyPair, ...]
    group: str = ""

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[AnalogyPair]:
        return iter(self.pairs)


class AnalogySet:
    """Named categories of pairs.

    Parameters
    ----------
    categories : iterable of AnalogyCategory
        At least one; names are distinct.
    name : str
        The name of the set in reports.

    Examples
    --------
    >>> analogies = AnalogySet.from_pairs({"capital": [("Peru", "Lima"), ("Wales", ("Cardiff", "Caerdydd"))]})
    >>> analogies["capital"].pairs[1].answers
    ('Cardiff', 'Caerdydd')
    >>> analogies
    AnalogySet 'pairs': 2 pairs in 1 category
    """

    def __init__(self, categories: Iterable[AnalogyCategory], *, name: str = "analogies") -> None:
        self.categories = tuple(categories)
        self.name = name
        if not any(len(category) for category in self.categories):
            raise AnalogyError(f"'{name}' has no pair. At least one query with an answer is needed.")
        names = [category.name for category in self.categories]
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise AnalogyError(f"'{name}' has two categories '{twice}'. Give each category its own name.")

    @classmethod
    def read(cls, path: str | PathLike[str], *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
        """Return the analogies of a file or folder; the format is detected.

        A folder of ``query TAB answer/answer`` files is read as BATS. A file with ``: section`` lines or four words per
        line is read as questions (Google; MSR if there are 8,000 in one section). Any other file is read as pairs.
        """

        return read_analogies(path, encoding=encoding, name=name)

    @classmethod
    def from_pairs(
        cls,
        pairs: Mapping[str, Iterable[tuple[str, str | Sequence[str]]]] | Iterable[tuple[str, str | Sequence[str]]],
        *,
        name: str = "pairs",
    ) -> AnalogySet:
        """Return the set of pairs in memory: one list, or a list for each category.

        Each pair is a query and its answer, or a query and a list of answers.
        """
        groups = pairs if isinstance(pairs, Mapping) else {name: pairs}
        return cls(
            (AnalogyCategory(str(key), tuple(_checked_pair(pair) for pair in group)) for key, group in groups.items()),
            name=name,
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the categories, in order, without the empty one."""
        return tuple(dict.fromkeys(category.group for category in self.categories if category.group))

    @property
    def words(self) -> tuple[str, ...]:
        """All words of the set, each once."""
        return tuple(dict.fromkeys(word for one in self.categories for pair in one for word in pair.words))

    @property
    def is_lower_case(self) -> bool:
        """Whether no word has a capital letter, as in BATS: words are then looked up in any case."""
        return all(word == word.lower() for word in self.words)

    def subset(self, names: Iterable[str]) -> AnalogySet:
        """Return the set of these categories, or of all categories of these groups."""
        selection = list(names)
        for name in selection:
            if name not in self.groups:
                self[name]  # raises an error if the name is unknown
        kept = (one for one in self.categories if one.name in selection or one.group in selection)
        return AnalogySet(kept, name=self.name)

    def __len__(self) -> int:
        return len(self.categories)

    def __iter__(self) -> Iterator[AnalogyCategory]:
        return iter(self.categories)

    def __getitem__(self, name: str) -> AnalogyCategory:
        for category in self.categories:
            if category.name == name:
                return category
        hint = suggest(name, [category.name for category in self.categories])
        raise AnalogyError(f"'{self.name}' has no category '{name}'. {hint}")

    def __repr__(self) -> str:
        pairs = sum(len(category) for category in self.categories)
        noun = "category" if len(self) == 1 else "categories"
        groups = f" ({', '.join(self.groups)})" if self.groups else ""
        return f"AnalogySet '{self.name}': {pairs} pairs in {len(self)} {noun}{groups}"


def _checked_pair(pair: object) -> AnalogyPair:
    if isinstance(pair, list | tuple) and len(pair) == 2:
        query, answers = pair
        forms = (answers,) if isinstance(answers, str) else answers
        if isinstance(forms, list | tuple) and forms:
            words = (query, *forms)
            if all(isinstance(word, str) and word.strip() for word in words):
                return AnalogyPair(words[0], tuple(dict.fromkeys(words[1:])))
    raise AnalogyError(f"{shorten(pair)} is not a query and its answer, as in ('Peru', 'Lima').")


_BATS_GROUPS = {"I": "Inflectional", "D": "Derivational", "E": "Encyclopedia", "L": "Lexicography"}

# MSR (Mikolov et al. 2013) lists its relations one after the other, by part of speech
_ADJECTIVES = ("JJ_JJR", "JJR_JJ", "JJ_JJS", "JJS_JJ", "JJS_JJR", "JJR_JJS")
_VERBS = ("VB_VBD", "VBD_VB", "VB_VBZ", "VBZ_VB", "VBZ_VBD", "VBD_VBZ")
_MSR_PARTS = (
    ("Adjectives", _ADJECTIVES, 3000),
    ("Nouns", ("NN_NNS", "NNS_NN"), 1000),
    ("Nouns", ("NN_NNPOS", "NNPOS_NN"), 1000),
    ("Verbs", _VERBS, 3000),
)
_MSR_QUESTIONS = sum(count for _, _, count in _MSR_PARTS)

FourWords = tuple[str, str, str, str]


def read_analogies(path: FilePath, *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
    """Return the analogies of a file or folder, in any of the formats of `AnalogySet.read`."""
    if Path(path).is_dir():
        return read_bats(path, encoding=encoding, name=name)
    file = _open(path, encoding)
    lines = list(file.lines())
    first = lines[0].text
    if first.lstrip().startswith(":") or ("\t" not in first and len(first.split()) == 4):
        sections = _sections(file)
        if len(sections) == 1 and sum(map(len, sections.values())) == _MSR_QUESTIONS:
            return read_msr(path, encoding=encoding, name=name)
        return _from_sections(sections, name or file.path.stem)
    return read_pair_file(path, encoding=encoding, name=name)


def read_google(path: FilePath, *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
    """Return the Google analogies, or any file of four words per line under ``: section`` lines.

    The pairs of a section are the distinct pairs of both halves of its questions, in order of appearance.
    """
    return _from_sections(_sections(_open(path, encoding)), name or "Google")


def read_msr(path: FilePath, *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
    """Return the syntactic analogies of MSR: 8,000 questions of four words, sixteen relations of 100 pairs.

    The file does not name the relations; they follow from the order of the questions.
    """
    file = _open(path, encoding)
    questions = [question for section in _sections(file).values() for question in section]
    if len(questions) != _MSR_QUESTIONS:
        raise file.problem(
            f"{len(questions)} questions; the MSR set has {_MSR_QUESTIONS}, and its relations follow from "
            f"their order. Read another set with read_google."
        )
    categories, start = [], 0
    for group, relations, count in _MSR_PARTS:
        part = questions[start : start + count]
        for turn, relation in enumerate(relations):
            categories.append(AnalogyCategory(relation, _pairs_of(part[turn :: len(relations)]), group))
        start += count
    return AnalogySet(categories, name=name or "MSR")


def read_bats(folder: FilePath, *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
    """Return the analogies of a BATS 3.0 folder: a file per category, ``query TAB answer/answer`` per line."""
    files = sorted(Path(folder).rglob("*.txt"), key=lambda file: (file.parent.name, file.name))
    if not files:
        raise AnalogyError(f"{Path(folder)}: no .txt file in this folder. BATS has 40, one per category.")
    categories = [
        AnalogyCategory(file.stem, _pair_lines(_open(file, encoding)), _BATS_GROUPS.get(file.name[0], ""))
        for file in files
    ]
    return AnalogySet(categories, name=name or "BATS")


def read_pair_file(path: FilePath, *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
    """Return the analogies of a file with a query and its answer (or ``answer/answer``) per line."""
    file = _open(path, encoding)
    pairs = _pair_lines(file)
    if _are_labels([pair.answer for pair in pairs]):
        last = pairs[-1]
        raise file.problem(
            f"words and labels ({last.query}, {last.answer}): a lexicon, to fit an axis from. Analogies are pairs of "
            "words, a query and its answer on each line."
        )
    category = AnalogyCategory(file.path.stem, pairs)
    return AnalogySet([category], name=name or file.path.stem)


def _are_labels(answers: Sequence[str]) -> bool:
    """Return whether answers, except a heading, look like labels: signed, decimal or repeated numbers, or label names.

    >>> _are_labels(["label", "1", "-1"]), _are_labels(["positive", "negative"]), _are_labels(["1", "2", "3"])
    (True, True, False)
    """
    if parse_label(answers[0]) is None:
        answers = answers[1:]
    if not answers or any(parse_label(answer) is None for answer in answers):
        return False
    plain = all(answer.isdecimal() for answer in answers)  # one : 1, two : 2 are analogies
    return not plain or 2 * len(set(answers)) <= len(answers)


def _open(path: FilePath, encoding: str) -> TextFile:
    return TextFile(path, encoding=encoding, error=AnalogyError)


def _sections(file: TextFile) -> dict[str, list[FourWords]]:
    """Return the questions of each section; questions before the first section get the name of the file."""
    sections: dict[str, list[FourWords]] = {}
    current = file.path.stem
    for line in file.lines():
        if line.text.lstrip().startswith(":"):
            current = line.text.lstrip()[1:].strip()
            if not current:
                raise file.problem("a section without a name. Write ': name'.", line=line.number)
            if current in sections:
                raise file.problem(f"section {shorten(current)} occurs twice. Join its two parts.", line=line.number)
            sections[current] = []
        else:
            sections.setdefault(current, []).append(_four_words(file, line))
    empty = next((name for name, questions in sections.items() if not questions), None)
    if empty is not None:
        raise file.problem(f"section {shorten(empty)} has no question.")
    return sections


def _four_words(file: TextFile, line: Line) -> FourWords:
    words = line.text.split()
    if len(words) != 4:
        raise file.problem(
            f"{shorten(line.text)} has {len(words)} words; a question has four (a is to b as c is to d).",
            line=line.number,
        )
    return words[0], words[1], words[2], words[3]


def _from_sections(sections: dict[str, list[FourWords]], name: str) -> AnalogySet:
    return AnalogySet(
        (AnalogyCategory(section, _pairs_of(questions)) for section, questions in sections.items()), name=name
    )


def _pairs_of(questions: Iterable[FourWords]) -> tuple[AnalogyPair, ...]:
    halves = dict.fromkeys(half for a, b, c, d in questions for half in ((a, b), (c, d)))
    return tuple(AnalogyPair(query, (answer,)) for query, answer in halves)


def _pair_lines(file: TextFile) -> tuple[AnalogyPair, ...]:
    """Return the pairs of a file, one per line: a query, then alternatives with slashes between them."""
    pairs: dict[AnalogyPair, None] = {}
    for line, query, forms in file.pairs(expectation := "a query and its answer. Two words"):
        answers = tuple(dict.fromkeys(filter(None, forms.split("/"))))
        if not answers:
            raise file.problem(f"{shorten(line.text)} is not {expectation} are needed.", line=line.number)
        pairs[AnalogyPair(query, answers)] = None
    return tuple(pairs)
