"""Hidden states on disk: the right tokens of the right blocks, resumed to the same bits."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from densray.errors import DensRayError, MissingExtraError, OutputError, PersistenceError, TaskError
from densray.states import (
    LabelledTexts,
    States,
    _models,
    find_blocks,
    load_model,
    model_checksum,
    read_controls,
    read_states,
    read_tokens,
    weight_differences,
)
from densray.states import _reading as reading
from densray.states import _storage as storage
from tiny_models import FAMILIES, N_BLOCKS, WIDTH, make_model, make_tokenizer, torch

TEXTS = [
    "the nurse said that she was tired",
    "good film",
    "the doctor said that he was never tired again",
    "bad",
    "a very good film",
]


@pytest.fixture(params=FAMILIES)
def model(request):
    return make_model(request.param)


def by_hand(model, tokenizer, text):
    """Hidden states of one text alone, as the blocks put them out."""
    found = {}
    handles = [
        block.register_forward_hook(
            lambda _m, _i, out, n=n: found.__setitem__(
                n, (out[0] if isinstance(out, tuple) else out)[0].detach().numpy()
            )
        )
        for n, block in enumerate(find_blocks(model))
    ]
    with torch.inference_mode():
        model(input_ids=torch.tensor([tokenizer(text)["input_ids"]]))
    for handle in handles:
        handle.remove()
    return found


def test_the_blocks_found_are_the_layers_of_the_model(model):
    assert len(find_blocks(model)) == N_BLOCKS


@pytest.mark.parametrize("pool", ["last", "mean"])
def test_rows_are_what_each_text_gives_alone(model, pool):
    tokenizer = make_tokenizer()  # no padding token: batches are padded and masked all the same
    states = read_states(model, tokenizer, TEXTS, pool=pool, tokens_per_batch=16)
    assert states.layers == tuple(range(N_BLOCKS))
    for number, text in enumerate(TEXTS):
        for layer, rows in by_hand(model, tokenizer, text).items():
            expected = rows[-1] if pool == "last" else rows[min(1, len(rows) - 1) :].mean(axis=0)
            assert states[layer][number] == pytest.approx(expected, abs=2e-5)


def test_states_of_hugging_face_are_the_same_where_it_gives_them():
    model, tokenizer = make_model("llama"), make_tokenizer()
    with torch.inference_mode():
        theirs = model(input_ids=torch.tensor([tokenizer(TEXTS[0])["input_ids"]]), output_hidden_states=True)
    ours = read_states(model, tokenizer, TEXTS[:1])
    for layer in range(N_BLOCKS - 1):  # the last of theirs is normalised
        assert ours[layer][0] == pytest.approx(theirs.hidden_states[layer + 1][0, -1].numpy(), abs=1e-5)


@pytest.mark.parametrize("family", ["convbert", "fnet", "dynamic-rope", "rwkv"])
def test_a_text_has_the_same_states_with_longer_texts_in_models_that_read_padding(family):
    model, tokenizer = make_model(family), make_tokenizer()
    texts = ["a film", "the nurse said that she was very tired", "the doctor", "the film is good", "a nurse is good"]
    together = read_states(model, tokenizer, texts, truncate=True)
    for number, text in enumerate(texts):
        alone = read_states(model, tokenizer, [text], truncate=True)
        for layer in together.layers:
            np.testing.assert_allclose(together[layer][number], alone[layer][0], atol=1e-4)


def test_a_word_inside_another_is_not_pooled():
    model, tokenizer = make_model("llama"), make_tokenizer()
    text = "that nurse said he was tired"
    by_word = read_states(model, tokenizer, [text], pool="word", words=["he"], layers=[-1])
    by_span = read_states(model, tokenizer, [text], pool="span", spans=[(16, 18)], layers=[-1])
    assert text[16:18] == "he"
    np.testing.assert_array_equal(by_word[N_BLOCKS - 1], by_span[N_BLOCKS - 1])
    with pytest.raises(TaskError, match="does not contain 'hat' except inside other words"):
        read_states(model, tokenizer, [text], pool="word", words=["hat"])


@pytest.mark.parametrize("read", [read_states, read_controls])
def test_words_and_spans_need_the_pooling_that_uses_them(read):
    model, tokenizer = make_model("llama"), make_tokenizer()
    words, spans = ["nurse", "film", "doctor", "bad", "good"], [(0, 1)] * len(TEXTS)
    for given, said in (
        ({"words": words}, "words is given with pool='last', .* Add pool='word', or leave out words"),
        ({"spans": spans}, "spans is given with pool='last', .* Add pool='span', or leave out spans"),
        ({"spans": [(5, 100)], "pool": "mean"}, "spans is given with pool='mean'"),
        ({"words": words, "pool": "span"}, "words is given with pool='span'"),
        ({"words": words, "pool": by_largest}, "words is given with pool='by_largest'"),
        ({"words": words, "pool": "word", "spans": spans}, "spans is given with pool='word'"),
    ):
        with pytest.raises(TaskError, match=said):
            read(model, tokenizer, TEXTS, **given)


def by_largest(rows, mask):
    return (rows * mask[:, :, None]).amax(dim=1)


def test_a_sentence_encoder_pools_by_itself():
    class Encoder:
        def encode(self, texts):
            return np.ones((len(texts), 4))

    for given in ({"pool": "mean"}, {"pool": "word", "words": ["a", "b"]}):
        with pytest.raises(TaskError, match=r"is given with a sentence encoder, which .* pools by itself"):
            read_states(Encoder(), None, ["a", "b"], **given)
    with pytest.raises(TaskError, match="words is given with pool='last'"):
        read_states(Encoder(), None, ["a", "b"], words=["a", "b"])


def test_a_word_and_a_function_can_be_pooled():
    model, tokenizer = make_model("bert"), make_tokenizer()
    words = ["nurse", "film", "doctor", "bad", "good film"]
    states = read_states(model, tokenizer, TEXTS, pool="word", words=words, layers=[-1])
    assert states.layers == (N_BLOCKS - 1,)
    assert states[2][0] == pytest.approx(by_hand(model, tokenizer, TEXTS[0])[2][1], abs=2e-5)
    assert states[2][4] == pytest.approx(by_hand(model, tokenizer, TEXTS[4])[2][2:].mean(axis=0), abs=2e-5)
    highest = read_states(model, tokenizer, TEXTS, pool=lambda rows, mask: (rows * mask[:, :, None]).amax(dim=1))
    assert highest[0].shape == (len(TEXTS), WIDTH)
    with pytest.raises(TaskError, match="text 2 does not contain 'nurse'"):
        read_states(model, tokenizer, TEXTS, pool="word", words=["nurse"] * 5)
    with pytest.raises(TaskError, match="one word per text"):
        read_states(model, tokenizer, TEXTS, pool="word")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path: Path, monkeypatch, dtype):
    monkeypatch.setattr(reading, "TEXTS_PER_BLOCK", 2)
    model, tokenizer = make_model("gpt2"), make_tokenizer()
    whole = read_states(model, tokenizer, TEXTS, out=tmp_path / "whole", dtype=dtype)

    class StoppedError(Exception):
        pass

    def stop(done, total):
        assert total == len(TEXTS)
        if done == 4:
            raise StoppedError

    with pytest.raises(StoppedError):
        read_states(model, tokenizer, TEXTS, out=tmp_path / "half", dtype=dtype, progress=stop)
    with pytest.raises(PersistenceError, match="4 of 5 texts"):
        States.open(tmp_path / "half")
    steps = []
    again = read_states(
        model, tokenizer, TEXTS, out=tmp_path / "half", dtype=dtype, progress=lambda done, total: steps.append(done)
    )
    assert steps == [5]  # only the last block was read
    opened = States.open(tmp_path / "half")
    for layer in whole.layers:
        assert np.array_equal(again[layer], whole[layer])
        assert np.array_equal(opened[layer], whole[layer])
        in_memory = read_states(model, tokenizer, TEXTS, dtype=dtype)[layer]
        assert np.asarray(whole[layer], dtype=np.float32) == pytest.approx(in_memory, rel=1e-2, abs=1e-2)
    assert isinstance(whole[0], np.memmap) == (dtype != "bfloat16")


def test_a_folder_of_other_states_is_refused(tmp_path: Path):
    model, tokenizer = make_model("gpt2"), make_tokenizer()
    read_states(model, tokenizer, TEXTS, out=tmp_path / "states")
    with pytest.raises(OutputError, match="pool"):
        read_states(model, tokenizer, TEXTS, out=tmp_path / "states", pool="mean")
    with pytest.raises(OutputError, match="texts"):
        read_states(model, tokenizer, TEXTS[:2], out=tmp_path / "states")
    for other in (make_model("gpt2").to(torch.bfloat16), make_model("llama")):
        with pytest.raises(OutputError, match="weights of the model"):
            read_states(other, tokenizer, TEXTS, out=tmp_path / "states")
    (tmp_path / "states" / "layer-001.rows").write_bytes(b"")
    with pytest.raises(PersistenceError, match="damaged"):
        States.open(tmp_path / "states")
    with pytest.raises(PersistenceError, match="no hidden states"):
        States.open(tmp_path)
    (tmp_path / "states.json").write_text(json.dumps({"format": 3}))
    with pytest.raises(PersistenceError, match="not the header"):
        States.open(tmp_path)


def test_a_full_disk_keeps_what_is_finished(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "TEXTS_PER_BLOCK", 2)
    model, tokenizer = make_model("gpt2"), make_tokenizer()
    write, calls = storage._write_at, []

    def full(handle, content, offset):
        calls.append(offset)
        if len(calls) > N_BLOCKS:
            raise OSError(28, "No space left on device")
        write(handle, content, offset)

    monkeypatch.setattr(storage, "_write_at", full)
    with pytest.raises(OutputError, match=r"No space left.*2 of 5 texts are finished"):
        read_states(model, tokenizer, TEXTS, out=tmp_path / "states")
    monkeypatch.setattr(storage, "_write_at", write)
    resumed = read_states(model, tokenizer, TEXTS, out=tmp_path / "states")
    assert np.array_equal(resumed[1], read_states(model, tokenizer, TEXTS)[1])


def test_a_first_token_is_added_only_where_the_model_predicts_better_with_it(monkeypatch):
    model, tokenizer = make_model("llama"), make_tokenizer(first=True)
    plain = read_states(model, tokenizer, TEXTS, first_token=False)
    assert np.array_equal(read_states(model, tokenizer, TEXTS)[0], plain[0])  # random weights gain nothing
    added = read_states(model, tokenizer, TEXTS, first_token=True)
    assert not np.allclose(added[1], plain[1])
    monkeypatch.setattr("densray.states._models._LOSS_GAIN_IN_NATS", -10.0)
    assert np.array_equal(read_states(model, tokenizer, TEXTS)[1], added[1])


def test_bad_texts_are_named():
    model, tokenizer = make_model("gpt2"), make_tokenizer()
    for texts, said in (
        ([], "one or more texts"),
        (["good", " "], "text 2 is empty"),
        (["good", 3], "text 2 is int"),
        (["good film", "very " * 80], "text 2 has 80 tokens; the model takes 64"),
    ):
        with pytest.raises(TaskError, match=said):
            read_states(model, tokenizer, texts)
    assert len(read_states(model, tokenizer, ["very " * 80], truncate=True)) == 1
    for layers in ([3], [-4]):
        with pytest.raises(TaskError, match="the model has 3 layers"):
            read_states(model, tokenizer, TEXTS, layers=layers)
    with pytest.raises(TaskError, match="one of last"):
        read_states(model, tokenizer, TEXTS, pool="first")
    with pytest.raises(TaskError, match="no list of two or more blocks"):
        read_states(torch.nn.Linear(2, 2), tokenizer, TEXTS)


def test_float16_that_overflows_is_an_error(tmp_path: Path):
    model = make_model("gpt2")
    with torch.no_grad():
        find_blocks(model)[0].mlp.c_proj.bias.fill_(1e5)
    with pytest.raises(TaskError, match="does not fit into float16"):
        read_states(model, make_tokenizer(), TEXTS, out=tmp_path / "states", dtype="float16")
    assert np.isfinite(read_states(model, make_tokenizer(), TEXTS, dtype="bfloat16")[0]).all()


def test_an_encoder_has_one_layer(tmp_path: Path):
    class Encoder:
        def encode(self, texts):
            return np.array([[len(text), 1.0] for text in texts])

    states = read_states(Encoder(), None, TEXTS, out=tmp_path / "states")
    assert states.layers == (0,)
    assert np.array_equal(States.open(tmp_path / "states")[0][:, 0], [len(text) for text in TEXTS])


class WordsOf:
    """A tokenizer that knows some words, and takes one in every few apart."""

    def __init__(self, every: int, count: int = 100) -> None:
        letters = "abcdefghij"
        self.words = [f"{letters[n // 10]}{letters[n % 10]}e" for n in range(count)]
        self.every = every

    def get_vocab(self) -> dict[str, int]:
        return {f"▁{word}": number for number, word in enumerate(self.words)}

    def __call__(self, texts: list[str], *, add_special_tokens: bool) -> dict[str, list[list[int]]]:
        assert not add_special_tokens
        numbers = [self.words.index(text.removeprefix(" ")) for text in texts]
        return {"input_ids": [[0, -1] if number % self.every == 0 else [number] for number in numbers]}


def test_a_tokenizer_that_splits_its_own_words_gives_a_warning():
    pytest.importorskip("transformers", reason="transformers is not installed")
    with pytest.warns(UserWarning, match=r"makes of tiny\.gguf splits 20 of 100 words of its own vocabulary \(aae, "):
        _models._check_vocabulary(WordsOf(5), "tiny.gguf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _models._check_vocabulary(WordsOf(12), "tiny.gguf")
        _models._check_vocabulary(WordsOf(1, count=0), "tiny.gguf")  # nothing to ask for


def test_an_encoder_resumes_after_an_interruption(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "TEXTS_PER_BLOCK", 2)
    asked = []

    class Encoder:
        def encode(self, texts):
            asked.extend(texts)
            if len(asked) == 4:  # one text for the width, two of the first block, one more
                raise OSError(5, "unplugged")
            return np.array([[len(text), 1.0] for text in texts])

    with pytest.raises(OSError, match="unplugged"):
        read_states(Encoder(), None, TEXTS[:3], out=tmp_path / "states")
    asked[:] = [""] * 9
    states = read_states(Encoder(), None, TEXTS[:3], out=tmp_path / "states")
    assert asked[9:] == [TEXTS[0], TEXTS[2]]
    assert states[0][:, 0].tolist() == [len(text) for text in TEXTS[:3]]


def test_tokens_have_the_states_and_the_text_of_the_whole():
    model, tokenizer = make_model("gpt2"), make_tokenizer(first=True)
    found = read_tokens(model, tokenizer, TEXTS[0], first_token=True, layers=[-1])
    assert found.tokens[0] == "[BOS]"
    assert "".join(found.tokens[1:]) == TEXTS[0]
    whole = read_states(model, tokenizer, TEXTS[:1], first_token=True)
    assert found.rows[N_BLOCKS - 1].shape == (len(found.tokens), WIDTH)
    assert found.rows[N_BLOCKS - 1][-1] == pytest.approx(whole[N_BLOCKS - 1][0], abs=1e-5)


class TestTextsInFiles:
    def test_lines_columns_and_objects_are_read_alike(self, tmp_path: Path):
        files = {
            "t.csv": 'text,label,group\n"Good, I said.",1,a\n\nBad.,0,b\n',
            "t.tsv": "text\tlabel\tgroup\nGood, I said.\t1\ta\nBad.\t0\tb\n",
            "t.jsonl": '{"text": "Good, I said.", "label": 1, "group": "a"}\n'
            '{"text": "Bad.", "label": 0, "group": "b"}',
        }
        for name, content in files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
            found = LabelledTexts.read(tmp_path / name)
            assert found == LabelledTexts(("Good, I said.", "Bad."), (1.0, 0.0), ("a", "b")), name
        (tmp_path / "t.txt").write_text("Good, I said.\nBad.\n\n", encoding="utf-8")
        assert LabelledTexts.read(tmp_path / "t.txt") == LabelledTexts(("Good, I said.", "Bad."))

    def test_states_take_the_labels_of_a_file(self, tmp_path: Path):
        states = States.of_arrays([np.eye(2)], ["one", "two"])
        (tmp_path / "labels.txt").write_text("true\nfalse\n", encoding="utf-8")
        assert states.read_labels(tmp_path / "labels.txt").labels == ("true", "false")
        (tmp_path / "labels.csv").write_text("truth,city\n1,Rome\n0,Rome\n", encoding="utf-8")
        read = states.read_labels(tmp_path / "labels.csv", label_column="truth", group_column="city")
        assert (read.labels, read.groups) == ((1.0, 0.0), ("Rome", "Rome"))
        with pytest.raises(TaskError, match="no column 'label'"):
            states.read_labels(tmp_path / "labels.csv")

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("t.txt", "", "empty"),
            ("t.txt", "one\n\ntwo\n", "t.txt, line 2: the text is empty"),
            ("t.csv", "text,label\none,\n", "line 2: the label is empty"),
            ("t.csv", "text,label\none\n", "1 fields are given; there are 2 columns"),
            ("t.csv", "text,label\n", "only a line of column names"),
            ("t.csv", "sentence,label\none,1\n", "no column 'text' among sentence, label.*text_column="),
            ("t.jsonl", "{", "line 1: '{' is not JSON"),
            ("t.jsonl", "[1]", "not an object"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_line(self, tmp_path: Path, name, content, said):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(TaskError, match=said):
            LabelledTexts.read(tmp_path / name)

    def test_labels_are_stored_with_the_states(self, tmp_path: Path):
        model, tokenizer = make_model("gpt2"), make_tokenizer()
        labels, groups = ["low", "high", "low", "high", "low"], list("aabbc")
        made = read_states(model, tokenizer, TEXTS, out=tmp_path / "s", labels=labels, groups=groups)
        opened = States.open(tmp_path / "s")
        assert made.labels == opened.labels == tuple(labels)
        assert opened.groups == tuple(groups)
        opened.labelled([1, 0, 1, 0, 1], store=True)
        assert States.open(tmp_path / "s").labels == (1.0, 0.0, 1.0, 0.0, 1.0)
        with pytest.raises(TaskError, match="2 labels are given for 5 texts"):
            read_states(model, tokenizer, TEXTS, labels=[1, 0])
        for content in ("{", '{"labels": [1], "groups": null}'):
            (tmp_path / "s" / "labels.json").write_text(content)
            with pytest.raises(PersistenceError, match=r"labels\.json"):
                States.open(tmp_path / "s")


class TestLoading:
    @pytest.mark.parametrize("family", ["gpt2", "bert"])
    def test_a_saved_model_comes_back_with_its_head_and_its_tokenizer(self, tmp_path: Path, capfd, family):
        model, tokenizer = make_model(family), make_tokenizer(first=True)
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        capfd.readouterr()
        loaded = load_model(tmp_path, device="cpu")
        assert type(loaded.model) is type(model)
        assert loaded.name == str(tmp_path.resolve())
        assert weight_differences(loaded.model, model_checksum(model)) == ""
        assert capfd.readouterr() == ("", "")  # no bars and remarks of other libraries
        again = read_states(loaded.model, loaded.tokenizer, TEXTS)
        assert np.array_equal(again[1], read_states(model, tokenizer, TEXTS)[1])

    @pytest.mark.parametrize("family", ["llama", "qwen2-vl"])
    def test_a_model_is_loaded_in_a_precision_and_spread_over_devices(self, tmp_path: Path, family):
        pytest.importorskip("accelerate", reason="a device map needs accelerate")
        model, tokenizer = make_model(family), make_tokenizer()
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        expected = read_states(model, tokenizer, TEXTS)
        half = load_model(tmp_path, dtype="bfloat16", device="cpu")
        assert {values.dtype for values in half.model.parameters()} == {torch.bfloat16}
        assert weight_differences(half.model, expected.checksum) == ""
        spread = load_model(tmp_path, device_map="cpu")
        assert read_states(spread.model, spread.tokenizer, TEXTS)[1] == pytest.approx(expected[1], abs=1e-5)
        with pytest.raises(TaskError, match="both given"):
            load_model(tmp_path, device="cpu", device_map="auto")
        with pytest.raises(TaskError, match="dtype 'half-ish' is given"):
            load_model(tmp_path, dtype="half-ish")

    def test_a_path_without_a_model_is_named(self, tmp_path: Path, monkeypatch):
        (tmp_path / "model.bin").write_bytes(b"x")
        (tmp_path / "model.gguf").write_bytes(b"not one")
        (tmp_path / "broken").mkdir()
        (tmp_path / "broken" / "config.json").write_text("{")
        for name, said in {
            "model.bin": "model.bin is a file",
            "": "no config.json",
            "model.gguf": "cannot be loaded",
            "broken": "cannot be loaded",
            "nothing/here/at/all": "cannot be loaded from this machine",
        }.items():
            with pytest.raises(TaskError, match=said):
                load_model(tmp_path / name)
        monkeypatch.setitem(sys.modules, "transformers.utils.logging", None)
        with pytest.raises(MissingExtraError, match=r'pip install "densray\[models\]"'):
            load_model(tmp_path / "broken")
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(MissingExtraError, match=r'pip install "densray\[models\]"'):
            load_model(tmp_path / "broken")


def test_a_model_too_large_for_the_memory_is_not_called_missing(tmp_path, monkeypatch):
    def exhausted(*_, **__):
        raise RuntimeError("CUDA error: out of memory")

    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr("densray.states._models._load_transformer", exhausted)
    with pytest.raises(TaskError, match="needs more memory than is free") as raised:
        load_model(tmp_path)
    assert "Hugging Face" not in str(raised.value)


def test_a_layer_is_a_space():
    states = States.of_arrays([np.eye(3)], ["one", "two", "one"])
    space = states.space(0)
    assert list(space.words) == ["one", "two", "one (2)"]
    assert space.vectors.dtype == np.float32
    with pytest.raises(TaskError, match="layer 5"):
        states[5]
    with pytest.raises(TaskError, match="one row per text"):
        States.of_arrays([np.eye(3)], ["one"])


def test_a_layer_becomes_rows_with_the_stored_labels_and_groups(tmp_path: Path):
    labels, groups = ["low", "high", "low", "high", "low"], list("aabbc")
    states = read_states(
        make_model("gpt2"), make_tokenizer(), TEXTS, out=tmp_path / "moods", labels=labels, groups=groups
    )
    rows = States.open(tmp_path / "moods").rows(1)
    assert np.array_equal(rows.X, states[1])
    assert rows.names == tuple(TEXTS)
    assert rows.class_names == ("high", "low")
    assert rows.y.tolist() == [1, -1, 1, -1, 1]
    assert [members.tolist() for members in rows.members] == [[0, 1], [2, 3], [4]]
    assert (rows.concept, rows.locations.tolist()) == ("moods", [0, 1, 2, 3, 4])
    assert np.array_equal(rows.background[rows.locations], rows.X)


def test_rows_take_other_labels_and_proposed_groups():
    texts = ["the film is good", "the film is bad", "a nurse was never tired again", "very"]
    states = States.of_arrays([np.random.default_rng(0).normal(size=(4, 3))], texts)
    rows = states.rows(0, [0.1, 0.2, 0.3, 0.4], "proposed")
    assert rows.y.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert rows.groups is not None
    assert rows.groups[0] == rows.groups[1] != rows.groups[2]
    with pytest.raises(TaskError, match="no labels"):
        states.rows(0)
    with pytest.raises(TaskError, match="3 labels are given for 4 texts"):
        states.rows(0, [1, 0, 1])
    with pytest.raises(TaskError, match="layer 7"):
        states.rows(7, [1, 0, 1, 0])


class TestChecksum:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_the_same_weights_are_recognised_in_every_precision(self, dtype):
        checksum = model_checksum(make_model("llama"))
        assert weight_differences(make_model("llama").to(dtype), checksum) == ""
        rounded = make_model("llama").to(dtype)
        assert weight_differences(make_model("llama"), model_checksum(rounded)) == ""
        assert weight_differences(rounded.float(), model_checksum(make_model("llama").to(dtype))) == ""

    def test_every_single_weight_counts(self):
        checksum = model_checksum(make_model("llama"))
        generator = np.random.default_rng(0)
        names = [name for name, _ in make_model("llama").model.named_parameters()]
        for name in generator.choice(names, 8, replace=False):
            model = make_model("llama")
            values = model.model.get_parameter(str(name))
            values.data.view(-1)[generator.integers(values.numel())] += 1e-3
            differences = weight_differences(model, checksum)
            assert "1 of its 30 tensors differ" in differences
            assert name in differences

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_a_weight_changed_by_ten_is_noticed_in_another_precision(self, dtype):
        checksum = model_checksum(make_model("llama"))
        model = make_model("llama").to(dtype)
        model.model.layers[1].mlp.down_proj.weight.data[3, 4] += 10.0
        assert "layers.1.mlp.down_proj.weight" in weight_differences(model, checksum)

    def test_two_rows_exchanged_are_noticed(self):
        checksum, model = model_checksum(make_model("llama")), make_model("llama")
        weights = model.model.embed_tokens.weight.data
        weights[[0, 1]] = weights[[1, 0]]
        assert "embed_tokens.weight" in weight_differences(model, checksum)

    def test_the_head_counts_if_both_models_have_one(self):
        checksum, model = model_checksum(make_model("llama")), make_model("llama")
        model.lm_head.weight.data[3, 4] += 1.0
        assert "1 of its 30 tensors differ: 'head.weight'" in weight_differences(model, checksum)
        assert weight_differences(model.model, checksum) == ""  # the stack alone fits
        assert weight_differences(model, model_checksum(make_model("llama").model)) == ""

    def test_another_architecture_has_other_names(self):
        checksum = model_checksum(make_model("llama"))
        differences = weight_differences(make_model("gpt2"), checksum)
        assert "other names or shapes than the 29 expected; not among them: 'h.0.attn.c_attn.bias'" in differences
        with pytest.raises(TaskError, match="not a checksum"):
            weight_differences(make_model("gpt2"), "0123456789abcdef")


def test_every_error_is_of_the_family():
    assert issubclass(TaskError, DensRayError)


def test_padding_is_tried_on_a_text_that_is_only_a_little_longer(monkeypatch):
    """The longest text would take as long as a whole batch."""
    lengths: list[int] = []
    plain = reading._Reader.run

    def run(reader, rows):
        lengths.append(max(len(reader.tokens[row]) for row in rows))
        return plain(reader, rows)

    monkeypatch.setattr(reading._Reader, "run", run)
    texts = ["the film " * count for count in (1, 2, 6, 12, 25)]
    read_states(make_model("llama"), make_tokenizer(), texts)
    assert lengths[:2] == [2, 12]
    assert max(lengths[2:]) == 50


def test_batches_of_a_device_contain_little_padding() -> None:
    from densray.states._reading import TOKENS_PER_BATCH, _Pooling, _Reader, texts_per_block

    lengths = np.random.default_rng(0).integers(3, 66, size=70_000)  # as evenly spread as sentences of SST-2 are not
    reader = _Reader(None, {}, [[0] * int(n) for n in lengths], _Pooling("last"), 0, TOKENS_PER_BATCH["device"])
    size, padded, largest = texts_per_block("cuda", 1, 576), 0, 0
    for start in range(0, len(lengths), size):
        rows = sorted(range(start, min(start + size, len(lengths))), key=lambda number: lengths[number])
        for batch in reader._batches(rows):
            tokens = len(batch) * int(max(lengths[batch]))
            padded, largest = padded + tokens, max(largest, tokens)
    assert padded < 1.05 * lengths.sum()
    assert largest <= TOKENS_PER_BATCH["device"]


def test_generators_of_words_spans_and_labels_are_read_like_lists() -> None:
    model, tokenizer = make_model("llama"), make_tokenizer()
    texts, words, spans = ["the nurse was", "a film is"], ["nurse", "film"], [(4, 9), (2, 6)]
    expected = read_states(model, tokenizer, texts, pool="word", words=words, layers=[1])
    by_word = read_states(model, tokenizer, iter(texts), pool="word", words=iter(words), layers=iter([1]),
                          labels=iter([1, 0]), groups=iter(["x", "y"]))  # fmt: skip
    by_span = read_states(model, tokenizer, texts, pool="span", spans=iter(spans), layers=[1])
    assert np.array_equal(by_word[1], expected[1])
    assert np.array_equal(by_span[1], expected[1])
    assert (by_word.labels, by_word.groups) == ((1, 0), ("x", "y"))
    with pytest.raises(TaskError, match="labels: '10' is given; a list is needed"):
        read_states(model, tokenizer, texts, labels="10")
