"""Texts with labels, and their hidden states in files: one matrix per layer, written block by block, memory-mapped."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._files import atomic_write
from densray._lexicon_files import parse_label
from densray._text_files import TextTable
from densray._threads import Progress
from densray.errors import FormatError, OutputError, TaskError
from densray.space import WordSpace
from densray.states._models import load_torch

if TYPE_CHECKING:
    import torch

FORMAT_VERSION = 1
DTYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2"), "bfloat16": np.dtype("<u2")}
_HEADER = "states.json"
_FINISHED = "finished.json"
_LABELS = "labels.json"

Labels = tuple[str | float, ...]
Groups = tuple[str, ...]


@dataclass(frozen=True)
class LabelledTexts:
    """Texts, the label of each, the group it belongs to and the word it is about; None where there are none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "texts.csv"
    ...     _ = path.write_text("text,label\\nA fine film.,1\\nA bad film.,0\\n", encoding="utf-8")
    ...     LabelledTexts.read(path)
    LabelledTexts(texts=('A fine film.', 'A bad film.'), labels=(1.0, 0.0), groups=None, words=None)
    """

    texts: tuple[str, ...]
    labels: Labels | None = None
    groups: Groups | None = None
    words: tuple[str, ...] | None = None

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        text_column: str | None = None,
        label_column: str | None = None,
        group_column: str | None = None,
        word_column: str | None = None,
    ) -> LabelledTexts:
        """Read texts: one per line (``.txt``), or a column ``text`` (``.csv``, ``.tsv``, ``.jsonl``).

        Columns ``label``, ``group`` and ``word`` are read too, where the file has them; `text_column`,
        `label_column`, `group_column` and `word_column` name others.
        """
        table = TextTable(path, "text", error=TaskError)
        texts = texts_of(table, text_column)
        words = table.column("word", word_column, needed="word_column" if word_column else "")
        return cls(texts, *_labels_of(table, label_column, group_column), tuple(words) or None)

    @classmethod
    def read_labels(
        cls, path: str | Path, *, label_column: str | None = None, group_column: str | None = None
    ) -> tuple[Labels, Groups | None]:
        """Read the labels of texts, and their groups where there are some: one label per line, or columns."""
        table = TextTable(path, "label", error=TaskError)
        table.column("label", label_column, needed="label_column")
        labels, groups = _labels_of(table, label_column, group_column)
        return labels or (), groups


def texts_of(table: TextTable, text_column: str | None) -> tuple[str, ...]:
    """Return the texts of a table; an empty one is an error."""
    texts = table.column("text", text_column, needed="text_column")
    for line, text in zip(table.lines, texts, strict=True):
        if not text.strip():
            raise table.file.problem("the text is empty. Leave the line out, with its label.", line)
    return tuple(texts)


def _labels_of(
    table: TextTable, label_column: str | None, group_column: str | None
) -> tuple[Labels | None, Groups | None]:
    """Return the labels and groups of a table, as numbers where all labels are."""
    labels = table.column("label", label_column, needed="label_column" if label_column else "")
    groups = table.column("group", group_column, needed="group_column" if group_column else "")
    for line, label in zip(table.lines, labels, strict=False):
        if not label.strip():
            raise table.file.problem("the label is empty. Leave the line out, or give it a label.", line)
    numbers = [parse_label(label) for label in labels]
    found = labels if any(number is None for number in numbers) else numbers
    return tuple(found) or None, tuple(groups) or None  # type: ignore[arg-type]


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
        ``"float32"``, ``"float16"`` or ``"bfloat16"``: how the numbers are stored.
    model, checksum : str
        The name of the model, and a digest of its weights.
    pool : str
        Which tokens a row stands for.
    first_token : bool
        Whether a first token (BOS) was added that the tokenizer leaves out.
    labels, groups : tuple, optional
        The label of each text and the group it belongs to, where they were given.
    folder : Path, optional
        Where the files lie; None for states in memory.

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

    @classmethod
    def of_arrays(cls, arrays: Sequence[NDArray[Any]], texts: Sequence[str], *, model: str = "") -> States:
        """Return states that are in memory already: one matrix per layer, one row per text."""
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
        """Open the states that :func:`read_states` wrote to a folder; an unfinished run is an error."""
        header = _read_header(Path(folder))
        if header["finished"] < len(header["texts"]):
            raise FormatError(
                f"{folder} holds the states of {header['finished']:,} of {len(header['texts']):,} texts: its run was "
                f"interrupted. Run the same command again, and it goes on from there."
            )
        return _states_of(header, Path(folder))

    def labelled(
        self, labels: Sequence[Any] | None, groups: Sequence[Any] | None = None, *, store: bool = False
    ) -> States:
        """Return the states with labels and groups; `store` writes them to their folder as well."""
        check_columns(labels, groups, len(self))
        kept = None if labels is None else tuple(_plain_label(label) for label in labels)
        found = replace(self, labels=kept, groups=None if groups is None else tuple(str(group) for group in groups))
        if store and self.folder is not None and (labels is not None or groups is not None):
            content = json.dumps({"labels": found.labels, "groups": found.groups})
            with atomic_write(self.folder / _LABELS, overwrite=True) as temporary:
                temporary.write_text(content, encoding="utf-8")
        return found

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, layer: int) -> NDArray[Any]:
        """Return the matrix of one layer; float16 and float32 stay mapped, bfloat16 is converted to float32."""
        if layer not in self.layers:
            raise TaskError(f"layer {layer} is not among those read: {', '.join(map(str, self.layers))}.")
        if self.folder is None:
            return self._arrays[layer]
        stored: NDArray[Any] = np.memmap(
            _file_of(self.folder, layer), dtype=DTYPES[self.dtype], mode="r", shape=(len(self), self.width)
        )
        if self.dtype != "bfloat16":
            return stored
        return _from_bfloat16(stored)

    def space(self, layer: int) -> WordSpace:
        """Return one layer as a space whose words are the texts; a text given twice gets a number behind it."""
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
    """Return what is written beside states: all that decides them, so that a run is only continued by its like."""
    return {"format": "densray-states", "format_version": FORMAT_VERSION, **locals()}


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
            )  # a copy: the block may lie in pinned memory

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
    """States in a folder: one file of rows per layer, and a header that says how many texts are finished."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.folder, self.header = folder, header
        self.finished = 0
        self.files: dict[int, int] = {}
        if (folder / _HEADER).exists():
            known = _read_header(folder)
            differing = [name for name in header if known.get(name) != header[name]]
            if differing:
                raise OutputError(
                    f"{folder} holds other states ({', '.join(differing)} differ). Give another folder, or remove it."
                )
            self.finished = int(known["finished"])

    def __enter__(self) -> StatesInFolder:
        self.folder.mkdir(parents=True, exist_ok=True)
        for layer in self.header["layers"]:
            self.files[layer] = os.open(_file_of(self.folder, layer), os.O_RDWR | os.O_CREAT, 0o666)
        if not self.finished:
            with atomic_write(self.folder / _HEADER, overwrite=True) as temporary:
                temporary.write_text(json.dumps(self.header), encoding="utf-8")
            self._record(0)
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.files.values():
            os.close(handle)

    def write(self, start: int, block: NDArray[Any]) -> None:
        """Write a block of shape (layers, texts, width) to the files of its layers, then record it as finished."""
        try:
            for layer, rows in zip(self.header["layers"], block, strict=True):
                stored = np.ascontiguousarray(rows, dtype=DTYPES[self.header["dtype"]])
                _write_at(self.files[layer], stored.data.cast("B"), start * stored.shape[1] * stored.itemsize)
            self._record(start + block.shape[1])
        except OSError as error:
            raise OutputError(
                f"{self.folder} could not be written ({error.strerror}): {start:,} of {len(self.header['texts']):,} "
                f"texts are finished and stay. Make room and run the same command again: it goes on from there."
            ) from None

    def _record(self, finished: int) -> None:
        with atomic_write(self.folder / _FINISHED, overwrite=True) as temporary:
            temporary.write_text(json.dumps({"texts": finished}), encoding="utf-8")

    def states(self) -> States:
        return _states_of(self.header, self.folder)


