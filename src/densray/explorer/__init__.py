"""The explorer: a space in the browser, along axes the user names.

``launch`` starts it; ``densray explore`` is its command. One file a job: ``server`` (where it listens), ``guard`` (who
may talk to it), ``script/`` (what Streamlit runs at every click), ``shell`` (what is around every page), ``sidebar``
(the axis in hand), ``kept`` (axes put aside), ``settings`` (the view as an address), ``words`` (lists and files from
the page), ``workbench`` (the space on show), ``memory`` (results worth keeping), ``jobs`` (long steps in threads of
their own), ``widgets`` (what pages share), ``pages/`` (one file a page). The library does the work: nothing is computed
here.
"""

from __future__ import annotations

from densray.explorer.server import launch

__all__ = ["launch"]
