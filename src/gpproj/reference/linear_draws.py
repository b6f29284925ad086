"""Linear models as draws of their weights: how they predict, as references and as submodels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from gpproj.kernels import Constant, Linear
from gpproj.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson
from gpproj.linalg import Array, Host, like, to_host
from gpproj.prediction import (
    Component,
    LatentPredictor,
    MixedResponses,
    Mixture,
    Part,
    Prediction,
    Responses,
    by_tiles,
    weighted,
)


class Aim(NamedTuple):
    """Linear predictors that others are compared with, `(s, n)` each."""

    eta: Host
    mean: Host
    """Mean of y."""
    absent: Host
    """Probability of the first of two classes: one less the mean."""
    entropy: Host
    """Entropy of two classes."""

    def take(self, draws: slice | NDArray[np.intp]) -> Aim:
        """Return the linear predictors of some draws."""
        return Aim(*(part[draws] for part in self))


class Link(NamedTuple):
    """Functions of linear predictors, elementwise, for a likelihood with its canonical link."""

    mean: Callable[[Host], Host]
    """Mean of y."""
    variance: Callable[[Host], Host]
    """Variance of y, which is the derivative of its mean too."""
    aim: Callable[[Host], Aim]
    """What divergences from the distributions at some linear predictors need of them."""
    divergence: Callable[[Aim, Host], Host]
    """From these distributions to those at other linear predictors."""


def _logit_variance(eta: Host) -> Host:
    small = np.exp(-np.abs(eta))
    found: Host = small / (1.0 + small) ** 2
    return found


def _logit_aim(eta: Host) -> Aim:
    p, absent = expit(eta), expit(-eta)
    return Aim(eta, p, absent, -xlogy(p, p) - xlogy(absent, absent))


def _logit_divergence(aim: Aim, other: Host) -> Host:
    """Return `p log(1 + exp(-f)) + (1 - p) log(1 + exp(f)) - entropy`; no term of it is large."""
    found = np.abs(other)
    np.log(1.0 + np.exp(-found, out=found), out=found)
    found += np.where(other > 0.0, aim.absent, -aim.mean) * other
    found -= aim.entropy
    return np.maximum(found, 0.0, out=found)


def _rate(eta: Host) -> Host:
    with np.errstate(over="ignore"):
        return np.exp(eta)


def _rate_aim(eta: Host) -> Aim:
    none = np.zeros_like(eta)
    return Aim(eta, _rate(eta), none, none)


def _rate_divergence(aim: Aim, other: Host) -> Host:
    """Return `m (log m - log q) - m + q` for rates m and q; infinite where q overflows."""
    away = other - aim.eta
    with np.errstate(over="ignore", invalid="ignore"):
        near = aim.mean * (np.expm1(away) - away)
        # The rate beside a far larger one: the product above may be zero times infinity.
        found: Host = np.where(away < 30.0, near, np.exp(other))
    return found


LOGIT = Link(expit, _logit_variance, _logit_aim, _logit_divergence)
LOG = Link(_rate, _rate, _rate_aim, _rate_divergence)

FAMILIES: dict[str, tuple[Likelihood, Link | None]] = {
    "gaussian": (Gaussian(), None),
    "binomial": (Bernoulli("logit"), LOGIT),
    "poisson": (Poisson(), LOG),
}
"""Likelihood and link of each family; Gaussian noise needs no link."""


def check_family(family: Any) -> None:
    """Refuse families that there are not."""
    if family not in FAMILIES:
        known = ", ".join(f'"{name}"' for name in FAMILIES)
        raise ValueError(f"family must be one of {known}; got {family!r}")


@dataclass(frozen=True, eq=False)
class LinearDraws:
    """Linear functions of some inputs and their noise, one for each draw, on the model's scale."""

    family: str
    """"gaussian", "binomial" (classes, logit link) or "poisson" (log link)."""
    slopes: Host
    """`(s, k)`."""
    intercept: Host
    """`(s,)`."""
    noise: Host | None
    """Variances, `(s,)`; None for classes and counts."""
    weights: Host
    """Weights of the draws, `(s,)`, summing to one."""

    def __post_init__(self) -> None:
        """Refuse families that there are not."""
        check_family(self.family)

    @property
    def count(self) -> int:
        """How many draws there are."""
        return int(self.intercept.shape[0])

    @property
    def link(self) -> Link | None:
        """The canonical link; None for Gaussian noise."""
        return FAMILIES[self.family][1]

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood, with the mean of its noise variances."""
        if self.noise is None:
            return FAMILIES[self.family][0]
        return Gaussian(float(self.weights @ self.noise))

    def likelihood_of(self, draw: int) -> Likelihood:
        """Return the likelihood of one draw."""
        if self.noise is None:
            return self.likelihood
        return Gaussian(float(self.noise[draw]))

    def values(self, X: Host) -> Host:
        """Return the linear functions at `X`, `(s, m)`."""
        found: Host = self.intercept[:, None] + self.slopes @ X.T
        return found

    def new_values(self, X: Host) -> Host:
        """Return them at new rows, `(s, m)`, those of each row from itself alone."""
        found: Host = by_tiles(lambda rows: (self.values(rows).T,), X)[0].T
        return found

    def predict(self, X: Host) -> Prediction:
        """Return mean and variance of the latent function over the draws, `(m,)` each."""
        return self._mixed(self.new_values(X), np.zeros((self.count, 1)))

    def respond(self, X: Host, offset: Host | None = None) -> Prediction:
        """Return mean and variance of y, `(m,)` each; of classes as 0 and 1."""
        means = self.means(X, offset)
        return self._mixed(means, self.spread(means))

    def means(self, X: Host, offset: Host | None = None) -> Host:
        """Return the mean of y under every draw, `(s, m)`."""
        return self.means_at(self._shifted(X, offset))

    def means_at(self, eta: Host) -> Host:
        """Return the mean of y for linear predictors."""
        return eta if self.link is None else self.link.mean(eta)

    def spread(self, means: Host) -> Host:
        """Return the variance of y under every draw, given the means, `(s, m)` or `(s, 1)`."""
        if self.noise is not None:
            return self.noise[:, None]
        return means * (1.0 - means) if self.family == "binomial" else means

    def log_likelihood(self, X: Host, y: Host, offset: Host | None = None) -> Host:
        """Return the log density of targets under every draw, `(s, m)`."""
        noise = None if self.noise is None else self.noise[:, None]
        return self.log_likelihood_at(self._shifted(X, offset), y, noise)

    def log_likelihood_at(self, eta: Host, y: Host, noise: Host | None) -> Host:
        """Return the log density of targets for linear predictors `(s, m)` and noise variances."""
        if noise is not None:
            found: Host = -0.5 * ((y - eta) ** 2 / noise + np.log(2.0 * np.pi * noise))
            return found
        return self.likelihood.log_likelihood(np.broadcast_to(y, eta.shape), eta)

    def log_density(self, X: Host, y: Host, offset: Host | None = None) -> Host:
        """Return the log density of targets under the mixture, `(m,)`."""
        own = self.log_likelihood(X, y, offset) + np.log(self.weights)[:, None]
        found: Host = np.logaddexp.reduce(own, axis=0)
        return found

    def _shifted(self, X: Host, offset: Host | None) -> Host:
        found = self.new_values(X)
        return found if offset is None else found + offset

    def _mixed(self, mean: Host, variance: Host) -> Prediction:
        mean = np.ascontiguousarray(mean.T)
        centre = weighted(mean, self.weights)
        with np.errstate(over="ignore", invalid="ignore"):  # of rates that are next to infinite
            spread = variance.T + (mean - centre[:, None]) ** 2
            return Prediction(centre, weighted(spread, self.weights))


@dataclass(frozen=True, eq=False)
class LinearResponses(Responses):
    """The predictions of linear models, on the model's scale."""

    linear: LinearDraws
    X: Array
    offset: Host | None

    def moments(self) -> Prediction:
        """Return mean and variance of each target, `(m,)`."""
        found = self.linear.respond(to_host(self.X), self.offset)
        return Prediction(*(like(part, self.X) for part in found))

    def log_density(self, y: Array) -> Array:
        """Return the log density of targets."""
        targets, X = to_host(y), to_host(self.X)
        rows = np.atleast_2d(targets)
        found = np.stack([self.linear.log_density(X, one, self.offset) for one in rows])
        return like(found.reshape(targets.shape), self.X)

    def quantiles(self, shares: Sequence[float]) -> Host:
        """Return quantiles of each target over the draws, `(q, m)`."""
        linear = self.linear
        values = linear.new_values(to_host(self.X))
        known = np.zeros(values.shape[1])  # a draw is certain of its function
        parts = [
            Part(weight, Prediction(own, known), linear.likelihood_of(s))
            for s, (weight, own) in enumerate(zip(linear.weights.tolist(), values, strict=True))
        ]
        return MixedResponses(parts, self.offset).quantiles(shares)


