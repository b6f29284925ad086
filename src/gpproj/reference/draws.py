"""Hyperparameter draws: their integrated moments, clusters of them, and leave-one-out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import exact
from gpproj.linalg import DenseCovariance, Host, like, namespace, to_host

Clusters: TypeAlias = int | Literal["draws"] | None
"""How many Gaussian processes stand for the draws: one for None, one for each for "draws"."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Weighted vectors of log hyperparameters; a fitted model has just one."""

    parameters: Host
    """`(s, p)`: log parameters of the kernel, then the log noise variance."""
    weights: Host
    """`(s,)`, summing to one; to the weight of the cluster in one of several."""

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.parameters.shape[0])

    @property
    def centre(self) -> Host:
        """Weighted mean of the logarithms, `(p,)`."""
        return np.average(self.parameters, axis=0, weights=self.weights)

    def __iter__(self) -> Iterator[tuple[Host, float]]:
        """Go through the vectors and their weights."""
        return zip(self.parameters, self.weights.tolist(), strict=True)

    def take(self, rows: NDArray[np.intp]) -> Draws:
        """Return some of the draws."""
        return Draws(self.parameters[rows], self.weights[rows])

    def normalised(self) -> Draws:
        """Return the draws with weights that sum to one."""
        return Draws(self.parameters, self.weights / self.weights.sum())

    @staticmethod
    def equal(parameters: Host) -> Draws:
        """Return draws of equal weight."""
        count = parameters.shape[0]
        return Draws(parameters, np.full(count, 1.0 / count))


def check_clusters(clusters: object) -> None:
    """Refuse numbers of clusters that mean nothing."""
    if clusters is None or (isinstance(clusters, str) and clusters == "draws"):
        return
    if isinstance(clusters, bool) or not isinstance(clusters, Integral) or clusters < 1:
        raise ValueError(
            f'clusters must be a number of at least 1, "draws" or None; got {clusters!r}'
        )


def integrate(problem: exact.Problem, draws: Draws) -> exact.Latent:
    """Return the moments of the latent posterior, integrated over the draws.

    mu = sum_s w_s mu_s,   Sigma = sum_s w_s (Sigma_s + (mu_s - mu)(mu_s - mu)'),

    and the posterior mean of the noise variance (the paper's section 3.3).
    """
    draws = draws.normalised()
    means, total, noise = [], None, 0.0
    for parameters, weight in draws:
        found = exact.posterior(problem, parameters, exact.conditioned(problem, parameters))
        means.append(found.latent_mean)
        within = weight * found.latent_cov.dense()
        total = within if total is None else total + within
        noise += weight * found.noise
    xp = namespace(problem.y)
    stacked = xp.stack(means)
    weights = like(draws.weights, problem.y)
    mean = weights @ stacked
    away = xp.sqrt(weights)[:, None] * (stacked - mean)
    return exact.Latent(mean, DenseCovariance(total + away.T @ away), noise)


def latent_means(problem: exact.Problem, draws: Draws) -> Host:
    """Return the latent posterior mean of every draw, `(s, n)`."""
    means = [
        problem.y - math.exp(parameters[-1]) * exact.conditioned(problem, parameters).coefficients
        for parameters in draws.parameters
    ]
    return np.stack([to_host(mean) for mean in means])


def clusters_of(problem: exact.Problem, draws: Draws, count: int) -> list[NDArray[np.intp]]:
    """Split the draws into clusters that predict alike: k-means on their latent means.

    Parameters
    ----------
    problem : exact.Problem
    draws : Draws
    count : int
        Of clusters, at most one for each draw.

    Returns
    -------
    list of int arrays
        Positions of the draws of each cluster, the cluster of the first draw first.
    """
    if count >= draws.count:
        return [np.array([row]) for row in range(draws.count)]
    if count == 1:
        return [np.arange(draws.count)]
    from sklearn.cluster import KMeans

    means = latent_means(problem, draws)
    distinct = min(count, len(np.unique(means, axis=0)))
    labels = KMeans(distinct, n_init=10, random_state=0).fit_predict(
        means, sample_weight=draws.weights * draws.count
    )
    return [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]


def leave_one_out(problem: exact.Problem, draws: Draws) -> exact.LeaveOneOut:
    """Predict every target from the others, integrated over the draws.

    The posterior without the i-th target weighs draw s by 1 / p(y_i | y_-i, theta_s); these weights
    are Pareto-smoothed.
    """
    found = []
    for parameters in draws.parameters:
        given = exact.conditioned(problem, parameters)
        loo = exact.leave_one_out(problem.y, given.coefficients, given.root)
        found.append(tuple(to_host(part) for part in loo))
    mean, variance, log_density = (np.stack(parts) for parts in zip(*found, strict=True))
    log_weights, _ = smoothed(np.log(draws.weights)[:, None] - log_density)
    weights = np.exp(log_weights)
    centre = np.sum(weights * mean, axis=0)
    spread = np.sum(weights * (variance + (mean - centre) ** 2), axis=0)
    density = np.logaddexp.reduce(log_weights + log_density, axis=0)
    return exact.LeaveOneOut(*(like(part, problem.y) for part in (centre, spread, density)))


def smoothed(log_weights: Host) -> tuple[Host, Host]:
    """Return Pareto-smoothed, normalised importance weights on the log scale, and their k.

    Parameters
    ----------
    log_weights : array `(s, n)`

    Returns
    -------
    array `(s, n)`, array `(n,)`
        Above about 0.7 the k of a column says that its weights cannot be trusted.
    """
    from gpproj.reference.mcmc import arviz

    weights, k_hat = arviz().psislw(log_weights.T)
    return np.asarray(weights).T, np.asarray(k_hat)
