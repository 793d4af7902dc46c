"""The sidebar of a table of documents: the documents on show, the label column of the axis, and documents to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from densray.explorer.table_bench import LabelChoice, TableBench, opened
from densray.explorer.widgets import Hint, NotYet, bound, capitalized, choice, plain, settings, show_step, table
from densray.explorer.window import inputs, place_of
from densray.figures import cut_text
from densray.report import Column, show_count, typeset
from densray.rotations import METHODS

GLOSSARY = """
- **Axis**: a direction of the vectors, fitted to the documents of two classes, or to numbers. The coordinate of a
  document on it is the *score* of the document.
- **± and bars**: how much a score varies with the choice of labelled documents. ± is one standard error; bars are two.
- **Pairs ranked correctly** (held-out AUC): the share of pairs of documents with different labels in which the higher
  label has the higher score. Each document is scored by an axis fitted without it. 50% is guessing.
- **Reliability**: the expected correlation with scores from other labelled documents (as many, of the same kind).
- **p-value** (permutation test): how often an axis of shuffled labels does as well. Above 0.05, the axis may be chance.
- **Probe**: a model that tries to predict the labels after the removal, in documents that the erasure was not learned
  from. An AUC of 0.5 is guessing, 1 is perfect.
"""

#: Name of the inputs of an axis in a narrow window.
CHANGE_LABELS = "Change the labels"
#: Value for groups of one document each.
ALONE = "(alone)"
_MOST_FOUND = 100
_LETTERS_IN_LIST, _LETTERS_IN_CARD = 90, 3_000
_FIGURE_WIDTH, _TEXT_WIDTH = 85, 930  # pixels: of a figure column, and of a text column without figures


def show_table() -> None:
    """Show the number of documents on show."""
    bench = opened()
    with st.sidebar:
        st.markdown(f"**densray** · {plain(bench.name)}")
        st.caption(f"{show_count(len(bench.table))} documents × {show_count(bench.table.width)} dimensions")
        for note in bench.notes:
            st.caption(plain(typeset(note)))
        if bench.is_sampled:
            st.caption(
                f"{show_count(len(bench.sample))} of them, spread evenly over the table, are shown here. Downloads "
                "contain all."
            )
        if bench.n_skipped:
            st.caption(f"Left out, because the vector is not usable: {show_count(bench.n_skipped)} documents.")


def choose_labels(bench: TableBench, *, for_axis: bool = True) -> LabelChoice | None:
    """Show the widgets of the axis; return the choice, or None if no label column is chosen."""
    with inputs(CHANGE_LABELS):
        column = _choose_column(bench)
        if not column:
            return None
        numbers = _choose_kind(bench, column)
        wanted = LabelChoice(column, as_classes=numbers == "classes")
        class_name = ""
        classes = bench.class_names(wanted) if for_axis else ()
        if classes:
            class_name = choice("Class", "class", classes, help="The axis runs from all other classes to this one.")
        groups = _choose_groups(bench, column)
        method = "auto"
        if for_axis:
            method = choice("Method", "method", list(METHODS), help="How the axis is fitted to the documents.")
            st.caption(plain(capitalized(METHODS[method].summary)))
    return LabelChoice(column, class_name, wanted.as_classes, groups, method)


def _choose_column(bench: TableBench) -> str:
    """Return the chosen label column; empty until one is chosen if none has few classes."""
    options = _offered_columns(bench)
    return choice("Label column", "label", options, format_func=lambda name: name or "choose one",
                  help="Texts are classes. Numbers are scores, such as a year or a rating.")  # fmt: skip


def _offered_columns(bench: TableBench) -> list[str]:
    """Return the label columns, first the one of a first visit: given at the start, or with the fewest classes."""
    first = "" if not bench.few_classes else bench.few_classes[0]
    return list(dict.fromkeys([first if bench.label_column is None else bench.label_column, *bench.label_columns]))


def current_column(bench: TableBench) -> str:
    """Return the label column in use; empty if none is chosen."""
    asked, offered = settings()["label"], _offered_columns(bench)
    return asked if asked in offered else offered[0]


def _choose_kind(bench: TableBench, column: str) -> str:
    """Return how the labels are interpreted; only numbers leave a choice."""
    if not bench.column(column).is_number:
        return "scores"
    options = ["classes", "scores"] if bench.classes and column == bench.label_column else ["scores", "classes"]
    return choice("Its numbers are", "numbers", options)


def _choose_groups(bench: TableBench, column: str) -> str:
    """Return the column of the documents to hold out together; empty if each is held out alone."""
    first = [name for name in (bench.group_column, bench.text_column) if name is not None]
    others = [name for name in bench.label_columns if name != column]
    options = list(dict.fromkeys([*first, ALONE, *others]))

    def label(name: str) -> str:
        if name == ALONE:
            return "no groups: each alone"
        return "documents with the same text" if name == bench.text_column else f"documents with the same “{name}”"

    chosen = choice("Held out together", "group", options, format_func=label,
                    help="Whole groups are held out for testing, such as all texts of an author.")  # fmt: skip
    return "" if chosen == ALONE else chosen


def ask_for_labels(bench: TableBench) -> Hint:
    """Return a hint on choosing a label column."""
    if not bench.label_columns:
        return Hint(
            "This table has no label column: a column of numbers, or of texts that several documents share. Add one, "
            "such as the source or the year, and open the table again. The Map page needs no labels."
        )
    return Hint(
        f"Choose a “Label column” {place_of(CHANGE_LABELS)}. The axis runs between its classes, or along its numbers."
    )


def run(step: Any, label: str, **more: Any) -> Any:
    """Return the result of a step that the rest of a page needs."""
    found = show_step(step, label, **more)
    if found is None:
        raise NotYet
    return found


# -- documents ---------------------------------------------------------------------------------------------------------


def find_documents(bench: TableBench) -> list[int]:
    """Show a search box for the texts; return the positions of the documents found."""
    st.text_input("Find documents", placeholder="words of a text", **bound("find"),
                  help="Upper and lower case do not matter.")  # fmt: skip
    wanted = settings()["find"].strip()
    found = bench.find(wanted, _MOST_FOUND + 1)
    if wanted and not found:
        st.caption(plain(f"No text on this page contains “{wanted[:60]}”."))
    elif len(found) > _MOST_FOUND:
        st.caption(f"More than {_MOST_FOUND} documents match. The first {_MOST_FOUND} are marked.")
    return found[:_MOST_FOUND]


def choose_document(bench: TableBench, found: Sequence[int], *, label: str = "Look at a document") -> int | None:
    """Show a list of documents: those found, or the first ones; return the position of the chosen one."""
    places = list(found) or list(range(min(_MOST_FOUND, len(bench.sample))))
    current = bench.place_of(settings()["document"])
    places = places if current is None else list(dict.fromkeys([current, *places]))
    options = {str(bench.numbers[place] + 1): place for place in places}
    chosen = choice(label, "document", ["", *options], format_func=lambda number: _entry(bench, options, number),
                    help="Or click on the map. “Find documents” shortens this list.")  # fmt: skip
    return options.get(chosen)


def _entry(bench: TableBench, options: dict[str, int], number: str) -> str:
    return cut_text(bench.texts[options[number]], _LETTERS_IN_LIST) if number else "none"


def show_document(bench: TableBench, place: int) -> None:
    """Show the text of a document and the values of its other columns."""
    text = bench.texts[place]
    values = {name: bench.column(name).values[place] for name in bench.columns}
    st.markdown(plain(cut_text(text, _LETTERS_IN_CARD)))
    known = " · ".join(f"{name}: {_shown(value)}" for name, value in values.items())
    st.caption(plain(f"row {bench.numbers[place] + 1:,}" + (f" · {known}" if known else "")))


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else cut_text(str(value), 60)


def document_table(
    bench: TableBench,
    rows: Sequence[dict[str, Any]],
    columns: Sequence[Column | str],
    after: Sequence[Column | str] = (),
    **more: Any,
) -> None:
    """Show documents as a table: some figures, the beginning of the text, further figures. Each has its ``place``."""
    shown = [{**row, "text": cut_text(bench.texts[row["place"]])} for row in rows]
    width = _TEXT_WIDTH - _FIGURE_WIDTH * (len(columns) + len(after))
    widths = {each if isinstance(each, str) else each.key: _FIGURE_WIDTH for each in (*columns, *after)}
    table(shown, [*columns, "text", *after], widths={**widths, "text": width}, height="content", **more)
