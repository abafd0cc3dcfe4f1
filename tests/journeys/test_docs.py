"""The pages are true: what they run runs, from top to bottom, and prints what they show; every link leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = ["tutorial.md", "how-to/own-sensor.md", "how-to/own-policy.md", "how-to/report.md"]
"""Pages run here; those on data formats and on laboratories have tests of their own."""

PREFACE = """
import subprocess
def _run(commands, code):
    run = subprocess.run(["sh", "-ec", commands], stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    assert run.returncode == code, f"exit code {run.returncode} in place of {code}: {commands}"
"""
END_OF_BLOCK = "\x1e"
BLOCK = re.compile(r"(?:<!-- exits with (\d) [^\n]*-->\n)?```(python|sh|text)\n(.*?)```", re.DOTALL)


def blocks(page):
    """[(exit code, language, text)] of what a page runs, and the output that it shows after each."""
    run, shown = [], {}
    for code, language, text in BLOCK.findall(page):
        if language == "text":
            shown[len(run) - 1] = text
        else:
            run.append((int(code or 0), language, text))
    return run, shown


def printed_by(run, folder, bin_folder):
    """What each block prints; all Python of a page is one program."""
    pieces = [text if language == "python" else f"_run({text!r}, {code})\n" for code, language, text in run]
    program = PREFACE + f"print({END_OF_BLOCK!r}, flush=True)\n".join(pieces)
    path = os.pathsep.join([str(bin_folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(END_OF_BLOCK)


NUMBER = re.compile(r"(?<!\w)\d[\d,]*(?:\.\d+)?")


def same_line(shown, printed):
    """The same words, and figures within a factor of 2: the last bit of a machine may move a request."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    figures = [(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs]
    return all(a == b or 0.5 < a / (b or 1e-9) < 2.0 for a, b in figures)


@pytest.mark.parametrize("name", RUN)
def test_page_runs_from_top_to_bottom_and_prints_what_it_shows(name, tmp_path, quick_program):
    for part in ("data", "tests", "src"):
        (tmp_path / part).symlink_to(ROOT / part)
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
    assert not same_line("best: q3 after 1,817 senses", "best: q3 after 18,170 senses")
    assert not same_line("best: q3", "best: q4")
    assert not same_line("best: q3", "undecided")


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


def test_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "site/theory/bounds.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert "$$" not in page
