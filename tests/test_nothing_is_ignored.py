"""Arguments are used or refused, and results do not change with the arrays that they came from."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from densray import Axis, Erasure, Lexicon, Rows, WordSpace, compare_methods, diagnose, induce
from densray.cli.entry import run
from densray.datasets import load_space
from densray.errors import CoverageWarning, DensRayError, LexiconError, SpaceError, TaskError, VectorError
from densray.formats import write_space
from densray.methods import METHODS, REMOVERS_ONLY, check_method
from densray.removers import REMOVERS
from planted import planted_space

WIDTH = 10
Y = np.where(np.arange(80) % 2, 1.0, -1.0)


@pytest.fixture(scope="module")
def planted() -> tuple[WordSpace, Lexicon]:
    return planted_space(strength=3.0)


@pytest.fixture(scope="module")
def erasure(planted) -> Erasure:
    space, lexicon = planted
    return Erasure.fit(lexicon.align(space), "mean-difference")


def noise(strength: float, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(len(Y), WIDTH))
    X[:, 0] += strength * Y
    return X


@pytest.mark.parametrize("make", [lambda X: X, lambda X: X.astype(np.float32), np.asfortranarray])
def test_rows_do_not_change_with_the_array_that_they_came_from(make) -> None:
    X = make(noise(2.0))
    kept = X.copy()
    rows = Rows.from_arrays(X, Y)
    axis, erasure = Axis.fit(rows, normalize=False), Erasure.fit(rows, normalize=False)
    X[:] = make(noise(0.0, seed=1))  # a buffer that is used again
    same = Rows.from_arrays(kept, Y)
    assert axis.agreement.auc == Axis.fit(same, normalize=False).agreement.auc > 0.9
    assert erasure.remains()["linear"].before == Erasure.fit(same, normalize=False).remains()["linear"].before


def test_a_tensor_is_copied_and_a_fixed_array_is_not() -> None:
    fixed = noise(2.0)
    fixed.flags.writeable = False
    assert Rows.from_arrays(fixed, Y).X is fixed
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.tensor(fixed)
    rows = Rows.from_arrays(tensor, Y)
    tensor.zero_()
    np.testing.assert_array_equal(np.asarray(rows.X), fixed)


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("space", {"strenght": 0.0}, r"strenght has no effect on a WordSpace\. Did you mean 'strength'\?"),
        ("space", {"output": "y.bin"}, "output has no effect on a WordSpace"),
        ("space", {"layers": [1]}, "layers has no effect on a WordSpace"),
        ("array", {"output": "x.npy"}, "output has no effect on a ndarray"),
        ("array", {"equalize": [("he", "she")]}, "equalize has no effect on a ndarray"),
        ("array", {"keep": ["he"]}, "keep names words, and a ndarray has none"),
        ("frame", {"equalize": [("he", "she")]}, "equalize has no effect on a DataFrame"),
        ("frame", {"limit": 3}, "limit has no effect on a DataFrame"),
        ("file", {"output": "new.bin", "strenght": 0.0}, "strenght has no effect on the file of a space"),
        ("file", {"output": "new.bin", "layers": [1]}, "layers has no effect on the file of a space"),
    ],
)
def test_an_argument_without_effect_is_refused_and_nothing_is_written(
    target, options, message, planted, erasure, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = planted[0]
    (tmp_path / "space.txt").write_text("".join(f"{word} {' '.join(map(str, space[word]))}\n" for word in space.words))
    targets = {
        "space": space,
        "array": space.vectors,
        "frame": pl.DataFrame({"vector": pl.Series(space.vectors)}),
        "file": Path("space.txt"),
    }
    with pytest.raises(TaskError, match=message):
        erasure.apply(targets[target], **options)
    assert [path.name for path in tmp_path.iterdir()] == ["space.txt"]


def test_one_text_is_never_taken_for_its_letters(planted, erasure) -> None:
    space, lexicon = planted
    word = space.words[0]
    calls = [
        lambda: lexicon.without(word),
        lambda: space.erased(erasure, keep=word),
        lambda: space.neighbors(word, exclude=space.words[1]),
        lambda: space.subset(word),
        lambda: space.cosines(word, word),
        lambda: space.locate(word),
        lambda: space.absent(word),
        lambda: erasure.remains(keep=word),
        lambda: erasure.apply(space, keep=word),
    ]
    for call in calls:
        with pytest.raises(TaskError, match=r": '.*' is given; a list is needed"):
            call()
    pair = (word, space.words[1])
    for call in (
        lambda: erasure.apply(space, equalize=pair),
        lambda: diagnose(space, lexicon, pairs=pair, n_permutations=19),
        lambda: Erasure.fit(lexicon.align(space), "hard", pairs=pair),
    ):
        with pytest.raises(TaskError, match=r"is not a pair of words. Give a list of pairs"):
            call()


@pytest.mark.filterwarnings("always::UserWarning")
def test_columns_that_are_not_written_are_named(planted, erasure, tmp_path, capsys) -> None:
    space = planted[0]
    frame = pl.DataFrame({"word": space.words, "embedding": pl.Series(space.vectors), "year": range(len(space))})
    frame.write_parquet(tmp_path / "z.parquet")
    with pytest.warns(UserWarning, match=r"z2.parquet has the words .* not written: 'year'. .* as a table"):
        erasure.apply(tmp_path / "z.parquet", output=tmp_path / "z2.parquet")
    assert run(["convert", str(tmp_path / "z.parquet"), "-o", str(tmp_path / "z.txt")]) == 0
    said = capsys.readouterr().err
    assert said.rstrip().endswith("These columns were not written: 'year'.")  # no command keeps them
    frame.drop("year").write_parquet(tmp_path / "all.parquet")
    erasure.apply(tmp_path / "all.parquet", output=tmp_path / "all2.parquet")


def test_an_axis_of_another_space_says_so(planted) -> None:
    space, lexicon = planted
    axis = Axis.fit(lexicon.align(space))
    other = space.with_vectors(np.random.default_rng(99).normal(size=space.vectors.shape), name="other")
    with pytest.warns(UserWarning, match=r"different vectors in 'other' and in .* \(median cosine [-−]?0\.\d+\)"):
        axis.score(other)
    with pytest.warns(UserWarning, match="different vectors in 'other'"):
        induce(other, axis)
    for same in (space.normalized(), space.limit(len(space) - 5), Erasure.fit(lexicon.align(space)).apply(space)):
        axis.score(same)  # warnings are errors


def test_loaded_axes_and_erasures_say_that_a_space_is_another(planted, erasure, tmp_path) -> None:
    space, lexicon = planted
    axis = Axis.fit(lexicon.align(space))
    axis_file, erasure_file = axis.save(tmp_path / "a"), erasure.save(tmp_path / "e")
    other = space.with_vectors(np.random.default_rng(99).normal(size=space.vectors.shape), name="other")
    write_space(other, tmp_path / "other.bin")
    write_space(space, tmp_path / "same.bin")
    uses = [
        Axis.load(axis_file).score,
        Axis.of(axis.rotation, space=space).score,
        erasure.apply,
        Erasure.load(erasure_file).apply,
        lambda target: target.erased(Erasure.load(erasure_file)),
    ]
    pattern = r"\d+ words have different vectors in '.*other.*' and in .* \(median cosine .*on this space\."
    for use in uses:
        with pytest.warns(UserWarning, match=pattern):
            use(other)
        for same in (space, space.normalized(), space.limit(len(space) - 5), erasure.apply(space)):
            use(same)  # warnings are errors
    for each in (erasure, Erasure.load(erasure_file)):
        with pytest.warns(UserWarning, match=pattern):
            each.apply(tmp_path / "other.bin", output=tmp_path / "out.bin", overwrite=True)
        each.apply(tmp_path / "same.bin", output=tmp_path / "out.bin", overwrite=True)
    Axis.load(axis_file, any_space=True).score(other)
    Erasure.load(erasure_file, any_space=True).apply(other)


def test_words_to_keep_that_are_not_there_are_named(planted, erasure, tmp_path) -> None:
    space = planted[0]
    word = space.words[0]
    pattern = r"keep: 2 words are not in '.*': 'queeen', 'kng'\. Check the spelling"
    with pytest.warns(CoverageWarning, match=pattern):
        kept = erasure.apply(space, keep=[word, "queeen", "kng"])
    np.testing.assert_array_equal(kept[word], space[word])
    with pytest.warns(CoverageWarning, match=pattern):
        space.erased(erasure, keep=["queeen", "kng"])
    source = write_space(space, tmp_path / "space.bin")
    with pytest.warns(CoverageWarning, match=r"keep: 1 word is not in '.*space\.bin': 'queeen'"):
        erasure.apply(source, output=tmp_path / "out.bin", keep=["queeen"])
    composed = WordSpace(["caf\u00e9", *space.words[1:]], space.vectors)
    np.testing.assert_array_equal(erasure.apply(composed, keep=["cafe\u0301"])["caf\u00e9"], composed["caf\u00e9"])


@pytest.mark.parametrize("given", ["cafe\u0301", "caf\u00e9"])
@pytest.mark.parametrize("stored", ["cafe\u0301", "caf\u00e9"])
def test_a_word_of_a_file_is_kept_or_equalised_however_its_letters_are_composed(
    given, stored, planted, tmp_path
) -> None:
    planted_space, lexicon = planted
    space = WordSpace([stored, *planted_space.words[1:]], planted_space.vectors)
    erasure = Erasure.fit(lexicon.align(planted_space), "mean-difference")
    source, target = write_space(space, tmp_path / "space.bin"), tmp_path / "out.bin"
    written = erasure.apply(source, output=target, keep=[given])
    assert written.unchanged == 1
    np.testing.assert_array_equal(load_space(target)[stored], space[stored])
    pair = (given, space.words[1])
    written = erasure.apply(source, output=target, keep=[given], equalize=[pair], overwrite=True)
    assert written.unchanged == 0
    for changed in (load_space(target), erasure.apply(space, equalize=[pair])):
        unit = changed.normalized()
        neutral = unit[space.words[5]]
        assert neutral @ unit[stored] == pytest.approx(neutral @ unit[space.words[1]], abs=1e-5)


@pytest.mark.filterwarnings("always")
def test_warnings_name_the_line_that_called_the_library(planted, erasure, tmp_path) -> None:
    space = planted[0]
    other = space.with_vectors(np.random.default_rng(99).normal(size=space.vectors.shape), name="other")
    file = write_space(other, tmp_path / "other.bin")
    calls = [
        lambda: erasure.apply(other, keep=["queeen"]),
        lambda: other.erased(erasure, keep=["queeen"]),
        lambda: erasure.apply(file, output=tmp_path / "out.bin", keep=["queeen"], overwrite=True),
        lambda: Axis.fit(planted[1].align(space)).score(other),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="different vectors") as caught:
            call()
        assert {each.filename for each in caught} == {__file__}


def test_removers_that_are_no_methods_are_known_as_such() -> None:
    assert REMOVERS.keys() - METHODS.keys() == REMOVERS_ONLY
    with pytest.raises(TaskError, match=r"'inlp:30' removes a concept and finds no axis.*'inlp:30'\)"):
        check_method("inlp:30")


def test_sets_of_rows_may_come_from_any_iterable(planted) -> None:
    space, lexicon = planted
    rows = lexicon.align(space)
    pair = [rows, rows.relabelled(np.roll(rows.y, 3))]
    learned = [Erasure.fit(given, "leace") for given in (pair, iter(pair), (each for each in pair))]
    for each in learned[1:]:
        np.testing.assert_array_equal(each.left, learned[0].left)
    with pytest.raises(TaskError, match="needs Rows, and a str is given"):
        Erasure.fit("rows", "leace")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda space, lexicon: induce(space, dict(lexicon.items())),
            TaskError,
            r"a dict is given; a Lexicon is needed",
        ),
        (lambda space, lexicon: space[3], SpaceError, r"3 is given; a word .* space\.vectors_at\(\[n\]\)"),
        (lambda space, lexicon: Axis.fit(lexicon.align(space), normalize="no"), TaskError, "normalize='no' is given"),
        (lambda space, lexicon: Axis.fit(lexicon.align(space), normalize="False"), TaskError, "'False' is given"),
        (
            lambda space, lexicon: Erasure.fit(lexicon.align(space), normalize="no"),
            TaskError,
            "True or False is needed",
        ),
        (lambda space, lexicon: Rows.from_arrays(np.empty((40, 0)), Y[:40]), VectorError, r"X has shape \(40, 0\)"),
        (lambda space, lexicon: Rows.from_arrays(np.eye(3), np.eye(3)), DensRayError, r"argmax\(axis=1\) and classes"),
        (
            lambda space, lexicon: compare_methods(space, lexicon, methods="ridge"),
            TaskError,
            r"methods: 'ridge' is given; a list is needed\. Write \['ridge'\]",
        ),
        (
            lambda space, lexicon: Axis.fit(lexicon.align(space), "LEACE"),
            TaskError,
            r"'LEACE' removes a concept and finds no axis\. Use Erasure\.fit\(rows, 'leace'\)",
        ),
        (
            lambda space, lexicon: compare_methods(space, lexicon, methods=["leace"]),
            TaskError,
            "'leace' removes a concept and finds no axis",
        ),
        (lambda space, lexicon: Erasure.fit(lexicon.align(space), "LEACE"), DensRayError, "Did you mean 'leace'"),
        (
            lambda space, lexicon: Axis.fit(lexicon.align(space)).score(["good", "bad"]),
            TaskError,
            r"words are given \('good', 'bad'\).*space\.subset\(words\)",
        ),
        (lambda space, lexicon: space.neighbors(["good", "bad"]), VectorError, r"most_similar\(\['good', 'bad'\]\)"),
        (
            lambda space, lexicon: Lexicon.from_word_lists("good", "bad"),
            LexiconError,
            r"good: no such file in .*\. For words, give a list: \['good'\]\.",
        ),
    ],
)
def test_other_slips_are_named(call, kind, message, planted) -> None:
    with pytest.raises(kind, match=message):
        call(*planted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.where(np.arange(80) == 7, np.nan, 1.0)[:, None] * noise(1.0)}, r"X contains NaN .* \(first: row 7\)"),
        ({"X": np.where(np.arange(80) == 0, np.inf, noise(1.0).T).T}, "X contains NaN or infinity in 1 of 80 rows"),
        ({"background": np.ones((9, 3))}, r"background has shape \(9, 3\), and X has vectors of width 10"),
        ({"background": np.ones(9)}, r"background has shape \(9,\)"),
        ({"background": np.full((9, WIDTH), np.nan)}, "background contains NaN or infinity in 9 of 9 rows"),
        ({"background": WordSpace(["a"], [[1.0, 2.0]])}, r"background has shape \(1, 2\)"),
        ({"classes": "yes"}, "classes='yes' is given; True or False"),
    ],
)
def test_rows_are_checked_when_they_are_made(arguments, message) -> None:
    with pytest.raises(DensRayError, match=message):
        Rows.from_arrays(**{"X": noise(1.0), "y": Y, **arguments})


@pytest.mark.parametrize(
    "seed", ["a", 1.5, b"1", -1, 2**32, 1.0, np.float32(1), np.int64(-1), True, np.True_, Fraction(1)]
)
def test_a_seed_is_a_whole_number(seed, planted) -> None:
    space, lexicon = planted
    rows = lexicon.align(space)
    for call in (
        lambda: Axis.fit(rows, random_state=seed),
        lambda: Erasure.fit(rows, random_state=seed),
        lambda: compare_methods(space, lexicon, random_state=seed),
        lambda: diagnose(space, lexicon, random_state=seed),
    ):
        with pytest.raises(DensRayError, match=r"random_state.*a whole number from 0 to 4,294,967,295 is needed"):
            call()


def test_what_remains_is_measured_in_rows_not_in_arrays(planted, erasure) -> None:
    space, lexicon = planted
    for given in (space.vectors, [lexicon.align(space)]):
        with pytest.raises(TaskError, match=r"rows needs Rows, and a (ndarray|list) is given\. Make them with"):
            erasure.remains(given)
    for given in (space.vectors, pl.DataFrame({"a": [1]})):
        with pytest.raises(TaskError, match=r"rows needs Rows, and a (ndarray|DataFrame) is given"):
            Erasure.fit(given)
