"""Targets: real numbers, labels of two classes, or counts and their exposures."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpproj.data import checks, frames
from gpproj.data.frames import listed
from gpproj.data.target_kinds import TargetKind
from gpproj.linalg import Array, like, namespace, to_host

# Missing values of pandas, known by name so that pandas is never imported here.
MISSING = ("NAType", "NaTType")


class Target(NamedTuple):
    """Targets as numbers, and what the numbers of two classes stand for."""

    values: Array
    """(n,): 0 and 1 for classes, otherwise as they were given."""
    classes: tuple[Any, ...] | None
    """The labels of 0 and of 1."""


def known_kind(kind: Any) -> TargetKind:
    """Return the kind of a word, or say which ones there are."""
    try:
        return TargetKind(kind)
    except ValueError:
        words = listed([one.value for one in TargetKind])
        raise ValueError(f"kind must be one of {words}; saw {kind!r}") from None


def read_target(
    y: Any, kind: TargetKind | str, rows: int, classes: tuple[Any, ...] | None = None
) -> Target:
    """Read targets in the library they live in.

    Parameters
    ----------
    y : series, array or list (rows,)
        A single column is accepted too. Labels of classes are strings, booleans or numbers.
    kind : TargetKind
    rows : int
        How many there must be.
    classes : tuple, optional
        The two labels that are known; when not given, the two in `y` in sorted order.

    Returns
    -------
    Target

    Examples
    --------
    >>> read_target(["yes", "no", "yes"], TargetKind.BINARY, rows=3)
    Target(values=array([1., 0., 1.]), classes=('no', 'yes'))
    """
    kind = known_kind(kind)
    if kind.has_classes:
        labels = _labels(y)
        checks.lengths(len(labels), rows, "y")
        _no_missing(labels)
        known = _two_classes(labels) if classes is None else classes
        codes = _codes(labels, known)
        return Target(like(codes, y) if frames.is_foreign(y) else np.array(codes), known)
    values = read_vector(y, "y")
    checks.lengths(values.shape[0], rows, "y")
    checks.finite(values, "y")
    kind.check(values, "y")
    return Target(values, None)


def read_exposure(exposure: Any, kind: TargetKind | str, rows: int) -> Array | None:
    """Read exposures of counts, in the library they live in; None if there are none.

    Parameters
    ----------
    exposure : series, array or list (rows,), optional
        Positive numbers: the time, the area or the people that each count comes from.
    kind : TargetKind
        Kind of the targets they belong to.
    rows : int
        How many there must be.

    Returns
    -------
    Array (rows,) or None
    """
    if exposure is None:
        return None
    kind = known_kind(kind)
    if not kind.takes_exposure:
        raise ValueError(
            f"exposure is for targets that are counts; here the target is {kind.described}"
        )
    values = read_vector(exposure, "exposure")
    checks.lengths(values.shape[0], rows, "exposure")
    checks.finite(values, "exposure")
    checks.above_zero(values, "exposure")
    return values


def read_vector(data: Any, argument: str) -> Array:
    """Real numbers in one dimension, or in a single column."""
    return checks.vector(frames.read(data, argument), argument)


def _labels(y: Any) -> list[Any]:
    """Return labels as Python's own strings, booleans and numbers; missing ones are None."""
    return [_label(cell, row) for row, cell in enumerate(_cells(y))]


def _cells(y: Any) -> list[Any]:
    if frames.is_frame(y):
        if y.shape[1] != 1:
            raise checks.not_a_vector(tuple(y.shape), "y")
        y = y[y.columns[0]]
    if frames.is_series(y):
        cells: list[Any] = y.tolist() if hasattr(y, "tolist") else y.to_list()
        return cells
    if frames.is_foreign(y):
        return _foreign_cells(y)
    values = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    if values.ndim == 0:
        raise TypeError(f"y must hold labels, one a row; saw a {type(y).__name__}")
    column: list[Any] = checks.vector(values, "y").tolist()
    return column


def _foreign_cells(y: Array) -> list[Any]:
    xp = namespace(y)
    numbers = to_host(read_vector(y, "y"))
    for kind, own in (("bool", np.bool_), ("integral", np.int64)):
        if xp.isdtype(y.dtype, kind):
            return list(numbers.astype(own).tolist())
    return list(numbers.tolist())


def _label(cell: Any, row: int) -> Any:
    label = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(label, np.floating):  # wider than Python's own
        label = float(label)
    if label is None or type(label).__name__ in MISSING:
        return None
    if isinstance(label, float) and math.isnan(label):
        return None
    if isinstance(label, str | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise TypeError(
        "y must hold labels that are strings, booleans or finite numbers; "
        f"saw {reprlib.repr(cell)} in row {row}"
    )


def _no_missing(labels: Sequence[Any]) -> None:
    missing = [row for row, label in enumerate(labels) if label is None]
    if missing:
        raise ValueError(
            f"y must not have missing labels; saw {len(missing)}, the first in row {missing[0]}"
        )


def _two_classes(labels: Sequence[Any]) -> tuple[Any, ...]:
    distinct = list(dict.fromkeys(labels))
    try:
        found = sorted(distinct)
    except TypeError:
        raise TypeError(
            f"y must have labels of one kind; saw strings and numbers: {listed(distinct)}"
        ) from None
    if len(found) == 1:
        raise ValueError(f"y must have two classes; saw one: every label is {found[0]!r}")
    if len(found) > 2:
        raise ValueError(
            f"y must have two classes; saw {len(found)}: {listed(found)}; "
            "more than two are not offered"
        )
    return tuple(found)


def _codes(labels: Sequence[Any], classes: tuple[Any, ...]) -> list[float]:
    code = {label: float(place) for place, label in enumerate(classes)}
    for row, label in enumerate(labels):
        if label not in code:
            raise ValueError(
                f"y must hold the classes of the training data, {listed(classes)}; "
                f"saw {label!r} in row {row}"
            )
    return [code[label] for label in labels]
