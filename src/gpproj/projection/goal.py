"""What projections minimise, lane by lane, and its minimisation.

On the processor these are plain calls. Where references are projected on a device, several of them
at the same time, `batching` puts the lanes of all of them into one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host, is_numpy
from gpproj.optimise import State, advance, begin
from gpproj.priors import Bounds, LogPrior
from gpproj.projection import batching
from gpproj.projection.batching import MEMORY
from gpproj.projection.family import Family
from gpproj.projection.objective import Criterion, Objective
from gpproj.reference import Held, Target, Targets

TIGHT, LOOSE = 1e-7, 1e-5
"""Relative change of the objective that counts as none: 1e-5 nats in a divergence of 100, and 1e-3
where candidates are compared."""

PRIOR_WEIGHT = 2.0
"""How often the log prior is subtracted from an objective. E of the posteriors and the negative
evidence are twice a divergence. That of leave-one-out predictions is not, but its rows are not
independent either: they overstate what is known of the parameters, most of all where the inputs
tell little."""


@dataclass(frozen=True, eq=False)
class Goal:
    """An objective less the log prior of its parameters, to be minimised."""

    target: Target | Targets
    family: Family
    masks: NDArray[np.bool_]
    """The inputs of every lane, `(b, d)`."""
    learn: Objective
    tolerance: float = TIGHT
    """Relative change of the value that counts as none."""
    others: tuple[Family, ...] = ()
    """Families of lanes that have their own prior, where several references are in one batch."""
    whose: NDArray[np.intp] | None = None
    """Which of these each lane has, `(b,)`."""

    def __call__(self, parameters: Host, lanes: NDArray[np.intp]) -> tuple[Host, Host]:
        """Return value and gradient for some of the lanes, `(a,)` and `(a, p)`."""
        masks, family = self.masks[lanes], self.family
        held = self.compared_with.at(lanes)
        value, gradient = self.learn.value(held, family.kernel, parameters, masks)
        if family.log_prior is None:
            return value, gradient
        prior = self.at(lanes).log_prior(parameters)
        return value - PRIOR_WEIGHT * prior.value, gradient - PRIOR_WEIGHT * prior.gradient

    def log_prior(self, parameters: Host) -> LogPrior:
        """Return the log prior of every lane at its own parameters, `(b, p)`."""
        if self.whose is None:
            assert self.family.log_prior is not None  # whoever asks has seen that
            return self.family.log_prior(parameters, self.masks)
        value, gradient = np.empty(len(parameters)), np.empty_like(parameters)
        for number, family in enumerate(self.others):
            own = np.flatnonzero(self.whose == number)
            assert family.log_prior is not None  # as the first one has one
            value[own], gradient[own] = family.log_prior(parameters[own], self.masks[own])
        return LogPrior(value, gradient)

    @cached_property
    def compared_with(self) -> Held:
        """What of the target the objective looks at."""
        return self.learn.compared_with(self.target)

    @property
    def bounds(self) -> Bounds:
        """Bounds of the parameters of every lane, `(b, p)` each."""
        families, whose = self.families
        lower, upper = (np.stack([one.bounds[side] for one in families]) for side in (0, 1))
        return Bounds(lower[whose], upper[whose])

    @property
    def families(self) -> tuple[tuple[Family, ...], NDArray[np.intp]]:
        """The families of the lanes, and which of them each lane has, `(b,)`."""
        if self.whose is None:
            return (self.family,), np.zeros(len(self.masks), dtype=np.intp)
        return self.others, self.whose

    def at(self, lanes: NDArray[np.intp]) -> Goal:
        """Return the goal of some of the lanes."""
        whose = None if self.whose is None else self.whose[lanes]
        return replace(self, target=self.target.at(lanes), masks=self.masks[lanes], whose=whose)

    @property
    def is_batched(self) -> bool:
        """Whether lanes of several references may go into one batch: on a device they do."""
        return not is_numpy(self.target.X)

    def begin(self, starts: Host) -> State:
        """Evaluate a start for each lane, `(b, p)`."""
        if self.is_batched:
            return batching.begun(self, starts)
        return begin(self, starts, *self.bounds, value_tolerance=self.tolerance, memory=MEMORY)

    def advance(self, state: State, iterations: int | NDArray[np.intp]) -> State:
        """Run lanes on, as `optimise.advance` does."""
        further = np.broadcast_to(iterations, state.lanes.shape)
        return (
            batching.advanced(self, state, further)
            if self.is_batched
            else advance(self, state, further)
        )

    def divergences(self, parameters: Host, values: Host) -> Host:
        """Return the objective without the prior, `(b,)`, of parameters whose value is known."""
        if self.family.log_prior is None:
            return values
        return values + PRIOR_WEIGHT * self.log_prior(parameters).value

    def figures(self, criterion: Criterion, parameters: Host) -> Host:
        """Return what a criterion says of parameters of each lane, `(b,)`."""
        if self.is_batched:
            return batching.figures(self, criterion, parameters)
        return criterion(self.target, self.family.kernel, parameters, self.masks)
