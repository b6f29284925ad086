"""`Solver`: starts of submodels run to their optima, those of several sets in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.optimise import concatenate_states
from gpproj.projection.batching import Evaluator, evaluator_for
from gpproj.projection.dense import row_divergences
from gpproj.projection.family import Family
from gpproj.projection.loss import TIGHT, Loss
from gpproj.projection.multistart import NEAR, Lane, MultiStartFit, are_apart, is_another
from gpproj.projection.objective import Criterion, Objective, left_out_means
from gpproj.projection.projections import Projection
from gpproj.projection.starts import (
    Starts,
    fast_starts,
    few_starts,
    from_known,
    reference_starts,
    scattered_starts,
    starts_at,
    usual_starts,
)
from gpproj.reference import Target, Targets

THOROUGH = ((10, 0.5), (20, 0.25))
"""Iterations that the lanes of a fit get, and the share of them all that then goes on."""

CHALLENGE = ((5, 0.5), (10, 0.25), (10, 0.25), (20, 0.25), (100, 0.25), (500, 0.25))
"""Iterations of the lanes that challenge an optimum, and the share of them that then goes on at
most."""

FINISHERS = 2
"""Lanes of a fit that go on at least."""

MAX_ITERATIONS = 500

SCATTERED, CHECKS = 16, 4
"""Starts all over the box that an optimum is checked with, and how often that is done at most."""

GAIN = 1e-3
"""Nats that make it another optimum."""

PERFECT = 1e-4
"""Nats below which a divergence is none."""

ALIKE = 1e-3
"""Mean squared difference of predictions, over the variance of the reference's, that is none."""

