"""The citation of an axis: its sentence has the figures of the diagnosis, its entries those of CITATION.cff."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from densray import Axis, Rows, __version__
from densray.axes import diagnose_classes, find_rows, induce
from densray.axes._citation import PAPERS
from densray.cli.entry import run
from densray.methods import METHODS
from densray.report import Report, to_html, to_json, to_markdown
from densray.rotations import LinearRotation, MeanDifference
from planted import along, planted_seeds, planted_space

FILE = Path(__file__).parents[1] / "CITATION.cff"


@pytest.fixture(scope="module")
def axis() -> Axis:
    space, lexicon = planted_space(strength=3.0)
    return Axis.fit(find_rows(space, lexicon), "mean-difference", label_names=("cold", "warm"))


def test_the_sentence_has_every_figure_that_a_methods_section_needs(axis: Axis) -> None:
    sentence, diagnosis = axis.citation.sentence, axis.diagnose()
    low, high = axis.agreement.auc_interval
    for part in (
        "“planted labels”",
        "200 labelled words",
        f"{diagnosis.n_high} warm, {diagnosis.n_low} cold",
        "the difference of class means",
        f"AUC is {axis.agreement.auc:.2f} (95% CI [{low:.2f}, {high:.2f}])",
        f"permutation p = {diagnosis.permutation.p_value:.3f}",
        f"reliability {axis.spread.reliability:.2f}",
        f"densray {__version__} (Dufter and Schütze, 2019; An et al., 2018)",
    ):
        assert part in sentence
    assert diagnosis.citation == axis.citation


def test_an_axis_that_failed_says_so() -> None:
    rows = planted_seeds(100, 20, strength=0.0, seed=3)
    axes = [Axis.fit(rows.relabelled(labels), normalize=False, n_permutations=99) for labels in (rows.y, -rows.y)]
    for axis in axes:
        assert axis.verdict is not None
        assert axis.verdict.grade == "none"
        assert "failed its test" in axis.citation.sentence
        assert axis.verdict.limits[0] in axis.citation.sentence


def test_few_seeds_and_weak_axes_are_called_that() -> None:
    few = Axis.fit(planted_seeds(8, 20, strength=0.5), normalize=False)
    assert few.verdict is not None
    assert few.verdict.grade == "unclear"
    assert "too few to tell" in few.citation.sentence
    weak = Axis.fit(planted_seeds(40, 20, strength=1.0), normalize=False)
    assert weak.verdict is not None
    assert weak.verdict.grade == "weak"
    assert "graded weak" in weak.citation.sentence


def test_a_loaded_axis_has_the_citation_of_its_file(axis: Axis, tmp_path: Path) -> None:
    assert Axis.load(axis.save(tmp_path / "axis", card=True)).citation == axis.citation
    assert axis.citation.sentence in (tmp_path / "README.md").read_text("utf-8")
    alone = Axis.load(axis.save(tmp_path / "alone", judge=False)).citation
    assert "200 labelled words" in alone.sentence
    assert "not measured" in alone.sentence
    assert "not measured" in along(np.eye(4)[0]).citation.sentence


def test_documents_with_groups_and_ratings_are_described_as_such() -> None:
    rows = planted_seeds(120, 6, strength=2.0).grouped(np.repeat(np.arange(40), 3))
    sentence = Axis.fit(rows, n_permutations=99).citation.sentence
    assert "120 labelled rows" in sentence
    assert "over 40 groups" in sentence
    rated = Axis.fit(planted_seeds(120, 6, strength=2.0, scores=True), n_permutations=99).citation.sentence
    assert "120 rated rows" in rated
    assert "above against below the median" in rated


def test_several_classes_have_one_sentence() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 5)) + 5 * np.repeat(np.eye(5)[:3], 20, axis=0)
    found = diagnose_classes(Rows.from_arrays(X, np.repeat(["a", "b", "c"], 20)), normalize=False)
    for part in ("3 classes", "60 labelled rows", f"is {found.accuracy:.2f}", "chance is 0.33"):
        assert part in found.citation.sentence


def test_reports_and_json_have_the_sentence_and_the_entries(axis: Axis) -> None:
    diagnosis = axis.diagnose()
    stored = json.loads(to_json(diagnosis))["citation"]
    assert stored == {"sentence": axis.citation.sentence, "bibtex": axis.citation.bibtex}
    markdown, page = to_markdown(diagnosis), to_html(Report("Axis", [diagnosis]))
    assert axis.citation.sentence in markdown
    assert f"```bibtex\n{axis.citation.bibtex}\n```" in markdown
    assert axis.citation.sentence in page
    assert "@software{densray," in page


def test_an_induced_lexicon_is_cited_with_its_permutation_test() -> None:
    space, lexicon = planted_space(strength=3.0)
    induced = induce(space, lexicon, method="mean-difference")
    assert induced.citation is not None
    assert "with permutation p = 0.001" in induced.citation.sentence


def test_diagnose_prints_the_sentence_and_with_bibtex_the_entries(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--high", "good,great,excellent,happy,lovely", "--low", "bad,awful,terrible,sad,ugly"]
    command = ["diagnose", "googlenews-26k", *words, "--n-permutations", "19", "--quiet"]
    assert run(command) == 0
    plain = capsys.readouterr().out
    assert f"with densray {__version__} (Dufter and Schütze, 2019)" in " ".join(plain.split())
    assert "@software" not in plain
    assert run([*command, "--bibtex"]) == 0
    assert "@software{densray," in capsys.readouterr().out


def test_entries_agree_with_the_citation_file(axis: Axis) -> None:
    parts = FILE.read_text("utf-8").split("preferred-citation:")
    software, paper = (dict(re.findall(r'^ *(?:- )?([a-z-]+): "?([^"\n]+)"?$', part, re.MULTILINE)) for part in parts)
    entry = axis.citation.bibtex.split("\n\n")[0]
    for value in (software["title"], software["name"], software["version"], software["date-released"][:4]):
        assert f"{{{value}}}" in entry
    for value in (paper["title"], paper["year"], f"{paper['start']}--{paper['end']}", paper["doi"]):
        assert f"{{{value}}}" in PAPERS["dufter-2019"].bibtex


def test_the_paper_of_every_method_is_known_and_its_entry_is_whole() -> None:
    assert {method.paper for method in METHODS.values() if method.paper} <= set(PAPERS)
    for paper in PAPERS.values():
        assert paper.bibtex.count("{") == paper.bibtex.count("}")
        assert paper.short.rsplit(", ")[-1] in paper.bibtex


@pytest.mark.parametrize(
    ("method", "note"),
    [
        ("svm", "For this method the standard errors are about twice too large, so the reliability is too low."),
        (LinearRotation("svm"), "the standard errors are about twice too large"),
        (LinearRotation(RidgeClassifier()), "were not checked for this method"),
        ("pair-direction", "The standard errors and the reliability were not checked for this method."),
        ("auto", None),
        ("lda", None),
        ("densray", None),
        (MeanDifference(), None),
    ],
)
def test_a_method_with_wrong_or_unchecked_standard_errors_says_so(method, note, tmp_path) -> None:
    axis = Axis.fit(planted_seeds(40, 5, strength=2.0), method, normalize=False, n_permutations=9, n_resamples=5)
    diagnosis = axis.diagnose()
    html = " ".join(to_html(Report("Axis", [diagnosis])).split())
    citation = Axis.load(axis.save(tmp_path / "axis.safetensors")).citation.sentence
    for text in (diagnosis.text(), axis.citation.sentence, citation, diagnosis.to_dict()["error_note"], html):
        if note is None:
            assert "standard errors are about" not in text
            assert "not checked" not in text
        else:
            assert note in text
