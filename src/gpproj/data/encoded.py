"""Frames with text, categories, truth values and missing cells as inputs that are numbers.

A column of numbers stays as it is. One of text becomes an input for each of its levels, and which
columns became which inputs is kept as an `Encoding`, so that new rows are read in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import checks, frames
from gpproj.data.encoding import (
    MOST_LEVELS,
    Encoding,
    Missing,
    TableError,
    check_missing,
    column_of,
)
from gpproj.data.frames import is_frame, is_numeric, listed
from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd

WAYS = 'missing="drop", "impute" or "indicate" says what to do about them'
"""What is said where missing cells are refused."""

MOSTLY = 0.5
"""Share of the different texts of a column that are numbers from which the others are odd."""


class Encoded(NamedTuple):
    """Training data whose inputs are numbers."""

    X: Host
    """(n, d)."""
    names: tuple[str, ...]
    """Of the inputs, `d`."""
    y: Any
    """As it was given, without the rows that are left out."""
    exposure: Any
    """Likewise."""
    encoding: Encoding
    kept: NDArray[np.bool_] | None
    """(rows given,): the rows that are left; None if these are all."""


def encoded(X: Any, y: Any, exposure: Any, missing: Missing) -> Encoded | None:
    """Return training data as numbers; None where they are numbers and have to be complete.

    Parameters
    ----------
    X : frame or array (n, d)
        Arrays have no text; their missing cells are NaN.
    y, exposure : series, array or list (n,), optional
        Rows where these are missing are left out, unless missing cells are refused.
    missing : {"error", "drop", "impute", "indicate"}
        What to do about missing cells.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1, 2, 5], "kind": ["a", "b", None]})
    >>> found = encoded(X, [1.0, 2.0, 4.0], None, "drop")
    >>> found.X
    array([[1., 0.],
           [2., 1.]])
    >>> found.names, found.kept
    (('size', 'kind=b'), array([ True,  True, False]))
    """
    check_missing(missing)
    if missing == "error" and not (is_frame(X) and not _all_numbers(X)):
        return None
    table = _table_of(X, "X", missing)
    absent = table.isna()
    if missing == "error" and absent.any(axis=None):
        raise ValueError(_refusal(absent))
    left_out = _absent(y, len(table)) | _absent(exposure, len(table))
    if missing == "drop":
        left_out = left_out | absent.any(axis=1).to_numpy()
    kept = None
    if missing != "error" and left_out.any():
        kept = ~left_out
        if kept.sum() < 2:
            raise ValueError(f"only {kept.sum()} rows of X and y are left without missing cells")
        for values, argument in ((y, "y"), (exposure, "exposure")):
            if hasattr(values, "__len__"):
                checks.lengths(len(values), len(table), argument)
        table, y, exposure = table[kept], _rows(y, kept), _rows(exposure, kept)
    try:
        most = _most_levels(X)
        columns = tuple(
            column_of(table[name], missing, 0, most.get(name, MOST_LEVELS)) for name in table
        )
        encoding = Encoding(columns, missing)
        inputs = encoding.inputs(table, first_row=0)
    except TableError as error:
        raise ValueError(f"X: {error}") from None
    names = [name for column in columns for name in column.inputs]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(
            f"X: more than one column has inputs named {listed(repeated)}; rename columns"
        )
    return Encoded(inputs.to_numpy(dtype=np.float64), tuple(names), y, exposure, encoding, kept)


def encoded_rows(encoding: Encoding, X: Any, wanted: Sequence[str], named: bool) -> Host | None:
    """Return inputs of new rows, `(m, len(wanted))`; None where X holds inputs and not columns.

    Parameters
    ----------
    encoding : Encoding
        Of the training data.
    X : frame or array
        Columns as the training data had them, in any order and among others; or inputs. An array
        has all columns, or those of the inputs that are wanted, in their order.
    wanted : sequence of str
        Inputs.
    named : bool
        Whether the training data were a frame.

    Raises
    ------
    ValueError
        For levels that the training data did not have, and for missing cells unless something
        stands in for them.
    """
    needed = encoding.columns_of(wanted)
    if holds_inputs(encoding, X, wanted):
        return None
    if is_frame(X) and named:
        levels = {one.name for one in encoding.columns if one.levels is not None}
        table = _table_of(X, "X", encoding.missing, needed, levels)
    else:
        table = _unnamed_table(encoding, X, needed)
    checks.table(table, "X")
    try:
        found = encoding.inputs(table, needed, first_row=0)
    except TableError as error:
        advice = {
            "error": '; fit with missing="impute" or "indicate" to predict such rows',
            "drop": "; leave out such rows, as the training data did",
        }
        hint = advice.get(encoding.missing, "") if "missing cells" in str(error) else ""
        raise ValueError(f"X: {error}{hint}") from None
    values: Host = found[list(wanted)].to_numpy(dtype=np.float64)
    return values


def holds_inputs(encoding: Encoding, X: Any, wanted: Sequence[str]) -> bool:
    """Say whether rows hold inputs, levels as zeros and ones, rather than columns as given."""
    if tuple(wanted) == encoding.columns_of(wanted):  # one and the same
        return False
    if is_frame(X):
        present = set(frames.column_names(X))
        return present.issuperset(wanted)
    shape = np.shape(X)
    return len(shape) == 2 and shape[1] == sum(len(one.inputs) for one in encoding.columns)


def _all_numbers(frame: Any) -> bool:
    """Say whether every column of a frame is one of numbers, as far as its types tell."""
    labels = list(frame.columns)
    if len(set(map(str, labels))) < len(labels):  # which has an error of its own
        return True
    return all(is_numeric(frame[label].dtype) for label in labels)


def _table_of(
    X: Any,
    argument: str,
    missing: Missing,
    names: Sequence[str] | None = None,
    levels: Collection[str] = (),
) -> pd.DataFrame:
    """Return cells as columns of numbers or of categories, rows counted from zero.

    Columns that are known to have `levels` are categories, also where these look like numbers.
    """
    import pandas as pd

    if not is_frame(X):
        if frames.is_foreign(X):
            raise TypeError(
                f'missing="{missing}" is for frames and NumPy arrays; {argument} is an array of '
                f"{frames.library(X)}"
            )
        values = frames.read(X, argument)
        checks.table(values, argument)
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    found = frames.chosen_columns(X, frames.column_names(X) if names is None else names, argument)
    cells = {
        name: _cells_of(column, name, argument, name in levels) for name, column in found.items()
    }
    return pd.DataFrame(cells, index=pd.RangeIndex(X.shape[0]))


def _cells_of(column: Any, name: str, argument: str, is_categorical: bool) -> Any:
    """Return the cells of a column of any library: floats, or a categorical of texts."""
    import pandas as pd

    label, dtype = f"{argument}: column {name!r}", column.dtype
    is_categorical = is_categorical or _is_categorical(dtype)
    if is_numeric(dtype) and not is_categorical:
        return frames.column_values(column)
    kind = getattr(dtype, "kind", "")
    is_temporal = getattr(dtype, "is_temporal", None)
    if kind in ("m", "M") or (is_temporal is not None and is_temporal()):
        raise TypeError(f"{label} holds dates ({dtype}); make numbers of them, or drop it")
    cells = column.to_list()
    absent = np.asarray(pd.isna(pd.Series(cells, dtype=object)), dtype=bool)
    present = [cell for cell, one in zip(cells, absent, strict=True) if not one]
    if not is_categorical and all(_is_number(cell) for cell in present):
        filled = (np.nan if one else cell for cell, one in zip(cells, absent, strict=True))
        return np.array([float(cell) for cell in filled])
    if not is_categorical:
        _check_text(cells, absent, label)
    text = [None if one else _level_of(cell) for cell, one in zip(cells, absent, strict=True)]
    return pd.Categorical(text)


def _level_of(cell: Any) -> str:
    """Return the name of a level: whole numbers are the same whether they were read as such or not.

    Beside missing cells they are fractions for most readers of files.
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _is_categorical(dtype: Any) -> bool:
    return str(dtype).startswith(("category", "Categorical", "Enum"))


