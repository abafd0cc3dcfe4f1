"""TeX becomes MathML when the site is built, so that a browser draws it without a script and without a network."""

import logging as standard_logging
import re
from collections.abc import Callable, Iterator
from importlib.resources import as_file, files
from itertools import pairwise

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import parse_latex_math
from docutils.utils.math.mathml_elements import MathElement, math, mo, mover, mspace, msub
from fontTools import subset
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

log = logging.getLogger(__name__)

BREAKS_AFTER = set("=≔<>≤≥≠≈≪∝∈→←⇔,;+−-⋅·×/|")
"""Operators after which a line may end, outside brackets, as in TeX; a browser does not break a formula by itself."""

APPLY = "\N{FUNCTION APPLICATION}"
ACCENTS = {"ˆ", "~", "ˉ"}
BARS = {"‖", "|", "∣"}
OPEN, CLOSE = set("([{⌈⌊⟨"), set(")]}⌉⌋⟩")
XMLNS = "http://www.w3.org/1998/Math/MathML"

CHARACTERS = [(0x20, 0x17F), (0x2C6, 0x2DD), (0x300, 0x3FF), (0x2000, 0x23FF), (0x25A0, 0x25FF), (0x1D400, 0x1D7FF)]
"""Of the font: Latin and Greek letters, accents, operators, arrows, squares, and the letters of mathematics."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.config.html_math_renderer = "mathml"
    app.add_post_transform(KeepPunctuation)
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """The pieces of a formula, with the punctuation that must not be parted from it."""
    pieces = drawn(node, lambda tex: list(pieces_of(tex)))
    head, tail = (writer.encode(node.get(side, "")) for side in ("head", "tail"))
    pieces[0] = head + pieces[0]
    pieces[-1] += tail  # the same piece, where there is one
    writer.body.append("<wbr>".join(f'<span class="formula">{piece}</span>' for piece in pieces))
    raise nodes.SkipNode


def visit_display(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own, which scrolls where it is wider than the page."""
    [formula] = drawn(node, lambda tex: [tree_of(tex, display="block").toxml()])
    writer.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def drawn(node: nodes.Element, convert: Callable[[str], list[str]]) -> list[str]:
    """What `convert` makes of the formula, or its TeX and a warning."""
    try:
        return convert(node.astext())
    except MathError as error:
        log.warning("%s in the formula %s", error, node.astext(), location=node, type="mathml")
        return [node.astext()]


def tree_of(tex: str, **attributes: str) -> math:
    """The formula as MathML."""
    if unclear := re.search(r"frac\s*\d|[_^]\s*\d\d", tex):
        raise MathError(f'"{unclear[0]}" is read differently by different programs, brackets make it clear,')
    tree = math(xmlns=XMLNS, **attributes)
    parse_latex_math(tree, tex)
    for row in list(tree.iter()):
        part_accents(row)
        join_signs(row)
        space_functions(row)
    for operator in tree.iter("mo"):
        space_sign(operator)
    return tree


def part_accents(row: MathElement) -> None:
    """An index stands beside its letter and the accent; docutils puts it below the letter."""
    for place, child in enumerate(row):
        if child.tag == "munderover" and child[2].text in ACCENTS:
            letter, index, accent = child
            row[place] = msub(mover(letter, accent, accent="true"), index)


def join_signs(row: MathElement) -> None:
    """A colon and an equals sign are one sign of definition."""
    for colon, equals in list(pairwise(row)):
        if (colon.text, equals.text) == ("∶", "="):
            equals.text = "≔"
            row.remove(colon)


def space_functions(row: MathElement) -> None:
    """A little space between a function's name and what stands beside it, as in "2 log x", if it is no bracket."""
    children = [child for child in row if child.text != APPLY]
    for left, right in list(pairwise(children)):
        beside_name = (is_name(left) and not isinstance(right, mo)) or (is_name(right) and not opens(left))
        if beside_name and row.tag in {"math", "mrow", "mtd", "msqrt"}:
            row.insert(list(row).index(right), mspace(width="0.167em"))


def is_name(element: MathElement) -> bool:
    """Whether it is a word such as log, with or without an index."""
    name = element[0] if element.tag in {"msub", "msup", "msubsup"} else element
    return name.tag == "mi" and len(name.text or "") > 1


def opens(element: MathElement) -> bool:
    """Whether it is an operator that has its own space, or an opening bracket, which needs none."""
    return isinstance(element, mo) and element.text not in CLOSE


def space_sign(operator: mo) -> None:
    """Bars do not grow with what stands beside them, and slashes keep close to it."""
    if operator.text in BARS and not operator.attrib:
        operator.set("stretchy", "false")
    if operator.text in {"/", "|"}:
        operator.attrib.update(lspace="0", rspace="0")


def pieces_of(tex: str) -> Iterator[str]:
    """Inline MathML, cut where a line may end."""
    piece, depth = math(xmlns=XMLNS), 0
    for child in list(tree_of(tex)):
        piece.append(child)
        sign = (child.text or "") if isinstance(child, mo) else ""
        depth += (sign in OPEN) - (sign in CLOSE)
        if depth == 0 and sign in BREAKS_AFTER and len(piece) > 1:
            child.set("form", "infix")
            yield piece.toxml()
            piece = math(xmlns=XMLNS)
    if len(piece):
        yield piece.toxml()


class KeepPunctuation(SphinxPostTransform):
    """What touches a formula, as the comma in "$x$, " and the word in "$x$-best", stays on its line."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Called by Sphinx for every page."""
        for formula in list(self.document.findall(nodes.math)):
            siblings, place = formula.parent.children, formula.parent.index(formula)
            if place + 1 < len(siblings) and isinstance(siblings[place + 1], nodes.Text):
                touching = re.match(r"\S*", siblings[place + 1])[0]
                formula["tail"] = touching
                formula.parent[place + 1] = nodes.Text(siblings[place + 1][len(touching) :])
            if place and isinstance(siblings[place - 1], nodes.Text):
                touching = re.search(r"\S*$", siblings[place - 1])[0]
                formula["head"] = touching
                formula.parent[place - 1] = nodes.Text(siblings[place - 1][: -len(touching) or None])


def write_font(app: Sphinx, failure: Exception | None) -> None:
    """STIX Two Math beside site.css: without a font made for formulas, indices stand on the line."""
    if failure or app.builder.format != "html":
        return
    standard_logging.getLogger("fontTools").setLevel(standard_logging.WARNING)
    options = subset.Options(flavor="woff", layout_features=["ssty", "dtls", "flac"], notdef_outline=True)
    with as_file(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf") as source:
        font = subset.load_font(str(source), options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=[code for first, last in CHARACTERS for code in range(first, last + 1)])
    chosen.subset(font)
    subset.save_font(font, str(app.outdir / "_static" / "formulas.woff"), options)
