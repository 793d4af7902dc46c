"""Bad input made by the thousand: what was tried, what gave a wrong result, and which exceptions escaped.

Each attack makes its inputs from a seed, so that what it finds can be made again. `tests/test_attacks.py` runs a part
of each by default and all of it in the slow run, with those of `tests/attacks_on_programs.py`;
`scripts/measure_attacks.py` keeps the counts for the documentation.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from densray import Axis, DensRay, Lexicon
from densray._files import archive_digest
from densray.analogies import AnalogySet
from densray.datasets import load_similarity
from densray.debiasing import load_concept
from densray.errors import DensRayError
from densray.formats import read_space, verify_space, write_space
from densray.rotations import METHODS, make_rotation
from densray.scale import fit_blocks
from densray.space import WordSpace
from foreign_files import FOREIGN, read_binary_slowly, read_lines_slowly, read_parquet_with_pyarrow, sample
from format_files import ENDING, FILES, cannot_hold

#: Letters of the longest message; the path of the file is not counted.
LONGEST_MESSAGE = 300


@dataclass
class Campaign:
    """What was tried, the wrong results, and the errors that are not of the family."""

    name: str
    seed: int = 0
    tried: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    escaped: list[str] = field(default_factory=list)

    @property
    def mishandled(self) -> list[str]:
        """Everything that is neither a right result nor a named refusal."""
        return [*(f"wrong: {each}" for each in self.wrong), *(f"escaped: {each}" for each in self.escaped)]

    def attempt(self, what: str, call: Callable[[], object], *, path: Path | None = None) -> object:
        """Make one attempt.

        A failed assertion is a wrong result. Any other error that is not of the family, or too long, has escaped. The
        file that led to either is kept under ``build/attacks``.
        """
        self.tried += 1
        before = len(self.wrong) + len(self.escaped)
        try:
            return call()
        except DensRayError as error:
            self.refused += 1
            text = str(error).replace(str(path), "") if path else str(error)
            if len(text) > LONGEST_MESSAGE:
                self.escaped.append(f"{what}: a message of {len(text)} letters: {text[:120]}…")
        except AssertionError as error:
            self.wrong.append(f"{what}: {str(error).strip()[:200]}")
        except Exception as error:  # what an attack looks for
            self.escaped.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
        finally:
            if path is not None and len(self.wrong) + len(self.escaped) > before:
                self.keep(path)
        return None

    def keep(self, path: Path) -> None:
        """Copy a file that was mishandled, with what lies beside it, for whoever looks into it."""
        folder = Path(__file__).parents[1] / "build" / "attacks" / f"{self.name}-{self.seed}-{self.tried}"
        folder.mkdir(parents=True, exist_ok=True)
        for each in path.parent.glob(f"{path.name.partition('.')[0]}.*"):
            (folder / each.name).write_bytes(each.read_bytes())


@contextmanager
def quiet_streams(campaign: Campaign) -> Iterator[None]:
    """Count anything that a library writes to stderr by itself, such as a panic of its compiled part, as mishandled."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            caught.seek(0)
            if said := caught.read().decode(errors="replace").strip():
                campaign.escaped.append(f"printed to stderr: {said[:200]}")


