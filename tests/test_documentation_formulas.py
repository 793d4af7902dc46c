"""Formulas of the documentation are MathML: pages show them offline, without a script."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("latex2mathml", reason="the extra `docs` (latex2mathml) is not installed")
application = pytest.importorskip("sphinx.application", reason="the extra `docs` (sphinx) is not installed")

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
    monkeypatch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])
    import mathml

    said: list[str] = []
    monkeypatch.setattr(mathml.log, "warning", lambda text, *details, **_: said.append(text % details))
    mathml.to_mathml(r"a \nonsense b", display="inline")
    assert said == [r"'\nonsense' in the formula 'a \\nonsense b' is not known to latex2mathml"]
