"""Interventions: a change of the residual stream after some blocks, while a model runs."""

from __future__ import annotations

import inspect
import json
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._files import ArchiveKind, Contents, archive_digest, atomic_write
from densray.affine import AffineMap
from densray.errors import Advice, Argument, PersistenceError, TaskError, load_extra, shorten
from densray.rotations import make_rotation
from densray.states._blocks import (
    find_stack,
    hidden_of,
    hooked,
    input_device,
    load_torch,
    resolve_layers,
    run_blocks,
    with_hidden,
)
from densray.states._chat import Text, as_texts
from densray.states._models import encode_texts, model_name
from densray.states._reading import checked_spans, span_weights
from densray.states._storage import States
from densray.states._texts import as_list
from densray.states._weights import same_weights, weight_differences

if TYPE_CHECKING:
    import torch

    Positions = Callable[[torch.Tensor, bool], torch.Tensor]

OPERATIONS = ("project", "add", "scale", "clamp")
POSITIONS = ("all", "last", "generated")
HOOK_POINT = "residual stream after the block"
_KIND = ArchiveKind("densray-intervention", 3, "intervention", "Make it again.")
_TENSORS = ("left", "right", "origin")
#: Names under which models take and return the cache of texts that are continued.
_CACHES = ("past_key_values", "cache_params")
#: Singular values below this share of the largest are rounding errors: such directions are combinations of the others.
_SMALLEST_SHARE = 1e-6
_TEXTS = ("operation", "skip_first", "positions", "model", "checksum", "name")


@dataclass(frozen=True)
class LayerChange:
    r"""A change of the states after one block.

    With the coordinate :math:`c = (h - o) L` of a state :math:`h`:

    ========== ==========================================
    project    :math:`h - s\, c R`
    add        :math:`h + s\, R`
    scale      :math:`h + (s - 1)\, c R`
    clamp      :math:`h + (s - c) R`
    ========== ==========================================

    for the strength :math:`s` of the intervention. "project" and "scale" change one direction or a subspace of several;
    "add" and "clamp" need one direction.

    Attributes
    ----------
    left : array of shape (d, k)
        Directions that give the coordinate of a state.
    right : array of shape (k, d)
        Directions along which a state is changed.
    origin : array of shape (d,)
        Origin of the coordinate.
    """

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    origin: NDArray[np.float32]

    @classmethod
    def along(cls, direction: NDArray[Any], origin: NDArray[Any] | None = None) -> LayerChange:
        """Return the change along one direction, or along the subspace of several (one per row).

        The norm of one direction matters only for the operation "add". Several directions are made orthonormal.
        """
        rows = np.asarray(direction, dtype=np.float64)
        if rows.ndim not in (1, 2) or not rows.size:
            raise TaskError(
                f"an array of shape {rows.shape} is given; a direction (d,), or several directions (k, d), are needed."
            )
        rows = np.atleast_2d(rows)
        sizes = np.linalg.norm(rows, axis=1)
        if not np.isfinite(sizes).all() or not sizes.all():
            raise TaskError("a direction has length zero, or numbers that are not finite. Fit it again.")
        if len(rows) > 1:
            _, shares, basis = np.linalg.svd(rows / sizes[:, None], full_matrices=False)
            rows = basis[shares > _SMALLEST_SHARE * shares[0]]
        middle = np.zeros(rows.shape[1]) if origin is None else np.asarray(origin, dtype=np.float64)
        # A coordinate is divided by the squared length, so that projecting removes the whole component.
        left = rows.T / (rows**2).sum(axis=1)
        return cls(*(part.astype(np.float32) for part in (left, rows, middle)))

    @classmethod
    def of(cls, erasure: AffineMap) -> LayerChange:
        """Return the change that applies `erasure`."""
        if np.any(erasure.shift):
            raise TaskError(f"'{erasure.method}' also shifts every vector; only a projection can be applied to states.")
        parts = (erasure.left, erasure.right, erasure.origin)
        return cls(*(np.ascontiguousarray(part, dtype=np.float32) for part in parts))

    @property
    def width(self) -> int:
        """The width of the states."""
        return int(self.left.shape[0])

    @property
    def n_directions(self) -> int:
        """The number of directions: 1, or the dimension of a subspace."""
        return int(self.right.shape[0])

    def check_width(self, width: int, layer: int) -> None:
        """Raise if the states after a block have another width."""
        if width != self.width:
            raise TaskError(
                f"the states after block {layer} have width {width}; the intervention was made for {self.width}."
            )


