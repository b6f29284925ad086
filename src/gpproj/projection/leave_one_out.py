"""The divergence between leave-one-out predictions, of whole covariance matrices, batched.

Row i is predicted from the others by the reference as N(m_i, v_i), computed once, and by a submodel
as N(m'_i, V_i), hyperparameters of both held. With c_i the rows that row i stands for,

    E = sum_i c_i KL( N(m_i, v_i) || N(m'_i, V_i) )
      = 1/2 sum_i c_i [ log(V_i / v_i) + (v_i + (m_i - m'_i)^2) / V_i - 1 ].

With A = K + 1/tau, t = nu / tau, alpha = A^-1 t and D = diag(A^-1),

    m' = t - alpha / D,    V = 1 / D  (targets of Gaussian noise)  or  1 / D - 1 / tau  (cavities).

Let a_i = dE/dm'_i and h_i = dE/dV_i. As d alpha = -A^-1 dA alpha and dD = -diag(A^-1 dA A^-1),

    dE/dA = sym( A^-1 (a / D) alpha' ) - A^-1 diag(w) A^-1,   w = (a alpha - h) / D^2.

Everything goes through B = I + tau^1/2 K tau^1/2, whose inverse is the one of all matrices here:
A^-1 = tau^1/2 B^-1 tau^1/2. A model that interpolates predicts rows badly that it has not seen, and
the divergence of posteriors, which training rows alone decide, does not know that. Rows that leave
in groups are predicted in `leave_groups_out`.
"""

from __future__ import annotations

from typing import NamedTuple

from gpproj.kernels import Evaluation
from gpproj.linalg import (
    Array,
    cholesky,
    inverse,
    inverses,
    is_numpy,
    namespace,
    subtract_symmetric,
    times_vector,
    weighted_square,
)
from gpproj.projection.leave_groups_out import Groups, dense_derivative
from gpproj.projection.values import Compared, Derivative, compared
from gpproj.reference import LeaveOneOut, StackedLeaveOneOut


class Predicted(NamedTuple):
    """Rows predicted from the others by submodels."""

    B_inverse: Array
    """`(b, u, u)`."""
    z: Array
    """`B^-1 u`, `(b, u)`."""
    mean: Array
    """m', `(b, u)`."""
    compared: Compared
    groups: Groups | None
    """Where rows leave in groups."""
    failed: Array
    """`(b,)`."""


def predicted(
    target: LeaveOneOut | StackedLeaveOneOut, smooth: Evaluation, diagonal: Array
) -> Predicted:
    """Predict every row from the others; parameters as for `leave_one_out`."""
    xp, tau = namespace(smooth.value), target.site_precision
    stretch = 1.0 + diagonal * tau
    if is_numpy(smooth.value):
        factor = cholesky(smooth.value, stretch, target.site_scale)
        failed = factor.failed
        B_inverse = inverse(factor, overwrite=True)
    else:
        B_inverse, _, failed = inverses((smooth.value, stretch, target.site_scale))
    z = times_vector(B_inverse, target.site_target)
    if target.blocks is not None:
        groups = Groups(target, target.blocks.of_matrices(B_inverse), z)
        return Predicted(B_inverse, z, groups.mean, groups.compared, groups, failed)
    q = xp.linalg.diagonal(B_inverse)
    mean = (target.site_target - z / q) / target.site_root
    found = compared(target, mean, (1.0 - target.latent * q) / (tau * q))
    return Predicted(B_inverse, z, mean, found, None, failed)


def leave_one_out(
    target: LeaveOneOut | StackedLeaveOneOut, smooth: Evaluation, diagonal: Array
) -> Derivative:
    """Return E and its derivative in K.

    Parameters
    ----------
    smooth : Evaluation
        K_smooth.
    diagonal : array `(b, 1)`
        Extra variance and nugget, which complete K.
    """
    B_inverse, z, _, found, groups, failed = predicted(target, smooth, diagonal)
    if groups is not None:
        return Derivative(found.value, dense_derivative(target, B_inverse, z, groups), failed)
    root = target.site_root
    D = target.site_precision * namespace(B_inverse).linalg.diagonal(B_inverse)
    w = (found.by_mean * root * z - found.by_variance) / D**2
    G = weighted_square(B_inverse, -target.site_precision * w)
    pulled = times_vector(B_inverse, -root * found.by_mean / D)
    G = subtract_symmetric(G, pulled, z)
    G *= target.site_scale
    return Derivative(found.value, G, failed)
