"""Ratings on the page of the axis: a table of rated items, its columns, and their agreement with the axis."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, cast

import streamlit as st

from densray.axes import RatingAgreement, evaluate_ratings, expected_agreement
from densray.errors import name_some
from densray.explorer.server import LARGEST_UPLOAD
from densray.explorer.settings import DEFAULTS, ENCODINGS
from densray.explorer.sidebar import show_missing
from densray.explorer.widgets import (
    Hint,
    chart,
    charts_and_lists,
    choice,
    choose_several,
    complain,
    plain,
    settings,
    show_step,
    table,
    write_setting,
)
from densray.explorer.words import encoding_note_of_upload, rating_columns_of_upload, ratings_of_upload
from densray.explorer.workbench import ShownAxis, Step, Workbench, identity
from densray.figures import rating_scatter
from densray.ratings import RatingColumns, Ratings
from densray.report import show_estimate, show_number, show_share, typeset
from densray.rows import missing_code_notes
from densray.statistics import is_closed_form

_COLUMNS = ("rated_items", "rated_values", "rated_errors", "rated_by")
_SET_ASIDE = {
    "averaged": "Rated more than once, so the ratings are averaged",
    "unlabelled": "Left out, because they have no rating",
    "same vector": "Left out, because they are another spelling of an earlier item",
}
_PHRASES = {"missing": "are missing", "mean": "have the mean vector of their words"}


@dataclass(frozen=True)
class RatingFile:
    """An uploaded table of ratings, and its columns by position."""

    name: str
    content: bytes
    columns: RatingColumns
    items: int
    ratings: tuple[int, ...]
    error: int | None
    rater: int | None
    encoding: str
    phrases: str

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Cache key: everything the comparison depends on."""
        chosen = (self.items, self.ratings, self.error, self.rater, self.encoding, self.phrases)
        return sha256(self.content).hexdigest(), *chosen

    def read(self) -> Ratings:
        """Return the ratings."""
        return ratings_of_upload(
            self.name,
            self.content,
            items=self.items,
            ratings=self.ratings,
            error=self.error,
            rater=self.rater,
            encoding=self.encoding,
        )

    def column(self, place: int) -> str | int:
        """Return the name of a column for Python code if it is unique, otherwise its position."""
        names = self.columns.names
        return names[place] if names and names[place] and names.count(names[place]) == 1 else place


def show_ratings(bench: Workbench, shown: ShownAxis, name: str) -> RatingFile | None:
    """Let the visitor upload ratings, and show their agreement with the axis; return the file that was compared."""
    with st.expander("Ratings by people: does the axis agree?", expanded="ratings" in st.session_state):
        st.caption(
            "The verdict is about the word lists. To see whether people agree with the scores, upload items that "
            "people rated. With one column per rater, the page also shows the highest correlation that can be "
            f"expected. {expected_agreement(0)}"
        )
        st.file_uploader(
            "Rated items", type=["tsv", "csv", "txt"], max_upload_size=LARGEST_UPLOAD, key="ratings uploader",
            on_change=_keep_file, help="An item and its rating on each line, or one column per rater.",
        )  # fmt: skip
        file = None
        with complain():
            file = _choose_columns()
    if file is None:
        return None
    with complain():
        ratings = bench.recall(("ratings", *file.key[:-1]), file.read)
        for note in missing_code_notes(ratings.values if ratings.raters is None else ratings.raters, file.name):
            st.caption(plain(note))
        agreement = _compare(bench, shown, file, ratings, name)
        if agreement is not None:
            _show_agreement(bench, agreement)
            return file
    return None


def _keep_file() -> None:
    """Store the uploaded file for this visitor; forget the columns of the previous file."""
    file = st.session_state["ratings uploader"]
    st.session_state.pop("ratings", None)
    if file is not None:
        st.session_state["ratings"] = (file.name, file.getvalue())
    _forget_columns()


def _forget_columns() -> None:
    for name in _COLUMNS:
        settings()[name] = DEFAULTS[name]
        st.session_state.pop(f"setting {name}", None)


