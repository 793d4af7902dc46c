"""Remove label columns from the vectors of a table: before and after, what probes still find, the erased table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from densray.erasure import Erasure
from densray.explorer.python_code import table_remove_code
from densray.explorer.table_bench import Plane, RemovalChoice, TableBench, opened, spread_evenly
from densray.explorer.table_sidebar import (
    ask_for_labels,
    choose_document,
    choose_labels,
    document_table,
    find_documents,
    run,
    show_document,
)
from densray.explorer.views.axis import GRADES
from densray.explorer.views.remove import UNTESTED
from densray.explorer.views.table_map import component_title, map_rows
from densray.explorer.widgets import (
    Hint,
    capitalized,
    charts,
    choice,
    choose_several,
    complain,
    controls,
    download,
    heading,
    plain,
    show_code,
    show_command,
    show_step,
    small_table,
    written,
)
from densray.explorer.words import file_stem
from densray.figures import document_map
from densray.probes import MODELS
from densray.remains import Remains
from densray.removers import DEFAULT_REMOVER, REMOVERS
from densray.report import Column, show_count, show_number, show_share
from densray.rows import Rows

TITLE, ICON = "Remove", ":material/ink_eraser:"
LEAD = (
    "Remove the labels of a column from the vectors. See how the documents move, and how well models still predict the "
    "labels."
)

_DRAWN = 2_000  # points per map
_SIZE = (420, 380)
_MOST_NUMBERS = 3  # columns whose neighbours are counted at the top
_LARGEST = 200_000_000  # up to this many bytes of vectors, the whole table can be downloaded
_LINEAR = MODELS[:1]


def show() -> None:
    """Show the documents without the labels of some columns."""
    bench = opened()
    wanted, color = _choose(bench)
    erasure: Erasure = run(
        bench.erasure(wanted), f"Learning the removal from {show_count(len(bench.sample))} documents"
    )
    if erasure.warning:
        st.warning(plain(erasure.warning), icon=":material/warning:")
    notice = st.empty()
    notice.info(UNTESTED, icon=":material/troubleshoot:")
    alike = {name: shares for name in wanted.removed if (shares := bench.same_label(wanted, name)) is not None}
    *numbers, linear = st.columns(max(2, min(len(alike), _MOST_NUMBERS) + 1))
    _show_neighbors_alike(alike, numbers)
    _show_maps(bench, wanted, color)
    _show_labels(erasure, wanted)
    probes = st.container()  # filled last, since they are the slowest
    heading("The neighbours of a document")
    _show_document(bench, wanted)
    heading("Do documents find their partners?")
    with complain():
        _show_retrieval(bench, wanted)
    heading("Downloads")
    _offer_downloads(bench, wanted, erasure)
    show_code(table_remove_code(bench.source, wanted))
    with probes:
        heading("Is it gone?")
        with complain():
            _show_probes(bench, wanted, linear, notice)


def _choose(bench: TableBench) -> tuple[RemovalChoice, str]:
    """Show the columns to remove and to keep, the methods, and the colours; return the choice and the colour."""
    labels = choose_labels(bench, for_axis=False)
    if labels is None:
        raise ask_for_labels(bench)
    with controls("removal"):
        left, middle, right, last = st.columns(4)
    with left:
        removed = choose_several("Columns to remove", "removed", bench.label_columns, default=[labels.column])
    if not removed:
        raise Hint("Choose one or more columns under “Columns to remove”.")
    with middle:
        others = [name for name in bench.label_columns if name not in removed]
        kept = choose_several("Columns to keep", "kept", others, default=[],
                              help="Linear models can still predict these as well as before (LEACE only).")  # fmt: skip
    kept = [name for name in kept if name in others]
    with right:
        able = [
            name
            for name, remover in REMOVERS.items()
            if not remover.needs_pairs and remover.takes_classes and (remover.can_keep or not kept)
        ]
        able.sort(key=lambda name: name != DEFAULT_REMOVER)
        remover = choice("Method of removal", "removal", able)
    with last:
        color = choice("Colour", "tint", list(dict.fromkeys([*removed, *bench.columns])))
    groups = "" if labels.groups in (*removed, *kept) else labels.groups
    return RemovalChoice(tuple(removed), tuple(kept), remover, groups), color


def _show_labels(erasure: Erasure, wanted: RemovalChoice) -> None:
    """Show which documents the erasure was learned from."""
    rows: Rows | None = erasure.rows
    if rows is None:
        return
    summary = REMOVERS[wanted.remover].summary.removeprefix("erase the axes of: ")
    axes = "1 direction" if erasure.rank == 1 else f"{erasure.rank} directions"
    said = (
        f"{capitalized(summary)}. Learned from {show_count(len(rows))} documents; {axes} of "
        f"{show_count(erasure.width)} removed."
    )
    without = len(rows.dropped.get("no label", ()))
    if without:
        said += (
            f" {show_count(without)} documents have no label. Only their vectors change: nothing is learned from them."
        )
    st.caption(plain(" ".join([said, *erasure.remarks])))


def _show_neighbors_alike(alike: Mapping[str, tuple[float, float, float]], containers: Sequence[Any]) -> None:
    """Show how many of the nearest documents have the same label, before and after, by column."""
    for container, (name, (before, after, chance)) in zip(containers, alike.items(), strict=False):
        container.metric(
            plain(f"Neighbours with the same “{name}”"),
            show_share(after),
            f"from {show_share(before)}; chance {show_share(chance)}",
            delta_color="off",
            delta_arrow="off",
            help="The share of the ten nearest documents (by cosine) with the same label: after the removal, before "
            "it, and by chance.",
        )


def _show_linear(found: Remains, container: Any) -> None:
    """Show how well a linear model still tells the labels apart; for several columns, those of the first."""
    row = next((row for row in found.rows() if row["model"] == _LINEAR[0] and row["if_gone"] is not None), None)
    if row is None:
        return
    column = f" for “{row['concept']}”" if row.get("concept") else ""
    container.metric(
        plain(f"AUC of a linear model{column}"),
        show_number(row["after"], 2),
        f"from {show_number(row['before'], 2)}; chance {show_number(row['if_gone'], 2)}",
        delta_color="off",
        delta_arrow="off",
        help="In documents that the removal was not learned from: after the removal, before it, and by chance.",
    )


def _show_maps(bench: TableBench, wanted: RemovalChoice, color: str) -> None:
    """Show the documents before and after, each along its own principal components, at one scale."""
    places = spread_evenly(len(bench.sample), _DRAWN).tolist()
    panels, planes = {}, {"Before": bench.plane(), "After": bench.erased_plane(wanted)}
    shown = np.vstack([plane.at[places, :2] for plane in planes.values()])
    across, up = zip(shown.min(axis=0).tolist(), shown.max(axis=0).tolist(), strict=True)
    for name, plane in planes.items():
        panels[name] = document_map(
            map_rows(bench, places, (plane.at[:, 0], plane.at[:, 1]), color),
            titles=_titles(plane),
            color=color,
            domains=(across, up),
            size=_SIZE,
        ).properties(usermeta={"embedOptions": {"renderer": "canvas"}})
    charts(panels, columns=2)
    st.caption(
        f"{show_count(len(places))} documents. Each map has the two directions in which the documents differ most. "
        "Point at one to read it."
    )


def _titles(plane: Plane) -> tuple[str, str]:
    return component_title(1, plane.shares[0]), component_title(2, plane.shares[1])


def _show_probes(bench: TableBench, wanted: RemovalChoice, linear: Any, notice: Any) -> None:
    """Show the result of a linear model immediately, and of nonlinear ones after a click.

    `linear` is the container for the number of the linear model, at the top of the page. The finding replaces the
    `notice` there.
    """
    everything = bench.remains(wanted, MODELS)
    found: Remains | None
    if everything.is_known:
        found = everything.run()
    else:
        found = show_step(bench.remains(wanted, _LINEAR), "Testing a linear model on unseen documents")
    if found is None:
        return
    getattr(notice, GRADES[found.grade])(plain(found.headline), icon=":material/troubleshoot:")
    st.markdown(plain(found.details))
    if not found.probes:
        return
    _show_linear(found, linear)
    shown = found.table()
    small_table(shown.rows, shown.columns)
    for note in shown.notes:
        st.caption(plain(note))
    if everything.is_known:
        return
    more = show_step(
        everything, "Testing nonlinear models", start="Test nonlinear models, too: an RBF model and a neural network"
    )
    if more is None:
        st.caption(
            "If a linear model cannot predict the labels, a nonlinear one may: a support vector machine with an RBF "
            "kernel, or a neural network. These tests take half a minute or more."
        )
    else:
        st.rerun()


def _show_document(bench: TableBench, wanted: RemovalChoice) -> None:
    """Show the nearest documents of one, before and after, each with its label."""
    left, right = st.columns([1, 2])
    with left:
        found = find_documents(bench)
    with right:
        place = choose_document(bench, found, label="Document")
    if place is None:
        st.caption("Choose a document to see its ten nearest documents, before and after.")
        return
    show_document(bench, place)
    column = wanted.removed[0]
    labels = bench.column(column).values
    nearest = {"Before": bench.neighbors(place), "After": bench.neighbors(place, bench.erased(wanted))}
    before = {other for other, _ in nearest["Before"]}
    for title, neighbors in nearest.items():
        alike = sum(labels[other] == labels[place] for other, _ in neighbors)
        st.markdown(f"**{title}**: {alike} of {len(neighbors)} with the same {plain(f'“{column}”')}")
        rows = [
            {"place": other, "cosine": cosine, "label": labels[other], "new": "" if other in before else "new"}
            for other, cosine in neighbors
        ]
        columns: list[Column | str] = [Column("cosine", decimals=3), Column("label", column)]
        document_table(bench, rows, columns, ["new"] if title == "After" else [])


def _show_retrieval(bench: TableBench, wanted: RemovalChoice) -> None:
    """Show how often documents find their partner first and among ten, before and after."""
    options = [name for name in bench.label_columns if name not in wanted.removed]
    pairs = choice("Column of partners", "partner", ["", *options], format_func=lambda name: name or "choose one",
                   help="Documents with the same value are partners: two reports of one case, a text and its "
                   "translation.")  # fmt: skip
    if not pairs:
        st.caption(
            "Choose a column in which partners have the same value, and no other documents do. The page then shows how "
            "often a search finds the partner."
        )
        return
    found = show_step(bench.retrieval(wanted, pairs), "Searching for partners")
    if found is None:
        return
    said = found.text()
    st.markdown(plain(said[:1].upper() + said[1:]))
    for shown in found.tables():
        small_table(shown.rows, shown.columns)
        for note in shown.notes:
            st.caption(plain(note))


def _offer_downloads(bench: TableBench, wanted: RemovalChoice, erasure: Erasure) -> None:
    """Offer the erased table if it is small enough, and the erasure with a command for larger tables."""
    stem = file_stem(" ".join(wanted.removed), otherwise="labels")
    size, needed = 4 * len(bench.table) * bench.table.width, f"{stem}-erasure.safetensors"
    with st.container(horizontal=True):
        if size <= _LARGEST:
            name = f"{stem}-erased.parquet"
            weighs = f"{show_number(size / 1e6, 0)} MB" if size >= 1e6 else f"{show_number(size / 1e3, 0)} kB"
            label = f"Erased table .parquet ({weighs})"
            download(label, name, partial(_erased_file, bench, erasure, name), help="All documents and columns.")
        download("Erasure .safetensors", needed, lambda: written(erasure.save, needed), help="For the command below.")
    if size > _LARGEST:
        st.markdown(f"The vectors are {show_number(size / 1e6, 0)} MB, too large to download here.")
    st.caption("On the command line, for a table of any size (download the erasure first):")
    show_command(f"densray erase {shlex.quote(bench.source)} {needed} -o {stem}-erased.parquet")


def _erased_file(bench: TableBench, erasure: Erasure, name: str) -> bytes:
    return written(lambda path: erasure.apply(bench.table, output=path), name)
