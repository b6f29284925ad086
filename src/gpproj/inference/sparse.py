"""Gaussian noise through inducing points, batched over lanes.

With `Q = Phi Phi'` in place of the kernel's K, `s = sigma^2 + eps` and A the covariance of y:

    vfe:   A = Q + s I,                   -2 log p <= log|A| + y'A^-1 y + tr(K - Q) / s + n log 2 pi
    fitc:  A = Q + diag(K - Q) + s I,     -2 log p  = log|A| + y'A^-1 y + n log 2 pi

Hyperparameters and predictions at new points are by either. The latent posterior at the training
inputs, which submodels are compared with, is that of the prior `Q + diag(K - Q) + eps` in both: the
posterior of a process that submodels can be, from which a row can be left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpproj.inference.exact import sites_of
from gpproj.inference.features import EvidenceSums, Features, Rows, evidence_sums
from gpproj.inference.inducing import SparseMethod
from gpproj.inference.low_rank import LowRankPrior, through_inducing
from gpproj.inference.problem import Conditioned, Evidence, LeaveOneOut, Problem
from gpproj.linalg import (
    Array,
    Host,
    flags,
    like,
    namespace,
    to_host,
    transpose,
)


class _Noisy(NamedTuple):
    """One block of rows: precisions `p = diag(A - Q)^-1`, and `q = p y`."""

    rows: Rows
    p: Array
    """`(b, r)`."""
    q: Array
    """`(b, r)`."""
    y: Array
    """`(r,)`."""


def _noisy(problem: Problem, features: Features, noise: Array) -> Iterator[_Noisy]:
    """Go through the rows; `noise` is s, `(b, 1)`."""
    xp, fitc = namespace(problem.X), _method(problem) == "fitc"
    for rows in features.blocks():
        diagonal = rows.residual + noise if fitc else xp.zeros_like(rows.residual) + noise
        p, y = 1.0 / diagonal, problem.y[rows.where]
        yield _Noisy(rows, p, p * y, y)


def _method(problem: Problem) -> SparseMethod:
    assert problem.inducing is not None  # `sparse` is for inducing points
    return problem.inducing.method


class _Sums(NamedTuple):
    sums: EvidenceSums
    value: Array
    """`-2 log p` (or its bound), less the constant, `(b,)`."""
    loose: Array
    """`tr(K - Q)`, `(b,)`."""


def _sum_up(problem: Problem, features: Features, noise: Array) -> _Sums:
    xp = namespace(problem.X)
    gram = shift = value = loose = like(0.0, problem.X)
    for rows, p, q, y in _noisy(problem, features, noise):
        weighted = rows.Phi * p[:, :, None]
        gram = gram + transpose(weighted) @ rows.Phi
        shift = shift + (transpose(rows.Phi) @ q[:, :, None])[:, :, 0]
        value = value + xp.sum(q * y - xp.log(p), axis=-1)
        loose = loose + xp.sum(rows.residual, axis=-1)
    sums = evidence_sums(gram, shift)
    value = value + sums.small.log_det - sums.explained
    if _method(problem) == "vfe":
        value = value + loose / noise[:, 0]
    return _Sums(sums, value, loose)


def _features(problem: Problem, theta: Host) -> Features:
    assert problem.inducing is not None
    masks = problem.masks(theta.shape[0])
    return Features(problem.kernel, theta, problem.X, problem.inducing.Z, masks)


def log_evidence(problem: Problem, parameters: Host) -> Evidence:
    """Return the log evidence, or its bound, and its gradient for a batch of parameter vectors.

    Parameters
    ----------
    problem : Problem
        With inducing points.
    parameters : array `(b, p)`
        Log parameters of the kernel, then the log noise variance.
    """
    constant = problem.y.shape[0] * math.log(2 * math.pi)
    value, gradient = np.full(len(parameters), -np.inf), np.zeros(parameters.shape)
    for batch in problem.batches(len(parameters)):
        features = _features(problem, parameters[batch, :-1])
        s = np.exp(parameters[batch, -1]) * (1.0 + problem.nugget)
        noise = like(s[:, None], problem.X)
        found = _sum_up(problem, features, noise)
        kernel, noise_slope = _gradient(problem, features, noise, found)
        failed = features.failed | found.sums.small.failed
        value[batch] = np.where(flags(failed), -np.inf, -0.5 * (to_host(found.value) + constant))
        gradient[batch, :-1] = -0.5 * kernel
        gradient[batch, -1] = -0.5 * noise_slope * s
    return Evidence(value, gradient)


def _gradient(
    problem: Problem, features: Features, noise: Array, found: _Sums
) -> tuple[Host, Host]:
    """Return the derivatives of -2 log p in the log parameters and in s, `(b, p)` and `(b,)`."""
    xp, vfe = namespace(problem.X), _method(problem) == "vfe"
    pull_back, slope = features.pull_back(), like(0.0, problem.X)
    for rows, p, q, _ in _noisy(problem, features, noise):
        G_Phi, diagonal = found.sums.derivative(rows, p, q)
        slope = slope + xp.sum(diagonal, axis=-1)
        taken = p if vfe else diagonal  # in vfe p = 1 / s
        pull_back.add(rows, G_Phi, taken, taken)
    if vfe:
        slope = slope - found.loose / noise[:, 0] ** 2
    return to_host(pull_back.total()), to_host(slope)


def inducing_gradient(problem: Problem, parameters: Host) -> Host:
    """Return the gradient of the log evidence in the inducing points, `(m, d)`.

    Parameters
    ----------
    problem : Problem
    parameters : array `(p,)`
    """
    assert problem.inducing is not None
    theta, Z = parameters[None, :-1], problem.inducing.Z
    features, found, noise = _at(problem, parameters)
    mask = problem.masks(1)
    vfe, S, total = _method(problem) == "vfe", like(0.0, Z), like(0.0, Z)
    for rows, p, q, _ in _noisy(problem, features, noise):
        G_Phi, diagonal = found.sums.derivative(rows, p, q)
        H = (G_Phi - (p if vfe else diagonal)[:, :, None] * rows.Phi) @ features.root
        S = S + transpose(rows.Phi @ features.root) @ H
        points = problem.X[rows.where, :]
        total = total + problem.kernel.cross_gradient(theta, points, Z, mask, 2.0 * H)
    inner = problem.kernel.cross_gradient(theta, Z, Z, mask, S + transpose(S))
    gradient: Host = -0.5 * to_host(total - inner)[0]
    return gradient


def conditioned(problem: Problem, parameters: Host) -> Conditioned:
    """Condition on the targets at one parameter vector, `(p,)`; predictions go through Z.

    mean = k(x*, Z) c,   variance = k(x*, x*) - |root k(Z, x*)|^2 + eps,
    c = L^-T M^-1 Phi'q,   root' root = L^-T (I - M^-1) L^-1.
    """
    features, found, _ = _at(problem, parameters)
    if features.failed[0] or found.sums.small.failed[0]:
        raise np.linalg.LinAlgError(
            "the covariance of the kernel at the inducing points is not positive definite; "
            "check the kernel's values and the noise variance"
        )
    constant = problem.y.shape[0] * math.log(2 * math.pi)
    likelihood = problem.likelihood_at(parameters)
    prior = LowRankPrior(features, problem.nugget_variance(likelihood))
    given = prior.given(sites_of(problem, likelihood))
    assert given is not None  # its features were factorised
    return Conditioned(
        *through_inducing(features, found.sums),
        -0.5 * (float(found.value[0]) + constant),
        given.sites,
        given.marginals,
    )


def _at(problem: Problem, parameters: Host) -> tuple[Features, _Sums, Array]:
    """Return the features, the sums over the rows and s for one parameter vector, `(p,)`."""
    features = _features(problem, parameters[None, :-1])
    noise = like([[math.exp(parameters[-1]) * (1.0 + problem.nugget)]], problem.X)
    return features, _sum_up(problem, features, noise), noise


def leave_one_out(problem: Problem, parameters: Host) -> LeaveOneOut:
    """Predict every target from all the others at one parameter vector, `(p,)`.

    mean_i = y_i - [A^-1 y]_i / [A^-1]_ii,   variance_i = 1 / [A^-1]_ii (+ [K - Q]_ii in vfe):

    the predictions at a row by the process without it, inducing points held.
    """
    features, found, noise = _at(problem, parameters)
    xp, parts = namespace(problem.X), []
    for rows, p, q, y in _noisy(problem, features, noise):
        b = found.sums.coefficients(rows, p, q)[0, :]
        V = rows.Phi @ found.sums.small.inverse
        precision = (p - p**2 * xp.sum(rows.Phi * V, axis=-1))[0, :]
        residual, variance = b / precision, 1.0 / precision
        if _method(problem) == "vfe":
            variance = variance + rows.residual[0, :]
        density = -0.5 * (residual**2 / variance + xp.log(2.0 * math.pi * variance))
        parts.append((y - residual, variance, density))
    return LeaveOneOut(*(xp.concat(list(part)) for part in zip(*parts, strict=True)))
