"""The pages hold: their code runs, they are all in the table of contents, and everything public is on one of them."""

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

import pytest

import densray
import densray.axes
import densray.debiasing
import densray.paper
from densray.cli.entry import run
from densray.report import Result
from densray.rotations import METHODS

ROOT = Path(__file__).parents[1]
DOCUMENTS = ROOT / "docs"
BLOCK = re.compile(r"^( *)```(python|console|text)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

WIDEST = 88  # columns of code that a page has room for
#: Pages whose blocks run from top to bottom, each page in a folder of its own.
RUNNING = ["index.md", "tutorial.md", "methods.md", "mathematics.md"]
RUNNING += sorted(f"how-to/{page.name}" for page in (DOCUMENTS / "how-to").glob("*.md") if page.name != "index.md")
#: Pages whose commands name files of the reader's; their Python runs.
PYTHON_RUNNING = ["analogies.md", "data.md", "debiasing.md", "formats.md", "lexicon_induction.md", "lexicons.md"]
PYTHON_RUNNING += ["reports-and-figures.md", "scale.md", "spaces.md", "trust.md"]
#: What pages need beyond the package itself.
NEEDED = {"how-to/remove-preference.md": "transformers"}
#: Pages that take more than a few seconds.
SLOW = {"how-to/large-spaces.md", "how-to/remove-preference.md", "lexicon_induction.md", "trust.md", "tutorial.md"}
PAGES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in (*RUNNING, *PYTHON_RUNNING)]


def blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Language, text and line of every block that runs, and of what it prints."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        indent, language, body = match.groups()
        line = text[: match.start()].count("\n") + 1
        yield language, "".join(row.removeprefix(indent) for row in body.splitlines(keepends=True)), line


def commands(body: str) -> Iterator[list[str]]:
    """The arguments of each ``$ densray`` line of a console block; other lines are what it answered."""
    for row in body.replace("\\\n", " ").splitlines():
        if row.startswith("$ densray "):
            yield shlex.split(row.removeprefix("$ densray "))


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
    for body in re.findall(r"^```\{code-block\} python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
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
    views = runpy.run_path(str(ROOT / "scripts" / "take_pictures.py"))["VIEWS"]
    taken = {f"explorer-{name}.png" for name in (*views, "layers")} | {"figure2.png"}
    saved = re.findall(r'save\(chart, "([\w.]+)"', (DOCUMENTS / "tutorial.md").read_text("utf-8"))
    taken |= {f"tutorial-{name}" for name in saved}
    assert {path.name for path in (DOCUMENTS / "images").glob("*.png")} == taken


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


def test_every_public_name_of_the_package_is_in_the_reference() -> None:
    documented = {name for module in reference() for name in import_module(module).__all__}
    assert set(densray.__all__) - documented == {"__version__"}


def test_what_every_task_returns_is_in_the_reference() -> None:
    documented = {name for module in reference() for name in import_module(module).__all__}
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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index", "tutorial", "explorer", "gallery/index", "api/index", "mathematics"])
def test_axe_finds_nothing_serious_on_a_built_page(site: str, page: str, scheme: str) -> None:
    pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")
    from browser import AXE, Visitor, browser, chromium

    if chromium() is None or not AXE.is_file():
        pytest.skip("needs chromium and axe-core")
    with browser() as chrome:
        visitor = Visitor(chrome, site, scheme=scheme)
        visitor.page.goto(f"{site}/{page}.html")
        visitor.page.wait_for_timeout(500)
        found = visitor.complaints()
        visitor.context.close()
    assert [rule for rule in found if rule[1] in ("serious", "critical")] == []
    assert [problem for problem in visitor.problems if "favicon" not in problem and "404" not in problem] == []
