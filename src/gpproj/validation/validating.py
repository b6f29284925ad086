"""`validate`: how well submodels predict rows that they, and their search, have not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import check_jobs
from gpproj.projection import CriterionName, Learn
from gpproj.reference import LinearReference, Reference
from gpproj.search import SearchPath, forward_search
from gpproj.validation.folds import (
    Fold,
    along_of,
    folds_of,
    leave_one_out_folds,
    validate_folds,
)
from gpproj.validation.keeping import Keeper, fingerprint
from gpproj.validation.linear import linear_loo
from gpproj.validation.loo import validate_loo
from gpproj.validation.result import Search, Validation
from gpproj.validation.scores import joined

Method = Literal["loo", "kfold"]

validate_loo.register(LinearReference, linear_loo)


def validate(
    reference: Reference,
    path: SearchPath | None = None,
    method: Method | None = None,
    *,
    folds: Any = 5,
    search: Search | None = None,
    max_inputs: int | None = None,
    learn: Learn | None = None,
    criterion: CriterionName | None = None,
    row_groups: Any = None,
    points: int | None = None,
    hyperparameters: Literal["updated", "held"] = "updated",
    refit: bool = True,
    nested: bool = False,
    n_jobs: int | None = 1,
    random_state: int | None = None,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> Validation:
    """Compare submodels with their reference on rows that neither has seen.

    Parameters
    ----------
    reference : Reference
    path : SearchPath, optional
        A search of this reference, whatever its settings: folds repeat it with the same ones. A
        forward search with the default settings when left out.
    method : {"loo", "kfold"}, optional
        Leave out one row at a time, or one fold. K-fold when left out if the reference has fixed
        hyperparameters, leave-one-out if it has posterior draws; K-fold of linear references that
        can be refitted, and of references whose rows have groups.
    folds : int, splitter or iterable of (train, test)
        Of K-fold: a number of random folds, any splitter of scikit-learn, or rows. Random folds of
        classes have about the same share of each class, those of counts about the same share of
        zeros.
    search : {"inside", "once"}, optional
        Repeat the search in every fold, or keep the order of the path, which has then seen the rows
        that are predicted and looks too good. "inside" is the default of K-fold. It is offered for
        leave-one-out too, with refits, at the cost of a search for every row; the default there is
        "once".
    max_inputs : int, optional
        Steps of the search, if no path is given.
    learn, criterion
        Of that search, as for `gpproj.forward_search`.
    row_groups : array `(n,)`, optional
        Labels of groups of rows that stay together in folds; those that the reference has when
        left out, see `Reference.with_row_groups`.
    points : int, optional
        Of leave-one-out: predict a random choice of that many rows only.
    hyperparameters : {"updated", "held"}
        Of leave-one-out with fixed hyperparameters: move them by one Newton step for every row, or
        hold them. Held, they have seen the row: that favours the reference, and sizes come out too
        large.
    refit : bool
        Of leave-one-out with posterior draws: sample again without each row whose weights cannot be
        trusted. False keeps the smoothed weights of such rows, which is fast, and warns of them.
    nested : bool
        Of K-fold with the search inside: also choose a size in every fold by a validation of its
        training rows alone, see `Validation.nested_summary`.
    n_jobs : int or None
        Folds (or rows) at a time; -1 for all cores. The answer does not depend on it. On a device
        as many folds go side by side as it has room for, unless there is a checkpoint.
    random_state : int, optional
        Of the folds and points.
    progress : bool
        Show how many folds or rows are done, on standard error.
    checkpoint : path, optional
        A folder where finished folds are kept. A validation that finds some goes on from there; it
        needs the same `random_state`. Leave-one-out with `search="once"` has no folds, and keeps
        nothing.

    Returns
    -------
    Validation

    Warns
    -----
    UserWarning
        If the null model is better than the reference, or a path that was not validated seems
        better than the reference.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((60, 3))
    >>> ref = gpproj.fit(X, np.sin(2 * X[:, 0]) + X[:, 2] + 0.2 * rng.standard_normal(60))
    >>> cv = gpproj.validate(ref, random_state=0, progress=False)
    >>> cv.path.order[: cv.suggest_size()]
    ('x2', 'x0')
    """
    check_jobs(n_jobs)
    plan = _plan(reference, method, search, points, hyperparameters, nested, random_state)
    asked: dict[str, Any] = {"max_inputs": max_inputs, "learn": learn, "criterion": criterion}
    asked = {name: value for name, value in asked.items() if value is not None}
    if path is None:
        path = forward_search(reference, n_jobs=n_jobs, progress=progress, **asked)
    elif path.reference is not reference:
        raise ValueError("path must be a search of the same reference")
    elif asked:
        named = " and ".join(asked)
        raise ValueError(f"{named}: for a search that has yet to be done; the path has its own")
    if plan.method == "loo" and plan.search == "once":
        held = hyperparameters == "held"
        cv = _by_weights(path, plan.points, held, refit, n_jobs, progress)
    else:
        if plan.method == "loo":
            pairs = leave_one_out_folds(reference.training.n, plan.points)
        else:
            pairs = folds_of(reference, folds, row_groups, random_state)
        inner = _Inner(folds, random_state) if nested else None
        cv = _by_folds(path, plan.method, plan.search, pairs, n_jobs, progress, inner, checkpoint)
    for problem in cv.problems:
        warnings.warn(problem, UserWarning, stacklevel=2)
    return cv


def _by_weights(
    path: SearchPath,
    points: NDArray[np.intp],
    held: bool,
    refit: bool,
    n_jobs: int | None,
    progress: bool,
) -> Validation:
    found = validate_loo(path.reference, path, points, held, refit, n_jobs, progress)
    refitted = tuple(found.refitted.tolist())
    own = (path.order,)
    return Validation(
        path.reference,
        path,
        "loo",
        "once",
        found.scores,
        own,
        found.k_hat,
        refitted,
        along=found.along,
    )


def _by_folds(
    path: SearchPath,
    method: Method,
    search: Search,
    folds: list[Fold],
    n_jobs: int | None,
    progress: bool,
    inner: _Inner | None = None,
    checkpoint: str | Path | None = None,
) -> Validation:
    inside = search == "inside"
    keep = None
    if checkpoint is not None:
        settings = fingerprint(path, inside, None if inner is None else repr(inner))
        keep = partial(Keeper, Path(checkpoint), settings)
    found = validate_folds(path.reference, path, folds, inside, n_jobs, progress, inner, keep)
    return Validation(
        path.reference,
        path,
        method,
        search,
        joined([one.scores for one in found]),
        tuple(one.order for one in found),
        chosen=() if inner is None else tuple(one.chosen for one in found),
        along=along_of(found),
    )


@dataclass(frozen=True)
class _Plan:
    method: Method
    search: Search
    points: NDArray[np.intp]


def _plan(
    reference: Reference,
    method: Method | None,
    search: Search | None,
    points: int | None,
    hyperparameters: str,
    nested: bool,
    random_state: int | None,
) -> _Plan:
    """Check the arguments, and fill in what was left out."""
    if method == "loo" and search != "inside" and reference.loo_obstacle is not None:
        raise ValueError(f'method="loo" {reference.loo_obstacle}; use "kfold"')
    if method == "loo" and reference.training.row_groups is not None:
        raise ValueError(
            'method="loo" leaves out single rows, and those of this reference have groups that '
            'stay together; use "kfold"'
        )
    if method is None:
        method = reference.usual_validation
    if method not in ("loo", "kfold"):
        raise ValueError(f'method must be "loo" or "kfold", got {method!r}')
    if search is None:
        search = "inside" if method == "kfold" else "once"
    if search not in ("inside", "once"):
        raise ValueError(f'search must be "inside" or "once", got {search!r}')
    if hyperparameters not in ("updated", "held"):
        raise ValueError(f'hyperparameters must be "updated" or "held", got {hyperparameters!r}')
    if hyperparameters == "held" and not reference.has_hyperparameters:
        raise ValueError(
            'hyperparameters="held" is for Gaussian processes; a '
            f"{type(reference).__name__} has no hyperparameters"
        )
    if nested and (method, search) != ("kfold", "inside"):
        raise ValueError('nested is for method="kfold" with search="inside"')
    n = reference.training.n
    rows = np.arange(n)
    if points is not None:
        if method != "loo":
            raise ValueError('points is for method="loo"')
        whole = isinstance(points, (int, np.integer)) and not isinstance(points, bool)
        if not whole or not 2 <= points <= n:
            raise ValueError(f"points must be a number from 2 to {n}, got {points!r}")
        rows = np.sort(np.random.default_rng(random_state).choice(n, points, replace=False))
    return _Plan(method, search, rows)


@dataclass(frozen=True)
class _Inner:
    """Chooses a size by a validation of a fold's training rows alone."""

    folds: Any
    random_state: int | None

    def __call__(self, reference: Reference, path: SearchPath) -> int | None:
        number = self.folds if isinstance(self.folds, (int, np.integer)) else 5
        folds = folds_of(reference, number, None, self.random_state)
        cv = _by_folds(path, "kfold", "inside", folds, 1, False)
        return cv.smallest_enough()
