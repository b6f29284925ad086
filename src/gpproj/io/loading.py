"""`load`: references, paths, validations and submodels from their folders.

It imports what a folder holds and no more: a submodel predicts without searches and validations.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gpproj.io.folder import read_folder
from gpproj.io.records import record_from
from gpproj.store import Stored, StoreError

if TYPE_CHECKING:
    from gpproj.projection import Submodel
    from gpproj.reference import Reference
    from gpproj.search import SearchPath
    from gpproj.validation import Validation

Saved: TypeAlias = "Reference | SearchPath | Submodel | Validation"

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


def _thing(kind: str, files: dict[str, Stored]) -> Saved:
    first = FILES[kind][0]
    found: Saved = record_from(files[first])
    if "path" not in files:
        if type(found).__name__ != kind:
            raise ValueError(f"{first}.npz holds a {type(found).__name__}")
        return found
    from gpproj.io.path import path_from
    from gpproj.reference import Reference

    if not isinstance(found, Reference):
        raise ValueError(f"{first}.npz holds a {type(found).__name__}")
    path = path_from(files["path"], found)
    if kind == "SearchPath":
        return path
    from gpproj.validation import Validation

    return Validation(reference=found, path=path, **record_from(files["validation"]))
