"""The version of densray, which the build reads from here, and those of the libraries below it."""

from __future__ import annotations

import sys
import threading

__version__ = "0.3.0"
#: The day of the release, as CITATION.cff has it.
RELEASED = "2026-11-16"

_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_lock = threading.Lock()
_versions: dict[str, str] = {}


def library_versions() -> dict[str, str]:
    """Return the installed versions of NumPy, SciPy and scikit-learn.

    They are looked up once, on a copy of ``sys.path``: another thread may edit that list meanwhile, as Streamlit does,
    and a lookup that walks over it would then miss a library that is installed.
    """
    from importlib import metadata

    with _lock:
        known = _versions
        if not known:
            path = list(sys.path)
            versions = {}
            for name in _LIBRARIES:
                distribution = next(iter(metadata.distributions(name=name, path=path)), None)
                versions[name] = metadata.version(name) if distribution is None else distribution.version
            known.update(versions)
        return dict(known)
