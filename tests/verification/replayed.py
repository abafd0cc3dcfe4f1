"""Records replayed to the bit, also on another machine: `python -m tests.verification.replayed make|check FILE [COUNT]`.

`make` writes records of Adaptive, one a line; `check` tells the policy of each the same answers, and compares every
request, stake and piece of evidence with what the record has. An emulated ARM needs a Python for it with NumPy and
SciPy, and kernels built with BESTCHANNEL_TARGET=aarch64-linux-gnu.2.17 (hatch_build.py); BESTCHANNEL_VECTORS says how
wide vectors may be.
"""

import json
import platform
import sys

import numpy as np

from bestchannel import Adaptive, Simulator, identify
from bestchannel.native.library import VARIANT
from bestchannel.policies.policy import outcome
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.verification.verdict import Replay

OPTIONS = ({}, {"epsilon": 0.03}, {"sampling": "lucb"}, {"input_distribution": True}, {"cost": True})
SIZES = ((2, 2), (2, 2), (3, 2), (3, 3), (4, 4), (8, 8), (2, 16), (16, 16))


def made(number):
    """A record of random channels; the n-th has the n-th size, every other time some option."""
    rng, (n, m) = np.random.default_rng(number), SIZES[number % len(SIZES)]
    sensor = Simulator(list(rng.dirichlet(np.full(m, 1.0 if n < 4 else 0.4), (int(rng.integers(3, 8)), n))), rng=rng)
    options = dict(OPTIONS[number // 2 % len(OPTIONS)]) if number % 2 else {}
    if "input_distribution" in options:
        options["input_distribution"] = rng.dirichlet(np.ones(n)).tolist()
    if "cost" in options:
        options["cost"] = rng.uniform(1, 3, len(sensor.channels)).tolist()
    limit = 4000 * n * m
    return _read_back(identify(sensor, Adaptive(sensor.alphabets, delta=0.05, **options), max_senses=limit))


def _read_back(result):
    """What a file has of it."""
    return json.loads(json.dumps(as_document(result)))


def differs(document):
    """Where the policy, told the same answers, asks, stakes or finds something else; None where nowhere."""
    audit, policy = from_document(document).audit, Replay(Adaptive, document, lambda _: None).policy
    again = _read_back(outcome(policy, audit.channels, inferred_outputs=audit.inferred_outputs))
    return next((key for key in document if key != "channels" and again.get(key) != document[key]), None)


def main(verb, path, count="200"):
    """Write records, or check how many of them are replayed to the bit."""
    if verb == "make":
        with open(path, "w") as file:
            file.writelines(json.dumps(made(number)) + "\n" for number in range(int(count)))
        return
    with open(path) as file:
        found = [differs(json.loads(line)) for line, _ in zip(file, range(int(count)), strict=False)]
    print(f"{platform.machine()}, {VARIANT}: {found.count(None)} of {len(found)} records replayed to the bit")
    if any(found):
        sys.exit(f"the others differ in {', '.join(sorted(set(filter(None, found))))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