def _choose_columns() -> RatingFile | None:
    """Show the columns of the uploaded file; return how to read it, or None without a file."""
    if "ratings" not in st.session_state:
        return None
    file_name, content = st.session_state["ratings"]
    if st.session_state.get("ratings uploader") is None:  # Streamlit clears it when the visitor changes pages
        st.caption(plain(file_name))
    notes = st.container()
    left, right = st.columns(2)
    with right:
        encoding = choice("Encoding of the ratings", "rated_encoding", ENCODINGS)
        phrases = choice("Items of several words", "rated_phrases", list(_PHRASES), format_func=_PHRASES.__getitem__)
    columns = rating_columns_of_upload(file_name, content, encoding=encoding)
    first = "The first line names the columns." if columns.names else "The first line was read as an item."
    for note in filter(None, [encoding_note_of_upload(file_name, content, encoding=encoding), first]):
        notes.caption(plain(typeset(note)))
    names = columns.names or tuple(f"column {place + 1}" for place in range(columns.count))
    places = [str(place) for place in range(columns.count)]
    kept = [settings()[name] for name in _COLUMNS]
    if not {part for value in kept for part in value.split(",") if part} <= set(places):
        _forget_columns()  # they belong to another file, or to an edited address
    if settings()["rated_items"] not in places:
        write_setting("rated_items", str(columns.items))

    def named(place: str) -> str:
        return names[int(place)] or "(no name)" if place else "none"

    with left:
        items = choice("Column of items", "rated_items", places, format_func=named)
        values = choose_several(
            "Columns of ratings", "rated_values", places, default=[str(place) for place in columns.ratings],
            format_func=named, help="One column of mean ratings, or one column per rater.",
        )  # fmt: skip
    error = rater = ""
    if len(values) == 1:
        free = ["", *(place for place in places if place not in (items, *values))]
        with right:
            error = choice("Standard errors", "rated_errors", free, format_func=named, help="Of mean ratings.")
            rater = choice("Who rated", "rated_by", free, format_func=named, help="If each line has one rating.")
    if not values:
        raise Hint("Choose the column of the mean ratings under “Columns of ratings”, or those of all raters.")
    return RatingFile(
        file_name,
        content,
        columns,
        int(items),
        tuple(map(int, values)),
        int(error) if error else None,
        int(rater) if rater else None,
        encoding,
        phrases,
    )


def _compare(
    bench: Workbench, shown: ShownAxis, file: RatingFile, ratings: Ratings, name: str
) -> RatingAgreement | None:
    step = Step(
        bench,
        ("agreement", *file.key, *identity(shown.lexicon, shown.method)),
        lambda _: evaluate_ratings(bench.space, ratings, shown.axis, phrases=cast(Any, file.phrases), any_case=True),
        lambda found: replace(found, scores=name),
    )
    quick = is_closed_form(shown.axis.rotation, shown.rows)
    slow = f"Compare with the ratings: “{shown.method}” is refitted many times for the error bars"
    return show_step(step, "Comparing with the ratings", start=None if quick else slow)


def _show_agreement(bench: Workbench, found: RatingAgreement) -> None:
    """Show the correlation, its ceiling and the figure, and their limitations."""
    first, *limits = found.text().splitlines()
    st.markdown(f"**{plain(first)}**")
    for line in [*limits, *found.tables()[0].notes]:
        (st.warning if line.startswith("Not held out") else st.caption)(plain(line))
    tiles: Sequence[tuple[str, str, str, str]] = [
        ("Pearson r", show_number(found.pearson, 2), _range(found.pearson_interval),
         "Correlation of the scores with the mean ratings, and its 95% interval over items."),
        ("Spearman ρ", show_number(found.spearman, 2), _range(found.spearman_interval),
         "Correlation of the two orders."),
        ("Ceiling", "–" if found.ceiling is None else show_number(found.ceiling, 2),
         "not known" if found.reliability is None else f"reliability {show_number(found.reliability, 2)}",
         "The highest r that any score can be expected to reach, estimated from the agreement of the raters."),
        ("Explained", "–" if found.explained is None or found.is_reversed else show_share(found.explained),
         "of the explainable variance",
         "The squared correlation, divided by the reliability of the mean ratings."),
    ]  # fmt: skip
    for container, (name, value, below, help) in zip(st.columns(4), tiles, strict=True):
        container.metric(name, value, below, delta_color="off", delta_arrow="off", help=help)
    said = f"r = {show_estimate(found.pearson, *found.pearson_interval, 2)}"
    drawn, listed = charts_and_lists("ratings")
    chart(rating_scatter(found.items, score=found.scores, rating=found.ratings, any_width=True, title=said), drawn)
    drawn.caption("Bars: two standard errors, if known. Dashed line: the rating expected from the score.")
    worst = found.tables()[1]
    listed.markdown(f"**{worst.title}**")
    table(worst.rows, worst.columns, container=listed, height="content")
    missing = found.provenance.words_missing
    show_missing(bench, missing, found.n_rated - len(missing), what="rated items")
    for reason, items in found.provenance.words_set_aside.items():
        if reason in _SET_ASIDE:
            st.caption(plain(f"{_SET_ASIDE[reason]}: {name_some(items)}."))


def _range(interval: Sequence[float]) -> str:
    return f"{show_number(interval[0], 2)} to {show_number(interval[1], 2)}"
