"""The sidebar: navigation, the choice of an axis, and the pinned axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from densray.alignment import locate_spellings
from densray.axes._evidence import near_misses
from densray.datasets import list_datasets, load_lexicon
from densray.errors import DensRayError, LexiconError
from densray.explorer.server import LARGEST_UPLOAD
from densray.explorer.settings import AxisChoice
from densray.explorer.widgets import NotYet, bound, choice, plain, settings, show_step, write_setting
from densray.explorer.words import lexicon_of_lists, lexicon_of_upload, name_of_lists
from densray.explorer.workbench import Axis, Step, Workbench, current
from densray.lexicon import Lexicon
from densray.rotations import METHODS

#: Pinned axes; with more, an address would be too long to share.
MAX_PINNED = 12


def pinned_axes() -> dict[str, AxisChoice]:
    """Return the pinned axes by name; lines of an address that are not an axis are ignored."""
    found = (AxisChoice.from_text(line) for line in settings()["axes"].splitlines())
    return {choice.name: choice for choice in found if choice is not None}


def pin_axis(choice: AxisChoice) -> None:
    """Pin an axis; it replaces one of the same name, and of too many the oldest."""
    others = [pinned for pinned in pinned_axes().values() if pinned.name != choice.name]
    _write([*others, choice][-MAX_PINNED:])


def unpin_axis(name: str) -> None:
    """Remove a pinned axis."""
    _write([pinned for pinned in pinned_axes().values() if pinned.name != name])


def select_axis(name: str) -> None:
    """Make a pinned axis the current one."""
    found = pinned_axes().get(name)
    if found is None:
        return
    for setting in ("source", "high", "low", "lexicon", "method"):
        if getattr(found, setting):  # lists stay as they are under a lexicon, and a lexicon under lists
            write_setting(setting, getattr(found, setting))
    write_setting("without", found.without)
    given = found.name not in (found.lexicon, name_of_lists(found.high, found.low))
    write_setting("name", found.name if given else "")


def _write(choices: list[AxisChoice]) -> None:
    write_setting("axes", "\n".join(choice.to_text() for choice in choices))


_LOOKED_UP = 200  # missing words for which another spelling is sought
_SOURCES = {"lists": "Two lists", "lexicon": "Lexicon", "upload": "File"}


def show_navigation(bench: Workbench, pages: Sequence[Any], chosen: Any, icons: Sequence[str]) -> None:
    """Show the space and the way to every page; the view goes along in the address."""
    with st.sidebar:
        st.markdown(f"**densray** · {plain(bench.space.name)}")
        st.caption(f"{len(bench.space):,} words × {bench.space.width} dimensions")
        for page, icon in zip(pages, icons, strict=True):
            label = f"**{page.title}**" if page == chosen else page.title
            st.page_link(page, label=label, icon=icon, query_params=settings().to_query(), width="stretch")


def choose_axis() -> AxisChoice:
    """Show the widgets of the current axis, and return what they say."""
    with st.sidebar:
        st.divider()
        given = settings()
        if given["source"] not in _SOURCES:
            write_setting("source", "lists")
        source: str = st.radio("An axis from", list(_SOURCES), format_func=_SOURCES.__getitem__, horizontal=True,
                               **bound("source"))  # fmt: skip
        if source == "lists":
            st.text_area("Words at the high end", height=110, **bound("high"))
            st.text_area("Words at the low end", height=110, **bound("low"))
        elif source == "lexicon":
            choice("Lexicon", "lexicon", lexicon_names())
        else:
            _choose_upload()
        method = choice("Method", "method", list(METHODS))
        st.caption(plain(METHODS[method].summary))
        st.text_input("Name of the axis", placeholder=_name(source), **bound("name"))
        wanted = AxisChoice(
            given["name"].strip() or _name(source),
            source,
            high=given["high"] if source == "lists" else "",
            low=given["low"] if source == "lists" else "",
            lexicon=given["lexicon"] if source == "lexicon" else "",
            method=method,
            without=given["without"],
        )
        _offer_to_pin(wanted)
        _show_removed()
    return wanted


def _offer_to_pin(wanted: AxisChoice) -> None:
    """Show the button that pins the current axis, and the pinned axes, each with a button to remove it."""
    st.button(
        "Pin this axis", icon=":material/push_pin:", on_click=pin_axis, args=(wanted,),
        disabled=wanted.source == "upload", help="For the map, beside other axes. A file cannot be pinned.",
    )  # fmt: skip
    pinned = pinned_axes()
    if pinned:
        st.caption("Pinned axes; click one to make it the current one")
        for name in pinned:
            with st.container(horizontal=True):
                st.button(plain(name), key=f"select {name}", icon=":material/edit:", on_click=select_axis, args=(name,))
                st.button("", key=f"unpin {name}", icon=":material/close:", on_click=unpin_axis, args=(name,),
                          help="Remove this axis")  # fmt: skip


def _name(source: str) -> str:
    """Return what an axis without a name is called."""
    if source == "lexicon":
        return settings()["lexicon"]
    if source == "upload":
        return st.session_state["upload"].name if "upload" in st.session_state else "upload"
    return name_of_lists(settings()["high"], settings()["low"])


def lexicon_names() -> list[str]:
    """Return the lexicons of the package; a page can name no other, so that no file is read through it."""
    return [entry.name for entry in list_datasets("lexicon") if entry.embedded]


def lexicon_of(wanted: AxisChoice) -> Lexicon:
    """Return the labelled words of an axis."""
    if wanted.source == "lists":
        found = lexicon_of_lists(wanted.high, wanted.low, name=wanted.name)
    elif wanted.source == "lexicon":
        if wanted.lexicon not in lexicon_names():
            raise LexiconError(f"'{wanted.lexicon}' is not a lexicon of the explorer. Choose one from the list.")
        found = load_lexicon(wanted.lexicon)
    elif "upload" in st.session_state:
        found = st.session_state["upload"]
    elif "upload problem" in st.session_state:
        raise LexiconError(st.session_state["upload problem"])
    else:
        raise LexiconError("no file was uploaded yet. Upload words and labels, or choose another source.")
    removed = removed_seeds(wanted)
    return found.without(removed) if removed else found


def removed_seeds(wanted: Mapping[str, str] | AxisChoice) -> list[str]:
    """Return the seeds taken out, one per line: a seed may hold commas and blanks."""
    text = wanted.without if isinstance(wanted, AxisChoice) else wanted["without"]
    return [word for word in text.splitlines() if word.strip()]


def current_axis(bench: Workbench) -> tuple[AxisChoice, Axis]:
    """Return the axis the sidebar describes: as it was asked for, and as it was found."""
    wanted = choose_axis()
    lexicon = lexicon_of(wanted)
    try:
        return wanted, find_axis(bench, lexicon, wanted.method)
    except DensRayError:
        rows, _ = locate_spellings(lexicon.words, bench.space)
        missing = [word for word, row in zip(lexicon.words, rows.tolist(), strict=True) if row < 0]
        show_missing(bench, missing, len(lexicon) - len(missing))
        raise


def find_axis(bench: Workbench, lexicon: Lexicon, method: str) -> Axis:
    """Return the axis of some labelled words; where it takes longer than a moment, it can be cancelled."""
    found = show_step(bench.axis(lexicon, method), f"Finding the axis of {len(lexicon):,} words")
    if found is None:
        raise NotYet
    return found


def show_missing(bench: Workbench, missing: Sequence[str], n_found: int, *, what: str = "seeds") -> None:
    """Show the words the space lacks, and what it has instead."""
    if not missing:
        return
    looked_up = tuple(missing[:_LOOKED_UP])
    misses = bench.recall(("near misses", looked_up), lambda: near_misses(looked_up, bench.space))
    instead = {miss.word: f"{miss.found} ({miss.difference})" for miss in misses}
    with st.expander(f"{len(missing):,} of {len(missing) + n_found:,} {what} are not in the space"):
        st.dataframe([{"missing": word, "the space has": instead.get(word, "")} for word in missing], hide_index=True)


def _choose_upload() -> None:
    """Show the uploader; keep the lexicon of the file for this visitor."""
    file = st.file_uploader(
        "Words and labels", type=["tsv", "csv", "txt", "json"], max_upload_size=LARGEST_UPLOAD, key="uploader",
        help="A word and its label (1/-1 or a score) on each line. A link to this view cannot carry the file.",
    )  # fmt: skip
    if file is not None and st.session_state.get("upload id") != file.file_id:
        _read_upload(file)
    if "upload" in st.session_state:
        st.caption(plain(repr(st.session_state["upload"])))


def _read_upload(file: Any) -> None:
    """Read an uploaded file, once; what is wrong with it is told wherever it is needed."""
    for key in ("upload", "upload problem"):
        st.session_state.pop(key, None)
    try:
        reading = Step(current(), ("upload", file.file_id), lambda _: lexicon_of_upload(file.name, file.getvalue()))
        found = show_step(reading, f"Reading {plain(file.name)}")
    except DensRayError as error:
        st.session_state["upload problem"] = str(error)
    else:
        if found is None:
            return  # cancelled: it is read when asked for again
        st.session_state["upload"] = found
    st.session_state["upload id"] = file.file_id


def without_seed(word: str) -> None:
    """Take a seed out of the current axis."""
    write_setting("without", "\n".join([*removed_seeds(settings()), word]))


def _show_removed() -> None:
    """Show the seeds taken out, each with the way back."""
    removed = removed_seeds(settings())
    if not removed:
        return
    st.caption("Seeds taken out; click to put one back")
    with st.container(horizontal=True):
        for word in removed:
            rest = "\n".join(other for other in removed if other != word)
            st.button(plain(word), key=f"back {word}", icon=":material/undo:", on_click=write_setting,
                      args=("without", rest))  # fmt: skip
