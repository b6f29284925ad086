"""The reference model: the narrow waist that projection, search and validation stand on."""

from __future__ import annotations

from gpproj.reference.base import Reference
from gpproj.reference.checking import ReferenceCheck, ReferenceWarning
from gpproj.reference.conditioning import condition
from gpproj.reference.conjugate import sample_linear
from gpproj.reference.device_targets import (
    AnyTarget,
    StackCache,
    StackedLeaveOneOut,
    StackedTargets,
    Targets,
    blocks_of,
    can_be_stacked,
    stacked,
)
from gpproj.reference.draws import SMOOTHED, Clusters, Draws, check_clusters
from gpproj.reference.fitting import fit
from gpproj.reference.foreign import from_draws, from_moments
from gpproj.reference.linear import LinearReference, from_linear_draws
from gpproj.reference.linear_draws import Aim, LinearDraws, LinearPredictive, Link
from gpproj.reference.moments import MomentReference, Shrinkage
from gpproj.reference.predictions import from_predictions
from gpproj.reference.process import Computed, GaussianProcessReference
from gpproj.reference.running import run_where
from gpproj.reference.sampling import sample
from gpproj.reference.target import Cluster, LeaveOneOut, Target
from gpproj.reference.targeted import TargetReference
from gpproj.reference.values import Values, values_for

__all__ = [
    "SMOOTHED",
    "Aim",
    "AnyTarget",
    "Cluster",
    "Clusters",
    "Computed",
    "Draws",
    "GaussianProcessReference",
    "LeaveOneOut",
    "LinearDraws",
    "LinearPredictive",
    "LinearReference",
    "Link",
    "MomentReference",
    "Reference",
    "ReferenceCheck",
    "ReferenceWarning",
    "Shrinkage",
    "StackCache",
    "StackedLeaveOneOut",
    "StackedTargets",
    "Target",
    "TargetReference",
    "Targets",
    "Values",
    "blocks_of",
    "can_be_stacked",
    "check_clusters",
    "condition",
    "fit",
    "from_draws",
    "from_linear_draws",
    "from_moments",
    "from_predictions",
    "run_where",
    "sample",
    "sample_linear",
    "stacked",
    "values_for",
]
