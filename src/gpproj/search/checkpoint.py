"""Checkpoints of a search: everything found so far, after every step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpproj import store
from gpproj.linalg import to_host
from gpproj.projection import Family, Projection
from gpproj.reference import Reference
from gpproj.search.path import SearchPath, Tried
from gpproj.search.units import Unit

KIND = "forward_search checkpoint"


def fingerprint(
    reference: Reference,
    family: Family,
    strategy: str,
    forced: tuple[int, ...],
    units: tuple[Unit, ...],
) -> str:
    """Return a digest of the data and of the settings that decide a path."""
    target = reference.target
    return store.digest(
        to_host(target.X),
        to_host(target.latent_mean),
        to_host(target.latent_cov.diagonal()),
        to_host(target.site_precision),
        to_host(target.site_shift),
        target.nugget,
        family.identity,
        family.known,
        reference.feature_names,
        strategy,
        forced,
        [list(unit) for unit in units],
    )


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds a search as it stands.

    Parameters
    ----------
    file : Path
    settings : str
        The fingerprint of the search it belongs to.
    family : Family
    """

    file: Path
    settings: str
    family: Family

    def exists(self) -> bool:
        """Say whether there is something to go on from."""
        return self.file.exists()

    def write(self, path: SearchPath) -> None:
        """Write the path, whole or not at all."""
        plain = [
            {
                "null": bool(found.kernel != self.family.kernel),
                "value": found.value,
                "posterior_kl": found.posterior_kl,
                "projection_error": found.projection_error,
                "converged": found.converged,
                "evaluations": found.evaluations,
            }
            for found in path.projections
        ]
        content = {
            "settings": self.settings,
            "order": list(path.order),
            "null_error": path.null_error,
            "full_error": path.full_error,
            "projections": plain,
            "tried": [list(one) for one in path.tried],
        }
        arrays: dict[str, Any] = {}
        for size, found in enumerate(path.projections):
            arrays[f"parameters_{size}"] = found.parameters
            arrays[f"inputs_{size}"] = found.inputs
            arrays[f"active_{size}"] = found.active
        store.write(self.file, KIND, content, arrays)

    def read(
        self, reference: Reference, forced: tuple[int, ...], units: tuple[Unit, ...]
    ) -> SearchPath:
        """Return the path, or refuse a checkpoint of another search."""
        content, arrays = store.read(self.file, KIND)
        if content["settings"] != self.settings:
            raise store.StoreError(
                f"checkpoint {self.file} belongs to a search of other data or settings; "
                "remove it or name another file"
            )
        structures = {False: self.family.kernel, True: self.family.kernel.without_inputs()}
        projections = tuple(
            Projection(
                kernel=structures[plain["null"]],
                parameters=arrays[f"parameters_{size}"],
                inputs=arrays[f"inputs_{size}"].astype(np.bool_),
                active=arrays[f"active_{size}"].astype(np.bool_),
                value=plain["value"],
                posterior_kl=plain["posterior_kl"],
                projection_error=plain["projection_error"],
                converged=plain["converged"],
                evaluations=plain["evaluations"],
            )
            for size, plain in enumerate(content["projections"])
        )
        known = {unit.name: unit for unit in units}
        return SearchPath(
            reference=reference,
            family=self.family,
            units=tuple(known[name] for name in content["order"]),
            projections=projections,
            null_error=content["null_error"],
            full_error=content["full_error"],
            always=forced,
            tried=tuple(Tried(*one) for one in content["tried"]),
        )
