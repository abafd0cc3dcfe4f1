"""What a refusal proposes can be written as it stands: the verb has the option, and gets past that refusal."""

import ast
import importlib
import inspect
import io
import random
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import bestchannel as bc
from bestchannel.cli.reading import Reading
from tests.journeys.command import bestchannel

VERBS = {
    "estimate": (["estimate"], []),
    "capacity": (["capacity"], []),
    "bound": (["bound"], []),
    "plan": (["plan"], ["--runs", "1", "--epsilon", "5"]),
    "report": (["report"], ["-o", "drawn.html"]),
    "identify --replay": (["identify", "--replay"], []),
    "identify --simulate": (["identify", "--simulate"], ["--max-senses", "10"]),
}
OPTIONS = inspect.signature(Reading).parameters
FLAGS = ("--transpose", "--normalize", "--simulate", "--replay")


def rows(*columns, n=80, sep=","):
    """Senses of two binary channels: c names the channel, m is what was measured, t counts the senses."""
    rng, lines = random.Random(1), []
    for t in range(n):
        x = rng.randrange(2)
        y = x if rng.random() < 0.85 else 1 - x
        cells = {"c": rng.choice("ab"), "x": x, "y": y, "m": f"{2 * x - 1 + rng.gauss(0, 0.5):.5f}", "t": t}
        cells |= {"sent": ("off", "on")[x], "got": ("lost", "heard")[y]}
        lines.append(sep.join(str(cells[column]) for column in columns))
    return "\n".join(lines) + "\n"


def saved(save, *arrays, **options):
    buffer = io.BytesIO()
    save(buffer, *arrays, **options)
    return buffer.getvalue()


STACK = np.arange(1, 9).reshape(2, 2, 2)
BAD = {
    "log without a header.csv": rows("x", "y"),
    "log of channels without a header.csv": rows("c", "x", "y"),
    "numbered log without a header.csv": rows("x", "x", "y"),
    "texts without a header.csv": rows("sent", "got"),
    "texts without a header.txt": rows("sent", "got", sep=" "),
    "counts without a header.csv": "0,0,90\n0,1,10\n1,0,20\n1,1,80\n",
    "named counts without a header.csv": "a,0,0,9\na,0,1,1\na,1,0,2\na,1,1,9\nb,0,0,8\nb,0,1,2\nb,1,0,3\nb,1,1,9\n",
    "measured without a header.csv": rows("x", "m"),
    "measured.csv": "x,y\n" + rows("x", "m", n=400),
    "few measured.csv": "x,y\n" + rows("x", "m", n=60),
    "measured inputs.csv": "x,y\n" + rows("m", "x", n=400),
    "other names.csv": "link,tx,rx\n" + rows("c", "x", "y"),
    "names with spaces.csv": "Tx symbol,Rx symbol\n" + rows("x", "y"),
    "five names.csv": "u,v,w,q,r\n" + "1,a,b,2,3\n" * 4,
    "names that say nothing.csv": "u,v,w,z,q,r,s\n" + "1,a,b,2,a,3,4\n" * 4,
    "either.csv": "x,y\n90,10\n20,80\n",
    "numbered rows.csv": "a,b,c\n0,5,9\n1,7,8\n",
    "numbered.csv": "0,50,9\n1,7,80\n",
    "assignment.json": '{"channels": {"q": [[0.98, 0.035], [0.02, 0.965]], "r": [[0.9, 0.1], [0.2, 0.8]]}}',
    "assignment.csv": "0.98,0.035\n0.02,0.965\n",
    "rounded assignment.csv": "0.982,0.035,0.2\n0.008,0.66,0.3\n0.01,0.304,0.5\n",
    "assignment in rows.csv": "x,y,p\n0,0,0.98\n0,1,.035\n1,0,.02\n1,1,.965\n",
    "off.csv": "0.98,0.03\n0.1,0.9\n",
    "counts.json": '{"channels": {"q": [[98, 3], [2, 96]], "r": [[90, 9], [8, 88]]}}',
    "log.csv": "x,y\n" + rows("x", "y"),
    "log with more columns.csv": "x,y,z\n" + rows("x", "y", "t"),
    "log with a column that may count.csv": "x,y,n\n" + rows("x", "y", "t"),
    "log with a column that may name channels.csv": "model,x,y\n" + rows("c", "x", "y"),
    "outputs side by side.csv": "channel,x,u,v\na,0,9,1\na,1,2,8\nb,0,7,3\nb,1,4,6\n",
    "converter.csv": "x,adc\n" + rows("x", "t"),
    "sensors side by side.csv": "x,sensorA,sensorB\n" + rows("x", "y", "y"),
    "models side by side.csv": "label,svm,tree\n" + rows("x", "y", "y"),
    "counts of R.csv": '"","sent","received","Freq"\n"1","a","a",90\n"2","b","a",5\n"3","a","b",10\n"4","b","b",95\n',
    "log of PsychoPy.csv": "participant,stim,key_resp.keys,key_resp.corr,key_resp.rt\n"
    + rows("c", "sent", "got", "y", "m"),
    "points of the plane.csv": "symbol,I,Q\n" + rows("x", "m", "m"),
    "answers to the same trials.csv": "x,y_a,y_b\n" + rows("x", "y", "y"),
    "rows of the same trials.csv": "trial,channel,x,y\n"
    + "".join(f"{t},{c},{t % 2},{t % 3 % 2}\n" for t in range(30) for c in "ab"),
    "times of secrets.csv": "secret,time_ns\n0,120\n0,130\n1,170\n1,190\n",
    "label that is missing.csv": "x,y\n0,NaN\n0,1\n1,1\n",
    "the other way round.csv": "predicted,cat,dog\ncat,9,2\ndog,1,8\n",
    "strings of bits.txt": "0110101010\n0110111010\n",
    "probabilities.csv": "x,y,p\n0,0,.9\n0,1,.1\n1,0,.2\n1,1,.8\n",
    "stack.mat": saved(savemat, {"links": STACK}),
    "trials.npy": saved(np.save, np.array([[0, 0], [1, 1]] * 20)),
    "trials.json": "[[0, 0], [1, 1], [0, 0], [1, 1], [0, 0], [1, 0]]",
    "printed.txt": "[[98  3]\n [ 2 96]]\n",
}
GIVEN = {
    "few measured.csv": ["--bins", "8"],
    "measured.csv": ["--bins", "8", "--set-aside", "3"],
    "log.csv": ["--bins", "1"],
    "other names.csv": ["--columns", "x,y"],
    "counts.json": ["--design", "joint"],
}
"""Options with which a file is refused for another reason."""


