"""What every covariance function offers, whatever its shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import positive
from gpproj.kernels.kinds import ParameterKind
from gpproj.linalg import Array, Host, like, namespace

Mask = NDArray[np.bool_]
"""`(b, d)`: which inputs are in, lane by lane."""


class Parameter(NamedTuple):
    """One hyperparameter of a kernel bound to `d` inputs."""

    kind: ParameterKind
    """What it measures, hence which bounds, units, starts and priors it gets."""
    input: int | None
    """The position of its input, or None for a parameter of the whole component."""

    @property
    def name(self) -> str:
        """What it is called in tables: `signal_variance`, `lengthscale`, ..."""
        return self.kind.name


class Evaluation(ABC):
    """Covariances of points, ready for the pull-back of a gradient.

    `G` is the gradient of some objective with respect to the value, of the same shape: of one set
    of points with itself a symmetric matrix per lane.
    """

    value: Array
    """`(b, n, n)`, or `(b, n, m)` of two sets, or `(b, n)` of points with themselves; treat as
    read-only."""

    @property
    def addend(self) -> Array:
        """The value, or less that broadcasts to it: what a sum needs of one of its terms."""
        return self.value

    @abstractmethod
    def pull_back(self, G: Array) -> Array:
        """Return `sum_ij G_ij dK_ij / dlog(parameter)`, `(b, p)`; zero for inputs that are out."""

    @abstractmethod
    def slopes(self, G: Array) -> Array:
        """Return `sum_ij G_ij dK_ij / d(relevance of input j)`, `(b, d)`, for inputs in or out.

        The relevance is the inverse squared length-scale, or the variance of a linear effect;
        inputs of several components move their relevances together.
        """


class Kernel(ABC):
    """A covariance function `k(x, x')` and its values.

    The flat vector of log parameters of a kernel bound to `d` inputs, `(p,)`, is laid out by
    `parameters(d)`. Batched methods take one such vector per lane, `(b, p)`, and a mask of the
    inputs that are in, `(b, d)`; both may be on the host or beside the points. An input that is
    out has no influence at all, as if its column were deleted; a component without inputs is the
    limit of zero relevance: a constant for stationary kernels, nothing for linear ones.
    """

    @abstractmethod
    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return what each entry of the flat parameter vector is."""

    @abstractmethod
    def log_parameters(self, d: int) -> Host:
        """Return the logarithms of the kernel's values, `(p,)`."""

    @abstractmethod
    def with_log_parameters(self, log_parameters: Host, d: int) -> Kernel:
        """Return the kernel of the same structure with other values."""

    def structure(self, d: int) -> Kernel:
        """Return the kernel with all values one: equal for kernels of the same structure."""
        return self.with_log_parameters(np.zeros(len(self.parameters(d))), d)

    @abstractmethod
    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`, for a batch of parameter vectors."""

    @abstractmethod
    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, `(b, n, m)`; either set may differ from lane to lane.

        Parameters
        ----------
        log_parameters : array `(b, p)`
        X : array `(n, d)` or `(b, n, d)`
        Z : array `(m, d)` or `(b, m, d)`
        mask : bool array `(b, d)`
        """

    @abstractmethod
    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`, at `X`, `(n, d)` or `(b, n, d)`."""

    def cross(self, log_parameters: Host, X: Array, X_new: Array, mask: Mask) -> Array:
        """Return `k(X, X_new)`, `(b, n, m)`."""
        return self.evaluate_cross(log_parameters, X, X_new, mask).value

    def diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return `k(x_i, x_i)`, `(b, n)`."""
        return self.evaluate_diagonal(log_parameters, X, mask).value

    @abstractmethod
    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return `sum_i weights_im dk(x_i, x_m) / dx_mj`, `(b, m, d)`, with x_m from `X_new`.

        Zero for inputs that are out. The weights, `(b, n, m)`, spare an array over n, m and d.
        """

    @abstractmethod
    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return `dk(x_i, x_i) / dx_ij`, `(b, n, d)`, zero for inputs that are out."""

    @abstractmethod
    def scaled(self, factor: float) -> Kernel:
        """Return the kernel `factor k(x, x')`."""

    @abstractmethod
    def restricted(self, positions: Sequence[int], d: int) -> Kernel:
        """Return the kernel of some of its `d` inputs, in the order of their positions."""

    @abstractmethod
    def without_inputs(self) -> Kernel:
        """Return the kernel of the null model: the constants that stand in a sum of their own.

        A stationary component without inputs would be one more constant; the null model has only
        the constants of the kernel itself.
        """

    def __call__(
        self, X: Array, X_new: Array | None = None, *, inputs: Sequence[int] | None = None
    ) -> Array:
        """Return the covariance matrix of two sets of points.

        Parameters
        ----------
        X : array `(n, d)`
        X_new : array `(m, d)`, optional
            `X` again when left out.
        inputs : sequence of int, optional
            Positions of the inputs that are in; all of them when left out, none when empty.

        Returns
        -------
        array `(n, m)`
        """
        X = like(X, X) if hasattr(X, "dtype") else np.asarray(X, dtype=np.float64)
        d = int(X.shape[1])
        mask = np.ones((1, d), dtype=bool)
        if inputs is not None:
            mask[:] = False
            mask[0, list(inputs)] = True
        log_parameters = self.log_parameters(d)[None, :]
        if X_new is None:
            return self.evaluate(log_parameters, X, mask).value[0, :, :]
        return self.cross(log_parameters, X, like(X_new, X), mask)[0, :, :]

    def __add__(self, other: Kernel) -> Kernel:
        """Return the kernel of the sum of two independent functions."""
        from gpproj.kernels.combinations import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel) -> Kernel:
        """Return the product of two kernels."""
        from gpproj.kernels.combinations import Product

        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """Return the values that make two kernels equal."""

    def __eq__(self, other: object) -> bool:
        """Compare structure and values."""
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash structure and values."""
        return hash((type(self).__name__, self._key()))


def by_lane(X: Array) -> Array:
    """Return points as `(b, n, d)`, or `(1, n, d)` where all lanes have the same."""
    return X if X.ndim == 3 else X[None, :, :]


def own(X: Array, lane: int) -> Array:
    """Return the points of one lane, `(n, d)`, out of what `by_lane` gives."""
    return X[lane if X.shape[0] > 1 else 0, :, :]


def no_gradient(log_parameters: Host, X: Array) -> Array:
    """Return the gradient of what does not change with the points, `(b, n, d)`."""
    shape = (log_parameters.shape[0], X.shape[0], X.shape[1])
    return namespace(X).zeros(shape, dtype=X.dtype, device=X.device)


def positive_per_input(name: str, values: Any) -> float | tuple[float, ...]:
    """Return one positive number, or a tuple with one for each input."""
    if np.ndim(values) == 0:
        return positive(name, values)
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(
            f"{name} must be a number or one number for each input, got shape {np.shape(values)}"
        )
    return tuple(positive(f"{name}[{j}]", value) for j, value in enumerate(values))


def for_each_input(name: str, values: float | tuple[float, ...], d: int) -> Host:
    """Return the values of `d` inputs, repeating a single one."""
    if isinstance(values, tuple) and len(values) != d:
        raise ValueError(f"{name} has {len(values)} values, but there are {d} inputs")
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (d,))


def show(values: float | tuple[float, ...]) -> str:
    """Return values in a short form for a representation."""
    if isinstance(values, tuple):
        return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"
    return f"{values:.4g}"