RIVALS = 2
"""Different optima of one set of inputs that are learned on all rows, where few rows cannot tell
which one is better there."""


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
    scale: float = 1.0
    """Nats that it is relative to at least: submodels are compared on the scale of the null model's
    error, however small their own is."""
    times: float = 1.0
    """How often the objective counts, where the rows of the target stand for more."""
    families: tuple[Family, ...] = ()
    """Families of the sets of a call, where each has a target and a prior of its own."""

    @property
    def _evaluator(self) -> Evaluator:
        return evaluator_for(self.target)

    # Starts ------------------------------------------------------------------------------------

    def every_start(self, mask: NDArray[np.bool_], known: Sequence[Projection] = ()) -> Starts:
        """Return all starts of a set of inputs."""
        family = self.family
        found = usual_starts(family, mask).plus(fast_starts(family, mask))
        return found.plus(*(self.from_known(one, mask) for one in known if self.in_family(one)))

    def short_starts(
        self, mask: NDArray[np.bool_], known: Sequence[Projection] = (), *, near: bool = False
    ) -> Starts:
        """Return few starts of a set of inputs: near others that are known, and the reference's.

        Parameters
        ----------
        mask : bool array `(d,)`
        known : sequence of Projection
            Submodels on other sets. Null models tell nothing: without any other there are more
            starts.
        near : bool
            Only those near others that are known.
        """
        found = [self.from_known(one, mask) for one in known if self.in_family(one)]
        if self.family.known is None or not found:
            return few_starts(self.family, mask).plus(*found)
        if near:
            return found[0].plus(*found[1:])
        return reference_starts(self.family, mask).plus(*found)

    def learned_starts(self, point: Host, mask: NDArray[np.bool_]) -> Starts:
        """Return few starts of a set of inputs that was learned from nearly the same rows.

        Where it ended there; a single input, which all else is built on, has the reference's own
        values too.
        """
        found = starts_at([point], mask)
        if self.family.known is None or mask.sum() > 1:
            return found
        return reference_starts(self.family, mask).plus(found)

    def from_known(self, known: Projection, mask: NDArray[np.bool_]) -> Starts:
        """Return the starts that another submodel of the family gives a set of inputs."""
        return from_known(self.family, known.parameters, known.active, mask)

    def in_family(self, known: Projection) -> bool:
        """Say whether a submodel is of this family, rather than a null model."""
        return known.kernel == self.family.kernel

    # Fits --------------------------------------------------------------------------------------

    def begin_at(self, starts: Sequence[Starts]) -> list[MultiStartFit]:
        """Evaluate the starts of several sets of inputs, in one batch."""
        if not len(starts):
            return []
        every = starts[0].plus(*starts[1:])
        owner = np.repeat(np.arange(len(starts)), [len(own.parameters) for own in starts])
        loss = self._loss(owner, every.active)
        states = self._evaluator.begin(loss, every.parameters).split()
        lanes = iter([Lane(*one) for one in zip(every.active, states, strict=True)])
        return [
            MultiStartFit(
                np.any(own.active, axis=0),
                tuple(islice(lanes, len(own.parameters))),
                rows=self.rows,
            )
            for own in starts
        ]

    def run(self, iterations: int, fits: Sequence[MultiStartFit]) -> list[MultiStartFit]:
        """Run all lanes of several fits on, in one batch."""
        if not len(fits):
            return []
        loss, lanes = self._together(fits)
        state = concatenate_states([lane.state for lane in lanes])
        states = self._evaluator.advance(loss, state, iterations).split()
        moved = iter([lane._replace(state=own) for lane, own in zip(lanes, states, strict=True)])
        return [fit._replace(lanes=tuple(islice(moved, len(fit.lanes)))) for fit in fits]

    def present_errors(self, fits: Sequence[MultiStartFit]) -> Host:
        """Return the criterion at the best lanes of fits, `(c,)`."""
        if not len(fits):
            return np.zeros(0)
        loss, lanes = self._together([fit._replace(lanes=(fit.best,)) for fit in fits])
        parameters = np.concatenate([lane.state.x for lane in lanes])
        if self.criterion.name == self.learn.measures:
            return loss.divergences(parameters, np.array([lane.value for lane in lanes]))
        return self._evaluator.figures(loss, self.criterion, parameters)

    def projections(self, fits: Sequence[MultiStartFit]) -> list[Projection]:
        """Return the best lanes of fits that have been optimised."""
        return [
            Projection(
                kernel=self.family.kernel,
                parameters=fit.best.state.x[0],
                inputs=fit.inputs,
                active=fit.best.active,
                value=fit.best.value,
                error=float(error),
                converged=bool(fit.best.state.outcome().converged[0]),
                evaluations=fit.evaluations,
                doubt=self._doubt(fit),
            )
            for fit, error in zip(fits, self.present_errors(fits), strict=True)
        ]

    def solve(self, starts: Sequence[Starts], stages: Stages = THOROUGH) -> list[Projection]:
        """Learn the submodel of every set of inputs: all starts run, the better ones to the end."""
        return self.projections(self.optimised(starts, stages))

    def optimised(
        self, starts: Sequence[Starts], stages: Stages = THOROUGH, *, check: bool = False
    ) -> list[MultiStartFit]:
        """Return the fits of several sets of inputs at their optima.

        Parameters
        ----------
        starts : sequence of Starts
            Those of every set.
        stages : sequence of (int, float)
            How many of them run how far.
        check : bool
            Check the optima by starts all over the box.
        """
        fits = self.climbed(self._successive_halving(starts, stages))
        # Lanes that had used up their iterations get as many once more.
        return self.climbed(self.checked(fits)) if check else fits

    def climbed(self, fits: Sequence[MultiStartFit]) -> list[MultiStartFit]:
        """Run fits to their optima."""
        return self.run(MAX_ITERATIONS, fits)

    def checked(self, fits: Sequence[MultiStartFit]) -> list[MultiStartFit]:
        """Return fits at their optima after a check: starts all over the box find nothing lower.

        Where they do find something, it is checked again.
        """
        found = list(fits)
        going = [place for place, one in enumerate(found) if not self._is_perfect(one.best)]
        for turn in range(CHECKS):
            if not going:
                break
            before = [found[place].best.value for place in going]
            scattered = [
                scattered_starts(self.family, found[place].inputs, SCATTERED, turn * SCATTERED)
                for place in going
            ]
            others = self.run(MAX_ITERATIONS, self._successive_halving(scattered))
            for place, one in zip(going, others, strict=True):
                found[place] = found[place].with_lanes(one)
            pairs = zip(going, before, strict=True)
            going = [place for place, value in pairs if found[place].best.value < value - GAIN]
        return found

    def challenged(self, fit: MultiStartFit, starts: Starts) -> MultiStartFit:
        """Return a fit at its optimum with lanes from other starts that may have a lower one.

        A lane goes on as long as it is among the better ones and its last iterations have brought
        it so much lower that as many more would reach the optimum that is known.
        """
        bound, (rivals,) = fit.best.value, self.begin_at([starts])
        count = len(rivals.lanes)
        for iterations, share in CHALLENGE:
            before = [lane.value for lane in rivals.lanes]
            (moved,) = self.run(iterations, [rivals])
            falls = [old - lane.value for old, lane in zip(before, moved.lanes, strict=True)]
            going = [
                lane
                for lane, fall in zip(moved.lanes, falls, strict=True)
                if lane.value - bound <= max(fall, NEAR) and are_apart(lane, fit.best)
            ]
            going = sorted(going, key=lambda lane: lane.value)[: max(int(share * count), FINISHERS)]
            rivals = moved.with_only(going)
            if not going or all(lane.state.finished[0] for lane in going):
                break
        return fit.with_lanes(
            rivals.with_only([lane for lane in rivals.lanes if lane.value < bound + NEAR])
        )

    # Rows ----------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Number of rows that submodels are learned on."""
        return int(self.target.X.shape[-2])

    def row_divergences(self, lanes: Sequence[Lane]) -> Host:
        """Return the divergence of every row that lanes have at their present points, `(l, u)`."""
        assert isinstance(self.target, Target)
        assert self.target.left_out is not None  # every reference predicts its own rows
        return row_divergences(
            self.target.left_out,
            self.family.kernel,
            np.concatenate([lane.state.x for lane in lanes]),
            np.stack([lane.active for lane in lanes]),
        )

    def with_rivals(self, fit: MultiStartFit) -> MultiStartFit:
        """Return a fit with the best of its optima, and others that rows hardly tell from it.

        An optimum that predicts the same is the same, wherever its parameters are.
        """
        lanes = sorted(fit.lanes, key=lambda lane: lane.value)
        lanes = [lanes[0], *(lane for lane in lanes[1:] if are_apart(lane, lanes[0]))]
        if len(lanes) > 1:
            others = self._differences(lanes) > ALIKE
            lanes = [lanes[0], *compress(lanes[1:], others)][:RIVALS]
        worse = clearly_worse(self.row_divergences(lanes))
        worse[0] = False  # with its prior it is the lowest
        return fit.with_only([lane for lane, out in zip(lanes, worse, strict=True) if not out])

    def _differences(self, lanes: Sequence[Lane]) -> Host:
        """Return how much lanes differ from the first in what they predict, `(l - 1,)`.

        As a share of the variance of the reference's own predictions.
        """
        assert isinstance(self.target, Target)
        means = left_out_means(
            self.target,
            self.family.kernel,
            np.concatenate([lane.state.x for lane in lanes]),
            np.stack([lane.active for lane in lanes]),
        )
        away: Host = np.mean((means[1:] - means[0]) ** 2, axis=1)
        return away / max(self.family.signal, np.finfo(np.float64).tiny)

    def _is_perfect(self, lane: Lane) -> bool:
        """Say whether nothing can be better: divergences are not negative, and priors cost."""
        return self.learn.bounded and lane.value < PERFECT

    def _successive_halving(
        self, starts: Sequence[Starts], stages: Stages = THOROUGH
    ) -> list[MultiStartFit]:
        """Run all starts of every set a little, the better ones of them further."""
        fits = [
            fit.keep_best(1) if self._is_perfect(fit.best) else fit for fit in self.begin_at(starts)
        ]
        counts = [len(fit.lanes) for fit in fits]
        for iterations, share in stages:
            fits = [
                fit.keep_best(max(int(np.ceil(share * count)), FINISHERS))
                for fit, count in zip(self.run(iterations, fits), counts, strict=True)
            ]
        return fits

    # Batches of lanes ------------------------------------------------------------------------

    def _together(self, fits: Sequence[MultiStartFit]) -> tuple[Loss, list[Lane]]:
        """Return the lanes of several fits, and what they minimise."""
        lanes = [lane for fit in fits for lane in fit.lanes]
        owner = np.repeat(np.arange(len(fits)), [len(fit.lanes) for fit in fits])
        return self._loss(owner, np.stack([lane.active for lane in lanes])), lanes

    def _loss(self, owner: NDArray[np.intp], masks: NDArray[np.bool_]) -> Loss:
        """Return what lanes minimise, each of which belongs to one of the sets of a call."""
        return Loss(
            target=self.target.at(owner),
            family=self.family,
            masks=masks,
            learn=self.learn,
            tolerance=self.tolerance,
            scale=self.scale,
            times=self.times,
            lane_families=self.families,
            family_of_lane=owner if self.families else None,
        )

    def _doubt(self, fit: MultiStartFit) -> float:
        """Return by how much other optima that are about as good differ in what they predict."""
        best = fit.best
        others = [lane for lane in fit.lanes if is_another(lane, best)]
        if not others or not isinstance(self.target, Target):
            return 0.0
        return float(np.max(self._differences([best, *others])))


def clearly_worse(rows: Host) -> NDArray[np.bool_]:
    """Say which sums over rows exceed the smallest by more than the standard error of that, `(l,)`.

    >>> clearly_worse(np.array([[1.0, 1.0, 1.0], [1.0, 3.0, 0.5], [2.0, 2.1, 2.0]]))
    array([False, False,  True])
    """
    total = rows.sum(axis=1)
    failed: NDArray[np.bool_] = ~np.isfinite(total)
    if failed.all():
        return failed
    away = np.where(failed[:, None], 0.0, rows) - rows[np.argmin(np.where(failed, np.inf, total))]
    error = np.sqrt(rows.shape[1]) * np.std(away, axis=1, ddof=1)
    worse: NDArray[np.bool_] = failed | (away.sum(axis=1) > error)
    return worse
