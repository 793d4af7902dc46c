"""Take the pictures that the documentation shows, and write what the tutorial prints.

``python scripts/take_pictures.py`` needs chromium and the extras of development. The pictures show the bundled space.
With ``figures``, ``tutorial``, ``explorer`` or ``animation`` as argument, it takes that part only. With
``cases.parquet``, the court cases that ``measure_documents.py`` embeds, it takes the pictures of a table of documents.
Every picture of the explorer is taken in light and in dark (``-dark``), and of the top of the page on a phone
(``-narrow``). Charts are drawn in a second layout for phones, too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "tests"))  # the driver the end-to-end tests use

_CHART = '[data-testid="stVegaLiteChart"]'
_BELOW_A_MAP = 'p:has-text("scaled to unit length")'
_BESIDE = '[data-testid="stHorizontalBlock"]'
#: The name of each picture of the explorer, the view it shows, and a selector of the element that it ends below.
VIEWS = {
    "axis": ("?words=nurse,wonderful", _CHART),
    "vocabulary": ("map?shown=frequent&mark=nurse+engineer&color=us-occupation-shares", _BELOW_A_MAP),
    "map": ("map?shown=occupations&mark=nurse+engineer&color=us-occupation-shares", _BELOW_A_MAP),
    "compare": ("compare?source=lexicon&lexicon=gender", f'{_BESIDE}:has-text("Angle between the axes")'),
    "remove": ("remove?source=lexicon&lexicon=gender", f'{_BESIDE}:has-text("erased space")'),
    "analogies": ("analogies", 'p:has-text("Each bar shows the difference")'),
    "layers": ("layers?layer_methods=ridge,mean-difference", 'p:has-text("p compares the best layer")'),
}
#: The same for a table of documents.
TABLE_VIEWS = {
    "documents-map": ("?label=source&find=copyright", _BELOW_A_MAP),
    "documents-remove": ("remove?label=source", 'p:has-text("Each map has the two directions")'),
}
#: The views whose wide picture shows the sidebar. The documentation shows pictures about 720 pixels wide: the others
#: are without the sidebar, so that their letters are as large as those of the page.
WITH_SIDEBAR = ("axis", "documents-map")
#: Widths of the windows, and their pixels per pixel of a page.
WIDE, SIDEBAR_SCALE, WIDE_SCALE = 1000, 1.4, 2.0
PHONE, PHONE_SCALE = 390, 2.0
#: The windows are so high that no page scrolls; pixels of a page that a picture has below its last element.
_HIGH, _BELOW = 3400, 12
_SIDEBAR = '[data-testid="stSidebar"]'
#: Hide every control and line of text in the sidebar that the lower edge of a picture would cut.
_HIDE_CUT = """([sidebar, bottom]) => document.querySelectorAll(`${sidebar} *`).forEach(each => {
    const {top, bottom: end, height} = each.getBoundingClientRect()
    if (top < bottom && end > bottom && height < 120) each.style.visibility = 'hidden'
})"""
#: The views of the animation, and a caption for each of the first charts. It shows these together, on a phone one after
#: another. These are results alone, without the controls around them.
SCENES = (
    ("?words=nurse,wonderful", ("Words on an axis, with two standard errors", "All words, and the seeds")),
    ("map?shown=occupations&mark=nurse+engineer&color=us-occupation-shares", ("Occupations on two axes",)),
    ("remove?source=lexicon&lexicon=gender", ("Before gender is removed", "After gender is removed")),
)
MILLISECONDS = 3500
#: Widths of the windows of the animation, and the sizes of its frames in pixels of a page; README shows it at most 838
#: wide. The windows are so high that no chart has to be scrolled to.
WINDOWS = {"": (1180, (838, 640)), "-narrow": (PHONE, (PHONE, 640))}
WINDOW_HEIGHT, FRAME_SCALE, MARGIN = 3200, 2, 12
CAPTION, CAPTION_LETTERS = 34, 17  # heights in pixels of a page
TIMES_SHOWN = 2
SCHEMES = {"light": "", "dark": "-dark"}
#: The ground of README on GitHub, around a picture.
GROUNDS = {"": "white", "-dark": "#0d1117"}
_CHARTS = '.word-map, [data-testid="stVegaLiteChart"]'
_BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def take_explorer(*opened: str, views: dict[str, tuple[str, str]] = VIEWS) -> None:
    """Take a picture of every page of the explorer, in a wide window and on a phone."""
    from PIL import Image

    from browser import Visitor, browser, explorer

    with explorer(*opened) as address, browser() as chrome:
        for name, (view, last) in views.items():
            wide_scale = SIDEBAR_SCALE if name in WITH_SIDEBAR else WIDE_SCALE
            for scheme, suffix in SCHEMES.items():
                for layout, width, scale in (("", WIDE, wide_scale), ("-narrow", PHONE, PHONE_SCALE)):
                    visitor = Visitor(chrome, address, width=width, height=_HIGH, scale=scale, scheme=scheme)
                    page = visitor.go(view).page
                    page.wait_for_timeout(1000)
                    clip = _down_to(page, last, with_sidebar=bool(layout) or name in WITH_SIDEBAR)
                    with Image.open(io.BytesIO(page.screenshot(clip=clip))) as picture:
                        # 256 colours are enough, and take a third of the bytes
                        small = picture.convert("RGB").quantize(256, kmeans=3, dither=Image.Dither.NONE)
                    visitor.context.close()
                    small.save(IMAGES / f"explorer-{name}{suffix}{layout}.png", optimize=True)


def _down_to(page: Any, last: str, *, with_sidebar: bool) -> dict[str, float]:
    """Return the part of a page above the lower edge of an element, and hide what this edge cuts in the sidebar."""
    box = page.locator(f"{last} >> visible=true").first.bounding_box()
    bottom, left = box["y"] + box["height"] + _BELOW, 0.0
    assert bottom < _HIGH, f"The window is not high enough for {last}."
    if with_sidebar:
        page.evaluate(_HIDE_CUT, [_SIDEBAR, bottom])
    else:
        sidebar = page.locator(_SIDEBAR).bounding_box()
        left = sidebar["x"] + sidebar["width"] + 1  # and its border
    return {"x": left, "y": 0.0, "width": page.viewport_size["width"] - left, "height": bottom}


def take_animation() -> None:
    """Show some results of the explorer one after another, as one animated picture, in a wide window and on a phone."""
    from browser import Visitor, browser, explorer

    with explorer() as address, browser() as chrome:
        for scheme, suffix in SCHEMES.items():
            for layout, (width, size) in WINDOWS.items():
                frames: list[Any] = []
                visitor = Visitor(
                    chrome, address, width=width, height=WINDOW_HEIGHT, scale=float(FRAME_SCALE), scheme=scheme
                )
                for view, captions in SCENES:
                    page = visitor.go(view).page
                    page.wait_for_timeout(1000)
                    charts = page.locator(_CHARTS).all()
                    shown = [(chart.bounding_box(), text) for chart, text in zip(charts, captions, strict=False)]
                    for together in [[one] for one in shown] if layout else [shown]:
                        around = _around([box for box, _ in together])
                        places = {text: box["x"] - around["x"] for box, text in together}
                        frames.append(_framed(_captioned(page.screenshot(clip=around), places), size))
                visitor.context.close()
                frames[0].save(
                    IMAGES / f"explorer{suffix}{layout}.webp",
                    save_all=True,
                    append_images=frames[1:],
                    duration=MILLISECONDS,
                    loop=TIMES_SHOWN,
                    quality=80,
                    method=6,
                )


def _around(boxes: list[dict[str, float]]) -> dict[str, float]:
    """Return the smallest box around some boxes."""
    left, top = min(box["x"] for box in boxes), min(box["y"] for box in boxes)
    right, bottom = (max(box[at] + box[size] for box in boxes) for at, size in (("x", "width"), ("y", "height")))
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def _captioned(taken: bytes, places: dict[str, float]) -> Any:
    """Return a picture with captions above it, by their distance from its left edge."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    ground = picture.getpixel((0, 0))
    band = CAPTION * FRAME_SCALE
    captioned = Image.new("RGB", (picture.width, picture.height + band), ground)
    captioned.paste(picture, (0, band))
    drawn, font = ImageDraw.Draw(captioned), ImageFont.load_default(CAPTION_LETTERS * FRAME_SCALE)
    for text, place in places.items():
        drawn.text((place * FRAME_SCALE, 0), text, "#fafafa" if sum(ground) < 384 else "#31333f", font)
    return captioned


