"""Time and memory over n and d: ours, the bare arithmetic and others, into docs/scaling.json and docs/images.

``python -m benchmarks scaling`` measures on the processor, and on a GPU where PyTorch sees one; each replaces its own
curves in the file. ``python -m benchmarks.bench_scaling`` only draws what the file holds.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_gpu import Device, gpu_devices, product
from benchmarks.devices import describe_devices
from benchmarks.measurement import Measurement, exponent, peak_bytes, seconds
from densray.rotations import DensRay, LinearRotation, MeanDifference

__all__ = ["draw", "main"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
DATA = DOCS / "scaling.json"
PROCESSOR = "processor, two threads"
#: Rows at this width, and widths at this many rows.
SIZES: dict[str, dict[str, Any]] = {
    PROCESSOR: {"n": [12_500, 25_000, 50_000, 100_000], "d": [128, 256, 512, 1024], "at": (300, 20_000)},
    "GPU": {
        "n": [62_500, 250_000, 1_000_000, 4_000_000],
        "d": [256, 512, 1024, 2048, 4096, 8192],
        "at": (768, 200_000),
    },
}
LIMIT = "XᵀX, and eigh"
METHODS: dict[str, Callable[[Any, Any], object]] = {
    "plain DensRay": lambda X, y: DensRay(1).fit(X, y),
    "mean difference": lambda X, y: MeanDifference().fit(X, y),
    "ridge": lambda X, y: LinearRotation("ridge").fit(X, y),
}
#: The order of the legend.
ORDER = [*METHODS, LIMIT, "PCA of scikit-learn", "LDA of scikit-learn", "LEACE of concept-erasure"]


def _others(place: str) -> dict[str, Callable[[Any, Any], object]]:
    """Return the limit and the methods of other libraries that run in a place."""
    functions: dict[str, Callable[[Any, Any], object]] = {}
    if place == PROCESSOR:
        from scipy.linalg import eigh
        from sklearn.decomposition import PCA
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        functions[LIMIT] = lambda X, y: eigh((X.T @ X).astype(np.float64))
        functions["PCA of scikit-learn"] = lambda X, y: PCA(1, svd_solver="covariance_eigh").fit(X)
        functions["LDA of scikit-learn"] = lambda X, y: LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    else:
        import torch

        functions[LIMIT] = lambda X, y: torch.linalg.eigh(product(X).double())
        if importlib.util.find_spec("concept_erasure"):
            from concept_erasure import LeaceEraser

            functions["LEACE of concept-erasure"] = lambda X, y: LeaceEraser.fit(X, (y > 0).long())
    return functions


def _planted(n: int, width: int) -> tuple[Any, Any]:
    from benchmarks.bench_fit import planted

    return planted(n, width)


def _measure_all(place: str, device: Device | None) -> Iterator[dict[str, Any]]:
    """Yield one row for each method and size."""
    sizes = SIZES[place]
    width, n_rows = sizes["at"]
    for over in ("n", "d"):
        for size in sizes[over]:
            n, d = (size, width) if over == "n" else (n_rows, size)
            X, y = _planted(n, d) if device is None else device.rows(n, d)
            for name, act in {**METHODS, **_others(place)}.items():
                elapsed, memory = _cost(device, act, X, y)
                yield {
                    "place": place, "over": over, "n": n, "d": d, "size": size, "method": name,
                    "seconds": elapsed, "megabytes": memory / 1e6,
                }  # fmt: skip


def _cost(device: Device | None, act: Callable[[Any, Any], object], X: Any, y: Any) -> tuple[float, float]:
    """Return seconds, and bytes in addition to the rows."""
    if device is None:
        return seconds(lambda: act(X, y), repeats=3), float(peak_bytes(lambda: act(X, y)))
    device.free()
    before = device.held()
    elapsed = device.seconds(lambda: act(X, y), repeats=2)
    return elapsed, device.peak() - before


def main() -> list[Measurement]:
    """Measure here, keep the curves, draw them, and return how fast they grow."""
    gpu = next((device for device in gpu_devices() if device.name == "PyTorch"), None)
    results = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {"machines": {}, "rows": []}
    measurements = []
    places = {"GPU": gpu} if gpu is not None else {PROCESSOR: None}
    for place, device in places.items():
        rows = list(_measure_all(place, device))
        results["rows"] = [row for row in results["rows"] if row["place"] != place] + rows
        results["machines"][place] = describe_devices() or f"{os.cpu_count()} cores"
        for over, constant in (("n", "d"), ("d", "n")):
            ours = [row for row in rows if row["over"] == over and row["method"] == "plain DensRay"]
            what = f"growth of plain DensRay over {over}, {place}, {constant} = {ours[0][constant]:,}"
            power = exponent([row["size"] for row in ours], [row["seconds"] for row in ours])
            measurements.append(
                Measurement(what, power, "exponent", note=f"{ours[-1]['seconds']:.3g} s at {ours[-1]['size']:,}")
            )
    DATA.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    draw()
    return measurements


def draw() -> None:
    """Draw the curves that the file holds, one picture for each place; nothing where charts cannot be drawn."""
    from densray.figures import can_draw
    from densray.figures._narrow import save_both

    if not can_draw():
        return
    results = json.loads(DATA.read_text(encoding="utf-8"))
    for place in results["machines"]:
        rows = [row for row in results["rows"] if row["place"] == place]
        save_both(_chart(rows), DOCS / "images" / f"scaling-{place.split(',')[0].lower()}.svg")


def _chart(rows: list[dict[str, Any]]) -> Any:
    from densray.figures._style import altair, method_encoding, method_looks, styled, values

    alt = altair()
    names = [name for name in ORDER if any(row["method"] == name for row in rows)]
    looks = method_encoding(method_looks(names), orient="top", columns=3)
    panels = []
    for measure, title in (("seconds", "seconds"), ("megabytes", "MB in addition to the rows")):
        for over, label in (("n", "rows"), ("d", "dimensions")):
            part = [row for row in rows if row["over"] == over and row[measure] > 0]
            constant = f"{part[0]['d']:,} dimensions" if over == "n" else f"{part[0]['n']:,} rows"
            across = alt.X(
                "size:Q",
                scale=alt.Scale(type="log", nice=False),
                title=f"{label}, {constant}",
                axis=alt.Axis(format=",", values=sorted({row["size"] for row in part})),
            )
            size = np.log10([row[measure] for row in part])
            powers = [10.0**power for power in range(int(np.floor(size.min())), int(np.ceil(size.max())) + 1)]
            up = alt.Y(
                f"{measure}:Q",
                scale=alt.Scale(type="log", domain=[powers[0], powers[-1]]),
                title=title,
                axis=alt.Axis(format="~g", values=powers),
            )
            lines = alt.Chart(values(part)).mark_line(point=True).encode(x=across, y=up, **looks)
            panels.append(lines.properties(width=265, height=200))
    chart = alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:]))
    return styled(chart, alt="Time and memory of fits over rows and dimensions, ours, the arithmetic and others.")


if __name__ == "__main__":
    draw()
