"""The interface of observation models: densities, derivatives, tilted moments, predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from gpproj.data import TargetKind
from gpproj.linalg import Host


class Derivatives(NamedTuple):
    """Derivatives of `log p(y | f)` in f, elementwise, `(n,)` each."""

    first: Host
    second: Host
    third: Host


class ParameterDerivatives(NamedTuple):
    """Derivatives in the log parameters of `log p(y | f)` and of its derivatives in f, `(q, n)`."""

    value: Host
    first: Host
    second: Host


class Tilted(NamedTuple):
    """Moments of `N(f | mean, variance) p(y | f)`, elementwise, `(n,)` each."""

    log_normaliser: Host
    """`log Z`, `Z = int N(f | mean, variance) p(y | f) df`."""
    mean: Host
    variance: Host


class Likelihood(ABC):
    """`p(y | f)`: observations are independent given the latent function.

    Frozen dataclasses implement it. Their positive parameters, if they have any that are learned,
    are fields named in `parameters`.
    """

    kind: ClassVar[TargetKind]
    parameters: ClassVar[dict[str, str]] = {}
    """Fields that are learned, and the names that priors and posteriors know them by."""
    log_concave: ClassVar[bool] = True
    """Whether `log p(y | f)` is concave in f."""

    @property
    def log_parameters(self) -> Host:
        """Logarithms of the parameters that are learned, `(q,)`."""
        return np.log([getattr(self, field) for field in self.parameters])

    def with_log_parameters(self, logs: Host) -> Self:
        """Return the same likelihood with other values of the parameters that are learned."""
        values = dict(zip(self.parameters, np.exp(logs).tolist(), strict=True))
        return replace(self, **values)  # type: ignore[type-var]  # all of them are dataclasses

    def scaled(self, factor: float) -> Self:
        """Return the likelihood of a target whose variance is `factor` times as large."""
        return self

    @abstractmethod
    def unit(self, y: Host) -> float:
        """Return the variance of latent noise that is about as loud as one observation."""

    @abstractmethod
    def centre(self, y: Host, offset: Host) -> float:
        """Return the constant c for which the likelihood with `f = c + offset` fits best."""

    @abstractmethod
    def log_likelihood(self, y: Host, f: Host) -> Host:
        """Return `log p(y | f)`, elementwise."""

    @abstractmethod
    def derivatives(self, y: Host, f: Host) -> Derivatives:
        """Return the first three derivatives of `log p(y | f)` in f."""

    def information(self, y: Host, f: Host) -> Host:
        """Return the precision that stands for an observation near f, not negative.

        Minus the second derivative, or where that may be negative its expectation.
        """
        return -self.derivatives(y, f).second

    def information_slopes(self, y: Host, f: Host) -> Host:
        """Return derivatives of the information in the log parameters, `(q, n)`."""
        return -self.parameter_derivatives(y, f).second

    def weights(self, y: Host, f: Host) -> Host:
        """Return positive weights of the iterations towards a mode, by default the information."""
        return self.information(y, f)

    def parameter_derivatives(self, y: Host, f: Host) -> ParameterDerivatives:
        """Return derivatives in the log parameters."""
        none = np.zeros((0, np.size(y)))
        return ParameterDerivatives(none, none, none)

    @abstractmethod
    def tilted(self, y: Host, mean: Host, variance: Host) -> Tilted:
        """Return the moments of `N(f | mean, variance) p(y | f)`, elementwise."""

    def tilted_slopes(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return derivatives of the log normaliser in the log parameters, `(q, n)`."""
        return np.zeros((0, np.size(y)))

    @abstractmethod
    def response(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return mean and variance of y for latent values `N(mean, variance)`."""

    def draw(self, f: Host, rng: np.random.Generator) -> Host:
        """Draw a target for each latent value, of the same shape."""
        raise TypeError(f"targets cannot be drawn from {self!r}: it has no method draw")

    def log_density(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return `log p(y)` for latent values `N(mean, variance)`, elementwise."""
        return self.tilted(y, mean, variance).log_normaliser


class AdditiveNoise(Likelihood):
    """A likelihood of real targets `y = f + e`, whose noise e has a squared scale `variance`."""

    kind: ClassVar[TargetKind] = TargetKind.REAL
    parameters: ClassVar[dict[str, str]] = {"variance": "noise_variance"}

    variance: float

    @abstractmethod
    def cumulative(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return the probability of a target below y for latent values `N(mean, variance)`."""

    def scaled(self, factor: float) -> Self:
        """Return the likelihood of a target whose variance is `factor` times as large."""
        return replace(self, variance=self.variance * factor)  # type: ignore[type-var]  # likewise

    def unit(self, y: Host) -> float:
        """Return the squared scale of the noise."""
        return self.variance

    def centre(self, y: Host, offset: Host) -> float:
        """Return 0: real targets are centred before they are modelled."""
        return 0.0
