"""The SQL of the documentation gives the scores and the cleaned vectors of the library."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

from densray import Axis, Erasure  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "sql-and-r.md"


def test_the_queries_of_the_page_agree_with_the_library(tmp_path, monkeypatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for body in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(body, names)
    scored, cleaned = (
        duckdb.sql(query).pl().sort("id")
        for query in re.findall(r"^```\{code-block\} sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    )
    docs = pl.read_parquet("docs.parquet")
    X = docs["vector"].to_numpy()
    np.testing.assert_allclose(scored["score"], Axis.load("party.safetensors").score(X).score, atol=1e-9)
    expected = Erasure.load("erasure.safetensors").apply(X)
    np.testing.assert_allclose(np.stack(cleaned["vector"].to_list()), expected, atol=1e-9)
