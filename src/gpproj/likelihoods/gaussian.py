"""Real targets with Gaussian noise, for which everything has a closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from gpproj.data import positive
from gpproj.likelihoods.base import AdditiveNoise, Derivatives, ParameterDerivatives, Tilted
from gpproj.linalg import Array, Host, namespace


@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
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

    def log_likelihood(self, y: Host, f: Host) -> Host:
        """Return `log N(y | f, variance)`, elementwise."""
        found: Host = self.log_density(y, f, np.zeros_like(f))
        return found

    def derivatives(self, y: Host, f: Host) -> Derivatives:
        """Return `(y - f) / variance`, `-1 / variance` and 0."""
        first = (y - f) / self.variance
        return Derivatives(first, np.full_like(first, -1.0 / self.variance), np.zeros_like(first))

    def parameter_derivatives(self, y: Host, f: Host) -> ParameterDerivatives:
        """Return derivatives in the logarithm of the variance, `(1, n)` each."""
        slope = (y - f) / self.variance
        value = 0.5 * ((y - f) * slope - 1.0)
        second = np.full_like(slope, 1.0 / self.variance)
        return ParameterDerivatives(value[None], -slope[None], second[None])

    def tilted(self, y: Host, mean: Host, variance: Host) -> Tilted:
        """Return the posterior of one latent value, and its evidence."""
        share = variance / (variance + self.variance)
        log_normaliser = self.log_density(y, mean, variance)
        return Tilted(log_normaliser, mean + share * (y - mean), share * self.variance)

    def tilted_slopes(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return derivatives of the log normaliser in the log variance, `(1, n)`."""
        total = variance + self.variance
        slopes: Host = 0.5 * self.variance / total * ((y - mean) ** 2 / total - 1.0)
        return slopes[None]

    def cumulative(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return the probability of a target below y for latent values `N(mean, variance)`."""
        found: Host = ndtr((y - mean) / np.sqrt(variance + self.variance))
        return found

    def response(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return mean and variance of y for latent values `N(mean, variance)`."""
        return mean, variance + self.variance

    def draw(self, f: Host, rng: np.random.Generator) -> Host:
        """Draw a target for each latent value."""
        found: Host = f + math.sqrt(self.variance) * rng.standard_normal(f.shape)
        return found

    def log_density(self, y: Array, mean: Array, variance: Array) -> Array:
        """Return `log p(y)` for latent values `N(mean, variance)`, elementwise."""
        total = variance + self.variance
        log_total = namespace(total).log(total)
        return -0.5 * ((y - mean) ** 2 / total + log_total + math.log(2 * math.pi))
