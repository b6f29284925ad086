"""Searches through linear submodels, and the path that they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpproj.execute import Progress, run
from gpproj.linalg import one_blas_thread
from gpproj.priors import scales
from gpproj.projection import (
    CRITERIA,
    OBJECTIVES,
    Family,
    Figures,
    LinearSubmodel,
    Projection,
    Projector,
    mask_of,
    project_draws,
    refuse_options,
)
from gpproj.reference import Clusters, LinearReference, Reference, refuse_saving
from gpproj.search.linear_exchange import LinearSubset, followed, linear_exchanged
from gpproj.search.linear_step import (
    Seen,
    beginning,
    gaussian_step,
    iterated_step,
    recorded,
    winner,
)
from gpproj.search.path import SearchPath, Subset, Tried, relative
from gpproj.search.units import Unit, no_dearer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class LinearPath(SearchPath):
    """Linear submodels of growing size; made by searches of a linear reference.

    Errors are per observation, averages over the draws: log(sigma_perp^2 / sigma^2) / 2 for
    Gaussian noise, the mean divergence for classes and counts. All inputs have the error zero.
    """

    submodels: tuple[LinearSubmodel, ...] = ()
    """The projections, before the first step first."""
    exchanged: tuple[LinearSubmodel | None, ...] = ()
    """At each size the best one, where it is another."""

    def submodel(
        self,
        size: int,
        clusters: Clusters = None,
        n_jobs: int | None = 1,
        *,
        best: bool = False,
    ) -> LinearSubmodel:
        """Return the submodel after some steps; every draw was projected by itself.

        Parameters
        ----------
        size : int
            How many steps.
        clusters : "draws" or None
            There is no other choice.
        n_jobs : int or None
            Nothing is left to be done.
        best : bool
            The best set of that size rather than the one of the path.
        """
        refuse_options(clusters=clusters)
        steps = self._steps(size)
        other = self.exchanged[steps] if best and self.exchanged else None
        return other or self.submodels[steps]

    def with_clusters(self, clusters: Clusters) -> LinearPath:
        """Return the path itself: every draw was projected by itself, there is no other choice."""
        refuse_options(clusters=clusters)
        return self

    def along(self, reference: Reference) -> LinearPath:
        """Return the submodels of another reference on the same inputs in the same order."""
        assert isinstance(reference, LinearReference)  # made by the same recipe
        others = [own and own.units for own in self.better]
        return linear_path(reference, self.units, self.always, others)

    @property
    def nested(self) -> LinearPath:
        """The same path without the best sets of its sizes."""
        return replace(self, better=(), exchanged=())

    def summary(self) -> pd.DataFrame:
        """Return one row for each size.

        Returns
        -------
        DataFrame
            Indexed by size: the input added, the projection error, the relative error, the inputs
            of the best set of that size and its relative error, the noise standard deviation in
            units of the target (Gaussian noise only), and whether the iterations converged.
        """
        import pandas as pd

        table: dict[str, Any] = {
            "input": ["", *self.order],
            "error": self.errors,
            "relative_error": self.relative_errors,
            "best_inputs": [", ".join(self.best_inputs(size)) for size in range(len(self))],
            "best_relative_error": relative(self.best_errors, self.null_error, self.full_error),
        }
        if self.reference.training.kind.is_scaled:
            table["noise_sd"] = [np.sqrt(one.noise_variance) for one in self.submodels]
        table["converged"] = [one.converged for one in self.submodels]
        return pd.DataFrame(table, index=pd.RangeIndex(len(self), name="size"))

    def _problems_of(self, found: Projection, alone: bool = True) -> tuple[str, ...]:
        return () if found.converged else ("the iterations did not converge",)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Not offered for linear models: their draws are all there is to keep."""
        refuse_saving()


def linear_forward(
    reference: LinearReference,
    forced: tuple[int, ...],
    units: tuple[Unit, ...],
    steps: int,
    strategy: Literal["race", "exhaustive"],
    stop_below: float | None,
    exchange: bool,
    n_jobs: int | None,
    progress: bool,
) -> LinearPath:
    """Search forward from the inputs that are forced in.

    Parameters
    ----------
    reference : LinearReference
    forced : tuple of int
    units : tuple of Unit
        Candidates.
    steps : int
        At most.
    strategy : {"race", "exhaustive"}
        The same for Gaussian noise.
    stop_below : float or None
        Relative error to stop at.
    exchange : bool
        Whether other sets of each size are looked for.
    n_jobs : int or None
    progress : bool
    """
    entered: list[Unit] = []
    tried: list[Tried] = []
    with Progress("forward search", steps, enabled=progress) as display, one_blas_thread():
        null = project_draws(reference, ()).projection_error
        standing = beginning(reference, forced)
        submodels, others = [standing.submodel], list[LinearSubset | None]([None])
        left = _left(standing.submodel, null)
        while len(entered) < steps and not (stop_below is not None and left < stop_below):
            waiting = [unit for unit in units if unit not in entered]
            if reference.linear.link is None:
                seen = gaussian_step(standing, waiting)
            else:
                seen = iterated_step(standing, waiting, strategy, n_jobs)
            tried += recorded(len(entered) + 1, waiting, seen)
            best = winner(standing.submodel.projection_error, waiting, seen)
            standing = standing.entered(waiting[best], seen[best].start)
            entered.append(waiting[best])
            submodels.append(standing.submodel)
            others.append(None)
            if exchange:
                begun = others[-2] or LinearSubset(tuple(entered[:-1]), submodels[-2])
                start = LinearSubset(tuple(entered), standing.submodel)
                cheap = [unit for unit in units if no_dearer((*begun.units, unit), entered)]
                grown = followed(reference, forced, cheap, begun, strategy, n_jobs)
                if len(grown.units) == len(entered):
                    start = min(start, grown, key=lambda one: one.submodel.projection_error)
                end = linear_exchanged(reference, forced, units, start, strategy, null, n_jobs)
                if end.submodel.projection_error < standing.submodel.projection_error:
                    others[-1] = end
            left = _left(standing.submodel, null)
            display.step(len(entered), entered[-1].name, left)
    return path_of_submodels(reference, tuple(entered), submodels, null, forced, tried, others)


