"""Labels as they are written in lexicons, and the numbers they stand for."""

from __future__ import annotations

import math
from collections.abc import Collection

__all__ = ["LABELS_NEEDED", "is_neutral_label", "parse_label"]

_NAMED = {
    "positive": 1.0,
    "pos": 1.0,
    "+": 1.0,
    "negative": -1.0,
    "neg": -1.0,
    "-": -1.0,
    "neutral": 0.0,
    "neu": 0.0,
}

#: What is said where a label stands for no number.
LABELS_NEEDED = (
    "Use 1/-1 or a score. The words positive, negative and neutral are read too; others with label_names=(low, high)."
)


def parse_label(label: object, names: tuple[str, str] | None = None) -> float | None:
    """Return the number a label stands for, None where it is none; NaN and infinity are none.

    `names` are what a lower and a higher label are called, beside the usual words.

    >>> parse_label("POS"), parse_label("-0,5"), parse_label("2.5"), parse_label("postive")
    (1.0, None, 2.5, None)
    >>> parse_label("Rich", ("poor", "rich")), parse_label("rich")
    (1.0, None)
    """
    if isinstance(label, str):
        text = label.strip().lower().replace("−", "-")
        if names is not None and text in (own := [name.strip().lower() for name in names]):
            return (-1.0, 1.0)[own.index(text)]
        if text in _NAMED:
            return _NAMED[text]
        if "_" in text:  # float() would read 1_000
            return None
        label = text
    try:
        number = float(label)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def is_neutral_label(labels: Collection[float]) -> bool:
    """Return whether 0 means neutral among these labels: where the others are -1 and 1, both of them."""
    return set(labels) == {-1.0, 0.0, 1.0}
