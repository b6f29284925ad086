"""`StagedProjector`: submodels are learned on a few rows first, and only the best of them on all.

What decides between most sets of inputs shows on a few rows, at a small part of the price: an
evaluation takes the cube of their number. So candidates run on a few rows until they are compared.
The divergences of two submodels a and b are sums over the same rows there, and differ by

    sum_i (e_ai - e_bi)   with the standard error   sqrt(u) sd_i(e_ai - e_bi);

a candidate leaves only if it is worse by more than that error. Those that stay, and all that a
search returns, are learned on all rows: from the optimum on few rows, and with the curvature that
was found on the way there, so that a few evaluations are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import Inducing, greedy
from gpproj.linalg import Host, is_numpy, to_host
from gpproj.projection.loss import LOOSE
from gpproj.projection.multistart import Lane, MultiStartFit
from gpproj.projection.process_projector import ProcessProjector, start_at
from gpproj.projection.projections import Projection
from gpproj.projection.protocol import Learned, Projector
from gpproj.projection.solver import MAX_ITERATIONS, THOROUGH, Stages, clearly_worse
from gpproj.projection.some_rows import spread_rows, stage_sizes, target_on
from gpproj.projection.starts import Starts
from gpproj.reference import Reference, Target, TargetReference

CONTENDERS = 3
"""Candidates that are learned on all rows at most, where few rows cannot tell them apart."""

LOW_RANK = 1000
"""Rows from which on submodels of low rank are learned through pivots."""

RANK = 0.2
"""Pivots over rows at most: with more of them an evaluation is not much cheaper."""

RESIDUAL = 1e-4
"""Variance that pivots may leave at a row, over the extra variance and that of the noise."""

NEGLIGIBLE = 1e-4
"""Relative error of the objective through pivots that needs no repair."""

ON_ALL = 0.08
"""Share of the evaluations of a search that are on all rows, about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StagedProjector(ProcessProjector):
    """Projects a reference, and sees on a few rows what is worth learning on all of them.

    Parameters
    ----------
    few : ProcessProjector
        The same projector for the reference of a few of the rows; it may have stages itself.
    ends : (float, float), optional
        Errors on all rows of the null model and of the submodel on all inputs.
    few_ends : (float, float), optional
        The same on few rows.
    """

    few: ProcessProjector
    ends: tuple[float, float] | None = None
    few_ends: tuple[float, float] | None = None

    @property
    def whole(self) -> ProcessProjector:
        """The same projector without stages."""
        return ProcessProjector(**_fields_of(self))

    def of(self, reference: Reference) -> Projector:
        """Return the same projector of a reference of other data, with stages of its own."""
        return staged(self.whole.of(reference), reference)

    def at(self, reference: Reference) -> ProcessProjector:
        """Return the same projector of the same reference on another device, without stages."""
        return self.whole.at(reference)

    @property
    def first(self) -> ProcessProjector:
        """The projector of the fewest rows."""
        return self.few.first

    def with_tolerance(self, tolerance: float) -> StagedProjector:
        """Return the same projector with another tolerance.

        On few rows it stays that of candidates: optima there are starts, and are compared by
        differences that chance exceeds by far.
        """
        return replace(
            self, tolerance=tolerance, few=self.few.with_tolerance(max(tolerance, LOOSE))
        )

    def on_scale(self, scale: float) -> StagedProjector:
        """Return the same projector with a tolerance that is relative to so many nats at least."""
        few = self.few.on_scale(scale * self.few.rows / (self.times * self.rows))
        return replace(self, scale=max(scale, 1.0), few=few)

    @cached_property
    def loose(self) -> StagedProjector:
        """The same projector with the tolerance of candidates, which are only compared."""
        return self.with_tolerance(LOOSE)

    @cached_property
    def without_inputs(self) -> StagedProjector:
        """The projector of null models, at every stage."""
        own = super().without_inputs
        return replace(self, family=own.family, few=self.few.without_inputs)

    def between(self, null: Projection, full: Projection) -> StagedProjector:
        """Return the projector whose `errors` are on the scale of those on all rows.

        Parameters
        ----------
        null, full : Projection
            The null model, and the submodel on all inputs.
        """
        few_null, few_full = (self.few.again(one) for one in (null, full))
        return replace(
            self.on_scale(abs(null.value)),
            few=self.few.between(few_null, few_full),
            ends=(null.error, full.error),
            few_ends=(few_null.error, few_full.error),
        )

    # From few rows to all ----------------------------------------------------------------------

    def optimised(
        self, starts: Sequence[Starts], stages: Stages = THOROUGH, *, check: bool = False
    ) -> list[MultiStartFit]:
        """Run all starts of several sets on few rows, and the best optima of each on all."""
        fits = self.first.optimised(starts, stages, check=check)
        return self.climbed([self.first.with_rivals(fit) for fit in fits])

    def climbed(self, fits: Sequence[MultiStartFit]) -> list[MultiStartFit]:
        """Run fits to their optima, from one stage to the next until that of all rows."""
        below = [fit for fit in fits if fit.rows != self.rows]
        risen = iter([self._risen(fit) for fit in self.few.climbed(below)])
        return [
            next(risen) if fit.rows != self.rows else self.run(MAX_ITERATIONS, [fit])[0]
            for fit in fits
        ]

    def _risen(self, fit: MultiStartFit) -> MultiStartFit:
        """Run a fit from its optimum on few rows to that on these.

        Submodels of few inputs have covariances of low rank, and learn through pivots of them: what
        they come to is evaluated as it is, and optimised further if the pivots were too few.
        """
        rank = self._low_rank_target(fit) if self.rows >= LOW_RANK else None
        own = self if rank is None else replace(self, target=rank)
        factor = self.times * self.rows / self.few.rows
        end = own._continued(fit, factor)
        if rank is None:
            return end
        loss, lanes = self._together([end])
        parameters = np.concatenate([lane.state.x for lane in lanes])
        values = self._evaluator.figures(loss, self.criterion, parameters)
        values = values - loss.divergences(parameters, np.zeros(len(lanes)))
        away = np.abs(values - [lane.value for lane in lanes])
        moved = tuple(
            lane._replace(state=lane.state.with_values(values[[place]]))
            for place, lane in enumerate(lanes)
        )
        if np.all(away <= NEGLIGIBLE * np.maximum(1.0, np.abs(values))):
            return end._replace(lanes=moved)
        return self._continued(end, 1.0)

    def _low_rank_target(self, fit: MultiStartFit) -> Target | None:
        """Return a target with pivots of the submodel's covariance, None if the rank is high."""
        target, best, kernel = self._target, fit.best, self.family.kernel
        left_out = target.left_out
        assert left_out is not None  # every reference predicts its own rows
        if left_out.inducing is not None or left_out.blocks is not None:
            return None
        theta = best.state.x[0]
        kernel = kernel.with_log_parameters(theta[:-1], self.d)
        X = to_host(left_out.X)
        tau = float(np.median(to_host(left_out.site_precision)))
        enough = RESIDUAL * (np.exp(theta[-1]) + 1.0 / tau)
        most = int(RANK * len(X))
        rows = greedy(kernel, X, best.active, most + 1, enough)
        if len(rows) > most:
            return None
        points = Inducing(X[rows], "fitc", "greedy", True, kernel, X)
        return replace(target, left_out=replace(left_out, inducing=points))

    def _continued(self, fit: MultiStartFit, factor: float) -> MultiStartFit:
        """Run a fit on these rows from where it ended, with the curvature that was found there.

        Parameters
        ----------
        fit : MultiStartFit
        factor : float
            How many times as many rows these are.
        """
        loss, lanes = self._together([fit])
        begun = self._evaluator.begin(loss, np.concatenate([lane.state.x for lane in lanes]))
        moved = tuple(
            Lane(lane.active, own.with_memory(lane.state.memory.scaled(factor)))
            for lane, own in zip(lanes, begun.split(), strict=True)
        )
        begun_fit = fit._replace(lanes=moved, spent=fit.evaluations, rows=self.rows)
        return self.run(MAX_ITERATIONS, [begun_fit])[0]

    def refine(self, found: Projection) -> Projection:
        """Return a submodel that was learned as a candidate, learned from other starts besides.

        Nothing is learned on all rows where few rows show no other optimum that may be better.
        """
        starts, first = self.refining_starts(found), self.first
        if starts is None:
            return found
        (own,) = first.climbed(first.begin_at([start_at(found)]))
        fit = first.with_rivals(first.challenged(own, starts))
        others = [lane for lane in fit.lanes if lane is not own.best]
        if not others:
            return found
        end = self.projections(self.climbed([fit.with_only(others)]))[0]
        end = end._replace(inputs=found.inputs, evaluations=found.evaluations + end.evaluations)
        return self.not_worse(end, [found])

    # Candidates of a search --------------------------------------------------------------------

    def entry_slopes(self, known: Projection) -> Host:
        """Return the slope of the objective in the relevance of every input, on few rows."""
        return self.first.entry_slopes(known)

    def begin(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection],
        iterations: int,
        *,
        near: bool = False,
        learned: Learned | None = None,
    ) -> list[MultiStartFit]:
        """Begin several sets from the same known submodels, and run them a little, on few rows."""
        return self.first.begin(sets, known, iterations, near=near, learned=learned)

    def advance(self, fits: Sequence[MultiStartFit], iterations: int) -> list[MultiStartFit]:
        """Run fits on for some iterations, on few rows."""
        return self.first.advance(fits, iterations)

    def errors(self, fits: Sequence[MultiStartFit]) -> Host:
        """Return what the criterion of fits would be on all rows, judging by few of them."""
        return self._scaled(self.first.errors(fits))

    def contenders(
        self, fits: Sequence[MultiStartFit], known: Sequence[Projection] = ()
    ) -> list[MultiStartFit | None]:
        """Return the fits that may be the best of all, judging by few rows; None for the others.

        Parameters
        ----------
        fits : sequence of MultiStartFit
        known : sequence of Projection
            Submodels that they compete with.
        """
        few = self.loose.few
        left = few.contenders(fits, known)
        places = [place for place, fit in enumerate(left) if fit is not None]
        rivals = few.first.begin_at([start_at(one) for one in known if self.in_family(one)])
        every = few.climbed([*(fit for fit in left if fit is not None), *rivals])
        found: list[MultiStartFit | None] = [None] * len(left)
        if places:
            rows = few.row_divergences([fit.best for fit in every])
            excess = rows.sum(axis=1)[: len(places)]
            stay = np.flatnonzero(~clearly_worse(rows)[: len(places)])
            if not stay.size and not rivals:  # none could be factorised, and one has to be returned
                stay = np.arange(1)
            for rank in stay[np.argsort(excess[stay], kind="stable")][:CONTENDERS].tolist():
                found[places[rank]] = every[rank]
        return found

    def settle(self, fits: Sequence[MultiStartFit]) -> list[Projection]:
        """Return submodels learned on few rows, good enough for others to start from."""
        ended = self.first.finish(fits)
        errors = self._scaled(np.array([one.error for one in ended]))
        return [one._replace(error=float(e)) for one, e in zip(ended, errors, strict=True)]

    def finish(self, fits: Sequence[MultiStartFit]) -> list[Projection]:
        """Run fits to convergence on all rows."""
        own = self.loose
        return own.projections(own.climbed(fits))

    def seconds(self, found: Projection) -> float:
        """Return about how long one value and gradient of a candidate take, on few rows or all."""
        return self.first.seconds(found) + ON_ALL * super().seconds(found)

    def _scaled(self, errors: Host) -> Host:
        """Return errors on the fewest rows on the scale of all: relative errors are the same."""
        if isinstance(self.few, StagedProjector):
            errors = self.few._scaled(errors)
        if self.ends is None or self.few_ends is None:
            return errors * (self.times * self.rows / self.few.rows)
        (null, full), (few_null, few_full) = self.ends, self.few_ends
        span = max(few_null - few_full, np.finfo(np.float64).tiny)
        return full + (errors - few_full) * ((null - full) / span)


def staged(projector: Projector, reference: Reference) -> Projector:
    """Return the projector with stages of fewer rows, where it learns by rows and there are many.

    Parameters
    ----------
    projector : Projector
    reference : Reference
        Its reference.
    """
    if not (
        isinstance(projector, ProcessProjector)
        and isinstance(reference, TargetReference)
        and projector.learn.rows
        and projector.criterion.rows
        and is_numpy(reference.target.X)
    ):
        return projector
    found: ProcessProjector | None = None
    for count in stage_sizes(reference.training.n):
        rows = spread_rows(reference.training, count)
        own = replace(projector, target=target_on(reference, rows), times=1.0)
        found = own if found is None else _over(own, found)
    return projector if found is None else _over(projector, found)


def _over(projector: ProcessProjector, few: ProcessProjector) -> StagedProjector:
    """Return a projector above one of fewer rows."""
    return StagedProjector(**_fields_of(projector), few=few.with_tolerance(LOOSE))


def _fields_of(projector: ProcessProjector) -> dict[str, Any]:
    return {field.name: getattr(projector, field.name) for field in fields(ProcessProjector)}
