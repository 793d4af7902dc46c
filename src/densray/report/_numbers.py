"""How numbers are written for people; data, JSON and files keep them unrounded.

One style for terminal, reports, charts and explorer: three decimals unless said otherwise, separators of thousands, a
true minus, no minus before zero, “–” where there is nothing. Charts round in the browser: the ``CHART_`` constants
are the same style as d3 formats, which write the true minus themselves.

Quotation marks: text that is set for reading (pages, reports, charts, documentation) has “ ”. Messages quote what was
typed as Python and the shell do, with ' '; a page shows them through :func:`typeset`.
"""

from __future__ import annotations

import math
import re

MISSING = "–"
MINUS = "−"

#: Scores, cosines and the like in axes and tooltips of charts; differences; counts; shares.
CHART_NUMBER, CHART_CHANGE, CHART_COUNT, CHART_SHARE = ".3f", "+.3f", ",d", ".0%"

#: What stands for a sign where the encoding of a terminal has none for it.
PLAIN_SIGNS = {MINUS: "-", MISSING: "-", "“": '"', "”": '"', "’": "'", "…": "...", "×": "x", "±": "+-", "→": "->"}

_SIGNIFICANT = 4
_LEAST_P = 0.001
_EXPONENT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_QUOTED = re.compile(r"(?<![\w=])'([^'\n]*)'(?!\w)")


def show_number(value: float | None, decimals: int | None = 3, *, signed: bool = False, open_ends: bool = False) -> str:
    """Return a number as text.

    Parameters
    ----------
    value
        None, NaN and infinities are shown as “–”.
    decimals
        How many are shown; None shows four significant digits.
    signed
        Whether a number above zero has a plus, as a difference has.
    open_ends
        Whether a share that is not 0 or 1 is not rounded to them: ``<0.001``, ``>0.999``.

    Examples
    --------
    >>> show_number(-0.0123), show_number(-0.0001), show_number(12345.678, 1), show_number(None)
    ('−0.012', '0.000', '12,345.7', '–')
    >>> show_number(0.25, signed=True), show_number(0.99996, open_ends=True), show_number(2.568e-56, None)
    ('+0.250', '>0.999', '2.568 × 10⁻⁵⁶')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    value = float(value)
    if open_ends and decimals is not None and 0.0 < value < 1.0:
        least = 10.0**-decimals
        if value < least:
            return f"<{least:.{decimals}f}"
        if value > 1 - least:
            return f">{1 - least:.{decimals}f}"
    text = _significant(abs(value)) if decimals is None else f"{abs(value):,.{decimals}f}"
    if not text.strip("0.,"):
        return text
    return (MINUS if value < 0 else "+" if signed else "") + text


def _significant(size: float) -> str:
    if size >= 10.0 ** (_SIGNIFICANT - 1):
        return f"{size:,.0f}" if size < 1e15 else _scientific(size)
    return _scientific(size) if 0 < size < 1e-4 else f"{size:.{_SIGNIFICANT}g}"


def _scientific(size: float) -> str:
    digits, exponent = f"{size:.{_SIGNIFICANT - 1}e}".split("e")
    return f"{digits} × 10{str(int(exponent)).translate(_EXPONENT)}"


def show_count(value: int | None) -> str:
    """Return a whole number with separators of thousands.

    >>> show_count(3881), show_count(-12), show_count(None)
    ('3,881', '−12', '–')
    """
    return MISSING if value is None else f"{int(value):,}".replace("-", MINUS)


def show_share(value: float | None, decimals: int = 0) -> str:
    """Return a share in per cent; one that is not 0 or 1 is not rounded to them.

    >>> show_share(0.934), show_share(0.9999), show_share(1), show_share(0.00026, 2)
    ('93%', '>99%', '100%', '0.03%')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    least = 10.0**-decimals
    if 0 < value < 1 and 100 * value < least / 2:
        return f"<{least:.{decimals}f}%"
    if 0 < value < 1 and 100 * value > 100 - least / 2:
        return f">{100 - least:.{decimals}f}%"
    return f"{show_number(100 * value, decimals)}%"


def show_estimate(value: float | None, low: float | None, high: float | None, decimals: int = 3) -> str:
    """Return an estimate with its interval; without one where there is none.

    >>> show_estimate(0.674, 0.486, 0.77), show_estimate(-0.01, -0.02, 0.01, 2), show_estimate(0.5, None, None)
    ('0.674 [0.486, 0.770]', '−0.01 [−0.02, 0.01]', '0.500')
    """
    shown = show_number(value, decimals)
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return shown
    return f"{shown} [{show_number(low, decimals)}, {show_number(high, decimals)}]"


def show_p(value: float | None) -> str:
    """Return a p-value as a sentence has it; in a table, a column with ``open_ends`` shows ``<0.001``.

    >>> show_p(0.04762), show_p(2.568e-56), show_p(None)
    ('p = 0.048', 'p < 0.001', 'p = –')
    """
    if value is not None and value < _LEAST_P:
        return f"p < {_LEAST_P}"
    return f"p = {show_number(value)}"


def typeset(message: str) -> str:
    """Return a message of the library with “ ” for ' '; commands to be typed stay as they are.

    >>> typeset("'Spain' is not among the paper's words. Use word_column='x'.")
    "“Spain” is not among the paper's words. Use word_column='x'."
    """
    return _QUOTED.sub(r"“\1”", message)
