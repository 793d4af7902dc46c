"""The page that removes a concept, without a browser."""

from __future__ import annotations

import pytest

from densray import DensRay
from densray.datasets import load_lexicon
from densray.debiasing import measure_original as measure
from densray.erasure import Erasure
from densray.explorer.views import remove
from densray.explorer.workbench import RemovalWords, Workbench, current
from densray.formats import read_space
from densray.removers import DEFAULT_REMOVER
from explorer_page import open_page, texts

GENDER = {"source": "lexicon", "lexicon": "gender"}


def measured(page) -> dict[str, tuple[float, float]]:
    """What the page shows of each measure, before and after."""
    shown = {}
    for metric in page.metric:
        before = float(metric.delta.rpartition("from ")[2])
        shown[metric.label.replace("\\", "")] = before, float(metric.value)
    return shown


class TestThePage:
    def test_gender_leaves_the_occupations_and_the_anchors_come_from_the_lexicon(self):
        page = open_page("remove", **GENDER)
        assert not page.exception
        before, after = measured(page)["Gap between man and woman"]
        assert after < 0.8 * before
        before, after = measured(page)["Agreement with similarity ratings"]
        assert after == pytest.approx(before, abs=0.01)
        assert page.query_params == GENDER or page.query_params == {key: [value] for key, value in GENDER.items()}

    def test_more_axes_take_more_and_random_ones_nothing(self):
        gaps = {
            (name, axes): measured(open_page("remove", **GENDER, remover=name, n_axes=axes))["Direct bias"][1]
            for name, axes in (("densray-unit", "1"), ("densray-unit", "5"), ("random", "1"))
        }
        assert gaps["densray-unit", "5"] < gaps["densray-unit", "1"] < 0.8 * gaps["random", "1"]

    @pytest.mark.slow
    def test_entered_anchors_and_words_go_into_the_address(self):
        page = open_page("remove", **GENDER)
        page.text_input(key="setting anchors").set_value("boy, girl").run()
        page.selectbox(key="setting neutral_from").set_value("list").run()
        assert "Type words that should be free of the concept" in texts(page.info)
        page.text_area(key="setting neutral").set_value("nurse boss <b>hidden</b>").run()
        assert "Gap between boy and girl" in measured(page)
        assert "1 of these words are not in the space: <b>hidden</b>." in texts(page.caption)
        again = open_page("remove", **GENDER, anchors="boy, girl", neutral_from="list", neutral="nurse boss")
        assert again.text_input(key="setting anchors").value == "boy, girl"
        assert measured(again) == measured(page)

    def test_frequent_words_can_be_looked_at(self):
        page = open_page("remove", neutral_from="frequent")
        assert not page.exception
        assert not page.error
        assert "Gap between wonderful and horrible" in measured(page)

    def test_an_unknown_word_to_keep_is_named_and_many_become_a_file_for_the_command(self):
        page = open_page("remove", **GENDER, keep="Queen, xyzzy")
        assert "“xyzzy” is not in the space." in texts(page.warning)
        assert "--keep queen " in page.code[0].value
        many = open_page("remove", **GENDER, keep="king queen prince princess duke lord lady sir madam baron monk nun")
        assert "--keep keep.txt " in many.code[0].value
        assert "Words to keep .txt" in [button.label for button in many.get("download_button")]

    def test_removing_sentiment_is_seen_along_its_typical_ends(self):
        page = open_page("remove", source="lexicon", lexicon="hu-liu")
        before, after = measured(page)["Gap between wonderful and stupid"]
        assert after < 0.9 * before

    def test_words_to_keep_stay(self):
        own = {"neutral_from": "list", "neutral": "nurse boss"}
        page = open_page("remove", **GENDER, **own, keep="man woman nurse boss")
        before, after = measured(page)["Gap between man and woman"]
        assert after == before

    def test_axes_beyond_the_signal_are_reported_in_words_of_the_page(self):
        page = open_page("remove", n_axes="5", remover="densray-unit")
        said = "\n".join(each.value for each in page.caption)
        assert "5 axes were asked for, but only" in said
        assert "n_components" not in said

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            (
                {"anchors": "man"},
                "“Two words for its ends” has 1: man. Two different words are needed there, such as: wonderful, horrible.",
            ),
            ({"anchors": "man, woman, child"}, "has 3: man, woman, child"),
            ({"anchors": "man, qqzz"}, "“qqzz” is not in the space"),
            ({"neutral_from": "list", "neutral": "qqzz zzqq"}, "0 of 2 words are in"),
            ({"neutral_from": "list", "neutral": " ".join(map(chr, range(0x4E00, 0x5700)))}, "2,000 can be drawn"),
            ({"remover": "densray", "n_axes": "50"}, "50 axes were asked for, but there are only 40 labelled rows"),
            ({"high": ""}, "“Words at the high end” is empty"),
            ({"high": "good nice", "low": "qqzz"}, "an axis needs another label"),
        ],
    )
    def test_bad_input_is_one_line_on_the_page(self, address, said):
        page = open_page("remove", **address)
        assert said in texts(page.error)
        assert not page.exception

    def test_one_word_typed_twice_is_one_word(self):
        assert "has 1: man." in texts(open_page("remove", anchors="man, man").error)

    def test_the_tests_wait_for_a_click_and_say_why_they_matter(self):
        page = open_page("remove", **GENDER)
        assert any(button.label.startswith("Test what is left") for button in page.button)
        assert "Gonen & Goldberg 2019" in texts(page.caption)
        assert "Not tested yet. Nonlinear models can usually still find the concept" in texts(page.info)

    @pytest.mark.slow
    def test_the_tests_say_what_is_left(self):
        page = open_page("remove", **GENDER)
        next(button for button in page.button if button.label.startswith("Test what is left")).click()
        page.run(timeout=300)
        assert not page.exception
        assert "Covered up, not gone" in texts(page.warning)
        assert "Not tested yet" not in texts(page.info), "the verdict replaces the notice"
        assert "for linear models" in texts(page.markdown)

    @pytest.mark.slow
    def test_words_to_keep_are_kept_in_the_tests_too_and_the_original_is_measured_once(self, googlenews, monkeypatch):
        """As in the preview: words that stay where they were have the same gap as before."""
        import densray.explorer.workbench as module

        measured, steps = [], []
        monkeypatch.setattr(module, "measure_original", lambda *given, **more: measured.append(measure(*given, **more))
                            or measured[-1])  # fmt: skip
        bench, lexicon = Workbench(googlenews.limit(4000)), load_lexicon("gender")
        words = RemovalWords(
            ("man", "woman"), ("lawyer", "teacher", "doctor"), ("man", "woman", "lawyer", "teacher", "doctor")
        )
        for remover in ("mean-difference", "random"):
            testing = bench.removal(lexicon, remover, words)
            original, erased = testing.run(lambda done, total: steps.append((done, total))).spaces
            assert erased["anchor gap"].value == original["anchor gap"].value
            assert len(measured) == 1
        first = steps[: steps.index((200, 200)) + 1]  # two spaces of a hundred parts each
        assert {total for _, total in first} == {200}
        assert [done for done, _ in first] == sorted(done for done, _ in first)
        assert len(first) == 2 * (len(original.removed) + len(original.kept))


