"""Charts as files: PNG, SVG, PDF, or one HTML page that opens offline."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from densray.errors import MissingExtraError, OutputError
from densray.report import Figure
from densray.writing import replacing

__all__ = ["check_chart_path", "figure", "save", "to_bytes", "to_svg"]

_SUFFIXES = (".png", ".svg", ".pdf", ".html")
_SCALE = 2.0


def save(chart: Any, path: str | Path, *, overwrite: bool = True) -> Path:
    """Write a chart in the format its suffix names; an interrupted write leaves the old file whole.

    Parameters
    ----------
    chart
        What one of the chart functions returned.
    path
        Ends in ``.png``, ``.svg``, ``.pdf`` or ``.html``; the HTML page is interactive and needs no network.
    overwrite
        Whether an existing file is replaced.
    """
    path = Path(path)
    check_chart_path(path)
    content = to_bytes(chart, path.suffix.lower()[1:])
    with replacing(path, overwrite=overwrite) as partial:
        partial.write_bytes(content)
    return path


def check_chart_path(path: Path) -> None:
    """Refuse an ending that names no format of charts, a missing folder, and a missing vl-convert."""
    if path.suffix.lower() not in _SUFFIXES:
        raise OutputError(f"{path}: a chart is written as {', '.join(_SUFFIXES)}, not as '{path.suffix}'.")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Create it, or write elsewhere.")
    _require_renderer()


def to_svg(chart: Any) -> str:
    """Return a chart as the text of an SVG file."""
    return to_bytes(chart, "svg").decode("utf-8")


def figure(chart: Any, caption: str) -> Figure:
    """Return a chart as a figure of a report."""
    return Figure(to_svg(chart), caption)


def _require_renderer() -> None:
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "Writing figures needs vl-convert, which is not installed. Install it with: pip install 'densray[figures]'"
        ) from error


class _InScript(json.JSONEncoder):
    """JSON that stands inside a script: no text of a chart can end it."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def to_bytes(chart: Any, kind: str) -> bytes:
    """Return a chart as the content of a file: ``png``, ``svg``, ``pdf`` or ``html``."""
    if f".{kind}" not in _SUFFIXES:
        raise OutputError(f"'{kind}' is no kind of chart file. Use {', '.join(each[1:] for each in _SUFFIXES)}.")
    _require_renderer()
    if kind == "html":
        page: str = chart.to_html(inline=True, json_kwds={"cls": _InScript})
        return page.encode("utf-8")
    if kind == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        return text.getvalue().encode("utf-8")
    binary = io.BytesIO()
    chart.save(binary, format=kind, **({"scale_factor": _SCALE} if kind == "png" else {}))
    return binary.getvalue()
