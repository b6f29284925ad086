"""What models predict of the targets of new rows: moments, and densities of whatever targets.

Predictions of the latent function are made once, and asked often: at the targets that were seen,
and at those that a reference expects.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpproj.data import Scaling
from gpproj.likelihoods import Gaussian, Likelihood
from gpproj.linalg import Array, Host, like, namespace, to_host
from gpproj.prediction.quantiles import quantiles


class Prediction(NamedTuple):
    """Mean and variance at each new point."""

    mean: Array
    """`(m,)`."""
    variance: Array
    """`(m,)`."""


class Interval(NamedTuple):
    """Bounds between which each new target is."""

    lower: Host
    """`(m,)`."""
    upper: Host
    """`(m,)`."""


class Responses(ABC):
    """What a model predicts of the targets of m new rows."""

    @abstractmethod
    def moments(self) -> Prediction:
        """Return mean and variance of each target, `(m,)`."""

    def moments_in(self, scaling: Scaling) -> Prediction:
        """Return them in the user's units, where targets here are on the model's scale."""
        return Prediction(*scaling.restore_moments(*self.moments()))

    @property
    def plain(self) -> Responses:
        """Predictions of the same target in units in which it may be any real number."""
        return self

    @abstractmethod
    def log_density(self, y: Array) -> Array:
        """Return the log density of targets `(m,)`, or of several for each row, `(q, m)`.

        Classes are 0 and 1.
        """

    @abstractmethod
    def quantiles(self, shares: Sequence[float]) -> Host:
        """Return quantiles of each target, `(q, m)`: those of counts are counts.

        Classes have none: that is a TypeError.
        """


class Part(NamedTuple):
    """What one of the Gaussian processes of a mixture predicts."""

    weight: float
    latent: Prediction
    likelihood: Likelihood


@dataclass(frozen=True, eq=False)
class MixedResponses(Responses):
    """The predictions of a mixture of Gaussian processes."""

    parts: Sequence[Part]
    """Their weights sum to one."""
    offset: Host | None
    """What is added to the latent function, `(m,)`; None for real targets."""

    def moments(self) -> Prediction:
        """Return mean and variance of each target, `(m,)`."""
        return mixed(
            (part.weight, response_of(part.likelihood, part.latent, self.offset))
            for part in self.parts
        )

    def moments_in(self, scaling: Scaling) -> Prediction:
        """Return them in the user's units: of a transformed target each part by itself."""
        if scaling.transformation is None:
            return super().moments_in(scaling)
        return mixed(
            (
                part.weight,
                Prediction(
                    *scaling.restore_moments(
                        *response_of(part.likelihood, part.latent, self.offset)
                    )
                ),
            )
            for part in self.parts
        )

    def log_density(self, y: Array) -> Array:
        """Return the log density of targets."""
        xp = namespace(y)
        total = xp.full_like(y, -math.inf)
        for weight, latent, likelihood in self.parts:
            density = log_density_of_response(likelihood, y, latent, self.offset)
            total = xp.logaddexp(total, density + math.log(weight))
        return total

    def quantiles(self, shares: Sequence[float]) -> Host:
        """Return quantiles of each target, `(q, m)`."""
        parts = self.parts
        every = [(one.weight, *_on_host(one.latent, self.offset), one.likelihood) for one in parts]
        return quantiles(every, shares)


@dataclass(frozen=True, eq=False)
class ScaledResponses(Responses):
    """Predictions of real targets, in the user's units."""

    own: Responses
    """On the model's scale."""
    scaling: Scaling

    @property
    def plain(self) -> Responses:
        """The same predictions of the target before it is transformed back."""
        return ScaledResponses(self.own, self.scaling.without_transformation)

    def moments(self) -> Prediction:
        """Return mean and variance of each target, `(m,)`."""
        return self.own.moments_in(self.scaling)

    def log_density(self, y: Array) -> Array:
        """Return the log density of targets; minus infinity of what is none."""
        scaling, transformation = self.scaling, self.scaling.transformation
        if transformation is None:
            target = scaling.target(y)
            return scaling.restore_log_density(self.own.log_density(target), target)
        xp, inside = namespace(y), like(transformation.has(to_host(y)), y) > 0.0
        target = scaling.target(xp.where(inside, y, scaling.restore_target(xp.zeros_like(y))))
        density = scaling.restore_log_density(self.own.log_density(target), target)
        return xp.where(inside, density, -math.inf)

    def quantiles(self, shares: Sequence[float]) -> Host:
        """Return quantiles of each target, `(q, m)`."""
        return to_host(self.scaling.restore_target(self.own.quantiles(shares)))


def mixed(predictions: Iterable[tuple[float, Prediction]]) -> Prediction:
    """Return mean and variance of a mixture, of predictions with their weights.

    With d_c the difference of the c-th mean to the first one:
    variance = sum_c w_c v_c + sum_c w_c d_c^2 - (sum_c w_c d_c)^2.
    """
    every = iter(predictions)
    weight, (first, variance) = next(every)
    within = weight * variance
    shift = square = namespace(first).zeros_like(first)
    for weight, (mean, variance) in every:
        within = within + weight * variance
        shift = shift + weight * (mean - first)
        square = square + weight * (mean - first) ** 2
    return Prediction(first + shift, within + square - shift**2)


def noise_of(likelihood: Likelihood) -> float:
    """Return the variance of the noise, or say that there is none."""
    if not likelihood.kind.is_scaled:
        raise AttributeError(f"{likelihood!r} has no noise variance")
    return float(likelihood.response(np.zeros(1), np.zeros(1))[1][0])


def response_of(likelihood: Likelihood, latent: Prediction, offset: Host | None) -> Prediction:
    """Return mean and variance of y on the model's scale."""
    if isinstance(likelihood, Gaussian):
        return Prediction(*likelihood.response(*latent))
    mean, variance = _on_host(latent, offset)
    found = likelihood.response(mean, variance)
    return Prediction(*(like(part, latent.mean) for part in found))


def log_density_of_response(
    likelihood: Likelihood, y: Array, latent: Prediction, offset: Host | None
) -> Array:
    """Return the log density of y, `(m,)` or `(q, m)`, on the model's scale."""
    if isinstance(likelihood, Gaussian):
        return likelihood.log_density(y, *latent)
    targets = to_host(y)
    mean, variance = (
        np.broadcast_to(part, targets.shape).ravel() for part in _on_host(latent, offset)
    )
    found = likelihood.log_density(targets.ravel(), mean, variance)
    return like(found.reshape(targets.shape), latent.mean)


def _on_host(latent: Prediction, offset: Host | None) -> tuple[Host, Host]:
    mean = to_host(latent.mean)
    return mean if offset is None else mean + offset, to_host(latent.variance)
