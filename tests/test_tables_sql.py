"""The SQL of the documentation gives the scores and the cleaned vectors of the library."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

from densray import Axis, Erasure, load_space  # noqa: E402
from densray.debiasing import load_concept  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "sql-and-r.md"


def blocks(language: str) -> list[str]:
    """The blocks of code of the page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


SCORE, CLEAN = blocks(r"\{code-block\} sql")


def cleaned() -> np.ndarray:
    return np.stack(duckdb.sql(CLEAN).pl().sort("id")["vector"].to_list())


def test_the_queries_of_the_page_agree_with_the_library(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for body in blocks("python"):
        exec(body, names)
    X = pl.read_parquet("docs.parquet")["vector"].to_numpy()
    scores = duckdb.sql(SCORE).pl().sort("id")["score"]
    np.testing.assert_allclose(scores, Axis.load("party.safetensors").score(X).score, atol=1e-9)
    np.testing.assert_allclose(cleaned(), Erasure.load("erasure.safetensors").apply(X), atol=1e-9)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("method", ["leace", "mean-difference", "hard", "double-hard", "inlp:3", "ridge:2"])
def test_the_query_of_the_page_applies_every_erasure(method, normalize, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    space, concept = load_space("googlenews-26k"), load_concept("gender")
    pairs = {"pairs": concept.pairs} if "hard" in method else {}
    erasure = Erasure.fit(concept.lexicon.align(space), method, normalize=normalize, **pairs)
    erasure.save("erasure.safetensors")
    X = 3.0 * np.vstack([space.vectors[:20].astype(np.float64), np.zeros((1, space.width))])
    pl.DataFrame({"id": range(len(X)), "vector": X}).write_parquet("docs.parquet")
    names = {"pl": pl, "Erasure": Erasure}
    _, writes = blocks("python")
    exec(writes[writes.index("erasure = ") :], names)
    np.testing.assert_allclose(cleaned(), erasure.apply(X), atol=1e-9)
    assert erasure.needs_unit_length == (normalize and method in ("leace", "double-hard"))
