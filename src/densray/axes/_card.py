"""The card of a saved axis: a README.md to publish with the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from densray.axes._verdict import AUC_MARKS, show_reliability
from densray.errors import name_some
from densray.report import Citation, show_estimate, show_p

if TYPE_CHECKING:
    from densray.axes._axis import Axis
    from densray.axes._diagnosis import Diagnosis
    from densray.axes._verdict import Verdict


def axis_card(
    axis: Axis, file_name: str, verdict: Verdict | None, diagnosis: Diagnosis | None, citation: Citation
) -> str:
    """Return the card of an axis: its concept, its seeds, held-out results, and how to load it.

    `verdict`, `diagnosis` and `citation` are those saved with the axis; None if it was saved without them.
    """
    low, high = axis.label_names or ("lower labels", "higher labels")
    record = axis.space_record
    where = f"the space `{record.name}` ({record.n_words:,} words)" if record else "vectors"
    unit = " after scaling them to unit length" if axis.options.normalize else ""
    scale = "\nX = X / np.linalg.norm(X, axis=1, keepdims=True)" if axis.options.normalize else ""
    return f"""# {axis.concept or "Axis"}

A direction in {where} of width {axis.width}. Vectors of “{high}” score high, vectors of “{low}” score low. The score of
a vector is its dot product with the direction{unit}.

## Learned from

{_training_note(axis)}

## Held-out figures

{_figures(verdict, diagnosis)}

## Use

With densray:

```python
from densray import Axis

axis = Axis.load("{file_name}")
axis.score(space)  # score, standard error, probability
```

With NumPy and safetensors alone:

```python
import numpy as np
from safetensors.numpy import load_file

direction = load_file("{file_name}")["components_"][0]{scale}
score = X @ direction
```

## To cite

{citation.sentence}

An axis follows its labelled rows. Whether it matches what people mean by its name is a separate question.
"""


def _training_note(axis: Axis) -> str:
    rows = axis.rows
    if rows is None:
        return "The file does not list the labelled rows."
    kind = "two classes" if rows.is_binary else "scores"
    missing = f" {len(rows.missing):,} labelled words have no vector." if rows.missing else ""
    return (
        f"{len(rows):,} labelled rows of `{rows.concept}` ({kind}), such as {name_some(rows.names)}. Method: "
        f"`{axis.method}`.{missing}"
    )


def _figures(verdict: Verdict | None, diagnosis: Diagnosis | None) -> str:
    if diagnosis is None:
        return "Not measured." if verdict is None else verdict.line
    first = diagnosis.axes[0]
    spread = diagnosis.vocabulary
    low, high = spread.reliability_interval
    reliability = show_reliability(spread.reliability, low, high, 2)
    interval = show_estimate(first.auc, first.auc_interval.low, first.auc_interval.high, marks=AUC_MARKS)
    return "\n".join(
        [
            f"{diagnosis.verdict.sentence}",
            "",
            "| figure | value |",
            "| --- | --- |",
            f"| held-out AUC, 95% interval | {interval} |",
            f"| permutation test | {show_p(diagnosis.permutation.p_value)} |",
            f"| reliability over other seeds, 95% interval | {reliability} |",
            f"| folds | {diagnosis.folds} |",
        ]
    )
