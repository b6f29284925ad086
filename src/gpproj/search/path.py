"""`SearchPath`: a sequence of growing submodels, the best ones of each size, and what they lost."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from gpproj.linalg import Host, one_blas_thread
from gpproj.projection import (
    LEFT,
    CriterionName,
    Learn,
    Projection,
    Projector,
    Submodel,
)
from gpproj.reference import Clusters, GaussianProcessReference, Reference
from gpproj.search.units import Unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


ROUNDING = 1e-10
"""A distance from null to full, relative to their size, that is no distance."""

RISEN = 1e-3
"""Rise of the relative error from one size to the next that is worth a word."""

GAINED = 1e-4
"""Fall of the relative error below which a step has improved nothing."""


class Tried(NamedTuple):
    """One candidate that a search has looked at."""

    step: int
    """The step it was a candidate of, from one."""
    input: str
    """Name of the input or group."""
    error: float
    """The best error known; the one before the step if it was not looked at."""
    evaluations: int
    """Values and gradients spent on it: how far it was optimised."""
    converged: bool
    """Whether it was optimised to convergence."""


class Searched(NamedTuple):
    """What a search on some of the rows has seen."""

    rows: int
    """How many."""
    relative_errors: tuple[float, ...]
    """At each size, on these rows."""


class Subset(NamedTuple):
    """Some units, and the submodel on them."""

    units: tuple[Unit, ...]
    projection: Projection


@dataclass(frozen=True, eq=False, repr=False)
class SearchPath:
    """Submodels of growing size, the null model first (or the inputs that are always in).

    Made by `gpproj.forward_search`, `gpproj.backward_search` and `gpproj.project_path`. `path[k]`
    is the submodel after k steps, each step adding to the one before; `path.best(k)` is the best
    one of that size that the search has found, which need not hold those of the sizes before.
    """

    reference: Reference
    projector: Projector
    """Structure and prior of the submodels, how they are learned, and what they are compared by."""
    units: tuple[Unit, ...]
    """What entered at each step: an input, or a group of them."""
    projections: tuple[Projection, ...]
    """What was learned at each size, before the first step first: one more than the steps."""
    null_error: float
    """Error of the null model."""
    full_error: float
    """Error of the submodel on all inputs: what the family itself loses."""
    always: tuple[int, ...] = ()
    """Positions of inputs that are in from the start."""
    tried: tuple[Tried, ...] = ()
    """Every candidate of every step."""
    better: tuple[Subset | None, ...] = ()
    """At each size the best set of units, where it is another one than that of the path."""
    pool: tuple[Subset, ...] = ()
    """Other sets of the last size that were learned: a search that goes on starts from them too."""
    clusters: Clusters = None
    """How many Gaussian processes each submodel is a mixture of; see `gpproj.project`."""
    recipe: Callable[[Reference], SearchPath] | None = None
    """Makes a path of the same length from another reference in the same way."""
    searched: Searched | None = None
    """What the search has seen, if it saw some of the rows only; errors are those of all rows."""

    @property
    def learn(self) -> Learn:
        """How the submodels were learned."""
        name: Learn = self.projector.learn.name  # type: ignore[assignment]  # one of them
        return name

    @property
    def criterion(self) -> CriterionName:
        """What submodels were compared by: the figure that `errors` holds."""
        return self.projector.criterion.name

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the inputs, or of their groups, in the order they entered."""
        return tuple(unit.name for unit in self.units)

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the inputs in the order they entered."""
        return tuple(position for unit in self.units for position in unit.positions)

    @property
    def errors(self) -> Host:
        """What is lost at each size, before the first step first: the figure named `criterion`."""
        return np.array([projection.error for projection in self.projections])

    @property
    def best_errors(self) -> Host:
        """What is lost by the best set of units of each size."""
        return np.array([self.best_subset(size).projection.error for size in range(len(self))])

    @property
    def relative_errors(self) -> Host:
        """`(error - full) / (null - full)`: one for the null model, zero for all inputs.

        Errors themselves move with the nugget; their differences do not. All are zero where the
        null model loses no more than all inputs do: there is nothing to explain.
        """
        return relative(self.errors, self.null_error, self.full_error)

    @property
    def candidates(self) -> pd.DataFrame:
        """Every candidate of every step: step, input, error, evaluations, converged."""
        import pandas as pd

        return pd.DataFrame(list(self.tried), columns=list(Tried._fields))

    def __len__(self) -> int:
        """Number of submodels, the null model included."""
        return len(self.projections)

    def __getitem__(self, size: int) -> Submodel:
        """Return the submodel after `size` steps."""
        return self.submodel(size, self.clusters)

    def best(self, size: int) -> Submodel:
        """Return the best submodel with as many units: that of the path, or one found besides."""
        return self.submodel(size, self.clusters, best=True)

    def best_subset(self, size: int) -> Subset:
        """Return the best set of units of a size, and what was learned on it."""
        steps = self._steps(size)
        found = self.better[steps] if self.better else None
        return found or self.nested_subset(steps)

    def nested_subset(self, size: int) -> Subset:
        """Return the first units that entered, and what was learned on them."""
        steps = self._steps(size)
        return Subset(self.units[:steps], self.projections[steps])

    def is_better(self, size: int) -> bool:
        """Say whether the best set of a size is another one than that of the path."""
        return bool(self.better) and self.better[self._steps(size)] is not None

    def best_inputs(self, size: int) -> tuple[str, ...]:
        """Return the names of the best units of a size."""
        return tuple(unit.name for unit in self.best_subset(size).units)

    def submodel(
        self,
        size: int,
        clusters: Clusters = None,
        n_jobs: int | None = 1,
        *,
        best: bool = False,
    ) -> Submodel:
        """Return the submodel after some steps, projected from some number of clusters.

        Parameters
        ----------
        size : int
            How many steps.
        clusters : int, "draws" or None
            As for `gpproj.project`: every cluster of the reference's draws is projected anew onto
            the inputs that the search has found.
        n_jobs : int or None
            Workers; -1 for all cores.
        best : bool
            The best set of that size rather than the one of the path.

        Returns
        -------
        Submodel
        """
        subset = self.best_subset(size) if best else self.nested_subset(size)
        return self.on_subset(subset, self.projector.clusters_of(clusters), n_jobs)

    def on_subset(self, subset: Subset, clusters: Clusters, n_jobs: int | None = 1) -> Submodel:
        """Return the submodel on a set of units that was learned."""
        units, found = subset
        key = (tuple(unit.name for unit in units), clusters)
        if key not in self._submodels:
            entered = (position for unit in units for position in unit.positions)
            positions = (*self.always, *entered)
            problems = self._problems_of(found)
            with one_blas_thread():
                self._submodels[key] = self.projector.submodel(
                    self.reference, found, positions, clusters, n_jobs, problems
                )
        return self._submodels[key]

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What may be wrong with the path, in sentences; empty if nothing was seen."""
        said = list(self.projector.problems())
        rises = [
            size for size, rise in enumerate(np.diff(self.relative_errors), start=1) if rise > RISEN
        ]
        if rises:
            said.append(
                f"the error rises at size {_listed(rises)}: inputs were added, and what is "
                "compared became worse although what is minimised did not"
            )
        idle = [
            size
            for size, fall in enumerate(-np.diff(self.relative_errors), start=1)
            if fall < GAINED and self.relative_errors[size - 1] > LEFT
        ]
        if idle and self.tried:
            said.append(f"no candidate improved anything at step {_listed(idle)}")
        for size, found in enumerate(self.projections):
            # That some inputs tell next to nothing by themselves is no news before all are in.
            news = self._problems_of(found, alone=bool(found.inputs.all()))
            said += [f"size {size}: {text}" for text in news]
        for size, own in enumerate(self.better):
            if own is not None:
                news = self._problems_of(own.projection, alone=False)
                said += [f"best set of size {size}: {text}" for text in news]
        return tuple(said)

    def _problems_of(self, found: Projection, alone: bool = True) -> tuple[str, ...]:
        return self.projector.problems_of(found, self.null_error, alone)

    def _steps(self, size: int) -> int:
        """Return a number of steps that was taken, or say which ones were."""
        try:
            steps = operator.index(size)
        except TypeError:
            raise TypeError(f"size must be a whole number of steps, got {size!r}") from None
        if not 0 <= steps < len(self):
            raise IndexError(f"size must be from 0 to {len(self) - 1}, got {steps}")
        return steps

    @cached_property
    def _submodels(self) -> dict[tuple[tuple[str, ...], Clusters], Submodel]:
        return {}

    def again(self, reference: Reference) -> SearchPath:
        """Return the path that the same search finds from a reference of other data."""
        if self.recipe is None:
            raise ValueError("this path does not know how it was found; search once more")
        return self.recipe(reference).with_clusters(self.clusters)

    def with_clusters(self, clusters: Clusters) -> SearchPath:
        """Return the same path with submodels that are mixtures of some number of clusters.

        Parameters
        ----------
        clusters : int, "draws" or None
            As for `gpproj.project`. A validation of the path goes by such submodels.
        """
        own = self.projector.clusters_of(clusters)
        return self if own == self.clusters else replace(self, clusters=own)

    def to(self, device: str) -> SearchPath:
        """Return the same path with its reference on a device: clusters are projected there."""
        reference = cast(GaussianProcessReference, self.reference).to(device)
        return replace(self, reference=reference, projector=self.projector.at(reference))

    @property
    def nested(self) -> SearchPath:
        """The same path without the best sets of its sizes."""
        return replace(self, better=())

    def along(self, reference: Reference) -> SearchPath:
        """Return the submodels of another reference on the same inputs in the same order."""
        from gpproj.search.given import path_along

        return path_along(reference, self)

    def summary(self) -> pd.DataFrame:
        """Return one row for each size.

        Returns
        -------
        DataFrame
            Indexed by size: the input added, the error and the relative error, the inputs of the
            best set of that size and its relative error, all divergences, the extra standard
            deviation in units of the target, and whether the optimisation converged. The column of
            `criterion` is what `error` repeats. Paths of linear submodels have no other divergence,
            and with Gaussian noise its standard deviation instead of the extra one. After a search
            on some of the rows, the relative error there stands beside the one of all rows: where
            they differ, more rows are needed.
        """
        import pandas as pd

        unit = float(self.reference.training.scaling.target_scale)
        best = relative(self.best_errors, self.null_error, self.full_error)
        table = {
            "input": ["", *self.order],
            "error": self.errors,
            "relative_error": self.relative_errors,
            **({} if self.searched is None else {"searched": self.searched.relative_errors}),
            "best_inputs": [", ".join(self.best_inputs(size)) for size in range(len(self))],
            "best_relative_error": best,
            **self.projector.columns(self.projections, unit),
            "converged": [found.converged for found in self.projections],
        }
        return pd.DataFrame(table, index=pd.RangeIndex(len(self), name="size"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the relative error against the size; see `gpproj.plots.error_curve`."""
        from gpproj.plots import error_curve

        return error_curve(self, ax=ax)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io import save

        save(self, folder, overwrite=overwrite)

    def __repr__(self) -> str:
        """Name the order and the error left."""
        steps = ", ".join(self.order) if self.units else "no steps"
        return f"SearchPath({steps}; relative error={self.relative_errors[-1]:.3f})"


def _listed(numbers: list[int]) -> str:
    """Return numbers in words: a few of them, and how many more.

    >>> _listed([2]), _listed([2, 3]), _listed([1, 2, 3, 4, 5])
    ('2', '2 and 3', '1, 2, 3 and 2 more')
    """
    shown = [str(number) for number in numbers[:3]]
    if len(numbers) > 3:
        return f"{', '.join(shown)} and {len(numbers) - 3} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def relative(errors: Host, null: float, full: float) -> Host:
    """Return errors on the scale from one (null) to zero (full).

    >>> relative(np.array([9.0, 4.0]), 9.0, 1.0)
    array([1.   , 0.375])
    >>> relative(np.array([1.0, 4.0]), 1.0, 4.0)
    array([0., 0.])
    """
    distance = null - full
    if distance <= ROUNDING * max(abs(null), abs(full)):
        return np.zeros_like(errors)
    return (errors - full) / distance


class Ends(NamedTuple):
    """The two submodels that relative errors are measured between."""

    null: Projection
    full: Projection


def ends(projector: Projector) -> Ends:
    """Return the null model, and the submodel on all inputs."""
    everything = np.ones(projector.d, dtype=bool)
    null = projector.null()
    return Ends(null, projector.project([everything], [null])[0])
