"""What Streamlit runs anew at every click."""

from __future__ import annotations

from densray.explorer.shell import run

if __name__ == "__main__":
    run()
