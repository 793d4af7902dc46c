"""What tasks return, and how several of them make one report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from densray.report._plain import fields_of
from densray.report._provenance import Provenance
from densray.report._table import Table

__all__ = ["Figure", "Report", "Result", "Section", "sections_of"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a task found, unrounded, with where it came from.

    A task subclasses it as a frozen dataclass, declares its numbers as fields, and says in :meth:`tables` how
    they are laid out. Fields declared with ``field(metadata={"report": False})`` (a fitted rotation, a space)
    stay out of :meth:`to_dict`.

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

    provenance: Provenance

    def tables(self) -> list[Table]:
        """Return the result laid out as tables; the main one first."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is laid out as tables.")

    def text(self) -> str:
        """Return what is to be said before the tables; nothing unless a task says more."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return every reported field in plain form, unrounded; NaN is ``None``; provenance comes last."""
        plain = fields_of(self)
        plain["provenance"] = plain.pop("provenance")
        return plain

    def _repr_html_(self) -> str:
        from densray.report._html import to_html_fragment

        return to_html_fragment(self)


@dataclass(frozen=True)
class Figure:
    """A picture for a report: the text of an SVG file and what it shows."""

    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One part of a report: a heading, a paragraph, tables, figures and where they came from."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    provenance: Provenance | None = None

    @classmethod
    def of(cls, result: Result, *, title: str = "", text: str = "", figures: Sequence[Figure] = ()) -> Section:
        """Return a result as a section, with figures beside its tables."""
        return cls(title or result.title, text or result.text(), result.tables(), figures, result.provenance)


@dataclass(frozen=True)
class Report:
    """Several sections under one title: what becomes a page."""

    title: str
    sections: Sequence[Section | Result]
    text: str = ""


def sections_of(shown: Report | Section | Result | Table) -> list[Section]:
    """Return anything the renderers take as the list of sections it is made of."""
    if isinstance(shown, Report):
        return [section for part in shown.sections for section in sections_of(part)]
    if isinstance(shown, Result):
        return [Section.of(shown)]
    if isinstance(shown, Table):
        return [Section("", tables=[shown])]
    return [shown]
