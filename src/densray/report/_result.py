"""Results as data: provenance, sections, figures."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import platform
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, ClassVar

import numpy as np

from densray._version import __version__, library_versions
from densray._vocabulary import check_seed
from densray.errors import one_line
from densray.report._table import Column, Table, show_number


def to_plain(value: Any) -> Any:
    """Return ``value`` converted to dicts, lists, strings, numbers, booleans and ``None``.

    Numbers keep every digit; NaN and infinities become ``None``. Dataclasses become dicts of their fields,
    except fields declared with ``field(metadata={"report": False})``. Objects with a ``to_dict`` are converted by it.

    >>> import numpy as np
    >>> to_plain({"tau": np.float64(0.25), "scores": np.array([1.0, np.nan])})
    {'tau': 0.25, 'scores': [1.0, None]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, PurePath):
        return str(value)
    return _plain_container(value)


def _plain_container(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return to_plain(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return [to_plain(item) for item in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no plain form; give it a to_dict, or keep it out of the report.")


def fields_of(value: Any) -> dict[str, Any]:
    """Return the reported fields of a dataclass as plain values, in the order of declaration."""
    return {
        item.name: to_plain(getattr(value, item.name))
        for item in dataclasses.fields(value)
        if item.metadata.get("report", True)
    }


def to_json(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return ``value`` (a Result, a Table, rows, anything plain) as strict JSON text.

    With ``ascii_only``, non-ASCII letters are escaped.

    >>> to_json({"tau": float("nan")}, indent=None)
    '{"tau": null}'
    """
    return json.dumps(to_plain(value), ensure_ascii=ascii_only, allow_nan=False, indent=indent)


#: Descriptions of words that were left out or merged, by reason.
_SET_ASIDE = {
    "conflicting": "words left out, their labels conflict",
    "neutral": "words left out, neutral",
    "repeated": "words given more than once, kept once",
    "averaged": "words of several labels, averaged",
    "unlabelled": "words left out, without a label",
    "beyond the training limit": "words left out, beyond the training limit",
    "same vector": "words left out, spellings of one found",
    "in another case": "words found in another case",
    "no label": "rows left out, without a label",
    "no usable vector": "rows left out, without a usable vector",
}


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True)
class Input:
    """One input of a result.

    Attributes
    ----------
    role
        Role of the input: ``"space"``, ``"lexicon"``, ``"analogies"``.
    name
        Its file name or the name of the data set.
    digest
        SHA-256 of a file, or the fingerprint of an object in memory.
    size
        Number of words or entries, if it is known.
    """

    role: str
    name: str
    digest: str | None = None
    size: int | None = None

    @classmethod
    def of(cls, role: str, thing: Any) -> Input:
        """Describe a file by its SHA-256, and a space (or any object that has one) by its ``fingerprint()``."""
        if isinstance(thing, (str, Path)):
            return cls(role, Path(thing).name, file_digest(thing))
        digest = thing.fingerprint() if hasattr(thing, "fingerprint") else None
        size = len(thing) if hasattr(thing, "__len__") else None
        return cls(role, str(getattr(thing, "name", type(thing).__name__)), digest, size)


def _versions() -> dict[str, str]:
    return {"densray": __version__, "python": platform.python_version(), **library_versions()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def joined_reasons(parts: Iterable[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Merge the words left out by several word lists; each word appears once per reason.

    >>> joined_reasons([{"neutral": ("table",)}, {"neutral": ("table", "chair"), "conflicting": ("odd",)}])
    {'neutral': ('table', 'chair'), 'conflicting': ('odd',)}
    """
    joined: dict[str, dict[str, None]] = {}
    for part in parts:
        for reason, words in part.items():
            joined.setdefault(reason, {}).update(dict.fromkeys(words))
    return {reason: tuple(words) for reason, words in joined.items()}


@dataclass(frozen=True)
class Provenance:
    """Inputs, versions and timing of a result; call `begin` before the work and `finish` after it.

    ``words_set_aside`` are the words a lexicon left out, merged or respelled, by reason: "conflicting", "neutral",
    "repeated", "averaged", "same vector", "in another case".

    Examples
    --------
    >>> provenance = Provenance.begin(seed=0)
    >>> done = provenance.finish(inputs=[Input("lexicon", "gender.tsv")], used=40, missing=["zzz"])
    >>> done.words_used, done.words_missing, done.seed, done.seconds >= 0
    (40, ('zzz',), 0, True)
    """

    seed: int | None = None
    inputs: tuple[Input, ...] = ()
    words_used: int | None = None
    words_missing: tuple[str, ...] = ()
    words_set_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    method: str | None = None
    seconds: float | None = None
    parts_resumed: int = 0
    started: str = field(default_factory=_now)
    versions: Mapping[str, str] = field(default_factory=_versions)
    platform: str = field(default_factory=platform.platform)
    clock: float = field(default_factory=time.perf_counter, repr=False, compare=False, metadata={"report": False})

    @classmethod
    def begin(cls, *, seed: int | None = None) -> Provenance:
        """Start the clock of a computation, and check its seed."""
        check_seed(seed)
        return cls(seed=seed)

    def finish(
        self,
        *,
        inputs: Sequence[Input] = (),
        used: int | None = None,
        missing: Sequence[str] = (),
        set_aside: Mapping[str, tuple[str, ...]] | None = None,
        method: str | None = None,
        resumed: int = 0,
    ) -> Provenance:
        """Return a copy with the elapsed seconds, the inputs, the method and the words that were not used.

        `resumed` is the number of parts reused from an interrupted run (`densray.journal`); their time is not counted.
        """
        return replace(
            self,
            inputs=tuple(inputs),
            words_used=used,
            words_missing=tuple(missing),
            words_set_aside=dict(set_aside or {}),
            method=method,
            seconds=time.perf_counter() - self.clock,
            parts_resumed=resumed,
        )

    def since(self, beginning: Provenance) -> Provenance:
        """Return a copy whose time is measured from an earlier beginning until now."""
        return replace(self, started=beginning.started, seconds=time.perf_counter() - beginning.clock)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        return fields_of(self)

    def line(self) -> str:
        """Return the origin in one line: inputs, rows, method, seed, time and version.

        >>> lexicon = Input("lexicon", "gender", size=46)
        >>> Provenance(inputs=(lexicon,), words_used=43, method="ridge", seed=0, versions={}).line()
        'lexicon gender (46 entries) · 43 rows used · ridge · seed 0'
        """
        parts = [
            f"{each.role} {each.name}{'' if each.size is None else f' ({_entries(each)})'}" for each in self.inputs
        ]
        parts += [] if self.words_used is None else [f"{self.words_used:,} rows used"]
        parts += [self.method] if self.method else []
        parts += [] if self.seed is None else [f"seed {self.seed}"]
        parts += [] if self.seconds is None else [f"{show_number(self.seconds, 1)} s"]
        parts += [f"densray {self.versions['densray']}"] if "densray" in self.versions else []
        return " · ".join(parts)

    def unused_lines(self) -> list[str]:
        """Return one line for each reason why words were not used, and one for parts of an interrupted run."""
        reasons = [("words missing", self.words_missing)]
        reasons += [
            (_SET_ASIDE.get(reason, f"words {reason}"), words) for reason, words in self.words_set_aside.items()
        ]
        lines = [f"{what}: {_some(words)}" for what, words in reasons if words]
        resumed = self.parts_resumed
        return [*lines, *([f"parts taken from an interrupted run: {resumed}"] if resumed else [])]

    def table(self) -> Table:
        """Return the provenance as a table of two columns."""
        lines: list[tuple[str, object]] = [
            *((f"{each.role}: {each.name}", _describe(each)) for each in self.inputs),
            ("rows used", self.words_used),
            ("words missing", None if self.words_used is None else _some(self.words_missing)),
            *(
                (_SET_ASIDE.get(reason, f"words {reason}"), _some(words))
                for reason, words in self.words_set_aside.items()
            ),
            ("method", self.method),
            ("seed", None if self.seed is None else str(self.seed)),
            ("started", self.started),
            ("seconds", None if self.seconds is None else show_number(self.seconds, 2)),
            ("parts taken from an interrupted run", self.parts_resumed or None),
            ("versions", ", ".join(f"{name} {version}" for name, version in self.versions.items())),
            ("platform", self.platform),
        ]
        rows = [{"what": what, "value": value} for what, value in lines if value is not None]
        return Table("Provenance", [Column("what", ""), Column("value", "")], rows)


def _entries(each: Input) -> str:
    return "" if each.size is None else f"{each.size:,} {'entry' if each.size == 1 else 'entries'}"


def _describe(each: Input) -> str:
    size = _entries(each)
    digest = "" if each.digest is None else f"digest {each.digest[:16]}"
    return ", ".join(part for part in (size, digest) if part) or "no digest"


def _some(words: Sequence[str], *, most: int = 10) -> str:
    if not words:
        return "none"
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return f"{len(words):,}: {', '.join(words[:most])}{more}"


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a task: unrounded numbers and their provenance.

    A task subclasses it as a frozen dataclass, declares its numbers as fields, and implements :meth:`tables`
    for their layout. Fields declared with ``field(metadata={"report": False})`` (a fitted rotation, a space)
    are not part of :meth:`to_dict`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Agreement(Result):
    ...     title = "Agreement with the gold scores"
    ...     tau: float
    ...
    ...     def tables(self):
    ...         return [Table("Kendall τ", ["tau"], [{"tau": self.tau}])]
    >>> found = Agreement(0.25, provenance=Provenance.begin().finish(used=10))
    >>> found.to_dict()["tau"], found.to_dict()["provenance"]["words_used"]
    (0.25, 10)
    """

    title: ClassVar[str] = "Result"
    #: Number of tables that come before the figures of a page with a verdict: those with the numbers behind it.
    tables_before_figures: ClassVar[int] = 1

    provenance: Provenance

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):  # a dataclass would replace an inherited method by a list of all its fields
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return the class and the beginning of the text, in one line."""
        return f"{type(self).__name__}: {one_line(self.text() or self.title, width=160)}"

    def tables(self) -> list[Table]:
        """Return the result laid out as tables; the main one first."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is laid out as tables.")

    def text(self) -> str:
        """Return the result in sentences (default: none)."""
        return ""

    def lead(self) -> str:
        """Return the text before the tables: all of :meth:`text`, unless notes below the tables have part of it."""
        return self.text()

    @property
    def grade(self) -> str | None:
        """The grade of the verdict at the beginning of the text: good, fair, weak or none; None without a verdict."""
        verdict = getattr(self, "verdict", None)
        return None if verdict is None else str(verdict.grade)

    def to_dict(self) -> dict[str, Any]:
        """Return every reported field as plain values, unrounded; NaN is ``None``; provenance comes last."""
        plain = fields_of(self)
        plain["provenance"] = plain.pop("provenance")
        return plain

    def _repr_html_(self) -> str:
        from densray.report._render import to_html_fragment

        return to_html_fragment(self)


@dataclass(frozen=True)
class Citation:
    """A sentence for a methods section, and the BibTeX entries that it refers to."""

    sentence: str
    bibtex: str

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.bibtex}"

    def __repr__(self) -> str:
        entries = self.bibtex.count("\n@") + self.bibtex.startswith("@")
        return f"Citation with {entries} BibTeX entries: {one_line(self.sentence, width=120)}"


@dataclass(frozen=True)
class Figure:
    """A picture for a report: an SVG text and its caption.

    A phone shows `narrow`, a dark page `dark`, and a phone with a dark page `dark_narrow`, if there is one.
    """

    svg: str
    caption: str = ""
    narrow: str = ""
    dark: str = ""
    dark_narrow: str = ""


@dataclass(frozen=True)
class Section:
    """One part of a report: a heading, a paragraph, tables, figures and their provenance.

    A `grade` (good, fair, weak, none) colours the first line of the text on a terminal. A `citation` comes at the end.
    On a page, the first `tables_before_figures` tables come before the figures, unless they are long.
    """

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    provenance: Provenance | None = None
    grade: str | None = None
    citation: Citation | None = None
    tables_before_figures: int = 0

    @classmethod
    def of(cls, result: Result, *, title: str = "", text: str = "", figures: Sequence[Figure] = ()) -> Section:
        """Return a result as a section, with figures next to its tables."""
        return cls(
            title or result.title,
            text or result.lead(),
            result.tables(),
            figures,
            result.provenance,
            grade=None if text else result.grade,
            citation=getattr(result, "citation", None),
            tables_before_figures=result.tables_before_figures if result.grade and not text else 0,
        )


@dataclass(frozen=True)
class Report:
    """Several sections under one title, rendered as one page."""

    title: str
    sections: Sequence[Section | Result]
    text: str = ""


def sections_of(shown: Report | Section | Result | Table) -> list[Section]:
    """Return the sections of anything that can be rendered."""
    if isinstance(shown, Report):
        return [section for part in shown.sections for section in sections_of(part)]
    if isinstance(shown, Result):
        return [Section.of(shown)]
    if isinstance(shown, Table):
        return [Section("", tables=[shown])]
    return [shown]
