"""Any program as an instrument: input symbols to its standard input, output symbols from its standard output, by line.

The program is kept running, and started again when it dies; what it had answered before counts.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from bestchannel.errors import BestChannelError, InputError
from bestchannel.service.instrument import PIECE_S, Batch
from bestchannel.service.link import StoppedError

AHEAD, AHEAD_BYTES = 1024, 32_768
"""Symbols, and their bytes, that are given to the program before its answers are read: any pipe holds so many."""
SILENT_S = 10.0  # after which it is said what a silent program may lack
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""Before a program is started again: twice as long each time that it dies without an answer."""
MOST_DEATHS = 10  # in succession without an answer: then it is given up
LONGEST_LINE = 10_000  # bytes of an output symbol


class ProgramError(BestChannelError, OSError):
    """A program that does not work as an instrument."""


class Program:
    """A program that answers symbols, one line for each."""

    def __init__(
        self, command: Sequence[str], noted: Callable[[str], None], stop: threading.Event, names_channel: bool = False
    ) -> None:
        self._command, self._noted, self._stop = list(command), noted, stop
        self._names_channel = names_channel
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._owed = 0
        self._deaths = 0

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
            if self._process is None:
                self._wait_to_restart()

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
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _answers(self, line: bytes, count: int) -> Iterator[list[str]]:
        """The answers to so many lines, fewer where the program dies; then there is no process any more."""
        process = self._started()
        while self._owed and (lines := self._lines(process, self._owed)):  # of a batch that was given up
            self._owed -= len(lines)
        self._refuse_unasked(process)
        assert process.stdin is not None
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

    def _wait_to_restart(self) -> None:
        """Wait the longer the more often the program has died without an answer."""
        self._deaths += 1
        if self._deaths > MOST_DEATHS:
            raise ProgramError(f"the program has ended {MOST_DEATHS} times without an answer; it is given up")
        self._stop.wait(min(FIRST_PAUSE_S * 2.0 ** (self._deaths - 1), LONGEST_PAUSE_S))

    def _lines(self, process: subprocess.Popen[bytes], most: int) -> list[str]:
        """Lines that the program writes within `PIECE_S` of its first one; none where it has ended."""
        lines: list[str] = []
        began = time.monotonic()
        while len(lines) < most and (not lines or time.monotonic() - began < PIECE_S):
            if b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                lines.append(line.decode(errors="replace").strip())
                continue
            if not (block := self._block(process, wait=not lines)):
                break
            self._rest += block
            if len(self._rest) > LONGEST_LINE and b"\n" not in self._rest:
                wrote = f"it wrote {len(self._rest):,} bytes at once"
                raise ProgramError(f"the program must answer in short lines; {wrote}")
        return lines

    def _block(self, process: subprocess.Popen[bytes], wait: bool) -> bytes:
        """What the program has written; nothing at its end, or where nothing came in time."""
        assert process.stdout is not None
        began, said = time.monotonic(), False
        while not self._stop.is_set():
            ready, _, _ = select.select([process.stdout], [], [], PIECE_S)
            if ready:
                return os.read(process.stdout.fileno(), 65_536)
            if not wait:
                return b""
            if not said and time.monotonic() - began > SILENT_S:
                said = True
                self._noted("no answer yet; a program must flush its output after each line (stdbuf -oL may help)")
        return b""

    def _refuse_unasked(self, process: subprocess.Popen[bytes]) -> None:
        """Refuse a program that writes what nobody asked for: all later answers would belong to other inputs."""
        assert process.stdout is not None
        if self._rest or select.select([process.stdout], [], [], 0.0)[0]:
            text = self._rest or os.read(process.stdout.fileno(), 65_536)
            if text:
                wanted = "the program must write one line for each line that it reads"
                raise ProgramError(f"{wanted}; it also wrote {text[:60]!r}")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # Python would keep its answers to itself
            pipe = subprocess.PIPE
            try:
                self._process = subprocess.Popen(
                    self._command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True
                )
            except (OSError, ValueError) as error:
                raise InputError(f"the program {self._command[0]!r} cannot be started ({error})") from None
            self._rest, self._owed = b"", 0
        return self._process
