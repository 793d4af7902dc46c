"""The font of the text in a chart and its width, written into its SVG, so that no other font cuts it."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

# Widths in Helvetica, Arial and Liberation Sans, which are the same, in thousandths of the font size; from " " to "~".
_NORMAL = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 "
    "584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 "
    "333 611 556 778 556 556 500 389 280 389 584"
)
_OTHERS = {"−": 584, "±": 584, "×": 584, "–": 556, "—": 1000, "…": 1000, "‘": 222, "’": 222, "“": 333, "”": 333,
           "°": 400, "·": 333, "←": 1000, "→": 1000, "≤": 549, "≥": 549, "τ": 395, "ρ": 569, "σ": 617,
           "\u2060": 0, "\u00a0": 278}  # fmt: skip
_WIDTHS = {
    weight: {chr(32 + place): int(width) for place, width in enumerate(known.split())} | _OTHERS
    for weight, known in (("normal", _NORMAL), ("bold", _BOLD))
}
#: Fonts with these widths. Only on a machine without them does the width of a text move its letters.
_FONTS = "Arial, Helvetica, 'Liberation Sans', Arimo, sans-serif"
_TEXT = re.compile(r'<text(?P<look> [^>]*font-size="(?P<size>[\d.]+)px"[^>]*)>(?P<text>[^<]+)</text>')


def written_width(text: str, font_size: float, *, bold: bool = False) -> float | None:
    """Return the width at which a chart was laid out for a text; None if it has letters of other scripts."""
    widths = _WIDTHS["bold" if bold else "normal"]
    letters = [each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each)]
    if any(letter not in widths for letter in letters):
        return None
    return sum(widths[letter] for letter in letters) * font_size / 1000


def with_widths(svg: str) -> str:
    """Return an SVG that names fonts of these widths, and states the width of each text.

    In another font, letters move closer together or apart, and keep their shape.
    """

    def add_width(match: re.Match[str]) -> str:
        look, text = match["look"], match["text"]
        width = written_width(unescape(text), float(match["size"]), bold='font-weight="bold"' in look)
        if width is None or len(text) < 2 or "textLength" in look:
            return match[0]
        return f'<text{look} textLength="{round(width, 1)}" lengthAdjust="spacing">{text}</text>'

    return _TEXT.sub(add_width, svg.replace('font-family="sans-serif"', f'font-family="{_FONTS}"'))
