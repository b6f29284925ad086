"""The projection: from a reference to submodels on fewer inputs."""

from __future__ import annotations

from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import PRIOR, Family, family_of
from gpproj.projection.linear import (
    LinearSubmodel,
    project_draws,
    refuse_options,
)
from gpproj.projection.projecting import (
    check_learn,
    project,
    project_positions,
    project_side_by_side,
    project_subsets,
)
from gpproj.projection.solving import (
    Learn,
    Projection,
    elsewhere,
    enter,
    finish,
    masks_of,
    not_worse,
    objective_on,
    solve,
    solve_null,
)
from gpproj.projection.submodel import Submodel

__all__ = [
    "PRIOR",
    "Family",
    "Learn",
    "LinearSubmodel",
    "Projection",
    "Submodel",
    "check_learn",
    "elsewhere",
    "enter",
    "family_of",
    "finish",
    "masks_of",
    "not_worse",
    "objective_on",
    "project",
    "project_clusters",
    "project_draws",
    "project_positions",
    "project_side_by_side",
    "project_subsets",
    "refuse_options",
    "solve",
    "solve_null",
]
