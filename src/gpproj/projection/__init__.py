"""The projection: from a reference to submodels on fewer inputs."""

from __future__ import annotations

from gpproj.projection.family import Family, family_of
from gpproj.projection.projecting import (
    check_learn,
    checked_kernel,
    project,
    project_positions,
)
from gpproj.projection.solving import Learn, Projection, masks_of, solve, solve_null
from gpproj.projection.submodel import Submodel, submodel_of

__all__ = [
    "Family",
    "Learn",
    "Projection",
    "Submodel",
    "check_learn",
    "checked_kernel",
    "family_of",
    "masks_of",
    "project",
    "project_positions",
    "solve",
    "solve_null",
    "submodel_of",
]
