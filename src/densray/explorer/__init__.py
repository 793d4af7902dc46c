"""The explorer: a space in the browser, along axes the user names.

``launch`` starts it; ``densray explore`` is its command. One file a job: ``server`` (where it listens), ``guard`` (who
may talk to it), ``settings`` (the view as an address), ``words`` (lists and files from the page), ``workbench`` (the
space, and results worth keeping), ``widgets`` (what pages share), ``pages/`` (one file a page). The library does the
work: nothing is computed here.
"""

from __future__ import annotations

from densray.explorer.server import launch

__all__ = ["launch"]
