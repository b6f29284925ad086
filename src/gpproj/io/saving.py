"""`save` and `load`: references, paths, validations and submodels as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gpproj.io.folder import read_folder, write_folder
from gpproj.io.linear import linear_submodel_from, stored_linear_submodel
from gpproj.io.path import path_from, stored_path
from gpproj.io.reference import reference_from, stored_reference
from gpproj.io.submodel import stored_submodel, submodel_from
from gpproj.io.validation import stored_validation, validation_from
from gpproj.projection import LinearSubmodel, Submodel
from gpproj.reference import GaussianProcessReference, MomentReference, Reference
from gpproj.search import SearchPath
from gpproj.store import Stored, StoreError
from gpproj.validation import Validation

Saved: TypeAlias = Reference | SearchPath | Submodel | Validation

FILES = {
    "Reference": ("reference",),
    "ForeignReference": ("reference",),
    "LinearReference": ("reference",),
    "Submodel": ("submodel",),
    "LinearSubmodel": ("submodel",),
    "SearchPath": ("reference", "path"),
    "Validation": ("reference", "path", "validation"),
}
"""Files of each kind of folder."""

NAMES: dict[type, str] = {
    GaussianProcessReference: "Reference",
    MomentReference: "ForeignReference",
}
"""Kinds that are not called what the class is: folders had these names before the classes."""


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
    kind = NAMES.get(type(thing), type(thing).__name__)
    write_folder(Path(folder), kind, summary, _files(thing), overwrite)


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
            return {"reference": stored_reference(thing)}
        case LinearSubmodel():
            return {"submodel": stored_linear_submodel(thing)}
        case Submodel():
            return {"submodel": stored_submodel(thing)}
        case SearchPath():
            return {**_files(thing.reference), "path": stored_path(thing)}
        case Validation():
            return {**_files(thing.path), "validation": stored_validation(thing)}


def _thing(kind: str, files: dict[str, Stored]) -> Saved:
    if kind == "Submodel":
        return submodel_from(files["submodel"])
    if kind == "LinearSubmodel":
        return linear_submodel_from(files["submodel"])
    reference = reference_from(files["reference"])
    if "path" not in files:
        return reference
    path = path_from(files["path"], reference)
    return path if kind == "SearchPath" else validation_from(files["validation"], path)