def linear_backward(
    reference: LinearReference,
    forced: tuple[int, ...],
    units: tuple[Unit, ...],
    steps: int,
    n_jobs: int | None,
    progress: bool,
) -> LinearPath:
    """Search backward from all inputs: every candidate is projected at every step.

    Parameters
    ----------
    reference : LinearReference
    forced : tuple of int
        Never leave.
    units : tuple of Unit
    steps : int
        How many units leave.
    n_jobs : int or None
    progress : bool
    """
    stay, removed = list(units), list[Unit]()
    tried: list[Tried] = []
    with Progress("backward search", steps, enabled=progress) as display, one_blas_thread():
        null = project_draws(reference, ()).projection_error
        chosen = (*forced, *_positions(units))
        submodels = [project_draws(reference, chosen)]
        for step in range(1, steps + 1):
            sets = [tuple(one for one in chosen if one not in unit.positions) for unit in stay]
            found = run(partial(project_draws, reference), sets, n_jobs)
            seen = [
                Seen(one.projection_error, one.evaluations, one.converged, True) for one in found
            ]
            tried += recorded(step, stay, seen)
            falls = submodels[-1].projection_error - np.array([one.error for one in seen])
            best = int(np.argmax(falls / np.array([unit.cost for unit in stay])))
            chosen = sets[best]
            removed.append(stay.pop(best))
            submodels.append(found[best])
            display.step(step, removed[-1].name, _left(found[best], null))
    entered = tuple(reversed(removed))
    return path_of_submodels(reference, entered, submodels[::-1], null, chosen, tried)


def linear_path(
    reference: LinearReference,
    units: tuple[Unit, ...],
    always: tuple[int, ...] = (),
    others: Sequence[tuple[Unit, ...] | None] = (),
) -> LinearPath:
    """Return the submodels along a given order, and on other sets of units at some sizes."""
    with one_blas_thread():
        null = project_draws(reference, ())
        submodels = [project_draws(reference, always) if always else null]
        chosen = always
        for unit in units:
            chosen = (*chosen, *unit.positions)
            submodels.append(project_draws(reference, chosen))
        exchanged = [
            None
            if own is None
            else LinearSubset(own, project_draws(reference, (*always, *_positions(own))))
            for own in others
        ]
    return path_of_submodels(
        reference, units, submodels, null.projection_error, always, others=exchanged
    )


def _positions(units: Sequence[Unit]) -> tuple[int, ...]:
    return tuple(position for unit in units for position in unit.positions)


def path_of_submodels(
    reference: LinearReference,
    units: tuple[Unit, ...],
    submodels: Sequence[LinearSubmodel],
    null_error: float,
    always: tuple[int, ...] = (),
    tried: Sequence[Tried] = (),
    others: Sequence[LinearSubset | None] = (),
) -> LinearPath:
    """Return a path of submodels that were projected.

    Parameters
    ----------
    reference : LinearReference
    units : tuple of Unit
        In the order they entered.
    submodels : sequence of LinearSubmodel
        Before the first step first.
    null_error : float
    always : tuple of int
    tried : sequence of Tried
    others : sequence of LinearSubset or None
        At each size the best set of units, where it is another.
    """
    training, kernel = reference.training, reference.structure
    signal = float(np.mean(np.var(reference.training_values, axis=1)))
    varying = np.asarray(training.varying)
    family = Family(
        kernel,
        scales(training),
        nugget=0.0,
        signal=signal,
        varying=varying,
        known=None,
        used=varying,
    )
    return LinearPath(
        reference=reference,
        # Draws are projected in closed form: there is no target that a projector would need.
        projector=Projector(
            None,  # type: ignore[arg-type]
            family,
            OBJECTIVES["projection"],
            CRITERIA["projection_error"],
        ),
        units=units,
        projections=tuple(_record(reference, one) for one in submodels),
        null_error=null_error,
        full_error=0.0,
        always=always,
        tried=tuple(tried),
        clusters="draws",
        submodels=tuple(submodels),
        better=tuple(one and Subset(one.units, _record(reference, one.submodel)) for one in others),
        exchanged=tuple(one and one.submodel for one in others),
    )


def _record(reference: LinearReference, one: LinearSubmodel) -> Projection:
    """Return what a path tells of a submodel; the weights are in the submodel itself."""
    training, error = reference.training, one.projection_error
    mask = mask_of(training.positions(one.inputs), training.d)
    return Projection(
        kernel=reference.structure,
        parameters=np.empty(0),
        inputs=mask,
        active=mask,
        value=error,
        error=error,
        converged=one.converged,
        evaluations=one.evaluations,
        figures=Figures(error, error, np.nan),
    )


def linear_leave_out(reference: LinearReference, n_jobs: int | None) -> list[float]:
    """Return the projection error without each input."""
    everything = range(reference.training.d)
    remaining = [tuple(k for k in everything if k != left) for left in everything]
    found = run(partial(project_draws, reference), remaining, n_jobs)
    return [one.projection_error for one in found]


def _left(submodel: LinearSubmodel, null: float) -> float:
    return float(relative(np.array([submodel.projection_error]), null, 0.0)[0])
