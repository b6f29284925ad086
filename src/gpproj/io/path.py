"""Paths: what the search has found, and the settings it was found with."""

from __future__ import annotations

from dataclasses import replace

from gpproj.io.latent import restore_points, stored_points
from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.projection import family_of
from gpproj.reference import Reference
from gpproj.search import SearchPath
from gpproj.search.record import path_of, record_of
from gpproj.search.units import Unit
from gpproj.store import Stored


def stored_path(path: SearchPath) -> Stored:
    """Return a path as plain values and arrays; its reference is stored by itself."""
    record = record_of(path)
    content = {
        **record.content,
        "kernel": plain(path.family.kernel),
        "prior": plain(path.family.prior),
        "units": plain(path.units),
        "always": plain(path.always),
        "learn": path.learn,
        "clusters": plain(path.clusters),
        "recipe": plain_recipe(path.recipe),
    }
    masks = [found.active for found in path.projections]
    points = stored_points(path.reference.problem.inducing, masks)
    return Stored(content, record.arrays | points)


def path_from(found: Stored, reference: Reference) -> SearchPath:
    """Return the path that was stored, of a reference that was stored beside it."""
    content = found.content
    family = family_of(reference, restored(content["kernel"]), restored(content["prior"]))
    units = tuple(Unit(*unit) for unit in restored(content["units"]))
    path = path_of(found, reference, family, restored(content["always"]), units)
    masks = [one.active for one in path.projections]
    restore_points(reference.problem.inducing, masks, found.arrays)
    return replace(
        path,
        learn=content["learn"],
        clusters=content["clusters"],
        recipe=recipe_of(content["recipe"]),
    )
