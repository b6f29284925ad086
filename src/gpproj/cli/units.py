"""What a search adds in one step, by columns: groups, costs, and what is in from the start."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpproj.cli.checking import RunError
from gpproj.cli.settings import Settings
from gpproj.data.encoding import Encoding
from gpproj.data.naming import unknown_column


class SearchedUnits(NamedTuple):
    """Settings of a search, by inputs."""

    groups: dict[str, list[str]]
    """Those of the user: references know that the levels of a column belong together."""
    always: list[str]
    costs: dict[str, float] | None
    steps: int
    """How many there are to search for."""

    @property
    def keywords(self) -> dict[str, Any]:
        """Arguments of `gpproj.forward_search`."""
        return {"groups": self.groups or None, "always": self.always, "costs": self.costs}


def units_of_columns(settings: Settings, encoding: Encoding) -> SearchedUnits:
    """Return what the columns that the settings name are in inputs.

    The levels of a column are a group by themselves, unless the column is in a group of the user.
    Every column costs one where the user gives no other cost, however many levels it has.

    Parameters
    ----------
    settings : Settings
    encoding : Encoding
    """
    inputs = {column.name: list(column.inputs) for column in encoding.columns}
    owner: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for group, columns in settings.group.items():
        if group in inputs and group not in columns:
            raise RunError(f"group: {group!r} is the name of a column outside it")
        for column in columns:
            if column not in inputs:
                raise RunError(_unknown("group", column, inputs, settings))
            if column in owner:
                raise RunError(f"group: column {column!r} is in {owner[column]!r} and {group!r}")
            owner[column] = group
        groups[group] = [name for column in columns for name in inputs[column]]
    own = {name: part for name, part in encoding.groups.items() if name not in owner}
    groups |= own
    always = _always(settings, inputs, owner, groups)
    costs = _costs(settings, inputs, owner) if settings.cost else None
    alone = [name for name in inputs if name not in owner and name not in own]
    units = [*groups.values(), *([name] for name in alone)]
    steps = sum(not set(unit) & set(always) for unit in units)
    if not steps:
        raise RunError("always: every column is in from the start, and nothing is left to search")
    if settings.max_inputs is not None and settings.max_inputs > steps:
        raise RunError(f"max_inputs must be at most the number of columns, {steps}")
    of_user = {name: part for name, part in groups.items() if name not in own}
    return SearchedUnits(of_user, always, costs, steps)


def _always(
    settings: Settings,
    inputs: dict[str, list[str]],
    owner: dict[str, str],
    groups: dict[str, list[str]],
) -> list[str]:
    """Return the inputs that are in from the start; a group is in as a whole."""
    found: list[str] = []
    for name in settings.always:
        if name in groups:
            found += groups[name]
        elif name not in inputs:
            raise RunError(_unknown("always", name, [*inputs, *settings.group], settings))
        elif name in owner:
            raise RunError(f"always: column {name!r} is in the group {owner[name]!r}; name that")
        else:
            found += inputs[name]
    return list(dict.fromkeys(found))


def _costs(
    settings: Settings, inputs: dict[str, list[str]], owner: dict[str, str]
) -> dict[str, float]:
    """Return the cost of every unit; a group costs what its columns do, or what it is given."""
    for name in settings.cost:
        if name not in inputs and name not in settings.group:
            raise RunError(_unknown("cost", name, [*inputs, *settings.group], settings))
        if name in owner and owner[name] in settings.cost and owner[name] != name:
            raise RunError(f"cost: column {name!r} and its group {owner[name]!r} both have one")
    found: dict[str, float] = {}
    for column in inputs:
        unit = owner.get(column, column)
        if unit in settings.group and unit in settings.cost:
            found[unit] = settings.cost[unit]
        else:
            found[unit] = found.get(unit, 0.0) + settings.cost.get(column, 1.0)
    return found


def _unknown(label: str, name: str, known: Any, settings: Settings) -> str:
    """Return what is said of a column that is no input."""
    parts = {"target": settings.target, "exposure": settings.exposure, "time": settings.time}
    parts |= {"row_groups": settings.row_groups}
    part = next((part for part, one in parts.items() if one == name), None)
    if part is not None or name in settings.ignore:
        return f"{label}: column {name!r} is {'left out' if part is None else f'the {part}'}"
    return unknown_column(label, name, known)
