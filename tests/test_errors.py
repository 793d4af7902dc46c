"""Messages made of parts: what Python reads, and what programs write in place of an argument."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

from densray import errors
from densray.errors import (
    Advice,
    Argument,
    CoverageWarning,
    DensRayError,
    Message,
    MissingExtraError,
    NotAdditiveError,
    SignalWarning,
    TaskError,
    UnknownWordError,
    ZeroVectorWarning,
)

FAMILY = [
    kind
    for kind in (getattr(errors, name) for name in errors.__all__)
    if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
]
PARTS = (Argument("folds", 1), " is given.", Advice(" Use ", Argument("folds", 2), ", or ", Argument("n_axes"), "."))


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (Argument("folds", 1), "folds=1"),
        (Argument("folds", np.int64(1)), "folds=1"),
        (Argument("any_case", True), "any_case=True"),
        (Argument("n_components", None), "n_components=None"),
        (Argument("encoding", "latin-1"), "encoding='latin-1'"),
        (Argument("sizes", (1, 2)), "sizes=(1, 2)"),
        (Argument("words_file", ...), "words_file=…"),
        (Argument("n_axes"), "n_axes"),
    ],
)
def test_python_reads_an_argument_as_it_would_write_it(argument: Argument, said: str) -> None:
    assert str(argument) == said


def test_a_long_value_is_cut() -> None:
    assert len(str(Argument("groups", "x" * 1000))) < 80


@pytest.mark.parametrize("kind", FAMILY)
def test_every_message_is_its_parts_joined_and_survives_a_process_boundary(kind: type[Exception]) -> None:
    error = kind(*PARTS)
    said = "folds=1 is given. Use folds=2, or n_axes."
    for each in (error, pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(each) is kind
        assert str(each) == said
        assert each.written(lambda argument: f"<{argument.name}>") == "<folds> is given. Use <folds>, or <n_axes>."


def test_advice_that_cannot_be_followed_is_left_out() -> None:
    error = TaskError(*PARTS)
    assert error.written(str, offers=lambda argument: argument.name == "folds") == "folds=1 is given."
    assert error.written(str, offers=lambda argument: True) == str(error)


def test_an_error_can_repeat_the_parts_of_another_and_keeps_its_cause() -> None:
    def fit_layer() -> None:
        try:
            raise DensRayError(*PARTS)
        except DensRayError as error:
            raise TaskError("layer 3: ", *error.args) from error

    with pytest.raises(TaskError, match=r"^layer 3: folds=1 is given\. Use") as caught:
        fit_layer()
    assert isinstance(caught.value.__cause__, DensRayError)
    assert caught.value.written(lambda _: "X") == "layer 3: X is given. Use X, or X."


@pytest.mark.parametrize("kind", [UnknownWordError, MissingExtraError, NotAdditiveError, DensRayError])
def test_a_message_of_one_text_reads_as_it_is(kind: type[Exception]) -> None:
    assert str(kind("'Spain' is not there.")) == "'Spain' is not there."


@pytest.mark.parametrize("kind", [CoverageWarning, SignalWarning, ZeroVectorWarning])
def test_a_warning_keeps_its_parts(kind: type[Warning]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(kind(*PARTS), stacklevel=1)
    assert str(caught[0].message) == "folds=1 is given. Use folds=2, or n_axes."
    assert caught[0].message.args == PARTS
