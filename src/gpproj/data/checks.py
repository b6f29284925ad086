"""What user data must satisfy: each check passes quietly or says what was seen and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpproj.data.frames import is_frame, is_series, listed
from gpproj.data.scaling import Moments
from gpproj.linalg import Array, namespace, to_host

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


def table(values: Array, argument: str) -> None:
    """Two dimensions, at least one row."""
    if values.ndim == 1:
        raise ValueError(
            f"{argument} must have two dimensions (rows, inputs); saw one, of length "
            f"{values.shape[0]}; reshape it to (-1, 1) if it is one input, to (1, -1) if it is "
            "one row"
        )
    if values.ndim != 2:
        raise ValueError(
            f"{argument} must have two dimensions (rows, inputs); saw shape {tuple(values.shape)}"
        )
    if values.shape[0] == 0:
        raise ValueError(f"{argument} is empty: it has no rows (shape {tuple(values.shape)})")


def training_size(X: Array) -> None:
    """Enough rows and columns to learn from."""
    if X.shape[1] == 0:
        raise ValueError(f"X is empty: it has no columns (shape {tuple(X.shape)})")
    if X.shape[0] == 1:
        raise ValueError("X has one row; at least two are needed")


def vector(values: Array, argument: str) -> Array:
    """One dimension; a single column is taken as one."""
    if values.ndim == 2 and values.shape[1] == 1:
        return namespace(values).reshape(values, (-1,))
    if values.ndim != 1:
        raise not_a_vector(tuple(values.shape), argument)
    return values


def not_a_vector(shape: tuple[int, ...], argument: str) -> ValueError:
    """Error for data with more than one column, or with none."""
    return ValueError(f"{argument} must have one dimension, or a single column; saw shape {shape}")


def lengths(values: int, rows: int, argument: str) -> None:
    """One value a row."""
    if values != rows:
        raise ValueError(f"X has {rows} rows but {argument} has {values} values")


def same_order(X: Any, y: Any, argument: str) -> None:
    """Labelled rows in one order: rows are matched by position, never by label."""
    labelled = is_frame(X) and (is_frame(y) or is_series(y))
    if not (labelled and hasattr(X, "index") and hasattr(y, "index")):
        return
    left, right = list(X.index), list(y.index)
    if left != right and Counter(left) == Counter(right):
        row = next(i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a != b)
        raise ValueError(
            f"X and {argument} have the same index labels in a different order; rows are matched "
            f"by position, and row {row} is labelled {left[row]} in X but {right[row]} in "
            f"{argument}; align them first, for example with {argument}.loc[X.index]"
        )


def finite(values: Array, argument: str, names: Sequence[str] = (), advice: str = "") -> None:
    """No NaN, no infinity; `names` are the columns of a table, `advice` is about NaN."""
    xp = namespace(values)
    count, first = _counted(~xp.isfinite(values))
    if count == 0:
        return
    seen = float(xp.reshape(values, (-1,))[first])
    row, column = divmod(first, len(names)) if names else (first, None)
    place = f"row {row}" if column is None else f"row {row}, column {names[column]!r}"
    raise ValueError(
        f"{argument} must be finite; saw {count} NaN or infinite cells, the first {seen} in {place}"
        f"{advice if np.isnan(seen) else ''}"
    )


def counts(values: Array, argument: str) -> None:
    """Whole numbers that are not negative."""
    xp = namespace(values)
    bad, first = _counted((values < 0.0) | (values != xp.floor(values)))
    if bad:
        raise ValueError(
            f"{argument} must hold counts, whole numbers from 0 on; saw {bad} others, the first "
            f"{float(values[first])} in row {first}"
        )


def above_zero(values: Array, argument: str) -> None:
    """Numbers that are all positive."""
    bad, first = _counted(values <= 0.0)
    if bad:
        raise ValueError(
            f"{argument} must be positive; saw {bad} values that are not, the first "
            f"{float(values[first])} in row {first}"
        )


def some_event(counted: Array) -> None:
    """At least one count that is not zero."""
    if not bool(namespace(counted).any(counted > 0.0)):
        raise ValueError("y has no event: every count is 0")


def _counted(bad: Array) -> tuple[int, int]:
    """How many cells are true, and the position of the first one."""
    xp = namespace(bad)
    flags = xp.astype(xp.reshape(bad, (-1,)), xp.int64)
    # The reductions of some libraries refuse empty arrays, as for a submodel without inputs.
    if flags.shape[0] == 0:
        return 0, 0
    return int(xp.sum(flags)), int(xp.argmax(flags))


def distinct_rows(inputs: Moments) -> None:
    """At least two different rows, which is to say one column that varies."""
    if not bool(namespace(inputs.varying).any(inputs.varying)):
        raise ValueError("X must have at least two distinct rows; saw the same row throughout")


def varying_target(target: Moments) -> None:
    """A target with something to explain."""
    if not bool(target.varying):
        raise ValueError(f"y is constant: every value is {float(target.mean)}")


def representable(seen: Moments, argument: str, names: Sequence[str] = ()) -> None:
    """Variances that double precision can hold: their squares and roots stay meaningful."""
    xp = namespace(seen.variance)
    normal = xp.isfinite(seen.variance) & (seen.variance >= SMALLEST_NORMAL)
    bad = xp.reshape(seen.varying & ~normal, (-1,))
    columns = [position for position, unfit in enumerate(to_host(bad)) if unfit]
    if columns:
        where = f", columns {listed(names[position] for position in columns)}" if names else ""
        raise ValueError(
            f"the variance of {argument}{where} is too large or too small for double precision; "
            "change the units"
        )


def positive(name: str, value: Any) -> float:
    """Return `value` as a float, or say which argument is not a positive number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a positive number, got {value!r}") from error
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {number:g}")
    return number
