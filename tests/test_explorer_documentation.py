"""The documentation that the explorer serves: its own pages, and no file outside their folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
testclient = pytest.importorskip("starlette.testclient", reason="starlette's test client needs httpx")

from densray import __version__  # noqa: E402
from densray.explorer import documentation  # noqa: E402
from densray.explorer.server import Guard  # noqa: E402

ROOT = Path(__file__).parent.parent
ORIGIN = "http://127.0.0.1:8501"


async def application(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"a page of the explorer"})


@pytest.fixture
def client(tmp_path: Path) -> Any:
    pages = tmp_path / "docs" / "_build"
    (pages / "api").mkdir(parents=True)
    (pages / "index.html").write_text("the first page")
    (pages / "api" / "index.html").write_text("the reference")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "docs" / "secret.txt").write_text("secret")
    (pages / "link.txt").symlink_to(tmp_path / "secret.txt")
    guard = Guard(application, port=8501, pages=["axis", "map"], documentation=documentation.serve_pages(pages))
    return testclient.TestClient(guard, base_url=ORIGIN)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/docs/index.html", "the first page"),
        ("/docs/", "the first page"),
        ("/docs", "the first page"),
        ("/docs/api/", "the reference"),
        ("/map", "a page of the explorer"),
    ],
)
def test_pages_of_the_documentation_and_of_the_explorer_are_served(client: Any, path: str, text: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.text) == (200, text)
    assert "default-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/docs/../secret.txt",
        "/docs/%2e%2e/secret.txt",
        "/docs/%2e%2e/%2e%2e/secret.txt",
        "/docs/..%2f..%2fsecret.txt",
        "/docs/..%5c..%5csecret.txt",
        "/docs/api/../../../secret.txt",
        "/docs//etc/passwd",
        "/docs/%2fetc%2fpasswd",
        "/docs/link.txt",
        "/docs/none.html",
    ],
)
def test_no_path_leaves_the_folder(client: Any, path: str) -> None:
    answer = client.get(path)
    assert "secret" not in answer.text
    assert "root:" not in answer.text
    assert answer.status_code == 404 or answer.text == "a page of the explorer"


def test_raw_paths_with_dots_are_refused(client: Any) -> None:
    """Clients shorten dots before they send a path, so the paths go straight to the server."""
    import asyncio

    for path in ("/docs/../../secret.txt", "/docs/../secret.txt", "/docs/api/../../../secret.txt", "/docs/\0"):
        sent: list[dict[str, Any]] = []

        async def keep(message: Any, sent: list[dict[str, Any]] = sent) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        scope = {
            "type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"",
            "headers": [(b"host", b"127.0.0.1:8501")],
        }  # fmt: skip
        asyncio.run(client.app(scope, receive, keep))
        assert sent[0]["status"] == 404, path
        assert not any(b"secret" in message.get("body", b"") for message in sent)


def test_nothing_but_reading_is_allowed_and_other_sites_are_refused(client: Any) -> None:
    assert client.post("/docs/index.html").status_code == 405
    assert client.get("/docs/index.html", headers={"origin": "https://evil.example"}).status_code == 403


def test_the_sidebar_links_built_pages_and_says_how_to_get_them_if_they_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from densray.explorer import sidebar
    from explorer_page import open_page, texts

    for folder in (Path("docs"), None):
        monkeypatch.setattr(sidebar, "find_pages", lambda folder=folder: folder)
        sidebar.documentation_links.cache_clear()
        said = texts(open_page("analogies").sidebar.caption)
        assert f"densray {__version__}" in said
        assert ("[Documentation](/docs/index.html)" in said) == (folder is not None)
        assert ("start the explorer by `make explore` in a checkout" in said) == (folder is None)
    sidebar.documentation_links.cache_clear()


def make_explore(folder: Path) -> list[str]:
    """The commands of ``make explore`` in a folder with the Makefile and an environment that is ready."""
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("pyproject.toml", "densray-data/pyproject.toml", ".venv/bin/python", ".venv/.ready-explore"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    command = ["make", "--dry-run", "--no-print-directory", "explore"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_explore_builds_the_pages_first_and_only_if_they_are_missing(tmp_path: Path) -> None:
    commands = make_explore(tmp_path)
    assert any("sphinx-build" in each for each in commands)
    assert commands[-1] == ".venv/bin/densray explore"
    (tmp_path / "docs" / "_build").mkdir(parents=True)
    (tmp_path / "docs" / "_build" / "index.html").touch()
    assert make_explore(tmp_path) == [".venv/bin/densray explore"]
