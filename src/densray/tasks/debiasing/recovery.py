"""How much of a removed concept can still be read, in one sentence."""

from __future__ import annotations

from densray.tasks.debiasing.evaluation import RemovalResult

__all__ = ["say_what_is_left"]

#: Accuracies, where 0.5 is chance, from which on the concept is plainly there, and from which on some of it is.
_PLAIN, _SOME = 0.75, 0.6
_TESTS = ("recovery (linear)", "recovery (rbf)", "cluster accuracy")


def say_what_is_left(result: RemovalResult) -> str:
    """Return how well the old bias of words can be recovered after the last remover of a result.

    By the best of three «lipstick» tests (Gonen & Goldberg 2019): a linear and an RBF classifier that has seen a fifth
    of the most biased words, and two clusters.
    """
    original, erased = result.spaces[0], result.spaces[-1]
    test = max(_TESTS, key=lambda name: erased[name].value)
    value = erased[test].value
    verdict = (
        "the concept is covered up, not gone"
        if value >= _PLAIN
        else "some of the concept is still there"
        if value >= _SOME
        else "hardly any of the concept is left to these tests"
    )
    first, second = result.anchors
    words = f"the {erased[test].used:,} words that leaned most to «{first}» or «{second}»"
    how = (
        f"two clusters of {words} still match the side of {value:.0%} of them"
        if test == _TESTS[-1]
        else f"a classifier that has seen a fifth of {words} still tells the side of {value:.0%} of the others"
    )
    return f"After «{erased.name}» {how} (before: {original[test].value:.0%}; chance: 50%): {verdict}."
