"""A path as plain values and arrays, and back: what checkpoints and saved paths have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.projection import Figures, Projection, Projector
from gpproj.reference import Reference
from gpproj.search.path import SearchPath
from gpproj.search.results import CandidateRecord, RowSample, Subset
from gpproj.search.units import Unit
from gpproj.search.visited import Visited
from gpproj.store import Stored

NUMBERS = ("value", "error", "converged", "evaluations", "doubt")
"""Fields of a projection that are single numbers."""

ARRAYS = ("parameters", "inputs", "active")
"""Fields of a projection that are arrays."""


def record_of(path: SearchPath) -> Stored:
    """Return what was found at every step: the order, the projections, the candidates."""
    arrays: dict[str, NDArray[Any]] = {}

    def plain(place: str, found: Projection) -> dict[str, Any]:
        arrays.update({f"{name}_{place}": getattr(found, name) for name in ARRAYS})
        return {
            "null": not path.projector.in_family(found),
            **{name: getattr(found, name) for name in NUMBERS},
            "figures": None if found.figures is None else list(found.figures),
        }

    def subset(place: str, own: Subset | None) -> dict[str, Any] | None:
        if own is None:
            return None
        return {"units": [unit.name for unit in own.units], **plain(place, own.projection)}

    content = {
        "order": list(path.order),
        "null_error": path.null_error,
        "full_error": path.full_error,
        "projections": [plain(str(k), one) for k, one in enumerate(path.computed_projections)],
        "better": [subset(f"better_{size}", one) for size, one in enumerate(path.better)],
        "pool": [subset(f"pool_{place}", one) for place, one in enumerate(path.pool)],
        "tried": [list(one) for one in path.candidate_records],
        "searched": None if path.searched is None else list(path.searched),
    }
    if path.visited is not None:
        arrays |= {f"visited_{name}": part for name, part in path.visited._asdict().items()}
    return Stored(content, arrays)


def path_of(
    record: Stored,
    reference: Reference,
    projector: Projector,
    always: tuple[int, ...],
    units: tuple[Unit, ...],
) -> SearchPath:
    """Return the path that a record was made of.

    Parameters
    ----------
    units : tuple of Unit
        The units that entered, and maybe others.
    """
    content, arrays = record
    known = {unit.name: unit for unit in units}

    def projection(place: str, plain: dict[str, Any]) -> Projection:
        figures = plain["figures"]
        return Projection(
            kernel=projector.kernel_of(in_family=not plain["null"]),
            parameters=arrays[f"parameters_{place}"],
            inputs=arrays[f"inputs_{place}"].astype(np.bool_),
            active=arrays[f"active_{place}"].astype(np.bool_),
            figures=None if figures is None else Figures(*figures),
            **{name: plain[name] for name in NUMBERS},
        )

    def subset(place: str, plain: dict[str, Any] | None) -> Subset | None:
        if plain is None:
            return None
        return Subset(tuple(known[name] for name in plain["units"]), projection(place, plain))

    searched = content["searched"]
    pool = [subset(f"pool_{place}", one) for place, one in enumerate(content["pool"])]
    return SearchPath(
        reference=reference,
        projector=projector,
        units=tuple(known[name] for name in content["order"]),
        projections=tuple(
            projection(str(size), plain) for size, plain in enumerate(content["projections"])
        ),
        null_error=content["null_error"],
        full_error=content["full_error"],
        always=always,
        candidate_records=tuple(CandidateRecord(*one) for one in content["tried"]),
        better=tuple(subset(f"better_{size}", one) for size, one in enumerate(content["better"])),
        pool=tuple(one for one in pool if one is not None),
        searched=None if searched is None else RowSample(searched[0], tuple(searched[1])),
        visited=_visited(arrays),
    )


def _visited(arrays: Mapping[str, NDArray[Any]]) -> Visited | None:
    if "visited_masks" not in arrays:
        return None
    return Visited(arrays["visited_masks"].astype(np.bool_), arrays["visited_points"])
