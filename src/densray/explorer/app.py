"""The script that Streamlit runs at every click: navigation, the page, its address."""

from __future__ import annotations

import logging
from collections.abc import Callable

import streamlit as st

from densray.explorer import sidebar, table_bench, table_sidebar
from densray.explorer.server import MISSING_PAGE
from densray.explorer.views import first_page, open_pages
from densray.explorer.widgets import (
    NotYet,
    chosen_bench,
    complain,
    follow_address,
    plain,
    read_settings_again,
    settings,
    write_address,
)
from densray.explorer.window import watch_window
from densray.report import logo

#: Columns stack if they would be too narrow for a chart; captions are readable; the focus is visible. The
#: sidebar does not slide, because charts drawn at an intermediate width would keep it.
_LOOK = """<style>
[data-testid="stMainBlockContainer"] { padding-top: 3.5rem; padding-bottom: 4rem; }
/* next to an open sidebar, the bar above the page is empty */
[data-testid="stApp"]:not(:has([data-testid="stExpandSidebarButton"])) {
  [data-testid="stHeader"] { background: none; pointer-events: none; }
  [data-testid="stMainBlockContainer"] { padding-top: 1rem; }
}
@media (min-width: 641px) and (max-width: 1200px) {
  [data-testid="stMainBlockContainer"] { padding-left: 2.5rem; padding-right: 2.5rem; }
  [data-testid="stHorizontalBlock"]:has([data-testid="stTable"]) { column-gap: 1.5rem; }
}
[data-testid="stHorizontalBlock"]:has([data-testid="stVegaLiteChart"], [data-testid="stTable"]) {
  flex-wrap: wrap; row-gap: 1rem;
}
[data-testid="stHorizontalBlock"]:has([data-testid="stVegaLiteChart"], [data-testid="stTable"])
  > [data-testid="stColumn"] { min-width: min(100%, 14rem); }
[data-testid="stHorizontalBlock"]:has([data-testid="stVegaLiteChart"], [data-testid="stTable"])
  > [data-testid="stColumn"]:has([data-testid="stVegaLiteChart"], [data-testid="stDataFrame"]) {
  min-width: min(100%, 19rem);
}
[data-testid="stHorizontalBlock"]:has([data-testid="stVegaLiteChart"], [data-testid="stTable"])
  > [data-testid="stColumn"]:has([data-testid="stTable"]) { min-width: min(100%, 24rem); }
[data-testid="stColumn"] [data-testid="stHorizontalBlock"] > [data-testid="stColumn"]:has(
  [data-testid="stVegaLiteChart"]) {
  min-width: min(100%, 13.5rem); max-width: 27rem;
}
/* four numbers stand two abreast where a row has no room for them */
@media (max-width: 1100px) {
  [data-testid="stHorizontalBlock"]:has(> [data-testid="stColumn"]:nth-child(4):last-child [data-testid="stMetric"])
    > [data-testid="stColumn"] { min-width: calc(50% - 1rem); max-width: 50%; }
}
/* so do four controls whose choices have long names */
@media (min-width: 641px) and (max-width: 1200px) {
  [class*="st-key-controls-map"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] {
    display: grid; grid-template-columns: 1fr 1fr; gap: 0.5rem 1rem; align-items: end;
  }
  [class*="st-key-controls-map"] [data-testid="stColumn"] { width: auto; min-width: 0; }
}
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding-left: 1rem; padding-right: 1rem; }
  [data-testid="stTable"] :is(td, th) { padding-left: 0.2rem !important; padding-right: 0.2rem !important; }
  [data-testid="stTable"] th p { font-size: 0.75rem; }
  [data-testid="stColumn"]:has([data-testid="stVegaLiteChart"]):not([class*="st-key-chart-first"] *),
  [data-testid="stLayoutWrapper"]:has(> [class*="st-key-charts-"]) { order: 1; }  /* lists come first */
  [data-testid="stHeading"] h1 { font-size: 1.9rem; }
  [class*="st-key-examples"] button { min-height: 2rem; padding: 0 0.6rem; }
  [data-testid="stHeaderActionElements"] { display: none; }  /* its invisible link would break a title */
  /* controls stand two abreast */
  [class*="st-key-controls"] { display: grid; grid-template-columns: 1fr 1fr; gap: 0.5rem 1rem; align-items: end; }
  [class*="st-key-controls"] > [data-testid="stLayoutWrapper"],
  [class*="st-key-controls"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] {
    display: contents;
  }
  [class*="st-key-controls"] [data-testid="stColumn"] { width: auto; min-width: 0; }
  [class*="st-key-controls"] [data-testid="stColumn"]:not(:has(*)) { display: none; }
  [class*="st-key-controls"] > [data-testid="stElementContainer"] { grid-column: 1 / -1; }
  [class*="st-key-controls-benchmark"] [data-testid="stColumn"]:last-child { grid-column: 1 / -1; }
}
[data-testid="stSidebar"], [data-testid="stSidebar"] * { transition: none !important; }
[class*="st-key-window"] { display: none; }  /* nothing to see: it reports the width */
[data-testid="stHeading"] h1 { font-size: 2.25rem; padding: 0.5rem 0 0.25rem; overflow-wrap: anywhere; }
[data-testid="stHeading"] h2 { font-size: 1.5rem; padding: 0.75rem 0 0.5rem; }
[data-testid="stMetricLabel"] p { white-space: normal !important; }
/* numbers on two lines: the name, then the value with its interval */
[data-testid="stHorizontalBlock"]:has([data-testid="stMetric"]) {
  align-items: end; flex-wrap: wrap; row-gap: 0.5rem;
}
[data-testid="stHorizontalBlock"] > [data-testid="stColumn"]:has([data-testid="stMetric"]) { min-width: 9.5rem; }
[data-testid="stMetric"] > div { display: flex; flex-wrap: wrap; align-items: center; column-gap: 0.5rem; }
[data-testid="stMetric"] label, [data-testid="stMetricLabel"] { flex-basis: 100%; }
[data-testid="stMetricValue"] { font-size: 1.25rem; font-weight: 600; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { opacity: 1; color: inherit; }
[data-testid="stCaptionContainer"] code { font-size: 0.85em; color: inherit; }
@media (prefers-color-scheme: dark) {
  button[data-variant="segmented_control"][aria-checked="true"] p { color: #E8E6E3; }
}
[data-testid="stCode"] .token { color: inherit !important; }
[data-testid="stVegaLiteChart"] svg text { user-select: text; }
[data-testid="stSelectbox"] input { text-overflow: ellipsis; }
a:focus-visible, button:focus-visible, summary:focus-visible, input:focus-visible, textarea:focus-visible,
[tabindex]:focus-visible { outline: 3px solid #D55E00 !important; outline-offset: 2px; }
</style>"""


