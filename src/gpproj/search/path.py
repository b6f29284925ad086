"""`SearchPath`: a sequence of growing submodels, and what each step lost."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpproj.linalg import Host, one_blas_thread
from gpproj.projection import (
    Family,
    Learn,
    Projection,
    Submodel,
    project_positions,
    solve_null,
    submodel_of,
)
from gpproj.reference import Reference

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Tried(NamedTuple):
    """One candidate that a search has looked at."""

    step: int
    """Size of the submodel it would have made."""
    input: str
    error: float
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class SearchPath:
    """Submodels of growing size, the null model first.

    Made by `gpproj.forward_search` and `gpproj.project_path`. `path[k]` is the submodel after k
    steps.
    """

    reference: Reference
    positions: tuple[int, ...]
    """Positions of the inputs in the order they entered."""
    projections: tuple[Projection, ...]
    """What was learned at each size, the null model first: one more than the inputs."""
    full_error: float
    """Projection error of the submodel on all inputs: what the family itself loses."""
    tried: tuple[Tried, ...] = ()
    """Every candidate of every step."""

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the inputs in the order they entered."""
        return tuple(self.reference.feature_names[position] for position in self.positions)

    @property
    def errors(self) -> Host:
        """Projection error at each size, the null model first."""
        return np.array([projection.projection_error for projection in self.projections])

    @property
    def null_error(self) -> float:
        """Projection error of the null model."""
        return self.projections[0].projection_error

    @property
    def relative_errors(self) -> Host:
        """`(error - full) / (null - full)`: one for the null model, zero for all inputs.

        Errors themselves move with the nugget; their differences do not.
        """
        return (self.errors - self.full_error) / (self.null_error - self.full_error)

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
        try:
            steps = operator.index(size)
        except TypeError:
            raise TypeError(f"size must be a whole number of steps, got {size!r}") from None
        if not 0 <= steps < len(self):
            raise IndexError(f"size must be from 0 to {len(self) - 1}, got {steps}")
        with one_blas_thread():
            return submodel_of(self.reference, self.projections[steps], self.positions[:steps])

    def summary(self) -> pd.DataFrame:
        """Return one row for each size.

        Returns
        -------
        DataFrame
            Indexed by size: the input added, the projection error, the relative error, the
            posterior divergence, the extra standard deviation in units of the target, and whether
            the optimisation converged.
        """
        import pandas as pd

        unit = self.reference.training.scaling.target_scale
        extra = [np.exp(0.5 * found.parameters[-1]) * unit for found in self.projections]
        table = {
            "input": ["", *self.order],
            "error": self.errors,
            "relative_error": self.relative_errors,
            "posterior_kl": [found.posterior_kl for found in self.projections],
            "extra_sd": extra,
            "converged": [found.converged for found in self.projections],
        }
        return pd.DataFrame(table, index=pd.RangeIndex(len(self), name="size"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the relative error against the size; see `gpproj.plots.error_curve`."""
        from gpproj.plots import error_curve

        return error_curve(self, ax=ax)

    def __repr__(self) -> str:
        """Name the order and the error left."""
        steps = ", ".join(self.order) if self.positions else "null model only"
        return f"SearchPath({steps}; relative error={self.relative_errors[-1]:.3f})"


def ends(
    reference: Reference, family: Family, learn: Learn = "projection"
) -> tuple[Projection, float]:
    """Return the null model, and the projection error of the submodel on all inputs."""
    with one_blas_thread():
        null = solve_null(reference.target, family, learn)
        everything = tuple(range(reference.training.d))
        return null, project_positions(reference, family, everything, learn).projection_error
