"""The table of methods, made from the methods themselves."""

from __future__ import annotations

from densray.rotations import METHODS

__all__ = ["method_table"]


def method_table() -> str:
    """Return one line a method: its name, its class, what its axis is and which labels it takes."""
    lines = ["| name | class | axis 0 | labels |", "| --- | --- | --- | --- |"]
    for name, method in METHODS.items():
        kind = type(method.make(1)).__name__
        labels = "classes" if method.classes_only else "classes,\u00a0scores"
        lines.append(
            f"| `{name}` | {{py:class}}`~densray.rotations.{kind}` | {method.summary} | {labels} |"
        )
    return "\n".join(lines)
