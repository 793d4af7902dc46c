"""The command line ``densray …``: the library as commands.

One file per group of commands. A command reads its arguments, calls the library and shows the result. What commands
share is in ``options`` (the flags), ``terminal`` (results, files, progress) and ``entry`` (errors and exit codes).
Heavy libraries are imported inside the commands, so that ``densray --help`` is quick.
"""

from __future__ import annotations

from densray.cli.entry import main

__all__ = ["main"]
