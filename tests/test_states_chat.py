"""Conversations, contrasts, and which tokens are read and changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from densray.errors import TaskError
from densray.states import (
    Continuations,
    Intervention,
    LabelledTexts,
    LayerChange,
    SpanPositions,
    continuation_log_odds,
    contrast,
    find_blocks,
    generate_texts,
    read_contrast,
    read_prompts,
    read_states,
    read_tokens,
)
from densray.states._blocks import run_blocks
from densray.states._chat import as_texts
from densray.states._generation import generate_tokens
from densray.states._models import encode_texts
from densray.states._padding import padded
from tiny_models import WIDTH, make_model, make_tokenizer, torch, transformers

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'system' and refuse is defined %}{{ raise_exception('no system') }}"
    "{% endif %}{{ m['content'] }} {% endfor %}{% if add_generation_prompt %}said that{% endif %}"
)
ASKED = [{"role": "system", "content": "good film"}, {"role": "user", "content": "the nurse"}]
TEXTS = ["the nurse said that she was tired", "the film is very good", "a doctor"]
AXIS = np.random.default_rng(0).normal(size=WIDTH)


@pytest.fixture(scope="module")
def model():
    return make_model("llama")


def chatting(template: str = TEMPLATE, **more: bool):
    tokenizer = make_tokenizer(**more)
    tokenizer.chat_template = template
    return tokenizer


def test_messages_are_written_by_the_template_of_the_tokenizer(model):
    tokenizer = chatting()
    (text,) = as_texts(tokenizer, [ASKED])
    assert text == "good film the nurse said that"
    assert as_texts(tokenizer, [ASKED], generation_prompt=False) == ["good film the nurse "]
    assert as_texts(tokenizer, [[*ASKED, {"role": "assistant", "content": "bad"}]]) == ["good film the nurse bad "]
    read = read_states(model, tokenizer, (each for each in (ASKED, "good film the nurse said that")))  # a generator
    assert read.texts == (text, text)
    assert np.array_equal(read[1][0], read[1][1])
    assert generate_texts(model, tokenizer, [ASKED], max_new_tokens=3) == generate_texts(
        model, tokenizer, [str(text)], max_new_tokens=3
    )


@pytest.mark.parametrize("written", [0, 1, 2])
@pytest.mark.parametrize("usual", [True, False])
def test_a_conversation_has_exactly_one_first_token(model, written, usual):
    tokenizer = chatting("[BOS]" * written + TEMPLATE, first=True)
    if usual:
        from tokenizers.processors import TemplateProcessing

        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="[BOS] $A", special_tokens=[("[BOS]", tokenizer.bos_token_id)]
        )
    encoded = encode_texts(model, tokenizer, [ASKED, "the film"], first_token=False, offsets=True)
    row = encoded.tokens[0]
    assert row.count(tokenizer.bos_token_id) == int(written > 0 or usual)
    assert row[-6:] == tokenizer("good film the nurse said that", add_special_tokens=False)["input_ids"]
    assert [len(each) for each in encoded.offsets] == [len(each) for each in encoded.tokens]
    added = encode_texts(model, tokenizer, [ASKED, "the film"], first_token=True).tokens
    assert [each.count(tokenizer.bos_token_id) for each in added] == [1, 1]


def with_special_tokens(form: str, **more: bool):
    """A tokenizer that puts special tokens around every text, as Llama's (BOS) and some others (EOS) do."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = chatting("{{ bos_token }} " + TEMPLATE, first=True, **more)
    tokenizer.eos_token = "never"  # any word of the vocabulary
    numbers = [("[BOS]", tokenizer.bos_token_id), ("never", tokenizer.eos_token_id)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single=form, special_tokens=numbers)
    return tokenizer


@pytest.mark.parametrize("form", ["[BOS] $A", "[BOS] $A never"])
def test_a_conversation_written_beforehand_has_the_tokens_of_its_messages(model, form):
    tokenizer = with_special_tokens(form)
    written = tokenizer.apply_chat_template(ASKED, tokenize=False, add_generation_prompt=True)
    assert tokenizer(written)["input_ids"][:2] == [tokenizer.bos_token_id] * 2  # the control
    for first_token in (True, False, "auto"):
        encoded = encode_texts(model, tokenizer, [ASKED, written, "the film"], first_token=first_token, offsets=True)
        assert encoded.tokens[0] == encoded.tokens[1]
        assert [row.count(tokenizer.bos_token_id) for row in encoded.tokens] == [1, 1, 1]
        assert [len(row) for row in encoded.offsets] == [len(row) for row in encoded.tokens]
        assert encoded.offsets[0] == encoded.offsets[1]
    tokens = read_tokens(model, tokenizer, written).tokens
    assert "".join(tokens) == written.rstrip()
    plain = chatting(first=True)  # a tokenizer that adds nothing: the text is as its author wrote it
    assert encode_texts(model, plain, ["[BOS] [BOS] the film"], first_token=False).tokens[0].count(2) == 2


