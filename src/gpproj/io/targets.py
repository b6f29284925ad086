"""Targets of tables: numbers, labels of two classes and counts, and which of them a column is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TargetKind
from gpproj.data.encoding import TableError, numbers_of, only_numbers
from gpproj.data.frames import listed
from gpproj.data.naming import unknown_column
from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd

CODES = ({0, 1}, {-1, 1}, {1, 2})
"""Numbers that stand for two classes; any other two are numbers."""

FEW_COUNTS = 30
"""Different whole numbers up to which counts are mentioned."""


def likelihood_of(cells: pd.Series[Any]) -> tuple[str, str | None]:
    """Return the likelihood that suits a target, and a sentence if it is not clear from the table.

    Parameters
    ----------
    cells : Series
        The target's column.
    """
    name, present = f"target: column {cells.name!r}", cells.dropna()
    values = list(dict.fromkeys(present.tolist()))
    others = "--likelihood gaussian takes them for numbers"
    if len(values) == 2 and cells.dtype.kind not in "mM":
        shown = listed(sorted(map(_whole, values), key=str))
        text = all(isinstance(one, str) for one in values)
        counts = present.value_counts()
        if text or (counts.min() > 1 and set(values) in CODES):
            classes = f"{name} has two values, {shown}, which are taken for classes"
            return "bernoulli", classes if text else f"{classes}; {others}"
        if len(present) > 2:
            two = "--likelihood bernoulli takes them for classes"
            return "gaussian", f"{name} has two values, {shown}, which are taken for numbers; {two}"
    try:
        numbers = numbers_of(present)
    except TableError:
        return "gaussian", None  # infinite cells, which are refused later
    if numbers is None or not numbers.size or cells.dtype.kind in "bmM":
        return "gaussian", None
    whole = bool((numbers >= 0.0).all() and (numbers == np.floor(numbers)).all())
    if whole and len(values) <= min(FEW_COUNTS, numbers.size // 2) and numbers.min() <= 1.0:
        return "gaussian", (
            f"{name} has whole numbers from {numbers.min():.0f} to {numbers.max():.0f}, which are "
            "taken for real ones; if they count something, --likelihood poisson or "
            "negative-binomial suits them"
        )
    return "gaussian", None


def target_of(cells: pd.Series[Any], kind: TargetKind) -> Host | list[Any]:
    """Return a target as its kind has it: numbers, counts or labels."""
    return _labels(cells) if kind.has_classes else _target_numbers(cells, kind)


def exposure_of(table: pd.DataFrame, name: str) -> Host:
    """Return the exposures of a table: positive numbers, one a row."""
    if name not in table:
        raise TableError(unknown_column("exposure", name, table.columns))
    label = f"exposure: column {name!r}"
    values = only_numbers(table[name], label)
    _refuse(table[name], ~(values > 0.0), f"{label} must be positive")
    return values


def _target_numbers(cells: pd.Series[Any], kind: TargetKind) -> Host:
    """Return a target of real numbers or of counts."""
    name = f"target: column {cells.name!r}"
    hint = f"; two classes need --likelihood bernoulli, and --as-number {cells.name} takes numbers"
    values = only_numbers(cells, name, f"{hint} out of texts")
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
    labels = [_whole(cell) for cell in cells.tolist()]
    seen = list(dict.fromkeys(labels))
    if len(seen) != 2:
        some = listed(seen[:5]) + (", ..." if len(seen) > 5 else "")
        raise TableError(f"{name} must have two classes; saw {len(seen)}: {some}")
    if isinstance(seen[0], str) != isinstance(seen[1], str):
        raise TableError(f"{name} must have labels of one kind; saw {listed(seen)}")
    return labels


def _whole(cell: Any) -> Any:
    """Return a label; whole numbers beside missing cells were read as fractions."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _refuse(cells: pd.Series[Any], odd: NDArray[np.bool_], what: str) -> None:
    """Name the first cell that is not as it must be, if there is one."""
    if odd.any():
        first = int(np.argmax(odd))
        raise TableError(f"{what}; saw {cells.iloc[first]} in row {int(cells.index[first]) + 1}")
