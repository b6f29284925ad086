"""Columns that are several inputs: the levels of a category, and whether a cell is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gpproj.data import Columns
from gpproj.linalg import Array, like, namespace

Inputs: TypeAlias = Iterable[str | int] | str


class Factor(NamedTuple):
    """A column of a table that is several inputs, or one of another name."""

    name: str
    inputs: tuple[str, ...]
    """One for each level, `column=level`; of two levels, one says it all. An input that says
    whether the cell was missing may follow them, or the number itself."""
    levels: tuple[str, ...]
    """Levels; none of a column of numbers."""

    def coded(self, value: Any) -> tuple[float, ...]:
        """Return the values of the inputs at a level, or at a number, that is not missing."""
        if not self.levels:
            return (float(value), *([0.0] * (len(self.inputs) - 1)))
        return tuple(float(one == f"{self.name}={value}") for one in self.inputs)


def factors_of(columns: Columns, groups: Mapping[str, Inputs] | None) -> tuple[Factor, ...]:
    """Return the columns that are several inputs.

    Parameters
    ----------
    columns : Columns
        Whose encoding knows them, if the model was given a table with text.
    groups : mapping of str to inputs, or None
        Groups of a search. One whose inputs are named `group=level` is a column, too; others are
        not.

    Examples
    --------
    >>> from gpproj.data import training_set
    >>> training = training_set([[0, 1, 3], [1, 0, 4]], [1, 2], standardize=False,
    ...                         feature_names=["sex=f", "sex=m", "age"])
    >>> factors_of(training, {"sex": [0, 1], "other": ["age"]})
    (Factor(name='sex', inputs=('sex=f', 'sex=m'), levels=('f', 'm')),)
    """
    found = {}
    for one in columns.encoding.columns if columns.encoding is not None else ():
        if one.levels is not None or one.indicated:
            found[one.name] = Factor(one.name, one.inputs, one.levels or ())
    for group, inputs in (groups or {}).items():
        names = tuple(columns.feature_names[place] for place in columns.positions(inputs))
        if group not in found and names and all(one.startswith(f"{group}=") for one in names):
            own = [one.removeprefix(f"{group}=") for one in names]
            levels = own if len(own) > 1 else [f"not {own[0]}", own[0]]
            found[group] = Factor(group, names, tuple(levels))
    return tuple(found.values())


def within(factors: Iterable[Factor], names: Sequence[str]) -> dict[str, Factor]:
    """Return the columns of which a model has all inputs, by each of these."""
    whole = (one for one in factors if set(one.inputs) <= set(names))
    return {name: one for one in whole for name in one.inputs}


class Move(NamedTuple):
    """Some inputs at the same values in all rows, on the model's scale."""

    columns: tuple[int, ...]
    values: tuple[float, ...]

    def of(self, rows: Array) -> Array:
        """Return the rows after the move."""
        xp = namespace(rows)
        places = xp.arange(rows.shape[1], device=rows.device)[None, :]
        for column, value in zip(self.columns, self.values, strict=True):
            rows = xp.where(places == column, like(value, rows), rows)
        return rows

    def and_then(self, other: Move) -> Move:
        """Return both moves as one."""
        return Move(self.columns + other.columns, self.values + other.values)
