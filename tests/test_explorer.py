"""The explorer around its pages: the view as an address, words from outside, who may talk to it, the Axis page."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import explorer
from densray import Lexicon, WordSpace
from densray.errors import Advice, Argument, DensRayError, LexiconError, MissingExtraError
from densray.explorer import settings
from densray.explorer.server import Guard, check_ready
from densray.explorer.settings import DEFAULTS, MAX_ADDRESS_LENGTH, AxisChoice, Settings
from densray.explorer.widgets import in_controls
from densray.explorer.words import (
    columns_of_upload,
    file_stem,
    find_words,
    lexicon_of_lists,
    lexicon_of_upload,
    pairs_of_text,
    words_of_text,
)
from densray.explorer.workbench import Workbench
from explorer_page import open_page, texts

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


class TestTheViewAsAnAddress:
    @given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)), words, max_size=6))
    def test_settings_come_back_from_the_address_they_wrote(self, values):
        view = Settings(values)
        assert dict(Settings.from_query(view.to_query())) == dict(view)

    def test_an_untouched_view_has_an_empty_address(self):
        assert Settings().to_query() == {}

    def test_unknown_settings_are_ignored_in_an_address_and_refused_in_code(self):
        view = Settings.from_query({"evil": "x", "method": "svm"})
        assert view["method"] == "svm"
        assert "evil" not in view
        with pytest.raises(KeyError):
            view["evil"] = "x"

    def test_what_is_too_long_for_an_address_is_left_out_and_named(self):
        view = Settings({"high": "word " * MAX_ADDRESS_LENGTH, "method": "svm"})
        assert view.to_query() == {"method": "svm"}
        assert view.unshared == ["high"]

    @given(st.builds(AxisChoice, *[words.filter(bool)] * 2, *[words] * 5))
    def test_an_axis_put_aside_comes_back_from_its_line(self, choice):
        line = choice.to_text()
        assert "\n" not in line
        assert AxisChoice.from_text(line) == choice

    def test_a_line_without_an_axis_gives_none(self):
        assert AxisChoice.from_text("rubbish") is None
        assert AxisChoice.from_text("") is None


class TestWordsFromThePage:
    def test_lines_and_commas_keep_phrases_whole(self):
        assert words_of_text("New York\nParis, , Paris\n") == ["New York", "Paris"]
        assert words_of_text("  good   great ") == ["good", "great"]

    def test_a_huge_paste_is_refused_with_its_size(self):
        with pytest.raises(LexiconError, match=r"30,000 words; 20,000 can be pasted"):
            words_of_text("\n".join(f"w{number}" for number in range(30_000)))
        with pytest.raises(LexiconError, match="more than 200 letters"):
            words_of_text("a" * 201)

    @pytest.mark.parametrize(("high", "low", "which"), [("", "bad", "high"), ("good", " \n,", "low")])
    def test_a_one_sided_list_names_the_empty_side(self, high, low, which):
        with pytest.raises(LexiconError, match=f"“Words at the {which} end” is empty"):
            lexicon_of_lists(high, low)

    def test_an_uploaded_file_is_read_like_one_on_disk(self):
        lexicon = lexicon_of_upload("mine.csv", b"word,label\ngood,1\nbad,-1\n")
        assert dict(lexicon.items()) == {"good": 1.0, "bad": -1.0}
        assert lexicon.name == "mine"

    @pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe" * 50, b"one\ntwo\n", b"PK\x03\x04 x y", b"a\tb\tc\n"])
    def test_a_file_of_another_shape_is_refused_under_its_own_name(self, content):
        with pytest.raises(LexiconError) as refused:
            lexicon_of_upload("../../evil.tsv", content)
        assert "evil.tsv" in str(refused.value)
        assert ".." not in str(refused.value)

    @pytest.mark.parametrize("name", ["a" * 6_000, "語" * 300, "\U00020000" * 300, "../" * 300, "\x00", ""])
    def test_a_name_of_any_length_and_script_fits_a_file_system(self, name, tmp_path):
        lexicon = lexicon_of_upload(f"{name}.csv", b"good,1\nbad,-1\n")
        assert dict(lexicon.items()) == {"good": 1.0, "bad": -1.0}
        path = tmp_path / f"{file_stem(name, otherwise='axis')}-erased.densray"
        path.write_bytes(b"")
        assert path.parent == tmp_path

    def test_half_a_character_is_not_a_word(self):
        with pytest.raises(LexiconError, match=r"'\\ud800' .* is not a word"):
            lexicon_of_upload("mine.json", b'{"\\ud800": 1, "bad": -1}')

    def test_pairs_are_one_a_line(self):
        assert [pair.words for pair in pairs_of_text("man, woman\n\nking:queen")["pairs"]] == [
            ("man", "woman"),
            ("king", "queen"),
        ]
        with pytest.raises(LexiconError, match="line 2, “,,,”, is not a pair"):
            pairs_of_text("man woman\n,,,")
        with pytest.raises(LexiconError, match="line 2"):
            pairs_of_text("man woman\nking")
        with pytest.raises(LexiconError, match="no pair was typed"):
            pairs_of_text(" \n")

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b"%PDF-1.7 x", "a PDF"),
            (b"PK\x03\x04 [Content_Types].xml xl/workbook.xml", "an Excel file"),
            (b"PK\x03\x04 components.npy", r"a NumPy archive \(.npz\), such as an axis"),
            (b"the 0.1 0.2 0.3 0.4\nof 0.2 0.1 0.4 0.3\n", "a file of word vectors"),
            (b"2 4\nthe 0.1 0.2 0.3 0.4\nof 0.2 0.1 0.4 0.3\n", "a file of word vectors"),
            (b"rich\nwealthy\naffluent\n", "a list of words without labels"),
            (b"<html><body>", "a web page"),
        ],
    )
    def test_a_file_of_another_kind_is_named_by_its_kind(self, content, kind):
        with pytest.raises(LexiconError, match=f"mine.csv(: this)? seems to be {kind}"):
            lexicon_of_upload("mine.csv", content)

    def test_columns_and_encoding_of_an_upload_can_be_chosen(self):
        unknown = "слово;1\nхорошо;-1\n".encode("cp1251")
        with pytest.raises(LexiconError, match="choose its “Encoding”"):
            lexicon_of_upload("w.csv", unknown)
        content = "id;Wort;Wert\n1;schön;1\n2;häßlich;-1\n".encode("latin-1")
        found = lexicon_of_upload("w.csv", content, word_column="Wort", label_column="Wert", encoding="latin-1")
        assert dict(found.items()) == {"schön": 1.0, "häßlich": -1.0}

    def test_an_upload_with_an_underscore_says_which_columns_it_has_and_reads_them(self):
        content = b"Nr,Begriff,Urteil\n1,gut,ja\n2,mies,nein\n"
        with pytest.raises(LexiconError) as caught:
            lexicon_of_upload("my_words.csv", content)
        said = in_controls(caught.value)
        assert said.startswith("my_words.csv, line 1: 3 columns: 'Nr', 'Begriff', 'Urteil'.")
        assert "“Column of words” and “Column of labels”" in said
        assert list(columns_of_upload("my_words.csv", content)) == ["Nr", "Begriff", "Urteil"]
        chosen = {"word_column": "Begriff", "label_column": "Urteil", "label_names": "nein, ja"}
        assert dict(lexicon_of_upload("my_words.csv", content, **chosen).items()) == {"gut": 1.0, "mies": -1.0}
        with pytest.raises(LexiconError, match="has 3 names"):
            lexicon_of_upload("my_words.csv", content, label_names="a, b, c")

    def test_words_are_found_in_any_case_and_the_others_returned(self):
        space = WordSpace(["nurse", "New York"], [[1, 0], [0, 1]])
        assert find_words("Nurse, new york, nurse, xyzzy", space) == (["nurse", "New York"], ["xyzzy"])


def test_messages_name_controls_of_the_page() -> None:
    columns = Argument("word_column", ...), ", ", Argument("label_column", ...)
    error = LexiconError(
        "this file has 3 columns.",
        Advice(" Say which they are: ", *columns, " (names)."),
        Advice(" Use ", Argument("limit", 5), "."),
    )
    said = "This file has 3 columns. Say which they are: “Column of words”, “Column of labels” (names)."
    assert in_controls(error) == said


@pytest.mark.parametrize(("text", "said"), [("no word is left.", "No word is left."), ("a.csv is empty.",) * 2])
def test_a_message_begins_with_a_capital_but_a_file_keeps_its_name(text: str, said: str) -> None:
    assert in_controls(LexiconError(text)) == said


def test_numbers_of_tables_are_written_as_everywhere_and_stay_numbers_to_sort_by() -> None:
    testing = pytest.importorskip("streamlit.testing.v1", reason="the extra `explore` (streamlit) is not installed")
    pyarrow = pytest.importorskip("pyarrow")
    page = testing.AppTest.from_string(
        "from densray.explorer.widgets import table\n"
        "from densray.report import Column\n"
        "rows = [{'word': 'a', 'x': -0.0001, 'n': 12345}, {'word': '<b>', 'x': -1234.5}, {'word': 'c', 'n': 1}]\n"
        "table(rows, ['word', Column('x', 'the score', decimals=3), 'n'], help={'x': 'what it is'})\n"
    ).run(timeout=60)
    shown = page.dataframe[0].proto.arrow_data.styler.display_values
    written = pyarrow.ipc.open_stream(shown).read_pandas()
    assert written["x"].tolist() == ["0.000", "−1,234.500", "–"]
    assert written["n"].tolist() == ["12,345", "–", "1"]
    assert page.dataframe[0].value["x"].tolist()[:2] == [-0.0001, -1234.5]
    assert page.dataframe[0].proto.placeholder == "–"
    assert "the score" in page.dataframe[0].proto.columns


def test_a_missing_probability_is_written_as_dark_as_the_others() -> None:
    testing = pytest.importorskip("streamlit.testing.v1", reason="the extra `explore` (streamlit) is not installed")
    page = testing.AppTest.from_string(
        "from densray.explorer.widgets import table\n"
        "from densray.report import Column\n"
        "columns = [Column('p', 'P(high)', decimals=3, open_ends=True)]\n"
        "table([{'p': 0.25}, {'p': None}, {'p': 0.9999}], columns)\n"
    ).run(timeout=60)
    # a cell that is missing for Streamlit is a placeholder with a contrast of 1.9
    assert page.dataframe[0].value["p"].tolist() == ["0.250", "–", ">0.999"]


def test_no_page_writes_numbers_in_a_way_of_its_own() -> None:
    folder = Path(settings.__file__).parent
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"NumberColumn|ProgressColumn|%\.\df", text), path.name
        assert "st.subheader" not in text, path.name  # two levels below the title: one would be left out


class TestTheWorkbench:
    def test_the_space_is_shared_and_never_copied(self, googlenews):
        bench = Workbench(googlenews)
        lexicon = Lexicon({"good": 1, "nice": 1, "bad": -1, "nasty": -1})
        first, again = (bench.axis(lexicon, "ridge").run() for _ in range(2))
        assert bench.space is googlenews
        assert first.ranking is again.ranking
        assert first.ranking.words is googlenews.words

    def test_an_axis_depends_on_labels_and_method_alone(self, googlenews):
        bench = Workbench(googlenews)
        entries = {"good": 1, "nice": 1, "bad": -1, "nasty": -1}
        axis = bench.axis(Lexicon(entries, name="one"), "ridge").run()
        assert bench.axis(Lexicon(entries, name="two"), "ridge").run().ranking is axis.ranking
        assert bench.axis(Lexicon(entries), "densray").run().ranking is not axis.ranking
        flipped = bench.axis(Lexicon({word: -label for word, label in entries.items()}), "ridge").run()
        np.testing.assert_allclose(flipped.axis.rotation.components_[0], -axis.axis.rotation.components_[0], atol=1e-9)


def answer(headers: dict[str, str], *, kind: str = "http", port: int = 8501) -> tuple[str, int | None, dict[str, str]]:
    """What a guarded application answers: who spoke (the application or the guard), its status and headers."""

    async def application(scope, receive, send):
        await send({"type": "http.response.start" if kind == "http" else "websocket.accept", "status": 200})

    sent = []

    async def talk():
        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        scope = {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
        await Guard(application, port=port)(scope, receive, send)

    asyncio.run(talk())
    first = sent[0]
    found = {name.decode(): value.decode() for name, value in first.get("headers", ())}
    speaker = "application" if first.get("status") == 200 else "guard"
    return speaker, first.get("status"), found


OURS = {"host": "127.0.0.1:8501", "origin": "http://127.0.0.1:8501"}


class TestTheGuard:
    def test_the_explorers_own_page_is_let_through(self):
        assert answer(OURS)[0] == "application"
        assert answer({"host": "localhost:8501"})[0] == "application"
        assert answer(OURS, kind="websocket")[0] == "application"

    @pytest.mark.parametrize(
        "changed",
        [
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "http://127.0.0.1:9999"},
            {"origin": "http://localhost.evil.example:8501"},
            {"host": "evil.example:8501", "origin": "http://evil.example:8501"},
            {"host": "127.0.0.1:8502"},
        ],
    )
    @pytest.mark.parametrize("kind", ["http", "websocket"])
    def test_another_site_is_turned_away(self, changed, kind):
        assert answer({**OURS, **changed}, kind=kind)[0] == "guard"

    def test_on_the_usual_port_browsers_name_none(self):
        usual = {"host": "127.0.0.1", "origin": "http://127.0.0.1"}
        assert answer(usual, port=80)[0] == "application"
        assert answer(usual)[0] == "guard"

    def test_a_socket_without_an_origin_is_rejected(self):
        assert answer({"host": "127.0.0.1:8501"}, kind="websocket")[0] == "guard"
        assert answer({}, kind="websocket")[0] == "guard"

    def test_the_first_page_opens_by_its_name_and_a_missing_page_is_reported(self):
        async def application(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})

        def ask(path):
            sent = []

            async def keep(message):
                sent.append(message)

            headers = [(b"host", b"127.0.0.1:8501")]
            scope = {"type": "http", "method": "GET", "path": path, "query_string": b"high=rich", "headers": headers}
            asyncio.run(Guard(application, port=8501, pages=["axis", "map"])(scope, None, keep))
            return (sent[0]["status"], dict(sent[0]["headers"]).get(b"location")) if sent else (200, None)

        assert ask("/axis") == (307, b"/?high=rich")
        assert ask("/no such&page") == (307, b"/?page=no+such%26page")
        for path in ("/map", "/", "/_stcore/health", "/map/_stcore/health"):
            assert ask(path)[0] == 200

    def test_the_policy_forbids_outside_resources_and_frames(self):
        policy = answer(OURS)[2]["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy.replace("ws://127.0.0.1:8501", "").replace("ws://localhost:8501", "")


class TestStarting:
    def test_a_port_in_use_names_a_free_one(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(DensRayError, match=rf"port {port} cannot be used .* such as port=\d+"):
                check_ready(port)

    @pytest.mark.parametrize("port", [0, -1, 65_536])
    def test_a_port_that_is_none_is_refused(self, port):
        with pytest.raises(DensRayError, match="from 1 to 65535"):
            check_ready(port)

    def test_a_missing_extra_names_the_command_that_installs_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "streamlit", None)
        with pytest.raises(MissingExtraError, match=r'pip install "densray\[explore\]"'):
            check_ready()

    def test_it_serves_this_machine_only(self):
        pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
        with explorer() as address:
            request = urllib.request.Request(address)
            with urllib.request.urlopen(request, timeout=10) as page:
                assert page.headers["X-Frame-Options"] == "DENY"
                assert b"streamlit" in page.read().lower()
            request.add_header("Origin", "https://evil.example")
            with pytest.raises(urllib.error.HTTPError, match="403") as refused:
                urllib.request.urlopen(request, timeout=10)
            refused.value.close()
            port = int(address.rpartition(":")[2])
            assert listeners(port) == {"127.0.0.1"}


def listeners(port: int) -> set[str]:
    """The addresses of this machine that listen on a port, as Linux tells them."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("which addresses listen is known on Linux alone (/proc/net/tcp)")
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else ():
            address, _, state = line.split()[1:4]
            host, _, number = address.partition(":")
            if state == "0A" and int(number, 16) == port:
                raw = bytes.fromhex(host)
                found.add(".".join(str(part) for part in raw[::-1]) if len(raw) == 4 else host)
    return found


