"""How far an axis can be trusted, in one word and one line.

The worst of three answers counts:

1. *Is it there?* p > 0.05 in the permutation test: **none**, whatever else was found.
2. *Does it tell unseen words apart?* By the lower end of the 95 % interval of the held-out AUC, so that few seeds
   cannot look good by luck: from 0.8 **good**, from 0.7 **fair**, else **weak** (Hosmer, Lemeshow & Sturdivant 2013,
   section 5.2.4, call 0.7 acceptable and 0.8 excellent).
3. *Would other seeds give the same scores?* By the reliability of the vocabulary's scores: from 0.8 **good**, from 0.7
   **fair**, else **weak** (the customary marks of test theory, Nunnally & Bernstein 1994).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GRADES", "Verdict", "judge"]

#: From worst to best.
GRADES = ("none", "weak", "fair", "good")

SIGNIFICANT = 0.05
GOOD, FAIR = 0.8, 0.7


@dataclass(frozen=True)
class Verdict:
    """The grade of an axis, what limits it, and both in one line."""

    grade: str
    limits: tuple[str, ...]
    line: str


def judge(
    *, auc: float, auc_low: float, auc_high: float, p_value: float | None, reliability: float, cone: float
) -> Verdict:
    """Return the verdict on an axis from its held-out AUC, permutation p, reliability and bootstrap cone (degrees).

    Where no permutation test was made (``p_value=None``) the other two answers decide, and the line says so.

    >>> judge(auc=0.91, auc_low=0.88, auc_high=0.93, p_value=0.001, reliability=0.9, cone=12.3).line
    'Trust: good: held-out AUC 0.91 [0.88, 0.93], permutation p = 0.001, reliability 0.90, cone 12°.'
    >>> judge(auc=0.75, auc_low=0.6, auc_high=0.85, p_value=0.004, reliability=0.9, cone=12.3).limits
    ('the held-out AUC may be as low as 0.60',)
    """
    marks = {
        "shuffled labels do as well": "none" if p_value is not None and p_value > SIGNIFICANT else "good",
        f"the held-out AUC may be as low as {auc_low:.2f}": _grade(auc_low),
        f"other seeds would reproduce {reliability:.0%} of the differences between words": _grade(reliability),
    }
    grade = min(marks.values(), key=GRADES.index)
    limits = tuple(reason for reason, mark in marks.items() if mark == grade and grade != GRADES[-1])
    test = "no permutation test" if p_value is None else f"permutation p = {p_value:.2g}"
    figures = (
        f"held-out AUC {auc:.2f} [{auc_low:.2f}, {auc_high:.2f}], {test}, "
        f"reliability {reliability:.2f}, cone {cone:.0f}°"
    )
    why = f" ({'; '.join(limits)})" if limits else ""
    return Verdict(grade, limits, f"Trust: {grade}{why}: {figures}.")


def _grade(value: float) -> str:
    return "good" if value >= GOOD else "fair" if value >= FAIR else "weak"
