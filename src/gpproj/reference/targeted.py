"""`TargetReference`: what references share that Gaussian processes are projected from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from gpproj.data import TrainingSet
from gpproj.inference import Inducing, Problem
from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.reference.base import Reference
from gpproj.reference.draws import Clusters, Draws
from gpproj.reference.lanes import Kept
from gpproj.reference.target import Share, Target


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TargetReference(Reference):
    """A reference whose latent posterior is the `Target` that submodels are compared with."""

    problem: Problem
    """Kernel, likelihood and data on the model's scale, constant inputs out."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """What projections are held to, on the model's scale."""

    @property
    @abstractmethod
    def known_parameters(self) -> Host | None:
        """Log parameters of the kernel on the model's scale, where they are known, `(p,)`."""

    @abstractmethod
    def shares(self, clusters: Clusters) -> Sequence[Draws | None]:
        """Return the draws of each cluster; None stands for a posterior that has no draws.

        Parameters
        ----------
        clusters : int, "draws" or None
        """

    @abstractmethod
    def share(self, draws: Draws | None) -> Share:
        """Return what the projections of one cluster are held to."""

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
        return None if self.inducing is not None else len(self.shares(clusters))

    @cached_property
    def kept(self) -> Kept:
        """What the projections of so many clusters are held to, on a device: made once."""
        return Kept()

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
