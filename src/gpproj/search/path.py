"""`SearchPath`: a sequence of growing submodels, and what each step lost."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpproj.linalg import Host, one_blas_thread
from gpproj.projection import (
    Family,
    Learn,
    Projection,
    Submodel,
    family_of,
    project_clusters,
    project_positions,
    solve_null,
)
from gpproj.reference import Clusters, Reference, check_clusters
from gpproj.search.units import Unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


ROUNDING = 1e-10
"""A distance from null to full, relative to their size, that is no distance."""


class Tried(NamedTuple):
    """One candidate that a search has looked at."""

    step: int
    """The step it was a candidate of, from one."""
    input: str
    """Name of the input or group."""
    error: float
    """The best projection error known; the one before the step if it was not looked at."""
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


@dataclass(frozen=True, eq=False, repr=False)
class SearchPath:
    """Submodels of growing size, the null model first (or the inputs that are always in).

    Made by `gpproj.forward_search`, `gpproj.backward_search` and `gpproj.project_path`. `path[k]`
    is the submodel after k steps.
    """

    reference: Reference
    family: Family
    """Structure and prior of the submodels."""
    units: tuple[Unit, ...]
    """What entered at each step: an input, or a group of them."""
    projections: tuple[Projection, ...]
    """What was learned at each size, before the first step first: one more than the steps."""
    null_error: float
    """Projection error of the null model."""
    full_error: float
    """Projection error of the submodel on all inputs: what the family itself loses."""
    always: tuple[int, ...] = ()
    """Positions of inputs that are in from the start."""
    tried: tuple[Tried, ...] = ()
    """Every candidate of every step."""
    learn: Learn = "projection"
    """How the submodels were learned."""
    clusters: Clusters = None
    """How many Gaussian processes each submodel is a mixture of; see `gpproj.project`."""
    recipe: Callable[[Reference], SearchPath] | None = None
    """Makes a path of the same length from another reference in the same way."""
    searched: Searched | None = None
    """What the search has seen, if it saw some of the rows only; errors are those of all rows."""

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
        """Projection error at each size, before the first step first."""
        return np.array([projection.projection_error for projection in self.projections])

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

    def submodel(self, size: int, clusters: Clusters = None, n_jobs: int | None = 1) -> Submodel:
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

        Returns
        -------
        Submodel
        """
        steps = self._steps(size)
        check_clusters(clusters)
        if (steps, clusters) not in self._submodels:
            entered = (position for unit in self.units[:steps] for position in unit.positions)
            positions, found = (*self.always, *entered), self.projections[steps]
            with one_blas_thread():
                self._submodels[steps, clusters] = project_clusters(
                    self.reference, self.family, found, positions, clusters, self.learn, n_jobs
                )
        return self._submodels[steps, clusters]

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
    def _submodels(self) -> dict[tuple[int, Clusters], Submodel]:
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
        check_clusters(clusters)
        return replace(self, clusters=clusters)

    def to(self, device: str) -> SearchPath:
        """Return the same path with its reference on a device: clusters are projected there."""
        return replace(self, reference=self.reference.to(device))

    def along(self, reference: Reference) -> SearchPath:
        """Return the submodels of another reference on the same inputs in the same order."""
        kernel = self.family.kernel
        return path_along(
            reference,
            family_of(reference, kernel, self.family.prior),
            self.units,
            self.always,
            self.learn,
            self.clusters,
        )

    def summary(self) -> pd.DataFrame:
        """Return one row for each size.

        Returns
        -------
        DataFrame
            Indexed by size: the input added, the projection error, the relative error, the
            posterior divergence, the extra standard deviation in units of the target, and whether
            the optimisation converged. After a search on some of the rows, the relative error
            there stands beside the one of all rows: where they differ, more rows are needed.
        """
        import pandas as pd

        unit = self.reference.training.scaling.target_scale
        extra = [np.exp(0.5 * found.parameters[-1]) * unit for found in self.projections]
        table = {
            "input": ["", *self.order],
            "error": self.errors,
            "relative_error": self.relative_errors,
            **({} if self.searched is None else {"searched": self.searched.relative_errors}),
            "posterior_kl": [found.posterior_kl for found in self.projections],
            "extra_sd": extra,
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


def path_along(
    reference: Reference,
    family: Family,
    units: tuple[Unit, ...],
    always: tuple[int, ...],
    learn: Learn,
    clusters: Clusters,
) -> SearchPath:
    """Return the submodels along a given order, each with the one before it as its parent."""
    with one_blas_thread():
        null, full = ends(reference, family, learn)
        chosen, found = always, [null]
        if always:
            found = [project_positions(reference, family, always, learn, null)]
        for unit in units:
            chosen = (*chosen, *unit.positions)
            found.append(project_positions(reference, family, chosen, learn, found[-1]))
    return SearchPath(
        reference=reference,
        family=family,
        units=units,
        projections=tuple(found),
        null_error=null.projection_error,
        full_error=full.projection_error,
        always=always,
        learn=learn,
        clusters=clusters,
    )


class Ends(NamedTuple):
    """The two submodels that relative errors are measured between."""

    null: Projection
    full: Projection


def ends(reference: Reference, family: Family, learn: Learn = "projection") -> Ends:
    """Return the null model, and the projection error of the submodel on all inputs."""
    with one_blas_thread():
        null = solve_null(reference.target, family, learn)
        everything = tuple(range(reference.training.d))
        full = project_positions(reference, family, everything, learn)
        return Ends(null, full)