@dataclass(frozen=True)
class SpanPositions:
    """Spans of known texts, as the positions of :meth:`Intervention.applied`: only their tokens are changed.

    Texts may run in any order, padded or not. A text whose span is not known raises an error. Tokens that the model
    generates are not changed.
    """

    marks: Mapping[tuple[int, ...], NDArray[np.bool_]]

    @classmethod
    def of(cls, model: Any, tokenizer: Any, texts: Iterable[Text], spans: Iterable[tuple[int, int]]) -> SpanPositions:
        """Return the tokens of one span per text.

        Parameters
        ----------
        model, tokenizer
            A Hugging Face model and its tokenizer.
        texts : iterable of str, or of message lists
        spans : iterable of pairs of int
            Start and stop (exclusive) of the span in each text, in characters counted from 0, as in
            :func:`read_states`.
        """
        written = as_texts(tokenizer, texts)
        encoded = encode_texts(model, tokenizer, written, offsets=True)
        weights = span_weights(encoded, written, checked_spans(written, as_list(spans, "spans")))
        marks: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for number, (tokens, row) in enumerate(zip(encoded.tokens, weights, strict=True), start=1):
            if not np.array_equal(marks.setdefault(tuple(tokens), row > 0), row > 0):
                raise TaskError(f"text {number} was given before with another span. Give each text once.")
        return cls(marks)

    def mask(self, ids: torch.Tensor | None, seen: torch.Tensor) -> torch.Tensor:
        """Return a mask of the tokens of one pass that are inside the span of their text."""
        torch = load_torch()
        if ids is None:
            raise TaskError("the model runs on embeddings, so the spans of texts cannot be found. Give token numbers.")
        found = torch.zeros_like(seen)
        for number, (row, here) in enumerate(zip(ids, seen, strict=True)):
            marks = self.marks.get(tuple(row[here].tolist()))
            if marks is None:
                raise TaskError(
                    f"text {number + 1} of this pass is not among the {len(self.marks)} texts whose spans are known. "
                    "Give its span too."
                )
            found[number, here] = torch.from_numpy(np.array(marks)).to(seen.device)
        return found


