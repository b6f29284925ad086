"""The projection: from a reference to submodels on fewer inputs."""

from __future__ import annotations

from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import PRIOR, Family, family_of
from gpproj.projection.projecting import (
    check_learn,
    project,
    project_positions,
)
from gpproj.projection.solving import (
    Learn,
    Projection,
    begin_in,
    masks_of,
    objective_of,
    solve,
    solve_null,
)
from gpproj.projection.submodel import Submodel

__all__ = [
    "PRIOR",
    "Family",
    "Learn",
    "Projection",
    "Submodel",
    "begin_in",
    "check_learn",
    "family_of",
    "masks_of",
    "objective_of",
    "project",
    "project_clusters",
    "project_positions",
    "solve",
    "solve_null",
]
