"""The report of `densray demo`: find concepts in the bundled vectors, measure them, remove one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from densray.analogies import AnalogySet
from densray.analogy import compare_solvers, make_solver
from densray.axes import induce
from densray.axes._lexicon_evaluation import evaluate_induction
from densray.datasets import load_analogies, load_lexicon, load_similarity, load_space, load_word_list
from densray.debiasing._direction import anchor_gap
from densray.debiasing._quality import neighbor_overlap, similarity
from densray.erasure import Erasure
from densray.figures import anchor_scatter, axis_scatter, can_draw, figure, ranked_words
from densray.paper import DECIMALS, agreement, compare, comparison_table, published
from densray.paper._tables import ANCHORS, figure2, occupation_gaps, table3
from densray.progress import Progress
from densray.report import Column, Figure, Report, Section, Table, show_estimate, show_number, show_share
from densray.rotations import DensRay, LinearRotation
from densray.rows import Rows
from densray.space import WordSpace

__all__ = ["SECTIONS", "demonstrate"]

#: Sections of the Google analogies to show: all of their words are in the bundled space.
SECTIONS = ("family", "gram1-adjective-to-adverb", "gram3-comparative", "gram7-past-tense")

Part: TypeAlias = tuple[Section, str]
"""A section, and its conclusion."""

#: Pixels of a chart that is as wide as the page.
_WIDE = 760
#: The main columns of the table of methods; `densray evaluate lexicon` shows more.
_SHOWN_OF_METHODS = (
    "method", Column("auc", "AUC", decimals=3, ends=("auc_low", "auc_high")), Column("tau", "τ", decimals=3),
    Column("accuracy", decimals=3), Column("spearman", decimals=3), Column("pearson", decimals=3),
    Column("seconds", decimals=2),
)  # fmt: skip
_METHODS = ("densray-unit", "densifier", "svm", "ridge")


def demonstrate(progress: Progress | None = None) -> Report:
    """Return a report that demonstrates the library, computed on ``googlenews-26k`` in a few seconds.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of parts done and their total.
    """
    space = load_space("googlenews-26k", normalize=True)
    parts = (_sentiment, _gender, _two_axes, _analogies, _removal)
    sections, conclusions = [], []
    for done, part in enumerate(parts, start=1):
        section, conclusion = part(space)
        sections.append(section)
        conclusions += [f"• {conclusion}"] if conclusion else []
        if progress is not None:
            progress(done, len(parts))
    text = f"Everything below was computed just now on {space.name}: {len(space):,} words, {space.width} dimensions."
    return Report("densray: concepts found, measured and removed", sections, "\n".join([text, *conclusions]))


def _pictures(*drawings: tuple[Callable[[], Any], str]) -> list[Figure]:
    """Return charts with their captions as figures; none if the chart library is not installed."""
    return [figure(draw(), caption) for draw, caption in drawings] if can_draw() else []


def _sentiment(space: WordSpace) -> Part:
    """Return the section on a sentiment axis: how well it orders unseen words, and its two ends."""
    lexicon = load_lexicon("hu-liu")
    measured = evaluate_induction(space, lexicon, methods=_METHODS)
    induced = induce(space, lexicon, method="ridge")
    ridge = measured.score("ridge")
    table = replace(measured.tables()[0], columns=_SHOWN_OF_METHODS)
    caption = "The two ends of the sentiment axis; bars: two standard errors, from axes without each seed."
    section = Section(
        "A sentiment axis",
        "The vocabulary along the ridge axis; then Kendall's τ with the labels of words the axis has not seen, for "
        "four methods.",
        [table, *(replace(end, folded=True, notes=()) for end in induced.tables())],
        _pictures((lambda: ranked_words(induced, axis="score on the sentiment axis").properties(width=_WIDE), caption)),
        measured.provenance,
    )
    auc = show_estimate(ridge.auc, ridge.auc_low, ridge.auc_high, 2)
    return section, (
        f"Found: a sentiment axis from {measured.n_training:,} labelled words orders {measured.n_test:,} others with "
        f"AUC {auc} and Kendall's τ {show_number(ridge.tau, 2)} (at most {show_number(ridge.tau_ceiling, 2)})."
    )


def _gender(space: WordSpace) -> Part:
    """Return the section on table 3 and figure 2 of the paper: occupations before and after gender is removed."""
    gaps = occupation_gaps(space)
    compared = compare(table3(gaps), published("table3"))
    chart = partial(anchor_scatter, figure2(gaps), anchors=ANCHORS)
    cells = agreement(compared, decimals=DECIMALS["table3"])
    section = Section(
        "A gender axis, compared with the paper",
        "Occupations by their cosines to “man” and “woman”, in the original space and without the gender axis, which "
        "the paper calls the complement (table 3 and figure 2 of Dufter & Schütze 2019).",
        [replace(comparison_table("table3", compared), folded=True)],
        _pictures((chart, f"{gaps['original'].used} occupations before and after removal; on the line a word is as "
                          "near to one as to the other.")),
    )  # fmt: skip
    return (
        section,
        f"Reproduced: {cells['equal']} of {cells['compared']} cosines of the paper's table 3, to two decimals.",
    )


def _two_axes(space: WordSpace) -> Part:
    """Return the section with occupations in a plane of two named axes."""
    sentiment, gender = (load_lexicon(name).align(space, order="lexicon") for name in ("hu-liu", "gender"))
    axes = {
        "sentiment": LinearRotation("ridge").fit(sentiment.X, sentiment.y),
        "gender": DensRay(1, normalize_differences=True).fit(gender.X, gender.y),
    }
    words = [word for word in load_word_list("occupations") if word in space]
    coordinates = {name: axis.transform(space[words])[:, 0] for name, axis in axes.items()}
    rows = [
        {"word": word, **{name: float(values[row]) for name, values in coordinates.items()}}
        for row, word in enumerate(words)
    ]
    chart = partial(axis_scatter, rows, axes=("sentiment", "gender"), size=(_WIDE, 560))
    section = Section(
        "Two named axes",
        "The same occupations by sentiment (right is positive) and gender (up is male): scores that anyone can name.",
        figures=_pictures((chart, "Occupations by sentiment and gender.")),
    )
    return section, ""


def _analogies(space: WordSpace) -> Part:
    """Return the section on four categories of the Google analogies, compared with tables 4 to 6 of the paper."""
    google = load_analogies("google")
    selection = AnalogySet([category for category in google if category.name in SECTIONS], name="google")
    columns = {
        "intcos-original-densray": make_solver("intcos-original", space),
        "intcos-complement-densray": make_solver("intcos-complement", space),
        "lrcos": make_solver("lrcos", space),
    }
    results = compare_solvers(space, selection, list(columns.values()), protocol="paper", k=1)
    paper = {
        (row["category"], row["column"]): row["paper"]
        for table in ("table5", "table6")
        for row in published(table)
        if row["block"] == "GN/GA"
    }
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(SECTIONS):
        row: dict[str, Any] = {"category": name, "pairs": results[0].categories[number].pairs}
        for column, result in zip(columns, results, strict=True):
            row[column] = result.categories[number].precision
            row[f"{column} paper"] = paper[name, column]
        rows.append(row)
    columns_shown: list[Column | str] = ["category", "pairs"]
    for column, heading in zip(columns, ("IntCos", "IntCos complement", "LRCos"), strict=True):
        columns_shown += [
            Column(column, heading, decimals=2),
            Column(f"{column} paper", f"{heading}, paper", decimals=2),
        ]
    section = Section(
        "Set-based analogies, compared with the paper",
        "Each pair is left out in turn and answered from the others; share of correct first answers.",
        [Table("Precision", columns_shown, rows)],
    )
    best = max(columns, key=lambda column: sum(row[column] for row in rows))
    shares = [row[best] for row in rows]
    return section, (
        f"Answered: {show_share(min(shares))} to {show_share(max(shares))} of the analogies of four sections, each "
        "pair asked of the others."
    )


def _removal(space: WordSpace) -> Part:
    """Return the section on gender removal: the remaining bias and the preserved quality."""
    gender, occupations, men = (
        load_lexicon("gender").align(space, order="lexicon"),
        load_word_list("occupations"),
        load_similarity("men"),
    )
    random = np.random.default_rng(0)
    chance = space.vectors[random.choice(len(space), size=len(gender), replace=False)]
    control = Rows.from_arrays(chance, gender.y)
    spaces = {
        "original": space,
        "gender axis removed": Erasure.fit(gender, "densray-unit").apply(space),
        "5 gender axes removed": Erasure.fit(gender, "densray-unit:5").apply(space),
        "control: an axis of random words": Erasure.fit(control, "densray-unit").apply(space),
    }
    rows: list[dict[str, Any]] = [
        {
            "space": name,
            "gap": anchor_gap(each, occupations, ANCHORS).value,
            "men": similarity(each, men).value,
            "overlap": neighbor_overlap(space, each).value,
        }
        for name, each in spaces.items()
    ]
    columns: list[Column | str] = [
        "space",
        Column("gap", "mean difference", decimals=4),
        Column("men", "MEN ρ", decimals=3),
        Column("overlap", "neighbours kept", decimals=3),
    ]
    section = Section(
        "A concept removed",
        "The mean difference of the cosines of occupations to “man” and “woman”, and the quality "
        "of the space: agreement with people's ratings of the similarity of words (the data set MEN), and the share of "
        "nearest neighbours kept.",
        [Table("What went, and what stayed", columns, rows)],
    )
    before, after = rows[0], rows[1]
    return section, (
        f"Removed: without its gender axis the mean difference of occupations between “{ANCHORS[0]}” and "
        f"“{ANCHORS[1]}” falls from {show_number(before['gap'])} to {show_number(after['gap'])}; agreement with "
        f"people's ratings of similarity stays ({show_number(before['men'])}, then {show_number(after['men'])}). How "
        "much is left elsewhere: "
        "`densray evaluate bias`."
    )
