"""Observation models: how a target follows from the latent function.

Examples
--------
>>> from gpproj import likelihoods
>>> likelihoods.Gaussian(variance=0.25)
Gaussian(variance=0.25)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gpproj.data import positive
from gpproj.linalg import Array, namespace

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian:
    """`y = f + e` with `e ~ N(0, variance)`.

    Parameters
    ----------
    variance : float
        Noise variance, in squared units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(1.0).response(np.array([2.0]), np.array([0.5]))
    (array([2.]), array([1.5]))
    """

    variance: float = 1.0

    def __post_init__(self) -> None:
        """Refuse variances that are not positive."""
        object.__setattr__(self, "variance", positive("variance", self.variance))

    def response(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return mean and variance of `y` for latent values `N(mean, variance)`."""
        return mean, variance + self.variance

    def log_density(self, y: Array, mean: Array, variance: Array) -> Array:
        """Return `log p(y)` for latent values `N(mean, variance)`, elementwise."""
        total = variance + self.variance
        log_total = namespace(total).log(total)
        return -0.5 * ((y - mean) ** 2 / total + log_total + math.log(2 * math.pi))


def named_likelihood(likelihood: Any) -> Gaussian:
    """Return the likelihood that a name stands for, or the one given.

    Examples
    --------
    >>> named_likelihood("gaussian")
    Gaussian(variance=1.0)
    """
    if isinstance(likelihood, Gaussian):
        return likelihood
    if likelihood == "gaussian":
        return Gaussian()
    raise ValueError(
        f'likelihood must be "gaussian" or a gpproj.likelihoods object, got {likelihood!r}'
    )
