"""`save` and `load`: references, paths, validations and submodels as folders."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gpproj.io.folder import read_folder, write_folder
from gpproj.io.path import path_from, stored_path
from gpproj.io.records import record_from, stored
from gpproj.projection import Submodel
from gpproj.reference import Reference
from gpproj.search import SearchPath
from gpproj.store import Stored, StoreError
from gpproj.validation import Validation

Saved: TypeAlias = Reference | SearchPath | Submodel | Validation

FILES = {
    "GaussianProcessReference": ("reference",),
    "MomentReference": ("reference",),
    "LinearReference": ("reference",),
    "GaussianProcessSubmodel": ("submodel",),
    "LinearSubmodel": ("submodel",),
    "SearchPath": ("reference", "path"),
    "Validation": ("reference", "path", "validation"),
}
"""Files of the folders of each class that can be saved."""


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


def load(folder: str | Path) -> Any:
    """Load what `save` has saved: a reference, a path, a submodel or a validation.

    Everything is as it was, to the last bit, except that arrays are NumPy's whatever library they
    were of. Nothing that the files say is executed: no pickles, and only kernels, priors and
    recipes that gpproj knows by name. A reference or path that was made in another way comes back
    without its recipe, and cannot be made again of other data. References of other libraries come
    back without the functions that predict and refit.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Reference, SearchPath, Submodel or Validation

    Raises
    ------
    gpproj.store.StoreError
        The folder is foreign, damaged, of a newer format or of one that is no longer read.

    Examples
    --------
    >>> import gpproj
    >>> from tempfile import TemporaryDirectory
    >>> X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    >>> path = gpproj.project_path(gpproj.fit(X[:, 5:], y), ["x2", "x1"])
    >>> with TemporaryDirectory() as folder:
    ...     path.save(f"{folder}/run")
    ...     again = gpproj.load(f"{folder}/run")
    >>> again.order
    ('x2', 'x1')
    >>> (again[1].predict(X[:, 5:]).mean == path[1].predict(X[:, 5:]).mean).all()
    np.True_
    """
    kind, files = read_folder(Path(folder), FILES)
    try:
        return _thing(kind, files)
    except MemoryError:
        raise
    except Exception as error:  # whole files that say something else than they should
        raise StoreError(f"{folder} holds a {kind} that makes no sense ({error!r})") from error


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


def _thing(kind: str, files: dict[str, Stored]) -> Saved:
    first = FILES[kind][0]
    found: Saved = record_from(files[first])
    if "path" not in files:
        if type(found).__name__ != kind:
            raise ValueError(f"{first}.npz holds a {type(found).__name__}")
        return found
    if not isinstance(found, Reference):
        raise ValueError(f"{first}.npz holds a {type(found).__name__}")
    path = path_from(files["path"], found)
    if kind == "SearchPath":
        return path
    return Validation(reference=found, path=path, **record_from(files["validation"]))
