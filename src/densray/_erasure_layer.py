"""An affine map inside an encoder: a PyTorch module, a layer of a sentence encoder, or a new matrix of a static model.

Needs PyTorch, and the library of the encoder. `Erasure.to_torch` and `Erasure.into` call these functions.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.affine import AffineMap, check_strength
from densray.errors import Argument, TaskError

try:
    import torch
except ImportError:  # the methods of Erasure name the package to install
    torch = None
_Module: Any = object if torch is None else torch.nn.Module

__all__ = ["ErasureLayer", "into_sentence_transformer", "into_static_model"]


class ErasureLayer(_Module):
    """An affine map as a PyTorch module, for tensors of any leading shape.

    Parameters
    ----------
    erasure : AffineMap
    strength : float, default=1.0
        How much of the change to apply, from 0 to 1.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> erasure = AffineMap.along(np.array([[0.6, 0.8]]))
    >>> ErasureLayer(erasure)(torch.tensor([[0.6, 0.8]]))  # doctest: +SKIP
    tensor([[0., 0.]])
    """

    left: torch.Tensor
    right: torch.Tensor
    origin: torch.Tensor
    shift: torch.Tensor

    def __init__(self, erasure: AffineMap, *, strength: float = 1.0) -> None:
        super().__init__()
        check_strength(strength)
        self.scales = erasure.needs_unit_length
        for name, values in (
            ("left", erasure.left),
            ("right", strength * erasure.right),
            ("origin", erasure.origin),
            ("shift", strength * erasure.shift),
        ):
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64)))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return vectors without the concept, in the same precision."""
        left, right, origin, shift = (each.to(vectors) for each in (self.left, self.right, self.origin, self.shift))
        if self.scales:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        return vectors - shift - (vectors - origin) @ left @ right


def _matrix_and_offset(erasure: AffineMap, strength: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return M and c of the map x -> x M + c, after any scaling to unit length."""
    check_strength(strength)
    removal = strength * erasure.left @ erasure.right
    return np.eye(erasure.width) - removal, erasure.origin @ removal - strength * erasure.shift


def _library_class(name: str) -> Any:
    """Return a module class of sentence-transformers, which moved between versions."""
    for place in ("sentence_transformers.base.modules", "sentence_transformers.models"):
        try:
            return getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
    raise TaskError(f"this version of sentence-transformers has no module {name}. Install version 5 or later.")


def into_sentence_transformer(erasure: AffineMap, model: Any, *, strength: float = 1.0) -> Any:
    """Return a sentence encoder whose vectors lack the concept.

    The map becomes a dense layer of sentence-transformers before the normalisation at the end, so a saved encoder is
    loaded without densray. The modules of `model` are shared, and `model` itself stays as it is.
    """
    # the method was renamed in version 6
    width = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    _check_width(erasure, int(width()))
    modules = list(model.children())
    dense, normalize = _library_class("Dense"), _library_class("Normalize")
    at_end = type(modules[-1]).__name__ == "Normalize"
    M, offset = _matrix_and_offset(erasure, strength)
    layer = dense(erasure.width, erasure.width, bias=True, activation_function=torch.nn.Identity())
    with torch.no_grad():
        layer.linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(M.T)))
        layer.linear.bias.copy_(torch.from_numpy(offset))
    # if the encoder normalises, the map was fitted on vectors of unit length, so it needs them here too
    first = [normalize()] if erasure.needs_unit_length or (at_end and not erasure.is_linear) else []
    new = [*modules[:-1], *first, layer, modules[-1]] if at_end else [*modules, *first, layer]
    options = {
        name: getattr(model, name)
        for name in ("prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim")
        if getattr(model, name, None) is not None
    }
    return type(model)(modules=new, device=str(model.device), **options)


def into_static_model(erasure: AffineMap, model: Any, *, strength: float = 1.0) -> Any:
    """Return a model2vec model with a new matrix, so that its vectors lack the concept.

    A text is the mean of its tokens, so a map without scaling can be applied exactly to the rows of the matrix.
    """
    _check_width(erasure, int(model.dim))
    if not erasure.is_linear and (erasure.unit_length or model.normalize):
        raise TaskError(
            f"'{erasure.method}' changes vectors about their mean after they are scaled to unit length, which a "
            "matrix inside the model cannot do. Erase with mean-difference, or fit on vectors that neither the model "
            "nor the erasure scales: ",
            Argument("normalize", False),
            ".",
        )
    rows = np.asarray(model.embedding, dtype=np.float64)
    if getattr(model, "token_mapping", None) is not None:
        rows = rows[model.token_mapping]
    if getattr(model, "weights", None) is not None:
        rows = rows * np.asarray(model.weights, dtype=np.float64)[:, None]
    M, offset = _matrix_and_offset(erasure, strength)
    matrix = (rows @ M + offset).astype(np.float32)
    return type(model)(matrix, model.tokenizer, config=dict(model.config), normalize=bool(model.normalize))


def _check_width(erasure: AffineMap, width: int) -> None:
    if width != erasure.width:
        raise TaskError(
            f"the encoder gives vectors of width {width}; the erasure '{erasure.method}' was fitted on width "
            f"{erasure.width}. Fit it on vectors of this encoder."
        )
