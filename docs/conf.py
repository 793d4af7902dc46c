"""How Sphinx builds these pages; `make docs` does, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

from densray import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from method_table import method_table  # noqa: E402

project = "densray"
author = "the densray developers"
copyright = author
version = release = __version__

extensions = [
    "dark_pictures",
    "initials",
    "mathml",
    "myst_parser",
    "narrow_pictures",
    "numpydoc",
    "reader_names",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "summaries",
    "unbroken",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "examples/*"]
templates_path = ["_templates"]

# Markdown
myst_enable_extensions = [
    "amsmath",
    "attrs_block",
    "dollarmath",
    "substitution",
]
myst_substitutions = {"methods": method_table()}
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

# The reference: every name in a module's __all__, wherever it is defined
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say it
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them

# Examples: run, and their charts shown
sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "image_scrapers": ("chart_scraper.save_new_charts",),
    "reset_modules": (),
    "capture_repr": ("__repr__",),
    "write_computation_times": False,
    "min_reported_time": 3600,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "backreferences_dir": None,
    "thumbnail_size": (800, 500),
    "within_subsection_order": "reading_order.ReadingOrder",
    "abort_on_example_error": True,
}

# Appearance
html_theme = "pydata_sphinx_theme"
html_title = f"densray {version}"
html_logo = html_favicon = "../src/densray/report/logo.svg"
html_show_sourcelink = False
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["formulas.css", "pages.css"]
html_js_files = [("tables.js", {"defer": "defer"})]
html_context = {"default_mode": "auto"}  # else the theme complains on every page
html_sidebars = {"**": ["sidebar-nav-bs"]}  # without the button that collapses it
html_sidebars |= {
    page: [] for page in ("index", "installation", "tutorial")
}  # they have no pages below them
html_theme_options = {
    "logo": {"text": f"densray {version}"},
    "pygments_dark_style": "github-dark",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
