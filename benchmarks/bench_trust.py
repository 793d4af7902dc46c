"""Trust: leave-one-out in closed form against refits, and the time from a word list to a scored vocabulary."""

from __future__ import annotations

import numpy as np

from benchmarks.measurement import Measurement, seconds
from densray import load_space
from densray.axes import diagnose, find_rows, induce
from densray.datasets import load_lexicon
from densray.rotations import make_rotation
from densray.rows import Rows
from densray.statistics import axes_without_each, refit

__all__ = ["main"]

_REFITS = 5


def main() -> list[Measurement]:
    """Measure on Hu & Liu and the bundled space."""
    space, lexicon = load_space("googlenews-26k"), load_lexicon("hu-liu")
    seeds = find_rows(space, lexicon).unit()
    size = f"{len(seeds):,} seeds, {len(space):,} words"
    induction = seconds(lambda: induce(space, lexicon, n_resamples=200), repeats=2)
    diagnosis = seconds(lambda: diagnose(space, lexicon), repeats=1)
    return [
        *(_left_out(seeds, method) for method in ("ridge", "mean-difference")),
        Measurement("word list to scored vocabulary, 200 resamples", induction, "s", "≤ 5", size),
        Measurement("diagnosis, 999 permutations", diagnosis, "s", note=size),
    ]


def _left_out(seeds: Rows, method: str) -> Measurement:
    """Return how many times faster the axes without each seed are in closed form than by fitting."""
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    rows = np.arange(len(seeds))
    closed = seconds(lambda: axes_without_each(rotation, seeds, first=rows, max_refits=0), repeats=3)
    fit = seconds(lambda: refit(rotation, seeds.take(rows[1:])), repeats=_REFITS)
    note = f"{len(seeds):,} seeds in {closed:.2f} s; one fit {fit:.3f} s"
    return Measurement(f"leave-one-out, {method}", fit * len(seeds) / closed, "×", "≥ 50", note)
