"""`ProjectionOptions`: how submodels are learned and compared, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from gpproj.execute import check_jobs
from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection.objective import CriterionName, Learn, check_criterion, check_learn
from gpproj.reference import Clusters, check_clusters


@dataclass(frozen=True)
class ProjectionOptions:
    """The keywords that all functions that project have in common; see `gpproj.project`."""

    learn: Learn = "loo"
    criterion: CriterionName | None = None
    prior: PriorLike = "auto"
    kernel: Kernel | None = None
    clusters: Clusters = None
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        check_criterion(self.criterion, check_learn(self.learn))
        check_clusters(self.clusters)
        check_jobs(self.n_jobs)

    @classmethod
    def of_call(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the options among the arguments of a call: its `locals()`, first of all.

        Examples
        --------
        >>> def function(reference, learn="loo", *, clusters=None):
        ...     return ProjectionOptions.of_call(locals())
        >>> function(None, "projection", clusters=3).clusters
        3
        """
        names = [field.name for field in fields(cls)]
        return cls(**{name: arguments[name] for name in names if name in arguments})


DEFAULT = ProjectionOptions()
"""What is done where the user chooses nothing."""
