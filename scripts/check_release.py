"""Build both distributions and check them as a stranger would: metadata, contents, the demo in an empty environment.

    make release-check

Needs the tools of the extra `release`. Everything is made in a temporary folder; the distributions that passed are left
in ``dist/``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The wheel of the code, about 1 MB; the data are a distribution of their own, and none of them may slip in.
LARGEST_WHEEL_BYTES = 1_200_000
LEAST_RATING = 9


def run(*command: str | Path, environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> str:
    """Run a command and return what it printed; end with that where it fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def build(folder: Path) -> list[Path]:
    """Build both distributions twice; the two must be the same bytes."""
    first, second = folder / "first", folder / "second"
    for target in (first, second):
        for project in (ROOT, ROOT / "densray-data"):
            run(sys.executable, "-m", "build", "--outdir", target, project)
    names = sorted(path.name for path in first.iterdir())
    for name in names:
        if (first / name).read_bytes() != (second / name).read_bytes():
            raise SystemExit(f"{name} differs from one build to the next.")
    print(f"built twice, the same bytes: {', '.join(names)}")
    return [first / name for name in names]


def check_metadata(files: list[Path]) -> None:
    """Check what an index shows: the description, the contents of the wheels, the rating of the metadata."""
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    wheels = [path for path in files if path.suffix == ".whl"]
    run(Path(sys.executable).with_name("check-wheel-contents"), *wheels)
    for project in (ROOT, ROOT / "densray-data"):
        rating = re.search(r"rating: (\d+)/10", run(Path(sys.executable).with_name("pyroma"), "--min", "1", project))
        if rating is None or int(rating[1]) < LEAST_RATING:
            raise SystemExit(f"pyroma rates {project.name} {rating and rating[1]}, below {LEAST_RATING}.")
        print(f"{project.name}: pyroma {rating[1]}/10")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
        licences = [name.rsplit("/licenses/", 1)[1] for name in names if "/licenses/" in name]
        if re.search(r"!\[[^\]]*\]\((?!https?:)", metadata):
            raise SystemExit(f"{wheel.name}: the description shows a picture that an index does not have.")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, licences {', '.join(sorted(licences))}")
        if wheel.name.startswith("densray-"):
            check_files(wheel.name, names)
        if wheel.name.startswith("densray-") and wheel.stat().st_size > LARGEST_WHEEL_BYTES:
            raise SystemExit(f"{wheel.name} is larger than {LARGEST_WHEEL_BYTES:,} bytes.")


def check_files(wheel: str, names: list[str]) -> None:
    """Check that the wheel has every file of the package: styles, scripts and pictures as well as modules."""
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in (source / "densray").rglob("*") if path.is_file()}
    missing = sorted(name for name in files - set(names) if "__pycache__" not in name)
    if missing:
        raise SystemExit(f"{wheel} lacks {', '.join(missing)}.")


def try_the_wheel(files: list[Path], folder: Path) -> None:
    """Install the wheels into an empty environment, without extras, and run the first commands there."""
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    wheels = [path for path in files if path.suffix == ".whl"]
    run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DENSRAY"))}
    seeds = ["--high", "good,nice,great", "--low", "bad,nasty,poor"]
    for command in (["--version"], ["demo"], ["induce", "googlenews-26k", *seeds, "-o", "words.csv"]):
        output = run(programs / "densray", *command, folder=elsewhere, environment=plain)
        print(f"densray {' '.join(command)}: {output.strip().splitlines()[-1][:100]}")


def main() -> None:
    """Check the release, and leave the distributions that passed in ``dist/``."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = build(folder)
        check_metadata(files)
        try_the_wheel(files, folder)
        target = ROOT / "dist"
        target.mkdir(exist_ok=True)
        for path in files:
            shutil.copy(path, target)
    print("fit to be released")


if __name__ == "__main__":
    main()
