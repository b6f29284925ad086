"""Rows that follow the conventions of a training set: new ones, and its own as they were given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import checks, frames
from gpproj.data.columns import Columns
from gpproj.data.encoded import encoded_rows
from gpproj.data.frames import listed
from gpproj.data.scaling import indices, taken
from gpproj.data.targets import read_exposure, read_target
from gpproj.data.training import TrainingSet
from gpproj.linalg import Array, namespace, to_host


class Rows(NamedTuple):
    """Some of the training rows, in the user's units."""

    X: Any
    """(m, d): a pandas frame if the inputs had names, else an array."""
    y: Array
    """(m,): 0 and 1 for classes."""
    exposure: Array | None
    """(m,): of counts, unless every exposure of the training data is one."""
    row_groups: NDArray[np.intp] | None = None
    """(m,): of rows that leave together, where there are any."""


def raw_rows(training: TrainingSet, rows: Any) -> Rows:
    """Return some of the training rows as the user gave them, except that classes are 0 and 1.

    Parameters
    ----------
    training : TrainingSet
    rows : int array `(m,)`

    Returns
    -------
    Rows

    Examples
    --------
    >>> from gpproj.data import training_set
    >>> training = training_set([[0.0], [2.0], [4.0]], [1.0, 3.0, 8.0], standardize=True)
    >>> raw_rows(training, [2])
    Rows(X=array([[4.]]), y=array([8.]), exposure=None, row_groups=None)
    """
    scaling = training.scaling
    X = taken(training.X, rows) * scaling.input_scale + scaling.input_mean
    y = taken(training.y, rows)
    if training.kind.is_scaled:
        y = scaling.restore_mean(y)
    exposure = taken(_exposure(training), rows)
    if training.named:
        import pandas as pd

        X = pd.DataFrame(to_host(X), columns=list(training.feature_names))
    groups = training.row_groups
    return Rows(X, y, exposure, None if groups is None else groups[np.asarray(rows)])


def _exposure(training: TrainingSet) -> Array | None:
    if not training.kind.takes_exposure or training.offset is None:
        return None
    xp = namespace(training.offset)
    exposure = xp.exp(training.offset - training.scaling.target_mean)
    return exposure if bool(xp.any(exposure != 1.0)) else None


def new_inputs(training: Columns, X: Any, inputs: Iterable[str | int] | None = None) -> Array:
    """Read new rows on the model's scale.

    Parameters
    ----------
    training : TrainingSet or Columns
        The data whose names, library and scaling the rows follow.
    X : frame, array or nested lists (m, d)
        Frames are read by column name, in any order and among other columns, if the training
        data had names, or if theirs are x0, x1, ... Everything else is read by position; with
        `inputs`, it may have just those columns, in that order. Columns of text are read by name
        and need be no others than those of `inputs`; they may be inputs already.
    inputs : iterable of str or int, optional
        The inputs wanted, in this order; all d when not given.

    Returns
    -------
    Array (m, d) or (m, len(inputs))

    Examples
    --------
    >>> from gpproj.data import training_set
    >>> training = training_set([[0.0, 1.0], [2.0, 5.0]], [1.0, 3.0], standardize=True)
    >>> new_inputs(training, [[3.0, 3.0]], inputs=["x1"])
    array([[0.]])
    """
    wanted = tuple(range(training.d)) if inputs is None else training.exact(inputs)
    names = tuple(training.feature_names[position] for position in wanted)
    values: Array = None
    if training.encoding is not None:
        values = encoded_rows(training.encoding, X, names, training.named)
    if values is None:
        values = _read_rows(training, X, names, wanted, every=inputs is None)
    checks.finite(values, "X", names)
    return training.scaling.inputs(_beside(training, values, "X"), wanted)


def _read_rows(
    training: Columns, X: Any, names: tuple[str, ...], wanted: tuple[int, ...], every: bool
) -> Array:
    """Read inputs that are numbers, by name where there are names."""
    if frames.is_frame(X) and (training.named or set(names) <= set(frames.column_names(X))):
        values: Array = frames.read_columns(X, names, "X")
        checks.table(values, "X")
        return values
    values = frames.read(X, "X")
    checks.table(values, "X")
    columns = values.shape[1]
    if columns == training.d:
        return namespace(values).take(values, indices(wanted, like=values), axis=1)
    if columns != len(wanted):
        allowed = f"{training.d}" if every else f"{training.d} or {len(wanted)}"
        raise ValueError(
            f"X must have {allowed} columns ({listed(training.feature_names)}); saw {columns}"
        )
    return values


def new_target(columns: Columns, y: Any, rows: int) -> Array:
    """Read targets of new rows on the model's scale.

    Parameters
    ----------
    columns : TrainingSet or Columns
        The data whose kind, classes, scaling and library the targets follow.
    y : series, array or list (rows,)
        In the user's units: real numbers, labels of the two classes, or counts.
    rows : int
        How many rows of new inputs they belong to.

    Returns
    -------
    Array (rows,)
        Scaled if they are real; 0 and 1 for classes; counts as they are.

    Examples
    --------
    >>> from gpproj.data import training_set
    >>> training = training_set([[0.0], [2.0]], [1.0, 3.0], standardize=True)
    >>> new_target(training, [5], rows=1)
    array([3.])
    """
    read = read_target(y, columns.kind, rows, columns.classes)
    values = _beside(columns, read.values, "y")
    return columns.scaling.target(values) if columns.kind.is_scaled else values


def new_offset(columns: Columns, exposure: Any, rows: int) -> Array | None:
    """Read exposures of new rows as offsets of the latent function, without its centre.

    Parameters
    ----------
    columns : TrainingSet or Columns
        The data whose kind and library the exposures follow.
    exposure : series, array or list (rows,), optional
        For counts.
    rows : int
        How many rows of new inputs they belong to.

    Returns
    -------
    Array (rows,) or None
        Log exposures; None if none are given.

    Examples
    --------
    >>> from gpproj.data import training_set
    >>> training = training_set([[0], [2]], [1, 3], standardize=True, kind="count")
    >>> new_offset(training, [1.0], rows=1)
    array([0.])
    """
    values = read_exposure(exposure, columns.kind, rows)
    if values is None:
        return None
    values = _beside(columns, values, "exposure")
    return namespace(values).log(values)


def _beside(columns: Columns, values: Array, argument: str) -> Array:
    home = columns.scaling.input_mean
    return frames.move(values, beside=home, argument=argument, home="the training set")