class TestTheAxisPage:
    def test_charts_have_names_and_the_terminal_stays_silent(self, caplog):
        page = open_page()
        charts = [chart.proto for chart in page.get("vega_lite_chart")]
        assert len(charts) >= 3
        assert all(len(chart.alt) > 20 for chart in charts)
        assert all(chart.datasets for chart in charts)  # the rows, for the table that each can be shown as
        assert not [said for said in caplog.messages if "ScriptRunContext" not in said]

    def test_two_lists_give_an_axis_a_verdict_and_an_empty_address(self):
        page = open_page()
        assert not page.exception
        assert "Trust: good (40 seeds)" in texts(page.success)
        assert texts(page.title) == "Axis: good – bad"
        assert [tile.label for tile in page.metric] == [
            "Seeds",
            "Pairs ranked correctly",
            "Reliability",
            "p-value",
        ]
        assert page.query_params == {}

    def test_an_example_makes_the_axis(self):
        page = open_page()
        page.button(key="example wealth").click().run()
        assert "wealthy" in page.text_area(key="setting high").value
        assert "Trust:" in texts([*page.success, *page.info, *page.warning, *page.error])
        assert "name=wealth" in page.code[-1].value.replace("'", "")

    def test_what_is_typed_goes_into_the_address_and_comes_back_from_it(self):
        page = open_page()
        page.text_area(key="setting high").set_value("happy, glad, joyful").run()
        assert page.query_params["high"] in ("happy, glad, joyful", ["happy, glad, joyful"])
        again = open_page(high="happy, glad, joyful")
        assert again.text_area(key="setting high").value == "happy, glad, joyful"

    def test_going_back_in_the_address_goes_back_in_the_view(self):
        page = open_page()
        page.text_area(key="setting high").set_value("happy, glad, joyful").run()
        page.query_params.clear()  # as the browser's button does
        page.run()
        assert page.text_area(key="setting high").value == DEFAULTS["high"]
        page.text_area(key="setting high").set_value("kind, warm, tender").run()
        assert "kind" in str(page.query_params)

    def test_an_uploaded_file_makes_the_axis_and_a_bad_one_says_why(self):
        page = open_page(source="upload")
        lines = "good,1\nnice,1\nexcellent,1\nbad,-1\nnasty,-1\npoor,-1\n"
        page.file_uploader(key="uploader").set_value(("mine.csv", lines.encode(), "text/csv")).run()
        assert "Lexicon 'mine': 6 words" in texts(page.caption)
        assert not page.error or "Trust" in texts(page.error)
        page.file_uploader(key="uploader").set_value(("odd.csv", b"one\ntwo\n", "text/csv")).run()
        assert "odd.csv seems to be a list of words without labels" in texts(page.error)

    def test_what_is_still_to_be_typed_is_a_hint_and_no_error(self):
        page = open_page(source="upload")
        assert "Upload a file in the sidebar" in texts(page.info)
        assert not page.error

    def test_words_of_another_case_are_the_same(self):
        page = open_page(high="Rich Wealthy Affluent Prosperous", low="POOR Needy Destitute Impoverished")
        assert not page.error or "Trust" in texts(page.error)
        assert "8" in [tile.value for tile in page.metric]

    def test_several_words_in_any_case_have_errors_and_neighbours_and_missing_ones_are_named(self):
        page = open_page(words="Wonderful, NURSE, queenn")
        rows = page.table[0].value
        assert list(rows["word"]) == ["wonderful", "nurse"]
        assert (rows["±"] > 0).all()
        assert "±: one standard error" in texts(page.caption)
        near = texts(page.markdown)
        assert "- **nurse**: " in near
        assert "nurses" in near.partition("- **nurse**: ")[2].partition("\n")[0]
        assert "“queenn” is not in the space. It has “queen”." in texts(page.warning)

    def test_a_suggested_word_joins_its_list(self):
        page = open_page()
        suggested = [button for button in page.button if (button.key or "").startswith("suggested high ")]
        assert suggested
        suggested[0].click().run()
        assert page.text_area(key="setting high").value.endswith(f" {suggested[0].label}")

    def test_taking_a_seed_out_turns_the_axis_and_can_be_undone(self):
        lists = {"high": "good nice excellent positive fortunate correct superior"}
        page = open_page(**lists, low="bad nasty poor negative unfortunate wrong inferior")
        next(b for b in page.button if (b.key or "").startswith("influential") and b.label == "correct").click().run()
        assert "Without correct the axis turned by" in texts(page.markdown)
        assert page.query_params["without"] in ("correct", ["correct"])
        page.button(key="back correct").click().run()
        assert "the axis turned by" not in texts(page.markdown)

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ({"high": ""}, "“Words at the high end” is empty"),
            ({"high": "qqqx zzzy", "low": "xxyq"}, "No word under “Words at the high end” is in the space"),
            ({"low": "xqzzy"}, "No word under “Words at the low end” is in the space"),
            ({"high": "good", "low": "bad nasty"}, "at least two of each"),
        ],
    )
    def test_bad_input_is_one_line_on_the_page(self, address, said):
        page = open_page(**address)
        assert said in texts(page.error)
        assert not page.exception

    def test_script_and_markup_in_a_list_are_shown_as_text(self):
        page = open_page(high="<script>alert(1)</script>\n![x](http://evil.example/x.png)\n:red[x]", low="qqx\nqqy")
        shown = "\n".join(error.value for error in page.error)
        assert "\\<script\\>" in shown
        assert "\\!\\[x\\]\\(" in shown
        assert "\\:red\\[" in shown

    @pytest.mark.parametrize("name", ["/etc/passwd", "../secret.tsv", "no-such"])
    def test_a_lexicon_of_the_address_is_one_of_the_list_or_none(self, name):
        page = open_page(source="lexicon", lexicon=name)
        assert page.selectbox(key="setting lexicon").value != name
        assert name not in texts([*page.error, *page.markdown])

    def test_a_slow_method_waits_for_a_click(self):
        page = open_page(method="svm")
        assert any("how reliable it is" in button.label for button in page.button)

    def test_unknown_methods_and_sources_fall_back(self):
        page = open_page(method="nonsense", source="nonsense")
        assert page.selectbox(key="setting method").value == "auto"
        assert not page.exception

    def test_a_seed_on_both_lists_is_named_as_left_out(self):
        page = open_page(high="good nice excellent boss", low="bad nasty poor boss")
        assert "boss" in texts(page.caption)
        assert "odds between the two ends are even" in texts(page.caption)

    def test_the_axis_can_be_cited_and_words_unlike_the_seeds_have_no_probability(self):
        rich = "rich wealthy affluent luxurious luxury expensive opulent lavish"
        page = open_page(high=rich, low="poor needy destitute cheap shabby homeless slum shack", words="villa, nurse")
        shown = [each.value for each in page.code]
        assert any("its AUC is" in each for each in shown)
        assert any("@software{densray," in each for each in shown)
        assert "resemble the seeds have a probability" in texts(page.caption)

    def test_phrases_found_under_another_joint_do_not_count_as_missing(self):
        page = open_page(high="qqzz, prime minister", low="qqxx, qqvv")
        assert "3 of 4 seeds are not in the space" in [expander.label for expander in page.expander]


