"""Charts of results: functions that draw an altair chart from rows, and save it to a file.

They draw and compute nothing. Altair is imported when a chart is drawn; the extra ``figures`` installs it
(``python -m pip install ".[figures]"`` in a checkout). Colours are those of Okabe and Ito, and every colour has its own
shape or dash, so that the charts can be read in grey and by colour-blind readers; text and lines adapt to a light or
dark background.
"""

from __future__ import annotations

from densray.figures._curves import eigenvalue_spectrum, layer_curves, mean_scores, score_histogram, training_size
from densray.figures._documents import cut_text, document_map
from densray.figures._narrow import figure
from densray.figures._results import (
    analogy_heat_map,
    anchor_scatter,
    angle_heat_map,
    difference_panels,
    interval_plot,
    rating_scatter,
    seed_influence,
)
from densray.figures._style import (
    can_draw,
    check_chart_path,
    check_ready,
    for_page,
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
    "axis_scatter",
    "can_draw",
    "check_chart_path",
    "check_ready",
    "cut_text",
    "difference_panels",
    "document_map",
    "eigenvalue_spectrum",
    "figure",
    "for_page",
    "interval_plot",
    "layer_curves",
    "mean_scores",
    "moved_words",
    "ranked_words",
    "rating_scatter",
    "save",
    "score_histogram",
    "seed_influence",
    "to_bytes",
    "to_svg",
    "training_size",
]
