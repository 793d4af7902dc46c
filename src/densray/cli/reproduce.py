"""``densray reproduce …``: the paper's number beside ours, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from densray.cli.output import print_json, show

__all__ = ["app", "show_comparison"]

#: As they come in the paper.
_ORDER = ("table1", "figure1", "table3", "figure2", "table4", "table5", "table6")


class _InOrder(TyperGroup):
    """Commands in the order of the paper, wherever they are registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_ORDER.index)


app = typer.Typer(help="Put our numbers beside the published ones, cell by cell.", cls=_InOrder)


@app.callback()
def _reproduce() -> None:
    """Put our numbers beside the published ones, cell by cell."""


def show_comparison(table: str, rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print our rows of a published table beside the paper's: a list of rows as JSON, or a table.

    ``rows`` carry the keys of the published table and ``ours``; see :func:`densray.paper.compare`.
    """
    from densray.paper import compare, comparison_table, published

    compared = compare(rows, published(table))
    if as_json:
        print_json([{key: row[key] for key in row if key != "difference"} for row in compared])
    else:
        show(comparison_table(table, compared), as_json=False)