def mutated(raw: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with some of its bytes changed, cut, doubled or put elsewhere."""
    data = bytearray(raw)
    if rng.random() < 0.4 and data:  # one byte becomes another: the hardest to notice
        data[int(rng.integers(len(data)))] = int(rng.choice([*b"0123456789 .-", *rng.bytes(5)]))
        return bytes(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data) + 1)) if rng.random() < 0.7 else int(rng.integers(min(len(data), 200) + 1))
        length = int(rng.choice([1, 1, 2, 4, 8, 64, 1000]))
        kind = rng.integers(7)
        if kind == 0:
            data[at : at + length] = rng.bytes(length)
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = rng.bytes(length)
        elif kind == 3:
            data[at:at] = data[at : at + length]
        elif kind == 4:
            data[at : at + length] = bytes(length) if rng.random() < 0.5 else b"\xff" * length
        elif kind == 5:
            del data[at:]
        else:
            data[at:at] = _ODD_BYTES[int(rng.integers(len(_ODD_BYTES)))]
    return bytes(data)


_ODD_BYTES = (b"nan", b"\n", b"\r\n", b" ", b"\t", b"-1", b"1e999", b"\x00", b'"', b"{", b"99999999999", b"\xe9")
_WORDS = ["good", "bad", "naïve", "day 2", "日本", "x" * 40, "a", "the", "of", "and", "to", "in"]
_ENCODINGS = ("utf-8", "latin-1", "utf-16", "undefined", "zlib", "rot13", "idna", "punycode", "nonsense", "")
_HANDLERS = ("strict", "replace", "ignore", "xmlcharrefreplace", "namereplace", "surrogatepass", "nonsense", "")


def attack_space_files(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Read mutated files of every format and packing, with odd codecs, error handlers, members and formats.

    What is read without odd options is compared: where the file has a checksum with what was written, otherwise with an
    independent reading of the mutated bytes.
    """
    campaign, rng = Campaign("space files", seed), np.random.default_rng(seed)
    originals = []
    for kind, packing in FILES:
        words = [word for word in _WORDS if not cannot_hold(kind, word)]
        space = WordSpace(words, np.random.default_rng(1).normal(size=(len(words), 7)))
        path = folder / f"space{ENDING[kind]}{packing}"
        write_space(space, path, overwrite=True)
        originals.append((kind, packing, path.read_bytes(), space))
    words_file = folder / "odd.words.txt"
    with quiet_streams(campaign):
        for number in range(count):
            kind, packing, raw, space = originals[number % len(originals)]
            path = folder / f"odd{ENDING[kind]}{packing}"
            path.unlink(missing_ok=True)  # an earlier one may still be mapped
            path.write_bytes(mutated(raw, rng))
            if kind == "npy":
                listed = "".join(f"{word}\n" for word in space.words).encode()
                words_file.write_bytes(listed if rng.random() < 0.7 else mutated(listed, rng))
            options = _odd_options(rng)

            def read() -> None:
                found = read_space(path, **options)  # noqa: B023
                if not options:  # noqa: B023
                    check_reading(found, path, kind, packing, space)  # noqa: B023

            campaign.attempt(f"{path.name} #{number} {options}", read, path=path)
    return campaign


def _odd_options(rng: np.random.Generator) -> dict[str, Any]:
    """Return odd ways to read a file, for four in ten."""
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        return options
    if rng.random() < 0.5:
        options["encoding"] = str(rng.choice(_ENCODINGS))
        options["errors"] = str(rng.choice(_HANDLERS))
    if rng.random() < 0.2:
        options["format"] = str(rng.choice([*ENDING, "nonsense"]))
    if rng.random() < 0.3:
        options["bad_rows"] = "skip"
    if rng.random() < 0.3:
        options["limit"] = int(rng.integers(-1, 20))
    if rng.random() < 0.1:
        options["member"] = str(rng.choice(["", "../x", "space.txt"]))
    return options


def check_reading(found: WordSpace, path: Path, kind: str, packing: str, original: WordSpace) -> None:
    """Raise if what was read of a mutated file is neither what was written nor what the bytes say by now."""
    words = list(found.words)  # the words of a native file are decoded here, and its vectors checked
    vectors = np.vstack([block for _, block in found.blocks()])
    if words == list(original.words) and np.array_equal(vectors, original.vectors):
        return
    if packing or kind == "npz":
        raise AssertionError("other words or numbers than were written, and the file has a checksum")
    if kind in ("native", "safetensors"):
        with suppress(DensRayError):
            verify_space(path)
            raise AssertionError("other words or numbers than were written, and the digest agrees")
    expected = _independent_reading(path, kind, found.width)
    if expected is None:
        return
    assert words == expected[0], f"words {words[:3]}, not {expected[0][:3]}"
    np.testing.assert_array_max_ulp(vectors, expected[1].astype(np.float32), maxulp=1)


def _independent_reading(path: Path, kind: str, width: int) -> tuple[list[str], np.ndarray] | None:
    """Return what a file says without any code of the library, None for a format that has no other reader here.

    A file that cannot be read so is a wrong result.
    """
    data = path.read_bytes()
    try:
        if kind in ("glove", "word2vec-text", "fasttext"):
            has_header = re.match(rb"(\xef\xbb\xbf)?\s*\d+[ \t]+\d+[ \t]*\r?\n", data)
            return read_lines_slowly(data, None if has_header else width)
        if kind == "word2vec-binary":
            return read_binary_slowly(data)
        if kind == "npy":
            listed = path.with_name("odd.words.txt").read_bytes().decode("utf-8-sig")
            return listed.replace("\r\n", "\n").removesuffix("\n").split("\n"), np.load(path)
        if kind == "parquet":
            return read_parquet_with_pyarrow(path)
        return _tensors(data) if kind in ("native", "safetensors") else None
    except (ImportError, pytest.skip.Exception):
        return None
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} of the independent reading: {str(error)[:100]}") from error


