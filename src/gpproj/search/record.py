"""A path as plain values and arrays, and back: what checkpoints and saved paths have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.projection import Family, Projection
from gpproj.reference import Reference
from gpproj.search.path import Searched, SearchPath, Tried
from gpproj.search.units import Unit
from gpproj.store import Stored

NUMBERS = ("value", "posterior_kl", "projection_error", "converged", "evaluations")
"""Fields of a projection that are single numbers."""


def record_of(path: SearchPath) -> Stored:
    """Return what was found at every step: the order, the projections, the candidates."""
    d = path.reference.training.d
    own = path.family.kernel.parameters(d)
    content = {
        "order": list(path.order),
        "null_error": path.null_error,
        "full_error": path.full_error,
        "projections": [
            {
                "null": found.kernel.parameters(d) != own,
                **{name: getattr(found, name) for name in NUMBERS},
            }
            for found in path.projections
        ],
        "tried": [list(one) for one in path.tried],
        "searched": None if path.searched is None else list(path.searched),
    }
    arrays: dict[str, NDArray[Any]] = {}
    for size, found in enumerate(path.projections):
        arrays[f"parameters_{size}"] = found.parameters
        arrays[f"inputs_{size}"] = found.inputs
        arrays[f"active_{size}"] = found.active
    return Stored(content, arrays)


def path_of(
    record: Stored,
    reference: Reference,
    family: Family,
    always: tuple[int, ...],
    units: tuple[Unit, ...],
) -> SearchPath:
    """Return the path that a record was made of.

    Parameters
    ----------
    record : Stored
    reference : Reference
    family : Family
    always : tuple of int
    units : tuple of Unit
        Those that entered, and maybe others.
    """
    content, arrays = record
    structures = {False: family.kernel, True: family.kernel.without_inputs()}
    projections = tuple(
        Projection(
            kernel=structures[plain["null"]],
            parameters=arrays[f"parameters_{size}"],
            inputs=arrays[f"inputs_{size}"].astype(np.bool_),
            active=arrays[f"active_{size}"].astype(np.bool_),
            **{name: plain[name] for name in NUMBERS},
        )
        for size, plain in enumerate(content["projections"])
    )
    known = {unit.name: unit for unit in units}
    return SearchPath(
        reference=reference,
        family=family,
        units=tuple(known[name] for name in content["order"]),
        projections=projections,
        null_error=content["null_error"],
        full_error=content["full_error"],
        always=always,
        tried=tuple(Tried(*one) for one in content["tried"]),
        searched=_searched(content.get("searched")),
    )


def _searched(found: Any) -> Searched | None:
    return None if found is None else Searched(found[0], tuple(found[1]))