class LinearPredictive(Mixture):
    """A reference or a submodel that is a linear model, known by posterior draws.

    Public values are in the user's units: the latent function is `X @ weights[s] + intercept[s]`.
    """

    linear: LinearDraws
    """The draws, on the model's scale."""

    @property
    @abstractmethod
    def _positions(self) -> list[int]:
        """Positions of its inputs among all."""

    @property
    def family(self) -> str:
        """One of "gaussian", "binomial", "poisson"."""
        return self.linear.family

    @property
    def weights(self) -> Host:
        """Draws of the weights, one column for each input, `(s, k)`."""
        scaling = self.columns.scaling
        return self.linear.slopes * (scaling.target_scale / self._input_scale)

    @property
    def intercept(self) -> Host:
        """Draws of the intercept, `(s,)`."""
        scaling = self.columns.scaling
        shift = self.weights @ to_host(scaling.input_mean)[self._positions]
        found: Host = scaling.target_mean + scaling.target_scale * self.linear.intercept - shift
        return found

    @property
    def noise_draws(self) -> Host:
        """Draws of the noise variance, in squared units of `y`, `(s,)`.

        Classes and counts have none: that is an AttributeError.
        """
        if self.linear.noise is None:
            raise AttributeError(f"the family {self.family!r} has no noise variance")
        return self.linear.noise * self.columns.scaling.target_scale**2

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood, with the mean of the noise variances in squared units of `y`."""
        return self.linear.likelihood.scaled(float(self.columns.scaling.target_scale) ** 2)

    def _latent(self, X_new: Array) -> Prediction:
        return Prediction(*(like(part, X_new) for part in self.linear.predict(to_host(X_new))))

    def _responses(self, X_new: Array, offset: Host | None) -> Responses:
        return LinearResponses(self.linear, X_new, offset)

    def _drawn(
        self, X_new: Array, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[Host, Likelihood]]:
        linear = self.linear
        values = linear.new_values(to_host(X_new))
        for s in rng.choice(linear.count, draws, p=linear.weights).tolist():
            yield values[None, s], linear.likelihood_of(s)

    @property
    def _input_scale(self) -> Host:
        return to_host(self.columns.scaling.input_scale)[self._positions]

    def _components(self) -> Iterator[Component]:
        """Return every draw as a Gaussian process that is known without noise.

        One with the kernel `1 + x'x'` that was seen at the origin and at the unit vectors has the
        mean c + w'x and no variance anywhere.
        """
        linear, home = self.linear, self.columns.scaling.input_mean
        k = linear.slopes.shape[1]
        kernel = Constant(1.0) + Linear(1.0) if k else Constant(1.0)
        points, root = np.vstack([np.zeros((1, k)), np.eye(k)]), np.eye(k + 1)
        root[1:, 0] = -1.0
        first = linear.intercept - linear.slopes.sum(axis=1)
        coefficients = np.column_stack([first, linear.slopes])
        for s, weight in enumerate(linear.weights.tolist()):
            predictor = LatentPredictor(
                kernel=kernel,
                log_parameters=kernel.log_parameters(k),
                mask=np.ones(k, dtype=np.bool_),
                X=like(points, home),
                coefficients=like(coefficients[s], home),
                root=like(root, home),
                extra=0.0,
            )
            yield Component(weight, predictor, linear.likelihood_of(s))
