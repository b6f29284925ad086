"""Reading frames, arrays and lists into float64 arrays, with errors that name the argument.

Frames are recognised by what they can do (`columns`, `to_numpy`), so that neither pandas nor
polars is ever imported here. Arrays of other array-API libraries stay where they live.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from gpproj.linalg import Array, Host, is_numpy, like, namespace


def listed(items: Iterable[Any], limit: int = 6, show: Callable[[Any], str] = repr) -> str:
    """Items for an error message, separated by commas, cut after `limit`.

    Examples
    --------
    >>> listed(["rm", "lstat"])
    "'rm', 'lstat'"
    >>> listed(range(20), limit=2)
    '0, 1, ... (20 in all)'
    """
    items = list(items)
    shown = ", ".join(show(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown}, ... ({len(items)} in all)"


def is_frame(data: Any) -> bool:
    """Whether `data` is a table with named columns."""
    return hasattr(data, "to_numpy") and hasattr(data, "columns")


def is_series(data: Any) -> bool:
    """Whether `data` is one labelled column."""
    return hasattr(data, "to_numpy") and hasattr(data, "dtype") and not is_frame(data)


def is_foreign(data: Any) -> bool:
    """Whether `data` is an array of a library other than NumPy."""
    return is_array_api_obj(data) and not isinstance(data, np.ndarray | np.generic)


def library(data: Array) -> str:
    """Name of the array library that `data` belongs to, for messages."""
    return type(data).__module__.split(".")[0]


def column_names(frame: Any) -> tuple[str, ...]:
    """Column names of a frame as strings, in order."""
    return tuple(str(label) for label in frame.columns)


def read(data: Any, argument: str) -> Array:
    """A frame with all its columns, or anything else, as a float64 array."""
    if is_frame(data):
        return read_columns(data, column_names(data), argument)
    return read_array(data, argument)


def read_columns(frame: Any, names: Sequence[str], argument: str) -> Host:
    """Named columns of a frame, in the order of `names`; other columns are not read.

    Parameters
    ----------
    frame : pandas or polars frame
        With n rows.
    names : sequence of str
        Columns wanted; labels that are not strings are compared by their string.
    argument : str
        What the user calls `frame`, for messages.

    Returns
    -------
    ndarray (n, len(names))
        Missing cells are NaN.
    """
    columns = chosen_columns(frame, names, argument)
    wrong = {name: column.dtype for name, column in columns.items() if not is_numeric(column.dtype)}
    if wrong:
        # Types that spell out their categories can be very long.
        seen = listed(wrong, show=lambda name: f"{name!r} ({str(wrong[name])[:40]})")
        raise TypeError(
            f"{argument} has {len(wrong)} columns that are not real numbers: {seen}; "
            "encode or drop them"
        )
    values = np.empty((frame.shape[0], len(names)))
    for position, column in enumerate(columns.values()):
        values[:, position] = column_values(column)
    return values


def chosen_columns(frame: Any, names: Sequence[str], argument: str) -> dict[str, Any]:
    """Named columns of a frame as it holds them, or an error that says which ones it lacks."""
    present = column_names(frame)
    counts = Counter(present)
    if missing := [name for name in names if name not in counts]:
        raise ValueError(
            f"{argument} lacks {len(missing)} of the {len(names)} columns needed: "
            f"{listed(missing)}; it has {listed(present)}"
        )
    if repeated := [name for name in dict.fromkeys(names) if counts[name] > 1]:
        raise ValueError(f"{argument} has duplicated column names: {listed(repeated)}")
    labels = dict(zip(present, frame.columns, strict=True))
    return {name: frame[labels[name]] for name in names}


def read_array(data: Any, argument: str) -> Array:
    """Anything but a frame as a float64 array of the library it lives in.

    Parameters
    ----------
    data : array, series, or nested lists
        Booleans, integers or real numbers.
    argument : str
        What the user calls `data`, for messages.

    Returns
    -------
    Array
        A copy with the shape of `data`; NumPy unless `data` is an array of another library.
    """
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise TypeError(
            f"{argument} is a sparse matrix ({type(data).__name__}); make it dense, "
            f"for example with {argument}.toarray()"
        )
    if is_series(data):
        if not is_numeric(data.dtype):
            raise TypeError(f"{argument} must hold real numbers; saw a column of {data.dtype}")
        return column_values(data)
    if is_foreign(data):
        return _read_foreign(data, argument)
    return _read_host(data, argument)


def move(values: Array, beside: Array, argument: str, home: str) -> Array:
    """Values in the library, and on the device, of another array.

    NumPy data go anywhere. Nothing is taken back to NumPy, or from one library to another,
    behind the user's back.

    Parameters
    ----------
    values, beside : Array
        What to move, and an array that lives where it should go.
    argument, home : str
        What the user calls the two, for messages.
    """
    if not is_numpy(values) and namespace(values) is not namespace(beside):
        raise TypeError(
            f"{argument} is an array of {library(values)}, but {home} lives in {library(beside)}; "
            f"convert {argument} first"
        )
    return like(values, beside)


def is_numeric(dtype: Any) -> bool:
    """Whether a type of columns, of pandas or polars, is one of real numbers or truth values."""
    # pandas and NumPy types have a kind; polars types answer for themselves.
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biuf"
    return str(dtype) == "Boolean" or bool(dtype.is_numeric())


def column_values(column: Any) -> Host:
    """Cells of a column of numbers, `(n,)`; missing ones are NaN."""
    if hasattr(column.dtype, "kind") and not isinstance(column.dtype, np.dtype):
        # A type of pandas' own, which has its own mark for what is missing.
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = column.to_numpy()
    return np.array(values, dtype=np.float64)


def _read_foreign(data: Array, argument: str) -> Array:
    xp = namespace(data)
    if not xp.isdtype(data.dtype, ("bool", "integral", "real floating")):
        raise TypeError(f"{argument} must hold real numbers; saw an array of {data.dtype}")
    return xp.astype(data, xp.float64)


def _read_host(data: Any, argument: str) -> Host:
    try:
        values = np.asarray(data)
    except ValueError as error:
        raise ValueError(f"{argument} is ragged: {_unequal_lengths(data)}") from error
    if values.dtype.kind == "c":
        raise TypeError(f"{argument} must hold real numbers; saw complex numbers ({values.dtype})")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{argument} must hold real numbers; saw {_first_stranger(data)}")
    # Wider floats may overflow to infinity here; the check for finite cells then reports them.
    with np.errstate(over="ignore"):
        result = np.array(values, dtype=np.float64, order="C")
    if isinstance(data, np.ma.MaskedArray):
        result[np.ma.getmaskarray(data)] = np.nan
    return result


def _unequal_lengths(data: Any) -> str:
    lengths = [len(row) if hasattr(row, "__len__") else None for row in data]
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            return f"row 0 has {_cells(lengths[0])}, row {row} has {_cells(length)}"
    return "its nested lists differ in length"


def _cells(length: int | None) -> str:
    return "a single number" if length is None else f"{length} cells"


def _first_stranger(data: Any) -> str:
    cells = np.asarray(data, dtype=object)
    if cells.ndim == 0:
        return f"a {type(data).__name__}"
    for position, cell in np.ndenumerate(cells):
        if not isinstance(cell, Number):
            place = ", ".join(
                f"{axis} {index}" for axis, index in zip(("row", "column"), position, strict=False)
            )
            return f"{reprlib.repr(cell)} in {place}"
    return f"an array of {np.asarray(data).dtype}"
