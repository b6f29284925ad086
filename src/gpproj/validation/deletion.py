"""References without one of their rows, without learning them anew.

Hyperparameters that were learned move by one Newton step, and posterior draws are weighted anew:
left as they are, they have seen the row that is to be predicted. Removing its site (tau, nu) from
the latent posterior N(mu, Sigma) is a downdate by the column c = Sigma_i:

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
from gpproj.priors import Bounds, free_parameters, scales
from gpproj.reference import GaussianProcessReference, Target
from gpproj.reference.draws import (
    Draws,
    mean_likelihood,
    mean_sites,
    mixed_left_out,
    smoothed,
)
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.target import target_of
from gpproj.validation.newton import STEP, backtrack, gradients, hessians, newton_step

MANY = 24
"""Number of parameters above which the Hessians of single log densities are neglected: evaluations
grow with its square."""


class ReducedReference(NamedTuple):
    """A reference without one of its rows, on the model's scale."""

    mean: float
    """The prediction of the row that was left out."""
    log_density: float
    target: Target
    """What submodels are projected onto, on the other rows."""
    likelihood: Likelihood


class Deletion(ABC):
    """Leaves single rows out of a reference."""

    def __init__(self, reference: GaussianProcessReference) -> None:
        self.reference = reference
        self.problem = reference.problem
        self.y: Host = to_host(reference.training.y)

    @abstractmethod
    def __call__(self, i: int) -> ReducedReference:
        """Return the reference without row i."""

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
            The posterior on all rows, given the targets of the others.
        predicted : callable, optional
            From the problem of the other rows, and their positions, to leave-one-out predictions
            of these; by removing sites from the moments when left out.
        """
        others = np.delete(np.arange(self.y.size), i)

        def rows(values: Array) -> Array:  # where the moments are: on the host or on a device
            return like(to_host(values)[others], latent.latent_mean)

        problem, (tau, nu) = self.problem, latent.sites
        rest = replace(
            problem,
            X=rows(problem.X),
            y=rows(problem.y),
            offset=None if problem.offset is None else rows(problem.offset),
        )
        reduced = Latent(
            rows(latent.latent_mean),
            latent.latent_cov.take(others),
            latent.likelihood,
            Sites(tau[others], nu[others]),
            None if predicted is None else predicted(rest, others),
        )
        return target_of(rest, reduced)


class PointDeletion(Deletion):
    """Leaves rows out of a reference with one vector of hyperparameters.

    Parameters
    ----------
    reference : GaussianProcessReference
    held : bool
        Leave the hyperparameters where they are, as those are that were never learned.
    """

    def __init__(self, reference: GaussianProcessReference, held: bool) -> None:
        super().__init__(reference)
        self.held = held or reference.optimum is None
        self.optimum = reference.draws.parameters[0]
        if self.held:
            _ = self._at_optimum  # before the workers need it

    def __call__(self, i: int) -> ReducedReference:
        """Return the reference without row i."""
        latent, loo = self._at_optimum if self.held else self._at(self.updated(i))
        return ReducedReference(
            float(loo.mean[i]),
            float(loo.log_density[i]),
            self._target(i, downdated(latent, i)),
            latent.likelihood,
        )

    @cached_property
    def _at_optimum(self) -> tuple[Latent, LeaveOneOut]:
        return self._at(self.optimum)

    def _at(self, theta: Host) -> tuple[Latent, LeaveOneOut]:
        """Return the latent posterior and all predictions at given hyperparameters."""
        given = conditioned(self.problem, theta)
        latent = posterior(self.problem, theta, given)
        return latent, leave_one_out(self.problem, latent.likelihood, given)

    def updated(self, i: int) -> Host:
        """Return one Newton step from the optimum of L towards that of L - log p(y_i | y_-i)."""
        hessian = self._hessian
        if self.density_hessians is not None:
            hessian = hessian + self.density_hessians[:, :, i]
        step = newton_step(self.density_gradients[:, i], hessian)
        return backtrack(
            lambda theta: self.loss_without(theta, i), self.optimum, self.free, step, self._bounds
        )

    def loss_without(self, theta: Host, i: int) -> float:
        """Return minus the log posterior of the hyperparameters without row i."""
        loss = -float(self._log_posterior(theta[None, :]).value[0])
        return loss + float(self.log_densities(theta)[i]) if np.isfinite(loss) else loss

    def log_densities(self, theta: Host) -> Host:
        """Return all log p(y_i | y_-i), `(n,)`."""
        likelihood = self.problem.likelihood_at(theta)
        loo = leave_one_out(self.problem, likelihood, conditioned(self.problem, theta))
        return to_host(loo.log_density)

    @cached_property
    def _posterior(self) -> LogPosterior:
        reference = self.reference
        return LogPosterior(self.problem, scales(reference.training), reference.prior)

    @cached_property
    def _log_posterior(self) -> Callable[[Host], Evidence]:
        return self._posterior.density()

    @property
    def _bounds(self) -> Bounds:
        return self._posterior.bounds

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Positions of the hyperparameters that can move, `(f,)`."""
        structure = self.reference.structure
        return free_parameters(structure, self.problem.mask, self.optimum, self._bounds, STEP)

    @cached_property
    def _hessian(self) -> Host:
        """The Hessian of minus the log posterior of the hyperparameters, `(f, f)`."""
        hessian = gradients(
            lambda theta: -self._log_posterior(theta[None, :]).gradient[0][self.free],
            self.optimum,
            self.free,
        )
        return 0.5 * (hessian + hessian.T)

    @cached_property
    def density_gradients(self) -> Host:
        """Gradients of all log p(y_i | y_-i), `(f, n)`."""
        return gradients(self.log_densities, self.optimum, self.free)

    @cached_property
    def density_hessians(self) -> Host | None:
        """Hessians of all log p(y_i | y_-i), `(f, f, n)`; None for too many parameters."""
        if len(self.free) > MANY:
            return None
        return hessians(self.log_densities, self.optimum, self.free)