def run() -> None:
    """Show the page named in the address, and links to the others."""
    st.set_page_config(page_icon=logo(), layout="wide")
    st.logo(logo(), size="large")
    st.html(_LOOK)
    views = open_pages()
    pages = [
        st.Page(page.show, title=page.TITLE, url_path=name, default=name == first_page())
        for name, page in views.items()
    ]
    chosen = st.navigation(pages, position="hidden")
    name = next(name for name, page in zip(views, pages, strict=True) if page == chosen)
    asked = st.query_params.get(MISSING_PAGE, "")
    if asked:
        st.warning(plain(f"There is no page “{asked[:60]}”, so {views[name].TITLE} is shown."))
    show_page(name, lambda: sidebar.show_navigation(pages, chosen, [page.ICON for page in views.values()]))


def show_page(name: str, navigate: Callable[[], None] | None = None) -> None:
    """Show one page under its title, and write its settings into the address."""
    page, is_table = open_pages()[name], table_bench.is_open()
    follow_address()
    watch_window(on_change=read_settings_again)
    if is_table:
        table_sidebar.show_table()
    else:
        sidebar.show_space()
    if navigate is not None:
        navigate()
    shown = table_bench.opened() if is_table else chosen_bench()
    st.set_page_config(page_title=f"{page.TITLE} · {shown.name} · densray")
    subject = page.subject() if hasattr(page, "subject") else ""
    st.title(plain(f"{page.TITLE}: {subject}" if subject else page.TITLE))
    st.caption(page.LEAD)
    try:
        with complain():
            page.show()
    except NotYet:
        pass  # the page shows what it waits for
    except Exception as error:  # last line of defence: show a defect as one line, log it in full
        logging.getLogger("densray.explorer").exception("a defect in the explorer")
        st.error(plain(f"A defect in densray: {type(error).__name__}: {error}"), icon=":material/bug_report:")
    write_address()
    if is_table:
        sidebar.show_help(table_sidebar.GLOSSARY)
    else:
        sidebar.show_help()
    if settings().unshared:
        names = ", ".join(settings().unshared)
        st.caption(plain(f"Too long for the address, and so missing from a shared link: {names}."))


if __name__ == "__main__":
    run()
