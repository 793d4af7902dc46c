"""Take the pictures of the explorer that the documentation shows: ``python scripts/take_pictures.py``.

Needs chromium and the extras of development; the pictures are those of the embedded space.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the driver the end-to-end tests use

from browser import Visitor, browser, explorer  # noqa: E402

#: The name of each picture, the view it shows, and its height.
VIEWS = {
    "axis": ("?word=wonderful", 1080),
    "map": ("map?shown=occupations&mark=nurse+engineer&color=us-occupation-shares", 1150),
    "compare": ("compare?source=lexicon&lexicon=gender", 1180),
    "remove": ("remove?source=lexicon&lexicon=gender", 900),
    "analogies": ("analogies", 860),
}


def main() -> None:
    """Take them all."""
    with explorer() as address, browser() as chrome:
        for name, (view, height) in VIEWS.items():
            visitor = Visitor(chrome, address, pictures=ROOT / "docs" / "images", height=height)
            visitor.go(view).picture(f"explorer-{name}")
            visitor.context.close()


if __name__ == "__main__":
    main()
