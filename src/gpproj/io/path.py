"""Paths: what the search has found, and the settings it was found with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.linalg import to_host
from gpproj.projection import ProcessProjector, ProjectionOptions, Projector, projector_of
from gpproj.reference import Reference, TargetReference
from gpproj.search import SearchPath
from gpproj.search.record import path_of, record_of
from gpproj.search.units import Unit
from gpproj.store import Stored


def stored_path(path: SearchPath) -> Stored:
    """Return a path as plain values and arrays; its reference is stored by itself."""
    content, arrays = record_of(path)
    content |= {
        "units": plain(tuple(_all_units(path))),
        "always": plain(path.always),
        "learn": path.learn,
        "criterion": path.criterion,
        "clusters": plain(path.clusters),
        "recipe": plain_recipe(path.recipe),
    }
    if isinstance(path.projector, ProcessProjector):
        family = path.projector.family
        assert family.known is not None  # only null models have none
        content |= {"kernel": plain(family.kernel), "prior": plain(family.prior)}
        arrays["known"] = family.known
    inducing = path.reference.inducing
    if inducing is not None and not inducing.given:
        # They follow from those of the reference, but rounding may decide between rows that are
        # alike, and the centres of clusters are another library's.
        for place, mask in enumerate(_masks(path)):
            arrays[f"points_{place}"] = to_host(inducing.points(mask))
    return Stored(content, arrays)


def path_from(found: Stored, reference: Reference) -> SearchPath:
    """Return the path that was stored, of a reference that was stored beside it."""
    content = found.content
    units = tuple(Unit(*unit) for unit in restored(content["units"]))
    path = path_of(
        found, reference, _projector(found, reference), restored(content["always"]), units
    )
    inducing = reference.inducing
    if inducing is not None and not inducing.given:
        for place, mask in enumerate(_masks(path)):
            inducing._chosen[mask.tobytes()] = found.arrays[f"points_{place}"]
    return replace(path, clusters=content["clusters"], recipe=recipe_of(content["recipe"]))


def _projector(found: Stored, reference: Reference) -> Projector:
    if not isinstance(reference, TargetReference):
        return projector_of(reference)
    content: dict[str, Any] = found.content
    kernel = restored(content["kernel"])
    # The reference need not fit this kernel to its mean once more, on a machine that may round
    # otherwise; values of its own, where it has any, come first.
    name = repr(kernel.structure(reference.training.d))
    reference.fitted_values[name] = found.arrays["known"]
    prior = restored(content["prior"])
    options = ProjectionOptions(content["learn"], content["criterion"], prior, kernel)
    return projector_of(reference, options)


def _all_units(path: SearchPath) -> dict[Unit, None]:
    """Return the units of the path, then those that only other sets have."""
    others = [subset.units for subset in (*path.better, *path.pool) if subset is not None]
    return dict.fromkeys(unit for units in (path.units, *others) for unit in units)


def _masks(path: SearchPath) -> list[NDArray[np.bool_]]:
    """Return the inputs of every submodel: along the path, of the best sets, of the others."""
    others = [subset.projection for subset in (*path.better, *path.pool) if subset is not None]
    return [projection.active for projection in (*path.projections, *others)]
