"""Transformations of the target: the process is fitted to t(y), users see y.

With z = t(y), the model predicts p(z), hence p(y) = p(t(y)) t'(y). Every transformation takes its
targets to all real numbers, so that these densities integrate to one, and grows, so that quantiles
of y are those of z. Moments of y have a closed form for logarithms; else they are integrals

    E[g(y)] = int g(t^-1(z)) N(z | m, v) dz

by the trapezoidal rule, which is exact to many digits for functions as smooth as these.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpproj.linalg import Array, Host, namespace, to_host

NODES = np.linspace(-12.0, 12.0, 385)
"""Of the trapezoidal rule, in standard deviations: far out, where the moments of a function that
grows as an exponential have their mass."""

WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()

BLOCK = 4096
"""Moments computed at a time: bounds the memory."""

POWERS = (-2.0, 2.0)
"""Powers of Box and Cox that are looked at."""

FULL_RANGE = (0.0, 2.0)
"""Powers of Yeo and Johnson that reach all real numbers."""

LEAST = 1e-12
"""Share of the variance that is left to errors at least."""

FARTHEST = 1e6
"""Ratio of a target to the geometric mean from which on a power is a logarithm in any case: powers
of what is farther away lose their digits."""

UNDECIDED = 1.92
"""Nats by which another power must be likelier than 1, which changes nothing: half the quantile of
95 % of a chi-squared variable."""


@dataclass(frozen=True)
class Transformation(ABC):
    """A growing function t of the target, onto all real numbers."""

    name: ClassVar[str]
    """What users call it."""
    allowed: ClassVar[str] = ""
    """Which targets there are, after "y must be"; empty if all."""

    @abstractmethod
    def forward(self, y: Array) -> Array:
        """Return t(y); NaN or infinite where y is no target."""

    @abstractmethod
    def backward(self, z: Array) -> Array:
        """Return the y with t(y) = z."""

    @abstractmethod
    def log_slope(self, z: Array) -> Array:
        """Return `log t'(y)` at the y with t(y) = z."""

    def has(self, y: Host) -> Any:
        """Say which numbers are targets, elementwise."""
        return np.isfinite(y)

    def check(self, y: Array, argument: str) -> None:
        """Refuse numbers that are no targets, by their first row."""
        values = to_host(y)
        odd = ~self.has(values)
        if odd.any():
            row = int(np.argmax(odd))
            raise ValueError(
                f'{argument} must be {self.allowed} for transform="{self.name}"; saw '
                f"{values[row]:g} in row {row}"
            )

    def moments(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return mean and variance of y where z is normal, elementwise."""
        mean, variance = np.broadcast_arrays(mean, variance)
        found = np.empty((2, mean.size))
        flat, sd = mean.ravel(), np.sqrt(variance.ravel())
        for start in range(0, flat.size, BLOCK):
            block = slice(start, start + BLOCK)
            with np.errstate(over="ignore", invalid="ignore"):  # of what is next to infinite
                y = self.backward(flat[block, None] + sd[block, None] * NODES)
                own = np.einsum("ij,j->i", y, WEIGHTS)
                found[0, block] = own
                found[1, block] = np.einsum("ij,j->i", (y - own[:, None]) ** 2, WEIGHTS)
        return found[0].reshape(mean.shape), found[1].reshape(mean.shape)


