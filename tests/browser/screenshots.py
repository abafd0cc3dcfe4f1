"""The screenshots in docs/images, made anew: python -m tests.browser.screenshots

The report on the demonstration of `make demo`, which must have run, at two widths and in both themes; and terminals,
from what the commands really print.
"""

import os
import re
import subprocess
import sys
from io import BytesIO, StringIO
from pathlib import Path

from PIL import Image  # comes with matplotlib
from rich.console import Console
from rich.text import Text

from bestchannel.report.page import page
from bestchannel.runs import read_run
from tests.browser import chromium

ROOT = Path(__file__).parents[2]
VIEWS = {
    "report-desk-light": (1280, "light", 1150),
    "report-phone-light": (390, "light", 1680),
    "report-phone-dark": (390, "dark", 1680),
}
"""Name: width, theme, and how much of the page from its top."""

COLOURS = 128
"""Of a palette, which is plenty for a page with one accent and keeps files small."""


SESSION = [
    "bestchannel identify --simulate data/ibm_readout/rochester.json --delta 0.01 --seed 1",
    "bestchannel run status build/demo.db",
    "bestchannel report build/demo.db -o build/report.html",
]


def main():
    pages()
    save_terminal("terminal-identify", "\n".join(f"$ {line}\n{printed(line).stdout}" for line in SESSION))


def printed(line):
    """The command run as if on a terminal of 80 columns."""
    program, *arguments = line.split()
    command = [sys.executable, "-m", program, *arguments]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm-256color"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)


def save_terminal(name, ansi):
    console = Console(record=True, width=80, file=StringIO())
    console.print(Text.from_ansi(ansi.strip()))
    path = ROOT / "docs" / "images" / f"{name}.svg"
    drawing = console.export_svg(title="bestchannel", unique_id=name)
    drawing = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)  # a picture that fetches no font
    path.write_text(drawing, encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def pages():
    source = ROOT / "build" / "demo.db"
    if not source.exists():
        sys.exit("build/demo.db is missing; make demo first")
    report = ROOT / "build" / "report.html"
    report.write_text(page(read_run(source)), encoding="utf-8")
    with chromium.launched() as browser:
        for name, (width, theme, height) in VIEWS.items():
            window = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            window.goto(report.as_uri())
            write(ROOT / "docs" / "images" / f"{name}.png", window.screenshot())


def write(path, png):
    image = Image.open(BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
