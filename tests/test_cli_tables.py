"""Tables at the command line: ``fit``, ``diagnose``, ``score`` and ``erase`` of documents."""

from __future__ import annotations

import re
import warnings
from base64 import b64decode
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from commands import run_for_json
from densray import Axis, Erasure, open_table
from densray.cli.entry import run

N, WIDTH = 120, 6
QUICK = ["--method", "mean-difference", "--n-permutations", "19", "--quiet"]
rng = np.random.default_rng(0)
PARTY = np.arange(N) % 2
SOURCE = rng.integers(0, 3, N)
X = rng.normal(size=(N, WIDTH)) + 2.0 * np.outer(PARTY, np.eye(WIDTH)[0]) + 3.0 * np.eye(WIDTH)[3 + SOURCE]
FRAME = pl.DataFrame(
    {
        "text": [f"document {row % 110}" for row in range(N)],
        "party": np.array(["left", "right"])[PARTY],
        "source": np.array(["blog", "news", "wire"])[SOURCE],
        "year": 2000 + np.arange(N) // 10,
        "author": np.arange(N) // 4,
        "vector": pl.Series(X.astype(np.float32)),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and an axis fitted on it."""
    folder = tmp_path_factory.mktemp("tables")
    FRAME.write_parquet(folder / "docs.parquet")
    fitted = ["fit", str(folder / "docs.parquet"), "--label-column", "party", "-o", str(folder / "party"), *QUICK]
    assert run(fitted) == 0
    return folder


def test_fit_saves_the_axis_of_a_label_column(folder, capsys) -> None:
    axis = Axis.load(folder / "party.safetensors")
    assert axis.label_names == ("left", "right")
    assert axis.concept == "party"
    found = run_for_json(capsys, "diagnose", folder / "docs.parquet", "--label-column", "party", *QUICK)
    assert found["n_seeds"] == N
    assert found["axes"][0]["auc"] > 0.8


def test_the_report_of_documents_names_the_labels_in_its_text_and_its_legend(folder, tmp_path) -> None:
    pytest.importorskip("vl_convert", reason="figures are an extra")
    page = tmp_path / "trust.html"
    assert (
        run(["diagnose", str(folder / "docs.parquet"), "--label-column", "party", "--report", str(page), *QUICK]) == 0
    )
    content = page.read_text("utf-8")
    charts = [b64decode(chart).decode() for chart in re.findall(r"base64,([^\"]+)", content)]
    assert len(charts) == 4  # wide and for a phone, light and dark
    for chart in charts:
        assert ">left</text>" in chart
        assert ">right</text>" in chart
        assert "label</text>" not in chart
    assert "(-1)" not in content
    assert "(−1)" not in content


def test_diagnose_holds_out_groups_and_proposes_them_for_repeated_texts(folder, capsys) -> None:
    asked = ["diagnose", folder / "docs.parquet", "--label-column", "party", *QUICK]
    assert run_for_json(capsys, *asked, "--group-column", "author")["n_groups"] == N // 4
    assert run_for_json(capsys, *asked, "--text-column", "text")["proposal"]["n_rows"] == 20
    assert run_for_json(capsys, *asked, "--text-column", "text", "--groups", "proposed")["n_groups"] == 110


def test_several_classes_give_one_axis_each_and_one_figure(folder, tmp_path, capsys) -> None:
    target = tmp_path / "source.safetensors"
    found = run_for_json(capsys, "fit", folder / "docs.parquet", "--label-column", "source", "-o", target, *QUICK)
    assert found["interval"][0] > found["chance"]
    assert [Path(path).name for path in found["paths"]] == [
        f"source-{name}.safetensors" for name in ("blog", "news", "wire")
    ]
    assert Axis.load(tmp_path / "source-news.safetensors").label_names == ("rest", "news")


def test_numbers_are_scores_unless_called_classes(folder, capsys) -> None:
    asked = ["diagnose", folder / "docs.parquet", "--label-column", "year", *QUICK]
    assert run_for_json(capsys, *asked)["labels"] == "scores"
    assert len(run_for_json(capsys, *asked, "--classes", "--folds", "2")["classes"]) == 12


def test_score_adds_columns_and_keeps_the_others(folder, tmp_path, capsys) -> None:
    docs, axis = str(folder / "docs.parquet"), str(folder / "party.safetensors")
    found = run_for_json(capsys, "score", docs, axis, "-o", tmp_path / "scored.parquet")
    assert found["rows"] == N
    scored = pl.read_parquet(tmp_path / "scored.parquet")
    assert scored.columns == [*FRAME.columns[:-1], "score", "standard_error", "probability", "like_seeds"]
    assert scored.select(FRAME.columns[:-1]).equals(FRAME.drop("vector"))
    np.testing.assert_allclose(scored["score"], Axis.load(axis).score(X.astype(np.float32)).score, rtol=1e-5)
    assert run(["score", docs, axis, "-o", str(tmp_path / "all.csv"), "--keep-vectors", "--quiet"]) == 0
    assert "vector" in pl.read_csv(tmp_path / "all.csv").columns


def test_mean_scores_have_intervals_that_are_wider_for_whole_authors(folder, tmp_path, capsys) -> None:
    asked = ["score", folder / "docs.parquet", folder / "party.safetensors", "--by", "party,year"]
    rows = run_for_json(capsys, *asked)["means"]["rows"]
    assert [(row["party"], row["year"]) for row in rows[:2]] == [("left", 2000), ("left", 2001)]
    assert all(row["difference_low"] < row["difference"] < row["difference_high"] for row in rows)
    assert rows[0]["documents"] == 5
    grouped = run_for_json(capsys, *asked, "--group-column", "author")["means"]["rows"]
    assert grouped[0]["draws"] < rows[0]["draws"]
    for details in ([], ["--details"]):
        assert run([*map(str, asked), *details]) == 0
        assert ("± axis" in capsys.readouterr().out) == bool(details)
    figure = tmp_path / "means.html"
    assert run([*map(str, asked), "--figure", str(figure), "--quiet"]) == 0
    assert "difference from all documents" in figure.read_text()


def test_names_of_the_ends_choose_the_high_class_and_never_rename_one(folder, tmp_path, capsys) -> None:
    docs, target = folder / "docs.parquet", tmp_path / "turned.safetensors"
    asked = ["fit", docs, "--label-column", "party", "-o", target, *QUICK]
    assert run([*map(str, asked), "--label-names", "right,left"]) == 0
    turned, usual = Axis.load(target), Axis.load(folder / "party.safetensors")
    assert turned.label_names == ("right", "left")
    np.testing.assert_allclose(turned.direction, -usual.direction, atol=1e-9)
    means = {
        row["party"]: row["difference"]
        for row in run_for_json(capsys, "score", docs, target, "--by", "party")["means"]["rows"]
    }
    assert means["left"] > 0 > means["right"]
    capsys.readouterr()
    assert run([*map(str, asked), "--label-names", "left,middle", "--overwrite"]) == 2
    assert "the classes are 'left' and 'right'" in capsys.readouterr().err


def test_score_and_erase_write_reports(folder, tmp_path, capsys) -> None:
    docs, axis = str(folder / "docs.parquet"), str(folder / "party.safetensors")
    means, removal, again = (tmp_path / f"{name}.html" for name in ("means", "removal", "again"))
    assert run(["score", docs, axis, "--by", "party,year", "--report", str(means), "--quiet"]) == 0
    assert "minus the mean score of all documents" in means.read_text("utf-8")
    page = means.read_text("utf-8")
    places = [page.index(part) for part in ('<p class="verdict', "score high", "<figure>", "<table>", "<details>")]
    assert places == sorted(places), "the verdict, which end is high, the chart, the table, the standard errors"
    clean, saved = str(tmp_path / "clean.parquet"), str(tmp_path / "party.safetensors")
    asked = ["erase", docs, "--label-column", "party", "-o", clean, "--save-erasure", saved, "--report", str(removal)]
    capsys.readouterr()
    assert run([*asked, "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("On rows the erasure has not seen"), "the result itself stays"
    assert "Removal of party" in removal.read_text("utf-8")
    assert run(["erase", docs, saved, "-o", str(tmp_path / "b.parquet"), "--report", str(again), "--quiet"]) == 0
    for page in (removal, again):
        text = page.read_text("utf-8")
        assert "On rows the erasure has not seen" not in text, "the table has these numbers"
        assert "AUC of each model on unseen rows" in text
        verdict = text.index('<p class="verdict')
        assert verdict < text.index("What remains in unseen rows")
        assert "Too few rows to say how much is left." in text[verdict : text.index("</p>", verdict)]
    assert "docs.parquet" in removal.read_text("utf-8"), "the provenance names the table"
    capsys.readouterr()
    for option in ("--figure", "--report"):
        assert run(["score", docs, axis, "-o", str(tmp_path / "scored.parquet"), option, str(tmp_path / "x.html")]) == 2
        assert "--by COLUMNS" in capsys.readouterr().err
        assert not (tmp_path / "scored.parquet").exists()


def test_results_name_the_table_and_its_label_column(folder, capsys) -> None:
    inputs = run_for_json(capsys, "diagnose", folder / "docs.parquet", "--label-column", "party", *QUICK)["provenance"][
        "inputs"
    ]
    assert [(each["role"], each["size"]) for each in inputs] == [("table", N), ("labels", N)]
    assert inputs[0]["name"].endswith("docs.parquet")
    assert inputs[1]["name"] == "party"


def test_erase_keeps_columns_and_types_and_says_what_remains(folder, tmp_path, capsys) -> None:
    docs, target = str(folder / "docs.parquet"), tmp_path / "clean.parquet"
    saved = tmp_path / "erasure.safetensors"
    found = run_for_json(
        capsys, "erase", docs, "--label-column", "party", "-o", target, "--save-erasure", saved, "--random-state", "1"
    )
    assert found["remains"]["probes"][0]["before"] > 0.8
    assert found["remains"]["probes"][0]["after"] < 0.7
    clean = pl.read_parquet(target)
    assert clean.schema == FRAME.schema
    assert clean.drop("vector").equals(FRAME.drop("vector"))
    again = tmp_path / "again.parquet"
    assert run(["erase", docs, str(saved), "-o", str(again), "--quiet"]) == 0
    np.testing.assert_allclose(pl.read_parquet(again)["vector"].to_numpy(), clean["vector"].to_numpy(), atol=1e-6)
    assert Erasure.load(saved).method == "leace"


@pytest.mark.slow
def test_several_columns_are_erased_at_once_and_one_is_kept(folder, tmp_path, capsys) -> None:
    target = tmp_path / "clean.parquet"
    asked = ["erase", folder / "docs.parquet", "-o", target, "--label-column", "party,source", "--keep-column", "year"]
    assert run_for_json(capsys, *asked)["axes"] == 3
    vectors = pl.read_parquet(target)["vector"].to_numpy()
    for labels in (PARTY, SOURCE == 0, SOURCE == 1):
        assert np.abs(np.corrcoef(labels, vectors.T)[0, 1:]).max() < 1e-3


BAD = {
    "neither": ([], "--label-column"),
    "both": (["hu-liu", "--text-column", "text"], "Give one"),
    "no label": (["--text-column", "text"], "--label-column"),
    "word option": (["--label-column", "party", "--any-case"], "--any-case was given; it belongs to a space"),
    "unknown column": (["--label-column", "partei"], "party (large_string)"),
    "one value": (["--label-column", "same"], "same = 1"),
    "identifiers": (["--label-column", "id"], "a different value"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_in_one_line(options, message, folder, tmp_path, capsys) -> None:
    docs = tmp_path / "docs.parquet"
    FRAME.with_columns(same=pl.lit(1), id=pl.Series([str(row) for row in range(N)])).write_parquet(docs)
    assert run(["diagnose", str(docs), *options]) == 2
    said = capsys.readouterr().err.strip()
    assert message in said
    assert len(said.splitlines()) == 1


def test_a_score_over_the_input_or_with_another_width_is_refused(folder, tmp_path, capsys) -> None:
    docs, axis = str(folder / "docs.parquet"), str(folder / "party.safetensors")
    assert run(["score", docs, axis, "-o", docs, "--overwrite"]) == 2
    assert "is the input" in capsys.readouterr().err
    narrow = tmp_path / "narrow.parquet"
    FRAME.with_columns(vector=pl.Series(X[:, :4])).write_parquet(narrow)
    assert run(["score", str(narrow), axis, "-o", str(tmp_path / "scored.parquet")]) == 2
    assert "width 6" in capsys.readouterr().err
    assert not (tmp_path / "scored.parquet").exists()


def test_bad_rows_are_named_or_skipped(folder, tmp_path, capsys) -> None:
    cells = X.astype(np.float32).tolist()
    cells[5] = None
    docs = tmp_path / "holes.parquet"
    FRAME.with_columns(vector=pl.Series(cells, dtype=pl.List(pl.Float32))).write_parquet(docs)
    asked = ["score", str(docs), str(folder / "party.safetensors"), "-o", str(tmp_path / "scored.parquet")]
    assert run(asked) == 2
    assert "row 6" in (said := capsys.readouterr().err)
    assert "--bad-rows skip" in said
    assert run_for_json(capsys, *asked, "--bad-rows", "skip")["rows_skipped"] == 1


def test_vectors_of_zeros_are_bad_rows_where_a_direction_is_needed(folder, tmp_path, capsys) -> None:
    zero = X.astype(np.float32)
    zero[5::6] = 0.0
    docs, missing = tmp_path / "zero.parquet", tmp_path / "missing.parquet"
    FRAME.with_columns(vector=pl.Series(zero)).write_parquet(docs)
    cells = [None if row % 6 == 5 else cell for row, cell in enumerate(zero.tolist())]
    FRAME.with_columns(vector=pl.Series(cells, dtype=pl.List(pl.Float32))).write_parquet(missing)
    axis, output = str(folder / "party.safetensors"), tmp_path / "out.parquet"
    commands = {
        "score": ["score", axis, "-o", str(output)],
        "means": ["score", axis, "--by", "source"],
        "fit": ["fit", "--label-column", "party", "-o", str(tmp_path / "axis"), *QUICK],
        "diagnose": ["diagnose", "--label-column", "party", *QUICK],
    }
    for name, (command, *options) in commands.items():
        assert run([command, str(docs), *options]) == 2, name
        said = capsys.readouterr().err
        assert "row 6" in said
        assert re.search(r"zero.*no direction.* or pass --bad-rows skip\.", said), said
    skip = ["--bad-rows", "skip", "--overwrite"]
    assert run_for_json(capsys, "score", docs, axis, "-o", output, *skip)["rows_skipped"] == N // 6
    assert pl.read_parquet(output)["score"].is_null().to_list() == [row % 6 == 5 for row in range(N)]
    found, expected = (
        run_for_json(capsys, "score", each, axis, "--by", "source", *skip[:2])["means"] for each in (docs, missing)
    )
    assert found["rows"] == expected["rows"]
    assert found["n_skipped"] == N // 6
    for source, name in ((docs, "axis"), (missing, "missing")):
        asked = ["fit", str(source), "--label-column", "party", "-o", str(tmp_path / name), *QUICK, *skip]
        assert run(asked) == 0
    whole, skipped = (Axis.load(tmp_path / name) for name in ("axis.safetensors", "missing.safetensors"))
    np.testing.assert_array_equal(skipped.direction, whole.direction)


@pytest.mark.filterwarnings("always::UserWarning")
def test_classes_that_differ_in_capitals_are_named_and_written_to_different_files(folder, tmp_path, capsys) -> None:
    typed = FRAME["party"].to_list()
    typed[:6] = [typed[0].upper()] * 6
    docs = tmp_path / "typed.parquet"
    FRAME.with_columns(party=pl.Series(typed)).write_parquet(docs)
    asked = ["fit", str(docs), "--label-column", "party", "-o", str(tmp_path / "axis"), *QUICK]
    scoring = ["score", str(docs), str(folder / "party.safetensors"), "--by", "party"]
    for command, nouns in ((asked, "classes"), (scoring, "groups")):
        assert run(command) == 0
        assert f"differ only in capitals, and count as 2 {nouns}. If" in capsys.readouterr().err
    files = [path.name for path in tmp_path.glob("axis-*.safetensors")]
    assert len({name.casefold() for name in files}) == 3  # two names may be one file on Windows and macOS


@pytest.mark.filterwarnings("always::RuntimeWarning")
def test_erasing_warns_once_of_vectors_of_zeros(folder, tmp_path, capsys) -> None:
    zero = X.astype(np.float32)
    zero[5::6] = 0.0
    docs, output = tmp_path / "zero.parquet", tmp_path / "clean.parquet"
    FRAME.with_columns(vector=pl.Series(zero.tolist())).write_parquet(docs)
    asked = ["erase", str(docs), "--label-column", "party", "-o", str(output), "--quiet"]
    assert run(asked) == 0
    said = capsys.readouterr().err
    assert said.count("warning") == 1
    assert "20 rows have vectors of zeros" in said
    assert said.rstrip().endswith("To leave them out, pass --bad-rows skip.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Erasure.fit_table(docs, "party").remains()  # the library warns, not the command
    assert [str(each.message).endswith("open_table(…, bad_rows='skip').") for each in caught] == [True]
    assert run([*asked, "--bad-rows", "skip", "--overwrite"]) == 0
    assert "zero" not in capsys.readouterr().err
    assert pl.read_parquet(output)["vector"].is_null().sum() == N // 6


def test_an_axis_of_a_space_is_refused_for_a_table(folder, tmp_path, capsys) -> None:
    words = pl.DataFrame({"word": [f"w{row}" for row in range(N)], "vector": FRAME["vector"]})
    words.write_parquet(tmp_path / "space.parquet")
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("".join(f"w{row}\t{1 if row % 2 else -1}\n" for row in range(40)))
    axis = tmp_path / "axis.safetensors"
    assert run(["fit", str(tmp_path / "space.parquet"), str(lexicon), "-o", str(axis), *QUICK]) == 0
    asked = ["score", str(folder / "docs.parquet"), str(axis), "-o", str(tmp_path / "scored.parquet")]
    assert run(asked) == 2
    assert "--any-space" in capsys.readouterr().err
    assert run([*asked, "--any-space", "--quiet"]) == 0


def test_long_texts_are_cut_to_one_line_in_tables(tmp_path, capsys) -> None:
    docs = tmp_path / "docs.parquet"
    FRAME.with_columns(text=pl.Series([f"title {row}\n" + "many words " * 200 for row in range(N)])).write_parquet(docs)
    assert run(["diagnose", str(docs), "--label-column", "party", "--text-column", "text", *QUICK]) == 0
    said = capsys.readouterr().out
    assert "title" in said
    assert len(said) < 20_000


@pytest.fixture(scope="module")
def saved(folder: Path) -> Path:
    """An erasure of the sources, learned from the table."""
    path = folder / "source.safetensors"
    learned = [str(folder / "docs.parquet"), "--label-column", "source", "--save-erasure", str(path)]
    assert run(["erase", *learned, "-o", str(folder / "erased.parquet"), "--quiet"]) == 0
    return path


@pytest.mark.parametrize(
    "options",
    [
        ["--remover", "ridge"],
        ["--keep-column", "party"],
        ["--normalize"],
        ["--save-erasure", "other"],
        ["--limit", "5"],
    ],
)
def test_a_saved_erasure_refuses_options_that_it_would_ignore(saved, folder, tmp_path, capsys, options) -> None:
    table = [str(folder / "docs.parquet")]
    assert run(["erase", *table, str(saved), "-o", str(tmp_path / "b.parquet"), *options]) != 0
    assert options[0] in capsys.readouterr().err
    assert not (tmp_path / "b.parquet").exists()


def test_a_saved_erasure_reports_figures_of_its_full_strength_only(saved, folder, tmp_path, capsys) -> None:
    table = folder / "docs.parquet"
    whole = run_for_json(capsys, "erase", table, saved, "-o", tmp_path / "b.parquet")
    part = run_for_json(capsys, "erase", table, saved, "-o", tmp_path / "c.parquet", "--strength", "0.1")
    assert whole["remains"]["probes"]
    assert part["remains"]["probes"] == []
    assert "whole change" in part["remains"]["reason"]


@pytest.mark.parametrize("option", ["--keep-column", "--cluster"])
def test_a_space_refuses_options_of_tables(tmp_path, capsys, option) -> None:
    assert run(["erase", "googlenews-26k", "gender", "-o", str(tmp_path / "n.bin"), option, "x"]) != 0
    assert option in capsys.readouterr().err


@pytest.mark.filterwarnings("always::densray.errors.SignalWarning")
def test_erasing_the_axis_that_predicts_a_column_warns(folder, tmp_path, capsys) -> None:
    asked = ["erase", str(folder / "docs.parquet"), "--label-column", "party", "--remover", "ridge"]
    assert run([*asked, "-o", str(tmp_path / "n.parquet"), "--quiet"]) == 0
    assert "leaves most" in capsys.readouterr().err


def test_a_space_without_labelled_words_is_not_called_a_missing_file(capsys) -> None:
    assert run(["diagnose", "googlenews-26k", "--label-column", "label"]) == 2
    said = capsys.readouterr().err
    assert "'googlenews-26k' is a space of words" in said
    assert "Give a LEXICON" in said


def test_a_bad_number_is_answered_with_an_option_of_the_same_command(tmp_path, capsys) -> None:
    path = tmp_path / "docs.csv"
    path.write_text("party,v0,v1\na,1,2\nb,,3\na,2,1\nb,3,1\n")
    assert run(["diagnose", str(path), "--label-column", "party"]) == 2
    said = capsys.readouterr().err
    assert "row 2" in said
    assert "pass --bad-rows skip" in said


def test_rows_are_named_by_their_id_or_counted_from_one(tmp_path) -> None:
    for column, expected in (("id", "d2"), ("other", "row 3")):
        frame = pl.DataFrame({column: ["d0", "d1", "d2"], "label": ["a", "b", None], "vector": [[1.0, 2.0]] * 3})
        table = open_table(frame)
        assert table.rows("label").dropped == {"no label": (expected,)}


def test_axes_of_several_classes_keep_the_names_of_the_classes_and_are_suggested(tmp_path, capsys) -> None:
    rng = np.random.default_rng(0)
    party = np.repeat(["Grün", "Rot", "Schwarz"], 30)
    X = rng.normal(size=(90, 4)) + 3 * np.stack([np.eye(4)["GRS".index(name[0])] for name in party])
    docs, axis = tmp_path / "docs.parquet", tmp_path / "party.safetensors"
    pl.DataFrame({"party": party, "vector": X}).write_parquet(docs)
    assert run(["fit", str(docs), "--label-column", "party", "-o", str(axis), "--quiet"]) == 0
    assert (tmp_path / "party-Grün.safetensors").is_file()
    assert run(["score", str(docs), str(axis), "-o", str(tmp_path / "scored.csv")]) == 2
    assert "party-Grün.safetensors" in capsys.readouterr().err


@pytest.mark.parametrize("by", [[], ["--by", "year"]])
def test_a_scored_table_says_once_which_end_is_high(by, folder, tmp_path, capsys) -> None:
    target = str(tmp_path / "scored.parquet")
    assert run(["score", str(folder / "docs.parquet"), str(folder / "party.safetensors"), "-o", target, *by]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("Rows of “right” score high, rows of “left” score low.") == 1


def test_rows_without_a_label_are_called_rows_and_several_vectors_are_answered_with_the_option(
    tmp_path, capsys
) -> None:
    parties = [None if row == 3 else name for row, name in enumerate(FRAME["party"].to_list())]
    FRAME.with_columns(party=pl.Series(parties)).write_parquet(tmp_path / "docs.parquet")
    FRAME.with_columns(other=FRAME["vector"]).write_parquet(tmp_path / "two.parquet")
    asked = ["--label-column", "party", "--method", "mean-difference", "--n-permutations", "19"]
    assert run(["diagnose", str(tmp_path / "docs.parquet"), *asked]) == 0
    assert "rows left out, without a label: 1: row 4" in capsys.readouterr().out
    assert run(["diagnose", str(tmp_path / "two.parquet"), *asked]) == 2
    assert "2 candidates for the vectors: 'vector'; 'other'" in (said := capsys.readouterr().err)
    assert "--vector-column" in said


def test_missing_vectors_of_a_fixed_size_are_written_or_refused_by_name(tmp_path, capsys) -> None:
    """pyarrow before 26 cannot write them as parquet."""
    zero = X.astype(np.float32)
    zero[5::6] = 0.0
    docs = tmp_path / "zero.parquet"
    FRAME.with_columns(vector=pl.Series(zero)).write_parquet(docs)  # lists of a fixed size
    asked = ["erase", str(docs), "--label-column", "party", "--quiet", "--bad-rows", "skip", "-o"]
    if run([*asked, str(tmp_path / "clean.parquet")]) == 0:
        assert pl.read_parquet(tmp_path / "clean.parquet")["vector"].is_null().sum() == N // 6
    else:
        assert "Install a newer pyarrow" in capsys.readouterr().err
        assert not (tmp_path / "clean.parquet").exists()
    assert run([*asked, str(tmp_path / "clean.arrow")]) == 0
    assert pl.read_ipc(tmp_path / "clean.arrow")["vector"].is_null().sum() == N // 6
