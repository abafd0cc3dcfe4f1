"""What the pages of docs/ print: found by running them, compared with what they show, and put into them anew.

python -m tests.journeys.page_outputs docs/tutorial.md docs/how-to/measured-outputs.md
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

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
    """The same words, and figures within 2 %: the last bit of a machine may move a request."""
    if words_of(shown) != words_of(printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    figures = [(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs]
    return all(abs(a - b) <= 0.02 * max(a, b) for a, b in figures)


def words_of(line):
    """A line without its figures and its spaces."""
    return NUMBER.sub("#", line).split()


def renewed(page, printed):
    """The page with the figures that its blocks print now, and the lines for which none has the words."""
    lost, run = [], -1

    def block(found):
        nonlocal run
        if found[2] != "text":
            run += 1
            return found[0]
        now = {tuple(words_of(line)): line for line in printed[run].splitlines()}
        lines = found[3].splitlines()
        lost.extend(line for line in lines if tuple(words_of(line)) not in now)
        shown = [now.get(tuple(words_of(line)), line).rstrip() for line in lines]
        return found[0].replace(found[3], "".join(f"{line}\n" for line in shown))

    return BLOCK.sub(block, page), lost


def linked(folder):
    """The folder, in which pages are run, with what they speak of."""
    for part in ("data", "tests", "src"):
        (folder / part).symlink_to(ROOT / part)


def main(paths):
    """Put into pages what they print on this machine."""
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as name:
            linked(Path(name))
            text, lost = renewed(path.read_text(), printed_by(blocks(path.read_text())[0], Path(name), Path(name)))
        path.write_text(text)
        print(f"{path}: renewed", *(f"not printed: {line}" for line in lost), sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
