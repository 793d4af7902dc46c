"""Removing a concept from vectors, spaces and files.

A remover learns an :class:`Erasure` (one affine map) from labelled words; :func:`remove` applies it to a space and
:func:`remove_from_file` to a file, with words that are kept, pairs that are equalised, and partial strength.
"""

from __future__ import annotations

from densray.removal._double_hard import double_hard
from densray.removal._equalize import equalized
from densray.removal._erasure import Erasure
from densray.removal._leace import leace
from densray.removal._methods import REMOVERS, Remover, make_remover
from densray.removal._words import Removal, remove, remove_from_file

__all__ = [
    "REMOVERS",
    "Erasure",
    "Removal",
    "Remover",
    "double_hard",
    "equalized",
    "leace",
    "make_remover",
    "remove",
    "remove_from_file",
]
