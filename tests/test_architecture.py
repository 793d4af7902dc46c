"""Who may import whom: the rule of ARCHITECTURE.md, read off the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "densray"

#: Rooms, from the ground up: a module imports from its own storey or below.
STOREYS = [
    {"errors", "_version"},
    {"arrays", "cores", "ignored_warnings", "writing", "memory_maps", "file_kinds", "journal"},
    {"moments", "pairs", "pair_groups"},
    {"rotations"},
    {"space", "vocabulary", "neighbors", "conversions", "_checks"},
    {"parameters", "persistence", "origin"},
    {"formats", "lexicon", "lexicons", "alignment", "entries", "labels", "lines", "analogies", "analogy_files"},
    {"report", "metrics"},
    {"datasets"},
    {"figures"},
    {"removal", "bias"},
    {"streaming", "scale"},
    {"tasks"},
    {"paper"},
    {"demonstration"},
    {"explorer"},
    {"cli", "__main__"},
]


def imports(path: Path) -> set[str]:
    """Rooms a module imports when it runs, not those it only names in types."""
    rooms = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("densray"):
            parts = (node.module or "").split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            rooms.update(name for name in names if not name.startswith("__"))
    return rooms


def storey(room: str) -> int | None:
    return next((level for level, rooms in enumerate(STOREYS) if room in rooms), None)


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_from_its_own_storey_or_below(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    here = storey(room)
    assert here is not None, f"'{room}' stands on no storey: add it to the list, and to ARCHITECTURE.md"
    above = {name for name in imports(path) if (storey(name) or 0) > here}
    assert above == set()


def test_estimators_know_no_words():
    words = {"space", "lexicon", "lexicons", "analogies", "datasets", "formats"}
    for path in (SOURCE / "rotations").glob("*.py"):
        assert imports(path) & words == set()


def test_spaces_know_no_estimators():
    for name in ("space.py", "lexicon.py", "alignment.py", "analogies.py", "vocabulary.py"):
        assert "rotations" not in imports(SOURCE / name)
