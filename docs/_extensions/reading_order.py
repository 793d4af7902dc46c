"""The order of the examples in the gallery: from one axis to its removal."""

from __future__ import annotations

from typing import Any

_ORDER = (
    "sentiment_axis",
    "words_with_errors",
    "score_histogram",
    "seeds_that_matter",
    "few_seeds",
    "methods_compared",
    "spectrum",
    "two_axes",
    "gender_removed",
    "what_is_left",
    "analogies",
)


class ReadingOrder:
    """Sorts examples; one without a place in the order is an error, which fails the build."""

    def __init__(self, _folder: Any) -> None:
        """Take the folder of the examples, which does not matter here."""

    def __call__(self, name: str) -> int:
        """Return the place of an example."""
        return _ORDER.index(name.removeprefix("plot_").removesuffix(".py"))

    def __repr__(self) -> str:
        """Return the same text in every build, so that Sphinx sees no change of its settings."""
        return "ReadingOrder"
