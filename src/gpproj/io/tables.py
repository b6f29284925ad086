"""Tables of users: from frames to numeric inputs and a target, and new rows in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpproj.data import TargetKind
from gpproj.data.encoding import Encoding, Missing, TableError, column_of, numbers_of
from gpproj.data.naming import unknown_column
from gpproj.io.cells import dates_in
from gpproj.io.remarks import check_columns, check_names, missing_cells, remarks_on
from gpproj.io.targets import exposure_of, target_of
from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd


class Prepared(NamedTuple):
    """What a model can be fitted to."""

    X: pd.DataFrame
    y: Host | list[Any]
    """Numbers, or the labels of classes."""
    encoding: Encoding
    dropped: int
    """Rows with missing cells that were left out."""
    exposure: Host | None = None
    """Exposures of counts, where the table has them."""
    row_groups: list[str] | None = None
    """Labels of groups of rows that stay together, where a column has them."""
    times: Host | None = None
    """What rows are ordered by, where a column says it."""
    remarks: tuple[str, ...] = ()
    """Sentences about columns that may not be meant as inputs, and rows that are left out."""
    frame: pd.DataFrame | None = None
    """The columns that inputs are made of, as they are."""


def prepare(
    table: pd.DataFrame,
    target: str,
    ignore: Iterable[str] = (),
    missing: Missing = "error",
    kind: TargetKind | str = TargetKind.REAL,
    *,
    exposure: str | None = None,
    row_groups: str | None = None,
    time: str | None = None,
    decimal: str = ".",
) -> Prepared:
    """Return inputs and target of a table.

    Numbers and truth values are taken as they are; text and categories become one input for each
    level, which belong together.

    Parameters
    ----------
    table : DataFrame
    target : str
        Its column.
    ignore : iterable of str
        Columns to leave out.
    missing : {"error", "drop", "impute", "indicate"}
        What to do about missing cells: refuse them, leave out their rows, or put the median (of
        numbers) or the most frequent level in their place, with an input that says so where it is
        to be indicated. Rows without a target, or without an
        exposure, a group or a time, are always left out unless they are refused.
    kind : TargetKind
        What the target is: numbers, labels of two classes (text, truth values or numbers), or
        counts.
    exposure : str, optional
        For counts: the column with what each rate is multiplied by. It is no input.
    row_groups : str, optional
        The column with the groups of rows that stay together. It is no input.
    time : str, optional
        The column with dates or numbers that order the rows. It is no input.
    decimal : {".", ","}
        What numbers in texts have before their fraction, for remarks.
    """
    columns = {"target": target, "exposure": exposure, "row_groups": row_groups, "time": time}
    special = {label: name for label, name in columns.items() if name is not None}
    ignored, kind = tuple(ignore), TargetKind(kind)
    _check_names(table, special, ignored)
    table = table.drop(columns=list(ignored))
    if not len(table.columns.drop(list(special.values()))):
        raise TableError(f"the table has no column beside the {' and the '.join(special)}")
    counts = table.isna().sum()
    empty = [name for name in counts[counts == len(table)].index if name not in special.values()]
    check_columns(table[empty], decimal)
    if missing == "error" and counts.any():
        raise TableError(missing_cells(table, counts[counts > 0].items()))
    before = len(table)
    table = table.dropna(subset=None if missing == "drop" else list(special.values()))
    if len(table) < 2:
        left = "no row is" if not len(table) else "only 1 row is"
        raise TableError(f"{left} left without missing cells; --missing impute fills cells")
    y = target_of(table[target], kind)
    exposures = None if exposure is None else exposure_of(table, exposure)
    groups = None if row_groups is None else [str(cell) for cell in table[row_groups]]
    times = None if time is None else _times(table[time])
    inputs = table.drop(columns=list(special.values())).reset_index(drop=True)
    check_columns(inputs, decimal)
    encoding = Encoding(tuple(column_of(inputs[name], missing) for name in inputs.columns))
    check_names(encoding)
    X = encoding.inputs(inputs)
    dropped = before - len(table)
    remarks = [*_rows_left_out(dropped, before, missing, special), *_filled(inputs)]
    remarks += remarks_on(inputs, decimal)
    return Prepared(X, y, encoding, dropped, exposures, groups, times, tuple(remarks), inputs)


def _check_names(table: pd.DataFrame, special: dict[str, str], ignored: tuple[str, ...]) -> None:
    """Refuse columns that are not there, or would have two parts to play."""
    for label, name in (*special.items(), *(("ignore", one) for one in ignored)):
        if name not in table:
            raise TableError(unknown_column(label, name, table.columns))
    for label, name in special.items():
        if name in ignored:
            raise TableError(f"ignore: the {label} {name!r} cannot be left out")
        first = next(one for one, other in special.items() if other == name)
        if first != label:
            raise TableError(f"{label}: column {name!r} is the {first}")


def _times(cells: pd.Series[Any]) -> Host:
    """Return what rows are ordered by: dates or numbers."""
    dates = None if cells.dtype.kind in "biuf" else dates_in(cells)
    values = numbers_of(cells) if dates is None else dates.astype("int64").to_numpy(dtype=float)
    if values is None:
        raise TableError(
            f"time: column {cells.name!r} must hold numbers or dates, best as 2026-01-31; saw "
            f"{str(cells.iloc[0])!r} in row {int(cells.index[0]) + 1}"
        )
    return np.asarray(values, dtype=float)


def _rows_left_out(dropped: int, rows: int, missing: str, special: dict[str, str]) -> list[str]:
    if not dropped:
        return []
    lack = "missing cells" if missing == "drop" else f"no {' or '.join(special)}"
    have, are = ("has", "is") if dropped == 1 else ("have", "are")
    return [f"{dropped} of {rows} rows {have} {lack} and {are} left out"]


def _filled(inputs: pd.DataFrame) -> list[str]:
    """Say which cells were given the median or the most frequent level."""
    counts = inputs.isna().sum()
    if not counts.any():
        return []
    where = ", ".join(f"{name} ({count})" for name, count in counts[counts > 0].items())
    return [f"missing cells have the median or the most frequent level of their column: {where}"]
