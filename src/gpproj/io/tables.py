"""Tables of users: from files to numeric inputs and a target, and new rows in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TargetKind
from gpproj.data.encoding import Encoding, Missing, TableError, column_of, only_numbers
from gpproj.data.frames import listed
from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".parquet": None}
"""Of files that can be read, and what separates their cells."""


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


def read_table(file: str | Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file.

    Parameters
    ----------
    file : path
        The ending says what it is: `.csv`, `.tsv` or `.txt` (tabs), `.parquet`.
    """
    path = Path(file)
    if not path.exists():
        raise TableError(f"there is no file {path}")
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a table")
    if path.suffix.lower() not in ENDINGS:
        raise TableError(f"{path} must end in {', '.join(ENDINGS)}")
    try:
        table = _read(path)
    except TableError:
        raise
    except PermissionError:
        raise TableError(f"{path} cannot be read: permission denied") from None
    except ImportError:
        raise TableError(f"{path}: Parquet needs `pip install pyarrow`") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not text in UTF-8") from None
    except Exception as error:  # every reader has errors of its own
        said = " ".join(str(error).split())
        raise TableError(f"{path} cannot be read as a table: {said}") from None
    if not len(table):
        raise TableError(f"{path} has no rows")
    return table.rename(columns=str).reset_index(drop=True)


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    separator = ENDINGS[path.suffix.lower()]
    if separator is None:
        return pd.read_parquet(path)
    # pandas would give a second column of the same name another one.
    names = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str).iloc[0].dropna()
    if names.duplicated().any():
        raise TableError(f"{path} has more than one column {names[names.duplicated()].iloc[0]!r}")
    # Without index_col=False a row with one cell too many shifts all of them.
    return pd.read_csv(path, sep=separator, index_col=False)


def prepare(
    table: pd.DataFrame,
    target: str,
    ignore: Iterable[str] = (),
    missing: Missing = "error",
    kind: TargetKind | str = TargetKind.REAL,
    *,
    exposure: str | None = None,
    row_groups: str | None = None,
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
    missing : {"error", "drop", "impute"}
        What to do about missing cells: refuse them, leave out their rows, or put the median (of
        numbers) or the most frequent level in their place. Rows without a target, or without an
        exposure, are always left out unless they are refused.
    kind : TargetKind
        What the target is: numbers, labels of two classes (text, truth values or numbers), or
        counts.
    exposure : str, optional
        For counts: the column with what each rate is multiplied by. It is no input.
    row_groups : str, optional
        The column with the groups of rows that stay together. It is no input.
    """
    ignored, kind = tuple(ignore), TargetKind(kind)
    columns = {"target": target, "exposure": exposure, "row_groups": row_groups}
    special = {label: name for label, name in columns.items() if name is not None}
    for label, name in (*special.items(), *(("ignore", one) for one in ignored)):
        if name not in table:
            raise TableError(f"{label}: the table has no column {name!r}; it has {_some(table)}")
    for label, name in special.items():
        if name in ignored:
            raise TableError(f"ignore: the {label} {name!r} cannot be left out")
    for label, name in special.items():
        first = next(one for one, other in special.items() if other == name)
        if first != label:
            raise TableError(f"{label}: column {name!r} is the {first}")
    table = table.drop(columns=list(ignored))
    counts = table.isna().sum()
    if missing == "error" and counts.any():
        where = ", ".join(f"{name} ({count})" for name, count in counts[counts > 0].items())
        rows = int(table.isna().any(axis=1).sum())
        raise TableError(
            f"{rows} of {len(table)} rows have missing cells: {where}; "
            "drop these rows or impute the cells"
        )
    before = len(table)
    table = table.dropna(subset=None if missing == "drop" else list(special.values()))
    if len(table) < 2:
        raise TableError(f"only {len(table)} rows are left without missing cells")
    y = _labels(table[target]) if kind.has_classes else _target_numbers(table[target], kind)
    exposures = None if exposure is None else exposure_of(table, exposure)
    groups = None if row_groups is None else [str(cell) for cell in table[row_groups]]
    table = table.reset_index(drop=True)
    names = [name for name in table.columns if name not in special.values()]
    if not names:
        raise TableError(f"the table has no column beside the {' and the '.join(special)}")
    encoding = Encoding(tuple(column_of(table[name], missing) for name in names))
    return Prepared(encoding.inputs(table), y, encoding, before - len(table), exposures, groups)


def exposure_of(table: pd.DataFrame, name: str) -> Host:
    """Return the exposures of a table: positive numbers, one a row."""
    if name not in table:
        raise TableError(f"exposure: the table has no column {name!r}; it has {_some(table)}")
    label = f"exposure: column {name!r}"
    values = only_numbers(table[name], label)
    _refuse(table[name], ~(values > 0.0), f"{label} must be positive")
    return values


def _target_numbers(cells: pd.Series[Any], kind: TargetKind) -> Host:
    """Return a target of real numbers or of counts."""
    name = f"target: column {cells.name!r}"
    values = only_numbers(cells, name, "; two classes need --likelihood bernoulli")
    if kind.takes_exposure:
        odd = (values < 0.0) | (values != np.floor(values))
        _refuse(cells, odd, f"{name} must be counts, whole numbers from 0 on")
        if not values.any():
            raise TableError(f"{name} must count something; every count is 0")
    return values


def _labels(cells: pd.Series[Any]) -> list[Any]:
    """Return the labels of two classes, as Python's own text, truth values and numbers."""
    name = f"target: column {cells.name!r}"
    if cells.dtype.kind in "mM":
        raise TableError(f"{name} holds dates, which are no classes")
    # Whole numbers beside missing cells were read as fractions.
    labels = [
        int(cell) if isinstance(cell, float) and cell.is_integer() else cell
        for cell in cells.tolist()
    ]
    seen = list(dict.fromkeys(labels))
    if len(seen) != 2:
        some = listed(seen[:5]) + (", ..." if len(seen) > 5 else "")
        raise TableError(f"{name} must have two classes; saw {len(seen)}: {some}")
    if isinstance(seen[0], str) != isinstance(seen[1], str):
        raise TableError(f"{name} must have labels of one kind; saw {listed(seen)}")
    return labels


def _refuse(cells: pd.Series[Any], odd: NDArray[np.bool_], what: str) -> None:
    """Name the first cell that is not as it must be, if there is one."""
    if odd.any():
        first = int(np.argmax(odd))
        raise TableError(f"{what}; saw {cells.iloc[first]} in row {int(cells.index[first]) + 1}")


def _some(table: pd.DataFrame) -> str:
    return listed(list(table.columns[:8])) + (", ..." if len(table.columns) > 8 else "")
