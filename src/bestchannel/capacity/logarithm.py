"""What the interior points share: their constants, and a logarithm that vectorises, compiled or in NumPy."""

from typing import Any

import numpy as np

TINY = 1e-300
LEAST_SLACK = 1e-30
SHORT_OF_BOUNDARY = 0.995


def log(x: Any) -> Any:
    """log x for x >= 2.3e-308, to 2 units in the last place, without a call so that loops vectorise.

    x = 2^e m with m in [sqrt(1/2), sqrt 2); log m = 2 artanh(t), t = (m-1)/(m+1), |t| < 0.1716,
    by its power series up to t^21.
    """
    bits = np.float64(x).view(np.int64)
    shifted = bits - 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
    e = shifted >> 52
    m = np.int64(bits - (e << 52)).view(np.float64)
    t = (m - 1.0) / (m + 1.0)
    z = t * t
    series = 1.0 / 21.0
    series = series * z + 1.0 / 19.0
    series = series * z + 1.0 / 17.0
    series = series * z + 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    k = np.float64(e)
    # log 2 in two parts; the first has 32 zero bits, so k * part is exact
    return k * 0.693147180369123816490 + (2.0 * t + (2.0 * t * z * series + k * 1.90821492927058770002e-10))
