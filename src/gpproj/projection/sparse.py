"""The projection objective and the projection error through inducing points, in O(n m^2).

K_smooth is `Q = Phi Phi'` with a submodel's own inducing points, and Sigma is `D_S + U U'`:

    K = Q + D,   D = diag(k - Q) + extra + eps,   p = 1/D,   M = I + Phi' p Phi
    K^-1 = p - p Phi M^-1 Phi' p,   T = [U mu],   F = Phi' p T,   N = M^-1 F,   C = Phi' p^2 D_S Phi

    tr(K^-1 S) = sum p (T^2 1 + D_S) - <F, N> - tr(M^-1 C)
    log|K|     = log|M| - sum log p

and with Y = K^-1 T = p (T - Phi N) the derivative `G = K^-1 - K^-1 S K^-1` has

    G Phi   = p (1 - p D_S) Phi M^-1 + p Phi M^-1 C M^-1 - Y N'
    diag(G) = p - p^2 D_S - p^2 [ (1 - 2 p D_S) rs(Phi M^-1 * Phi) + rs(Phi M^-1 C M^-1 * Phi) ]
              - rs(Y^2),

rs being row sums. The evidence of the sites is that of targets with precisions `tau / (1 + tau D)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.inference.features import (
    EvidenceSums,
    Features,
    Rows,
    Small,
    evidence_sums,
    small,
)
from gpproj.kernels import Kernel, Mask
from gpproj.linalg import (
    Array,
    Host,
    deferred_failures,
    flags,
    is_numpy,
    like,
    namespace,
    to_host,
    transpose,
)
from gpproj.projection.leave_groups_out import LeaveGroupsOutDivergence
from gpproj.projection.sparse_leave_one_out import LeaveOneOutDivergence, site_weights
from gpproj.projection.values import Value
from gpproj.reference import LeaveOneOut, Target


def left_out_means(target: LeaveOneOut, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the means that every row is predicted with from the others, `(b, u)`."""
    means = np.empty((len(mask), int(target.X.shape[0])))
    for lanes in _lanes(target, mask):
        features, extra = _prior(target, kernel, parameters[lanes], mask[lanes])
        means[lanes] = to_host(_left_out(target, features, extra).mean)
    return means


def _left_out(target: LeaveOneOut, features: Features, extra: Array) -> Any:
    """Return the objective of rows that leave one by one, or in groups."""
    objective = LeaveOneOutDivergence if target.blocks is None else LeaveGroupsOutDivergence
    return objective(target, features, extra)


def _slopes(
    objective: Objective, target: Rowwise, kernel: Kernel, parameters: Host, mask: Mask
) -> Host:
    """Return the slopes of an objective in the relevance of every input, in or out, `(b, d)`."""
    slopes = []
    for lanes in _lanes(target, mask):
        features, extra = _prior(target, kernel, parameters[lanes], mask[lanes])
        found, total = objective(target, features, extra), features.slopes()
        for rows in features.blocks():
            G_Phi, diagonal = found.derivative(rows)
            total.add(rows, G_Phi, diagonal, diagonal)
        slopes.append(to_host(total.total()))
    return np.concatenate(slopes)


