"""Exact inference with Gaussian noise: evidence, leave-one-out and posterior, batched over lanes.

The model, with `K` the covariance of the kernel at `X`, the nugget `eps = nugget sigma^2` and

    y = f + e,   f ~ N(0, K + eps I),   e ~ N(0, sigma^2 I),   A = K + (eps + sigma^2) I.

A lane is one parameter vector: the log parameters of the kernel, then `log sigma^2`.
"""

from __future__ import annotations

import math

import numpy as np

from gpproj.inference.problem import (
    Conditioned,
    Evidence,
    Latent,
    LeaveOneOut,
    Problem,
    Sites,
)
from gpproj.likelihoods import Likelihood
from gpproj.linalg import (
    Array,
    DeferredCovariance,
    Factor,
    Host,
    cholesky,
    flags,
    in_row_order,
    inverse,
    inverse_root,
    like,
    log_determinant,
    namespace,
    solve,
    subtract_outer,
    to_host,
)


def log_marginal_likelihood(problem: Problem, parameters: Host) -> Evidence:
    """Return the log marginal likelihood and its gradient for a batch of parameter vectors.

    With alpha = A^-1 y:

        -2 log p(y) = y'alpha + log|A| + n log 2 pi,   d(-2 log p)/dA = A^-1 - alpha alpha'.

    Parameters
    ----------
    problem : Problem
    parameters : array `(b, p)`
        Log parameters of the kernel, then the log noise variance.

    Returns
    -------
    Evidence
    """
    constant = problem.y.shape[0] * math.log(2 * math.pi)
    value, gradient = np.full(len(parameters), -np.inf), np.zeros(parameters.shape)
    for batch in problem.batches(len(parameters)):
        theta, noise = parameters[batch, :-1], np.exp(parameters[batch, -1])
        prior = problem.kernel.evaluate(theta, problem.X, problem.masks(theta.shape[0]))
        diagonal = noise * (1.0 + problem.nugget)
        factor = cholesky(prior.value, like(diagonal[:, None], problem.X))
        alpha, log_det = _solve_target(factor, problem.y), log_determinant(factor)
        fit = namespace(alpha).sum(problem.y * alpha, axis=-1) + log_det
        G = subtract_outer(inverse(factor, overwrite=True), alpha)
        trace = namespace(G).sum(namespace(G).linalg.diagonal(G), axis=-1)
        value[batch] = np.where(flags(factor.failed), -np.inf, -0.5 * (to_host(fit) + constant))
        gradient[batch, :-1] = -0.5 * to_host(prior.pull_back(in_row_order(G)))
        gradient[batch, -1] = -0.5 * to_host(trace) * diagonal
    return Evidence(value, gradient)


def _solve_target(factor: Factor, y: Array) -> Array:
    """Return `A^-1 y` of every lane, `(b, n)`."""
    columns = namespace(y).broadcast_to(y[None, :, None], (factor.lower.shape[0], y.shape[0], 1))
    return solve(factor, columns)[:, :, 0]


def conditioned(problem: Problem, parameters: Host) -> Conditioned:
    """Condition on the targets at one parameter vector, `(p,)`."""
    noise = math.exp(parameters[-1])
    prior = problem.kernel.evaluate(parameters[None, :-1], problem.X, problem.masks(1))
    diagonal = like([[noise * (1.0 + problem.nugget)]], problem.X)
    factor = cholesky(prior.value, diagonal)
    if factor.failed[0]:
        raise np.linalg.LinAlgError(
            "the covariance of the kernel at X plus noise is not positive definite; "
            "check the kernel's values and the noise variance"
        )
    alpha = _solve_target(factor, problem.y)[0, :]
    fit = namespace(alpha).sum(problem.y * alpha)
    constant = problem.y.shape[0] * math.log(2 * math.pi)
    value = -0.5 * float(fit + log_determinant(factor)[0] + constant)
    sites = sites_of(problem, problem.likelihood_at(parameters))
    return Conditioned(alpha, inverse_root(factor)[0, :, :], value, sites)


def sites_of(problem: Problem, likelihood: Likelihood) -> Sites:
    """Return the likelihood of Gaussian noise as sites: tau = 1 / sigma^2, nu = tau y."""
    observed = problem.observed(likelihood)
    precision = np.full_like(observed.y, 1.0 / likelihood.unit(observed.y))
    return Sites(precision, precision * observed.y)


def posterior(problem: Problem, parameters: Host, given: Conditioned) -> Latent:
    """Return the latent posterior at the training inputs for one parameter vector, `(p,)`.

    With V = sigma^2 I:  mu = y - V A^-1 y,  Sigma = V - V A^-1 V; equal to the usual
    K_ref A^-1 y and K_ref - K_ref A^-1 K_ref for K_ref = K + eps I, with one matrix product, where
    Sigma is needed.

    `given` is the process at these parameters.
    """
    noise, root = math.exp(parameters[-1]), given.root
    xp = namespace(root)

    def covariance() -> Array:
        identity = xp.eye(root.shape[0], dtype=root.dtype, device=root.device)
        return noise * (identity - noise * (root.T @ root))

    diagonal = noise * (1.0 - noise * xp.sum(root**2, axis=0))
    return Latent(
        latent_mean=problem.y - noise * given.coefficients,
        latent_cov=DeferredCovariance(diagonal, covariance),
        likelihood=problem.likelihood_at(parameters),
        sites=given.sites,
    )


def leave_one_out(y: Array, coefficients: Array, root: Array) -> LeaveOneOut:
    """Return the exact leave-one-out predictions of a conditioned model.

    mean_i = y_i - alpha_i / Q_ii,  variance_i = 1 / Q_ii,  with Q = A^-1 = root' root.

    `coefficients` are `alpha = A^-1 y`, `(n,)`, and `root` is `(n, n)`.
    """
    return from_precision(y, coefficients, namespace(y).sum(root**2, axis=0))


def from_precision(y: Array, coefficients: Array, q: Array) -> LeaveOneOut:
    """Return the same from the diagonal of Q, `(n,)`."""
    residual = coefficients / q
    log_density = 0.5 * (namespace(q).log(q) - coefficients * residual - math.log(2 * math.pi))
    return LeaveOneOut(y - residual, 1.0 / q, log_density)
