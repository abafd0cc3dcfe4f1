"""Where a run stands, as the page, the terminal and other programs are told."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from bestchannel.errors import MissingFileError
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies import ChannelLabels
from bestchannel.runs.settings import Settings
from bestchannel.service.desk import Desk
from bestchannel.service.hosted_run import HostedRun, Snapshot
from bestchannel.service.ledger import Sensor
from bestchannel.service.messages import RunStatus, SensorStatus
from bestchannel.service.run_folder import RunFolder


async def standing(desk: Desk, name: str) -> RunStatus:
    """Where a run stands."""
    return run_status(desk.folder, name, *await desk.standing(name))


async def all_standings(desk: Desk) -> list[RunStatus]:
    """Where all runs stand; sensors are heard between any two of them."""
    found = []
    for name in await asyncio.to_thread(desk.folder.names):
        with suppress(MissingFileError):  # deleted meanwhile
            found.append(await standing(desk, name))
        await asyncio.sleep(0)
    return found


def run_status(folder: RunFolder, name: str, settings: Settings | None, snapshot: Snapshot) -> RunStatus:
    """All that is told of a run."""
    parties = settings.parties if settings else ()
    names = tuple(str(party.key) for party in parties)
    hosted, status, nearly = folder.hosted.get(name), snapshot.status, snapshot.nearly_best
    rival = status.challenger if status else None
    asked, answered, _ = hosted.work_left() if hosted else (0, 0, [])
    return RunStatus(
        run=name,
        state=snapshot.state,
        paused=folder.is_paused(name),
        policy=settings.policy if settings else None,
        delta=settings.delta if settings else None,
        epsilon=settings.epsilon if settings else None,
        channels=names,
        candidates=tuple(names[c] for c in status.candidates) if status else names,
        best=snapshot.best,
        leader=names[status.leader] if status and status.leader is not None else None,
        challenger=None if rival is None else names[rival],
        evidence_bits=None if rival is None or status is None else _bits(status.evidence_nats[rival]),
        threshold_bits=None if rival is None or status is None else _bits(status.threshold_nats[rival]),
        nearly_best=None if nearly is None else str(nearly.channel),
        within_bits=None if nearly is None else nearly.within_bits,
        senses=snapshot.senses,
        more_senses=status.more_senses if status and snapshot.request is not None else None,
        max_senses=snapshot.max_senses,
        requests=snapshot.requests,
        request=snapshot.request,
        asked=asked,
        answered=answered,
        last_activity=datetime.fromtimestamp(folder.last_activity(name), UTC).isoformat(timespec="seconds"),
        sensors=_sensors(hosted, parties) if hosted else (),
        error=folder.without_paths(snapshot.error),
    )


def _bits(nats: float) -> float | None:
    return nats / NATS_PER_BIT if math.isfinite(nats) else None


def _sensors(hosted: HostedRun, parties: Sequence[ChannelLabels]) -> tuple[SensorStatus, ...]:
    now, (_, _, leases) = time.monotonic(), hosted.work_left()
    leased: Counter[Sensor] = Counter()
    for lease in leases:
        leased[lease.sensor] += sum(part.count for part in lease.parts)
    return tuple(
        SensorStatus(
            sensor[1],
            tuple(str(parties[channel].key) for channel in sorted(seen.channels)),
            seen.senses,
            leased[sensor],
            int(now - seen.seen),
        )
        for sensor, seen in sorted(hosted.sensors.items(), key=lambda item: item[0][1])
    )
