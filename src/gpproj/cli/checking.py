"""Settings as they come from a command line, a file or a run: each of its kind, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gpproj.reference.sampling import check_count


class RunError(ValueError):
    """An error of a run that cannot be made or continued, with a message of one line."""


def text(name: str, value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise RunError(f"{name} must be text, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise RunError(f"{name} must be true or false, got {value!r}")
    return value


def count(least: int) -> Callable[[str, Any], int]:
    """Return what checks whole numbers of at least so many."""

    def checked(name: str, value: Any) -> int:
        try:
            check_count(name, value, least)
        except ValueError as error:
            raise RunError(str(error)) from None
        return int(value)

    return checked


def positive_number(name: str, value: Any) -> float:
    """Return a number above zero."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.0 < value < math.inf:
        raise RunError(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def one_of(*allowed: str) -> Callable[[str, Any], str]:
    """Return what checks words."""

    def checked(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise RunError(f"{name} must be one of {', '.join(sorted(allowed))}; got {value!r}")
        return value

    return checked


def names(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of names; a text is a list of one."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
        raise RunError(f"{name} must be a name or a list of names, got {value!r}")
    return tuple(values)


def columns_by_name(name: str, value: Any) -> dict[str, tuple[str, ...]]:
    """Return groups of columns, from a table or from texts as `NAME=first,second`."""
    if isinstance(value, Mapping):
        return {group: names(f"{name} {group!r}", columns) for group, columns in value.items()}
    found: dict[str, tuple[str, ...]] = {}
    for one in names(name, value):
        group, sign, columns = one.partition("=")
        members = tuple(part.strip() for part in columns.split(","))
        if not (sign and group.strip() and all(members)):
            raise RunError(f"{name} must be as NAME=first,second, got {one!r}")
        found[_new(name, group.strip(), found)] = members
    return found


def numbers_by_name(name: str, value: Any) -> dict[str, float]:
    """Return a number for each of some names, from a table or from texts as `NAME=2.5`."""
    if isinstance(value, Mapping):
        return {one: positive_number(f"{name} of {one!r}", cost) for one, cost in value.items()}
    found: dict[str, float] = {}
    for one in names(name, value):
        column, sign, cost = one.rpartition("=")  # names of columns may hold the sign
        try:
            number = float(cost)
        except ValueError:
            number = math.nan
        if not (sign and column.strip()) or math.isnan(number):
            raise RunError(f"{name} must be as COLUMN=2, got {one!r}")
        found[_new(name, column.strip(), found)] = positive_number(f"{name} of {column!r}", number)
    return found


def _new(name: str, key: str, found: Mapping[str, Any]) -> str:
    if key in found:
        raise RunError(f"{name} has {key!r} twice")
    return key
