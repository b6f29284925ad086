"""`Projector`: what a search needs of whatever projects a reference onto sets of its inputs.

Searches, paths and validations know projectors by this protocol alone. A `ProcessProjector` learns
Gaussian processes by an optimiser, a `LinearProjector` projects linear models draw by draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.projection.objective import Criterion, Objective
from gpproj.projection.projections import Projection
from gpproj.projection.submodel import Submodel
from gpproj.reference import Clusters, Reference

Learned: TypeAlias = dict[bytes, Host]
"""Parameters that were learned of sets of inputs from other rows, by the bytes of the mask."""


class Effort(NamedTuple):
    """How much a search tries, where all candidates of a step are begun at next to no cost."""

    closed_form: bool
    """Whether a candidate is at its optimum as soon as it is begun."""
    leaving: int
    """Units that may leave in a round of exchanges, those first that are missed least."""


class CandidateFit(Protocol):
    """The submodel on one set of inputs while it is optimised."""

    @property
    def inputs(self) -> NDArray[np.bool_]:
        """The set, `(d,)`."""

    @property
    def evaluations(self) -> int:
        """Values and gradients so far."""

    def keep_best(self, count: int) -> CandidateFit:
        """Return the fit with the best of its starts, so many of them."""

    @property
    def point(self) -> Host | None:
        """Parameters at the best of its starts, where there are any to start others from."""


class Projector(Protocol):
    """Projects one reference onto sets of its inputs.

    Sets of inputs are masks, `(d,)`. What is found for one set does not depend on the others of the
    same call. The defaults suit submodels that have one optimum, and need no care to find it.
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
        """A text that is equal for projectors that learn the same submodels in the same way."""

    @property
    def facts(self) -> tuple[Any, ...]:
        """Numbers of the reference that decide what is found, for a fingerprint."""

    @property
    def effort(self) -> Effort | None:
        """How much a search tries; None where a candidate costs much, and the search decides."""

    # Sets of inputs by themselves --------------------------------------------------------------

    def null(self) -> Projection:
        """Return the null model."""

    def full(self, null: Projection, learned: Learned | None = None) -> Projection:
        """Return the submodel on all inputs, which is no worse than the null model.

        Parameters
        ----------
        null : Projection
        learned : dict of bytes to array, optional
            Starts of sets by their masks, its own maybe among them.
        """
        return self.project([np.ones(self.d, dtype=bool)], [null])[0]

    def project(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection] = (),
        *,
        check: bool = False,
    ) -> list[Projection]:
        """Return the submodels on several sets of inputs, learned with all care.

        Parameters
        ----------
        sets : sequence of bool arrays `(d,)`
            Inputs that may be used; constant ones are not.
        known : sequence of Projection
            Submodels on other sets. They are starts, and no submodel that is returned is worse than
            one of them on fewer inputs.
        check : bool
            Check the optima by starts all over the box, at more than twice the price.
        """

    def refit(self, known: Projection) -> Projection:
        """Return the submodel on the inputs of one that was learned from other rows."""

    # Candidates of a search --------------------------------------------------------------------

    def entry_slopes(self, known: Projection) -> Host:
        """Return how much each input promises as it enters, the lowest value most, `(d,)`."""
        return np.zeros(self.d)

    def begin(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection],
        iterations: int,
        *,
        near: bool = False,
        learned: Learned | None = None,
    ) -> list[Any]:
        """Begin several sets from the same submodels that are known, and run them a little.

        Parameters
        ----------
        sets : sequence of bool arrays `(d,)`
            Without inputs that are constant.
        known : sequence of Projection
        iterations : int
        near : bool
            Start only from what is known.
        learned : dict of bytes to array, optional
            Starts of sets by their masks, which need no other.
        """

    def advance(self, fits: Sequence[Any], iterations: int) -> list[Any]:
        """Run fits on for some iterations."""
        return list(fits)

    def errors(self, fits: Sequence[Any]) -> Host:
        """Return the criterion of fits at their present points, `(c,)`."""

    def contenders(self, fits: Sequence[Any], known: Sequence[Projection] = ()) -> list[Any]:
        """Return the fits that may be the best of all, None in the places of the others.

        Parameters
        ----------
        fits : sequence
        known : sequence of Projection
            Submodels that they compete with.
        """
        return list(fits)

    def settle(self, fits: Sequence[Any]) -> list[Projection]:
        """Return submodels that are good enough for others to start from, and nothing else."""
        return self.finish(fits)

    def finish(self, fits: Sequence[Any]) -> list[Projection]:
        """Run fits to convergence."""

    def not_worse(self, found: Projection, known: Iterable[Projection]) -> Projection:
        """Return a submodel, or one on fewer inputs where that is better."""
        return found

    def refine(self, found: Projection) -> Projection:
        """Return a submodel that was learned as a candidate, learned with more care."""
        return found

    def with_figures(self, projection: Projection) -> Projection:
        """Return a projection with all divergences that a summary shows."""
        return projection

    def between(self, null: Projection, full: Projection) -> Projector:
        """Return the projector, told the null model and the submodel on all inputs."""
        return self

    def seconds(self, found: Projection) -> float:
        """Return about how long one value and gradient of a candidate take."""
        return 0.0

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
            The reference of the projector.
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
        """Return what the summary of a path shows besides errors, by the names of columns.

        Parameters
        ----------
        projections : sequence of Projection
        unit : float
            Unit of the target: standard deviations are multiples of it.
        """

    def problems(self) -> tuple[str, ...]:
        """Return what may be wrong with what all submodels are compared with, in sentences."""
        return ()

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

    def in_family(self, known: Projection) -> bool:
        """Say whether a submodel is of the family, rather than a null model of fewer parameters."""
        return True

    def kernel_of(self, in_family: bool) -> Kernel:
        """Return the structure of submodels of the family, or that of null models."""

    # Other references --------------------------------------------------------------------------

    def of(self, reference: Reference) -> Projector:
        """Return the same projector of a reference of other data."""

    def at(self, reference: Reference) -> Projector:
        """Return the same projector of the same reference on another device."""
        return self.of(reference)
