"""A policy of somebody else's package, by its name: identified with, stored, resumed, studied and reported."""

import json
import os
import re
import sys

import pytest
from typer.testing import CliRunner

from bestchannel import runs
from bestchannel.cli import app
from tests.journeys.command import process_of

ELIMINATION = '''
import numpy as np
import bestchannel as bc


class Elimination(bc.Policy):
    """Every candidate equally often, more often each round; drops what is proved to be worse."""

    name = "elimination"

    def __init__(self, alphabets, *, delta, first=32, growth=2.0):
        self.first, self.growth = first, growth
        super().__init__(alphabets, delta=delta)

    @property
    def guarantee(self):
        return f"the named channel is the best with probability at least {1 - self.delta:g} [their page]"

    def _script(self):
        counts = {channel: np.zeros(size, dtype=int) for channel, size in enumerate(self.alphabets) if min(size) > 1}
        self.candidates = tuple(counts) or (0,)
        senses = self.first
        while len(self.candidates) > 1:
            answer = yield {channel: (int(senses),) * self.alphabets[channel][0] for channel in self.candidates}
            counts = {channel: table + answer.get(channel, 0) for channel, table in counts.items()}
            tables = {str(channel): table for channel, table in counts.items()}
            intervals = bc.estimate(tables, delta=self.delta, design="adaptive")
            floor = max(interval.lower for interval in intervals.channels)
            self.candidates = tuple(c for c in self.candidates if intervals[str(c)].upper >= floor)
            senses *= self.growth
        return self.candidates[0]
'''

UNFIT = """
import bestchannel as bc

A_NUMBER = 3


class NoPolicy:
    pass


class Unfinished(bc.Policy):
    name = "unfinished"


class Nameless(bc.Policy):
    guarantee = "none"

    def _script(self):
        return 0
        yield


class Strict(Nameless):
    name = "strict"

    def __init__(self, alphabets, *, delta, width):
        if width > 3:
            raise RuntimeError("too wide")
        super().__init__(alphabets, delta=delta)


class Keeping(Nameless):
    name = "keeping"

    def __init__(self, alphabets, *, delta, what=None):
        self.what = {1, 2} if what == "set" else what
        super().__init__(alphabets, delta=delta)


class Other(Nameless):
    name = "other"

    def __init__(self, alphabets, *, delta):
        super().__init__(alphabets, delta=delta / 2)


class Speechless(Nameless):
    name, guarantee = "speechless", None
"""

STUDY = """
seed = 1
runs = 3
deltas = [0.1]
[[policies]]
policy = "radio.elimination:Elimination"
first = 64
[[instances]]
channels = "links.json"
"""

LINKS = {"cable": [[0.95, 0.05], [0.05, 0.95]], "radio": [[0.7, 0.3], [0.3, 0.7]]}
NAME = "radio.elimination:Elimination"
CHOSEN = ("--policy", NAME, "--policy-option", "first=64", "--policy-option", "growth=1.5")


@pytest.fixture
def folder(tmp_path):
    """A folder with the package, channels and a study."""
    package = tmp_path / "site" / "radio"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "elimination.py").write_text(ELIMINATION)
    (package / "unfit.py").write_text(UNFIT)
    (package / "broken.py").write_text("import no_such_library\n")
    (package / "ending.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "links.json").write_text(json.dumps({"channels": LINKS}))
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def command(folder, *arguments):
    path = os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])
    return process_of(*arguments, cwd=folder, env=os.environ | {"PYTHONPATH": path})


