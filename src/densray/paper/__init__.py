"""The published tables of Dufter & Schütze (EMNLP 2019) as data, and a comparison with our results."""

from __future__ import annotations

from densray.paper._published import (
    AGGREGATES,
    DECIMALS,
    GROUPS,
    TABLES,
    agreement,
    compare,
    comparison_table,
    published,
)
from densray.paper._tables import (
    ANCHORS,
    EMBEDDINGS,
    analogy_tables,
    figure2,
    occupation_gaps,
    reproduce_analogies,
    table1,
    table3,
)

__all__ = [
    "AGGREGATES",
    "ANCHORS",
    "DECIMALS",
    "EMBEDDINGS",
    "GROUPS",
    "TABLES",
    "agreement",
    "analogy_tables",
    "compare",
    "comparison_table",
    "figure2",
    "occupation_gaps",
    "published",
    "reproduce_analogies",
    "table1",
    "table3",
]
