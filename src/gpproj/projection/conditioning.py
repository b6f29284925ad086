"""Submodels given the data: with Gaussian noise the sites are known, else they are found anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import Conditioned, Problem, Sites, approximate_with
from gpproj.inference.approximation import conditioned_on, converged, with_diagonal
from gpproj.inference.features import Features
from gpproj.inference.low_rank import LowRankPrior
from gpproj.inference.sites import DensePrior, Prior
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Host, like, namespace, to_host
from gpproj.projection.dense import Conditioned as Lanewise
from gpproj.projection.dense import conditioned
from gpproj.projection.objective import Objective
from gpproj.projection.projections import Projection
from gpproj.reference import LeaveOneOut, Target, Targets


def conditioning_rows(problem: Problem, target: Target, learn: Objective) -> Target | LeaveOneOut:
    """Return the rows that a submodel is conditioned on.

    Where single rows were predicted to learn it, rows that are equal in all inputs are one, and
    share one extra variance. With other likelihoods than Gaussian noise they have a site each.
    """
    if learn.rows and problem.is_exact:
        assert target.left_out is not None  # it was learned by them
        return target.left_out
    return target


def condition_on_data(
    problem: Problem,
    likelihood: Likelihood,
    target: Target,
    kernel: Kernel,
    parameters: Host,
    active: NDArray[np.bool_],
    learn: Objective,
) -> Conditioned:
    """Condition a submodel on the data.

    Classes and counts have sites that were found under the reference's covariance. The submodel's
    differs, and so do the sites that suit it: with the reference's, a null model would not even
    predict the share of the classes.

    Parameters
    ----------
    problem : Problem
        The problem of the reference.
    likelihood, target : Likelihood, Target
        Those of the cluster.
    parameters : array `(p,)`
        Log parameters of the kernel, then the log extra variance.
    active : bool array `(d,)`
    learn : Objective
        How it was learned.
    """
    rows = conditioning_rows(problem, target, learn)
    if target.inducing is not None:
        extra = float(np.exp(parameters[-1])) + target.nugget
        theta, mask = parameters[None, :-1], active[None, :]
        features = Features(kernel, theta, rows.X, target.points(active), mask)
        low_rank = LowRankPrior(features, extra)
        if problem.is_exact:
            return _given_sites(low_rank, rows)
        return condition_prior(problem, likelihood, low_rank)
    if problem.is_exact:
        state = conditioned(rows, kernel, parameters[None, :], active[None, :])
        return Conditioned(state.coefficients[0, :], state.root[0, :, :], np.nan, _sites(rows))
    prior = submodel_prior(problem, target, kernel, parameters, active, learn)
    return condition_prior(problem, likelihood, prior)


def submodel_prior(
    problem: Problem,
    target: Target,
    kernel: Kernel,
    parameters: Host,
    active: NDArray[np.bool_],
    learn: Objective,
) -> DensePrior:
    """Return the prior covariance of a submodel at all rows; arguments as for the conditioning."""
    extra = float(np.exp(parameters[-1]))
    smooth = kernel.evaluate(parameters[None, :-1], target.X, active[None, :])
    K = smooth.value[0, :, :]
    repeats = problem.repeats if learn.rows else None
    if repeats is None:
        return DensePrior(with_diagonal(K, extra + target.nugget))
    together = repeats.label[:, None] == repeats.label[None, :]
    return DensePrior(with_diagonal(K + like(extra * together, K), target.nugget))


def conditioned_together(
    targets: Targets, projections: Sequence[Projection], learn: Objective
) -> tuple[Array, Lanewise]:
    """Condition submodels of Gaussian targets, each on the sites of its own, in one batch.

    Returns
    -------
    array `(n, d)`, Conditioned
        The rows they are conditioned on, and what predictions are made of.
    """
    rows = targets.left_out if learn.rows else targets
    X = rows.X
    parameters = like(np.stack([one.parameters for one in projections]), X)
    masks = namespace(X).asarray(np.stack([one.active for one in projections]), device=X.device)
    return X, conditioned(rows.stack.arrays, projections[0].kernel, parameters, masks)


def _sites(rows: Target | LeaveOneOut) -> Sites:
    return Sites(to_host(rows.site_precision), to_host(rows.site_shift))


def _given_sites(prior: Prior, rows: Target | LeaveOneOut) -> Conditioned:
    """Condition a prior on sites that are known."""
    sites = _sites(rows)
    given = prior.given(sites)
    if given is None:
        raise np.linalg.LinAlgError("the covariance of a submodel is not positive definite")
    return Conditioned(*given.predictor(), np.nan, sites, given.marginals)


def condition_prior(problem: Problem, likelihood: Likelihood, prior: Prior) -> Conditioned:
    """Condition a prior on classes or counts."""
    observed = problem.observed(likelihood)
    return conditioned_on(converged(approximate_with(problem.method), prior, observed))
