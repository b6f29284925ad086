"""The projection objective and the projection error of whole covariance matrices, batched.

A lane is one candidate: a mask of the inputs that are in, the log parameters of the kernel and the
log extra variance. With the Gaussian sites `tau, nu` of the reference and S = Sigma + mu mu':

    K = K_smooth + (extra + eps) I,    B = I + tau^1/2 K tau^1/2,    u = tau^-1/2 nu
    R = tau^1/2 B^-1 tau^1/2,          b = tau^1/2 B^-1 u,           Sigma_perp = K - K R K

    E = tr(K^-1 S) + log|K| - (log|B| + u'B^-1 u)
        + tr(tau Sigma) + |tau^1/2 mu - u|^2 - log|Sigma| - n
    dE/dK = K^-1 - K^-1 S K^-1 - (R - b b')

E / 2 is the divergence of the submodel's posterior from the reference's, what the paper minimises
in its section 3.2. A = K + V, the inverse of R, is never formed: that loses all digits as tau goes
to zero. Neither is b = nu - R K nu, which loses them as K grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gpproj.divergence import gaussian_kl
from gpproj.kernels import Evaluation, Kernel, Mask
from gpproj.linalg import (
    Array,
    Factor,
    Host,
    cholesky,
    contraction,
    exponential,
    in_row_order,
    inverse,
    inverse_root,
    inverses,
    is_numpy,
    lane_dot,
    like,
    log_determinant,
    minus_product,
    namespace,
    room_for,
    subtract_gram,
    subtract_outer,
    subtract_scaled,
    times_lower,
    times_vector,
    to_host,
    transpose,
)
from gpproj.projection.leave_one_out import leave_one_out, predicted
from gpproj.projection.on_device import Work, on_device
from gpproj.projection.values import Derivative, Value
from gpproj.reference import AnyTarget, LeaveOneOut, StackedLeaveOneOut, StackedTargets, Target


def left_out_means(target: LeaveOneOut, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the means that every row is predicted with from the others, `(b, u)`."""
    return to_host(predicted(target, *_prior(target, kernel, parameters, mask)).mean)