def projection_error(target: Target, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the predictive divergence by which submodels are compared, `(b,)`.

    mu' = Phi M_A^-1 v and Sigma' = D + Phi M_A^-1 Phi': with `Phi_A = Phi L_A^-T`, L_A L_A' = M_A,
    it is a covariance of the same form as K.
    """
    errors = np.empty(parameters.shape[0])
    n = int(target.latent_mean.shape[0])
    for lanes in _lanes(target, mask):
        features, extra = _prior(target, kernel, parameters[lanes], mask[lanes])
        xp, sums = namespace(target.X), _sums(target, features, extra)
        sites = evidence_sums(sums.site_gram, sums.site_shift)
        # Phi_A' p Phi_A for any p is A' (Phi' p Phi) A, with A A' = M_A^-1.
        A = transpose(sites.small.root)
        M = small(transpose(A) @ sums.gram @ A)
        # The last column of T is mu; that of the difference mu - Phi c takes its place.
        c, mu = sites.mean[:, :, None], sums.weighted[:, :, -1:]
        F = xp.concat([sums.weighted[:, :, :-1], mu - sums.gram @ c], axis=2)
        moved = (transpose(c) @ (sums.gram @ c - 2.0 * mu))[:, 0, 0]
        F = transpose(A) @ F
        C = transpose(A) @ sums.spread @ A
        trace = sums.trace + moved - xp.sum(F * (M.inverse @ F), axis=(1, 2))
        trace = trace - xp.sum(M.inverse * C, axis=(1, 2))
        value = 0.5 * to_host(trace + M.log_det + sums.log_det - target.log_det - n)
        failed = features.failed | sites.small.failed | M.failed
        errors[lanes] = np.where(flags(failed), np.inf, value)
    return errors


class _Sums(NamedTuple):
    """Sums over all rows."""

    gram: Array
    """`Phi' p Phi`, `(b, m, m)`."""
    spread: Array
    """`C = Phi' p^2 D_S Phi`, `(b, m, m)`."""
    weighted: Array
    """`F = Phi' p T`, `(b, m, r + 1)`."""
    trace: Array
    """`sum p (T^2 1 + D_S)`, `(b,)`."""
    log_det: Array
    """`sum log D`, `(b,)`."""
    site_gram: Array
    """`Phi' p_A Phi`, `(b, m, m)`."""
    site_shift: Array
    """`v = Phi' q_A`, `(b, m)`."""
    site_value: Array
    """`sum log(1 + tau D) + u^2 / (1 + tau D)`, `(b,)`."""


def _sums(target: Target, features: Features, extra: Array) -> _Sums:
    xp = namespace(target.X)
    total: list[Array] | None = None
    for rows in features.blocks():
        D, stretch, p_A, q_A = site_weights(target, rows, extra)
        p, here, Phi = 1.0 / D, rows.where, rows.Phi
        weighted = Phi * p[:, :, None]
        halves = weighted * xp.sqrt(target.low_rank.noise[here])[None, :, None]
        own = [
            transpose(weighted) @ Phi,
            transpose(halves) @ halves,
            transpose(weighted) @ target.spanning[here, :],
            xp.sum(p * target.spanning_squares[here], axis=-1),
            -xp.sum(xp.log(p), axis=-1),
            transpose(Phi * p_A[:, :, None]) @ Phi,
            (transpose(Phi) @ q_A[:, :, None])[:, :, 0],
            xp.sum(xp.log(stretch) + target.site_target[here] ** 2 / stretch, axis=-1),
        ]
        total = own if total is None else [a + b for a, b in zip(total, own, strict=True)]
    assert total is not None  # there are rows
    return _Sums(*total)


class _SiteEvidence:
    """`log|B| + u'B^-1 u`, and its derivative in K row by row."""

    def __init__(
        self, target: Target, features: Features, extra: Array, sums: _Sums | None = None
    ) -> None:
        self._target, self._extra = target, extra
        sums = _sums(target, features, extra) if sums is None else sums
        self.found: EvidenceSums = evidence_sums(sums.site_gram, sums.site_shift)
        self.value = sums.site_value + self.found.small.log_det - self.found.explained
        self.failed = features.failed | self.found.small.failed

    def derivative(self, rows: Rows) -> tuple[Array, Array]:
        """Return some rows of `G Phi` and of `diag(G)`."""
        _, _, p_A, q_A = site_weights(self._target, rows, self._extra)
        return self.found.derivative(rows, p_A, q_A)


class _Divergence:
    """E, and its derivative in K row by row."""

    def __init__(self, target: Target, features: Features, extra: Array) -> None:
        xp, sums = namespace(target.X), _sums(target, features, extra)
        self._target, self._extra = target, extra
        self._evidence = _SiteEvidence(target, features, extra, sums)
        self._small: Small = small(sums.gram)
        M_inverse = self._small.inverse
        self._N = M_inverse @ sums.weighted
        self._inner = M_inverse @ sums.spread @ M_inverse
        trace = sums.trace - xp.sum(sums.weighted * self._N, axis=(1, 2))
        trace = trace - xp.sum(M_inverse * sums.spread, axis=(1, 2))
        log_det = self._small.log_det + sums.log_det
        self.value = trace + log_det + target.constant - self._evidence.value
        self.failed = self._evidence.failed | self._small.failed

    def derivative(self, rows: Rows) -> tuple[Array, Array]:
        """Return some rows of `G Phi` and of `diag(G)`."""
        xp, Phi, here = namespace(rows.Phi), rows.Phi, rows.where
        p = 1.0 / site_weights(self._target, rows, self._extra).D
        p_S = p * self._target.low_rank.noise[here]
        V, W = Phi @ self._small.inverse, Phi @ self._inner
        Y = p[:, :, None] * (self._target.spanning[here, :] - Phi @ self._N)
        G_Phi = (p * (1.0 - p_S))[:, :, None] * V + p[:, :, None] * W - Y @ transpose(self._N)
        within = (1.0 - 2.0 * p_S) * xp.sum(V * Phi, axis=-1) + xp.sum(W * Phi, axis=-1)
        diagonal = p * (1.0 - p_S) - p**2 * within - xp.sum(Y * Y, axis=-1)
        site_Phi, site_diagonal = self._evidence.derivative(rows)
        return G_Phi - site_Phi, diagonal - site_diagonal


Rowwise: TypeAlias = Target | LeaveOneOut
"""What has rows and sites, and inducing points."""

Objective: TypeAlias = Callable[[Any, Features, Array], Any]
"""Makes what has a value, and its derivative row by row."""


def _evaluate(
    objective: Objective, target: Rowwise, kernel: Kernel, parameters: Host, mask: Mask
) -> Value:
    """Return value and gradient of an objective, computed batch by batch."""
    lanes, p = parameters.shape
    value, gradient = np.full(lanes, np.inf), np.zeros((lanes, p))
    for batch in _lanes(target, mask):
        with deferred_failures():
            numbers = _numbers(objective, target, kernel, parameters[batch], mask[batch])
        failed = ~np.isfinite(numbers[:, 0])
        if failed.any() and not is_numpy(target.X):  # once more, with patience
            own = kernel, parameters[batch[failed]], mask[batch[failed]]
            numbers[failed] = _numbers(objective, target, *own)
        value[batch], gradient[batch] = numbers[:, 0], numbers[:, 1:]
    return Value(value, gradient)


def _numbers(
    objective: Objective, target: Rowwise, kernel: Kernel, parameters: Host, mask: Mask
) -> Host:
    """Return value and gradient of some lanes, `(b, 1 + p)`: one transfer from a device."""
    features, extra = _prior(target, kernel, parameters, mask)
    found, total = objective(target, features, extra), features.pull_back()
    xp, trace = namespace(target.X), like(0.0, target.X)
    for rows in features.blocks():
        G_Phi, diagonal = found.derivative(rows)
        total.add(rows, G_Phi, diagonal, diagonal)
        trace = trace + xp.sum(diagonal, axis=-1)
    value = xp.where(found.failed, xp.full_like(found.value, np.inf), found.value)
    slope = trace * like(np.exp(parameters[:, -1]), target.X)
    return to_host(xp.concat([value[:, None], total.total(), slope[:, None]], axis=1))


def _prior(target: Rowwise, kernel: Kernel, parameters: Host, mask: Mask) -> tuple[Features, Array]:
    """Return Phi of a batch, and `extra + eps`, `(b, 1)`."""
    X = target.X
    xp = namespace(X)
    Z = xp.stack([target.points(one) for one in mask])
    extra = like(np.exp(parameters[:, -1:]) + target.nugget, X)
    theta = parameters[:, :-1]
    if not is_numpy(X):  # moved once, not by everybody who needs them
        theta, mask = like(theta, X), xp.asarray(mask, device=X.device)
    return Features(kernel, theta, X, Z, mask), extra


def _lanes(target: Rowwise, mask: Mask) -> Iterator[NDArray[np.intp]]:
    """Go through the lanes: one at a time on a processor, those with as many points on a device."""
    if is_numpy(target.X):
        return iter(np.arange(len(mask))[:, None])
    assert target.inducing is not None
    target.inducing.choose(mask)
    counts = np.array([int(target.points(one).shape[0]) for one in mask])
    return iter([np.flatnonzero(counts == count) for count in np.unique(counts)])


# What objectives and criteria call, as in `dense`.

left_out_divergence = partial(_evaluate, _left_out)
posterior_divergence = partial(_evaluate, _Divergence)
negative_evidence = partial(_evaluate, _SiteEvidence)

left_out_slopes = partial(_slopes, _left_out)
posterior_slopes = partial(_slopes, _Divergence)
evidence_slopes = partial(_slopes, _SiteEvidence)


def loo_divergence(target: LeaveOneOut, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the divergence between leave-one-out predictions alone, `(b,)`."""
    return left_out_divergence(target, kernel, parameters, mask).value
