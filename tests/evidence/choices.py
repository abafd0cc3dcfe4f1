"""Of several weights of a bet on a rival, the one that should win most: `choices` of rival_bets.h, rival by rival."""

from types import SimpleNamespace

import numpy as np

from bestchannel.evidence.bets import LARGEST_INPUT, LARGEST_TILT
from tests.native.inner import choices


def rival_bets(W, P, senses, gaps, weights, gained, fixed_input, worst):
    """For every rival c, the best of the weights [c, i], which fall; `worst` [c] is an input or None."""
    known = np.array([at is not None and not fixed_input for at in worst], dtype=np.int64)
    starts = np.array([inputs if at is None else at for inputs, at in zip(P, worst, strict=True)])
    growths, largest = np.array(gained), 0.0 if fixed_input else LARGEST_INPUT
    sizes, tilts, Q = choices(W, P, senses, gaps, weights, growths, starts, known, largest, LARGEST_TILT)
    return [
        SimpleNamespace(size=size, tilts=tilts[c], outputs=Q[c], growth=growths[c, size])
        for c, size in enumerate(sizes.tolist())
    ]
