"""Files are known by what they hold, closed again, and named in words that suit Python, browser and terminal."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import densray
from densray import MeanDifference, WordSpace, save_rotation
from densray._files import _SAID, kind_of
from densray.cli.entry import _AS_OPTIONS, _advise
from densray.formats import write_space

PACKAGE = Path(densray.__file__).parent
#: Options, and commands of densray.
SPOKEN = re.compile(r"(?<![\w-])--[a-z]|densray (fit|diagnose|induce|rotate|erase|convert|evaluate|explore)\b")


def test_an_archive_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[zipfile.ZipFile] = []

    class Watched(zipfile.ZipFile):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            opened.append(self)

    space = WordSpace(["a", "b"], np.eye(2))
    fitted = MeanDifference().fit(space.vectors, [1, -1])
    files = {"axis": save_rotation(fitted, tmp_path / "axis.npz"), "space": write_space(space, tmp_path / "space.npz")}
    monkeypatch.setattr("densray._files.zipfile.ZipFile", Watched)
    assert {kind: kind_of(path) for kind, path in files.items()} == {"axis": "axis", "space": "space"}
    assert [archive.fp for archive in opened] == [None, None]


def messages(path: Path) -> list[str]:
    """Return the texts of the errors that a module raises."""
    raised = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise)]
    inside = [part for node in raised for part in ast.walk(node)]
    return [part.value for part in inside if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_errors_of_the_library_do_not_speak_command_line() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"]
    texts = [text for path in modules for text in messages(path)]
    assert len(texts) > 300  # they are found
    assert [text for text in [*texts, *_SAID.values()] if SPOKEN.search(text)] == []


@pytest.mark.parametrize("kind", ["axis", "space", "lexicon"])
def test_the_command_line_says_which_command_takes_a_file(kind: str) -> None:
    assert re.search(r"densray|SPACE", _advise(_SAID[kind]))


def test_every_advice_that_is_translated_is_given_somewhere() -> None:
    """An advice that was reworded in the library would reach the terminal as it is."""
    sources = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name != "entry.py")
    joined = re.sub(r'"\s*f?"', "", sources)
    advices = [re.sub(r"encoding='[\w-]+'$", "encoding=", advice) for advice in _AS_OPTIONS]  # one is found by densray
    assert [advice for advice in advices if advice not in joined] == []
