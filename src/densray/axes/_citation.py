"""The citation of an axis: a sentence for a methods section, and the BibTeX entries that it refers to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from densray._version import RELEASED, __version__
from densray.axes._verdict import AUC_MARKS, RELIABILITY_MARKS, Verdict
from densray.methods import METHODS, Method, note_errors
from densray.metrics import Interval
from densray.report import Citation, show_number, show_p
from densray.space import WordSpace

if TYPE_CHECKING:
    from densray.axes._axis import Axis


@dataclass(frozen=True)
class Paper:
    """A paper: its short form in a text, and its BibTeX entry."""

    short: str
    bibtex: str


#: The paper whose methods densray implements.
DENSRAY_PAPER = "dufter-2019"
#: Papers by their key in `densray.methods`.
PAPERS = {
    DENSRAY_PAPER: Paper(
        "Dufter and Schütze, 2019",
        """@inproceedings{dufter-schutze-2019-analytical,
  title = {Analytical Methods for Interpretable Ultradense Word Embeddings},
  author = {Dufter, Philipp and Sch{\\"u}tze, Hinrich},
  booktitle = {Proceedings of the 2019 Conference on Empirical Methods in Natural Language Processing and the 9th
    International Joint Conference on Natural Language Processing (EMNLP-IJCNLP)},
  publisher = {Association for Computational Linguistics},
  year = {2019},
  pages = {1185--1191},
  doi = {10.18653/v1/D19-1111},
}""",
    ),
    "rothe-2016": Paper(
        "Rothe et al., 2016",
        """@inproceedings{rothe-etal-2016-ultradense,
  title = {Ultradense Word Embeddings by Orthogonal Transformation},
  author = {Rothe, Sascha and Ebert, Sebastian and Sch{\\"u}tze, Hinrich},
  booktitle = {Proceedings of NAACL 2016},
  year = {2016},
  doi = {10.18653/v1/N16-1091},
}""",
    ),
    "an-2018": Paper(
        "An et al., 2018",
        """@inproceedings{an-etal-2018-semaxis,
  title = {{SemAxis}: A Lightweight Framework to Characterize Domain-Specific Word Semantics Beyond Sentiment},
  author = {An, Jisun and Kwak, Haewoon and Ahn, Yong-Yeol},
  booktitle = {Proceedings of ACL 2018},
  year = {2018},
}""",
    ),
    "bolukbasi-2016": Paper(
        "Bolukbasi et al., 2016",
        """@inproceedings{bolukbasi-etal-2016-man,
  title = {Man is to Computer Programmer as Woman is to Homemaker? {Debiasing} Word Embeddings},
  author = {Bolukbasi, Tolga and Chang, Kai-Wei and Zou, James and Saligrama, Venkatesh and Kalai, Adam},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2016},
}""",
    ),
}


def _software() -> str:
    return f"""@software{{densray,
  title = {{densray: find, measure and remove concepts in embedding spaces}},
  author = {{{{the densray developers}}}},
  version = {{{__version__}}},
  year = {{{RELEASED[:4]}}},
}}"""


def cite_axis(axis: Axis, verdict: Verdict | None) -> Citation:
    """Return a sentence on how an axis was fitted and how good it is, with its references.

    Parameters
    ----------
    axis : Axis
    verdict : Verdict or None
        None if the axis was not judged.
    """
    concept = f"“{axis.concept}” axis" if axis.concept else "axis"
    quality = "Its quality was not measured." if verdict is None else _quality(axis, verdict)
    return _make_citation(f"The {concept} was fitted{_seeds(axis)}", axis.method, quality)


def cite_classes(
    concept: str, method: str, *, n_classes: int, n_rows: int, n_groups: int | None, accuracy: float, interval: Interval
) -> Citation:
    """Return a sentence about several classes, each with an axis against the rest, with its references."""
    where = f"{n_rows:,} labelled rows" + ("" if n_groups is None else f" in {n_groups:,} groups")
    estimate = _with_interval(accuracy, interval)
    quality = f"The balanced accuracy on held-out rows is {estimate}, where chance is {show_number(1 / n_classes, 2)}."
    return _make_citation(
        f"One axis for each of the {n_classes:,} classes of “{concept}” was fitted to {where}", method, quality
    )


def _make_citation(fitted: str, method_name: str, quality: str) -> Citation:
    """Return the sentence with the method, the version and the references, and their BibTeX entries."""
    method = _method_of(method_name)
    found_by = method_name if method is None else method.phrase or method.name
    keys = dict.fromkeys([DENSRAY_PAPER, *([method.paper] if method is not None and method.paper else [])])
    references = "; ".join(PAPERS[key].short for key in keys)  # the usual separator of references
    sentence = f"{fitted} by {found_by} with densray {__version__} ({references}). {quality}"
    return Citation(sentence, "\n\n".join([_software(), *(PAPERS[key].bibtex for key in keys)]))


def _method_of(method_name: str) -> Method | None:
    """Return the method by its name in reports, or by the class of an estimator."""
    name = method_name.split(" ", maxsplit=1)[0]  # “ridge (auto)” is ridge
    if name in METHODS:
        return METHODS[name]
    return next((each for each in METHODS.values() if each.rotation.endswith(f".{name}") and not each.parameters), None)


def _seeds(axis: Axis) -> str:
    rows = axis.rows
    if axis.fitted_on is not None:
        return f" to {axis.fitted_on:,} labelled rows"
    if rows is None:
        return "" if axis.seed_names is None else f" to {len(axis.seed_names):,} labelled rows"
    high, low = int((rows.sides > 0).sum()), int((rows.sides < 0).sum())
    where = f" of the space “{rows.background.name}”" if isinstance(rows.background, WordSpace) else ""
    if not rows.is_binary:
        return f" to {len(rows):,} rated {axis.noun}s{where}"
    names = axis.label_names or ("low", "high")
    return f" to {len(rows):,} labelled {axis.noun}s{where} ({high:,} {names[1]}, {low:,} {names[0]})"


def _quality(axis: Axis, verdict: Verdict) -> str:
    sampled = "" if axis.sampled is None else f" on a random sample of {len(axis.sampled.known_rows):,} of them"
    axis = axis if axis.sampled is None else axis.sampled
    rows, agreement = axis.known_rows, axis.agreement
    folds = f"{len(set(axis.folds.tolist()))}-fold cross-validation"
    folds += "" if rows.groups is None else f" over {rows.n_groups:,} groups"
    estimate = _with_interval(agreement.auc, agreement.auc_interval, AUC_MARKS)
    median = "" if rows.is_binary else " of ratings above against below the median"
    test = f"permutation {show_p(axis.permutation_test().p_value)}"
    low, high = (show_number(end, 2) for end in axis.spread.reliability_interval)
    share = show_number(axis.spread.reliability, 2, marks=RELIABILITY_MARKS)
    reliability = f"reliability {share} (95% CI [{low}, {high}]; the expected correlation with scores from other seeds)"
    sentence = f"In {folds}{sampled}, its AUC{median} is {estimate}, with {test} and {reliability}."
    note = note_errors(axis.method, axis.rotation)
    return f"{sentence}{f' {note}' if note else ''}{_doubts(verdict)}"


def _with_interval(value: float, interval: Interval, marks: Sequence[float] = ()) -> str:
    low, high = (show_number(end, 2, marks=marks) for end in interval)
    return f"{show_number(value, 2)} (95% CI [{low}, {high}])"


def _doubts(verdict: Verdict) -> str:
    """Return the limitations of the axis, for every grade below good."""
    reasons = " and ".join(verdict.limits)
    if verdict.grade == "good":
        return ""
    if verdict.grade == "none":
        return f" The axis failed its test, so its scores are no evidence: {reasons}."
    if verdict.grade == "unclear":
        return f" The seeds are too few to tell whether the axis carries the concept: {reasons}."
    return f" The axis is graded {verdict.grade}."  # its AUC and its reliability, the only reasons, are stated already
