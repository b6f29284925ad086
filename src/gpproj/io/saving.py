"""`save`: references, paths, validations and submodels as folders."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np

from gpproj.io.folder import write_folder
from gpproj.io.loading import FILES, Saved
from gpproj.io.packing import stored
from gpproj.io.path import stored_path
from gpproj.reference import Reference
from gpproj.search import SearchPath
from gpproj.store import Stored
from gpproj.validation import Validation


def save(thing: Saved, folder: str | Path, *, overwrite: bool = False) -> None:
    """Save something as a folder that `load` reads; it is whole or absent.

    Parameters
    ----------
    thing : Reference, SearchPath, Submodel or Validation
    folder : path
        A new name in a folder that exists.
    overwrite : bool
        Replace a folder that was saved before, and that nothing was added to.
    """
    with np.errstate(all="ignore"):
        summary = repr(thing)
    write_folder(Path(folder), type(thing).__name__, summary, _files(thing), overwrite)


def _files(thing: Saved) -> dict[str, Stored]:
    match thing:
        case Reference():
            return {"reference": stored(thing)}
        case SearchPath():
            return {**_files(thing.reference), "path": stored_path(thing)}
        case Validation():
            names = [field.name for field in fields(thing) if field.name not in FILES["Validation"]]
            found = {name: getattr(thing, name) for name in names}
            return {**_files(thing.path), "validation": stored(found)}
    return {"submodel": stored(thing)}
