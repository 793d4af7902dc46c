"""Steering is chosen on some prompts by the text that a model generates, and reported on others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commands import last_of_each, run_for_json
from densray.cli.entry import run
from densray.errors import SignalWarning, TaskError
from densray.states import (
    Intervention,
    LayerChange,
    encoder_judge,
    generate_texts,
    load_model,
    read_states,
    steer,
    word_judge,
)
from densray.states._steering import _direction, _Prompts, _rise_interval, _usual
from tiny_models import N_BLOCKS, WIDTH, make_model, make_tokenizer, torch

POSITIVE = ["the film is good", "a film was very good", "the nurse is good", "a doctor is very good"]
NEGATIVE = ["the film is bad", "a film was very bad", "the nurse is bad", "a doctor is very bad"]
PROMPTS = [f"{article} {who} {verb}" for article in ("the", "a") for who in ("nurse", "film") for verb in
           ("is", "was", "said", "never")]  # fmt: skip
FACTS = [(prompt, "good", "bad") for prompt in PROMPTS]
QUICK = {"prompts": PROMPTS, "max_new_tokens": 2, "layers": [1], "strengths": [1.0, 8.0], "facts": FACTS}


@pytest.fixture(scope="module")
def model():
    """A tiny model that says *good* when its last state points along one direction, and *bad* along the other."""
    model = make_model("llama")
    tokenizer = make_tokenizer()
    with torch.no_grad():
        good, bad = (tokenizer(word)["input_ids"][0] for word in ("good", "bad"))
        step = torch.zeros(WIDTH)
        step[3] = 1.0
        model.lm_head.weight[good], model.lm_head.weight[bad] = step, -step
        for token, sign in ((good, 1.0), (bad, -1.0)):
            model.model.embed_tokens.weight[token] = sign * step / 2.0
    return model


def judge(texts):
    """More *good* than *bad*."""
    return [float(text.split().count("good") - text.split().count("bad")) for text in texts]


def test_the_chosen_steering_raises_the_score_on_prompts_that_took_no_part(model):
    tokenizer = make_tokenizer()
    result = steer(model, tokenizer, POSITIVE, NEGATIVE, judge=judge, name="praise", **QUICK)
    assert {point.method for point in result.points} == {"ridge", "caa", "repeng"}
    assert {point.mark for point in result.points} <= {"no visible effect", "clear", "breaks the text"}
    assert result.chosen is not None
    assert result.chosen.effect > 0.5
    assert result.summary.startswith(f"{result.chosen.method} after layer 1 at strength")
    assert result.chosen.preserved == 1.0  # all of these facts are on the side it is steered to
    random = next(point for point in result.reported if point.method == "random")
    assert random.effect < result.chosen.effect  # the control
    assert (random.layer, random.strength) == (result.chosen.layer, result.chosen.strength)
    made = result.intervention
    assert (made.operation, made.layers, made.strength) == ("add", (1,), result.chosen.strength)
    tested = {prompt for prompt, _, _ in result.examples}
    assert tested < set(PROMPTS)
    assert len(tested) == 8
    for prompt, before, after in result.examples:
        assert [before] == generate_texts(model, tokenizer, [prompt], max_new_tokens=2)
        assert [after] == generate_texts(model, tokenizer, [prompt], made, max_new_tokens=2)
    rises = [judge([after])[0] - judge([before])[0] for _, before, after in result.examples]
    assert result.chosen.effect == pytest.approx(np.mean(rises))
    assert result.tables()[0].title.startswith("Each method at its best point")


def test_a_strength_of_one_is_the_distance_between_the_classes(model):
    states = read_states(model, make_tokenizer(), [*POSITIVE, *NEGATIVE], layers=[1])
    X, y = np.asarray(states[1], dtype=np.float64), np.array([1.0] * 4 + [0.0] * 4)
    difference = X[:4].mean(axis=0) - X[4:].mean(axis=0)
    for method in ("caa", "repeng", "ridge"):
        found = _direction(method, X, y, None)
        assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(difference))
    assert _direction("caa", X, y, None) == pytest.approx(difference)
    pairs = X[:4] - X[4:]
    _, vectors = np.linalg.eigh(np.cov(pairs.T))  # the definition: the first component of centred differences
    found = _direction("repeng", X, y, None)
    assert abs(vectors[:, -1] @ found) == pytest.approx(np.linalg.norm(difference))
    assert np.mean(pairs @ found > 0) >= 0.5
    with pytest.raises(TaskError, match="the same mean"):
        _direction("caa", np.ones((4, 3)), np.array([1.0, 0.0, 1.0, 0.0]), None)


def test_generators_steer_like_lists(model):
    tokenizer, few = make_tokenizer(), {**QUICK, "strengths": [1.0], "facts": FACTS[:2], "prompts": PROMPTS[:8]}
    expected = steer(model, tokenizer, POSITIVE, NEGATIVE, judge=judge, methods=["ridge", "caa"], **few)
    lazy = {name: iter(few[name]) for name in ("layers", "strengths", "facts", "prompts")}
    sides = (iter(POSITIVE), iter(NEGATIVE))
    scores = lambda texts: iter(judge(texts))  # noqa: E731
    found = steer(model, tokenizer, *sides, judge=scores, methods=iter(["ridge", "caa"]), **{**few, **lazy})
    assert len(expected.points) == 2  # the control: something was tried
    assert [point.effect for point in found.points] == [point.effect for point in expected.points]
    assert found.summary == expected.summary


@pytest.mark.parametrize("name", ["prompts", "methods", "questions", "facts"])
def test_one_text_in_place_of_several_is_named(model, name):
    with pytest.raises(TaskError, match="'good' is given; a list is needed"):
        steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=judge, **{**QUICK, name: "good"})
    with pytest.raises(TaskError, match="high: 'good' is given; a list is needed"):
        word_judge("good", ["bad"])


def test_repeated_prompts_count_once(model):
    with pytest.raises(TaskError, match="1 different prompts are given"):
        steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=judge, **{**QUICK, "prompts": ["the film is"] * 8})
    few = {**QUICK, "prompts": PROMPTS[:5] * 3, "strengths": [1.0]}
    result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=judge, methods=["caa"], **few)
    assert [used.size for used in result.provenance.inputs][-1] == 5


def _stubbed(monkeypatch):
    """Replace generated text by its prompt."""
    monkeypatch.setattr(_Prompts, "_generated", lambda self, _change: (list(self.prompts), 0.0, 0.0))


def test_a_judge_of_noise_seldom_chooses_and_its_choice_is_not_kept(model, monkeypatch):
    _stubbed(monkeypatch)
    options = {**QUICK, "layers": [0, 1, 2], "strengths": [1.0, 2.0, 4.0, 8.0], "facts": []}
    chosen = kept = 0
    for seed in range(40):
        drawn = np.random.default_rng(seed)
        noise = lambda texts, drawn=drawn: drawn.normal(size=len(texts))  # noqa: E731
        result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=noise, random_state=seed, **options)
        chosen, kept = chosen + (result.chosen is not None), kept + (result.intervention is not None)
    assert chosen <= 3  # 36 settings; each was clear by chance in 2.5% of runs before
    assert kept <= 1


def test_an_effect_that_is_not_clear_on_unseen_prompts_is_not_kept(model, monkeypatch):
    _stubbed(monkeypatch)
    calls = []

    def fading(texts):
        calls.append(len(texts))
        return [float(len(calls) == 2)] * len(texts)  # only the first steered texts score

    few = {**QUICK, "strengths": [1.0], "facts": []}
    result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=fading, methods=["caa"], **few)
    assert result.intervention is None
    assert result.chosen.mark == "no visible effect"
    assert result.summary.startswith("Nothing was chosen: caa after layer 1 at strength 1 has a clear effect on the")
    assert "not on unseen ones (no visible effect; effect 0.00" in result.reason


def test_only_the_tokens_that_are_asked_for_are_steered(model):
    tokenizer, few = make_tokenizer(), {**QUICK, "strengths": [8.0]}
    result = steer(model, tokenizer, POSITIVE, NEGATIVE, judge=judge, methods=["caa"], positions="generated", **few)
    assert np.isnan(result.points[0].preserved)
    assert any("were not counted: the first token after a prompt does not change" in note for note in result.notes)
    for prompt, before, after in result.examples:
        assert before.split()[0] == after.split()[0], prompt
    assert result.intervention is None or result.intervention.positions == "generated"
    with pytest.raises(TaskError, match="positions='first' is given; one of all, last, generated"):
        steer(model, tokenizer, POSITIVE, NEGATIVE, judge=judge, positions="first", **few)


def test_the_direction_of_repeng_is_that_of_the_package(model, monkeypatch):
    monkeypatch.setattr(np, "float_", np.float64, raising=False)  # repeng 0.4.0 was written for NumPy 1
    repeng = pytest.importorskip("repeng", reason="compares with the package repeng, which pins an old NumPy")
    tokenizer = make_tokenizer(padding=True)
    pairs = [repeng.DatasetEntry(positive=high, negative=low) for high, low in zip(POSITIVE, NEGATIVE, strict=True)]
    vector = repeng.ControlVector.train(model, tokenizer, pairs, batch_size=1)
    states = read_states(model, tokenizer, [*POSITIVE, *NEGATIVE], layers=[1])
    found = _direction("repeng", np.asarray(states[1], dtype=np.float64), np.array([1.0] * 4 + [0.0] * 4), None)
    theirs = vector.directions[1]
    assert theirs @ found / (np.linalg.norm(theirs) * np.linalg.norm(found)) == pytest.approx(1.0, abs=1e-4)


def test_a_judge_without_signal_chooses_nothing(model):
    result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=lambda texts: [1.0] * len(texts), **QUICK)
    assert result.intervention is None
    assert result.chosen is None
    assert "the judge gives all generated texts the same score" in result.summary
    assert result.points  # shown all the same


def test_nothing_is_chosen_where_no_effect_is_clear(model):
    drawn = np.random.default_rng(0)
    noise = lambda texts: drawn.normal(size=len(texts)) * 1e6  # noqa: E731
    result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=noise, **{**QUICK, "strengths": [1e-9]})
    assert result.intervention is None
    assert "no method, layer and strength has a clear effect" in result.reason


def test_empty_generations_break_the_text_and_reach_no_judge(model):
    tokenizer = make_tokenizer()
    silent = make_model("llama")
    seen = []

    def watching(texts):
        seen.extend(texts)
        return judge(texts)

    tokenizer.decode = lambda tokens, **_: ""  # what a model that only ends its text gives
    result = steer(silent, tokenizer, POSITIVE, NEGATIVE, judge=watching, **QUICK)
    assert seen == []
    assert {point.mark for point in result.points} == {"breaks the text"}
    assert {point.empty for point in result.points} == {1.0}
    assert result.intervention is None
    assert result.reason.startswith("the model generates no text")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompts": PROMPTS[:3]}, "3 different prompts are given; at least four"),
        ({"strengths": []}, "positive numbers are needed"),
        ({"strengths": [1.0, -1.0]}, "positive numbers are needed"),
        ({"methods": []}, "no method is given"),
        ({"methods": ["rigde"]}, "method 'rigde' is unknown"),
        ({"layers": [N_BLOCKS]}, "the model has 3 layers"),
        ({"judge": lambda texts: [0.0]}, r"the judge returned \[0.0\] for 8 texts"),
        ({"judge": lambda texts: [float("nan")] * len(texts)}, "one finite number"),
        ({"judge": lambda texts: ["good"] * len(texts)}, r"the judge returned \['good', .* one finite number"),
        ({"judge": lambda texts: None}, "the judge returned None for 8 texts"),
        ({"judge": "good"}, "the judge is 'good'; a function from texts to scores is needed"),
        ({"negative": []}, "0 negative texts"),
        ({"questions": ["the film"]}, "no chat template"),
    ],
)
def test_steering_that_cannot_be_chosen_is_an_error(model, changed, said):
    options = {"positive": POSITIVE, "negative": NEGATIVE, "judge": judge, **QUICK, **changed}
    with pytest.raises(TaskError, match=said):
        steer(model, make_tokenizer(), options.pop("positive"), options.pop("negative"), **options)


def test_texts_need_no_pairs_and_unknown_facts_are_left_out(model):
    few = {**QUICK, "strengths": [1.0], "facts": [("the film is", "Paris", "London")]}
    result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE[:3], judge=judge, methods=["ridge"], **few)
    assert np.isnan(result.points[0].preserved)
    steps: list[tuple[int, int]] = []
    few["progress"] = lambda *done: steps.append(done)
    steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=judge, methods=["caa"], **few)
    assert steps == [(1, 1)]


def test_judges_of_words_and_of_an_encoder_tell_the_sides_apart():
    class Encoder:
        def encode(self, texts):
            return np.array([[text.count("good"), text.count("bad"), 1.0] for text in texts])

    read = encoder_judge(Encoder(), POSITIVE, NEGATIVE)
    assert np.mean(read(POSITIVE)) == pytest.approx(1.0)
    assert np.mean(read(NEGATIVE)) == pytest.approx(-1.0)
    assert encoder_judge(Encoder(), iter(POSITIVE), iter(NEGATIVE))(POSITIVE) == read(POSITIVE)
    with pytest.raises(TaskError, match="two of each"):
        encoder_judge(Encoder(), POSITIVE[:1], NEGATIVE)
    with pytest.raises(TaskError, match="one of the word lists is empty"):
        word_judge(["good"], [])
    with pytest.raises(TaskError, match="'good' is in both"):
        word_judge(["good"], ["Good", "bad"])


def test_an_encoder_that_does_not_separate_the_sides_is_reported():
    class Encoder:
        def encode(self, texts):
            seeds = [sum(map(ord, text)) for text in texts]
            return np.array([np.random.default_rng(seed).normal(size=6) for seed in seeds])

    sides = [[f"{text} {number}" for number in range(8) for text in texts] for texts in (POSITIVE, NEGATIVE)]
    with pytest.warns(SignalWarning, match=r"does not separate the 64 texts better than chance: held-out AUC 0\."):
        encoder_judge(Encoder(), *sides)
    same = type("Same", (), {"encode": lambda _, texts: np.ones((len(texts), 3))})()
    with pytest.raises(TaskError, match="the same mean"):
        encoder_judge(same, POSITIVE, NEGATIVE)


def test_two_interventions_that_add_are_one(model, tmp_path: Path):
    axes = np.random.default_rng(1).normal(size=(2, WIDTH))
    one = Intervention("add", {1: LayerChange.along(axes[0]), 2: LayerChange.along(axes[1])}, 2.0, name="one")
    other = Intervention("add", {1: LayerChange.along(axes[1])}, -0.5, name="other")
    both = one + other
    assert (both.layers, both.strength, both.name) == ((1, 2), 1.0, "one + other")
    tokenizer, texts = make_tokenizer(), PROMPTS[:3]
    with both.applied(model):
        joined = np.asarray(read_states(model, tokenizer, texts)[2])
    with one.applied(model), other.applied(model):
        nested = np.asarray(read_states(model, tokenizer, texts)[2])
    assert joined == pytest.approx(nested, abs=1e-4)
    with pytest.raises(TaskError, match="only interventions that add can be"):
        one + Intervention("project", {1: LayerChange.along(axes[0])})
    with pytest.raises(TaskError, match="different tokens"):
        one + Intervention("add", {1: LayerChange.along(axes[0])}, positions="last")
    with pytest.raises(TaskError, match="other widths"):
        one + Intervention("add", {1: LayerChange.along(axes[0][:5])})
    with pytest.raises(TypeError):
        one + 1
    assert (one + one.only([2]).at(-2.0)).layers == (1,)  # opposite at layer 2
    with pytest.raises(TaskError, match="opposite at every layer, so their sum changes nothing"):
        one + one.at(-2.0)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, contrastive pairs, personas, and prompts."""
    place = tmp_path_factory.mktemp("steering")
    model.save_pretrained(place / "model")
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    tokenizer.save_pretrained(place / "model")
    rows = [f"{high},{low}" for high, low in zip(POSITIVE, NEGATIVE, strict=True)]
    (place / "pairs.csv").write_text("\n".join(["positive,negative", *rows]))
    chat = [f"{high},{low},{prompt}" for high, low, prompt in zip(POSITIVE, NEGATIVE, PROMPTS, strict=False)]
    (place / "chat.csv").write_text("\n".join(["positive,negative,question", *chat]))
    labelled = [f"{text},{label}" for texts, label in ((POSITIVE, "up"), (NEGATIVE, "down")) for text in texts]
    (place / "labelled.csv").write_text("\n".join(["text,label", *labelled]))
    (place / "prompts.txt").write_text("\n".join(PROMPTS))
    silent = make_model("llama")
    silent.lm_head.weight.data.zero_()
    silent.config.eos_token_id = silent.generation_config.eos_token_id = 0  # ends every text at once
    silent.save_pretrained(place / "silent")
    tokenizer.save_pretrained(place / "silent")
    return place


