"""A table of documents in the explorer: its pages, bad tables, and which files are opened as tables."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from charts import parts
from densray import Axis, Erasure, open_table
from densray.cli.tables import opens_as_table
from densray.errors import DensRayError, TaskError
from densray.probes import MODELS
from explorer_page import open_page, texts

pytest.importorskip("pyarrow", reason="the extra `tables` (pyarrow) is not installed")
bench_module = pytest.importorskip("densray.explorer.table_bench", reason="the extra `explore` is not installed")

TOPICS = ("taxes", "schools", "rivers")


def documents(n: int = 120, width: int = 12) -> pl.DataFrame:
    """Documents of two sources, three topics and some years; their vectors hold all three. A few texts repeat."""
    random = np.random.default_rng(0)
    source, topic = random.integers(2, size=n), random.integers(3, size=n)
    year = random.integers(1990, 2020, size=n)
    X = random.normal(size=(n, width)) * 0.6
    X[:, 0] += 4.0 * source
    X[np.arange(n), 1 + topic] += 2.0
    X[:, 5] += (year - 2005) / 8
    named = [f"Report {row // 2 if row < 8 else row} about {TOPICS[kind]} and more" for row, kind in enumerate(topic)]
    return pl.DataFrame(
        {
            "text": named,
            "source": np.array(["press", "court"])[source].tolist(),
            "topic": np.array(TOPICS)[topic].tolist(),
            "year": year,
            "vector": X.astype(np.float32).tolist(),
        }
    )


@pytest.fixture(autouse=True)
def halved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes see two halves instead of twenty: the pages are tested here, and the probes elsewhere."""
    monkeypatch.setattr("densray.erasure._HALVINGS_OF_FEW", 1)


@pytest.fixture
def shown() -> Iterator[Any]:
    """Opens a frame in the explorer; closed afterwards."""

    def show(frame: pl.DataFrame, path: Path | str = "docs.parquet", **options: Any) -> Any:
        bad_rows = options.pop("bad_rows", "error")
        table = open_table(path if Path(path).exists() else frame, bad_rows=bad_rows)
        bench = bench_module.TableBench(table, source=str(path), **options)
        bench_module.use(bench)
        return bench

    yield show
    bench_module.use(None)


def charts(page: Any) -> list[str]:
    return [each.proto.alt for each in page.get("vega_lite_chart")]


def labels(page: Any) -> list[str]:
    return [each.label for each in page.get("download_button")]


class TestMap:
    def test_documents_are_drawn_and_coloured_by_any_column(self, shown: Any) -> None:
        shown(documents())
        for column in ("source", "year"):
            page = open_page("map", tint=column)
            assert not page.exception
            assert not page.error
            assert any("120 documents by principal component 1" in name and name.endswith(f"coloured by {column}")
                       for name in charts(page))  # fmt: skip
        assert page.query_params["tint"] in ("year", ["year"])

    def test_a_search_marks_documents_and_a_chosen_one_shows_its_neighbours(self, shown: Any) -> None:
        bench = shown(documents())
        page = open_page("map", find="ABOUT taxes", document="3")
        assert bench.texts[2] in texts(page.markdown)
        assert "cosine" in page.dataframe[0].value
        assert len(page.dataframe[0].value) == 10
        options = page.selectbox(key="setting document").options
        assert all("taxes" in option for option in options[2:])

    def test_the_axis_of_a_column_can_be_a_coordinate(self, shown: Any) -> None:
        shown(documents())
        page = open_page("map", label="source", across="axis")
        assert any("score on the axis of “source” (across)" in name for name in charts(page))

    def test_a_table_without_label_columns_has_a_map_and_axis_asks(self, shown: Any) -> None:
        shown(documents().select("text", "vector"))
        assert charts(open_page("map"))
        for name in ("axis", "remove"):
            page = open_page(name)
            assert "has no label column" in texts(page.info)
            assert not page.error

    def test_a_large_table_says_that_a_part_of_it_is_shown(self, shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bench_module, "MOST_DOCUMENTS", 50)
        bench = shown(documents())
        assert len(bench.sample) == 50
        assert bench.numbers[[0, -1]].tolist() == [0, 119]
        page = open_page("map")
        assert "50 of them, spread evenly over the table" in texts(page.sidebar.caption)
        assert "50 documents of 120, spread evenly" in texts(page.caption)

    def test_columns_of_any_type_colour_a_map(self, shown: Any) -> None:
        from datetime import date

        frame = documents(40).with_columns(
            day=pl.Series([date(2000 + row % 20, 7, 2) for row in range(40)]),
            flag=pl.Series([row % 2 == 0 for row in range(40)]),
            gap=pl.Series([None if row % 3 == 0 else float(row) for row in range(40)]),
            many=pl.Series([f"name {row}" for row in range(40)]),
            tags=pl.Series([["a", "b"]] * 40),
        )
        bench = shown(frame)
        assert bench.column("day").values[0] == pytest.approx(2000.5, abs=0.01)
        for column in ("day", "flag", "gap", "many", "tags"):
            page = open_page("map", tint=column)
            assert not page.exception, column
            assert not page.error, column


