"""Spaces rewritten on disk equal those changed in memory, and axes know their space."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from densray import Axis, DensRay, WordSpace, load_space
from densray.affine import AffineMap, erasing
from densray.errors import DataError, FormatError, OutputError, PersistenceError
from densray.formats import read_space, write_space
from densray.streaming import rewrite_space, rotating

RNG = np.random.default_rng(0)


@pytest.fixture
def space() -> WordSpace:
    words = [f"word{number}" for number in range(30)]
    return WordSpace(words, RNG.normal(size=(30, 6)).astype(np.float32), name="tiny")


@pytest.fixture
def rotation(space: WordSpace) -> DensRay:
    return DensRay().fit(space.vectors[:12], np.repeat([1, -1], [4, 8]))


def test_a_rotated_file_equals_the_space_rotated_in_memory(space: WordSpace, rotation: DensRay, tmp_path: Path) -> None:
    source = write_space(space, tmp_path / "tiny.txt")
    written = rewrite_space(source, tmp_path / "rotated.bin", change=rotating(rotation))
    assert (written.words, written.width) == (30, 6)
    assert np.allclose(read_space(written.path).vectors, space.rotated(rotation).vectors, atol=1e-6)


def test_an_erased_file_keeps_the_requested_words(space: WordSpace, rotation: DensRay, tmp_path: Path) -> None:
    source = write_space(space, tmp_path / "tiny.bin")
    change = erasing(AffineMap.of(rotation, 2), keep=["word3", "not there"])
    erased = read_space(rewrite_space(source, tmp_path / "erased.bin", change=change).path)
    assert np.allclose(erased.vectors, space.erased(rotation, n_axes=2, keep=["word3"]).vectors, atol=1e-6)
    assert np.array_equal(erased["word3"], space["word3"])
    others = erased.subset([word for word in space.words if word != "word3"])
    assert np.abs(others.vectors @ rotation.components_[:2].T).max() < 1e-6


def test_vectors_are_scaled_to_unit_length_on_the_way(space: WordSpace, tmp_path: Path) -> None:
    source = write_space(space, tmp_path / "tiny.bin")
    written = read_space(rewrite_space(source, tmp_path / "unit.bin", normalize=True, limit=7).path)
    assert len(written) == 7
    assert np.allclose(np.linalg.norm(written.vectors, axis=1), 1, atol=1e-6)


def test_an_embedded_space_is_written_like_a_file(tmp_path: Path) -> None:
    written = rewrite_space("googlenews-26k", tmp_path / "part.densray", limit=50)
    embedded = load_space("googlenews-26k", limit=50)
    assert np.array_equal(read_space(written.path).vectors, embedded.vectors)
    assert list(read_space(written.path).words) == list(embedded.words)


def test_a_missing_source_names_the_nearest_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'googlenews-26k'"):
        rewrite_space("googlenews-26", tmp_path / "out.bin")
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_not_replaced_unasked(space: WordSpace, tmp_path: Path) -> None:
    source = write_space(space, tmp_path / "tiny.bin")
    with pytest.raises(OutputError, match="exists"):
        rewrite_space(source, source)
    assert rewrite_space(source, source, limit=5, overwrite=True).words == 5
    assert len(read_space(source)) == 5


def test_an_axis_is_known_to_its_space_in_any_format(space: WordSpace, rotation: DensRay, tmp_path: Path) -> None:
    axis = Axis.of(rotation, space=space).save(tmp_path / "axis")
    for name in ("renamed.bin", "renamed.txt", "renamed.densray"):
        source = write_space(space, tmp_path / name)
        assert np.array_equal(Axis.load(axis, source).rotation.components_, rotation.components_)


@pytest.mark.parametrize("fitted_on", ["first words", "last words", "unit length"])
def test_an_axis_of_a_part_or_of_unit_vectors_belongs_to_the_space(
    space: WordSpace, rotation: DensRay, tmp_path: Path, fitted_on: str
) -> None:
    parts = {"first words": space.limit(20), "last words": space.subset(space.words[-9:])}
    axis = Axis.of(rotation, space=parts.get(fitted_on, space.normalized())).save(tmp_path / "axis")
    for ending in ("bin", "densray"):
        assert Axis.load(axis, write_space(space, tmp_path / f"tiny.{ending}")) is not None
    assert Axis.load(axis, space) is not None


def test_an_axis_of_some_words_of_the_embedded_space_belongs_to_it(tmp_path: Path) -> None:
    whole = load_space("googlenews-26k")
    part = whole.subset(whole.words[2000:2500])
    fitted = DensRay(n_components=1).fit(part.vectors, np.repeat([1, -1], 250))
    axis = Axis.of(fitted, space=part).save(tmp_path / "axis")
    assert Axis.load(axis, "googlenews-26k") is not None


def test_an_axis_reads_no_more_of_a_file_than_it_was_fitted_on(
    space: WordSpace, rotation: DensRay, tmp_path: Path
) -> None:
    axis = Axis.of(rotation, space=space.limit(20)).save(tmp_path / "axis")
    source = write_space(space, tmp_path / "tiny.txt")
    source.write_text("\n".join(source.read_text().splitlines()[:25]) + "\nbroken 1 2\n")
    assert Axis.load(axis, source) is not None
    with pytest.raises(FormatError):
        read_space(source)


def test_a_space_without_a_word_of_the_axis_is_another_one(space: WordSpace, rotation: DensRay, tmp_path: Path) -> None:
    axis = Axis.of(rotation, space=space).save(tmp_path / "axis")
    strange = WordSpace([f"strange{number}" for number in range(30)], space.vectors)
    with pytest.raises(PersistenceError, match=r"is another space.*any_space=True"):
        Axis.load(axis, write_space(strange, tmp_path / "strange.bin"))
    with pytest.raises(PersistenceError, match="is another space"):
        Axis.load(axis, strange)


def test_an_axis_of_another_space_is_refused_unless_wanted(space: WordSpace, rotation: DensRay, tmp_path: Path) -> None:
    axis = Axis.of(rotation, space=space).save(tmp_path / "axis")
    other = write_space(space.with_vectors(-space.vectors), tmp_path / "tiny.bin")
    with pytest.raises(PersistenceError, match="is another space"):
        Axis.load(axis, other)
    assert Axis.load(axis, other, any_space=True) is not None
    narrow = write_space(WordSpace(space.words, space.vectors[:, :4]), tmp_path / "narrow.bin")
    with pytest.raises(PersistenceError, match="width 6"):
        Axis.load(axis, narrow)
