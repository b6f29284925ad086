"""`Sparse`: the choice of inference through inducing points, and the points of a process."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gpproj.inference.selection import (
    BATCH,
    GREEDY,
    Selection,
    candidate_rows,
    choose_points,
    completed,
    greedy_batch,
    shortened,
    take_rows,
)
from gpproj.kernels import Kernel
from gpproj.linalg import Array, is_numpy, on_device

SparseMethod = Literal["vfe", "fitc"]


@dataclass(frozen=True, eq=False)
class Sparse:
    """Inference through inducing points, in O(n m^2) time and O(n m) memory.

    Parameters
    ----------
    inducing : int or array `(m, d)`
        How many inducing points at most (fewer where those explain all), or the points themselves,
        in the user's units.
    method : {"vfe", "fitc"}
        What hyperparameters are learned by: the collapsed variational bound, which never
        overestimates the evidence, or the evidence of the prior that is exact at single points.
        Classes and counts always have the latter.
    selection : {"greedy", "kmeans"}
        Where the points are put: rows of the data, each one where the others leave most variance;
        or centres of clusters of rows.
    optimise : bool
        Move the points of the reference by the gradient of the evidence too, once the
        hyperparameters have settled: better with few points, and slower. Gaussian noise only;
        submodels keep to points that are chosen.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=300, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y, inference=gpproj.Sparse(40))
    >>> ref.latent_cov
    LowRankCovariance(n=300, rank=40)
    """

    inducing: Any = 200
    method: SparseMethod = "vfe"
    selection: Selection = "greedy"
    optimise: bool = False

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.method not in get_args(SparseMethod):
            raise ValueError(f'method must be "vfe" or "fitc", got {self.method!r}')
        if not isinstance(self.optimise, bool):
            raise ValueError(f"optimise must be true or false, got {self.optimise!r}")
        if self.selection not in get_args(Selection):
            raise ValueError(f'selection must be "greedy" or "kmeans", got {self.selection!r}')
        if np.ndim(self.inducing) == 2:
            return
        try:
            count = operator.index(self.inducing)
        except TypeError:
            count = 0
        if isinstance(self.inducing, bool) or count < 1:
            raise ValueError(
                "inducing must be a number of points, at least one, or an array of points, one row "
                f"each; got {self.inducing!r}"
            )


@dataclass(frozen=True, eq=False)
class Inducing:
    """Inducing points on the model's scale, for a process and for its submodels.

    Parameters
    ----------
    Z : array `(m, d)`
    method : {"vfe", "fitc"}
    selection : {"greedy", "kmeans"}
    given : bool
        Whether the user chose the points; submodels then have the same.
    kernel : Kernel
        At whose values the points were chosen.
    X : array `(n, d)`
        Rows that they are chosen from.
    most : int, optional
        How many there may be, where fewer are enough for now; as many as there are when left out.
    inputs : bool array `(d,)`, optional
        Inputs that the process uses: a submodel on all of them has its points.
    """

    Z: Array
    method: SparseMethod
    selection: Selection
    given: bool
    kernel: Kernel
    X: Array
    most: int | None = None
    inputs: NDArray[np.bool_] | None = None
    _chosen: dict[bytes, Array] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """Number of points."""
        return int(self.Z.shape[0])

    def at(self, kernel: Kernel, mask: NDArray[np.bool_]) -> Inducing:
        """Return points that suit other values of the kernel; the same ones if they were given."""
        if self.given:
            return replace(self, kernel=kernel, _chosen={})
        Z = choose_points(self.selection, kernel, self.X, mask, self.most or self.count)
        return replace(self, Z=Z, kernel=kernel, inputs=mask, _chosen={})

    def moved(self, Z: Array) -> Inducing:
        """Return other points."""
        return replace(self, Z=Z, _chosen={})

    def on(self, device: str, X: Array) -> Inducing:
        """Return the same points on a device, those of submodels too; X are the rows there."""
        own = {key: on_device(points, device) for key, points in self._chosen.items()}
        return replace(self, Z=on_device(self.Z, device), X=X, _chosen=own)

    def points(self, mask: NDArray[np.bool_]) -> Array:
        """Return the inducing points of submodels on some inputs, `(m, d)`, chosen once."""
        if self.given or (self.inputs is not None and not np.any(self.inputs & ~mask)):
            return self.Z
        key = np.asarray(mask).tobytes()
        if key not in self._chosen:
            self.choose(np.asarray(mask)[None, :])
        if key not in self._chosen:
            count = (self.most or self.count) if np.any(mask) else 1
            kernel = shortened(self.kernel, mask)
            self._chosen[key] = choose_points(self.selection, kernel, self.X, mask, count, GREEDY)
        return self._chosen[key]

    def choose(self, masks: NDArray[np.bool_]) -> None:
        """Choose the points of submodels, `(c, d)`, on a device: all of them at once."""
        if self.given or self.selection != "greedy" or is_numpy(self.X):
            return
        new = {mask.tobytes(): mask for mask in masks if mask.any()}
        new = {key: mask for key, mask in new.items() if key not in self._chosen}
        if not new:
            return
        pool, wanted = candidate_rows(self.X), list(new.values())
        count = min(self.most or self.count, int(pool.shape[0]))
        every: list[NDArray[np.intp]] = []
        for first in range(0, len(wanted), BATCH):
            some = wanted[first : first + BATCH]
            kernels = [shortened(self.kernel, mask) for mask in some]
            every += greedy_batch(kernels, pool, np.stack(some), min(count, GREEDY))
        for key, rows in zip(new, every, strict=True):
            rows = completed(rows, min(count, GREEDY), count, int(pool.shape[0]))
            self._chosen[key] = take_rows(pool, rows)