def _tensors(data: bytes) -> tuple[list[str], np.ndarray]:
    from safetensors.numpy import load

    tensors = load(data)
    text, ends = tensors["words"].tobytes(), tensors["word_offsets"].tolist()
    return [text[begin:end].decode() for begin, end in pairwise(ends)], tensors["vectors"]


def attack_foreign_files(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Read files as other programs write them; each is refused, or read as an independent program reads it."""
    campaign = Campaign("files of other programs", seed)
    names = list(FOREIGN)
    with quiet_streams(campaign):
        for number in range(count):
            name, path = names[number % len(names)], folder / "theirs.file"
            words, vectors = sample(seed + number, width=1 + number % 7)
            path.unlink(missing_ok=True)
            try:
                expected = FOREIGN[name](path, words, vectors)
            except pytest.skip.Exception:  # the program that would write it is not installed
                campaign.tried += 1
                continue

            def read() -> None:
                found = read_space(path)  # noqa: B023
                assert expected is not None, "read, and should have been refused"  # noqa: B023
                assert list(found.words) == expected[0], f"words {list(found.words)[:3]}"  # noqa: B023
                np.testing.assert_array_max_ulp(found.vectors, expected[1], maxulp=1)  # noqa: B023

            refused = campaign.refused
            campaign.attempt(f"{name} #{number}", read, path=path)
            if campaign.refused > refused and expected is not None:
                campaign.wrong.append(f"{name} #{number}: refused, and could have been read")
    return campaign


def attack_small_files(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Read mutated lexicons, analogies, ratings, concepts, axes and checkpoints."""
    campaign = Campaign("lexicon, analogy, rating, concept, axis and checkpoint files", seed)
    rng = np.random.default_rng(seed)
    X, y = _rows(np.random.default_rng(2))
    space = WordSpace([f"w{i}" for i in range(len(X))], X)
    rotation = DensRay(1).fit(X, y)
    axis = Axis.of(rotation, space=space).save(folder / "axis", overwrite=True).read_bytes()
    fit_blocks(DensRay(1), _blocks(X, y), checkpoint=folder / "blocks.npz")
    checkpoint = (folder / "blocks.npz").read_bytes()
    expected = fit_blocks(DensRay(1), _blocks(X, y)).components_
    texts: list[tuple[str, bytes, Callable[[Path], object]]] = [
        ("lexicon.tsv", b"word\tlabel\ngood\t1\nbad\t-1\nnice\t0.5\nfoul\t-2\n", Lexicon.read),
        ("lexicon.csv", b'word,label\ngood,positive\nbad,negative\n"nice, very",positive\n', Lexicon.read),
        ("lexicon.json", b'{"good": 1, "bad": -1, "nice": 0.5}', Lexicon.read),
        ("lexicon.txt", b"good 1\nbad -1\n", Lexicon.read),
        ("pairs.txt", b": one\na b c d\nc d e f\n: two\ng h i j\n", AnalogySet.read),
        ("I01 [noun - plural].txt", b"album\talbums\napple\tapples/appels\n", AnalogySet.read),
        ("ratings.tsv", b"word1\tword2\tscore\na\tb\t1.5\nc\td\t2\n", load_similarity),
        ("concept.toml", b'lexicon = {good=1, bad=-1}\nanchors = ["good", "bad"]\nneutral = ["a"]\n', load_concept),
        ("axis.safetensors", axis, lambda path: Axis.load(path, space, any_space=True).score(space)),
        ("signed.safetensors", axis, lambda path: Axis.load(path, space, any_space=True).score(space)),
        ("blocks.npz", checkpoint, lambda path: fit_blocks(DensRay(1), _blocks(X, y), checkpoint=path)),
        ("signed-blocks.npz", checkpoint, lambda path: fit_blocks(DensRay(1), _blocks(X, y), checkpoint=path)),
    ]
    with quiet_streams(campaign):
        for number in range(count):
            name, raw, read = texts[number % len(texts)]
            path = folder / f"odd-{name}"
            if name.startswith("signed"):
                said = _write_signed(path, folder / name.replace("signed-", "").replace("signed", "axis"), raw, rng)
            else:
                said = "bytes"
                path.write_bytes(mutated(raw, rng))
            found: Any = campaign.attempt(f"{name} #{number} ({said})", lambda: read(path), path=path)  # noqa: B023
            if "blocks" in name and found is not None and not np.allclose(found.components_, expected, atol=1e-9):
                campaign.wrong.append(f"{name} #{number} ({said}): other axes without a word")
    return campaign


_ODD_VALUES = (
    None, True, -1, 0, 3.5, float("nan"), 1e400, "", "text", "x" * 5000, [], [1, 2], [[1, 2], [1, 2]], {}, {"a": 1}
)  # fmt: skip


def _write_signed(path: Path, scratch: Path, raw: bytes, rng: np.random.Generator) -> str:
    """Write an archive with one entry of its header or one array of another kind, and the digest of that; say which."""
    scratch.write_bytes(raw)
    header, parts = _read_parts(scratch)
    if rng.random() < 0.5:
        table, trail = header, "header"
        while True:
            key = str(
                rng.choice(sorted(set(table) - {"digest", "format", "format_version", "densray_version"}) or [""])
            )
            trail += f".{key}"
            if isinstance(table.get(key), dict) and table[key] and rng.random() < 0.6:
                table = table[key]
                continue
            break
        if rng.random() < 0.2:
            table.pop(key, None)
            said = f"{trail} missing"
        else:
            value = _ODD_VALUES[int(rng.integers(len(_ODD_VALUES)))]
            if type(value) is type(table.get(key)) and not isinstance(value, list):
                value = [value]  # of another kind: a value of the same kind would be another fit, not a broken file
            table[key] = value
            said = f"{trail} = {str(value)[:20]}"
    else:
        name = str(rng.choice(sorted(parts)))
        said = _spoil(parts, name, rng)
    header["digest"] = archive_digest(header, parts)
    if path.suffix == ".npz":
        np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **parts)
    else:
        save_file(parts, path, metadata={name: json.dumps(value) for name, value in header.items()})
    return said


