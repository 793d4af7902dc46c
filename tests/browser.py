"""A real browser on a running explorer: what the end-to-end tests and the screenshots of the documentation use."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: Without these Chromium calls home at every start.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: axe-core, which looks for what keeps people from using a page.
AXE = Path(os.environ.get("DENSRAY_AXE", "build/axe/axe.min.js"))


def chromium() -> str | None:
    """The browser of this machine, if it has one; ``DENSRAY_CHROMIUM`` names another."""
    return os.environ.get("DENSRAY_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def explorer(*spaces: str, program: Sequence[str] = ("-m", "densray")) -> Iterator[str]:
    """``densray explore`` in a process of its own, with the bundled space where none is given; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        *program,
        "explore",
        *(spaces or ["googlenews-26k"]),
        "--no-browser",
        "--port",
        str(port),
    ]
    address, said = f"http://127.0.0.1:{port}", ""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while address not in said:
            line = process.stderr.readline()
            assert line, said  # it ended
            said += line
        later: list[str] = []  # read at once: a full pipe would halt the server
        reader = threading.Thread(target=lambda: later.extend(process.stderr or ()), daemon=True)
        reader.start()
        try:
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)
            reader.join(timeout=30)
        complaints = [line for line in later if "warning" in line.lower() or "Traceback" in line or "Stack" in line]
        assert not complaints, "".join(later)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield found
        finally:
            found.close()


_ALL_FIT = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"]')].every(place => {
    const drawn = (place.querySelector('svg, canvas') || place).getBoundingClientRect()
    return Math.abs(drawn.width - place.parentElement.clientWidth) < 2
})"""


class Visitor:
    """Somebody who looks at the explorer: goes to pages, waits until they are done, and keeps pictures of them."""

    def __init__(
        self,
        browser: Any,
        address: str,
        *,
        pictures: Path | None = None,
        width: int = 1400,
        height: int = 1400,
        scale: float = 1.0,
        scheme: str = "light",
        bypass_csp: bool = False,
    ) -> None:
        window = {"width": width, "height": height}
        self.context = browser.new_context(
            viewport=window,
            device_scale_factor=scale,
            accept_downloads=True,
            color_scheme=scheme,
            bypass_csp=bypass_csp,
        )
        self.context.set_default_timeout(120_000)  # a test machine may be busy
        self.page = self.context.new_page()
        self.address, self.pictures = address, pictures
        self.outside: list[str] = []
        self.problems: list[str] = []
        self.page.on("request", self._note_request)
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith((self.address, self.address.replace("http", "ws"), "data:", "blob:")):
            self.outside.append(request.url)

    def _note_message(self, said: Any) -> None:
        # from a page below the first, Streamlit's client looks for its server in two places, and one is not there
        is_search = "404" in said.text and "/_stcore/" in said.location.get("url", "")
        # without a GPU, Chromium reads the pixels of WebGL back to put the page together, and says that this is slow
        is_software = "GPU stall due to ReadPixels" in said.text
        if said.type in ("error", "warning") and not is_search and not is_software:
            self.problems.append(said.text)

    def go(self, path: str = "") -> Visitor:
        """Open a page and wait for it."""
        self.page.goto(f"{self.address}/{path}")
        self.page.wait_for_selector("h1")
        return self.settle()

    def settle(self) -> Visitor:
        """Wait until nothing runs any more."""
        with suppress(Exception):  # a step that starts no run, or one too short to be seen
            self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="running"]', timeout=1_000)
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=120_000)
        # what is drawn again, and what is not drawn yet
        waiting = '[data-stale="true"], [data-testid="stSkeleton"], .word-map:not([data-points])'
        self.page.wait_for_function(f"() => !document.querySelector('{waiting}')", timeout=60_000)
        self.page.wait_for_timeout(300)
        return self

    def resize(self, width: int, *, whole: bool = False) -> Visitor:
        """Change the width of the window, and with `whole` its height to that of the page."""
        self.page.set_viewport_size({"width": width, "height": 1000})
        self.page.wait_for_timeout(700)
        with suppress(Exception):  # a chart that never fits is for the test to find
            self.page.wait_for_function(_ALL_FIT, timeout=8_000)
        if whole:
            height = self.page.evaluate("document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
            self.page.set_viewport_size({"width": width, "height": min(int(height) + 60, 4000)})
            self.page.wait_for_timeout(500)
        return self

    def charts_fit(self) -> bool:
        """Return whether every chart is as wide as its place."""
        return bool(self.page.evaluate(_ALL_FIT))

    def unfold(self) -> Visitor:
        """Open all that is folded, so that it is drawn."""
        self.page.evaluate("document.querySelectorAll('details:not([open]) > summary').forEach(each => each.click())")
        return self.settle()

    def zoom(self, pixels: int) -> None:
        """Turn the wheel with Ctrl held down."""
        self.page.keyboard.down("Control")
        self.page.mouse.wheel(0, pixels)
        self.page.keyboard.up("Control")

    def type(self, label: str, text: str) -> Visitor:
        """Type into a box and leave it."""
        box = self.page.get_by_label(label, exact=True)
        box.fill(text)
        box.press("Control+Enter")
        return self.settle()

    def click(self, name: str) -> Visitor:
        """Click a button."""
        self.page.get_by_role("button", name=name, exact=True).first.click()
        return self.settle()

    def follow(self, title: str) -> Visitor:
        """Go to another page by the sidebar."""
        self.page.get_by_test_id("stSidebar").get_by_role("link", name=title).click()
        self.page.wait_for_selector(f"h1:has-text('{title}')")
        return self.settle()

    def download(self, name: str) -> bytes:
        """Return the file behind a button."""
        with self.page.expect_download(timeout=120_000) as coming:
            self.page.get_by_role("button", name=name, exact=True).click()
        return Path(coming.value.path()).read_bytes()

    def complaints(self) -> list[list[Any]]:
        """What axe-core finds on the page: the rule, how much it matters, the first places."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[list[Any]] = self.page.evaluate(
            """async () => (await axe.run()).violations.map(
            rule => [rule.id, rule.impact, rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200))])"""
        )
        return found

    def until(self, is_so: Callable[[], bool], *, seconds: float = 90) -> Visitor:
        """Wait until `is_so`, since a busy machine may take its time; fail with the text of the page if it never is."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise AssertionError(f"not seen within {seconds} s at {self.page.url}:\n{self.text}")
            self.page.wait_for_timeout(100)
        return self

    def sees(self, text: str) -> Visitor:
        """Wait until `text` is on the page."""
        return self.until(lambda: text in self.text)

    @property
    def text(self) -> str:
        """All text on the page."""
        return str(self.page.get_by_test_id("stApp").inner_text())

    def picture(self, name: str) -> None:
        """Keep a picture of the whole page."""
        if self.pictures is not None:
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=self.pictures / f"{name}.png")
