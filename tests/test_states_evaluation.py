"""What an intervention took away, what it cost: figures against loops by hand, and a control that changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from densray._leace import leace, leace_beside
from densray.errors import TaskError
from densray.metrics import auc
from densray.states import (
    Continuations,
    Intervention,
    InterventionTests,
    LabelledTexts,
    LayerChange,
    SweepPoint,
    choose_point,
    continuation_log_odds,
    evaluate_intervention,
    log_perplexity,
    read_states,
    remove_concept,
    remove_preference,
    sentence_log_likelihoods,
    sweep_front,
    sweep_interventions,
)
from densray.states._evaluation import _compared, _halves, mark_front
from densray.states._measures import EffectMeasure, _preserved, _slope, members_of, rank_correlation
from densray.states._next_tokens import _first_token, correct_facts
from densray.states._removal import _correct_sides, learn_changes, probed_layers
from tiny_models import N_BLOCKS, WIDTH, WORDS, make_model, make_tokenizer, torch, transformers

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


def test_the_probability_of_a_set_of_words_is_the_sum(model):
    tokenizer = make_tokenizer()
    sets = replace(PROMPTS, high=["he", "doctor"], low=("she", "nurse", "film"))
    high, low = ([tokenizer(word)["input_ids"][0] for word in side] for side in sets.sides)
    expected = []
    for prompt in sets.prompts:
        with torch.inference_mode():
            shares = torch.softmax(model(input_ids=torch.tensor([tokenizer(prompt)["input_ids"]])).logits[0, -1], -1)
        expected.append(float(torch.log(shares[high].sum()) - torch.log(shares[low].sum())))
    assert continuation_log_odds(model, tokenizer, sets) == pytest.approx(expected, abs=1e-4)
    twice = replace(sets, high=["he", "he", "doctor"])  # one token counts once
    assert continuation_log_odds(model, tokenizer, twice) == pytest.approx(expected, abs=1e-4)
    with pytest.raises(TaskError, match="'doctor' and 'doctor' begin with the same token"):
        continuation_log_odds(model, tokenizer, replace(sets, low=["she", "doctor"]))
    with pytest.raises(TaskError, match="2 high and 0 low continuations are given"):
        continuation_log_odds(model, tokenizer, replace(sets, low=[]))
    result = evaluate_intervention(model, tokenizer, Intervention("add", {1: LayerChange.along(AXIS)}),
                                   InterventionTests(TEXTS, stereotypes=sets))  # fmt: skip
    assert result["level"].before == pytest.approx(np.mean(expected), abs=1e-4)
    assert result["level"].meaning.startswith("mean of log p(he, doctor) / p(she, nurse, film)")
    facts = [(prompt, ["he", "doctor"], ["she", "nurse", "film"]) for prompt in sets.prompts]
    assert correct_facts(model, tokenizer, facts).tolist() == (np.array(expected) > 0.0).tolist()


def test_generators_are_tests_like_lists(model):
    prompts = Continuations(iter(PROMPTS.prompts), iter(["he"]), "she", iter(PROMPTS.known), iter("aabb"))
    assert (prompts.prompts, prompts.sides) == (tuple(PROMPTS.prompts), (("he",), ("she",)))
    assert prompts.group_numbers.tolist() == [0, 0, 1, 1]
    change = Intervention("add", {1: LayerChange.along(AXIS)})
    found = evaluate_intervention(model, make_tokenizer(), change, InterventionTests(iter(TEXTS)))
    assert (
        found["perplexity"]
        == evaluate_intervention(model, make_tokenizer(), change, InterventionTests(TEXTS))["perplexity"]
    )
    for wrong in (lambda: InterventionTests("the film"), lambda: replace(PROMPTS, prompts="the film")):
        with pytest.raises(TaskError, match="'the film' is given; a list is needed"):
            wrong()


def test_measures_that_cannot_change_are_refused_or_left_out(model):
    last = Intervention("add", {1: LayerChange.along(AXIS)}, 3.0, positions="last")
    result = evaluate_intervention(model, make_tokenizer(), last, InterventionTests(TEXTS, stereotypes=PROMPTS))
    assert {row.part for row in result.rows_found} == {"went"}
    assert result["level"].before != result["level"].after
    assert result.summary.endswith("perplexity not measured.")
    assert "only the last token of a text, after which none is predicted" in result.notes[0]
    with pytest.raises(TaskError, match="positions='last' changes no token whose prediction these tests count"):
        evaluate_intervention(model, make_tokenizer(), last, InterventionTests(TEXTS))
    generated = replace(last, positions="generated")
    with pytest.raises(TaskError, match="positions='generated' changes no token"):
        evaluate_intervention(model, make_tokenizer(), generated, InterventionTests(TEXTS, stereotypes=PROMPTS))


def test_a_sweep_takes_removals_of_all_tokens_only(model):
    tests = InterventionTests(TEXTS * 2, stereotypes=replace(PROMPTS, prompts=PROMPTS.prompts * 2, known=range(8)))
    change = {1: LayerChange.along(AXIS)}
    for plan, said in (
        (Intervention("add", change), "one has the operation 'add'; a sweep tries removals"),
        (Intervention("project", change, positions="last"), "one has positions='last'; a sweep needs positions='all'"),
    ):
        with pytest.raises(TaskError, match=said):
            sweep_interventions(model, make_tokenizer(), {"one": plan}, tests)
    plans = {name: Intervention("project", change) for name in ("one", "two")}
    points, _ = sweep_interventions(model, make_tokenizer(), plans, tests, strengths=iter([0.5, 1.0]))
    assert [(point.name, point.strength) for point in points] == [
        ("one", 0.5),
        ("one", 1.0),
        ("two", 0.5),
        ("two", 1.0),
    ]


def test_a_concept_of_three_classes_is_removed(model):
    ends = ["was tired", "is good", "said that", "was bad", "is very good", "was never tired", "is bad", "was good"]
    nouns = ("nurse", "doctor", "film")
    texts = LabelledTexts(
        tuple(f"{a} {noun} {end}" for end in ends for noun in nouns for a in ("the", "a")),
        tuple(noun for _ in ends for noun in nouns for _ in "12"),
    )
    classes = np.array(texts.labels)
    for ordinary in ([], TEXTS * 4):
        removal, report = remove_concept(
            model, make_tokenizer(), texts, layers=[1, 2], ordinary=iter(ordinary),
            tests=InterventionTests(TEXTS, probe=texts, probe_layers=[2]),
        )  # fmt: skip
        assert [change.n_directions for change in removal.changes.values()] == [2, 2]
        before = read_states(model, make_tokenizer(), texts.texts)[2]
        with removal.applied(model):
            after = read_states(model, make_tokenizer(), texts.texts)[2]
        spread = [
            max(np.ptp([rows[classes == noun].mean(axis=0) for noun in nouns], axis=0)) for rows in (before, after)
        ]
        assert spread[0] > 0.02  # the control
        assert spread[1] < 0.01 * spread[0]
        probe = report["linear probe, layer 2"]
        assert probe.after < 0.6 < probe.before
    with pytest.raises(TaskError, match="only 'leace' removes more than two classes"):
        remove_concept(model, make_tokenizer(), texts, method="ridge")


def test_the_auc_of_several_classes_is_the_mean_of_one_against_the_rest():
    scores = np.random.default_rng(0).normal(size=(30, 3))
    classes = np.arange(30) % 3
    found, share = (figure.figure(np.column_stack([classes, scores]))
                    for figure in reversed(_preserved("nouns", np.column_stack([classes, scores]), "")))  # fmt: skip
    assert found == pytest.approx(np.mean([auc(classes == c, scores[:, c]) for c in range(3)]))
    assert share == pytest.approx(np.mean(scores.argmax(axis=1) == classes))


def test_continuations_without_one_token_of_their_own_are_named(model):
    tokenizer = make_tokenizer()
    with pytest.raises(TaskError, match="has no token"):
        continuation_log_odds(model, tokenizer, replace(PROMPTS, low=" "))
    with pytest.warns(UserWarning, match="'she was' has 2 tokens; only the first, 'she', counts"):
        found = continuation_log_odds(model, tokenizer, replace(PROMPTS, low="she was"))
    assert found == pytest.approx(continuation_log_odds(model, tokenizer, PROMPTS))
    with pytest.raises(TaskError, match="BertModel does not predict next tokens"):
        continuation_log_odds(make_model("bert"), tokenizer, PROMPTS)


def test_a_continuation_that_the_tokenizer_does_not_know_is_refused(model):
    with pytest.raises(TaskError, match="' xe' is unknown to the tokenizer"):
        continuation_log_odds(model, make_tokenizer(), replace(PROMPTS, low=" xe"))


def test_the_first_token_of_a_continuation_is_the_one_it_has_in_a_text():
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    words = make_tokenizer()
    assert [_first_token(words, f" {word}") for word in WORDS] == words.convert_tokens_to_ids(WORDS)
    pieces = Tokenizer(models.BPE())  # as in GPT-2: the blank belongs to the word after it
    pieces.pre_tokenizer, pieces.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    pieces.train_from_iterator([" he said that she is a he"] * 9, trainers.BpeTrainer(vocab_size=300))
    spaced = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces)
    for word in (" he", " she", " that"):
        assert [_first_token(spaced, word)] == spaced(word)["input_ids"]
    known = [("<unk>", 0.0), *((piece, -1.0) for piece in ("▁", "▁a", "▁he", "▁she"))]
    prefixed = Tokenizer(models.Unigram(known, unk_id=0))  # as in Llama 2: a blank is put before every text
    prefixed.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=prefixed, unk_token="<unk>")
    assert tokenizer.convert_ids_to_tokens(tokenizer(" he")["input_ids"]) == ["▁", "▁he"]  # the control
    found = [_first_token(tokenizer, text) for text in (" he", " she", "he")]
    assert tokenizer.convert_ids_to_tokens(found) == ["▁he", "▁she", "▁he"]


def test_prompts_are_read_with_what_is_known_and_their_groups(tmp_path):
    (tmp_path / "asked.csv").write_text(
        "prompt,share,job\nthe nurse,0.9,nurse\na nurse,0.9,nurse\na doctor,0.3,doctor\n"
    )
    columns = {"text_column": "prompt", "label_column": "share", "group_column": "job"}
    found = Continuations.read(tmp_path / "asked.csv", " he", " she", **columns)
    assert (found.prompts, found.known) == (("the nurse", "a nurse", "a doctor"), (0.9, 0.9, 0.3))
    first, second, third = found.group_numbers
    assert first == second != third
    with pytest.raises(TaskError, match="labels that are numbers"):
        Continuations.read(tmp_path / "asked.csv", " he", " she", text_column="prompt", label_column="job")
    (tmp_path / "one.csv").write_text("text,label\nthe nurse,1\n")
    with pytest.raises(TaskError, match="1 prompt is given; at least three are needed"):
        Continuations.read(tmp_path / "one.csv", " he", " she")


def test_a_slope_needs_known_values_that_differ():
    assert np.isnan(_slope(np.column_stack([[0.1] * 3, [1.0, 2.0, 4.0]])))  # 0.1 - mean is not exactly 0
    assert _slope(np.array([[0.0, 1.0], [1.0, 3.0]])) == pytest.approx(2.0)


def every_test():
    ends = ("was tired", "is good", "said that", "was bad")
    probe_texts = [f"{a} {b} {c}" for b in ("nurse", "doctor") for a in ("the", "a") for c in ends]
    return InterventionTests(
        TEXTS,
        stereotypes=PROMPTS,
        definitions=Continuations(PROMPTS.prompts, "he", "she", [0, 1, 0, 1]),
        pairs=[(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2])],
        probe=LabelledTexts(tuple(probe_texts), tuple(text.split()[0] for text in probe_texts)),
        others={"noun": LabelledTexts(tuple(probe_texts), tuple(text.split()[1] for text in probe_texts))},
    )


@pytest.mark.slow
def test_an_intervention_that_changes_nothing_costs_nothing(model):
    result = evaluate_intervention(
        model, make_tokenizer(), Intervention("add", {1: LayerChange.along(AXIS)}, 1e-9), every_test()
    )
    for row in result.rows_found:
        assert row.after == pytest.approx(row.before, abs=1e-4), row.measure
    assert result["divergence"].after == pytest.approx(0.0, abs=1e-5)


@pytest.mark.slow
def test_every_part_is_measured_before_and_after_with_an_interval(model):
    change = Intervention("add", {layer: LayerChange.along(AXIS) for layer in range(N_BLOCKS)}, 5.0, name="noise")
    result = evaluate_intervention(model, make_tokenizer(), change, every_test())
    assert {row.part for row in result.rows_found} == {"went", "cost", "stayed"}
    assert result["divergence"].after > 0.01  # nats per token: the next tokens are others
    assert result["perplexity"].after != pytest.approx(result["perplexity"].before, rel=1e-3)
    for row in result.rows_found:
        assert row.interval is not None
    assert {row["measure"] for row in result.rows()} >= {"level", "CrowS-Pairs", "perplexity"}
    for measure in ("noun: linear probe, layer 2", "definitional prompts"):
        assert result[f"{measure}, AUC"].part == result[f"{measure}, correct answers"].part == "stayed"
    assert result.tables()[0].rows
    told = {row["what"]: row["value"] for row in result.provenance.table().rows}
    assert told["texts: held out"] == "3 entries"
    assert "rows used" not in told
    with pytest.raises(KeyError):
        result["no such measure"]


def answered(model, tokenizer):
    """Return prompts that the model answers correctly, and an intervention that pushes every answer to "she"."""
    ends = ("said that", "was", "is", "was very", "said he", "is never")
    prompts = [f"{a} {b} {c}" for a in ("the", "a") for b in ("nurse", "doctor", "film") for c in ends]
    asked = Continuations(prompts, "he", "she", [0.0] * len(prompts))
    right = continuation_log_odds(model, tokenizer, asked) > 0
    assert 5 < right.sum() < len(prompts) - 5  # control: both answers occur
    he, she = (tokenizer(word)["input_ids"][0] for word in ("he", "she"))
    push = (model.lm_head.weight[she] - model.lm_head.weight[he]).detach().numpy()
    return replace(asked, known=right.astype(float).tolist()), Intervention("add", {2: LayerChange.along(push)}, 300.0)


def test_answers_that_become_wrong_are_counted_although_their_order_stays(model):
    tokenizer = make_tokenizer()
    definitions, push = answered(model, tokenizer)
    result = evaluate_intervention(model, tokenizer, push, InterventionTests(TEXTS, definitions=definitions))
    row = result["definitional prompts, correct answers"]
    assert row.before == 1.0
    assert row.after == pytest.approx(1.0 - np.mean(definitions.known))  # every "he" became "she"
    assert row.interval.low < row.after < row.interval.high
    same = evaluate_intervention(model, tokenizer, push.at(1e-9), InterventionTests(TEXTS, definitions=definitions))
    row = same["definitional prompts, correct answers"]
    assert row.after == row.interval.high == 1.0
    assert 0.85 < row.interval.low < 0.95  # 36 of 36 correct answers do not prove that all are
    rows = np.array([[0.0, -3.0], [0.0, -2.5], [1.0, -2.0], [1.0, -1.0]])
    correct, order = (figure.figure(rows) for figure in _preserved("definitions", rows, ""))
    assert (correct, order) == (0.5, 1.0)


def pushing_removal(push):
    """Return a removal that moves every state as `push` does: its origin is so far away that all coordinates agree."""
    changes = {}
    for layer, change in push.changes.items():
        unit = change.right[0] / np.linalg.norm(change.right[0])
        changes[layer] = LayerChange(1e-5 * unit[:, None], change.right, 1e5 * unit)
    return replace(push, operation="project", changes=changes)


def test_a_sweep_refuses_a_cheap_point_that_makes_answers_wrong(model):
    tokenizer = make_tokenizer()
    definitions, push = answered(model, tokenizer)
    prompts = replace(definitions, known=np.random.default_rng(0).random(len(definitions.prompts)).tolist())
    tests = InterventionTests(TEXTS * 2, stereotypes=prompts, definitions=definitions)
    bounds = {"at_most": 1.0, "perplexity_at_most": np.inf}
    plans = {"push": pushing_removal(push)}
    points, _ = sweep_interventions(model, tokenizer, plans, tests, strengths=(300.0, 0.0), **bounds)
    assert points[0].preserved < 0.85  # all that should be "he" are wrong
    assert points[1].preserved == 1.0
    assert [point.chosen for point in points] == [False, True]


def test_the_front_holds_what_nothing_beats():
    points = [SweepPoint((0,), 1.0, left, cost) for left, cost in [(0.1, 3.0), (0.2, 1.0), (0.3, 2.0), (0.1, 3.0)]]
    assert [point.on_front for point in mark_front(points)] == [True, True, False, True]


def test_the_cheapest_point_that_keeps_definitions_is_chosen():
    found = [(0.01, 0.30, 0.95), (0.04, 0.02, 0.92), (0.03, 0.01, 0.60), (0.20, 0.00, 1.00)]
    points = [SweepPoint((0,), 1.0, left, cost, kept) for left, cost, kept in found]
    assert choose_point(points) == 1  # the third is cheaper, but loses the definitions
    assert choose_point(points, preserve_at_least=0.5) == 2
    assert choose_point(points, at_most=0.2) == 3
    assert choose_point(points[2:]) == 1  # none does both: 0.15 too much left against 0.3 too little kept
    without = [SweepPoint((0,), 1.0, left, cost) for left, cost, _ in found]
    assert choose_point(without) == 2
    points = [SweepPoint((0,), 0.5, 0.50, 0.01), SweepPoint((0,), 8.0, 0.30, 0.775)]  # +1% and +117% perplexity
    assert choose_point(points) == 0
    assert choose_point(points, perplexity_at_most=2.0) == 1


def test_a_point_without_numbers_is_shown_and_never_chosen():
    prompts = [f"{a} {b} {c}" for a in ("the", "a") for b in ("nurse", "doctor") for c in ("said that", "was", "is")]
    asked = Continuations(prompts, "he", "she", list(np.random.default_rng(0).random(12)))
    tests = InterventionTests(TEXTS * 2, stereotypes=asked, definitions=replace(asked, known=[0, 1] * 6))
    model, plans = make_model("gpt2"), {"first": Intervention("project", {0: LayerChange.along(AXIS)})}
    points, result = sweep_interventions(model, make_tokenizer(), plans, tests, strengths=(1e30, 0.5))
    assert [(point.left, point.cost) == (np.inf, np.inf) for point in points] == [True, False]
    assert [(point.chosen, point.on_front) for point in points] == [(False, False), (True, True)]
    assert result.strength == 0.5
    with pytest.raises(TaskError, match="not finite at any strength"):
        sweep_interventions(model, make_tokenizer(), plans, tests, strengths=(1e30,))
    unknown = evaluate_intervention(model, make_tokenizer(), plans["first"].at(1e30), tests)["perplexity"]
    assert np.isnan(unknown.after)
    assert unknown.interval is None


def test_a_point_without_numbers_misses_every_bound_and_large_costs_stay_numbers():
    assert SweepPoint((0,), 1.0, np.nan, 0.0).missed() == np.inf
    assert SweepPoint((0,), 1.0, 0.1, 800.0).perplexity_added == np.inf
    assert SweepPoint((0,), 1.0, 0.1, np.log(2)).perplexity_added == pytest.approx(100.0)


def test_odds_that_are_all_the_same_leave_no_correlation():
    assert rank_correlation(np.array([[0.1, 2.0], [0.5, 2.0], [0.9, 2.0]])) == 0.0
    assert np.isnan(rank_correlation(np.array([[0.5, 1.0], [0.5, 2.0]])))  # nothing is known to tell them apart
    assert np.isnan(rank_correlation(np.array([[0.1, 1.0], [0.5, np.nan]])))


def test_prompts_of_one_group_are_halved_together(model):
    prompts = [f"{a} {b} {c}" for b in ("nurse", "doctor", "film", "she") for a in ("the", "a") for c in ("is", "was")]
    groups = [prompt.split()[1] for prompt in prompts]
    given = Continuations(prompts, "he", "she", list(range(16)), groups)
    tests = InterventionTests(TEXTS * 2, stereotypes=given, definitions=replace(given, known=[0, 1] * 8))
    choosing, reporting = _halves(tests, np.random.default_rng(0))
    for one, other in ((choosing.stereotypes, reporting.stereotypes), (choosing.definitions, reporting.definitions)):
        assert len(one.prompts) == len(other.prompts) == 8
        assert not set(one.groups) & set(other.groups)
    with pytest.raises(TaskError, match="one each"):
        replace(given, groups=["nurse"])


def test_prompts_of_one_group_are_resampled_together():
    values = np.column_stack([np.arange(6.0), [0.0, 0, 0, 1, 1, 1]])
    mean = lambda rows: float(rows[:, 1].mean())  # noqa: E731
    alike = EffectMeasure("went", "level", values, mean, "", None, np.array([0, 0, 0, 1, 1, 1]))
    alone = replace(alike, groups=None)
    drawn = {len(set(np.round(row, 6))) for row in members_of(alike)}
    assert drawn == {3}
    wide, narrow = (next(_compared([one], [one], np.random.default_rng(0))).interval for one in (alike, alone))
    assert wide.high - wide.low == 1.0 > narrow.high - narrow.low


def test_the_front_is_drawn_and_the_chosen_point_ringed():
    pytest.importorskip("altair", reason="the extra `figures` (altair) is not installed")
    points = mark_front(
        [SweepPoint((0, 1, 2), s, left, cost) for s, left, cost in [(0.5, 0.3, 0.01), (1.0, 0.1, 0.1), (2.0, 0.4, 0.2)]]
    )
    told = [replace(point, chosen=number == 1) for number, point in enumerate(points)]
    spec = sweep_front([*told, SweepPoint((0,), 1e30, np.inf, np.inf)]).to_dict()  # one without numbers has no place
    (line,) = [layer for layer in spec["layer"] if layer.get("mark", {}).get("type") == "line"]
    assert [row["left"] for row in line["data"]["values"]] == [0.3, 0.1]  # the third is beaten
    assert "3 layers 0–2 at 1" in str(spec)
    rings = str(spec).count("datum.marked")
    assert rings > str(sweep_front(points).to_dict()).count("datum.marked")
    told = [replace(point, name=f"plan {number}") for number, point in enumerate(told)]
    assert str(sweep_front(told).to_dict()).count("datum.marked") == rings
    assert "plan 1, 3 layers 0–2 at 1" in str(sweep_front(told).to_dict())  # the layers alone do not tell them apart


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
    (chosen,) = [point for point in points if point.chosen]
    assert (result.layers, result.strength) == (chosen.layers, chosen.strength)
    assert plans[chosen.name].layers == chosen.layers
    assert points.index(chosen) == choose_point(points)
    with pytest.raises(TaskError, match="prompts to choose a setting"):
        sweep_interventions(model, make_tokenizer(), plans, InterventionTests(TEXTS))
    with pytest.raises(TaskError, match="there is nothing to try"):
        sweep_interventions(model, make_tokenizer(), plans, tests, strengths=())


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        (TEXTS[:1], {}),
        (TEXTS, {"prompts": PROMPTS.prompts[:3], "known": [0.1, 0.2, 0.3]}),
        (TEXTS, {"prompts": PROMPTS.prompts * 2, "known": [0.5] * 8}),
        (TEXTS, {"prompts": PROMPTS.prompts * 2, "known": list(range(8)), "groups": ["one"] * 8}),
    ],
)
def test_tests_that_cannot_be_halved_are_an_error(model, texts, changed):
    tests = InterventionTests(texts, stereotypes=replace(PROMPTS, **changed))
    plans = {"first": Intervention("project", {0: LayerChange.along(AXIS)})}
    with pytest.raises(TaskError, match="A sweep halves both"):
        sweep_interventions(model, make_tokenizer(), plans, tests)


def test_a_preference_is_removed_layer_by_layer_and_what_is_kept_stays(model):
    tokenizer = make_tokenizer()
    ends = ["said that", "was tired", "was never", "is good", "is bad", "said he", "said she", "was very", "is tired"]
    prompts = [f"{who} {end}" for who in ("the nurse", "a doctor", "the film", "a nurse", "the doctor") for end in ends]
    asked = Continuations(prompts, "he", "she", [0.0] * len(prompts))
    odds = continuation_log_odds(model, tokenizer, asked)
    texts = [f"{first} {second} {third}" for first in ["the", "a"] for second in ["film", "nurse", "doctor"]
             for third in ["is", "was", "said"]]  # fmt: skip
    kept = LabelledTexts(tuple(prompts[:18]), (1.0, 0.0) * 9)
    tests = InterventionTests(texts, probe_layers=())  # learn from all prompts
    made, _ = remove_preference(model, tokenizer, asked, texts, layers=[2, 1], tests=tests, name="he or she")
    keeping, _ = remove_preference(model, tokenizer, asked, texts, layers=[1], preserve=kept, tests=tests)
    assert made.layers == (1, 2)

    def covariance(change, given, labels, layer):
        with change.applied(model):
            rows = np.asarray(read_states(model, tokenizer, given, layers=[layer])[layer], dtype=np.float64)
        return (rows - rows.mean(axis=0)).T @ (np.asarray(labels) - np.mean(labels)) / len(rows)

    nothing = made.at(0.0)
    for layer in made.layers:  # also after the second, which the first one has changed
        assert np.abs(covariance(nothing, prompts, odds, layer)).max() > 1e-3  # the control
        assert covariance(made, prompts, odds, layer) == pytest.approx(np.zeros(WIDTH), abs=1e-6)
    before = covariance(nothing, kept.texts, kept.labels, 1)
    assert covariance(keeping, kept.texts, kept.labels, 1) == pytest.approx(before, abs=1e-6)
    assert covariance(made, kept.texts, kept.labels, 1) != pytest.approx(before, abs=1e-6)
    assert remove_preference(model, tokenizer, asked, texts)[0].layers == (2,)  # so few blocks have no fourth


def test_each_layer_learns_from_states_that_the_layers_before_it_have_changed(model):
    tokenizer, given = make_tokenizer(), (PROMPTS.prompts, TEXTS)
    odds, seen, steps = continuation_log_odds(model, tokenizer, PROMPTS), [], []

    def make(asked, ordinary):
        seen.append(asked)
        return leace_beside(asked, odds, ordinary)

    found = learn_changes(model, tokenizer, given, [2, 1], make, progress=lambda *done: steps.append(done))
    assert list(found) == [1, 2]
    assert steps == [(1, 2), (2, 2)]
    plain = read_states(model, tokenizer, PROMPTS.prompts, layers=[1, 2])
    with Intervention("project", {1: found[1]}).applied(model):
        changed = read_states(model, tokenizer, PROMPTS.prompts, layers=[2])
        ordinary = read_states(model, tokenizer, TEXTS, layers=[2])
    assert seen[0] == pytest.approx(np.asarray(plain[1]), abs=1e-6)
    assert seen[1] == pytest.approx(np.asarray(changed[2]), abs=1e-6)
    assert seen[1] != pytest.approx(np.asarray(plain[2]), abs=1e-3)  # the control
    erasure = leace_beside(np.asarray(changed[2], np.float64), odds, np.asarray(ordinary[2], np.float64))
    assert found[2].right == pytest.approx(erasure.right, abs=1e-6)
    seen.clear()
    at_once = learn_changes(model, tokenizer, given, [1, 2], make, in_order=False)
    assert seen[1] == pytest.approx(np.asarray(plain[2]), abs=1e-6)
    assert at_once[1].left == pytest.approx(found[1].left, abs=1e-6)


def test_probes_are_fitted_on_held_out_texts_if_the_tests_have_none(model):
    tokenizer = make_tokenizer()
    rows = [(f"{article} {who} {end}", article, f"{who} {end}") for who in ("nurse", "doctor", "film")
            for end in ("was tired", "is good", "is bad", "was never tired", "was very good", "said that")
            for article in ("the", "a")]  # fmt: skip
    texts = LabelledTexts(*map(tuple, zip(*rows, strict=True)))
    options = {"layers": [0], "ordinary": TEXTS}
    report = remove_concept(model, tokenizer, texts, tests=InterventionTests(TEXTS), **options)[1]
    probes = [row.measure for row in report.rows_found if "probe" in row.measure]
    assert probes == [f"{kind} probe, layer {layer}" for layer in (0, 1, 2) for kind in ("linear", "MLP")]
    assert report["perplexity"].before == pytest.approx(np.exp(log_perplexity(model, tokenizer, TEXTS)))
    own = InterventionTests(TEXTS, probe=texts, probe_layers=[1])  # probes and layers of the caller are kept
    report = remove_concept(model, tokenizer, texts, tests=own, **options)[1]
    assert [row.measure for row in report.rows_found if "probe" in row.measure] == probes[2:4]
    none = remove_concept(model, tokenizer, texts, tests=replace(own, probe=None, probe_layers=()), **options)[1]
    assert not [row for row in none.rows_found if "probe" in row.measure]


def test_a_removed_preference_is_probed_and_says_how_to_count_answers(model):
    tokenizer, ends = (
        make_tokenizer(),
        ("said that", "was tired", "was never", "is good", "is bad", "said he", "was", "said"),
    )
    prompts = [f"{who} {end}" for who in ("the nurse", "a doctor", "the film", "a nurse", "the doctor") for end in ends]
    asked = Continuations(prompts, "he", "she", [0.0] * len(prompts))
    options = {"texts": TEXTS * 3, "layers": [0]}
    for tests in (None, InterventionTests(TEXTS)):
        _, report = remove_preference(model, tokenizer, asked, tests=tests, **options)
        probed = {row.measure for row in report.rows_found if "linear probe" in row.measure}
        assert probed == {f"linear probe, layer {layer}" for layer in (0, 1, 2)}
        assert any("Correct answers were not counted" in note and "preserve" in note for note in report.notes)
    definitions = Continuations(["the nurse", "a doctor", "the film"], "he", "she", [0.0, 1.0, 1.0])
    tests = InterventionTests(TEXTS, definitions=definitions)
    _, report = remove_preference(model, tokenizer, asked, tests=tests, **options)
    assert not any("Correct answers" in note for note in report.notes)
    few = remove_preference(model, tokenizer, PROMPTS, tests=InterventionTests(TEXTS), **options)[1]
    assert any("4 prompts are too few" in note for note in few.notes)


def test_layers_between_the_changed_ones_are_probed():
    assert probed_layers([1, 5], 8) == [1, 2, 3, 4, 5, 6, 7]
    many = probed_layers([16, 20, 24, 28], 30)  # those of remove_preference in SmolLM2
    assert len(many) == 12
    assert {16, 20, 24, 28, 29} <= set(many)
    assert max(np.diff(many)) == 2
    assert probed_layers(range(5, 29), 30) == list(range(5, 30))  # never fewer than are changed


@pytest.mark.slow
def test_a_concept_is_removed_in_order_and_reported_on_texts_it_has_not_seen(model):
    tokenizer = make_tokenizer()
    ends = ["was tired", "is good", "is bad", "was never tired", "was very good", "said that"]
    rows = [(f"{article} {who} {end}", article, f"{who} {end}") for who in ("nurse", "doctor", "film") for end in ends
            for article in ("the", "a")]  # fmt: skip
    texts = LabelledTexts(*map(tuple, zip(*rows, strict=True)))
    all_texts = InterventionTests(TEXTS, probe_layers=())
    removal, report = remove_concept(model, tokenizer, texts, tests=all_texts, layers=[2, 0, 1])
    assert (removal.operation, removal.layers) == ("project", (0, 1, 2))
    assert [row.measure for row in report.rows_found] == ["perplexity", "divergence"]
    y = np.array([label == "the" for label in texts.labels])

    def apart(change):
        with change.applied(model):
            states = read_states(model, tokenizer, texts.texts)
        return [float(np.linalg.norm(states[n][y].mean(axis=0) - states[n][~y].mean(axis=0))) for n in (0, 1, 2)]

    assert min(apart(removal.at(0.0))) > 0.01  # the control
    assert max(apart(removal)) < 1e-4  # after every layer, also after those that the first one has changed
    at_once = {layer: LayerChange.of(leace(np.asarray(read_states(model, tokenizer, texts.texts)[layer], np.float64), y))
               for layer in (0, 1, 2)}  # fmt: skip
    assert apart(Intervention("project", at_once))[2] > 1e-3  # learned on the unchanged model, it grows again
    removal, report = remove_concept(model, tokenizer, texts, layers=[0], ordinary=TEXTS, random_state=1)
    for kind in ("linear", "MLP"):
        for layer in (0, 1, 2):  # from the changed one to the last
            assert report[f"{kind} probe, layer {layer}"].before > 0.6
    assert "linear probe" in report.summary
    assert "perplexity" in report.summary
    axis, _ = remove_concept(model, tokenizer, texts, layers=[1], method="mean-difference")
    assert pytest.approx(axis.changes[1].right, abs=1e-6) == axis.changes[1].left.T
    few = texts.only(range(4))
    notes = remove_concept(model, tokenizer, few, layers=[1])[1].notes
    assert any("Probes were not fitted" in note for note in notes)
    assert any("written by the model itself" in note for note in notes)
    assert not any("written by the model" in note for note in report.notes)  # it was given some
    none = remove_concept(model, tokenizer, texts, layers=[1], ordinary=())
    assert not any("written by the model" in note for note in none[1].notes)
    own, again = (remove_concept(model, tokenizer, texts, layers=[1])[0].changes[1] for _ in range(2))
    np.testing.assert_array_equal(own.right, again.right)  # the same seed, the same text
    assert np.abs(own.right - none[0].changes[1].right).max() > 1e-4  # it is used
    with pytest.raises(TaskError, match="only 'leace' can use it"):
        remove_concept(model, tokenizer, texts, method="ridge", ordinary=TEXTS)
    with pytest.raises(TaskError, match="has 1 kinds of labels"):
        remove_concept(model, tokenizer, texts.only(range(0, 12, 2)))
    with pytest.raises(TaskError, match="two or more classes are needed"):
        remove_concept(model, tokenizer, texts.only(range(2)))


def test_the_level_is_removed_with_the_preference(model):
    tokenizer, tests = make_tokenizer(), InterventionTests(TEXTS, probe_layers=())
    asked = PROMPTS.only([0, 1, 2])
    plain = continuation_log_odds(model, tokenizer, asked)
    removal, _ = remove_preference(model, tokenizer, asked, TEXTS, layers=[1, 2], tests=tests)
    assert abs(plain.mean()) > 0.05  # the control
    assert abs(continuation_log_odds(model, tokenizer, asked, removal).mean()) < 0.02
    kept = LabelledTexts(
        ("the nurse was", "a film is", "the film was", "a doctor said", "the doctor is"), (1, 0, 1, 0, 1)
    )
    keeping, _ = remove_preference(model, tokenizer, asked, TEXTS, layers=[1, 2], tests=tests, preserve=kept)
    odds = continuation_log_odds(model, tokenizer, Continuations(kept.texts, "he", "she", kept.labels), keeping)
    assert abs(odds[[0, 2, 4]].mean() + odds[[1, 3]].mean()) / 2 < 0.02  # the classes count alike


def test_odds_of_templates_are_taken_about_their_means(model):
    tokenizer, texts = make_tokenizer(), ["the film is", "a nurse was", "the doctor said"]
    templates = [0, 0, 1, 1]
    made, _ = remove_preference(
        model,
        tokenizer,
        PROMPTS,
        texts,
        templates=templates,
        layers=[1],
        tests=InterventionTests(texts, probe_layers=()),
    )
    odds = continuation_log_odds(model, tokenizer, PROMPTS)
    within = odds - np.repeat([odds[:2].mean(), odds[2:].mean()], 2)
    with made.applied(model):
        rows = np.asarray(read_states(model, tokenizer, PROMPTS.prompts, layers=[1])[1], dtype=np.float64)
    assert (rows - rows.mean(axis=0)).T @ within == pytest.approx(np.zeros(WIDTH), abs=1e-5)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"texts": TEXTS[:1]}, "1 ordinary text is given"),
        ({"strength": float("nan")}, "a finite number is needed"),
        ({"templates": [0, 1]}, "2 templates are given for 4 prompts"),
        ({"templates": [0, 1, 2, 3]}, "the same after all prompts of a template"),
        ({"layers": [3]}, "the model has 3 layers"),
    ],
)
def test_a_removal_that_cannot_be_learned_is_an_error(model, changed, said):
    with pytest.raises(TaskError, match=said):
        remove_preference(model, make_tokenizer(), PROMPTS, **({"texts": TEXTS} | changed))


def test_what_is_kept_needs_two_classes(model):
    with pytest.raises(TaskError, match="two are needed"):
        remove_preference(
            model, make_tokenizer(), PROMPTS, TEXTS, preserve=LabelledTexts(("the film", "a nurse"), (1, 1))
        )


def test_preserved_prompts_may_be_labelled_with_their_correct_continuation(model):
    tokenizer, prompts = make_tokenizer(), ("the nurse was", "a film is", "the film was", "a doctor said")
    learn = {"texts": TEXTS, "layers": [1], "tests": InterventionTests(TEXTS, probe_layers=())}

    def learned(*labels):
        return remove_preference(model, tokenizer, PROMPTS, preserve=LabelledTexts(prompts, labels), **learn)[0]

    def sides(*labels):
        return _correct_sides(LabelledTexts(prompts, labels), PROMPTS).tolist()

    numbers, words = learned(1, 0, 1, 0), learned("he", "she", "he", "she")  # "she" sorts after "he"
    assert np.array_equal(numbers.changes[1].origin, words.changes[1].origin)
    assert np.array_equal(numbers.changes[1].right, words.changes[1].right)
    assert sides(1, 0, 1, 0) == sides("he", " She", "He", "she") == [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(TaskError, match="'male', which is not one of the continuations"):
        learned("male", "female", "male", "female")


@pytest.mark.parametrize(("known", "correct"), [([0.0] * 4, [False] * 4), ([1.0] * 4, [True] * 4),
                                                ([-1.0, 1.0, 1.0, -1.0], [False, True, True, False])])  # fmt: skip
def test_definitions_may_have_one_answer(model, known, correct):
    asked = replace(PROMPTS, known=known)
    odds = continuation_log_odds(model, make_tokenizer(), asked)
    tests = InterventionTests(TEXTS, definitions=asked)
    row = evaluate_intervention(
        model, make_tokenizer(), Intervention("add", {0: LayerChange.along(AXIS)}, 1e-9), tests
    )["definitional prompts, correct answers"]
    assert row.before == np.mean((odds > 0) == np.array(correct))


@pytest.mark.parametrize(("known", "said"), [([0.2, 0.8, 0.5, 0.1], r"are 0.1, 0.2, 0.5, …; 1 is needed where"),
                                             ([2.0] * 4, "are 2; 1 is needed where")])  # fmt: skip
def test_definitions_without_two_answers_are_an_error(known, said):
    with pytest.raises(TaskError, match=said):
        InterventionTests(TEXTS, definitions=replace(PROMPTS, known=known))
    with pytest.raises(TaskError, match="known value of prompt 2 is nan"):
        replace(PROMPTS, known=[0.0, float("nan"), 1.0, 0.0])


def test_one_group_of_prompts_has_no_interval_and_few_have_a_note(model):
    change = Intervention("add", {1: LayerChange.along(AXIS)}, 3.0)
    one = InterventionTests(TEXTS, stereotypes=replace(PROMPTS, groups=["one"] * 4))
    result = evaluate_intervention(model, make_tokenizer(), change, one)
    assert result["level"].interval is None
    assert any("the texts form one group, so it has no interval" in note for note in result.notes)
    few = InterventionTests(TEXTS * 2, stereotypes=PROMPTS)
    result = evaluate_intervention(model, make_tokenizer(), change, few)
    assert result["level"].interval is not None
    assert any("4 groups, so its interval is too narrow" in note for note in result.notes)
    assert evaluate_intervention(model, make_tokenizer(), change, InterventionTests(TEXTS * 2)).notes == ()


def test_a_sweep_says_that_no_setting_meets_its_bounds(model):
    prompts = [f"{a} {b} {c}" for a in ("the", "a") for b in ("nurse", "doctor") for c in ("said that", "was", "is")]
    known = list(np.random.default_rng(0).random(len(prompts)))
    tests = InterventionTests(TEXTS * 2, stereotypes=Continuations(prompts, "he", "she", known))
    plans = {"first": Intervention("project", {0: LayerChange.along(AXIS)})}
    said = "No setting meets all three bounds."
    for bound, missed in ((-1.0, True), (1.0, False)):
        loose = {"at_most": bound, "perplexity_at_most": np.inf}
        _, result = sweep_interventions(model, make_tokenizer(), plans, tests, strengths=(1.0,), **loose)
        assert any(note.startswith(said) for note in result.notes) is missed


def test_texts_of_one_token_have_no_perplexity(model):
    with pytest.raises(TaskError, match="none has two tokens"):
        log_perplexity(model, make_tokenizer(), ["the", "film"])
