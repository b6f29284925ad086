"""`Projector`: learns submodels of one reference on sets of its inputs, for whoever asks.

A `Runner` is one set of inputs on its way to an optimum: a lane of the optimiser for each of its
starts. Runners can be paused, compared and dropped; searches race them. What a runner finds does
not depend on the others that it is advanced with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.optimise import State, joined
from gpproj.projection.family import Family, null_family
from gpproj.projection.goal import LOOSE, TIGHT, Goal
from gpproj.projection.objective import (
    CRITERIA,
    OBJECTIVES,
    Criterion,
    Objective,
    left_out_means,
)
from gpproj.projection.starts import (
    Starts,
    fast_starts,
    few_starts,
    from_known,
    reference_starts,
    scattered_starts,
    usual_starts,
)
from gpproj.reference import Target, Targets

THOROUGH = ((10, 0.5), (20, 0.25))
"""Iterations that the lanes of a runner get, and the share of them all that then goes on."""

BRIEF = ((5, 0.5), (10, 0.25))
"""The same for submodels that were candidates before."""

SMALL = 5
"""Inputs of a submodel up to which a candidate is polished from every start."""

FINISHERS = 2
"""Lanes of a runner that go on at least."""

MAX_ITERATIONS = 500

SCATTERED, CHECKS = 16, 4
"""Starts all over the box that an optimum is checked with, and how often that is done at most."""

GAIN = 1e-3
"""Nats that make it another optimum."""

PERFECT = 1e-4
"""Nats below which a divergence is none."""

NEAR = 0.5
"""Nats within which two optima are about equally good."""

MOVED = 0.1
"""Change of a log parameter that makes it another one."""


Stages: TypeAlias = tuple[tuple[int, float], ...]
"""Iterations, and the share of the starts that then goes on."""


class Figures(NamedTuple):
    """What is lost by a submodel, by the divergences there are."""

    posterior_kl: float
    projection_error: float
    loo_divergence: float


class Projection(NamedTuple):
    """One submodel's learned parameters, on the model's scale."""

    kernel: Kernel
    """Structure of its covariance."""
    parameters: Host
    """Log parameters of the kernel for all d inputs, then the log extra variance, `(p,)`."""
    inputs: NDArray[np.bool_]
    """Inputs it may use, `(d,)`."""
    active: NDArray[np.bool_]
    """Inputs it does use, `(d,)`: fewer where a submodel on fewer inputs was better."""
    value: float
    """The objective at its minimum, prior included."""
    error: float
    """What it is compared by."""
    converged: bool
    evaluations: int
    """Values and gradients that it took, all starts together."""
    doubt: float = 0.0
    """By how much the predictions of another optimum with about the same value differ, as a share
    of the variance of the reference's own."""
    figures: Figures | None = None
    """All divergences, once somebody wants to see them."""


class Lane(NamedTuple):
    """One start of a set of inputs, and where it has come to."""

    active: NDArray[np.bool_]
    """Inputs it uses, `(d,)`."""
    state: State
    """Of one lane."""

    @property
    def value(self) -> float:
        """The objective where it stands."""
        return float(self.state.value[0])


class Runner(NamedTuple):
    """A set of inputs on its way to an optimum."""

    lanes: tuple[Lane, ...]
    spent: int = 0
    """Values and gradients of lanes that were dropped."""

    @property
    def best(self) -> Lane:
        """The lane that is lowest; the first of several."""
        return min(self.lanes, key=lambda lane: lane.value)

    @property
    def evaluations(self) -> int:
        """Values and gradients so far."""
        return self.spent + sum(int(lane.state.evaluations[0]) for lane in self.lanes)

    def narrowed(self, count: int) -> Runner:
        """Return the runner with so many of its lowest lanes, in their order."""
        values = np.array([lane.value for lane in self.lanes])
        kept = np.sort(np.argsort(values, kind="stable")[: max(count, 1)])
        lanes = tuple(self.lanes[place] for place in kept)
        return Runner(lanes, self.evaluations - Runner(lanes).evaluations)

    def with_lanes(self, other: Runner) -> Runner:
        """Return the runner with the lanes of another one of the same set besides."""
        return Runner((*self.lanes, *other.lanes), self.spent + other.spent)


