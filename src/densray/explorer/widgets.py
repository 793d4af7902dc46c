"""What the pages share: settings behind widgets, long steps that can be cancelled, text shown as text.

Streamlit keeps the key and the arguments of every button that a visitor has ever been shown. So keys name a place and
not a word, and arguments hold no results: else the memory of the server would grow with every view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import streamlit as st

from densray.errors import ARGUMENT, DensRayError
from densray.explorer.settings import Settings
from densray.explorer.workbench import Abandoned, Job, Jobs, Step, Workbench, current
from densray.figures._style import for_page
from densray.report import Column, typeset
from densray.report._table import MISSING

Found = TypeVar("Found")

_SECONDS_BEFORE_BAR, _SECONDS_BETWEEN_LOOKS = 0.4, 0.1
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
#: Where Markdown would make a link, whatever is escaped; a word joiner there is not seen, and keeps it text.
_LINKS = re.compile(r"(?<=http)(?=s?://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@[\w-]+\.)", re.IGNORECASE)
_JOINER = "\u2060"
_PLAIN_START = re.compile(r"[a-z]+[ ,]")  # a message that begins with a word, not with the name of a file
_SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z“])")


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is: words and file names are never markup.

    >>> plain("<b>*")
    '\\\\<b\\\\>\\\\*'
    """
    return _MARKUP.sub(r"\\\1", _LINKS.sub(_JOINER, " ".join(text.split())))


def settings() -> Settings:
    """Return the settings of this visitor; at first those of the address."""
    if "settings" not in st.session_state:
        st.session_state["settings"] = Settings.from_query(st.query_params.to_dict())
    found: Settings = st.session_state["settings"]
    return found


def chosen_bench() -> Workbench:
    """Return the workbench of the space this visitor chose."""
    return current(settings()["space"])


def follow_address() -> None:
    """Take the view from the address where the visitor went back or forth in it; a click counts more."""
    state, asked = st.session_state, st.query_params.to_dict()
    if not state.get("clicked") and state.get("address", asked) != asked:
        state["settings"] = Settings.from_query(asked)
        for key in [key for key in state if str(key).startswith("setting ")]:
            del state[key]  # widgets take their values again


def write_address() -> None:
    """Write the view into the address."""
    query = settings().to_query()
    st.query_params.from_dict(query)
    st.session_state["address"], st.session_state["clicked"] = query, False


def bound(name: str) -> dict[str, Any]:
    """Return the arguments that tie a widget to a setting."""
    key = f"setting {name}"
    if key not in st.session_state:  # a widget that was not on the last page has forgotten its value
        st.session_state[key] = settings()[name]
    return {"key": key, "on_change": _keep, "args": (name,)}


def _keep(name: str) -> None:
    st.session_state["clicked"] = True
    settings()[name] = st.session_state[f"setting {name}"] or ""


def write_setting(name: str, value: str) -> None:
    """Set a setting and the widget tied to it; for callbacks, which run before the page."""
    settings()[name] = value
    st.session_state[f"setting {name}"], st.session_state["clicked"] = value, True


def choice(label: str, name: str, options: Sequence[str], **more: Any) -> str:
    """Return what is chosen from a list that is tied to a setting; what the list does not have falls back."""
    if settings()[name] not in options:
        write_setting(name, options[0])
    found: str = st.selectbox(label, options, **bound(name), **more)
    return found


def choose_several(label: str, name: str, options: Sequence[str], *, default: Sequence[str], **more: Any) -> list[str]:
    """Return what is chosen of a list that is tied to a setting, which names them with commas between."""
    key = f"setting {name}"
    if key not in st.session_state:
        named = [each for each in settings()[name].split(",") if each in options]
        st.session_state[key] = named or list(default)
    found: list[str] = st.multiselect(label, options, key=key, on_change=_keep_several, args=(name,), **more)
    return found


def _keep_several(name: str) -> None:
    st.session_state["clicked"] = True
    settings()[name] = ",".join(st.session_state[f"setting {name}"])


def write_several(name: str, values: Sequence[str]) -> None:
    """Set a setting of several values and the widget tied to it; for callbacks."""
    st.session_state[f"setting {name}"] = list(values)
    _keep_several(name)


class Hint(DensRayError):  # noqa: N818 - not an error
    """Nothing is wrong: something is still to be typed or chosen, and the message says what."""


@contextmanager
def complain() -> Iterator[None]:
    """Show bad input on the page, as one line, where it was met."""
    try:
        yield
    except Hint as hint:
        st.info(plain(str(hint)), icon=":material/edit:")
    except DensRayError as error:
        st.error(plain(typeset(in_controls(str(error)))), icon=":material/error:")


#: What the page calls the arguments that messages of the library advise.
_CONTROLS = {
    "word_column": "Column of words",
    "label_column": "Column of labels",
    "encoding": "Encoding",
    "n_axes": "Axes",
    "other_lexicon": "Words at the high end there",
    "pairs": "Words to compare",
    "solver": "Solver",
    "method": "Method",
}


