"""Every task on a space takes gensim's KeyedVectors, with the same result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import (
    Axis,
    Erasure,
    Ratings,
    WordSpace,
    compare_methods,
    diagnose,
    evaluate_analogies,
    evaluate_induction,
    evaluate_ratings,
    evaluate_removal,
    fit_axis,
    induce,
    load_space,
)
from densray.analogies import AnalogySet
from densray.analogy import make_solver
from densray.axes import compare_spaces, evaluate_stability, find_rows, rank_words
from densray.debiasing import Concept, anchor_gap, association, direct_bias, neighbor_overlap, pair_direction
from densray.errors import SpaceError, TaskError
from densray.formats import read_space, write_space
from densray.scale import labelled_blocks
from planted import planted_space

SPACE, LEXICON = planted_space()
AXIS = fit_axis(SPACE, LEXICON, method="mean-difference", judge=False)
ERASURE = Erasure.fit(LEXICON.align(SPACE), "leace")
HIGH, LOW = ([word for word, label in zip(LEXICON.words, LEXICON.labels, strict=True) if label == side]
             for side in (1.0, -1.0))  # fmt: skip
OTHERS = [word for word in SPACE.words if word not in LEXICON]
RATINGS = Ratings.of(LEXICON.words, LEXICON.labels + np.arange(len(LEXICON)) % 7)
ANALOGIES = AnalogySet.from_pairs({"opposites": list(zip(HIGH[:5], LOW[:5], strict=True))})
CONCEPT = Concept("planted", LEXICON, (HIGH[0], LOW[0]), tuple(OTHERS[:60]))


class Keyed:
    """The attributes of gensim's KeyedVectors that are used."""

    def __init__(self, space: WordSpace) -> None:
        self.index_to_key, self.vectors = list(space.words), np.asarray(space.vectors)


class Model:
    """A model of gensim, such as Word2Vec."""

    def __init__(self, space: WordSpace) -> None:
        self.wv = Keyed(space)


def as_gensim(space: WordSpace) -> Any:
    pytest.importorskip("gensim", reason="gensim is not installed")
    return space.to_gensim()


def loaded(cls: Any, source: Axis | Erasure, space: Any, folder: Path) -> Any:
    return cls.load(source.save(folder / "saved.safetensors", overwrite=True), space)


def written(space: Any, folder: Path) -> WordSpace:
    return read_space(write_space(space, folder / "written.bin", overwrite=True))


#: Numbers or words that each task gives for a space.
TASKS: dict[str, Callable[[Any, Path], Any]] = {
    "lexicon.align": lambda space, _: LEXICON.align(space).X,
    "lexicon.spelled_as": lambda space, _: LEXICON.spelled_as(space).labels,
    "ratings.align": lambda space, _: RATINGS.align(space).X,
    "find_rows": lambda space, _: find_rows(space, LEXICON).X,
    "fit_axis": lambda space, _: fit_axis(space, LEXICON, method="mean-difference", judge=False).direction,
    "diagnose": lambda space, _: diagnose(space, LEXICON, method="mean-difference", n_permutations=19).permutation.p_value,
    "induce": lambda space, _: induce(space, LEXICON, method="mean-difference").scores.score,
    "induce along an axis": lambda space, _: induce(space, AXIS).scores.score,
    "rank_words": lambda space, _: rank_words(AXIS, space).scores.score,
    "axis.score": lambda space, _: AXIS.score(space).score,
    "axis.score, names": lambda space, _: AXIS.score(space).names,
    "Axis.load": lambda space, folder: loaded(Axis, AXIS, space, folder).direction,
    "Axis.of": lambda space, _: Axis.of(AXIS.rotation, space=space).space_record.sample,
    "compare_methods": lambda space, _: compare_methods(space, LEXICON, methods=["ridge"]).trial("ridge").tau,
    "evaluate_induction": lambda space, _: evaluate_induction(space, LEXICON, methods=["ridge"]).score("ridge").tau,
    "evaluate_stability": lambda space, _: evaluate_stability(
        space, LEXICON, methods=["ridge"], sizes=[8], n_samples=2
    ).scores[0].mean,
    "compare_spaces": lambda space, _: compare_spaces(space, SPACE, LEXICON).first,
    "compare_spaces, second": lambda space, _: compare_spaces(SPACE, space, LEXICON).second,
    "evaluate_ratings": lambda space, _: evaluate_ratings(space, RATINGS, AXIS).pearson,
    "evaluate_ratings, lexicon": lambda space, _: evaluate_ratings(space, RATINGS, LEXICON).pearson,
    "evaluate_analogies": lambda space, _: evaluate_analogies(space, ANALOGIES).categories[0].precision_at_k,
    "make_solver": lambda space, _: make_solver("3cosadd", space).space.vectors,
    "erasure.apply": lambda space, _: ERASURE.apply(space).vectors,
    "erasure.apply, words": lambda space, _: ERASURE.apply(space).words,
    "Erasure.load": lambda space, folder: loaded(Erasure, ERASURE, space, folder).left,
    "evaluate_removal": lambda space, _: evaluate_removal(
        space, CONCEPT, ["mean-difference"], n_biased=40
    ).spaces[1].removed[0].value,
    "anchor_gap": lambda space, _: anchor_gap(space, OTHERS[:9], CONCEPT.anchors).value,
    "pair_direction": lambda space, _: pair_direction(space, [CONCEPT.anchors]),
    "direct_bias": lambda space, _: direct_bias(space, OTHERS[:9], AXIS.direction).value,
    "neighbor_overlap": lambda space, _: neighbor_overlap(space, SPACE).value,
    "association": lambda space, _: association(space, HIGH[:4], LOW[:4], HIGH[4:8], LOW[4:8]).value,
    "labelled_blocks": lambda space, _: next(iter(labelled_blocks(space, LEXICON)))[0],
    "load_space": lambda space, _: load_space(space).vectors,
    "write_space": lambda space, folder: written(space, folder).vectors,
}  # fmt: skip


@pytest.mark.parametrize("kind", [Keyed, Model, as_gensim])
@pytest.mark.parametrize("task", TASKS)
def test_every_task_on_a_space_takes_keyed_vectors(task: str, kind: Callable[[WordSpace], Any], tmp_path: Path) -> None:
    np.testing.assert_array_equal(TASKS[task](kind(SPACE), tmp_path), TASKS[task](SPACE, tmp_path))


def test_the_result_for_keyed_vectors_is_that_of_a_space_not_of_a_table() -> None:
    assert isinstance(ERASURE.apply(Keyed(SPACE)), WordSpace)
    ours, theirs = (ERASURE.apply(each, keep=[HIGH[0]]) for each in (SPACE, Keyed(SPACE)))
    np.testing.assert_array_equal(theirs.vectors, ours.vectors)


def test_something_that_is_no_space_is_refused_by_name() -> None:
    with pytest.raises(SpaceError, match="dict is not a WordSpace"):
        LEXICON.align({})  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match=r"'googlenews-26k' is a name.*load_space\('googlenews-26k'\)"):
        LEXICON.align("googlenews-26k")  # type: ignore[arg-type]
    with pytest.raises(TaskError, match=r"'hu-liu' is a name.*load_lexicon\('hu-liu'\)"):
        induce(SPACE, "hu-liu")  # type: ignore[arg-type]
    with pytest.raises(TaskError, match=r"'google' is not an AnalogySet.*load_analogies"):
        evaluate_analogies(Keyed(SPACE), "google")  # type: ignore[arg-type]
