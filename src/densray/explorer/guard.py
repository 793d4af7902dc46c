"""Who may talk to the explorer: this machine's browser, on the explorer's own pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["Guard"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Guard:
    """Turns away every request that another site could have sent, and tells browsers to load nothing from outside.

    A page of another site cannot forge its ``Origin``, and a name that was pointed at this machine (DNS rebinding)
    shows in ``Host``: both must be the address the explorer listens on. No page may frame it, and the policy sent with
    every answer leaves the browser nothing to fetch elsewhere.

    Parameters
    ----------
    app : ASGI application
    port : int
        Where the explorer listens.
    """

    def __init__(self, app: App, *, port: int) -> None:
        self.app = app
        usual = "" if port == 80 else f":{port}"  # browsers leave the usual port out
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
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or self._is_ours(scope):
            await self.app(scope, receive, self._adding_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "not from this page"})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": self.headers})
            await send({"type": "http.response.body", "body": b"The explorer answers its own pages only.\n"})

    def _is_ours(self, scope: Message) -> bool:
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        origin = found.get("origin")
        # a browser names the origin of every script that opens a socket; what names none is no page
        origin_fits = origin in self.origins if scope["type"] == "websocket" else origin in (None, *self.origins)
        return found.get("host") in self.hosts and origin_fits

    def _adding_headers(self, send: Send) -> Send:
        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
            await send(message)

        return adding
