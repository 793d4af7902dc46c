"""Where the explorer listens: this machine only, one port, nothing sent elsewhere."""

from __future__ import annotations

import logging
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from densray.cores import one_core
from densray.errors import DensRayError, MissingExtraError
from densray.explorer.guard import Guard
from densray.explorer.workbench import Workbench, use
from densray.space import WordSpace

__all__ = ["ADDRESS", "LARGEST_UPLOAD", "PORT", "check_ready", "launch"]

ADDRESS, PORT = "127.0.0.1", 8501
#: Megabytes; a lexicon of a million words is smaller.
LARGEST_UPLOAD = 20
_SCRIPT = Path(__file__).parent / "script" / "app.py"
_PATIENCE = 20.0


def check_ready(port: int = PORT) -> None:
    """Refuse, before a space is read, what would keep the explorer from starting: a missing extra, a port in use."""
    try:
        import altair  # noqa: F401
        import streamlit  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"The explorer needs {error.name}, which is not installed. Install it with: pip install 'densray[explore]'"
        ) from error
    if not 1 <= port <= 65_535:
        raise DensRayError(f"port {port} is given; a port is a number from 1 to 65535, such as port={PORT}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            raise DensRayError(
                f"port {port} cannot be used ({error.strerror or error}). Choose another, such as port={_free_port()}."
            ) from error


def launch(
    space: WordSpace, *, port: int = PORT, browser: bool = True, ready: Callable[[str], None] | None = None
) -> None:
    """Show a space in the browser, until interrupted.

    Parameters
    ----------
    space : WordSpace
        Shared by all pages and visitors, never copied.
    port : int, default=8501
        On 127.0.0.1; nothing outside this machine can reach it.
    browser : bool, default=True
        Whether to open the page.
    ready : callable, optional
        Told the address once the explorer answers there.
    """
    check_ready(port)
    import streamlit
    from starlette.middleware import Middleware

    use(Workbench(space))
    address = f"http://{ADDRESS}:{port}"
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
    threading.Thread(target=_announce, args=(port, address, browser, ready), daemon=True).start()
    app = streamlit.App(_SCRIPT, middleware=[Middleware(Guard, port=port)])
    with one_core():  # visitors and their long steps share the cores
        app.run(config=_configuration(port))


def _configuration(port: int) -> dict[str, Any]:
    """Return what is set whatever the user's own Streamlit files say."""
    return {
        "server.address": ADDRESS,
        "server.port": port,
        "server.headless": True,  # we open the browser ourselves
        "server.fileWatcherType": "none",
        "server.enableStaticServing": False,
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.maxUploadSize": LARGEST_UPLOAD,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showSidebarNavigation": False,
        "logger.hideWelcomeMessage": True,
        "theme.base": "light",
        "theme.primaryColor": "#0072B2",
    }


def _announce(port: int, address: str, browser: bool, ready: Callable[[str], None] | None) -> None:
    """Wait until the explorer answers, then say so and open the page."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            socket.create_connection((ADDRESS, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
            continue
        if ready is not None:
            ready(address)
        if browser:
            webbrowser.open(address)
        return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])
