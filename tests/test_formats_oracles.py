"""Files of other programs are read as those programs read them, or refused by name."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest

from densray.errors import FormatError
from densray.formats import read_space, rewrite
from foreign_files import FOREIGN, TEXT, WITH_NAMES, sample


def check(name: str, path: Path, seed: int) -> None:
    """Make a file and compare what is read with the independent reading."""
    words, vectors = sample(seed, width=(5, 1, 2)[seed])
    expected = FOREIGN[name](path, words, vectors)
    if expected is None:
        with pytest.raises(FormatError, match=path.stem) as caught:
            read_space(path)
        assert len(str(caught.value)) <= 300
        return
    found = read_space(path)
    assert list(found.words) == expected[0]
    np.testing.assert_array_max_ulp(found.vectors, expected[1], maxulp=1)
    wanted = expected[0][::4]
    assert set(read_space(path, words=wanted).words) == set(wanted)
    assert list(read_space(path, limit=2).words) == expected[0][:2]
    other = rewrite(path, path.with_name("other.densray"), overwrite=True)
    assert list(read_space(other).words) == expected[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_program_is_read_as_it_reads_it_or_refused(name: str, tmp_path: Path) -> None:
    for seed in range(3):
        check(name, tmp_path / "theirs", seed)


@pytest.mark.parametrize("name", TEXT)
def test_text_of_another_program_is_read_the_same_when_it_is_packed(name: str, tmp_path: Path) -> None:
    words, vectors = sample(7)
    plain = tmp_path / "plain"
    expected = TEXT[name](plain, words, vectors)
    for packing in (gzip, bz2):
        path = tmp_path / f"packed.{packing.__name__}"
        path.write_bytes(packing.compress(plain.read_bytes()))
        if expected is None or name in WITH_NAMES:
            with pytest.raises(FormatError, match="packed"):
                read_space(path)
        else:
            assert list(read_space(path).words) == expected[0]


def test_other_encodings_of_excel_are_read_by_name(tmp_path: Path) -> None:
    words, vectors = sample(3)
    words = [word.replace("日本", "é") for word in words]
    lines = ["\t".join([word, *(f"{x:.4f}" for x in vector)]) for word, vector in zip(words, vectors, strict=True)]
    path = tmp_path / "excel.txt"
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("cp1252"))
    assert list(read_space(path, encoding="cp1252").words) == words


@pytest.mark.parametrize("form", ["%12.5f", "%.6g"])
@pytest.mark.parametrize("separator", [" ", "   ", "\t", "\t "])
def test_a_long_file_with_odd_separators_is_read_block_by_block(form: str, separator: str, tmp_path: Path) -> None:
    vectors = np.random.default_rng(5).normal(size=(9_000, 30)).round(5)
    words = [f"w{row}" if row % 1_000 else f"the  {row}th" for row in range(9_000)]  # two blanks belong to the word
    path = tmp_path / "long.txt"
    rows = zip(words, vectors.tolist(), strict=True)
    path.write_text("".join(separator.join([word, *(form % x for x in row)]) + "\n" for word, row in rows))
    found = read_space(path)
    assert list(found.words) == words
    np.testing.assert_allclose(found.vectors, vectors, rtol=1e-5, atol=1e-5)
