"""A real browser: Debian's Chromium, driven by playwright, which downloads none of its own."""

import shutil
from contextlib import contextmanager
from importlib.util import find_spec

QUIET = [
    "--no-sandbox",  # root, as on CI, gets no sandbox
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def program():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def missing():
    """What keeps browser checks from running, in one sentence; nothing where they can."""
    if program() is None:
        return "browser checks skipped: there is no Chromium (apt-get install chromium)"
    return "" if find_spec("playwright") else "browser checks skipped: there is no playwright (make .venv/developer)"


@contextmanager
def launched():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program(), args=QUIET, timeout=0)
        yield running
        running.close()
