"""The reference without one observation, without learning it anew.

Hyperparameters that were learned move by one Newton step, and posterior draws are weighted anew:
held where they are, they have seen the observation that is to be predicted. Removing its site
(tau, nu) from the latent posterior N(mu, Sigma) is a downdate by its own column c = Sigma_i:

    Sigma_-i = Sigma + c c' tau / (1 - tau c_i),    mu_-i = mu + c (tau mu_i - nu) / (1 - tau c_i).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import (
    Evidence,
    Latent,
    LeaveOneOut,
    Marginals,
    Problem,
    Sites,
    conditioned,
    leave_one_out,
    left_out_of_moments,
    posterior,
    single_densities,
)
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, DenseCovariance, Host, like, to_host
from gpproj.priors import Bounds, scales
from gpproj.reference import GaussianProcessReference, Target
from gpproj.reference.draws import (
    Draws,
    mean_likelihood,
    mean_sites,
    mixed_left_out,
    smoothed,
)
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
    likelihood: Likelihood


class Leaver(ABC):
    """Leaves single observations out of a reference."""

    def __init__(self, reference: GaussianProcessReference) -> None:
        self.reference = reference
        self.problem = reference.problem
        self.y: Host = to_host(reference.training.y)

    @abstractmethod
    def __call__(self, i: int) -> Left:
        """Leave out observation i."""

    def _target(
        self,
        i: int,
        latent: Latent,
        predicted: Callable[[Problem, NDArray[np.intp]], Marginals] | None = None,
    ) -> Target:
        """Return the target on the other rows from moments on all rows.

        Parameters
        ----------
        i : int
        latent : Latent
            On all rows, without the i-th observation.
        predicted : callable, optional
            From the problem of the other rows, and these, to predictions of single ones; by
            removing sites from the moments when left out.
        """
        others = np.delete(np.arange(self.y.size), i)

        def rows(values: Array) -> Array:  # beside the moments, on the host or on a device
            return like(to_host(values)[others], latent.latent_mean)

        problem, (tau, nu) = self.problem, latent.sites
        rest = replace(
            problem,
            X=rows(problem.X),
            y=rows(problem.y),
            offset=None if problem.offset is None else rows(problem.offset),
        )
        found = Latent(
            rows(latent.latent_mean),
            latent.latent_cov.take(others),
            latent.likelihood,
            Sites(tau[others], nu[others]),
            None if predicted is None else predicted(rest, others),
        )
        return target_of(rest, found)


class PointLeaver(Leaver):
    """Of a reference with one vector of hyperparameters."""

    def __init__(self, reference: GaussianProcessReference, held: bool) -> None:
        super().__init__(reference)
        self.held = held or reference.optimum is None  # values that were given are not learned
        self.centre = reference.draws.parameters[0]

    def __call__(self, i: int) -> Left:
        """Leave out observation i."""
        latent, found = self.at_centre if self.held else self._at(self._moved(i))
        cavity = self._target(i, downdated(latent, i))
        return Left(float(found.mean[i]), float(found.log_density[i]), cavity, latent.likelihood)

    @cached_property
    def at_centre(self) -> tuple[Latent, LeaveOneOut]:
        """The latent posterior and all predictions, hyperparameters held."""
        return self._at(self.centre)

    def _at(self, theta: Host) -> tuple[Latent, LeaveOneOut]:
        given = conditioned(self.problem, theta)
        latent = posterior(self.problem, theta, given)
        return latent, leave_one_out(self.problem, latent.likelihood, given)

    def _moved(self, i: int) -> Host:
        """Return one Newton step from the optimum of L towards that of L - log p(y_i | y_-i)."""
        hessian = self._hessian
        if self._bends is not None:
            hessian = hessian + self._bends[:, :, i]
        step = newton_step(self._pulls[:, i], hessian)
        return moved(
            lambda theta: self._loss_without(theta, i), self.centre, self._free, step, self._box
        )

    def _loss(self, theta: Host) -> float:
        return -float(self._density(theta[None, :]).value[0])

    def _loss_without(self, theta: Host, i: int) -> float:
        loss = self._loss(theta)
        return loss + float(self._densities(theta)[i]) if np.isfinite(loss) else loss

    def _densities(self, theta: Host) -> Host:
        """Return all log p(y_i | y_-i), `(n,)`."""
        likelihood = self.problem.likelihood_at(theta)
        found = leave_one_out(self.problem, likelihood, conditioned(self.problem, theta))
        return to_host(found.log_density)

    @cached_property
    def _density(self) -> Callable[[Host], Evidence]:
        own = self.reference
        return log_density_of(self.problem, scales(own.training), own.prior)

    @cached_property
    def _box(self) -> Bounds:
        return box_of(self.problem, scales(self.reference.training), self.reference.prior)

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

    def __init__(self, reference: GaussianProcessReference) -> None:
        super().__init__(reference)
        latents, found = [], []
        for parameters in reference.draws.parameters:
            given = conditioned(self.problem, parameters)
            latents.append(posterior(self.problem, parameters, given))
            loo = leave_one_out(self.problem, latents[-1].likelihood, given)
            found.append((to_host(loo.mean), to_host(loo.log_density)))
        self.means = np.stack([to_host(one.latent_mean) for one in latents])
        self.covs = np.stack([to_host(one.latent_cov.dense()) for one in latents])
        self.sites = [one.sites for one in latents]
        self.loo_mean = np.stack([mean for mean, _ in found])
        self.loo_density = np.stack([density for _, density in found])
        prior = np.log(reference.draws.weights)[:, None]
        self.log_weights, self.k_hat = smoothed(prior - self.loo_density)
        self._variances = np.diagonal(self.covs, axis1=1, axis2=2)

    def _predicted(
        self, w: Host, means: Host, variances: Host, rest: Problem, others: NDArray[np.intp]
    ) -> Marginals:
        """Return the moments of predictions of single rows among the others, `(u,)` each.

        Parameters
        ----------
        w : array `(s,)`
            Weights of the draws without the observation that is left out.
        means, variances : arrays `(s, n)`
            Of the latent function in each draw, without it.
        rest : Problem
            Of the other rows.
        others : int array
        """
        found = [
            left_out_of_moments(
                rest,
                Marginals(mean[others], variance[others]),
                Sites(own.precision[others], own.shift[others]),
            )
            for mean, variance, own in zip(means, variances, self.sites, strict=True)
        ]
        parameters = self.reference.draws.parameters
        density = [
            single_densities(rest, theta, one) for theta, one in zip(parameters, found, strict=True)
        ]
        return mixed_left_out(np.maximum(w, np.finfo(np.float64).tiny), found, density)

    def __call__(self, i: int) -> Left:
        """Leave out observation i."""
        w = np.exp(self.log_weights[:, i])
        column = self.covs[:, :, i]  # (s, n)
        tau = np.array([one.precision[i] for one in self.sites])
        nu = np.array([one.shift[i] for one in self.sites])
        left = 1.0 - tau * column[:, i]
        means = self.means + column * ((tau * self.means[:, i] - nu) / left)[:, None]
        mean = w @ means
        away = np.sqrt(w)[:, None] * (means - mean)
        spread = np.sqrt(w * tau / left)[:, None] * column
        cov = np.tensordot(w, self.covs, axes=1) + spread.T @ spread + away.T @ away
        likelihood = mean_likelihood(self.problem, Draws(self.reference.draws.parameters, w))
        sites = mean_sites(self.problem, likelihood, self.sites, w)
        latent = Latent(mean, DenseCovariance(cov), likelihood, sites)
        variances = self._variances + column**2 * (tau / left)[:, None]
        predicted = partial(self._predicted, w, means, variances)
        density = np.logaddexp.reduce(self.log_weights[:, i] + self.loo_density[:, i])
        seen = float(w @ self.loo_mean[:, i])
        return Left(seen, float(density), self._target(i, latent, predicted), likelihood)


def downdated(latent: Latent, i: int) -> Latent:
    """Return the latent posterior on all rows without having seen the i-th target."""
    mean, column = latent.latent_mean, latent.latent_cov.column(i)
    tau, nu = latent.sites.precision[i], latent.sites.shift[i]
    left = 1.0 - tau * float(column[i])
    return latent._replace(
        latent_mean=mean + column * ((tau * float(mean[i]) - nu) / left),
        latent_cov=latent.latent_cov.plus_outer(column[:, None] * math.sqrt(tau / left)),
    )