def test_policy_of_another_package_runs_is_kept_resumed_and_reported(folder):
    simulated = ("identify", "--simulate", "links.json", *CHOSEN, "--seed", "4", "--json")
    whole = command(folder, *simulated)
    result = json.loads(whole.stdout)
    assert whole.returncode == 0, whole.stderr
    assert (result["best"], result["policy"]) == ("cable", NAME)
    assert result["audit"]["options"] == {"first": 64, "growth": 1.5}
    assert result["guarantee"] == "the named channel is the best with probability at least 0.95 [their page]"

    half = str(result["senses"] // 2)
    assert command(folder, *simulated, "--run", "links.db", "--max-senses", half).returncode == 3
    assert json.loads(command(folder, "run", "status", "links.db", "--json").stdout)["policy"] == NAME
    resumed = command(folder, "run", "resume", "links.db", "--max-senses", "10000000", "--json")
    del result["source"]  # a run says it itself
    assert json.loads(resumed.stdout) == result

    (folder / "result.json").write_text(whole.stdout)
    for source in ("links.db", "result.json"):
        assert command(folder, "report", source, "-o", "report.html").returncode == 0
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert f"--policy {NAME} --delta 0.05 --policy-option first=64 --policy-option growth=1.5" in page
        assert "bestchannel verify" not in page

    verified = command(folder, "verify", "result.json")
    assert verified.returncode == 3
    assert f"it is '{NAME}'" in verified.stdout


def test_policy_of_another_package_is_studied_by_several_processes(folder):
    study = command(folder, "study", "study.toml", "-o", "results", "--workers", "2", "--json")
    (condition,) = json.loads(study.stdout)["cells"]
    assert (condition["policy"], condition["runs"], condition["wrong"]) == ("elimination", 3, 0)


def test_laboratory_can_use_it(folder):
    (folder / "alphabets.json").write_text(json.dumps({"channels": {"cable": [2, 2], "radio": [2, 2]}}))
    begun = command(folder, "run", "new", "lab.db", "--alphabets", "alphabets.json", *CHOSEN, "--json")
    assert [row["count"] for row in json.loads(begun.stdout)["senses"]] == [64] * 4
    assert command(folder, "run", "ask", "lab.db", "--json").stdout == begun.stdout


def test_run_of_a_package_that_is_gone_says_what_to_install(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder / "site")
    run = CliRunner().invoke(
        app, ["identify", "--simulate", str(folder / "links.json"), *CHOSEN, "--run", str(folder / "links.db")]
    )
    assert run.exit_code == 0
    monkeypatch.setitem(sys.modules, "radio.elimination", None)
    with pytest.raises(
        ValueError, match=re.escape(f"the policy of the run cannot be made: the policy {NAME} cannot be imported")
    ):
        runs.view(folder / "links.db")


REFUSED = {
    "no module": (["nowhere.at:All"], "the policy nowhere.at:All cannot be imported (ModuleNotFoundError: No module named 'nowhere'); install its package, or put its folder on PYTHONPATH"),
    "a module that fails": (["radio.broken:Policy"], "cannot be imported (ModuleNotFoundError: No module named 'no_such_library')"),
    "a module that ends the program": (["radio.ending:Policy"], "cannot be imported (SystemExit: 0)"),
    "no such class": (["radio.unfit:Absent"], "the policy radio.unfit:Absent must be in the module radio.unfit; there is none"),
    "no class": (["radio.unfit:A_NUMBER"], "must be a class derived from bestchannel.Policy; it is 3"),
    "another class": (["radio.unfit:NoPolicy"], "must be a class derived from bestchannel.Policy; it is <class 'radio.unfit.NoPolicy'>"),
    "lacks methods": (["radio.unfit:Unfinished"], "must define name, guarantee and _script; it lacks _script, guarantee"),
    "lacks a name": (["radio.unfit:Nameless"], "must define name, guarantee and _script; it lacks name"),
    "no module named": ([":Elimination"], "cannot be imported (ValueError: Empty module name)"),
    "lacks an option": (["radio.unfit:Strict"], "the policy radio.unfit:Strict requires the option width; give it"),
    "refuses an option": (["radio.unfit:Strict", "width=4"], "the policy radio.unfit:Strict cannot be made (RuntimeError: too wide)"),
    "forgets an option": (["radio.unfit:Strict", "width=2"], "must keep its option width as an attribute of that name"),
    "an option that is no JSON": (["radio.unfit:Keeping", "what=set"], "the option what of the policy radio.unfit:Keeping must be a value of JSON; it is {1, 2}"),
    "an option that is no number": (["radio.unfit:Keeping", "what=NaN"], "must be a value of JSON; it is nan"),
    "an unknown option": ([NAME, "second=1"], f"the policy {NAME} has no option second, it has first, growth; leave it out"),
    "another delta": (["radio.unfit:Other"], "must promise the delta and epsilon that it is given; it has others"),
    "a guarantee that is no text": (["radio.unfit:Speechless"], "the guarantee of the policy radio.unfit:Speechless must be a text; it is None"),
    "one option twice": ([NAME, "first=1", "first=2"], "--policy-option must name each option once; first is given twice"),
    "no pair": ([NAME, "first"], "--policy-option must look like margin=0.1; it is 'first'"),
    "delta as an option": ([NAME, "delta=0.1"], "--policy-option is for what a policy has beyond delta; give --delta"),
    "a parameter of ours": ([NAME, "alphabets=1"], f"the policy {NAME} has no option alphabets"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_missing_is_said_in_one_sentence(arguments, sentence, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder / "site")
    for module in [name for name in sys.modules if name.startswith("radio")]:
        monkeypatch.delitem(sys.modules, module)
    policy, *options = arguments
    given = [word for option in options for word in ("--policy-option", option)]
    run = CliRunner().invoke(app, ["identify", "--simulate", str(folder / "links.json"), "--policy", policy, *given])
    assert run.exit_code == 1
    assert run.stdout == ""
    assert sentence in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1


def test_option_with_a_flag_of_its_own_is_given_once(folder):
    links = str(folder / "links.json")
    run = CliRunner().invoke(app, ["identify", "--simulate", links, "--epsilon", "0.1", "--policy-option", "epsilon=0"])
    assert run.exit_code == 1
    assert "epsilon must be given once; it is in --epsilon and in --policy-option" in run.stderr
