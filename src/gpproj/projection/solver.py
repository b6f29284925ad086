"""`Solver`: runs the lanes of submodels to their optima, several sets of inputs in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.optimise import joined
from gpproj.projection.family import Family
from gpproj.projection.goal import TIGHT, Goal
from gpproj.projection.objective import Criterion, Objective, left_out_means
from gpproj.projection.projections import Projection
from gpproj.projection.runners import Lane, Runner, is_another
from gpproj.projection.starts import Starts, scattered_starts
from gpproj.reference import Target, Targets

THOROUGH = ((10, 0.5), (20, 0.25))
"""Iterations that the lanes of a runner get, and the share of them all that then goes on."""

BRIEF = ((5, 0.5), (10, 0.25))
"""The same for submodels that were candidates before."""

FINISHERS = 2
"""Lanes of a runner that go on at least."""

MAX_ITERATIONS = 500

SCATTERED, CHECKS = 16, 4
"""Starts all over the box that an optimum is checked with, and how often that is done at most."""

GAIN = 1e-3
"""Nats that make it another optimum."""

PERFECT = 1e-4
"""Nats below which a divergence is none."""


Stages: TypeAlias = tuple[tuple[int, float], ...]
"""Iterations, and the share of the starts that then goes on."""


@dataclass(frozen=True, eq=False)
class Solver:
    """Minimises an objective over the parameters of Gaussian processes on sets of inputs.

    Parameters
    ----------
    target : Target or Targets
        What submodels are compared with: all with one target, or the sets of a call each with its
        own.
    family : Family
        Structure and prior of submodels.
    learn : Objective
        What is minimised.
    criterion : Criterion
        What submodels are compared by.
    """

    target: Target | Targets
    family: Family
    learn: Objective
    criterion: Criterion
    tolerance: float = TIGHT
    """Relative change of the objective that counts as none."""
    families: tuple[Family, ...] = ()
    """Of the sets of a call, where each has a target and a prior of its own."""

    def begin_at(self, starts: Sequence[Starts]) -> list[Runner]:
        """Evaluate the starts of several sets of inputs, in one batch."""
        if not len(starts):
            return []
        every = starts[0].plus(*starts[1:])
        counts = [len(own.parameters) for own in starts]
        owner = np.repeat(np.arange(len(starts)), counts)
        states = self._goal(owner, every.active).begin(every.parameters).apart()
        lanes = iter([Lane(*one) for one in zip(every.active, states, strict=True)])
        return [Runner(tuple(islice(lanes, count))) for count in counts]

    def run(self, iterations: int, runners: Sequence[Runner]) -> list[Runner]:
        """Run all lanes of several runners on, in one batch."""
        if not len(runners):
            return []
        goal, lanes, _ = self._together(runners)
        states = goal.advance(joined([lane.state for lane in lanes]), iterations).apart()
        moved = iter([lane._replace(state=own) for lane, own in zip(lanes, states, strict=True)])
        return [
            runner._replace(lanes=tuple(islice(moved, len(runner.lanes)))) for runner in runners
        ]

    def errors(self, runners: Sequence[Runner]) -> Host:
        """Return what the best lanes are worth by the criterion, `(c,)`."""
        return self._errors([runner._replace(lanes=(runner.best,)) for runner in runners])

    def end(self, runners: Sequence[Runner], sets: Sequence[NDArray[np.bool_]]) -> list[Projection]:
        """Run runners to convergence and return where the best of their lanes end.

        Parameters
        ----------
        runners : sequence of Runner
        sets : sequence of bool arrays `(d,)`
            The inputs that each one may use.
        """
        ends = self.run(MAX_ITERATIONS, runners)
        errors = self.errors(ends)
        return [
            Projection(
                kernel=self.family.kernel,
                parameters=runner.best.state.x[0],
                inputs=mask,
                active=runner.best.active,
                value=runner.best.value,
                error=float(error),
                converged=bool(runner.best.state.outcome().converged[0]),
                evaluations=runner.evaluations,
                doubt=self._doubt(runner),
            )
            for runner, mask, error in zip(ends, sets, errors, strict=True)
        ]

    def solve(
        self,
        sets: Sequence[NDArray[np.bool_]],
        starts: Sequence[Starts],
        stages: Stages = THOROUGH,
    ) -> list[Projection]:
        """Learn the submodel of every set of inputs: all starts run, the better ones to the end."""
        return self.end(self._halved(starts, stages), sets)

    def checked(self, runners: Sequence[Runner], sets: Sequence[NDArray[np.bool_]]) -> list[Runner]:
        """Return runners at their optima after a check: starts all over the box find nothing lower.

        Where they do, it is checked again.
        """
        found = list(runners)
        going = [place for place, one in enumerate(found) if not self._is_perfect(one.best)]
        for turn in range(CHECKS):
            if not going:
                break
            before = [found[place].best.value for place in going]
            scattered = [
                scattered_starts(self.family, sets[place], SCATTERED, turn * SCATTERED)
                for place in going
            ]
            tried = self.run(MAX_ITERATIONS, self._halved(scattered))
            for place, one in zip(going, tried, strict=True):
                found[place] = found[place].with_lanes(one)
            pairs = zip(going, before, strict=True)
            going = [place for place, value in pairs if found[place].best.value < value - GAIN]
        return found

    def _is_perfect(self, lane: Lane) -> bool:
        """Say whether nothing can be better: divergences are not negative, and priors cost."""
        return self.learn.bounded and lane.value < PERFECT

    def _if_perfect(self, runner: Runner) -> Runner:
        """Return a runner with its best lane alone, if that is perfect."""
        return runner.narrowed(1) if self._is_perfect(runner.best) else runner

    def _halved(self, starts: Sequence[Starts], stages: Stages = THOROUGH) -> list[Runner]:
        """Run all starts of every set a little, the better ones of them further."""
        runners = [self._if_perfect(runner) for runner in self.begin_at(starts)]
        counts = [len(runner.lanes) for runner in runners]
        for iterations, share in stages:
            runners = [
                runner.narrowed(max(int(np.ceil(share * count)), FINISHERS))
                for runner, count in zip(self.run(iterations, runners), counts, strict=True)
            ]
        return runners

    # Batches of lanes ------------------------------------------------------------------------

    def _together(self, runners: Sequence[Runner]) -> tuple[Goal, list[Lane], NDArray[np.intp]]:
        """Return the lanes of several runners, what they minimise, and whose they are."""
        lanes = [lane for runner in runners for lane in runner.lanes]
        owner = np.repeat(np.arange(len(runners)), [len(runner.lanes) for runner in runners])
        return self._goal(owner, np.stack([lane.active for lane in lanes])), lanes, owner

    def _goal(self, owner: NDArray[np.intp], masks: NDArray[np.bool_]) -> Goal:
        """Return what lanes minimise, each of which belongs to one of the sets of a call."""
        return Goal(
            target=self.target.at(owner),
            family=self.family,
            masks=masks,
            learn=self.learn,
            tolerance=self.tolerance,
            others=self.families,
            whose=owner if self.families else None,
        )

    def _errors(self, runners: Sequence[Runner]) -> Host:
        """Return what all lanes are worth by the criterion."""
        if not len(runners):
            return np.zeros(0)
        goal, lanes, _ = self._together(runners)
        parameters = np.concatenate([lane.state.x for lane in lanes])
        if self.criterion.name == self.learn.measures:
            return goal.divergences(parameters, np.array([lane.value for lane in lanes]))
        return goal.figures(self.criterion, parameters)

    def _doubt(self, runner: Runner) -> float:
        """Return by how much other optima that are about as good differ in what they predict."""
        best = runner.best
        others = [lane for lane in runner.lanes if is_another(lane, best)]
        if not others or not isinstance(self.target, Target):
            return 0.0
        lanes = [best, *others]
        means = left_out_means(
            self.target,
            self.family.kernel,
            np.concatenate([lane.state.x for lane in lanes]),
            np.stack([lane.active for lane in lanes]),
        )
        away = float(np.max(np.mean((means[1:] - means[0]) ** 2, axis=1)))
        return away / max(self.family.signal, np.finfo(np.float64).tiny)
