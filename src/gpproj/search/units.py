"""What a search adds in one step: an input, or a group of inputs, at a cost."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from gpproj.data import Columns, positive
from gpproj.reference import Reference
from gpproj.sensitivity import relevance

Inputs: TypeAlias = Iterable[str | int] | str

MANY, STEPS_OF_MANY = 150, 30
"""Units above which a search does not go through all unless it is asked to; its steps then."""

ROUNDING = 1e-9
"""Relative difference of sums of the same costs in another order."""


class Unit(NamedTuple):
    """One thing that a step may add."""

    name: str
    """The input's name, or the group's."""
    positions: tuple[int, ...]
    cost: float = 1.0


def no_dearer(units: Iterable[Unit], others: Iterable[Unit]) -> bool:
    """Say whether units cost no more than others do, up to the rounding of their sum."""
    own, limit = (sum(unit.cost for unit in some) for some in (units, others))
    return own <= (1.0 + ROUNDING) * limit


def units_of(
    reference: Reference,
    groups: Mapping[str, Inputs] | None = None,
    always: Inputs = (),
    costs: Mapping[str, float] | None = None,
) -> tuple[tuple[int, ...], tuple[Unit, ...]]:
    """Return the inputs that are forced in, and the units that a search may add to them.

    Parameters
    ----------
    groups : mapping of str to inputs, optional
        Inputs that enter together, by the name of their group; the others enter alone, but for
        levels of a column, which are a group unless some of them are in another one.
    always : inputs
        Forced in from the start.
    costs : mapping of str to float, optional
        Cost of an input or a group by its name, one otherwise. A group without a cost of its own
        costs what its columns cost.

    Returns
    -------
    tuple of int, tuple of Unit
        In the order of the columns.
    """
    training, names = reference.training, reference.feature_names
    known = {*names, *training.column_names}
    forced = training.positions(always)
    grouped: dict[int, str] = {}
    members: dict[str, tuple[int, ...]] = {}
    for group, inputs in (groups or {}).items():
        members[group] = training.positions(inputs)
        if not members[group]:
            raise ValueError(f"groups: {group!r} has no inputs")
        for position in members[group]:
            if position in grouped:
                both = f"{grouped[position]!r} and {group!r}"
                raise ValueError(f"groups: input {names[position]!r} is in both {both}")
            grouped[position] = group
        own = tuple(names[position] for position in members[group])
        if group in known and group not in (*own, *training.columns_of(own)):
            raise ValueError(f"groups: {group!r} is also the name of an input outside it")
    for column, positions in training.groups.items():
        if not grouped.keys() & set(positions):
            members[column] = positions
            grouped |= dict.fromkeys(positions, column)
    for group, positions in members.items():
        if set(positions) & set(forced) and not set(positions) <= set(forced):
            raise ValueError(f"always: it holds only a part of the group {group!r}")
    price = _prices(training, members, costs)
    units: dict[str, Unit] = {}
    for position, name in enumerate(names):
        if position in forced:
            continue
        unit = grouped.get(position, name)
        units[unit] = Unit(unit, members.get(unit, (position,)), price[unit])
    return forced, tuple(units.values())


def _prices(
    columns: Columns,
    members: Mapping[str, tuple[int, ...]],
    costs: Mapping[str, float] | None,
) -> dict[str, float]:
    """Return the cost of every input and group; a column costs one, however many levels it has."""
    costs, names = costs or {}, columns.feature_names
    known = {*names, *columns.column_names, *members}
    unknown = [name for name in costs if name not in known]
    if unknown:
        raise ValueError(f"costs must name inputs or groups; saw {', '.join(map(repr, unknown))}")
    levels = {names[position] for group in columns.groups.values() for position in group}
    within = {names[position] for group in members.values() for position in group}
    for name in costs:
        if name in levels & within and name not in (*columns.column_names, *members):
            (column,) = columns.columns_of([name])
            raise ValueError(
                f"costs: {name!r} does not enter by itself; give the cost of {column!r}"
            )
    given = {name: positive(f"costs[{name!r}]", cost) for name, cost in costs.items()}
    alone = {name: given.get(name, 1.0) for name in {*names, *columns.column_names}}
    together = {
        group: given.get(
            group, sum(alone[name] for name in columns.columns_of(names[one] for one in positions))
        )
        for group, positions in members.items()
    }
    return {**alone, **together}


def units_in_order(reference: Reference, order: Inputs) -> tuple[Unit, ...]:
    """Return a unit for each column or input that is named, in that order."""
    training = reference.training
    items = (order,) if isinstance(order, str) else tuple(order)
    every = [training.positions([item]) for item in items]
    training.positions([position for positions in every for position in positions])  # no repeats
    return tuple(
        Unit(item if isinstance(item, str) else training.feature_names[positions[0]], positions)
        for item, positions in zip(items, every, strict=True)
    )


def ordered(reference: Reference, units: Iterable[Unit], method: str) -> list[str]:
    """Return the names of units, those first that a measure of relevance puts first.

    A unit counts by its most relevant input.
    """
    values = relevance(reference, method, random_state=0).to_numpy()
    scores = {unit.name: max(values[list(unit.positions)]) for unit in units}
    return sorted(scores, key=lambda name: -scores[name])


def prefiltered(
    reference: Reference, units: tuple[Unit, ...], prefilter: tuple[str, int]
) -> tuple[Unit, ...]:
    """Return the units that a rival measure of relevance puts first; a group counts by its best.

    Parameters
    ----------
    prefilter : (method, count)
        A method of `gpproj.relevance`, and how many units to keep.
    """
    try:
        method, count = prefilter
        count = operator.index(count)
    except (TypeError, ValueError):
        raise TypeError(
            f'prefilter must be a method and a count, such as ("kl", 30); got {prefilter!r}'
        ) from None
    if count < 1:
        raise ValueError(f"prefilter must keep at least one input, got {prefilter!r}")
    kept = ordered(reference, units, method)[:count]
    return tuple(unit for unit in units if unit.name in kept)


def whole_number(name: str, value: Any) -> int:
    """Return an argument that is a whole number, or refuse it."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None


def steps_of(max_inputs: int | None, available: int) -> int:
    """Return how many steps to take: all when none are asked for, but of very many only some.

    >>> steps_of(None, 100), steps_of(None, 1000), steps_of(200, 1000)
    (100, 30, 200)
    """
    if max_inputs is None:
        return available if available <= MANY else STEPS_OF_MANY
    steps = whole_number("max_inputs", max_inputs)
    if not 0 <= steps <= available:
        raise ValueError(
            f"max_inputs must be from 0 to the number of steps there are, {available}; "
            f"got {max_inputs}"
        )
    return steps
