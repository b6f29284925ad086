"""`validate`: how well submodels predict rows that they, and their search, have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import check_jobs
from gpproj.projection import CriterionName, Learn, ProcessProjector
from gpproj.reference import GaussianProcessReference, LinearReference, Reference
from gpproj.search import SearchPath, forward_search
from gpproj.store import named_path
from gpproj.validation.checkpoint import FoldCheckpoint, fingerprint
from gpproj.validation.fitted import check_compare
from gpproj.validation.folds import (
    Fold,
    compared_scores,
    folds_of,
    leave_one_out_folds,
    nested_scores,
    validate_folds,
)
from gpproj.validation.linear_loo import LinearPredictor
from gpproj.validation.loo import LooPredictor, approximate_loo, validate_loo
from gpproj.validation.process_loo import ProcessPredictor
from gpproj.validation.result import Search, Validation
from gpproj.validation.scores import Scores, joined

Method = Literal["loo", "kfold"]

_REFITTED = 'is for method="loo" with search="once": everything else is refitted'


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
    compare: str | Iterable[str] | None = (),
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
        Leave out one row at a time, or one fold. Leave-one-out is fast for Gaussian processes and
        linear models; any other reference is refitted without each row. When left out:
        leave-one-out if the reference has at least 25 posterior draws, as one of `gpproj.sample`;
        K-fold of fits, of linear references that can be refitted, where rows have groups, and
        wherever there is something to `compare`.
    folds : int, splitter or iterable of (train, test)
        For K-fold: a number of random folds, any splitter of scikit-learn, or rows. Random folds of
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
        Settings of that search, as for `gpproj.forward_search`.
    row_groups : array `(n,)`, optional
        Labels of groups of rows that stay together in folds: a number of folds then is one of
        `GroupKFold`, and other folds that part groups are refused. Those that the reference has
        when left out, see `Reference.with_row_groups`, which `nested` needs.
    points : int, optional
        For leave-one-out: predict a random choice of that many rows only. Where all rows can be
        predicted cheaply besides, without refits and by the order of the path, the elpd is that of
        all rows, corrected by what the chosen ones are off (the difference estimator).
    hyperparameters : {"updated", "held"}
        For leave-one-out: move the hyperparameters of submodels, and of a reference with a single
        vector of them, by one Newton step for every row, or hold them. Held, they have seen the
        row: whoever holds them looks too good. Draws of a reference are weighed anew in any case.
    refit : bool
        For leave-one-out with posterior draws: sample again without each row whose weights cannot
        be trusted. False uses the smoothed weights of such rows, which is fast, and warns of them.
    nested : bool
        For K-fold with the search inside: also choose a size in every fold by a validation of its
        training rows alone, see `Validation.nested_summary`.
    compare : {"process", "linear"} or a list of them, optional
        Plain models that every fold fits from scratch to the inputs of its best submodels, see
        `Validation.comparison`: a Gaussian process, by `gpproj.fit` with one draw, and a linear
        regression. Needs the folds of K-fold, or of leave-one-out with `search="inside"`.
    n_jobs : int or None
        Folds (or rows) at a time; -1 for all cores. The answer does not depend on it. On a device
        as many folds go side by side as it has room for, unless there is a checkpoint.
    random_state : int, optional
        Seed of the folds and points.
    progress : bool
        Show how many folds or rows are done, on standard error.
    checkpoint : path, optional
        A folder for the results of finished folds. A validation that finds some there continues
        with the others; it needs the same `random_state`. Leave-one-out with `search="once"` has no
        folds, and writes nothing.

    Returns
    -------
    Validation

    Warns
    -----
    UserWarning
        If a submodel is clearly better than the reference, the null model is better, or a path that
        was not validated seems better.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((60, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 2] + 0.2 * rng.standard_normal(60)
    >>> ref = gpproj.fit(X, y, draws=1)
    >>> cv = gpproj.validate(ref, random_state=0, progress=False)
    >>> cv.path.order[: cv.suggest_size()]
    ('x2', 'x0')
    """
    check_jobs(n_jobs)
    folder = None if checkpoint is None else named_path("checkpoint", checkpoint)
    plain = check_compare(compare)
    if method is None and (plain or row_groups is not None):
        method = "kfold"
    if method == "loo" and row_groups is not None:
        raise ValueError(
            'row_groups: method="loo" leaves out single rows, and groups stay together in folds; '
            'use method="kfold"'
        )
    plan = _plan(reference, method, search, points, hyperparameters, nested, random_state)
    if plain and (plan.method, plan.search) == ("loo", "once"):
        raise ValueError(
            'compare: plain models are fitted in folds, which method="loo" with search="once" does '
            'not need; use method="kfold", or search="inside"'
        )
    if nested and row_groups is not None:
        raise ValueError(
            "row_groups: validations inside folds know the groups of the reference alone; give "
            "them to it by with_row_groups"
        )
    settings: dict[str, Any] = {"max_inputs": max_inputs, "learn": learn, "criterion": criterion}
    settings = {name: value for name, value in settings.items() if value is not None}
    if path is None:
        path = forward_search(reference, n_jobs=n_jobs, progress=progress, **settings)
    elif path.reference is not reference:
        raise ValueError("path must be a search of the same reference")
    elif settings:
        raise ValueError(
            f"{' and '.join(settings)}: for a search that has yet to be done; the path has its own"
        )
    held, n = hyperparameters == "held", reference.training.n
    exact = _loo_predictor(path, held) if plan.method == "loo" and plan.search == "once" else None
    if exact is not None:
        loo = validate_loo(path, exact, plan.points, refit, n_jobs, progress)
        refitted, orders = tuple(loo.refitted.tolist()), (path.order,)
        cv = Validation(
            reference, path, "loo", "once", loo.scores, orders, loo.k_hat, refitted, along=loo.along
        )
    else:
        if held:
            raise ValueError(f'hyperparameters="held" {reference.loo_obstacle or _REFITTED}')
        if plan.method == "loo":
            pairs = leave_one_out_folds(n, plan.points)
        else:
            pairs = folds_of(reference, folds, row_groups, random_state)
        inner = _InnerValidation(folds, random_state) if nested else None
        cv = _by_folds(path, plan, pairs, n_jobs, progress, inner, folder, plain)
    if plan.points.size < n and plan.method == "loo" and not held:
        cheap = _loo_predictor(path, held=plan.search == "once")
        if cheap is not None:
            cv = _with_approximations(cv, *approximate_loo(path, cheap, n_jobs, progress))
    said = reference.check().problems  # by the function that made it, or by the answer
    for problem in (one for one in cv.problems if one not in said):
        warnings.warn(problem, UserWarning, stacklevel=2)
    return cv