def proposals(message):
    """Every proposal: the options that stand side by side, or the command in back quotes."""
    if "leave it out" in message:
        return
    for command in re.findall(r"`(?:bestchannel )?([a-z]+(?: --[a-z]+(?: [a-z]+)?)?)`", message):
        yield ("command", command)
    text, at = re.sub(r"`[^`]*`", "", message), 0
    while found := re.search(r"--[a-z][a-z-]*", text[at:]):
        start = at + found.start()
        words, at = [], start
        while option := re.match(r"\s*(--[a-z][a-z-]*)(=\S+)?", text[at:]):
            at += option.end()
            words.append(option[1] + (option[2] or "").rstrip(";)"))
            if option[2] is None and option[1] not in FLAGS:
                value = re.match(r" ('[^']*'|[^\s;()]+)", text[at:])
                assert value, f"{option[1]} is proposed without a value: {message}"
                at += value.end()
                words += shlex.split(value[1])
        yield ("options", tuple(words))


@pytest.fixture(autouse=True)
def only_read(monkeypatch):
    """Let verbs end where what they have read would be worked on."""

    def end(*_, **__):
        raise SystemExit(0)

    for work in (
        "cli.measured.estimated",
        "cli.known_channels.capacities_by_name",
        "study.planning.plan",
        "lower_bound.bound.lower_bound",
        "policies.identify",
    ):
        module, _, name = work.rpartition(".")
        monkeypatch.setattr(importlib.import_module(f"bestchannel.{module}"), name, end)


def run(verb, path, *more):
    before, after = VERBS[verb]
    return bestchannel(*before, path.name, *after, *more, cwd=path.parent)


def told(outcome):
    return next((line for line in outcome.stderr.splitlines() if line.startswith("error: ")), "")


