"""Columns of tables as inputs: numbers stay, text becomes one input for each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpproj.data.frames import listed
from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["error", "drop", "impute"]

MOST_LEVELS = 30
"""Of a categorical column: more are a sign of names or identifiers."""


class TableError(ValueError):
    """A table that cannot be used, said in one line."""


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes inputs."""

    name: str
    levels: tuple[str, ...] | None
    """Levels of a categorical column; None for numbers."""
    fill: float | str | None
    """What stands in for missing cells; None if there may be none."""

    def __post_init__(self) -> None:
        """Take lists of levels, which JSON has."""
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(self.levels))

    @property
    def shown(self) -> tuple[str, ...]:
        """Levels that have an input: of two, one says it all."""
        levels = self.levels or ()
        return levels[1:] if len(levels) == 2 else levels

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its inputs."""
        if self.levels is None:
            return (self.name,)
        return tuple(f"{self.name}={level}" for level in self.shown)


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become inputs."""

    columns: tuple[Column, ...]

    @property
    def groups(self) -> dict[str, list[str]]:
        """Inputs that belong together: the levels of categorical columns."""
        return {one.name: list(one.inputs) for one in self.columns if one.levels is not None}

    def needed(self, inputs: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that some inputs are made of."""
        wanted = set(inputs)
        return tuple(one.name for one in self.columns if wanted & set(one.inputs))

    def inputs(self, table: pd.DataFrame, only: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the inputs of a table, as numbers.

        Parameters
        ----------
        table : DataFrame
        only : iterable of str, optional
            Columns that are needed; all when left out.
        """
        import pandas as pd

        wanted = {one.name for one in self.columns} if only is None else set(only)
        columns = [one for one in self.columns if one.name in wanted]
        absent = [one.name for one in columns if one.name not in table]
        if absent:
            raise TableError(f"the table has no column {listed(absent)}")
        found: dict[str, Host] = {}
        for column in columns:
            found |= inputs_of(column, table[column.name])
        return pd.DataFrame(found)

    def plain(self) -> list[dict[str, Any]]:
        """Return values that JSON can hold."""
        return [asdict(column) for column in self.columns]

    @staticmethod
    def of_plain(values: Iterable[Mapping[str, Any]]) -> Encoding:
        """Return the encoding that `plain` has written down."""
        return Encoding(tuple(Column(**column) for column in values))


def column_of(cells: pd.Series[Any], missing: Missing) -> Column:
    """Decide how a column becomes inputs."""
    name = str(cells.name)
    if cells.isna().all():
        raise TableError(f"column {name!r} is empty; ignore it")
    if cells.dtype.kind in "mM":
        raise TableError(f"column {name!r} holds dates; make numbers of them, or ignore it")
    values = numbers_of(cells)
    if values is not None:
        fill = float(np.nanmedian(values)) if missing == "impute" else None
        return Column(name, None, fill)
    text = cells.dropna().astype(str)
    levels = tuple(sorted(text.unique()))
    if len(levels) > MOST_LEVELS:
        raise TableError(
            f"column {name!r} has {len(levels)} different texts ({odd_cell(cells)}): "
            "ignore it, or make numbers of it"
        )
    fill_level = str(text.mode().iloc[0]) if missing == "impute" else None
    return Column(name, levels, fill_level)


def inputs_of(column: Column, cells: pd.Series[Any]) -> dict[str, Host]:
    """Return the inputs of a column."""
    if column.fill is not None:
        cells = cells.astype(object).where(cells.notna(), column.fill)
    elif cells.isna().any():
        raise TableError(f"column {column.name!r} has {int(cells.isna().sum())} missing cells")
    if column.levels is None:
        return {column.name: only_numbers(cells, f"column {column.name!r}")}
    text = cells.astype(str)
    new = text[~text.isin(column.levels)]
    if len(new):
        raise TableError(
            f"column {column.name!r} has {new.iloc[0]!r} in row {int(new.index[0]) + 1}, which the "
            f"model has not seen; it knows {listed(column.levels)}"
        )
    return {
        name: (text == level).to_numpy(dtype=np.float64)
        for name, level in zip(column.inputs, column.shown, strict=True)
    }


def numbers_of(cells: pd.Series[Any]) -> Host | None:
    """Return a column as floats with NaN for missing cells; None if it is none of numbers."""
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        return None
    try:
        values: Host = pd.to_numeric(cells).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None
    if np.isinf(values).any():
        raise TableError(f"column {cells.name!r} has infinite cells")
    return values


def only_numbers(cells: pd.Series[Any], label: str, hint: str = "") -> Host:
    """Return a column as floats, or refuse one that is not all numbers."""
    values = numbers_of(cells)
    if values is None:
        raise TableError(f"{label} must be numbers, {odd_cell(cells)}{hint}")
    return values


def odd_cell(cells: pd.Series[Any]) -> str:
    """Name the first cell that is no number."""
    import pandas as pd

    odd = cells[pd.to_numeric(cells.astype(object), errors="coerce").isna() & cells.notna()]
    return f"saw {str(odd.iloc[0])!r} in row {int(odd.index[0]) + 1}" if len(odd) else "saw none"
