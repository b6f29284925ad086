"""Submodels given the data: with Gaussian noise the sites are known, else they are found anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import Conditioned, Problem, Sites, approximate_with
from gpproj.inference.approximation import conditioned_on, converged, with_diagonal
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Host, to_host
from gpproj.projection.objective import conditioned
from gpproj.reference import Target


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
    if problem.method == "exact":
        state = conditioned(target, kernel, parameters[None, :], active[None, :])
        sites = Sites(to_host(target.site_precision), to_host(target.site_shift))
        return Conditioned(state.coefficients[0, :], state.root[0, :, :], np.nan, sites)
    smooth = kernel.evaluate(parameters[None, :-1], target.X, active[None, :])
    extra = float(np.exp(parameters[-1])) + target.nugget
    return condition_prior(problem, likelihood, smooth.value[0, :, :], extra)


def condition_prior(
    problem: Problem, likelihood: Likelihood, K_smooth: Array, extra: float
) -> Conditioned:
    """Condition a prior `K_smooth + extra I` on classes or counts."""
    K, variance = with_diagonal(K_smooth, extra)
    found = converged(approximate_with(problem.method), K, variance, problem.observed(likelihood))
    return conditioned_on(found, problem.X)
