"""The settings of all pages, and their form in the address, with which a view can be shared and opened again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from densray.removers import DEFAULT_REMOVER

#: The words of the first page: enough for a good verdict in the bundled space.
_SENTIMENT = (
    "good great excellent wonderful superb happy pleasant delightful lovely beautiful kind friendly "
    "honest generous brilliant perfect joyful successful charming admirable",
    "bad awful terrible horrible dreadful sad unpleasant nasty ugly disgusting cruel hostile dishonest "
    "greedy stupid flawed miserable failed rude shameful",
)

#: Every setting with its default; the address contains those that differ.
DEFAULTS: dict[str, str] = {
    # the space, and the space to compare with, by their names in the sidebar
    "space": "",
    "other": "",
    "other_high": "",
    "other_low": "",
    "other_pairs": "",
    # the current axis
    "source": "lists",
    "high": _SENTIMENT[0],
    "low": _SENTIMENT[1],
    "lexicon": "hu-liu",
    "method": "auto",
    "name": "",
    "without": "",
    "words": "",
    "word_column": "",
    "label_column": "",
    "label_names": "",
    "header": "",
    "encoding": "utf-8",
    # ratings on the page of the axis: columns by position
    "rated_items": "",
    "rated_values": "",
    "rated_errors": "",
    "rated_by": "",
    "rated_encoding": "utf-8",
    "rated_phrases": "missing",
    # pinned axes, one per line, for the map
    "axes": "",
    # map
    "x": "current",
    "y": "gender",
    "color": "",
    "shown": "",  # the first view of the map sets it, and a colour
    "points": "all",
    "list": "",
    "mark": "",
    "card": "",
    # compare
    "methods": "",
    "first_method": "",
    "second_method": "",
    # remove
    "remover": DEFAULT_REMOVER,
    "n_axes": "1",
    "anchors": "",
    "neutral_from": "occupations",
    "neutral": "",
    "keep": "",
    # analogies: a question with the user's pairs, and the benchmark
    "part": "ask",
    "pairs": "man woman\nfather mother\nbrother sister\nboy girl\nson daughter\nhusband wife",
    "query": "uncle",
    "expected": "",
    "solver": "intcos-original",
    "rotation": "densray-unit",
    "set": "google",
    "section": "family",
    "case": "set",
    "solvers": "intcos-original",
    "questions": "misses",
    # documents of a table: the axis of a column, the map, mean scores, the removal
    "label": "",
    "class": "",
    "numbers": "scores",
    "group": "",
    "across": "pc1",
    "up": "pc2",
    "tint": "",
    "documents": "5000",
    "find": "",
    "document": "",
    "by": "",
    "removed": "",
    "kept": "",
    "removal": "leace",
    "partner": "",
    # layers
    "layer_methods": "",
    "layer_method": "",
    "layer": "",
    "own_text": "",
}
#: Encodings of uploaded files.
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
#: Axes to start from, with the words of their high end and their low end.
EXAMPLES: dict[str, tuple[str, str]] = {
    "sentiment": _SENTIMENT,
    "gender": (
        "he him his man men boy boys male father son brother uncle nephew grandfather husband king prince gentleman",
        "she her hers woman women girl girls female mother daughter sister aunt niece grandmother wife queen "
        "princess lady",
    ),
    "wealth": (
        "rich richer wealthy wealthier affluent prosperous luxurious luxury opulent lavish expensive costly "
        "millionaire wealth riches upscale posh mansion",
        "poor poorer impoverished needy destitute indigent homeless cheap inexpensive poverty slum shabby "
        "shack underprivileged disadvantaged",
    ),
    "age": (
        "old older elderly aged senior seniors retired retiree retirees pensioner pensioners grandfather "
        "grandmother grandparents aging geriatric dementia widow",
        "young younger youthful youngster youngsters youth youths teen teens teenage teenager teenagers "
        "adolescent adolescents juvenile kid kids boy girl schoolboy",
    ),
    "concreteness": (
        "table chair stone apple hammer bottle shoe bicycle tree dog bread window knife blanket bridge truck "
        "fish shirt pencil spoon",
        "idea theory justice freedom truth belief concept hope honor virtue logic wisdom morality tendency "
        "possibility assumption principle reason faith notion",
    ),
}
#: Largest length of an address in characters; browsers and servers have different limits.
MAX_ADDRESS_LENGTH = 6_000


class Settings(MutableMapping[str, str]):
    """Settings by name, with defaults; unknown names are errors, except in an address, where they are ignored.

    >>> settings = Settings.from_query({"method": "ridge", "evil": "x"})
    >>> settings["method"], settings["source"], settings.to_query()
    ('ridge', 'lists', {'method': 'ridge'})
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = {**DEFAULTS, **(values or {})}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Settings:
        """Return the settings of an address."""
        return cls({name: str(value)[:MAX_ADDRESS_LENGTH] for name, value in query.items() if name in DEFAULTS})

    def to_query(self) -> dict[str, str]:
        """Return the settings that differ from the defaults; drops the longest ones if the address gets too long."""
        found = {name: value for name, value in self._values.items() if value != DEFAULTS[name]}
        while len(urlencode(found)) > MAX_ADDRESS_LENGTH:
            del found[max(found, key=lambda name: len(found[name]))]
        return found

    @property
    def unshared(self) -> list[str]:
        """The settings that are too long for the address."""
        shared = self.to_query()
        return [name for name, value in self.items() if value != DEFAULTS[name] and name not in shared]

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __setitem__(self, name: str, value: str) -> None:
        if name not in DEFAULTS:
            raise KeyError(name)
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        self._values[name] = DEFAULTS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True)
class AxisChoice:
    """A requested axis: word lists or a lexicon, a method, excluded seeds, and a name.

    >>> choice = AxisChoice("gender", "lists", high="he man", low="she woman")
    >>> AxisChoice.from_text(choice.to_text()) == choice
    True
    """

    name: str
    source: str
    high: str = ""
    low: str = ""
    lexicon: str = ""
    method: str = "auto"
    without: str = ""

    def to_text(self) -> str:
        """Return the choice as one line of text."""
        return urlencode(vars(self))

    @classmethod
    def from_text(cls, text: str) -> AxisChoice | None:
        """Return the choice encoded in a line; None if the line is not one."""
        found = {
            key: values[0]
            for key, values in parse_qs(text, keep_blank_values=True).items()
            if key in cls.__dataclass_fields__
        }
        return cls(**found) if {"name", "source"} <= found.keys() else None
