"""The width of the visitor's window, and where the inputs of a page stand: in the sidebar, or on a phone in the page.

Streamlit folds the sidebar on a phone, and its scripts do not know the width. A component without a picture reports
it. Every input exists once: its container changes, and its value stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import streamlit as st

_KEY = "window"
#: Below this width in pixels, Streamlit folds the sidebar.
_NARROW = 768
_SCRIPT = f"""export default function ({{ setStateValue }}) {{
  const narrow = matchMedia("(max-width: {_NARROW - 0.02}px)")
  const tell = () => setStateValue("narrow", narrow.matches)
  if (narrow.matches) tell()
  narrow.addEventListener("change", tell)
  return () => narrow.removeEventListener("change", tell)
}}"""


@cache
def _component() -> Any:
    return st.components.v2.component("densray_window", js=_SCRIPT)


def watch_window(on_change: Callable[[], None]) -> None:
    """Let the browser report whether its window is narrow; if it is, the page runs again after `on_change`."""
    _component()(key=_KEY, on_narrow_change=on_change)


def is_narrow() -> bool:
    """Return whether the window is too narrow for a sidebar; False until the browser reports it."""
    return bool(st.session_state.get(_KEY, {}).get("narrow", False))


@contextmanager
def inputs(title: str) -> Iterator[None]:
    """Show inputs in the sidebar, or on a phone at the top of the page, folded under a title."""
    if is_narrow():
        with st.expander(title, icon=":material/tune:"):
            yield
    else:
        with st.sidebar:
            st.divider()
            yield


def place_of(title: str) -> str:
    """Return the name of the place of some inputs, for messages.

    >>> place_of("Change the axis")
    'in the sidebar'
    """
    return f"under “{title}”" if is_narrow() else "in the sidebar"
