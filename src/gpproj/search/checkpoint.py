"""Checkpoints of a search: everything found so far, after every step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpproj import store
from gpproj.linalg import to_host
from gpproj.projection import Family
from gpproj.reference import Reference
from gpproj.search.path import SearchPath
from gpproj.search.record import path_of, record_of
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
        found = record_of(path)
        content = {"settings": self.settings, **found.content}
        store.write(self.file, KIND, content, found.arrays)

    def read(
        self, reference: Reference, forced: tuple[int, ...], units: tuple[Unit, ...]
    ) -> SearchPath:
        """Return the path, or refuse a checkpoint of another search."""
        record = store.read(self.file, KIND)
        if record.content["settings"] != self.settings:
            raise store.StoreError(
                f"checkpoint {self.file} belongs to a search of other data or settings; "
                "remove it or name another file"
            )
        return path_of(record, reference, self.family, forced, units)
