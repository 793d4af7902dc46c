"""Space files as other programs write them, and readings of them that share no code with the library.

Each maker writes one file (and its words, where they lie in a file of their own) and returns what it holds, read back
by the program itself or by an independent one. `None` stands for a file that must be refused: it cannot be told from
another one, or would have to be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Reading = tuple[list[str], np.ndarray]
Maker = Callable[[Path, list[str], np.ndarray], Reading | None]

#: Words as vocabularies have them: letters of several scripts, punctuation, numbers.
WORDS = [
    "good",
    "bad",
    "naïve",
    "日本",
    "d'or",
    "1984",
    "-",
    "#tag",
    "U.S.",
    "e-mail",
    "ß",
    "x" * 40,
    "the",
    "of",
    "nan",
]


def sample(seed: int, *, width: int = 5) -> tuple[list[str], np.ndarray]:
    """Return words and vectors that four decimals hold exactly enough to be compared as float32."""
    rng = np.random.default_rng(seed)
    words = [WORDS[row] for row in rng.permutation(len(WORDS))]
    return words, (rng.normal(size=(len(words), width)) * 10.0 ** rng.integers(-3, 3)).round(4).astype(np.float32)


def _numbers(vector: np.ndarray, form: str = "%.6g") -> list[str]:
    return [form % number for number in vector.tolist()]


def _lines(path: Path, lines: list[str], *, end: str = "\n", encoding: str = "utf-8") -> None:
    path.write_bytes("".join(line + end for line in lines).encode(encoding))


def _by_pandas(path: Path, **options: Any) -> Reading:
    """Read a table of words and numbers with pandas."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(
        path, header=None, index_col=0, dtype={0: str}, keep_default_na=False, na_values=[], quoting=3, **options
    )
    return [str(word) for word in frame.index], frame.to_numpy(dtype=np.float64).astype(np.float32)


# Text


def _text(form: Callable[[list[str], np.ndarray], list[str]], **options: Any) -> Maker:
    """Return a maker of lines that any number of blanks and tabs separates."""

    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        _lines(path, form(words, vectors), **options)
        return _by_pandas(path, sep=r"[ \t]+", engine="python", skipinitialspace=True, encoding="utf-8-sig")

    return make


def _table(form: Callable[[list[str], np.ndarray], list[str]]) -> Maker:
    """Return a maker of lines below a line of names."""

    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        _lines(path, form(words, vectors))
        numbers = np.array([list(map(float, _numbers(vector))) for vector in vectors], dtype=np.float32)
        return None if vectors.shape[1] == 1 else (words, numbers)  # a word and a number: a list of labelled words

    return make


def _refused(form: Callable[[list[str], np.ndarray], list[str]], **options: Any) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> None:
        _lines(path, form(words, vectors), **options)

    return make


def _joined(separator: str, form: str = "%.6g") -> Callable[[list[str], np.ndarray], list[str]]:
    return lambda words, vectors: [
        separator.join([word, *_numbers(vector, form)]) for word, vector in _rows(words, vectors)
    ]


