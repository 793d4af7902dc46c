"""Reports keep every digit in data and round only what is shown."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import densray
from densray import _version
from densray.datasets import list_datasets
from densray.errors import OutputError
from densray.report import (
    Column,
    Figure,
    Input,
    Provenance,
    Report,
    Result,
    Section,
    Table,
    best_cells,
    show_number,
    show_share,
    to_html,
    to_json,
    to_markdown,
    to_plain,
    to_terminal,
    typeset,
    write_html,
)

THIRD = 1 / 3


@dataclass(frozen=True)
class Agreement(Result):
    """A small task result."""

    title = "Agreement <with> gold"

    taus: dict[str, float]
    scores: np.ndarray
    model: object = field(default=None, metadata={"report": False})

    def tables(self) -> list[Table]:
        rows = [{"method": name, "tau": tau} for name, tau in self.taus.items()]
        best = best_cells(rows, ["tau"], within="column")
        return [Table("τ by method", ["method", Column("tau", "τ", decimals=2)], rows, ["A note."], best)]


@pytest.fixture
def result() -> Agreement:
    provenance = Provenance.begin(seed=7).finish(inputs=[Input("space", "tiny", "abc", 3)], used=2, missing=["zzz"])
    scores = np.array([THIRD, np.nan], dtype=np.float64)
    return Agreement({"svm": 0.5, "den<s>ray": 2 * THIRD}, scores, object(), provenance=provenance)


def render(shown: Any) -> str:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=100, color_system=None).print(to_terminal(shown))
    return stream.getvalue()


def test_a_page_has_a_heading_for_each_table_and_the_numbers_behind_a_verdict_come_before_the_figures() -> None:
    numbers, words = Table("Numbers", ["n"], [{"n": 1}]), Table("Words", ["word"], [{"word": "a"}])
    figure = Figure('<svg xmlns="http://www.w3.org/2000/svg"></svg>', "A chart")
    one = Section("Axis", "Trust: good.", [numbers, words], [figure], grade="good", tables_before_figures=1)
    page = to_html(one)
    places = [page.index(each) for each in ("<h2>Numbers</h2>", "<figure>", "<h2>Words</h2>")]
    assert places == sorted(places)
    page = to_html(Report("Two", [Section("Other"), one]))  # below the headings of the sections
    assert "<h2>Axis</h2>" in page
    assert "<h3>Numbers</h3>" in page
    long = Section("", "Trust: good.", [Table("Long", ["n"], [{"n": 1}] * 20)], [figure], tables_before_figures=1)
    page = to_html(long)
    assert page.index("<figure>") < page.index("<h2>Long</h2>")


def test_json_keeps_every_digit_and_turns_nan_into_null(result: Agreement) -> None:
    read = json.loads(to_json(result))
    assert read["taus"]["den<s>ray"] == 2 * THIRD
    assert read["scores"] == [THIRD, None]
    assert "model" not in read
    assert list(read)[-1] == "provenance"
    assert read["provenance"]["words_missing"] == ["zzz"]
    assert read["provenance"]["seed"] == 7
    assert "clock" not in read["provenance"]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
        (float("inf"), None),
        (np.array([[1, 2]]), [[1, 2]]),
        (Path("a") / "b", str(Path("a") / "b")),
        ({"b", "a"}, ["a", "b"]),
        ({1: (2, None)}, {"1": [2, None]}),
    ],
)
def test_plain_values_survive_json(value: object, plain: object) -> None:
    assert to_plain(value) == plain
    assert json.loads(to_json(value)) == plain


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (-0.0004, 3, "0.000"),
        (-0.0006, 3, "−0.001"),
        (-1234.5, 1, "−1,234.5"),
        (0.0, None, "0"),
        (-2.5, None, "−2.5"),
        (1234.4, None, "1,234"),
        (-1e-9, None, "−1.000 × 10⁻⁹"),
        (float("nan"), 3, "–"),
        (None, 3, "–"),
    ],
)
def test_numbers_are_written_in_one_way(value: float | None, decimals: int | None, shown: str) -> None:
    assert show_number(value, decimals) == shown
    assert Column("x", decimals=decimals).show(value) == shown


def test_what_is_not_quite_none_or_all_is_not_shown_as_such() -> None:
    assert [show_share(each) for each in (0.0, 1e-5, 0.999, 1.0)] == ["0%", "<1%", ">99%", "100%"]
    assert [Column("p", decimals=3, open_ends=True).show(p) for p in (2.568e-56, 0.04762, 1.0)] == [
        "<0.001",
        "0.048",
        "1.000",
    ]


def test_only_one_place_rounds_for_people() -> None:
    """What is shown goes through `densray.report`; messages on bad input, JSON and keys of data do not."""
    source = Path(densray.__file__).parent
    rounded = re.compile(r"""\{[^{}"']*:[+,]*\.\d[fe%]\}|format="[+,]?\.\d[fe%]\"""")
    shown = ("axes", "analogy", "cli", "debiasing", "figures", "paper", "states")
    found = [
        f"{path.relative_to(source)}: {line.strip()}"
        for folder in shown
        for path in (source / folder).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if rounded.search(line) and ">>>" not in line
    ]
    assert [line for line in found if "does not fit into float16" not in line] == []


def test_counts_have_separators_and_seeds_do_not() -> None:
    table = Provenance.begin(seed=12345).finish(used=3881).table()
    shown = dict(tuple(row) for row in table.shown())
    assert (shown["rows used"], shown["seed"]) == ("3,881", "12345")


def test_a_page_sets_the_quotation_marks_of_a_message() -> None:
    message = "'a' is not in 'b'. Leave rows out with bad_rows='skip', or pip install \"densray[figures]\"."
    expected = "“a” is not in “b”. Leave rows out with bad_rows='skip', or pip install \"densray[figures]\"."
    assert typeset(message) == expected


def test_what_has_no_plain_form_is_named() -> None:
    with pytest.raises(TypeError, match="object has no plain form"):
        to_plain([object()])


def test_every_renderer_shows_the_same_rounded_cells(result: Agreement) -> None:
    for text in (to_markdown(result), to_html(result), render(result)):
        assert "0.67" in text
        assert "0.666" not in text
        assert "A note." in text
        assert "zzz" in text


def test_best_cells_are_bold_in_markdown_and_html(result: Agreement) -> None:
    assert "**0.67**" in to_markdown(result)
    assert "**0.50**" not in to_markdown(result)
    assert "<strong>0.67</strong>" in to_html(result)


def test_best_cells_may_be_the_lowest_and_skip_missing_numbers() -> None:
    rows = [{"a": 1.0, "b": None}, {"a": float("nan"), "b": 2.0}]
    assert best_cells(rows, ["a", "b"], lowest=True) == {(0, "a"), (1, "b")}
    assert best_cells([{"a": 3.0}, {"a": 2.0}], ["a"], within="column", lowest=True) == {(1, "a")}


def test_html_escapes_what_it_is_given_and_asks_the_network_for_nothing(result: Agreement) -> None:
    figure = Figure('<svg xmlns="http://www.w3.org/2000/svg"></svg>', 'A "caption" & more')
    page = to_html(Report("<Report>", [Section.of(result, figures=[figure])], text="Read <this>"))
    assert "<Report>" not in page
    assert "den<s>ray" not in page
    assert "den&lt;s&gt;ray" in page
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)""", page)
    assert "url(" not in page
    assert "<script" not in page
    assert "prefers-color-scheme: dark" in page
    assert "data:image/svg+xml;base64," in page


def test_long_texts_in_the_first_column_make_blocks_with_named_numbers() -> None:
    rows = [{"text": "long " * 12, "score": 0.5}]
    page = to_html(Table("Documents", ["text", "score"], rows))
    assert '<table class="texts">' in page
    assert 'data-heading="score"' in page
    assert "data-heading" not in to_html(Table("Words", ["text", "score"], [{"text": "short", "score": 0.5}]))[-400:]


def test_a_long_text_after_a_name_and_a_number_is_marked_to_go_below_them() -> None:
    rows = [{"statistic": "seeds", "value": 40, "meaning": "words with a label, " * 3}]
    page = to_html(Table("Numbers", ["statistic", "value", "meaning"], rows))
    assert '<table class="explained">' in page
    short = to_html(Table("Numbers", ["statistic", "value", "meaning"], [{**rows[0], "meaning": "words"}]))
    more = to_html(Table("Numbers", ["statistic", "value", "p", "meaning"], rows))
    assert 'class="explained"' not in short + more


def test_a_narrow_terminal_repeats_every_key_column() -> None:
    rows = [{"party": "Liberal Democrats", "year": 2015, **{f"figure {n}": 0.5 for n in range(9)}}]
    columns = ["party", Column("year", grouped=False), *(f"figure {n}" for n in range(9))]
    for keys in (1, 2):
        table = Table("", columns, rows, keys=keys)
        stream = io.StringIO()
        Console(file=stream, width=60, color_system=None).print(to_terminal(table))
        parts = stream.getvalue().count("Liberal Democrats")
        assert parts > 1
        assert stream.getvalue().count("2015") == (1 if keys == 1 else parts)


def test_markdown_cells_cannot_break_the_table() -> None:
    text = to_markdown(Table("", ["word"], [{"word": "a|b\nc"}]))
    assert text.splitlines()[-1] == "| a\\|b c |"


def test_numbers_stand_flush_right_and_words_do_not() -> None:
    table = Table("", ["word", "n", "empty"], [{"word": "a", "n": 1}, {"word": "b", "n": None}])
    assert table.numeric() == [False, True, False]
    assert "| --- | ---: | --- |" in to_markdown(table)


def test_a_result_without_tables_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Result does not say"):
        Result(provenance=Provenance()).tables()


def test_provenance_names_versions_seed_and_seconds() -> None:
    import numpy

    plain = Provenance.begin(seed=3).finish().to_dict()
    assert plain["versions"]["numpy"] == numpy.__version__
    assert {"densray", "python", "scipy", "scikit-learn"} <= set(plain["versions"])
    assert plain["seconds"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", plain["started"])


def test_provenance_finds_its_versions_while_other_threads_edit_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    stopped = threading.Event()

    def edit() -> None:
        while not stopped.is_set():
            sys.path.insert(0, "/no/such/folder")
            time.sleep(0)
            sys.path.remove("/no/such/folder")
            time.sleep(0)

    def look(_: int) -> Provenance:
        monkeypatch.setattr(_version, "_versions", {}, raising=False)
        return Provenance()

    expected = Provenance().versions
    editors = [threading.Thread(target=edit) for _ in range(2)]
    for editor in editors:
        editor.start()
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(each.versions == expected for each in threads.map(look, range(100)))
    finally:
        stopped.set()
        sys.setswitchinterval(interval)
        for editor in editors:
            editor.join()


@pytest.mark.parametrize(("size", "said"), [(1, "1 entry"), (2, "2 entries"), (None, "no digest")])
def test_provenance_says_how_large_an_input_is(size: int | None, said: str) -> None:
    table = Provenance.begin(seed=3).finish(inputs=[Input("lexicon", "tiny", None, size)]).table()
    assert table.rows[0] == {"what": "lexicon: tiny", "value": said}


def test_an_input_file_is_known_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes(b"good\t1\n")
    assert Input.of("lexicon", path) == Input("lexicon", "words.tsv", hashlib.sha256(b"good\t1\n").hexdigest(), None)


def test_an_input_in_memory_is_known_by_its_fingerprint() -> None:
    class Space:
        name = "tiny"

        def __len__(self) -> int:
            return 4

        def fingerprint(self) -> str:
            return "f00d"

    assert Input.of("space", Space()) == Input("space", "tiny", "f00d", 4)


def test_rows_of_a_group_stand_under_one_line() -> None:
    rows = [{"kind": "first kind", "n": 1}, {"kind": "first kind", "n": 2}, {"kind": "other kind", "n": 3}]
    table = Table("", ["n"], rows, group="kind")
    for text in (to_markdown(table), to_html(table), render(table)):
        assert (text.count("first kind"), text.count("other kind")) == (1, 1)
    Nesting().feed(to_html(table).split("<body>")[1].split("</body>")[0])


def test_folded_tables_are_closed_on_a_page_and_only_named_without_details() -> None:
    shown = Section("A", tables=[Table("Long", ["n"], [{"n": 12345}], folded=True), Table("Short", ["n"], [{"n": 7}])])
    page = to_html(shown)
    assert page.index("Short") < page.index("<details><summary>Long</summary>")
    brief = io.StringIO()
    Console(file=brief, width=80, color_system=None).print(to_terminal(shown, details=False))
    assert "12,345" in render(shown)
    assert "12,345" not in brief.getvalue()
    assert "--details shows: Long." in brief.getvalue()


def test_figures_stand_before_tables_and_lines_are_paragraphs() -> None:
    text = "First.\n• one\n• two\nLast."
    page = to_html(Section("A", text, [Table("T", ["n"], [{"n": 7}])], [Figure("<svg/>", "F")]))
    assert page.index("<figure>") < page.index("<table>")
    assert "<p>First.</p>\n<ul><li>one</li><li>two</li></ul>\n<p>Last.</p>" in page


def test_notebooks_show_the_tables(result: Agreement) -> None:
    assert "<table>" in result._repr_html_()


class Nesting(HTMLParser):
    """Counts open elements, and fails where one is closed that is not the last opened."""

    VOID = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_elements_are_closed_in_order(result: Agreement) -> None:
    parser = Nesting()
    parser.feed(to_html(Report("Report", [Section.of(result, text="Text", figures=[Figure("<svg/>")]), result])))
    assert parser.open == []


def _drawn(table: Table, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system=None)
    with console.capture() as drawn:
        console.print(to_terminal(table))
    return drawn.get().splitlines()


def _wide(columns: int) -> Table:
    row = {"category": "gram6-nationality-adjective"} | {f"n{at}": 0.25 for at in range(columns)}
    heads = [Column(f"n{at}", "paper" if at % 2 else f"Number{at}", decimals=2) for at in range(columns)]
    return Table("Wide", ["category", *heads], [row])


@pytest.mark.parametrize("width", [40, 60, 80, 240])
def test_a_table_is_never_wider_than_the_screen_and_never_loses_a_cell(width: int) -> None:
    lines = _drawn(_wide(12), width)
    assert max(map(len, lines)) <= width
    assert sum(line.count("0.25") for line in lines) == 12
    assert "…" not in "".join(lines)
    headings = [line for line in lines if "category" in line]
    named = [line for line in lines if "gram6-nationality-adjective" in line]
    assert len(headings) == len(named) == {40: 12, 60: 6, 80: 2, 240: 1}[width]
    if width > 40:  # the paper's number stands beside ours
        assert all(line.count("paper") == line.count("Number") for line in headings)


def test_on_the_narrowest_screen_even_names_are_folded() -> None:
    lines = _drawn(_wide(2), 20)
    assert max(map(len, lines)) <= 20
    assert sum(line.count("0.25") for line in lines) == 2


def test_text_is_folded_between_words_and_no_number_is_split() -> None:
    table = Table(
        "A title that is longer than any of the columns beneath it",
        ["name", "licence", Column("megabytes", "MB", decimals=1)],
        [{"name": "hu-liu", "licence": "non-commercial research, not to be redistributed", "megabytes": 1743.6}],
    )
    lines = _drawn(table, 44)
    assert lines[0].rstrip() == "A title that is longer than any of the"
    text = " ".join(" ".join(lines).split())
    for word in ("non-commercial", "research,", "redistributed", "1,743.6"):
        assert word in text


@pytest.mark.parametrize("width", [50, 60, 72, 80, 100])
def test_every_word_of_the_data_sets_can_be_read_on_a_terminal(width: int) -> None:
    rows = [
        {"name": each.name, "title": each.title, "licence": each.licence, "size": 1.5e6} for each in list_datasets()
    ]
    lines = _drawn(Table("", ["name", "title", "licence", Column("size", "MB", decimals=1)], rows), width)
    assert max(map(len, lines)) <= width
    shown = {word for line in lines for word in line.split()}
    assert {word for row in rows for word in f"{row['name']} {row['title']} {row['licence']}".split()} <= shown


def test_a_page_is_written_whole_and_replaces_no_file_unasked(tmp_path: Path) -> None:
    path, table = tmp_path / "page.html", Table("Numbers", ["n"], [{"n": 1}])
    write_html(table, path)
    assert path.read_text(encoding="utf-8") == to_html(table)
    with pytest.raises(OutputError, match="exists already"):
        write_html(Table("Others", ["n"], [{"n": 2}]), path)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text(encoding="utf-8") == to_html(table)
