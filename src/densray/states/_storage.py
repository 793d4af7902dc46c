"""Hidden states of texts, in memory or in files: one matrix per layer, written block by block, memory-mapped."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from densray._files import ArchiveKind, Contents, archive_digest, atomic_write, folder_lock, release_pages
from densray._text_files import TextTable
from densray.errors import OutputError, PersistenceError, TaskError, one_line, shorten
from densray.journal import Journal, Run
from densray.progress import Progress
from densray.rows import Rows
from densray.space import WordSpace
from densray.states._blocks import load_torch
from densray.states._texts import Groups, Labels, group_column_of, label_column_of
from densray.states._weights import same_weights

if TYPE_CHECKING:
    import torch

DTYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2"), "bfloat16": np.dtype("<u2")}
_HEADER = "states.json"
_LABELS = "labels.json"
_PARTS = "parts"
_KIND = ArchiveKind("densray-states", 2, "header of hidden states", "Read the states again.")
_LABELS_KIND = ArchiveKind("densray-labels", 1, "file of labels", "Remove it, or read the states again.")

#: The end of a block of rows, and the digest of its rows in each layer.
Block = tuple[int, list[str]]


@dataclass(frozen=True)
class States:
    """Hidden states of texts: for each layer a matrix with one row per text.

    Attributes
    ----------
    layers : tuple of int
        Numbers of the blocks, counted from 0, after which the states were read.
    texts : tuple of str
    width : int
    dtype : str
        Data type of the stored numbers: ``"float32"``, ``"float16"`` or ``"bfloat16"``.
    model, checksum : str
        The name of the model, and a digest of its weights.
    pool : str
        Tokens that a row represents.
    first_token : bool
        Whether a first token (BOS) was added, because the tokenizer does not add it.
    labels, groups : tuple, optional
        Label and group of each text, if given. A text whose group is None is its own group.
    folder : Path, optional
        The folder of the files, which contain a digest of every row; None for states in memory.

    Examples
    --------
    >>> states = States.of_arrays([np.eye(2)], ["one", "two"])
    >>> states[0]
    array([[1., 0.],
           [0., 1.]])
    """

    layers: tuple[int, ...]
    texts: tuple[str, ...]
    width: int
    dtype: str = "float32"
    model: str = ""
    checksum: str = ""
    pool: str = "last"
    first_token: bool = False
    labels: Labels | None = None
    groups: Groups | None = None
    folder: Path | None = None
    _arrays: dict[int, NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)
    _blocks: tuple[Block, ...] = field(default=(), repr=False, compare=False)
    _checked: set[int] = field(default_factory=set, repr=False, compare=False)

    def __repr__(self) -> str:
        layers = f"layer {self.layers[0]}" if len(self.layers) == 1 else f"{len(self.layers)} layers"
        model = f" of '{one_line(self.model, width=60)}'" if self.model else ""
        return f"States{model}: {len(self.texts):,} texts × {self.width:,} dimensions, {layers} ({self.dtype})"

    @classmethod
    def of_arrays(cls, arrays: Sequence[NDArray[Any]], texts: Sequence[str], *, model: str = "") -> States:
        """Return states from arrays in memory: one matrix per layer, one row per text."""
        rows = [np.asarray(array) for array in arrays]
        if not rows or any(array.shape != (len(texts), rows[0].shape[-1]) for array in rows):
            shapes = [array.shape for array in rows]
            raise TaskError(f"arrays of shapes {shapes} are given for {len(texts)} texts; one row per text is needed.")
        layers = tuple(range(len(rows)))
        dtype = "float16" if rows[0].dtype == np.float16 else "float32"
        found = cls(layers, tuple(texts), int(rows[0].shape[1]), dtype, model)
        found._arrays.update(zip(layers, rows, strict=True))
        return found

    @classmethod
    def open(cls, folder: str | Path) -> States:
        """Open the states that :func:`read_states` wrote to a folder; an unfinished run is an error.

        The header and the sizes of the files are checked here, the digest of a layer when it is first used.
        """
        header = _read_header(Path(folder))
        if "blocks" not in header:
            raise PersistenceError(
                f"{folder} holds the states of {count_finished(folder):,} of {len(header['texts']):,} texts: its run "
                f"was interrupted. Run the same command again: it resumes there."
            )
        return _states_of(header, Path(folder))

    def labelled(
        self, labels: Sequence[Any] | None, groups: Sequence[Any] | None = None, *, store: bool = False
    ) -> States:
        """Return the states with labels and groups; `store` writes them to their folder as well."""
        check_columns(labels, groups, len(self))
        labelled = replace(
            self,
            labels=None if labels is None else tuple(_plain_label(label) for label in labels),
            groups=None if groups is None else tuple(None if group is None else str(group) for group in groups),
        )
        if store and self.folder is not None and (labels is not None or groups is not None):
            values = {"labels": labelled.labels, "groups": labelled.groups}
            _write_json(self.folder / _LABELS, _LABELS_KIND, values)
        return labelled

    def read_labels(
        self, path: str | Path, *, label_column: str | None = None, group_column: str | None = None
    ) -> States:
        """Return the states with the labels of a file: one per line, or the columns ``label`` and ``group``."""
        table = TextTable(path, "label", error=TaskError)
        return self.labelled(label_column_of(table, label_column, needed=True), group_column_of(table, group_column))

    def rows(
        self,
        layer: int,
        labels: Sequence[Any] | None = None,
        groups: Sequence[Any] | str | None = None,
    ) -> Rows:
        """Return one layer as labelled rows: a vector per text, ready to find an axis or to erase a concept.

        Parameters
        ----------
        layer : int
        labels, groups : sequence, optional
            Default: the stored ones. ``groups="proposed"`` groups texts that repeat, and pairs of texts with different
            labels that differ in one word.

        Examples
        --------
        >>> states = States.of_arrays([np.eye(2)], ["He is late.", "She is late."]).labelled(["he", "she"])
        >>> rows = states.rows(0)
        >>> rows.names, rows.y.tolist(), rows.class_names
        (('He is late.', 'She is late.'), [-1.0, 1.0], ('he', 'she'))
        """
        y = self.labels if labels is None else labels
        if y is None:
            raise TaskError("the states have no labels. Give one label per text, or read texts with a label column.")
        together = self.groups if groups is None else groups
        check_columns(y, None if isinstance(together, str) else together, len(self))
        X = self[layer]
        concept = self.folder.name if self.folder is not None else "states"
        rows = Rows.from_arrays(X, y, names=self.texts, groups=together, concept=concept, background=X)
        return replace(rows, locations=np.arange(len(self)))

    def mapped(self, change: Callable[[NDArray[Any]], NDArray[Any]], layers: Sequence[int] | None = None) -> States:
        """Return states in memory with some layers (default: all) changed by a function of their matrix."""
        chosen = self.layers if layers is None else tuple(layers)
        found = replace(self, folder=None, _arrays={layer: np.asarray(self[layer]) for layer in self.layers})
        found._arrays.update({layer: change(self[layer]) for layer in chosen})
        return found

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, layer: int) -> NDArray[Any]:
        """Return the matrix of one layer; float16 and float32 stay mapped, bfloat16 is converted to float32."""
        if layer not in self.layers:
            raise TaskError(f"layer {layer} is not among those read: {', '.join(map(str, self.layers))}.")
        if self.folder is None:
            return self._arrays[layer]
        path = _file_of(self.folder, layer)
        try:
            stored = np.memmap(path, dtype=DTYPES[self.dtype], mode="r", shape=(len(self), self.width))
        except (OSError, ValueError) as error:
            raise PersistenceError(f"{path} cannot be opened ({shorten(error)}). {_KIND.remedy}") from None
        if layer not in self._checked:
            if not _rows_match(stored, self._blocks, self.layers.index(layer)):
                raise PersistenceError(f"{path} is damaged: its rows do not match their digest. {_KIND.remedy}")
            self._checked.add(layer)
        if self.dtype != "bfloat16":
            return stored
        return _from_bfloat16(stored)

    def space(self, layer: int) -> WordSpace:
        """Return one layer as a space whose words are the texts; a number is added to repeated texts."""
        seen: dict[str, int] = {}
        names = []
        for text in self.texts:
            seen[text] = seen.get(text, 0) + 1
            names.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
        return WordSpace(names, np.asarray(self[layer], dtype=np.float32), name=f"{self.model} layer {layer}")


def states_header(
    *,
    model: str,
    checksum: str,
    layers: list[int],
    width: int,
    dtype: str,
    pool: str,
    tokens: str,
    added_first_token: bool,
    texts: list[str],
) -> dict[str, Any]:
    """Return the header of states: everything they depend on, so that only the same run is resumed."""
    return dict(locals())


class StatesInMemory:
    """States kept in memory."""

    finished = 0

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header
        self.parts: dict[int, list[NDArray[Any]]] = {layer: [] for layer in header["layers"]}

    def __enter__(self) -> StatesInMemory:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write(self, start: int, block: NDArray[Any]) -> None:
        for layer, rows in zip(self.header["layers"], block, strict=True):
            self.parts[layer].append(
                rows.astype(DTYPES[self.header["dtype"]])
            )  # a copy, since the block may be in pinned memory

    def states(self) -> States:
        header = self.header
        found = _states_of(header, None)
        for layer, parts in self.parts.items():
            rows = np.concatenate(parts)
            if header["dtype"] == "bfloat16":
                rows = _from_bfloat16(rows)
            found._arrays[layer] = rows
        return found


class StatesInFolder:
    """States in a folder: a header, and one file of rows per layer that is memory-mapped when it is used.

    There are too many rows for the files of a journal, so they are written to the files of their layers. The journal in
    the folder stores the digests of the rows of each block of texts. A block is finished if its rows match their
    digests. When all blocks are finished, the digests move to the header.
    """

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.folder, self.header = folder, header
        self.blocks: list[Block] = []
        self._files: dict[int, FileIO] = {}
        self._run = _run_of(folder, header)
        self._open = ExitStack()
        self._check_header()

    @property
    def finished(self) -> int:
        """Number of finished texts."""
        return self.blocks[-1][0] if self.blocks else 0

    def _check_header(self) -> bool:
        """Return whether all states are already there; raise if the folder contains other states."""
        if not is_states_folder(self.folder):
            return False
        known = _read_header(self.folder)
        differing = [name for name in self.header if name != "checksum" and known[name] != self.header[name]]
        differing += [] if same_weights(self.header["checksum"], known["checksum"]) else ["weights of the model"]
        if differing:
            raise OutputError(
                f"{self.folder} holds other states ({', '.join(differing)} differ). Give another folder, or remove it."
            )
        self.blocks = known.get("blocks", [])
        return bool(self.blocks)

    def _lock_folder(self) -> None:
        try:
            self._open.enter_context(folder_lock(self.folder, wait=False))
        except BlockingIOError:
            raise OutputError(
                f"another run is writing to {self.folder}. Wait for it, or give another folder."
            ) from None

    def __enter__(self) -> StatesInFolder:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock_folder()
            if self._check_header():  # again, now that no other process writes
                return self
            if not is_states_folder(self.folder):
                _write_json(self.folder / _HEADER, _KIND, self.header)
            for layer in self.header["layers"]:
                path = _file_of(self.folder, layer)
                path.touch()
                self._files[layer] = self._open.enter_context(path.open("r+b", buffering=0))
            self.blocks = _finished_blocks(self.folder, self.header)
            self._finish()
        except OSError as error:
            self._open.close()
            raise self._failure(error.strerror or str(error)) from None
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write(self, start: int, block: NDArray[Any]) -> None:
        """Write a block of shape (layers, texts, width) to the files of its layers, then store it as finished."""
        try:
            digests = []
            for layer, rows in zip(self.header["layers"], block, strict=True):
                stored = np.ascontiguousarray(rows, dtype=DTYPES[self.header["dtype"]])
                _write_at(self._files[layer], stored.data.cast("B"), start * stored.shape[1] * stored.itemsize)
                digests.append(_digest_of(stored))
            finished: Block = start + block.shape[1], digests
            self._run.store(str(start), finished)
            self.blocks.append(finished)
            self._finish()
        except OSError as error:
            raise self._failure(error.strerror or str(error), start) from None
        except OutputError as error:
            raise self._failure(shorten(error), start) from None

    def _finish(self) -> None:
        """Write the header with the digests once all texts are finished."""
        if self.finished < len(self.header["texts"]):
            return
        for file in self._files.values():
            file.truncate(self.finished * self.header["width"] * DTYPES[self.header["dtype"]].itemsize)
            os.fsync(file.fileno())
        _write_json(self.folder / _HEADER, _KIND, {**self.header, "blocks": self.blocks})
        shutil.rmtree(self.folder / _PARTS, ignore_errors=True)

    def _failure(self, reason: str, finished: int | None = None) -> OutputError:
        done = self.finished if finished is None else finished
        return OutputError(
            f"{self.folder} could not be written ({reason}): {done:,} of {len(self.header['texts']):,} texts are "
            f"finished and stay. Free some space and run the same command again: it resumes there."
        )

    def states(self) -> States:
        return _states_of({**self.header, "blocks": self.blocks}, self.folder)


class BlockWriter:
    """Passes blocks of states to a target in a thread while the model runs the next block; at most one block waits."""

    def __init__(self, target: StatesInFolder | StatesInMemory, progress: Progress | None) -> None:
        self.target, self.progress = target, progress
        self.dtype, self.total = target.header["dtype"], len(target.header["texts"])
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="densray-states")
        self.waiting: tuple[Future[None], int] | None = None

    def __enter__(self) -> BlockWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self.thread:  # finish the current write, whatever ended the run
            if kind is None:
                self._finish()

    def write(self, start: int, states: torch.Tensor) -> None:
        """Take states of shape (layers, texts, width) from the device of the model, without waiting for it."""
        torch = load_torch()
        parts = [_as_stored(states, self.dtype), states.abs().amax()]
        copied = None
        if states.device.type == "cuda":
            pinned = [torch.empty(part.shape, dtype=part.dtype, pin_memory=True) for part in parts]
            parts = [host.copy_(part, non_blocking=True) for host, part in zip(pinned, parts, strict=True)]
            copied = torch.cuda.Event()
            copied.record()
        stored, largest = (part.cpu() for part in parts)

        def save() -> None:
            if copied is not None:
                copied.synchronize()
            if self.dtype == "float16" and not float(largest) <= float(np.finfo(np.float16).max):
                raise TaskError(
                    f"a state of {float(largest):,.0f} does not fit into float16. Store bfloat16 or float32 (dtype)."
                )
            self.target.write(start, stored.numpy())

        self._finish()
        self.waiting = self.thread.submit(save), start + states.shape[1]

    def _finish(self) -> None:
        if self.waiting is not None:
            (written, stop), self.waiting = self.waiting, None
            written.result()
            if self.progress is not None:
                self.progress(stop, self.total)


def _write_at(file: FileIO, content: memoryview, offset: int) -> None:
    """Write bytes at an offset of a file, on every platform (unlike ``os.pwrite``), for one thread at a time."""
    file.seek(offset)
    while content:
        content = content[file.write(content) :]


def _digest_of(rows: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data).hexdigest()


def _rows_match(stored: NDArray[Any], blocks: Sequence[Block], place: int) -> bool:
    """Return whether the rows of a layer match their digests; `place` is the index of the layer among those read."""
    start = 0
    for stop, digests in blocks:
        if _digest_of(stored[start:stop]) != digests[place]:
            return False
        release_pages(stored)
        start = stop
    return True


def _as_stored(states: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return states in their stored form, bfloat16 as the integers of its bits."""
    torch = load_torch()
    if dtype == "bfloat16":
        return states.to(torch.bfloat16).view(torch.int16)
    return states.to(torch.float16 if dtype == "float16" else torch.float32)


