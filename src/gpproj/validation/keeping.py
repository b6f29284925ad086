"""Checkpoints of a validation: what every fold has found, as soon as it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpproj import store
from gpproj.linalg import to_host
from gpproj.search import SearchPath
from gpproj.validation.folds import Fold, FoldResult
from gpproj.validation.scores import Scores

KIND = "validated fold"


def fingerprint(path: SearchPath, inside: bool, inner: str | None) -> str:
    """Return a digest of the data and settings that decide what folds find.

    Parameters
    ----------
    path : SearchPath
    inside : bool
        Whether the search is repeated in folds.
    inner : str or None
        Settings of the validation inside folds.
    """
    reference = path.reference
    return store.digest(
        to_host(reference.training.X),
        to_host(reference.training.y),
        *reference.facts,
        reference.feature_names,
        path.projector.identity,
        path.errors,
        path.best_errors,
        [list(unit) for unit in path.units],
        path.always,
        path.clusters,
        inside,
        _settings(path.recipe),
        inner,
    )


def _settings(recipe: Any) -> list[Any]:
    """Return what a search was called with, in words; a search that extends another has two."""
    keywords = getattr(recipe, "keywords", {})
    return [
        [name, _settings(value) if isinstance(value, partial) else repr(value)]
        for name, value in sorted(keywords.items())
    ]


@dataclass(frozen=True)
class Keeper:
    """Runs folds that were not finished yet, and keeps them in a folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    settings : str
        The fingerprint of the validation it belongs to.
    work : callable
        From a fold to what it finds.
    """

    folder: Path
    settings: str
    work: Callable[[Fold], FoldResult]

    def __call__(self, fold: Fold) -> FoldResult:
        """Return what a fold has found, now or before."""
        file = self.folder / f"fold_{fold.number:04d}.npz"
        key = store.digest(self.settings, fold.train, fold.test)
        if file.exists():
            return _read(file, key)
        self.folder.mkdir(parents=True, exist_ok=True)
        found = self.work(fold)
        content = {"key": key, "order": list(found.order), "chosen": found.chosen}
        arrays = found.scores._asdict()
        if found.along is not None:
            arrays |= {f"along_{name}": part for name, part in found.along._asdict().items()}
        store.write(file, KIND, content, arrays)
        return found


def _read(file: Path, key: str) -> FoldResult:
    content, arrays = store.read(file, KIND)
    if content["key"] != key:
        raise store.StoreError(
            f"checkpoint {file} belongs to a validation of other data or settings; "
            "remove it or name another folder"
        )
    own, along = (
        {
            name: np.asarray(arrays[prefix + name])
            for name in Scores._fields
            if prefix + name in arrays
        }
        for prefix in ("", "along_")
    )
    return FoldResult(
        Scores(**own),
        tuple(content["order"]),
        Scores(**along) if along else None,
        content["chosen"],
    )
