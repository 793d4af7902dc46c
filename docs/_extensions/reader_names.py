"""Gives a name to what the theme shows as a sign alone, for those who hear the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def name_folds(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Name the arrow that unfolds the pages below a page after that page."""
    made: Callable[..., Any] = context["generate_toctree_html"]

    def named(*given: Any, **options: Any) -> Any:
        tree = made(*given, **options)
        for arrow in (
            tree.select("details > summary") if hasattr(tree, "select") else ()
        ):
            link = arrow.parent.find_previous_sibling("a")
            if link is not None:
                arrow["aria-label"] = f"Pages below {link.get_text(strip=True)}"
        return tree

    context["generate_toctree_html"] = named


def setup(app: Any) -> dict[str, bool]:
    """Run after the theme has added what it draws with."""
    app.connect("html-page-context", name_folds, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
