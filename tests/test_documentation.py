"""The documentation is whole: code runs, formulas show, every command and public name is on a page."""

from __future__ import annotations

import pkgutil
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.main import get_command

import densray
import densray.axes
import densray.debiasing
import densray.paper
from densray.cli.app import app
from densray.cli.entry import run
from densray.report import Result
from densray.rotations import METHODS

ROOT = Path(__file__).parents[1]
DOCUMENTS = ROOT / "docs"
#: A block under the caption “densray” runs as well; those beside it show the code of other tools.
BLOCK = re.compile(
    r"^( *)```(python|console|text|\{code-block\} python\n:caption: densray)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL
)

WIDEST = 88  # columns of code that a page has room for
#: Pages whose blocks run from top to bottom, each page in a folder of its own.
RUNNING = ["tutorial.md", "methods.md", "mathematics.md"]
RUNNING += sorted(f"how-to/{page.name}" for page in (DOCUMENTS / "how-to").glob("*.md") if page.name != "index.md")
#: Pages whose commands name files of the reader's; their Python runs.
PYTHON_RUNNING = ["analogies.md", "data.md", "debiasing.md", "formats.md", "lexicon_induction.md", "lexicons.md"]
PYTHON_RUNNING += ["people.md", "reports-and-figures.md", "scale.md", "spaces.md", "trust.md"]
#: What pages need beyond the package itself.
NEEDED = {"how-to/remove-preference.md": "transformers", "how-to/steer.md": "transformers"}
#: Pages that take more than a few seconds.
SLOW = {"how-to/large-spaces.md", "how-to/remove-preference.md", "how-to/steer.md", "lexicon_induction.md"}
SLOW |= {"trust.md", "tutorial.md"}
PAGES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in (*RUNNING, *PYTHON_RUNNING)]


def blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Language, text and line of every block that runs, and of what it prints."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        indent, language, body = match.groups()
        line = text[: match.start()].count("\n") + 1
        language = "python" if language.startswith("{") else language
        yield language, "".join(row.removeprefix(indent) for row in body.splitlines(keepends=True)), line


def commands(body: str) -> Iterator[list[str]]:
    """The arguments of each ``$ densray`` line of a console block; other lines are what it answered."""
    for row in body.replace("\\\n", " ").splitlines():
        if row.startswith("$ densray "):
            yield shlex.split(row.removeprefix("$ densray "))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_the_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"{name} needs it")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("densray.cli.terminal._PIPE_WIDTH", 80)
    page = DOCUMENTS / name
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where dataclasses of a page look for what they name
    names = vars(module)
    ran = 0
    for language, body, line in blocks(page):
        if language == "python":
            capsys.readouterr()
            exec(compile("\n" * line + body, str(page), "exec", dont_inherit=True), names)
        elif name in RUNNING and language == "text":
            assert capsys.readouterr().out == body, f"{name}, line {line}: this is not what the block above prints"
        elif name in RUNNING:
            capsys.readouterr()
            for arguments in commands(body):
                assert run(arguments) == 0, f"{name}, line {line}: {arguments}: {capsys.readouterr().err}"
        ran += 1
    assert ran > 0


