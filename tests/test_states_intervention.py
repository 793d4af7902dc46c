"""Interventions: nothing at strength zero, nothing left of the axis after the block, never a hook left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from densray.affine import AffineMap
from densray.errors import OutputError, PersistenceError, TaskError
from densray.states import Intervention, LayerChange, States, find_blocks, generate_texts, model_checksum, read_states
from densray.states._generation import generate_tokens
from tiny_models import FAMILIES, N_BLOCKS, WIDTH, make_model, make_tokenizer, torch

TEXTS = ["the nurse said that she was tired", "good film", "the doctor said that he was never tired again"]
AXIS = np.random.default_rng(0).normal(size=WIDTH)
ORIGIN = np.random.default_rng(1).normal(size=WIDTH)


@pytest.fixture(params=FAMILIES)
def model(request):
    return make_model(request.param)


def logits(model):
    ids = torch.tensor([make_tokenizer()(TEXTS[0])["input_ids"]])
    with torch.inference_mode():
        output = model(input_ids=ids)
    return (output.logits if hasattr(output, "logits") else output.last_hidden_state).numpy()


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


@pytest.mark.parametrize(("operation", "strength"), [("project", 0.0), ("add", 0.0), ("scale", 1.0)])
def test_an_identity_changes_nothing_to_the_bit(model, operation, strength):
    before = logits(model)
    with Intervention(operation, {0: LayerChange.along(AXIS), 2: LayerChange.along(AXIS)}, strength).applied(model):
        assert np.array_equal(logits(model), before)


@pytest.mark.parametrize("layer", range(N_BLOCKS))
def test_the_axis_reads_as_its_origin_after_the_block_that_erases_it(model, layer):
    tokenizer = make_tokenizer()
    unit = AXIS / np.linalg.norm(AXIS)
    plain = read_states(model, tokenizer, TEXTS)
    with Intervention("project", {layer: LayerChange.along(AXIS, ORIGIN)}).applied(model):
        erased = read_states(model, tokenizer, TEXTS)
    assert np.ptp(plain[layer] @ unit) > 1e-3  # control: the texts differed along it
    assert erased[layer] @ unit == pytest.approx(np.full(len(TEXTS), ORIGIN @ unit), abs=1e-5)
    if layer:
        assert np.array_equal(erased[layer - 1], plain[layer - 1])
    assert hooks(model) == 0


def test_operations_do_what_they_say():
    model, tokenizer = make_model("llama"), make_tokenizer()
    unit = AXIS / np.linalg.norm(AXIS)
    plain = read_states(model, tokenizer, TEXTS)[1]
    expected = {
        ("add", 0.5): plain + 0.5 * AXIS,
        ("scale", 3.0): plain + 2.0 * np.outer((plain - ORIGIN) @ unit, unit),
        ("project", 0.25): plain - 0.25 * np.outer((plain - ORIGIN) @ unit, unit),
    }
    for (operation, strength), rows in expected.items():
        with Intervention(operation, {1: LayerChange.along(AXIS, ORIGIN)}, strength).applied(model):
            assert read_states(model, tokenizer, TEXTS)[1] == pytest.approx(rows, abs=1e-4)
    with Intervention("clamp", {1: LayerChange.along(unit, ORIGIN)}, 2.0).applied(model):
        clamped = read_states(model, tokenizer, TEXTS)[1]
    assert (clamped - ORIGIN) @ unit == pytest.approx(np.full(len(TEXTS), 2.0), abs=1e-4)


def test_an_oblique_erasure_is_applied_as_it_is():
    generator = np.random.default_rng(2)
    left, right = generator.normal(size=(WIDTH, 1)), generator.normal(size=(1, WIDTH))
    right /= right @ left
    erasure = AffineMap("oblique", left, right, ORIGIN, np.zeros(WIDTH))
    model, tokenizer = make_model("gpt2"), make_tokenizer()
    plain = read_states(model, tokenizer, TEXTS)
    with Intervention.removing(plain, {1: erasure}).applied(model):
        assert read_states(model, tokenizer, TEXTS)[1] == pytest.approx(erasure.apply(plain[1]), abs=1e-4)
    with pytest.raises(TaskError, match="also shifts"):
        LayerChange.of(AffineMap("shift", left, right, ORIGIN, np.ones(WIDTH)))


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma"])
def test_generation_with_a_cache_is_generation_without(family):
    model = make_model(family)
    ids = torch.tensor([make_tokenizer()(TEXTS[0])["input_ids"]])
    steering = Intervention("add", {1: LayerChange.along(AXIS)}, 3.0)
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 1, "eos_token_id": None}
    with steering.applied(model):
        cached = model.generate(ids, use_cache=True, **options)
        slow = model.generate(ids, use_cache=False, **options)
    assert torch.equal(cached, slow)
    assert not torch.equal(cached, model.generate(ids, use_cache=True, **options))
    assert hooks(model) == 0


def test_the_first_token_is_left_alone_unless_asked():
    model = make_model("gpt2")
    ids = torch.tensor([make_tokenizer()(TEXTS[0])["input_ids"]])
    found = {}
    for skip_first in (True, False):
        with (
            torch.inference_mode(),
            Intervention("add", {0: LayerChange.along(AXIS)}, skip_first=skip_first).applied(model),
        ):
            handle = find_blocks(model)[0].register_forward_hook(
                lambda _m, _i, out, key=skip_first: found.update({key: (out[0] if isinstance(out, tuple) else out)[0]})
            )
            model(input_ids=ids)
            handle.remove()
    moved = found[False] - found[True]
    assert moved[0].numpy() == pytest.approx(AXIS, abs=1e-4)
    assert np.allclose(moved[1:], 0.0)


def test_left_padding_is_known_when_the_first_token_is_spared():
    model = make_model("llama")
    ids = make_tokenizer()(TEXTS[0])["input_ids"]
    intervention = Intervention("add", {0: LayerChange.along(AXIS)}, 2.0)
    with torch.inference_mode(), intervention.applied(model):
        alone = model(input_ids=torch.tensor([ids])).logits[0, -1]
        padded = model(
            input_ids=torch.tensor([[1, 1, *ids]]),
            attention_mask=torch.tensor([[0, 0, *([1] * len(ids))]]),
            position_ids=torch.tensor([[0, 0, *range(len(ids))]]),
        ).logits[0, -1]
    assert padded.numpy() == pytest.approx(alone.numpy(), abs=1e-4)


def test_interventions_nest_and_leave_no_hook_after_an_error():
    model = make_model("llama")
    one = Intervention("add", {1: LayerChange.along(AXIS)})
    with one.applied(model), one.applied(model):
        twice = logits(model)
    with one.at(2.0).applied(model):
        assert logits(model) == pytest.approx(twice, abs=1e-4)
    with pytest.raises(RuntimeError, match="inside"), one.applied(model):
        raise RuntimeError("inside")
    assert hooks(model) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_models_are_changed_in_float32_and_stay_half(dtype):
    model = make_model("llama").to(dtype)
    ids = torch.tensor([make_tokenizer()(TEXTS[0])["input_ids"]])
    with torch.inference_mode(), Intervention("project", {1: LayerChange.along(AXIS)}).applied(model):
        assert model(input_ids=ids).logits.dtype == dtype


def test_a_file_says_what_is_to_be_done_and_fits_its_model_only(tmp_path: Path):
    from safetensors import safe_open

    model = make_model("llama")
    intervention = Intervention(
        "project",
        {0: LayerChange.along(AXIS, ORIGIN), 2: LayerChange.along(AXIS)},
        0.5,
        model="tiny",
        checksum=model_checksum(model),
        name="gender",
    )
    path = intervention.save(tmp_path / "gender.safetensors")
    with safe_open(str(path), framework="numpy") as file:
        metadata = file.metadata()
    assert metadata["operation"] == "project"
    assert metadata["hook_point"] == "residual stream after the block"
    assert metadata["layers"] == "[0, 2]"
    loaded = Intervention.load(path)
    with loaded.applied(model):
        expected = logits(model)
    with intervention.applied(model):
        assert np.array_equal(logits(model), expected)
    with pytest.raises(OutputError, match="exists"):
        intervention.save(path)
    other = make_model("llama")
    with torch.no_grad():
        next(other.parameters())[0, 0] += 1.0
    with pytest.raises(TaskError, match="other weights"), loaded.applied(other):
        pass
    with loaded.applied(other, any_model=True):
        pass
    for content in (b"", b"\x00" * 40, path.read_bytes()[:-10]):
        (tmp_path / "bad.safetensors").write_bytes(content)
        with pytest.raises(PersistenceError):
            Intervention.load(tmp_path / "bad.safetensors")
    with pytest.raises(PersistenceError, match="no such file"):
        Intervention.load(tmp_path / "none.safetensors")


def test_a_control_vector_is_written_for_additions_only(tmp_path: Path):
    gguf = pytest.importorskip("gguf", reason="control vectors need gguf")
    steering = Intervention("add", {1: LayerChange.along(AXIS)}, 2.0, model="tiny")
    reader = gguf.GGUFReader(steering.save(tmp_path / "mood.gguf"))
    assert [tensor.name for tensor in reader.tensors] == ["direction.1"]
    assert np.asarray(reader.tensors[0].data) == pytest.approx(2.0 * AXIS, abs=1e-5)
    with pytest.raises(TaskError, match="uses the operation 'project'"):
        Intervention("project", {1: LayerChange.along(AXIS)}).save(tmp_path / "no.gguf")
    with pytest.raises(TaskError, match="cannot change block 0"):
        Intervention("add", {0: LayerChange.along(AXIS)}).save(tmp_path / "no.gguf")
    assert not (tmp_path / "no.gguf").exists()
    with pytest.raises(TaskError, match="is needed"):
        steering.save(tmp_path / "mood.bin")


def test_a_control_vector_is_read_back_and_steers_the_same(tmp_path: Path):
    gguf = pytest.importorskip("gguf", reason="control vectors need gguf")
    model = make_model("llama")
    steering = Intervention(
        "add", {1: LayerChange.along(AXIS), 2: LayerChange.along(ORIGIN)}, 2.0, skip_first=False, model="tiny"
    )
    loaded = Intervention.load(steering.save(tmp_path / "mood.gguf"))
    assert (loaded.operation, loaded.layers, loaded.model, loaded.skip_first) == ("add", (1, 2), "tiny", False)
    with steering.applied(model):
        expected = logits(model)
    with loaded.applied(model):
        assert logits(model) == pytest.approx(expected, abs=1e-5)
    content = (tmp_path / "mood.gguf").read_bytes()
    for number, broken in enumerate((b"", b"GGUF", content[:100], content[:-50])):
        (tmp_path / f"{number}.gguf").write_bytes(broken)
        with pytest.raises(PersistenceError):
            Intervention.load(tmp_path / f"{number}.gguf")
    for architecture, name in (("llama", "direction.1"), ("controlvector", "direction.0"), ("controlvector", "weight")):
        writer = gguf.GGUFWriter(tmp_path / "other.gguf", architecture)
        writer.add_tensor(name, AXIS.astype(np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        with pytest.raises(PersistenceError):
            Intervention.load(tmp_path / "other.gguf")
    with pytest.raises(PersistenceError, match="no such file"):
        Intervention.load(tmp_path / "none.gguf")


def classes(n_layers=9, count=60):
    """Layers of texts of two classes, apart by 4 along the first dimension and far from zero."""
    generator = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], count // 2)
    rows = [generator.normal(size=(count, WIDTH)) + 2.0 * np.outer(y, np.eye(WIDTH)[0]) + 50.0 for _ in range(n_layers)]
    return States.of_arrays(rows, [f"text {n}" for n in range(count)]).labelled(y), y


def test_an_intervention_is_fitted_to_the_classes_of_texts():
    states, y = classes()
    X = np.asarray(states[6])
    for method in ("ridge", "mean-difference"):
        clamp = Intervention.fit(states, operation="clamp", method=method, strength=0.5)
        assert clamp.layers == (6,)
        change = clamp.changes[6]
        read = (X - change.origin) @ change.left
        assert read[y > 0].mean() == pytest.approx(0.5, abs=1e-3)  # half a step from the middle: the mean of a class
        assert read[y < 0].mean() == pytest.approx(-0.5, abs=1e-3)
    assert Intervention.fit(states, 1 - y, operation="add", layers=[2]).layers == (2,)
    assert Intervention.fit(states, iter(y), layers=iter([2, 3])).layers == (2, 3)
    assert Intervention.fit(States.of_arrays([X], states.texts).labelled(y)).layers == (0,)
    with pytest.raises(TaskError, match="use remove_concept"):
        Intervention.fit(states, operation="project")
    with pytest.raises(TaskError, match="1 distinct values; two classes"):
        Intervention.fit(states, np.ones(60))
    with pytest.raises(TaskError, match="no layer"):
        Intervention.fit(states, layers=[])
    with pytest.raises(TaskError, match="no labels"):
        Intervention.fit(States.of_arrays([X], states.texts))
    with pytest.raises(TaskError, match="layer 9 is not among"):
        Intervention.fit(states, layers=[9])
    with pytest.raises(TaskError, match="'leace' only removes"):
        Intervention.fit(states, operation="add", method="leace")


def test_texts_are_generated_under_an_intervention_and_without():
    model, tokenizer = make_model("llama"), make_tokenizer()
    prompts = ["the nurse said that", "a"]
    plain = generate_texts(model, tokenizer, prompts, max_new_tokens=6)
    with torch.inference_mode():
        ids = torch.tensor([tokenizer(prompts[0])["input_ids"]])
        expected = model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)[0, ids.shape[1] :]
    assert plain[0] == tokenizer.decode(expected, skip_special_tokens=True)
    steered = Intervention("add", {1: LayerChange.along(AXIS)}, 50.0)
    assert generate_texts(model, tokenizer, prompts, steered, max_new_tokens=6) != plain
    assert generate_texts(model, tokenizer, prompts, steered.at(0.0), max_new_tokens=6) == plain
    with pytest.raises(TaskError, match="cannot generate"):
        generate_texts(make_model("bert"), tokenizer, prompts)


@pytest.mark.parametrize("family", ["llama", "gemma", "gpt2", "mixtral", "mamba", "qwen2-vl"])
def test_prompts_of_other_lengths_in_the_batch_do_not_change_a_text(family):
    model, tokenizer = make_model(family), make_tokenizer()
    prompts = ["the nurse said that", "a", "the doctor said that", "the film", "a nurse was good"]
    steered = Intervention("add", {1: LayerChange.along(AXIS)}, 5.0)
    for change in (None, steered):
        together = generate_tokens(model, tokenizer, prompts, change, max_new_tokens=6)
        alone = [generate_tokens(model, tokenizer, [each], change, max_new_tokens=6)[0] for each in prompts]
        assert together == alone


def test_a_penalty_for_tokens_in_the_padding_does_not_change_a_text():
    model, tokenizer = make_model("llama"), make_tokenizer(padding=True)
    model.generation_config.repetition_penalty = 5.0
    model.generation_config.eos_token_id = None
    prompts = ["the nurse said that", "a", "the film", "a nurse was good"]
    together = generate_tokens(model, tokenizer, prompts, max_new_tokens=6)
    assert together == [generate_tokens(model, tokenizer, [each], max_new_tokens=6)[0] for each in prompts]


def test_prompts_beyond_the_length_of_dynamic_embeddings_generate_what_they_generate_alone():
    model, tokenizer = make_model("dynamic-rope"), make_tokenizer()
    prompts = ["the nurse said that", "a", "the film", "a nurse was good"]
    together = generate_tokens(model, tokenizer, prompts, max_new_tokens=12)
    assert together == [generate_tokens(model, tokenizer, [each], max_new_tokens=12)[0] for each in prompts]


def changes_of_passes(model, positions, skip_first, **options):
    """Return which tokens each pass of generating three tokens changes."""
    masks = []

    def seen(mask, continuing):
        masks.append((tuple(mask.shape), continuing))
        return torch.ones_like(mask)

    intervention = Intervention("add", {1: LayerChange.along(AXIS)}, 1.0, positions=positions, skip_first=skip_first)
    with intervention.applied(model, positions=seen):
        model.generate(torch.tensor([[3, 4, 5]]), max_new_tokens=3, do_sample=False, pad_token_id=1, **options)
    return masks


def test_generated_tokens_of_a_model_with_a_state_continue_its_text():
    assert changes_of_passes(make_model("rwkv"), "all", False) == [((1, 3), False), ((1, 1), True), ((1, 1), True)]


def test_generating_without_a_cache_raises_if_the_prompt_must_be_distinguished():
    model = make_model("llama")
    ids = torch.tensor([[3, 4, 5]])
    options = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 1}
    for positions in ("last", "generated"):
        change = Intervention("add", {1: LayerChange.along(AXIS)}, 1.0, positions=positions)
        with change.applied(model), pytest.raises(TaskError, match="without a KV cache"):
            model.generate(ids, use_cache=False, **options)
        with change.applied(model):
            model.generate(ids, **options)
            model(input_ids=ids)  # a text, and then the same text with one more token, are no generation
            model(input_ids=torch.tensor([[3, 4, 5, 6]]))
    with Intervention("add", {1: LayerChange.along(AXIS)}).applied(model):
        model.generate(ids, use_cache=False, **options)


def test_text_is_generated_with_a_cache_whatever_the_model_is_set_to():
    model, tokenizer = make_model("llama"), make_tokenizer()
    change = Intervention("add", {1: LayerChange.along(AXIS)}, 20.0, positions="generated")
    expected = generate_tokens(model, tokenizer, ["the nurse"], change, max_new_tokens=6)
    model.generation_config.use_cache = False
    assert generate_tokens(model, tokenizer, ["the nurse"], change, max_new_tokens=6) == expected


def test_prompts_of_all_lengths_run_together_only_where_padding_is_ignored(monkeypatch):
    model, tokenizer = make_model("llama"), make_tokenizer()
    sizes, generate = [], model.generate

    def counted(ids, **options):
        sizes.append(len(ids))
        return generate(ids, **options)

    monkeypatch.setattr(model, "generate", counted)
    prompts = ["the nurse said that", "a", "the film", "a nurse was good"]
    generate_tokens(model, tokenizer, prompts, max_new_tokens=2)
    assert sizes == [1, 2, 4]  # the shortest alone and padded, then all
    sizes.clear()

    def reading_padding(ids, *, attention_mask, **options):
        return counted(ids, attention_mask=attention_mask.new_ones(attention_mask.shape), **options)

    monkeypatch.setattr(model, "generate", reading_padding)
    generate_tokens(model, tokenizer, prompts, max_new_tokens=2)
    assert sizes == [1, 2, 1, 1, 2]


def test_a_text_that_ends_early_is_cut_there_while_others_continue():
    model, tokenizer = make_model("llama"), make_tokenizer()
    prompts = ["the nurse said that", "the doctor said that", "a film was good"]
    alone = [generate_tokens(model, tokenizer, [each], max_new_tokens=8)[0][1] for each in prompts]
    model.generation_config.eos_token_id = alone[0][2]  # the first text ends after its third token at the latest
    alone = [generate_tokens(model, tokenizer, [each], max_new_tokens=8)[0][1] for each in prompts]
    assert len(alone[0]) <= 3
    assert [new for _, new in generate_tokens(model, tokenizer, prompts, max_new_tokens=8)] == alone


@pytest.mark.parametrize("operation", ["project", "scale"])
def test_a_subspace_of_several_directions_is_changed(operation):
    model, tokenizer = make_model("llama"), make_tokenizer()
    rows = np.random.default_rng(3).normal(size=(3, WIDTH))
    change = LayerChange.along(np.vstack([rows, rows[0] - rows[2]]), ORIGIN)  # the fourth is in their span
    assert (change.n_directions, change.width) == (3, WIDTH)
    basis = np.linalg.qr(rows.T)[0]
    plain = read_states(model, tokenizer, TEXTS)[1]
    inside = (plain - ORIGIN) @ basis @ basis.T
    with Intervention(operation, {1: change}, {"project": 1.0, "scale": 3.0}[operation]).applied(model):
        found = read_states(model, tokenizer, TEXTS)[1]
    assert np.abs(inside).max() > 0.1  # the control
    assert found == pytest.approx(plain + {"project": -1.0, "scale": 2.0}[operation] * inside, abs=1e-3)


@pytest.mark.parametrize("operation", ["add", "clamp"])
def test_one_direction_is_needed_to_add_or_clamp(operation):
    change = LayerChange.along(np.eye(WIDTH)[:3])
    with pytest.raises(TaskError, match="along one direction; the change after block 1 has 3"):
        Intervention(operation, {1: change})
    states = read_states(make_model("llama"), make_tokenizer(), TEXTS, layers=[1])
    with pytest.raises(TaskError, match="along one direction"):
        Intervention.steering(states, {1: np.eye(WIDTH)[:3]})
    with pytest.raises(TaskError, match=r"shape \(2, 2, 2\) is given; a direction"):
        LayerChange.along(np.ones((2, 2, 2)))


def test_layers_counted_from_the_end_are_not_saved(tmp_path: Path):
    change = LayerChange.along(AXIS)
    for name in ("end.gguf", "end.safetensors"):
        with pytest.raises(TaskError, match="layer -1 counts from the end"):
            Intervention("add", {-1: change}).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TaskError, match=r"layer 1\.5 is given; a whole number is needed"):
        Intervention("add", {1.5: change})


def test_an_intervention_of_another_width_is_refused_before_it_is_used():
    model = make_model("llama")
    Intervention("add", {1: LayerChange.along(AXIS)}).check_width(model)
    with pytest.raises(TaskError, match="after block 1 have width 32; the intervention was made for 16"):
        Intervention("add", {1: LayerChange.along(np.ones(16))}).check_width(model)


def test_bad_interventions_are_named():
    change = LayerChange.along(AXIS)
    model = make_model("llama")
    with pytest.raises(TaskError, match="one of project"):
        Intervention("delete", {0: change})
    with pytest.raises(TaskError, match="at least one"):
        Intervention("add", {})
    with pytest.raises(TaskError, match="finite"):
        Intervention("add", {0: change}, float("nan"))
    with pytest.raises(TaskError, match="length zero"):
        LayerChange.along(np.zeros(WIDTH))
    with pytest.raises(TaskError, match="has 3 layers"), Intervention("add", {7: change}).applied(model):
        pass
    with (
        pytest.raises(TaskError, match="width 32"),
        Intervention("clamp", {0: LayerChange.along(np.ones(5))}).applied(model),
    ):
        logits(model)
    with (
        pytest.raises(TaskError, match="no list of two or more blocks"),
        Intervention("add", {0: change}).applied(torch.nn.Linear(2, 2)),
    ):
        pass
    assert hooks(model) == 0


@pytest.mark.parametrize("positions", ["last", "generated"])
def test_a_prompt_that_is_partly_cached_is_refused(positions):
    model, ids = make_model("llama"), torch.tensor([[3, 4, 5, 6, 7]])
    options = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 1}
    change = Intervention("add", {1: LayerChange.along(AXIS)}, 20.0, positions=positions)
    for length in (2, 4):  # three tokens of the prompt are left, or one
        with torch.inference_mode():
            cache = model(input_ids=ids[:, :length], use_cache=True).past_key_values
        with change.applied(model), pytest.raises(TaskError, match="part of the prompt is already in the KV cache"):
            model.generate(ids, past_key_values=cache, **options)
    with change.applied(model), pytest.raises(TaskError, match="part of the prompt is already in the KV cache"):
        model.generate(ids, prefill_chunk_size=2, **options)
    with change.applied(model):
        expected = model.generate(ids, **options)
        out, told = model(input_ids=ids, use_cache=True), ids  # the same, one token at a time by hand
        for _ in range(3):
            told = torch.cat([told, out.logits[:, -1:].argmax(dim=-1)], dim=1)
            out = model(input_ids=told[:, -1:], past_key_values=out.past_key_values, use_cache=True)
    assert torch.equal(told, expected)


def test_changes_of_several_widths_are_refused():
    with pytest.raises(TaskError, match="other widths: 32 and 16"):
        Intervention("add", {1: LayerChange.along(np.ones(32)), 2: LayerChange.along(np.ones(16))})
    one, other = (
        Intervention("add", {layer: LayerChange.along(np.ones(width))}) for layer, width in ((1, 32), (2, 16))
    )
    with pytest.raises(TaskError, match="other widths"):
        one + other


def test_a_quantised_control_vector_is_read_as_its_numbers(tmp_path: Path):
    gguf = pytest.importorskip("gguf", reason="control vectors need gguf")
    direction = np.random.default_rng(0).normal(size=WIDTH).astype(np.float32)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer = gguf.GGUFWriter(tmp_path / "small.gguf", "controlvector")
    writer.add_tensor("direction.1", gguf.quants.quantize(direction[None], kind)[0], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = Intervention.load(tmp_path / "small.gguf").changes[1].right[0]
    assert read == pytest.approx(direction, abs=0.02)


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_the_number_of_new_tokens_is_checked(count):
    with pytest.raises(TaskError, match="max_new_tokens"):
        generate_texts(make_model("llama"), make_tokenizer(), ["the film"], max_new_tokens=count)
