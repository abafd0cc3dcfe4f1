"""Sensors over the network: a function in Python that senses, or any program, is all that is needed.

The instrument leases parts of requests, senses them, and sends what it has counted in pieces until each is
acknowledged. A lease is renewed while the instrument is at work, however slow it is.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from operator import index
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

import numpy as np

from bestchannel.errors import BestChannelError, InputError
from bestchannel.promises import several
from bestchannel.service.link import Address, Link, Outbox, StoppedError, refuse

PIECE_S, WAIT_S = 0.2, 5.0  # of sensing, after which what there is is sent; that a call for work waits at the service
GOING_ON = {"open", "paused", "idle"}  # states of a run in which there may be work later
AHEAD, AHEAD_BYTES = 1024, 32_768
"""Symbols, and their bytes, that are given to a program before its answers are read: any pipe holds so many."""
SILENT_S = 10.0  # after which it is said what a silent program may lack
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""Before a program is started again: twice as long each time that it dies without an answer."""
MOST_DEATHS = 10  # in succession without an answer: then it is given up
LONGEST_LINE = 10_000  # bytes of an output symbol


@dataclass(frozen=True)
class Batch:
    """Senses to make for a request of a run: input `x` of a channel, `count` times; it can give these `outputs`.

    Their positions within the request are start, start + 1, …

    >>> Batch("lab", 1, "q3", "0", start=0, count=2, outputs=("0", "1")).inputs
    ['0', '0']
    """

    run: str
    request: int
    channel: str
    x: str
    start: int
    count: int
    outputs: tuple[str, ...]

    @property
    def inputs(self) -> list[str]:
        """The input symbols one by one."""
        return [self.x] * self.count


Chunk = Sequence[Any] | Mapping[Any, int]  # outputs in their order, or how often each occurred
Sensing = Callable[[Batch], Iterable[Chunk]]  # makes the senses of a batch, and yields their outputs, some at a time