@pytest.mark.parametrize("page", sorted(DOCUMENTS.rglob("*.md")), ids=lambda page: page.stem)
def test_code_that_does_not_run_is_at_least_python(page: Path) -> None:
    for body in re.findall(
        r"^```\{code-block\} python\n(?::caption: .*\n)?(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    ):
        compile(body, str(page), "exec")


@pytest.mark.parametrize("page", sorted(DOCUMENTS.rglob("*.md")), ids=lambda page: page.stem)
def test_code_fits_its_column(page: Path) -> None:
    for kind, body in re.findall(r"^ *```(.*)\n((?s:.*?))^ *```$", page.read_text("utf-8"), re.MULTILINE):
        if not kind.lstrip("`").startswith("{") or "code-block" in kind:
            assert [row for row in body.splitlines() if len(row) > WIDEST] == []


def test_every_picture_a_page_shows_is_there() -> None:
    for page in DOCUMENTS.glob("*.md"):
        for name in re.findall(r"images/([\w.-]+)", page.read_text("utf-8")):
            assert (DOCUMENTS / "images" / name).exists() or "sphx_glr" in name, f"{page.name}: {name}"


def test_every_picture_is_taken_by_the_script() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "take_pictures.py"))
    taken = {f"explorer-{name}.png" for name in (*script["VIEWS"], *script["TABLE_VIEWS"])}
    saved = re.findall(r'save\(chart, "([\w.]+)"', (DOCUMENTS / "tutorial.md").read_text("utf-8"))
    taken |= {f"tutorial-{name}" for name in saved}
    every = {path.name for path in (DOCUMENTS / "images").glob("*.png")}
    narrow = {name for name in every if name.endswith("-narrow.png")}
    pictures = every - narrow
    dark = {name for name in pictures if name.endswith("-dark.png")}
    assert pictures - dark == taken
    in_both = {name for name in taken if name.startswith("explorer-")}
    assert {name.replace("-dark", "") for name in dark} == in_both  # light and dark, so that neither is old


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {"index"}
    for page in DOCUMENTS.rglob("*.md"):
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            entries = [row for row in body.splitlines() if row and not row.startswith(":")]
            listed |= {(page.parent / entry).resolve().relative_to(DOCUMENTS.resolve()).as_posix() for entry in entries}
    built = {"_build", "gallery", "generated"}
    written = {page.relative_to(DOCUMENTS) for page in DOCUMENTS.rglob("*.md")}
    pages = {page.with_suffix("").as_posix() for page in written if not built & set(page.parts)}
    assert pages - listed == set()
    assert listed - pages == {"gallery/index"}  # made when the pages are built


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_on_the_page_of_methods(name: str) -> None:
    table = runpy.run_path(str(DOCUMENTS / "_extensions" / "method_table.py"))["method_table"]()
    assert METHODS[name].summary in next(line for line in table.splitlines() if line.startswith(f"| `{name}` |"))
    assert "{{ methods }}" in (DOCUMENTS / "methods.md").read_text(encoding="utf-8")


def test_every_example_has_its_place_in_the_gallery() -> None:
    order = runpy.run_path(str(DOCUMENTS / "_extensions" / "reading_order.py"))["ReadingOrder"](DOCUMENTS)
    examples = [path.name for path in (DOCUMENTS / "examples").glob("plot_*.py")]
    assert sorted(map(order, examples)) == list(range(len(examples)))
    assert len(examples) == 11  # the page says so


def test_a_module_is_described_without_its_name() -> None:
    shortened = runpy.run_path(str(DOCUMENTS / "_extensions" / "summaries.py"))["without_name"]
    assert shortened("densray.rows", "Rows: labelled vectors.") == "Labelled vectors."
    assert shortened("densray.analogy", "Set-based analogies: given pairs.") == "Given pairs."
    assert shortened("densray.rotations", "The methods: estimators.") == "The methods: estimators."


def test_the_name_of_a_test_may_break_after_each_part() -> None:
    parts = runpy.run_path(str(DOCUMENTS / "_extensions" / "unbroken.py"))["_PART"]
    assert parts.split("tests/test_a.py::test_b_c") == ["tests/", "test_", "a.py::", "test_", "b_", "c"]


def reference() -> list[str]:
    """The modules that the reference documents."""
    text = (DOCUMENTS / "api" / "index.md").read_text(encoding="utf-8")
    return re.findall(r"^   (densray[\w.]*)$", text, re.MULTILINE)


def results() -> set[str]:
    """The names of what the tasks return."""
    for package in (densray.debiasing, densray.paper, densray.debiasing, densray.axes):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    kinds, found = [Result], set()
    while kinds:
        below = [kind for kind in kinds.pop().__subclasses__() if kind.__module__.startswith("densray.")]
        kinds += below
        found |= {kind.__name__ for kind in below if not kind.__name__.startswith("_")}
    return found


