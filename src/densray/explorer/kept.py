"""Axes put aside, so that several can be looked at together."""

from __future__ import annotations

from densray.explorer.settings import AxisChoice
from densray.explorer.widgets import settings, write_setting
from densray.explorer.words import name_of_lists

__all__ = ["drop_axis", "keep_axis", "kept_axes", "take_axis"]

#: Axes kept at once: beyond, an address would be too long to share.
MOST = 12


def kept_axes() -> dict[str, AxisChoice]:
    """Return the axes put aside, by name; lines of an address that are none are passed over."""
    found = (AxisChoice.from_text(line) for line in settings()["axes"].splitlines())
    return {choice.name: choice for choice in found if choice is not None}


def keep_axis(choice: AxisChoice) -> None:
    """Put an axis aside; one of the same name gives way, and of too many the oldest."""
    others = [kept for kept in kept_axes().values() if kept.name != choice.name]
    _write([*others, choice][-MOST:])


def drop_axis(name: str) -> None:
    """Forget an axis that was put aside."""
    _write([kept for kept in kept_axes().values() if kept.name != name])


def take_axis(name: str) -> None:
    """Take an axis that was put aside in hand again."""
    found = kept_axes().get(name)
    if found is None:
        return
    for setting in ("source", "high", "low", "lexicon", "method"):
        if getattr(found, setting):  # lists stay as they are under a lexicon, and a lexicon under lists
            write_setting(setting, getattr(found, setting))
    write_setting("without", found.without)
    given = found.name not in (found.lexicon, name_of_lists(found.high, found.low))
    write_setting("name", found.name if given else "")


def _write(choices: list[AxisChoice]) -> None:
    write_setting("axes", "\n".join(choice.to_text() for choice in choices))
