"""Finished parts of a long run, kept on disk, so that an interrupted run goes on where it was.

A task that is given a :class:`Journal` asks it for every part (a method, a category, a sample): one that the very same
run finished before is taken, any other is computed and written down. Without a journal nothing is written.
"""

from __future__ import annotations

from densray.journal._journal import DAYS_KEPT, Journal, Run

__all__ = ["DAYS_KEPT", "Journal", "Run"]
