"""One GPU: the same estimators on CUDA tensors, with their axes checked against the host's."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measurement import Measurement
from densray.rotations import DensRay, LinearRotation, MeanDifference

__all__ = ["main"]


def _timed(torch: Any, make: Any, X: Any, y: Any, *, repeats: int = 5) -> tuple[float, Any]:
    """Return the least time of a fit on the device, and the rotation."""
    taken = []
    for _ in range(repeats + 1):  # the first run warms up
        torch.cuda.synchronize()
        start = perf_counter()
        rotation = make().fit(X, y)
        torch.cuda.synchronize()
        taken.append(perf_counter() - start)
    return min(taken[1:]), rotation


def _rows(torch: Any, n: int, width: int) -> tuple[Any, Any]:
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn(n, width, generator=generator, device="cuda")
    y = (torch.rand(n, generator=generator, device="cuda") < 0.4).to(torch.float64) * 2 - 1
    X[:, 0] += y.to(X.dtype)
    X /= torch.linalg.vector_norm(X, dim=1, keepdim=True)
    return X, y


def _turn(first: Any, second: Any) -> float:
    """Return how far apart two axes are."""
    return float(np.linalg.norm(first.components_[0] - second.components_[0]))


def main() -> list[Measurement]:
    """Return what was measured; nothing where there is no GPU."""
    try:
        import torch
    except ImportError:
        return []
    if not torch.cuda.is_available():
        return []
    name = torch.cuda.get_device_name()
    found = []
    cases = (
        (
            "unit differences, 37,058 × 300 float32",
            lambda: DensRay(1, normalize_differences=True),
            37_058,
            300,
            "≤ 0.2",
        ),
        ("plain DensRay, 4M × 768 float32", lambda: DensRay(1), 4_000_000, 768, "≤ 0.15"),
        ("mean difference, 4M × 768 float32", MeanDifference, 4_000_000, 768, ""),
        ("ridge, 4M × 768 float32", LinearRotation, 4_000_000, 768, ""),
    )
    for what, make, n, width, bar in cases:
        X, y = _rows(torch, n, width)
        taken, _ = _timed(torch, make, X, y)
        found.append(Measurement(f"{what} on one {name}", taken, "s", bar))
        few = slice(0, 4000)
        for dtype, bound in ((torch.float64, "≤ 1e-6"), (torch.float32, "≤ 1e-4")):
            part = X[few].to(dtype)
            host = make().fit(X[few].to(torch.float64).cpu().numpy(), y[few].cpu().numpy())
            turned = _turn(make().fit(part, y[few]), host)
            found.append(
                Measurement(f"{what.split(',')[0]}: axis on the GPU in {dtype}, off NumPy's by", turned, "", bound)
            )
        del X, y
        torch.cuda.empty_cache()
    return found
