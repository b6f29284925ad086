"""Names that do not exist, and those that may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gpproj.data.frames import listed


def close_matches(name: str, known: Iterable[str]) -> list[str]:
    """Return known names like one that is not known, the closest first; case does not matter."""
    lower: dict[str, list[str]] = {}
    for one in known:
        lower.setdefault(one.lower(), []).append(one)
    return [
        one for key in difflib.get_close_matches(name.lower(), lower, 3, 0.7) for one in lower[key]
    ]


def unknown_column(
    label: str, name: str, known: Iterable[str], said: str = "the table has no column"
) -> str:
    """Return what is said of a name that is not known.

    Examples
    --------
    >>> unknown_column("target", "Prize", ["size", "price"])
    "target: the table has no column 'Prize'; did you mean 'price'?"
    >>> unknown_column("target", "cost", ["size", "price"])
    "target: the table has no column 'cost'; it has 'size', 'price'"
    """
    names = [str(one) for one in known]
    close = close_matches(name, names)
    meant = (
        f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {listed(names, 8)}"
    )
    return f"{label}: {said} {name!r}; {meant}"