def _framed(picture: Any, size: tuple[int, int]) -> Any:
    """Return a picture in the middle of a frame with the ground of its first pixel, made smaller if it is too large."""
    from PIL import Image, ImageOps

    width, height = (pixels * FRAME_SCALE for pixels in size)
    inner = width - 2 * MARGIN, height - 2 * MARGIN
    if picture.width > inner[0] or picture.height > inner[1]:
        picture = ImageOps.contain(picture, inner, Image.Resampling.LANCZOS)
    frame = Image.new("RGB", (width, height), picture.getpixel((0, 0)))
    frame.paste(picture, ((width - picture.width) // 2, (height - picture.height) // 2))
    return frame


def take_tutorial() -> None:
    """Run the tutorial, write under each block what it prints, and keep the charts that it saves."""
    from densray.cli import terminal
    from densray.cli.entry import run
    from densray.figures._narrow import save_narrow

    terminal._PIPE_WIDTH = 80
    page = ROOT / "docs" / "tutorial.md"
    names: dict[str, Any] = {"__name__": "page"}
    printed = ""

    def rewritten(match: re.Match[str]) -> str:
        nonlocal printed
        language, body = match.groups()
        if language == "text":
            return f"```text\n{printed}```"
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            if language == "python":
                exec(compile(body, str(page), "exec", dont_inherit=True), names)
                for drawn in re.findall(r'figures\.save\(chart, "(.+)"\)', body):
                    save_narrow(names["chart"], Path(drawn))
            else:
                for line in body.splitlines():
                    assert run(shlex.split(line.removeprefix("$ densray "))) == 0, line
        printed = stream.getvalue()
        return match[0]

    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = _BLOCK.sub(rewritten, page.read_text("utf-8"))
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, IMAGES / f"tutorial-{picture.name}")
    page.write_text(text, "utf-8")


def take_figures() -> None:
    """Draw figure 2 of the paper, which README shows: in light, in dark, and for phones."""
    from densray import load_space, paper
    from densray.figures import anchor_scatter
    from densray.figures._narrow import save_both
    from densray.figures._style import on_dark

    gaps = paper.occupation_gaps(load_space("googlenews-26k"))
    chart = anchor_scatter(
        paper.figure2(gaps), anchors=paper.ANCHORS, title="Cosines of occupations to “man” and “woman”"
    )
    for suffix, ground in GROUNDS.items():
        save_both(on_dark(chart, ground) if suffix else chart, IMAGES / f"figure2{suffix}.svg")


PARTS: dict[str, Callable[[], None]] = {
    "figures": take_figures,
    "tutorial": take_tutorial,
    "explorer": take_explorer,
    "animation": take_animation,
}


def main() -> None:
    """Take them all, or those that are named; another name is a table of documents."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in sys.argv[1:] or PARTS:
        if name in PARTS:
            PARTS[name]()
        else:
            take_explorer(name, views=TABLE_VIEWS)


if __name__ == "__main__":
    main()
