"""Every row predicted from all the others: what the cross-validated projection is compared with.

Rows that are equal in all inputs leave together: they are one row with their mean target, whose
site is the product of theirs. With the sites' natural parameters (tau, nu), t = nu / tau and the
matrices of `sites`, where D = diag(R) and b = R t,

    N(t_i - b_i / D_i, 1 / D_i)               predicts the target of Gaussian noise, noise included;
    N(t_i - b_i / D_i, 1 / D_i - 1 / tau_i)   is the latent cavity, for every other likelihood.

Rows of a group that a user has named leave together too, and each is predicted from the rows of the
other groups. With blocks R_g of R, and with those of the posterior, mu_g and Sigma_g,

    N(t_g - R_g^-1 b_g, R_g^-1)                                            predicts the targets;
    N(L (mu_g - Sigma_g nu_g), L Sigma_g),  L = (I - Sigma_g tau_g)^-1,    is the latent cavity.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from gpproj.inference.approximation import with_diagonal
from gpproj.inference.features import Features
from gpproj.inference.low_rank import LowRankPrior
from gpproj.inference.problem import Conditioned, Marginals, Problem, Sites
from gpproj.inference.sites import DensePrior, Given, Prior, cavities
from gpproj.linalg import Covariance, Host, to_host


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
    observed, groups = problem.is_exact, problem.row_groups
    if problem.twins is None and groups is None:
        if not observed:
            assert given.marginals is not None  # approximations have them
            return cavities(given.marginals, given.sites)
        if problem.inducing is None:
            precision = to_host(given.root**2).sum(axis=0)
            return _observed(to_host(problem.y), to_host(given.coefficients), precision)
    prior, found = _distinct(problem, parameters, given)
    sites = found.sites
    if not observed:
        if groups is None:
            return cavities(found.marginals, sites)
        return _group_cavities(found.marginals.mean, prior.covariance(found), sites, groups)
    target = sites.shift / sites.precision
    if groups is None:
        return _observed(target, found.coefficients, found.precision.diagonal())
    mean, variance = np.empty(target.size), np.empty(target.size)
    for rows in groups:
        factor = cho_factor(found.precision.block(rows))
        mean[rows] = target[rows] - cho_solve(factor, found.coefficients[rows])
        variance[rows] = np.diagonal(cho_solve(factor, np.eye(rows.size)))
    return Marginals(mean, variance)


def left_out_density(
    problem: Problem, parameters: Host, given: Conditioned, predicted: Marginals
) -> Host:
    """Return the log density of the targets of every row that leaves, `(u,)`.

    Rows of a group have that of all its targets: their joint one for Gaussian noise, the sum of
    their own for other likelihoods.

    Parameters
    ----------
    problem, parameters, given
        As for `left_out`.
    predicted : Marginals
        What `left_out` has found.
    """
    if problem.row_groups is None or not problem.is_exact:
        return single_densities(problem, parameters, predicted)
    _, found = _distinct(problem, parameters, given)
    density = np.empty(predicted.mean.size)
    for rows in problem.row_groups:
        factor, b = cho_factor(found.precision.block(rows)), found.coefficients[rows]
        log_det = 2.0 * float(np.log(np.diagonal(factor[0])).sum())
        square = b @ cho_solve(factor, b)
        density[rows] = 0.5 * (log_det - square - rows.size * np.log(2.0 * np.pi))
    return density


def single_densities(problem: Problem, parameters: Host, predicted: Marginals) -> Host:
    """Return the log density of every distinct row's targets by its marginal alone, `(u,)`.

    Rows of a group have the sum of theirs.
    """
    likelihood = problem.likelihood_at(parameters)
    observed, twins = problem.observed(likelihood), problem.twins
    if problem.is_exact:
        y = observed.y if twins is None else twins.total(observed.y) / twins.count
        away, variance = y - predicted.mean, predicted.variance
        found: Host = -0.5 * (away**2 / variance + np.log(2.0 * np.pi * variance))
        return found
    mean, variance = predicted
    if twins is not None:
        mean, variance = mean[twins.label], variance[twins.label]
    each = likelihood.log_density(observed.y, mean + observed.offset, variance)
    each = each if twins is None else twins.total(each)
    for rows in problem.row_groups or ():
        each[rows] = each[rows].sum()
    return each


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
    if not problem.is_exact:
        return found
    return Marginals(found.mean, found.variance + 1.0 / sites.precision)


def groups_left_out_of_moments(
    problem: Problem, mean: Host, covariance: Covariance, sites: Sites
) -> Marginals:
    """Do the same where rows leave in groups: remove the sites of each group together.

    Parameters
    ----------
    problem : Problem
    mean, covariance
        Of the latent function at all rows.
    sites : Sites
        Of all rows.
    """
    assert problem.row_groups is not None  # whoever asks has seen that there are some
    twins, merged = problem.twins, merged_sites(problem, sites)
    if twins is not None:
        mean, covariance = twins.total(mean) / twins.count, covariance.take(twins.first)
    if are_groups_separable(problem, covariance, merged):
        found = _group_cavities(mean, covariance, merged, problem.row_groups)
    else:
        found = Marginals(mean, to_host(covariance.diagonal()))
    if not problem.is_exact:
        return found
    return Marginals(found.mean, found.variance + 1.0 / merged.precision)


def are_groups_separable(problem: Problem, covariance: Covariance, merged: Sites) -> bool:
    """Say whether the sites of groups can be removed from moments of the distinct rows."""
    for rows in problem.row_groups or ():
        root = np.sqrt(merged.precision[rows])
        whitened = root[:, None] * to_host(covariance.take(rows).dense()) * root
        if np.linalg.eigvalsh(whitened)[-1] >= 1.0:
            return False
    return True


def _group_cavities(
    mean: Host, covariance: Covariance, sites: Sites, groups: Iterable[NDArray[np.intp]]
) -> Marginals:
    """Return the marginals without the sites of their groups."""
    centre, spread = np.empty(mean.size), np.empty(mean.size)
    for rows in groups:
        Sigma = to_host(covariance.take(rows).dense())
        kept = np.eye(rows.size) - Sigma * sites.precision[rows]
        right = np.column_stack([mean[rows] - Sigma @ sites.shift[rows], Sigma])
        found = np.linalg.solve(kept, right)
        centre[rows], spread[rows] = found[:, 0], np.diagonal(found[:, 1:])
    return Marginals(centre, np.maximum(spread, np.finfo(np.float64).tiny))


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


def _distinct(problem: Problem, parameters: Host, given: Conditioned) -> tuple[Prior, Given]:
    """Return the process at the distinct rows: its prior, and given their sites."""
    prior = _prior(problem, parameters)
    found = prior.given(merged_sites(problem, given.sites))
    if found is None:
        raise np.linalg.LinAlgError("the covariance of the kernel at X is not positive definite")
    return prior, found


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
