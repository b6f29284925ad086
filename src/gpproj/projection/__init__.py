"""The projection: from a reference to submodels on fewer inputs."""

from __future__ import annotations

from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import PRIOR, Family, family_of
from gpproj.projection.goal import Goal, Learn
from gpproj.projection.linear import (
    LinearSubmodel,
    project_draws,
    refuse_options,
)
from gpproj.projection.projecting import (
    check_learn,
    project,
    project_positions,
    project_subsets,
)
from gpproj.projection.solving import (
    Projection,
    elsewhere,
    enter,
    finish,
    masks_of,
    not_worse,
    solve,
    solve_null,
)
from gpproj.projection.submodel import Submodel

__all__ = [
    "PRIOR",
    "Family",
    "Goal",
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
    "project",
    "project_clusters",
    "project_draws",
    "project_positions",
    "project_subsets",
    "refuse_options",
    "solve",
    "solve_null",
]
