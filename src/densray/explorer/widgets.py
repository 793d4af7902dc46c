"""What the pages share: settings behind widgets, long steps that can be cancelled, text shown as text."""

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
from densray.explorer.workbench import Abandoned, Job, Step, current
from densray.figures._style import for_page
from densray.report import typeset

Found = TypeVar("Found")

_SECONDS_BEFORE_BAR, _SECONDS_BETWEEN_LOOKS = 0.4, 0.1
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
#: Where Markdown would make a link, whatever is escaped; a word joiner there is not seen, and keeps it text.
_LINKS = re.compile(r"(?<=http)(?=s?://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@[\w-]+\.)", re.IGNORECASE)
_JOINER = "\u2060"
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


@contextmanager
def complain() -> Iterator[None]:
    """Show bad input on the page, as one line, where it was met."""
    try:
        yield
    except DensRayError as error:
        st.error(plain(typeset(without_arguments(str(error)))), icon=":material/error:")


def without_arguments(message: str) -> str:
    """Return a message of the library without the sentences that advise an argument of Python: a page has none.

    >>> without_arguments("3 of 40 words are in the space. Use any_case=True.")
    '3 of 40 words are in the space.'
    """
    sentences = _SENTENCE.split(message)
    kept = [each for each in sentences if not ARGUMENT.search(each)]
    return " ".join(kept or sentences)


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


def download(label: str, file_name: str, content: Callable[[], bytes], *, help: str | None = None) -> None:
    """Offer a file that is made when it is asked for."""
    st.download_button(label, content, file_name, on_click="ignore", help=help, icon=":material/download:")


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
        job = current().jobs.start(step.name, step.run)
        _watch(job, step.name, label)
        try:
            found: Found = job.result()
        except Abandoned:
            continue  # it ended just when this page began to look
        return found


def _watch(job: Job, name: str, label: str) -> None:
    """Wait for a step; show how far it is, and the way out, if it takes longer than a moment."""
    if job.watch(_SECONDS_BEFORE_BAR):
        return
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text=label)
        st.button("Cancel", key=f"cancel {name}", on_click=_cancel, args=(name,))
    while not job.watch(_SECONDS_BETWEEN_LOOKS):
        done, total = job.progress
        bar.progress(min(done / total, 1.0) if total else 0.0, text=label)  # also lets a click through
    place.empty()


def _cancel(name: str) -> None:
    st.session_state["steps"][name] = True
    current().jobs.cancel(name)
