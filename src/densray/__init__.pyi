"""The contents of the package: every name that ``densray`` gives by itself, with its home."""

from densray import errors as errors
from densray._version import __version__ as __version__
from densray.analogy import evaluate_analogies as evaluate_analogies
from densray.axes import compare_methods as compare_methods
from densray.axes import diagnose as diagnose
from densray.axes import evaluate_induction as evaluate_induction
from densray.axes import fit_axis as fit_axis
from densray.axes import induce as induce
from densray.datasets import list_datasets as list_datasets
from densray.datasets import load_lexicon as load_lexicon
from densray.datasets import load_space as load_space
from densray.debiasing import evaluate_removal as evaluate_removal
from densray.lexicon import Lexicon as Lexicon
from densray.persistence import load_rotation as load_rotation
from densray.persistence import save_rotation as save_rotation
from densray.rotations import Densifier as Densifier
from densray.rotations import DensRay as DensRay
from densray.rotations import LinearRotation as LinearRotation
from densray.rotations import MeanDifference as MeanDifference
from densray.rotations import PairDirection as PairDirection
from densray.rotations import SequentialRotation as SequentialRotation
from densray.rotations import WhitenedDensRay as WhitenedDensRay
from densray.space import WordSpace as WordSpace
