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

from gpproj.inference.problem import Conditioned, Evidence, Latent, Observed, Problem, Sites
from gpproj.inference.sites import Given, posterior_covariance
from gpproj.kernels import Evaluation
from gpproj.linalg import Array, Host, in_row_order, like, namespace, to_host

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
        self, K: Array, prior_variance: Host, observed: Observed, start: Sites | None = None
    ) -> Approximation | None:
        """Approximate the posterior under the prior covariance K, nugget included."""


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
        smooth, K, variance = prior_covariance(problem, theta)
        found = approximate(K, variance, observed, memory.get(int(lane)))
        if found is None or not found.converged:
            continue
        memory[int(lane)] = found.given.sites
        value[row] = found.log_evidence
        G = derivative(found)
        gradient[row, : p - count] = -0.5 * to_host(smooth.pull_back(in_row_order(G)))[0]
        gradient[row, p - count :] = found.slopes
        if observed.likelihood.kind == "real":  # whose nugget follows the noise, the one parameter
            trace = float(namespace(G).linalg.trace(G)[0])
            gradient[row, -1] -= 0.5 * trace * problem.nugget_variance(observed.likelihood)
    return Evidence(value, gradient)


def derivative(found: Approximation) -> Array:
    """Return `R - b b' - (w b' + b w')`, `(1, n, n)`."""
    root = found.given.root
    b, w = found.given.coefficients, found.lean
    # b b' + w b' + b w' = (b + w)(b + w)' - w w'
    total, lean = like(b + w, root), like(w, root)
    G = root.T @ root - total[:, None] * total[None, :] + lean[:, None] * lean[None, :]
    return G[None, :, :]


def prior_covariance(problem: Problem, parameters: Host) -> tuple[Evaluation, Array, Host]:
    """Return the kernel's evaluation, K with the nugget, `(n, n)`, and its diagonal, `(n,)`."""
    theta, _ = problem.halves(parameters)
    smooth = problem.kernel.evaluate(theta[None, :], problem.X, problem.masks(1))
    eps = problem.nugget_variance(problem.likelihood_at(parameters))
    return smooth, *with_diagonal(smooth.value[0, :, :], eps)


def with_diagonal(K_smooth: Array, extra: float) -> tuple[Array, Host]:
    """Return `K_smooth + extra I` and its diagonal."""
    xp = namespace(K_smooth)
    K = K_smooth + extra * xp.eye(K_smooth.shape[0], dtype=K_smooth.dtype, device=K_smooth.device)
    return K, to_host(xp.linalg.diagonal(K))


def converged(
    approximate: Approximate, K: Array, prior_variance: Host, observed: Observed
) -> Approximation:
    """Return the approximation; warn if it did not converge, raise if there is none."""
    found = approximate(K, prior_variance, observed)
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
    _, K, variance = prior_covariance(problem, parameters)
    observed = problem.observed(problem.likelihood_at(parameters))
    found = converged(approximate, K, variance, observed)
    return conditioned_on(found, problem.X)


def conditioned_on(found: Approximation, X: Array) -> Conditioned:
    """Return what predictions are made of, beside X."""
    given, b = found.given, like(found.given.coefficients, X)
    return Conditioned(b, given.root, found.log_evidence, given.sites, given.marginals)


def posterior(problem: Problem, parameters: Host, given: Conditioned) -> Latent:
    """Return the latent posterior at the training inputs for one parameter vector, `(p,)`."""
    assert given.marginals is not None  # approximations have them
    _, K, _ = prior_covariance(problem, parameters)
    return Latent(
        latent_mean=like(given.marginals.mean, problem.X),
        latent_cov=posterior_covariance(K, given.root),
        likelihood=problem.likelihood_at(parameters),
        sites=given.sites,
    )
