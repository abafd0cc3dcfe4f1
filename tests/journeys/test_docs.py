"""The pages are true: what they run runs, from top to bottom, and prints what they show; every link leads somewhere."""

import html
import importlib
import re
import zlib
from functools import cache
from pathlib import Path

import pytest

import bestchannel
from tests.journeys.built_site import build, built
from tests.journeys.page_outputs import blocks, linked, printed_by, renewed, same_line

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = ["tutorial.md"] + [
    f"how-to/{page}.md"
    for page in (
        "ask-another-question",
        "from-file-to-decision",
        "data-formats",
        "measured-outputs",
        "own-sensor",
        "own-policy",
        "report",
        "same-trials",
    )
]
"""Pages run here; that on laboratories has tests of its own."""


@pytest.mark.parametrize("name", RUN)
def test_page_runs_from_top_to_bottom_and_prints_what_it_shows(name, tmp_path, quick_program):
    linked(tmp_path)
    page = (DOCS / name).read_text()
    run, shown = blocks(page)
    assert len(run) > 2
    printed = printed_by(run, tmp_path, quick_program)
    for number, text in shown.items():
        for line in text.splitlines():
            assert any(same_line(line, other) for other in printed[number].splitlines()), (line, printed[number])
    for number, (_, language, text) in enumerate(run):
        for line in re.findall(r"^# (.*)$", text, re.MULTILINE) if language == "python" else []:
            assert line in printed[number].splitlines()


def test_a_line_with_other_words_or_figures_is_noticed():
    assert same_line("best: q3 after 1,817 senses", "best: q3  after 1,820 senses")
    assert not same_line("best: q3 after 1,817 senses", "best: q3 after 1,917 senses")
    assert not same_line("0.5685 … 0.6955", "0.6121 … 0.6552")
    assert not same_line("best: q3 after 1,817 senses", "best: q3 after 18,170 senses")
    assert not same_line("best: q3", "best: q4")
    assert not same_line("best: q3", "undecided")


def test_a_page_is_renewed_by_what_is_printed_now():
    page = "```sh\ncount\n```\n\n```text\nbest: q3 after 1,817 senses\nother words\n```\n"
    expected = page.replace("1,817", "2,010")
    assert renewed(page, ["noise 5\nbest: q3 after 2,010 senses\n"]) == (expected, ["other words"])


IN_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (ROOT.glob("*.md"), DOCS.rglob("*.md"), (ROOT / "data").rglob("*.md"), ROOT.glob("benchmarks/*.md"))
    for path in folder
)


