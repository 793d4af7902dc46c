"""Find, measure and remove concepts in embedding spaces.

Estimators know numbers, spaces and lexicons know words, tasks join them::

    from densray import DensRay, fit_axis, induce, load_lexicon, load_space

The stub beside this file, ``__init__.pyi``, lists the names and their homes, for type checkers and for this module: a
name is imported when it is first used. So ``from densray import DensRay`` needs numpy, scipy and scikit-learn and
nothing else, and commands that fit nothing do not wait for them.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from densray._version import __version__ as __version__

_HOMES = {
    name: home
    for home, name in re.findall(
        r"^from ([\w.]+) import (\w+) as", Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"), re.MULTILINE
    )
}

__all__ = [name for name in _HOMES if name != "errors"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'densray' has no attribute {name!r}")
    home = _HOMES[name]
    value = import_module(f"densray.{name}") if home == "densray" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
