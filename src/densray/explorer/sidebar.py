"""The sidebar: navigation, the choice of an axis, and the pinned axes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

import streamlit as st

from densray import __version__
from densray.axes import axis_ends, find_rows, near_misses
from densray.datasets import data_folder, find_dataset, is_at_hand, list_datasets, load_lexicon
from densray.errors import DensRayError, LexiconError, name_some
from densray.explorer.documentation import ADDRESS, find_pages
from densray.explorer.server import LARGEST_UPLOAD
from densray.explorer.settings import DEFAULTS, ENCODINGS, EXAMPLES, AxisChoice
from densray.explorer.widgets import (
    Hint,
    NotYet,
    bound,
    capitalized,
    choice,
    chosen_bench,
    plain,
    settings,
    show_step,
    write_setting,
)
from densray.explorer.window import inputs, place_of
from densray.explorer.words import columns_of_upload, lexicon_of_lists, lexicon_of_upload, missing_word, name_of_lists
from densray.explorer.workbench import ShownAxis, Step, Workbench, benches
from densray.lexicon import Lexicon
from densray.report import show_count, typeset
from densray.rotations import METHODS
from densray.rows import missing_code_notes
from densray.spelling import locate_spellings

#: Name of the inputs of an axis in a narrow window.
CHANGE_AXIS = "Change the axis"
#: Largest number of pinned axes; with more, an address would be too long to share.
MAX_PINNED = 12


def pinned_axes() -> dict[str, AxisChoice]:
    """Return the pinned axes by name; lines of an address that are not an axis are ignored."""
    found = (AxisChoice.from_text(line) for line in settings()["axes"].splitlines())
    return {choice.name: choice for choice in found if choice is not None}


def pin_axis(choice: AxisChoice) -> None:
    """Pin an axis; it replaces one of the same name, and the oldest if there are too many."""
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
        if getattr(found, setting):  # keep the lists if it is a lexicon, and the lexicon if it is lists
            write_setting(setting, getattr(found, setting))
    write_setting("without", found.without)
    given = found.name not in (found.lexicon, name_of_lists(found.high, found.low))
    write_setting("name", found.name if given else "")


def _write(choices: list[AxisChoice]) -> None:
    write_setting("axes", "\n".join(choice.to_text() for choice in choices))


_FEW_MISSING = 3  # missing words that are reported one by one
_LOOKED_UP = 200  # missing words for which similar words are looked up
_SOURCES = {"lists": "Two lists", "lexicon": "Lexicon", "upload": "File"}

_GLOSSARY = """
- **Axis**: a direction in the space, fitted to the words you enter (the *seeds*). The coordinate of a word on it is the
  *score* of the word.
- **± and bars**: how much a score varies with the choice of seeds. ± is one standard error; bars are two.
- **Pairs ranked correctly** (held-out AUC): the share of pairs of a high and a low seed in which the high one scores
  higher. Each seed is scored by an axis fitted without it. 50% is guessing.
