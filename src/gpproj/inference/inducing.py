"""`Sparse`: inducing points, and where they are put."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Array, Host, is_numpy, like, namespace, on_device, to_host

SparseMethod = Literal["vfe", "fitc"]
Selection = Literal["greedy", "kmeans"]

POOL = 4000
"""Rows, evenly spread over the data, that inducing points are chosen from."""

ENOUGH = 1e-6
"""Share of the largest prior variance that inducing points may leave: no more are chosen then."""

TOGETHER = 256
"""Submodels whose points are chosen at once on a device: a gigabyte."""

GREEDY = 128
"""Points of a submodel that are chosen one by one: candidates are many, and later points matter
less."""


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
        """How many points."""
        return int(self.Z.shape[0])

    def at(self, kernel: Kernel, mask: NDArray[np.bool_]) -> Inducing:
        """Return points that suit other values of the kernel; the same ones if they were given."""
        if self.given:
            return replace(self, kernel=kernel, _chosen={})
        Z = chosen(self.selection, kernel, self.X, mask, self.most or self.count)
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
            kernel = _shortened(self.kernel, mask)
            self._chosen[key] = chosen(self.selection, kernel, self.X, mask, count, GREEDY)
        return self._chosen[key]

    def choose(self, masks: NDArray[np.bool_]) -> None:
        """Choose the points of submodels, `(c, d)`, on a device: all of them at once."""
        if self.given or self.selection != "greedy" or is_numpy(self.X):
            return
        new = {mask.tobytes(): mask for mask in masks if mask.any()}
        new = {key: mask for key, mask in new.items() if key not in self._chosen}
        if not new:
            return
        pool, wanted = _pool(self.X), list(new.values())
        count = min(self.most or self.count, int(pool.shape[0]))
        every: list[NDArray[np.intp]] = []
        for first in range(0, len(wanted), TOGETHER):
            some = wanted[first : first + TOGETHER]
            kernels = [_shortened(self.kernel, mask) for mask in some]
            every += greedy_together(kernels, pool, np.stack(some), min(count, GREEDY))
        for key, rows in zip(new, every, strict=True):
            rows = _completed(rows, min(count, GREEDY), count, int(pool.shape[0]))
            self._chosen[key] = _take(pool, rows)


def _shortened(kernel: Kernel, mask: NDArray[np.bool_]) -> Kernel:
    """Return the kernel with half its length-scales, and none much longer than the data.

    Submodels may need shorter ones than the reference, and an input that it hardly used has a long
    one: points chosen by that would all have the same value of it.
    """
    d = int(mask.size)
    longest = np.log(2.0 * np.sqrt(max(int(mask.sum()), 1)))
    logs = kernel.log_parameters(d).copy()
    for place, parameter in enumerate(kernel.parameters(d)):
        if parameter.kind.is_scale:
            logs[place] = min(logs[place], longest) - np.log(2.0)
    return kernel.with_log_parameters(logs, d)


def chosen(
    selection: Selection,
    kernel: Kernel,
    X: Array,
    mask: NDArray[np.bool_],
    count: int,
    first: int | None = None,
) -> Array:
    """Return inducing points for a kernel on some inputs, `(m, d)`.

    Parameters
    ----------
    selection : {"greedy", "kmeans"}
    kernel : Kernel
    X : array `(n, d)`
    mask : bool array `(d,)`
    count : int
    first : int, optional
        How many of them are chosen one by one; the others are spread evenly over the rows. Fewer
        than `count` come back where those that were chosen are enough.
    """
    pool = to_host(_pool(X))
    count = min(count, len(pool))
    if selection == "kmeans":
        return like(_centres(pool, mask, count), X)
    wanted = count if first is None else min(count, first)
    rows = greedy(kernel, pool, mask, wanted)
    return like(pool[_completed(rows, wanted, count, len(pool))], X)


def _pool(X: Array) -> Array:
    """Return the rows that points are chosen from."""
    n = int(X.shape[0])
    return X if n <= POOL else _take(X, np.linspace(0, n - 1, POOL).astype(np.intp))


def _take(X: Array, rows: NDArray[np.intp]) -> Array:
    xp = namespace(X)
    return xp.take(X, xp.asarray(rows, device=X.device), axis=0)


def _completed(rows: NDArray[np.intp], wanted: int, count: int, n: int) -> NDArray[np.intp]:
    """Return rows with others, spread evenly, up to a count; as they are if they are enough."""
    if not len(rows) == wanted < count:
        return rows
    others = np.setdiff1d(np.arange(n), rows)
    spread = np.linspace(0, len(others) - 1, count - len(rows)).astype(np.intp)
    return np.concatenate([rows, others[spread]])


def greedy(kernel: Kernel, X: Host, mask: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
    """Return rows, each the one where those before it leave most variance.

    These are the pivots of a pivoted Cholesky factor of the covariance: O(n m^2). Fewer rows than
    asked for where they leave next to nothing.

    Parameters
    ----------
    kernel : Kernel
    X : array `(n, d)`
    mask : bool array `(d,)`
    count : int

    Examples
    --------
    >>> from gpproj.kernels import SquaredExponential
    >>> X = np.array([[0.0], [0.1], [3.0], [5.9], [6.0]])
    >>> greedy(SquaredExponential(1.0, 2.0), X, np.array([True]), 3).tolist()
    [0, 4, 2]
    """
    n, d = X.shape
    theta, mask = kernel.log_parameters(d)[None, :], mask[None, :]
    left = np.array(kernel.diagonal(theta, X, mask)[0])
    enough = ENOUGH * float(left.max())
    factor = np.zeros((count, n))
    rows: list[int] = []
    while len(rows) < count:
        k, row = len(rows), int(np.argmax(left))
        if k and left[row] <= enough:
            break
        rows.append(row)
        if left[row] <= 0.0:  # no function at all
            break
        column = kernel.cross(theta, X[row : row + 1], X, mask)[0, 0]
        factor[k] = (column - factor[:k, row] @ factor[:k]) / np.sqrt(left[row])
        left = np.maximum(left - factor[k] ** 2, 0.0)
        left[row] = 0.0
    return np.array(rows, dtype=np.intp)


def greedy_together(
    kernels: Sequence[Kernel], X: Array, masks: NDArray[np.bool_], count: int
) -> list[NDArray[np.intp]]:
    """Do the same for many kernels of one structure, `c` of them, in one batch on a device.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : array `(n, d)`
    masks : bool array `(c, d)`
    count : int
    """
    xp, (n, d), first = namespace(X), (int(size) for size in X.shape), kernels[0]
    theta = like(np.stack([kernel.log_parameters(d) for kernel in kernels]), X)
    mask = xp.asarray(masks, device=X.device)
    places = xp.arange(n, device=X.device)[None, :]
    left = first.diagonal(theta, X, mask)
    enough = ENOUGH * xp.max(left, axis=1)
    alive = enough == enough
    factor = xp.zeros((len(kernels), count, n), dtype=X.dtype, device=X.device)
    rows, taken = [], []
    for k in range(count):
        row = xp.argmax(left, axis=1)
        here = xp.astype(places == row[:, None], X.dtype)
        most = xp.sum(left * here, axis=1)
        alive = alive & (most > enough) if k else alive
        rows.append(row)
        taken.append(alive)
        alive = alive & (most > 0.0)
        column = first.cross(theta, xp.take(X, row, axis=0)[:, None, :], X, mask)[:, 0, :]
        before = factor[:, :k, :]
        known = (xp.matrix_transpose(before @ here[:, :, None]) @ before)[:, 0, :]
        scale = xp.sqrt(xp.where(alive, most, xp.ones_like(most)))[:, None]
        own = xp.where(alive[:, None], (column - known) / scale, xp.zeros_like(column))
        factor[:, k, :] = own
        left = xp.maximum(left - own**2, xp.zeros_like(left)) * (1.0 - here)
    every = to_host(xp.stack(rows, axis=1)).astype(np.intp)
    some = to_host(xp.stack(taken, axis=1)) > 0.0
    return [own[these] for own, these in zip(every, some, strict=True)]


def _centres(X: Host, mask: NDArray[np.bool_], count: int) -> Host:
    from sklearn.cluster import MiniBatchKMeans

    columns = np.flatnonzero(mask)
    points = np.broadcast_to(X.mean(axis=0), (count, X.shape[1])).copy()
    if columns.size:
        distinct = min(count, len(np.unique(X[:, columns], axis=0)))
        means = MiniBatchKMeans(distinct, n_init=3, random_state=0).fit(X[:, columns])
        points[:, columns] = means.cluster_centers_[np.arange(count) % distinct]
    return points