def refusals(tmp_path, name):
    """What every verb says of the file, with the options that brought it about."""
    path = tmp_path / name
    content = BAD[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for verb in VERBS:
        for given in ([], GIVEN.get(name, [])):
            if "--design" in given and verb != "estimate":  # which alone has it
                continue
            outcome = run(verb, path, *given)
            assert outcome.returncode != 2, outcome.stderr
            if outcome.returncode == 1:
                yield verb, path, given, told(outcome)


MET = set()


@pytest.mark.parametrize("name", BAD)
def test_proposals_of_every_refusal_are_taken_and_lead_past_it(tmp_path, name):
    for verb, path, given, message in refusals(tmp_path, name):
        MET.add(message)
        for kind, proposal in proposals(message):
            if kind == "command":
                words = proposal.split()
                outcome = run(proposal, path) if proposal in VERBS else run(words[0], path, *words[1:])
            else:
                replaced = {word.partition("=")[0] for word in proposal if word.startswith("--")}
                kept = [] if replaced & {word for word in given if word.startswith("--")} else given
                outcome = run(verb, path, *kept, *proposal)
            assert outcome.returncode != 2, (verb, proposal, outcome.stderr)
            assert told(outcome) != message, (verb, proposal)
            assert "text without a header" not in told(outcome) or "--columns" in given, (verb, proposal, told(outcome))
            assert "leave it out" not in told(outcome), (verb, proposal, told(outcome))


@pytest.mark.parametrize("name", BAD)
def test_python_form_of_a_proposal_leads_past_the_refusal_too(tmp_path, name):
    path = tmp_path / name
    content = BAD[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for read in (bc.read_counts, bc.read_channels, bc.read_trials):
        message = refusal(read, path)
        for options in in_python(message):
            assert refusal(read, path, **options) != message, options


def refusal(read, path, **options):
    try:
        read(path, **options)
    except bc.InputError as error:
        return str(error)
    return ""


def in_python(message):
    """The keywords that a message proposes; the transpose of an array goes with the others."""
    found = re.findall(rf"\b({'|'.join(OPTIONS)})=(\{{.*?\}}|\[.*?\]|[^\s,;)]+)", message)
    given = [{key: ast.literal_eval(value)} for key, value in found]
    if "the transpose, .T" in message:
        return [{"transpose": True} | {key: value for option in given for key, value in option.items()}]
    return given


def test_every_option_that_the_readers_name_was_met_in_a_refusal():
    """Runs after the others: a sentence with an option that no input brings about would be followed by nobody."""
    if len(MET) < 20:
        pytest.skip("the refusals were not collected in this process")
    source, unmet = Path(bc.__file__).parent, []
    for path in [*sorted((source / "counts").glob("*.py")), source / "arrays.py"]:
        for piece in sentences(path):
            if "name them as" in piece:  # MATLAB's complex numbers, which are to be saved in another way first
                continue
            unmet += [(path.name, piece)] * (not any(piece in message for message in MET))
    assert unmet == []


def sentences(path):
    """The fixed parts of texts, other than docstrings, that name an option."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in documentation and isinstance(node.value, str):
            yield from re.findall(r"[\w ]*--[a-z][a-z-]+", node.value)


@pytest.mark.parametrize("verb", ["estimate", "identify", "report", "plan", "bound", "capacity"])
def test_every_verb_with_data_has_every_reading_option(verb):
    shown = bestchannel(verb, "--help", env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')}" in shown, name


def test_assignment_matrix_is_sent_to_its_transpose_and_not_to_normalize(tmp_path):
    A = [[0.8, 0.3], [0.2, 0.7]]
    (tmp_path / "A.json").write_text(f'{{"channels": {{"q": {A}}}}}')
    for more in ([], ["--normalize"]):
        outcome = bestchannel("capacity", "A.json", *more, cwd=tmp_path)
        assert outcome.returncode == 1
        assert "--transpose" in outcome.stderr
    for normalize in (False, True):
        with pytest.raises(bc.InputError, match=r"the columns do sum to 1.*\.T\)"):
            bc.capacity(A, normalize=normalize)
    assert bestchannel("capacity", "A.json", "--transpose", cwd=tmp_path).returncode == 0
