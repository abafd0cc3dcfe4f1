"""The page of large studies: written from what has been run, in pieces, by `make statistics`."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "make_statistics.py"

SPEC = """
seed = 1
runs = 4
deltas = [0.1]
[[policies]]
policy = "adaptive"
[[instances]]
name = "easy"
family = "useless-rivals"
gap = 0.3
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, in a project with small studies."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("make_statistics", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_statistics", module)
    spec.loader.exec_module(module)
    (tmp_path / "studies").mkdir()
    (tmp_path / "docs").mkdir()
    for name in module.STUDIES:
        (tmp_path / "studies" / f"{name}.toml").write_text(SPEC)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PAGE", tmp_path / "docs" / "statistics.md")
    return module


def run(script, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["make_statistics.py", *arguments])
    script.main()
    return script.PAGE.read_text(encoding="utf-8")


def test_page_shows_what_was_run_and_says_what_was_not(script, monkeypatch):
    page = run(script, monkeypatch, "paper", "--workers", "1")
    assert "| easy | 0.1 | 4 | adaptive |" in page
    assert (
        page.count("Not run yet.") == len(script.STUDIES) + 1
    )  # with those of recorded counts, without the one that was run
    assert "cores" in page


def test_page_keeps_the_tables_of_studies_that_were_run_elsewhere(script, monkeypatch):
    script.PAGE.write_text("# Statistics\n\n## More letters\n\nfrom elsewhere\n\n## Low noise\n\nolder\n")
    page = run(script, monkeypatch, "low_noise", "--workers", "1")
    assert "## More letters\n\nfrom elsewhere" in page
    assert "older" not in page


def test_page_says_how_often_the_best_was_ruled_out_and_what_is_to_spare(script, monkeypatch):
    # 0 of 4 runs: the frequency is at most 1 - 0.05^(1/4) at 95 %, 1 - 0.025^(1/4) where both ends are given
    spare = 0.1 / (1 - 0.025**0.25)
    row = f"| easy | 0.1 | 4 | adaptive | 100.0% | 0 | 4 | 0.53 | kept | above {spare:.2f} | above {math.log(spare):.2f} |"
    assert row in run(script, monkeypatch, "power", "--workers", "1")


def test_page_of_an_interrupted_study_says_how_far_it_got(script, monkeypatch):
    def interrupted(study, journal, **_):
        journal.add([study.run(0, 0)])
        raise KeyboardInterrupt

    monkeypatch.setattr(script, "conduct", interrupted)
    assert "| easy | 0.1 | 1 of 4 so far |" in run(script, monkeypatch, "efficiency")


def test_every_study_of_the_page_exists(script):
    assert {path.stem for path in (SCRIPT.parents[1] / "studies").glob("*.toml")} > set(script.STUDIES)
