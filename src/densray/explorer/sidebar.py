"""The sidebar: navigation, the choice of an axis, and the axes kept."""

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
from densray.explorer.widgets import NotYet, bound, choice, long_step, plain, settings, write_setting
from densray.explorer.words import lexicon_of_lists, lexicon_of_upload, name_of_lists
from densray.explorer.workbench import Axis, Workbench, identity
from densray.lexicon import Lexicon
from densray.rotations import METHODS

#: Axes kept at once: beyond, an address would be too long to share.
MOST = 12


def kept_axes() -> dict[str, AxisChoice]:
    """Return the axes put aside, by name; lines of an address that are none are passed over."""
    found = (AxisChoice.from_text(line) for line in settings()["axes"].splitlines())
    return {choice.name: choice for choice in found if choice is not None}


def keep_axis(choice: AxisChoice) -> None:
    """Put an axis aside; one of the same name gives way, and of too many the oldest."""
    others = [kept for kept in kept_axes().values() if kept.name != choice.name]
    _write([*others, choice][-MOST:])


def drop_axis(name: str) -> None:
    """Forget an axis that was put aside."""
    _write([kept for kept in kept_axes().values() if kept.name != name])


def take_axis(name: str) -> None:
    """Take an axis that was put aside in hand again."""
    found = kept_axes().get(name)
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
    """Show the widgets of the axis in hand, and return what they say."""
    with st.sidebar:
        st.divider()
        current = settings()
        if current["source"] not in _SOURCES:
            write_setting("source", "lists")
        source: str = st.radio("An axis from", list(_SOURCES), format_func=_SOURCES.__getitem__, horizontal=True,
                               **bound("source"))  # fmt: skip
        if source == "lists":
            st.text_area("Words at the high end", height=110, **bound("high"))
            st.text_area("Words at the low end", height=110, **bound("low"))
        elif source == "lexicon":
            choice("Lexicon", "lexicon", lexicon_names())
        else:
            _take_upload()
        method = choice("Method", "method", list(METHODS))
        st.caption(plain(METHODS[method].summary))
        st.text_input("Name of the axis", placeholder=_name(source), **bound("name"))
        wanted = AxisChoice(
            current["name"].strip() or _name(source),
            source,
            high=current["high"] if source == "lists" else "",
            low=current["low"] if source == "lists" else "",
            lexicon=current["lexicon"] if source == "lexicon" else "",
            method=method,
            without=current["without"],
        )
        _offer_to_keep(wanted)
        _show_removed()
    return wanted


def _offer_to_keep(wanted: AxisChoice) -> None:
    """Show the button that puts the axis in hand aside, and the axes put aside, each with the way out."""
    st.button(
        "Keep this axis", icon=":material/push_pin:", on_click=keep_axis, args=(wanted,),
        disabled=wanted.source == "upload", help="For the map, beside other axes. A file cannot be kept.",
    )  # fmt: skip
    kept = kept_axes()
    if kept:
        st.caption("Axes kept; click one to take it in hand again")
        for name in kept:
            with st.container(horizontal=True):
                st.button(
                    plain(name), key=f"take {name}", icon=":material/back_hand:", on_click=take_axis, args=(name,)
                )
                st.button("", key=f"drop {name}", icon=":material/close:", on_click=drop_axis, args=(name,),
                          help="Drop this axis")  # fmt: skip


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
            raise LexiconError(f"'{wanted.lexicon}' is no lexicon of the explorer. Choose one from the list.")
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
    """Return the seeds taken out, one a line: a seed may hold commas and blanks."""
    text = wanted.without if isinstance(wanted, AxisChoice) else wanted["without"]
    return [word for word in text.splitlines() if word.strip()]


def axis_in_hand(bench: Workbench) -> tuple[AxisChoice, Axis]:
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
    found = long_step(
        f"axis {hash(identity(lexicon, method))}",
        f"Finding the axis of {len(lexicon):,} words",
        lambda _: bench.axis(lexicon, method),
        known=bench.knows_axis(lexicon, method),
    )
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


def _take_upload() -> None:
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
        found = long_step(
            f"upload {file.file_id}",
            f"Reading {plain(file.name)}",
            lambda _: lexicon_of_upload(file.name, file.getvalue()),
            known=False,
        )
    except DensRayError as error:
        st.session_state["upload problem"] = str(error)
    else:
        if found is None:
            return  # cancelled: it is read when asked for again
        st.session_state["upload"] = found
    st.session_state["upload id"] = file.file_id


def without_seed(word: str) -> None:
    """Take a seed out of the axis in hand."""
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
