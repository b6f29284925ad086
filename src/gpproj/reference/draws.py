"""Hyperparameter draws: their integrated moments, clusters of them, and leave-one-out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import (
    Conditioned,
    Latent,
    LeaveOneOut,
    Marginals,
    Problem,
    Sites,
    conditioned,
    exact,
    left_out_density,
    posterior,
    reference_leave_one_out,
)
from gpproj.likelihoods import Likelihood
from gpproj.linalg import (
    Array,
    Covariance,
    DeferredCovariance,
    Host,
    like,
    namespace,
    to_host,
)

Clusters: TypeAlias = int | Literal["draws"] | None
"""How many Gaussian processes stand for the draws: one for None, one for each for "draws"."""

SMOOTHED = 25
"""Draws whose largest fifth, five of them, is a tail that can be smoothed."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Weighted vectors of log hyperparameters; a fitted model has just one."""

    parameters: Host
    """`(s, p)`: log parameters of the kernel, then those of the likelihood."""
    weights: Host
    """`(s,)`, summing to one; to the weight of the cluster in one of several."""
    off: NDArray[np.bool_] | None = None
    """`(s, p)`: parameters of inputs that do not act in a draw; None if there are none."""

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.parameters.shape[0])

    @property
    def centre(self) -> Host:
        """Weighted mean of the logarithms, `(p,)`.

        An input that does not act in most draws does not act there; the mean of another is over
        those draws in which it acts.
        """
        mean: Host = np.average(self.parameters, axis=0, weights=self.weights)
        if self.off is None:
            return mean
        counted = self.weights[:, None] * (self.off == self.mostly_off)
        centre: Host = np.sum(counted * self.parameters, axis=0) / np.sum(counted, axis=0)
        return centre

    @property
    def mostly_off(self) -> NDArray[np.bool_]:
        """Parameters of inputs that do not act in most draws, `(p,)`."""
        if self.off is None:
            return np.zeros(self.parameters.shape[1], dtype=bool)
        found: NDArray[np.bool_] = self.weights @ self.off > 0.5 * self.weights.sum()
        return found

    def __iter__(self) -> Iterator[tuple[Host, float]]:
        """Go through the vectors and their weights."""
        return zip(self.parameters, self.weights.tolist(), strict=True)

    def take(self, rows: NDArray[np.intp]) -> Draws:
        """Return some of the draws."""
        off = None if self.off is None else self.off[rows]
        return Draws(self.parameters[rows], self.weights[rows], off)

    def normalised(self) -> Draws:
        """Return the draws with weights that sum to one."""
        return Draws(self.parameters, self.weights / self.weights.sum(), self.off)

    @staticmethod
    def equal(parameters: Host, off: NDArray[np.bool_] | None = None) -> Draws:
        """Return draws of equal weight."""
        count = parameters.shape[0]
        return Draws(parameters, np.full(count, 1.0 / count), off)


def check_clusters(clusters: object) -> None:
    """Refuse numbers of clusters that mean nothing."""
    if clusters is None or (isinstance(clusters, str) and clusters == "draws"):
        return
    if isinstance(clusters, bool) or not isinstance(clusters, Integral) or clusters < 1:
        raise ValueError(
            f'clusters must be a number of at least 1, "draws" or None; got {clusters!r}'
        )


def conditioned_draws(problem: Problem, draws: Draws) -> Iterator[Conditioned]:
    """Condition on the data at every draw, one after the other."""
    return (conditioned(problem, parameters) for parameters in draws.parameters)


def integrate(problem: Problem, draws: Draws, each: Iterable[Conditioned] | None = None) -> Latent:
    """Return the moments of the latent posterior, integrated over the draws.

    mu = sum_s w_s mu_s,   Sigma = sum_s w_s (Sigma_s + (mu_s - mu)(mu_s - mu)'),

    and the posterior means of the likelihood's parameters (the paper's section 3.3). Sites are
    those of Gaussian noise with its mean variance, or averages of the draws' natural parameters.
    `each` is the process at every draw, where that is known.
    """
    each = conditioned_draws(problem, draws) if each is None else each
    draws = draws.normalised()
    means, variances, sites, predicted, density = [], [], [], [], []
    total: Covariance | None = None
    deferred = problem.is_exact and problem.inducing is None
    for (parameters, weight), given in zip(draws, each, strict=True):
        found = posterior(problem, parameters, given)
        means.append(found.latent_mean)
        if deferred:  # else all draws would be in memory at once
            variances.append(weight * found.latent_cov.diagonal())
        else:
            within = found.latent_cov.scaled(weight)
            total = within if total is None else total.plus(within)
        sites.append(found.sites)
        assert found.left_out is not None  # as of every process of one's own
        predicted.append(found.left_out)
        density.append(left_out_density(problem, parameters, given, found.left_out))
    if deferred:
        variance = sum(variances[1:], variances[0])
        total = DeferredCovariance(variance, partial(_within, problem, draws))
    assert total is not None  # there are draws
    xp = namespace(problem.y)
    stacked = xp.stack(means)
    weights = like(draws.weights, problem.y)
    mean = weights @ stacked
    away = xp.sqrt(weights)[:, None] * (stacked - mean)
    likelihood = mean_likelihood(problem, draws)
    return Latent(
        mean,
        total.plus_outer(away.T),
        likelihood,
        mean_sites(problem, likelihood, sites, draws.weights),
        mixed_left_out(draws.weights, predicted, density),
    )