@pytest.mark.parametrize("offsets", [True, False])
def test_a_prompt_does_not_end_with_the_end_of_the_text(model, offsets):
    tokenizer, plain = with_special_tokens("[BOS] $A never"), with_special_tokens("[BOS] $A")
    end = tokenizer.eos_token_id
    assert tokenizer("the film")["input_ids"][-1] == end  # the control
    for each in (model, model.model):  # with and without the head
        found, expected = (encode_texts(each, one, TEXTS, offsets=offsets) for one in (tokenizer, plain))
        assert found == expected
    assert encode_texts(model, tokenizer, ["the film never"]).tokens[0][-1] == end  # the text's own stays
    assert np.array_equal(read_states(model, tokenizer, TEXTS)[1], read_states(model, plain, TEXTS)[1])
    assert generate_texts(model, tokenizer, TEXTS, max_new_tokens=3) == generate_texts(
        model, plain, TEXTS, max_new_tokens=3
    )


@pytest.mark.parametrize("family", ["bert", "t5", "roberta"])
def test_models_that_read_in_both_directions_keep_the_end_of_the_text(family):
    tokenizer = with_special_tokens("[BOS] $A never")
    if family == "t5":
        both = make_model("t5").get_encoder()
    elif family == "roberta":
        size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
        both = transformers.RobertaForMaskedLM(transformers.RobertaConfig(vocab_size=20, **size)).eval()
    else:
        both = make_model(family)
    assert encode_texts(both, tokenizer, ["the film"]).tokens == [tokenizer("the film")["input_ids"]]


def test_a_template_without_system_messages_gets_them_with_the_question():
    tokenizer = chatting("{% set refuse = true %}" + TEMPLATE)
    assert as_texts(tokenizer, [ASKED]) == ["good film\n\nthe nurse said that"]
    with pytest.raises(TaskError, match="refuses these messages"):
        as_texts(tokenizer, [ASKED[:1]])


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("the film", "texts: 'the film' is given; a list is needed"),
        ([], "no text is given"),
        ([3], "text 1 is int"),
        (["the film", [{"role": "user"}]], "text 2: .* role and content are needed"),
        ([[]], "text 1 is list"),
        (["the film", " "], "text 2 is empty"),
    ],
)
def test_texts_that_cannot_be_read_are_named(model, texts, said):
    with pytest.raises(TaskError, match=said):
        read_states(model, chatting(), texts)


def test_a_tokenizer_without_a_chat_template_is_named(model):
    with pytest.raises(TaskError, match="has no chat template"):
        read_states(model, make_tokenizer(), [ASKED])


def test_contrasts_are_pairs_or_personas_that_answer_questions(tmp_path: Path):
    pairs = contrast(["good", "very good"], ["bad", "very bad"])
    assert (pairs.texts, pairs.labels) == (("good", "bad", "very good", "very bad"), (1.0, 0.0) * 2)
    assert pairs.groups == ("1", "1", "2", "2")
    asked = contrast(["good", "very good"], ["bad"], ["the film", "the nurse"])
    assert len(asked.texts) == 6
    assert asked.texts[0] == [{"role": "system", "content": "good"}, {"role": "user", "content": "the film"}]
    assert (asked.labels[:3], asked.groups[:4]) == ((1.0, 1.0, 0.0), ("the film",) * 3 + ("the nurse",))
    (tmp_path / "pairs.csv").write_text("positive,negative\ngood,bad\nvery good,very bad\n")
    assert read_contrast(tmp_path / "pairs.csv") == pairs
    (tmp_path / "chat.csv").write_text("positive,negative,question\ngood,bad,the film\n")
    assert read_contrast(tmp_path / "chat.csv").texts == (asked.texts[0], asked.texts[2])
    sides = ["good", "very good"], ["bad", "very bad"]
    rows = [f"{high},{low},{asks}" for asks in ("the film", "a doctor") for high, low in zip(*sides, strict=True)]
    (tmp_path / "more.csv").write_text("\n".join(["positive,negative,question", *rows]))
    found, several = read_contrast(tmp_path / "more.csv"), contrast(*sides, ["the film", "a doctor"])
    texts = [sorted(map(str, zip(each.texts, each.labels, each.groups, strict=True))) for each in (found, several)]
    assert texts[0] == texts[1]  # two personas per side: the same texts, pair after pair
    (tmp_path / "labels.csv").write_text("text,label\ngood,1\nbad,0\n")
    assert read_contrast(tmp_path / "labels.csv").labels == (1.0, 0.0)


