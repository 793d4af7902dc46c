"""Analogy sets: named categories of pairs, a query and its right answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from densray.errors import AnalogyError, suggest

__all__ = ["AnalogyCategory", "AnalogyPair", "AnalogySet"]


@dataclass(frozen=True)
class AnalogyPair:
    """A query and its right answers, the first of which is the one to train on."""

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
    """Pairs in one relation, such as country and capital; `group` is what it belongs to, or empty."""

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
        What the set is called in reports.

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
            raise AnalogyError(f"'{name}' has two categories '{twice}'. Each name is used once.")

    @classmethod
    def read(cls, path: str | PathLike[str], *, encoding: str = "utf-8", name: str | None = None) -> AnalogySet:
        """Return the analogies of a file or folder, whichever of the known shapes it has.

        A folder of ``query TAB answer/answer`` files is read as BATS; a file with ``: section`` lines or four
        words a line as questions (Google; MSR where there are 8,000 in one section); any other file as pairs.
        """
        from densray.analogy_files import read_analogies

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

    def subset(self, names: Iterable[str]) -> AnalogySet:
        """Return the set of these categories, or of all categories of these groups."""
        wanted = list(names)
        for name in wanted:
            if name not in self.groups:
                self[name]  # an unknown name is an error
        kept = (one for one in self.categories if one.name in wanted or one.group in wanted)
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
        listed = (answers,) if isinstance(answers, str) else answers
        if isinstance(listed, list | tuple) and listed:
            words = (query, *listed)
            if all(isinstance(word, str) and word.strip() for word in words):
                return AnalogyPair(words[0], tuple(dict.fromkeys(words[1:])))
    raise AnalogyError(f"{pair!r} is not a query and its answer, as in ('Peru', 'Lima').")
