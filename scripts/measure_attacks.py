"""Attack densray with bad input by the thousand, and keep in docs/attacks.json what was tried and how it ended.

    python scripts/measure_attacks.py                      every attack, as the slow run of the tests; an hour or so
    python scripts/measure_attacks.py fits "small files"   these only; the others stay as they are

The attacks are those of `tests/attacks.py` and `tests/attacks_on_programs.py`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "attacks.json"


def measured() -> dict[str, Callable[[Path], dict[str, Any]]]:
    """Return every attack by name; each is given a folder to work in."""
    sys.path.insert(0, str(ROOT / "tests"))
    from attacks import ATTACKS
    from attacks_on_programs import ATTACKS_ON_PROGRAMS

    def count(attack: Callable[..., Any], number: int, folder: Path) -> dict[str, Any]:
        campaign = attack(number, folder)
        for line in campaign.mishandled:
            print(f"  {line}")
        return {
            "input": campaign.name,
            "tried": campaign.tried,
            "refused": campaign.refused,
            "mishandled": len(campaign.mishandled),
        }

    return {
        name: lambda folder, attack=attack, number=number: count(attack, number, folder)
        for name, (attack, number, _) in {**ATTACKS, **ATTACKS_ON_PROGRAMS}.items()
    }


def tables() -> dict[str, str]:
    """Return the table of the page on reliability."""
    kept = json.loads(DATA.read_text("utf-8"))
    lines = ["| input | tried | refused with a message | mishandled |", "| --- | ---: | ---: | ---: |"]
    for row in kept.values():
        counts = " | ".join(f"{row[key]:,}" for key in ("tried", "refused", "mishandled"))
        lines.append(f"| {row['input']} | {counts} |")
    return {"attacks": "\n".join(lines)}


def main() -> int:
    """Measure what is named, or all, and keep it."""
    known = measured()
    for name in sys.argv[1:] or known:
        print(f"{name} …", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found = known[name](Path(folder))
        kept = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
        kept = {each: {**kept, name: found}[each] for each in known if each in {**kept, name: found}}
        DATA.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        print(f"  {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
