"""Columns of tables as inputs: numbers stay, text becomes one input for each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gpproj.data.frames import listed
from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["error", "drop", "impute", "indicate"]
"""What is done about missing cells: they are refused, their rows are left out, or the median of a
column of numbers or the most frequent level stands in for them; "indicate" has one more input
besides, for each column that had missing cells, which says whether the cell was missing."""

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
    indicated: bool = False
    """Whether one more input says which cells were missing."""

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
        own: tuple[str, ...] = (self.name,)
        if self.levels is not None:
            own = tuple(f"{self.name}={level}" for level in self.shown)
        return (*own, f"{self.name} is missing") if self.indicated else own


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become inputs."""

    columns: tuple[Column, ...]
    missing: Missing = "error"
    """What is done about missing cells."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(one.name for one in self.columns)

    @property
    def groups(self) -> dict[str, list[str]]:
        """Inputs that belong together: those of categorical columns and of missing cells."""
        return {
            one.name: list(one.inputs)
            for one in self.columns
            if one.levels is not None or one.indicated
        }

    def needed(self, inputs: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that some inputs are made of."""
        wanted = set(inputs)
        return tuple(one.name for one in self.columns if wanted & set(one.inputs))

    def columns_of(self, inputs: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that some inputs are made of, in the order of these, each once."""
        owners = {own: one.name for one in self.columns for own in one.inputs}
        return tuple(dict.fromkeys(owners[name] for name in inputs))

    def inputs(
        self, table: pd.DataFrame, only: Iterable[str] | None = None, first_row: int = 1
    ) -> pd.DataFrame:
        """Return the inputs of a table, as numbers.

        Parameters
        ----------
        table : DataFrame
        only : iterable of str, optional
            Columns that are needed; all when left out.
        first_row : int
            What the first row is called in messages: people count rows of a table from one, and
            Python from zero.
        """
        import pandas as pd

        wanted = {one.name for one in self.columns} if only is None else set(only)
        columns = [one for one in self.columns if one.name in wanted]
        absent = [one.name for one in columns if one.name not in table]
        if absent:
            raise TableError(f"the table has no column {listed(absent)}")
        found: dict[str, Host] = {}
        for column in columns:
            found |= inputs_of(column, table[column.name], first_row)
        return pd.DataFrame(found, index=pd.RangeIndex(len(table)))

    def plain(self) -> list[dict[str, Any]]:
        """Return values that JSON can hold."""
        return [asdict(column) for column in self.columns]

    @staticmethod
    def of_plain(values: Iterable[Mapping[str, Any]]) -> Encoding:
        """Return the encoding that `plain` has written down."""
        return Encoding(tuple(Column(**column) for column in values))


def check_missing(missing: Any) -> None:
    """Refuse what is no way to treat missing cells."""
    if missing not in get_args(Missing):
        allowed = ", ".join(f'"{one}"' for one in get_args(Missing))
        raise ValueError(f"missing must be one of {allowed}; got {missing!r}")


def column_of(
    cells: pd.Series[Any], missing: Missing, first_row: int = 1, most: int | None = MOST_LEVELS
) -> Column:
    """Decide how a column becomes inputs.

    Parameters
    ----------
    cells : Series
    missing : {"error", "drop", "impute", "indicate"}
    first_row : int
        What messages call the first row.
    most : int, optional
        Levels that it may have; any number where somebody has said that they are levels.
    """
    name = str(cells.name)
    absent = cells.isna()
    if absent.all():
        raise TableError(f"column {name!r} is empty; ignore it")
    if cells.dtype.kind in "mM":
        raise TableError(f"column {name!r} holds dates; make numbers of them, or ignore it")
    filled = missing in ("impute", "indicate")
    indicated = missing == "indicate" and bool(absent.any())
    values = numbers_of(cells)
    if values is not None:
        fill = float(np.nanmedian(values)) if filled else None
        return Column(name, None, fill, indicated)
    text = cells.dropna().astype(str)
    levels = tuple(sorted(text.unique()))
    if most is not None and len(levels) > most:
        raise TableError(
            f"column {name!r} has {len(levels)} different texts ({odd_cell(cells, first_row)}): "
            "ignore it, or make numbers of it"
        )
    fill_level = str(text.mode().iloc[0]) if filled else None
    return Column(name, levels, fill_level, indicated)


def inputs_of(column: Column, cells: pd.Series[Any], first_row: int = 1) -> dict[str, Host]:
    """Return the inputs of a column."""
    absent = cells.isna()
    if column.fill is not None:
        cells = cells.astype(object).where(~absent, column.fill)
    elif absent.any():
        row = int(np.argmax(absent.to_numpy())) + first_row
        raise TableError(
            f"column {column.name!r} has {int(absent.sum())} missing cells, the first in row {row}"
        )
    own = {column.inputs[-1]: absent.to_numpy(dtype=np.float64)} if column.indicated else {}
    if column.levels is None:
        label = f"column {column.name!r}"
        return {column.name: only_numbers(cells, label, first_row=first_row), **own}
    text = cells.astype(str)
    new = text[~text.isin(column.levels)]
    if len(new):
        raise TableError(
            f"column {column.name!r} has {new.iloc[0]!r} in row {int(new.index[0]) + first_row}, "
            f"which the model has not seen; it knows {listed(column.levels)}"
        )
    found = {
        name: (text == level).to_numpy(dtype=np.float64)
        for name, level in zip(column.inputs, column.shown, strict=False)
    }
    return {**found, **own}


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


def only_numbers(cells: pd.Series[Any], label: str, hint: str = "", first_row: int = 1) -> Host:
    """Return a column as floats, or refuse one that is not all numbers."""
    values = numbers_of(cells)
    if values is None:
        raise TableError(f"{label} must be numbers, {odd_cell(cells, first_row)}{hint}")
    return values


def odd_cell(cells: pd.Series[Any], first_row: int = 1) -> str:
    """Name the first cell that is no number."""
    import pandas as pd

    odd = cells[pd.to_numeric(cells.astype(object), errors="coerce").isna() & cells.notna()]
    if not len(odd):
        return "saw none"
    return f"saw {str(odd.iloc[0])!r} in row {int(odd.index[0]) + first_row}"
