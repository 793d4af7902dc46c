"""Widgets shared by the pages: widgets bound to settings, long steps that can be cancelled, text without markup.

Streamlit never frees the key and the arguments of a button. So keys name a position, not a word, and arguments contain
no results; otherwise the memory of the server would grow with every view.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

import streamlit as st

from densray.errors import Argument, DensRayError
from densray.explorer.settings import Settings
from densray.explorer.workbench import Abandoned, Job, Jobs, Step, Workbench, current
from densray.figures import for_page
from densray.report import MISSING, Citation, Column, typeset

Value = TypeVar("Value")

_SECONDS_BEFORE_BAR, _SECONDS_BETWEEN_LOOKS = 0.4, 0.1
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
#: Places where Markdown would create a link even in escaped text; an invisible word joiner prevents it.
_LINKS = re.compile(r"(?<=http)(?=s?://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@[\w-]+\.)", re.IGNORECASE)
_JOINER = "\u2060"
_BAR = "rgb(47, 143, 208)"  # blue, with a contrast above 3 in either theme


def plain(text: str) -> str:
    """Return a text that Markdown shows literally: words and file names are never markup.

    >>> plain("<b>*")
    '\\\\<b\\\\>\\\\*'
    """
    return _MARKUP.sub(r"\\\1", _LINKS.sub(_JOINER, " ".join(text.split())))


def capitalized(text: str) -> str:
    """Return a text with a capital first letter; the others are unchanged.

    >>> capitalized("the LDA axis")
    'The LDA axis'
    """
    return text[:1].upper() + text[1:]


def settings() -> Settings:
    """Return the settings of this visitor (initially those of the address)."""
    if "settings" not in st.session_state:
        st.session_state["settings"] = Settings.from_query(st.query_params.to_dict())
    found: Settings = st.session_state["settings"]
    return found


def chosen_bench() -> Workbench:
    """Return the workbench of the space that this visitor chose."""
    return current(settings()["space"])


def follow_address() -> None:
    """Follow the address after the visitor went back or forth; a click takes precedence."""
    state, asked = st.session_state, st.query_params.to_dict()
    if not state.get("clicked") and state.get("address", asked) != asked:
        state["settings"] = Settings.from_query(asked)
        read_settings_again()


def read_settings_again() -> None:
    """Let every widget show its setting: it may have changed, or the widget has moved and its browser forgot it."""
    for key in [key for key in st.session_state if str(key).startswith("setting ")]:
        del st.session_state[key]


def write_address() -> None:
    """Write the view into the address."""
    query = settings().to_query()
    st.query_params.from_dict(query)
    st.session_state["address"], st.session_state["clicked"] = query, False


def bound(name: str) -> dict[str, Any]:
    """Return the arguments that bind a widget to a setting."""
    key = f"setting {name}"
    if key not in st.session_state:  # Streamlit drops the values of widgets that were not on the last page
        st.session_state[key] = settings()[name]
    return {"key": key, "on_change": _keep, "args": (name,)}


def _keep(name: str) -> None:
    st.session_state["clicked"] = True
    settings()[name] = st.session_state[f"setting {name}"] or ""


def write_setting(name: str, value: str) -> None:
    """Set a setting and its widget; for callbacks, which run before the page."""
    settings()[name] = value
    st.session_state[f"setting {name}"], st.session_state["clicked"] = value, True


def choice(label: str, name: str, options: Sequence[str], **more: Any) -> str:
    """Return the choice from a list bound to a setting; an unknown value falls back to the first."""
    if settings()[name] not in options:
        write_setting(name, options[0])
    found: str = st.selectbox(label, options, **bound(name), **more)
    return found


def choose_several(label: str, name: str, options: Sequence[str], *, default: Sequence[str], **more: Any) -> list[str]:
    """Return the choices from a list bound to a setting, which holds them comma-separated."""
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
    """Set a setting of several values and its widget; for callbacks."""
    st.session_state[f"setting {name}"] = list(values)
    _keep_several(name)


class Hint(DensRayError):  # noqa: N818 - not an error
    """Not an error: the visitor still has to type or choose something, which the message names."""


@contextmanager
def complain() -> Iterator[None]:
    """Show errors of bad input as one line on the page."""
    try:
        yield
    except Hint as hint:
        st.info(plain(str(hint)), icon=":material/edit:")
    except DensRayError as error:
        st.error(plain(typeset(in_controls(error))), icon=":material/error:")


#: Names of library arguments on the page.
_CONTROLS = {
    "word_column": "Column of words",
    "label_column": "Column of labels",
    "label_names": "Names of the labels",
    "header": "First line names the columns",
    "encoding": "Encoding",
    "n_axes": "Axes",
    "other_lexicon": "Words at the high end there",
    "pairs": "Words to compare",
    "solver": "Solver",
    "method": "Method",
    "phrases": "Items of several words",
    "item_column": "Column of items",
    "rating_column": "Columns of ratings",
}


def in_controls(error: DensRayError) -> str:
    """Return the message of an error with its arguments written as controls of the page.

    Advice about arguments without a control is left out.

    >>> from densray.errors import Advice, LexiconError
    >>> in_controls(LexiconError("3 of 40 words are in the space.", Advice(" Use ", Argument("any_case", True), ".")))
    '3 of 40 words are in the space.'
    >>> in_controls(LexiconError("mine.csv is not UTF-8.", Advice(" Use ", Argument("encoding", "latin-1"), ".")))
    'mine.csv is not UTF-8. Use “Encoding”: latin-1.'
    >>> in_controls(LexiconError("'ja' is not a number.", Advice(" Use ", Argument("label_names", ("no", "ja")), ".")))
    "'ja' is not a number. Use “Names of the labels”: no, ja."
    """
    text = error.written(_control, offers=lambda argument: argument.name in _CONTROLS)
    first = text.replace(",", " ").partition(" ")[0]  # a word, or the name of a file
    return capitalized(text) if first.isascii() and first.isalpha() and first.islower() else text


def _control(argument: Argument) -> str:
    """Return the name of the control that sets an argument, with its value; the argument itself if there is none."""
    if argument.name not in _CONTROLS:
        return str(argument)
    value = f": {_in_words(argument.value)}" if argument.has_value else ""
    return f"“{_CONTROLS[argument.name]}”{value}"


def _in_words(value: object) -> str:
    """Return a value as a visitor enters it: several with commas, and yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def chart(figure: Any, container: Any = st, **more: Any) -> Any:
    """Show a chart as wide as its column, in the colours of the page, with its name and a table of its rows.

    All charts of the explorer go through here. `more` goes to Streamlit: `key`, `on_select`, `selection_mode`.
    """
    spec = for_page(figure)
    name = spec.pop("description", None)  # Streamlit does not accept it twice
    return container.vega_lite_chart(spec=spec, theme=None, width="stretch", alt=name, **more)


