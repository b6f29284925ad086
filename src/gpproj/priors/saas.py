"""The prior of sparse axes (SAAS): few length-scales are short, and the data say how few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from gpproj.linalg import Host
from gpproj.priors.bounds import Scales
from gpproj.priors.distributions import Distribution
from gpproj.priors.weak import weak

TAIL = 40.0
"""Nats below its highest value at which the integrand over the global scale is cut off."""

STEP, WIDEST = 0.7, 0.25
"""Step of its quadrature, in units of the narrowest width that it can have, and the largest step:
the integrand has poles at `pi i / 2`, which count where it is wide."""


@dataclass(frozen=True)
class SparseScales(Distribution):
    """Inverse squared length-scales with a half-Cauchy prior each, and one on their global scale.

    For inverse squared length-scales `rho_j = 1 / l_j^2`, as in the sparse axis-aligned subspaces
    of Eriksson and Jankowiak (2021),

        rho_j | tau ~ half-Cauchy(tau),   tau ~ half-Cauchy(scale),

    with tau integrated out. Inputs without use share a small tau, which costs nothing; an input
    of use costs `log(rho_j / tau)` nats, however large it is. As tau is common to all inputs, many
    useless ones make it small.

    Parameters
    ----------
    scale : float
        Median of tau, in units of the data. The default is that of BoTorch, 0.1 for inputs in the
        unit cube, whose variance is 1/12.

    Examples
    --------
    >>> import numpy as np
    >>> prior = SparseScales()
    >>> one, both = np.log([[1.0, 20.0, 20.0], [1.0, 1.0, 20.0]])
    >>> value, _ = prior.joint(np.array([one, both]), np.ones((2, 3), dtype=bool))
    >>> (value[1] < value[0]).item()
    True
    """

    scale: float = 0.1 / 12.0

    def log_ratio(self, t: Host) -> tuple[Host, Host]:
        """Return the same as `joint` for each number as if it were the only one."""
        flat = np.asarray(t, dtype=np.float64).reshape(-1, 1)
        value, gradient = self.joint(flat, np.ones(flat.shape, dtype=bool))
        return value.reshape(np.shape(t)), gradient.reshape(np.shape(t))

    def joint(self, t: Host, counted: NDArray[np.bool_]) -> tuple[Host, Host]:
        """Return `log p(t) - max log p`, `(b,)`, and its gradient, `(b, k)`.

        With `u_j = log(rho_j / tau)` the density of `log rho_j` given tau is `1 / (pi cosh u_j)`,
        so that the joint one is an integral over log tau of a product of k + 1 such terms. It is
        log-concave, falls by k + 1 nats per unit beyond the outermost of its centres, and is no
        narrower than `(k + 1)^-1/2`: with a step below that the trapezoidal rule is exact to a few
        roundings. It is highest where all u_j are zero, `B(1/2, (k + 1)/2)` with Euler's beta
        function, up to factors of pi.
        """
        value, gradient = np.empty(len(t)), np.zeros_like(t)
        for row, (own, use) in enumerate(zip(t, counted, strict=True)):
            found = self._integrated(own[use])
            value[row] = found.value
            # d/dt log cosh(u) = -2 tanh(u), averaged over what the length-scales say of tau.
            gradient[row, use] = 2.0 * found.tanh @ found.weights
        return value, gradient

    def joint_curvature(self, t: Host, counted: NDArray[np.bool_]) -> Host:
        """Return the second derivatives of the joint log density at one vector, `(k, k)`.

        They are means and covariances over log tau: `-4 E[1 / cosh(u)^2]` on the diagonal, and
        `4 cov(tanh(u_i), tanh(u_j))` everywhere.
        """
        found = self._integrated(t[counted])
        mean, weighted = found.tanh @ found.weights, found.tanh * found.weights
        own = 4.0 * (weighted @ found.tanh.T - np.outer(mean, mean))
        own[np.diag_indices_from(own)] -= 4.0 * (1.0 - np.sum(weighted * found.tanh, axis=1))
        curvature = np.zeros((t.size, t.size))
        curvature[np.ix_(counted, counted)] = own
        return curvature

    def _integrated(self, t: Host) -> _Integral:
        """Integrate over log tau, `(k,)` logarithms of length-scales given."""
        log_rho, middle = -2.0 * t, math.log(self.scale)
        step = min(WIDEST, STEP / math.sqrt(t.size + 1))
        reach = TAIL / (t.size + 1) + 1.0
        # Multiples of the step from the median: other rows do not move the nodes of this one.
        first = math.floor((min(log_rho.min(initial=middle), middle) - reach - middle) / step)
        last = math.ceil((max(log_rho.max(initial=middle), middle) + reach - middle) / step)
        away = step * np.arange(first, last + 1)
        total, tanh = _log_integrand(log_rho - middle, away)
        integral = np.logaddexp.reduce(total)
        value = float(integral + math.log(step) - betaln(0.5, 0.5 * (t.size + 1)))
        return _Integral(value, tanh, np.exp(total - integral))


class _Integral(NamedTuple):
    """The integral over log tau, and what is averaged over it."""

    value: float
    """Log of the integral."""
    tanh: Host
    """`tanh(u_j - a)` at the nodes, `(k, m)`."""
    weights: Host
    """Shares of the nodes in the integral, `(m,)`."""


def _log_integrand(u: Host, away: Host) -> tuple[Host, Host]:
    """Return `-log cosh(a) - sum_j log cosh(u_j - a)` for each a, and `tanh(u_j - a)`."""
    both = np.concatenate([u, [0.0]])[:, None] - away
    size = np.abs(both)
    small = np.exp(-2.0 * size)
    log_cosh = size + np.log1p(small) - math.log(2.0)
    tanh = np.copysign((1.0 - small) / (1.0 + small), both)
    return -np.sum(log_cosh, axis=0), tanh[:-1]


def saas(units: Scales) -> dict[str, Distribution]:
    """Return the prior by name: `SparseScales` of length-scales, the weak prior of the rest."""
    return {**weak(units.relevant), "lengthscale": SparseScales()}
