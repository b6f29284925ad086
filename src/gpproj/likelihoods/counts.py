"""Counts: Poisson, and negative binomial for those that vary more."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logsumexp

from gpproj.data import TargetKind, positive
from gpproj.likelihoods.base import Derivatives, ParameterDerivatives
from gpproj.likelihoods.numerical import Numerical
from gpproj.likelihoods.special import LOG_2_PI, stirling_remainder, stirling_slope
from gpproj.linalg import Host

LARGEST = 700.0
"""Logarithms of rates are cut here, so that the rates are finite."""


class _Counts(Numerical):
    """Likelihoods of counts with a logarithmic link.

    `log p(y | f)` is written as its value at the best rate, `exp(f) = y`, and the loss from there
    to f: neither cancels for large counts.
    """

    kind: ClassVar[TargetKind] = TargetKind.COUNT

    def unit(self, y: Host) -> float:
        """Return the inverse of the mean count."""
        return np.size(y) / _sum(y)

    def centre(self, y: Host, offset: Host) -> float:
        """Return the logarithm of the sum of counts over the sum of `exp(offset)`."""
        return math.log(_sum(y)) - float(logsumexp(np.broadcast_to(offset, np.shape(y))))

    def log_likelihood(self, y: Host, f: Host) -> Host:
        """Return `log p(y | f)`, elementwise."""
        some = np.maximum(y, 1.0)
        best = np.log(some)
        found = self._highest(some) + self._excess(some, best, f - best)
        return np.where(np.asarray(y) > 0, found, self._of_none(f))

    def response(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return mean and variance of y for latent values `N(mean, variance)`."""
        return self._moments(mean, variance, 0.0)

    def _moments(self, mean: Host, variance: Host, dispersion: float) -> tuple[Host, Host]:
        """Return them for rates m that are log-normal: `V[y] = E[m + dispersion m^2] + V[m]`."""
        with np.errstate(over="ignore", divide="ignore"):
            expected = np.exp(mean + 0.5 * np.asarray(variance))
            spread = np.log((1.0 + dispersion) * np.expm1(variance) + dispersion)
            return expected, expected + np.exp(2.0 * np.asarray(mean) + variance + spread)

    @abstractmethod
    def _highest(self, y: Host) -> Host:
        """Return `log p(y | log y)` for y > 0."""

    @abstractmethod
    def _of_none(self, f: Host) -> Host:
        """Return `log p(0 | f)`."""

    def _corner(self, y: Host) -> Host:
        return np.log(np.maximum(y, 0.5))


@dataclass(frozen=True)
class Poisson(_Counts):
    """Counts with rate `exp(f)`: `log p(y | f) = y f - exp(f) - log y!`.

    Rates above `exp(700)` are taken for that, in the likelihood and in its derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson().log_likelihood(np.array([0.0, 2.0]), np.array([0.0, 0.0])).round(4)
    array([-1.    , -1.6931])
    >>> mean, variance = Poisson().response(np.array([1.0]), np.array([0.5]))
    >>> mean.round(3), variance.round(3)
    (array([3.49]), array([11.393]))
    """

    def derivatives(self, y: Host, f: Host) -> Derivatives:
        """Return `y - exp(f)`, and `-exp(f)` twice."""
        rate = _rate(f)
        return Derivatives(y - rate, -rate, -rate)

    def draw(self, f: Host, rng: np.random.Generator) -> Host:
        """Draw a count for each latent value."""
        return _drawn(_rate(f), rng)

    def _highest(self, y: Host) -> Host:
        return -0.5 * (LOG_2_PI + np.log(y)) - stirling_remainder(y)

    def _of_none(self, f: Host) -> Host:
        return -_rate(f)

    def _excess(self, y: Host, f: Host, step: Host) -> Host:
        rate = _rate(f)
        near = np.clip(step, -1.0, 1.0)
        close = rate * (np.expm1(near) - near)
        return -np.where(near == step, close, _rate(f + step) - rate * (1.0 + step))