@dataclass(frozen=True, eq=False)
class Projector:
    """Projects a reference onto sets of its inputs.

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

    @property
    def identity(self) -> str:
        """What submodels are and how they are learned, in words: equal for equal projectors."""
        return repr((self.family.identity, self.learn.name, self.criterion.name))

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.family.varying)

    @cached_property
    def without_inputs(self) -> Projector:
        """The projector of null models, which have the kernel's constants alone."""
        return replace(self, family=null_family(self.family))

    def usable(self, positions: Iterable[int]) -> NDArray[np.bool_]:
        """Return the mask of inputs given by position, without those that are constant, `(d,)`."""
        mask = mask_of(positions, self.d)
        mask &= self.family.varying
        return mask

    # Sets of inputs, from starts to optima ---------------------------------------------------

    def begin(self, starts: Sequence[Starts]) -> list[Runner]:
        """Evaluate the starts of several sets of inputs, in one batch."""
        if not len(starts):
            return []
        every = starts[0].plus(*starts[1:])
        counts = [len(own.parameters) for own in starts]
        owner = np.repeat(np.arange(len(starts)), counts)
        states = self._goal(owner, every.active).begin(every.parameters).apart()
        lanes = iter([Lane(*one) for one in zip(every.active, states, strict=True)])
        return [Runner(tuple(islice(lanes, count))) for count in counts]

    def advance(self, iterations: int, runners: Sequence[Runner]) -> list[Runner]:
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
        ends = self.advance(MAX_ITERATIONS, runners)
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
            tried = self.advance(MAX_ITERATIONS, self._halved(scattered))
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
        runners = [self._if_perfect(runner) for runner in self.begin(starts)]
        counts = [len(runner.lanes) for runner in runners]
        for iterations, share in stages:
            runners = [
                runner.narrowed(max(int(np.ceil(share * count)), FINISHERS))
                for runner, count in zip(self.advance(iterations, runners), counts, strict=True)
            ]
        return runners

    # What is known of a set of inputs --------------------------------------------------------

    def null(self) -> Projection:
        """Return the null model."""
        empty = np.zeros(self.d, dtype=bool)
        projector = self.without_inputs
        return projector.solve([empty], [usual_starts(projector.family, empty)])[0]

    def project(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection] = (),
        *,
        check: bool = False,
    ) -> list[Projection]:
        """Return the submodels on several sets of inputs, from every start that there is.

        Parameters
        ----------
        sets : sequence of bool arrays `(d,)`
            Inputs that may be used; constant ones are not.
        known : sequence of Projection
            Of other sets: where they stand is a start, and those on fewer inputs are not beaten by
            what is returned.
        check : bool
            Check the optima by starts all over the box, at more than twice the price.
        """
        masks = [mask & self.family.varying for mask in sets]
        some = [mask for mask in masks if mask.any()]
        starts = [self.every_start(mask, known) for mask in some]
        runners = self._halved(starts)
        if check:
            runners = self.checked(self.advance(MAX_ITERATIONS, runners), some)
        found = iter(self.end(runners, some))
        null = None if len(some) == len(masks) else self.null()
        ends = []
        for asked, mask in zip(sets, masks, strict=True):
            one = next(found) if mask.any() else null
            assert one is not None  # which it is only where all sets have inputs
            ends.append(self.not_worse(one._replace(inputs=asked), known))
        return ends

    def every_start(self, mask: NDArray[np.bool_], known: Sequence[Projection] = ()) -> Starts:
        """Return all starts of a set of inputs."""
        family = self.family
        found = usual_starts(family, mask).plus(fast_starts(family, mask))
        return found.plus(*(self.from_known(one, mask) for one in known if self.is_own(one)))

    def short_starts(
        self, mask: NDArray[np.bool_], known: Sequence[Projection] = (), *, near: bool = False
    ) -> Starts:
        """Return few starts of a set of inputs: near others that are known, and the reference's.

        Parameters
        ----------
        mask : bool array `(d,)`
        known : sequence of Projection
            Of other sets. A null model tells nothing: without any other there are more starts.
        near : bool
            Only those near others that are known.
        """
        found = [self.from_known(one, mask) for one in known if self.is_own(one)]
        if self.family.known is None or not found:
            return few_starts(self.family, mask).plus(*found)
        if near:
            return found[0].plus(*found[1:])
        return reference_starts(self.family, mask).plus(*found)

    def from_known(self, known: Projection, mask: NDArray[np.bool_]) -> Starts:
        """Return the starts that another submodel of the family gives a set of inputs."""
        return from_known(self.family, known.parameters, known.active, mask)

    def is_own(self, known: Projection) -> bool:
        """Say whether a submodel is of this family, rather than a null model."""
        return known.kernel == self.family.kernel

    def not_worse(self, found: Projection, known: Iterable[Projection]) -> Projection:
        """Return what was found, or a submodel on fewer inputs where that is better.

        So the objective never grows as inputs are added. The inputs are those asked for.
        """
        best = found
        for one in known:
            if one.value < best.value and not np.any(one.active & ~found.inputs):
                best = one._replace(
                    inputs=found.inputs, evaluations=found.evaluations, figures=None
                )
        return best

    @cached_property
    def loosely(self) -> Projector:
        """The same projector with the tolerance of candidates, which are only compared."""
        return replace(self, tolerance=LOOSE)

    def polished(self, found: Projection) -> Projection:
        """Return a submodel that was learned as a candidate, from other starts besides.

        From every start on few inputs, where an optimum far off is likeliest and costs most.
        """
        mask = found.inputs & self.family.varying
        if not mask.any() or not self.is_own(found):
            return found
        few = int(mask.sum()) > SMALL
        starts = few_starts(self.family, mask) if few else self.every_start(mask)
        starts = starts.plus(Starts(found.parameters[None, :], found.active[None, :]))
        end = self.solve([mask], [starts], BRIEF)[0]
        end = end._replace(inputs=found.inputs, evaluations=found.evaluations + end.evaluations)
        return self.not_worse(end, [found])

    def slopes(self, known: Projection) -> Host:
        """Return the slope of the objective in the relevance of every input, in units of the data.

        Zero everywhere for a null model, whose kernel lacks the component that would enter.
        """
        if not self.is_own(known):
            return np.zeros(self.d)
        assert isinstance(self.target, Target)  # searches have one reference
        slopes = self.learn.relevance_slopes(
            self.target, known.kernel, known.parameters[None], known.active[None]
        )[0]
        scaled: Host = slopes / self.family.units.inputs**2
        return scaled

    def completed(self, projection: Projection) -> Projection:
        """Return a projection with all of its figures."""
        assert isinstance(self.target, Target)
        at = projection.kernel, projection.parameters[None], projection.active[None]
        posterior = OBJECTIVES["projection"].value(self.target, *at).value
        figures = {name: one(self.target, *at) for name, one in CRITERIA.items()}
        return projection._replace(
            figures=Figures(
                posterior_kl=0.5 * float(posterior[0]),
                **{name: float(value[0]) for name, value in figures.items()},
            )
        )

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
        others = [lane for lane in runner.lanes if _another(lane, best)]
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


def _another(lane: Lane, best: Lane) -> bool:
    """Say whether a lane ended somewhere else than the best one, and about as well."""
    if lane is best or lane.value > best.value + NEAR:
        return False
    away = np.abs(lane.state.x[0] - best.state.x[0])
    return bool(away.max() > MOVED or np.any(lane.active != best.active))


def mask_of(positions: Iterable[int], d: int) -> NDArray[np.bool_]:
    """Return the mask of inputs given by position, `(d,)`."""
    mask = np.zeros(d, dtype=bool)
    mask[list(positions)] = True
    return mask
