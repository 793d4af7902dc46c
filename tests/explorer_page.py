"""A page of the explorer without a browser: what every test of a page starts with."""

from __future__ import annotations

import pytest


def open_page(name: str = "axis", **settings: str):
    """The page on the bundled space, run by Streamlit's own test frame, with settings in its address.

    Widgets are found by their setting: ``page.text_area(key="setting high")``. Skips where Streamlit is missing.
    """
    testing = pytest.importorskip("streamlit.testing.v1", reason="the extra `explore` (streamlit) is not installed")
    script = f"from densray.explorer.app import show_page\n\nshow_page({name!r})"
    page = testing.AppTest.from_string(script, default_timeout=60)
    for key, value in settings.items():
        page.query_params[key] = value
    return page.run()


def texts(elements) -> str:
    """All texts of some elements, as they are shown: without the backslashes that keep words from being markup."""
    return "\n".join(element.value for element in elements).replace("\\", "")
