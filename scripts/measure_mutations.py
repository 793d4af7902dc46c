"""Change one thing in the source at a time, see whether a test notices, and keep the counts in docs/mutations.json.

    python scripts/measure_mutations.py                         a sample of every area; about an hour on one core
    python scripts/measure_mutations.py pairs axes              these areas only; the others stay as they are
    python scripts/measure_mutations.py --seed 2 --at-most 20   another sample, of twenty changes in each area
    python scripts/measure_mutations.py --without FILE,FILE     a sample of changes that earlier runs have not printed
    python scripts/measure_mutations.py --survivors             what no test noticed, after tests were added

No file is touched: a function gets other code, and for what stands outside of functions a module is imported changed.
Every change is made in its own process, forked from one that has libraries and tests in memory; the tests that reach
the function run there until one fails. Which tests those are is measured first and kept in build/mutations.json;
``--reach`` measures it again, ``--reach=FILE,FILE`` for these files of tests only. Reasons are written into
docs/mutations.json by hand; a run keeps them.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "densray"
DATA = ROOT / "docs" / "mutations.json"
REACHED = ROOT / "build" / "mutations.json"
#: What is changed, by area.
AREAS = {
    "pairs": ("pairs.py",),
    "moments": ("moments.py",),
    "metrics": ("metrics.py",),
    "axes": ("axes/*.py",),
    "removers": ("removers.py", "probes.py", "debiasing/_direction.py", "affine.py", "erasure.py", "_leace.py"),
}
#: Changes tried in each area, drawn from all that could be made in it.
TRIED = {"pairs": 50, "moments": 50, "metrics": 50, "axes": 120, "removers": 60}
#: Changes that a review made by hand, some of which no test noticed then.
NAMED = (
    ("analogy/_result.py", "means, [0.025, 0.975]", "means, [0.05, 0.95]"),
    ("axes/_induction.py", "self.rank + 1) / self.n_words", "self.rank) / self.n_words"),
    ("axes/_stability.py", "taus.std(ddof=1)", "taus.std()"),
    ("axes/_lexicon_evaluation.py", "each.std(ddof=1)", "each.std()"),
    ("metrics.py", "sample.std(ddof=1)", "sample.std()"),
    ("metrics.py", "sample.size - 1, 0.975", "sample.size - 1, 0.95"),
)
#: The test files that are tried, in addition to the examples in the modules.
TESTS = (
    *("test_pairs", "test_moments", "test_metrics", "test_axes_*", "test_debiasing_*", "test_groups", "test_streaming"),
    *("test_mean_difference", "test_rotations", "test_rotations_d*", "test_rotations_[hlsw]*"),
    *("test_half_precision", "test_standardized_columns", "test_analogy_intrank", "test_arrays", "test_scale"),
    "test_documented_defaults",
)
#: Tests that look at signatures: they reach no line, and are tried wherever the import does what is changed.
OF_SIGNATURES = "tests/test_documented_defaults.py"
#: Processor seconds of tests per change: the quickest come first, and what exceeds this is not run.
SECONDS_OF_TESTS = 8.0

#: Start of the reason of a change that gives the same result. Such changes are not tried again and do not count.
SAME = "same result"

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
RENAMED = {"min": "max", "any": "all", "minimum": "maximum", "floor": "ceil", "argmin": "argmax", "nanmin": "nanmax"}
RENAMED |= {new: old for old, new in RENAMED.items()}
#: Calls whose arguments are only read by people.
TOLD = {"warn", "debug", "info", "warning", "TypeVar", "getLogger", "Column", "field"}


@dataclass(frozen=True)
class Change:
    """One change of one module: a node of its tree in place of another, or away from its list."""

    line: int
    function: str
    text: str
    parent: ast.AST
    field: str
    place: int | None
    new: ast.AST | None
    body: str  # the function, nested in no other, that does this when it is called; empty: done by the import

    def make(self) -> None:
        """Change the tree."""
        if self.place is None:
            setattr(self.parent, self.field, self.new)
        elif self.new is None:
            del getattr(self.parent, self.field)[self.place]
        else:
            getattr(self.parent, self.field)[self.place] = self.new


def changes_of(tree: ast.Module) -> list[Change]:
    """Return every change that would be made, in the order of the source."""
    return list(_visited(tree, "", tree, ""))


def _visited(node: ast.AST, function: str, shown: ast.AST, body: str) -> Iterator[Change]:
    """Yield the changes below a node; `shown` is the expression or line in which a reader would look for it."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for place, child in children:
            if not isinstance(child, ast.AST) or _ignored(child):
                continue
            line = getattr(child, "lineno", getattr(node, "lineno", 0))
            name = getattr(child, "name", "") if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else ""
            inner = ".".join(part for part in (function, name) if part)
            within = child if isinstance(child, (ast.expr, ast.stmt)) and not _small(child) else shown
            for new in _replacements(node, field, child):
                before = _line(within)
                change = Change(line, function, "", node, field, place, new, body)
                old = getattr(node, field) if place is None else list(getattr(node, field))
                change.make()
                after = _line(new) if within is child and isinstance(new, (ast.expr, ast.stmt)) else _line(within)
                setattr(node, field, old)
                yield replace(change, text=f"{before} → {after}")
            called = isinstance(node, ast.FunctionDef) and field == "body"
            yield from _visited(child, inner, within, body or (function if called else ""))


