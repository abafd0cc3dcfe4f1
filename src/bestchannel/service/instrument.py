"""Sensors over the network, in Python: a function that senses is all that is needed.

The instrument leases parts of requests, senses them, and sends what it has counted in pieces until each is
acknowledged. A lease is renewed while the instrument is at work, however slow it is.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import index
from typing import Any

import numpy as np

from bestchannel.errors import InputError
from bestchannel.promises import several
from bestchannel.service.link import Address, Link, Outbox, StoppedError, refuse

PIECE_S, WAIT_S = 0.2, 5.0  # of sensing, after which what there is is sent; that a call for work waits at the service
GOING_ON = {"open", "paused", "idle"}  # states of a run in which there may be work later


@dataclass(frozen=True)
class Batch:
    """Senses to make for a request of a run: input `x` of a channel, `count` times; it can give these `outputs`.

    Their positions within the request are start, start + 1, …

    Examples
    --------
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
        Called with a sentence whenever the line is lost or found again.
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
        """Sense until the run of the address has ended, or until `stop`.

        Returns
        -------
        str
            The state of the run: `decided`, `limited`, `undecided`, or `stopped`.

        Raises
        ------
        NotPermittedError
            Where the service refuses the token, the run or the channels.
        InputError
            Where an output is no letter of its channel.
        """
        link = Link(self.address, self._stop, self._noted)
        try:
            with Outbox(Link(self.address, self._stop, self._noted)) as outbox:
                while (lent := self._lent(link))["state"] in GOING_ON:
                    if lent["parts"]:
                        self._work(lent, outbox)
            return str(lent["state"])
        except StoppedError:
            return "stopped"
        finally:
            link.close()

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
                    outbox.put({"channel": batch.channel, "x": batch.x, "start": start, "counts": counts})
                    if outbox.lease_lost or self._stop.is_set():
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

    Parameters
    ----------
    url, channels
        See `Instrument`, as for the errors.
    options
        Further arguments of `Instrument`.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> @sender("http://127.0.0.1:8484/runs/lab?token=secret", channels=["loop"])
    ... def send(channel, symbol):
    ...     return symbol
    >>> send("loop", "1")
    '1'
    """
    return lambda send: SendingInstrument(send, url, channels, partial(_one_by_one, send), **options)


def vector_sender(url: str, channels: Sequence[str], **options: Any) -> Decorator:
    """Make an `Instrument` of a function `sense(channel, inputs)` that returns the outputs, or how often each came.

    See `sender` for the parameters and what is returned.

    Examples
    --------
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
    done = 0
    for chunk in chunks:
        counts = _counted(chunk, batch)
        if unknown := counts.keys() - set(batch.outputs):
            shown = ", ".join(batch.outputs[:20])
            raise InputError(f"channel {batch.channel!r} has the outputs {shown}; it gave {min(unknown)[:60]!r}")
        senses = sum(counts.values())
        if 0 < senses <= batch.count - done:
            yield batch.start + done, counts
        done += senses
    if done != batch.count:
        wanted = f"{several(batch.count, 'output')}, one for each input"
        raise InputError(f"channel {batch.channel!r} must give {wanted}; it gave {done:,}")


def _counted(chunk: Chunk, batch: Batch) -> dict[str, int]:
    if isinstance(chunk, Mapping):
        try:
            return {str(y): index(count) for y, count in chunk.items() if count}
        except TypeError:
            wanted = f"channel {batch.channel!r} must count its outputs in whole numbers"
            raise InputError(f"{wanted}; it gave {dict(chunk)}") from None
    if isinstance(chunk, np.ndarray):
        values, counts = np.unique(chunk, return_counts=True)
        return {str(y): int(count) for y, count in zip(values, counts, strict=True)}
    return Counter(map(str, chunk))