def charts(figures: Mapping[str, Any], *, columns: int, titles: bool = True) -> None:
    """Show charts side by side, `columns` per row; fewer if they would be too narrow."""
    names = list(figures)
    for start in range(0, len(names), columns):
        for container, name in zip(st.columns(columns, gap="medium"), names[start : start + columns], strict=False):
            with container:
                if titles:
                    st.markdown(f"**{plain(name)}**")
                chart(figures[name])


def charts_and_lists(name: str) -> tuple[Any, Any]:
    """Return two containers: charts above the lists, and below them on a phone. `name` is unique on the page."""
    with st.container():
        return st.container(key=f"charts {name}"), st.container()


def chart_first(name: str) -> Any:
    """Return a container whose charts stay above its lists on a phone as well. `name` is unique on the page."""
    return st.container(key=f"chart-first {name}")


def controls(name: str) -> Any:
    """Return a container whose controls stand two abreast on a phone. `name` is unique on the page."""
    return st.container(key=f"controls {name}")


def heading(text: str, **more: Any) -> None:
    """Show the heading of a part of a page, one level below its title."""
    st.header(plain(text), **more)


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column | str],
    *,
    help: Mapping[str, str] | None = None,
    widths: Mapping[str, Any] | None = None,
    container: Any = st,
    **more: Any,
) -> Any:
    """Show records as a table whose columns sort as numbers.

    Parameters
    ----------
    rows : sequence of mappings
    columns : sequence of Column or str
        In order; a string means ``Column(key)``, as in a table of a report.
    help, widths : mapping, optional
        By the key of a column: the tooltip of its heading, and its width.
    **more
        For Streamlit: `height`, `key`, `on_select`, `selection_mode`.
    """
    import pandas

    shown = [Column(each) if isinstance(each, str) else each for each in columns]
    frame = pandas.DataFrame([{each.key: row.get(each.key) for each in shown} for row in rows],
                             columns=[each.key for each in shown])  # fmt: skip
    written = [each.key for each in shown if _is_sorted_as_text(frame[each.key])]
    for each in shown:
        if each.key in written:  # Streamlit writes a missing value too pale to read
            frame[each.key] = frame[each.key].map(each.show)
    numbers = {each.key: each.show for each in shown if frame[each.key].dtype.kind in "iuf"}
    config = {
        each.key: st.column_config.Column(
            each.heading,
            help=(help or {}).get(each.key),
            width=(widths or {}).get(each.key),
            alignment="right" if each.key in written else None,
        )
        for each in shown
    }
    styled = frame.style.format(numbers, na_rep=MISSING)
    look = {"hide_index": True, "column_config": config, "placeholder": MISSING}
    return container.dataframe(styled, **look, **more)