def anchors(page):
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", IN_CODE.sub(lambda code: code[0].strip("`"), page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_nowhere(page, link):
    """Whether a link within the project has no file or no heading at its end."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(name):
    page = ROOT / name
    links = [first or second for first, second in LINK.findall(IN_CODE.sub("", page.read_text()))]
    inner = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in inner if leads_nowhere(page, link)] == []


def test_a_link_to_no_file_or_no_heading_is_noticed():
    page = DOCS / "tutorial.md"
    assert leads_nowhere(page, "nothing.md")
    assert leads_nowhere(page, "#nothing")
    assert not leads_nowhere(page, "index.md")
    assert not leads_nowhere(page, "#sense-where-it-matters")


def test_every_page_can_be_reached_from_the_index():
    reached, open_pages = set(), [DOCS / "index.md"]
    while open_pages:
        page = open_pages.pop().resolve()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            links = LINK.findall(IN_CODE.sub("", page.read_text()))
            targets = [page.parent / first.partition("#")[0] for first, _ in links if first and ":" not in first]
            open_pages += [target for target in targets if target.is_file()]
    assert {path.resolve() for path in DOCS.rglob("*.md")} <= reached


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return built(tmp_path_factory)


def test_site_is_built_without_a_warning_and_has_every_page(site):
    pages = [path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")]
    assert len(pages) > 20
    assert [page for page in pages if not (site / page).exists()] == []


MISTAKES = {
    "[nothing](nothing.md)": "nothing.md",
    "[nothing](#no-heading)": "no-heading",
    "$\\nothing$": 'Unknown LaTeX command "\\nothing"',
    "$\\tfrac12 x$": "brackets make it clear",
    "```{names} bestchannel\nno_name\n```": "no_name",
}
"""Lines of a page, and what the build says about them."""


def test_mistakes_in_a_page_fail_the_build_and_are_named(site, tmp_path):
    source = tmp_path / "docs"
    source.mkdir()
    for part in ("conf.py", "site"):
        (source / part).symlink_to(DOCS / part)
    (source / "index.md").write_text("# Page\n\n" + "\n\n".join(MISTAKES) + "\n")
    run = build(tmp_path / "site", source)
    assert run.returncode != 0
    assert [complaint for complaint in MISTAKES.values() if complaint not in run.stderr] == []


@cache
def described(site):
    """The names that the reference describes, from the list that other sites would link by."""
    listed = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    return {line.split()[0] for line in listed.splitlines() if line.split()[1].startswith("py:")}


@pytest.mark.parametrize("name", ["", ".channels", ".policies", ".sensing", ".runs", ".service", ".testing", ".errors"])
def test_every_public_name_is_in_the_reference(site, name):
    module = importlib.import_module(f"bestchannel{name}")
    public = getattr(module, "__all__", None) or [key for key in vars(module) if not key.startswith("_")]
    names = {f"bestchannel.{key}" if key in bestchannel.__all__ else f"{module.__name__}.{key}" for key in public}
    assert len(names) > 1
    assert names - described(site) == set()


def test_what_pages_import_from_study_is_in_the_reference(site):
    pages = "".join(path.read_text() for path in (DOCS / "how-to").glob("*.md"))
    imports = re.findall(r"from (bestchannel\.study[\w.]*) import (.*)", pages)
    names = {f"{module}.{name}" for module, names in imports for name in names.split(", ")}
    assert len(names) > 3
    assert names - described(site) == set()


def test_a_page_links_the_names_that_it_mentions(site):
    page = (site / "how-to" / "own-sensor.html").read_text(encoding="utf-8")
    assert 'href="../reference/policies.html#bestchannel.policies.OutOfSensesError"' in page
    assert '<a href="../reference/bestchannel.html#bestchannel.identify"' in page


@pytest.mark.parametrize("name", ["tutorial", "how-to/data-formats", "how-to/laboratory", "how-to/own-policy"])
def test_examples_link_the_names_that_they_use(site, name):
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    assert re.search(r'<a href="[^"]*" title="bestchannel\.[\w.]+"><span class="n">\w+</span>', page)


def test_an_index_stands_beside_an_accented_letter(site):
    page = (site / "theory" / "intervals.html").read_text(encoding="utf-8")
    assert re.search(r"<msub><mover accent=.true.><mi>W</mi><mo[^>]*>ˆ</mo></mover><mi>x</mi></msub>", page)
    assert "<munderover><mi>W</mi>" not in page


def test_every_name_of_the_glossary_exists_and_leads_to_the_reference(site):
    rows = re.findall(r"<tr\b.*?</tr>", (site / "glossary.html").read_text(encoding="utf-8"), re.DOTALL)
    cells = [re.findall(r"<td\b.*?</td>", row, re.DOTALL)[-1] for row in rows if "<td" in row]
    assert len(cells) > 40
    linked = r'<a class="reference internal" href="reference/[^"]*" title="bestchannel\.[^"]*">'
    assert [cell for cell in cells if cell.count("<code") != len(re.findall(linked, cell))] == []


PROSE = re.compile(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
FORMULA = re.compile(r"[\u0370-\u03ff\u2070-\u209f\u2200-\u22ff\u0302\u0303ŴĈ⌈⌉⌊⌋²³½¼¾′‖ᵀ]|\w_\w|\w\\\*|\d·\d|[A-Z]\*")


def formulas_in_prose(text):
    """Letters and signs of mathematics outside of $formulas$ and `code`, each with what stands around it."""
    prose = PROSE.sub(" ", text)
    return [prose[max(0, found.start() - 20) : found.end() + 20] for found in FORMULA.finditer(prose)]


@pytest.mark.parametrize("name", sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")))
def test_every_formula_is_typeset(name):
    assert formulas_in_prose((DOCS / name).read_text(encoding="utf-8")) == []


def test_a_formula_that_is_not_typeset_is_noticed():
    for formula in ("(P*, Q*)", "T\\*", "W_x", "√n", "Ŵ", "10⁻⁶", "ε-best", "a ≤ b"):
        assert formulas_in_prose(f"Let {formula} be.")
    assert not formulas_in_prose("Let $W_x$ be `W_x`, *not* 0.5.")


def test_no_formula_is_left_as_tex(site):
    for page in site.rglob("*.html"):
        text = re.sub(r"<(script|pre|code)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\$|\\[a-z]", text), page


def text_of(part):
    """What a reader sees of some HTML or of some Markdown, without formulas, code, quotation marks and spaces."""
    part = re.sub(r"<(math|code)\b.*?</\1>|`[^`\n]*`|\$[^$\n]+\$", "", part, flags=re.DOTALL)
    return re.sub(r"[\s*'\"’“”]+", "", html.unescape(re.sub(r"<[^>]*>", "", part)))


@pytest.mark.parametrize("name", ["adaptive", "intervals", "characteristic-time", "capacity"])
def test_nothing_that_touches_a_formula_is_lost(site, name):
    lines = (DOCS / f"theory/{name}.md").read_text(encoding="utf-8").splitlines()
    page = text_of((site / f"theory/{name}.html").read_text(encoding="utf-8"))
    sentences = [
        re.sub(r"^(\d\.|-)", "", text_of(line)) for line in lines if "$" in line and not re.search(r"\$\$|[|[#<]", line)
    ]
    assert len(sentences) > 5
    assert [sentence for sentence in sentences if sentence not in page] == []


def test_index_leads_to_no_server(site):
    for page in site.rglob("*.html"):
        assert not re.findall(
            r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//", page.read_text(encoding="utf-8")
        )
