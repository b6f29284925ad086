"""Categorical columns: which inputs are the levels of one, and how all of them move together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from gpproj.data import Columns
from gpproj.linalg import Array, like, namespace

Inputs: TypeAlias = Iterable[str | int]


class Factor(NamedTuple):
    """A categorical column, and the inputs of its levels."""

    name: str
    inputs: tuple[str, ...]
    """One for each level, `column=level`; of two levels, one says it all."""

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels in words: those that have an input, and where there is but one what else is."""
        own = tuple(one.removeprefix(f"{self.name}=") for one in self.inputs)
        return (*own, f"not {own[0]}") if len(own) == 1 else own

    def coded(self, level: str) -> tuple[float, ...]:
        """Return the values of the inputs at a level, as the table had them."""
        return tuple(float(one == f"{self.name}={level}") for one in self.inputs)


def factors_of(columns: Columns, groups: Mapping[str, Inputs] | None) -> tuple[Factor, ...]:
    """Return the categorical columns among groups of inputs.

    Parameters
    ----------
    columns : Columns
    groups : mapping of str to inputs, or None
        Groups of a search. One whose inputs are named `group=level` is a column; others are not.

    Examples
    --------
    >>> from gpproj.data import training_set
    >>> training = training_set([[0, 1, 3], [1, 0, 4]], [1, 2], standardize=False,
    ...                         feature_names=["sex=f", "sex=m", "age"])
    >>> factors_of(training, {"sex": [0, 1], "other": ["age"]})
    (Factor(name='sex', inputs=('sex=f', 'sex=m')),)
    """
    found = []
    for group, inputs in (groups or {}).items():
        names = tuple(columns.feature_names[one] for one in columns.positions(inputs))
        if names and all(name.startswith(f"{group}=") for name in names):
            found.append(Factor(group, names))
    return tuple(found)


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
