"""For `make docs`: formulas become MathML, which browsers draw without a script or a network."""

import re

from latex2mathml.converter import convert

FORMULA = re.compile(r"^\$\$(.+?)\$\$", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with every $$formula$$, as GitHub reads it, drawn."""
    return FORMULA.sub(drawn, markdown)


def drawn(formula: re.Match[str]) -> str:
    """A formula on a line of its own."""
    return f'<div style="margin: 1em 0">{convert(formula[1], display="block")}</div>'