CHATS = [[{"role": "user", "content": "the film"}], [*ASKED, {"role": "assistant", "content": "was bad"}]]


def in_files(folder: Path, rows: list[dict[str, object]], only: str) -> list[Path]:
    """The same rows as JSON lines, as a JSON list over several lines, and, with one column, as bare lists."""
    whole = {
        "t.jsonl": "\n".join(map(json.dumps, rows)),
        "t.json": json.dumps(rows, indent=1),
        "lines.json": "\n".join(map(json.dumps, rows)),
    }
    if all(list(row) == [only] for row in rows):
        whole |= {
            "bare.jsonl": "\n".join(json.dumps(row[only]) for row in rows),
            "bare.json": json.dumps([row[only] for row in rows]),
        }
    for name, content in whole.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in whole]


def test_conversations_in_files_are_read_as_messages(model, tmp_path: Path):
    mixed = [*CHATS, "a doctor"]
    for path in in_files(tmp_path, [{"text": text} for text in mixed], "text"):
        assert list(LabelledTexts.read(path).texts) == mixed, path.name
        assert list(read_prompts(path)[0]) == mixed
    tokenizer = chatting("[BOS]" + TEMPLATE, first=True)
    read = LabelledTexts.read(tmp_path / "t.json").texts
    assert read_states(model, tokenizer, read).texts == tuple(as_texts(tokenizer, mixed))
    assert [row.count(tokenizer.bos_token_id) for row in encode_texts(model, tokenizer, read).tokens] == [1, 1, 0]
    rows = [{"messages": text, "label": place, "group": None} for place, text in enumerate(mixed)]
    for path in in_files(tmp_path, rows, "messages"):
        found = LabelledTexts.read(path, text_column="messages")
        assert (list(found.texts), found.labels, found.groups) == (mixed, (0.0, 1.0, 2.0), ("", "", ""))
        prompts = Continuations.read(path, " he", " she", text_column="messages")
        assert np.isfinite(continuation_log_odds(model, chatting(), prompts)).all()
    pairs = [{"positive": CHATS[0], "negative": CHATS[1]}, {"positive": "good", "negative": "bad"}]
    for path in in_files(tmp_path, pairs, "text"):
        assert read_contrast(path) == contrast([CHATS[0], "good"], [CHATS[1], "bad"])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": {"role": "user", "content": "the film"}}, "'text' is .*; a text is needed, or a list of messages"),
        ({"text": [{"role": "user", "content": ["the film"]}]}, "a role and a content that are texts"),
        ({"text": ["the film"]}, "a list of messages"),
        ({"text": []}, "the text is empty"),
        ({"text": "the film", "label": [1]}, r"'label' is a list \('\[1\]'\); a text or a number is needed"),
        ({"text": "the film", "word": {"a": 1}}, "'word' is an object"),
        (3, "'3' is not an object with a text"),
    ],
)
def test_cells_that_are_neither_texts_nor_messages_are_named(tmp_path: Path, row, said):
    first = {"text": "a doctor", "label": 1, "word": "doctor"}
    (tmp_path / "t.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(row)}\n")
    (tmp_path / "t.json").write_text(f"\n[{json.dumps(first)}, \n{json.dumps(row)}]")
    for name, line in (("t.jsonl", 2), ("t.json", 3)):
        with pytest.raises(TaskError, match=rf"{name}, line {line}: .*{said}"):
            LabelledTexts.read(tmp_path / name)
    (tmp_path / "t.json").write_text('[{"text": "a doctor"},\n {"text" 3}]')
    with pytest.raises(TaskError, match=r"t.json, line 2: not valid JSON \(Expecting ':'"):
        LabelledTexts.read(tmp_path / "t.json")
    persona = {"positive": CHATS[0], "negative": "bad", "question": "the film"}
    (tmp_path / "t.jsonl").write_text(json.dumps(persona))
    with pytest.raises(TaskError, match=r"line 1: 'positive' is a list .*; a text or a number is needed"):
        read_contrast(tmp_path / "t.jsonl")