- **Held-out τ**: the rank correlation (Kendall's τ-b) of these scores with the labels. 0 is chance.
- **Reliability**: the expected correlation with scores from other seeds (as many, of the same kind). Below it is its
  95% interval.
- **p-value** (permutation test): how often an axis of shuffled labels does as well. Above 0.05, the axis may be chance.
- **Seed angle**: an upper bound (95% confidence) on the angle between this axis and the average axis of sets of as many
  such seeds.
"""


def show_space() -> None:
    """Show the space of the page; if there are several, offer a choice."""
    with st.sidebar:
        st.markdown(f"**densray** · {plain(chosen_bench().name)}")
        if len(benches()) > 1:
            choice("Space", "space", list(benches()), help="The spaces that the explorer was started with.")
        space = chosen_bench().space
        st.caption(f"{show_count(len(space))} words × {show_count(space.width)} dimensions")


def show_navigation(pages: Sequence[Any], chosen: Any, icons: Sequence[str]) -> None:
    """Show links to all pages; they keep the view in the address."""
    with st.sidebar:
        for page, icon in zip(pages, icons, strict=True):
            label = f"**{page.title}**" if page == chosen else page.title
            st.page_link(page, label=label, icon=icon, query_params=settings().to_query(), width="stretch")


def show_help(glossary: str = _GLOSSARY) -> None:
    """Show the meaning of the numbers, links to the documentation, and the version."""
    with st.sidebar:
        st.divider()
        with st.popover("What the numbers mean", icon=":material/help:"):
            st.markdown(glossary)
        links = documentation_links()
        named = " · ".join(f"[{name}]({address})" for name, address in links.items())
        st.caption(" · ".join(filter(None, [f"densray {__version__}", named])))
        if "Documentation" not in links:
            st.caption("To read the documentation here, start the explorer by `make explore` in a checkout of densray.")


@cache
def documentation_links() -> dict[str, str]:
    """Return links to the documentation on this machine, if it was built, and links of the package metadata."""
    try:
        named = metadata("densray").get_all("Project-URL") or []
    except PackageNotFoundError:
        named = []
    found = dict(line.split(", ", 1) for line in named if ", " in line)
    links = {name: address for name, address in found.items() if name in ("Documentation", "Source", "Repository")}
    return links if find_pages() is None else {**links, "Documentation": f"{ADDRESS}/index.html"}


def current_name() -> str:
    """Return the name of the current axis."""
    return settings()["name"].strip() or _name(settings()["source"])


def current_example() -> str | None:
    """Return the name of the example that is the current axis, if it is one."""
    given = settings()
    lists = (given["high"], given["low"])
    return next((name for name, words in EXAMPLES.items() if given["source"] == "lists" and words == lists), None)


def use_example(name: str) -> None:
    """Make an example the current axis; for callbacks."""
    for setting, value in zip(("high", "low"), EXAMPLES[name], strict=True):
        write_setting(setting, value)
    write_setting("source", "lists")
    write_setting("name", name)
    write_setting("without", "")


def add_seed(word: str, end: str) -> None:
    """Append a word to the "high" or "low" list of the current axis; for callbacks."""
    text = settings()[end].rstrip()
    joint = "\n" if "\n" in text else ", " if re.search(r"[,;\t]", text) or " " in word else " "
    if joint == ", " and not re.search(r"[,;\t]", text):
        text = ", ".join(text.split())  # if a word contains a space, all words must be separated by commas
    write_setting(end, f"{text}{joint}{word}" if text else word)
    if word in removed_seeds(settings()):
        write_setting("without", "\n".join(each for each in removed_seeds(settings()) if each != word))


def choose_axis(*, with_method: bool = True) -> AxisChoice:
    """Show the widgets of the current axis and return the choice; no method on pages that compare all."""
    with inputs(CHANGE_AXIS):
        given = settings()
        if given["source"] not in _SOURCES:
            write_setting("source", "lists")
        source: str = st.radio("The axis comes from", list(_SOURCES), format_func=_SOURCES.__getitem__, horizontal=True,
                               **bound("source"))  # fmt: skip
        if source == "lists":
            st.text_area("Words at the high end", height=122, help=_LIST_HELP, **bound("high"))
            st.text_area("Words at the low end", height=122, help=_LIST_HELP, **bound("low"))
        elif source == "lexicon":
            choice("Lexicon", "lexicon", lexicon_names(), format_func=_lexicon_title)
            _describe_lexicon(given["lexicon"])
        else:
            _choose_upload()
        method = given["method"] if given["method"] in METHODS else "auto"
        if with_method:
            method = choice("Method", "method", list(METHODS), help="How the axis is fitted to the seeds.")
            st.caption(plain(capitalized(METHODS[method].summary)))
        st.text_input("Name of the axis", placeholder=_name(source), **bound("name"))
        wanted = AxisChoice(
            current_name(),
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


_LIST_HELP = "Separate words by spaces, commas or line breaks. Upper and lower case do not matter."


def _offer_to_pin(wanted: AxisChoice) -> None:
    """Show the button that pins the current axis, and the pinned axes, each with a button to remove it."""
    st.button(
        "Pin this axis", icon=":material/push_pin:", on_click=pin_axis, args=(wanted,),
        disabled=wanted.source == "upload",
        help="A pinned axis can be chosen on the Map page. The axis of a file cannot be pinned.",
    )  # fmt: skip
    pinned = pinned_axes()
    if pinned:
        st.caption("Pinned axes. Click one to use it as the current axis.")
        for name in pinned:
            with st.container(horizontal=True):
                st.button(plain(name), key=f"select {name}", icon=":material/edit:", on_click=select_axis, args=(name,))
                st.button("", key=f"unpin {name}", icon=":material/close:", on_click=unpin_axis, args=(name,),
                          help="Remove this axis")  # fmt: skip


def _name(source: str) -> str:
    """Return the default name of an axis."""
    if source == "lexicon":
        return settings()["lexicon"]
    if source == "upload":
        return st.session_state["upload"].name if "upload" in st.session_state else "upload"
    return name_of_lists(settings()["high"], settings()["low"])


def lexicon_names() -> list[str]:
    """Return the lexicons on this machine; pages accept no other names, so that they cannot read other files."""
    return list(_lexicon_names(str(data_folder())))


@cache
def _lexicon_names(folder: str) -> tuple[str, ...]:
    return tuple(entry.name for entry in list_datasets("lexicon") if is_at_hand(entry.name))


def _lexicon_title(name: str) -> str:
    return f"{name}: {find_dataset(name).title}"


@cache
def _load(name: str) -> Lexicon:
    return load_lexicon(name)


def _describe_lexicon(name: str) -> None:
    """Show the size of a lexicon and example words of its high end."""
    if name not in lexicon_names():
        return
    lexicon, space = _load(name), chosen_bench().space
    kind = "two classes" if lexicon.is_binary else "scores"
    said = f"{find_dataset(name).title}. {show_count(len(lexicon))} words, {kind}."
    with suppress(DensRayError):
        low, high = chosen_bench().recall(("ends", name), lambda: axis_ends(find_rows(space, lexicon), n_words=3))
        said += f" High end: {', '.join(high)}; low end: {', '.join(low)}."
    st.caption(plain(said))


def lexicon_of(wanted: AxisChoice) -> Lexicon:
    """Return the labelled words of an axis."""
    if wanted.source == "lists":
        found = lexicon_of_lists(wanted.high, wanted.low, name=wanted.name)
    elif wanted.source == "lexicon":
        if wanted.lexicon not in lexicon_names():
            raise LexiconError(f"'{wanted.lexicon}' is not a lexicon of this machine. Choose one under “Lexicon”.")
        found = _load(wanted.lexicon)
    elif "upload" in st.session_state:
        found = st.session_state["upload"]
    elif "upload problem" in st.session_state:
        raise LexiconError(*st.session_state["upload problem"])
    else:
        raise Hint(f"Upload a file {place_of(CHANGE_AXIS)}, with a word and its label (1, -1 or a score) on each line.")
    removed = removed_seeds(wanted)
    return found.without(removed, any_case=True) if removed else found


def removed_seeds(wanted: Mapping[str, str] | AxisChoice) -> list[str]:
    """Return the excluded seeds, one per line: a seed may contain commas and spaces."""
    text = wanted.without if isinstance(wanted, AxisChoice) else wanted["without"]
    return list(dict.fromkeys(word for word in text.splitlines() if word.strip()))


def current_axis(bench: Workbench) -> tuple[AxisChoice, ShownAxis]:
    """Return the choice made by the visitor, and its axis."""
    wanted = choose_axis()
    lexicon = lexicon_of(wanted)
    check_language(bench, lexicon)
    try:
        return wanted, find_axis(bench, lexicon, wanted.method)
    except DensRayError as error:
        rows, _ = locate_spellings(lexicon.words, bench.space, any_case=None)
        missing = [word for word, row in zip(lexicon.words, rows.tolist(), strict=True) if row < 0]
        show_missing(bench, missing, len(lexicon) - len(missing))
        for end, sign in (("high", 1.0), ("low", -1.0)) if wanted.source == "lists" else ():
            typed = [word for word, label in lexicon.items() if label == sign]
            if set(typed) <= set(missing):
                raise LexiconError(
                    f"no word under “Words at the {end} end” is in the space ({name_some(typed)}). Type others."
                ) from error
        raise


def check_language(bench: Workbench, lexicon: Lexicon) -> None:
    """Ask for words if the default ones are not in the space, as in other languages."""
    untouched = settings()["source"] == "lists" and all(settings()[end] == DEFAULTS[end] for end in ("high", "low"))
    if not untouched:
        return
    rows, _ = locate_spellings(lexicon.words, bench.space, any_case=None)
    if (rows >= 0).sum() * 2 >= len(lexicon):
        return
    frequent = ", ".join(bench.space.words[:8])
    raise Hint(
        "Type words of this space under “Words at the high end” and “Words at the low end” "
        f"{place_of(CHANGE_AXIS)}. The space has few of the English words that the explorer starts with. Its first "
        f"words: {frequent}."
    )


def find_axis(bench: Workbench, lexicon: Lexicon, method: str) -> ShownAxis:
    """Return the axis of labelled words; a long fit can be cancelled."""
    found = show_step(bench.axis(lexicon, method), f"Fitting the axis of {len(lexicon):,} words")
    if found is None:
        raise NotYet
    return found


def show_missing(bench: Workbench, missing: Sequence[str], n_found: int, *, what: str = "seeds") -> None:
    """Show missing words and similar words of the space."""
    if not missing:
        return
    looked_up = tuple(missing[:_LOOKED_UP])
    misses = bench.recall(("near misses", looked_up), lambda: near_misses(looked_up, bench.space))
    instead = {miss.word: f"{miss.found} ({miss.difference})" for miss in misses}
    with st.expander(f"{len(missing):,} of {len(missing) + n_found:,} {what} are not in the space"):
        st.dataframe([{"missing": word, "the space has": instead.get(word, "")} for word in missing], hide_index=True)


def tell_missing(bench: Workbench, missing: Sequence[str], n_found: int, *, what: str) -> None:
    """Report typed words that are missing: a few one by one with suggestions, many in a table."""
    if len(missing) > _FEW_MISSING:
        show_missing(bench, missing, n_found, what=what)
        return
    for word in missing:
        st.warning(plain(missing_word(word, bench.space)), icon=":material/search_off:")


def _choose_upload() -> None:
    """Show the uploader; store the lexicon of the file for this visitor."""
    file = st.file_uploader(
        "Words and labels", type=["tsv", "csv", "txt", "json", "xlsx"], max_upload_size=LARGEST_UPLOAD, key="uploader",
        help="A word and its label (1, -1 or a score) on each line. A link to this view does not contain the file.",
    )  # fmt: skip
    if file is not None:
        _choose_columns(file)
        if st.session_state.get("upload id") != _upload_id(file):
            _read_upload(file)
    if "upload" in st.session_state:
        for note in _notes_on_upload(st.session_state["upload"]):
            st.caption(plain(note))


def _choose_columns(file: Any) -> None:
    """Show how an uploaded file is read. The controls are folded, but open for a file that could not be read."""
    given = settings()
    with st.expander("How the file is read", expanded=st.session_state.get("unread upload") == file.file_id):
        choice("First line names the columns", "header", list(_HEADERS), format_func=_HEADERS.__getitem__)
        columns = columns_of_upload(file.name, file.getvalue(), header=given["header"], encoding=given["encoding"])
        if len(columns) > 1:
            offered = {"": "detect", **columns}
            choice("Column of words", "word_column", list(offered), format_func=offered.__getitem__)
            choice("Column of labels", "label_column", list(offered), format_func=offered.__getitem__)
        st.text_input("Names of the labels", placeholder="low, high: poor, rich", **bound("label_names"),
                      help="Needed if the labels are words other than positive and negative.")  # fmt: skip
        choice("Encoding", "encoding", ENCODINGS, help="For a file that is not UTF-8.")


def _notes_on_upload(lexicon: Lexicon) -> list[str]:
    """Return what was read from an upload, and notes on how."""
    notes = [*lexicon.notes, *missing_code_notes(lexicon.labels, lexicon.name)]
    return [repr(lexicon), *map(typeset, notes)]


def _read_upload(file: Any) -> None:
    """Read an uploaded file once; errors are shown wherever the lexicon is needed."""
    for key in ("upload", "upload problem"):
        st.session_state.pop(key, None)
    try:
        given = {name: settings()[name] for name in _READING}
        reading = Step(
            chosen_bench(),
            ("upload", _upload_id(file)),
            lambda _: lexicon_of_upload(file.name, file.getvalue(), **given),
        )
        found = show_step(reading, f"Reading {plain(file.name)}")
    except DensRayError as error:
        st.session_state["upload problem"] = error.args
        if st.session_state.get("unread upload") != file.file_id:
            st.session_state["unread upload"], st.session_state["upload id"] = file.file_id, _upload_id(file)
            st.rerun()  # opens the controls above
    else:
        if found is None:
            return  # cancelled: it is read on the next request
        st.session_state["upload"] = found
    st.session_state["upload id"] = _upload_id(file)


_READING = ("word_column", "label_column", "label_names", "header", "encoding")  # settings for reading an upload
_HEADERS = {"": "detect", "yes": "yes", "no": "no"}


def _upload_id(file: Any) -> str:
    """Cache key for an upload."""
    return "|".join([file.file_id, *(settings()[name] for name in _READING)])


def without_seed(word: str) -> None:
    """Exclude a seed from the current axis."""
    write_setting("without", "\n".join([*removed_seeds(settings()), word]))


def _show_removed() -> None:
    """Show the excluded seeds, each with a button to restore it."""
    removed = removed_seeds(settings())
    if not removed:
        return
    st.caption("Removed seeds. Click one to add it again.")
    with st.container(horizontal=True):
        for word in removed:
            rest = "\n".join(other for other in removed if other != word)
            st.button(plain(word), key=f"back {word}", icon=":material/undo:", on_click=write_setting,
                      args=("without", rest))  # fmt: skip