def row_divergences(target: LeaveOneOut, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the divergence between leave-one-out predictions of every row, `(b, u)`."""
    return to_host(predicted(target, *_prior(target, kernel, parameters, mask)).compared.rows)


def _predictive_divergence(target: One, kernel: Kernel, parameters: Array, mask: Array) -> Array:
    """Return the predictive divergences by which submodels are compared, `(b, 1)`.

    delta = KL( N(mu, Sigma) || N(mu', Sigma') ),
    mu' = K_smooth b,   Sigma' = K - K_smooth R K_smooth
    """
    smooth, diagonal = _prior(target, kernel, parameters, mask)
    sites = _conditioned(target, smooth, diagonal)
    mean = (smooth.value @ sites.coefficients[:, :, None])[:, :, 0]
    xp = namespace(target.X)
    K = subtract_gram(xp.asarray(smooth.value, copy=True), smooth.value @ transpose(sites.root))
    divergence = gaussian_kl(
        target.latent_mean - mean, target.root, target.log_det, cholesky(K, diagonal)
    )
    return _infinite(sites.failed, divergence)[:, None]


def _infinite(failed: Array, value: Array) -> Array:
    """Return values that are infinite where something failed."""
    xp = namespace(value)
    return xp.where(failed, xp.full_like(value, np.inf), value)


class Conditioned(NamedTuple):
    """A submodel given the sites: what its predictions are made of."""

    coefficients: Array
    """b, `(b, n)`."""
    root: Array
    """`(b, n, n)`, with `R = root' root`."""
    failed: Array
    """`(b,)`."""


def conditioned(target: Rows, kernel: Kernel, parameters: Host, mask: Mask) -> Conditioned:
    """Condition submodels on the sites of the target, for all lanes at once."""
    return _conditioned(target, *_prior(target, kernel, parameters, mask))


def _conditioned(target: Rows, smooth: Evaluation, diagonal: Array) -> Conditioned:
    factor = _site_factor(target, smooth, diagonal)
    M = inverse_root(factor, overwrite=True)  # B^-1 = M'M
    z = transpose(M) @ (M @ target.site_target[..., None])
    root = M * target.site_root[..., None, :]
    return Conditioned(target.site_root * z[:, :, 0], root, factor.failed)


One: TypeAlias = Target | StackedTargets
"""Arrays of the target: of all lanes, or with one row for each lane."""

Rows: TypeAlias = One | LeaveOneOut | StackedLeaveOneOut
"""Arrays of anything that has rows and sites, in the same two forms."""

Differentiate: TypeAlias = Callable[[Any, Evaluation, Array], Derivative]


def _divergence(target: One, smooth: Evaluation, diagonal: Array) -> Derivative:
    """Return E and its derivative in K."""
    if not is_numpy(target.X):
        return _divergence_on_device(target, smooth, diagonal)
    evidence = _evidence(target, smooth, diagonal)
    factor = cholesky(smooth.value, diagonal)
    log_det, failed = log_determinant(factor), factor.failed
    trace, a, G = _pulled(target, inverse(factor, overwrite=True))
    G = subtract_outer(G, a)
    G -= evidence.G
    value = trace + log_det + target.constant - evidence.value
    return Derivative(value, G, failed | evidence.failed)


def _divergence_on_device(target: One, smooth: Evaluation, diagonal: Array) -> Derivative:
    """Return the same in few and large steps: as many lanes more take hardly longer there."""
    lanes = int(diagonal.shape[0])
    found = inverses(
        (smooth.value, diagonal, None),
        (smooth.value, 1.0 + diagonal * target.site_precision, target.site_scale),
    )
    K_inverse, log_det, failed = (part[:lanes, ...] for part in found)
    B_inverse, site_log_det, also = (part[lanes:, ...] for part in found)
    z = times_vector(B_inverse, target.site_target)
    b = target.site_root * z
    trace, a, G = _pulled(target, K_inverse)
    G = subtract_scaled(G, B_inverse, target.site_scale)
    xp = namespace(G)
    G = minus_product(G, xp.stack([a, b], axis=2), xp.stack([a, -b], axis=1))
    value = trace + log_det + target.constant - (site_log_det + lane_dot(z, target.site_target))
    return Derivative(value, G, failed | also)


def _pulled(target: One, K_inverse: Array) -> tuple[Array, Array, Array]:
    """Return `tr(K^-1 S)`, `a = K^-1 mu` and `K^-1 - K^-1 Sigma K^-1`, which reuses memory.

    K^-1 S K^-1 = P P' + a a' with P = K^-1 L and Sigma = L L'.
    """
    P = times_lower(K_inverse, target.root)
    a = times_vector(K_inverse, target.latent_mean)
    trace = contraction(P, target.root) + lane_dot(a, target.latent_mean)
    return trace, a, subtract_gram(K_inverse, P)


def _evidence(target: One, smooth: Evaluation, diagonal: Array) -> Derivative:
    """Return `log|B| + u'B^-1 u` and its derivative in K, `R - b b'`."""
    factor = _site_factor(target, smooth, diagonal)
    log_det = log_determinant(factor)
    B_inverse = inverse(factor, overwrite=True)
    z = times_vector(B_inverse, target.site_target)
    value = log_det + lane_dot(z, target.site_target)
    B_inverse *= target.site_scale
    return Derivative(value, subtract_outer(B_inverse, target.site_root * z), factor.failed)


def _prior(target: Rows, kernel: Kernel, parameters: Host, mask: Mask) -> tuple[Evaluation, Array]:
    """Return K_smooth and the diagonal `extra + eps` that completes K, `(b, 1)`."""
    X, theta = target.X, parameters[:, :-1]
    own = X.ndim == 3
    smooth = kernel.evaluate_cross(theta, X, X, mask) if own else kernel.evaluate(theta, X, mask)
    return smooth, like(exponential(parameters[:, -1:]) + target.nugget, target.X)


def _site_factor(target: Rows, smooth: Evaluation, diagonal: Array) -> Factor:
    """Factorise `B = I + tau^1/2 K tau^1/2`."""
    return cholesky(smooth.value, 1.0 + diagonal * target.site_precision, target.site_scale)


def _batches(target: AnyTarget, parameters: Host) -> Iterator[slice]:
    # One matrix at a time stays in the processor's cache; on a device the batch is the point.
    lanes, n = parameters.shape[0], int(target.X.shape[-2])
    size = 1 if is_numpy(target.X) else max(room_for(target.X) // n**2, 1)
    return (slice(start, start + size) for start in range(0, lanes, size))


def _evaluate(work: Work, target: AnyTarget, kernel: Kernel, parameters: Host, mask: Mask) -> Value:
    """Return value and gradient of an objective, computed batch by batch."""
    lanes, p = parameters.shape
    value, gradient = np.full(lanes, np.inf), np.zeros((lanes, p))
    on_processor = is_numpy(target.X)
    for batch in _batches(target, parameters):
        own = target.at(batch), kernel, parameters[batch], mask[batch]
        numbers = work(*own) if on_processor else on_device(work, *own)
        value[batch], gradient[batch] = numbers[:, 0], numbers[:, 1:]
    gradient[~np.isfinite(value)] = 0.0
    return Value(value, gradient)


def _figures(work: Work, target: AnyTarget, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the one number that some work computes for every lane, `(b,)`."""
    figures, on_processor = np.empty(parameters.shape[0]), is_numpy(target.X)
    for batch in _batches(target, parameters):
        own = target.at(batch), kernel, parameters[batch], mask[batch]
        figures[batch] = (work(*own) if on_processor else on_device(work, *own))[:, 0]
    return figures


def _slopes(
    differentiate: Differentiate, target: Rows, kernel: Kernel, parameters: Host, mask: Mask
) -> Host:
    """Return the slopes of an objective in the relevance of every input, in or out, `(b, d)`."""
    smooth, diagonal = _prior(target, kernel, parameters, mask)
    found = differentiate(target, smooth, diagonal)
    return to_host(smooth.slopes(in_row_order(found.G)))


def _left_out_figure(target: Any, kernel: Kernel, parameters: Array, mask: Array) -> Array:
    """Return the divergence between leave-one-out predictions, `(b, 1)`."""
    found = predicted(target, *_prior(target, kernel, parameters, mask))
    return _infinite(found.failed, found.compared.value)[:, None]


def _differentiated(
    differentiate: Differentiate, target: Rows, kernel: Kernel, parameters: Array, mask: Array
) -> Array:
    """Return value and gradient of all lanes, `(b, 1 + p)`."""
    smooth, diagonal = _prior(target, kernel, parameters, mask)
    found = differentiate(target, smooth, diagonal)
    xp = namespace(found.G)
    trace = xp.linalg.trace(found.G) * exponential(parameters[:, -1])
    value = _infinite(found.failed, found.value)
    slopes = smooth.pull_back(in_row_order(found.G))
    return xp.concat([value[:, None], slopes, trace[:, None]], axis=1)


# What objectives and criteria call: functions of target, kernel, parameters `(b, p)` and masks
# `(b, d)`. They are partial functions, not wrappers: an evaluation is the innermost loop of all.

left_out_divergence = partial(_evaluate, partial(_differentiated, leave_one_out))
"""The divergence between leave-one-out predictions and its gradient."""
posterior_divergence = partial(_evaluate, partial(_differentiated, _divergence))
"""E and its gradient."""
negative_evidence = partial(_evaluate, partial(_differentiated, _evidence))
"""-2 log evidence of the submodel, up to a constant, and its gradient."""

left_out_slopes = partial(_slopes, leave_one_out)
posterior_slopes = partial(_slopes, _divergence)
evidence_slopes = partial(_slopes, _evidence)
"""Slopes of the three objectives in the relevance of every input, in or out, `(b, d)`."""

loo_divergence = partial(_figures, _left_out_figure)
"""The divergence between leave-one-out predictions alone, `(b,)`."""
projection_error = partial(_figures, _predictive_divergence)
"""The predictive divergence by which the paper compares submodels, `(b,)`."""
