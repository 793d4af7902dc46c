"""The demo: its claims hold, its page stands alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One run of the command: its standard output and the page it wrote."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "densray", "demo", "--json", "-o", str(folder / "demo.html")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout), (folder / "demo.html").read_text(encoding="utf-8")


def section(report, title):
    return next(part for part in report["sections"] if part["title"].startswith(title))


def test_sentiment_orders_unseen_words(demo):
    rows = section(demo[0], "A sentiment axis")["tables"][0]["rows"]
    taus = {row["method"]: row["tau"] for row in rows}
    assert taus["ridge"] > 0.64
    assert taus["ridge"] >= taus["svm"] - 0.001
    assert taus["densifier"] > taus["densray-unit"] > 0.6


def test_table_three_is_the_papers(demo):
    rows = section(demo[0], "A gender axis")["tables"][0]["rows"]
    assert len(rows) == 40
    assert sum(abs(row["ours"] - row["paper"]) <= 0.005 + 1e-9 for row in rows) >= 38
    assert max(abs(row["ours"] - row["paper"]) for row in rows) < 0.01


def test_analogies_of_full_coverage_are_the_papers(demo):
    for row in section(demo[0], "Set-based analogies")["tables"][0]["rows"][1:]:
        for column in ("intcos-original-densray", "intcos-complement-densray"):
            assert row[column] == pytest.approx(row[f"{column} paper"], abs=0.006)


def test_removal_takes_the_concept_and_leaves_the_rest(demo):
    rows = {row["space"]: row for row in section(demo[0], "A concept removed")["tables"][0]["rows"]}
    before, after = rows["original"], rows["gender axis removed"]
    control = rows["control: an axis of random words"]
    assert after["gap"] < 0.75 * before["gap"]
    assert abs(after["men"] - before["men"]) < 0.005
    assert after["overlap"] > 0.95
    assert control["gap"] > 0.95 * before["gap"]


def test_conclusions_come_first_and_the_long_table_is_folded(demo):
    report, page = demo
    assert [line.split(":")[0] for line in report["text"].splitlines()[1:]] == [
        "• Found",
        "• Reproduced",
        "• Answered",
        "• Removed",
    ]
    assert page.index("<li>Found") < page.index("<figure>") < page.index("<table>")
    assert "between “man” and “woman” falls" in page
    assert "<code>densray evaluate bias</code>" in page
    assert "coordinate" not in re.sub(r"base64,[^\"]+", "", page)
    assert re.findall(r"<th[^>]*>(\w+|τ)</th>", page)[:3] == ["method", "AUC", "τ"]
    assert page.index("<details><summary>Table 3") > page.index("<figure>")


def test_the_page_asks_the_network_for_nothing(demo):
    page = demo[1]
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["']https?:""", page)
    assert page.count("<figure>") == 3
