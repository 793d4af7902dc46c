"""Stability (figure 1 of the paper): how an axis depends on the choice and number of training words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._threads import map_parallel
from densray.axes._lexicon_evaluation import check_methods
from densray.axes._protocol import Protocol, TrainTest, say_ceiling
from densray.errors import Argument, TaskError
from densray.journal import Journal
from densray.lexicon import Lexicon
from densray.metrics import kendall_tau, tau_ceiling
from densray.progress import Progress
from densray.report import Column, Input, Provenance, Result, Table, best_cells, show_number, show_share
from densray.rows import Rows
from densray.space import WordSpace, as_space

#: Sizes of the training lexicon: 2^7 to 2^12.
DEFAULT_SIZES = (128, 256, 512, 1024, 2048, 4096)

#: The methods of figure 1, and ridge.
STABILITY_METHODS = ("densray-unit", "densifier", "svm", "ridge")


@dataclass(frozen=True)
class SizeScore:
    """Kendall's τ of one method over samples of one size.

    Attributes
    ----------
    method : str
    size : int
    mean, std : float
        Over samples. The standard deviation divides by the number of samples minus one.
    lowest : float
        The worst sample.
    taus : tuple of float
        One τ per sample. The samples are the same for every method.
    """

    method: str
    size: int
    mean: float
    std: float
    lowest: float
    taus: tuple[float, ...]


@dataclass(frozen=True)
class Stability(Result):
    """Mean and standard deviation of τ by method and size of the training lexicon.

    Attributes
    ----------
    scores : tuple of SizeScore
    lexicon, space : str
    n_training, n_test : int
        Number of words that samples are drawn from, and of test words.
    n_samples : int
    coverage : float
        Share of the lexicon that is in the space.
    tau_ceiling : float
        The highest τ that the labels of the test words allow.
    protocol : Protocol
    """

    title: ClassVar[str] = "Stability of lexicon induction"

    scores: tuple[SizeScore, ...]
    lexicon: str
    space: str
    n_training: int
    n_test: int
    n_samples: int
    coverage: float
    tau_ceiling: float
    protocol: Protocol

    def __repr__(self) -> str:
        best = max(self.scores, key=lambda score: (score.size, score.mean))
        return (
            f"Stability of '{self.lexicon}' in '{self.space}': {self.n_samples:,} samples of each size, highest mean τ "
            f"of {best.size:,} words {show_number(best.mean)} ({best.method})"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per method and size: ``method``, ``size``, ``mean``, ``std``, ``lowest``."""
        keys = ("method", "size", "mean", "std", "lowest")
        return [{key: getattr(score, key) for key in keys} for score in self.scores]

    def tables(self) -> list[Table]:
        """Return means and standard deviations, one row per size and one column per method."""
        methods = list(dict.fromkeys(score.method for score in self.scores))
        note = (
            f"{self.n_samples} samples of each size from {self.n_training:,} training words of {self.lexicon}; "
            f"{self.n_test:,} test words; {show_share(self.coverage, 1)} of the lexicon is in {self.space}."
        )
        return [
            self._table("Mean of Kendall τ", "mean", methods, [note, say_ceiling(self.tau_ceiling)], lowest=False),
            self._table("Standard deviation of Kendall τ", "std", methods, [], lowest=True),
        ]

    def figure(self) -> Any:
        """Return figure 1 as an altair chart: means above, standard deviations below."""
        from densray.figures import training_size

        return training_size(self.rows(), title=f"{self.lexicon} on {self.space}")

    def _table(self, title: str, key: str, methods: list[str], notes: list[str], *, lowest: bool) -> Table:
        rows: dict[int, dict[str, Any]] = {}
        for score in self.scores:
            rows.setdefault(score.size, {"size": score.size})[score.method] = getattr(score, key)
        columns: list[Column | str] = ["size", *(Column(method, decimals=4) for method in methods)]
        ordered = [rows[size] for size in sorted(rows)]
        return Table(title, columns, ordered, notes, best_cells(ordered, methods, lowest=lowest))


