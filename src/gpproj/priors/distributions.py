"""Distributions of one positive hyperparameter, as densities of its logarithm."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from gpproj.data import positive
from gpproj.linalg import Host

STEP = 1e-4
"""Step of differences of slopes."""


class Distribution(ABC):
    """A distribution of a positive number x, known by the density of t = log x.

    Densities are relative to their highest value: a hyperparameter where its prior puts it costs
    nothing, however many of them a submodel has.
    """

    @abstractmethod
    def log_ratio(self, t: Host) -> tuple[Host, Host]:
        """Return `log p(t) - max log p`, elementwise, and its derivative in t."""

    def joint(self, t: Host, counted: NDArray[np.bool_]) -> tuple[Host, Host]:
        """Return the log density of several numbers, relative to its highest value.

        They are independent unless a distribution says otherwise.

        Parameters
        ----------
        t : array `(b, k)`
            Their logarithms.
        counted : bool array `(b, k)`
            Which of them there are.

        Returns
        -------
        value : array `(b,)`
        gradient : array `(b, k)`
        """
        value, gradient = self.log_ratio(t)
        return np.where(counted, value, 0.0).sum(axis=1), np.where(counted, gradient, 0.0)

    def joint_curvature(self, t: Host, counted: NDArray[np.bool_]) -> Host:
        """Return the second derivatives of the joint log density at one vector, `(k, k)`."""
        slopes = self.log_ratio(np.stack([t - STEP, t + STEP]))[1]
        return np.diag(np.where(counted, (slopes[1] - slopes[0]) / (2.0 * STEP), 0.0))

    def __post_init__(self) -> None:
        """Refuse parameters that are not positive."""
        for field in fields(self):  # type: ignore[arg-type]  # all of them are dataclasses
            object.__setattr__(self, field.name, positive(field.name, getattr(self, field.name)))


@dataclass(frozen=True)
class LogNormal(Distribution):
    """`log x ~ N(log median, sigma^2)`.

    Parameters
    ----------
    median : float
    sigma : float
        Standard deviation of the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> LogNormal(median=1.0, sigma=2.0).log_ratio(np.array([0.0, 2.0]))
    (array([-0. , -0.5]), array([-0. , -0.5]))
    """

    median: float = 1.0
    sigma: float = 1.0

    def log_ratio(self, t: Host) -> tuple[Host, Host]:
        """Return `log p(t) - max log p`, elementwise, and its derivative in t."""
        z = (t - math.log(self.median)) / self.sigma
        return -0.5 * z**2, -z / self.sigma


@dataclass(frozen=True)
class InverseGamma(Distribution):
    """`p(x) ~ x^(-shape - 1) exp(-scale / x)`: hardly any mass near zero.

    Parameters
    ----------
    shape, scale : float
    """

    shape: float = 1.0
    scale: float = 1.0

    def log_ratio(self, t: Host) -> tuple[Host, Host]:
        """Return `log p(t) - max log p`, elementwise, and its derivative in t."""
        away = t - math.log(self.scale / self.shape)
        return self.shape * (-away - np.expm1(-away)), self.shape * np.expm1(-away)


@dataclass(frozen=True)
class Gamma(Distribution):
    """`p(x) ~ x^(shape - 1) exp(-rate x)`: hardly any mass far out.

    Parameters
    ----------
    shape, rate : float
    """

    shape: float = 1.0
    rate: float = 1.0

    def log_ratio(self, t: Host) -> tuple[Host, Host]:
        """Return `log p(t) - max log p`, elementwise, and its derivative in t."""
        away = t - math.log(self.shape / self.rate)
        return self.shape * (away - np.expm1(away)), -self.shape * np.expm1(away)


@dataclass(frozen=True)
class LogUniform(Distribution):
    """`log x` uniform between two bounds, the paper's choice; without them it is improper.

    Parameters
    ----------
    lower, upper : float
        In units of the data.
    """

    lower: float = 1e-4
    upper: float = 1e4

    def __post_init__(self) -> None:
        """Refuse bounds that hold nothing."""
        super().__post_init__()
        if not self.lower < self.upper:
            raise ValueError(f"lower must be below upper, got {self.lower} and {self.upper}")

    def log_ratio(self, t: Host) -> tuple[Host, Host]:
        """Return zeros: the density is flat, and whoever asks keeps to the bounds."""
        return np.zeros_like(t), np.zeros_like(t)