def _most_levels(X: Any) -> dict[str, None]:
    """Return the columns that may have any number of levels, since their type says so."""
    if not is_frame(X):
        return {}
    return {str(label): None for label in X.columns if _is_categorical(X[label].dtype)}


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real | Decimal | np.bool_)


def _check_text(cells: list[Any], absent: NDArray[np.bool_], label: str) -> None:
    """Refuse columns of anything but text, and text that is meant to be numbers."""
    odd = [
        row
        for row, (cell, one) in enumerate(zip(cells, absent, strict=True))
        if not (one or isinstance(cell, str))
    ]
    if odd:
        some = next(row for row, one in enumerate(absent) if not one and row not in odd[:1])
        kinds = " and ".join(f"{cells[row]!r} in row {row}" for row in sorted((odd[0], some)))
        raise TypeError(
            f"{label} must hold numbers, truth values or text, and one of them alone; saw {kinds}"
        )
    texts = dict.fromkeys(cell for cell, one in zip(cells, absent, strict=True) if not one)
    strange = [text for text in texts if not _reads_as_number(text)]
    if strange and len(strange) < MOSTLY * len(texts):
        raise ValueError(
            f"{label} has numbers but for {listed(strange, 3)}, in row {cells.index(strange[0])} "
            "first: make numbers of it, with NaN where cells are missing (with na_values= of "
            "pandas.read_csv, or null_values= of polars.read_csv); or make it categorical"
        )


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unnamed_table(encoding: Encoding, X: Any, needed: Sequence[str]) -> pd.DataFrame:
    """Return rows without names as a table of all columns, or of those that are needed."""
    import pandas as pd

    levels = [one.name for one in encoding.columns if one.levels is not None and one.name in needed]
    if levels:
        raise TypeError(
            f"X must be a frame with the columns {listed(needed)}: those of text "
            f"({listed(levels)}) are read by name; saw {type(X).__name__}"
        )
    values = np.asarray(frames.read(X, "X"))
    checks.table(values, "X")
    for names in (encoding.names, tuple(needed)):
        if values.shape[1] == len(names):
            return pd.DataFrame(values, columns=list(names))
    raise ValueError(
        f"X must have {len(encoding.names)} columns ({listed(encoding.names)}), or the "
        f"{len(needed)} that are needed; saw {values.shape[1]}"
    )


