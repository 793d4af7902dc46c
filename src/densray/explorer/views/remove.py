"""Remove: erase a concept, compare before and after, and download the erased space."""

from __future__ import annotations

import math
import shlex
from functools import partial
from typing import Any

import streamlit as st

from densray.datasets import load_similarity, load_word_list
from densray.debiasing import (
    RemovalPreview,
    RemovalResult,
    common_words,
    concept_of,
    preview_removal,
    summarize_recovery,
    typical_anchors,
)
from densray.erasure import Erasure
from densray.errors import LexiconError
from densray.explorer.python_code import remove_code
from densray.explorer.sidebar import check_language, choose_axis, lexicon_of, tell_missing
from densray.explorer.widgets import (
    Hint,
    bound,
    capitalized,
    charts,
    charts_and_lists,
    choice,
    chosen_bench,
    complain,
    download,
    heading,
    plain,
    settings,
    show_code,
    show_command,
    show_step,
    small_table,
    table,
    written,
)
from densray.explorer.words import file_stem, find_words, missing_word, words_of_text
from densray.explorer.workbench import RemovalWords, Workbench, identity
from densray.figures import difference_panels
from densray.formats import write_space
from densray.lexicon import Lexicon
from densray.removers import DEFAULT_REMOVER, PREDICTIVE, REMOVERS
from densray.report import Column, show_number

TITLE, ICON = "Remove", ":material/ink_eraser:"
LEAD = (
    "Remove the concept of the current axis from the space. See how the words change, how much of the concept is left, "
    "and how similarity and analogies change."
)

#: Shown under the controls until the removal is tested.
UNTESTED = "Not tested yet. Nonlinear models can usually still find the concept. To test it, see “Is it gone?”."
#: Recommended removers come first, predictive ones and the control last.
_FIRST = (DEFAULT_REMOVER, "mean-difference", "densray-unit", "densray", "inlp")
_REMOVERS = sorted(
    (name for name, remover in REMOVERS.items() if not remover.needs_pairs),
    key=lambda name: (
        _FIRST.index(name) if name in _FIRST else len(_FIRST),
        (name in PREDICTIVE) + 2 * (name == "random"),
    ),
)
_AXES = [str(count) for count in (*range(1, 11), 15, 20, 30, 50, 100)]
_NEUTRAL = {"occupations": "320 occupations", "frequent": "500 frequent words", "list": "A list of my own"}
_FREQUENT, _MOST_DRAWN, _FEWEST = 500, 2000, 3
#: Up to this many words to keep are written into a command; more go into a file.
_FEW_KEPT = 10
#: Up to this many bytes of vectors, the whole space can be downloaded.
_LARGEST = 200_000_000
_FILES = {".densray": 1.0, ".bin": 1.0, ".vec": 3.1}  # with their size relative to four bytes per number
_HELP = {
    "anchor gap": "The mean difference between the cosines of a word to the two words for the ends. It is 0 if the "
    "concept is gone.",
    "direct bias": "The mean share of a word vector along the concept (Bolukbasi et al. 2016). It is 0 if the concept "
    "is gone.",
    "men": "The rank correlation of the cosines of 3,000 word pairs with their similarity as rated by people (MEN, "
    "Bruni et al. 2014). A removal should not lower it.",
}


def show() -> None:
    """Show the space without the current concept."""
    bench = chosen_bench()
    wanted = choose_axis(with_method=False)
    lexicon = lexicon_of(wanted)
    check_language(bench, lexicon)
    with st.expander("Method of removal, words to test and to keep", expanded=settings()["neutral_from"] == "list"):
        remover = _choose_remover()
        words = _choose_words(bench, lexicon)
    erasure = show_step(bench.erasure(lexicon, remover), f"Learning the removal from {len(lexicon):,} words")
    if erasure is None:
        return
    notice = st.empty()
    notice.info(UNTESTED, icon=":material/troubleshoot:")
    ratings = bench.recall(("ratings", "men"), lambda: load_similarity("men"))
    pairs = bench.recall(("pairs", *identity(lexicon, "")), lambda: concept_of(lexicon, words.anchors, ()).pairs)
    preview = preview_removal(
        bench.space, erasure, words.neutral, words.anchors, keep=words.keep, pairs=pairs, ratings=[ratings]
    )
    _show_preview(preview)
    for remark in erasure.remarks:
        st.caption(plain(remark))
    tests = st.container()
    heading("Downloads")  # shown before the tests, so that it is available while they run
    name = f"{bench.name} without {wanted.name}"
    _offer_downloads(bench, erasure, words, stem=file_stem(wanted.name, otherwise="axis"), name=name)
    show_code(remove_code(bench.source, lexicon, wanted, remover, words.anchors, words.neutral, words.keep, name))
    with tests:
        heading("Is it gone?")
        with complain():
            _show_tests(bench, lexicon, remover, words, notice)


