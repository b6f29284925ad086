"""The prior of BoTorch's default Gaussian process."""

from __future__ import annotations

import math

from gpproj.priors.bounds import Scales
from gpproj.priors.distributions import Distribution, LogNormal
from gpproj.priors.weak import weak

UNIT_CUBE = math.sqrt(12.0)
"""What one is worth in standard deviations, for inputs spread evenly in the unit cube."""


def botorch(units: Scales) -> dict[str, Distribution]:
    """Return the prior of BoTorch's `SingleTaskGP` by name, in units of the data.

    Its length-scales have the median `exp(sqrt 2) sqrt d` for inputs in the unit cube, which is
    longer by sqrt 12 per standard deviation, and little noise is expected: the median is exp(-4)
    of the target's variance. The signal variance, which BoTorch fixes at one, has the weak prior.

    Examples
    --------
    >>> import numpy as np
    >>> botorch(Scales(np.ones(4), 1.0, 1.0))["noise_variance"]
    LogNormal(median=0.01831563888873418, sigma=1.0)
    """
    d = units.relevant
    median = UNIT_CUBE * math.exp(math.sqrt(2.0)) * math.sqrt(max(d, 1))
    return {
        **weak(d),
        "lengthscale": LogNormal(median, math.sqrt(3.0)),
        "noise_variance": LogNormal(math.exp(-4.0), 1.0),
    }
