"""A study in numbers: one row per run, and one row per condition (policy, source of channels, δ).

[CP34] Clopper, Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial".
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.disk import errors_naming, write_bytes
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.lower_bound.asked import is_bounded
from bestchannel.lower_bound.characteristic_time import kl_nats
from bestchannel.questions import question_of
from bestchannel.study.journal import Journal
from bestchannel.study.monte_carlo import Condition, SimulatedRun, Study
from bestchannel.study.spec import PolicyChoice

CONFIDENCE = 0.95  # of the upper limit on the error probability
ENOUGH = 20  # runs of one set of channels from which on its 95th percentile says something


@dataclass(frozen=True)
class ConditionSummary:
    """What the runs of one condition show. Senses are of all its runs, the undecided ones included as far as they went.

    `wrong` answers are given and not right, as a best channel that is not within ε of the best; `error_upper` is the
    exact upper limit of their probability at confidence 95 %. `best_out` are the runs in which the best channel was
    ruled out, decided or not: of equally good ones the last, and with ε in favour of one that is not within ε of it; of
    another question, those in which anything was said that is not so. `ratio` is the mean of senses ÷ (T*.lower kl(δ,
    1-δ)), None where that was not asked for or is no bound; `tail` the largest 95th percentile ÷ median of one set of
    channels, None where no set has 20 runs.
    """

    study: str
    instance: str
    policy: str
    delta: float
    runs: int
    wrong: int
    best_out: int
    undecided: int
    error_upper: float
    mean_senses: float
    standard_error: float
    q05: float
    median: float
    q95: float
    most: int
    mean_rounds: float
    ratio: float | None
    ratio_standard_error: float | None
    tail: float | None


def run_rows(study: Study, journal: Journal) -> list[dict[str, Any]]:
    """One row per run, in the order of conditions and runs: the same for every number of workers and interruptions.

    `best` is the name that a file gives the channel, or its position in a set of a family.
    """
    return [
        {
            "study": study.spec.name,
            "instance": condition.source.name,
            "set": run.number % condition.source.sets,
            "policy": condition.policy.name,
            "delta": condition.delta,
            "run": run.number,
            "best": None if run.best is None else str((list(condition.source.rows) or range(run.best + 1))[run.best]),
            "decided": run.decided,
            "correct": run.correct,
            "best_out": run.best_out,
            "senses": run.senses,
            "rounds": run.rounds,
        }
        for run in journal.runs()
        for condition in [study.conditions[run.condition]]
    ]


def summaries(study: Study, journal: Journal) -> list[ConditionSummary]:
    """One for every condition that has runs."""
    times = {key: lower for key, (lower, _) in journal.times().items()}
    by_condition = groupby(journal.runs(), key=lambda run: run.condition)
    return [_summary(study, study.conditions[number], list(runs), times) for number, runs in by_condition]


def error_upper(wrong: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """The p at which `wrong` or fewer of `runs` have probability 1 - confidence [CP34].

    >>> round(error_upper(0, 100), 4)  # 1 - 0.05^(1/100)
    0.0295
    """
    from scipy.special import betaincinv  # deferred: the other verbs need not wait for it

    return 1.0 if wrong >= runs else float(betaincinv(wrong + 1, runs - wrong, confidence))


def _summary(
    study: Study, condition: Condition, runs: Sequence[SimulatedRun], times: dict[tuple[int, int], float]
) -> ConditionSummary:
    senses = np.array([float(run.senses) for run in runs])
    sets = np.array([run.number % condition.source.sets for run in runs])
    wrong = sum(run.decided and not run.correct for run in runs)
    ratios = senses / np.array(
        [times.get((condition.source_number, int(j)), 0.0) * kl_nats(condition.delta) or math.nan for j in sets]
    )
    undecided = sum(not run.decided for run in runs)
    bounded = bool(np.all(ratios > 0.0)) and not undecided and has_the_bound(condition.policy, study.spec.question)
    by_set = [group for j in np.unique(sets) if len(group := senses[sets == j]) >= ENOUGH]
    quantiles = [np.quantile(group, [0.5, 0.95], method="inverted_cdf") for group in by_set]
    q05, median, q95 = np.quantile(senses, [0.05, 0.5, 0.95], method="inverted_cdf").tolist()
    return ConditionSummary(
        study=study.spec.name,
        instance=condition.source.name,
        policy=condition.policy.name,
        delta=condition.delta,
        runs=len(runs),
        wrong=wrong,
        best_out=sum(run.best_out for run in runs),
        undecided=undecided,
        error_upper=error_upper(wrong, len(runs)),
        mean_senses=float(senses.mean()),
        standard_error=_standard_error(senses),
        q05=q05,
        median=median,
        q95=q95,
        most=max(run.senses for run in runs),
        mean_rounds=float(np.mean([run.rounds for run in runs])),
        ratio=float(ratios.mean()) if bounded else None,
        ratio_standard_error=_standard_error(ratios) if bounded else None,
        tail=max((float(high / middle) for middle, high in quantiles if middle > 0.0), default=None),
    )


def has_the_bound(policy: PolicyChoice, question: Mapping[str, Any] | None = None) -> bool:
    """Whether T* bounds the policy: it must answer the question of the study, by capacity and in senses, not shots."""
    made = policy.example()
    by_capacity, in_senses = made.functional.P is None, made.paired is None
    return by_capacity and in_senses and made.question == question_of(question) and is_bounded(made.question)


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


Rows = Sequence[Mapping[str, Any]]

LARGEST = 2**63 - 1


def write_tables(folder: Path, study: Study, journal: Journal) -> list[Path]:
    """Write runs and summary; return the files that were written."""
    conditions = [asdict(condition) for condition in summaries(study, journal)]
    contents = dict[Path, bytes]()
    for name, rows in {"runs": run_rows(study, journal), "summary": conditions}.items():
        contents[folder / f"{name}.csv"] = as_csv(rows)
        with suppress(MissingExtraError):  # CSV holds the same
            contents[folder / f"{name}.parquet"] = as_parquet(rows)
    for path, content in contents.items():
        with errors_naming(path):
            write_bytes(path, content)
    return list(contents)


def as_csv(rows: Rows) -> bytes:
    """The rows with a header; what is None is empty."""
    if not rows:
        raise InputError("a table must have rows; this one has none")
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: Rows) -> bytes:
    """The same columns with their types."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for name, values in columns.items():
        if any(isinstance(value, int) and value > LARGEST for value in values):  # Parquet has no such integers
            columns[name] = list(map(float, values))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()
