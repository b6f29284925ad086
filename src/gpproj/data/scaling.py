"""Standardisation: from the user's units to the model's scale and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import array_api_compat.numpy as host
import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from gpproj.data.transformations import Transformation
from gpproj.linalg import Array, like, namespace, to_host


class Moments(NamedTuple):
    """Column moments of a set of rows."""

    mean: Array
    """(d,): a constant column's mean is its value, exactly."""
    variance: Array
    """(d,): population variance; infinite where it overflows."""
    varying: Array
    """(d,): False where the largest and the smallest value are the same."""


def moments(values: Array) -> Moments:
    """Mean, variance and constancy along the first axis.

    Parameters
    ----------
    values : Array (n, d) or (n,)

    Examples
    --------
    >>> import numpy as np
    >>> moments(np.array([[1.0, 0.1], [3.0, 0.1]])).variance
    array([1., 0.])
    """
    xp = namespace(values)
    smallest, largest = xp.min(values, axis=0), xp.max(values, axis=0)
    varying = smallest != largest
    # The mean of n equal numbers is not always that number in floating point: hence the choice,
    # which also keeps constant columns out of any overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        mean = xp.where(varying, xp.mean(values, axis=0), smallest)
        variance = xp.mean(xp.square(values - mean), axis=0)
    return Moments(mean, variance, varying)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Shift and scale of inputs and target: model scale = (user's units - mean) / scale.

    A transformation of the target comes before; mean and scale are then in its units.

    Examples
    --------
    >>> import numpy as np
    >>> scaling = Scaling(np.array([5.0]), np.array([2.0]), target_mean=10.0, target_scale=4.0)
    >>> scaling.inputs(np.array([[9.0]]))
    array([[2.]])
    >>> scaling.restore_variance(np.array([0.5]))
    array([8.])
    """

    input_mean: Array
    """(d,)"""
    input_scale: Array
    """(d,): one for constant inputs."""
    target_mean: float
    """Mean of a real target; of others, the centre of the latent function."""
    target_scale: float
    transformation: Transformation | None = None
    """Of a real target; None if it is taken as it is."""

    @staticmethod
    def identity(d: int, xp: Any = host, device: Any = None) -> Scaling:
        """Scaling that changes nothing, for data taken as they are.

        Parameters
        ----------
        d : int
            Number of inputs.
        xp : array namespace
            Where the inputs live.
        device : optional
            Device of that library.
        """
        return Scaling(
            input_mean=xp.zeros(d, dtype=xp.float64, device=device),
            input_scale=xp.ones(d, dtype=xp.float64, device=device),
            target_mean=0.0,
            target_scale=1.0,
        )

    @staticmethod
    def standard(inputs: Moments, target: Moments | None = None) -> Scaling:
        """Scaling to mean zero and variance one; constant inputs are only shifted.

        Parameters
        ----------
        inputs : Moments
        target : Moments, optional
            When not given, the target is left as it is.
        """
        xp = namespace(inputs.mean)
        one = xp.ones_like(inputs.variance)
        return Scaling(
            input_mean=inputs.mean,
            input_scale=xp.sqrt(xp.where(inputs.varying, inputs.variance, one)),
            target_mean=0.0 if target is None else float(target.mean),
            target_scale=1.0 if target is None else math.sqrt(float(target.variance)),
        )

    def inputs(self, X: Array, positions: Sequence[int] | None = None) -> Array:
        """Inputs on the model's scale.

        Parameters
        ----------
        X : Array (n, d), or (n, len(positions))
            In the user's units.
        positions : sequence of int, optional
            Which inputs the columns of `X` are; all d when not given.
        """
        mean, scale = self.input_mean, self.input_scale
        if positions is not None:
            mean, scale = taken(mean, positions), taken(scale, positions)
        with np.errstate(over="ignore"):  # far from all data is far, however far
            return (X - mean) / scale

    @property
    def without_transformation(self) -> Scaling:
        """The same for a target in units of the transformation."""
        return replace(self, transformation=None)

    def target(self, y: Array) -> Array:
        """Target (n,) on the model's scale."""
        z = y if self.transformation is None else self.transformation.forward(y)
        return (z - self.target_mean) / self.target_scale

    def restore_target(self, target: Array) -> Array:
        """Target in the user's units, or quantiles of it."""
        z = self.restore_mean(target)
        return z if self.transformation is None else self.transformation.backward(z)

    def restore_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of a target in the user's units; it is normal if it is transformed."""
        z, spread = self.restore_mean(mean), self.restore_variance(variance)
        if self.transformation is None:
            return z, spread
        found = self.transformation.moments(to_host(z), np.asarray(to_host(spread)))
        return like(found[0], mean), like(found[1], mean)

    def restore_mean(self, mean: Array) -> Array:
        """Predicted mean in the user's units, or in those of the transformation."""
        return self.target_mean + self.target_scale * mean

    def restore_variance(self, variance: Array) -> Array:
        """Predicted variance or covariance in the user's units, or the transformation's."""
        return self.target_scale**2 * variance

    def restore_log_density(self, log_density: Array, target: Array) -> Array:
        """Log density of each observation in the user's units.

        log p(y) = log p(target) - log scale + log t'(y) for targets on the model's scale.
        """
        found = log_density - math.log(self.target_scale)
        if self.transformation is None:
            return found
        return found + self.transformation.log_slope(self.restore_mean(target))


def indices(positions: Sequence[int] | NDArray[np.intp], like: Array) -> Array:
    """Positions of rows or columns as an index array beside `like`."""
    xp = namespace(like)
    return xp.asarray(np.asarray(positions, dtype=np.int64), device=device(like))


def taken(values: Any, rows: Sequence[int] | NDArray[np.intp]) -> Any:
    """Return some rows of an array, where it lives; None for None."""
    return None if values is None else namespace(values).take(values, indices(rows, values), axis=0)
