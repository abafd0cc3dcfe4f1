r"""The TeX of the pages as text that a terminal shows: $\hat W_x \le 10^{-6}$ becomes Ŵ_x ≤ 10⁻⁶."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}_^&]|\s+|.", re.DOTALL)

EMPHASIS = re.compile(r"`[^`\n]*`|\*\*(\S.*?)\*\*|\*(\S.*?)\*", re.DOTALL)

GREEK = r"\alpha α \beta β \gamma γ \delta δ \zeta ζ \eta η \theta θ \kappa κ \lambda λ \mu μ \nu ν \xi ξ \pi π \rho ρ"
GREEK += r" \Lambda Λ \sigma σ \tau τ \varepsilon ε \varphi φ \psi ψ \omega ω \Delta Δ \Gamma Γ \ell ℓ"
SIGNS = (
    r"\le ≤ \ge ≥ \ne ≠ \in ∈ \notin ∉ \approx ≈ \propto ∝ \pm ± \times × \cdot · \sum Σ \prod Π \partial ∂ \exists ∃"
)
SIGNS += r" \infty ∞ \ast * \top ᵀ \square ∎ \ldots … \leftarrow ← \Leftrightarrow ⇔ \Vert ‖ \lvert | \rvert | \mid |"
SIGNS += r" \lbrace { \rbrace } \lceil ⌈ \rceil ⌉ \langle ⟨ \rangle ⟩ \log log \max max \min min \exp exp \inf inf"
SIGNS += r" \cos cos \sin sin \arg arg \Pr Pr"
LISTED = f"{GREEK} {SIGNS}".split()
SPACES = dict.fromkeys((r"\left", r"\right", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"), "") | {
    "\\,": " ",
    "\\quad": "   ",
    "\\qquad": "   ",
    "\\\\": "; ",
}
COMMANDS = dict(zip(LISTED[::2], LISTED[1::2], strict=True)) | SPACES
"""What stands for a command without an argument."""

WORDS = ("log", "max", "min", "exp", "inf", "cos", "sin", "arg")
APART = (*WORDS, "Σ", "Π")
"""What is set apart from a letter or a bracket before it; words also from a letter after them."""

ACCENTS = {r"\hat": "\u0302", r"\tilde": "\u0303", r"\bar": "\u0304"}
PLAIN = (r"\mathrm", r"\mathbf", r"\mathcal", r"\text")
RAISED = dict(zip("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", strict=True))
LOWERED = dict(zip("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋", strict=True))


def readable(page: str) -> str:
    """A page of Markdown with its formulas in Unicode, displayed ones indented, and without signs of emphasis."""
    page = EMPHASIS.sub(lambda found: found[0] if found[0].startswith("`") else found[1] or found[2], page)
    return FORMULA.sub(lambda found: f"    {_text(found[1])}" if found[1] else _text(found[2]), page)


def _text(formula: str) -> str:
    r"""A formula as text.

    >>> _text(r"\tfrac{1}{2} \sqrt{g/n} \log(1/\delta_r) \le C^\ast")
    '1/2 √(g/n) log(1/δ_r) ≤ C*'
    """
    text = "".join(_parts(iter(TOKEN.findall(formula.strip()))))
    for pattern, instead in ((r"(?<! )  (?! )", " "), (r" {4,}", "   "), (r"\s+(?=[,.)])|(?<=×) | (?=×)", "")):
        text = re.sub(pattern, instead, text)
    return text


def _parts(tokens: Iterator[str]) -> Iterator[str]:
    """The pieces of a formula up to its end or to the end of its group."""
    before = ""
    for token in tokens:
        if token == "}":
            return
        piece = _piece(token, tokens)
        touching = re.match(r"[\w)]", before[-1:]) if piece in APART else before in WORDS and piece[:1].isalnum()
        yield f" {piece}" if touching else piece
        before = piece


def _piece(token: str, tokens: Iterator[str]) -> str:
    if token == "{":
        return "".join(_parts(tokens))
    if token in "_^":
        return _script(token, _argument(tokens))
    if not token.startswith("\\"):
        return "if " if token == "&" else token
    return _command(token, lambda: _argument(tokens))


def _command(name: str, argument: Callable[[], str]) -> str:
    if name in ACCENTS:
        return unicodedata.normalize("NFC", argument() + ACCENTS[name])
    if name in PLAIN:
        return argument()
    if name in (r"\frac", r"\tfrac"):
        above, below = argument(), argument()
        return f"{_grouped(above)}/{_grouped(below)}"
    if name == r"\overline":
        return f"conj({argument()})"
    if name == r"\sqrt":
        return f"√{_grouped(argument())}"
    if name in (r"\begin", r"\end"):  # cases alone
        argument()
        return "{ " if name == r"\begin" else " }"
    return COMMANDS[name]


def _argument(tokens: Iterator[str]) -> str:
    token = next(tokens)
    while token.isspace():
        token = next(tokens)
    return _piece(token, tokens)


def _script(sign: str, content: str) -> str:
    """An index or an exponent: digits raised or lowered, letters after the sign."""
    table = RAISED if sign == "^" else LOWERED
    if all(letter in table for letter in content):
        return "".join(table[letter] for letter in content)
    if sign == "^" and content in "*ᵀ":
        return content
    bare = content.isalnum() and (sign == "_" or len(content) == 1)
    return f"{sign}{content}" if bare else f"{sign}({content})"


def _grouped(content: str) -> str:
    """The content, in brackets unless it is a number, or one letter with its marks, index and exponent."""
    return content if re.fullmatch(r"\d+|\w[\u0302-\u0304]?(_\w+)?[*₀-₉]*[²³⁰-⁹]*", content) else f"({content})"