def test_contrasts_of_generators_are_those_of_lists():
    sides = (["good", "fine"], ["bad", "poor"])
    assert contrast(*map(iter, sides)) == contrast(*sides)
    assert contrast(*map(iter, sides), iter(["a", "b"])) == contrast(*sides, ["a", "b"])
    texts = LabelledTexts(iter(["a", "b"]), iter([1.0, 0.0]), iter(["x", "y"]))
    assert texts == LabelledTexts(("a", "b"), (1.0, 0.0), ("x", "y"))
    for wrong in (
        lambda: contrast("good", "evil"),
        lambda: contrast(["a"], ["b"], "why?"),
        lambda: LabelledTexts("ab"),
    ):
        with pytest.raises(TaskError, match="a list is needed"):
            wrong()
    with pytest.raises(TaskError, match="1 labels are given for 2 texts"):
        LabelledTexts(("a", "b"), (1.0,))


def test_contrasts_that_are_not_whole_are_named(tmp_path: Path):
    with pytest.raises(TaskError, match="pairs are needed"):
        contrast(["good", "very good"], ["bad"])
    with pytest.raises(TaskError, match="0 negative"):
        contrast(["good"], [])
    with pytest.raises(TaskError, match="system message"):
        contrast([ASKED], ["bad"], ["the film"])
    for content, said in (
        ("positive\ngood\n", "no column 'negative'"),
        ("positive,negative\ngood,\n", "negative is empty"),
        ("text\ngood\n", "needs columns positive and negative"),
        ("text,label\ngood,1\nfine,1\n", "two labels"),
    ):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(TaskError, match=said):
            read_contrast(tmp_path / "bad.csv")


def test_a_span_is_the_mean_of_its_tokens(model):
    tokenizer = make_tokenizer()
    spans = [(4, 14), (0, 8), (2, 8)]  # nurse said, the film, doctor
    found = read_states(model, tokenizer, TEXTS, pool="span", spans=spans, layers=[1])[1]
    for row, text, places in zip(found, TEXTS, ([1, 2], [0, 1], [1]), strict=True):
        assert row == pytest.approx(read_tokens(model, tokenizer, text).rows[1][places].mean(axis=0), abs=1e-5)
    assert found == pytest.approx(
        np.asarray(
            read_states(model, tokenizer, TEXTS, pool="word", words=["nurse said", "the film", "doctor"], layers=[1])[1]
        )
    )
    for wrong in ([(0, 3), (0, 3), (5, 40)], [(0, 3), (0, 3), (4, 4)], [(0, 3), (0, 3), (-1, 2)]):
        with pytest.raises(TaskError, match="text 3 has 8 letters; the span"):
            read_states(model, tokenizer, TEXTS, pool="span", spans=wrong)
    with pytest.raises(TaskError, match="one span per text"):
        read_states(model, tokenizer, TEXTS, pool="span")