def _read_parts(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the arrays of a checkpoint (.npz) or an axis (.safetensors)."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            parts = dict(file)
        return json.loads(bytes(parts.pop("header"))), parts
    with safe_open(str(path), framework="numpy") as file:
        header = {name: json.loads(text) for name, text in file.metadata().items()}
    return header, load_file(path)


def _spoil(parts: dict[str, Any], name: str, rng: np.random.Generator) -> str:
    array = parts[name]
    kind = int(rng.integers(5))
    if kind == 0:
        del parts[name]
    elif kind == 1:
        parts[name] = array[..., None]
    elif kind == 2:
        parts[name] = array.astype(np.uint16)
    elif kind == 3 and array.ndim:
        parts[name] = array[:-1] if len(array) else np.ones(3)
    else:
        parts[name] = np.full(array.shape, np.nan)
    return f"array {name}, {('missing', 'one more dimension', 'as integers', 'cut', 'NaN')[kind]}"


def _rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(40, 5)).astype(np.float32)
    y = np.where(np.arange(40) % 2 == 0, 1, -1)
    X[:, 1] += y
    return X, y


def _blocks(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(X[start : start + 10], y[start : start + 10]) for start in range(0, len(X), 10)]


def attack_fits(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Fit every method to odd rows, labels, weights, groups and numbers of axes."""
    campaign, rng = Campaign("fits", seed), np.random.default_rng(seed)
    names = sorted(set(METHODS) - {"auto"})
    with quiet_streams(campaign), np.errstate(all="ignore"):
        for number in range(count):
            X, said_rows = _odd_rows(rng)
            y, said_labels = _odd_labels(rng, X)
            weights, said_weights = _odd_weights(rng, X)
            name = names[number % len(names)]
            n_components: Any = (1, 1, 1, None, 2, 0, -1, 10**6, "all", 1.5, True)[int(rng.integers(11))]
            what = f"#{number} {name}({n_components!r}) on {said_rows}, {said_labels}, {said_weights}"

            def fit() -> None:
                rotation = make_rotation(name, n_components).fit(X, y, sample_weight=weights)  # noqa: B023
                if not np.isfinite(rotation.components_).all():
                    raise AssertionError("axes that are no numbers")

            campaign.attempt(what, fit)
    return campaign


def _odd_rows(rng: np.random.Generator) -> tuple[Any, str]:
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    kind = int(rng.integers(24))
    if kind == 0:
        import scipy.sparse

        return scipy.sparse.csr_array(X), "a sparse array"
    if kind == 1:
        return np.matrix(X), "a matrix"
    made: dict[int, tuple[Any, str]] = {
        2: (None, "None"),
        3: (X[:, :0], "no columns"),
        4: (X[:0], "no rows"),
        5: (np.where(rng.random((n, d)) < 0.05, np.nan, X), "NaN"),
        6: (np.where(rng.random((n, d)) < 0.05, np.inf, X), "infinite"),
        7: (X * 1e200, "huge"),
        8: (X * 1e-200, "tiny"),
        9: (np.zeros((n, d)), "zeros"),
        10: (np.ones((n, d)), "equal rows"),
        11: (X[:, 0], "one dimension"),
        12: (X[None], "three dimensions"),
        13: (X.astype(object), "objects"),
        14: (X.astype(str), "text"),
        15: (X + 1j, "complex"),
        16: ((X * 10).astype(np.int8), "integers"),
        17: (X > 0, "truth values"),
        18: (X.astype(np.float16), "half precision"),
        19: (X.tolist(), "lists"),
        20: ([[1.0], [1.0, 2.0]], "ragged lists"),
        21: (np.ma.masked_array(X, mask=X > 1), "a masked array"),
    }
    return made.get(kind, (X, "rows"))


def _odd_labels(rng: np.random.Generator, X: Any) -> tuple[Any, str]:
    n = X.shape[0] if hasattr(X, "shape") and X.shape else len(X) if X is not None else 5
    y = np.where(rng.random(n) < 0.5, 1, -1)
    kind = int(rng.integers(16))
    made: dict[int, tuple[Any, str]] = {
        0: (None, "no labels"),
        1: (np.ones(n), "one class"),
        2: (rng.integers(0, 5, n), "five classes"),
        3: (rng.normal(size=n), "scores"),
        4: (np.full(n, np.nan), "NaN"),
        5: (y[:-1], "one too few"),
        6: (y[:, None], "a column"),
        7: (np.where(y > 0, "good", "bad"), "text"),
        8: (np.array([None] * n, dtype=object), "None"),
        9: (y * 1e300, "huge"),
        10: (y > 0, "truth values"),
        11: ([["a"]] * n, "lists"),
        12: (y * np.inf, "infinite"),
    }
    return made.get(kind, (y, "two classes"))


def _odd_weights(rng: np.random.Generator, X: Any) -> tuple[Any, str]:
    n = X.shape[0] if hasattr(X, "shape") and X.shape else 5
    made: dict[int, tuple[Any, str]] = {
        0: (np.zeros(n), "weights 0"),
        1: (-np.ones(n), "weights below 0"),
        2: (np.full(n, 1e308), "weights whose sum is infinite"),
        3: (np.full(n, 1e-320), "weights near 0"),
        4: (np.full(n, np.nan), "weights NaN"),
        5: (np.ones(n + 1), "a weight too many"),
        6: (["a"] * n, "weights as text"),
        7: (rng.random(n), "weights"),
        8: (3, "a number for weights"),
    }
    return made.get(int(rng.integers(24)), (None, "no weights"))


ATTACKS: dict[str, tuple[Callable[..., Campaign], int, int]] = {
    "space files": (attack_space_files, 20_000, 250),
    "files of other programs": (attack_foreign_files, 2_000, 90),
    "small files": (attack_small_files, 6_000, 250),
    "fits": (attack_fits, 6_000, 250),
}
"""Each attack, how much the slow run tries, and how much the default run."""

__all__ = ["ATTACKS", "Campaign", "attack_fits", "attack_foreign_files", "attack_small_files", "attack_space_files"]
