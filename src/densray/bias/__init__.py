"""How much of a concept a space holds, and what removing it costs: one file per family of measures.

Every measure takes a space and word lists (yours, in any language) and returns a
:class:`~densray.bias.measurement.Measurement`: a number, its interval or p-value, how many words it rests on and
which were missing.
"""

from __future__ import annotations

from densray.bias.anchors import AnchorGap, anchor_gap
from densray.bias.measurement import Measurement

__all__ = ["AnchorGap", "Measurement", "anchor_gap"]
