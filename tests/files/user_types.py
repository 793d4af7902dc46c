"""What a user writes, with the types that a checker must find; lines that are wrong say so."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import densray
from densray import (
    DensRay,
    Lexicon,
    LinearRotation,
    MeanDifference,
    WordSpace,
    diagnose,
    induce,
    load_lexicon,
    load_space,
)
from densray.axes import Diagnosis, Induction

space = load_space("googlenews-26k", limit=1000)
assert_type(space, WordSpace)
assert_type(space.vectors, NDArray[np.float32])
lexicon = load_lexicon("hu-liu")
assert_type(lexicon, Lexicon)

X, y, words, missing = lexicon.align(space)
assert_type(X, NDArray[np.float32])
assert_type(y, NDArray[np.float64])
assert_type(words, tuple[str, ...])
assert_type(missing, tuple[str, ...])

axis = DensRay(n_components=1).fit(X, y)
assert_type(axis, DensRay)
assert_type(axis.transform(X), NDArray[np.float32])
assert_type(axis.erase(X), NDArray[np.float32])
assert_type(axis.components_, NDArray[np.float64])
assert_type(axis.score(X, y), float)
assert_type(MeanDifference().fit(X, y).transform(X), NDArray[np.float32])

assert_type(induce(space, lexicon), Induction)
assert_type(diagnose(space, lexicon), Diagnosis)
LinearRotation("ridge")

print(densray.nothing)  # wrong: there is no such name
DensRay(n_component=1)  # wrong: a misspelt parameter
print(axis.componentz_)  # wrong: a misspelt attribute (mypy cannot tell: scikit-learn has no types)
LinearRotation("ridgee")  # wrong: no such model
LinearRotation(precision="float16")  # wrong: no such precision
lexicon.align(space, order="random")  # wrong: no such order
space.neighbours("good")  # wrong: no such method
Lexicon(3)  # wrong: no lexicon
