"""Formulas as MathML, which browsers show by themselves: no script, no font, no network."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.util.logging import getLogger
from sphinx.util.math import get_node_equation_number

log = getLogger(__name__)
_THIN = "0.1667em"
_TAG = re.compile(r"\\tag\{([^}]*)\}")


def to_mathml(latex: str, *, display: str, location: Any = None) -> str:
    """Return a formula as a ``<math>`` element that carries its LaTeX as the text for those who cannot see it."""
    element = convert_to_element(" ".join(latex.split()), display=display)
    element.set("alttext", " ".join(latex.split()))
    for each in element.iter():
        each.text = (
            unescape(each.text) if each.text else None
        )  # the converter writes symbols as "&#x02208;"
    for each in element.iter():
        _set_spaces(each)
    unknown = next(
        (each.text for each in element.iter() if set(each.text or "") & set("\\&")),
        None,
    )
    if unknown is not None:
        log.warning(
            "'%s' in the formula %r is not known to latex2mathml",
            unknown,
            latex,
            location=location,
        )
    return ElementTree.tostring(element, encoding="unicode")


def _set_spaces(row: ElementTree.Element) -> None:
    """Set spaces as TeX does: none within bars, thin ones around the names of functions."""
    children = list(row)
    for place, each in enumerate(children):
        if each.text == "|":
            each.attrib.update(lspace="0", rspace="0", stretchy="false")
        elif (
            row.tag in ("math", "mrow")
            and each.tag in ("mi", "mo")
            and re.fullmatch(r"\s*[a-z]{2,}\s*", each.text or "")
        ):
            follower = children[place + 1] if place + 1 < len(children) else None
            bracket = follower is None or follower.text == "("
            each.tag, each.text = "mo", (each.text or "").strip()
            each.attrib.update(
                form="prefix",
                lspace=_THIN if place else "0",
                rspace="0" if bracket else _THIN,
            )


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(to_mathml(node.astext(), display="inline", location=node))
    raise nodes.SkipNode


def visit_displaymath(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number at the right."""
    latex = node.astext()
    tag = _TAG.search(latex)
    number = (
        tag[1]
        if tag
        else get_node_equation_number(translator, node)
        if node["number"]
        else None
    )
    shown = f'<span class="eqno">({number})</span>' if number else ""
    formula = to_mathml(_TAG.sub("", latex), display="block", location=node)
    translator.body.append(
        translator.starttag(node, "div", CLASS="formula notranslate", tabindex="0")
        + formula
        + shown
        + "</div>\n"
    )
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
