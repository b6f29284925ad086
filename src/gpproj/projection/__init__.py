"""The projection: from a reference to submodels on fewer inputs."""

from __future__ import annotations

from gpproj.projection.family import Family, family_of
from gpproj.projection.linear import LinearSubmodel, project_draws
from gpproj.projection.linear_projector import LinearProjector
from gpproj.projection.objective import (
    CRITERIA,
    OBJECTIVES,
    Criterion,
    CriterionName,
    Learn,
    Objective,
    check_criterion,
    check_learn,
)
from gpproj.projection.options import ProjectionOptions
from gpproj.projection.problems import LEFT
from gpproj.projection.process_projector import ProcessProjector
from gpproj.projection.projecting import project, projector_of
from gpproj.projection.projections import Divergences, Figures, Projection, mask_of
from gpproj.projection.protocol import CandidateFit, Effort, Learned, Projector
from gpproj.projection.stages import StagedProjector, staged
from gpproj.projection.submodel import GaussianProcessSubmodel, Submodel

__all__ = [
    "CRITERIA",
    "LEFT",
    "OBJECTIVES",
    "CandidateFit",
    "Criterion",
    "CriterionName",
    "Divergences",
    "Effort",
    "Family",
    "Figures",
    "GaussianProcessSubmodel",
    "Learn",
    "Learned",
    "LinearProjector",
    "LinearSubmodel",
    "Objective",
    "ProcessProjector",
    "Projection",
    "ProjectionOptions",
    "Projector",
    "StagedProjector",
    "Submodel",
    "check_criterion",
    "check_learn",
    "family_of",
    "mask_of",
    "project",
    "project_draws",
    "projector_of",
    "staged",
]
