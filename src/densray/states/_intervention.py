"""Interventions: a change of the residual stream after some blocks, while a model runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._files import atomic_write
from densray._leace import leace
from densray.erasure import Erasure
from densray.errors import FormatError, TaskError, load_extra
from densray.rotations import make_rotation
from densray.states._models import (
    find_blocks,
    hidden_of,
    hooked,
    load_torch,
    model_checksum,
    model_name,
    resolve_layers,
    with_hidden,
)

if TYPE_CHECKING:
    import torch

    from densray.states._storage import States

OPERATIONS = ("project", "add", "scale", "clamp")
HOOK_POINT = "residual stream after the block"
FORMAT_VERSION = "1"


@dataclass(frozen=True)
class LayerChange:
    r"""What is done to the states after one block.

    With the coordinate :math:`c = (h - o) L` of a state :math:`h`:

    ========== ==========================================
    project    :math:`h - s\, c R`
    add        :math:`h + s \sum_j R_j`
    scale      :math:`h + (s - 1)\, c R`
    clamp      :math:`h + (s - c) R`
    ========== ==========================================

    for the strength :math:`s` of the intervention.

    Attributes
    ----------
    left : array of shape (d, k)
        Directions along which a state is read.
    right : array of shape (k, d)
        Directions along which it is changed.
    origin : array of shape (d,)
        The point about which it is read.
    """

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    origin: NDArray[np.float32]

    @classmethod
    def along(cls, direction: NDArray[Any], origin: NDArray[Any] | None = None) -> LayerChange:
        """Return the change along one direction; its length counts where it is added."""
        row = np.asarray(direction, dtype=np.float64).reshape(1, -1)
        size = float(np.linalg.norm(row))
        if not np.isfinite(size) or size == 0.0:
            raise TaskError("a direction of length zero, or with numbers that are not finite, changes nothing.")
        middle = np.zeros(row.shape[1]) if origin is None else np.asarray(origin, dtype=np.float64)
        # Reading divides by the squared length, so that projecting removes the whole component.
        return cls(*(part.astype(np.float32) for part in (row.T / size**2, row, middle)))

    @classmethod
    def of(cls, erasure: Erasure) -> LayerChange:
        """Return the change that erases as `erasure` does."""
        if np.any(erasure.shift):
            raise TaskError(f"'{erasure.name}' also shifts every vector; only a projection can be applied to states.")
        parts = (erasure.left, erasure.right, erasure.origin)
        return cls(*(np.ascontiguousarray(part, dtype=np.float32) for part in parts))

    @property
    def width(self) -> int:
        """The width of the states."""
        return int(self.left.shape[0])


@dataclass(frozen=True)
class Intervention:
    """A change of the residual stream after some blocks of one model.

    Attributes
    ----------
    operation : "project", "add", "scale" or "clamp"
    changes : mapping of int to LayerChange
        By the number of the block, counted from 0.
    strength : float
        See :class:`LayerChange`. A projection or an addition of strength 0 changes nothing, nor does a scale of 1.
    skip_first : bool
        Whether the first token of a text is left alone: many models use it as a sink.
    model, checksum : str
        The model it was made for; another one is refused.
    name : str
        What it is about.

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

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise TaskError(f"operation {self.operation!r} is given; one of {', '.join(OPERATIONS)} is needed.")
        if not self.changes:
            raise TaskError("no layer is given; at least one is needed.")
        if not np.isfinite(self.strength):
            raise TaskError(f"strength {self.strength} is given; a finite number is needed.")

    @classmethod
    def fit(
        cls,
        states: States,
        labels: Sequence[Any] | None = None,
        *,
        operation: str = "project",
        layers: Sequence[int] | None = None,
        method: str | None = None,
        groups: Sequence[Any] | None = None,
        strength: float = 1.0,
        name: str = "",
    ) -> Intervention:
        """Return the intervention on the concept that labels two classes of texts.

        It reads states about the point half-way between the means of the two classes. One step along the direction is
        the distance of the two means along it, so that an addition of strength 1 moves a state as far as from one
        class to the other, and a clamp of strength 0.5 puts it where the higher class has its mean.

        Parameters
        ----------
        states : States
        labels, groups : sequence, optional
            By default those stored with the states.
        operation : "project", "add", "scale" or "clamp"
        layers : sequence of int, optional
            By default, for a projection every second layer of the last third, else the layer two thirds up.
        method : str, optional
            ``"leace"`` (projections; the default there, about the mean of all texts), or a method as for
            :func:`densray.fit_axis` (``"ridge"`` by default).
        strength : float
        name : str
            What it is about.
        """
        given = np.asarray(labels if labels is not None else states.labels or ())
        kinds = np.unique(given)
        if len(given) != len(states) or len(kinds) != 2:
            raise TaskError(
                f"{len(given):,} labels of {len(kinds)} kinds are given for {len(states):,} texts; one per text, of "
                f"two kinds, is needed."
            )
        y = np.where(given == kinds[1], 1.0, -1.0)
        together = states.groups if groups is None else groups
        removes = operation == "project"
        if layers is None:
            third = states.layers[2 * len(states.layers) // 3 :]
            layers = (third[:-1:2] or third) if removes else third[:1]
        how = method or ("leace" if removes else "ridge")
        if how == "leace" and not removes:
            raise TaskError(
                f"'leace' removes a concept; to {operation}, name a method that finds a direction: 'ridge'."
            )
        changes = {}
        for layer in layers:
            X = np.asarray(states[layer], dtype=np.float64)
            changes[layer] = LayerChange.of(leace(X, y)) if how == "leace" else _along_axis(X, y, how, together)
        return cls(operation, changes, strength, model=states.model, checksum=states.checksum, name=name)

    @classmethod
    def removing(
        cls, states: States, erasures: Mapping[int, Erasure], *, strength: float = 1.0, name: str = ""
    ) -> Intervention:
        """Return the intervention that erases a concept after each of some layers."""
        changes = {layer: LayerChange.of(erasure) for layer, erasure in erasures.items()}
        return cls("project", changes, strength, model=states.model, checksum=states.checksum, name=name)

    @classmethod
    def steering(
        cls, states: States, directions: Mapping[int, NDArray[Any]], *, strength: float = 1.0, name: str = ""
    ) -> Intervention:
        """Return the intervention that adds a direction after each of some layers."""
        changes = {layer: LayerChange.along(direction) for layer, direction in directions.items()}
        return cls("add", changes, strength, model=states.model, checksum=states.checksum, name=name)

    @property
    def layers(self) -> tuple[int, ...]:
        """The blocks after which states are changed."""
        return tuple(sorted(self.changes))

    @property
    def changes_nothing(self) -> bool:
        """Whether the strength makes it the identity."""
        return self.strength == {"project": 0.0, "add": 0.0, "scale": 1.0}.get(self.operation)

    def at(self, strength: float) -> Intervention:
        """Return the same intervention at another strength."""
        return replace(self, strength=strength)

    def only(self, layers: Sequence[int]) -> Intervention:
        """Return the same intervention after some of its layers."""
        missing = [layer for layer in layers if layer not in self.changes]
        if missing:
            raise TaskError(f"layer {missing[0]} is not among those of the intervention: {self.layers}.")
        return replace(self, changes={layer: self.changes[layer] for layer in layers})

    @contextmanager
    def applied(self, model: Any, *, blocks: Sequence[Any] | None = None, any_model: bool = False) -> Iterator[Any]:
        """Change the states while `model` runs inside the ``with``: in ``forward`` and in ``generate``.

        Parameters
        ----------
        model
            The model the intervention was made for, on any device and in any precision.
        blocks : sequence of modules, optional
            Its blocks in their order, where they are not found by themselves.
        any_model : bool, default=False
            Whether to apply it to another model as well.
        """
        modules = list(blocks) if blocks is not None else list(find_blocks(model))
        resolve_layers(self.layers, len(modules))
        if self.checksum and not any_model and model_checksum(model) != self.checksum:
            raise TaskError(
                f"this intervention was made for {self.model or 'another model'} (checksum {self.checksum[:12]}); "
                f"{model_name(model)} has other weights. Make it again for this model, or apply it all the same "
                f"(any_model=True)."
            )
        if self.changes_nothing:
            yield model
            return
        first = _FirstTokens(model) if self.skip_first else None
        run = _Running(self, first)
        try:
            with hooked({layer: modules[layer] for layer in self.layers}, run.change):
                yield model
        finally:
            if first is not None:
                first.remove()

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the intervention: ``.safetensors``, or ``.gguf`` (a control vector) for one that adds.

        The file says what is to be done with its tensors: the operation, the hook point, the map of layers, the model
        and its checksum.
        """
        target = self.check_path(path, self.operation)
        if target.suffix == ".gguf":
            return self._save_gguf(target, overwrite=overwrite)
        tensors = {
            f"{part}.{layer}": np.ascontiguousarray(getattr(change, part))
            for layer, change in self.changes.items()
            for part in ("left", "right", "origin")
        }
        metadata = {
            "format": "densray-intervention",
            "format_version": FORMAT_VERSION,
            "operation": self.operation,
            "hook_point": HOOK_POINT,
            "layers": json.dumps(list(self.layers)),
            "strength": repr(float(self.strength)),
            "skip_first": str(self.skip_first),
            "model": self.model,
            "checksum": self.checksum,
            "name": self.name,
        }
        content = _safetensors("numpy").save(tensors, metadata=metadata)
        with atomic_write(target, overwrite=overwrite) as temporary:
            temporary.write_bytes(content)
        return target

    @staticmethod
    def check_path(path: str | Path, operation: str) -> Path:
        """Return where such an intervention may be saved; a name of another kind, or one that misleads, is an error."""
        target = Path(path)
        if target.suffix not in (".safetensors", ".gguf"):
            raise TaskError(f"{target.name}: .safetensors or .gguf is needed.")
        if target.suffix == ".gguf" and operation != "add":
            raise TaskError(
                f"a control vector (.gguf) is added by whoever loads it, and this intervention is to {operation}. Save "
                f"it as .safetensors."
            )
        return target

    def _save_gguf(self, target: Path, *, overwrite: bool) -> Path:
        gguf = load_extra("gguf", "A control vector needs", extra="models")
        with atomic_write(target, overwrite=overwrite) as temporary:
            writer = gguf.GGUFWriter(temporary, "controlvector")
            writer.add_string("controlvector.model_hint", self.model)
            writer.add_uint32("controlvector.layer_count", len(self.changes))
            for layer in self.layers:
                direction = self.strength * self.changes[layer].right.sum(axis=0)
                writer.add_tensor(f"direction.{layer}", np.ascontiguousarray(direction, dtype=np.float32))
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
        return target

    @classmethod
    def load(cls, path: str | Path) -> Intervention:
        """Read an intervention from a ``.safetensors`` file."""
        library = _safetensors("")
        try:
            with library.safe_open(str(path), framework="numpy") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != "densray-intervention":
                    raise FormatError(f"{path} is not an intervention: it does not say what to do with its tensors.")
                layers = [int(layer) for layer in json.loads(metadata["layers"])]
                parts = ("left", "right", "origin")
                found = {n: LayerChange(*(file.get_tensor(f"{part}.{n}") for part in parts)) for n in layers}
            _check_shapes(found, path)
            return cls(
                metadata["operation"],
                found,
                float(metadata["strength"]),
                metadata["skip_first"] == "True",
                metadata["model"],
                metadata["checksum"],
                metadata.get("name", ""),
            )
        except FileNotFoundError:
            raise FormatError(f"{path}: no such file.") from None
        except FormatError:
            raise
        except (KeyError, ValueError, TypeError, OSError, library.SafetensorError) as error:
            raise FormatError(f"{path} is not a whole file of an intervention ({type(error).__name__}).") from None


def _along_axis(X: NDArray[np.float64], y: NDArray[np.float64], method: str, groups: Any) -> LayerChange:
    """Return the change along the axis of a method, one step being the distance of the class means along it."""
    axis = make_rotation(method).fit(X, y, groups=groups).components_[0]
    high, low = X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)
    return LayerChange.along(axis * float((high - low) @ axis), (high + low) / 2)


def _check_shapes(changes: Mapping[int, LayerChange], path: str | Path) -> None:
    for layer, change in changes.items():
        shapes = (change.left.shape, change.right.shape, change.origin.shape)
        width = change.origin.size
        if shapes != ((width, len(change.right)), (len(change.right), width), (width,)):
            raise FormatError(f"{path}: the tensors of layer {layer} have shapes {shapes}, which do not fit together.")


def _safetensors(part: str) -> Any:
    return load_extra(f"safetensors.{part}" if part else "safetensors", "Saved interventions need", extra="models")


class _FirstTokens:
    """Where the first token of each text lies in the batch that is running; none while a cache is continued."""

    def __init__(self, model: Any) -> None:
        self.positions: torch.Tensor | None = None
        self.handle = model.register_forward_pre_hook(self._look, with_kwargs=True)

    def _look(self, _model: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        ids = named.get("input_ids", arguments[0] if arguments else named.get("inputs_embeds"))
        mask, cache = named.get("attention_mask"), named.get("past_key_values")
        self.positions = None
        if ids is None or (cache is not None and getattr(cache, "get_seq_length", lambda: 1)() > 0):
            return
        torch = load_torch()
        if mask is None or mask.ndim != 2:
            self.positions = torch.zeros(ids.shape[0], dtype=torch.long, device=ids.device)
        else:
            self.positions = mask.to(torch.int8).argmax(dim=1)

    def remove(self) -> None:
        self.handle.remove()


class _Running:
    """An intervention while a model runs: its numbers moved once to the device of the states."""

    def __init__(self, intervention: Intervention, first: _FirstTokens | None) -> None:
        self.intervention, self.first = intervention, first
        self.moved: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}

    def change(self, layer: int, output: Any) -> Any:
        hidden = hidden_of(output)
        changed = self._changed(layer, hidden.float())
        if self.first is not None and self.first.positions is not None:
            rows = load_torch().arange(hidden.shape[0], device=hidden.device)
            places = self.first.positions.to(hidden.device)
            changed[rows, places] = hidden[rows, places].float()
        return with_hidden(output, changed.to(hidden.dtype))

    def _changed(self, layer: int, hidden: torch.Tensor) -> torch.Tensor:
        left, right, origin = self._parts(layer, hidden)
        strength = self.intervention.strength
        if self.intervention.operation == "add":
            return hidden + strength * right.sum(dim=0)
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
            if hidden.shape[-1] != change.width:
                raise TaskError(
                    f"the states after block {layer} have width {hidden.shape[-1]}; the intervention was made for "
                    f"{change.width}."
                )
            torch = load_torch()
            parts = (change.left, change.right, change.origin)
            left, right, origin = (torch.from_numpy(np.array(part)).to(hidden.device) for part in parts)
            self.moved[key] = left, right, origin
        return self.moved[key]