class SampledDeletion(Deletion):
    """Leaves rows out of a reference with posterior draws, by other weights for each row.

    The posterior without the i-th target weighs draw s by 1 / p(y_i | y_-i, theta_s),
    Pareto-smoothed.
    """

    def __init__(self, reference: GaussianProcessReference) -> None:
        super().__init__(reference)
        latents, loos = [], []
        for parameters in reference.draws.parameters:
            given = conditioned(self.problem, parameters)
            latents.append(posterior(self.problem, parameters, given))
            loos.append(leave_one_out(self.problem, latents[-1].likelihood, given))
        self.means = np.stack([to_host(latent.latent_mean) for latent in latents])
        self.covs = np.stack([to_host(latent.latent_cov.dense()) for latent in latents])
        self.sites = [latent.sites for latent in latents]
        self.loo_mean = np.stack([to_host(loo.mean) for loo in loos])
        self.loo_density = np.stack([to_host(loo.log_density) for loo in loos])
        prior = np.log(reference.draws.weights)[:, None]
        self.log_weights, self.k_hat = smoothed(prior - self.loo_density)
        self._variances = np.diagonal(self.covs, axis1=1, axis2=2)

    def __call__(self, i: int) -> ReducedReference:
        """Return the reference without row i."""
        w = np.exp(self.log_weights[:, i])
        column = self.covs[:, :, i]  # (s, n)
        tau = np.array([sites.precision[i] for sites in self.sites])
        nu = np.array([sites.shift[i] for sites in self.sites])
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
        predicted = partial(self._left_out, w, means, variances)
        return ReducedReference(
            float(w @ self.loo_mean[:, i]),
            float(np.logaddexp.reduce(self.log_weights[:, i] + self.loo_density[:, i])),
            self._target(i, latent, predicted),
            likelihood,
        )

    def _left_out(
        self, w: Host, means: Host, variances: Host, rest: Problem, others: NDArray[np.intp]
    ) -> Marginals:
        """Return the moments of leave-one-out predictions among the other rows, `(u,)` each.

        Parameters
        ----------
        w : array `(s,)`
            Weights of the draws without the row that is left out.
        means, variances : arrays `(s, n)`
            Moments of the latent function in each draw without it.
        rest : Problem
            The problem of the other rows.
        others : int array
            Positions of the other rows.
        """
        marginals = [
            left_out_of_moments(
                rest,
                Marginals(mean[others], variance[others]),
                Sites(sites.precision[others], sites.shift[others]),
            )[0]
            for mean, variance, sites in zip(means, variances, self.sites, strict=True)
        ]
        parameters = self.reference.draws.parameters
        densities = [
            single_densities(rest, theta, one)
            for theta, one in zip(parameters, marginals, strict=True)
        ]
        return mixed_left_out(np.maximum(w, np.finfo(np.float64).tiny), marginals, densities)


def downdated(latent: Latent, i: int) -> Latent:
    """Return the latent posterior on all rows without having seen the i-th target."""
    mean, column = latent.latent_mean, latent.latent_cov.column(i)
    tau, nu = latent.sites.precision[i], latent.sites.shift[i]
    left = 1.0 - tau * float(column[i])
    return latent._replace(
        latent_mean=mean + column * ((tau * float(mean[i]) - nu) / left),
        latent_cov=latent.latent_cov.plus_outer(column[:, None] * math.sqrt(tau / left)),
    )