@dataclass(frozen=True)
class NegativeBinomial(_Counts):
    """Counts with mean `m = exp(f)` and variance `m + dispersion m^2`.

    With `r = 1 / dispersion`,

        log p(y | f) = log Gamma(y + r) - log Gamma(r) - log y!
                       + y log(m / (m + r)) + r log(r / (m + r)),

    and the Poisson likelihood is the limit of no dispersion.

    Parameters
    ----------
    dispersion : float
        Variance of the rate, in units of its squared mean.

    Examples
    --------
    >>> import numpy as np
    >>> y, f = np.array([0.0, 3.0]), np.array([1.0, 1.0])
    >>> NegativeBinomial(0.5).log_likelihood(y, f).round(4)
    array([-1.7166, -1.9846])
    >>> NegativeBinomial(1e-9).log_likelihood(y, f) - Poisson().log_likelihood(y, f) < 1e-8
    array([ True,  True])
    """

    parameters: ClassVar[dict[str, str]] = {"dispersion": "dispersion"}

    dispersion: float = 0.1

    def __post_init__(self) -> None:
        """Refuse dispersions that are not positive."""
        object.__setattr__(self, "dispersion", positive("dispersion", self.dispersion))

    def derivatives(self, y: Host, f: Host) -> Derivatives:
        """Return the first three derivatives of `log p(y | f)` in f.

        They are `(y - m) g`, `-m (1 + dispersion y) g^2` and the latter times
        `(1 - dispersion m) g`, where `g = 1 / (1 + dispersion m)`.
        """
        p, g = self._shares(f)
        second = -p * g * (1.0 / self.dispersion + y)
        return Derivatives(y * g - p / self.dispersion, second, second * (g - p))

    def parameter_derivatives(self, y: Host, f: Host) -> ParameterDerivatives:
        """Return derivatives in the logarithm of the dispersion, `(1, n)` each."""
        a, r = self.dispersion, 1.0 / self.dispersion
        y, f = np.broadcast_arrays(y, f)
        p, g = self._shares(f)
        some = np.maximum(y, 1.0)
        from_best = r * (self._log_ratio(np.log(some), f - np.log(some)) - p + a * some * g)
        best = r * (stirling_slope(r) - stirling_slope(some + r)) - 0.5 * a * some / (1 + a * some)
        of_none = r * (np.logaddexp(0.0, self._log_odds(f)) - p)
        value = np.where(y > 0, best + from_best, of_none)
        first = -p * (y * g - r * p)
        second = -p * g * (y - 2.0 * (r + y) * p)
        return ParameterDerivatives(value[None], first[None], second[None])

    def response(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return mean and variance of y for latent values `N(mean, variance)`."""
        return self._moments(mean, variance, self.dispersion)

    def draw(self, f: Host, rng: np.random.Generator) -> Host:
        """Draw a count for each latent value: of a rate that is drawn from a gamma distribution."""
        shape = 1.0 / self.dispersion
        return _drawn(_rate(f) * rng.gamma(shape, self.dispersion, f.shape), rng)

    def _log_odds(self, f: Host) -> Host:
        """Return `log(dispersion m)`."""
        return f + math.log(self.dispersion)

    def _shares(self, f: Host) -> tuple[Host, Host]:
        """Return `dispersion m / (1 + dispersion m)` and its complement."""
        odds = self._log_odds(f)
        return expit(odds), expit(-odds)

    def _log_ratio(self, f: Host, step: Host) -> Host:
        """Return by how much `log(1 + dispersion m)` grows from f to `f + step`."""
        odds = self._log_odds(f)
        near = np.clip(step, -1.0, 1.0)
        far = np.logaddexp(0.0, odds + step) - np.logaddexp(0.0, odds)
        return np.where(near == step, np.log1p(expit(odds) * np.expm1(near)), far)

    def _highest(self, y: Host) -> Host:
        r = 1.0 / self.dispersion
        log_variance = np.log(y) + np.log1p(self.dispersion * y)
        remainders = stirling_remainder(y) + stirling_remainder(r) - stirling_remainder(y + r)
        return -0.5 * (LOG_2_PI + log_variance) - remainders

    def _of_none(self, f: Host) -> Host:
        return -np.logaddexp(0.0, self._log_odds(f)) / self.dispersion

    def _excess(self, y: Host, f: Host, step: Host) -> Host:
        p, _ = self._shares(f)
        return -(y + 1.0 / self.dispersion) * (self._log_ratio(f, step) - p * step)


def _rate(f: Host) -> Host:
    return np.exp(np.minimum(f, LARGEST))


def _drawn(rate: Host, rng: np.random.Generator) -> Host:
    """Draw counts; NumPy's have 63 bits, and larger ones are taken for that."""
    return rng.poisson(np.minimum(rate, 1e18)).astype(np.float64)


def _sum(y: Host) -> float:
    """Return the sum of counts; where there is nothing but zeros, that of half a count."""
    return max(float(np.sum(y)), 0.5)
