"""The published tables of Dufter & Schütze (EMNLP 2019) as data, and their comparison with ours."""

from __future__ import annotations

from densray.paper.aggregates import macro_lines
from densray.paper.comparison import agreement, compare, comparison_table
from densray.paper.published import AGGREGATES, DECIMALS, GROUPS, TABLES, published

__all__ = [
    "AGGREGATES",
    "DECIMALS",
    "GROUPS",
    "TABLES",
    "agreement",
    "compare",
    "comparison_table",
    "macro_lines",
    "published",
]