@dataclass(frozen=True)
class Intervention:
    """A change of the residual stream after some blocks of one model.

    Attributes
    ----------
    operation : "project", "add", "scale" or "clamp"
    changes : mapping of int to LayerChange
        Changes by block number, counted from 0.
    strength : float
        See :class:`LayerChange`. Strength 0 of "project" and "add" changes nothing, and neither does strength 1 of
        "scale".
    skip_first : bool
        Whether the first token of a text stays unchanged, since many models use it as an attention sink.
    positions : "all", "last" or "generated"
        Which tokens are changed: all, the last token of the prompt, or the tokens that the model generates (this needs
        a KV cache, which ``generate`` uses by default).
    model, checksum : str
        The model it was made for. Other models raise an error.
    name : str
        Name of the concept.

    Examples
    --------
    ``with intervention.applied(model): model.generate(...)``
    """

    operation: str
    changes: Mapping[int, LayerChange]
    strength: float = 1.0
    skip_first: bool = True
    model: str = ""
    checksum: str = ""
    name: str = ""
    positions: str = "all"

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise TaskError(f"operation {shorten(self.operation)} is given; one of {', '.join(OPERATIONS)} is needed.")
        if self.positions not in POSITIONS:
            raise TaskError(
                Argument("positions", self.positions), f" is given; one of {', '.join(POSITIONS)} is needed."
            )
        if not self.changes:
            raise TaskError("no layer is given; at least one is needed.")
        if not np.isfinite(self.strength):
            raise TaskError(Argument("strength", self.strength), " is given; a finite number is needed.")
        for layer, change in self.changes.items():
            if not isinstance(layer, (int, np.integer)):
                raise TaskError(f"layer {shorten(layer)} is given; a whole number is needed.")
            if self.operation in ("add", "clamp") and change.n_directions != 1:
                raise TaskError(
                    f"'{self.operation}' moves states along one direction; the change after block {layer} has "
                    f"{change.n_directions}. Use the operation 'project' or 'scale', or add the directions up first."
                )
            if not all(np.isfinite(part).all() for part in (change.left, change.right, change.origin)):
                raise TaskError(f"the change after block {layer} has numbers that are not finite. Fit it again.")
        widths = {change.width: layer for layer, change in self.changes.items()}
        if len(widths) > 1:
            (one, first), (other, second) = list(widths.items())[:2]
            raise TaskError(
                f"the changes after blocks {first} and {second} have other widths: {one} and {other}. One model has "
                "states of one width."
            )

    @classmethod
    def fit(
        cls,
        states: States,
        labels: Iterable[Any] | None = None,
        *,
        operation: str = "add",
        layers: Iterable[int] | None = None,
        method: str = "ridge",
        groups: Iterable[Any] | None = None,
        strength: float = 1.0,
        name: str = "",
    ) -> Intervention:
        """Return the intervention that moves states along the axis of two classes of texts.

        The coordinate of a state is measured from the midpoint between the two class means. The unit of strength is the
        distance between the two means along the direction: adding 1 moves a state from one class mean to the other, and
        clamping to 0.5 moves it to the mean of the higher class. To remove a concept, use :func:`remove_concept`, which
        learns layers in order, each from the model with the earlier layers already changed.

        Parameters
        ----------
        states : States
        labels, groups : iterable, optional
            Default: those stored with the states.
        operation : {"add", "scale", "clamp"}, default="add"
        layers : iterable of int, optional
            Default: one layer, at 2/3 of the depth.
        method : str, default="ridge"
            A method as for :func:`densray.fit_axis`.
        strength : float
        name : str
            Name of the concept.
        """
        if operation == "project":
            raise TaskError(
                "a removal learns layers in order, each from the model with the earlier layers already changed: "
                "use remove_concept(model, tokenizer, texts)."
            )
        layers = states.layers[2 * len(states.layers) // 3 :][:1] if layers is None else as_list(layers, "layers")
        labels = None if labels is None else as_list(labels, "labels")
        groups = groups if groups is None or isinstance(groups, str) else as_list(groups, "groups")
        if method == "leace":
            raise TaskError("'leace' only removes. Name a method that finds a direction: 'ridge'.")
        if not len(layers):
            raise TaskError("no layer is given; at least one is needed.")
        rows = states.rows(layers[0], labels, groups)
        if not rows.is_binary:
            raise TaskError(f"the labels have {len(np.unique(rows.y))} distinct values; two classes are needed.")
        changes = {
            layer: _along_axis(np.asarray(states[layer], dtype=np.float64), rows.targets, method, rows.groups)
            for layer in layers
        }
        return cls(operation, changes, strength, model=states.model, checksum=states.checksum, name=name)

    @classmethod
    def removing(
        cls, states: States, erasures: Mapping[int, AffineMap], *, strength: float = 1.0, name: str = ""
    ) -> Intervention:
        """Return the intervention that applies an erasure after each of the given layers."""
        changes = {layer: LayerChange.of(erasure) for layer, erasure in erasures.items()}
        return cls("project", changes, strength, model=states.model, checksum=states.checksum, name=name)

    @classmethod
    def steering(
        cls, states: States, directions: Mapping[int, NDArray[Any]], *, strength: float = 1.0, name: str = ""
    ) -> Intervention:
        """Return the intervention that adds a direction after each of the given layers."""
        changes = {layer: LayerChange.along(direction) for layer, direction in directions.items()}
        return cls("add", changes, strength, model=states.model, checksum=states.checksum, name=name)

    @property
    def layers(self) -> tuple[int, ...]:
        """The blocks after which states are changed."""
        return tuple(sorted(self.changes))

    @property
    def changes_nothing(self) -> bool:
        """Whether it is the identity at this strength."""
        return self.strength == {"project": 0.0, "add": 0.0, "scale": 1.0}.get(self.operation)

    def at(self, strength: float) -> Intervention:
        """Return the same intervention at another strength."""
        return replace(self, strength=strength)

    def only(self, layers: Iterable[int]) -> Intervention:
        """Return the same intervention after some of its layers."""
        layers = as_list(layers, "layers")
        missing = [layer for layer in layers if layer not in self.changes]
        if missing:
            raise TaskError(f"layer {missing[0]} is not among those of the intervention: {self.layers}.")
        return replace(self, changes={layer: self.changes[layer] for layer in layers})

    def __add__(self, other: Intervention) -> Intervention:
        """Return one intervention that adds the changes of both, each at its strength."""
        if not isinstance(other, Intervention):
            return NotImplemented
        if {self.operation, other.operation} != {"add"}:
            raise TaskError(
                f"'{self.operation}' and '{other.operation}' cannot be joined; only interventions that add can be. "
                "Apply one inside the other."
            )
        if (self.skip_first, self.positions) != (other.skip_first, other.positions):
            raise TaskError("the two interventions change different tokens. Make them for the same tokens.")
        if self.checksum and other.checksum and not same_weights(self.checksum, other.checksum):
            raise TaskError(f"the two interventions were made for different weights: {self.model} and {other.model}.")
        directions: dict[int, NDArray[Any]] = {}
        for each in (self, other):
            for layer, change in each.changes.items():
                step = each.strength * change.right[0].astype(np.float64)
                if step.shape != directions.get(layer, step).shape:
                    raise TaskError(
                        f"the changes after block {layer} have other widths: {change.width} is one of them."
                    )
                directions[layer] = directions.get(layer, 0.0) + step
        # the sum of opposite directions changes nothing
        changes = {layer: LayerChange.along(direction) for layer, direction in directions.items() if direction.any()}
        if not changes:
            raise TaskError("the two interventions are opposite at every layer, so their sum changes nothing.")
        name = " + ".join(each.name for each in (self, other) if each.name)
        checksum = self.checksum or other.checksum
        return replace(self, changes=changes, strength=1.0, checksum=checksum, name=name)

    @contextmanager
    def applied(
        self,
        model: Any,
        *,
        positions: Positions | SpanPositions | str | None = None,
        blocks: Sequence[Any] | None = None,
        any_model: bool = False,
    ) -> Iterator[Any]:
        """Change the states while `model` runs inside the ``with``: in ``forward`` and in ``generate``, in all threads.

        If a forward pass reaches none of the changed blocks, an error is raised.

        Parameters
        ----------
        model
            The model the intervention was made for: on any device, in any precision, compiled, offloaded or inside an
            adapter; with or without its head.
        positions : "all", "last", "generated", SpanPositions or callable, optional
            Which tokens to change, in place of `positions` of the intervention: a name, the spans of known texts, or a
            function ``f(mask, continuing)`` that returns a mask of the same shape. `mask` (texts, tokens) marks the
            tokens of this pass that are not padding. `continuing` tells whether the pass continues texts from a
            key-value cache.
        blocks : sequence of modules, optional
            Its blocks in order, if they cannot be found (:func:`find_blocks`).
        any_model : bool, default=False
            Whether to apply it to a model with other weights.
        """
        change = self
        if isinstance(positions, str):
            change, positions = replace(self, positions=positions), None
        if positions is not None and not (callable(positions) or isinstance(positions, SpanPositions)):
            raise TaskError(
                f"positions is {shorten(positions)}; {', '.join(POSITIONS)}, SpanPositions or a function is needed."
            )
        stack = find_stack(model, blocks)
        resolve_layers(self.layers, len(stack.blocks))
        if self.checksum and not any_model:
            self.check_weights(model, blocks=blocks)
        if self.changes_nothing:
            yield model
            return
        run = _Running(change, stack.module, positions)
        with run.watched(model), hooked({layer: stack.blocks[layer] for layer in self.layers}, run.change):
            yield model

    def check_weights(self, model: Any, *, blocks: Sequence[Any] | None = None) -> Intervention:
        """Return the intervention without its checksum; raise if it was made for a model with other weights."""
        if self.checksum and (differences := weight_differences(model, self.checksum, blocks)):
            raise TaskError(
                f"this intervention was made for {self.model or 'another model'} (checksum {self.checksum[:12]}); "
                f"{model_name(model)} has other weights: {differences}.",
                Advice(" Make it again for this model, or apply it anyway (", Argument("any_model", True), ")."),
            )
        return replace(self, checksum="")

    def check_width(self, model: Any, *, blocks: Sequence[Any] | None = None) -> None:
        """Raise if the states of a model have another width than the intervention. Runs the model on one token."""
        torch = load_torch()
        modules = find_stack(model, blocks).blocks
        changed = {layer: modules[layer] for layer in resolve_layers(self.layers, len(modules))}
        ids = torch.zeros((1, 1), dtype=torch.long, device=input_device(model))
        with torch.inference_mode():
            widths = run_blocks(model, changed, ids, torch.ones_like(ids), lambda hidden: int(hidden.shape[-1]))
        for layer, width in zip(self.changes, (widths[layer % len(modules)] for layer in self.changes), strict=True):
            self.changes[layer].check_width(width, layer)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the intervention: ``.safetensors``, or ``.gguf`` (a control vector of llama.cpp) for "add".

        A control vector contains the directions times the strength. llama.cpp numbers blocks as densray does and cannot
        change block 0. It adds to every token, including the first.

        The file also stores the operation, the hook point, the layers, the model and its checksum. A digest of
        everything reveals a damaged file.
        """
        target = self.check_path(path, self.operation, self.layers, self.positions)
        if target.suffix == ".gguf":
            return self._save_gguf(target, overwrite=overwrite)
        tensors = {
            f"{part}.{layer}": np.ascontiguousarray(getattr(change, part))
            for layer, change in self.changes.items()
            for part in _TENSORS
        }
        metadata = {
            "format": _KIND.format,
            "format_version": str(_KIND.version),
            "operation": self.operation,
            "hook_point": HOOK_POINT,
            "layers": json.dumps(list(self.layers)),
            "strength": repr(float(self.strength)),
            "skip_first": str(self.skip_first),
            "positions": self.positions,
            "model": self.model,
            "checksum": self.checksum,
            "name": self.name,
        }
        metadata["digest"] = archive_digest(metadata, tensors)
        content = _safetensors("numpy").save(tensors, metadata=metadata)
        with atomic_write(target, overwrite=overwrite) as temporary:
            temporary.write_bytes(content)
        return target

    @staticmethod
    def check_path(path: str | Path, operation: str, layers: Sequence[int] = (), positions: str = "all") -> Path:
        """Return the path if such an intervention can be saved there; otherwise raise."""
        target = Path(path)
        if target.suffix not in (".safetensors", ".gguf"):
            raise TaskError(f"{target.name}: .safetensors or .gguf is needed.")
        if target.suffix == ".gguf" and operation != "add":
            raise TaskError(
                f"a control vector (.gguf) can only be added; this intervention uses the operation '{operation}'. Save "
                "it as .safetensors."
            )
        if target.suffix == ".gguf" and 0 in layers:
            raise TaskError("llama.cpp cannot change block 0. Save it as .safetensors, or leave layer 0 out.")
        if target.suffix == ".gguf" and positions != "all":
            raise TaskError(
                f"llama.cpp adds a control vector to every token; this intervention changes '{positions}' tokens "
                "only. Save it as .safetensors."
            )
        if min(layers, default=0) < 0:
            raise TaskError(
                f"layer {min(layers)} counts from the end, so the file would not name a block. Number it from 0."
            )
        return target

    def _save_gguf(self, target: Path, *, overwrite: bool) -> Path:
        gguf = load_extra("gguf", "A control vector needs", extra="models")
        with atomic_write(target, overwrite=overwrite) as temporary:
            writer = gguf.GGUFWriter(temporary, "controlvector")
            writer.add_string("controlvector.model_hint", self.model)
            writer.add_uint32("controlvector.layer_count", len(self.changes))
            for layer in self.layers:
                direction = self.strength * self.changes[layer].right[0]
                writer.add_tensor(f"direction.{layer}", np.ascontiguousarray(direction, dtype=np.float32))
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
        return target

    @classmethod
    def load(cls, path: str | Path) -> Intervention:
        """Read an intervention: ``.safetensors``, or ``.gguf`` (a control vector of llama.cpp).

        A control vector is accepted for any model of its width. It has strength 1 and changes every token.
        """
        if Path(path).suffix == ".gguf":
            return _read_control_vector(Path(path))
        contents = _read_tensors(Path(path))
        texts = {name: contents.value(name, str) for name in _TEXTS}
        try:
            strength, layers = float(contents.value("strength", str)), json.loads(contents.value("layers", str))
        except (ValueError, RecursionError):
            raise contents.refusal("strength or layers") from None
        if texts["skip_first"] not in ("True", "False"):
            raise contents.refusal("skip_first")
        if texts["positions"] not in POSITIONS:
            raise contents.refusal("positions")
        if not isinstance(layers, list) or len(set(map(str, layers))) < len(layers):
            raise contents.refusal("layers")
        changes = {}
        for layer in layers:
            contents.checked("layers", layer, int, least=0)
            left, right = (contents.array(f"{part}.{layer}", None, None) for part in ("left", "right"))
            width, count = left.shape
            contents.array(f"right.{layer}", count, width)
            changes[layer] = LayerChange(left, right, contents.array(f"origin.{layer}", width))
        if len(contents.arrays) != len(_TENSORS) * len(changes):
            raise contents.refusal("layers")
        skip_first = texts.pop("skip_first") == "True"
        return cls(texts.pop("operation"), changes, strength, skip_first, **texts)


def _read_tensors(path: Path) -> Contents:
    """Return the metadata and tensors of a file; raise if they do not match their digest."""
    library = _safetensors("")
    try:
        with library.safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: np.asarray(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise PersistenceError(f"{path}: no such file. {_KIND.remedy}") from None
    except (ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError, library.SafetensorError) as error:
        raise PersistenceError(f"{path} is not a whole file of an intervention ({shorten(error)}).") from None
    if metadata.get("format") != _KIND.format:
        raise PersistenceError(f"{path} is not an intervention: the file does not name an operation.")
    if metadata.get("format_version") != str(_KIND.version):
        raise PersistenceError(f"{path} is an intervention of another version of densray. {_KIND.remedy}")
    if metadata.get("digest") != archive_digest(metadata, tensors):
        raise PersistenceError(f"{path}: the contents do not match their digest; the file was changed. {_KIND.remedy}")
    return Contents(path, _KIND, metadata, tensors)


def _read_control_vector(path: Path) -> Intervention:
    gguf = load_extra("gguf", "A control vector needs", extra="models")
    try:
        reader = gguf.GGUFReader(path)
        texts = {
            name: field.contents()
            for name, field in reader.fields.items()
            if field.types == [gguf.GGUFValueType.STRING]
        }
        # quantised tensors hold packed bytes
        tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    except FileNotFoundError:
        raise PersistenceError(f"{path}: no such file. {_KIND.remedy}") from None
    except NotImplementedError as error:
        raise PersistenceError(
            f"{path} has a direction that is not stored as decimal numbers ({shorten(error)}). Export it as F32."
        ) from None
    except (ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError) as error:
        raise PersistenceError(f"{path} is not a whole .gguf file ({shorten(error)}).") from None
    if texts.get("general.architecture") != "controlvector" or not tensors:
        raise PersistenceError(
            f"{path} is not a control vector: it holds {texts.get('general.architecture', 'nothing')}."
        )
    changes = {}
    for name, direction in tensors.items():
        number = name.removeprefix("direction.")
        if not number.isdecimal() or number.startswith("0") or direction.ndim != 1 or not np.isfinite(direction).all():
            raise PersistenceError(f"{path}: {name} is not the direction of a block. {_KIND.remedy}")
        if direction.any():
            changes[int(number)] = LayerChange.along(direction)
    return Intervention("add", changes, 1.0, skip_first=False, model=texts.get("controlvector.model_hint", ""))


def _along_axis(X: NDArray[np.float64], y: NDArray[np.float64], method: str, groups: Any) -> LayerChange:
    """Return the change along the axis of a method; its unit is the distance between the class means along it."""
    axis = make_rotation(method).fit(X, y, groups=groups).components_[0]
    high, low = X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)
    return LayerChange.along(axis * float((high - low) @ axis), (high + low) / 2)


def _safetensors(part: str) -> Any:
    return load_extra(f"safetensors.{part}" if part else "safetensors", "Saved interventions need", extra="models")


class _Pass(threading.local):
    """The forward pass of this thread: the tokens to leave unchanged, and whether a block was changed."""

    left_alone: torch.Tensor | None = None
    changed: bool = False
    tokens: torch.Tensor | None = None  # of the pass before

    def __init__(self) -> None:
        self.caches: weakref.WeakSet[Any] = weakref.WeakSet()  # those whose texts began under the intervention


class _Running:
    """An intervention while a model runs; its numbers are copied once to the device of the states."""

    def __init__(
        self, intervention: Intervention, module: Any, positions: Positions | SpanPositions | None = None
    ) -> None:
        self.intervention, self.module, self.positions = intervention, module, positions
        self.names = list(inspect.signature(module.forward).parameters)
        self.current = _Pass()
        self.moved: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}

    @contextmanager
    def watched(self, model: Any) -> Iterator[None]:
        """Find the tokens to leave unchanged in every pass; raise after a pass that changed no block."""
        handles = [
            model.register_forward_pre_hook(self._begin),
            self.module.register_forward_pre_hook(self._find_tokens, with_kwargs=True),
            model.register_forward_hook(self._check),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _begin(self, _model: Any, _arguments: Any) -> None:
        self.current.changed = False

    def _check(self, model: Any, _arguments: Any, output: Any) -> None:
        for name in _CACHES:
            if (cache := getattr(output, name, None)) is not None and hasattr(cache, "get_seq_length"):
                self.current.caches.add(cache)
        if not self.current.changed:
            raise TaskError(
                f"no changed block ran in this forward pass of {type(model).__name__}: the intervention did nothing.",
                Advice(" Name the blocks that read text, in order (", Argument("blocks", ...), ")."),
            )

    def _find_tokens(self, _module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.current.left_alone = None
        where, skips = self.intervention.positions, self.intervention.skip_first
        if self.positions is None and where == "all" and not skips:
            return
        given = dict(zip(self.names, arguments, strict=False)) | named
        seen, continued = _tokens_of_pass(given)
        if self.positions is not None or where != "all":
            self._check_cache(given, continued)
        if seen is None or (self.positions is None and where == "all" and continued):
            return
        torch = load_torch()
        places = torch.arange(seen.shape[1], device=seen.device)
        first, last = (places == place[:, None] for place in _ends(seen))
        if isinstance(self.positions, SpanPositions):
            wanted = torch.zeros_like(seen) if continued else self.positions.mask(given.get("input_ids"), seen)
        elif self.positions is not None:
            wanted = self._asked(seen, continued)
        elif where == "all":
            wanted = torch.ones_like(seen)
        elif where == "last":
            wanted = torch.zeros_like(seen) if continued else last
        else:
            wanted = torch.ones_like(seen) if continued else torch.zeros_like(seen)
        if skips and not continued:
            wanted = wanted & ~first
        self.current.left_alone = ~wanted

    def _asked(self, seen: torch.Tensor, continued: bool) -> torch.Tensor:
        """Return the mask of a function of the caller; raise unless it has one value for each token."""
        wanted = self.positions(seen, continued)  # type: ignore[misc, operator]
        if not hasattr(wanted, "shape") or not hasattr(wanted, "to"):
            raise TaskError(
                f"positions returned {shorten(wanted)}; a tensor of shape {tuple(seen.shape)} is needed: True for each "
                "token to change."
            )
        if wanted.shape != seen.shape:
            raise TaskError(
                f"positions returned a mask of shape {tuple(wanted.shape)}; {tuple(seen.shape)} is needed: one for "
                f"each token of each text."
            )
        return wanted.to(seen.device, load_torch().bool)

    def _check_cache(self, given: Mapping[str, Any], continued: bool) -> None:
        """Raise if prompt and generated tokens cannot be told apart: without a cache, or with a cached prompt."""
        tokens = given.get("input_ids")
        before, self.current.tokens = self.current.tokens, None if continued else tokens
        if continued and not callable(self.positions):
            cache = next((given[name] for name in _CACHES if given.get(name) is not None), None)
            begun_elsewhere = hasattr(cache, "get_seq_length") and cache not in self.current.caches
            if begun_elsewhere or (tokens is not None and tokens.shape[1] > 1):
                raise TaskError(
                    "a part of the prompt is already in the KV cache, so the intervention cannot tell the rest of the "
                    "prompt from generated tokens.",
                    Advice(" Run the whole prompt in one pass (no cached prompt, no prefill_chunk_size), or change all "
                           "tokens."),
                )  # fmt: skip
        if continued or tokens is None or before is None or given.get("use_cache") is None:  # set by `generate`
            return
        if len(before) == len(tokens) and load_torch().equal(before, tokens[:, :-1]):
            raise TaskError(
                "the model generates text without a KV cache, so the intervention cannot tell generated tokens "
                "from the prompt.",
                Advice(" Use a cache (use_cache=True, and no gradient checkpointing), or change all tokens."),
            )

    def change(self, layer: int, output: Any) -> Any:
        hidden = hidden_of(output)
        changed = self._changed(layer, hidden.float())
        if self.current.left_alone is not None:
            kept = self.current.left_alone.to(hidden.device)[:, :, None]
            changed = load_torch().where(kept, hidden.float(), changed)
        self.current.changed = True
        return with_hidden(output, changed.to(hidden.dtype))

    def _changed(self, layer: int, hidden: torch.Tensor) -> torch.Tensor:
        left, right, origin = self._parts(layer, hidden)
        strength = self.intervention.strength
        if self.intervention.operation == "add":
            return hidden + strength * right[0]
        read = (hidden - origin) @ left
        if self.intervention.operation == "project":
            return hidden - strength * (read @ right)
        if self.intervention.operation == "scale":
            return hidden + (strength - 1.0) * (read @ right)
        return hidden + (strength - read) @ right

    def _parts(self, layer: int, hidden: torch.Tensor) -> tuple[Any, Any, Any]:
        key = (layer, hidden.device)
        if key not in self.moved:
            change = self.intervention.changes[layer]
            change.check_width(int(hidden.shape[-1]), layer)
            torch = load_torch()
            parts = (change.left, change.right, change.origin)
            left, right, origin = (torch.from_numpy(np.array(part)).to(hidden.device) for part in parts)
            self.moved[key] = left, right, origin
        return self.moved[key]


def _tokens_of_pass(arguments: Mapping[str, Any]) -> tuple[torch.Tensor | None, bool]:
    """Return a mask of the tokens of a pass that are not padding, and whether it continues texts from a KV cache."""
    torch = load_torch()
    texts = arguments.get("input_ids")
    texts = arguments.get("inputs_embeds") if texts is None else texts
    if texts is None:
        return None, False
    every = torch.ones(texts.shape[:2], dtype=torch.bool, device=texts.device)
    cache = arguments.get("past_key_values")
    if arguments.get("state") is not None:  # of RWKV
        return every, True
    if _holds_tokens(arguments.get("cache_params") if cache is None else cache):
        return every, True
    mask = arguments.get("attention_mask")
    if isinstance(mask, Mapping):  # one mask per type of layer; without padding some are None
        mask = next((each for each in mask.values() if each is not None), None)
    if mask is None:
        return every, False
    if not isinstance(mask, torch.Tensor):
        raise TaskError(
            f"the attention mask is a {type(mask).__name__}: the first token of a text cannot be found.",
            Advice(
                " Use another attention implementation, or change all tokens, the first too (",
                Argument("skip_first", False),
                ").",
            ),
        )
    # More than two dimensions: which token attends to which, as booleans or as 0 and a very low number.
    lowest = torch.finfo(mask.dtype).min / 2 if mask.ndim > 2 and mask.is_floating_point() else 0
    seen = mask > lowest
    while seen.ndim > 2:
        seen = seen.any(dim=1)
    return seen[:, : every.shape[1]], False


def _ends(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the positions of the first and the last token of each text, without padding."""
    marks = seen.to(load_torch().int8)
    return marks.argmax(dim=1), seen.shape[1] - 1 - marks.flip(1).argmax(dim=1)


def _holds_tokens(cache: Any) -> bool:
    if cache is None or not hasattr(cache, "get_seq_length"):
        return False
    try:
        return bool(cache.get_seq_length() > 0)
    except ValueError:  # a cache without attention, as in Mamba
        return bool(cache.has_previous_state())
