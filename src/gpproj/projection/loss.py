"""What projections minimise, lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.optimise import State, begin
from gpproj.priors import Bounds, LogPrior
from gpproj.projection.family import Family
from gpproj.projection.objective import Criterion, Objective
from gpproj.projection.values import Value
from gpproj.reference import AnyTarget, Target, Targets

TIGHT, LOOSE = 1e-7, 1e-5
"""Relative change of the objective that counts as none: 1e-5 nats in a divergence of 100, and 1e-3
where candidates are compared."""

MEMORY = 20
"""Pairs that the optimiser remembers: the curvature is uneven, and a long memory saves a tenth of
the evaluations."""

PRIOR_WEIGHT = 2.0
"""How often the log prior is subtracted from an objective. E of the posteriors and the negative
evidence are twice a divergence. That of leave-one-out predictions is not, but its rows are not
independent either: they overstate what is known of the parameters, most of all where the inputs
tell little."""


@dataclass(frozen=True, eq=False)
class Loss:
    """An objective less the log prior of its parameters, to be minimised."""

    target: Target | Targets
    family: Family
    masks: NDArray[np.bool_]
    """The inputs of every lane, `(b, d)`."""
    learn: Objective
    tolerance: float = TIGHT
    """Relative change of the value that counts as none."""
    scale: float = 1.0
    """Nats that it is relative to at least."""
    times: float = 1.0
    """How often the objective counts, where the rows stand for more."""
    lane_families: tuple[Family, ...] = ()
    """Families of lanes that have their own prior, where several references are in one batch."""
    family_of_lane: NDArray[np.intp] | None = None
    """Which of these each lane has, `(b,)`."""

    def __call__(self, parameters: Host, lanes: NDArray[np.intp]) -> tuple[Host, Host]:
        """Return value and gradient for some of the lanes, `(a,)` and `(a, p)`."""
        part, kernel = self.compared_with.at(lanes), self.family.kernel
        value, gradient = self._function(part, kernel, parameters, self.masks[lanes])
        if self.times != 1.0:
            value, gradient = self.times * value, self.times * gradient
        if self.family.log_prior is None:
            return value, gradient
        prior = self.at(lanes).log_prior(parameters)
        return value - PRIOR_WEIGHT * prior.value, gradient - PRIOR_WEIGHT * prior.gradient

    def log_prior(self, parameters: Host) -> LogPrior:
        """Return the log prior of every lane at its own parameters, `(b, p)`."""
        if self.family_of_lane is None:
            assert self.family.log_prior is not None  # callers have checked that
            return self.family.log_prior(parameters, self.masks)
        value, gradient = np.empty(len(parameters)), np.empty_like(parameters)
        for number, family in enumerate(self.lane_families):
            own = np.flatnonzero(self.family_of_lane == number)
            assert family.log_prior is not None  # as the first one has one
            value[own], gradient[own] = family.log_prior(parameters[own], self.masks[own])
        return LogPrior(value, gradient)

    @cached_property
    def compared_with(self) -> AnyTarget:
        """The part of the target that the objective looks at."""
        return self.learn.compared_with(self.target)

    @cached_property
    def _function(self) -> Callable[..., Value]:
        return self.learn.function(self.compared_with)

    @property
    def bounds(self) -> Bounds:
        """Bounds of the parameters of every lane, `(b, p)` each."""
        families, family_of_lane = self.families
        lower, upper = (np.stack([one.bounds[side] for one in families]) for side in (0, 1))
        return Bounds(lower[family_of_lane], upper[family_of_lane])

    @property
    def families(self) -> tuple[tuple[Family, ...], NDArray[np.intp]]:
        """The families of the lanes, and which of them each lane has, `(b,)`."""
        if self.family_of_lane is None:
            return (self.family,), np.zeros(len(self.masks), dtype=np.intp)
        return self.lane_families, self.family_of_lane

    def at(self, lanes: NDArray[np.intp]) -> Loss:
        """Return the loss of some of the lanes."""
        family_of_lane = None if self.family_of_lane is None else self.family_of_lane[lanes]
        return replace(
            self,
            target=self.target.at(lanes),
            masks=self.masks[lanes],
            family_of_lane=family_of_lane,
        )

    def begin(self, starts: Host) -> State:
        """Evaluate a start for each lane, `(b, p)`."""
        return begin(
            self,
            starts,
            *self.bounds,
            value_tolerance=self.tolerance,
            value_scale=self.scale,
            memory=MEMORY,
        )

    def figures(self, criterion: Criterion, parameters: Host) -> Host:
        """Return a criterion at the parameters of each lane, `(b,)`."""
        found = criterion(self.target, self.family.kernel, parameters, self.masks)
        return found if self.times == 1.0 else self.times * found

    def divergences(self, parameters: Host, values: Host) -> Host:
        """Return the objective without the prior, `(b,)`, at parameters with a known value."""
        if self.family.log_prior is None:
            return values
        return values + PRIOR_WEIGHT * self.log_prior(parameters).value
