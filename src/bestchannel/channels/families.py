"""Channels of textbooks and of receivers, by their parameters.

Each function returns a labelled `Channel`. Probabilities are the arguments of the
textbook formula; signal-to-noise ratios are in decibels.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import ParamSpec

import numpy as np

from bestchannel.arrays import Floats, number_in, numeric_array, whole_number
from bestchannel.channels.channel import Channel, product
from bestchannel.errors import InputError

P = ParamSpec("P")


def _described(returned: str, **parameters: str) -> Callable[[Callable[P, Channel]], Callable[P, Channel]]:
    """Complete the docstring of a family, a definition and an example, by the sections that all have."""

    def completed(family: Callable[P, Channel]) -> Callable[P, Channel]:
        definition, _, example = inspect.cleandoc(family.__doc__ or "").rpartition("\n\n")
        sections = {
            "Parameters": "\n".join(f"{name}\n    {meaning}" for name, meaning in parameters.items()),
            "Returns": f"Channel\n    {returned}",
            "Raises": "InputError\n    Where an argument is out of its range.",
            "Examples": f">>> import bestchannel as bc\n{example}",
        }
        underlined = (f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items())
        family.__doc__ = "\n\n".join([definition, *underlined])
        return family

    return completed


BINARY, LETTERS = "With inputs and outputs 0, 1.", "With inputs and outputs 0, 1, …, q-1."


@_described(BINARY, p="The probability of an error, in [0, 1].")
def bsc(p: float) -> Channel:
    """Binary symmetric channel: flips its input with probability p. C = 1 - h(p) [CT06, 7.1.4].

    >>> round(bc.capacity(bc.bsc(0.11)).value, 6)
    0.500084
    """
    p = _probability(p, "the crossover probability p")
    return Channel.from_rows([[1 - p, p], [p, 1 - p]], name=f"BSC({p:g})")


@_described("With inputs 0, 1 and outputs 0, ?, 1.", e="The probability of an erasure, in [0, 1].")
def bec(e: float) -> Channel:
    """Binary erasure channel: erases its input with probability e. C = 1 - e [CT06, 7.1.5].

    >>> round(bc.capacity(bc.bec(0.25)).value, 6)
    0.75
    """
    e = _probability(e, "the erasure probability e")
    return Channel.from_rows([[1 - e, e, 0], [0, e, 1 - e]], name=f"BEC({e:g})", outputs=["0", "?", "1"])


@_described(BINARY, q="The probability that 1 becomes 0, in [0, 1].")
def z_channel(q: float) -> Channel:
    """Z-channel: 0 is kept, 1 becomes 0 with probability q. C = log2(1 + (1-q) q^(q/(1-q))).

    >>> round(bc.capacity(bc.z_channel(0.5)).value, 6)
    0.321928
    """
    q = _probability(q, "the probability q that 1 becomes 0")
    return Channel.from_rows([[1, 0], [q, 1 - q]], name=f"Z({q:g})")


@_described(BINARY, a="P(1|0), in [0, 1].", b="P(1|1), in [0, 1].")
def binary_asymmetric(a: float, b: float) -> Channel:
    """Binary channel with P(1|0) = a and P(1|1) = b.

    >>> bc.binary_asymmetric(0.1, 0.8).W.tolist()
    [[0.9, 0.1], [0.19999999999999996, 0.8]]
    """
    a, b = _probability(a, "the probability a = P(1|0)"), _probability(b, "the probability b = P(1|1)")
    return Channel.from_rows([[1 - a, a], [1 - b, b]], name=f"BAC({a:g},{b:g})")


@_described(LETTERS, q="The number of letters, at least 2.", p="The probability of an error, in [0, 1].")
def q_ary_symmetric(q: int, p: float) -> Channel:
    """q-ary symmetric channel: errs with probability p, evenly. C = log2 q - h(p) - p log2(q-1).

    >>> round(bc.capacity(bc.q_ary_symmetric(4, 0.0)).value, 6)
    2.0
    """
    q = whole_number(q, "the alphabet size q", at_least=2)
    p = _probability(p, "the error probability p")
    W = np.full((q, q), p / (q - 1))
    np.fill_diagonal(W, 1 - p)
    return Channel.from_rows(W, name=f"QSC({q},{p:g})")


@_described(LETTERS, q="The number of letters, at least 2.", p="The probability of the next letter, in [0, 1].")
def noisy_typewriter(q: int, p: float = 0.5) -> Channel:
    """Noisy typewriter: each of q letters is kept or, with probability p, becomes the next.

    C = log2 q - h(p) [CT06, 7.1.3 for p = 1/2].

    >>> round(2 ** bc.capacity(bc.noisy_typewriter(26)).value, 6)
    13.0
    """
    q = whole_number(q, "the alphabet size q", at_least=2)
    p = _probability(p, "the probability p of the next letter")
    keep = np.eye(q)
    return Channel.from_rows((1 - p) * keep + p * np.roll(keep, 1, axis=1), name=f"typewriter({q},{p:g})")


def random_channel(
    n_inputs: int, n_outputs: int, *, rng: np.random.Generator, concentration: float = 1.0, name: str = ""
) -> Channel:
    """Rows drawn independently from the symmetric Dirichlet distribution.

    concentration 1 is uniform on the simplex; small values give nearly deterministic rows.
    """
    n_inputs = whole_number(n_inputs, "n_inputs", at_least=1)
    n_outputs = whole_number(n_outputs, "n_outputs", at_least=1)
    concentration = number_in(concentration, "the concentration", low=0.0, high=1e300)
    W = rng.dirichlet(np.full(n_outputs, concentration), size=n_inputs)
    return Channel.from_rows(W, name=name, normalize=True)


@_described(
    "With the amplitudes as inputs.",
    order="The number of amplitudes, at least 2.",
    snr_db="The ratio of signal to noise, in decibels.",
    n_outputs="The number of bins, at least 2; None decides hard.",
)
def awgn_pam(order: int, snr_db: float, *, n_outputs: int | None = None) -> Channel:
    """Pulse-amplitude modulation over white Gaussian noise, quantised.

    Equally spaced amplitudes of mean energy 1, noise of variance 10^(-snr_db/10).
    Without `n_outputs` the receiver decides hard (nearest amplitude); with it, it reports
    one of `n_outputs` equal bins that cover the amplitudes and three deviations beyond
    (soft decision), the outer two unbounded.

    >>> bc.awgn_pam(4, 12.0, n_outputs=16).W.shape
    (4, 16)
    """
    order = whole_number(order, "the order of the modulation", at_least=2)
    sigma = 10.0 ** (-number_in(snr_db, "snr_db", low=-300.0, high=300.0) / 20.0)
    amplitudes = np.arange(1 - order, order, 2) / math.sqrt((order**2 - 1) / 3)
    if n_outputs is None:
        thresholds = (amplitudes[1:] + amplitudes[:-1]) / 2
    else:
        n_outputs = whole_number(n_outputs, "n_outputs", at_least=2)
        edge = amplitudes[-1] + 3 * sigma
        thresholds = np.linspace(-edge, edge, n_outputs + 1)[1:-1]
    W = _gaussian_bins(amplitudes, sigma, thresholds)
    decision = "hard" if n_outputs is None else f"{n_outputs} bins"
    return Channel.from_rows(W, name=f"{order}-PAM {snr_db:g} dB {decision}", inputs=[f"{a:+.3f}" for a in amplitudes])


@_described(
    "With pairs of amplitudes as inputs.",
    order="The number of points: 4, 9, 16, 25, …",
    snr_db="The ratio of signal to noise, in decibels.",
    n_outputs_per_axis="The number of bins along each axis; None decides hard.",
)
def awgn_qam(order: int, snr_db: float, *, n_outputs_per_axis: int | None = None) -> Channel:
    """Square quadrature-amplitude modulation over complex white Gaussian noise, quantised.

    Two independent `awgn_pam` of order sqrt(order) at the same ratio, one an axis.

    >>> bc.awgn_qam(16, 15.0).W.shape
    (16, 16)
    """
    order = whole_number(order, "the order of the modulation", at_least=4)
    side = math.isqrt(order)
    if side * side != order:
        raise InputError(f"the order of a square QAM must be 4, 9, 16, 25, ...; it is {order}")
    axis = awgn_pam(side, snr_db, n_outputs=n_outputs_per_axis)
    both = product(axis, axis)
    decision = "hard" if n_outputs_per_axis is None else f"{n_outputs_per_axis}x{n_outputs_per_axis} bins"
    return Channel.from_rows(
        both.W, name=f"{order}-QAM {snr_db:g} dB {decision}", inputs=both.inputs, outputs=both.outputs
    )


@_described(
    "With the intensities as inputs.",
    intensities="The mean count of every input, at least 0.",
    dark="The mean count without light.",
    max_count="The count from which on all are taken together.",
)
def poisson(intensities: object, *, dark: float = 0.0, max_count: int | None = None) -> Channel:
    """Photon counting: input x gives a Poisson count of mean intensities[x] + dark.

    The last output collects every count >= `max_count`, by default the smallest count
    that the brightest input passes with probability below 1e-12.

    >>> bc.poisson([0.0, 5.0], max_count=3).outputs
    ('0', '1', '2', '>=3')
    """
    from scipy import special  # deferred: importing scipy.special would slow down every import of the package

    rates = np.asarray(numeric_array(intensities, "the intensities"), dtype=np.float64)
    dark = number_in(dark, "the dark count", low=0.0, high=1e12, low_open=False)
    if rates.ndim != 1 or rates.size == 0 or not np.all((rates >= 0) & (rates <= 1e12)):
        raise InputError(f"the intensities must be a vector of numbers in [0, 1e12]; they are {intensities!r}")
    means = rates + dark
    if max_count is None:
        max_count = 1
        while special.pdtrc(max_count - 1, means.max()) > 1e-12:
            max_count = max(max_count + 1, int(max_count * 1.05))
    max_count = whole_number(max_count, "max_count", at_least=1)
    counts = np.arange(max_count)
    body = np.exp(special.xlogy(counts, means[:, None]) - means[:, None] - special.gammaln(counts + 1))
    tail = special.pdtrc(max_count - 1, means)
    W = np.column_stack([body, tail])
    outputs = [*map(str, counts), f">={max_count}"]
    # gammaln carries a relative error of a few 1e-14 at large counts
    return Channel.from_rows(
        W / W.sum(axis=1, keepdims=True),
        name=f"Poisson({len(rates)} levels)",
        inputs=[f"{rate:g}" for rate in rates],
        outputs=outputs,
    )


FAMILIES: dict[str, tuple[Callable[..., Channel], str]] = {
    "bsc": (bsc, "p"),
    "bec": (bec, "e"),
    "z": (z_channel, "q"),
    "bac": (binary_asymmetric, "P(1|0),P(1|1)"),
    "qsc": (q_ary_symmetric, "q,p"),
    "typewriter": (noisy_typewriter, "q,p"),
    "pam": (awgn_pam, "order,snr_db"),
    "qam": (awgn_qam, "order,snr_db"),
    "poisson": (lambda *intensities: poisson(intensities), "intensity,intensity,…"),
}
"""Families by short names, as a text names a channel: bsc:0.11."""


def family_list() -> str:
    """All families with their parameters, as people write them."""
    return ", ".join(f"{name}:{parameters}" for name, (_, parameters) in FAMILIES.items())


def named_family(text: str) -> Channel:
    """The channel that a text such as bsc:0.11 or qam:16,12 names, or an `InputError` that lists the families.

    >>> named_family("bsc:0.11").name
    'BSC(0.11)'
    """
    name, _, given = text.partition(":")
    if name not in FAMILIES:
        raise InputError(f"there is no family {name!r} of channels; there are {family_list()}")
    make, parameters = FAMILIES[name]
    try:
        # a whole number stays one, as alphabets must be
        return make(*(int(n) if n.strip().lstrip("+-").isdecimal() else float(n) for n in given.split(",")))
    except (TypeError, ValueError) as error:
        why = f" ({error})" if isinstance(error, InputError) else ""
        raise InputError(f"a channel of this family is written {name}:{parameters}; it is {text!r}{why}") from None


def _gaussian_bins(means: Floats, sigma: float, thresholds: Floats) -> Floats:
    """P(bin | mean) for the bins that `thresholds` cut out of the line.

    A bin right of the mean is the mirror image of one left of it, so every difference
    of distribution functions is taken in the lower tail, where it keeps its digits.
    """
    from scipy.special import ndtr  # deferred, as above

    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    low = (edges[:-1] - means[:, None]) / sigma
    high = (edges[1:] - means[:, None]) / sigma
    right = low > 0
    return np.where(right, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _probability(value: float, where: str) -> float:
    return number_in(value, where, low=0.0, high=1.0, low_open=False)