def _rows(words: list[str], vectors: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return list(zip(words, vectors, strict=True))


def _with_first(line: Callable[[int], str], form: Callable[..., list[str]]) -> Callable[..., list[str]]:
    return lambda words, vectors: [line(vectors.shape[1]), *form(words, vectors)]


def _gensim(*, binary: bool, header: bool) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        gensim = pytest.importorskip("gensim.models")
        keyed = gensim.KeyedVectors(vectors.shape[1])
        keyed.add_vectors(words, vectors)
        keyed.save_word2vec_format(str(path), binary=binary, write_header=header)
        if not header:
            return words, vectors  # gensim leaves such a file open when it reads it
        found = gensim.KeyedVectors.load_word2vec_format(str(path), binary=binary)
        return list(found.index_to_key), found.vectors

    return make


def _pandas_text(**options: Any) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame(vectors, index=words).to_csv(path, header=False, **options)
        return _by_pandas(path, sep=options["sep"])

    return make


def _pandas_table(**options: Any) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame(vectors, index=words).to_csv(path, **options)
        width = vectors.shape[1]
        is_count = width == 2 and options == {"sep": "\t"}  # "0 1" above the columns: the first line of word2vec
        return None if width == 1 or is_count else (words, vectors)  # a word and a number: a list of labelled words

    return make


def _pandas_refused(*, numbered: bool = False, **options: Any) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(vectors, index=None if numbered else words)
        if numbered:
            frame.insert(0, "word", words)
        frame.to_csv(path, **options)

    return make


#: Tables with a line of names; inside an archive they are refused.
WITH_NAMES = (
    "pandas, tabs", "pandas, tabs, named index", "pandas, tabs, foreign name", "pandas, commas", "R, write.csv",
    "names above the columns",
)  # fmt: skip
_plain = _joined(" ")
TEXT: dict[str, Maker] = {
    "gensim text": _gensim(binary=False, header=True),
    "gensim text without a header": _gensim(binary=False, header=False),
    "gensim binary": _gensim(binary=True, header=True),
    "GloVe": _text(_joined(" ", "%.6f")),
    "GloVe with CR LF": _text(_plain, end="\r\n"),
    "GloVe with a byte-order mark": _text(_plain, encoding="utf-8-sig"),
    "GloVe in capital exponents": _text(_joined(" ", "%+.8E")),
    "fastText": _text(lambda words, vectors: [line + " " for line in _plain(words, vectors)]),
    "columns of numbers": _text(_joined(" ", "%12.5f")),
    "columns of words": _text(
        lambda words, vectors: [f"{word:<42} " + " ".join(_numbers(vector)) for word, vector in _rows(words, vectors)]
    ),
    "columns of words to the right": _text(
        lambda words, vectors: [f"{word:>42} " + " ".join(_numbers(vector)) for word, vector in _rows(words, vectors)]
    ),
    "a tab after the word": _text(
        lambda words, vectors: [f"{word}\t" + " ".join(_numbers(vector)) for word, vector in _rows(words, vectors)]
    ),
    "a tab and a blank after the word": _text(
        lambda words, vectors: [f"{word}\t " + " ".join(_numbers(vector)) for word, vector in _rows(words, vectors)]
    ),
    "tabs": _text(_joined("\t")),
    "tabs and columns": _text(_joined("\t", "%10.4f")),
    "pandas, blanks, no header": _pandas_text(sep=" ", quoting=3),
    "pandas, tabs, no header": _pandas_text(sep="\t"),
    "R, tabs, quote=FALSE, col.names=FALSE": _text(_joined("\t", "%.15g")),
    "pandas, tabs": _pandas_table(sep="\t"),
    "pandas, tabs, named index": _pandas_table(sep="\t", index_label="word"),
    "pandas, tabs, foreign name": _pandas_table(sep="\t", index_label="lemma"),
    "pandas, blanks": _pandas_refused(sep=" "),
    "pandas, numbered rows": _pandas_refused(numbered=True, sep=" ", header=False, quoting=3, escapechar="\\"),
    "pandas, numbered rows, tabs": _pandas_refused(numbered=True, sep="\t", header=False),
    "pandas, commas": _pandas_table(),
    "commas and blanks": _refused(_joined(", ")),
    "semicolons": _refused(_joined(";")),
    "decimal commas": _refused(
        lambda words, vectors: [
            " ".join([w, *(f"{x:.4f}".replace(".", ",") for x in v)]) for w, v in _rows(words, vectors)
        ]
    ),
    "decimal commas, the last number whole": _refused(
        lambda words, vectors: [
            " ".join([w, *(f"{x:.4f}".replace(".", ",") for x in v), "1"]) for w, v in _rows(words, vectors)
        ]
    ),
    "R, write.table": _refused(
        _with_first(
            lambda width: " ".join(f'"V{axis + 1}"' for axis in range(width)),
            lambda words, vectors: [f'"{w}" ' + " ".join(_numbers(v)) for w, v in _rows(words, vectors)],
        )
    ),
    "R, write.table, col.names=FALSE": _refused(
        lambda words, vectors: [f'"{w}" ' + " ".join(_numbers(v)) for w, v in _rows(words, vectors)]
    ),
    "R, write.csv": _table(
        _with_first(
            lambda width: ",".join(['""', *(f'"V{axis + 1}"' for axis in range(width))]),
            lambda words, vectors: [",".join([f'"{w}"', *_numbers(v)]) for w, v in _rows(words, vectors)],
        )
    ),
    "names above the columns": _table(
        _with_first(lambda width: "\t".join(["word", *(f"d{axis}" for axis in range(width))]), _joined("\t"))
    ),
    "numbers alone": _refused(lambda words, vectors: [" ".join(_numbers(v, "%.18e")) for v in vectors]),
    "numbers alone, as the embedding projector takes them": _refused(
        lambda words, vectors: ["\t".join(_numbers(v, "%.4f")) for v in vectors]
    ),
    "numbers of graph nodes": _text(
        lambda words, vectors: [f"{row + 7} " + " ".join(_numbers(v, "%.4f")) for row, v in enumerate(vectors)]
    ),
    "a column that is missing everywhere": _refused(
        lambda words, vectors: [" ".join([w, *_numbers(v), "NA", "0.5"]) for w, v in _rows(words, vectors)]
    ),
    "exponents of Fortran": _refused(
        lambda words, vectors: [
            " ".join([w, *(f"{x:.3E}" for x in v), "0.5"]).replace("E", "D") for w, v in _rows(words, vectors)
        ]
    ),
    "pandas, a phrase in quotation marks": _refused(
        lambda words, vectors: _plain(['"new york"' if w == "good" else w for w in words], vectors)
    ),
    "CR alone": _refused(_plain, end="\r"),
    "CR alone below a header": _refused(_with_first(lambda width: f"{len(WORDS)} {width}", _plain), end="\r"),
    "CR alone on some lines": _refused(
        lambda words, vectors: ["\r".join(_plain(words, vectors)[:3]), *_plain(words, vectors)[3:]]
    ),
    "Excel, Unicode text": _refused(_joined("\t"), encoding="utf-16", end="\r\n"),
    "UTF-16 without a mark": _refused(_plain, encoding="utf-16-le"),
    "Excel, text in Windows-1252": _refused(
        lambda words, vectors: _joined("\t")([word.replace("日本", "é") for word in words], vectors),
        encoding="cp1252",
        end="\r\n",
    ),
    "Excel, CSV UTF-8 with semicolons": _refused(
        lambda words, vectors: [
            ";".join([w, *(n.replace(".", ",") for n in _numbers(v))]) for w, v in _rows(words, vectors)
        ],
        encoding="utf-8-sig",
        end="\r\n",
    ),
    "a missing number": _refused(
        lambda words, vectors: [line.rsplit(" ", row == 4)[0] for row, line in enumerate(_plain(words, vectors))]
    ),
    "NaN": _refused(
        lambda words, vectors: _plain(words, np.where(np.arange(len(words))[:, None] == 4, np.nan, vectors))
    ),
}


# NumPy


def _npy(
    write_words: Callable[[Path, list[str]], None], change: Callable[[np.ndarray], np.ndarray], *, refused: bool = False
) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading | None:
        with path.open("wb") as file:
            np.save(file, change(vectors))
        words_file = path.with_name(f"{path.stem}.words.txt")
        write_words(words_file, words)
        if refused:
            return None
        return words_file.read_text("utf-8-sig").splitlines(), np.load(path).astype(np.float32)

    return make


def _listed(**options: Any) -> Callable[[Path, list[str]], None]:
    return lambda path, words: _lines(path, words, **options)


def _npz(save: Callable[..., None], words_as: Callable[[list[str]], np.ndarray], **more: np.ndarray) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        with path.open("wb") as file:
            save(file, embeddings=vectors.astype(np.float64), vocab=words_as(words), **more)
        with np.load(path) as found:
            texts = [word.decode() if isinstance(word, bytes) else word for word in found["vocab"].tolist()]
            return texts, found["embeddings"].astype(np.float32)

    return make


ARRAYS: dict[str, Maker] = {
    "npy": _npy(_listed(), lambda matrix: matrix),
    "npy, Fortran order": _npy(_listed(), np.asfortranarray),
    "npy, float64, words with CR LF": _npy(_listed(end="\r\n"), lambda matrix: matrix.astype(np.float64)),
    "npy, big-endian, words with a byte-order mark": _npy(_listed(encoding="utf-8-sig"), lambda m: m.astype(">f4")),
    "npy, float16": _npy(_listed(), lambda matrix: (matrix / 100).astype(np.float16)),
    "npy, whole numbers": _npy(_listed(), lambda matrix: matrix.astype(np.int32)),
    "npy, no line end after the last word": _npy(
        lambda path, words: path.write_text("\n".join(words), "utf-8") and None, lambda matrix: matrix
    ),
    "npy, words in UTF-16": _npy(_listed(encoding="utf-16"), lambda matrix: matrix, refused=True),
    "npy, words in UTF-16 without a mark": _npy(_listed(encoding="utf-16-le"), lambda matrix: matrix, refused=True),
    "npy, words with CR alone": _npy(_listed(end="\r"), lambda matrix: matrix, refused=True),
    "npy, a word too many": _npy(
        lambda path, words: _lines(path, [*words, "more"]), lambda matrix: matrix, refused=True
    ),
    "npy, words with their frequencies": _npy(
        lambda path, words: _lines(path, [f"{word} {1000 - row}" for row, word in enumerate(words)]),
        lambda matrix: matrix,
        refused=True,
    ),
    "npy, words with a second column": _npy(
        lambda path, words: _lines(path, [f"{word}\tNOUN" for word in words]), lambda matrix: matrix, refused=True
    ),
    "npy, words in quotation marks": _npy(
        lambda path, words: _lines(path, [f'"{word}"' for word in words]), lambda matrix: matrix, refused=True
    ),
    "npy, complex": _npy(_listed(), lambda matrix: matrix + 1j, refused=True),
    "npz": _npz(np.savez, np.array),
    "npz, compressed, words as bytes": _npz(
        np.savez_compressed, lambda words: np.array([word.encode() for word in words])
    ),
    "npz, other arrays beside": _npz(np.savez, np.array, counts=np.arange(3), ok=np.array([True])),
}


# Parquet


def _pyarrow(table_of: Callable[[Any, list[str], np.ndarray], Any], *, refused: bool = False, **options: Any) -> Maker:
    """Return a maker of parquet, read back with pyarrow: the only column of text, and those named by their numbers."""

    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading | None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(table_of(pyarrow, words, vectors), path, **options)
        return None if refused else read_parquet_with_pyarrow(path)

    return make


def read_parquet_with_pyarrow(path: Path) -> Reading:
    """Return the only column of text, and the columns of lists or of numbers but the index of pandas."""
    table = pytest.importorskip("pyarrow.parquet").read_table(path, use_threads=False, memory_map=False)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    words = next(values for values in columns.values() if isinstance(values[0], str))
    lists = [values for values in columns.values() if isinstance(values[0], list)]
    if lists:
        return words, np.array(lists[0], dtype=np.float64).astype(np.float32)
    numbers = [v for name, v in columns.items() if isinstance(v[0], float | int) and not name.startswith("__index")]
    return words, np.array(numbers, dtype=np.float64).T.astype(np.float32)


def _pandas_parquet(change: Callable[[Any, list[str]], Any], *, refused: bool = False) -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading | None:
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame(vectors, columns=[str(axis) for axis in range(vectors.shape[1])])
        change(frame, words).to_parquet(path)
        return None if refused else read_parquet_with_pyarrow(path)

    return make


def _wide(pa: Any, words: Any, vectors: np.ndarray) -> Any:
    return pa.table({"word": words, **{f"dim_{axis}": vectors[:, axis] for axis in range(vectors.shape[1])}})


TABLES: dict[str, Maker] = {
    "parquet, lists": _pyarrow(lambda pa, words, vectors: pa.table({"w": words, "v": vectors.tolist()})),
    "parquet, a column per number": _pyarrow(_wide),
    "parquet, columns from 1, gzip": _pyarrow(
        lambda pa, words, vectors: pa.table(
            {"word": words, **{f"x{axis + 1}": vectors[:, axis] for axis in range(vectors.shape[1])}}
        ),
        compression="gzip",
    ),
    "parquet, dictionary words": _pyarrow(
        lambda pa, words, vectors: pa.table({"word": pa.array(words).dictionary_encode(), "vector": vectors.tolist()})
    ),
    "parquet, large text, small groups, zstd": _pyarrow(
        lambda pa, words, vectors: pa.table({"word": pa.array(words, pa.large_string()), "vector": vectors.tolist()}),
        row_group_size=4,
        compression="zstd",
    ),
    "pandas, words as the index": _pandas_parquet(lambda frame, words: frame.set_index(np.array(words, dtype=object))),
    "pandas, words as a column": _pandas_parquet(lambda frame, words: frame.assign(word=words)),
    "pandas, words as categories": _pandas_parquet(
        lambda frame, words: frame.assign(word=words).astype({"word": "category"})
    ),
    "pandas, rows in another order": _pandas_parquet(lambda frame, words: frame.assign(word=words).iloc[::-1]),
    "pandas, an identifier beside": _pandas_parquet(
        lambda frame, words: frame.assign(word=words, id=range(len(words))), refused=True
    ),
    "pandas, a frequency beside": _pandas_parquet(
        lambda frame, words: frame.assign(word=words, count=np.arange(len(words)) / 7), refused=True
    ),
    "pandas, columns 0, 1 and 99": _pandas_parquet(
        lambda frame, words: frame.assign(word=words).rename(columns={str(frame.shape[1] - 1): "99"}), refused=True
    ),
    "parquet, a missing word": _pyarrow(
        lambda pa, words, vectors: pa.table({"word": [*words[:-1], None], "vector": vectors.tolist()}), refused=True
    ),
    "parquet, a missing number": _pyarrow(
        lambda pa, words, vectors: pa.table(
            {"word": words, "vector": [*vectors.tolist()[:-1], [None] * vectors.shape[1]]}
        ),
        refused=True,
    ),
    "parquet, two columns of lists": _pyarrow(
        lambda pa, words, vectors: pa.table({"word": words, "a": vectors.tolist(), "b": vectors.tolist()}), refused=True
    ),
}


# safetensors


def _safetensors(tensors_of: Callable[[Any, np.ndarray], dict[str, Any]], name: str = "embeddings") -> Maker:
    def make(path: Path, words: list[str], vectors: np.ndarray) -> Reading:
        torch = pytest.importorskip("torch")
        library = pytest.importorskip("safetensors.torch")
        library.save_file(tensors_of(torch, vectors), path)
        _lines(path.with_name(f"{path.stem}.words.txt"), words)
        return words, library.load_file(path)[name].to(torch.float32).numpy()

    return make


TENSORS: dict[str, Maker] = {
    "safetensors": _safetensors(lambda torch, x: {"embeddings": torch.tensor(x)}),
    "safetensors, bfloat16": _safetensors(lambda torch, x: {"embeddings": torch.tensor(x).to(torch.bfloat16)}),
    "safetensors, float64, labels beside": _safetensors(
        lambda torch, x: {"embeddings": torch.tensor(x).double(), "labels": torch.arange(len(x))}
    ),
    "safetensors, truth values beside": _safetensors(
        lambda torch, x: {"embeddings": torch.tensor(x), "mask": torch.ones(len(x), dtype=torch.bool)}
    ),
    "safetensors, eight-bit floats beside": _safetensors(
        lambda torch, x: {"embeddings": torch.tensor(x), "small": torch.ones(3, 2).to(torch.float8_e4m3fn)}
    ),
}

FOREIGN: dict[str, Maker] = {**TEXT, **ARRAYS, **TABLES, **TENSORS}
"""Every maker by what it imitates."""


# Slow, obvious readings of any bytes


def read_lines_slowly(data: bytes, width: int | None) -> Reading:
    """Return the words and numbers of text, token by token; a header is there where no width is given."""
    lines = [line.rstrip(" \t\r") for line in data.decode("utf-8-sig").split("\n")]
    lines = [line for line in lines if line]
    if width is None:
        width = int(lines.pop(0).split()[1])
    words, vectors = [], []
    for line in lines:
        places = [match.start() for match in re.finditer(r"(?<![^ \t])[^ \t]", line)]
        begin = places[-width]
        words.append(line[:begin].strip(" \t"))
        vectors.append([float(token) for token in line[begin:].split()])
    return words, np.array(vectors).astype(np.float32)


def read_binary_slowly(data: bytes) -> Reading:
    """Return the words and numbers of word2vec's binary format, row by row."""
    head, _, rest = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    rows, width = (int(number) for number in head.split())
    words, vectors = [], []
    for _ in range(rows):
        word, _, rest = rest.partition(b" ")
        words.append(word.lstrip(b"\n").decode())
        vectors.append(np.frombuffer(rest[: 4 * width], "<f4"))
        rest = rest[4 * width :]
    return words, np.array(vectors)
