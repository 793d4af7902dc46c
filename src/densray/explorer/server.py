"""The server of the explorer; it accepts requests only from its own pages."""

from __future__ import annotations

import logging
import socket
import threading
import time
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from threadpoolctl import threadpool_limits

from densray.errors import Advice, Argument, DensRayError, load_extra
from densray.explorer.documentation import find_pages, is_documentation, serve_pages
from densray.explorer.table_bench import TableBench
from densray.explorer.table_bench import use as use_table
from densray.explorer.workbench import MOST_KEPT, Workbench, bytes_to_keep, use
from densray.space import WordSpace

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


#: Address parameter with the name of a requested page that does not exist.
MISSING_PAGE = "page"


class Guard:
    """Rejects requests that another site could have sent, and forbids browsers to load anything from outside.

    Requests are accepted only if both ``Origin`` and ``Host`` are the address of the explorer. Other sites cannot forge
    the first, and DNS rebinding shows in the second. No page may frame it, and the policy sent with every response
    prevents the browser from loading anything from elsewhere.

    Parameters
    ----------
    app : ASGI application
    port : int
        The port of the explorer.
    pages : sequence of str, optional
        The pages by name. The first page is served at the root. Requests for its name, or for an unknown name, are
        redirected to the root, which receives an unknown name as `MISSING_PAGE`.
    documentation : ASGI application, optional
        Serves the built documentation under its own path.
    """

    def __init__(self, app: App, *, port: int, pages: Sequence[str] = (), documentation: App | None = None) -> None:
        self.app, self.pages, self.documentation = app, tuple(pages), documentation
        usual = "" if port == 80 else f":{port}"  # browsers omit the default port
        self.hosts = {f"{name}{usual}" for name in ("127.0.0.1", "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}
        sources = " ".join(sorted(f"ws://{host}" for host in self.hosts))
        policy = (
            "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' "
            "'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
            f"connect-src 'self' {sources} data: blob:; frame-ancestors 'none'; form-action 'self'; base-uri 'self'"
        )
        headers = {
            "content-security-policy": policy,
            "x-frame-options": "DENY",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] == "lifespan" or self._is_ours(scope):
            send = self._adding_headers(send)
            if self.documentation is not None and scope["type"] == "http" and is_documentation(scope["path"]):
                await self.documentation(scope, receive, send)
                return
            if scope["type"] == "http" and scope.get("method") == "GET" and _is_page(scope["path"]):
                elsewhere = self._elsewhere(scope)
                if elsewhere is not None:
                    headers = [(b"location", elsewhere.encode())]
                    await send({"type": "http.response.start", "status": 307, "headers": headers})
                    await send({"type": "http.response.body", "body": b""})
                    return
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "not from this page"})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": self.headers})
            await send({"type": "http.response.body", "body": b"The explorer answers its own pages only.\n"})

    def _elsewhere(self, scope: Message) -> str | None:
        """Return the address to redirect a request for a page to; None to serve it."""
        name = scope["path"].strip("/")
        if not name or not self.pages or name in self.pages[1:]:
            return None
        if name != self.pages[0]:
            return f"/?{urlencode({MISSING_PAGE: name[:60]})}"
        asked = scope.get("query_string", b"").decode("latin-1")
        return f"/?{asked}" if asked else "/"

    def _is_ours(self, scope: Message) -> bool:
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        origin = found.get("origin")
        # browsers send an origin with every socket; a client without one is not a browser page
        origin_fits = origin in self.origins if scope["type"] == "websocket" else origin in (None, *self.origins)
        return found.get("host") in self.hosts and origin_fits

    def _adding_headers(self, send: Send) -> Send:
        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
            await send(message)

        return adding


def _is_page(path: str) -> bool:
    """Return whether a path is that of a page, not of a file or of internal traffic.

    On a page below the first, the client sends internal requests to paths below that page too.
    """
    own = {"_stcore", "static", "media", "component"}
    return own.isdisjoint(path.split("/")) and "." not in path.rsplit("/", 1)[-1]


