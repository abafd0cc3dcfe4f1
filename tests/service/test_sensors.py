"""Instruments: programs that die, stutter or talk too much, and functions in Python, against a real service."""

import itertools
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from bestchannel.errors import BestChannelError, InputError
from bestchannel.service.instrument import Batch, Instrument, Program, ProgramError, sender, vector_sender
from bestchannel.service.link import Address, NotPermittedError, Outbox
from tests.journeys.command import bestchannel
from tests.service.instruments import CHANNELS
from tests.service.running import TOKEN, running, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("sensors"), "--lease", "1") as service:
        yield service


@pytest.fixture
def program(tmp_path):
    """A program made from lines of Python, as an instrument."""
    noted, stop = [], threading.Event()
    made = []

    def make(text, **options):
        path = tmp_path / "instrument.py"
        path.write_text(textwrap.dedent(text))
        made.append(Program([sys.executable, "-S", str(path)], noted.append, stop, **options))
        return made[-1]

    make.noted = noted
    yield make
    for each in made:
        each.close()


def batch(count, x="1", channel="cable", start=0):
    return Batch("lab", 1, channel, x, start, count, ("0", "1"))


def outputs(program, *arguments, **options):
    return [y for chunk in program.sense(batch(*arguments, **options)) for y in chunk]


ECHO = """
    import sys
    for line in sys.stdin:
        print(line.strip(), flush=True)
    """


def test_a_program_answers_line_by_line(program):
    echo = program(ECHO)
    assert outputs(echo, 5000) == ["1"] * 5000
    assert outputs(echo, 3, x="0") == ["0"] * 3


def test_symbols_longer_than_a_pipe_holds_do_no_harm(program):
    long = "x" * 200
    assert outputs(program(ECHO), 3000, x=long) == [long] * 3000


def test_a_program_that_does_not_flush_is_answered_when_python_runs_it(program):
    assert outputs(program(ECHO.replace(", flush=True", "")), 5) == ["1"] * 5


def test_a_program_of_several_channels_is_told_which(program):
    assert outputs(program(ECHO, names_channel=True), 2, channel="radio") == ["radio\t1"] * 2


def test_a_program_that_dies_is_started_again_and_its_answers_count(program, tmp_path):
    dying = program(
        """
        import sys
        for i, line in zip(range(7), sys.stdin):
            print(i, flush=True)
        sys.exit(9)
        """
    )
    assert outputs(dying, 20) == [str(i % 7) for i in range(20)]
    assert [note for note in program.noted if "exit code 9" in note]


def test_a_program_that_ends_before_it_is_written_to_is_started_again(program, monkeypatch):
    monkeypatch.setattr("bestchannel.service.instrument.FIRST_PAUSE_S", 0.0)
    gone = program("import sys; sys.exit(1)")
    gone._started().wait()  # lines for it cannot be written, and stay in the buffer
    with pytest.raises(ProgramError, match="10 times without an answer"):
        outputs(gone, 5)


def test_a_program_that_never_answers_is_given_up(program, monkeypatch):
    monkeypatch.setattr("bestchannel.service.instrument.FIRST_PAUSE_S", 0.0)
    with pytest.raises(ProgramError, match="10 times without an answer"):
        outputs(program("import sys; sys.exit(1)"), 5)


def test_a_program_that_writes_more_than_it_is_asked_is_refused(program):
    chatty = program(
        """
        import sys
        for line in sys.stdin:
            print(line.strip() + "\\nby the way", flush=True)
        """
    )
    with pytest.raises(ProgramError, match="one line for each line"):
        [outputs(chatty, 1) for _ in range(50)]


def test_answers_of_a_batch_that_was_given_up_do_not_become_those_of_the_next(program):
    echo = program(ECHO)
    given_up = echo.sense(batch(500, x="0"))
    next(given_up)
    given_up.close()
    assert outputs(echo, 10, x="1") == ["1"] * 10


