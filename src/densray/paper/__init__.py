"""The published tables of Dufter & Schütze (EMNLP 2019) as data, and their comparison with ours."""

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

__all__ = [
    "AGGREGATES",
    "DECIMALS",
    "GROUPS",
    "TABLES",
    "agreement",
    "compare",
    "comparison_table",
    "published",
]
