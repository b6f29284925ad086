"""What hyperparameters may be: priors and bounds in proportion to the scale of the data.

Values are in units of the data: length-scales per standard deviation of their input, variances per
variance of the target (that of a constant per mean square of the target, if that is larger).
Every prior that has a name is in a file of its own: "saas", "weak", "botorch", "inverse-gamma" and
"log-uniform".

Examples
--------
>>> from gpproj import priors
>>> priors.LogNormal(median=2.0, sigma=0.5)
LogNormal(median=2.0, sigma=0.5)
"""

from __future__ import annotations

from gpproj.priors.around import AroundReference, around_reference, submodel_prior
from gpproj.priors.bounds import (
    OBSERVATION_LIMITS,
    Bounds,
    ParameterUnits,
    Scales,
    bounds,
    free_parameters,
    log_units,
    parameter_units,
    scales,
)
from gpproj.priors.distributions import Distribution, Gamma, InverseGamma, LogNormal, LogUniform
from gpproj.priors.joint import LogPrior, Prior, PriorLike, prior_of
from gpproj.priors.saas import SparseScales
from gpproj.priors.weak import weak

__all__ = [
    "OBSERVATION_LIMITS",
    "AroundReference",
    "Bounds",
    "Distribution",
    "Gamma",
    "InverseGamma",
    "LogNormal",
    "LogPrior",
    "LogUniform",
    "ParameterUnits",
    "Prior",
    "PriorLike",
    "Scales",
    "SparseScales",
    "around_reference",
    "bounds",
    "free_parameters",
    "log_units",
    "parameter_units",
    "prior_of",
    "scales",
    "submodel_prior",
    "weak",
]
