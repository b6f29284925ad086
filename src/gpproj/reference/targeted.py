"""`TargetReference`: a reference that Gaussian processes are projected from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.inference import Inducing, LeaveOneOut, Problem
from gpproj.kernels import Kernel
from gpproj.linalg import Host, to_host
from gpproj.reference.base import LeftOutRows, Reference
from gpproj.reference.device_targets import DeviceCache
from gpproj.reference.draws import Clusters, Draws
from gpproj.reference.target import Cluster, Target


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TargetReference(Reference):
    """A reference whose latent posterior is the `Target` that submodels are compared with."""

    problem: Problem
    """Kernel, likelihood and data on the model's scale, constant inputs out."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """What projections are compared with, on the model's scale."""

    @property
    @abstractmethod
    def known_parameters(self) -> Host | None:
        """Log parameters of the kernel on the model's scale, where they are known, `(p,)`."""

    @property
    def used(self) -> NDArray[np.bool_]:
        """Inputs that act: those that vary, unless a fit has switched them off, `(d,)`."""
        return self.problem.mask

    @abstractmethod
    def clustered_draws(self, clusters: Clusters) -> Sequence[Draws | None]:
        """Return the draws of each cluster; None stands for a posterior that has no draws.

        Parameters
        ----------
        clusters : int, "draws" or None
        """

    @abstractmethod
    def cluster_of(self, draws: Draws | None) -> Cluster:
        """Return what the projections of one cluster are compared with."""

    def left_out_rows(self) -> LeftOutRows | None:
        """Return what `loo` does, with rows that belong together left out together.

        Draws are reduced to the moments of what they predict, as for projections.
        """
        problem, found = self.problem, self.target.left_out if self._has_sets else None
        if found is None:
            return super().left_out_rows()
        mean, variance = to_host(found.mean), to_host(found.variance)
        if problem.is_exact:  # they predict the mean target of equal rows, with its noise
            variance = np.maximum(variance - 1.0 / to_host(found.site_precision), 0.0)
        label = np.arange(mean.size)
        for group, rows in enumerate(problem.row_groups or ()):
            label[rows] = group
        if problem.repeats is not None:
            own = problem.repeats.label
            mean, variance, label = mean[own], variance[own], label[own]
        likelihood, y, offset = problem.observed(self.latent.likelihood)
        density = likelihood.log_density(y, mean + offset, variance)
        seen = self.columns.response(*likelihood.response(mean + offset, variance))
        return LeaveOneOut(*seen, self.training.scaling.restore_log_density(density, y)), label

    @property
    def _has_sets(self) -> bool:
        """Whether there are rows that leave together."""
        return self.problem.repeats is not None or self.problem.row_groups is not None

    @property
    def structure(self) -> Kernel:
        """Structure of the kernel of submodels."""
        return self.problem.kernel

    @property
    def inducing(self) -> Inducing | None:
        """Inducing points that its covariance goes through, on the model's scale."""
        return self.problem.inducing

    def matrices(self, clusters: Clusters) -> int | None:
        """Return how many `(n, n)` matrices work on it holds at a time, on a device."""
        # Inducing points are of each reference: nothing of theirs goes into one batch.
        return None if self.inducing is not None else len(self.clustered_draws(clusters))

    @cached_property
    def device_cache(self) -> DeviceCache:
        """What the projections of a number of clusters are compared with on a device, by number."""
        return DeviceCache()

    @cached_property
    def fitted_values(self) -> dict[str, Host]:
        """Values of other kernels that were fitted to the latent mean; see `values_for`."""
        return {}

    def _with(self, training: TrainingSet, **changes: Any) -> Self:
        problem = replace(
            self.problem,
            X=training.X,
            y=training.y,
            offset=training.offset,
            labels=training.row_groups,
        )
        return replace(self, training=training, **{"problem": problem, **changes})