def _is_sorted_as_text(column: Any) -> bool:
    """Return whether some numbers of a column are missing and the others have the same order if written as text."""
    known = column.dropna()
    return column.dtype.kind == "f" and len(known) < len(column) and bool(((known >= 0) & (known < 10)).all())


def small_table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column | str],
    *,
    bars: Sequence[str] = (),
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """Show a few records as a table that fits the width of the page: text wraps, and nothing scrolls sideways.

    Columns are those of :func:`table`. With the width "content", the table is as narrow as its cells. Cells of the
    columns `bars` (their keys) have a bar under the number, which begins at the lowest number of the column; all bars
    have the same scale.
    """
    import pandas

    shown = [Column(each) if isinstance(each, str) else each for each in columns]
    frame = pandas.DataFrame(
        [[each.show_in(row) if each.ends else row.get(each.key) for each in shown] for row in rows],
        columns=[plain(each.heading) for each in shown],
    )
    formats = {plain(each.heading): (lambda value, each=each: plain(each.show(value))) for each in shown}
    estimates = {plain(each.heading) for each in shown if each.ends}
    numbers = [name for name in frame.columns if frame[name].dtype.kind in "iuf" or name in estimates]
    styled = frame.style.format(formats, na_rep=MISSING).set_properties(subset=numbers, **{"text-align": "right"})
    barred = [plain(each.heading) for each in shown if each.key in bars]
    if barred:
        finite = frame[barred].astype(float).replace([float("inf"), float("-inf")], float("nan"))
        lowest = finite.min()
        span = (finite.max() - lowest).max() or 1.0
        styled = styled.apply(lambda _: ((finite - lowest) / span).map(_bar), axis=None, subset=barred)
    st.table(styled, border="horizontal", hide_index=True, width=width)


def _bar(share: float) -> str:
    """Return the style of a cell with a bar of this share of the longest; empty for a missing number."""
    if math.isnan(share):
        return ""
    return f"background: linear-gradient({_BAR}, {_BAR}) right 0.4rem bottom 2px / {3 * share:.2f}rem 4px no-repeat"


def download(label: str, file_name: str, content: Callable[[], bytes], *, help: str | None = None) -> None:
    """Offer a file that is created on demand."""
    look = {"help": help, "icon": ":material/download:"}
    st.download_button(label, content, file_name, on_click="ignore", key=f"download {label}", **look)


def show_code(lines: str) -> None:
    """Show the Python code of the page, with a button to copy it."""
    with st.expander("Copy as Python"):
        st.code(lines, language="python", wrap_lines=True)


def show_command(line: str) -> None:
    """Show commands for a terminal, with a button to copy them; long ones wrap."""
    st.code(line, language=None, wrap_lines=True)


def show_citation(citation: Citation) -> None:
    """Show a sentence for a methods section and its references, each with a button to copy it."""
    with st.expander("Cite this axis"):
        st.code(citation.sentence, language=None, wrap_lines=True)
        st.code(citation.bibtex, language="latex")


def written(write: Callable[[Path], object], name: str) -> bytes:
    """Return the bytes that `write` writes to a file of that name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


class NotYet(BaseException):
    """The rest of a page cannot be shown yet: a step was cancelled or waits for a click."""


def show_step(step: Step[Value], label: str, *, start: str | None = None) -> Value | None:
    """Return the result of a long step, with a progress bar and a cancel button; None while it is not available.

    The step runs in its own thread and must not show anything: only the page can. A click elsewhere reruns the page,
    which then checks the same step; a step that no page checks ends. A cancelled step stays cancelled until it
    is requested again.

    Parameters
    ----------
    step : Step
        If its result is cached, nothing is shown.
    label : str
        Shown next to the bar.
    start : str, optional
        Label of the button that starts it (default: it starts immediately).
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
            found: Value = job.result()
        except Abandoned:
            continue  # the step ended while this page attached to it
        return found


def _watch(job: Job, step: Step[Any], label: str) -> None:
    """Wait for a step; if it takes longer than a moment, show its progress and a cancel button."""
    if job.watch(_SECONDS_BEFORE_BAR):
        return
    container = st.empty()
    with container.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text=label)
        st.button("Cancel", key=f"cancel {step.name}", on_click=_cancel, args=(step.bench.jobs, step.name))
    while not job.watch(_SECONDS_BETWEEN_LOOKS):
        done, total = job.progress
        said = f"{label}: {named}" if (named := step.says(done, total)) else label
        bar.progress(min(done / total, 1.0) if total else 0.0, text=said)  # also lets Streamlit handle a click
    container.empty()


def _cancel(jobs: Jobs, name: str) -> None:
    st.session_state["steps"][name] = True
    jobs.cancel(name)
