"""The reference model: the narrow waist that projection, search and validation stand on."""

from __future__ import annotations

from gpproj.reference.conditioning import condition
from gpproj.reference.draws import Clusters, Draws, check_clusters
from gpproj.reference.fitting import fit
from gpproj.reference.foreign import ForeignReference, Shrinkage, from_draws, from_moments
from gpproj.reference.model import Reference
from gpproj.reference.sampling import sample
from gpproj.reference.target import Share, Target

__all__ = [
    "Clusters",
    "Draws",
    "ForeignReference",
    "Reference",
    "Share",
    "Shrinkage",
    "Target",
    "check_clusters",
    "condition",
    "fit",
    "from_draws",
    "from_moments",
    "sample",
]
