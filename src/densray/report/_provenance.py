"""Where a result came from: versions, seed, inputs with their digests, words missing, seconds."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from densray._version import __version__
from densray.report._plain import fields_of
from densray.report._table import Column, Table

__all__ = ["Input", "Provenance", "file_digest"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn")
#: What is said of words that were set aside, by the reason.
_SET_ASIDE = {
    "conflicting": "words left out, their labels conflict",
    "neutral": "words left out, neutral",
    "repeated": "words given more than once, kept once",
    "averaged": "words of several labels, averaged",
    "same vector": "words left out, spellings of one found",
}


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True)
class Input:
    """One thing a result was computed from.

    Attributes
    ----------
    role
        What it was used as: ``"space"``, ``"lexicon"``, ``"analogies"``.
    name
        Its file name or the name of the data set.
    digest
        SHA-256 of a file, or the fingerprint of what was in memory.
    size
        How many words or entries it holds, where that is known.
    """

    role: str
    name: str
    digest: str | None = None
    size: int | None = None

    @classmethod
    def of(cls, role: str, thing: Any) -> Input:
        """Describe a file by its SHA-256, and a space (or whatever has one) by its ``fingerprint()``."""
        if isinstance(thing, (str, Path)):
            return cls(role, Path(thing).name, file_digest(thing))
        digest = thing.fingerprint() if hasattr(thing, "fingerprint") else None
        size = len(thing) if hasattr(thing, "__len__") else None
        return cls(role, str(getattr(thing, "name", type(thing).__name__)), digest, size)


def _versions() -> dict[str, str]:
    libraries = {name: metadata.version(name) for name in _LIBRARIES}
    return {"densray": __version__, "python": platform.python_version(), **libraries}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Provenance:
    """What a result was computed from and with; begin it before the work, finish it after.

    ``words_set_aside`` are the words a lexicon left out or merged, by reason: "conflicting", "neutral", "repeated",
    "averaged", "same vector".

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
        """Start the clock of a computation."""
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
        """Return it with the seconds since :meth:`begin`, the inputs, the method and the words that were not used.

        `resumed` is how many parts came from an interrupted run (`densray.journal`); their seconds are not counted.
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain form."""
        return fields_of(self)

    def table(self) -> Table:
        """Return it as a table of two columns, for the foot of a report."""
        lines: list[tuple[str, object]] = [
            *((f"{each.role}: {each.name}", _describe(each)) for each in self.inputs),
            ("words used", self.words_used),
            ("words missing", None if self.words_used is None else _some(self.words_missing)),
            *((_SET_ASIDE.get(why, f"words {why}"), _some(words)) for why, words in self.words_set_aside.items()),
            ("method", self.method),
            ("seed", self.seed),
            ("started", self.started),
            ("seconds", None if self.seconds is None else f"{self.seconds:.2f}"),
            ("parts taken from an interrupted run", self.parts_resumed or None),
            ("versions", ", ".join(f"{name} {version}" for name, version in self.versions.items())),
            ("platform", self.platform),
        ]
        rows = [{"what": what, "value": value} for what, value in lines if value is not None]
        return Table("Provenance", [Column("what", ""), Column("value", "")], rows)


def _describe(each: Input) -> str:
    size = "" if each.size is None else f"{each.size:,} entries"
    digest = "" if each.digest is None else f"digest {each.digest[:16]}"
    return ", ".join(part for part in (size, digest) if part) or "no digest"


def _some(words: Sequence[str], *, most: int = 10) -> str:
    if not words:
        return "none"
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return f"{len(words):,}: {', '.join(words[:most])}{more}"
