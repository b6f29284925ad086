"""What is odd about the columns of a table, in sentences that name the option that helps."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.data.encoding import MOST_LEVELS, Encoding, TableError
from gpproj.data.frames import listed
from gpproj.io.cells import dates_in, number_in

if TYPE_CHECKING:
    import pandas as pd

MOSTLY = 0.5
"""Share of the texts of a column that are numbers from which on it may be one of numbers."""

FEW_ROWS = 5
"""Rows below which numbers in order say nothing."""


def remarks_on(table: pd.DataFrame, decimal: str) -> list[str]:
    """Return a sentence for each column that may not be meant as an input.

    Parameters
    ----------
    table : DataFrame
        Columns that become inputs.
    decimal : {".", ","}
        What numbers in texts have before their fraction.
    """
    found = []
    for name in table.columns:
        cells = table[name].dropna()
        said = _constant(cells) or _row_numbers(cells) or _written_numbers(cells, decimal)
        if said is not None:
            found.append(f"column {name!r} {said}")
    return found


def _constant(cells: pd.Series[Any]) -> str | None:
    if len(cells) < 2 or cells.nunique() > 1:
        return None
    return f"has the same value in every row and tells nothing; {ignoring(cells.name)}"


def _row_numbers(cells: pd.Series[Any]) -> str | None:
    """Say if cells are whole numbers, each larger than the one before."""
    if cells.dtype.kind not in "iuf" or len(cells) < FEW_ROWS:
        return None
    values = cells.to_numpy(dtype=float)
    if not (values == np.floor(values)).all() or not (np.diff(values) > 0.0).all():
        return None
    return (
        "has whole numbers in order, as if it numbered the rows; as an input it stands for their "
        f"order; {ignoring(cells.name)}"
    )


def _written_numbers(cells: pd.Series[Any], decimal: str) -> str | None:
    """Say if most of the texts of a column are numbers."""
    said = _numbers_among(cells, decimal)
    if said is None:
        return None
    return f"is taken for categories, but {said}; {_as_numbers(cells.name)}"


def _numbers_among(cells: pd.Series[Any], decimal: str) -> str | None:
    if cells.dtype.kind in "biufmM":
        return None
    texts = [text for text in cells if isinstance(text, str)]
    numbers = [number_in(text, decimal) for text in texts]
    count = len(numbers) - numbers.count(None)
    if not texts or count <= MOSTLY * len(texts):
        return None
    odd = dict.fromkeys(text for text, one in zip(texts, numbers, strict=True) if one is None)
    shown = next(text for text, one in zip(texts, numbers, strict=True) if one is not None)
    others = f" (not {listed(odd, 3)})" if odd else ""
    return f"{count} of its {len(texts)} texts are numbers, as {shown!r}{others}"


def check_columns(table: pd.DataFrame, decimal: str) -> None:
    """Refuse columns that no inputs can be made of, all at once."""
    found = {}
    for name in table.columns:
        said = _unusable(table[name], decimal)
        if said is not None:
            found[name] = said
    if not found:
        return
    reasons = "; ".join(f"column {name!r} {said}" for name, said in found.items())
    if len(found) > 1:
        options = " ".join(f"--ignore {shlex.quote(str(name))}" for name in found)
        reasons += f"; {options} leaves them all out"
    raise TableError(reasons)


def _unusable(cells: pd.Series[Any], decimal: str) -> str | None:
    present = cells.dropna()
    if not len(present):
        return f"is empty; {ignoring(cells.name)}"
    if dates_in(present) is not None or present.dtype.kind in "mM":
        days = f"--as-number {shlex.quote(str(cells.name))} makes days of them"
        order = f"--time {shlex.quote(str(cells.name))} makes folds in their order"
        return f"holds dates; {ignoring(cells.name)}, {days}, {order}"
    if cells.dtype.kind in "biuf":
        return None
    levels = present.astype(str).nunique()
    if levels <= MOST_LEVELS:
        return None
    numbers = _numbers_among(present, decimal)
    if numbers is not None:
        return f"has {levels} different texts; {numbers}: {_as_numbers(cells.name)}"
    names = ", as names or identifiers have" if levels == len(present) else ""
    some = listed(list(dict.fromkeys(present.astype(str)))[:2])
    return f"has {levels} different texts ({some}, ...){names}; {ignoring(cells.name)}"


def check_names(encoding: Encoding) -> None:
    """Refuse inputs that would have the same name: the level of a column, and another column."""
    owner: dict[str, str] = {}
    for column in encoding.columns:
        for name in column.inputs:
            if name in owner:
                first, second = owner[name], column.name
                raise TableError(
                    f"columns {first!r} and {second!r} both have an input {name!r}, one of them as "
                    f"a level: name one anew, or leave one out, {ignoring(second)}"
                )
            owner[name] = column.name


def ignoring(name: Any) -> str:
    """Return how a column is left out."""
    return f"--ignore {shlex.quote(str(name))} leaves it out"


def _as_numbers(name: Any) -> str:
    return f"--as-number {shlex.quote(str(name))} takes the numbers"


def missing_cells(table: pd.DataFrame, counts: Iterable[tuple[str, int]]) -> str:
    """Return what is said of missing cells that nothing has been decided about."""
    every = list(counts)
    rows = int(table.isna().any(axis=1).sum())
    where = listed(every, 8, lambda one: f"{one[0]} ({one[1]})")
    have = "has" if rows == 1 else "have"
    said = (
        f"{rows} of {len(table)} rows {have} missing cells: {where}; "
        "--missing drop leaves rows out, --missing impute fills cells"
    )
    name, most = max(every, key=lambda one: one[1])
    if most > len(table) // 5 and len(table.columns) > 2:
        said += f", {ignoring(name).removesuffix(' leaves it out')} leaves out the emptiest column"
    return said