class TestWhatIsTaken:
    @pytest.mark.parametrize("remover", ["svm:3", "inlp:3", "leace"])
    def test_the_erasure_is_a_file_that_erases_what_was_shown(self, tmp_path, googlenews, remover):
        """Fitted anew, the third axis of a support vector machine would be another, for rounding alone."""
        bench = Workbench(googlenews)
        erasure = bench.erasure(load_lexicon("gender"), remover).run()
        path = tmp_path / "gender.safetensors"
        path.write_bytes(remove._erasure_file(erasure, path.name))
        again, part = Erasure.load(path, googlenews), googlenews.limit(200)
        assert abs(again.apply(part).vectors - erasure.apply(part).vectors).max() == 0.0
        assert again.method == erasure.method

    @pytest.mark.parametrize("ending", list(remove._FILES))
    def test_the_erased_space_is_one_file_of_about_the_announced_size(self, tmp_path, googlenews, ending):
        bench = Workbench(googlenews.limit(400))
        rotation = DensRay(1).fit(bench.space.vectors[:4], [1, 1, -1, -1])
        path = tmp_path / f"erased{ending}"
        path.write_bytes(
            remove._erased_file(bench, Erasure.of(rotation), (bench.space.words[5],), path.name, "new name")
        )
        again = read_space(path)
        assert list(again.words) == list(bench.space.words)
        assert again.name == ("new name" if ending == ".densray" else "erased")
        assert abs(again.vectors @ rotation.components_[0])[[0, 1, 399]].max() < 1e-4
        assert abs(again.vectors[5] - bench.space.vectors[5]).max() < 1e-6
        expected = remove._FILES[ending] * 4 * bench.space.vectors.size
        assert 0.8 * expected < path.stat().st_size < 1.2 * expected

    def test_it_opens_with_the_default_of_the_library_and_ignores_a_number_of_axes_there(self):
        page = open_page("remove", **GENDER, n_axes="3")
        assert next(box.value for box in page.selectbox if box.label == "Method of removal") == DEFAULT_REMOVER
        assert not [box for box in page.selectbox if box.label == "Axes"]
        assert not page.error

    def test_a_space_too_large_for_the_browser_is_left_to_the_command_line(self, monkeypatch):
        monkeypatch.setattr(remove, "_LARGEST", 1000)
        page = open_page("remove", **GENDER, remover="densray", n_axes="3", keep="queen")
        assert "too large to download here" in texts(page.markdown)
        expected = "densray erase googlenews-26k gender-erasure.safetensors --keep queen -o gender-erased.bin"
        assert page.code[0].value == expected

    def test_the_command_names_the_file_that_was_opened(self, googlenews, monkeypatch):
        import densray.explorer.workbench as module

        monkeypatch.setattr(
            module, "_benches", {"it": Workbench(googlenews.limit(5000), source="my data/vectors.densray")}
        )
        page = open_page("remove", **GENDER)
        assert page.code[0].value.startswith("densray erase 'my data/vectors.densray' gender-erasure.safetensors ")

    def test_a_small_one_is_offered_whole(self):
        assert current().space.vectors.nbytes < remove._LARGEST
        page = open_page("remove", **GENDER)
        labels = [button.label for button in page.get("download_button")]
        assert any(label.startswith("Erased space .bin (32 MB)") for label in labels)
        assert "Erasure .safetensors" in labels
