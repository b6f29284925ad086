"""Priors of submodels: the named ones, and one that costs nothing where the reference stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.priors.bounds import Bounds, Scales
from gpproj.priors.distributions import LogNormal
from gpproj.priors.joint import (
    NAMED,
    LogPrior,
    Prior,
    PriorLike,
    entries_of_inputs,
    prior_of,
    quoted,
)
from gpproj.priors.saas import SparseScales


@dataclass(frozen=True, eq=False)
class AroundReference:
    """Flat between the weak prior's medians and the reference's values, log-normal outside.

    The reference's own values cost nothing, so that a submodel on all inputs is the reference; and
    neither do values that the weak prior expects, so that an input which the reference has no use
    for may stand in for another. What costs is to be more extreme than either.

    Parameters
    ----------
    lower, upper : array `(p,)`
        Bounds of the flat part, as log parameters.
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
        """Return the log density, as a `Prior` does."""
        counted = entries_of_inputs(self.owners, mask)
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
        Weak prior of the submodel's parameters.
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


def submodel_prior(
    prior: PriorLike, kernel: Kernel, units: Scales, known: Host | None
) -> Prior | AroundReference | None:
    """Return the prior of a submodel's log parameters, or say what is wrong with `prior`.

    In a submodel an input must cost the same whatever the others are, so that sets of inputs can be
    compared and what is minimised does not grow along a path. `SparseScales` ties its inputs: they
    share a scale, which each new input changes. It also expects most inputs to be of no use, and
    those of a submodel were chosen because they are.

    Parameters
    ----------
    prior : {"reference", "weak", "botorch", "inverse-gamma", "log-uniform"}, mapping or None
        None is no prior at all.
    kernel : Kernel
        Of the submodel.
    units : Scales
    known : array `(q,)` or None
        Log parameters of the reference, as many as it has.
    """
    names = ["reference", *(name for name in NAMED if name != "saas")]
    if isinstance(prior, str) and prior not in names:
        raise ValueError(
            f"prior must be {quoted(['auto', *names])} or a mapping in submodels; got {prior!r}"
        )
    if isinstance(prior, str) and prior == "reference":
        usual = prior_of("weak", kernel, units, ("extra_variance",))
        assert usual is not None  # only None has no prior
        return around_reference(usual, known)
    found = prior_of(prior, kernel, units, ("extra_variance",))
    if found is not None and any(isinstance(term, SparseScales) for term in found.terms):
        raise ValueError("prior['lengthscale']: SparseScales is no prior of submodels")
    return found
