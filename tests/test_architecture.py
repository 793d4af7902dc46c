"""Who may import whom: the table of ARCHITECTURE.md, held against the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "densray"
DOOR = SOURCE / "__init__.py"


def read_rows() -> list[set[str]]:
    """The modules of each row of the map, as paths relative to the package and without their ending."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text[text.index("## The map") : text.index("## Decisions")]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [set().union(*(modules_of(part) for part in cell.split(";"))) for cell in cells]


def modules_of(part: str) -> set[str]:
    """Top-level modules, or a package (``name/``) and the files in it."""
    names = re.findall(r"`([\w/]+)`", part)
    if not names[0].endswith("/"):
        return set(names)
    return {f"{names[0]}__init__", *(f"{names[0]}{name}" for name in names[1:])}


LEVELS = {module: level for level, row in enumerate(read_rows()) for module in row}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != DOOR)


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE).with_suffix(""))


def rooms_imported(path: Path) -> set[str]:
    """Top-level modules and packages that a module imports when it runs, not those it only names in types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body.clear()
    rooms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("densray"):
            parts = (node.module or "").split(".")
            rooms.update([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
    return {room for room in rooms if not room.startswith("__")}


def level_of_room(room: str) -> int | None:
    levels = [level for module, level in LEVELS.items() if module.split("/")[0] == room]
    return levels[0] if levels else None


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_on_the_map_and_imports_from_its_own_row_or_above(path):
    assert name_of(path) in LEVELS, "add it to the table of ARCHITECTURE.md"
    below = {room for room in rooms_imported(path) if (level_of_room(room) or 0) > LEVELS[name_of(path)]}
    assert below == set()


def test_the_map_names_no_module_that_is_not_there():
    assert set(LEVELS) == {name_of(path) for path in MODULES}


def private_names(path: Path) -> list[str]:
    """The private modules and names that a module imports from elsewhere: those that begin with an underscore."""
    own = name_of(path).split("/")[0]
    imported = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("densray."):
            room, *inner = (node.module or "").split(".")[1:]
            names = [room, *inner, *(alias.name for alias in node.names)]
            if room != own:
                imported += [f"{node.module}: {name}" for name in names if name.startswith("_")]
    return imported


@pytest.mark.parametrize("program", ["cli", "explorer"])
def test_programs_use_public_names_only(program):
    assert {name_of(path): found for path in (SOURCE / program).rglob("*.py") if (found := private_names(path))} == {}


def test_estimators_know_no_words():
    words = {"space", "lexicon", "lexicons", "analogies", "datasets", "formats"}
    for path in (SOURCE / "rotations").glob("*.py"):
        assert rooms_imported(path) & words == set()


def test_spaces_know_no_estimators():
    for name in ("space.py", "lexicon.py", "alignment.py", "rows.py", "groups.py", "analogies.py", "_vocabulary.py"):
        assert "rotations" not in rooms_imported(SOURCE / name)
