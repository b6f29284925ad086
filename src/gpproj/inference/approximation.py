"""Gaussian approximations of posteriors that are not Gaussian: what Laplace and EP have in common.

Either one finds Gaussian sites. From then on all is as with Gaussian noise, but for the evidence
and its derivative in the prior covariance,

    d(-2 log Z)/dK = R - b b' - (w b' + b w'),

where w is what the evidence gains through the sites themselves: nothing in EP, whose evidence is
stationary in them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from gpproj.inference.features import Features
from gpproj.inference.low_rank import LowRankPrior
from gpproj.inference.problem import Conditioned, Evidence, Latent, Observed, Problem, Sites
from gpproj.inference.sites import DensePrior, Given, Prior, posterior_covariance
from gpproj.linalg import Array, Covariance, Host, like, namespace

Memory: TypeAlias = dict[int, Sites]
"""Sites by lane."""


class ConvergenceWarning(UserWarning):
    """An approximation of the posterior did not converge."""


class Approximation(NamedTuple):
    """A Gaussian approximation at one vector of hyperparameters."""

    given: Given
    log_evidence: float
    lean: Host
    """w, `(n,)`."""
    slopes: Host
    """Derivatives of the log evidence in the log parameters of the likelihood, `(q,)`."""
    converged: bool
    iterations: int


class Approximate(Protocol):
    """Finds the approximation, or None where the covariance cannot be factorised."""

    def __call__(
        self, prior: Prior, observed: Observed, start: Sites | None = None
    ) -> Approximation | None:
        """Approximate the posterior under a prior, starting from the sites of a similar problem."""


def log_evidence(
    problem: Problem,
    parameters: Host,
    approximate: Approximate,
    memory: Memory | None = None,
    lanes: Sequence[int] | None = None,
) -> Evidence:
    """Return the approximate log evidence and its gradient, lane by lane.

    A lane that did not converge has no answer: optimisers then step back.

    Parameters
    ----------
    problem : Problem
    parameters : array `(b, p)`
    approximate : callable
    memory : dict, optional
        Sites that each lane ended with: the next call for this lane starts from them.
    lanes : sequence of int, optional
        Names of the lanes; 0, 1, ... when left out.
    """
    memory = {} if memory is None else memory
    names = range(len(parameters)) if lanes is None else lanes
    rows, p = parameters.shape
    value, gradient = np.full(rows, -np.inf), np.zeros((rows, p))
    count = len(problem.likelihood.parameters)
    for row, (lane, theta) in enumerate(zip(names, parameters, strict=True)):
        observed = problem.observed(problem.likelihood_at(theta))
        prior = prior_of(problem, theta)
        found = approximate(prior, observed, memory.get(int(lane)))
        if found is None or not found.converged:
            continue
        memory[int(lane)] = found.given.sites
        value[row] = found.log_evidence
        kernel, nugget = found.given.slopes(found.lean)
        gradient[row, : p - count] = -0.5 * kernel
        gradient[row, p - count :] = found.slopes
        if observed.likelihood.kind.is_scaled:  # whose nugget follows the noise, the one parameter
            gradient[row, -1] -= 0.5 * nugget * problem.nugget_variance(observed.likelihood)
    return Evidence(value, gradient)


def prior_of(problem: Problem, parameters: Host, X: Array | None = None) -> Prior:
    """Return the prior of the latent function at one parameter vector, `(p,)`.

    The prior is that at the training inputs, or at other points X, `(u, d)`.
    """
    X = problem.X if X is None else X
    theta, _ = problem.halves(parameters)
    eps = problem.nugget_variance(problem.likelihood_at(parameters))
    if problem.inducing is not None:
        Z = problem.inducing.Z
        return LowRankPrior(Features(problem.kernel, theta[None, :], X, Z, problem.masks(1)), eps)
    smooth = problem.kernel.evaluate(theta[None, :], X, problem.masks(1))
    return DensePrior(with_diagonal(smooth.value[0, :, :], eps), smooth)


def with_diagonal(K_smooth: Array, extra: float) -> Array:
    """Return `K_smooth + extra I`."""
    xp = namespace(K_smooth)
    identity = xp.eye(K_smooth.shape[0], dtype=K_smooth.dtype, device=K_smooth.device)
    return K_smooth + extra * identity


def converged(approximate: Approximate, prior: Prior, observed: Observed) -> Approximation:
    """Return the approximation; warn if it did not converge, raise if there is none."""
    found = approximate(prior, observed)
    if found is None:
        raise np.linalg.LinAlgError(
            "the covariance of the kernel at X is not positive definite; "
            "check the kernel's values and the likelihood's parameters"
        )
    if not found.converged:
        warnings.warn(
            f"the approximation of the posterior did not converge in {found.iterations} iterations;"
            " its predictions are those of the last one",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found


def conditioned(problem: Problem, parameters: Host, approximate: Approximate) -> Conditioned:
    """Condition on the targets at one parameter vector, `(p,)`."""
    observed = problem.observed(problem.likelihood_at(parameters))
    return conditioned_on(converged(approximate, prior_of(problem, parameters), observed))


def conditioned_on(found: Approximation) -> Conditioned:
    """Return what predictions are made of, beside X or inducing points."""
    given = found.given
    coefficients, root = given.predictor()
    return Conditioned(coefficients, root, found.log_evidence, given.sites, given.marginals)


def posterior(problem: Problem, parameters: Host, given: Conditioned) -> Latent:
    """Return the latent posterior at the training inputs for one parameter vector, `(p,)`."""
    assert given.marginals is not None  # approximations and inducing points have them
    prior = prior_of(problem, parameters)
    if isinstance(prior, DensePrior):
        cov: Covariance = posterior_covariance(prior.K, given.root)
    else:
        again = prior.given(given.sites)
        assert again is not None  # it was before
        cov = again.covariance()
    return Latent(
        latent_mean=like(given.marginals.mean, problem.X),
        latent_cov=cov,
        likelihood=problem.likelihood_at(parameters),
        sites=given.sites,
    )