def _within(problem: Problem, draws: Draws) -> Array:
    """Return the mean of the draws' latent covariances, `(n, n)`."""
    total: Array | None = None
    for parameters, weight in draws:
        found = posterior(problem, parameters, conditioned(problem, parameters))
        own = weight * found.latent_cov.dense()
        total = own if total is None else total + own
    assert total is not None  # there are draws
    return total


def mixed_left_out(
    weights: Host, predicted: Sequence[Marginals], density: Sequence[Host]
) -> Marginals:
    """Return the moments of every row's prediction from the others, integrated over the draws.

    As in `weighted_leave_one_out`, the posterior without a row weighs draws by one over the density
    that they predict it with. A divergence from a mixture to a Gaussian sees no more of the mixture
    than two moments.

    Parameters
    ----------
    weights : array `(s,)`
        Weights of the draws.
    predicted : sequence of Marginals
        Predictions by each draw, from `inference.left_out`.
    density : sequence of arrays `(u,)`
        Log densities of what was left out, from `inference.left_out_density`.
    """
    anew = np.exp(smoothed(np.log(weights)[:, None] - np.stack(density))[0])
    return Marginals(
        *mixture_moments(
            anew,
            np.stack([one.mean for one in predicted]),
            np.stack([one.variance for one in predicted]),
        )
    )


def mixture_moments(weights: Host, mean: Host, variance: Host) -> tuple[Host, Host]:
    """Return mean and variance of mixtures, `(n,)` each, of parts and weights `(s, n)`."""
    centre = np.sum(weights * mean, axis=0)
    return centre, np.sum(weights * (variance + (mean - centre) ** 2), axis=0)


def mean_likelihood(problem: Problem, draws: Draws) -> Likelihood:
    """Return the likelihood with the means of its parameters."""
    _, logs = problem.halves(draws.parameters)
    values = np.average(np.exp(logs), axis=0, weights=draws.weights)
    return problem.likelihood.with_log_parameters(np.log(values))


def mean_sites(
    problem: Problem, likelihood: Likelihood, sites: Sequence[Sites], weights: Host
) -> Sites:
    """Return the sites that stand for several draws, whose weights sum to one."""
    if problem.is_exact:
        return exact.sites_of(problem, likelihood)
    precisions = np.stack([one.precision for one in sites])
    shifts = np.stack([one.shift for one in sites])
    return Sites(weights @ precisions, weights @ shifts)


def latent_means(problem: Problem, draws: Draws) -> Host:
    """Return the latent posterior mean of every draw, `(s, n)`."""
    means = []
    for parameters in draws.parameters:
        given = conditioned(problem, parameters)
        if given.marginals is not None:
            means.append(given.marginals.mean)
        else:
            noise = problem.likelihood_at(parameters).unit(np.zeros(1))
            means.append(to_host(problem.y - noise * given.coefficients))
    return np.stack(means)


def clusters_of(problem: Problem, draws: Draws, count: int) -> list[NDArray[np.intp]]:
    """Split the draws into clusters that predict alike: k-means on their latent means.

    Parameters
    ----------
    problem : Problem
    draws : Draws
    count : int
        Number of clusters, at most one for each draw.

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


def weighted_leave_one_out(problem: Problem, draws: Draws) -> LeaveOneOut:
    """Predict every target from the others, integrated over the draws.

    The posterior without the i-th target weighs draw s by 1 / p(y_i | y_-i, theta_s); these weights
    are Pareto-smoothed.
    """
    found = []
    for parameters in draws.parameters:
        given = conditioned(problem, parameters)
        loo = reference_leave_one_out(problem, parameters, given)
        found.append(tuple(to_host(part) for part in loo))
    mean, variance, log_density = (np.stack(parts) for parts in zip(*found, strict=True))
    log_weights, _ = smoothed(np.log(draws.weights)[:, None] - log_density)
    centre, spread = mixture_moments(np.exp(log_weights), mean, variance)
    density = np.logaddexp.reduce(log_weights + log_density, axis=0)
    return LeaveOneOut(*(like(part, problem.y) for part in (centre, spread, density)))


def smoothed(log_weights: Host) -> tuple[Host, Host]:
    """Return Pareto-smoothed, normalised importance weights on the log scale, and their k.

    Parameters
    ----------
    log_weights : array `(s, n)`

    Returns
    -------
    array `(s, n)`, array `(n,)`
        Above about 0.7 the k of a column says that its weights cannot be trusted. So few draws that
        no tail can be fitted to their weights have them as they are. Their k is zero where the
        effective number of draws is half of their number, and infinite where it is not.
    """
    if len(log_weights) < SMOOTHED:
        weights = log_weights - np.logaddexp.reduce(log_weights, axis=0)
        effective = np.exp(-np.logaddexp.reduce(2.0 * weights, axis=0))
        return weights, np.where(effective < 0.5 * len(weights), np.inf, 0.0)
    from gpproj.reference.mcmc import arviz

    weights, k_hat = arviz().psislw(log_weights.T)
    return np.asarray(weights).T, np.asarray(k_hat)
