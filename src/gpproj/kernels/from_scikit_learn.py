"""Any kernel of scikit-learn, or one of a user's own that is written for it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import hyperparameters
from gpproj.kernels.base import Evaluation, Kernel, Mask, Parameter, by_lane, own
from gpproj.kernels.constant import Constant, Zero
from gpproj.kernels.hyperparameters import Slot
from gpproj.kernels.kinds import SLOPE
from gpproj.linalg import Array, Host, is_numpy

STEP = 6e-6
"""Step of central differences in the points, relative to their size."""

ROWS = 64
"""Points at a time where only a part of scikit-learn's gradient is wanted."""

ENTERING = 1e-3
"""Largest value of an input that is about to enter, when its slope is measured."""


class ScikitLearn(Kernel):
    """A kernel of `sklearn.gaussian_process.kernels`, with its own gradient.

    Hyperparameters with one value for each input, such as an anisotropic `length_scale`, belong to
    the inputs: those of inputs that are out are left out, and so are their columns. Single values
    are shared by all inputs, and what is "fixed" stays fixed. A kernel whose variance cannot change
    is multiplied by a `ConstantKernel`, for targets have scales of their own. Arrays must be NumPy
    arrays.

    Priors, bounds and starts follow from what a hyperparameter measures: a constant of its own, the
    variance of a function, a length-scale. Periods are taken for length-scales, and what has no
    meaning that is known for the variance of a function; `kinds` tells better. Length-scales and
    the like stay within bounds of scikit-learn that are not the usual `(1e-5, 1e5)`, in units of
    standardised inputs where the data are standardised.

    scikit-learn has no derivatives in the points, nor in the relevance of inputs that are out. The
    former are central differences; the latter are measured by letting each input enter slowly.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Without white noise, which belongs to the likelihood. A class of one's own must return its
        gradient with `eval_gradient=True`.
    per_input : sequence of str, optional
        Names of the hyperparameters with one value for each input; all those with several values
        when left out.
    kinds : mapping, optional
        What hyperparameters measure, by name: "constant", "signal", "lengthscale" or "slope" (the
        variance of a linear effect).

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from gpproj.kernels import Constant, ScikitLearn
    >>> kernel = Constant(2.0) + ScikitLearn(RBF([1.0, 2.0]))
    >>> kernel([[0.0, 0.0], [1.0, 0.0]]).round(4)
    array([[3.    , 2.6065],
           [2.6065, 3.    ]])
    """

    def __init__(
        self,
        kernel: Any,
        *,
        per_input: Sequence[str] | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        hyperparameters.check_kernel(kernel, per_input or (), kinds or {})
        template = hyperparameters.with_factor(kernel)
        self._slots = tuple(hyperparameters.slots(template, per_input, kinds or {}))
        self._factors = hyperparameters.factors(template) or {}
        self._template = hyperparameters.without_bounds(template, self._slots)
        d = self._inputs()
        points = np.random.default_rng(0).standard_normal((4, d))
        for positions in (list(range(d)), [0]):
            made = self._made(slot.at(positions).values for slot in self._slots)
            hyperparameters.check_values(made, points[:, positions])

    @property
    def kernel(self) -> Any:
        """The kernel of scikit-learn with its values, times the constant it may have got."""
        return self._made(slot.values for slot in self._slots)

    def parameters(self, d: int) -> tuple[Parameter, ...]:
        """Return the hyperparameters that are not fixed, in scikit-learn's order."""
        return tuple(
            Parameter(slot.kind, j if slot.owned else None)
            for slot in self._slots
            for j in range(slot.count(d))
        )

    def log_parameters(self, d: int) -> Host:
        """Return the logarithms of the hyperparameters that are not fixed, `(p,)`.

        The constant of a `DotProduct` counts by its variance.
        """
        for slot in self._slots:
            if slot.owned and len(slot.values) != d:
                raise ValueError(
                    f"{slot.name} has {len(slot.values)} values, but there are {d} inputs"
                )
        free = (slot for slot in self._slots if not slot.fixed)
        return np.concatenate([slot.power * np.log(slot.values) for slot in free])

    def with_log_parameters(self, log_parameters: Host, d: int) -> ScikitLearn:
        """Return the kernel with other hyperparameters."""
        values = self._values(log_parameters, np.arange(d), d)
        return self._with(
            replace(slot, values=tuple(part.tolist()))
            for slot, part in zip(self._slots, values, strict=True)
        )

    def scaled(self, factor: float) -> ScikitLearn:
        """Return `factor k`."""
        powers = self._factors
        return self._with(
            replace(slot, values=(slot.values[0] * factor ** (1.0 / powers[slot.name]),))
            if slot.name in powers
            else slot
            for slot in self._slots
        )

    def restricted(self, positions: Sequence[int], d: int) -> ScikitLearn:
        """Return the kernel of some inputs."""
        return self._with(slot.at(positions) for slot in self._slots)

    def without_inputs(self) -> Kernel:
        """Return the constants that stand in a sum of their own, as one."""
        level = hyperparameters.level(self.kernel)
        return Constant(level) if level > 0.0 else Zero()

    def evaluate(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate at `X`, `(n, d)`."""
        return _Square(self, log_parameters, mask, X)

    def evaluate_cross(self, log_parameters: Host, X: Array, Z: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(X, Z)`, `(b, n, m)`."""
        return _Cross(self, log_parameters, mask, X, Z)

    def evaluate_diagonal(self, log_parameters: Host, X: Array, mask: Mask) -> Evaluation:
        """Evaluate `k(x_i, x_i)`, `(b, n)`."""
        return _Diagonal(self, log_parameters, mask, X)

    def cross_gradient(
        self, log_parameters: Host, X: Array, X_new: Array, mask: Mask, weights: Array
    ) -> Array:
        """Return `sum_i weights_im dk(x_i, x_m) / dx_mj` by central differences, `(b, m, d)`."""
        X, X_new = _host(X), _host(X_new)
        value = np.zeros((log_parameters.shape[0], *X_new.shape))
        for mine, lane, weight in zip(
            value, self.lanes(log_parameters, mask), weights, strict=True
        ):
            points = lane.points(X)
            for place, column in enumerate(lane.columns):
                ahead, behind, width = _moved(lane.points(X_new), place)
                change = lane.kernel(points, ahead) - lane.kernel(points, behind)
                mine[:, column] = np.einsum("im,im->m", weight, change) / width
        return value

    def diagonal_gradient(self, log_parameters: Host, X: Array, mask: Mask) -> Array:
        """Return `dk(x_i, x_i) / dx_ij` by central differences, `(b, n, d)`."""
        X = _host(X)
        value = np.zeros((log_parameters.shape[0], *X.shape))
        for mine, lane in zip(value, self.lanes(log_parameters, mask), strict=True):
            for place, column in enumerate(lane.columns):
                ahead, behind, width = _moved(lane.points(X), place)
                mine[:, column] = (lane.kernel.diag(ahead) - lane.kernel.diag(behind)) / width
        return value

    def lanes(self, log_parameters: Host, mask: Mask) -> Iterator[_Lane]:
        """Give every lane's kernel of scikit-learn, on the inputs that are in."""
        for theta, inside in zip(log_parameters, mask, strict=True):
            columns = np.flatnonzero(inside)
            yield _Lane(self._made(self._values(theta, columns, inside.size)), columns)

    def entering(self, log_parameters: Host, inside: Mask, column: int, size: float) -> _Lane:
        """Return the kernel of one lane `(p,)`, `(d,)` and one more input, of relevance size^2."""
        d = inside.size
        wider = inside.copy()
        wider[column] = True
        columns = np.flatnonzero(wider)
        place = int(np.flatnonzero(columns == column)[0])
        values = self._values(log_parameters, columns, d)
        for slot, part in zip(self._slots, values, strict=True):
            if slot.owned and not slot.fixed:
                part[place] = 1.0
        scale = np.ones(columns.size)
        scale[place] = size
        return _Lane(self._made(values), columns, scale)

    def pulled(self, gradient: Host, log_parameters: Host, inside: Mask) -> tuple[Host, Host]:
        """Return what a gradient in scikit-learn's hyperparameters is in ours, and in relevances.

        Parameters
        ----------
        gradient : array `(q,)`
            In the logarithms of the hyperparameters of one lane's kernel.
        log_parameters : array `(p,)`
        inside : bool array `(d,)`

        Returns
        -------
        array `(p,)`, array `(d,)`
            Zero for inputs that are out.
        """
        columns, d = np.flatnonzero(inside), inside.size
        found, relevance = np.zeros(log_parameters.size), np.zeros(d)
        theirs = ours = 0
        for slot in self._slots:
            count = slot.count(d)
            if slot.fixed:
                continue
            theta, part = log_parameters[ours : ours + count], found[ours : ours + count]
            places = columns if slot.owned else np.arange(count)
            part[places] = gradient[theirs : theirs + places.size] / slot.power
            part *= slot.moves(theta)
            if slot.owned and slot.kind.is_scale:  # relevance 1 / lengthscale^2
                relevance -= 0.5 * part * np.exp(2.0 * theta)
            elif slot.owned and slot.kind is SLOPE:
                relevance += part * np.exp(-theta)
            theirs += max(places.size, 1)  # one for the column that stands for no inputs
            ours += count
        return found, relevance

    def _values(self, theta: Host, columns: NDArray[np.intp], d: int) -> list[Host]:
        """Return the values of all hyperparameters for some of `d` inputs."""
        values, start = [], 0
        for slot in self._slots:
            stop = start + slot.count(d)
            part = np.array(slot.values) if slot.fixed else slot.read(theta[start:stop])
            values.append(part[columns] if slot.owned else part)
            start = stop
        return values

    def _made(self, values: Iterable[Any]) -> Any:
        """Return the kernel of scikit-learn with these values; of no inputs, for one."""
        from sklearn.base import clone

        given = {
            slot.name: float(part[0]) if slot.scalar else np.array(part if len(part) else [1.0])
            for slot, part in zip(self._slots, values, strict=True)
        }
        return clone(self._template).set_params(**given)

    def _with(self, slots: Iterable[Slot]) -> ScikitLearn:
        other = copy(self)
        other._slots = tuple(slots)
        return other

    def _inputs(self) -> int:
        """Return the number of inputs, or any number where all may be."""
        lengths = sorted({len(slot.values) for slot in self._slots if slot.owned})
        if len(lengths) > 1:
            raise ValueError(
                f"kernel has hyperparameters with {' and '.join(map(str, lengths))} values; name "
                "those that have one for each input in per_input="
            )
        return lengths[0] if lengths else 2

    def _key(self) -> tuple[Any, ...]:
        return (repr(self), self._slots)

    def __repr__(self) -> str:
        values = {slot.name: slot.values for slot in self._slots}
        limits = {slot.name: slot.limits for slot in self._slots if slot.limits}
        within = f", within {limits}" if limits else ""
        return f"ScikitLearn({hyperparameters.described(self._template, values)}{within})"


class _Lane(NamedTuple):
    """A kernel of scikit-learn and the inputs that it sees."""

    kernel: Any
    columns: NDArray[np.intp]
    scale: Host | None = None
    """Factor of each of them, `(k,)`; None for ones."""

    def points(self, X: Host) -> Host:
        """Return the points as the kernel sees them: without inputs, all the same."""
        if not self.columns.size:
            return np.zeros((len(X), 1))
        taken = X[:, self.columns]
        return taken if self.scale is None else taken * self.scale


class _LaneByLane(Evaluation):
    """Values of one or two sets of points, which may differ from lane to lane."""

    def __init__(
        self, kernel: ScikitLearn, log_parameters: Host, mask: Mask, *points: Array
    ) -> None:
        self._kernel, self._log_parameters, self._mask = kernel, log_parameters, mask
        self._points = [by_lane(_host(X)) for X in points]
        self._lanes = list(kernel.lanes(log_parameters, mask))
        values = [self._value(lane, *self._seen(lane, i)) for i, lane in enumerate(self._lanes)]
        self.value = np.stack(values)

    def _value(self, lane: _Lane, *points: Host) -> Host:
        """Return the value of one lane at points as it sees them."""
        value: Host = lane.kernel(*points)
        return value

    @abstractmethod
    def _contracted(self, lane: _Lane, G: Host, *points: Host) -> Host:
        """Return `sum G dk / dlog(hyperparameter)` for those of scikit-learn, `(q,)`."""

    def pull_back(self, G: Array) -> Array:
        return self._pulled(G)[0]

    def slopes(self, G: Array) -> Array:
        _, slopes = self._pulled(G)
        for i, inside in enumerate(self._mask):
            for column in np.flatnonzero(~inside):
                slopes[i, column] = self._entering(G[i], i, int(column))
        return slopes

    def _seen(self, lane: _Lane, i: int) -> list[Host]:
        return [lane.points(own(X, i)) for X in self._points]

    def _pulled(self, G: Array) -> tuple[Host, Host]:
        gradient, slopes = np.zeros(self._log_parameters.shape), np.zeros(self._mask.shape)
        for i, lane in enumerate(self._lanes):
            theirs = self._contracted(lane, G[i], *self._seen(lane, i))
            gradient[i], slopes[i] = self._kernel.pulled(
                theirs, self._log_parameters[i], self._mask[i]
            )
        return gradient, slopes

    def _entering(self, G: Host, i: int, column: int) -> float:
        """Return the slope of an input that is out: what changes when it is very small.

        An input with length-scale one, times s, has the relevance s^2.
        """
        largest = float(np.max(np.abs(own(self._points[0], i)[:, column])))
        size = ENTERING / largest if largest > 0.0 else ENTERING
        lane = self._kernel.entering(self._log_parameters[i], self._mask[i], column, size)
        change = self._value(lane, *self._seen(lane, i)) - self.value[i]
        return float(np.sum(G * change)) / size**2


class _Square(_LaneByLane):
    def _contracted(self, lane: _Lane, G: Host, *points: Host) -> Host:
        _, dK = lane.kernel(*points, eval_gradient=True)
        return np.tensordot(G, dK, axes=2)


class _Cross(_LaneByLane):
    def _contracted(self, lane: _Lane, G: Host, *points: Host) -> Host:
        # scikit-learn has gradients of one set of points only: both are joined, part by part.
        X, Z = points
        total, size = np.zeros(lane.kernel.theta.size), max(len(Z), ROWS)
        for start in range(0, len(X), size):
            some = X[start : start + size]
            _, dK = lane.kernel(np.concatenate([some, Z]), eval_gradient=True)
            total += np.tensordot(G[start : start + size], dK[: len(some), len(some) :], axes=2)
        return total


class _Diagonal(_LaneByLane):
    def _value(self, lane: _Lane, *points: Host) -> Host:
        value: Host = lane.kernel.diag(*points)
        return value

    def _contracted(self, lane: _Lane, G: Host, *points: Host) -> Host:
        (X,) = points
        total = np.zeros(lane.kernel.theta.size)
        for start in range(0, len(X), ROWS):
            _, dK = lane.kernel(X[start : start + ROWS], eval_gradient=True)
            total += np.einsum("i,iik->k", G[start : start + ROWS], dK)
        return total


def _moved(X: Host, place: int) -> tuple[Host, Host, Host]:
    """Return points a little ahead and behind in one input, and how far apart they are."""
    step = STEP * np.maximum(np.abs(X[:, place]), 1.0)
    ahead, behind = X.copy(), X.copy()
    ahead[:, place] += step
    behind[:, place] -= step
    width: Host = ahead[:, place] - behind[:, place]
    return ahead, behind, width


def _host(X: Array) -> Host:
    if not is_numpy(X):
        raise TypeError(
            "gpproj.kernels.ScikitLearn takes NumPy arrays only, for scikit-learn does; "
            f"got {type(X).__module__}.{type(X).__name__}"
        )
    return np.asarray(X, dtype=np.float64)