class TestAxis:
    def test_it_opens_on_the_column_with_the_fewest_classes(self, shown: Any) -> None:
        shown(documents())
        page = open_page("axis")
        assert page.selectbox(key="setting label").value == "source"
        assert texts(page.title) == "Axis: source"
        assert "From court (" in texts(page.caption)

    def test_without_a_column_of_few_classes_it_asks_for_one(self, shown: Any) -> None:
        shown(documents().select("text", "year", "vector"))
        page = open_page("axis")
        assert "Choose a “Label column” in the sidebar" in texts(page.info)
        page.session_state["window"] = {"narrow": True}
        page.run()
        assert "Choose a “Label column” under “Change the labels”" in texts(page.info)

    def test_two_classes_are_ranked_with_errors_and_a_verdict(self, shown: Any) -> None:
        shown(documents())
        page = open_page("axis", label="source")
        assert not page.exception
        assert not page.error
        assert "Trust:" in texts([*page.success, *page.info, *page.warning])
        ends = [frame.value for frame in page.dataframe if "standard_error" in frame.value]
        assert len(ends) == 2
        assert set(ends[0]["label"]) == {"press"}
        assert set(ends[1]["label"]) == {"court"}
        assert ends[0]["score"].min() > ends[1]["score"].max()
        assert (ends[0]["standard_error"] > 0).all()
        assert "From court (" in texts(page.caption)

    def test_repeated_texts_are_held_out_together(self, shown: Any) -> None:
        bench = shown(documents())
        n_groups = len(set(bench.texts))
        assert n_groups < 120
        assert f"Held out in {n_groups} groups" in texts(open_page("axis", label="source").caption)
        assert "Held out in" not in texts(open_page("axis", label="source", group="(alone)").caption)

    def test_one_class_of_several_against_the_rest(self, shown: Any) -> None:
        shown(documents())
        page = open_page("axis", label="topic", **{"class": "schools"})
        assert "From not schools" in texts(page.caption)
        next(button for button in page.button if "all 3 classes" in button.label).click()
        page.run()
        assert "The classes of topic can be told apart" in texts(page.markdown)

    def test_numbers_are_scores_unless_classes_are_requested(self, shown: Any) -> None:
        shown(documents())
        page = open_page("axis", label="year")
        assert "From low year to high year" in texts(page.caption)
        page = open_page("axis", label="year", numbers="classes")
        assert "From not 1990" in texts(page.caption)

    def test_mean_scores_by_a_column(self, shown: Any) -> None:
        shown(documents())
        page = open_page("axis", label="source", by="topic")
        means = next(frame.value for frame in page.dataframe if "difference" in frame.value)
        assert sorted(means["topic"]) == sorted(TOPICS)
        assert (means["difference_low"] < means["difference"]).all()
        assert (means["difference"] < means["difference_high"]).all()
        assert any("Mean scores minus the mean of all documents" in name for name in charts(page))

    def test_missing_labels_are_counted(self, shown: Any) -> None:
        shown(documents().with_columns(source=pl.when(pl.int_range(pl.len()) < 7).then(None).otherwise("source")))
        assert "7 documents have no label" in texts(open_page("axis", label="source").caption)

    @pytest.mark.parametrize(
        ("column", "said"), [("one", "Another label is needed"), ("name", "has a different value in each of 120 rows")]
    )
    def test_a_column_that_cannot_be_labels_is_one_line(self, shown: Any, column: str, said: str) -> None:
        shown(documents().with_columns(one=pl.lit("x"), name=pl.int_range(pl.len()).cast(pl.String)))
        page = open_page("axis", label=column)
        assert said in texts(page.error)
        assert not page.exception

    def test_a_label_column_given_at_the_start_is_chosen(self, shown: Any) -> None:
        shown(documents(), label_column="topic", group_column="source")
        page = open_page("axis")
        assert page.query_params["label"] in ("topic", ["topic"])
        assert "Held out in 2 groups" in texts(page.caption)

    def test_the_files_hold_every_document(self, shown: Any, tmp_path: Path) -> None:
        from densray.explorer.views import table_axis

        bench = shown(documents(), label_column="source")
        wanted = bench_module.LabelChoice("source")
        for ending in (".parquet", ".csv"):
            path = tmp_path / f"scored{ending}"
            path.write_bytes(table_axis._scored_file(bench, bench.axis(wanted).run(), path.name))
            frame = pl.read_parquet(path) if ending == ".parquet" else pl.read_csv(path)
            assert len(frame) == 120
            assert {"text", "source", "score", "standard_error", "probability"} <= set(frame.columns)
            assert frame["score"].to_numpy() == pytest.approx(bench.scores(wanted).run().score, abs=1e-6)
        assert {"Scored table .parquet", "Scored table .csv", "Axis .safetensors"} <= set(labels(open_page("axis")))

    def test_a_table_that_has_scores_already_says_so(self, shown: Any) -> None:
        shown(documents().with_columns(score=pl.lit(1.0)))
        page = open_page("axis", label="source")
        assert "already has a column “score”" in texts(page.error)
        assert "Axis .safetensors" in labels(page)


