"""Pieces on their way from an instrument to the service: sent by a thread of their own, again until acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, Queue
from types import TracebackType
from typing import Any

from bestchannel.service.link import Link, refuse

MOST_PIECES = 500
"""In one call."""

MOST_WAITING = 10_000
"""Pieces that wait; then the instrument waits too."""


class Outbox:
    """What was sensed and is not acknowledged yet; renews the lease while there is one."""

    def __init__(self, link: Link) -> None:
        self.refused = 0
        self._link = link
        self._pieces: Queue[tuple[Mapping[str, Any], dict[str, Any]] | None] = Queue(MOST_WAITING)
        self._lent: Mapping[str, Any] | None = None
        self._lost: set[str] = set()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Outbox:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pieces.put(None)
        self._thread.join()
        self._link.close()
        if kind is None:
            self._raise_failure()

    @property
    def lease_lost(self) -> bool:
        """Whether the lease that is held is over."""
        return self._lent is not None and self._lent["lease"] in self._lost

    def put(self, piece: dict[str, Any]) -> None:
        """Send a piece of the lease that is held."""
        self._raise_failure()
        if self._lent is not None:
            self._pieces.put((self._lent, piece))

    @contextmanager
    def holding(self, lent: Mapping[str, Any]) -> Iterator[None]:
        """Keep a lease while it is worked on."""
        self._lent = lent
        try:
            yield
        finally:
            self._lent = None
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        try:
            while (batch := self._batch()) is not None:
                if batch:
                    self._send(batch)
                elif (lent := self._lent) is not None:
                    self._renew(lent)
        except BaseException as error:
            self._failure = error
            self._drain()

    def _batch(self) -> list[tuple[Mapping[str, Any], dict[str, Any]]] | None:
        """Pieces of one lease; none where it is time to renew it; None at the end."""
        lent = self._lent
        try:
            first = self._pieces.get(timeout=lent["expires_s"] / 3.0 if lent else 1.0)
        except Empty:
            return []
        if first is None:
            return None
        batch = [first]
        while len(batch) < MOST_PIECES and self._pieces.queue and _of_one_lease(self._pieces.queue[0], first):
            batch.append(self._pieces.get())  # type: ignore[arg-type]
        return batch

    def _send(self, batch: list[tuple[Mapping[str, Any], dict[str, Any]]]) -> None:
        lent = batch[0][0]
        offer = {"request": lent["request"], "lease": lent["lease"], "pieces": [piece for _, piece in batch]}
        status, answer = self._link.call("POST", f"/api/runs/{lent['run']}/pieces", offer)
        if status == 409:  # others were quicker with some of it, or the request is answered
            self.refused += sum(piece["outcome"] == "refused" for piece in answer["pieces"])
            self._lost.add(lent["lease"])
        else:
            refuse(status, answer)

    def _renew(self, lent: Mapping[str, Any]) -> None:
        status, answer = self._link.call("POST", f"/api/runs/{lent['run']}/leases/{lent['lease']}")
        if status == 410:
            self._lost.add(lent["lease"])
        else:
            refuse(status, answer)

    def _drain(self) -> None:
        """Let nobody wait for what will not be sent."""
        while self._pieces.get() is not None:
            pass


def _of_one_lease(waiting: Any, first: tuple[Mapping[str, Any], dict[str, Any]]) -> bool:
    return waiting is not None and waiting[0] is first[0]
