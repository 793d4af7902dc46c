"""``python -m densray`` is ``densray``."""

from __future__ import annotations

from densray.cli import main

if __name__ == "__main__":
    main()
