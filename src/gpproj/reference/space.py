"""The space that hyperparameters are sampled in: no bounds, nothing that the data cannot move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import Evidence
from gpproj.linalg import Host
from gpproj.priors import Bounds

EDGE = 1e-3
"""Share of a bounded interval that starts keep away from either end."""


@dataclass(frozen=True, eq=False)
class Space:
    """A map between vectors of log hyperparameters and vectors without bounds.

    A bounded entry t in (a, a + w) has the coordinate z with t = a + w / (1 + exp(-4 z / w)), hence
    dt/dz = 1 in the middle; an unbounded one is its own coordinate.

    Parameters
    ----------
    bounds : Bounds
        `(p,)` each, infinite where there is none.
    values : array `(p,)`
        Values of the entries that stay fixed.
    moving : bool array `(p,)`
        Which entries are sampled, `m` of them.
    """

    bounds: Bounds
    values: Host
    moving: NDArray[np.bool_]

    @cached_property
    def _box(self) -> tuple[NDArray[np.bool_], Host, Host]:
        lower, upper = self.bounds.lower[self.moving], self.bounds.upper[self.moving]
        bounded = np.isfinite(lower) & np.isfinite(upper)
        return bounded, lower[bounded], (upper - lower)[bounded]

    def free(self, parameters: Host) -> Host:
        """Return the coordinates of log hyperparameters, `(m,)` of `(p,)`; inside the bounds."""
        z = parameters[self.moving].copy()
        bounded, lower, width = self._box
        share = np.clip((z[bounded] - lower) / width, EDGE, 1.0 - EDGE)
        z[bounded] = 0.25 * width * np.log(share / (1.0 - share))
        return z

    def fixed(self, z: Host) -> Host:
        """Return log hyperparameters, `(..., p)`, from coordinates, `(..., m)`."""
        bounded, lower, width = self._box
        t = np.array(z, dtype=np.float64)
        t[..., bounded] = lower + width * _logistic(4.0 * t[..., bounded] / width)
        parameters = np.broadcast_to(self.values, (*t.shape[:-1], self.values.size)).copy()
        parameters[..., self.moving] = t
        return parameters

    def pulled_back(
        self, density: Callable[[Host], Evidence]
    ) -> Callable[[Host], tuple[float, Host]]:
        """Return the log density of the coordinates, and its gradient, from that of the logs.

        log p(z) = log p(t(z)) + sum log dt/dz
        """
        bounded, _, width = self._box

        def pulled(z: Host) -> tuple[float, Host]:
            with np.errstate(over="ignore", invalid="ignore"):  # leaps to where nothing is likely
                found = density(self.fixed(z)[None, :])
            gradient = found.gradient[0, self.moving]
            share = _logistic(4.0 * z[bounded] / width)
            slope = 4.0 * share * (1.0 - share)  # dt/dz
            gradient[bounded] = gradient[bounded] * slope + 4.0 * (1.0 - 2.0 * share) / width
            with np.errstate(divide="ignore"):
                value = float(found.value[0] + np.log(slope).sum())
            return value, gradient

        return pulled


def _logistic(z: Host) -> Host:
    return 0.5 * (1.0 + np.tanh(0.5 * z))
