"""The reference model: the narrow waist that projection, search and validation stand on."""

from __future__ import annotations

from gpproj.reference.base import Reference
from gpproj.reference.conditioning import condition
from gpproj.reference.conjugate import sample_linear
from gpproj.reference.draws import Clusters, Draws, check_clusters
from gpproj.reference.fitting import fit
from gpproj.reference.foreign import from_draws, from_moments
from gpproj.reference.lanes import (
    Groups,
    Held,
    Lanes,
    LeftOutLanes,
    Targets,
    blocks_of,
    go_together,
    side_by_side,
)
from gpproj.reference.linear import LinearReference, from_linear_draws
from gpproj.reference.linear_draws import Aim, LinearDraws, LinearPredictive, Link
from gpproj.reference.moments import MomentReference, Shrinkage
from gpproj.reference.process import Computed, GaussianProcessReference
from gpproj.reference.running import run_where
from gpproj.reference.sampling import sample
from gpproj.reference.target import LeftOut, Share, Target
from gpproj.reference.targeted import TargetReference
from gpproj.reference.values import Values, values_for

__all__ = [
    "Aim",
    "Clusters",
    "Computed",
    "Draws",
    "GaussianProcessReference",
    "Groups",
    "Held",
    "Lanes",
    "LeftOut",
    "LeftOutLanes",
    "LinearDraws",
    "LinearPredictive",
    "LinearReference",
    "Link",
    "MomentReference",
    "Reference",
    "Share",
    "Shrinkage",
    "Target",
    "TargetReference",
    "Targets",
    "Values",
    "blocks_of",
    "check_clusters",
    "condition",
    "fit",
    "from_draws",
    "from_linear_draws",
    "from_moments",
    "go_together",
    "run_where",
    "sample",
    "sample_linear",
    "side_by_side",
    "values_for",
]