def test_a_program_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="cannot be started"):
        list(Program(["/no/such/program"], print, threading.Event()).sense(batch(1)))


def test_sense_works_until_the_run_has_ended(service, tmp_path):
    service.create("programs", channels={name: CHANNELS[name] for name in ("cable", "radio")})
    command = [
        sys.executable,
        "-m",
        "bestchannel",
        "sense",
        service.url("programs"),
        "--channel",
        "radio",
        "--",
        "sed",
        "-u",
        "s/.*/0/",
    ]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    run = bestchannel("sense", service.url("programs"), "--channel", "cable", "--json", "--", "sed", "-u", "s/x/y/")
    assert (run.returncode, run.stdout) == (0, '{"state": "decided", "run": "programs"}\n')
    assert other.communicate()[0] == "the run is decided\n"
    watched = bestchannel("watch", service.url("programs"))
    assert watched.returncode == 0
    assert "best: cable" in watched.stdout


def test_sense_ends_with_3_where_the_run_is_undecided(service):
    service.create("short", channels={"cable": CHANNELS["cable"], "radio": CHANNELS["radio"]}, max_senses=1)
    run = bestchannel("sense", service.url("short"), "--channel", "cable", "--", "cat")
    assert (run.returncode, run.stdout) == (3, "the run is limited\n")
    assert bestchannel("watch", service.url("short")).returncode == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("/runs/refusals", "/runs/missing"), "no run"),
        ((TOKEN, "x" * 20), "not valid"),
        (("/runs/refusals", "/elsewhere"), "must end in"),
        (("?token=" + TOKEN, ""), "must have a token"),
        (("http:", "ftp:"), "must look like"),
    ],
)
def test_sense_and_watch_say_in_a_sentence_what_is_refused(service, change, words, monkeypatch):
    monkeypatch.delenv("BESTCHANNEL_TOKEN", raising=False)
    service.create("refusals") if service.call("GET", "/api/runs/refusals")[0] == 404 else None
    url = service.url("refusals").replace(*change)
    for run in (bestchannel("sense", url, "--channel", "cable", "--", "cat"), bestchannel("watch", url)):
        assert run.returncode == 1
        assert words in run.stderr
        assert TOKEN not in run.stderr


def test_an_output_that_is_no_letter_ends_the_sensor_with_a_sentence(service):
    service.create("letters")
    run = bestchannel("sense", service.url("letters"), "--channel", "cable", "--", "sed", "-u", "s/.*/seven/")
    assert run.returncode == 1
    assert "has the outputs 0, 1; it gave 'seven'" in run.stderr
    with pytest.raises(InputError, match="one for each input"):
        Instrument(service.url("letters"), ["radio"], lambda batch: [["0"] * (batch.count + 1)]).run()
    with pytest.raises(InputError, match="one for each input"):
        Instrument(service.url("letters"), ["relay"], lambda batch: [["0"] * (batch.count - 1)]).run()


def test_instrument_that_never_ends_its_answer_is_refused(service):
    service.create("endless")
    with pytest.raises(InputError, match="one for each input"):
        Instrument(service.url("endless"), ["cable"], lambda batch: itertools.repeat(["0"])).run()


def test_counts_that_are_no_whole_numbers_are_refused_and_not_rounded(service):
    service.create("rounded")
    for counts in ({"0": 2.7, "1": 3.4}, {"0": "6"}, {"0": 6.0}):
        with pytest.raises(InputError, match="in whole numbers"):
            Instrument(service.url("rounded"), ["cable"], lambda batch, given=counts: [given]).run()
    assert service.call("GET", "/api/runs/rounded")[1]["answered"] == 0


def test_functions_are_instruments(service):
    service.create("functions", channels={name: CHANNELS[name] for name in ("cable", "radio")})

    @sender(service.url("functions"), channels=["cable"])
    def send(channel, symbol):
        return symbol

    @vector_sender(service.url("functions"), channels=["radio"])
    def sense(channel, inputs):
        return {"0": len(inputs)}

    states = []
    thread = threading.Thread(target=lambda: states.append(sense.run()))
    thread.start()
    assert send.run() == "decided"
    thread.join()
    assert states == ["decided"]


