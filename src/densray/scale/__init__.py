"""Fits on more rows than memory holds: block by block from files and streams, or spread over a Dask cluster."""

from densray.scale._blocks import ArrayBlocks, labelled_blocks
from densray.scale._fit import fit_blocks
from densray.scale._induction import induce_frame

__all__ = ["ArrayBlocks", "fit_blocks", "induce_frame", "labelled_blocks"]
