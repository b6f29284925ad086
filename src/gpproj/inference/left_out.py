"""Every row predicted from all the others: what the cross-validated projection is compared with.

Rows that are equal in all inputs leave together: they are one row with their mean target, whose
site is the product of theirs. With the sites' natural parameters (tau, nu), t = nu / tau and the
matrices of `sites`, where D = diag(R) and b = R t,

    N(t_i - b_i / D_i, 1 / D_i)               predicts the target of Gaussian noise, noise included;
    N(t_i - b_i / D_i, 1 / D_i - 1 / tau_i)   is the latent cavity, for every other likelihood.
"""

from __future__ import annotations

import numpy as np

from gpproj.inference.approximation import with_diagonal
from gpproj.inference.features import Features
from gpproj.inference.low_rank import LowRankPrior
from gpproj.inference.problem import Conditioned, Marginals, Problem, Sites
from gpproj.inference.sites import DensePrior, Prior, cavities
from gpproj.linalg import Host, to_host


def merged_sites(problem: Problem, sites: Sites) -> Sites:
    """Return the sites of distinct rows: products of those of equal rows, `(u,)` each."""
    if problem.twins is None:
        return sites
    return Sites(*(problem.twins.total(part) for part in sites))


def left_out(problem: Problem, parameters: Host, given: Conditioned) -> Marginals:
    """Predict every distinct row from the others at one parameter vector, `(p,)`.

    Parameters
    ----------
    problem : Problem
    parameters : array `(p,)`
    given : Conditioned
        The process at these parameters.

    Returns
    -------
    Marginals
        `(u,)` each.
    """
    observed = problem.method == "exact"
    if problem.twins is None:
        if not observed:
            assert given.marginals is not None  # approximations have them
            return cavities(given.marginals, given.sites)
        if problem.inducing is None:
            precision = to_host(given.root**2).sum(axis=0)
            return _observed(to_host(problem.y), to_host(given.coefficients), precision)
    sites = merged_sites(problem, given.sites)
    found = _prior(problem, parameters).given(sites)
    if found is None:
        raise np.linalg.LinAlgError("the covariance of the kernel at X is not positive definite")
    if not observed:
        return cavities(found.marginals, sites)
    target = sites.shift / sites.precision
    return _observed(target, found.coefficients, found.precision.diagonal())


def left_out_of_moments(problem: Problem, marginals: Marginals, sites: Sites) -> Marginals:
    """Do the same for a model that is known by its latent moments and sites: remove single sites.

    Exact for one Gaussian process, up to the nugget of equal rows, whose latent function is one.
    Moments of another kind of model may not hold the sites, see `are_separable`; nothing can be
    removed from them, and they are returned as they are.

    Parameters
    ----------
    problem : Problem
    marginals : Marginals
        Of the latent function at all rows, `(n,)` each.
    sites : Sites
        Of all rows.
    """
    separable = are_separable(problem, marginals, sites)
    twins = problem.twins
    if twins is not None:
        mean = twins.total(marginals.mean) / twins.count
        marginals = Marginals(mean, marginals.variance[twins.first])
    sites = merged_sites(problem, sites)
    found = cavities(marginals, sites) if separable else marginals
    if problem.method != "exact":
        return found
    return Marginals(found.mean, found.variance + 1.0 / sites.precision)


def are_separable(problem: Problem, marginals: Marginals, sites: Sites) -> bool:
    """Say whether single sites can be removed from latent moments.

    The latent variance of a Gaussian process is below that of each of its sites: tau v < 1. Where
    it is not, the moments are those of another kind of model, as the draws of a forest.
    """
    twins = problem.twins
    variance = marginals.variance if twins is None else marginals.variance[twins.first]
    return bool(np.all(merged_sites(problem, sites).precision * variance < 1.0))


def _observed(target: Host, coefficients: Host, precision: Host) -> Marginals:
    return Marginals(target - coefficients / precision, 1.0 / precision)


def _prior(problem: Problem, parameters: Host) -> Prior:
    """Return the prior of the latent function at the distinct rows."""
    theta, _ = problem.halves(parameters)
    eps = problem.nugget_variance(problem.likelihood_at(parameters))
    X = problem.X if problem.twins is None else problem.twins.distinct(problem.X)
    if problem.inducing is not None:
        Z = problem.inducing.Z
        return LowRankPrior(Features(problem.kernel, theta[None, :], X, Z, problem.masks(1)), eps)
    smooth = problem.kernel.evaluate(theta[None, :], X, problem.masks(1))
    return DensePrior(with_diagonal(smooth.value[0, :, :], eps))