def _small(node: ast.AST) -> bool:
    return isinstance(node, (ast.Constant, ast.Name, ast.UnaryOp, ast.Starred))


def _line(node: ast.AST) -> str:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return f"def {node.name}({ast.unparse(node.args)})" if isinstance(node, ast.FunctionDef) else node.name
    text = ast.unparse(node).splitlines()
    return text[0]


def _ignored(node: ast.AST) -> bool:
    """Whether a part of the source is only read: errors, messages, types, names of what is public."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
        return True
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return called in TOLD or called.endswith(("Error", "Warning"))
    if isinstance(node, ast.Assign):
        return any(isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id in ("Literal", "Callable", "NDArray")
    if isinstance(node, (ast.If, ast.FunctionDef)):
        parts = [node.test] if isinstance(node, ast.If) else node.decorator_list
        return any(isinstance(each, ast.Name) and each.id in ("TYPE_CHECKING", "overload") for each in parts)
    return isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)


def _replacements(parent: ast.AST, field: str, node: ast.AST) -> Iterator[ast.AST | None]:
    """Yield what may stand in the place of a node; None takes it away."""
    if type(node) in SWAPPED and not (field == "op" and isinstance(parent, ast.BinOp) and _of_text(parent)):
        yield SWAPPED[type(node)]()
    elif isinstance(node, ast.Constant):
        yield from (ast.copy_location(ast.Constant(value), node) for value in _other_values(node.value))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and node.arg is not None:
        yield None
    elif isinstance(node, ast.Name) and isinstance(parent, ast.Call) and field == "func" and node.id in RENAMED:
        yield ast.copy_location(ast.Name(RENAMED[node.id], ast.Load()), node)
    elif isinstance(node, ast.Attribute) and isinstance(parent, ast.Call) and node.attr in RENAMED and field == "func":
        yield ast.copy_location(ast.Attribute(node.value, RENAMED[node.attr], ast.Load()), node)
    elif isinstance(node, ast.Continue):
        yield ast.copy_location(ast.Break(), node)
    elif isinstance(node, ast.Break):
        yield ast.copy_location(ast.Continue(), node)
    condition = field == "test" or (field == "ifs" and isinstance(parent, ast.comprehension))
    if condition and isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        yield ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _other_values(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float) and 0.001 < value < 1.0:  # a share: half of what it leaves out, or of itself
        yield round(2.0 * value - 1.0, 6) if value > 0.5 else value / 2.0
    elif isinstance(value, float):
        yield value + 1.0


def _of_text(node: ast.BinOp) -> bool:
    texts = (ast.JoinedStr,)
    return any(
        isinstance(side, texts) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


class Changed(importlib.abc.MetaPathFinder):
    """Imports one module of a file from a changed tree."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path, self.tree = ROOT / path, tree
        parts = self.path.relative_to(PACKAGE.parent).with_suffix("").parts
        self.name = ".".join(part for part in parts if part != "__init__")

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the changed module for its name."""
        if name != self.name:
            return None
        code = compile(self.tree, str(self.path), "exec")
        loader = importlib.machinery.SourceFileLoader(name, str(self.path))
        loader.get_code = lambda fullname: code  # type: ignore[method-assign]
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


class Tests:
    """Keeps the tests named, in the order given, and how each ended."""

    def __init__(self, order: Sequence[str] | None = None) -> None:
        self.order = None if order is None else {name: place for place, name in enumerate(order)}
        self.seconds: collections.Counter[str] = collections.Counter()
        self.ended: dict[str, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is named."""
        order = self.order
        if order is not None:
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the seconds of a test, its fixtures included."""
        self.seconds[report.nodeid] += report.duration
        if report.when == "call" or report.outcome != "passed":
            self.ended[report.nodeid] = report.outcome

    @property
    def passed(self) -> dict[str, float]:
        """The seconds of the tests that passed."""
        return {name: self.seconds[name] for name, ended in self.ended.items() if ended == "passed"}


def run_tests(files: Iterable[str], tests: Tests | Loop, *options: str) -> int:
    """Run tests in this process, quietly and with the same random examples every time; return pytest's exit status."""
    import hypothesis

    hypothesis.settings.register_profile("mutations", derandomize=True, database=None)
    hypothesis.settings.load_profile("mutations")
    # plain: pytest would import the files of examples itself to rewrite what they assert, unchanged
    quiet = ("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "-r", "N", "--assert=plain")
    return int(pytest.main([*files, *quiet, *options], plugins=[tests]))


def forked(work: Callable[[], Any], limit: float, *, quiet: bool = True) -> Any:
    """Return what a function returns in a process of its own; None where it takes too long, or the process dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        if quiet:
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
        try:
            answer = json.dumps(work()).encode()
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writing)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, limit)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None


def sources(areas: Iterable[str]) -> list[tuple[str, str]]:
    """Return the files of areas, each with its area."""
    found = [(area, path) for area in areas for glob in AREAS[area] for path in sorted(PACKAGE.glob(glob))]
    return [(area, path.relative_to(ROOT).as_posix()) for area, path in found]


def find_reach(files: Sequence[str] = ()) -> dict[str, Any]:
    """Return which tests, of all files or some, reach which lines, how long each takes, and what they import."""
    followed = sorted({path for _, path in sources(AREAS)} | {f"src/densray/{path}" for path, *_ in NAMED})
    if not files:
        found = sorted({path for glob in TESTS for path in (ROOT / "tests").glob(f"{glob}.py")})
        files = [*(str(path.relative_to(ROOT)) for path in found), *followed]

    def follow() -> dict[str, Any]:
        import coverage

        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "coverage"
            os.environ["COVERAGE_FILE"] = str(data)
            tests = Tests()
            run_tests(files, tests, "--cov=densray", "--cov-context=test", "--cov-report=")
            kept = coverage.CoverageData(str(data))
            kept.read()
            lines = {}
            for path in followed:
                found = kept.contexts_by_lineno(str(ROOT / path))
                lines[path] = {
                    line: sorted({one.split("|")[0] for one in names if one}) for line, names in found.items()
                }
        return {"lines": lines, "modules": list(sys.modules)}

    def time_tests() -> dict[str, float]:
        tests = Tests()
        run_tests(files, tests, "--no-cov")
        return tests.passed

    return {**forked(follow, 3600.0), "seconds": forked(time_tests, 3600.0)}


def join_reach(old: dict[str, Any], new: dict[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """Return what tests reach, with those of some files measured again."""

    def is_other(name: str) -> bool:
        return name.partition("::")[0] not in files

    lines = {}
    for path in old["lines"].keys() | new["lines"].keys():
        before, now = old["lines"].get(path, {}), new["lines"].get(path, {})
        lines[path] = {
            line: sorted({*filter(is_other, before.get(line, ())), *now.get(line, ())})
            for line in before.keys() | now.keys()
        }
    seconds = {name: value for name, value in old["seconds"].items() if is_other(name)} | new["seconds"]
    return {"lines": lines, "seconds": seconds, "modules": list(dict.fromkeys([*old["modules"], *new["modules"]]))}


def import_libraries(names: Iterable[str]) -> None:
    """Import what the tests import, except densray and the tests themselves."""
    own = {path.stem for path in (ROOT / "tests").glob("*.py")} | {"densray", "tests", "__main__"}
    for name in names:
        if name.split(".")[0] not in own:
            with contextlib.suppress(Exception):  # names that cannot be imported by themselves
                importlib.import_module(name)


def tests_of(path: str, lines: tuple[int, int], line: int, reach: Mapping[str, Any]) -> list[str]:
    """Return the tests that reach a line or its function, as many as there is time for.

    The quickest are chosen, those that reach the line before the others; they run file by file.
    """
    reached, seconds = reach["lines"][path], reach["seconds"]
    direct = set(reached.get(str(line), ()))
    others = {name for number, names in reached.items() if lines[0] <= int(number) <= lines[1] for name in names}
    chosen: list[str] = []
    left = SECONDS_OF_TESTS
    for name in sorted((direct | others) & seconds.keys(), key=lambda name: (name not in direct, seconds[name])):
        if seconds[name] <= left:
            chosen.append(name)
            left -= seconds[name]
    files: dict[str, list[float]] = collections.defaultdict(list)
    for name in chosen:
        files[name.split("::")[0]].append(seconds[name])
    mean = {file: sum(values) / len(values) for file, values in files.items()}
    own = Path(path).stem.strip("_")
    place = {name: number for number, name in enumerate(chosen)}

    def order(name: str) -> tuple[bool, bool, float, str, int]:
        file = name.partition("::")[0]
        return own not in file, file.startswith("src"), mean[file], file, place[name]

    return sorted(chosen, key=order)


def extent(tree: ast.Module, function: str) -> tuple[int, int]:
    """Return the first and last line of a function; of the whole module for what stands outside one."""
    found: list[tuple[str, ast.AST]] = [("", tree)]
    for prefix, node in found:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            inner = f"{prefix}.{child.name}".strip(".") if named else prefix
            if isinstance(child, ast.FunctionDef) and inner == function:
                return child.lineno, child.end_lineno or child.lineno
            found.append((inner, child))
    return 0, sys.maxsize


class Loop:
    """Hands the tests that pytest collected to a function, in place of running them."""

    def __init__(self, work: Callable[[Mapping[str, pytest.Item]], None]) -> None:
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Call the function."""
        self.work({item.nodeid: item for item in session.items})
        return True


def code_of(path: str, tree: ast.Module, change: Change) -> types.CodeType:
    """Return the code of a function of a tree, of several with one name (overloads) that above the change."""
    codes, found = [compile(tree, str(ROOT / path), "exec")], []
    for code in codes:
        if code.co_qualname == change.body and code.co_firstlineno <= change.line:
            found.append(code)
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return max(found, key=lambda code: code.co_firstlineno)


def notice_called(path: str, tree: ast.Module, change: Change, tests: Sequence[pytest.Item]) -> tuple[bool, str]:
    """Return whether a test notices a function with other code, and which."""
    from _pytest.runner import runtestprotocol

    def attempt() -> tuple[bool, str]:
        code = code_of(path, tree, change)
        place = (code.co_filename, code.co_qualname, code.co_firstlineno)
        functions = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
        for function in functions:
            own = function.__code__
            if (own.co_filename, own.co_qualname, own.co_firstlineno) == place:
                function.__code__ = code
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return True, item.nodeid
        return False, ""

    return forked(attempt, 5.0 * SECONDS_OF_TESTS + 30.0) or (True, "time, or an end of the process")


def notice_imported(path: str, tree: ast.Module, tests: Sequence[str]) -> tuple[bool, str]:
    """Return whether a test notices a module with another source, and which."""

    def attempt() -> tuple[bool, str]:
        sys.meta_path.insert(0, Changed(path, tree))
        seen = Tests(tests)
        try:
            status = run_tests(sorted({name.split("::")[0] for name in tests}), seen, "-x", "--no-cov")
        except BaseException as error:  # whatever an import raises
            return True, repr(error)
        return status != 0, next((name for name, ended in seen.ended.items() if ended == "failed"), f"status {status}")

    return forked(attempt, 5.0 * SECONDS_OF_TESTS + 30.0) or (True, "time, or an end of the process")


def sample(
    area: str, seed: int, at_most: int = 10**6, without: Sequence[str] = ()
) -> Iterator[tuple[str, ast.Module, Change]]:
    """Yield the changes drawn in an area, each with its file and a tree of its own; none that `without` has printed."""
    lines = [line for path in without for line in Path(path).read_text("utf-8").splitlines()]
    tried = {(line.partition(":")[0], line.partition(" ")[2]) for line in lines}
    possible = []
    for _, path in sources([area]):
        before = [text for of, text in tried if of == path]
        for place, change in enumerate(changes_in(path)[1]):
            if not any(text.startswith(f"{change.function}: {change.text}: ") for text in before):
                possible.append((path, place))
    numbers = random.Random(f"{area} {seed}").sample(range(len(possible)), min(TRIED[area], at_most, len(possible)))
    for number in sorted(numbers):
        path, place = possible[number]
        tree, changes = changes_in(path)
        yield path, tree, changes[place]


def changes_in(path: str) -> tuple[ast.Module, list[Change]]:
    """Return the tree of a file, and every change that could be made of it."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return tree, changes_of(tree)


def measure(
    areas: list[str], seed: int, at_most: int, *, without: Sequence[str] = (), survivors: bool, again: str | None
) -> None:
    """Try the changes, and keep the counts."""
    kept = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {"named": [], "samples": {}}
    known = kept["samples"].setdefault(str(seed), {})
    reach = json.loads(REACHED.read_text("utf-8")) if REACHED.exists() else None
    if reach is None or again is not None:
        files = [path for path in (again or "").split(",") if path and reach is not None]
        found = json.loads(json.dumps(find_reach(files)))  # keys as a file has them
        reach = join_reach(reach, found, files) if reach is not None and files else found
        REACHED.parent.mkdir(exist_ok=True)
        REACHED.write_text(json.dumps(reach), "utf-8")
    import_libraries(reach["modules"])
    before = {row_key(row): row for one in known.values() for row in one["survivors"]}
    sampled = [(area, *one) for area in areas for one in sample(area, seed, at_most, without)]
    settled = {key: row for key, row in before.items() if row["reason"].startswith(SAME)}
    keys = [(path, change.function, change.text) for _, path, _, change in sampled]
    jobs = [
        one for one, key in zip(sampled, keys, strict=True) if not survivors or key in before.keys() - settled.keys()
    ]
    if not survivors:
        kept["named"] = [try_named(*one, reach) for one in NAMED]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "noticed"
        log.touch()
        forked(lambda: try_all(jobs, reach, log), 6 * 3600.0, quiet=False)
        unnoticed = {int(line) for line in log.read_text("utf-8").split()}
    for area in areas:
        rows = [row for key, row in settled.items() if survivors and key[0] in {path for _, path in sources([area])}]
        rows += [
            {"module": path, "line": change.line, "function": change.function, "change": change.text}
            for number, (of, path, _, change) in enumerate(jobs)
            if of == area and number in unnoticed
        ]
        tried = sum(of == area for of, *_ in sampled)
        first = known[area]["killed_at_first"] if survivors and area in known else tried - len(rows)
        known[area] = {
            "possible": sum(len(changes_in(path)[1]) for _, path in sources([area])),
            "tried": tried,
            "killed_at_first": first,
            "killed": tried - len(rows),
            "survivors": [{**row, "reason": before.get(row_key(row), {}).get("reason", "")} for row in rows],
        }
    DATA.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


def row_key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what names a change, whatever its line."""
    return row["module"], row["function"], row["change"]


def try_all(jobs: Sequence[tuple[str, str, ast.Module, Change]], reach: Mapping[str, Any], log: Path) -> None:
    """Write the numbers of the changes that no test notices."""
    chosen = [tests_of(path, extent(tree, change.function), change.line, reach) for _, path, tree, change in jobs]
    of_signatures = [name for name in reach["seconds"] if name.startswith(OF_SIGNATURES)]
    chosen = [[*names, *(() if job[-1].body else of_signatures)] for job, names in zip(jobs, chosen, strict=True)]
    files = sorted({name.split("::")[0] for names in chosen for name in names})

    def say(number: int, noticed: bool, by: str) -> None:
        _, path, _, change = jobs[number]
        end = by if noticed else "SURVIVED"
        print(f"{path}:{change.line} {change.function}: {change.text}: {end} ({len(chosen[number])} tests)", flush=True)
        if not noticed:
            with log.open("a") as file:
                file.write(f"{number}\n")

    def of_import(number: int) -> tuple[bool, str]:
        _, path, tree, change = jobs[number]
        change.make()
        return notice_imported(path, ast.fix_missing_locations(tree), chosen[number])

    def loop(items: Mapping[str, pytest.Item]) -> None:
        for number, (_, path, tree, change) in enumerate(jobs):
            if change.body:
                change.make()
                some = [items[name] for name in chosen[number] if name in items]
                say(number, *notice_called(path, ast.fix_missing_locations(tree), change, some))

    for number, (*_, change) in enumerate(jobs):
        if not change.body:
            say(number, *(of_import(number) if chosen[number] else (False, "")))
    run_tests(files, Loop(loop), "-s", "--no-cov")


def try_named(path: str, old: str, new: str, reach: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a change made by hand ended."""
    path = f"src/densray/{path}"
    source = (ROOT / path).read_text("utf-8")
    assert source.count(old) == 1, f"{path}: {old}"
    line = source[: source.index(old)].count("\n") + 1
    tree = ast.parse(source.replace(old, new))
    noticed, by = notice_imported(path, tree, tests_of(path, (line, line), line, reach))
    print(f"{path}:{line}: {old} → {new}: {by if noticed else 'SURVIVED'}", flush=True)
    return {"module": path, "line": line, "change": f"{old} → {new}", "killed": noticed, "by": by}


def tables() -> dict[str, str]:
    """Return the tables of the page on robustness: counts by area, and what no test noticed."""
    samples = list(json.loads(DATA.read_text("utf-8"))["samples"].values())
    titles = ("area", "possible", "sample", "tried", "same result", "noticed at first", "share at first", "noticed now")
    lines = [f"| {' | '.join(titles)} |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for area in AREAS:
        for number, one in enumerate((one[area] for one in samples if area in one), 1):
            same = sum(row["reason"].startswith(SAME) for row in one["survivors"])
            first, others = one["killed_at_first"], one["tried"] - same
            low, high = share_interval(first, others)
            share = f"{first / others:.0%} ({low:.0%} to {high:.0%})"
            counts = f"{one['tried']} | {same} | {first} | {share} | {one['killed']}"
            lines.append(f"| {area} | {one['possible']:,} | {number} | {counts} |")
    rows = [row for one in samples for area in AREAS for row in one.get(area, {"survivors": []})["survivors"]]
    listed = ["| module | function | change | why no test fails |", "| --- | --- | --- | --- |"]
    for row in {row_key(row): row for row in rows}.values():
        change = " → ".join(f"`{shortened(part)}`" for part in row["change"].split(" → "))
        module = row["module"].removeprefix("src/densray/")
        listed.append(f"| {module} | {row['function'] or '(module)'} | {change} | {row['reason']} |")
    return {"mutations": "\n".join(lines), "mutations-survivors": "\n".join(listed)}


def shortened(code: str) -> str:
    """Return code that fits into a cell of a table."""
    return (code if len(code) <= 80 else f"{code[:80]}…").replace("|", "\\|")


def share_interval(killed: int, tried: int) -> tuple[float, float]:
    """Return Wilson's interval of the share noticed."""
    from scipy.stats import binomtest

    found = binomtest(killed, tried).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("areas", nargs="*", default=list(AREAS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-most", type=int, default=10**6)
    parser.add_argument("--without", type=lambda text: text.split(","), default=[])
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--reach", nargs="?", const="")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    measure(
        arguments.areas,
        arguments.seed,
        arguments.at_most,
        without=arguments.without,
        survivors=arguments.survivors,
        again=arguments.reach,
    )