def _refusal(absent: pd.DataFrame) -> str:
    """Return what is said about missing cells that are refused."""
    counts = absent.sum()
    where = ", ".join(f"{name!r} ({count})" for name, count in counts[counts > 0].items())
    return (
        f"X has missing cells in {int(absent.any(axis=1).sum())} of {len(absent)} rows: {where}; "
        f"{WAYS}"
    )


def _absent(values: Any, rows: int) -> NDArray[np.bool_]:
    """Return which values of a target or of exposures are missing."""
    import pandas as pd

    if values is None or frames.is_foreign(values) or not hasattr(values, "__len__"):
        return np.zeros(rows, dtype=bool)
    plain = values.to_numpy() if hasattr(values, "to_numpy") else values
    cells = np.asarray(plain, dtype=object)
    if cells.size != rows:  # which has an error of its own
        return np.zeros(rows, dtype=bool)
    return np.asarray(pd.isna(cells.reshape(rows)), dtype=bool)


def _rows(values: Any, kept: NDArray[np.bool_]) -> Any:
    """Return some of the values of a target or of exposures."""
    if values is None:
        return None
    places = np.flatnonzero(kept)
    if frames.is_foreign(values):
        return values[places]
    cells = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(cells, np.ndarray):
        return [cells[place] for place in places]
    # Numbers beside missing cells may have been objects for these alone.
    part = cells[places]
    return part.tolist() if part.dtype == object else part
