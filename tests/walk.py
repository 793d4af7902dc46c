"""Count the files of densray whose functions run: ``python tests/walk.py induce SPACE LEXICON -o FILE``."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any


def files_run(function: Callable[[], Any]) -> dict[str, set[str]]:
    """The functions of densray that run, in any thread, by file; bodies of modules and classes do not count."""
    import densray

    package = str(Path(densray.__file__).parent)
    found: dict[str, set[str]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and code.co_flags & inspect.CO_OPTIMIZED:
            found.setdefault(code.co_filename[len(package) + 1 :], set()).add(code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def walk(arguments: list[str]) -> dict[str, set[str]]:
    """The functions that one command runs, those it needs to start among them."""

    def command() -> None:
        from densray.cli.entry import run

        assert run(arguments) == 0

    return files_run(command)


if __name__ == "__main__":
    ran = walk(sys.argv[1:])
    for name, functions in sorted(ran.items()):
        print(f"{name}: {', '.join(sorted(functions))}", file=sys.stderr)
    print(f"{len(ran)} files, {sum(map(len, ran.values()))} functions", file=sys.stderr)