def evaluate_stability(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    test: Lexicon | None = None,
    methods: Sequence[str] = STABILITY_METHODS,
    sizes: Sequence[int] | None = None,
    n_samples: int = 40,
    protocol: Protocol | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Stability:
    """Return mean and standard deviation of τ over samples of the training lexicon, by method and size.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    lexicon : Lexicon
        The training words. Without `test`, some of them are held out.
    test : Lexicon, optional
        Test words with their labels.
    methods : sequence of str
    sizes : sequence of int, optional
        Sample sizes (default: `DEFAULT_SIZES` up to the number of training words; smaller sizes if there are fewer than
        128).
    n_samples : int, default=40
        Number of samples of each size, drawn without replacement; the same for every method.
    protocol : Protocol, optional
        All other choices. Scores are split at the median of all training words, not of each sample.
    progress : callable, optional
        Called with the number of samples done and their total.
    journal : Journal, optional
        Stores the results of each sample until the run is done; see `densray.journal`.
    """
    space = as_space(space)
    protocol, methods = protocol or Protocol(), check_methods(methods)
    provenance = Provenance.begin(seed=protocol.random_state)
    data = TrainTest.of(space, lexicon, test, protocol=protocol)
    sizes = possible_sizes(len(data.training)) if sizes is None else sizes
    _check_sizes(sizes, n_samples, data.training)
    random = np.random.default_rng(protocol.random_state)
    # the largest first, so that no thread is left with a long task at the end
    samples = [
        _draw(data.training, size, random) for size in sorted(set(sizes), reverse=True) for _ in range(n_samples)
    ]

    labels = {method: protocol.labels(method, data.training) for method in methods}

    run = (journal or Journal()).run("stability", data, protocol, methods, samples)

    def measure(number: int) -> list[float]:
        return run.part(f"sample {number}", lambda: fit(samples[number]))

    def fit(rows: NDArray[np.intp]) -> list[float]:
        X = data.training.X[rows]
        axes = [protocol.rotation(method).fit(X, labels[method][rows]).components_[0] for method in methods]
        return [kendall_tau(data.test.y, data.test.X @ axis) for axis in axes]

    taus = np.array(map_parallel(measure, range(len(samples)), progress=progress))
    by_size = {size: taus[[len(rows) == size for rows in samples]] for size in sorted(set(sizes))}
    return Stability(
        scores=tuple(
            _summary(method, size, by_size[size][:, column])
            for column, method in enumerate(methods)
            for size in by_size
        ),
        lexicon=lexicon.name,
        space=space.name,
        n_training=len(data.training),
        n_test=len(data.test),
        n_samples=n_samples,
        coverage=data.coverage,
        tau_ceiling=tau_ceiling(data.test.y),
        protocol=protocol,
        provenance=provenance.finish(
            inputs=[Input.of("space", space), *(Input.of("lexicon", each) for each in (lexicon, test) if each)],
            used=len(data.training) + len(data.test),
            missing=(*data.training.missing, *data.test.missing),
            set_aside=data.set_aside([each for each in (lexicon, test) if each]),
            resumed=run.n_reused,
        ),
    )


def _draw(seeds: Rows, size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of a sample that contains a word of each side."""
    while True:
        rows = random.permutation(len(seeds))[:size]
        if np.ptp(seeds.sides[rows]) > 0:
            return rows


def possible_sizes(n_words: int) -> tuple[int, ...]:
    """Return sample sizes for a number of training words: powers of two from 128 on, or from 8 on for few words.

    >>> possible_sizes(600), possible_sizes(33)
    ((128, 256, 512), (8, 16, 32))
    """
    first = DEFAULT_SIZES[0] if n_words >= DEFAULT_SIZES[0] else 8
    powers = tuple(size for size in (2**power for power in range(3, 13)) if first <= size <= n_words)
    return powers or (n_words,)


def _check_sizes(sizes: Sequence[int], n_samples: int, training: Rows) -> None:
    if not sizes or n_samples < 2:
        raise TaskError(f"{len(sizes)} sizes and {n_samples} samples are given; one size and two samples are needed.")
    if min(sizes) < 2 or max(sizes) > len(training):
        raise TaskError(
            Argument("sizes", tuple(sizes)),
            f" is given; sizes from 2 to {len(training)} are possible, because {len(training)} training words are in "
            "the space. Leave out the others.",
        )


def _summary(method: str, size: int, taus: NDArray[np.float64]) -> SizeScore:
    values = tuple(taus.tolist())
    return SizeScore(method, size, float(taus.mean()), float(taus.std(ddof=1)), min(values), values)