def _from_bfloat16(stored: NDArray[Any]) -> NDArray[Any]:
    """Return float32 numbers from their stored upper halves."""
    return np.asarray((stored.astype(np.uint32) << 16).view(np.float32))


def _states_of(header: dict[str, Any], folder: Path | None) -> States:
    names = ("width", "dtype", "model", "checksum", "pool")
    values = {name: header[name] for name in names}
    values["first_token"] = bool(header["added_first_token"])
    values["_blocks"] = tuple(header.get("blocks", ()))
    values |= _read_labels(folder, len(header["texts"]))
    return States(tuple(header["layers"]), tuple(header["texts"]), folder=folder, **values)


def check_columns(labels: Sequence[Any] | None, groups: Sequence[Any] | None, count: int) -> None:
    """Raise if labels or groups are given and differ in number from the texts."""
    for given, what in ((labels, "labels"), (groups, "groups")):
        if given is not None and len(given) != count:
            raise TaskError(f"{len(given):,} {what} are given for {count:,} texts; one per text is needed.")


def _plain_label(label: Any) -> str | float:
    """Return a label as a text or a finite number; raise for anything else."""
    try:
        plain = str(label) if isinstance(label, str) else float(label)
    except (TypeError, ValueError):
        raise TaskError(f"the label {shorten(label)!r} is neither a text nor a number.") from None
    if isinstance(plain, float) and not np.isfinite(plain):
        raise TaskError(f"a label is {plain}; a finite number, or a text, is needed. Leave the text out.")
    return plain


