"""The pages on language models, as one text."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def on_language_models() -> str:
    """Return the text of the page on language models and of those with its details, with single spaces."""
    pages = sorted(DOCS.glob("language-models*.md"))
    assert len(pages) == 5
    return " ".join(" ".join(page.read_text("utf-8").split()) for page in pages)