class BlockWriter:
    """Hands blocks of states to a target in a thread, while the model runs the next: one at most is waiting."""

    def __init__(self, target: StatesInFolder | StatesInMemory, progress: Progress | None) -> None:
        self.target, self.progress = target, progress
        self.dtype, self.total = target.header["dtype"], len(target.header["texts"])
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="densray-states")
        self.waiting: tuple[Future[None], int] | None = None

    def __enter__(self) -> BlockWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self.thread:  # what is being written is written, whatever ended the run
            if kind is None:
                self._finish()

    def write(self, start: int, states: torch.Tensor) -> None:
        """Take states of shape (layers, texts, width) from where the model lies; no device is waited for."""
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


def _write_at(handle: int, content: memoryview, offset: int) -> None:
    while content:
        written = os.pwrite(handle, content, offset)
        content, offset = content[written:], offset + written


def _as_stored(states: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return states as they are stored, bfloat16 as the integers of its bits."""
    torch = load_torch()
    if dtype == "bfloat16":
        return states.to(torch.bfloat16).view(torch.int16)
    return states.to(torch.float16 if dtype == "float16" else torch.float32)


def _from_bfloat16(stored: NDArray[Any]) -> NDArray[Any]:
    """Return the float32 numbers whose upper halves are stored."""
    return np.asarray((stored.astype(np.uint32) << 16).view(np.float32))


def _states_of(header: dict[str, Any], folder: Path | None) -> States:
    names = ("width", "dtype", "model", "checksum", "pool")
    known = {name: header[name] for name in names}
    known["first_token"] = bool(header["added_first_token"])
    known |= _read_labels(folder, len(header["texts"]))
    return States(tuple(header["layers"]), tuple(header["texts"]), folder=folder, **known)


def check_columns(labels: Sequence[Any] | None, groups: Sequence[Any] | None, count: int) -> None:
    """Raise unless there are as many labels and groups as texts, where there are any."""
    for given, what in ((labels, "labels"), (groups, "groups")):
        if given is not None and len(given) != count:
            raise TaskError(f"{len(given):,} {what} are given for {count:,} texts; one per text is needed.")


def _plain_label(label: Any) -> str | float:
    return label if isinstance(label, str) else float(label)


def _read_labels(folder: Path | None, count: int) -> dict[str, Any]:
    """Return the labels and groups beside states, where they were stored."""
    if folder is None or not (folder / _LABELS).exists():
        return {}
    try:
        stored = json.loads((folder / _LABELS).read_text(encoding="utf-8"))
        found = {name: None if stored[name] is None else tuple(stored[name]) for name in ("labels", "groups")}
    except (ValueError, KeyError, TypeError):
        raise FormatError(f"{folder / _LABELS} does not hold labels. Remove it, or read the states again.") from None
    if any(values is not None and len(values) != count for values in found.values()):
        raise FormatError(f"{folder / _LABELS} holds labels of other texts. Remove it, or read the states again.")
    return found


def count_finished(folder: str | Path) -> int:
    """Return how many texts of a folder are finished; 0 where it holds no states."""
    return int(_read_header(Path(folder))["finished"]) if is_states_folder(folder) else 0


def is_states_folder(path: str | Path) -> bool:
    """Return whether a folder holds hidden states, finished or not."""
    return (Path(path) / _HEADER).is_file()


def _file_of(folder: Path, layer: int) -> Path:
    return folder / f"layer-{layer:03d}.rows"


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / _HEADER
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        whole = header["format_version"] == FORMAT_VERSION and header["format"] == "densray-states"
        header["finished"] = json.loads((folder / _FINISHED).read_text(encoding="utf-8"))["texts"]
        rows = [header["finished"] * header["width"] * DTYPES[header["dtype"]].itemsize for _ in header["layers"]]
        whole = whole and 0 <= header["finished"] <= len(header["texts"]) and len(rows) > 0
    except FileNotFoundError:
        raise FormatError(f"{folder} holds no hidden states. Give a folder that densray wrote them to.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(f"{path} is not the header of hidden states. Read them again.") from None
    if not whole or any(
        not _file_of(folder, layer).exists() or _file_of(folder, layer).stat().st_size < size
        for layer, size in zip(header["layers"], rows, strict=True)
    ):
        raise FormatError(f"{folder} is damaged: rows that its header names are missing. Read the states again.")
    return dict(header)
