"""The scripts behind the page on language models: extractors by their definitions, a removal that keeps, figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from results_pages import on_language_models

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import measure_interventions
        import measure_states
    finally:
        sys.path.remove(str(SCRIPTS))
    return measure_states, measure_interventions


def planted_pairs(random, n_pairs=60, width=12):
    """Pairs that differ by one constant step along column 0, and by noise along column 1 most of all."""
    base = random.normal(size=(n_pairs, width))
    steps = random.normal(size=(n_pairs, width)) * np.array([0.1, 3.0, *[0.5] * (width - 2)])
    steps[:, 0] += 2.0
    rows = np.empty((2 * n_pairs, width))
    rows[0::2], rows[1::2] = base + steps, base
    return rows, np.tile([1, 0], n_pairs), np.repeat(np.arange(n_pairs), 2)


def test_caa_is_the_mean_of_differences_and_centred_components_lose_a_constant_step(scripts):
    X, y, groups = planted_pairs(np.random.default_rng(0))
    reading = scripts[0]
    axes = {name: reading.direction(name, X, y, groups) for name in ("caa", "pca_diff", "lat")}
    mean = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert axes["caa"] == pytest.approx(mean / np.linalg.norm(mean))
    assert abs(axes["caa"][0]) > 0.9
    assert abs(axes["pca_diff"][0]) < 0.1  # the step is in the mean that centring takes away
    assert abs(axes["pca_diff"][1]) > 0.9
    assert all(np.linalg.norm(axis) == pytest.approx(1.0) for axis in axes.values())


def test_a_scaled_method_is_the_method_in_scaled_columns(scripts):
    X, y, groups = planted_pairs(np.random.default_rng(1))
    axis = scripts[0].direction("mean-difference scaled", X, y, groups)
    spread = X.std(axis=0)
    expected = (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) / spread / spread
    assert axis == pytest.approx(expected / np.linalg.norm(expected))


def test_halves_share_no_group(scripts):
    groups = np.repeat(np.arange(10), 3)
    train = scripts[0].split(groups, 0)
    assert train.sum() == 15
    assert not set(groups[train]) & set(groups[~train])


def test_figures_of_a_removal_are_those_by_hand(scripts, tmp_path):
    script = scripts[1]
    share = np.linspace(0.1, 0.9, 6)
    prompts, pairs = len(script.PROMPTS), 4
    before = np.concatenate([np.tile(-share, prompts), np.tile([1.0, -1.0], prompts * pairs)])
    after = np.concatenate([np.tile(share, prompts) + 1.0, np.tile([-1.0, 1.0], prompts * pairs)])
    losses = np.array([[[2.0, 1.0]] * 10, [[2.0 + np.log(1.1), 1.0]] * 10])
    keys = [["nothing", "none", [], 0.0], ["LEACE, pairs", "all but the last", [0], 1.0]]
    np.savez(tmp_path / "raw.npz", keys=json.dumps(keys), share=share, odds=np.array([before, after]), losses=losses)
    known = script.Measured(tmp_path / "raw.npz")
    found = [known.figures(point, *known.all_of()) for point in (0, 1)]
    assert [row["rho"] for row in found] == pytest.approx([-1.0, 1.0])
    assert [row["kept"] for row in found] == [1.0, 0.0]
    assert [row["cost"] for row in found] == pytest.approx([0.0, 0.1])
    assert found[1]["level"] == pytest.approx(1.5)


def test_steering_is_compared_at_equal_effect(scripts):
    rows = []
    for method, slope in (("mean-difference", 0.02), ("ridge", 0.01), ("random", 0.03)):
        for strength in (0.5, 2.0, 4.0):
            key = {"concept": "sentiment", "layer": 3, "seed": 0, "method": method, "strength": strength}
            rows.append(key | {"effect": strength * (method != "random"), "cost": slope * strength})
    costs = scripts[1].equal_effect(rows)
    assert costs["sentiment", 3, "ridge"] == pytest.approx([0.01])  # at an effect of one nat
    assert costs["sentiment", 3, "mean-difference"] == pytest.approx([0.02])
    assert np.isnan(costs["sentiment", 3, "random"]).all()


def test_the_page_keeps_what_it_says_of_removal(scripts):
    known = json.loads((SCRIPTS.parent / "docs" / "states_removal.json").read_text("utf-8"))
    point = {(row["remover"], row["where"], row["strength"]): row for row in known["points"]}
    ours = point["occupations beside text, in order", "upper half, every fourth", 1.0]
    everywhere = point["LEACE, pairs", "all but the last", 1.0]
    assert abs(ours["rho"]) <= 0.05
    assert ours["cost"] < 0.03
    assert ours["correct"] < 0.75
    assert ours["kept"] > 0.95, "the AUC hides the lost answers"
    assert abs(ours["rho"]) <= abs(everywhere["rho"])
    assert ours["cost"] < everywhere["cost"] / 10
    halves = known["chosen"]["any remover"]
    reported = {name: [half["reported_on"] for half in halves] for name, halves in known["chosen"].items()}
    stayed = [np.mean([half["correct"] for half in reported[name]]) for name in ("LEACE, pairs", "any remover")]
    assert (
        f"On average, {stayed[0]:.0%} (LEACE from pairs) or {stayed[1]:.0%} (any remover) of the"
        in on_language_models()
    )
    met = [
        abs(half["rho"]) <= 0.05 and half["correct"] >= 0.9 and half["cost"] < 0.03
        for halves in reported.values()
        for half in halves
    ]
    assert len(met) == 32
    assert not any(met), "no chosen setting is within all bounds"
    assert max(half["reported_on"]["cost"] for half in halves) < 0.03


def test_the_page_keeps_what_it_says_of_a_second_model(scripts):
    known = json.loads((SCRIPTS.parent / "docs" / "states_removal_second.json").read_text("utf-8"))
    point = {(row["remover"], row["where"]): row for row in known["points"]}
    late = point["occupations beside text, in order", "late, every second"]
    other = point["LEACE, pairs", "late, every second"]
    assert abs(late["rho"]) < 0.2 < abs(point["nothing", "none"]["rho"])
    assert late["cost"] < 0.003
    assert other["cost"] > 0.04
    assert late["kept"] > 0.95 > other["kept"] > other["correct"] > late["correct"] == 0.5
    assert point["occupations beside text, pairs kept, in order", "late, every second"]["correct"] > 0.98


def test_every_method_is_measured_after_every_layer_of_three_models(scripts):
    script = scripts[0]
    known = script.Reading(json.loads(script.NUMBERS.read_text("utf-8")))
    for model, count in zip(script.MODELS, (30, 18, 6), strict=True):
        for name in ("cities", "sp_en_trans", "sst2", "winogender"):
            for method in script.METHODS:
                assert known.layers(model, name, method) == list(range(count))
                assert known.over_layers(model, name, method).shape == (count, script.N_SPLITS)


@pytest.mark.slow
def test_the_page_keeps_what_it_says_of_reading(scripts):
    script = scripts[0]
    known = script.Reading(json.loads(script.NUMBERS.read_text("utf-8")))
    cells = [cell for cell in known.cells if cell[0] in script.MODELS]
    assert len(cells) == 12
    for method in script.METHODS:
        if method != "ridge scaled":
            leads = [script.interval(known.leads("ridge scaled", method, *cell).mean(axis=0)) for cell in cells]
            assert all(mean > -half for mean, half in leads)
            assert all(mean > -0.005 for mean, _ in leads) or method not in ("ridge", "logistic scaled")
    read = [row for row in known.rows if row["set"] == "cities" and np.mean(row["auc"]) > 0.9]
    assert len(read) > 200
    assert max(np.mean(row["neg_cities"]) for row in read) < 0.3  # a negation turns round what is an association


def test_one_layer_is_read_on_two_cores_in_about_the_time_of_the_backbone():
    (found,) = json.loads((SCRIPTS.parent / "docs" / "states_speed_cpu.json").read_text("utf-8"))
    page = on_language_models()
    assert (found["threads"], found["texts"], found["layer"]) == (2, 160, 11)
    assert found["read_seconds"] / found["bare_seconds"] == found["ratio"] <= 1.1
    assert f"takes {found['ratio']:.2f} times as long as the backbone alone" in page
    assert f"{found['read_seconds']:.1f} and {found['bare_seconds']:.1f} seconds" in page


def test_one_layer_is_read_at_four_fifths_of_the_speed_of_the_backbone_and_in_flat_memory():
    found = json.loads((SCRIPTS.parent / "docs" / "states_speed.json").read_text("utf-8"))
    page = on_language_models()
    assert found["texts"] == 100_000
    assert found["bare_layer_seconds"] / found["layer_seconds"] >= 0.8
    assert found["bare_seconds"] / found["read_seconds"] >= 0.7
    without = found["bare_layer_seconds"] / (found["layer_seconds"] - found["tokenizing_seconds"])
    assert f"Without tokenizing, it would reach {without:.0%}." in page
    memory = found["resident_bytes"]
    assert max(memory) <= 1.03 * min(memory)
    assert max(memory) - min(memory) < found["bytes"] / 100  # it does not grow with what is written


def states_page() -> str:
    return " ".join((SCRIPTS.parent / "docs" / "states.md").read_text("utf-8").split())


def test_proposed_groups_are_never_worse_than_none():
    rows = json.loads((SCRIPTS.parent / "docs" / "states_proposed.json").read_text("utf-8"))
    cells: dict[str, dict[tuple, tuple[float, float]]] = {"none": {}, "proposed": {}, "true": {}}
    for row in rows:
        means = float(np.mean(row["auc"])), float(np.mean(row["cross_validated"]))
        cells[row["groups"]][row["model"], row["set"], row["layer"]] = means
    assert len(cells["none"]) == len(cells["proposed"]) == len(cells["true"]) == 16
    none, proposed, true = (np.mean([auc for auc, _ in found.values()]) for found in cells.values())
    page = states_page()
    said = f"is {none:.3f} without groups, {proposed:.3f} with proposed groups and {true:.3f} with the true ones"
    assert said in on_language_models()
    leads = [auc - cells["none"][cell][0] for cell, (auc, _) in cells["proposed"].items()]
    assert min(leads) > -0.001
    assert f"up to {max(leads):.2f} better" in page
    pairs = [found for cell, found in cells["proposed"].items() if cell[1] == "winogender"]
    new, inside = zip(*pairs, strict=True)
    assert f"AUC is {min(inside):.2f} to {max(inside):.2f} with proposed groups" in page
    assert f"occupations is {min(new):.2f} to {max(new):.2f}." in page


def test_an_interval_of_a_layer_contains_the_expected_auc_as_often_as_the_page_says():
    rows = json.loads((SCRIPTS.parent / "docs" / "states_intervals.json").read_text("utf-8"))
    assert {(row["n_groups"], row["balanced"]) for row in rows} == {(n, b) for n in (8, 20, 40) for b in (True, False)}
    assert min(row["n_draws"] for row in rows) >= 250
    for target, said in (
        ("mean AUC", "of the intervals contain the mean AUC"),
        ("own axis on new groups", "contain the AUC of the fitted axis on new groups"),
    ):
        shares = [row["covered"][target] for row in rows]
        assert f"{100 * min(shares):.0f} to {max(shares):.0%} {said}." in states_page()
    lowest = min(rows, key=lambda row: row["covered"]["mean AUC"])
    assert (lowest["n_groups"], lowest["balanced"]) == (8, False)
    assert all(row["covered"]["estimate"] == 1.0 for row in rows)


def test_the_page_says_how_many_answers_stay_correct_without_the_level():
    docs = SCRIPTS.parent / "docs"
    before, after = (
        json.loads((docs / "states_levels.json").read_text())[name] for name in ("nothing", "pairs preserved")
    )
    counts = []
    for template, odds in before["answers"].items():
        right = np.tile([True, False], len(odds) // 2)
        was, stays = ((np.array(found["answers"][template]) > 0) == right for found in (before, after))
        counts.append((was.sum(), (was & stays).sum()))
    assert np.sum(counts, axis=0).tolist() == [94, 94]
    page = on_language_models()
    cost = 100 * np.expm1(after["loss"] - before["loss"])
    for figure in (
        f"−{-before['rho']:.2f} to −{-after['rho']:.2f}",
        f"by {cost:.1f}%",
        f"+{after['level']:.2f}",
        "all 94",
    ):
        assert figure in page


def _words_of_the_page() -> str:
    return on_language_models()


def test_the_page_gives_the_figures_of_layers_and_methods(scripts):
    script, page = scripts[0], _words_of_the_page()
    known = script.Reading(json.loads(script.NUMBERS.read_text("utf-8")))

    def by_layer(model, name):
        return [f"{auc:.2f}" for auc in known.over_layers(model, name, "ridge scaled").mean(axis=1)]

    cities, gender = (by_layer("SmolLM2-135M", name) for name in ("cities", "winogender"))
    assert f"an AUC of {cities[8]} after layer 8, and of {min(cities[11:])} to {max(cities[11:])} from layer 11" in page
    gemma = by_layer("Gemma-3-270M", "cities")
    assert set(gemma[7:]) == {"0.99"}
    assert f"In Gemma it is {gemma[6]} after layer 6, and 0.99 from layer 7 on" in page
    assert set(gender[25:]) == {"1.00"}
    assert f"For gender in SmolLM2 the AUC is {gender[20]} after layer 20 and 1.00 from layer 25 on" in page
    cells = [cell for cell in known.cells if cell[0] in script.MODELS]
    leads = [script.interval(known.leads("densray-unit", "mean-difference", *cell).mean(axis=0)) for cell in cells]
    ahead = [mean for mean, half in leads if mean > half]
    behind = [(cell, mean) for cell, (mean, half) in zip(cells, leads, strict=True) if -mean > half]
    assert (len(ahead), [cell for cell, _ in behind]) == (6, [("MiniLM-L6", "cities")])
    assert f"(+{np.mean([mean for mean, _ in leads]):.3f} for `densray-unit`)" in page
    assert f"six cases, by {min(ahead):.3f} to {max(ahead):.3f}" in page
    assert f"cities in MiniLM, by {-behind[0][1]:.3f}" in page
    groups = json.loads(script.GROUPS.read_text("utf-8"))
    lost = {
        name: max(row["mean"]["with groups"] - row["mean"]["ridge"] for row in groups if row["set"] == name)
        for name in ("winogender", "cities")
    }
    assert f"up to {lost['winogender']:.2f} lower on Winogender and up to {lost['cities']:.2f} lower on cities" in page


def test_the_page_gives_the_figures_of_transfer(scripts):
    script, page = scripts[0], _words_of_the_page()
    known = script.Reading(json.loads(script.NUMBERS.read_text("utf-8")))
    for model, said in (
        ("SmolLM2-135M", "the AUC on translations is {} for the mean difference and {} for ridge in SmolLM2"),
        ("Gemma-3-270M", "and {} and {} in Gemma (scaled columns)"),
    ):
        detected = known.over_layers(model, "cities", "ridge scaled").mean(axis=1) > 0.9
        there = [
            known.over_layers(model, "cities", method, "sp_en_trans")
            for method in ("mean-difference scaled", "ridge scaled")
        ]
        assert said.format(*(f"{auc[detected].mean():.2f}" for auc in there)) in page
        mean, half = script.interval((there[1] - there[0])[~detected].mean(axis=0))
        assert f"{mean:.2f}" == "0.03"
        assert mean > half
    model = next(model for model, name in known.cells if name == "en")
    methods = ("ridge", "densray", "densray-unit", "mean-difference", "densifier")
    spans = {}
    for name in ("auc", "de", "fr", "es"):
        found = [known.over_layers(model, "en", method, name)[0].mean() for method in methods]
        spans[name] = " to ".join(dict.fromkeys(f"{end:.2f}" for end in (min(found), max(found))))
    assert (
        "{de} in German, {fr} in French and {es} in Spanish. On held-out English words it is {auc}".format(**spans)
        in page
    )


def test_the_page_says_how_much_is_left_on_the_other_half_and_which_layer_is_cheap(scripts):
    page = _words_of_the_page()
    docs = SCRIPTS.parent / "docs"
    halves = json.loads((docs / "states_removal.json").read_text("utf-8"))["chosen"]["any remover"]
    left = {part: np.mean([abs(half[part]["rho"]) for half in halves]) for part in ("chosen_on", "reported_on")}
    assert (
        f"|ρ| is {left['reported_on']:.2f} on average on the other half, and {left['chosen_on']:.2f} on the half used"
        in page
    )
    by_chance = np.sqrt(2 / np.pi / 29)  # the mean of |ρ| for thirty independent pairs
    assert f"|ρ| would be about {by_chance:.2f}" in page
    costs = scripts[1].equal_effect(json.loads((docs / "states_steering.json").read_text("utf-8")))
    times = {
        method: np.expm1(costs["sentiment", 11, method].mean()) / np.expm1(costs["sentiment", 19, method].mean())
        for method in ("mean-difference", "ridge")
    }
    assert {method: round(ratio) for method, ratio in times.items()} == {"mean-difference": 4, "ridge": 8}
    assert "four times as much perplexity" in page
    assert "With ridge, the factor is eight." in page
    reached = [np.isfinite(values).sum() for (_, _, method), values in costs.items() if method == "random"]
    assert max(reached) == 1


def test_the_page_says_how_high_the_best_of_ten_probes_is_by_chance():
    from densray.metrics import auc

    random, page = np.random.default_rng(0), _words_of_the_page()
    for n_texts, said in ((800, "0.53 on average with 800 texts"), (240, "0.56 with 240 texts")):
        y = np.tile([0, 1], n_texts // 2)
        best = [max(auc(y, random.normal(size=n_texts)) for _ in range(10)) for _ in range(300)]
        assert float(said.split()[0]) == pytest.approx(np.mean(best), abs=0.005)
        assert said in page


def test_two_models_that_chose_nothing_confirm_the_default(scripts):
    reading, page = scripts[0], _words_of_the_page()
    known = reading.Reading(json.loads(reading.CONFIRMATION.read_text("utf-8")))
    assert len(known.cells) == 8
    leads = {
        other: [reading.interval(known.leads("ridge scaled", other, *cell).mean(axis=0)) for cell in known.cells]
        for other in ("mean-difference", "logistic scaled")
    }
    assert sum(mean > half for mean, half in leads["mean-difference"]) == 6
    assert "ahead of the mean difference in 6 of 8 cases" in page
    assert max(abs(mean) for mean, _ in leads["logistic scaled"]) < 0.0135
    clear = [round(mean, 3) for mean, half in leads["logistic scaled"] if abs(mean) > half]
    assert clear == [0.003]
    cities = known.over_layers("TinyLlama-1.1B", "cities", "ridge scaled").mean(axis=1)
    assert cities[:7].max() < 0.6
    assert cities[9:].min() >= 0.945
    assert known.over_layers("mpnet-base", "sp_en_trans", "ridge scaled").mean(axis=1).max() < 0.61
