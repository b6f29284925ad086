"""Leave-one-out validation of the submodels of a path, without searching or fitting anew."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host, one_blas_thread, to_host
from gpproj.reference import Reference
from gpproj.search import SearchPath, Subset
from gpproj.validation.folds import leave_one_out_folds, validate_folds
from gpproj.validation.scores import Scores, joined

Rows = NDArray[np.intp]


class Predictions(NamedTuple):
    """Predictions of rows by models that have not seen them, on the model's scale."""

    mean: Host
    """`(models, m)`."""
    log_density: Host
    """`(models, m)`."""


class LooPredictor(ABC):
    """Predicts single rows by a reference, and by the submodels of a path, without them."""

    k_hat: Host | None = None
    """Pareto k of every row, `(n,)`, where posterior draws are weighted anew."""
    can_refit: bool = True
    """Whether rows whose weights cannot be trusted can be left out by refits instead."""

    @abstractmethod
    def predict(self, rows: Rows, n_jobs: int | None, progress: bool) -> Predictions:
        """Predict rows by the reference, and then by the submodels of `distinct_subsets`."""


class LooResult(NamedTuple):
    """Leave-one-out predictions, and how far their weights can be trusted."""

    scores: Scores
    """Predictions of the best submodels of each size."""
    along: Scores | None
    """Predictions of the submodels along the path, where some are not the best ones."""
    k_hat: Host | None
    """Pareto k of each row, where draws were weighted; those above the limit were refitted."""
    refitted: Rows


def validate_loo(
    path: SearchPath,
    predictor: LooPredictor,
    rows: Rows,
    refit: bool,
    n_jobs: int | None,
    progress: bool,
) -> LooResult:
    """Predict single rows by the reference of a path and the submodels without them.

    Parameters
    ----------
    path : SearchPath
    predictor : LooPredictor
    rows : int array `(m,)`
        Rows to predict.
    refit : bool
        Refit the reference where the weights of its draws cannot be trusted.
    n_jobs : int or None
    progress : bool
    """
    reference, bad, k_hat = path.reference, rows[:0], predictor.k_hat
    if k_hat is not None:
        bad = rows[k_hat[rows] > worst_k(reference.count)]
        if bad.size and not (refit and predictor.can_refit):
            warnings.warn(
                f"the weights of {bad.size} of {rows.size} rows cannot be trusted (Pareto k up to "
                f"{k_hat[bad].max():.2f}); with refit= these rows would be left out by refits",
                UserWarning,
                stacklevel=3,
            )
            bad = bad[:0]
    good = np.setdiff1d(rows, bad, assume_unique=True)
    scores, along = _predicted(path, predictor, good, n_jobs, progress)
    if bad.size:
        folds = leave_one_out_folds(reference.training.n, bad)
        refits = validate_folds(path, folds, False, n_jobs, progress)
        scores = _with_refits(scores, [one.scores for one in refits])
        if along is not None:
            along = _with_refits(along, [one.along or one.scores for one in refits])
    return LooResult(scores, along, k_hat, bad)


def approximate_loo(
    path: SearchPath, predictor: LooPredictor, n_jobs: int | None, progress: bool
) -> tuple[Scores, Scores | None]:
    """Predict all single rows as well as goes without refits, whatever their weights are worth.

    Parameters
    ----------
    path : SearchPath
    predictor : LooPredictor
    n_jobs : int or None
    progress : bool

    Returns
    -------
    tuple of Scores
        Of the best submodels of each size, and of those along the path where some are not the best.
    """
    return _predicted(path, predictor, np.arange(path.reference.training.n), n_jobs, progress)


def _predicted(
    path: SearchPath, predictor: LooPredictor, rows: Rows, n_jobs: int | None, progress: bool
) -> tuple[Scores, Scores | None]:
    with one_blas_thread():
        predictions = predictor.predict(rows, n_jobs, progress)
    return _best_and_nested(path, _scores(path.reference, rows, predictions))


def _with_refits(scores: Scores, refits: list[Scores]) -> Scores:
    # Every row is a fold of its own, with its own number.
    return joined([scores, *(one._replace(fold=one.rows) for one in refits)])


def distinct_subsets(path: SearchPath) -> list[Subset]:
    """Return the best subset of every size, then those along the path that are not among them."""
    sizes = range(len(path))
    return [
        *(path.best_subset(size) for size in sizes),
        *(path.nested_subset(size) for size in sizes if path.is_better(size)),
    ]


def _best_and_nested(path: SearchPath, scores: Scores) -> tuple[Scores, Scores | None]:
    """Split predictions of `distinct_subsets` into those of the best and of the nested subsets."""
    lines = np.arange(1 + len(path))
    best = scores.models(lines)
    others = 1 + np.flatnonzero([path.is_better(size) for size in range(len(path))])
    if not others.size:
        return best, None
    lines[others] = 1 + len(path) + np.arange(others.size)
    return best, scores.models(lines)


def _scores(reference: Reference, rows: Rows, predictions: Predictions) -> Scores:
    """Return predictions in the user's units."""
    columns, y = reference.training.columns, to_host(reference.training.y)
    return Scores(
        rows,
        rows,
        to_host(columns.response(y[rows], 0.0)[0]),
        to_host(columns.response(predictions.mean, 0.0)[0]),
        to_host(columns.scaling.restore_log_density(predictions.log_density, y[rows])),
    )


def worst_k(draws: int) -> float:
    """Return the largest Pareto k that so many draws can be trusted with.

    >>> worst_k(100), worst_k(4000)
    (0.5, 0.7)
    """
    return min(1.0 - 1.0 / math.log10(draws), 0.7)
