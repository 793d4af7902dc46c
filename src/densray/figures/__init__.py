"""Charts of results: functions from rows to an altair chart, and from a chart to a file.

They draw what they are given and compute nothing. Altair is imported when a chart is drawn; it comes with
``pip install "densray[figures]"``. Colours are those of Okabe and Ito, and every colour comes with a shape or
a dash of its own, so that the charts can be read in grey and by colour-blind readers; letters and lines follow the
ground a chart stands on, light or dark.
"""

from __future__ import annotations

from densray.figures._curves import eigenvalue_spectrum, layer_curves, score_histogram, training_size
from densray.figures._results import (
    analogy_heat_map,
    anchor_scatter,
    angle_heat_map,
    answer_parts,
    difference_panels,
    interval_plot,
    seed_influence,
)
from densray.figures._style import (
    can_draw,
    check_chart_path,
    figure,
    save,
    to_bytes,
    to_svg,
)
from densray.figures._words import agreement_scatter, axis_scatter, moved_words, ranked_words

__all__ = [
    "agreement_scatter",
    "analogy_heat_map",
    "anchor_scatter",
    "angle_heat_map",
    "answer_parts",
    "axis_scatter",
    "can_draw",
    "check_chart_path",
    "difference_panels",
    "eigenvalue_spectrum",
    "figure",
    "interval_plot",
    "layer_curves",
    "moved_words",
    "ranked_words",
    "save",
    "score_histogram",
    "seed_influence",
    "to_bytes",
    "to_svg",
    "training_size",
]
