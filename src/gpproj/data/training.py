"""The training set that every model starts from, and new rows that follow its conventions."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import device

from gpproj.data import checks, frames
from gpproj.data.frames import listed
from gpproj.data.scaling import Scaling, indices, moments
from gpproj.linalg import Array, namespace, to_host


@dataclass(frozen=True, eq=False)
class Columns:
    """The inputs of a model: their names and their scaling, without the data."""

    feature_names: tuple[str, ...]
    named: bool
    """Whether the user gave the names; otherwise they are x0, x1, ..."""
    varying: tuple[bool, ...]
    """False for inputs that are constant in the training data."""
    scaling: Scaling

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.feature_names)

    def positions(self, inputs: Iterable[str | int]) -> tuple[int, ...]:
        """Positions of inputs given by name or by position; an empty list is no inputs.

        Parameters
        ----------
        inputs : iterable of str or int
            A string is always a name and an integer always a position, also where columns are
            called "0", "1", ...

        Examples
        --------
        >>> training = training_set([[1, 5], [2, 7], [4, 6]], [1, 2, 3], standardize=True)
        >>> training.positions(["x1", 0])
        (1, 0)
        """
        if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
            raise TypeError(f"inputs must be a list of names or positions; saw {inputs!r}")
        found = tuple(self._position(item) for item in inputs)
        repeated = [self.feature_names[i] for i in dict.fromkeys(found) if found.count(i) > 1]
        if repeated:
            raise ValueError(f"inputs must not repeat; saw {listed(repeated)} more than once")
        return found

    def _position(self, item: str | int) -> int:
        if isinstance(item, str):
            if item not in self.feature_names:
                raise ValueError(
                    f"inputs must be among {listed(self.feature_names)}; saw the name {item!r}"
                )
            return self.feature_names.index(item)
        # A mask is a likely mistake, and True would pass as position 1.
        if type(item).__name__ in ("bool", "bool_"):
            raise TypeError("inputs must be names or positions; saw a boolean mask")
        try:
            position = operator.index(item)
        except TypeError:
            raise TypeError(f"inputs must be names or positions; saw {item!r}") from None
        if not 0 <= position < self.d:
            raise ValueError(
                f"inputs must be positions from 0 to {self.d - 1}; saw the position {position}"
            )
        return position


@dataclass(frozen=True, eq=False)
class TrainingSet(Columns):
    """Training data on the model's scale, with the names and the scaling they came with."""

    X: Array
    """(n, d), on the model's scale."""
    y: Array
    """(n,), on the model's scale."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def columns(self) -> Columns:
        """The names and the scaling alone."""
        return Columns(self.feature_names, self.named, self.varying, self.scaling)


def training_set(
    X: Any, y: Any, *, standardize: bool, feature_names: Sequence[str] | None = None
) -> TrainingSet:
    """Check, name and (if asked to) standardise training data.

    Parameters
    ----------
    X : frame, array or nested lists (n, d)
        Real numbers, integers or booleans. Arrays of array-API libraries other than NumPy stay
        in their library; everything else becomes NumPy.
    y : series, array or list (n,)
        A single column is accepted too. Rows are matched to `X` by position.
    standardize : bool
        Scale inputs and target to mean zero and (population) variance one.
    feature_names : sequence of str, optional
        Names of the columns of an array.

    Returns
    -------
    TrainingSet

    Examples
    --------
    >>> training = training_set([[0.0, 1.0], [2.0, 5.0]], [1.0, 3.0], standardize=True)
    >>> training.feature_names
    ('x0', 'x1')
    >>> training.X
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    values = _read_inputs(X)
    checks.table(values, "X")
    checks.training_size(values)
    names, named = _names(X, values.shape[1], feature_names)
    target = frames.move(_read_target(y), beside=values, argument="y", home="X")
    checks.lengths(target, values.shape[0])
    checks.same_order(X, y)
    checks.finite(values, "X", names)
    checks.finite(target, "y")
    seen_inputs, seen_target = moments(values), moments(target)
    checks.varying_target(seen_target)
    checks.distinct_rows(seen_inputs)
    checks.representable(seen_inputs, "X", names)
    checks.representable(seen_target, "y")
    varying = tuple(bool(varies) for varies in to_host(seen_inputs.varying))
    _warn_constant(names, varying)
    if standardize:
        scaling = Scaling.standard(seen_inputs, seen_target)
    else:
        scaling = Scaling.identity(len(names), namespace(values), device(values))
    return TrainingSet(
        X=scaling.inputs(values),
        y=scaling.target(target),
        feature_names=names,
        named=named,
        varying=varying,
        scaling=scaling,
    )


