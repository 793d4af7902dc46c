"""The right blocks are read and changed, in every kind of model and wrapper; otherwise an error says so."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest

from densray.errors import TaskError
from densray.states import (
    Intervention,
    LayerChange,
    find_blocks,
    generate_texts,
    model_checksum,
    read_states,
    weight_differences,
)
from tiny_models import N_BLOCKS, WIDTH, make_model, make_tokenizer, torch

TEXTS = ["the nurse said that she was tired", "good film", "the doctor said that he was never tired again"]
AXIS = np.random.default_rng(0).normal(size=WIDTH)
CAUSAL = ("llama", "gpt2", "gemma", "mixtral", "mamba", "qwen2-vl")
IDS = make_tokenizer()(TEXTS[0])["input_ids"]
GREEDY = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 1, "eos_token_id": None}


def steering(layer: int = 1, strength: float = 3.0, **more) -> Intervention:
    return Intervention("add", {layer: LayerChange.along(AXIS)}, strength, **more)


def logits(model, ids=IDS, **more):
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids]), **more).logits.numpy()


@pytest.mark.parametrize("family", CAUSAL)
def test_adding_50_to_every_state_changes_what_the_model_says(family):
    model = make_model(family)
    plain = logits(model)
    for layer in range(len(find_blocks(model))):
        with Intervention("add", {layer: LayerChange.along(AXIS)}, 50.0).applied(model):
            assert np.abs(logits(model) - plain)[0, -1].max() > 1e-3, layer


def test_the_text_blocks_of_a_vision_language_model_are_found():
    model = make_model("qwen2-vl")
    assert len(model.model.visual.blocks) == 6  # the longer list
    assert list(find_blocks(model)) == list(model.model.language_model.layers)


def test_experts_inside_a_block_are_not_taken_for_blocks():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(8))

    class Mixture(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(Block() for _ in range(3))

    model = Mixture()
    assert list(find_blocks(model)) == list(model.layers)


def test_one_of_two_stacks_must_be_named():
    model, tokenizer = make_model("t5"), make_tokenizer()
    with pytest.raises(TaskError, match=r"an encoder and a decoder.*get_encoder"):
        find_blocks(model)
    with pytest.raises(TaskError, match="an encoder and a decoder"):
        read_states(model, tokenizer, TEXTS)
    assert len(read_states(model.get_encoder(), tokenizer, TEXTS).layers) == N_BLOCKS
    inputs = {"decoder_input_ids": torch.tensor([[2, *IDS]])}
    plain = logits(model, **inputs)
    with steering().applied(model, blocks=model.get_decoder().block):
        assert np.abs(logits(model, **inputs) - plain).max() > 1e-3
    with steering().applied(model, blocks=model.get_encoder().block):
        assert np.abs(logits(model, **inputs) - plain).max() > 1e-3


def test_blocks_that_do_not_run_are_an_error():
    model = make_model("qwen2-vl")
    with (
        pytest.raises(TaskError, match="no changed block ran"),
        steering().applied(model, blocks=model.model.visual.blocks),
    ):
        logits(model)
    with pytest.raises(TaskError, match="layer 0 did not run"):
        read_states(model, make_tokenizer(), TEXTS, blocks=model.model.visual.blocks)
    assert logits(model).shape[1] == len(IDS)  # no hook is left


@pytest.mark.parametrize("family", CAUSAL)
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generation_with_any_cache_is_generation_without(family, cache):
    if cache == "static" and family == "mamba":
        pytest.skip("Mamba has no static cache")
    model, ids = make_model(family), torch.tensor([IDS])
    options = GREEDY | {"output_logits": True, "return_dict_in_generate": True}
    with steering().applied(model):
        cached = model.generate(ids, use_cache=True, cache_implementation=cache, **options)
        slow = model.generate(ids, use_cache=False, **options)
    plain = model.generate(ids, **options)
    assert torch.cat(cached.logits).numpy() == pytest.approx(torch.cat(slow.logits).numpy(), abs=1e-4)
    assert torch.cat(cached.logits).numpy() != pytest.approx(torch.cat(plain.logits).numpy(), abs=1e-3)  # control


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("family", ["llama", "gemma", "qwen2-vl"])
def test_left_padding_does_not_move_the_token_that_is_left_alone(family, cache):
    model = make_model(family)
    ids, mask = torch.tensor([[1, 1, 1, *IDS]]), torch.tensor([[0, 0, 0, *[1] * len(IDS)]])
    options = GREEDY | {"cache_implementation": cache, "output_logits": True, "return_dict_in_generate": True}
    with steering().applied(model):
        alone = model.generate(torch.tensor([IDS]), **options)
        padded = model.generate(ids, attention_mask=mask, **options)
    for one, other in zip(alone.logits, padded.logits, strict=True):
        assert one.numpy() == pytest.approx(other.numpy(), abs=1e-4)


def test_a_mask_given_by_position_counts():
    model = make_model("llama")
    ids, mask = torch.tensor([[1, 1, *IDS]]), torch.tensor([[0, 0, *[1] * len(IDS)]])
    positions = torch.tensor([[0, 0, *range(len(IDS))]])
    for called in (model, model.model):
        with torch.inference_mode(), steering().applied(called):
            by_position = called(ids, mask, positions)[0]
            by_name = called(input_ids=ids, attention_mask=mask, position_ids=positions)[0]
            alone = called(torch.tensor([IDS]))[0]
        assert torch.equal(by_position, by_name)
        assert by_position[0, -1].numpy() == pytest.approx(alone[0, -1].numpy(), abs=1e-4)


def test_threads_with_different_batches_do_not_disturb_each_other():
    model, tokenizer = make_model("llama"), make_tokenizer(padding=True)
    batches = [tokenizer(texts, return_tensors="pt", padding=True) for texts in (TEXTS[:1], TEXTS, TEXTS * 4)]
    for batch in batches:
        batch.pop("token_type_ids", None)
    wrong: list[str] = []

    def run(batch, expected):
        for _ in range(40):
            try:
                with torch.inference_mode():
                    if not torch.allclose(model(**batch).logits, expected, atol=1e-4):
                        wrong.append("other logits")
            except Exception as error:
                wrong.append(repr(error))

    with steering().applied(model):
        with torch.inference_mode():
            expected = [model(**batch).logits for batch in batches]
        threads = [threading.Thread(target=run, args=each) for each in zip(batches, expected, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_threads_may_read_different_layers_of_one_model():
    model, tokenizer = make_model("llama"), make_tokenizer()
    expected = read_states(model, tokenizer, TEXTS)
    wrong: list[str] = []

    def run(layer):
        for _ in range(10):
            try:
                states = read_states(model, tokenizer, TEXTS[: layer + 1], layers=[layer])
                if not np.allclose(states[layer], expected[layer][: layer + 1], atol=1e-4):
                    wrong.append(f"other states after layer {layer}")
            except Exception as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=run, args=(layer,)) for layer in range(N_BLOCKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def offloaded(model, folder):
    import accelerate

    return accelerate.disk_offload(model, str(folder), execution_device=torch.device("cpu"))


class Wrapper(torch.nn.Module):
    """Wraps a model as adapters do: other names, and only `forward` is passed on."""

    def __init__(self, model):
        super().__init__()
        self.base_model = torch.nn.Module()
        self.base_model.model = model

    def forward(self, *arguments, **named):
        return self.base_model.model(*arguments, **named)


WRAPPERS = {
    "compiled": lambda model, _: torch.compile(model, backend="eager"),
    "adapter": lambda model, _: Wrapper(model),
    "offloaded": offloaded,
    "backbone": lambda model, _: model.model,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRAPPERS)
def test_states_of_a_wrapped_model_are_those_of_the_model_and_fit_it(kind, tmp_path):
    tokenizer, model = make_tokenizer(), make_model("llama")
    expected = read_states(model, tokenizer, TEXTS)
    with steering().applied(model):
        changed = logits(model)
    if kind == "offloaded":
        pytest.importorskip("accelerate", reason="offloading needs accelerate")
    wrapped = WRAPPERS[kind](make_model("llama"), tmp_path)
    states = read_states(wrapped, tokenizer, TEXTS)
    assert weight_differences(model, states.checksum) == ""
    for layer in expected.layers:
        assert states[layer] == pytest.approx(expected[layer], abs=1e-5)
    if kind == "backbone":
        wrapped = model
    logits(wrapped)  # a compiled model is traced before it is changed
    with steering(checksum=states.checksum).applied(wrapped):
        assert logits(wrapped) == pytest.approx(changed, abs=1e-4)
    assert logits(wrapped) == pytest.approx(logits(model), abs=1e-4)  # and is itself again


class Adapted(torch.nn.Module):
    """A linear layer with an adapter, named as PEFT names its parts."""

    def __init__(self, layer, size):
        super().__init__()
        self.base_layer = layer
        self.lora_A = torch.nn.ModuleDict({"default": torch.nn.Linear(layer.in_features, 2, bias=False)})
        self.lora_B = torch.nn.ModuleDict({"default": torch.nn.Linear(2, layer.out_features, bias=False)})
        torch.nn.init.constant_(self.lora_B["default"].weight, size)

    def forward(self, states):
        return self.base_layer(states) + self.lora_B["default"](self.lora_A["default"](states))


def stub_adapter(size):
    model = make_model("llama")
    for block in model.model.layers:
        block.self_attn.q_proj = Adapted(block.self_attn.q_proj, size)
    return model.eval()


def lora(size):
    peft = pytest.importorskip("peft", reason="the real adapters need peft")
    model = peft.get_peft_model(make_model("llama"), peft.LoraConfig(target_modules=["q_proj"])).eval()
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.constant_(weights, size)
    return model


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # inside peft
@pytest.mark.parametrize("adapted", [stub_adapter, lora])
def test_an_adapter_fits_the_base_model_until_it_is_trained(adapted):
    checksum = model_checksum(make_model("llama"))
    untrained = adapted(0.0)
    with steering(checksum=checksum).applied(untrained):
        changed = logits(untrained)
    assert not np.allclose(changed, logits(untrained))
    with (
        pytest.raises(TaskError, match=r"not among them: 'layers.0.self_attn.q_proj.lora_A.default.weight'"),
        steering(checksum=checksum).applied(adapted(0.1)),
    ):
        pass


class Prompted(torch.nn.Module):
    """A model with learned vectors before every text, as PEFT wraps it."""

    def __init__(self, kind="PROMPT_TUNING", *, disabled=False):
        super().__init__()
        self.base_model = make_model("llama")
        self.prompt = torch.nn.Parameter(torch.randn(1, 3, WIDTH, generator=torch.Generator().manual_seed(0)))
        self.kind, self._adapters_disabled = kind, disabled

    @property
    def active_peft_config(self):
        return SimpleNamespace(peft_type=self.kind, is_prompt_learning=True, num_virtual_tokens=3)

    @property
    def config(self):
        return self.base_model.config

    def forward(self, input_ids, attention_mask=None):
        if self._adapters_disabled:
            return self.base_model(input_ids=input_ids, attention_mask=attention_mask)
        vectors = self.base_model.get_input_embeddings()(input_ids)
        whole = torch.cat([self.prompt.expand(len(vectors), -1, -1), vectors], dim=1)
        return self.base_model(inputs_embeds=whole)


def prompt_tuned(kind="PROMPT_TUNING"):
    peft = pytest.importorskip("peft", reason="the real adapters need peft")
    config = {"PROMPT_TUNING": peft.PromptTuningConfig, "PREFIX_TUNING": peft.PrefixTuningConfig}[kind]
    return peft.get_peft_model(make_model("llama"), config(task_type="CAUSAL_LM", num_virtual_tokens=3)).eval()


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # inside peft
@pytest.mark.parametrize("made", [Prompted, prompt_tuned])
def test_adapters_that_add_tokens_are_refused_by_name(made):
    model, tokenizer = made(), make_tokenizer()
    said = r"\(PROMPT_TUNING\) puts 3 virtual tokens before every text.*get_base_model"
    for use in (
        lambda: read_states(model, tokenizer, TEXTS),
        lambda: read_states(model, tokenizer, TEXTS, blocks=find_blocks(model.base_model), first_token=False),
        lambda: generate_texts(model, tokenizer, TEXTS, max_new_tokens=2),
        lambda: steering().applied(model).__enter__(),
    ):
        with pytest.raises(TaskError, match=said):
            use()
    plain = read_states(model.base_model, tokenizer, TEXTS)
    assert np.array_equal(plain[1], read_states(make_model("llama"), tokenizer, TEXTS)[1])


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # inside peft
def test_adapters_that_are_off_or_add_no_tokens_are_read():
    tokenizer = make_tokenizer()
    plain = read_states(make_model("llama"), tokenizer, TEXTS)
    assert np.allclose(read_states(Prompted(disabled=True), tokenizer, TEXTS)[1], plain[1], atol=1e-5)
    model = prompt_tuned("PREFIX_TUNING")
    with torch.inference_mode():
        ids = torch.tensor([tokenizer(TEXTS[0])["input_ids"]])
        expected = model(input_ids=ids, output_hidden_states=True).hidden_states[2][0, -1].numpy()
    assert read_states(model, tokenizer, TEXTS[:1])[1][0] == pytest.approx(expected, abs=1e-5)


def test_an_empty_list_of_blocks_is_named():
    with pytest.raises(TaskError, match=r"blocks=\[\] is given; at least one block of the model is needed"):
        read_states(make_model("llama"), make_tokenizer(), TEXTS, layers=[0], blocks=[])


def test_models_with_compiled_blocks_have_the_weights_of_the_model():
    model = make_model("llama")
    for number, block in enumerate(model.model.layers):
        model.model.layers[number] = torch.compile(block, backend="eager")
    assert weight_differences(model, model_checksum(make_model("llama"))) == ""


def test_nothing_is_computed_after_the_last_layer_asked_for():
    model, tokenizer = make_model("llama"), make_tokenizer()
    expected = read_states(model, tokenizer, TEXTS)
    with ExitStack() as hooks:
        for module in (find_blocks(model)[1], model.lm_head):
            hooks.callback(module.register_forward_hook(_fail).remove)
        assert np.array_equal(read_states(model, tokenizer, TEXTS, layers=[0])[0], expected[0])
    with ExitStack() as hooks:
        hooks.callback(model.lm_head.register_forward_hook(_fail).remove)
        assert np.array_equal(read_states(model, tokenizer, TEXTS)[2], expected[2])


def _fail(*_):
    raise AssertionError("this module should not run")
