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
from gpproj.linalg import Host, like, namespace, to_host
from gpproj.projection.dense import Conditioned as Lanewise
from gpproj.projection.dense import conditioned
from gpproj.projection.solving import Projection
from gpproj.reference import Target, Targets


def condition_on_data(
    problem: Problem,
    likelihood: Likelihood,
    target: Target,
    kernel: Kernel,
    parameters: Host,
    active: NDArray[np.bool_],
) -> Conditioned:
    """Condition a submodel on the data.

    Classes and counts have sites that were found under the reference's covariance. The submodel's
    differs, and so do the sites that suit it: with the reference's, a null model would not even
    predict the share of the classes.

    Parameters
    ----------
    problem : Problem
        The reference's.
    likelihood : Likelihood
        Of the cluster.
    target : Target
        Likewise.
    kernel : Kernel
    parameters : array `(p,)`
        Log parameters of the kernel, then the log extra variance.
    active : bool array `(d,)`
    """
    extra = float(np.exp(parameters[-1])) + target.nugget
    theta, mask = parameters[None, :-1], active[None, :]
    prior: Prior
    if target.inducing is not None:
        features = Features(kernel, theta, target.X, target.points(active), mask)
        prior = LowRankPrior(features, extra)
    elif problem.method == "exact":
        state = conditioned(target, kernel, parameters[None, :], active[None, :])
        sites = Sites(to_host(target.site_precision), to_host(target.site_shift))
        return Conditioned(state.coefficients[0, :], state.root[0, :, :], np.nan, sites)
    else:
        smooth = kernel.evaluate(theta, target.X, mask)
        prior = DensePrior(with_diagonal(smooth.value[0, :, :], extra))
    if problem.method == "exact":
        return _given_sites(prior, target)
    return condition_prior(problem, likelihood, prior)


def conditioned_together(targets: Targets, projections: Sequence[Projection]) -> Lanewise:
    """Condition submodels of Gaussian targets, each on the sites of its own, in one batch."""
    X = targets.X
    parameters = like(np.stack([one.parameters for one in projections]), X)
    masks = namespace(X).asarray(np.stack([one.active for one in projections]), device=X.device)
    return conditioned(targets.each, projections[0].kernel, parameters, masks)


def _given_sites(prior: Prior, target: Target) -> Conditioned:
    """Condition a prior on sites that are known."""
    sites = Sites(to_host(target.site_precision), to_host(target.site_shift))
    given = prior.given(sites)
    if given is None:
        raise np.linalg.LinAlgError("the covariance of a submodel is not positive definite")
    made = given.precision.predicting(given.coefficients)
    return Conditioned(*made, np.nan, sites, given.marginals)


def condition_prior(problem: Problem, likelihood: Likelihood, prior: Prior) -> Conditioned:
    """Condition a prior on classes or counts."""
    observed = problem.observed(likelihood)
    return conditioned_on(converged(approximate_with(problem.method), prior, observed))
