"""What a model predicts as one input, or two, move and the others stay as they are."""

from __future__ import annotations

from gpproj.dependence.averages import QUANTILE, Scale, has_effects
from gpproj.dependence.factors import Factor, factors_of
from gpproj.dependence.pairs import interactions, joint_effect
from gpproj.dependence.partial import FEW, effects

__all__ = [
    "FEW",
    "QUANTILE",
    "Factor",
    "Scale",
    "effects",
    "factors_of",
    "has_effects",
    "interactions",
    "joint_effect",
]