def in_controls(message: str) -> str:
    """Return a message of the library with the controls of the page in place of the arguments of Python it names.

    Sentences that advise an argument for which the pages have no control are left out.

    >>> in_controls("3 of 40 words are in the space. Use any_case=True.")
    '3 of 40 words are in the space.'
    >>> in_controls("mine.csv is not UTF-8. Use encoding='latin-1'.")
    'mine.csv is not UTF-8. Use “Encoding”: latin-1.'
    """

    def said(match: re.Match[str]) -> str:
        name, value = match["name"] or match["alone"], (match["value"] or "").strip("'\"")
        if name not in _CONTROLS:
            return match[0]
        return f"“{_CONTROLS[name]}”" + (f": {value}" if value and value != "…" else "")

    sentences = _SENTENCE.split(message)
    kept = [
        each
        for each in sentences
        if all((match["name"] or match["alone"]) in _CONTROLS for match in ARGUMENT.finditer(each))
    ]
    found = " ".join(ARGUMENT.sub(said, each) for each in kept or sentences)
    return found[:1].upper() + found[1:] if _PLAIN_START.match(found) else found


def chart(figure: Any, place: Any = st, **more: Any) -> Any:
    """Show a chart as wide as its column, in the colours of the page, with its name and its rows for a table.

    All charts of the explorer go through here. `more` goes to Streamlit: `key`, `on_select`, `selection_mode`.
    """
    spec = for_page(figure)
    name = spec.pop("description", None)  # given twice, Streamlit would complain
    return place.vega_lite_chart(spec=spec, theme=None, width="stretch", alt=name, **more)


def charts(figures: Mapping[str, Any], *, columns: int, titles: bool = True) -> None:
    """Show charts beside each other, so many in a row of a wide window, fewer where they would be too narrow."""
    names = list(figures)
    for start in range(0, len(names), columns):
        for place, name in zip(st.columns(columns, gap="medium"), names[start : start + columns], strict=False):
            with place:
                if titles:
                    st.markdown(f"**{plain(name)}**")
                chart(figures[name])


def heading(text: str, **more: Any) -> None:
    """Show the heading of a part of a page: one level below its title, so that none is left out between them."""
    st.header(plain(text), **more)


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column | str],
    *,
    help: Mapping[str, str] | None = None,
    widths: Mapping[str, Any] | None = None,
    place: Any = st,
    **more: Any,
) -> Any:
    """Show rows as a table: columns sort by their numbers and show them as everything else does.

    Parameters
    ----------
    rows : sequence of mappings
    columns : sequence of Column or str
        In order; a string stands for ``Column(key)``, as in a table of a report.
    help, widths : mapping, optional
        By the key of a column: what its heading says on hovering, and how wide it is.
    **more
        For Streamlit: `height`, `key`, `on_select`, `selection_mode`.
    """
    import pandas

    shown = [Column(each) if isinstance(each, str) else each for each in columns]
    frame = pandas.DataFrame([{each.key: row.get(each.key) for each in shown} for row in rows],
                             columns=[each.key for each in shown])  # fmt: skip
    numbers = {each.key: each.show for each in shown if frame[each.key].dtype.kind in "iuf"}
    config = {
        each.key: st.column_config.Column(
            each.heading, help=(help or {}).get(each.key), width=(widths or {}).get(each.key)
        )
        for each in shown
    }
    styled = frame.style.format(numbers, na_rep=MISSING)
    look = {"hide_index": True, "column_config": config, "placeholder": MISSING}
    return place.dataframe(styled, **look, **more)


def download(label: str, file_name: str, content: Callable[[], bytes], *, help: str | None = None) -> None:
    """Offer a file that is made when it is asked for."""
    look = {"help": help, "icon": ":material/download:"}
    st.download_button(label, content, file_name, on_click="ignore", key=f"download {label}", **look)


def show_code(lines: str) -> None:
    """Show the Python that gives what the page shows, with a button to copy it."""
    with st.expander("Copy as Python"):
        st.code(lines, language="python")


def written(write: Callable[[Path], object], name: str) -> bytes:
    """Return what is written to a file of that name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


class NotYet(BaseException):
    """What the rest of a page needs is not there, cancelled or waiting for a click; no error, so that none is shown."""


def show_step(step: Step[Found], label: str, *, start: str | None = None) -> Found | None:
    """Return what takes a while to find, with a bar and a way out; None while it is not there.

    The step runs in a thread of its own and must show nothing: only the page can. A click elsewhere runs the page
    again, which then looks at the same step; one that no page looks at ends. One that was cancelled stays so until it
    is asked for again.

    Parameters
    ----------
    step : Step
        Nothing is shown of one that was found before.
    label : str
        Shown beside the bar.
    start : str, optional
        The button that starts it; absent, it starts by itself.
    """
    if step.is_known:
        return step.run()
    waiting = st.session_state.setdefault("steps", {})
    if waiting.get(step.name, start is not None):
        button = start or f"{label}: run again"
        st.button(button, key=f"start {step.name}", on_click=waiting.update, args=({step.name: False},))
        return None
    while True:
        job = step.bench.jobs.start(step.name, step.run)
        _watch(job, step, label)
        try:
            found: Found = job.result()
        except Abandoned:
            continue  # it ended just when this page began to look
        return found


def _watch(job: Job, step: Step[Any], label: str) -> None:
    """Wait for a step; show how far it is, and the way out, if it takes longer than a moment."""
    if job.watch(_SECONDS_BEFORE_BAR):
        return
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text=label)
        st.button("Cancel", key=f"cancel {step.name}", on_click=_cancel, args=(step.bench.jobs, step.name))
    while not job.watch(_SECONDS_BETWEEN_LOOKS):
        done, total = job.progress
        said = f"{label}: {named}" if (named := step.says(done, total)) else label
        bar.progress(min(done / total, 1.0) if total else 0.0, text=said)  # also lets a click through
    place.empty()


def _cancel(jobs: Jobs, name: str) -> None:
    st.session_state["steps"][name] = True
    jobs.cancel(name)
