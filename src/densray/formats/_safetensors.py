"""safetensors: a JSON header, then raw tensors; read and written here, since the layout is all there is to it.

Our files hold ``vectors`` (F32, rows x width), ``word_offsets`` (I64, where each word begins) and ``words`` (U8, their
UTF-8 bytes). Files of others need a words file beside them. The safetensors package writes arrays in Fortran order
wrongly (seen in 0.8.0); here the order is forced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import FormatError, name_some
from densray.formats._arrays import read_words_beside, to_float32
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape, rows_per_block, select_rows
from densray.formats._bytes import Source, decode_words, undecodable

_DTYPES = {
    "F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8",
    "I8": "|i1", "U8": "|u1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8",
}  # fmt: skip
_FLOATS = ("F16", "BF16", "F32", "F64")
_VECTORS = ("vectors", "embeddings", "embedding.weight", "weight")
_HEADER_BYTES = 512
_LONGEST_HEADER = 100_000_000  # what the format's own library accepts


def read_safetensors(source: Source, options: ReadOptions, words_file: Path | None) -> SpaceStream:
    """Return the stream of a safetensors file with one matrix of floats."""
    name = source.path.name
    tensors = _tensors(source)
    kinds = {key: (dtype, array.shape) for key, (dtype, array) in tensors.items()}
    matrices = [key for key, (dtype, shape) in kinds.items() if len(shape) == 2 and dtype in _FLOATS]
    chosen = next((key for key in _VECTORS if key in matrices), matrices[0] if len(matrices) == 1 else None)
    if chosen is None:
        raise FormatError(f"{name}: {name_some(tensors)} in the file; one matrix of floats 'vectors' is needed.")
    dtype, matrix = tensors[chosen]
    rows, width = matrix.shape
    check_shape(name, rows, width)
    if kinds.get("words", ("",))[0] == "U8" and kinds.get("word_offsets", ("",))[0] == "I64":
        count = rows if options.limit is None else min(rows, options.limit)
        words = _words(name, tensors["word_offsets"][1], tensors["words"][1], rows, count, options)
    else:
        words = read_words_beside(source.path, words_file, options, rows=rows)

    def blocks() -> Iterator[Block]:
        step = rows_per_block(width, itemsize=max(4, matrix.dtype.itemsize))
        for start in range(0, len(words), step):
            piece = matrix[start : min(start + step, len(words))]
            numbers = (piece.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else to_float32(piece)
            yield select_rows(words[start : start + step], numbers, start, options)

    return SpaceStream("safetensors", width, rows, blocks())


def _tensors(source: Source) -> dict[str, tuple[str, NDArray[Any]]]:
    """Return type and mapped array of every tensor, each checked to lie within the file."""
    name, size = source.path.name, source.size or 0
    length = int.from_bytes(source.read(8), "little")
    if length > min(_LONGEST_HEADER, size - 8):
        raise FormatError(f"{name}, byte 0: a header of {length:,} bytes is declared; the file has {size:,}.")
    try:
        header = json.loads(source.read(length))
        entries = {key: value for key, value in header.items() if key != "__metadata__"}
        whole = np.memmap(source.path, dtype=np.uint8, mode="r")
        return {key: (entry["dtype"], _tensor(whole[8 + length :], entry)) for key, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise FormatError(f"{name}, byte 8: the safetensors header is damaged ({error}).") from error


def _tensor(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    shape = tuple(entry["shape"])
    count = dtype.itemsize
    for number in (begin, end, *shape):
        if type(number) is not int or number < 0:
            raise ValueError(f"{number!r} is not a size")
    for number in shape:
        count *= number
    if begin > end or end > len(data) or end - begin != count:
        raise ValueError(f"{entry} does not fit the {len(data):,} bytes of data")
    return np.ndarray(shape, dtype, data, offset=begin)


def _words(
    name: str, offsets: NDArray[np.int64], text: NDArray[np.uint8], rows: int, count: int, options: ReadOptions
) -> list[str]:
    """Return the first words, cut from their text by their offsets."""
    if offsets.shape != (rows + 1,) or text.ndim != 1:
        raise FormatError(f"{name}: {len(offsets) - 1:,} words for {rows:,} vectors. The numbers must agree.")
    ends = offsets[: count + 1].tolist()
    if ends[0] < 0 or ends[-1] > len(text) or any(begin > end for begin, end in pairwise(ends)):
        raise FormatError(f"{name}: 'word_offsets' do not ascend within 'words'. The file is damaged.")
    data = text[: ends[-1]].tobytes()
    raw = [data[begin:end] for begin, end in pairwise(ends)]
    words: list[str] = []
    for row, word in enumerate(decode_words(raw, options)):
        if word is None:
            raise FormatError(f"{name}, row {row + 1:,}: {undecodable(raw[row], options)}")
        words.append(word)
    return words


def write_safetensors(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write vectors as they come, then the words; the header, of fixed length, last."""
    file.write(b" " * _HEADER_BYTES)
    text = bytearray()
    ends = [0]
    for words, vectors in pieces:
        file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
        for word in words:
            text += word.encode()
            ends.append(len(text))
    file.write(np.array(ends, dtype="<i8").data)
    file.write(text)
    header: dict[str, Any] = {"__metadata__": {"format": "densray", "format_version": "1"}}
    begin = 0
    for key, dtype, shape, size in (
        ("vectors", "F32", [rows, width], 4 * rows * width),
        ("word_offsets", "I64", [rows + 1], 8 * (rows + 1)),
        ("words", "U8", [len(text)], len(text)),
    ):
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
        begin += size
    encoded = json.dumps(header).encode().ljust(_HEADER_BYTES - 8)
    file.seek(0)
    file.write(len(encoded).to_bytes(8, "little") + encoded)
