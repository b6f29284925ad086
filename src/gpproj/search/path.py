"""`SearchPath`: a sequence of growing submodels, the best ones of each size, and what they lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpproj.linalg import Host, one_blas_thread
from gpproj.notebook import card
from gpproj.projection import CriterionName, Learn, Projection, Projector, Submodel
from gpproj.recipes import starting_from
from gpproj.reference import Clusters, GaussianProcessReference, Reference
from gpproj.search.problems import problems_of_path
from gpproj.search.results import CandidateRecord, RowSample, Subset, relative
from gpproj.search.units import Unit, whole_number
from gpproj.search.visited import Visited

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

KEPT = 2**26
"""Numbers, of all submodels together, that are kept for further predictions: half a gigabyte."""


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
    candidate_records: tuple[CandidateRecord, ...] = ()
    """Every candidate of every step."""
    better: tuple[Subset | None, ...] = ()
    """At each size the best set of units, where it is another one than that of the path."""
    pool: tuple[Subset, ...] = ()
    """Other sets of the last size that were learned: a search that goes on starts from them too."""
    clusters: Clusters = None
    """How many Gaussian processes each submodel is a mixture of; see `gpproj.project`."""
    recipe: Callable[..., SearchPath] | None = None
    """Makes a path of the same length from another reference in the same way."""
    searched: RowSample | None = None
    """What the search has seen, if it saw some of the rows only; errors are those of all rows."""
    visited: Visited | None = None
    """Where the submodels have come to of all sets that the search has looked at."""

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

        return pd.DataFrame(list(self.candidate_records), columns=list(CandidateRecord._fields))

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

    def alternatives(
        self,
        size: int,
        most: int = 5,
        n_jobs: int | None = 1,
        *,
        inputs: Iterable[str] | None = None,
    ) -> pd.DataFrame:
        """Return what could stand in for each input of the best submodel of a size.

        Parameters
        ----------
        size : int
        most : int
            Stand-ins of each input, or group, that are learned to the end: the most promising ones.
        n_jobs : int or None
            Workers; -1 for all cores.
        inputs : iterable of str, optional
            Inputs, or groups, of that submodel that others are to stand in for; all when left out.

        Returns
        -------
        DataFrame
            Of each input that is in, first without a stand-in, then with the cheapest ones:
            `error` of the submodel; `cost`, its rise as a share of what all inputs explain;
            `replaced`, the share of what the input adds that its stand-in gives, NaN where it adds
            next to nothing; and whether it is `interchangeable`, giving 95 % of that or more. A
            cost below zero, and a share above one, says that the set with the stand-in is better.

        Examples
        --------
        >>> import gpproj
        >>> import numpy as np
        >>> X, noise = np.split(np.random.default_rng(0).standard_normal((40, 4)), [3], axis=1)
        >>> X[:, 2] = X[:, 0] + 0.01 * X[:, 2]
        >>> path = gpproj.project_path(gpproj.fit(X, X[:, 0] + X[:, 1] + 0.3 * noise[:, 0]), [0, 1])
        >>> table = path.alternatives(2)
        >>> table.loc[table["interchangeable"], ["input", "stand_in"]].values.tolist()
        [['x0', 'x2']]
        """
        import pandas as pd

        from gpproj.search.alternatives import Alternative, alternatives_of

        self._steps(size)
        if whole_number("most", most) < 1:
            raise ValueError(f"most must be at least 1, got {most}")
        found = alternatives_of(self, size, most, n_jobs, inputs)
        return pd.DataFrame(found, columns=list(Alternative._fields))

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
        known = self._submodels
        if key not in known:
            entered = (position for unit in units for position in unit.positions)
            positions = (*self.always, *entered)
            problems = self.projector.problems_of(found, self.null_error)
            with one_blas_thread():
                made = self.projector.submodel(
                    self.reference, found, positions, clusters, n_jobs, problems
                )
            each = self.reference.training.n**2
            while known and each * sum(one.clusters for one in (*known.values(), made)) > KEPT:
                del known[next(iter(known))]
            known[key] = made
        return known[key]

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What may be wrong with the path, in sentences; empty if nothing was seen."""
        return problems_of_path(self)

    def _steps(self, size: int) -> int:
        """Return a number of steps that was taken, or say which ones were."""
        steps = whole_number("size", size)
        if not 0 <= steps < len(self):
            raise IndexError(f"size must be from 0 to {len(self) - 1}, got {steps}")
        return steps

    @cached_property
    def _completed(self) -> tuple[Projection, ...]:
        """The projections with all divergences, some of which take long and nothing goes by."""
        return tuple(self.projector.with_figures(one) for one in self.projections)

    @property
    def computed_projections(self) -> tuple[Projection, ...]:
        """The projections, with all divergences if somebody has asked for them."""
        return self._completed if "_completed" in self.__dict__ else self.projections

    @cached_property
    def _submodels(self) -> dict[tuple[tuple[str, ...], Clusters], Submodel]:
        return {}

    def repeat(self, reference: Reference) -> SearchPath:
        """Return the path that the same search finds from a reference of other data."""
        return self._again(reference)

    def repeat_nearby(self, reference: Reference) -> SearchPath:
        """Return the path that the same search finds from a reference of nearly the same data.

        Where the search can, it starts from what this one has learned.
        """
        if self.recipe is None or self.visited is None:
            return self._again(reference)
        return self._again(reference, **starting_from(self.recipe, self))

    def _again(self, reference: Reference, **begun: Any) -> SearchPath:
        if self.recipe is None:
            raise ValueError("this path does not know how it was found; search once more")
        return self.recipe(reference, **begun).with_clusters(self.clusters)

    @property
    def refined(self) -> frozenset[bytes]:
        """Sets that were learned with all care, by the bytes of their masks."""
        own = [*self.projections, *(one.projection for one in self.better if one is not None)]
        varying = self.projector.varying
        return frozenset((one.inputs & varying).tobytes() for one in own)

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

    def reproject(self, reference: Reference) -> SearchPath:
        """Return the submodels of another reference on the same inputs in the same order."""
        from gpproj.search.given import reprojected

        return reprojected(reference, self)

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
            **self.projector.columns(self._completed, unit),
            "converged": [found.converged for found in self.projections],
        }
        return pd.DataFrame(table, index=pd.RangeIndex(len(self), name="size"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the relative error against the size; see `gpproj.plots.error_curve`."""
        from gpproj.plots import error_curve

        return error_curve(self, ax=ax)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io.saving import save

        save(self, folder, overwrite=overwrite)

    def _repr_html_(self) -> str:
        """Show what entered at each step and what was lost, in a notebook."""
        best = relative(self.best_errors, self.null_error, self.full_error)
        rows = [
            (size, name, float(error), ", ".join(self.best_inputs(size)), float(lowest))
            for size, (name, error, lowest) in enumerate(
                zip(("", *self.order), self.relative_errors, best, strict=True)
            )
        ]
        names = [self.reference.feature_names[position] for position in self.always]
        facts = {
            "learned by": self.learn,
            "compared by": self.criterion,
            "always in": ", ".join(self.reference.training.columns_of(names)) or None,
        }
        columns = ("size", "input", "relative error", "best set", "its relative error")
        return card(type(self).__name__, facts, columns, rows, self.problems)

    def __repr__(self) -> str:
        """Name the order and the error left."""
        steps = ", ".join(self.order) if self.units else "no steps"
        return f"SearchPath({steps}; relative error={self.relative_errors[-1]:.3f})"