WORDS = ("--high", "good", "--low", "bad")
FEW = ("--layers", "1", "--strengths", "1", "--max-new-tokens", "2")
STEER = ("model", "steer", "model", "pairs.csv", "--prompts", "prompts.txt", *FEW)


def test_the_command_chooses_shows_and_saves_a_steering(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    path = str(tmp_path / "praise.safetensors")
    answer = run_for_json(capsys, *STEER, *WORDS, "-o", path)
    assert answer["evaluation"]["summary"].startswith("ridge after layer 1 at strength 1: clear")
    assert (answer["operation"], answer["layers"], answer["path"]) == ("add", [1], path)
    assert Intervention.load(path).name == "pairs"
    assert run([*STEER, *WORDS, "--methods", "caa"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("caa after layer 1 at strength 1: clear") < shown.index("Each method at its best point")
    assert "before:" in shown
    saved = ["model", "steer", "model", path, "--generate", "the nurse is", "--max-new-tokens", "2"]
    (row,) = run_for_json(capsys, *saved)["generated"]
    assert row["after"] == "good good"
    (row,) = run_for_json(capsys, *saved, "--strength", "0")["generated"]
    assert row["after"] == row["before"]
    pytest.importorskip("gguf", reason="control vectors need gguf")
    run_for_json(capsys, "model", "steer", "model", path, "-o", str(tmp_path / "praise.gguf"))
    (row,) = run_for_json(capsys, *saved[:3], str(tmp_path / "praise.gguf"), *saved[4:])["generated"]
    assert row["after"] == "good good"


def test_prompts_are_written_by_the_chat_template_unless_switched_off(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}the {{ m['content'] }}{% endfor %}"
    for name in ("model.safetensors", "config.json"):
        (tmp_path / name).write_bytes((folder / "model" / name).read_bytes())
    tokenizer.save_pretrained(tmp_path)
    model = load_model(tmp_path).model
    path = str(tmp_path / "up.safetensors")
    Intervention("add", {1: LayerChange.along(np.ones(WIDTH))}, 0.5).save(path)
    saved = ["model", "steer", str(tmp_path), path, "--generate", "nurse said", "--max-new-tokens", "3"]
    for more, prompt in (((), "the nurse said"), (("--no-chat",), "nurse said")):
        (row,) = run_for_json(capsys, *saved, *more)["generated"]
        assert (row["prompt"], [row["before"]]) == ("nurse said", generate_texts(model, tokenizer, [prompt],
                                                                                 max_new_tokens=3))  # fmt: skip


def test_a_text_without_words_is_shown_as_such(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    path = str(tmp_path / "up.safetensors")
    Intervention("add", {1: LayerChange.along(np.ones(WIDTH))}, 0.5).save(path)
    assert run(["model", "steer", "silent", path, "--generate", "the film"]) == 0
    assert "before: (no text)" in capsys.readouterr().out
    silent = ["model", "steer", "silent", *STEER[3:], *WORDS]
    assert "the model generates no text" in run_for_json(capsys, *silent)["evaluation"]["summary"]


def test_the_command_steers_only_the_tokens_that_are_named(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    path = tmp_path / "last.safetensors"
    run_for_json(capsys, *STEER, *WORDS, "--methods", "caa", "--positions", "last", "-o", str(path))
    assert not path.exists() or Intervention.load(path).positions == "last"
    assert run([*STEER, *WORDS, "--positions", "last", "-o", "last.gguf"]) == 2
    assert "llama.cpp adds a control vector to every token" in capsys.readouterr().err


def test_personas_and_labelled_texts_steer_too(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    answer = run_for_json(capsys, "model", "steer", "model", "chat.csv", *FEW, *WORDS)  # continues the questions
    assert len(answer["evaluation"]["points"]) == 3
    answer = run_for_json(capsys, "model", "steer", "model", "labelled.csv", *STEER[4:], *WORDS)
    assert answer["evaluation"]["reported"][0]["effect"] > 0.5  # up comes after down: the higher label


def test_a_judge_without_signal_writes_nothing(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    path = tmp_path / "none.safetensors"
    answer = run_for_json(capsys, *STEER, "--high", "sunny", "--low", "rainy", "-o", path)
    assert answer["evaluation"]["summary"].startswith("Nothing was chosen: the judge gives")
    assert answer["path"] is None
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*STEER,), "who judges the generated text?"),
        ((*STEER, "--high", "good"), "who judges the generated text?"),
        ((*STEER, *WORDS, "--encoder", "model"), "who judges the generated text?"),
        ((*STEER, "--encoder", "model"), "is not a sentence encoder"),
        ((*STEER, *WORDS, "--strength", "2"), "Give the strengths to try with --strengths"),
        ((*STEER, *WORDS, "--strengths", "-1"), "positive numbers are needed"),
        ((*STEER, *WORDS, "-o", "steering.npz"), ".safetensors or .gguf is needed"),
        (("model", "steer", "model", "pairs.csv", *WORDS), "Give a file with one prompt per line: --prompts"),
        (("model", "steer", "model", "prompts.txt", *WORDS), "needs columns positive and negative"),
        (("model", "steer", "model", "absent.csv", *WORDS), "absent.csv: no such file"),
        (("model", "steer", "model", "absent.gguf"), "nothing is asked for"),
    ],
)
def test_bad_input_of_the_command_is_one_line(folder, capsys, monkeypatch, arguments, said):
    monkeypatch.chdir(folder)
    assert run(last_of_each(arguments)) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")


def test_a_text_with_a_huge_state_is_left_out_with_its_partner():
    random = np.random.default_rng(0)
    y = np.array([1.0, 0.0] * 10)
    X = random.normal(size=(20, 6)) + y[:, None]
    X[4] *= 100.0
    usual = _usual(X, y)
    assert np.flatnonzero(~usual).tolist() == [4, 5]
    assert np.allclose(_direction("caa", X[usual], y[usual], None), _direction("caa", X[[*range(4), *range(6, 20)]],
                       y[[*range(4), *range(6, 20)]], None))  # fmt: skip
    assert _usual(X[:2] * [[1.0], [1e6]], y[:2]).all()


def test_equal_rises_of_few_prompts_are_not_clear(model, monkeypatch):
    _stubbed(monkeypatch)
    options = {**QUICK, "prompts": PROMPTS[:4], "layers": [0, 1, 2], "strengths": [1.0, 2.0, 4.0, 8.0], "facts": []}
    chosen = 0
    for seed in range(20):
        drawn = np.random.default_rng(seed)
        counts = lambda texts, drawn=drawn: drawn.poisson(0.7, len(texts)).astype(float)  # noqa: E731
        result = steer(model, make_tokenizer(), POSITIVE, NEGATIVE, judge=counts, random_state=seed, **options)
        chosen += result.chosen is not None
        assert result.intervention is None
    assert chosen <= 1  # 13 of 20 before: two equal rises had an interval of width 0
    assert _rise_interval(np.ones(16), 1.0 - 0.05 / 36).low > 0.5  # control: many equal rises are an effect


def test_pairs_of_the_method_of_repeng_share_their_group():
    rng = np.random.default_rng(0)
    questions = np.repeat(np.arange(20), 3)  # two positive texts and one negative text on each question
    y = np.tile([1.0, 1.0, 0.0], 20)
    concept, topic = np.eye(8)[0], np.eye(8)[1]
    sizes = np.repeat(rng.uniform(0.5, 1.5, 20), 3)
    X = y[:, None] * sizes[:, None] * concept + 10.0 * rng.normal(size=20)[questions, None] * topic
    X += 0.01 * rng.normal(size=X.shape)
    assert abs(_direction("repeng", X, y, questions) @ concept) > 0.9  # its length is about 1
    assert abs(_direction("repeng", X, y, None) @ concept) < 0.5  # control: pairs of different questions


def test_pairs_without_a_spread_have_no_component(model):
    X, y = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 2.0], [2.0, 1.0]]), np.array([1.0, 0.0, 1.0, 0.0])
    with pytest.raises(TaskError, match="'repeng' needs two or more pairs whose differences vary; 2 pairs"):
        _direction("repeng", X, y, None)
    assert _direction("caa", X, y, None) == pytest.approx([1.0, 1.0])
    with pytest.raises(TaskError, match="at least two of each are needed"):
        steer(model, make_tokenizer(), POSITIVE[:1], NEGATIVE[:1], judge=judge, **QUICK)
    one = steer(model, make_tokenizer(), POSITIVE[:1], NEGATIVE[:1], judge=judge, methods=["caa"], **QUICK)
    assert {point.method for point in one.points} == {"caa"}


def test_counted_words_may_be_phrases_accents_or_signs():
    count = word_judge(["very good", "good", "caf\u00e9", "\U0001f600"], ["don't", "bad"])
    assert count(["A very good film", "good good", "cafe\u0301", "fine\U0001f600", "I don\u2019t know"]) == [
        1,
        2,
        1,
        1,
        -1,
    ]
    assert count(["goodness", "good-natured", "'good'", "very\n good!", "bad, good"]) == [0, 0, 1, 1, 0]
