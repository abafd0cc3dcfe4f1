"""The pictures of a run that goes on, in docs/images, made anew: python -m tests.browser.live_screenshots

A service, four simulated instruments, and the page of the run: as it begins, half way, and decided.
"""

import tempfile
import threading
import time

from bestchannel.service import Instrument
from tests.browser import chromium
from tests.browser.screenshots import ROOT, write
from tests.service.instruments import ERRORS, counts_of
from tests.service.running import running

HEIGHT = 900


def instrument(url, channel, gate):
    """An instrument that waits at the gate before each batch."""

    def sensing(batch):
        gate.wait()
        time.sleep(0.1)
        yield counts_of(3, batch.request, batch.channel, batch.x, batch.start, batch.count)

    return Instrument(url, [channel], sensing, name=f"bench {channel}")


def until(window, selector, text):
    window.wait_for_function("([s, t]) => document.querySelector(s)?.textContent.includes(t)", arg=[selector, text])


def main():
    gate = threading.Event()
    with tempfile.TemporaryDirectory() as folder, running(folder) as service, chromium.launched() as browser:
        service.create("laboratory", delta=0.05)
        instruments = [instrument(service.url("laboratory"), channel, gate) for channel in ERRORS]
        threads = [threading.Thread(target=each.run) for each in instruments]
        windows = {}
        for name, (width, theme) in {"desk": (1280, "light"), "phone": (390, "dark")}.items():
            windows[name] = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=theme)
            windows[name].set_default_timeout(0)
            windows[name].goto(service.url("laboratory"))
        desk = windows["desk"]
        for thread in threads:
            thread.start()
        until(desk, "#report", "Undecided between")
        until(desk, "#sensors", "relay")
        save(desk, "live-1-begun")
        gate.set()
        for window in windows.values():
            until(window, "#now", "evidence against")
            until(window, "#report", "Capacities")
        gate.clear()
        time.sleep(20.0)  # the report is drawn again
        save(desk, "live-2-under-way")
        save(windows["phone"], "live-phone-dark")
        gate.set()
        until(desk, "#report", "fibre has the largest capacity")
        save(desk, "live-3-decided")
        for each, thread in zip(instruments, threads, strict=True):
            each.stop()
            thread.join()


def save(window, name):
    write(ROOT / "docs" / "images" / f"{name}.png", window.screenshot())


if __name__ == "__main__":
    main()
