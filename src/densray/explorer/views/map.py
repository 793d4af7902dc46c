"""Map: words in a plane whose two axes have names, coloured by a third."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

import streamlit as st

from densray.axes import axis_ends, axis_relation, map_frame, map_rows
from densray.datasets import load_word_list
from densray.errors import DensRayError, LexiconError
from densray.explorer.python_code import map_code
from densray.explorer.settings import DEFAULTS, AxisChoice
from densray.explorer.sidebar import (
    CHANGE_AXIS,
    add_seed,
    check_language,
    choose_axis,
    find_axis,
    lexicon_names,
    lexicon_of,
    pinned_axes,
    show_missing,
    tell_missing,
)
from densray.explorer.views.compare import show_comparison
from densray.explorer.widgets import (
    Hint,
    bound,
    chart,
    choice,
    chosen_bench,
    complain,
    controls,
    download,
    heading,
    plain,
    settings,
    show_code,
    write_setting,
)
from densray.explorer.window import is_narrow, place_of
from densray.explorer.word_map import MapAxis, known_locations, pack_map, pack_words, show_word_map
from densray.explorer.words import file_stem, find_words, missing_word, words_of_text
from densray.explorer.workbench import ShownAxis, Workbench
from densray.figures import axis_scatter, to_bytes
from densray.report import show_count, show_number

TITLE, ICON = "Map", ":material/scatter_plot:"
LEAD = "Words on two axes that you choose. Click a word to see its neighbours."

#: How to zoom and move a map.
_HOW_TO_MOVE = "Zoom with Ctrl and the mouse wheel, or two fingers. Drag to move. Double-click to reset."
_ROLES = {"x": "Across", "y": "Up", "color": "Colour"}
_NEIGHBORS = 10
_ALL = "all"
_POINTS = [_ALL, "500", "1000", "2000", "5000"]
_SHOWN = {"frequent": "Most frequent words", "occupations": "Occupations", "seeds": "Seeds of the axes",
          "list": "A list of my own"}  # fmt: skip
#: Choices with a second control.
_ASKING = {"frequent": "number of points", "list": "words of the list"}
#: The lexicon that colours the first view.
_FIRST_COLOR = "us-occupation-shares"
#: Lexicons whose scores have a better name than the file.
_TITLES = {_FIRST_COLOR: "share of women (US)"}
_KINDS = {"png": "A picture.", "svg": "For print.", "html": "A page that zooms and works offline."}
_SIZE = (760, 620)  # pixels, of a file
#: Heights on the page, in a wide window and in a narrow one: the map and its axes fit the window.
_HEIGHTS = (480, 440)
_FEW_WORDS, _MANY_WORDS = (
    500,
    1_100,
)  # up to the first number there is room for more labels; beyond the second, a canvas is used
_MOST_SHOWN, _MOST_MARKED, _MOST_ADDED = 5_000, 100, 50
#: Session key: whether the browser of this visitor lacks WebGL.
_UNSUPPORTED = "without webgl"


@dataclass(frozen=True)
class _Side:
    """One of the axes of the map: its name, the axis, and the meaning of its ends."""

    name: str
    axis: ShownAxis
    low: str
    high: str

    def on_map(self) -> MapAxis:
        """Return the axis with the score and the rank of every word."""
        ranking = self.axis.ranking
        return MapAxis(self.name[:60], self.low, self.high, ranking.scores.score, ranking.rank)


def show() -> None:
    """Show words along the chosen axes."""
    bench = chosen_bench()
    wanted = choose_axis()
    _open_first_view(bench)
    with controls("map"):
        chosen, shown = _choose_axes(_offered(wanted))
    if wanted in chosen.values():
        check_language(bench, lexicon_of(wanted))
    sides = _sides(bench, chosen)
    rows, marked = _choose_words(bench, sides, shown)
    few = list(dict.fromkeys([*rows[:_MOST_SHOWN], *bench.space.locate(marked).tolist()]))
    draw = partial(
        axis_scatter,
        map_rows({side.name: side.axis.ranking for side in sides.values()}, few),
        axes=(sides["x"].name, sides["y"].name),
        titles=(sides["x"].name[:60], sides["y"].name[:60]),
        color=sides["color"].name if "color" in sides else None,
        ends={side.name: (side.low, side.high) for side in sides.values()},
        marked=marked,
        n_labels=110 if len(few) <= _FEW_WORDS else 70,
        size=_SIZE,
        title=f"{len(few):,} words of {bench.space.name}",  # for files; the page shows it around the map
    )
    is_whole = isinstance(rows, range)
    if is_whole and not st.session_state.get(_UNSUPPORTED):
        _show_whole(bench, sides, marked, can_add=wanted.source == "lists")
    else:
        if is_whole:
            st.info(
                f"The map shows only the {show_count(len(few))} most frequent words: for all words, the browser "
                "needs WebGL."
            )
            rows = few
        _show_few(draw, len(few))
    _show_relation(sides, rows)
    _show_card(bench, sides, wanted)
    with complain():
        show_comparison(bench, sides["x"].axis.lexicon, chosen["x"])
    heading("Downloads")
    _offer_downloads(sides, draw, f" Of the {show_count(len(few))} most frequent words." if is_whole else "")
    show_code(_code(bench, sides, chosen, few))


def _open_first_view(bench: Workbench) -> None:
    """Begin with the whole vocabulary, coloured by the share of women in occupations if the space has them."""
    given = settings()
    if given["shown"]:
        return
    words = load_word_list("occupations")
    has_few = len(bench.space.absent(words, any_case=True)) * 2 > len(words)
    # the last step says that the view was opened: a run that is interrupted before begins again
    if given["points"] == DEFAULTS["points"] and not given["color"] and not has_few and _FIRST_COLOR in lexicon_names():
        write_setting("color", _FIRST_COLOR)
    write_setting("shown", "frequent")


def _show_whole(bench: Workbench, sides: Mapping[str, _Side], marked: Sequence[str], *, can_add: bool) -> None:
    """Show every word of the space."""
    content = pack_map(
        bench.recall(("packed words",), lambda: pack_words(bench.space.words)),
        sides["x"].on_map(),
        sides["y"].on_map(),
        sides["color"].on_map() if "color" in sides else None,
        marked=bench.space.locate(marked).tolist(),
        can_add=can_add,
    )
    events = {"on_pick": _pick_location, "on_add": _add_selected, "on_unsupported": _do_without}
    show_word_map(content, key="vocabulary", **events)


def _pick_location() -> None:
    """Open the card of the word clicked on the whole map; for callbacks."""
    words = chosen_bench().space.words
    for location in known_locations(st.session_state["vocabulary"].get("picked"), len(words)):
        write_setting("card", words[location])


def _add_selected() -> None:
    """Add the selected words to a list of the current axis; for callbacks."""
    words, added = chosen_bench().space.words, st.session_state["vocabulary"].get("added") or {}
    end = added.get("end")
    if end not in ("high", "low"):
        return
    known = set(words_of_text(settings()[end]))
    for location in known_locations(added.get("locations"), len(words))[:_MOST_ADDED]:
        if words[location] not in known:
            add_seed(words[location], end)


def _do_without() -> None:
    """Remember that the browser lacks WebGL; for callbacks."""
    st.session_state[_UNSUPPORTED] = True


def _show_few(draw: Callable[..., Any], count: int) -> None:
    """Show some words as a chart."""
    drawn = draw(interactive=True, title="", size=(_SIZE[0], _HEIGHTS[is_narrow()]))
    if count > _MANY_WORDS:  # only a canvas moves thousands of points smoothly
        drawn = drawn.properties(usermeta={"embedOptions": {"renderer": "canvas"}})
    chart(drawn, key="map", on_select=_pick, selection_mode="picked")


def _pick() -> None:
    """Open the card of the clicked word; for callbacks."""
    picked = st.session_state["map"]["selection"].get("picked") or []
    if picked:
        write_setting("card", str(picked[0]["word"]))


def _offered(chosen: AxisChoice) -> dict[str, AxisChoice]:
    """Return the available axes, by the value of their setting."""
    pinned = {f"pinned {name}": wanted for name, wanted in pinned_axes().items()}
    lexicons = {name: AxisChoice(_TITLES.get(name, name), "lexicon", lexicon=name) for name in lexicon_names()}
    return {"current": chosen, **pinned, **lexicons}


def _choose_axes(offered: Mapping[str, AxisChoice]) -> tuple[dict[str, AxisChoice], str]:
    """Show the three lists of axes and the list of words; return the choices for x, y and colour, and the words."""

    def label(key: str) -> str:
        if not key:
            return "none"
        kind = {"current": " (current)", f"pinned {offered[key].name}": " (pinned)"}.get(key, "")
        return f"{offered[key].name}{kind}"

    across, up, color, words = st.columns(4)
    with across:
        chosen = {"x": choice(_ROLES["x"], "x", list(offered), format_func=label)}
    with up:
        chosen["y"] = choice(_ROLES["y"], "y", list(offered), format_func=label)
    with color:
        chosen["color"] = choice(_ROLES["color"], "color", ["", *offered], format_func=label)
    with words:
        shown = choice("Words", "shown", list(_SHOWN), format_func=_SHOWN.__getitem__)
    found = {role: offered[key] for role, key in chosen.items() if key}
    names = {role: each.name for role, each in found.items()}
    return {  # two different axes of the same name get different labels
        role: each if all(other == each or names[by] != each.name for by, other in found.items())
        else AxisChoice(**{**vars(each), "name": label(chosen[role])})
        for role, each in found.items()
    }, shown  # fmt: skip


def _sides(bench: Workbench, chosen: Mapping[str, AxisChoice]) -> dict[str, _Side]:
    """Return the chosen axes, fitted in the space."""
    found = {}
    for role, wanted in chosen.items():
        try:
            axis = find_axis(bench, lexicon_of(wanted), wanted.method)
        except Hint:
            raise
        except DensRayError as error:
            if wanted.source == "lexicon":
                raise Hint(
                    f"The space has too few words of the axis “{wanted.name[:60]}”. Choose another axis under "
                    f"“{_ROLES[role]}”, or pin one of your own {place_of(CHANGE_AXIS)}."
                ) from error
            raise LexiconError(f"there is no axis “{wanted.name[:60]}”: ", *error.args) from error
        low, high = (", ".join(word[:24] for word in words) for words in axis_ends(axis.rows))
        found[role] = _Side(wanted.name, axis, low, high)
    return found


def _choose_words(bench: Workbench, sides: Mapping[str, _Side], shown: str) -> tuple[Sequence[int], list[str]]:
    """Show how many words to put on the map and which to mark; return the rows of all words, and the marked words.

    The rows of the whole vocabulary are a range.
    """
    more = _ASKING.get(shown)
    with st.expander("Words to mark" + (f", {more}" if more else ""), expanded=shown == "list"):
        mark, how = st.columns(2) if more else (st.container(), st.container())
        with mark:
            st.text_input("Words to mark", placeholder="one word or several", **bound("mark"))
        with how:
            rows = _rows(bench, sides, shown)
    marked, missing = find_words(settings()["mark"], bench.space)
    marked = marked[:_MOST_MARKED]
    tell_missing(bench, missing, len(marked), what="words to mark")
    if not rows and not marked:
        raise Hint("Type words of the space under “The words”, or choose “Most frequent words” under “Words”.")
    if isinstance(rows, range):
        return rows, marked
    return list(dict.fromkeys([*rows, *bench.space.locate(marked).tolist()])), marked


def _rows(bench: Workbench, sides: Mapping[str, _Side], shown: str) -> list[int] | range:
    """Show how many words to put on the map, or which; return their rows."""
    if shown == "frequent":
        everything = f"all {show_count(len(bench.space))}"
        points = choice("Points", "points", _POINTS, format_func=lambda count: everything if count == _ALL else count)
        if points == _ALL:
            return range(len(bench.space))
        return list(range(min(int(points), len(bench.space))))
    if shown == "seeds":
        words = list(dict.fromkeys(word for side in sides.values() for word in side.axis.rows.names))
    elif shown == "occupations":
        words = load_word_list("occupations")
    else:
        st.text_area("The words", height=110, placeholder="one per line, or with commas between", **bound("list"))
        words = words_of_text(settings()["list"])
    rows: list[int] = [row for row in bench.space.locate(words, any_case=True).tolist() if row >= 0]
    if shown != "seeds":
        show_missing(bench, bench.space.absent(words, any_case=True), len(rows), what="words")
    if len(rows) > _MOST_SHOWN:
        st.caption(f"The first {_MOST_SHOWN:,} of {len(rows):,} words are shown.")
    return rows[:_MOST_SHOWN]


def how_to_move() -> str:
    """Return how to zoom and move a map; empty on a phone, which has no wheel."""
    return "" if is_narrow() else _HOW_TO_MOVE


def _show_relation(sides: Mapping[str, _Side], rows: Sequence[int]) -> None:
    """Show the angle between the two axes, and how to move the map."""
    first, second = sides["x"].axis.ranking, sides["y"].axis.ranking
    relation = axis_relation(first, second, rows)
    correlated = "" if relation.correlation is None else (
        f" The correlation of the scores is {show_number(relation.correlation, 2)}."
    )  # fmt: skip
    st.caption(
        plain(
            f"{len(rows):,} words, scaled to unit length. The angle between the axes is "
            f"{show_number(relation.degrees, 0)}° (unrelated axes: 90°).{correlated} {how_to_move()}".rstrip()
        )
    )
    if sides["x"].axis.ranking is sides["y"].axis.ranking:
        st.info(
            f"Both axes are the same. Choose another one, or pin this axis {place_of(CHANGE_AXIS)} and define a second "
            "one."
        )


def _show_card(bench: Workbench, sides: Mapping[str, _Side], wanted: AxisChoice) -> None:
    """Show the clicked or typed word: its neighbours, its coordinate on each axis, and the lists it can be added to."""
    st.text_input("Look at a word", help="Or click a word on the map.", **bound("card"))
    asked = settings()["card"].strip()
    if not asked:
        return
    location = int(bench.space.locate([asked], any_case=True)[0])
    if location < 0:
        st.warning(plain(missing_word(asked, bench.space)))
        return
    word = bench.space.words[location]
    with st.container(border=True):
        st.markdown(f"**{plain(word)}**")
        near = ", ".join(f"{other} ({show_number(cosine, 2)})" for other, cosine in
                         bench.space.neighbors(word, k=_NEIGHBORS))  # fmt: skip
        st.markdown(plain(f"Nearest words, by cosine: {near}."))
        for side in {side.name: side for side in sides.values()}.values():
            entry = side.axis.ranking.lookup([word])[0]
            st.markdown(plain(
                f"On “{side.name}”: score {show_number(entry['score'])}, rank {show_count(entry['rank'])} of "
                f"{show_count(len(bench.space))} ({side.low} … {side.high})."
            ))  # fmt: skip
        with st.container(horizontal=True):
            for end in ("high", "low") if wanted.source == "lists" else ():
                st.button(f"Add to the {end} list", key=f"card {end}", icon=":material/add:", on_click=add_seed,
                          args=(word, end))  # fmt: skip
            st.button("Mark this word", key="card mark", icon=":material/push_pin:", on_click=_mark, args=(word,),
                      help="On this map, and under “My words” on the Axis page.")  # fmt: skip


def _mark(word: str) -> None:
    """Add a word to the marked words of the map and to the words of Axis; for callbacks."""
    for name in ("mark", "words"):
        known = words_of_text(settings()[name])
        write_setting(name, ", ".join(dict.fromkeys([*known, word])))


def _code(bench: Workbench, sides: Mapping[str, _Side], chosen: Mapping[str, AxisChoice], rows: Sequence[int]) -> str:
    """Return the Python code of this map."""
    lexicons = {sides[role].name: (sides[role].axis.lexicon, chosen[role]) for role in sides}
    frequent = list(rows) == list(range(len(rows)))
    words = len(rows) if frequent else [bench.space.words[row] for row in rows]
    return map_code(bench.source, lexicons, words, sides["color"].name if "color" in sides else None)


def _offer_downloads(sides: Mapping[str, _Side], draw: Callable[..., Any], which: str) -> None:
    """Offer the map as a picture and as a page, and the whole vocabulary along its axes as a table.

    `which` describes the words in the pictures, if they differ from those of the page.
    """
    stem = file_stem(" ".join(side.name for side in sides.values()), otherwise="map")

    def coordinates() -> bytes:
        content = BytesIO()
        map_frame({side.name: side.axis.ranking for side in sides.values()}).write_parquet(content)
        return content.getvalue()

    with st.container(horizontal=True):
        for kind, note in _KINDS.items():
            content = partial(picture, draw, kind)
            download(f"Map .{kind}", f"{stem}.{kind}", content, help=f"{note}{which}")
        download(
            "Coordinates .parquet", f"{stem}.parquet", coordinates, help="Every word of the space, with its ranks."
        )


def picture(draw: Callable[..., Any], kind: str) -> bytes:
    """Return the map as a file; only a page can be zoomed."""
    return to_bytes(draw(interactive=kind == "html"), kind)
