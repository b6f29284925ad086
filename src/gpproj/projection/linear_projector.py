"""`LinearProjector`: projects linear models, all candidates of a step and all draws at once.

A set that adds inputs to one that is known is begun from an orthonormal basis B of the columns that
are in. With e = f - f_perp of one draw and the orthonormal directions Q that the inputs add,
Gaussian noise has the closed form

    |e_new|^2 = |e|^2 - |Q'e|^2,

and classes and counts take one Newton step into Q to begin with. Sets that leave inputs out are
projected by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpproj.kernels import Constant, Kernel, Linear
from gpproj.linalg import Host, to_host
from gpproj.projection.irls import irls, one_step_errors
from gpproj.projection.linear import (
    LinearSubmodel,
    gaussian_error,
    project_draws,
    refuse_options,
)
from gpproj.projection.linear_parent import LinearParent, Mask, Recent, parent_of
from gpproj.projection.objective import CRITERIA, OBJECTIVES, Criterion, Objective
from gpproj.projection.options import ProjectionOptions
from gpproj.projection.projections import Projection
from gpproj.projection.protocol import Effort, Learned, Projector
from gpproj.reference import Clusters, LinearReference, Reference

STRUCTURE = Constant() + Linear()
"""Covariance of linear functions, whose weights are drawn rather than known by parameters."""

LEAVING = 3
"""Units that may leave in a round of exchanges, where submodels take iterations."""


class LinearFit(NamedTuple):
    """The submodel on one set of inputs before it is at its optimum."""

    inputs: Mask
    """The set, `(d,)`."""
    error: float
    """Its present error."""
    parent: Mask | None
    """Inputs of the submodel that it adds some to; None where it is at its optimum."""
    evaluations: int = 1
    converged: bool = True

    def keep_best(self, count: int) -> LinearFit:
        """Return the fit as it is: it has one start."""
        return self

    @property
    def point(self) -> None:
        """Nothing: there is one optimum."""
        return None


@dataclass(frozen=True, eq=False)
class LinearProjector(Projector):
    """Projects a linear reference draw by draw.

    Errors are per observation, averages over the draws: log(sigma_perp^2 / sigma^2) / 2 for
    Gaussian noise, the mean divergence for classes and counts. All inputs have the error zero.
    """

    reference: LinearReference

    @classmethod
    def made_for(cls, reference: LinearReference, options: ProjectionOptions) -> LinearProjector:
        """Return the projector of a reference, or refuse options that have no meaning."""
        refuse_options(options)
        return cls(reference)

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.reference.training.d

    @cached_property
    def varying(self) -> Mask:
        """Inputs that are not constant, `(d,)`."""
        return np.asarray(self.reference.training.varying)

    @property
    def learn(self) -> Objective:
        """What is minimised: the divergence from the draw itself."""
        return OBJECTIVES["projection"]

    @property
    def criterion(self) -> Criterion:
        """What submodels are compared by: the average of these divergences."""
        return CRITERIA["projection_error"]

    @property
    def identity(self) -> str:
        """The family of the likelihood, in words."""
        return f"linear, {self.reference.family}"

    @property
    def facts(self) -> tuple[Any, ...]:
        """Numbers of the reference that decide what is found, for a fingerprint."""
        own = self.reference
        return self._X, own.training_offset, self.identity, *own.facts

    @property
    def effort(self) -> Effort:
        """How much a search tries: all exchanges of Gaussian noise."""
        closed_form = self.reference.linear.link is None
        return Effort(closed_form, self.d if closed_form else LEAVING)

    # Sets of inputs by themselves --------------------------------------------------------------

    def null(self) -> Projection:
        """Return the null model."""
        return self.project([np.zeros(self.d, dtype=bool)])[0]

    def project(
        self, sets: Sequence[Mask], known: Sequence[Projection] = (), *, check: bool = False
    ) -> list[Projection]:
        """Return the projections onto several sets of inputs; each has one optimum."""
        return self.finish(self._direct(sets))

    def refit(self, known: Projection) -> Projection:
        """Return the projection onto the inputs of one that was learned from other rows."""
        return self.project([known.inputs])[0]

    # Candidates of a search --------------------------------------------------------------------

    def begin(
        self,
        sets: Sequence[Mask],
        known: Sequence[Projection],
        iterations: int,
        *,
        near: bool = False,
        learned: Learned | None = None,
    ) -> list[LinearFit]:
        """Begin several sets, each from the largest submodel on some of its inputs."""
        fits: dict[int, LinearFit] = {}
        parents = sorted((one.active for one in known), key=lambda own: -int(own.sum()))
        of_parent: dict[int, list[int]] = {}
        for place, mask in enumerate(sets):
            fitting = (p for p, own in enumerate(parents) if not np.any(own & ~mask))
            of_parent.setdefault(next(fitting, -1), []).append(place)
        for parent, places in of_parent.items():
            masks = [sets[place] for place in places]
            begun = self._direct(masks) if parent < 0 else self._grown(parents[parent], masks)
            fits |= zip(places, begun, strict=True)
        return [fits[place] for place in range(len(sets))]

    def _direct(self, masks: Sequence[Mask]) -> list[LinearFit]:
        """Return fits at their optima."""
        found = [(mask, self._projected(mask)) for mask in masks]
        return [
            LinearFit(mask, one.projection_error, None, one.evaluations, one.converged)
            for mask, one in found
        ]

    def _grown(self, parent: Mask, masks: Sequence[Mask]) -> list[LinearFit]:
        """Begin sets that add inputs to those of a submodel."""
        linear, own = self.reference.linear, self._parent(parent)
        added = [np.flatnonzero(mask & ~parent) for mask in masks]
        if all(len(columns) == 1 for columns in added):
            directions = own.single_directions([int(columns[0]) for columns in added])
        else:
            directions = [own.directions(mask & ~parent) for mask in masks]
        if linear.link is None:
            errors = self._exact_errors(own, directions)
        else:
            offset = self.reference.training_offset
            aim = linear.link.aim(self.reference.training_values + offset)
            steps = one_step_errors(
                linear.link, own.basis, directions, aim, own.fit + offset, own.errors
            )
            errors = steps @ linear.weights
        start = None if linear.link is None else parent
        return [
            LinearFit(mask, error, start)
            for mask, error in zip(masks, errors.tolist(), strict=True)
        ]

    def _exact_errors(self, parent: LinearParent, directions: Sequence[Host]) -> Host:
        """Return the errors of candidates of Gaussian noise, `(c,)`."""
        linear = self.reference.linear
        assert linear.noise is not None  # Gaussian noise has a variance
        rest = self.reference.training_values - parent.fit
        misfit = np.mean(rest**2, axis=1)
        falls = (rest @ np.hstack(directions)) ** 2 / rest.shape[1]
        owner = np.repeat(np.arange(len(directions)), [own.shape[1] for own in directions])
        every = falls @ (owner[:, None] == np.arange(len(directions)))
        left = np.maximum(misfit[:, None] - every, 0.0)
        return linear.weights @ gaussian_error(left, linear.noise[:, None])

    def errors(self, fits: Sequence[LinearFit]) -> Host:
        """Return the present errors of fits, `(c,)`."""
        return np.array([fit.error for fit in fits])

    def finish(self, fits: Sequence[LinearFit]) -> list[Projection]:
        """Run fits to convergence."""
        return [self._record(fit if fit.parent is None else self._converged(fit)) for fit in fits]

    def _converged(self, fit: LinearFit) -> LinearFit:
        """Return the end of the iterations that start from the submodel on some of the inputs."""
        assert fit.parent is not None  # else it is at its optimum
        linear, parent = self.reference.linear, self._parent(fit.parent)
        assert linear.link is not None  # Gaussian noise takes no iterations
        offset = self.reference.training_offset
        aim = linear.link.aim(self.reference.training_values + offset)
        basis = np.hstack([parent.basis, parent.directions(fit.inputs & ~fit.parent)])
        found = irls(linear.link, basis, aim, parent.fit + offset)
        error = float(linear.weights @ found.divergence)
        return LinearFit(fit.inputs, error, None, found.iterations, bool(found.converged.all()))

    # What becomes of projections ---------------------------------------------------------------

    def submodel(
        self,
        reference: Reference,
        projection: Projection,
        positions: tuple[int, ...],
        clusters: Clusters = None,
        n_jobs: int | None = 1,
        problems: tuple[str, ...] = (),
    ) -> LinearSubmodel:
        """Return the linear submodel that a projection stands for, every draw by itself."""
        return self._projected(projection.inputs).in_order(
            tuple(reference.feature_names[position] for position in positions), problems
        )

    def clusters_of(self, clusters: Clusters) -> Clusters:
        """Return that every draw is projected by itself, or refuse another choice."""
        refuse_options(ProjectionOptions(clusters=clusters))
        return "draws"

    def columns(self, projections: Sequence[Projection], unit: float) -> dict[str, list[float]]:
        """Return the noise standard deviation in units of the target, of Gaussian noise."""
        if self.reference.linear.noise is None:
            return {}
        found = (self._projected(one.inputs).noise_variance for one in projections)
        return {"noise_sd": [float(np.sqrt(variance)) for variance in found]}

    def problems_of(
        self, found: Projection, null_error: float | None = None, alone: bool = True
    ) -> tuple[str, ...]:
        """Return whether iterations did not converge."""
        return () if found.converged else ("the iterations did not converge",)

    def kernel_of(self, in_family: bool) -> Kernel:
        """Return the structure of linear functions."""
        return STRUCTURE

    def of(self, reference: Reference) -> LinearProjector:
        """Return the projector of another reference."""
        assert isinstance(reference, LinearReference)  # made by the same recipe
        return LinearProjector(reference)

    # What is remembered ------------------------------------------------------------------------

    @cached_property
    def _X(self) -> Host:
        return to_host(self.reference.training.X)

    @cached_property
    def _submodels(self) -> Recent[LinearSubmodel]:
        return Recent()

    @cached_property
    def _parents(self) -> Recent[LinearParent]:
        return Recent()

    def _projected(self, mask: Mask) -> LinearSubmodel:
        """Return the submodel on some inputs, in the order of the columns."""

        def make(mask: Mask) -> LinearSubmodel:
            return project_draws(self.reference, tuple(np.flatnonzero(mask).tolist()))

        return self._submodels.get(mask, make)

    def _parent(self, mask: Mask) -> LinearParent:
        return self._parents.get(mask, lambda own: parent_of(self._X, own, self._projected(own)))

    def _record(self, fit: LinearFit) -> Projection:
        return Projection(
            kernel=STRUCTURE,
            parameters=np.empty(0),
            inputs=fit.inputs,
            active=fit.inputs & self.varying,
            value=fit.error,
            error=fit.error,
            converged=fit.converged,
            evaluations=fit.evaluations,
        )
