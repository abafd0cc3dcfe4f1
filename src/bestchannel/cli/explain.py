r"""`bestchannel explain TOPIC`: what is promised, in a few lines or with the proof, from the pages of the package.

The TeX of the pages becomes text that a terminal shows: $\hat W_x \le 10^{-6}$ is Ŵ_x ≤ 10⁻⁶.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from bestchannel.cli import options, terminal, verb
from bestchannel.errors import InputError

WITHIN = "the named channel is within epsilon of the best, wrong with probability at most delta"

TOPICS = {  # the page of each topic, and what it promises
    "adaptive": ("adaptive", "the named channel is the best, wrong with probability at most delta, however it sensed"),
    "questions": ("questions", "what is said of a level, the best m, an order or a size is wrong at most delta"),
    "best-chan-id": ("best-chan-id", "the named channel is the best, wrong with probability at most delta"),
    "naive": ("naive-chan-sel", WITHIN),
    "median": ("median-chan-el", WITHIN),
    "estimate": ("intervals", "all intervals hold together and at all times, wrong with probability at most delta"),
    "recorded-counts": (
        "recorded-counts",
        "intervals, verdict and order hold where nobody chose numbers of senses by looking at outputs",
    ),
    "joint-trials": (
        "joint-trials",
        "intervals, verdict and order hold for channels that answer the same trials, however their answers depend",
    ),
    "checks": ("drift-and-memory", "if channels neither change nor remember, at most 1 file in 100 gets a warning"),
    "capacity": ("capacity", "the capacity lies between its lower and its upper bound"),
    "bound": (
        "characteristic-time",
        "no policy that errs with probability at most delta takes fewer senses on average",
    ),
    "theorem-4": ("theorem-4", "the paper's lower bound on the senses of every policy"),
    "paper-bounds": ("bounds", "how far the capacity of an empirical channel is from the true one"),
    "verify": ("certificate", "a record that is found valid proves what it claims"),
    "study": ("study", "what the numbers of a study are, and how sure they are"),
}

ENTRY = re.compile(r"^\*\*\[(\w+)\]\*\* .+$", re.MULTILINE)  # what the bibliography has for a key
# the words of a link to another page, the folders on the way to it, and its name
LINK = re.compile(r"\[([^][]+)\]\(((?:\.\./|[\w-]+/)*)([\w-]+)\.md(?:#[^)]*)?\)")
SUMMARY = re.compile(r"^\*\*In short\.\*\* (.+?)\n\n", re.MULTILINE | re.DOTALL)  # with which every page begins
PAPER = "EBWGW24"  # the key of "the paper" of every page
COLUMNS, PACKAGE = 80, Path(__file__).parents[1]


@verb("Example: bestchannel explain adaptive")
def explain(
    topic: str | None = typer.Argument(
        None,
        help="What a guarantee cites; without one, the topics are listed.",
        autocompletion=lambda incomplete: [name for name in TOPICS if name.startswith(incomplete)],
    ),
    full: bool = options.flag("Print the theorem with its proof as well.", "--full"),
) -> None:
    """Say what is promised and what it rests on, in a few lines; with --full, prove it."""
    if topic is None:
        listed = [{"topic": name, "promise": words} for name, (_, words) in TOPICS.items()]
        width = max(map(len, TOPICS))
        lines = [f"{name:{width}}  {words}" for name, (_, words) in TOPICS.items()]
        terminal.answer({"topics": listed}, lambda: terminal.say(*lines))
        return
    explanation = explained(topic)

    def show() -> None:
        print(f"{explanation['topic']}: {explanation['promise']}\n")
        if full:
            print(readable("\n\n".join([explanation["text"], "## References", *explanation["references"].values()])))
        else:
            print(textwrap.fill(readable(explanation["summary"]), COLUMNS, break_on_hyphens=False))
            print(f"\nThe theorem and its proof: bestchannel explain {explanation['topic']} --full")

    terminal.answer(explanation, show)


def explained(topic: str) -> dict[str, Any]:
    """The page of a topic (or of the name that links give the page) with the works that it cites."""
    name = topic if topic in TOPICS else {page: name for name, (page, _) in TOPICS.items()}.get(topic)
    if name is None:
        raise InputError(f"the topic must be one of {', '.join(TOPICS)}; it is {topic!r}")
    page, promise = TOPICS[name]
    installed = PACKAGE / "pages"
    pages = installed if installed.is_dir() else PACKAGE.parents[1] / "docs"  # of the source, in an editable install
    text = LINK.sub(_command_of, (pages / "theory" / f"{page}.md").read_text(encoding="utf-8")).rstrip()
    summary = SUMMARY.search(text)
    assert summary is not None, page
    works = ENTRY.finditer((pages / "bibliography.md").read_text(encoding="utf-8"))
    return {
        "topic": name,
        "title": text.partition("\n")[0].removeprefix("# "),
        "promise": promise,
        "summary": " ".join(summary[1].split()),
        "text": text,
        "references": {work[1]: work[0] for work in works if work[1] == PAPER or re.search(rf"\b{work[1]}\b", text)},
    }


def _command_of(link: re.Match[str]) -> str:
    """A link between pages as the command that prints the other one; other pages are not part of the package."""
    words, folder, page = link.groups()
    return words if folder else f"{words} (bestchannel explain {page})"


FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}_^&]|\s+|.", re.DOTALL)
EMPHASIS = re.compile(r"`[^`\n]*`|\*\*(\S.*?)\*\*|\*(\S.*?)\*", re.DOTALL)

GREEK = r"\alpha α \beta β \gamma γ \delta δ \zeta ζ \eta η \theta θ \kappa κ \lambda λ \mu μ \nu ν \xi ξ \pi π \rho ρ"
GREEK += r" \Lambda Λ \sigma σ \tau τ \varepsilon ε \varphi φ \psi ψ \omega ω \Delta Δ \Gamma Γ \ell ℓ"
SIGNS = r"\to → \le ≤ \ge ≥ \ne ≠ \in ∈ \approx ≈ \propto ∝ \pm ± \times × \cdot · \sum Σ \prod Π \partial ∂ \exists ∃"
SIGNS += r" \infty ∞ \ast * \top ᵀ \square ∎ \ldots … \leftarrow ← \Leftrightarrow ⇔ \Vert ‖ \lvert | \rvert | \mid |"
SIGNS += r" \lbrace { \rbrace } \lceil ⌈ \rceil ⌉ \langle ⟨ \rangle ⟩ \log log \max max \min min \exp exp \inf inf"
SIGNS += r" \int ∫ \cos cos \sin sin \arg arg \Pr Pr \notin ∉ \to → \dots …"
LISTED = f"{GREEK} {SIGNS}".split()
SPACES = dict.fromkeys((r"\left", r"\right", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"), "")
SPACES |= {"\\,": " ", "\\quad": "   ", "\\qquad": "   ", "\\\\": "; "}
COMMANDS = dict(zip(LISTED[::2], LISTED[1::2], strict=True)) | SPACES  # what stands for a command without an argument
# what is set apart from a letter or a bracket before it; words also from a letter after them
WORDS = ("log", "max", "min", "exp", "inf", "cos", "sin", "arg")
APART = (*WORDS, "Σ", "Π")
ACCENTS = {r"\hat": "\u0302", r"\tilde": "\u0303", r"\bar": "\u0304"}
PLAIN = (r"\mathrm", r"\mathbf", r"\mathcal", r"\text")
RAISED = dict(zip("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", strict=True))
LOWERED = dict(zip("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋", strict=True))


def readable(page: str) -> str:
    """A page of Markdown with its formulas in Unicode, displayed ones indented, and without signs of emphasis."""
    page = EMPHASIS.sub(lambda match: match[0] if match[0].startswith("`") else match[1] or match[2], page)
    return FORMULA.sub(lambda match: f"    {_text(match[1])}" if match[1] else _text(match[2]), page)


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
    if token in ACCENTS:
        return unicodedata.normalize("NFC", _argument(tokens) + ACCENTS[token])
    if token in PLAIN:
        return _argument(tokens)
    if token in (r"\frac", r"\tfrac"):
        above, below = _argument(tokens), _argument(tokens)
        return f"{_grouped(above)}/{_grouped(below)}"
    if token == r"\overline":
        return f"conj({_argument(tokens)})"
    if token == r"\sqrt":
        return f"√{_grouped(_argument(tokens))}"
    if token in (r"\begin", r"\end"):  # cases alone
        _argument(tokens)
        return "{ " if token == r"\begin" else " }"
    return COMMANDS[token]


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
