"""What an intervention took away, what it cost: figures against loops by hand, and a control that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from densray.errors import TaskError
from densray.states import (
    Continuations,
    Intervention,
    InterventionTests,
    LayerChange,
    SweepPoint,
    continuation_log_odds,
    evaluate_intervention,
    log_perplexity,
    sentence_log_likelihoods,
    sweep_interventions,
)
from densray.states._evaluation import mark_front
from tiny_models import N_BLOCKS, WIDTH, make_model, make_tokenizer, torch

TEXTS = ["the nurse said that she was tired", "the film is very good", "the doctor was never tired again"]
PROMPTS = Continuations(
    ["the nurse said that", "the doctor said that", "a nurse was", "a doctor was"], "he", "she", [0.9, 0.3, 0.8, 0.2]
)
AXIS = np.random.default_rng(0).normal(size=WIDTH)


@pytest.fixture(scope="module")
def model():
    return make_model("llama")


def test_likelihoods_are_those_of_a_loop_over_tokens(model):
    tokenizer = make_tokenizer()
    totals, counts = [], 0
    for text in TEXTS:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.inference_mode():
            rows = torch.log_softmax(model(input_ids=ids).logits[0], dim=-1)
        totals.append(sum(float(rows[place, token]) for place, token in enumerate(ids[0, 1:])))
        counts += ids.shape[1] - 1
    assert sentence_log_likelihoods(model, tokenizer, TEXTS)[:, 0] == pytest.approx(totals, abs=1e-4)
    assert log_perplexity(model, tokenizer, TEXTS) == pytest.approx(-sum(totals) / counts, abs=1e-5)


def test_log_odds_are_read_after_the_last_token_of_the_prompt(model):
    tokenizer = make_tokenizer()
    he, she = (tokenizer(word)["input_ids"][0] for word in ("he", "she"))
    expected = []
    for prompt in PROMPTS.prompts:
        with torch.inference_mode():
            rows = torch.log_softmax(model(input_ids=torch.tensor([tokenizer(prompt)["input_ids"]])).logits[0, -1], -1)
        expected.append(float(rows[he] - rows[she]))
    assert continuation_log_odds(model, tokenizer, PROMPTS) == pytest.approx(expected, abs=1e-4)
    with pytest.raises(TaskError, match="same token"):
        continuation_log_odds(model, tokenizer, Continuations(PROMPTS.prompts, "he", "he", PROMPTS.known))
    with pytest.raises(TaskError, match="one per prompt"):
        Continuations(["a"], "he", "she", [])


def every_test():
    ends = ("was tired", "is good", "said that", "was bad")
    probe_texts = [f"{a} {b} {c}" for b in ("nurse", "doctor") for a in ("the", "a") for c in ends]
    return InterventionTests(
        TEXTS,
        stereotypes=PROMPTS,
        definitions=Continuations(PROMPTS.prompts, "he", "she", [0, 1, 0, 1]),
        pairs=[(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2])],
        probe_texts=probe_texts,
        probe_labels=[text.split()[0] for text in probe_texts],
        probe_groups=None,
    )


def test_an_intervention_that_changes_nothing_costs_nothing(model):
    result = evaluate_intervention(
        model, make_tokenizer(), Intervention("add", {1: LayerChange.along(AXIS)}, 1e-9), every_test()
    )
    for row in result.rows_found:
        assert row.after == pytest.approx(row.before, abs=1e-4), row.measure
    assert result["divergence"].after == pytest.approx(0.0, abs=1e-5)


def test_every_part_is_measured_before_and_after_with_an_interval(model):
    change = Intervention("add", {layer: LayerChange.along(AXIS) for layer in range(N_BLOCKS)}, 5.0, name="noise")
    result = evaluate_intervention(model, make_tokenizer(), change, every_test())
    assert {row.part for row in result.rows_found} == {"went", "cost", "stayed"}
    assert result["divergence"].after > 0.01  # nats per token: the next tokens are others
    assert result["perplexity"].after != pytest.approx(result["perplexity"].before, rel=1e-3)
    for row in result.rows_found:
        assert row.interval is not None
    assert {row["measure"] for row in result.rows()} >= {"level", "CrowS-Pairs", "definitional prompts", "perplexity"}
    assert result.tables()[0].rows
    with pytest.raises(KeyError):
        result["no such measure"]


def test_the_front_holds_what_nothing_beats():
    points = [SweepPoint((0,), 1.0, left, cost) for left, cost in [(0.1, 3.0), (0.2, 1.0), (0.3, 2.0), (0.1, 3.0)]]
    assert [point.on_front for point in mark_front(points)] == [True, True, False, True]


def test_a_sweep_chooses_on_one_half_and_reports_on_the_other(model):
    prompts = [f"{a} {b} {c}" for a in ("the", "a") for b in ("nurse", "doctor") for c in ("said that", "was", "is")]
    known = list(np.random.default_rng(0).random(len(prompts)))
    tests = InterventionTests(TEXTS * 2, stereotypes=Continuations(prompts, "he", "she", known))
    plans = {
        "first": Intervention("project", {0: LayerChange.along(AXIS)}),
        "last": Intervention("project", {2: LayerChange.along(AXIS)}),
    }
    points, result = sweep_interventions(model, make_tokenizer(), plans, tests, strengths=(0.5, 1.0))
    assert [(point.layers, point.strength) for point in points] == [((0,), 0.5), ((0,), 1.0), ((2,), 0.5), ((2,), 1.0)]
    assert any(point.on_front for point in points)
    assert result.layers in ((0,), (2,))
    with pytest.raises(TaskError, match="prompts to choose by"):
        sweep_interventions(model, make_tokenizer(), plans, InterventionTests(TEXTS))
