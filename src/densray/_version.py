"""The version of densray, which the build reads from here, and the versions of its dependencies."""

from __future__ import annotations

import sys
import threading

__version__ = "0.3.0"
#: Release date, as in CITATION.cff.
RELEASED = "2026-11-16"

_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_lock = threading.Lock()
_versions: dict[str, str] = {}


def library_versions() -> dict[str, str]:
    """Return the installed versions of NumPy, SciPy and scikit-learn.

    They are looked up once, on a copy of ``sys.path``: another thread, such as Streamlit's, may change the list during
    the lookup, which would then miss installed libraries.
    """
    from importlib import metadata

    with _lock:
        cache = _versions
        if not cache:
            path = list(sys.path)
            versions = {}
            for name in _LIBRARIES:
                distribution = next(iter(metadata.distributions(name=name, path=path)), None)
                versions[name] = metadata.version(name) if distribution is None else distribution.version
            cache.update(versions)
        return dict(cache)
