"""The explorer: a space of words, or a table of documents, in the browser, along axes that the user names.

``launch`` starts it; ``densray explore`` is its command. ``server`` accepts requests only from its own pages, ``app``
is the script that Streamlit runs at every click, ``sidebar`` offers the choice of an axis, ``settings`` stores the view
in the address, ``python_code`` writes the view as a script, ``words`` reads lists and files from the page,
``workbench`` runs steps and caches results, ``widgets`` has the shared widgets, and ``views`` has one file per page. A
table of documents has its own pages, with ``table_bench`` and ``table_sidebar``. The library does the computing.
"""

from __future__ import annotations

from densray.explorer.server import launch

__all__ = ["launch"]