ADDRESS, PORT = "127.0.0.1", 8501
#: Megabytes; larger than a lexicon of a million words.
LARGEST_UPLOAD = 20
_SCRIPT = Path(__file__).parent / "app.py"
_SECONDS_TO_START = 20.0


def check_ready(port: int = PORT) -> None:
    """Check before a space is read that the explorer can start: extras are installed, and the port is free."""
    for module in ("altair", "cachetools", "streamlit"):
        load_extra(module, "The explorer needs", extra="explore")
    if not 1 <= port <= 65_535:
        raise DensRayError(
            f"port {port} is given; a port is a number from 1 to 65535, such as ", Argument("port", PORT), "."
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            raise DensRayError(
                f"port {port} cannot be used ({error.strerror or error}).",
                Advice(" Choose another, such as ", Argument("port", _free_port()), "."),
            ) from error


def launch(
    *spaces: WordSpace,
    sources: Sequence[str] | None = None,
    port: int = PORT,
    browser: bool = True,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Show a space, or several, in the browser, until interrupted.

    Parameters
    ----------
    *spaces : WordSpace
        Shared by all pages and visitors without copies; the first is shown first.
    sources : sequence of str, optional
        The files or data sets they were read from, for commands and code on the pages (default: their names).
    port : int, default=8501
        Port on 127.0.0.1, which is not reachable from other machines.
    browser : bool, default=True
        Whether to open the page.
    ready : callable, optional
        Called with the address once the explorer responds.
    """
    check_ready(port)
    if not spaces:
        raise DensRayError("no space is given; at least one is needed.")
    given = sources or [space.name for space in spaces]
    shares = [min(bytes_to_keep(space), MOST_KEPT // len(spaces)) for space in spaces]
    shown = zip(spaces, given, shares, strict=True)
    use(*(Workbench(space, source=source, max_bytes=share) for space, source, share in shown))
    serve(port=port, browser=browser, ready=ready)


def launch_table(
    bench: TableBench, *, port: int = PORT, browser: bool = True, ready: Callable[[str], None] | None = None
) -> None:
    """Show a table of documents in the browser, until interrupted; parameters are those of :func:`launch`."""
    check_ready(port)
    use_table(bench)
    serve(port=port, browser=browser, ready=ready)


def serve(*, port: int, browser: bool, ready: Callable[[str], None] | None) -> None:
    """Serve the pages until interrupted; parameters are those of :func:`launch`."""
    import streamlit
    from starlette.middleware import Middleware

    address = f"http://{ADDRESS}:{port}"
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
    threading.Thread(target=_announce, args=(port, address, browser, ready), daemon=True).start()
    from densray.explorer.views import first_page, open_pages  # imported now, so that the first visit does not wait

    pages = sorted(open_pages(), key=lambda name: name != first_page())
    built = find_pages()
    documentation = None if built is None else serve_pages(built)
    guard = Middleware(Guard, port=port, pages=pages, documentation=documentation)
    app = streamlit.App(_SCRIPT, middleware=[guard])
    with threadpool_limits(1):  # visitors and their long steps share the cores
        app.run(config=_configuration(port))


def _configuration(port: int) -> dict[str, Any]:
    """Return settings that override the Streamlit configuration of the user."""
    return {
        "server.address": ADDRESS,
        "server.port": port,
        "server.headless": True,  # the explorer opens the browser itself
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
        # no base theme, so that light or dark follows the visitor's system
        "theme.light.primaryColor": "#0072B2",
        "theme.dark.primaryColor": "#1A78B8",
        "theme.light.linkColor": "#00629A",
        "theme.dark.linkColor": "#6CBDF0",
        "theme.dark.backgroundColor": "#14181E",  # as the documentation
        "theme.dark.secondaryBackgroundColor": "#202731",
    }


def _announce(port: int, address: str, browser: bool, ready: Callable[[str], None] | None) -> None:
    """Wait until the explorer responds, then call `ready` and open the page."""
    until = time.monotonic() + _SECONDS_TO_START
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
