"""What the README claims is true: its example runs, its commands exist, and so do the tests of claims."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sklearn
from typer.main import get_command

from densray import Axis, load_lexicon
from densray.metrics import auc

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
#: Whether the folds of this version of scikit-learn are those of the figures in README.
FOLDS_OF_README = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for found, text in fenced if found == language]


def test_the_examples_print_what_the_readme_shows_and_its_claims_hold(capsys):
    names: dict[str, object] = {}
    for example, shown in zip(blocks("python"), blocks("text"), strict=True):
        exec(compile(example, "README.md", "exec"), names)
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
        # folds, and so held-out figures, differ between versions of scikit-learn
        assert [float(one) for one in NUMBER.findall(printed)] == pytest.approx(
            [float(one) for one in NUMBER.findall(shown)], abs=0.005 if FOLDS_OF_README else 0.06
        )
    rows, unseen, left = names["rows"], names["unseen"], names["left"]
    assert not set(rows.names) & set(unseen.names)  # the numbers are about unseen words
    assert not set(names["lexicon"]) & {"elegant", "kind", "boring", "rotten"}
    assert not set(load_lexicon("hu-liu")) & {"picnic", "funeral"}
    statements = blocks("python")[0].split("\n\n", maxsplit=1)[1]
    assert len(statements.splitlines()) == 3  # three lines of Python
    assert auc(unseen.y, Axis.fit(rows).score(unseen.X).score) > 0.97
    assert left["linear"].before.auc > 0.97
    assert left["linear"].after.auc < 0.7
    assert left["rbf"].after.auc > 0.85
    assert left["rbf"].after_learned.auc > 0.97
    assert len(names["neutral"].words) == len(names["space"].words)


def check_command(line: str) -> None:
    """Fail where the command line has no such command, or the command no such option."""
    from densray.cli.app import app

    words = line.split("#", maxsplit=1)[0].split()
    command = get_command(app)
    position = 1
    while hasattr(command, "commands") and position < len(words):
        command = command.commands[words[position]]
        position += 1
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize(
    "line",
    [line for block in blocks("") for line in block.replace("\\\n", " ").splitlines() if line.startswith("densray")],
)
def test_every_command_of_the_readme_exists_with_its_options(line):
    check_command(line)


def test_the_code_of_the_readme_fits_its_column():
    every = [line for language in ("", "python", "text") for block in blocks(language) for line in block.splitlines()]
    assert len(every) > 60
    assert [line for line in every if len(line) > 88] == []


def claims() -> list[tuple[str, list[str]]]:
    """Each claim of the page of claims with its tests."""
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \| (.*) \|$", page, flags=re.MULTILINE)
    return [(claim, re.findall(r"`([^`]+)`", tests)) for claim, tests in rows if claim not in ("claim", "---")]


@pytest.mark.parametrize("check", sorted({check for _, checks in claims() for check in checks}))
def test_every_test_and_command_of_a_claim_exists(check):
    if check.startswith("densray "):
        check_command(check)
    elif check.startswith("make "):
        target = check.removeprefix("make ")
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    elif check.startswith("python -m benchmarks "):
        assert (ROOT / "benchmarks" / f"bench_{check.split()[-1]}.py").exists()
    else:
        path, _, name = check.partition("::")
        assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_every_claim_has_a_test_or_a_command():
    assert len(claims()) > 25
    assert [claim for claim, checks in claims() if not checks] == []


def test_the_two_commands_are_targets_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_every_file_the_readme_names_is_there():
    named = re.findall(r"\]\(([^)]+)\)", README) + re.findall(r"`([A-Z][A-Z.a-z]*(?:/[\w.]+)?\.(?:md|cff))`", README)
    assert len(named) > 4
    for name in named:
        path, _, heading = name.partition("#")
        assert path.startswith("https:") or (ROOT / path).exists(), name
        assert not heading or f"\n## {heading}\n" in (ROOT / path).read_text("utf-8").lower(), name


#: The first parts of README and of the first page of the documentation, in this order.
PARTS = {
    "one line": r"^Find, measure and remove concepts in embeddings\.$",
    "picture": r"images/explorer\.webp",
    "installation": r'^python -m pip install \./densray-data "\.\[figures\]"$',
    "code": r"^axis = Axis\.fit\(",
    "output": r"^Trust: good ",
    "comparison": r"^\| \[gensim\]",
    "two commands": r"^make demo .*\nmake test ",
}


def places_of_parts(text: str) -> dict[str, int]:
    found = {name: re.search(pattern, text, flags=re.MULTILINE) for name, pattern in PARTS.items()}
    return {name: -1 if match is None else match.start() for name, match in found.items()}


def included_part(block: re.Match[str]) -> str:
    """The part of README that a block of the first page includes."""
    options = {
        name: value.strip('"') for name, value in re.findall(r"^:([\w-]+): *(.*)$", block[1], flags=re.MULTILINE)
    }
    start, end = options["start-after"], options["end-before"]
    assert README.count(start) == README.count(f"\n{end}\n") == 1
    return README[README.index(start) + len(start) : README.index(f"\n{end}\n")]


INCLUDED = re.compile(r"^```\{include\} \.\./README\.md\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def first_page() -> str:
    """The first page of the documentation, with the parts of README that it includes."""
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    return INCLUDED.sub(included_part, page)


def test_the_first_page_includes_readme_without_gaps():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    parts = [included_part(block) for block in INCLUDED.finditer(page)]
    whole = README[README.index("</p>") + len("</p>") : README.index("\n## What to expect\n")]
    assert len(parts) == 3
    assert "".join("".join(parts).split()) == "".join(whole.split())


@pytest.mark.parametrize("page", ["README", "first page"])
def test_a_first_page_has_its_parts_in_order(page):
    places = places_of_parts(README if page == "README" else first_page())
    assert -1 not in places.values(), places
    assert list(places.values()) == sorted(places.values())