def raw_rows(training: TrainingSet, rows: Any) -> tuple[Any, Array]:
    """Return some of the training rows as the user gave them: inputs and targets.

    Parameters
    ----------
    training : TrainingSet
    rows : int array `(m,)`

    Returns
    -------
    frame or array `(m, d)`, array `(m,)`
        A pandas frame if the inputs had names.

    Examples
    --------
    >>> training = training_set([[0.0], [2.0], [4.0]], [1.0, 3.0, 8.0], standardize=True)
    >>> raw_rows(training, [2])
    (array([[4.]]), array([8.]))
    """
    xp, scaling = namespace(training.X), training.scaling
    chosen = indices(rows, like=training.X)
    X = xp.take(training.X, chosen, axis=0) * scaling.input_scale + scaling.input_mean
    y = scaling.restore_mean(xp.take(training.y, chosen, axis=0))
    if not training.named:
        return X, y
    import pandas as pd

    return pd.DataFrame(to_host(X), columns=list(training.feature_names)), y


def new_inputs(training: Columns, X: Any, inputs: Iterable[str | int] | None = None) -> Array:
    """Read new rows on the model's scale.

    Parameters
    ----------
    training : TrainingSet or Columns
        Whose names, library and scaling the rows follow.
    X : frame, array or nested lists (m, d)
        Frames are read by column name, in any order and among other columns, if the training
        data had names. Everything else is read by position; with `inputs`, it may have just
        those columns, in that order.
    inputs : iterable of str or int, optional
        The columns wanted, in this order; all d when not given.

    Returns
    -------
    Array (m, d) or (m, len(inputs))

    Examples
    --------
    >>> training = training_set([[0.0, 1.0], [2.0, 5.0]], [1.0, 3.0], standardize=True)
    >>> new_inputs(training, [[3.0, 3.0]], inputs=["x1"])
    array([[0.]])
    """
    wanted = tuple(range(training.d)) if inputs is None else training.positions(inputs)
    names = tuple(training.feature_names[position] for position in wanted)
    if training.named and frames.is_frame(X):
        values = frames.read_columns(X, names, "X")
        checks.table(values, "X")
    else:
        values = _read_inputs(X)
        checks.table(values, "X")
        columns = values.shape[1]
        if columns == training.d:
            chosen = indices(wanted, like=values)
            values = namespace(values).take(values, chosen, axis=1)
        elif columns != len(wanted):
            allowed = f"{training.d}" if inputs is None else f"{training.d} or {len(wanted)}"
            raise ValueError(
                f"X must have {allowed} columns ({listed(training.feature_names)}); saw {columns}"
            )
    checks.finite(values, "X", names)
    home = training.scaling.input_mean
    values = frames.move(values, beside=home, argument="X", home="the training set")
    return training.scaling.inputs(values, wanted)


def new_target(training: Columns, y: Any, rows: int) -> Array:
    """Read targets of new rows, in the user's units.

    Parameters
    ----------
    training : TrainingSet or Columns
        Whose library the targets follow.
    y : series, array or list (rows,)
    rows : int
        How many rows of new inputs they belong to.

    Returns
    -------
    Array (rows,)

    Examples
    --------
    >>> training = training_set([[0.0], [2.0]], [1.0, 3.0], standardize=True)
    >>> new_target(training, [5], rows=1)
    array([5.])
    """
    values = _read_target(y)
    checks.lengths(values, rows)
    checks.finite(values, "y")
    home = training.scaling.input_mean
    return frames.move(values, beside=home, argument="y", home="the training set")


def _read_inputs(X: Any) -> Array:
    if frames.is_frame(X):
        return frames.read_columns(X, frames.column_names(X), "X")
    return frames.read_array(X, "X")


def _read_target(y: Any) -> Array:
    if frames.is_frame(y):
        return checks.vector(frames.read_columns(y, frames.column_names(y), "y"), "y")
    return checks.vector(frames.read_array(y, "y"), "y")


def _names(X: Any, d: int, feature_names: Sequence[str] | None) -> tuple[tuple[str, ...], bool]:
    own = frames.column_names(X) if frames.is_frame(X) else None
    if feature_names is None:
        return (tuple(f"x{j}" for j in range(d)), False) if own is None else (own, True)
    if isinstance(feature_names, str | bytes):
        raise TypeError(f"feature_names must be a list of names; saw {feature_names!r}")
    names = tuple(str(name) for name in feature_names)
    if own is not None and names != own:
        raise ValueError(
            "feature_names are for arrays; X is a frame that names its columns itself: "
            f"{listed(own)}"
        )
    if len(names) != d:
        raise ValueError(f"feature_names must be {d}, one a column of X; saw {len(names)}")
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(f"feature_names must not repeat; saw {listed(repeated)} more than once")
    return names, True


def _warn_constant(names: tuple[str, ...], varying: tuple[bool, ...]) -> None:
    constant = [name for name, varies in zip(names, varying, strict=True) if not varies]
    if constant:
        warnings.warn(
            f"inputs {listed(constant)} are constant in X: their relevance is zero",
            UserWarning,
            stacklevel=4,
        )