class TestAnUploadedLexicon:
    def upload(self, content: bytes, name: str = "mine.csv", **settings: str):
        page = open_page("compare", source="upload", methods="mean-difference", **settings)
        return page.file_uploader(key="uploader").set_value((name, content, "text/csv")).run()

    @pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
    def test_the_page_names_a_detected_encoding_and_a_first_line_of_names(self):
        page = self.upload("word,label\nnaïve,1\ngood,1\nbad,-1\nnasty,-1\n".encode("cp1252"))
        said = texts(page.sidebar.caption)
        assert "mine.csv is not UTF-8. It was read as cp1252. Check “naïve”." in said
        assert "The first line names the columns. The words are in “word”, the labels in “label”." in said

    def test_a_plain_file_needs_no_notes(self):
        page = self.upload(b"good,1\nnice,1\nbad,-1\nnasty,-1\n")
        assert not re.search("not UTF-8|first line", texts(page.sidebar.caption))

    @pytest.mark.filterwarnings("ignore::densray.errors.MissingCodeWarning")
    def test_the_page_names_a_label_that_may_mark_a_missing_answer(self):
        page = self.upload(b"good,5\nnice,4\nfine,4.5\nbad,1\nnasty,2\npoor,-99\n")
        assert "mine: 1 label is -99, far from the others (1 to 5)." in texts(page.sidebar.caption)

    def test_the_controls_of_reading_open_when_a_file_cannot_be_read_and_stay_open(self):
        page = self.upload(b"good,1\nbad,-1\n")
        assert not controls_of_reading(page).proto.expanded
        page = self.upload(b"Nr,Begriff,Urteil\n1,good,ja\n2,nice,ja\n3,bad,nein\n4,nasty,nein\n", name="odd.csv")
        assert "odd.csv, line 1: 3 columns: “Nr”, “Begriff”, “Urteil”." in texts(page.error)
        assert "a number from 0" not in texts(page.error)
        assert controls_of_reading(page).proto.expanded
        page.selectbox(key="setting word_column").set_value("Begriff").run()
        page.selectbox(key="setting label_column").set_value("Urteil").run()
        assert "For other words, use “Names of the labels”: low, high." in texts(page.error)
        page.text_input(key="setting label_names").set_value("nein, ja").run()
        assert not page.error
        assert "Lexicon 'odd': 4 words" in texts(page.sidebar.caption)
        assert controls_of_reading(page).proto.expanded

    def test_the_visitor_says_whether_the_first_line_names_the_columns(self):
        content = b"word,score\ngood,1\nnice,1\nbad,-1\nnasty,-1\n"
        page = self.upload(content, header="no")
        assert "label “score” is not a number" in texts(page.error)
        page.selectbox(key="setting header").set_value("yes").run()
        assert not page.error
        assert "Lexicon 'mine': 4 words" in texts(page.sidebar.caption)

    def test_columns_without_names_are_chosen_by_position(self):
        page = self.upload(b"1,good,9,1\n2,nice,9,1\n3,bad,9,-1\n4,nasty,9,-1\n", word_column="1", label_column="3")
        assert page.selectbox(key="setting word_column").options[:2] == ["detect", "column 1 (1 …)"]
        assert not page.error
        assert "Lexicon 'mine': 4 words, 2 at 1, 2 at -1" in texts(page.sidebar.caption)


def controls_of_reading(page):
    return next(each for each in page.sidebar.expander if each.label == "How the file is read")