def test_an_instrument_without_a_run_works_for_whatever_asks_and_stops_when_told(service):
    service.create("any", channels={name: CHANNELS[name] for name in ("cable", "radio")})
    seen = threading.Event()

    def sensing(batch):
        seen.set()
        yield batch.inputs

    instrument = Instrument(service.url(), ["cable"], sensing)
    states = []
    thread = threading.Thread(target=lambda: states.append(instrument.run()))
    thread.start()
    seen.wait()
    instrument.stop()
    thread.join()
    assert states == ["stopped"]


def test_a_slow_instrument_keeps_its_lease(service):
    service.create("slow", channels={"cable": CHANNELS["cable"], "radio": CHANNELS["radio"]})
    pause, asked = threading.Event(), []

    def sensing(batch):
        asked.append(batch)
        pause.wait(3.0)  # three times as long as a lease lasts
        pause.set()
        yield batch.inputs

    instrument = Instrument(service.url("slow"), ["cable"], sensing)
    thread = threading.Thread(target=instrument.run)
    thread.start()
    pause.wait()
    wait_until(lambda: service.call("GET", "/api/runs/slow")[1]["answered"] >= 12)
    instrument.stop()
    thread.join()
    assert [each.start for each in asked if each.x == "0"] == [0]


def test_short_lease_is_renewed_from_its_beginning_on():
    renewed = threading.Event()

    class Calls:
        def call(self, method, path, content=None):
            renewed.set()
            return 200, {}

        def close(self):
            pass

    with Outbox(Calls()) as outbox:
        time.sleep(0.05)  # it has begun to wait
        with outbox.holding({"run": "lab", "lease": "short", "request": 1, "expires_s": 0.8}):
            assert renewed.wait(0.8)


def test_a_failure_in_the_function_reaches_its_caller(service):
    service.create("failing")

    def sensing(batch):
        raise RuntimeError("the laser is off")

    with pytest.raises(RuntimeError, match="the laser is off"):
        Instrument(service.url("failing"), ["cable"], sensing).run()


def test_a_token_for_other_channels_is_refused(service):
    service.create("guarded")
    token = service.tokens.made_for("sense", ["radio"])
    with pytest.raises(NotPermittedError, match="does not permit to sense channel 'cable'"):
        Instrument(service.url("guarded", token), ["cable"], lambda batch: [batch.inputs]).run()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://[::1/runs/a?token=secret", "must look like"),
        ("http://127.0.0.1:abc/runs/a?token=secret", "must look like"),
        ("http://127.0.0.1:99999/runs/a?token=secret", "must look like"),
        ("http://127.0.0.1/runs/a b?token=secret", "must end in"),
        ("http://127.0.0.1/runs/ä?token=secret", "must end in"),
        ("http://127.0.0.1/runs/a?token=ſecret", "visible ASCII letters"),
        ("http://127.0.0.1/runs/a?token=sec%0d%0aret", "visible ASCII letters"),
    ],
)
def test_an_address_that_can_never_be_called_is_refused_and_not_tried_again(url, words):
    with pytest.raises(InputError, match=words):
        Address.parse(url)


def test_an_address_is_read_and_its_token_shown_to_nobody():
    found = Address.parse("https://lab.example:99/runs/a?token=secret")
    assert (found.secure, found.host, found.run, found.token) == (True, "lab.example:99", "a", "secret")
    assert Address.parse("http://[::1]:99//?token=secret").run is None
    assert Address.parse("http://lab.example/runs/a.b-c/?token=secret").run == "a.b-c"
    with pytest.raises(BestChannelError) as refused:
        Address.parse("http://lab.example/else/where?token=secret")
    assert "secret" not in str(refused.value)
