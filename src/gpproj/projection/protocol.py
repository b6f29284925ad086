"""`Projector`: what a search asks of whatever projects a reference onto sets of its inputs.

Searches, paths and validations know projectors by this protocol alone. A `ProcessProjector` learns
Gaussian processes by an optimiser, a `LinearProjector` projects linear models draw by draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.projection.objective import Criterion, Objective
from gpproj.projection.projections import Projection
from gpproj.projection.submodel import Submodel
from gpproj.reference import Clusters, Reference


class Effort(NamedTuple):
    """How much a search tries, where all candidates of a step are begun at next to no cost."""

    closed_form: bool
    """Whether a candidate is at its optimum as soon as it is begun."""
    leaving: int
    """Units that may leave in a round of exchanges, those first that are missed least."""


class AnyRunner(Protocol):
    """One set of inputs on its way to an optimum; what it holds is the projector's business."""

    @property
    def evaluations(self) -> int:
        """Values and gradients so far."""

    def narrowed(self, count: int) -> AnyRunner:
        """Return it with the best of its starts, so many of them."""


class Projector(Protocol):
    """Projects one reference onto sets of its inputs.

    Sets of inputs are masks, `(d,)`. What is found for one set does not depend on the others of the
    same call.
    """

    @property
    def d(self) -> int:
        """Number of inputs."""

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Inputs that are not constant, `(d,)`: only they can be used."""

    @property
    def learn(self) -> Objective:
        """What is minimised."""

    @property
    def criterion(self) -> Criterion:
        """What submodels are compared by."""

    @property
    def identity(self) -> str:
        """What submodels are and how they are learned, in words: equal for equal projectors."""

    @property
    def facts(self) -> tuple[Any, ...]:
        """Numbers of the reference that decide what is found, for a fingerprint."""

    @property
    def effort(self) -> Effort | None:
        """How much a search tries; None where a candidate costs much, and the search decides."""

    # Sets of inputs by themselves --------------------------------------------------------------

    def null(self) -> Projection:
        """Return the null model."""

    def project(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection] = (),
        *,
        check: bool = False,
    ) -> list[Projection]:
        """Return the submodels on several sets of inputs, with all care that can be taken."""

    def moved(self, known: Projection) -> Projection:
        """Return the submodel on the inputs of one that was learned from other rows."""

    # Candidates of a search --------------------------------------------------------------------

    def hints(self, known: Projection) -> Host:
        """Return how much each input promises as it enters, the lowest value most, `(d,)`."""

    def begin(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection],
        iterations: int,
        *,
        near: bool = False,
    ) -> list[Any]:
        """Begin several sets from the same submodels that are known, and run them a little.

        Parameters
        ----------
        sets : sequence of bool arrays `(d,)`
            Without inputs that are constant.
        known : sequence of Projection
        iterations : int
        near : bool
            Only from what is known.
        """

    def advance(self, runners: Sequence[Any], iterations: int) -> list[Any]:
        """Run on."""

    def errors(self, runners: Sequence[Any]) -> Host:
        """Return what runners are worth by the criterion as they stand, `(c,)`."""

    def finish(self, runners: Sequence[Any], sets: Sequence[NDArray[np.bool_]]) -> list[Projection]:
        """Run to convergence, and return what was found on the sets that runners began with."""

    def not_worse(self, found: Projection, known: Iterable[Projection]) -> Projection:
        """Return what was found, or a submodel on fewer inputs where that is better."""

    def polished(self, found: Projection) -> Projection:
        """Return a submodel that was learned as a candidate, learned with more care."""

    def completed(self, projection: Projection) -> Projection:
        """Return a projection with all figures that a summary tells."""

    def seconds(self, found: Projection) -> float:
        """Return about how long one value and gradient of a candidate take."""

    # What becomes of projections ---------------------------------------------------------------

    def submodel(
        self,
        reference: Reference,
        projection: Projection,
        positions: tuple[int, ...],
        clusters: Clusters = None,
        n_jobs: int | None = 1,
        problems: tuple[str, ...] = (),
    ) -> Submodel:
        """Return the submodel that a projection stands for, ready to predict.

        Parameters
        ----------
        reference : Reference
            The projector's own.
        projection : Projection
        positions : tuple of int
            Its inputs, in the order the user knows them.
        clusters : int, "draws" or None
        n_jobs : int or None
        problems : tuple of str
            What may be wrong with it.
        """

    def clusters_of(self, clusters: Clusters) -> Clusters:
        """Return how many clusters of draws are projected by themselves, or refuse the choice."""

    def columns(self, projections: Sequence[Projection], unit: float) -> dict[str, list[float]]:
        """Return what the summary of a path tells besides errors, by the names of columns.

        Parameters
        ----------
        projections : sequence of Projection
        unit : float
            Of the target: standard deviations are told in it.
        """

    def problems(self) -> tuple[str, ...]:
        """Return what may be wrong with what all submodels are compared with, in sentences."""

    def problems_of(
        self, found: Projection, null_error: float | None = None, alone: bool = True
    ) -> tuple[str, ...]:
        """Return what may be wrong with a submodel, in sentences.

        Parameters
        ----------
        found : Projection
        null_error : float, optional
            Error of the null model, which is learned where it is needed when left out.
        alone : bool
            Say also that the inputs tell next to nothing.
        """

    def is_own(self, known: Projection) -> bool:
        """Say whether a submodel is of the family, rather than a null model of fewer parameters."""

    def kernel_of(self, own: bool) -> Kernel:
        """Return the structure of submodels of the family, or that of null models."""

    # Other references --------------------------------------------------------------------------

    def of(self, reference: Reference) -> Projector:
        """Return the same projector of a reference of other data."""

    def at(self, reference: Reference) -> Projector:
        """Return the same projector of the same reference, that lives somewhere else."""
