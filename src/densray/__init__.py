"""Find, measure and remove concepts in embedding spaces.

Three main classes: Rows are labelled vectors, an Axis measures a concept, an Erasure removes it::

    from densray import Axis, Erasure, load_lexicon, load_space

    rows = load_lexicon("hu-liu").align(load_space("googlenews-26k"))
    axis, erasure = Axis.fit(rows), Erasure.fit(rows, "leace")

The stub next to this file, ``__init__.pyi``, lists the public names and the modules they come from. A name is imported
when it is first used: ``from densray import DensRay`` needs only numpy, scipy, scikit-learn and lazy_loader, and
commands that fit no model do not import these.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