def _read_labels(folder: Path | None, count: int) -> dict[str, Any]:
    """Return the labels and groups stored with states, if any."""
    if folder is None or not os.path.lexists(folder / _LABELS):
        return {}
    contents = _read_json(folder / _LABELS, _LABELS_KIND)
    columns: dict[str, Any] = {"labels": None, "groups": None}
    for name, types in (("labels", (str, int, float)), ("groups", (str, type(None)))):
        if contents.values.get(name, ()) is not None:
            listed = contents.listed(name, *types, length=count)
            columns[name] = tuple(contents.checked(name, value, *types) for value in listed)
    return columns


def count_finished(folder: str | Path) -> int:
    """Return how many texts of a folder are finished; 0 if it contains no states."""
    if not is_states_folder(folder):
        return 0
    header = _read_header(Path(folder))
    blocks = header["blocks"] if "blocks" in header else _finished_blocks(Path(folder), header)
    return int(blocks[-1][0]) if blocks else 0


def _run_of(folder: Path, header: dict[str, Any]) -> Run:
    """Return the finished blocks of one run, whose key is a digest of its whole header."""
    return Journal(folder / _PARTS).run("states", sorted(header.items()))


def _finished_blocks(folder: Path, header: dict[str, Any]) -> list[Block]:
    """Return the blocks that an interrupted run finished, from the first text on; their rows match their digests."""
    run = _run_of(folder, header)
    blocks: list[Block] = []
    row_bytes = header["width"] * DTYPES[header["dtype"]].itemsize
    with ExitStack() as opened, suppress(OSError):
        files = [opened.enter_context(_file_of(folder, layer).open("rb")) for layer in header["layers"]]
        while True:
            start = blocks[-1][0] if blocks else 0
            match run.stored(str(start)):
                case [(int(stop), list(digests))] if start < stop <= len(header["texts"]):
                    if [_digest_of_file(file, start * row_bytes, stop * row_bytes) for file in files] != digests:
                        break
                    blocks.append((stop, digests))
                case _:
                    break
    return blocks


