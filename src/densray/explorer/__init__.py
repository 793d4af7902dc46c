"""The explorer: a space in the browser, along axes the user names.

``launch`` starts it; ``densray explore`` is its command. ``server`` listens and turns foreign requests away, ``app``
is what Streamlit runs at every click, ``sidebar`` chooses the axis, ``settings`` has the view as an address and as
Python, ``words`` reads lists and files from the page, ``workbench`` runs and keeps the steps, ``widgets`` has what
pages share, and ``views`` has one file per page. The library does the work: nothing is computed here.
"""

from __future__ import annotations

from densray.explorer.server import launch

__all__ = ["launch"]
