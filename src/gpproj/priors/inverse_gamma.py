"""Inverse gamma priors of length-scales that keep to the distances in the data."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import gammainccinv

from gpproj.priors.bounds import Scales
from gpproj.priors.distributions import Distribution, InverseGamma
from gpproj.priors.weak import weak

OUTSIDE = 0.01
"""Probability below the smallest distance, and above the largest."""

FINEST = 0.01
"""Smallest distance at least, as a share of the largest: rounding makes no short length-scales."""

SHAPES = (1e-1, 1e3)
"""Range of the shape."""


def inverse_gamma(units: Scales) -> dict[str, Distribution | Sequence[Distribution]]:
    """Return the prior by name in which each length-scale keeps to the distances of its input.

    As in brms, a length-scale is below the smallest distance between two values of its input with
    probability 0.01, and above the largest with the same, where the former counts as one percent
    of the latter at least. Nothing can be learned of length-scales outside of these distances.
    Inputs of two values, which have a single distance, and all other hyperparameters have the weak
    prior.
    """
    usual = weak(units.relevant)
    own = [within(max(low, FINEST * high), high) for low, high in units.distances]
    return {
        **usual,
        "lengthscale": tuple(usual["lengthscale"] if one is None else one for one in own),
    }


def within(smallest: float, largest: float) -> InverseGamma | None:
    """Return the inverse gamma distribution with 0.01 below one number and above another.

    With shape a and scale b, `P(x < s) = Q(a, b / s)`, Q the regularised incomplete gamma
    function; the ratio of the two quantiles depends on a alone. None if both are nearly equal.

    Examples
    --------
    >>> prior = within(0.1, 10.0)
    >>> round(prior.shape, 2), round(prior.scale, 2)
    (1.49, 0.57)
    """
    # Here alone, because loading a model for predictions comes by and needs none of it.
    from scipy.optimize import brentq

    def excess(log_shape: float) -> float:
        low, high = (gammainccinv(math.exp(log_shape), p) for p in (OUTSIDE, 1.0 - OUTSIDE))
        return math.log(low / high) - math.log(largest / smallest)

    lower, upper = map(math.log, SHAPES)
    if excess(upper) > 0.0:
        return None
    shape = math.exp(brentq(excess, lower, upper))
    return InverseGamma(shape, smallest * float(gammainccinv(shape, OUTSIDE)))
