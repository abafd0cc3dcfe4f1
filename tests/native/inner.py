"""Functions inside the kernels that the library opens for tests alone."""

import ctypes

from bestchannel.native.library import Kernel

_NUMBER = ctypes.c_double

kernel_log, kernel_exp = (Kernel(name, "* x[*] >out[*]") for name in ("kernel_log", "kernel_exp"))
"""log and exp of the bets, to 2 units in the last place."""

choices = Kernel(
    "rival_choices",
    "c k n m W[cnm] P[cn] N[cn] gaps[c] weights[ck] growths[ck] worst[cn] known[c]i8 largest. most."
    " >sizes[c]i8 >tilts[cn] >Q[cm] room(nm)",
    positive="nmk",
)
"""Which of its weights [c, i] is best for every rival c, with ω [c, x] and Q [c, y]; `growths` [c, i] are reduced."""

row_bound = Kernel(
    "rival_row", "e m a[m] N[e] tau[e] logQ[me] s. logR[m] logw[m] tolerance. room(em)", _NUMBER, positive="m"
)
"""An upper bound of what a row loses, within the tolerance where that can be shown; `logw` moves to that row."""

_epochs = Kernel("rival_epochs", "r e n m history[rh] >senses[ne] >tilts[ne] >logQ[nme] room(enm)", positive="nm")


def merged(groups, n, m, history):
    """Senses [x, e], tilts [x, e] and log Q [x, y, e] of the few epochs to which the requests are merged."""
    return _epochs(history, n=n, m=m, h=2 * n + m, e=min(len(history), 2 * groups))


tilted_row = Kernel("tilted_row", "m a[m] w. h[m] v[m]", _NUMBER)
"""Fills v with argmin w D(W‖v) + ⟨h, v⟩; a lower bound of the minimum."""

divergence_sum_row = Kernel("divergence_sum_row", "m a[m] w. t. log_Q[m] v[m]")
"""Fills v with argmin w D(W‖v) + t D(v‖Q)."""

divergence_difference_row = Kernel("difference_row", "m a[m] w. t. log_Q[m] low[m] high[m] v[m] tol. room(m)", _NUMBER)
"""A lower bound of min w D(W‖v) - t D(v‖Q) over low ≤ v ≤ high, without base; fills v with a law near it."""

_phi_at = Kernel("phi_at", "n m k a[nm] w[n] s[k] u[knm] P[kn] price. room(nm)", _NUMBER)


def phi_at(curve, s):
    """A lower bound of φ at any price."""
    return _phi_at(curve.side.a, curve.side.w, curve.s, curve.u, curve.P, s)