def states_under(model, change: Intervention, **more) -> np.ndarray:
    """The states of each token of two texts, padded, after the changed block."""
    tokenizer, found = make_tokenizer(padding=True), []
    ids = tokenizer(TEXTS[:2], return_tensors="pt", padding=True)
    with change.applied(model, **more), torch.inference_mode():
        handle = model.model.layers[1].register_forward_hook(lambda _m, _i, out: found.append(out))
        model(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"])
        handle.remove()
    return (found[0][0] if isinstance(found[0], tuple) else found[0]).numpy()


def test_only_the_tokens_that_are_named_are_changed(model):
    add = Intervention("add", {1: LayerChange.along(AXIS)})
    plain = states_under(model, Intervention("add", {1: LayerChange.along(AXIS)}, 0.0))

    def changed(intervention: Intervention, **more):
        moved = np.abs(states_under(model, intervention, **more) - plain).max(axis=2) > 0.1
        return [np.flatnonzero(row).tolist() for row in moved[:, :7]]

    everywhere = changed(add)
    assert everywhere[0] == [1, 2, 3, 4, 5, 6]  # all but the first
    last = Intervention("add", {1: LayerChange.along(AXIS)}, positions="last")
    assert changed(last) == [[6], [4]]
    assert changed(Intervention("add", {1: LayerChange.along(AXIS)}, positions="generated")) == [[], []]
    second = changed(add, positions=lambda seen, continued: torch.arange(seen.shape[1]).expand_as(seen) == 2)
    assert second == [[2], [2]]
    assert changed(add, positions="last") == [[6], [4]]
    with pytest.raises(TaskError, match="positions returned a mask of shape"):
        changed(add, positions=lambda seen, continued: seen[:, :2])
    for wrong, said in (([[True] * 7] * 2, r"\[\[True, "), (None, "None")):
        with pytest.raises(TaskError, match=f"positions returned {said}.*a tensor of shape"):
            changed(add, positions=lambda seen, continued, wrong=wrong: wrong)
    with pytest.raises(TaskError, match=r"positions is \[\(0, 3\)\]; all, last, generated, SpanPositions"):
        changed(add, positions=[(0, 3)])
    with pytest.raises(TaskError, match="one of all, last, generated"):
        Intervention("add", {1: LayerChange.along(AXIS)}, positions="first")


def test_only_the_spans_of_known_texts_are_changed(model):
    tokenizer, texts = make_tokenizer(), ["the nurse said that", "a film is very good", "the doctor"]
    spans = SpanPositions.of(model, tokenizer, texts, iter([(4, 9), (2, 9), (4, 10)]))  # nurse, film is, doctor
    add = Intervention("add", {1: LayerChange.along(AXIS)}, 5.0)
    for order in ([0, 1, 2], [2, 0], [1]):  # any batch, in any order, padded or not
        rows = [tokenizer(texts[number])["input_ids"] for number in order]
        for left in (False, True):
            ids, mask = padded(rows, 1, torch.device("cpu"), left=left)
            with torch.inference_mode():
                plain = run_blocks(model, {1: find_blocks(model)[1]}, ids, mask, lambda states: states.clone())[1]
                with add.applied(model, positions=spans):
                    moved = run_blocks(model, {1: find_blocks(model)[1]}, ids, mask, lambda states: states.clone())[1]
            changed = ((moved - plain).abs().amax(dim=2) > 0.1) & mask.bool()
            expected = [{0: [1], 1: [1, 2], 2: [1]}[number] for number in order]
            starts = [ids.shape[1] - len(row) if left else 0 for row in rows]
            assert [
                (row.nonzero()[:, 0] - start).tolist() for row, start in zip(changed, starts, strict=True)
            ] == expected
    with add.applied(model, positions=spans):
        assert len(generate_texts(model, tokenizer, texts, max_new_tokens=2)) == 3
        with pytest.raises(TaskError, match="not among the 3 texts whose spans are known"):
            generate_texts(model, tokenizer, ["the nurse"], max_new_tokens=2)
    with pytest.raises(TaskError, match="the span 0 to 99 is outside"):
        SpanPositions.of(model, tokenizer, texts[:1], [(0, 99)])


def test_states_of_generated_tokens_are_read_as_a_span(model):
    tokenizer, prompts = make_tokenizer(), ["the nurse was very", "the doctor"]
    answers = generate_texts(model, tokenizer, prompts, max_new_tokens=3)
    texts = [f"{prompt} {answer}" for prompt, answer in zip(prompts, answers, strict=True)]
    spans = [(len(prompt), len(text)) for prompt, text in zip(prompts, texts, strict=True)]
    states = read_states(model, tokenizer, texts, pool="span", spans=spans)
    for number, (prompt, new) in enumerate(generate_tokens(model, tokenizer, prompts, max_new_tokens=3)):
        with torch.inference_mode():
            whole = model.model(input_ids=torch.tensor([[*prompt, *new]]), output_hidden_states=True)
        expected = whole.hidden_states[2][0, len(prompt) :].mean(dim=0).numpy()  # after block 1
        assert states[1][number] == pytest.approx(expected, abs=1e-5)


def test_generated_tokens_alone_are_changed_while_a_model_generates(model, tmp_path: Path):
    tokenizer, prompt = make_tokenizer(), ["the nurse was very"]
    strong = Intervention("add", {2: LayerChange.along(AXIS)}, 50.0)
    later = Intervention("add", {2: LayerChange.along(AXIS)}, 50.0, positions="generated")
    plain, everywhere, after = (
        generate_texts(model, tokenizer, prompt, each, max_new_tokens=4)[0].split() for each in (None, strong, later)
    )
    assert everywhere[0] != plain[0]  # the control
    assert after[0] == plain[0]  # the first token is predicted at the last token of the prompt
    assert after[1:] != plain[1:]
    later.save(tmp_path / "later.safetensors")
    assert Intervention.load(tmp_path / "later.safetensors").positions == "generated"
    with pytest.raises(TaskError, match="to every token"):
        later.save(tmp_path / "later.gguf")
