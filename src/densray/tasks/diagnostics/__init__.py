"""How far an axis can be trusted: ``diagnose``, and the figures behind its verdict.

One file a question: ``influence`` (what each seed does), ``permutation`` (could it be chance), ``geometry`` (the axis
in its space), ``spelling`` (the words missing), ``verdict`` (all in one line), ``diagnosis`` (the result).
"""

from __future__ import annotations

from densray.tasks.diagnostics._diagnose import diagnose, diagnose_axis
from densray.tasks.diagnostics.diagnosis import Agreement, Cone, Diagnosis
from densray.tasks.diagnostics.verdict import Verdict

__all__ = ["Agreement", "Cone", "Diagnosis", "Verdict", "diagnose", "diagnose_axis"]