class Instrument:
    """A sensor of some channels, which works for a service until the run has ended.

    Parameters
    ----------
    url
        The address of the service or of one of its runs, as `serve` prints it or a browser shows it.
    channels
        The names of the channels that it can reach.
    sensing
        Makes the senses of a `Batch`, and yields outputs, some at a time, or their counts.
    name
        What pages call it; the name of the machine and the process otherwise.
    token
        In place of the token in the address.
    most
        How many senses to lease at once, at most.
    noted
        Called with a sentence whenever the connection is lost, and made again.
    stop
        Another way to say `stop`: once it is set, `run` ends soon.

    Raises
    ------
    InputError
        Where the address has no token, or is none.

    Examples
    --------
    >>> instrument = Instrument("http://127.0.0.1:8484/runs/lab?token=secret", ["q3"], lambda batch: [batch.inputs])
    >>> instrument.channels
    ('q3',)
    """

    def __init__(
        self,
        url: str,
        channels: Sequence[str],
        sensing: Sensing,
        *,
        name: str | None = None,
        token: str | None = None,
        most: int = 10_000,
        noted: Callable[[str], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.address = Address.parse(url, token)
        self.channels, self.name = tuple(channels), name or f"{socket.gethostname()}-{os.getpid()}"
        self._sensing, self._most, self._noted = sensing, most, noted
        self._stop = stop or threading.Event()

    def run(self) -> str:
        """Sense until the run of the address has ended, or until `stop`: `decided`, `limited`, `undecided`, `stopped`.

        A `NotPermittedError` says that the service refuses the token, the run or the channels, and an `InputError` that
        an output is no letter of its channel.
        """
        link, sending = (Link(self.address, self._stop, self._noted) for _ in range(2))
        try:
            with closing(link), Outbox(sending) as outbox:
                while (lent := self._lent(link))["state"] in GOING_ON:
                    if lent["parts"]:
                        self._work(lent, outbox)
            return str(lent["state"])
        except StoppedError:
            return "stopped"

    def stop(self) -> None:
        """Let `run` end soon; what it has sensed and not sent is given up."""
        self._stop.set()

    def _lent(self, link: Link) -> dict[str, Any]:
        if self._stop.is_set():
            raise StoppedError("stopped")
        wish = {"sensor": self.name, "channels": self.channels, "run": self.address.run}
        status, answer = link.call("POST", "/api/leases", {**wish, "most": self._most, "wait": WAIT_S})
        refuse(status, answer)
        lent: dict[str, Any] = answer
        return lent

    def _work(self, lent: Mapping[str, Any], outbox: Outbox) -> None:
        with outbox.holding(lent):
            for part in lent["parts"]:
                batch = Batch(lent["run"], lent["request"], **{**part, "outputs": tuple(part["outputs"])})
                for start, counts in _pieces(batch, self._sensing(batch)):
                    piece = {"channel": batch.channel, "x": batch.x, "start": start, "counts": counts}
                    if not outbox.put(piece) or self._stop.is_set():
                        return


class SendingInstrument(Instrument):
    """An instrument made from a function, which can still be called as that function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._function = function

    def __call__(self, channel: str, given: Any) -> Any:
        """Call the function itself."""
        return self._function(channel, given)


Decorator = Callable[[Callable[..., Any]], SendingInstrument]  # makes an instrument of a function


def sender(url: str, channels: Sequence[str], **options: Any) -> Decorator:
    """Make an `Instrument` of a function `send(channel, symbol)` that sends one symbol and returns the one received.

    A decorator; its arguments are those of `Instrument`.

    >>> @sender("http://127.0.0.1:8484/runs/lab?token=secret", channels=["loop"])
    ... def send(channel, symbol):
    ...     return symbol
    >>> send("loop", "1")
    '1'
    """
    return lambda send: SendingInstrument(send, url, channels, partial(_one_by_one, send), **options)


def vector_sender(url: str, channels: Sequence[str], **options: Any) -> Decorator:
    """Make an `Instrument` of a function `sense(channel, inputs)` that returns the outputs, or how often each came.

    A decorator; its arguments are those of `Instrument`.

    >>> @vector_sender("http://127.0.0.1:8484/runs/lab?token=secret", channels=["loop"])
    ... def sense(channel, inputs):
    ...     return inputs
    >>> sense("loop", ["0", "1"])
    ['0', '1']
    """
    return lambda sense: SendingInstrument(
        sense, url, channels, lambda batch: [sense(batch.channel, batch.inputs)], **options
    )


def _one_by_one(send: Callable[[str, str], Any], batch: Batch) -> Iterator[list[Any]]:
    """The outputs of symbols sent one by one, as many at a time as `PIECE_S` permits."""
    outputs, began = [], time.monotonic()
    for _ in range(batch.count):
        outputs.append(send(batch.channel, batch.x))
        if time.monotonic() - began >= PIECE_S:
            yield outputs
            outputs, began = [], time.monotonic()
    if outputs:
        yield outputs


def _pieces(batch: Batch, chunks: Iterable[Chunk]) -> Iterator[tuple[int, dict[str, int]]]:
    """Where each piece begins, and its counts; outputs must be letters of the channel, and as many as asked for."""
    done, channel = 0, f"channel {batch.channel!r}"
    for chunk in chunks:
        if isinstance(chunk, Mapping):
            try:
                counts = {str(y): index(count) for y, count in chunk.items() if count}
            except TypeError:
                raise InputError(f"{channel} must count its outputs in whole numbers; it gave {dict(chunk)}") from None
        else:
            counts = Counter(map(str, chunk.ravel().tolist() if isinstance(chunk, np.ndarray) else chunk))
        if unknown := counts.keys() - set(batch.outputs):
            shown = ", ".join(batch.outputs[:20])
            raise InputError(f"{channel} has the outputs {shown}; it gave {min(unknown)[:60]!r}")
        senses = sum(counts.values())
        if senses > batch.count - done:
            done += senses
            break  # there may be no end to them
        if senses:
            yield batch.start + done, counts
        done += senses
    if done != batch.count:
        wanted = f"{several(batch.count, 'output')}, one for each input"
        raise InputError(f"{channel} must give {wanted}; it gave {done:,}")


class ProgramError(BestChannelError, OSError):
    """A program that does not work as an instrument."""


class Program:
    """Any program as an instrument: symbols to its standard input, and from its standard output, one line for each.

    It is kept running, and started again when it dies; what it had answered before counts.
    """

    def __init__(
        self, command: Sequence[str], noted: Callable[[str], None], stop: threading.Event, names_channel: bool = False
    ) -> None:
        self._command, self._noted, self._stop = list(command), noted, stop
        self._names_channel = names_channel
        self._process: Popen[bytes] | None = None
        self._rest, self._owed, self._deaths = b"", 0, 0

    def sense(self, batch: Batch) -> Iterator[list[str]]:
        """The outputs of a batch, some at a time."""
        line = f"{batch.channel}\t{batch.x}\n" if self._names_channel else f"{batch.x}\n"
        done, ahead = 0, max(1, min(AHEAD, AHEAD_BYTES // len(line.encode())))
        while done < batch.count:
            for outputs in self._answers(line.encode(), min(ahead, batch.count - done)):
                done += len(outputs)
                self._deaths = 0
                yield outputs
            if self._stop.is_set():
                raise StoppedError("stopped")
            if self._process is None:  # wait the longer the more often it has died without an answer
                self._deaths += 1
                if self._deaths > MOST_DEATHS:
                    raise ProgramError(f"the program has ended {MOST_DEATHS} times without an answer; it is given up")
                self._stop.wait(min(FIRST_PAUSE_S * 2.0 ** (self._deaths - 1), LONGEST_PAUSE_S))

    def close(self) -> None:
        """End the program: its input ends, and if that does not help it is killed."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if process.stdin:
            with suppress(BrokenPipeError):  # lines that it did not live to read
                process.stdin.close()
        try:
            process.wait(timeout=2.0)
        except TimeoutExpired:
            process.kill()
            process.wait()

    def _answers(self, line: bytes, count: int) -> Iterator[list[str]]:
        """The answers to so many lines, fewer where the program dies; then there is no process any more."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        while self._owed and (lines := self._lines(process, self._owed)):  # of a batch that was given up
            self._owed -= len(lines)
        unasked = self._rest
        if not unasked and select.select([process.stdout], [], [], 0.0)[0]:
            unasked = os.read(process.stdout.fileno(), 65_536)
        if unasked:  # all later answers would belong to other inputs
            wanted = "the program must write one line for each line that it reads"
            raise ProgramError(f"{wanted}; it also wrote {unasked[:60]!r}")
        with suppress(BrokenPipeError):  # it has died, perhaps after some answers
            process.stdin.write(line * count)
            process.stdin.flush()
        self._owed = count
        while self._owed and (lines := self._lines(process, self._owed)):
            self._owed -= len(lines)
            yield lines
        if self._owed:
            self.close()
            code = process.returncode
            how = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
            if not self._stop.is_set():
                self._noted(f"the program has ended ({how}); it is started again")

    def _lines(self, process: Popen[bytes], most: int) -> list[str]:
        """Lines that the program writes, all or those of `PIECE_S` seconds; none where it has ended."""
        assert process.stdout is not None
        began, said = time.monotonic(), False
        while not self._stop.is_set():
            *lines, line = self._rest.split(b"\n", most)
            waited = time.monotonic() - began
            if len(lines) == most or (lines and waited >= PIECE_S):
                break
            if len(line) > LONGEST_LINE:
                raise ProgramError(f"the program must answer in short lines; it wrote {len(line):,} bytes at once")
            if select.select([process.stdout], [], [], PIECE_S)[0]:
                if not (block := os.read(process.stdout.fileno(), 65_536)):
                    break
                self._rest += block
            elif waited > SILENT_S and not said:
                said = True
                self._noted("no answer yet; a program must flush its output after each line (stdbuf -oL may help)")
        *lines, self._rest = self._rest.split(b"\n", most)
        return [line.decode(errors="replace").strip() for line in lines]

    def _started(self) -> Popen[bytes]:
        if self._process is None:
            env = {**os.environ, "PYTHONUNBUFFERED": "1"}  # Python would keep its answers to itself
            try:
                self._process = Popen(self._command, stdin=PIPE, stdout=PIPE, env=env, start_new_session=True)
            except (OSError, ValueError) as error:
                raise InputError(f"the program {self._command[0]!r} cannot be started ({error})") from None
            self._rest, self._owed = b"", 0
        return self._process