@dataclass(frozen=True)
class Log(Transformation):
    """`t(y) = log y`, of positive targets: errors are shares of them.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = Log().moments(np.array([0.0]), np.array([1.0]))
    >>> mean.round(4), variance.round(4)
    (array([1.6487]), array([4.6708]))
    """

    name: ClassVar[str] = "log"
    allowed: ClassVar[str] = "above 0"

    def forward(self, y: Array) -> Array:
        """Return `log y`."""
        return namespace(y).log(y)

    def backward(self, z: Array) -> Array:
        """Return `exp z`."""
        with np.errstate(over="ignore"):
            return namespace(z).exp(z)

    def log_slope(self, z: Array) -> Array:
        """Return `-z`: the slope is 1 / y."""
        return -z

    def has(self, y: Host) -> Any:
        """Say which numbers are positive."""
        return np.isfinite(y) & (y > 0.0)

    def moments(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return those of a log-normal variable."""
        with np.errstate(over="ignore", invalid="ignore"):
            expected = np.exp(mean + 0.5 * np.asarray(variance))
            return expected, expected**2 * np.expm1(variance)


@dataclass(frozen=True)
class Logit(Transformation):
    """`t(y) = log(y / (1 - y))`, of targets between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> Logit().backward(Logit().forward(np.array([0.25])))
    array([0.25])
    """

    name: ClassVar[str] = "logit"
    allowed: ClassVar[str] = "above 0 and below 1"

    def forward(self, y: Array) -> Array:
        """Return the logarithm of the odds."""
        xp = namespace(y)
        return xp.log(y) - xp.log1p(-y)

    def backward(self, z: Array) -> Array:
        """Return `1 / (1 + exp(-z))`."""
        return 0.5 * (1.0 + namespace(z).tanh(0.5 * z))

    def log_slope(self, z: Array) -> Array:
        """Return `-log(y (1 - y))`, `|z| + 2 log(1 + exp(-|z|))`."""
        xp = namespace(z)
        away = xp.abs(z)
        return away + 2.0 * xp.log1p(xp.exp(-away))

    def has(self, y: Host) -> Any:
        """Say which numbers are between 0 and 1."""
        return (y > 0.0) & (y < 1.0)


@dataclass(frozen=True)
class BoxCox(Transformation):
    """`t(y) = (x^power - 1) / power` with `x = y / unit`, of positive targets.

    A power below 1 makes large targets closer to each other. That of zero is the logarithm, and 1
    changes nothing. Any other does not reach all real numbers: a positive one ends below, where y
    is 0, and a negative one above. From the last training target on that side, the `edge`, t goes
    on as a logarithm of the same slope there:

        t(y) = (e^power - 1) / power + e^power log(x / e).

    Parameters
    ----------
    power : float
    unit : float
        The geometric mean of the training targets.
    edge : float
        The smallest training target over the unit if the power is positive, else the largest.

    Examples
    --------
    >>> import numpy as np
    >>> square_root = BoxCox(0.5, 1.0, 1.0)
    >>> square_root.forward(np.array([4.0, 1.0, np.exp(-1.0)]))
    array([ 2.,  0., -1.])
    """

    power: float
    unit: float
    edge: float

    name: ClassVar[str] = "box-cox"
    allowed: ClassVar[str] = "above 0"

    @property
    def _ends(self) -> tuple[float, float]:
        """Return t at the edge, and the slope in `log x` from there on."""
        return math.expm1(self.power * math.log(self.edge)) / self.power, self.edge**self.power

    def forward(self, y: Array) -> Array:
        """Return t(y)."""
        xp = namespace(y)
        if self.power == 1.0:
            return y / self.unit - 1.0
        log_x = xp.log(y / self.unit)
        if self.power == 0.0:
            return log_x
        at_edge, slope = self._ends
        log_edge = math.log(self.edge)
        beyond = self._beyond(log_x, log_edge)
        with np.errstate(over="ignore"):
            own = xp.expm1(self.power * xp.where(beyond, log_edge, log_x)) / self.power
        return xp.where(beyond, at_edge + slope * (log_x - log_edge), own)

    def backward(self, z: Array) -> Array:
        """Return the y with t(y) = z."""
        with np.errstate(over="ignore"):
            if self.power == 1.0:
                return self.unit * (1.0 + z)
            return self.unit * namespace(z).exp(self._log_x(z))

    def log_slope(self, z: Array) -> Array:
        """Return `log t'(y)`."""
        xp = namespace(z)
        if self.power == 1.0:
            return xp.zeros_like(z) - math.log(self.unit)
        log_x = self._log_x(z)
        in_log = self.power * log_x
        if self.power != 0.0:
            log_edge = math.log(self.edge)
            in_log = xp.where(self._beyond(log_x, log_edge), self.power * log_edge, in_log)
        return in_log - log_x - math.log(self.unit)

    def has(self, y: Host) -> Any:
        """Say which numbers are positive; with a power of 1, all."""
        return np.isfinite(y) & ((y > 0.0) | (self.power == 1.0))

    def _beyond(self, place: Array, edge: float) -> Array:
        return place < edge if self.power > 0.0 else place > edge

    def _log_x(self, z: Array) -> Array:
        if self.power == 0.0:
            return z
        xp = namespace(z)
        at_edge, slope = self._ends
        beyond = self._beyond(z, at_edge)
        own = xp.log1p(self.power * xp.where(beyond, at_edge, z)) / self.power
        return xp.where(beyond, math.log(self.edge) + (z - at_edge) / slope, own)


@dataclass(frozen=True)
class YeoJohnson(Transformation):
    """The power transformation of Box and Cox for targets of either sign, of Yeo and Johnson.

        t(y) = ((1 + y)^power - 1) / power for y >= 0,   -t(|y|) with the power 2 - power below.

    A power of 1 changes nothing. From 0 to 2 it reaches all real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> YeoJohnson(0.0).forward(np.array([0.0, np.e - 1.0, -1.0]))
    array([ 0. ,  1. , -1.5])
    """

    power: float

    name: ClassVar[str] = "yeo-johnson"

    def forward(self, y: Array) -> Array:
        """Return t(y)."""
        xp = namespace(y)
        size = xp.log1p(xp.abs(y))
        above, below = (_power_of(size, power) for power in (self.power, 2.0 - self.power))
        return xp.where(y >= 0.0, above, -below)

    def backward(self, z: Array) -> Array:
        """Return the y with t(y) = z."""
        xp = namespace(z)
        with np.errstate(over="ignore"):
            size = xp.expm1(self._log_size(z))
        return xp.where(z >= 0.0, size, -size)

    def log_slope(self, z: Array) -> Array:
        """Return `log t'(y)`, `(power - 1) log(1 + y)` above zero."""
        xp = namespace(z)
        size = self._log_size(z)
        return xp.where(z >= 0.0, self.power - 1.0, 1.0 - self.power) * size

    def _log_size(self, z: Array) -> Array:
        """Return `log(1 + |y|)`."""
        xp = namespace(z)
        away = xp.abs(z)
        above, below = (_log_of(away, power) for power in (self.power, 2.0 - self.power))
        return xp.where(z >= 0.0, above, below)


def _power_of(log_x: Array, power: float) -> Array:
    with np.errstate(over="ignore"):  # on the side that is not taken
        return log_x if power == 0.0 else namespace(log_x).expm1(power * log_x) / power


def _log_of(z: Array, power: float) -> Array:
    return z if power == 0.0 else namespace(z).log1p(power * z) / power


TRANSFORMATIONS = (Log.name, Logit.name, BoxCox.name, YeoJohnson.name)
"""Names of the transformations."""


def check_transform(transform: Any) -> None:
    """Refuse what is neither None nor the name of a transformation."""
    if transform is not None and transform not in TRANSFORMATIONS:
        raise ValueError(
            f"transform must be None or one of {', '.join(TRANSFORMATIONS)}; got {transform!r}"
        )


def transformation_for(transform: str | None, y: Array, X: Array) -> Transformation | None:
    """Return a transformation that suits the training targets; None for None.

    A power is that at which a linear regression on the inputs is likeliest, as Box and Cox have
    it, and 1 where the data do not tell it from that. Where rows are fewer than twice the inputs,
    it is that of a constant.

    Parameters
    ----------
    transform : {"log", "logit", "box-cox", "yeo-johnson"} or None
    y : array `(n,)`
    X : array `(n, d)`

    Examples
    --------
    >>> import numpy as np
    >>> y = np.exp(np.random.default_rng(0).standard_normal(200))
    >>> abs(transformation_for("box-cox", y, y[:, None] * 0.0).power) < 0.1
    True
    """
    check_transform(transform)
    if transform is None:
        return None
    if transform == Log.name:
        found: Transformation = Log()
    elif transform == Logit.name:
        found = Logit()
    else:
        values, inputs = to_host(y), to_host(X)
        if transform == BoxCox.name:
            BoxCox(0.0, 1.0, 1.0).check(values, "y")
            unit = float(np.exp(np.mean(np.log(values))))
            ends = max(float(values.min()) / unit, 1.0 / FARTHEST), float(values.max()) / unit
            ends = ends[0], min(ends[1], FARTHEST)
            return _likeliest(
                lambda power: BoxCox(power, unit, ends[power <= 0.0]), values, inputs, POWERS
            )
        return _likeliest(YeoJohnson, values, inputs, FULL_RANGE)
    found.check(y, "y")
    return found


def _likeliest(
    make: Callable[[float], Transformation], y: Host, X: Host, bounds: tuple[float, float]
) -> Transformation:
    """Return the transformation with the likeliest power.

    The profile likelihood of a linear regression: `-n/2 log(RSS / n) + sum log t'(y)`.
    """
    from scipy.optimize import minimize_scalar

    n, d = X.shape
    columns = [np.ones((n, 1))]
    spread = X.std(axis=0)
    if n >= 2 * (d + 1):
        columns.append((X - X.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0])
    basis, _ = np.linalg.qr(np.hstack(columns))

    def loss(power: float) -> float:
        own = make(float(power))
        with np.errstate(over="ignore", invalid="ignore"):  # powers of what is far away
            z: Host = own.forward(y)
            rest = z - basis @ (basis.T @ z)
            squares = max(float(np.mean(rest**2)), LEAST * float(np.var(z)))
        if not 0.0 < squares < math.inf:
            return math.inf
        return float(0.5 * n * math.log(squares) - np.sum(own.log_slope(z)))

    grid = np.linspace(*bounds, 33)
    best = int(np.argmin([loss(power) for power in grid]))
    ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(loss, bounds=ends, method="bounded")
    return make(float(found.x) if loss(1.0) - float(found.fun) > UNDECIDED else 1.0)
