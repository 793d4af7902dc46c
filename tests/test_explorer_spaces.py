"""Several spaces in the explorer, a space of another language, and the Python that every page offers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import WordSpace, load_space
from densray.explorer import workbench
from densray.explorer.workbench import Workbench, use
from explorer_page import open_page, texts


@pytest.fixture
def spaces() -> Iterator[list[str]]:
    """The bundled space cut short, and the same with noise, in the explorer; their names."""
    first = load_space("googlenews-26k").limit(4_000)
    random = np.random.default_rng(0)
    scale = np.linalg.norm(first.vectors, axis=1, keepdims=True) / np.sqrt(first.width)
    noisy = first.with_vectors(first.vectors + 0.5 * scale * random.normal(size=first.vectors.shape).astype(np.float32))
    use(Workbench(first.renamed("then")), Workbench(noisy.renamed("now"), source="files/now.densray"))
    yield list(workbench.benches())
    workbench._benches.clear()


@pytest.fixture
def foreign() -> Iterator[None]:
    """A space without a word of English."""
    words = [f"mot{number}" for number in range(200)]
    use(Workbench(WordSpace(words, np.random.default_rng(0).normal(size=(200, 8)), name="fr")))
    yield
    workbench._benches.clear()


def test_spaces_of_one_name_go_by_their_files_and_then_by_numbers() -> None:
    space = WordSpace(["a", "b"], [[1, 0], [0, 1]])
    benches = [Workbench(space, source=source) for source in ("x/old.vec", "y/old.vec", "new.vec")]
    use(*benches)
    try:
        assert list(workbench.benches()) == ["old", "old (2)", "new"]
        assert workbench.current("new") is benches[2]
        assert workbench.current("no such") is benches[0]
    finally:
        workbench._benches.clear()


def test_the_space_is_switched_in_the_sidebar_and_stays_in_the_address(spaces: list[str]) -> None:
    page = open_page("axis", high="good great best", low="bad worst poor")
    page.selectbox(key="setting space").set_value("now").run()
    assert "now" in texts(page.markdown)
    assert page.query_params["space"] in ("now", ["now"])
    assert "load_space('files/now.densray')" in page.code[-1].value


@pytest.mark.slow
def test_one_axis_is_compared_across_two_spaces(spaces: list[str]) -> None:
    lists = {"high": "good great best better strong", "low": "bad worst poor worse weak"}
    page = open_page("axis", **lists, other="now", words="company")
    assert not page.error
    assert "words of “then” and “now” correlate at" in texts(page.markdown)
    moved = [frame.value for frame in page.dataframe if "ratio" in frame.value]
    assert len(moved) == 3
    assert (moved[0]["ratio"] > 0).all()
    assert (moved[1]["ratio"] < 0).all()
    assert list(moved[2]["word"]) == ["company"]
    assert any("Words by the change of the standardised score" in each for each in names_of_charts(page))
    half = open_page("axis", **lists, other="now", other_high="good")
    assert "Type words under “Words at the low end there”, too" in texts(half.info)


def names_of_charts(page: Any) -> list[str]:
    """What each chart of a page is called for readers of screens."""
    return [each.proto.alt for each in page.get("vega_lite_chart")]


@pytest.mark.parametrize(
    ("page", "asked"),
    [("axis", "The space has few of the English words"), ("map", "The space has few of the English words"),
     ("compare", "The space has few of the English words"), ("remove", "The space has few of the English words"),
     ("analogies", "Type pairs of words of this space")],
)  # fmt: skip
def test_a_space_of_another_language_is_met_with_a_hint(foreign: None, page: str, asked: str) -> None:
    shown = open_page(page)
    assert asked in texts(shown.info)
    assert not shown.error
    assert not shown.exception


LISTS = {"high": "rich wealthy affluent luxury", "low": "poor needy homeless poverty"}
VIEWS = {
    "axis": {**LISTS, "words": "nurse"},
    "axis of a lexicon": {"source": "lexicon", "lexicon": "gender", "without": "man", "method": "mean-difference"},
    "map": {**LISTS, "points": "500", "color": "gender"},
    "map of a list": {**LISTS, "shown": "list", "list": "nurse, boss, doctor", "y": "current"},
    "compare": {**LISTS, "methods": "mean-difference,ridge"},
    "remove": {"source": "lexicon", "lexicon": "gender", "keep": "king, queen"},
    "analogies": {},
    "analogies of a section": {"part": "benchmark"},
}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_the_python_of_every_view_runs(
    view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_page(view.split(maxsplit=1)[0], **VIEWS[view])
    shown = [code.value for code in page.code if "import" in code.value]
    assert len(shown) == 1
    monkeypatch.chdir(tmp_path)
    exec(compile(shown[0], view, "exec"), {})
    if view == "axis":
        said = capsys.readouterr().out
        assert texts([*page.success, *page.info, *page.warning, *page.error]).splitlines()[0] in said
    if view == "remove":
        assert load_space(tmp_path / "erased.densray").name == "googlenews-26k without gender"


@pytest.mark.slow
def test_the_python_of_two_spaces_runs(spaces: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from densray.formats import write_space

    (tmp_path / "files").mkdir()
    for name, bench in workbench.benches().items():
        write_space(bench.space, tmp_path / "files" / f"{name}.densray")
        bench.source = f"files/{name}.densray"
    lists = {"high": "good great best better strong", "low": "bad worst poor worse weak"}
    page = open_page("axis", **lists, other="now", other_high="good best", other_low="bad worst")
    shown = next(code.value for code in page.code if "compare_spaces" in code.value)
    monkeypatch.chdir(tmp_path)
    exec(compile(shown, "two spaces", "exec"), {})
