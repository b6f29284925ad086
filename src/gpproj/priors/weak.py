"""The weak prior: every hyperparameter is free over several orders of magnitude."""

from __future__ import annotations

from gpproj.kernels import KINDS
from gpproj.priors.distributions import Distribution, LogNormal, LogUniform

EXTRA_VARIANCE = LogUniform(1e-12, 1e2)
"""Flat: the projection itself knows what the dropped inputs explained."""


def weak(d: int) -> dict[str, Distribution]:
    """Return the weak prior of a model with d inputs, in units of the data.

    Length-scales have the median `exp(sqrt 2) sqrt d`: squared distances grow with d, and this
    keeps functions about as wiggly whatever d is; an input that does nothing stays near it instead
    of wandering to infinity, while a length-scale of one costs one nat at d = 8 and two at d = 60.
    Variances are free over several orders of magnitude. Submodels have the prior of their
    reference, whose number of inputs is d. Their extra variance is flat in its logarithm: the
    projection itself knows what the dropped inputs explained.

    Examples
    --------
    >>> weak(4)["noise_variance"]
    LogNormal(median=0.1, sigma=2.0)
    """
    return {
        **{kind.name: LogNormal(kind.prior(d), kind.width) for kind in KINDS.values()},
        "noise_variance": LogNormal(0.1, 2.0),
        "dispersion": LogNormal(0.1, 2.0),
        "extra_variance": EXTRA_VARIANCE,
    }
