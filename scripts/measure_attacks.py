"""Attack densray with bad input by the thousand, and keep in docs/attacks.json what was tried and how it ended.

    python scripts/measure_attacks.py                      every attack, as the slow run of the tests; an hour or so
    python scripts/measure_attacks.py fits "small files"   these only; the others stay as they are
    python scripts/measure_attacks.py --seed 7 fits        with that seed; without it a new one is drawn and printed

The attacks are those of `tests/attacks.py` and `tests/attacks_on_*.py`. Wrong results and
bad errors are counted apart; the files that led to them are kept under ``build/attacks``.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "attacks.json"


def measured() -> dict[str, Callable[[Path, int], dict[str, Any]]]:
    """Return every attack by name; each is given a folder to work in, and a seed."""
    sys.path.insert(0, str(ROOT / "tests"))
    from attacks import ATTACKS
    from attacks_on_inputs import ATTACKS_ON_INPUTS
    from attacks_on_programs import ATTACKS_ON_PROGRAMS
    from attacks_on_writers import ATTACKS_ON_WRITERS

    def count(attack: Callable[..., Any], number: int, folder: Path, seed: int) -> dict[str, Any]:
        campaign = attack(number, folder, seed=seed)
        for line in campaign.mishandled:
            print(f"  {line}")
        return {
            "input": campaign.name,
            "seed": seed,
            "tried": campaign.tried,
            "refused": campaign.refused,
            "wrong": len(campaign.wrong),
            "escaped": len(campaign.escaped),
        }

    return {
        name: lambda folder, seed, attack=attack, number=number: count(attack, number, folder, seed)
        for name, (attack, number, _) in {
            **ATTACKS,
            **ATTACKS_ON_INPUTS,
            **ATTACKS_ON_PROGRAMS,
            **ATTACKS_ON_WRITERS,
        }.items()
    }


_COLUMNS = {
    "tried": "tried",
    "refused": "refused with a message",
    "wrong": "wrong results",
    "escaped": "bad errors",
}


def tables() -> dict[str, str]:
    """Return the table of the page on reliability."""
    kept = json.loads(DATA.read_text("utf-8"))
    lines = [f"| input | {' | '.join(_COLUMNS.values())} |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {row['input']} | {' | '.join(f'{row[key]:,}' for key in _COLUMNS)} |" for row in kept.values()]
    return {"attacks": "\n".join(lines)}


def main() -> int:
    """Measure what is named, or all, and keep it."""
    known = measured()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *known], metavar="NAME")
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = secrets.randbelow(10**6) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    for name in arguments.names or known:
        print(f"{name} …", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            row = known[name](Path(folder), seed)
        kept = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
        kept = {each: {**kept, name: row}[each] for each in known if each in {**kept, name: row}}
        DATA.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        print(f"  {row}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
