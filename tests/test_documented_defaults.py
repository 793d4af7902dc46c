"""A default that a docstring names is the one that counts."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import densray

#: «name : type, default=value», as numpydoc has it.
NAMED = re.compile(r"^ *(\w+) : .*default=(.+)$", re.MULTILINE)
#: Programs, which are documented by their help and their pages.
PROGRAMS = ("densray.cli", "densray.explorer", "densray.__main__")


def documented() -> Iterator[tuple[str, Callable[..., Any], dict[str, str]]]:
    """Yield every function, method and class whose docstring names defaults."""
    for module in pkgutil.walk_packages(densray.__path__, "densray.", onerror=lambda _: None):
        if module.name.startswith(PROGRAMS):
            continue
        held = vars(importlib.import_module(module.name))
        own = [each for each in held.values() if getattr(each, "__module__", "") == module.name and callable(each)]
        inner = [getattr(each, "__func__", each) for one in own if inspect.isclass(one) for each in vars(one).values()]
        for each in [*own, *filter(inspect.isfunction, inner)]:
            found = dict(NAMED.findall(each.__doc__ or ""))
            if found:
                yield f"{module.name}.{each.__qualname__}", each, found


def test_a_default_that_a_docstring_names_is_the_one_that_counts() -> None:
    wrong, counted = [], 0
    for name, function, defaults in documented():
        parameters = inspect.signature(function).parameters
        for parameter, text in defaults.items():
            counted += 1
            if parameters[parameter].default != ast.literal_eval(text):
                wrong.append(f"{name}({parameter}={parameters[parameter].default!r}), documented: {text}")
    assert not wrong
    assert counted > 100
