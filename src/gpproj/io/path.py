"""Paths: what the search has found, and the settings it was found with."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from gpproj.io.latent import restore_points, stored_points
from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.projection import ProcessProjector, Projector, projector_of
from gpproj.reference import Reference, TargetReference
from gpproj.search import SearchPath
from gpproj.search.record import path_of, record_of
from gpproj.search.units import Unit
from gpproj.store import Stored


def stored_path(path: SearchPath) -> Stored:
    """Return a path as plain values and arrays; its reference is stored by itself."""
    record, own = record_of(path), _stored_projector(path.projector)
    content = {
        **record.content,
        **own.content,
        "units": plain(tuple(_all_units(path))),
        "always": plain(path.always),
        "learn": path.learn,
        "criterion": path.criterion,
        "clusters": plain(path.clusters),
        "recipe": plain_recipe(path.recipe),
    }
    points = stored_points(path.reference.inducing, _masks(path))
    return Stored(content, record.arrays | points | own.arrays)


@singledispatch
def _stored_projector(projector: Projector) -> Stored:
    """Return what a projector is made of beside its reference: nothing where that is all."""
    return Stored({}, {})


@_stored_projector.register(ProcessProjector)
def _stored_family(projector: ProcessProjector) -> Stored:
    family = projector.family
    assert family.known is not None  # only null models have none
    content = {"kernel": plain(family.kernel), "prior": plain(family.prior)}
    return Stored(content, {"known": family.known})


@singledispatch
def _projector_from(reference: Reference, found: Stored) -> Projector:
    """Return the projector of a path that was stored."""
    return projector_of(reference)


@_projector_from.register(TargetReference)
def _process_projector_from(reference: TargetReference, found: Stored) -> Projector:
    content, kernel = found.content, restored(found.content["kernel"])
    # The reference need not fit this kernel to its mean once more, on a machine that may round
    # otherwise; values of its own, where it has any, come first.
    name = repr(kernel.structure(reference.training.d))
    reference.fitted_values[name] = found.arrays["known"]
    return projector_of(
        reference, content["learn"], content["criterion"], restored(content["prior"]), kernel
    )


def path_from(found: Stored, reference: Reference) -> SearchPath:
    """Return the path that was stored, of a reference that was stored beside it."""
    content = found.content
    projector = _projector_from(reference, found)
    units = tuple(Unit(*unit) for unit in restored(content["units"]))
    path = path_of(found, reference, projector, restored(content["always"]), units)
    restore_points(reference.inducing, _masks(path), found.arrays)
    return replace(
        path,
        clusters=content["clusters"],
        recipe=recipe_of(content["recipe"]),
    )


def _all_units(path: SearchPath) -> dict[Unit, None]:
    """Return the units of the path, then those that only other sets have."""
    others = [own.units for own in (*path.better, *path.pool) if own is not None]
    return dict.fromkeys(unit for units in (path.units, *others) for unit in units)


def _masks(path: SearchPath) -> list[NDArray[np.bool_]]:
    """Return the inputs of every submodel: along the path, of the best sets, of the others."""
    others = [own.projection for own in (*path.better, *path.pool) if own is not None]
    return [found.active for found in (*path.projections, *others)]
