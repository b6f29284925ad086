"""Rows that leave in groups: each is predicted from the rows of all other groups.

The objective is that of `leave_one_out`, the sum of divergences between predictions of single rows;
only what they are predicted from is less. With B = I + tau^1/2 K tau^1/2, u = tau^-1/2 nu,
z = B^-1 u and the blocks Q_g of B^-1, let C_g = Q_g^-1 and beta_g = C_g z_g. Then

    m'_g = tau^-1/2 (u_g - beta_g),    V_g = (diag(C_g) - l) / tau,

with l = 0 for targets of Gaussian noise and 1 for cavities. With a = dE/dm', h = dE/dV and
pull_g = C_g tau^-1/2 a_g,

    dE/dB = sym( B^-1 pull z' ) - B^-1 W B^-1,    W_g = sym( beta_g pull_g' ) - C_g (h / tau) C_g,

since dz = -B^-1 dB z, dQ_g = -[B^-1 dB B^-1]_gg and dC_g = -C_g dQ_g C_g. For single rows, where
C = 1 / q, these are the equations of `leave_one_out`.
"""

from __future__ import annotations

from gpproj.inference.features import EvidenceSums, Features, Rows, evidence_sums
from gpproj.linalg import Array, Blocks, namespace, subtract_symmetric, times_vector, transpose
from gpproj.projection.values import Compared, compared
from gpproj.reference import LeaveOneOut, StackedLeaveOneOut


class Groups:
    """Predictions of rows whose groups leave.

    Parameters
    ----------
    target : LeaveOneOut
        With groups.
    within : list of arrays `(b, g, s, s)`
        Q, the blocks of B^-1.
    z : array `(b, u)`
    """

    def __init__(self, target: LeaveOneOut, within: list[Array], z: Array) -> None:
        assert target.blocks is not None  # whoever comes here has seen them
        self._target, self._blocks = target, target.blocks
        xp = namespace(z)
        self._C = [xp.linalg.inv(Q) for Q in within]
        self._beta = self._times(self._blocks.of_vectors(z))
        beta = self._blocks.joined(self._beta)
        spread = self._blocks.joined([xp.linalg.diagonal(C) for C in self._C])
        self.mean = (target.site_target - beta) / target.site_root
        self.compared: Compared = compared(
            target, self.mean, (spread - target.latent) / target.site_precision
        )

    def pull(self) -> tuple[Array, list[Array]]:
        """Return `pull`, `(b, u)`, and the blocks of W."""
        found, target = self.compared, self._target
        pull = self._times(self._blocks.of_vectors(found.by_mean / target.site_root))
        scaled = self._blocks.of_vectors(found.by_variance / target.site_precision)
        W = []
        for C, beta, own, h in zip(self._C, self._beta, pull, scaled, strict=True):
            outer = beta[..., :, None] * own[..., None, :]
            W.append(0.5 * (outer + transpose(outer)) - (C * h[..., None, :]) @ C)
        return self._blocks.joined(pull), W

    def _times(self, parts: list[Array]) -> list[Array]:
        return [(C @ part[..., None])[..., 0] for C, part in zip(self._C, parts, strict=True)]


def times_blocks(blocks: Blocks, W: list[Array], matrices: Array) -> Array:
    """Return `W A` for matrices `(b, u, k)`."""
    rows = blocks.of_rows(matrices)
    return blocks.joined([own @ part for own, part in zip(W, rows, strict=True)])


def dense_derivative(
    target: LeaveOneOut | StackedLeaveOneOut, B_inverse: Array, z: Array, groups: Groups
) -> Array:
    """Return dE/dK of whole matrices, `(b, u, u)`."""
    assert target.blocks is not None
    pull, W = groups.pull()
    G = -(B_inverse @ times_blocks(target.blocks, W, B_inverse))
    G = subtract_symmetric(0.5 * (G + transpose(G)), times_vector(B_inverse, -pull), z)
    return G * target.site_scale


class LeaveGroupsOutDivergence:
    """E through inducing points, and its derivative in K row by row.

    The matrices are those of `sparse_leave_one_out`; Phi is kept whole, as groups may have their
    rows anywhere. With s = 1 + tau D_K, P = tau / s and F = tau^1/2 / s Phi,

        B^-1 = 1 / s - F M^-1 F',    A^-1 Phi = P Phi M^-1 =: Y,    x = A^-1 tau^-1/2 pull,

    and of G = sym(x alpha') - A^-1 tau^-1/2 W tau^-1/2 A^-1, with U = tau^-1/2 W F and C = F'W F,

        G Phi = sym(x alpha') Phi - (P U - Y C) M^-1
        diag(G) = x alpha - P^2 diag(W) / tau + 2 P rs(U * Y) - rs(Y C * Y).
    """

    def __init__(self, target: LeaveOneOut, features: Features, extra: Array) -> None:
        assert target.blocks is not None  # whoever comes here has seen them
        xp, blocks = namespace(target.X), list(features.blocks())
        Phi = xp.concat([rows.Phi for rows in blocks], axis=1)
        tau, root = target.site_precision, target.site_root
        stretch = 1.0 + tau * (xp.concat([rows.residual for rows in blocks], axis=1) + extra)
        P, q = tau / stretch, target.site_shift / stretch
        gram = transpose(Phi * P[:, :, None]) @ Phi
        sums: EvidenceSums = evidence_sums(gram, (transpose(Phi) @ q[:, :, None])[:, :, 0])
        M_inverse = sums.small.inverse
        self.failed = features.failed | sums.small.failed

        alpha = q - P * (Phi @ sums.mean[:, :, None])[:, :, 0]
        F = Phi * (root / stretch)[:, :, None]
        within = []
        parts = zip(target.blocks.of_rows(F), target.blocks.of_vectors(1.0 / stretch), strict=True)
        for own, inverse in parts:
            one = xp.eye(own.shape[-2], dtype=own.dtype, device=own.device)
            explained = own @ M_inverse[:, None, :, :] @ transpose(own)
            within.append(inverse[..., None] * one - explained)
        groups = Groups(target, within, alpha / root)
        self.mean, self.value = groups.mean, groups.compared.value

        pull, W = groups.pull()
        U = times_blocks(target.blocks, W, F) / root[:, None]
        C = transpose(F) @ (U * root[:, None])
        Y = P[:, :, None] * (Phi @ M_inverse)
        across = transpose(Phi) @ (P * pull / root)[:, :, None]
        x = P * pull / root - (Y @ across)[:, :, 0]
        x_Phi = (M_inverse @ across)[:, :, 0]  # Phi'x
        outer = x[:, :, None] * sums.mean[:, None, :] + alpha[:, :, None] * x_Phi[:, None, :]
        Y_C = Y @ C
        self._G_Phi = 0.5 * outer - (P[:, :, None] * U - Y_C) @ M_inverse
        own = target.blocks.joined([xp.linalg.diagonal(part) for part in W]) / tau
        across_rows = xp.sum(U * Y, axis=-1)
        self._diagonal = x * alpha - P**2 * own + 2.0 * P * across_rows - xp.sum(Y_C * Y, axis=-1)

    def derivative(self, rows: Rows) -> tuple[Array, Array]:
        """Return some rows of `G Phi` and of `diag(G)`."""
        return self._G_Phi[:, rows.where, :], self._diagonal[:, rows.where]
