"""What a resumed run shares with one that was not interrupted: everything but the time it took."""

from __future__ import annotations

from typing import Any

_CLOCKS = ("seconds", "started", "parts_resumed")


def without_times(plain: Any) -> Any:
    """Every number of a result in plain form but those of clocks."""
    if isinstance(plain, dict):
        return {key: without_times(item) for key, item in plain.items() if key not in _CLOCKS}
    return [without_times(item) for item in plain] if isinstance(plain, list) else plain
