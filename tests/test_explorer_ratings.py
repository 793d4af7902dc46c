"""Ratings on the Axis page: the file, its columns, the agreement, and all that limits it."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Ratings, evaluate_ratings, load_space
from densray.explorer.words import rating_columns_of_upload, ratings_of_upload
from densray.lexicon import Lexicon
from explorer_page import open_page, texts

HIGH, LOW = "dangerous deadly threatening", "safe harmless calm"
RATED = {
    "tiger": 4.5, "lion": 4.4, "cat": 1.6, "dog": 2.0, "rabbit": 1.1, "cow": 1.7, "snake": 4.1, "wolf": 4.0, "bear": 4.6,
    "horse": 2.2, "duck": 1.2, "goat": 1.6, "rat": 2.6, "whale": 3.0, "shark": 4.8, "sheep": 1.1, "mouse": 1.3,
}  # fmt: skip


PART = f"""
from densray.explorer.ratings import show_ratings
from densray.explorer.workbench import current
from densray.lexicon import Lexicon

lexicon = Lexicon.from_word_lists({HIGH.split()!r}, {LOW.split()!r}, name="danger")
show_ratings(current(), current().axis(lexicon, "auto").run(), "danger")
"""


def raters(items: dict[str, float] = RATED, extra: str = "") -> bytes:
    """A table with three raters, who differ by a little."""
    random = np.random.default_rng(0)
    lines = [
        ",".join([item, *(f"{value + random.normal(0, 0.4):.2f}" for _ in range(3))]) for item, value in items.items()
    ]
    return ("Row,subj1,subj2,subj3\n" + "\n".join(lines) + extra).encode()


def upload(content: bytes, name: str = "danger.csv", **settings: str):
    """The part of the Axis page about ratings, with a file uploaded and settings in the address."""
    testing = pytest.importorskip("streamlit.testing.v1", reason="the extra `explore` (streamlit) is not installed")
    page = testing.AppTest.from_string(PART, default_timeout=60)
    for key, value in settings.items():
        page.query_params[key] = value
    return page.run().file_uploader(key="ratings uploader").set_value((name, content, "text/csv")).run()


def upload_to_page(content: bytes):
    """The whole page, with a file uploaded."""
    page = open_page(high=HIGH, low=LOW)
    return page.file_uploader(key="ratings uploader").set_value(("danger.csv", content, "text/csv")).run()


def tile(page, name: str):
    return next(each for each in page.metric if each.label == name)


class TestUploads:
    def test_columns_are_named_and_guessed(self):
        found = rating_columns_of_upload("a.csv", b"word,valence,arousal\ncat,1,5\ndog,2,6\n")
        assert (found.names, found.items, found.ratings) == (("word", "valence", "arousal"), 0, ())
        assert rating_columns_of_upload("a.csv", raters()).ratings == (1, 2, 3)

    def test_a_file_without_names_has_columns_by_place(self):
        found = rating_columns_of_upload("a.tsv", b"cat\t1\ndog\t2\n")
        assert (found.names, found.count, found.items, found.ratings) == ((), 2, 0, (1,))

    def test_an_upload_is_read_as_the_library_reads_it(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(raters())
        found, expected = (
            ratings_of_upload("a.csv", raters(), items=0, ratings=(1, 2, 3)),
            Ratings.read(tmp_path / "a.csv"),
        )
        assert found.items == expected.items
        assert found.raters == pytest.approx(expected.raters)


class TestPage:
    def test_the_page_shows_what_the_function_computes(self, tmp_path):
        page = upload_to_page(raters())
        assert not page.exception
        (tmp_path / "danger.csv").write_bytes(raters())
        lexicon = Lexicon.from_word_lists(HIGH.split(), LOW.split())
        ratings = Ratings.read(tmp_path / "danger.csv")
        expected = evaluate_ratings(load_space("googlenews-26k"), ratings, lexicon, any_case=True)
        assert expected.text().splitlines()[0] in texts(page.markdown)
        assert float(tile(page, "Pearson r").value.replace("−", "-")) == pytest.approx(expected.pearson, abs=0.006)
        assert float(tile(page, "Ceiling").value) == pytest.approx(expected.ceiling, abs=0.006)

    @pytest.mark.slow
    def test_the_python_of_the_page_gives_the_same(self, tmp_path, monkeypatch, capsys):
        page = upload_to_page(raters())
        (tmp_path / "danger.csv").write_bytes(raters())
        monkeypatch.chdir(tmp_path)
        shown = next(each.value for each in page.code if "Ratings.read" in each.value)
        exec(compile(shown, "axis", "exec"), {})
        said = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Agreement"))
        assert said in texts(page.markdown)

    def test_one_of_several_columns_is_chosen_by_the_reader(self):
        lines = "\n".join(f"{item},{value},{-value}" for item, value in RATED.items())
        page = upload(f"word,valence,danger\n{lines}".encode())
        assert "Columns of ratings" in texts(page.info)
        page.multiselect(key="setting rated_values").set_value(["1"]).run()
        first = tile(page, "Pearson r").value
        page.multiselect(key="setting rated_values").set_value(["2"]).run()
        assert float(tile(page, "Pearson r").value.replace("−", "-")) == -float(first.replace("−", "-"))
        assert tile(page, "Ceiling").value == "–"
        assert "no noise ceiling" in texts(page.caption)

    def test_missing_items_and_seeds_among_the_items_are_shown(self):
        page = upload(raters(extra="\nxyzzyq,1,2,2\nsafe,1,1,2\ncat,2,1,2\n"))
        assert "ratings are averaged" in texts(page.caption)
        assert any("of 19 rated items are not in the space" in each.label for each in page.expander)
        assert "item is a seed of the axis, left out" in texts(page.caption)

    def test_items_that_are_all_seeds_are_flagged_as_not_held_out(self):
        seeds = dict(zip((HIGH + " " + LOW).split(), (5.0, 4.0, 4.5, 1.0, 1.5, 1.2), strict=True))
        assert "Not held out" in texts(upload(raters(seeds)).warning)

    def test_another_file_has_other_columns(self):
        page = upload(raters())
        page.file_uploader(key="ratings uploader").set_value(("few.csv", b"word,mean\ncat,1\n", "text/csv")).run()
        assert not page.exception
        assert "at least 4 are needed" in texts(page.error)

    def test_columns_of_an_address_that_fit_no_file_are_left_alone(self):
        page = upload(raters(), rated_values="7,x", rated_items="-1", rated_errors="nine")
        assert not page.exception
        assert tile(page, "Ceiling").value != "–"

    def test_the_kind_of_a_file_that_is_not_a_table_is_named(self):
        assert "seems to be a list of words" in texts(upload(b"one\ntwo\n").error)

    def test_items_of_several_words_can_have_the_mean_of_their_words(self):
        phrases = {f"{first} animal": value for first, value in RATED.items()}
        page = upload(raters(phrases))
        assert "Items of several words" in texts(page.error)
        page.selectbox(key="setting rated_phrases").set_value("mean").run()
        assert "have the mean vector of their words" in texts(page.caption)


class TestNotesOfReading:
    @pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
    def test_the_page_names_a_detected_encoding_and_a_first_line_of_names(self):
        rows = "\n".join(f"{item},{rating}" for item, rating in RATED.items())
        said = texts(upload(f"item,mean\n{rows}\ncafé,3\n".encode("cp1252")).caption)
        assert "danger.csv is not UTF-8. It was read as cp1252. Check “café”." in said
        assert "The first line names the columns." in said

    @pytest.mark.filterwarnings("ignore::densray.errors.MissingCodeWarning")
    def test_the_page_names_a_rating_that_may_mark_a_missing_answer(self):
        rows = "\n".join(f"{item},{rating}" for item, rating in RATED.items())
        said = texts(upload(f"{rows}\nfox,-99\n".encode()).caption)
        assert "The first line was read as an item." in said
        assert "danger.csv: 1 label is -99, far from the others" in said
