"""The paper's prior: flat in the logarithms, between bounds that make it proper."""

from __future__ import annotations

from gpproj.kernels import KINDS
from gpproj.priors.bounds import OBSERVATION_LIMITS, Scales
from gpproj.priors.distributions import Distribution, LogUniform
from gpproj.priors.weak import EXTRA_VARIANCE


def log_uniform(units: Scales) -> dict[str, Distribution]:
    """Return the paper's prior of every hyperparameter by name, in units of the data."""
    return {
        **{kind.name: LogUniform(*kind.limits) for kind in KINDS.values()},
        **{name: LogUniform(*limits) for name, limits in OBSERVATION_LIMITS.items()},
        "extra_variance": EXTRA_VARIANCE,
    }
