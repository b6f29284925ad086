"""The projection: from a reference to submodels on fewer inputs."""

from __future__ import annotations

from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import Family, family_of
from gpproj.projection.linear import (
    LinearSubmodel,
    project_draws,
    refuse_options,
)
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
from gpproj.projection.problems import LEFT, problems_of, problems_of_reference
from gpproj.projection.projecting import project, projector_of
from gpproj.projection.projector import Figures, Projection, Projector, Runner, mask_of
from gpproj.projection.submodel import Submodel

__all__ = [
    "CRITERIA",
    "LEFT",
    "OBJECTIVES",
    "Criterion",
    "CriterionName",
    "Family",
    "Figures",
    "Learn",
    "LinearSubmodel",
    "Objective",
    "Projection",
    "Projector",
    "Runner",
    "Submodel",
    "check_criterion",
    "check_learn",
    "family_of",
    "mask_of",
    "problems_of",
    "problems_of_reference",
    "project",
    "project_clusters",
    "project_draws",
    "projector_of",
    "refuse_options",
]