def _choose_remover() -> str:
    """Return the chosen remover, with its number of axes if there is a choice."""
    left, right = st.columns(2)
    with left:
        name = choice("Method of removal", "remover", _REMOVERS, format_func=_describe)
        summary = _summary(name)
        st.caption(plain(f"{capitalized(summary)}. It is learned from the words of the current axis."))
    if REMOVERS[name].fixed_axes:
        return name
    with right:
        count = choice("Axes", "n_axes", _AXES, help="Number of directions to remove, beginning with the concept.")
    return f"{name}:{count}"


def _describe(name: str) -> str:
    """Return a remover with advice; its description stands below the list."""
    advice = " (recommended)" if name in _FIRST[:2] else " (designed to predict)" if name in PREDICTIVE else ""
    return f"{name}{advice}"


def _summary(name: str) -> str:
    return REMOVERS[name].summary.removeprefix("erase the axes of: ")


def _choose_words(bench: Workbench, lexicon: Lexicon) -> RemovalWords:
    """Return the two ends of the concept, the words to compare and the words to keep."""
    usual = typical_anchors(bench.space, lexicon)
    left, right = st.columns(2)
    with left:
        st.text_input("Two words for its ends", placeholder=", ".join(usual), **bound("anchors"),
                      help="The cosines to these two words are compared, before and after the removal.")  # fmt: skip
    with right:
        kind = choice("Words to test", "neutral_from", list(_NEUTRAL), format_func=_NEUTRAL.__getitem__)
    if kind == "list":
        st.text_area("Words that should be free of it", height=90, **bound("neutral"))
    st.text_area("Words to keep unchanged", height=90, placeholder="queen, king, …",
                 help="Words that are about the concept itself, and should keep it.", **bound("keep"))  # fmt: skip
    keep, unknown = find_words(settings()["keep"], bench.space)
    tell_missing(bench, unknown, len(keep), what="words to keep unchanged")
    anchors, missing = find_words(settings()["anchors"], bench.space)
    typed = words_of_text(settings()["anchors"])
    if missing:
        raise LexiconError(" ".join(missing_word(word, bench.space) for word in missing[:2]))
    if typed and len(anchors) != 2:
        raise LexiconError(
            f"“Two words for its ends” has {len(typed)}: {', '.join(typed)[:80]}. Two different words are "
            f"needed there, such as: {', '.join(usual)}."
        )
    first, second = anchors or usual
    return RemovalWords((first, second), _neutral_words(bench, lexicon, kind, (first, second)), tuple(keep))


def _neutral_words(bench: Workbench, lexicon: Lexicon, kind: str, anchors: tuple[str, ...]) -> tuple[str, ...]:
    if kind == "occupations":
        words = load_word_list("occupations")
        if len(bench.space.absent(words)) > len(words) - _FEWEST:
            raise Hint("The space has hardly any English occupation. Choose other words under “Words to test”.")
        return tuple(words)
    if kind == "frequent":
        return tuple(common_words(bench.space, _FREQUENT, exclude=[*lexicon.words, *anchors]))
    words = words_of_text(settings()["neutral"])
    if not words:
        raise Hint("Type words that should be free of the concept under “Words that should be free of it”.")
    if len(words) > _MOST_DRAWN:
        raise LexiconError(
            f"“Words that should be free of it” has {len(words):,} words. At most {_MOST_DRAWN:,} can be drawn. "
            "Type fewer."
        )
    return tuple(words)


def _show_preview(preview: RemovalPreview) -> None:
    """Show the words before and after, and a summary."""
    first, second = preview.anchors
    names = {"anchor gap": f"Gap between {first} and {second}", "direct bias": "Direct bias"}
    for container, row in zip(st.columns(3), preview.measures, strict=True):
        name, help = plain(names.get(row["measure"], "Agreement with similarity ratings")), _HELP[row["measure"]]
        if math.isnan(row["before"]):
            container.metric(name, "–", help=f"{help} {plain(row['reason'])}")
            continue
        before = f"{_change(row['before'], row['after'])}from {show_number(row['before'])}"
        container.metric(name, show_number(row["after"]), before, delta_color="off", delta_arrow="off", help=help)
    st.caption("The gap and the direct bias are 0 if the concept is gone. The agreement with ratings should stay.")
    panels = difference_panels(preview.scatter(), anchors=preview.names, n_labels=24)
    drawn, listed = charts_and_lists("spaces")
    with drawn:
        charts({f"{space} space": panel for space, panel in panels.items()}, columns=2)
    with listed:
        _show_words(preview)


def _change(before: float, after: float) -> str:
    """Return a change in per cent, before the old value.

    >>> _change(0.057, 0.040), _change(0.5, 0.501), _change(0.0, 0.1)
    ('−30%, ', '', '')
    """
    if before <= 0:
        return ""
    change = show_number(100 * (after / before - 1), 0, signed=True)
    return f"{change}%, " if change.strip("+−0") else ""


