"""Checkpoints of a validation: the results of its folds, written as soon as they are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpproj import store
from gpproj.linalg import to_host
from gpproj.search import SearchPath
from gpproj.validation.folds import Fold, FoldResult, Work
from gpproj.validation.scores import Scores

KIND = "validated fold"
NESTED = "along_"
"""Begins the names of the arrays of nested submodels."""
COMPARED = "compared_"
"""Begins those of plain models, before their names."""


def fingerprint(
    path: SearchPath, inside: bool, inner: str | None, compare: Sequence[str] = ()
) -> str:
    """Return a digest of the data and settings that decide the results of folds.

    Parameters
    ----------
    path : SearchPath
    inside : bool
        Whether the search is repeated in folds.
    inner : str or None
        Settings of the validation inside folds, if there is one.
    compare : sequence of str
        Plain models that are fitted in folds.
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
        *([list(compare)] if compare else []),
    )


def _settings(recipe: Any) -> list[Any]:
    """Return what a search was called with, in words; a search that extends another has two."""
    keywords = getattr(recipe, "keywords", {})
    return [
        [name, _settings(value) if isinstance(value, partial) else repr(value)]
        for name, value in sorted(keywords.items())
    ]


@dataclass(frozen=True)
class FoldCheckpoint:
    """Runs a fold and writes its result to a folder, or reads it there if it was run before.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    settings : str
        The fingerprint of the validation.
    work : callable
        From a fold to its result.
    """

    folder: Path
    settings: str
    work: Work

    def __call__(self, fold: Fold) -> FoldResult:
        """Return the result of a fold, computed now or before."""
        file = self.folder / f"fold_{fold.number:04d}.npz"
        key = store.digest(self.settings, fold.train, fold.test)
        if file.exists():
            return _read(file, key)
        self.folder.mkdir(parents=True, exist_ok=True)
        result = self.work(fold)
        content = {
            "key": key,
            "order": list(result.order),
            "chosen": result.chosen,
            "compared": list(result.compared),
        }
        arrays = _arrays(result.scores, "")
        if result.along is not None:
            arrays |= _arrays(result.along, NESTED)
        for name, scores in result.compared.items():
            arrays |= _arrays(scores, f"{COMPARED}{name}_")
        store.write(file, KIND, content, arrays)
        return result


def _arrays(scores: Scores, prefix: str) -> dict[str, Any]:
    return {prefix + name: part for name, part in scores._asdict().items() if part is not None}


def _read(file: Path, key: str) -> FoldResult:
    content, arrays = store.read(file, KIND)
    if content["key"] != key:
        raise store.StoreError(
            f"checkpoint {file} belongs to a validation of other data or settings; "
            "remove it or name another folder"
        )

    def scores(prefix: str) -> Scores:
        every = {name: arrays.get(prefix + name) for name in Scores._fields}
        found = {name: np.asarray(one) for name, one in every.items() if one is not None}
        return Scores(**found)

    along = scores(NESTED) if NESTED + "rows" in arrays else None
    names = content.get("compared", ())
    compared = {name: scores(f"{COMPARED}{name}_") for name in names}
    return FoldResult(scores(""), tuple(content["order"]), along, content["chosen"], compared)