def _digest_of_file(file: BinaryIO, start: int, stop: int) -> str:
    file.seek(start)
    return hashlib.sha256(file.read(stop - start)).hexdigest()


def is_states_folder(path: str | Path) -> bool:
    """Return whether a folder contains hidden states, finished or not."""
    return (Path(path) / _HEADER).is_file()


def _file_of(folder: Path, layer: int) -> Path:
    return folder / f"layer-{layer:03d}.rows"


def _write_json(path: Path, kind: ArchiveKind, values: dict[str, Any]) -> None:
    """Write values with their format and a digest."""
    whole: dict[str, Any] = {"format": kind.format, "format_version": kind.version, **values}
    whole["digest"] = archive_digest(whole, {})
    with atomic_write(path, overwrite=True) as temporary:
        temporary.write_text(json.dumps(whole), encoding="utf-8")


def _read_json(path: Path, kind: ArchiveKind) -> Contents:
    """Return the values that :func:`_write_json` wrote; any other file is a PersistenceError."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        same = (values["format"], values["format_version"]) == (kind.format, kind.version)
        whole = values["digest"] == archive_digest(values, {})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise PersistenceError(f"{path} is not the {kind.noun} ({shorten(error)}). {kind.remedy}") from None
    if not same:
        raise PersistenceError(f"{path} is not the {kind.noun} of this version of densray. {kind.remedy}")
    if not whole:
        raise PersistenceError(f"{path}: the contents do not match their digest; the file was changed. {kind.remedy}")
    return Contents(path, kind, values, {})


def _read_header(folder: Path) -> dict[str, Any]:
    """Return the header of a folder with checked types; the files of its layers must have the stated sizes."""
    if not is_states_folder(folder):
        raise PersistenceError(f"{folder} holds no hidden states. Give a folder that densray wrote them to.")
    contents = _read_json(folder / _HEADER, _KIND)
    header = {name: contents.value(name, str) for name in ("model", "checksum", "dtype", "pool", "tokens")}
    header["width"] = contents.value("width", int, least=1)
    header["added_first_token"] = contents.value("added_first_token", bool)
    header["texts"] = contents.listed("texts", str)
    header["layers"] = [contents.checked("layers", layer, int, least=0) for layer in contents.listed("layers", int)]
    if not header["layers"] or len(set(header["layers"])) < len(header["layers"]):
        raise contents.refusal("layers")
    if header["dtype"] not in DTYPES or not header["texts"]:
        raise contents.refusal("texts" if header["dtype"] in DTYPES else "dtype")
    if "blocks" in contents.values:
        header["blocks"] = _blocks_of(contents, len(header["texts"]), len(header["layers"]))
        size = len(header["texts"]) * header["width"] * DTYPES[header["dtype"]].itemsize
        for path in (_file_of(folder, layer) for layer in header["layers"]):
            if not path.is_file() or path.stat().st_size != size:
                raise PersistenceError(f"{folder} is damaged: {path.name} does not have {size:,} bytes. {_KIND.remedy}")
    return header


def _blocks_of(contents: Contents, n_texts: int, n_layers: int) -> list[Block]:
    blocks: list[Block] = []
    for pair in contents.listed("blocks", list):
        if len(pair) != 2 or not isinstance(pair[1], list) or len(pair[1]) != n_layers:
            raise contents.refusal("blocks")
        stop = contents.checked("blocks", pair[0], int, least=blocks[-1][0] + 1 if blocks else 1)
        blocks.append((stop, [contents.checked("blocks", digest, str) for digest in pair[1]]))
    if not blocks or blocks[-1][0] != n_texts:
        raise contents.refusal("blocks")
    return blocks
