"""The reference without one observation, without learning it anew.

Hyperparameters that were learned move by one Newton step, and posterior draws are weighted anew:
held where they are, they have seen the observation that is to be predicted. Removing it from the
latent posterior N(mu, Sigma) is a downdate by its own column c = Sigma_i, with noise variance s:

    Sigma_-i = Sigma + c c' / (s - c_i),    mu_-i = mu + c (mu_i - y_i) / (s - c_i).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import exact
from gpproj.linalg import DenseCovariance, Host, to_host
from gpproj.priors import Bounds
from gpproj.reference import Reference, Target
from gpproj.reference.draws import smoothed
from gpproj.reference.fitting import box_of, log_density_of
from gpproj.reference.target import target_of
from gpproj.validation.newton import curvatures, free_parameters, moved, newton_step, slopes

MANY = 24
"""Parameters above which the curvature of single log densities is neglected: it takes the square
of their number of evaluations."""


class Left(NamedTuple):
    """A reference without one observation, on the model's scale."""

    mean: float
    """Its prediction of the observation."""
    log_density: float
    target: Target
    """What projections are held to, on the other rows."""
    noise: float


class Leaver(ABC):
    """Leaves single observations out of a reference."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self.problem = reference.problem
        self.y: Host = to_host(reference.training.y)

    @abstractmethod
    def __call__(self, i: int) -> Left:
        """Leave out observation i."""

    def _target(self, i: int, latent: exact.Latent) -> Target:
        """Return the target on the other rows from moments on all rows."""
        others = np.delete(np.arange(self.y.size), i)
        problem = exact.Problem(
            self.problem.kernel,
            to_host(self.problem.X)[others],
            self.y[others],
            self.problem.mask,
            self.problem.nugget,
        )
        mean, cov = to_host(latent.latent_mean), to_host(latent.latent_cov.dense())
        rest = DenseCovariance(cov[np.ix_(others, others)])
        return target_of(problem, exact.Latent(mean[others], rest, latent.noise))


class PointLeaver(Leaver):
    """Of a reference with one vector of hyperparameters."""

    def __init__(self, reference: Reference, held: bool) -> None:
        super().__init__(reference)
        self.held = held or reference.optimum is None  # values that were given are not learned
        self.centre = reference.draws.parameters[0]

    def __call__(self, i: int) -> Left:
        """Leave out observation i."""
        theta = self.centre if self.held else self._moved(i)
        given = exact.conditioned(self.problem, theta)
        found = exact.leave_one_out(self.problem.y, given.coefficients, given.root)
        latent = exact.posterior(self.problem, theta, given)
        cavity = self._target(i, downdated(latent, self.y, i))
        return Left(float(found.mean[i]), float(found.log_density[i]), cavity, math.exp(theta[-1]))

    def _moved(self, i: int) -> Host:
        """Return one Newton step from the optimum of L towards that of L - log p(y_i | y_-i)."""
        hessian = self._hessian
        if self._bends is not None:
            hessian = hessian + self._bends[:, :, i]
        step = newton_step(self._pulls[:, i], hessian)
        return moved(
            lambda theta: self._loss(theta) + self._densities(theta)[i],
            self.centre,
            self._free,
            step,
            self._box,
        )

    def _loss(self, theta: Host) -> float:
        return -float(self._density(theta[None, :]).value[0])

    def _densities(self, theta: Host) -> Host:
        """Return all log p(y_i | y_-i), `(n,)`."""
        given = exact.conditioned(self.problem, theta)
        return to_host(
            exact.leave_one_out(self.problem.y, given.coefficients, given.root).log_density
        )

    @cached_property
    def _density(self) -> Callable[[Host], exact.Evidence]:
        own = self.reference
        return log_density_of(own.training, own.structure, own.nugget, own.prior)

    @cached_property
    def _box(self) -> Bounds:
        return box_of(self.reference.training, self.reference.structure, self.reference.prior)

    @cached_property
    def _free(self) -> NDArray[np.intp]:
        return free_parameters(self.reference.structure, self.problem.mask, self.centre, self._box)

    @cached_property
    def _hessian(self) -> Host:
        """Of minus the log posterior of the hyperparameters, `(f, f)`."""
        bend = slopes(
            lambda theta: -self._density(theta[None, :]).gradient[0][self._free],
            self.centre,
            self._free,
        )
        return 0.5 * (bend + bend.T)

    @cached_property
    def _pulls(self) -> Host:
        """Gradients of all log p(y_i | y_-i), `(f, n)`."""
        return slopes(self._densities, self.centre, self._free)

    @cached_property
    def _bends(self) -> Host | None:
        """Their second derivatives, `(f, f, n)`."""
        if len(self._free) > MANY:
            return None
        return curvatures(self._densities, self.centre, self._free)


class SampledLeaver(Leaver):
    """Of a reference with posterior draws: each observation has weights of its own.

    The posterior without the i-th target weighs draw s by 1 / p(y_i | y_-i, theta_s),
    Pareto-smoothed.
    """

    def __init__(self, reference: Reference) -> None:
        super().__init__(reference)
        latents, found = [], []
        for parameters in reference.draws.parameters:
            given = exact.conditioned(self.problem, parameters)
            latents.append(exact.posterior(self.problem, parameters, given))
            loo = exact.leave_one_out(self.problem.y, given.coefficients, given.root)
            found.append((to_host(loo.mean), to_host(loo.log_density)))
        self.means = np.stack([to_host(one.latent_mean) for one in latents])
        self.covs = np.stack([to_host(one.latent_cov.dense()) for one in latents])
        self.noises = np.array([one.noise for one in latents])
        self.loo_mean = np.stack([mean for mean, _ in found])
        self.loo_density = np.stack([density for _, density in found])
        prior = np.log(reference.draws.weights)[:, None]
        self.log_weights, self.k_hat = smoothed(prior - self.loo_density)

    def __call__(self, i: int) -> Left:
        """Leave out observation i."""
        w = np.exp(self.log_weights[:, i])
        column = self.covs[:, :, i]  # (s, n)
        gap = self.noises - column[:, i]
        means = self.means + column * ((self.means[:, i] - self.y[i]) / gap)[:, None]
        mean = w @ means
        away = np.sqrt(w)[:, None] * (means - mean)
        spread = np.sqrt(w / gap)[:, None] * column
        cov = np.tensordot(w, self.covs, axes=1) + spread.T @ spread + away.T @ away
        latent = exact.Latent(mean, DenseCovariance(cov), float(w @ self.noises))
        density = np.logaddexp.reduce(self.log_weights[:, i] + self.loo_density[:, i])
        return Left(
            float(w @ self.loo_mean[:, i]), float(density), self._target(i, latent), latent.noise
        )


def downdated(latent: exact.Latent, y: Host, i: int) -> exact.Latent:
    """Return the latent posterior on all rows without having seen the i-th target."""
    mean, cov = to_host(latent.latent_mean), to_host(latent.latent_cov.dense())
    column, gap = cov[:, i], latent.noise - cov[i, i]
    return exact.Latent(
        mean + column * ((mean[i] - y[i]) / gap),
        DenseCovariance(cov + np.outer(column, column) / gap),
        latent.noise,
    )
