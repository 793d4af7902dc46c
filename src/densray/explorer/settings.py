"""The view as an address: every setting of every page, so that a view can be shared and opened again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

#: Every setting with its value when nothing was chosen; the address names those that differ.
DEFAULTS: dict[str, str] = {
    # the current axis; seeds of the first page: Turney & Littman (2003), table 1
    "source": "lists",
    "high": "good nice excellent positive fortunate correct superior",
    "low": "bad nasty poor negative unfortunate wrong inferior",
    "lexicon": "hu-liu",
    "method": "auto",
    "name": "",
    "without": "",
    "word": "",
    # pinned axes, one per line, for the map
    "axes": "",
    # map
    "x": "current",
    "y": "gender",
    "color": "",
    "shown": "frequent",
    "points": "2000",
    "list": "",
    "mark": "",
    # compare
    "methods": "",
    "first_method": "",
    "second_method": "",
    # remove
    "remover": "densray-unit",
    "n_axes": "1",
    "anchors": "",
    "neutral_from": "occupations",
    "neutral": "",
    "keep": "",
    # analogies: asked with pairs of one's own, and the benchmark
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
    # layers
    "layer_methods": "",
    "layer_method": "",
    "layer": "",
    "own_text": "",
}
#: Characters; browsers and servers differ in what they take beyond.
MAX_ADDRESS_LENGTH = 6_000


class Settings(MutableMapping[str, str]):
    """Settings by name, with their defaults; unknown names are refused, and in an address ignored.

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
        """Return what differs from the defaults; settings too long for an address are left out, the longest first."""
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
    """An axis as it was asked for: word lists or a lexicon, a method, the seeds taken out, and its name.

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
        """Return one line that says it all."""
        return urlencode(vars(self))

    @classmethod
    def from_text(cls, text: str) -> AxisChoice | None:
        """Return the axis of a line; None where it is not one."""
        found = {
            key: values[0]
            for key, values in parse_qs(text, keep_blank_values=True).items()
            if key in cls.__dataclass_fields__
        }
        return cls(**found) if {"name", "source"} <= found.keys() else None
