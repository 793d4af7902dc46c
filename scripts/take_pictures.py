"""Take the pictures of the explorer that the documentation shows: ``python scripts/take_pictures.py``.

Needs chromium and the extras of development; the pictures are those of the embedded space. With the folder of hidden
states (``densray states``) after it, the picture of their page is taken instead.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlencode

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
#: A sentence on the page of hidden states.
OWN_TEXT = "The nurse told the doctor that she would call her husband when he had paid."


def take_layers(folder: str) -> None:
    """Take the picture of hidden states, with a sentence coloured by token."""
    with explorer(folder) as address, browser() as chrome:
        visitor = Visitor(chrome, address, pictures=ROOT / "docs" / "images", height=1500)
        visitor.page.goto(f"{address}/?{urlencode({'own_text': OWN_TEXT})}")
        visitor.page.get_by_role("button", name="Load the model").click(timeout=600_000)
        visitor.page.wait_for_selector("text=All scores", timeout=600_000)
        visitor.settle().picture("explorer-layers")


def main() -> None:
    """Take them all."""
    if len(sys.argv) > 1:
        take_layers(sys.argv[1])
        return
    with explorer() as address, browser() as chrome:
        for name, (view, height) in VIEWS.items():
            visitor = Visitor(chrome, address, pictures=ROOT / "docs" / "images", height=height)
            visitor.go(view).picture(f"explorer-{name}")
            visitor.context.close()


if __name__ == "__main__":
    main()
