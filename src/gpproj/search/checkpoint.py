"""Checkpoints of a search: everything found so far, after every step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpproj import store
from gpproj.reference import Reference
from gpproj.search.options import SearchOptions
from gpproj.search.path import SearchPath
from gpproj.search.record import path_of, record_of
from gpproj.search.space import SearchSpace

KIND = "forward_search checkpoint"


def fingerprint(reference: Reference, space: SearchSpace, options: SearchOptions) -> str:
    """Return a digest of the data and of the settings that decide a path."""
    return store.digest(
        *space.projector.facts,
        reference.feature_names,
        [options.strategy, options.exchange, options.floating],
        space.always,
        [list(unit) for unit in space.units],
        np.concatenate([*space.learned.values(), np.empty(0)]),
    )


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds a search as it stands.

    Parameters
    ----------
    settings : str
        The fingerprint of the search it belongs to.
    """

    file: Path
    settings: str

    def exists(self) -> bool:
        """Say whether there is something to go on from."""
        return self.file.exists()

    def write(self, path: SearchPath) -> None:
        """Write the path, whole or not at all."""
        found = record_of(path)
        content = {"settings": self.settings, **found.content}
        store.write(self.file, KIND, content, found.arrays)

    def read(self, reference: Reference, space: SearchSpace) -> SearchPath:
        """Return the path, or refuse a checkpoint of another search."""
        record = store.read(self.file, KIND)
        if record.content["settings"] != self.settings:
            raise store.StoreError(
                f"checkpoint {self.file} belongs to a search of other data or settings; "
                "remove it or name another file"
            )
        return path_of(record, reference, space.projector, space.always, space.units)
