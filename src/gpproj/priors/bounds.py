"""Bounds of hyperparameters in proportion to the scale of the data.

Uniform priors on log hyperparameters have no proper posterior, and the marginal likelihood has
optima at infinity; bounds wide enough not to matter where the data speak make both well defined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.kernels import Kernel, ParameterKind, Typical, Unit
from gpproj.linalg import Host, to_host

OBSERVATION_LIMITS = {"noise_variance": (1e-6, 1e1), "dispersion": (1e-6, 1e2)}
"""Smallest and largest value of the likelihoods' parameters, variances in units of the target's."""


class Scales(NamedTuple):
    """The data's own units, on the model's scale; ones for standardised data."""

    inputs: Host
    """`(d,)`: standard deviation of each input, one for constant inputs."""
    level: float
    """Mean square of the target, or of the constant latent function of classes and counts."""
    spread: float
    """Variance of the target; one for classes and counts, whose latent scale is that of a link."""
    varying: int | None = None
    """How many inputs are not constant; all when left out."""
    gaps: Host | None = None
    """Smallest and largest distance between two values of each input, in units of `inputs`,
    `(d, 2)`."""

    @property
    def relevant(self) -> int:
        """How many inputs can matter."""
        return len(self.inputs) if self.varying is None else self.varying

    @property
    def distances(self) -> Host:
        """Smallest and largest distance of each input, `(d, 2)`; usual ones if not known."""
        return np.tile([0.1, 4.0], (len(self.inputs), 1)) if self.gaps is None else self.gaps


class Bounds(NamedTuple):
    """Box of log parameters."""

    lower: Host
    """`(p,)`."""
    upper: Host
    """`(p,)`."""

    def within(self, other: Bounds) -> Bounds:
        """Return the box of what lies in this one and in that of a prior."""
        both = Bounds(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))
        if np.any(both.lower >= both.upper):
            raise ValueError("prior: a LogUniform lies outside of what the model allows")
        return both


def scales(training: TrainingSet) -> Scales:
    """Return the scale of a training set, which is not one unless it was standardised."""
    X, y = to_host(training.X), to_host(training.y)
    spread = np.where(training.varying, np.std(X, axis=0), 1.0)
    count = sum(training.varying)
    offset = np.zeros_like(y) if training.offset is None else to_host(training.offset)
    return Scales(spread, *training.kind.latent_scale(y, offset), count, _gaps(X / spread))


def _gaps(X: Host) -> Host:
    """Return the smallest and the largest distance between two values of each column, `(d, 2)`."""
    gaps = np.ones((X.shape[1], 2))
    for column, values in enumerate(X.T):
        steps = np.diff(np.sort(values))
        if np.any(steps > 0.0):
            gaps[column] = steps[steps > 0.0].min(), steps.sum()
    return gaps


def log_units(names: Sequence[str], units: Scales) -> Host:
    """Return the log unit of parameters that are not a kernel's: the spread, if variances."""
    return np.array([np.log(units.spread) if name.endswith("variance") else 0.0 for name in names])


class ParameterUnits(NamedTuple):
    """What one is worth in every parameter of a kernel."""

    kinds: tuple[ParameterKind, ...]
    """What each of them measures."""
    units: Host
    """`(p,)`."""

    def logs(self, relative: Callable[[ParameterKind], float]) -> Host:
        """Return log parameters given by kind in units of the data, `(p,)`."""
        return np.log(np.array([relative(kind) for kind in self.kinds]) * self.units)

    def typical(self, constant: float, signal: float, slope: float, lengthscale: float) -> Host:
        """Return the log parameters of a typical function, `(p,)`; see `kernels.Typical`."""
        function = Typical(constant, signal, slope, lengthscale)
        return self.logs(lambda kind: kind.start(function))


def parameter_units(kernel: Kernel, units: Scales) -> ParameterUnits:
    """Return the units of a kernel's parameters."""
    kinds, values = [], []
    for kind, owner in kernel.parameters(len(units.inputs)):
        scale = 1.0 if owner is None else float(units.inputs[owner])
        kinds.append(kind)
        values.append(kind.unit(Unit(units.level, units.spread, scale)))
    return ParameterUnits(tuple(kinds), np.asarray(values, dtype=np.float64))


def bounds(kernel: Kernel, units: Scales) -> Bounds:
    """Return the bounds of a kernel's log parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from gpproj.kernels import Constant
    >>> bounds(Constant(), Scales(np.ones(2), 1.0, 1.0)).upper.round(2)
    array([13.82])
    """
    own = parameter_units(kernel, units)
    return Bounds(own.logs(lambda kind: kind.limits[0]), own.logs(lambda kind: kind.limits[1]))


def free_parameters(
    kernel: Kernel, mask: NDArray[np.bool_], parameters: Host, bounds: Bounds, step: float
) -> NDArray[np.intp]:
    """Return the positions of parameters of active inputs that are not at a bound, `(f,)`.

    Parameters
    ----------
    kernel : Kernel
    mask : bool array `(d,)`
    parameters : array `(p,)`
        Log parameters of the kernel, then others.
    bounds : Bounds
    step : float
        Steps of finite differences, which stay within the bounds.
    """
    owners = [parameter.input for parameter in kernel.parameters(len(mask))]
    used = np.ones(parameters.size, dtype=bool)
    used[: len(owners)] = [owner is None or bool(mask[owner]) for owner in owners]
    inside = (parameters > bounds.lower + 2 * step) & (parameters < bounds.upper - 2 * step)
    return np.flatnonzero(used & inside)
