"""A prior of submodels that knows their reference: it costs nothing where the reference stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.priors.bounds import Bounds
from gpproj.priors.distributions import LogNormal
from gpproj.priors.joint import LogPrior, Prior


@dataclass(frozen=True, eq=False)
class AroundReference:
    """Flat between the weak prior's medians and the reference's values, log-normal outside.

    The reference's own values cost nothing, so that a submodel on all inputs is the reference; and
    neither do values that the weak prior expects, so that an input which the reference has no use
    for may stand in for another. What costs is to be more extreme than either.

    Parameters
    ----------
    lower, upper : array `(p,)`
        Of the flat part, log parameters.
    sigma : array `(p,)`
        Standard deviation of the logarithm outside; infinite where the prior is flat throughout.
    owners : int array `(p,)`
        The input that each entry belongs to, -1 for none.
    """

    lower: Host
    upper: Host
    sigma: Host
    owners: NDArray[np.intp]

    def __call__(self, parameters: Host, mask: NDArray[np.bool_]) -> LogPrior:
        """Return the log density; what belongs to inputs that are out does not count.

        Parameters
        ----------
        parameters : array `(b, p)`
        mask : bool array `(b, d)`
        """
        always = np.ones((len(mask), 1), dtype=bool)
        counted = np.concatenate([mask, always], axis=1)[:, self.owners]  # -1 is the last one
        away = np.minimum(parameters - self.lower, 0.0) + np.maximum(parameters - self.upper, 0.0)
        z = np.where(counted, away / self.sigma, 0.0)
        return LogPrior(-0.5 * np.sum(z**2, axis=1), -z / self.sigma)

    @property
    def bounds(self) -> Bounds:
        """Where the density is positive: everywhere."""
        infinite = np.full_like(self.lower, np.inf)
        return Bounds(-infinite, infinite)

    def __repr__(self) -> str:
        """Show the numbers: what a fingerprint needs."""
        parts = (self.lower, self.upper, self.sigma)
        return f"AroundReference({', '.join(repr(part.tolist()) for part in parts)})"


def around_reference(weak: Prior, known: Host | None) -> AroundReference:
    """Return the prior between the weak one's medians and the reference's values.

    Parameters
    ----------
    weak : Prior
        Of the submodel's parameters.
    known : array `(q,)` or None
        Log parameters of the reference, as many as it has: the first of the submodel's.
    """
    normal = [isinstance(term, LogNormal) for term in weak.terms]
    medians, sigmas = (
        np.array([getattr(term, name, other) for term in weak.terms])
        for name, other in (("median", 1.0), ("sigma", np.inf))
    )
    middle = np.log(medians) + weak.log_units
    values = middle.copy()
    if known is not None:
        values[: known.size] = known
    return AroundReference(
        np.minimum(middle, values),
        np.maximum(middle, values),
        np.where(normal, sigmas, np.inf),
        weak.owners,
    )
