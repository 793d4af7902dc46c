"""The data that densray carries: a word space, lexicons, analogies, word lists and ratings.

Only files: `densray.datasets` reads them. ``SHA256SUMS`` lists them with their checksums, and NOTICE says where each
comes from and under which terms.
"""

from __future__ import annotations

from pathlib import Path

__version__ = "1.0.0"

FOLDER = Path(__file__).parent