@dataclass(frozen=True)
class _Plan:
    """The arguments of `validate` that depend on each other, with defaults filled in."""

    method: Method
    search: Search
    points: NDArray[np.intp]


def _loo_predictor(path: SearchPath, held: bool) -> LooPredictor | None:
    """Return what leaves single rows out without refits; None where nothing does."""
    reference, projector = path.reference, path.projector
    if isinstance(reference, LinearReference):
        return LinearPredictor(reference, path)
    if reference.loo_obstacle is not None or not isinstance(projector, ProcessProjector):
        return None
    assert isinstance(reference, GaussianProcessReference)  # the others have an obstacle
    return ProcessPredictor(reference, projector, path, held)


def _with_approximations(cv: Validation, scores: Scores, along: Scores | None) -> Validation:
    """Return a validation of some rows with what is known approximately of all of them."""

    def extended(exact: Scores, approximate: Scores) -> Scores:
        return exact._replace(divergence=None, approximate=approximate.log_density)

    nested = None
    if cv.along is not None or along is not None:
        nested = extended(cv.along or cv.scores, along or scores)
    return replace(cv, scores=extended(cv.scores, scores), along=nested)


def _by_folds(
    path: SearchPath,
    plan: _Plan,
    folds: list[Fold],
    n_jobs: int | None,
    progress: bool,
    inner: _InnerValidation | None = None,
    checkpoint: Path | None = None,
    compare: tuple[str, ...] = (),
) -> Validation:
    inside, written = plan.search == "inside", None
    if checkpoint is not None:
        settings = fingerprint(path, inside, None if inner is None else repr(inner), compare)
        written = partial(FoldCheckpoint, checkpoint, settings)
    results = validate_folds(path, folds, inside, n_jobs, progress, inner, written, compare)
    scores = joined([result.scores for result in results])
    return Validation(
        path.reference,
        path,
        plan.method,
        plan.search,
        scores,
        tuple(result.order for result in results),
        chosen=() if inner is None else tuple(result.chosen for result in results),
        along=nested_scores(results),
        compared=compared_scores(results, scores),
    )


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
class _InnerValidation:
    """Chooses a size by a validation of a fold's training rows alone."""

    folds: Any
    random_state: int | None

    def __call__(self, reference: Reference, path: SearchPath) -> int | None:
        number = self.folds if isinstance(self.folds, (int, np.integer)) else 5
        folds = folds_of(reference, number, None, self.random_state)
        plan = _Plan("kfold", "inside", np.arange(0))
        return _by_folds(path, plan, folds, 1, False).smallest_enough()
