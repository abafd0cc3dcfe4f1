"""Help and completion: what someone meets who types --help or presses the tabulator."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from bestchannel.cli import VERBS, app, loaded
from tests.journeys.command import bestchannel

RUN_VERBS = [f"run {name}" for name in loaded("run").commands]


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_the_program_has_the_first_line_of_the_help_of_each_verb(verb):
    assert loaded(verb).help.partition("\n\n")[0] == VERBS[verb]


def test_help_of_the_program_loads_no_verb():
    script = "import sys; from bestchannel.cli import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    text = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert all(summary.split()[0] in text for summary in VERBS.values())
    assert not [
        name for name in text.split() if name.startswith("bestchannel.cli.") and name.split(".")[2] != "terminal"
    ]


@pytest.mark.parametrize("verb", ["", *VERBS, *RUN_VERBS])
def test_an_option_without_a_value_is_shown_as_a_flag(verb):
    text = bestchannel(*verb.split(), "--help").stdout
    assert "--help" in text
    assert "<bool>" not in text


@pytest.mark.parametrize("verb", ["", *VERBS, *RUN_VERBS])
def test_paragraphs_of_help_are_as_wide_as_the_terminal(verb):
    text = bestchannel(*verb.split(), "--help", env={"COLUMNS": "80"}).stdout
    above = re.split(r"\n╭", text)[0].splitlines()[3:]
    for line, following in pairwise(above):
        if line.strip() and following.strip():
            assert len(line.rstrip()) + 1 + len(following.split()[0]) > 78, (line, following)


def suggested(*words):
    """What a shell would offer after these words."""
    environment = {"_BESTCHANNEL_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["bestchannel", *words])}
    environment["COMP_CWORD"] = str(len(words))
    return CliRunner().invoke(app, [], env=environment, prog_name="bestchannel").stdout.split()


def test_completion_offers_verbs_options_topics_and_policies():
    assert suggested("est") == ["estimate"]
    assert suggested("estimate", "--ran") == ["--rank"]
    assert suggested("explain", "rec") == ["recorded-counts"]
    assert suggested("identify", "--policy", "n") == ["naive"]