class TestRemove:
    def test_the_labels_go_and_the_page_says_how_far(self, shown: Any) -> None:
        bench = shown(documents(), label_column="source")
        page = open_page("remove", document="1")
        assert not page.exception
        assert not page.error
        wanted = bench_module.RemovalChoice(("source",), (), "leace", "text")
        before, after, chance = bench.same_label(wanted, "source")
        assert before > 0.85
        assert after < 0.7
        assert after == pytest.approx(chance, abs=0.15)
        assert f"from {before:.0%}" in page.metric[0].delta
        linear = bench.remains(wanted, ("linear",)).run().rows()[0]
        assert page.metric[1].label == "AUC of a linear model"
        assert page.metric[1].value == f"{linear['after']:.2f}"
        assert page.metric[1].delta == f"from {linear['before']:.2f}; chance 0.50"
        notices = texts([*page.info, *page.success, *page.warning, *page.error])
        assert bench.remains(wanted, ("linear",)).run().headline in notices
        assert "Not tested yet" not in notices
        assert "On rows the erasure has not seen" in texts(page.markdown)
        assert "Before: " in texts(page.markdown).replace("**", "")
        assert len([name for name in charts(page) if "coloured by source" in name]) == 2

    def test_the_maps_before_and_after_have_the_same_ranges(self, shown: Any) -> None:
        shown(documents(), label_column="source")
        maps = [json.loads(chart.proto.spec) for chart in open_page("remove").get("vega_lite_chart")]
        ranges = [
            {key: part[key]["scale"]["domain"] for part in parts(spec) for key in "xy" if "scale" in part.get(key, {})}
            for spec in maps
        ]
        assert len(ranges) == 2
        assert ranges[0] == ranges[1]
        assert ranges[0].keys() == {"x", "y"}

    def test_nonlinear_models_are_tested_after_a_click(self, shown: Any) -> None:
        page_bench = shown(documents(60, 6), label_column="source")
        page = open_page("remove")
        next(button for button in page.button if button.label.startswith("Test nonlinear")).click()
        page.run(timeout=120)
        probes = next(frame.value for frame in page.table if "before" in frame.value)
        assert list(probes["model"]) == ["linear model", "RBF model", "neural network"]
        assert all(re.fullmatch(r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]", each) for each in probes["after"])
        notices = texts([*page.info, *page.success, *page.warning, *page.error])
        assert "not tested" not in notices.lower()
        wanted = bench_module.RemovalChoice(("source",), (), "leace", "text")
        assert page_bench.remains(wanted, MODELS).run().headline in notices

    def test_several_columns_are_removed_and_one_kept(self, shown: Any) -> None:
        bench = shown(documents(), label_column="source")
        page = open_page("remove", removed="source,year", kept="topic")
        assert not page.error
        probes = next(frame.value for frame in page.table if "concept" in frame.value)
        assert list(probes["concept"]) == ["source", "year", "topic"]
        wanted = bench_module.RemovalChoice(("source", "year"), ("topic",), "leace")
        assert bench.erasure(wanted).run().kept[0].concept == "topic"

    def test_partners_are_searched_before_and_after(self, shown: Any) -> None:
        shown(documents().with_columns(case=pl.int_range(pl.len()) % 60), label_column="source")
        page = open_page("remove", partner="case")
        assert "find their partner" in texts(page.markdown)

    def test_the_files_erase_what_was_shown(self, shown: Any, tmp_path: Path) -> None:
        from densray.explorer.views import table_remove

        bench = shown(documents(), label_column="source")
        wanted = bench_module.RemovalChoice(("source",), (), "leace")
        erasure = bench.erasure(wanted).run()
        path = tmp_path / "erased.parquet"
        path.write_bytes(table_remove._erased_file(bench, erasure, path.name))
        erased = open_table(path)
        assert erased.columns == ("text", "source", "topic", "year", "vector")
        unit = erased.vectors() / np.linalg.norm(erased.vectors(), axis=1, keepdims=True)
        assert unit == pytest.approx(bench.erased(wanted), abs=1e-5)
        assert {"Erasure .safetensors"} < set(labels(open_page("remove")))

    def test_a_table_too_large_for_the_browser_is_left_to_the_command(
        self, shown: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from densray.explorer.views import table_remove

        monkeypatch.setattr(table_remove, "_LARGEST", 100)
        shown(documents(), "my docs.parquet", label_column="source")
        page = open_page("remove")
        assert "too large to download here" in texts(page.markdown)
        command = "densray erase 'my docs.parquet' source-erasure.safetensors -o source-erased.parquet"
        assert page.code[0].value == command


VIEWS = {
    "map": {"tint": "year"},
    "map of an axis": {"label": "topic", "class": "schools", "up": "axis"},
    "axis": {"label": "source", "by": "topic"},
    "axis of numbers": {"label": "year", "group": "(alone)", "method": "ridge"},
    "remove": {"removed": "source,year", "kept": "topic", "label": "source"},
}


@pytest.mark.parametrize(
    "view", [pytest.param(view, marks=pytest.mark.slow if view == "remove" else ()) for view in VIEWS]
)
def test_the_python_of_every_view_runs(
    view: str, shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    documents(60, 6).write_parquet("docs.parquet")
    shown(pl.DataFrame(), "docs.parquet")
    page = open_page(view.split(maxsplit=1)[0], **VIEWS[view])
    code = [each.value for each in page.code if "import" in each.value]
    assert len(code) == 1
    exec(compile(code[0], view, "exec"), {})
    if view == "axis":
        assert texts([*page.success, *page.info, *page.warning]).splitlines()[0] in capsys.readouterr().out
        assert "score" in pl.read_parquet_schema("scored.parquet")


def test_the_commands_on_the_pages_run(shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from densray.cli.entry import run

    monkeypatch.chdir(tmp_path)
    documents(60, 6).write_parquet("docs.parquet")
    bench = shown(pl.DataFrame(), "docs.parquet", label_column="source")
    bench.axis(bench_module.LabelChoice("source")).run().save("source.safetensors")
    bench.erasure(bench_module.RemovalChoice(("source",), (), "leace")).run().save("source-erasure.safetensors")
    assert isinstance(Axis.load("source.safetensors"), Axis)
    assert isinstance(Erasure.load("source-erasure.safetensors"), Erasure)
    for name in ("axis", "remove"):
        command = next(each.value for each in open_page(name).code if each.value.startswith("densray "))
        assert run([*shlex.split(command)[1:], "--quiet"]) == 0
    assert len(pl.read_parquet("source-scored.parquet")) == 60
    assert len(pl.read_parquet("source-erased.parquet")) == 60


class TestOpening:
    def test_null_vectors_are_an_error_or_left_out_and_counted(self, shown: Any) -> None:
        frame = documents().with_columns(
            vector=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("vector"))
        )
        with pytest.raises(DensRayError, match="row 4: the vector is missing"):
            shown(frame)
        bench = shown(frame, bad_rows="skip")
        assert len(bench.sample) == 119
        assert 3 not in bench.numbers
        page = open_page("axis", label="source")
        assert not page.error
        assert "the vector is not usable: 1 documents" in texts(page.sidebar.caption)

    def test_unknown_columns_are_named(self, shown: Any) -> None:
        with pytest.raises(DensRayError, match="has no column 'party'"):
            shown(documents(), label_column="party")

    def test_pages_of_words_are_not_offered(self, shown: Any) -> None:
        from densray.explorer.views import first_page, open_pages

        assert "analogies" in open_pages()
        shown(documents())
        assert list(open_pages()) == ["map", "axis", "remove"]
        assert first_page() == "map"

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            ({"word": ["king", "queen", "man"]}, False),
            ({"text": ["a b c", "d e f", "g h"]}, True),
            ({"text": ["same", "same", "other"]}, True),
            ({"title": ["x", "y", "z"], "body": ["u", "v", "w"]}, True),
            ({"year": [1, 2, 3]}, True),
            ({"word": ["king", "queen", "man"], "count": [3, 2, 1]}, None),
        ],
    )
    def test_texts_decide_between_words_and_documents(
        self, tmp_path: Path, columns: dict[str, list[Any]], expected: bool | None
    ) -> None:
        path = str(tmp_path / "it.parquet")
        pl.DataFrame({**columns, "vector": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]}).write_parquet(path)
        if expected is None:
            with pytest.raises(TaskError, match="could be a space of words or a table of documents"):
                opens_as_table(path, asked=False)
        else:
            assert opens_as_table(path, asked=False) is expected
        assert opens_as_table(path, asked=True)

    def test_files_other_than_tables_are_left_to_the_reader_of_spaces(self, tmp_path: Path) -> None:
        vectors = tmp_path / "vectors.csv"
        vectors.write_text("the,0.1,0.2\nof,0.3,0.4\n", "utf-8")
        for name in ("googlenews-26k", str(tmp_path / "missing.parquet"), str(vectors)):
            assert not opens_as_table(name, asked=False)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["docs.parquet", "googlenews-26k"], "A table is explored"),
            (["docs.parquet", "docs.parquet", "docs2.parquet"], "A table is explored"),
            (["--label-column", "source"], "no table is given"),
            (["docs.parquet", "--label-column", "party"], "has no column 'party'"),
            (["docs.parquet", "--label-column", "source", "--limit", "5"], "belongs to a space of words"),
        ],
    )
    def test_a_table_is_opened_alone(
        self, given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        from densray.cli.entry import run

        monkeypatch.chdir(tmp_path)
        for name in ("docs.parquet", "docs2.parquet"):
            documents(20, 6).write_parquet(name)
        assert run(["explore", *given, "--no-browser", "--quiet"]) != 0
        assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "shades", [["a", "b"] * 10, [f"class {n}" for n in range(20)], [None, 1.5] * 10, [1990.0] * 20, [None] * 20]
)
def test_a_map_of_documents_is_a_valid_chart(shades: list[Any]) -> None:
    from densray.figures import document_map, to_svg

    rows = [
        {"row": str(n), "text": "words of a text " * 30, "across": n, "up": n % 7, "shade": shade, "marked": n == 3}
        for n, shade in enumerate(shades)
    ]
    chart = document_map(rows, color="a \\ “column”", interactive=True)
    chart.to_dict(validate=True)
    assert "<svg" in to_svg(document_map(rows, color="column"))
    drawn = chart.to_dict()["data"]["values"]
    assert drawn.count('"text"') == 20
    assert "words of a text " * 13 not in drawn  # cut at 200 letters


@pytest.mark.filterwarnings("default::densray.errors.EncodingDetectedWarning")
def test_the_terminal_and_the_page_name_an_encoding_that_was_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from densray.cli.entry import run

    rows = "\n".join(f"{row};Bericht über den Wald {row};{row};{row % 3};1" for row in range(30))
    path, note = tmp_path / "docs.csv", "docs.csv is not UTF-8. It was read as cp1252."
    path.write_bytes(f"id;text;d0;d1;d2\n{rows}\n".encode("cp1252"))
    monkeypatch.setattr("densray.explorer.server.launch_table", lambda bench, **_: bench_module.use(bench))
    try:
        assert run(["explore", str(path), "--text-column", "text", "--no-browser", "--port", "8990"]) == 0
        assert note in capsys.readouterr().err
        assert note in texts(open_page("map").sidebar.caption)
    finally:
        bench_module.use(None)
