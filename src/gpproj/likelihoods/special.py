"""Special functions that keep their digits in the tails: Stirling's remainder, Mills's ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, erfcx, gammaln

from gpproj.linalg import Host

LOG_2_PI = math.log(2.0 * math.pi)

# Stirling's series in 1 / x^2, after the factor 1 / x; exact to double precision from here on.
FROM = 12.0
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)

# Below -FAR the continued fraction of this depth is exact to double precision, above it the plain
# formulas lose three digits at most.
FAR = 3.0
DEPTH = 60


def stirling_remainder(x: Host | float) -> Host:
    """Return `log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2`, elementwise, for x > 0.

    About `1 / (12 x)`. Differences of log-gamma functions at large arguments, written with it, do
    not cancel.

    Examples
    --------
    >>> round(float(stirling_remainder(1e8)) * 12e8, 12)
    1.0
    """
    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, FROM)
    small = np.minimum(x, FROM)
    plain = gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * LOG_2_PI
    return np.where(x < FROM, plain, _powers(large, SERIES) / large)


def stirling_slope(x: Host | float) -> Host:
    """Return the derivative of `stirling_remainder`, about `-1 / (12 x^2)`."""
    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, FROM)
    small = np.minimum(x, FROM)
    plain: Host = digamma(small) - np.log(small) + 0.5 / small
    terms = tuple(-(2 * k + 1) * term for k, term in enumerate(SERIES))
    return np.where(x < FROM, plain, _powers(large, terms) / large**2)


def _powers(x: Host, terms: tuple[float, ...]) -> Host:
    """Return `sum_k terms_k / x^(2k)`."""
    inverse = 1.0 / x**2
    total = np.zeros_like(x)
    for term in reversed(terms):
        total = total * inverse + term
    return total


class Mills(NamedTuple):
    """The ratio `r = phi(z) / Phi(z)` and what derivatives of `log Phi` are made of."""

    ratio: Host
    """r, the first derivative of `log Phi`."""
    excess: Host
    """`z + r`, positive; the second derivative is `-r (z + r)`."""
    variance: Host
    """`1 - r (z + r)`: that of a standard normal variable that is known to be above `-z`."""
    skew: Host
    """`(z + r)^2 - variance`; the third derivative is r times this."""


def mills(z: Host) -> Mills:
    """Return the inverse of Mills's ratio and its relatives, to full relative precision.

    For `t = -z > 0` Laplace's continued fraction `r = t + 1/(t + 2/(t + 3/(t + ...)))` has positive
    terms only. Its tails `a_k = k / (t + a_(k+1))` give `z + r = a_1` and, the leading terms taken
    out by hand, the variance and the skew.

    Examples
    --------
    >>> import numpy as np
    >>> far = mills(np.array([-1e8]))
    >>> [f"{value[0]:.12g}" for value in far]
    ['100000000', '1e-08', '1e-16', '2e-32']
    """
    z = np.asarray(z, dtype=np.float64)
    near = np.maximum(z, -FAR)
    ratio = math.sqrt(2.0 / math.pi) / erfcx(-near / math.sqrt(2.0))
    excess = near + ratio
    plain = (ratio, excess, 1.0 - ratio * excess, excess * (excess + ratio) - 1.0)
    tail = z < -FAR
    if not np.any(tail):
        return Mills(*plain)
    t = np.where(tail, -z, FAR)
    a4 = np.zeros_like(t)
    for k in range(DEPTH, 3, -1):
        a4 = k / (t + a4)
    a3 = 3.0 / (t + a4)
    a2 = 2.0 / (t + a3)
    a1 = 1.0 / (t + a2)
    variance = a1 * a1 * (t + 2.0 * a2 - a3) / (t + a3)
    skew = 2.0 * (a1 / (t + a3)) ** 2 * (t + 3.0 * a3 - 2.0 * a4) / (t + a4)
    far = (t + a1, a1, variance, skew)
    return Mills(*(np.where(tail, one, other) for one, other in zip(far, plain, strict=True)))
