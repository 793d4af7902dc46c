"""The command line ``densray …``: a thin twin of the library.

One file per group of commands; a command reads its arguments, calls the library and shows the answer. What
commands share lives beside them: ``options`` (the flags), ``output`` (where files go and answers appear),
``progress`` (what is shown meanwhile) and ``entry`` (how a run ends). Heavy libraries are imported inside the
commands, so that ``densray --help`` is quick.
"""

from __future__ import annotations

from densray.cli.entry import main

__all__ = ["main"]
