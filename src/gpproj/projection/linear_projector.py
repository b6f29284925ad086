"""`LinearProjector`: projects linear models, all candidates of a step and all draws at once.

A set that adds inputs to one that is known is begun from an orthonormal basis B of the columns that
are in. With e = f - f_perp of one draw and the orthonormal directions Q that the inputs add,
Gaussian noise has the closed form

    |e_new|^2 = |e|^2 - |Q'e|^2,

and classes and counts take one Newton step into Q to begin with. Sets that leave inputs out are
projected by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Constant, Kernel, Linear
from gpproj.linalg import Host, to_host
from gpproj.projection.irls import irls, one_step_errors
from gpproj.projection.linear import (
    COLLINEAR,
    LinearSubmodel,
    gaussian_error,
    project_draws,
    refuse_options,
)
from gpproj.projection.objective import CRITERIA, OBJECTIVES, Criterion, Objective
from gpproj.projection.projections import Projection
from gpproj.projection.protocol import Effort
from gpproj.reference import Clusters, LinearReference, Reference

Mask = NDArray[np.bool_]

STRUCTURE = Constant() + Linear()
"""Covariance of linear functions, whose weights are drawn rather than known by parameters."""

LEAVING = 3
"""Units that may leave in a round of exchanges, where submodels take iterations."""

RECENT = 4
"""Sets whose submodels, and what candidates need of them, are remembered."""


class Standing(NamedTuple):
    """What candidates need of the submodel that they add inputs to."""

    basis: Host
    """Orthonormal, of its columns and a constant, `(n, r)`."""
    left: Host
    """What it does not explain of every input, `(n, d)`."""
    fit: Host
    """Its latent function in every draw, `(s, n)`."""
    errors: Host
    """Its projection error in every draw, `(s,)`."""


class LinearRunner(NamedTuple):
    """A set of inputs on its way to its optimum."""

    error: float
    """Where it stands."""
    parent: Mask | None
    """Inputs of the submodel that it adds some to; None where it is at its optimum."""
    evaluations: int = 1
    converged: bool = True

    def narrowed(self, count: int) -> LinearRunner:
        """Return it as it is: it has one start."""
        return self


@dataclass(frozen=True, eq=False)
class LinearProjector:
    """Projects a linear reference draw by draw; a `Projector`.

    Errors are per observation, averages over the draws: log(sigma_perp^2 / sigma^2) / 2 for
    Gaussian noise, the mean divergence for classes and counts. All inputs have the error zero.

    Parameters
    ----------
    reference : LinearReference
    """

    reference: LinearReference

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
        """What submodels are compared by: the same."""
        return CRITERIA["projection_error"]

    @property
    def identity(self) -> str:
        """What submodels are and how they are learned, in words."""
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
        """Return the projections onto several sets of inputs."""
        found = [(mask, self._projected(mask)) for mask in sets]
        return [
            self._record(mask, one.projection_error, one.converged, one.evaluations)
            for mask, one in found
        ]

    def moved(self, known: Projection) -> Projection:
        """Return the projection onto the inputs of one that was learned from other rows."""
        return self.project([known.inputs])[0]

    # Candidates of a search --------------------------------------------------------------------

    def hints(self, known: Projection) -> Host:
        """Return no hints: all candidates are begun."""
        return np.zeros(self.d)

    def begin(
        self,
        sets: Sequence[Mask],
        known: Sequence[Projection],
        iterations: int,
        *,
        near: bool = False,
    ) -> list[LinearRunner]:
        """Begin several sets, each from the largest submodel on some of its inputs."""
        found: list[LinearRunner] = [LinearRunner(np.inf, None)] * len(sets)
        parents = sorted((one.active for one in known), key=lambda own: -int(own.sum()))
        begun: dict[int, list[int]] = {}
        for place, mask in enumerate(sets):
            fits = (p for p, own in enumerate(parents) if not np.any(own & ~mask))
            begun.setdefault(next(fits, -1), []).append(place)
        for parent, places in begun.items():
            masks = [sets[place] for place in places]
            grown = self._direct(masks) if parent < 0 else self._grown(parents[parent], masks)
            for place, one in zip(places, grown, strict=True):
                found[place] = one
        return found

    def _direct(self, masks: Sequence[Mask]) -> list[LinearRunner]:
        return [
            LinearRunner(one.error, None, one.evaluations, one.converged)
            for one in self.project(masks)
        ]

    def _grown(self, parent: Mask, masks: Sequence[Mask]) -> list[LinearRunner]:
        """Begin sets that add inputs to those of a submodel."""
        linear, standing = self.reference.linear, self._standing(parent)
        added = [np.flatnonzero(mask & ~parent) for mask in masks]
        if all(len(own) == 1 for own in added):
            directions = self._single_directions(standing, [int(own[0]) for own in added])
        else:
            directions = [self._directions(standing, mask & ~parent) for mask in masks]
        if linear.link is None:
            errors = self._exact_errors(standing, directions)
            return [LinearRunner(error, None) for error in errors.tolist()]
        offset = self.reference.training_offset
        aim = linear.link.aim(self.reference.training_values + offset)
        eta = standing.fit + offset
        steps = one_step_errors(linear.link, standing.basis, directions, aim, eta, standing.errors)
        return [LinearRunner(error, parent) for error in (steps @ linear.weights).tolist()]

    def _exact_errors(self, standing: Standing, directions: Sequence[Host]) -> Host:
        """Return the errors of candidates of Gaussian noise, `(c,)`."""
        linear = self.reference.linear
        assert linear.noise is not None  # Gaussian noise has a variance
        rest = self.reference.training_values - standing.fit
        misfit = np.mean(rest**2, axis=1)
        falls = (rest @ np.hstack(directions)) ** 2 / rest.shape[1]
        owner = np.repeat(np.arange(len(directions)), [own.shape[1] for own in directions])
        every = falls @ (owner[:, None] == np.arange(len(directions)))
        left = np.maximum(misfit[:, None] - every, 0.0)
        return linear.weights @ gaussian_error(left, linear.noise[:, None])

    def advance(self, runners: Sequence[LinearRunner], iterations: int) -> list[LinearRunner]:
        """Return runners as they are: those that take iterations take them all at the end."""
        return list(runners)

    def errors(self, runners: Sequence[LinearRunner]) -> Host:
        """Return the errors where runners stand, `(c,)`."""
        return np.array([runner.error for runner in runners])

    def finish(self, runners: Sequence[LinearRunner], sets: Sequence[Mask]) -> list[Projection]:
        """Run to convergence."""
        return [
            self._record(mask, runner.error, runner.converged, runner.evaluations)
            if runner.parent is None
            else self._converged(runner.parent, mask)
            for runner, mask in zip(runners, sets, strict=True)
        ]

    def _converged(self, parent: Mask, mask: Mask) -> Projection:
        """Return the end of the iterations that start from the submodel on some of the inputs."""
        linear, standing = self.reference.linear, self._standing(parent)
        assert linear.link is not None  # Gaussian noise takes no iterations
        offset = self.reference.training_offset
        aim = linear.link.aim(self.reference.training_values + offset)
        basis = np.hstack([standing.basis, self._directions(standing, mask & ~parent)])
        fit = irls(linear.link, basis, aim, standing.fit + offset)
        error = float(linear.weights @ fit.divergence)
        return self._record(mask, error, bool(fit.converged.all()), fit.iterations)

    def not_worse(self, found: Projection, known: Iterable[Projection]) -> Projection:
        """Return what was found: the optimum is one, and more inputs only lower it."""
        return found

    def polished(self, found: Projection) -> Projection:
        """Return what was found: it is the optimum."""
        return found

    def completed(self, projection: Projection) -> Projection:
        """Return the projection: its error is its only figure."""
        return projection

    def seconds(self, found: Projection) -> float:
        """Return nothing: searches take little time."""
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
    ) -> LinearSubmodel:
        """Return the linear submodel that a projection stands for, every draw by itself."""
        return self._projected(projection.inputs).in_order(
            tuple(reference.feature_names[position] for position in positions), problems
        )

    def clusters_of(self, clusters: Clusters) -> Clusters:
        """Return that every draw is projected by itself, or refuse another choice."""
        refuse_options(clusters=clusters)
        return "draws"

    def columns(self, projections: Sequence[Projection], unit: float) -> dict[str, list[float]]:
        """Return the noise standard deviation in units of the target, of Gaussian noise."""
        if self.reference.linear.noise is None:
            return {}
        found = (self._projected(one.inputs).noise_variance for one in projections)
        return {"noise_sd": [float(np.sqrt(variance)) for variance in found]}

    def problems(self) -> tuple[str, ...]:
        """Return nothing: every linear reference can be projected."""
        return ()

    def problems_of(
        self, found: Projection, null_error: float | None = None, alone: bool = True
    ) -> tuple[str, ...]:
        """Return what may be wrong with a submodel."""
        return () if found.converged else ("the iterations did not converge",)

    def is_own(self, known: Projection) -> bool:
        """Return that it is: null models are of the family too."""
        return True

    def kernel_of(self, own: bool) -> Kernel:
        """Return the structure of linear functions."""
        return STRUCTURE

    def of(self, reference: Reference) -> LinearProjector:
        """Return the same projector of a reference of other data."""
        assert isinstance(reference, LinearReference)  # made by the same recipe
        return LinearProjector(reference)

    def at(self, reference: Reference) -> LinearProjector:
        """Return the projector of the same reference."""
        return self.of(reference)

    # What is remembered ------------------------------------------------------------------------

    @cached_property
    def _X(self) -> Host:
        return to_host(self.reference.training.X)

    @cached_property
    def _lengths(self) -> Host:
        found: Host = np.linalg.norm(self._X, axis=0)
        return found

    @cached_property
    def _submodels(self) -> Recent[LinearSubmodel]:
        return Recent()

    @cached_property
    def _standings(self) -> Recent[Standing]:
        return Recent()

    def _projected(self, mask: Mask) -> LinearSubmodel:
        """Return the submodel on some inputs, in the order of the columns."""
        found = self._submodels.get(mask)
        if found is None:
            positions = tuple(np.flatnonzero(mask).tolist())
            found = self._submodels.keep(mask, project_draws(self.reference, positions))
        return found

    def _standing(self, mask: Mask) -> Standing:
        found = self._standings.get(mask)
        if found is None:
            found = self._standings.keep(mask, self._made_standing(mask))
        return found

    def _made_standing(self, mask: Mask) -> Standing:
        X, own = self._X, self._projected(mask)
        constant = np.full((len(X), 1), 1.0 / np.sqrt(len(X)))
        null = Standing(constant, X - constant @ (constant.T @ X), np.empty(0), np.empty(0))
        added = self._directions(null, mask)
        return Standing(
            np.hstack([constant, added]),
            null.left - added @ (added.T @ null.left),
            own.linear.values(X[:, mask]),
            own.errors,
        )

    def _directions(self, standing: Standing, added: Mask) -> Host:
        """Return what inputs add to a basis, orthonormal, `(n, q)`; collinear inputs nothing."""
        found = self._left_over(standing, np.flatnonzero(added))[0]
        if found.shape[1] > 1:
            U, s, _ = np.linalg.svd(found, full_matrices=False)
            found = U[:, s > COLLINEAR]
        return _orthonormal(standing.basis, found)

    def _single_directions(self, standing: Standing, positions: Sequence[int]) -> list[Host]:
        """Return what each of several inputs adds to a basis by itself, `(n, 1)` or `(n, 0)`."""
        found, some = self._left_over(standing, np.array(positions, dtype=np.intp))
        every = _orthonormal(standing.basis, found)
        place = np.cumsum(some) - 1
        return [every[:, at : at + own] for at, own in zip(place, some.astype(int), strict=True)]

    def _left_over(
        self, standing: Standing, columns: NDArray[np.intp]
    ) -> tuple[Host, NDArray[np.bool_]]:
        """Return what a basis does not explain of inputs, and of which it leaves anything."""
        lengths = self._lengths[columns]
        some = np.linalg.norm(standing.left[:, columns], axis=0) > COLLINEAR * lengths
        return standing.left[:, columns[some]] / lengths[some], some

    def _record(self, mask: Mask, error: float, converged: bool, evaluations: int) -> Projection:
        return Projection(
            kernel=STRUCTURE,
            parameters=np.empty(0),
            inputs=mask,
            active=mask & self.varying,
            value=error,
            error=error,
            converged=converged,
            evaluations=evaluations,
        )


def _orthonormal(basis: Host, found: Host) -> Host:
    """Return columns of length one that have no part in a basis, as they have little of already."""
    found = found / np.linalg.norm(found, axis=0)
    # Once more: short remainders carry the rounding errors of long columns.
    found = found - basis @ (basis.T @ found)
    unit_vectors: Host = found / np.linalg.norm(found, axis=0)
    return unit_vectors


Made = TypeVar("Made")


class Recent(Generic[Made]):
    """The last few things that were made of sets of inputs; they do not travel with a pickle."""

    def __init__(self) -> None:
        self._made: dict[bytes, Made] = {}
        self._lock = Lock()

    def get(self, mask: Mask) -> Made | None:
        """Return what was made of a set, if it is still remembered."""
        return self._made.get(mask.tobytes())

    def keep(self, mask: Mask, made: Made) -> Made:
        """Remember what was made of a set, and forget the oldest."""
        with self._lock:
            self._made[mask.tobytes()] = made
            while len(self._made) > RECENT:
                del self._made[next(iter(self._made))]
        return made

    def __reduce__(self) -> tuple[type[Recent[Made]], tuple[()]]:
        """Pickle as new."""
        return Recent, ()
