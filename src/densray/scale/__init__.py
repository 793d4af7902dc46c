"""Fits on more rows than memory holds: block by block, from arrays, files and streams, taken up after a stop."""

from densray.scale._blocks import ArrayBlocks, labelled_blocks
from densray.scale._fit import fit_blocks

__all__ = ["ArrayBlocks", "fit_blocks", "labelled_blocks"]
