"""Over-optimism of scores along a path that was chosen with the same data."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from gpproj.linalg import Host

FACTOR = 1.5
"""How often an expected maximum is subtracted from a gain that does not exceed it."""


def corrected_gains(gains: Host, errors: Host, candidates: Host) -> Host:
    """Return gains of the elpd from step to step, less what choosing among many explains.

    If no candidate of a step were any better, its best would still seem to gain about

        s = error  Phi^-1(1 - 1 / (2 K)),

    about what the largest of K errors comes to (McLatchie and Vehtari, 2024). A gain, or a loss,
    larger than that is left as it is, a smaller one becomes `gain - 1.5 s`.

    Parameters
    ----------
    gains : array `(steps,)`
    errors : array `(steps,)`
        Their standard errors: how much a candidate that adds nothing would scatter.
    candidates : array `(steps,)`
        How many there were to choose from, K.

    Examples
    --------
    >>> corrected_gains(np.array([30.0, 1.0]), np.array([4.0, 2.0]), np.array([10, 9])).round(1)
    array([30. , -3.8])
    """
    chance = errors * ndtri(1.0 - 0.5 / np.maximum(candidates, 1))
    corrected: Host = np.where(np.abs(gains) > chance, gains, gains - FACTOR * chance)
    return corrected
