"""The source of the device, compiled for the host: its steps and its certificate where there is no device."""

import re
import shutil
import subprocess
from importlib import resources

import numpy as np
import pytest

from bestchannel import capacities
from bestchannel.capacity.device import SOURCES
from tests.capacity.hostile import GOAL, GOAL_NATS, KINDS

HEAD = """
#include <algorithm>
#include <cmath>
#include <cstdio>
using std::max, std::min;
#define __device__
#define __forceinline__ inline
"""

MAIN = """
int main() {
    double rows[N * M], ends[4];
    volatile double *W = rows;
    while (fread(rows, sizeof rows, 1, stdin) == 1) {
        if (!admit(W, false)) return 1;
        float w[N * M];
        Room<float> rough;
        Room<double> exact;
        const Lanesfloat sketched = rough.with<Lanesfloat>(w);
        const Lanesdouble at = exact.with<Lanesdouble>(W);
        neg_entropies_ofdouble(&at, N, M);
        EACH(x, 0, N) rough.neg_entropy[x] = exact.neg_entropy[x];
        for (int i = 0; i < N * M; i++) w[i] = rows[i];
        Support support = sketch(&sketched);
        EACH(x, 0, N) exact.p[x] = rough.p[x];
        divergences_ofdouble(&at, N, M, false);
        for (int i = 0; i < POLISHES; i++) polish(&sketched, support, exact), divergences_ofdouble(&at, N, M, false);
        ends[0] = exact.low, ends[1] = exact.high;
        begindouble(&at, N, M, PRECISE);
        exact.goal = GOAL;
        for (int i = 1; i <= BC_MAX_ITERATIONS && exact.high - exact.low > GOAL; i++) {
            double gap = exact.high - exact.low;
            if (i % IN_CIRCLES == 0) EACH(x, 0, N) exact.s[x] = max(exact.high - exact.D[x], 0.0) + gap;
            stepdouble(&at, N, M, i > IN_CIRCLES ? CAUTIOUS : BC_SHORT_OF_BOUNDARY);
            divergences_ofdouble(&at, N, M, PRECISE);
        }
        ends[2] = exact.low, ends[3] = exact.high;
        fwrite(ends, sizeof ends, 1, stdout);
    }
}
"""


def on_host(source):
    """The source without its kernels, and with C's functions in place of a device's instructions."""
    source = re.sub(r'asm\("rcp.*', "y = 1 / x;", source.partition("// Where the answers go")[0])
    source = re.sub(r'asm\("lg2.*', "y = log2f(x);", source)
    return re.sub(r"    int high = __double2hiint.*?\n}\n", "    return log(x);\n}\n", source, flags=re.DOTALL)


@pytest.mark.skipif(not shutil.which("c++"), reason="no compiler of C++")
@pytest.mark.parametrize(("n", "m"), [(2, 2), (4, 4), (8, 3)], ids=str)
def test_the_source_of_the_device_brackets_what_the_host_brackets(n, m, tmp_path):
    code, steps = (resources.files("bestchannel").joinpath(*path).read_text("utf-8") for path in SOURCES)
    (tmp_path / "device.cpp").write_text(HEAD + on_host(code.replace('#include "interior_point.h"', steps)) + MAIN)
    sizes = [f"-DN={n}", f"-DM={m}", "-DPRECISE=false", f"-DGOAL={GOAL_NATS}"]
    command = ["c++", "-O1", "-std=c++17", "-w", *sizes, str(tmp_path / "device.cpp"), "-o", str(tmp_path / "device")]
    subprocess.run(command, check=True)
    random = np.random.default_rng(n).dirichlet(np.ones(m), size=(300, n))
    hostile = [kind(np.random.default_rng([n, m]), 20, n, m) for kind in KINDS.values()]
    stack = np.concatenate([random, *hostile])
    stack /= stack.sum(axis=2, keepdims=True)
    ran = subprocess.run([str(tmp_path / "device")], input=stack.tobytes(), capture_output=True, check=True)
    low, high, low_stepwise, high_stepwise = np.frombuffer(ran.stdout).reshape(-1, 4).T / np.log(2.0)
    host, rounded = capacities(stack, tol=GOAL), 1e-13
    quick = high - low <= GOAL  # the others go on to the steps
    for lower, upper, answered in ((low, high, quick), (low_stepwise, high_stepwise, slice(None))):
        assert np.all((lower <= host.upper + rounded)[answered])
        assert np.all((upper >= host.lower - rounded)[answered])
    assert np.mean(quick[:300]) > 0.98
    assert np.all(high_stepwise - low_stepwise <= GOAL)
