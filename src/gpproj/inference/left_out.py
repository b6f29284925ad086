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

from gpproj.inference.approximation import prior_of
from gpproj.inference.problem import Conditioned, Marginals, Problem, Sites
from gpproj.inference.sites import Given, cavities
from gpproj.linalg import Covariance, Host, to_host


def merged_sites(problem: Problem, sites: Sites) -> Sites:
    """Return the sites of distinct rows: products of those of equal rows, `(u,)` each."""
    if problem.repeats is None:
        return sites
    return Sites(*(problem.repeats.total(part) for part in sites))


def left_out(problem: Problem, parameters: Host, given: Conditioned) -> Marginals:
    """Predict every distinct row from the others at one parameter vector, `(p,)`.

    `given` is the process at these parameters, and the result is `(u,)` each.
    """
    observed, groups = problem.is_exact, problem.row_groups
    if problem.repeats is None and groups is None:
        if not observed:
            assert given.marginals is not None  # approximations have them
            return cavities(given.marginals, given.sites)
        if problem.inducing is None:
            precision = to_host(given.root**2).sum(axis=0)
            return _observed(to_host(problem.y), to_host(given.coefficients), precision)
    found = _distinct(problem, parameters, given)
    sites = found.sites
    if not observed:
        if groups is None:
            return cavities(found.marginals, sites)
        return _group_cavities(found.marginals.mean, found.covariance(), sites, groups)
    target = sites.shift / sites.precision
    if groups is None:
        return _observed(target, found.coefficients, found.precision_diagonal())
    mean, variance = np.empty(target.size), np.empty(target.size)
    for rows in groups:
        factor = cho_factor(found.precision_block(rows))
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
    found = _distinct(problem, parameters, given)
    density = np.empty(predicted.mean.size)
    for rows in problem.row_groups:
        factor, b = cho_factor(found.precision_block(rows)), found.coefficients[rows]
        log_det = 2.0 * float(np.log(np.diagonal(factor[0])).sum())
        square = b @ cho_solve(factor, b)
        density[rows] = 0.5 * (log_det - square - rows.size * np.log(2.0 * np.pi))
    return density


def single_densities(problem: Problem, parameters: Host, predicted: Marginals) -> Host:
    """Return the log density of every distinct row's targets by its marginal alone, `(u,)`.

    Rows of a group have the sum of theirs.
    """
    likelihood = problem.likelihood_at(parameters)
    observed, repeats = problem.observed(likelihood), problem.repeats
    if problem.is_exact:
        y = observed.y if repeats is None else repeats.total(observed.y) / repeats.count
        away, variance = y - predicted.mean, predicted.variance
        found: Host = -0.5 * (away**2 / variance + np.log(2.0 * np.pi * variance))
        return found
    mean, variance = predicted
    if repeats is not None:
        mean, variance = mean[repeats.label], variance[repeats.label]
    each = likelihood.log_density(observed.y, mean + observed.offset, variance)
    each = each if repeats is None else repeats.total(each)
    for rows in problem.row_groups or ():
        each[rows] = each[rows].sum()
    return each


def left_out_of_moments(
    problem: Problem, marginals: Marginals, sites: Sites
) -> tuple[Marginals, bool]:
    """Predict rows by a model that is known by its latent moments and sites: remove single sites.

    Exact for one Gaussian process, up to the nugget of equal rows, whose latent function is one.
    The latent variance of a Gaussian process is below that of each of its sites: tau v < 1. Where
    it is not, the moments are those of another kind of model, as the draws of a forest; nothing can
    be removed from them, and they are returned as they are.

    Parameters
    ----------
    problem : Problem
    marginals : Marginals
        Moments of the latent function at all rows, `(n,)` each.
    sites : Sites
        Sites of all rows.

    Returns
    -------
    Marginals, bool
        The predictions, and whether sites could be removed.
    """
    repeats = problem.repeats
    if repeats is not None:
        mean = repeats.total(marginals.mean) / repeats.count
        marginals = Marginals(mean, marginals.variance[repeats.first])
    sites = merged_sites(problem, sites)
    separable = bool(np.all(sites.precision * marginals.variance < 1.0))
    found = cavities(marginals, sites) if separable else marginals
    return _with_noise(problem, found, sites), separable


def groups_left_out_of_moments(
    problem: Problem, mean: Host, covariance: Covariance, sites: Sites
) -> tuple[Marginals, bool]:
    """Predict rows that leave in groups from moments: remove the sites of each group together.

    `mean` and `covariance` are those of the latent function at all rows, and the results are as for
    `left_out_of_moments`.
    """
    assert problem.row_groups is not None  # callers have seen that there are some
    repeats, sites = problem.repeats, merged_sites(problem, sites)
    if repeats is not None:
        mean, covariance = repeats.total(mean) / repeats.count, covariance.take(repeats.first)
    separable = all(_is_separable(covariance, sites, rows) for rows in problem.row_groups)
    if separable:
        found = _group_cavities(mean, covariance, sites, problem.row_groups)
    else:
        found = Marginals(mean, to_host(covariance.diagonal()))
    return _with_noise(problem, found, sites), separable


def _is_separable(covariance: Covariance, sites: Sites, rows: NDArray[np.intp]) -> bool:
    root = np.sqrt(sites.precision[rows])
    whitened = root[:, None] * to_host(covariance.take(rows).dense()) * root
    return bool(np.linalg.eigvalsh(whitened)[-1] < 1.0)


def _with_noise(problem: Problem, latent: Marginals, sites: Sites) -> Marginals:
    """Return predictions of targets with Gaussian noise, and of the latent function otherwise."""
    if not problem.is_exact:
        return latent
    return Marginals(latent.mean, latent.variance + 1.0 / sites.precision)


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


def _observed(target: Host, coefficients: Host, precision: Host) -> Marginals:
    return Marginals(target - coefficients / precision, 1.0 / precision)


def _distinct(problem: Problem, parameters: Host, given: Conditioned) -> Given:
    """Return the process at the distinct rows given their sites."""
    repeats = problem.repeats
    prior = prior_of(problem, parameters, repeats and repeats.distinct(problem.X))
    found = prior.given(merged_sites(problem, given.sites))
    if found is None:
        raise np.linalg.LinAlgError("the covariance of the kernel at X is not positive definite")
    return found