def _show_words(preview: RemovalPreview) -> None:
    """Show every word before and after, and name the missing ones."""
    first, second = preview.anchors
    missing = preview.before.missing
    if missing:
        named = ", ".join(missing[:10]) + (" …" if len(missing) > 10 else "")
        st.caption(plain(f"{len(missing):,} of these words are not in the space: {named}."))
    with st.expander("Every word, before and after"):
        st.caption(
            plain(f"The cosine to “{first}” minus the cosine to “{second}”. The words that changed most come first.")
        )
        rows = preview.words()
        table(rows, [Column(key, decimals=3) for key in rows[0]])


def _show_tests(bench: Workbench, lexicon: Lexicon, remover: str, words: RemovalWords, notice: Any) -> None:
    """Show the full tests, after a click; the verdict replaces the `notice` under the controls."""
    result = show_step(
        bench.removal(lexicon, remover, words),
        "Testing what is left",
        start="Test what is left: clusters, classifiers, probes, neighbours, similarity, analogies",
    )
    if result is None:
        st.caption(
            "Equal distances to two words do not show that a concept is gone. Words that were on the same side may "
            "still be close to each other, and a classifier may still recognise the side (Gonen & Goldberg 2019). The "
            "tests check this. They take half a minute, or some minutes with hundreds of thousands of words."
        )
        return
    notice.warning(plain(summarize_recovery(result)), icon=":material/troubleshoot:")
    for remains in result.remains.values():
        st.markdown(f"**Held-out labelled words.** {plain(remains.summary)}")
        if remains.probes:
            shown = remains.table()
            small_table(shown.rows, shown.columns)
            st.caption(plain(shown.notes[0]))
    for kind, title in (("removed", "How much of the concept is left"), ("kept", "Other uses of the space")):
        st.markdown(f"**{title}**")
        _show_measures(result, kind)
    for line in result.overview().notes[1:]:
        st.caption(plain(line))
    with st.expander("Intervals, p-values, and numbers of words"):
        details = result.details()
        table(details.rows, ["space", *details.columns])


def _show_measures(result: RemovalResult, kind: str) -> None:
    """Show each measure with its meaning, before and after, and its value if the concept were gone."""
    before, after = result.spaces[0].name, result.spaces[-1].name
    columns: list[Column | str] = [
        "measure",
        Column("before", decimals=3),
        Column("after", decimals=3),
        *([Column("if_gone", "if gone", decimals=2)] if kind == "removed" else []),
    ]
    rows = [
        {**row, "measure": f"{row['measure']}: {row['meaning']}", "before": row[before], "after": row[after]}
        for row in result.rows()
        if row["kind"] == kind
    ]
    small_table(rows, columns)


def _offer_downloads(bench: Workbench, erasure: Erasure, words: RemovalWords, *, stem: str, name: str) -> None:
    """Offer the erased space if it is small enough, and the erasure with a command for larger spaces."""
    size = 4 * len(bench.space) * bench.space.width
    needed = f"{stem}-erasure.safetensors"
    with st.container(horizontal=True):
        if size <= _LARGEST:
            for ending, share in _FILES.items():
                if share * size <= _LARGEST:
                    content = partial(_erased_file, bench, erasure, words.keep, f"{stem}-erased{ending}", name)
                    label = f"Erased space {ending} ({show_number(share * size / 1e6, 0)} MB)"
                    download(label, f"{stem}-erased{ending}", content)
        content = partial(_erasure_file, erasure, needed)
        download("Erasure .safetensors", needed, content, help="For the command below.")
        if len(words.keep) > _FEW_KEPT:
            download("Words to keep .txt", "keep.txt", lambda: "\n".join(words.keep).encode(), help="For the command.")
    if size > _LARGEST:
        st.markdown(f"The space is {show_number(size / 1e6, 0)} MB, too large to download here.")
    options = ""
    if words.keep:
        options = f" --keep {shlex.quote(','.join(words.keep)) if len(words.keep) <= _FEW_KEPT else 'keep.txt'}"
    files = "the erasure" + (" and keep.txt" if len(words.keep) > _FEW_KEPT else "")
    st.caption(f"On the command line, for a space of any size (download {files} first):")
    show_command(f"densray erase {shlex.quote(bench.source)} {needed}{options} -o {stem}-erased.bin")


def _erased_file(bench: Workbench, erasure: Erasure, keep: tuple[str, ...], file_name: str, name: str) -> bytes:
    return written(partial(write_space, erasure.apply(bench.space, keep=keep).renamed(name)), file_name)


def _erasure_file(erasure: Erasure, name: str) -> bytes:
    return written(erasure.save, name)