@pytest.mark.parametrize("module", reference())
def test_every_module_of_the_reference_says_what_is_public(module: str) -> None:
    loaded = import_module(module)
    assert loaded.__doc__
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def test_the_reference_begins_with_the_three_classes_and_introduces_every_subject() -> None:
    text = (DOCUMENTS / "api" / "index.md").read_text(encoding="utf-8")
    assert reference()[:3] == ["densray.rows", "densray.axes", "densray.erasure"]
    assert len(reference()) == len(set(reference()))
    for section in text.split("\n## ")[1:]:
        title, body = section.split("\n\n", 1)
        assert title == "Errors" or body[0].isupper(), f"say in one line what is under {title}"


WRITTEN_PAGES = sorted(
    path
    for path in DOCUMENTS.rglob("*.md")
    if not {"_build", "generated", "gallery"} & set(path.relative_to(DOCUMENTS).parts)
)


@pytest.mark.parametrize("page", WRITTEN_PAGES, ids=lambda page: str(page.relative_to(DOCUMENTS)))
def test_every_page_begins_with_a_paragraph(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if text.startswith("```{include}"):
        included = (page.parent / text.split("}", 1)[1].split()[0]).resolve()
        text = included.read_text(encoding="utf-8")
    title, opening, *_ = (part for part in text.split("\n\n") if not part.startswith("<!--"))
    assert title.startswith("# ")
    assert opening.rstrip(" \n*").endswith((".", ":", "?"))
    assert not opening.startswith(("#", "-", "* ", "1.", "|", "```", ":::", "![", "<", ">"))
    assert len(opening) > 40


def test_every_public_name_of_the_package_is_in_the_reference() -> None:
    documented = {name for module in reference() for name in import_module(module).__all__}
    documented |= {module.removeprefix("densray.") for module in reference()}
    assert set(densray.__all__) - documented == {"__version__"}


def test_every_function_for_tables_is_on_the_page_of_tables() -> None:
    page = (DOCUMENTS / "how-to" / "tables.md").read_text("utf-8")
    functions = "mean_scores", "write_scores", "fit_table", "evaluate_ratings", "open_table"
    assert [name for name in functions if f"{name}(" not in page and f".{name}`" not in page] == []


def test_what_every_task_returns_is_in_the_reference() -> None:
    documented = {name for module in reference() for name in import_module(module).__all__}
    documented |= {module.removeprefix("densray.") for module in reference()}
    assert results() - documented == set(), "list the module in docs/api/index.md"


def test_the_citation_names_the_paper_and_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {densray.__version__}" in citation
    assert "doi: 10.18653/v1/D19-1111" in citation


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the built pages; browsers look at files more narrowly than at a server."""
    built = DOCUMENTS / "_build"
    if not (built / "index.html").is_file():
        pytest.skip("the pages are not built (make docs)")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def chrome() -> Iterator[Any]:
    """A browser; skips where there is none."""
    pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")
    from browser import browser, chromium

    if chromium() is None:
        pytest.skip("needs chromium")
    with browser() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index", "tutorial", "explorer", "gallery/index", "api/index", "mathematics"])
def test_axe_finds_nothing_serious_on_a_built_page(chrome: Any, site: str, page: str, scheme: str) -> None:
    from browser import AXE, Visitor

    if not AXE.is_file():
        pytest.skip("needs axe-core")
    visitor = Visitor(chrome, site, scheme=scheme)
    visitor.page.goto(f"{site}/{page}.html")
    visitor.page.wait_for_timeout(500)
    found = visitor.complaints()
    visitor.context.close()
    assert [rule for rule in found if rule[1] in ("serious", "critical")] == []
    assert [problem for problem in visitor.problems if "favicon" not in problem and "404" not in problem] == []


#: Pages with long code in a sentence, with tables, with output, with pictures and with charts.
_LAID_OUT = ["index", "tutorial", "trust", "explorer", "people", "debiasing", "how-to/coming-from"]
_LAID_OUT += ["language-models", "language-models-steering"]


@pytest.mark.slow
def test_built_pages_do_not_scroll_sideways_and_show_their_captions(chrome: Any, site: str) -> None:
    from browser import Visitor

    for scheme, width in (("light", 390), ("dark", 390), ("light", 1024)):
        visitor = Visitor(chrome, site, scheme=scheme)
        visitor.page.set_viewport_size({"width": width, "height": 900})
        for page in _LAID_OUT:
            visitor.page.goto(f"{site}/{page}.html")
            across, captions, header = visitor.page.evaluate(
                """() => [
                    Math.max(...[document.documentElement, document.querySelector('.bd-article-container')].map(
                        place => place.scrollWidth - place.clientWidth)),
                    [...document.querySelectorAll('figcaption')].map(each => each.getBoundingClientRect().height),
                    document.querySelector('.bd-header').offsetHeight]"""
            )
            assert across <= 0, (page, width)
            assert all(height > 0 for height in captions), (page, scheme)
            assert header < 90, (page, width)  # one row
        visitor.context.close()


#: Sizes of the letters of a chart in pixels of the screen: the least one, and the width of the chart.
_LETTERS = """async () => (await Promise.all([...document.querySelectorAll('.bd-article img[src$=".svg"]')].filter(
    image => image.getClientRects().length).map(async image => {
        await image.decode()
        const file = await (await fetch(image.currentSrc)).text()
        const drawing = new DOMParser().parseFromString(file, 'image/svg+xml').documentElement
        const scale = image.getBoundingClientRect().width / parseFloat(drawing.getAttribute('width'))
        const sizes = [...drawing.querySelectorAll('text')].map(text => parseFloat(text.getAttribute('font-size')))
        return [image.currentSrc, scale * Math.min(...sizes), image.getBoundingClientRect().width]
    })))"""
#: Of every table of numbers that is wider than its box, how far the names of its rows leave it when it scrolls.
_ROW_NAMES = """() => [...document.querySelectorAll('.pst-scrollable-table-container')].filter(
    box => box.scrollWidth > box.clientWidth + 1).map(box => {
        box.scrollLeft = 200
        return box.getBoundingClientRect().left - box.querySelector('td.row-name').getBoundingClientRect().left
    })"""


@pytest.mark.slow
@pytest.mark.parametrize("across", [390, 1024, 1440])
def test_charts_and_tables_of_a_built_page_can_be_read_at_every_width(chrome: Any, site: str, across: int) -> None:
    from browser import Visitor

    visitor = Visitor(chrome, site, width=across, height=900)
    found = {}
    for page in (
        "trust",
        "people",
        "debiasing",
        "removers",
        "documents",
        "language-models",
        "language-models-removal",
        "scale",
        "language-models-detection",
    ):
        visitor.page.goto(f"{site}/{page}.html")
        charts = visitor.page.evaluate(_LETTERS)
        assert charts, page
        for source, size, width in charts:
            assert size >= 11, (page, source, size)
            assert width <= across, (page, source)
        visitor.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        visitor.page.wait_for_timeout(300)
        found[page] = visitor.page.evaluate(_ROW_NAMES)
    visitor.context.close()
    wider = [page for page, each in found.items() if each]
    # Tables fit their column, but for one of twelve columns; on a phone, rows of wide tables are blocks.
    assert wider == (["language-models-detection"] if across > 720 else [])
    assert all(left < 1 for each in found.values() for left in each), found


@pytest.mark.slow
def test_short_code_stays_on_one_line_and_blocks_of_code_scroll(chrome: Any, site: str) -> None:
    from browser import Visitor

    visitor = Visitor(chrome, site, width=390, height=900)
    for page in ("command-line", "tutorial"):
        visitor.page.goto(f"{site}/{page}.html")
        broken, kinds = visitor.page.evaluate(
            """() => [
                [...document.querySelectorAll('.bd-article code.short')].filter(
                    code => code.getClientRects().length > 1).map(code => code.textContent),
                [...document.querySelectorAll('.bd-article pre')].map(block =>
                    [block.closest('.prose') !== null, getComputedStyle(block).whiteSpace].join())]"""
        )
        assert broken == [], page
        assert set(kinds) - {"true,normal"} == {"false,pre"}, page  # sentences that a block prints have no columns
        assert ("true,normal" in kinds) == (page == "tutorial")
    visitor.context.close()


@pytest.mark.slow
def test_a_table_of_texts_and_a_wide_one_show_each_row_as_a_block_on_a_phone(chrome: Any, site: str) -> None:
    from browser import Visitor

    shown = {}
    for width in (390, 1024):
        visitor = Visitor(chrome, site, width=width, height=900)
        visitor.page.goto(f"{site}/debiasing.html")
        visitor.page.wait_for_timeout(300)
        shown[width] = visitor.page.evaluate(
            """() => [...document.querySelectorAll('table:is(.texts, .numbers)')].map(table => {
                const cells = [...table.tBodies[0].rows[0].cells]
                const [first, ...others] = cells.map(cell => cell.getBoundingClientRect())
                return [table.scrollWidth - table.parentElement.clientWidth, others.at(-1).top >= first.bottom - 1,
                    getComputedStyle(cells.at(-1), '::before').content]
            })"""
        )
        visitor.context.close()
    assert shown[390]
    assert all(excess <= 1 and is_below and len(name) > 4 for excess, is_below, name in shown[390]), shown[390]
    assert not any(is_below for _, is_below, _ in shown[1024])


def test_every_chart_and_every_picture_of_the_explorer_has_a_layout_for_phones() -> None:
    pictures = [*DOCUMENTS.glob("*.svg"), *(DOCUMENTS / "images").glob("*.*")]
    wide = [path for path in pictures if not path.stem.endswith("-narrow")]
    needed = [path for path in wide if path.suffix == ".svg" or path.name.startswith(("explorer-", "tutorial-"))]
    needed = [path for path in needed if path.suffix != ".webp"]
    assert len(needed) > 25
    missing = [path.name for path in needed if not path.with_name(f"{path.stem}-narrow{path.suffix}").is_file()]
    assert missing == []


# Every command explains itself with an example, and has its place in the documentation.


def all_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name."""
    children = getattr(command, "commands", None)
    if children is None:
        yield " ".join(path), command
        return
    for name, child in children.items():
        yield from all_commands(child, (*path, name))


COMMANDS = dict(all_commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(name: str) -> None:
    assert f"Example: densray {name}" in (COMMANDS[name].help or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_paragraph_of_the_help_is_one_line(name: str) -> None:
    """The terminal wraps it; line breaks of the source would end lines in the middle of a sentence."""
    assert all("\n" not in paragraph for paragraph in (COMMANDS[name].help or "").split("\n\n"))


@pytest.mark.parametrize("name", ["model layers", "model steer"])
def test_help_names_the_methods_that_are_compared_by_default(name: str) -> None:
    from densray.states import DEFAULT_METHODS, STEERING_METHODS

    used = {"model layers": DEFAULT_METHODS, "model steer": STEERING_METHODS}[name]
    (said,) = (each.help for each in COMMANDS[name].params if each.name == "methods")
    assert said.endswith(f"Default: {','.join(used)}.")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_is_documented(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in DOCUMENTS.glob("*.md")]
    assert any(f"densray {name}" in page for page in pages)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_speaks_json(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert "--json" in options or name == "explore"


def named(text: str) -> set[str]:
    """The commands in the code of a text; ``evaluate lexicon|bias`` are two."""
    spans = [span.removeprefix("densray ").rpartition(" ") for span in re.findall(r"`([a-z0-9 |]+)`", text)]
    return {f"{group} {name}".strip() for group, _, names in spans for name in names.split("|")}


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("docs/command-line.md", r"ends a command at once\.(.*?)The same command"),
        ("CHANGELOG.md", r"Long runs can be interrupted:(.*?)keep finished parts"),
    ],
)
def test_the_documented_commands_that_resume_are_exactly_those_that_do(page: str, sentence: str) -> None:
    found = re.search(sentence, (DOCUMENTS.parent / page).read_text("utf-8"), flags=re.DOTALL)
    assert found is not None
    resume = {name for name in COMMANDS if any("--fresh" in parameter.opts for parameter in COMMANDS[name].params)}
    assert named(found.group(1)) == resume


def test_numbers_in_tables_are_not_broken_over_lines() -> None:
    nodes = pytest.importorskip("docutils.nodes", reason="the extra `docs` (docutils) is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCUMENTS / "_extensions"))
        unbroken = import_module("unbroken")
    assert unbroken.unbroken("0.76 ± 0.01, 0.85 → 0.54, ≤ 0.05") == "0.76\xa0±\xa00.01, 0.85\xa0→\xa00.54, ≤\xa00.05"
    assert unbroken.unbroken("seeds → ten ratings") == "seeds → ten ratings"
    assert unbroken.unbroken("0.60 (0.57 to 0.62)") == "0.60 (0.57\xa0to\xa00.62)"
    assert unbroken.unbroken("0.60, +2%, −3%") == "0.60,\xa0+2%,\xa0−3%"
    assert unbroken.unbroken("20 (1 to each), 0.5") == "20 (1 to each), 0.5"
    code = nodes.literal("", "≥ 0.7")
    cell = nodes.entry("", nodes.paragraph("", "≥ 0.7 ", code), nodes.paragraph("", "≥ 0.7"))
    document = nodes.document(None, None, "", cell)
    unbroken.keep_together(None, document)
    assert cell.astext() == "≥\xa00.7 ≥ 0.7\n\n≥\xa00.7"


# Formulas of the documentation are MathML: pages show them offline, without a script.


@pytest.mark.slow
def test_a_picture_of_the_explorer_ends_below_an_element_and_cuts_no_control_of_the_sidebar(chrome: Any) -> None:
    from browser import Visitor

    down_to = runpy.run_path(str(ROOT / "scripts" / "take_pictures.py"))["_down_to"]
    visitor = Visitor(chrome, "about:", width=1000, height=1200)
    visitor.page.set_content(
        """<style>body { margin: 0; display: flex } p, button { height: 40px; margin: 0; display: block }</style>
        <div data-testid="stSidebar" style="width: 300px"><button>whole</button><button>cut</button></div>
        <div><p hidden>last</p><p>last</p><p>more</p></div>"""
    )
    cut = [visitor.page.get_by_text(name, exact=True).is_visible for name in ("whole", "cut")]
    clip = down_to(visitor.page, "p:has-text('last')", with_sidebar=False)
    assert clip == {"x": 301, "y": 0, "width": 699, "height": 52}
    assert [is_visible() for is_visible in cut] == [True, True]
    assert down_to(visitor.page, "p:has-text('last')", with_sidebar=True)["x"] == 0
    assert [is_visible() for is_visible in cut] == [True, False]
    visitor.context.close()


@pytest.mark.slow
def test_a_built_page_shows_one_picture_in_the_light_and_another_in_the_dark() -> None:
    built = DOCUMENTS / "_build" / "explorer.html"
    if not built.is_file():
        pytest.skip("the pages are not built (make docs)")
    shown = re.findall(
        r'<img[^>]*class="([^"]*)"[^>]*src="_images/explorer-axis(-dark)?\.png"', built.read_text("utf-8")
    )
    assert {("only-light" in classes, suffix) for classes, suffix in shown} == {(True, ""), (False, "-dark")}


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1024])
def test_a_built_page_shows_charts_in_the_colours_of_its_scheme(chrome: Any, site: str, width: int) -> None:
    from browser import Visitor

    for scheme, ground in (("light", 'fill="white"'), ("dark", 'fill="#14181e"')):
        visitor = Visitor(chrome, site, scheme=scheme, width=width, height=900)
        for page in ("people", "scale", "gallery/plot_gender_removed"):
            visitor.page.goto(f"{site}/{page}.html")
            shown = visitor.page.evaluate(
                """async () => Promise.all([...document.querySelectorAll('.bd-article img')].filter(
                    image => image.getClientRects().length).map(async image => [image.currentSrc,
                        getComputedStyle(image).filter, await (await fetch(image.currentSrc)).text()]))"""
            )
            assert shown, page
            for source, filtered, drawing in shown:
                assert ("-narrow" in source) == (width == 390), source
                assert ("-dark" in source) == (scheme == "dark"), source
                assert filtered == "none", source
                assert ground in drawing or source.endswith(".png"), (source, scheme)
        visitor.context.close()


@pytest.mark.slow
def test_a_phone_shows_the_first_rows_of_long_tables(chrome: Any, site: str) -> None:
    from browser import Visitor

    visitor = Visitor(chrome, site, width=390, height=900)
    page = visitor.page
    page.goto(f"{site}/people.html")
    button = page.get_by_role("button", name=re.compile(r"Show all \d+ rows")).first
    table = button.locator("xpath=preceding-sibling::div[1]//tbody").element_handle()  # stays the same when unfolded
    count = int(re.sub(r"\D", "", button.text_content() or ""))
    assert len(table.query_selector_all("tr:visible")) == 5
    button.click()
    assert len(table.query_selector_all("tr:visible")) == count > 8
    page.set_viewport_size({"width": 1024, "height": 900})
    assert page.locator("button.all-rows:visible").count() == 0
    visitor.context.close()


def test_every_committed_chart_has_only_colours_with_a_dark_version(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="the extra `docs` (sphinx) is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCUMENTS / "_extensions"))
        pictures = import_module("dark_pictures")
    charts = [*DOCUMENTS.glob("*.svg"), *(DOCUMENTS / "images").glob("scaling-*.svg")]
    assert len(charts) > 15
    on_both = {"none", "#8A8A8A", "#CC79A7", pictures.GROUND}
    for chart in charts:
        if chart.stem.endswith("-narrow"):
            continue
        dark = pictures.write_dark_chart(chart, tmp_path)
        for path in (dark, dark.with_name(f"{dark.stem}-narrow.svg")):
            light = chart.with_name(path.name.replace("-dark", "")).read_text("utf-8")
            known = set(re.findall(r'(?:fill|stroke)="([^"]+)"', light)) - on_both
            assert known & set(re.findall(r'(?:fill|stroke)="([^"]+)"', path.read_text("utf-8"))) == set(), path.name


EXTENSIONS = Path(__file__).parents[1] / "docs" / "_extensions"
PAGE = r"""# A page

Inside $|q_1| \le n \log n$.

$$
A = \sum_{v \neq w} \alpha_{vw} \left( d_v \right)^\top , \tag{7}
$$
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page as `docs/conf.py` has it built."""
    pytest.importorskip("latex2mathml", reason="the extra `docs` (latex2mathml) is not installed")
    application = pytest.importorskip("sphinx.application", reason="the extra `docs` (sphinx) is not installed")
    folder = tmp_path_factory.mktemp("pages")
    (folder / "index.md").write_text(PAGE, encoding="utf-8")
    options = {
        "extensions": ["mathml", "myst_parser"],
        "myst_enable_extensions": ["dollarmath"],
        "html_math_renderer": "mathml",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])
        built = folder / "built"
        made = application.Sphinx(folder, None, built, built, "html", options, status=None, warningiserror=True)
        made.build()
    return (built / "index.html").read_text(encoding="utf-8")


def formulas(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<math .*?</math>", page, re.DOTALL)]


def test_pages_ask_for_no_script_from_elsewhere(page: str) -> None:
    assert "<script" in page
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css)', page) == []


def test_a_formula_carries_its_symbols_and_its_source(page: str) -> None:
    inside, displayed = formulas(page)
    assert "".join(inside.itertext()) == "|q1|≤nlogn"
    assert inside.get("alttext") == r"|q_1| \le n \log n"
    assert "".join(displayed.itertext()).startswith("A=∑v≠wαvw(dv)⊤")
    assert (inside.get("display"), displayed.get("display")) == ("inline", "block")


def test_bars_hold_their_content_and_functions_stand_apart(page: str) -> None:
    spaces = {each.text: (each.get("lspace"), each.get("rspace")) for each in formulas(page)[0].iter() if each.text}
    assert spaces["|"] == ("0", "0")
    assert spaces["log"] == ("0.1667em", "0.1667em")


def test_a_formula_keeps_its_number(page: str) -> None:
    assert '<span class="eqno">(7)</span>' in page


def test_what_cannot_be_shown_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("latex2mathml", reason="the extra `docs` (latex2mathml) is not installed")
    monkeypatch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])
    import mathml

    said: list[str] = []
    monkeypatch.setattr(mathml.log, "warning", lambda text, *details, **_: said.append(text % details))
    mathml.to_mathml(r"a \nonsense b", display="inline")
    assert said == [r"'\nonsense' in the formula 'a \\nonsense b' is not known to latex2mathml"]
