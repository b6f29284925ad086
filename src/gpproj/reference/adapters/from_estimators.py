"""`from_estimator`: forests, boosted models, networks and pipelines as references."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import read_row_groups
from gpproj.data.targets import read_target
from gpproj.inference import NUGGET, Sparse
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood, named_likelihood
from gpproj.linalg import Host, to_host
from gpproj.reference.adapters.estimator_folds import fold_of_rows, rows_together
from gpproj.reference.moment_making import sparse_of
from gpproj.reference.moments import MomentReference, numbers_of, row_count, vector_of
from gpproj.reference.predicted import normal_of
from gpproj.reference.predictions import from_predictions
from gpproj.reference.sampling import seed_of

Trained: TypeAlias = Callable[[Any], Any]
"""A function from inputs to predictions of the target, or to these and their variances."""


def from_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    quantiles: Mapping[float, Any] | None = None,
    likelihood: Likelihood | str | None = None,
    folds: int = 5,
    row_groups: Any = None,
    kernel: Kernel | None = None,
    inference: str | Sparse = "auto",
    standardize: bool = True,
    nugget: float = NUGGET,
    random_state: int | np.random.Generator | None = 0,
) -> MomentReference:
    """Make a reference of any predictor, to find the few inputs that predict as well as all.

    The estimator is trained anew in folds, and every row predicted by one that has not seen it; see
    `gpproj.from_predictions`. Rows that are equal in all inputs are in the same fold. It is trained
    once more on all rows to predict new ones. Folds of `gpproj.validate` do all of this again
    without their rows.

    Parameters
    ----------
    estimator : scikit-learn estimator or callable
        A regressor, or a classifier of two classes with `predict_proba`; a pipeline is one too. One
        that can return standard deviations (`return_std=True`) tells its own uncertainty, which
        should include the noise; others have the mean square of their out-of-fold errors. A
        callable is given `(X, y)` and returns a function from inputs to predictions, or to
        predictions and their variances; classes it sees as 0 and 1.
    X : frame or array `(n, d)`
        Rows are given to the estimator as they are here, numbers in every column.
    y : array `(n,)`
    quantiles : mapping of float to estimator, optional
        Regressors of quantiles by their probabilities, two at least, for uncertainty that differs
        between rows.
    likelihood : str or gpproj.likelihoods object, optional
        Kind of the targets, see `gpproj.from_predictions`. When left out, `"bernoulli"` for
        classifiers and `"gaussian"` for everything else. Other estimators of classes predict
        probabilities, those of counts expected ones.
    folds : int
        Number of folds.
    row_groups : array `(n,)`, optional
        Labels of groups of rows that stay together in folds, see `Reference.with_row_groups`.
    kernel, inference, standardize, nugget
        Described at `gpproj.from_predictions`.
    random_state : int, Generator or None
        Seed of the random numbers, or a generator that one is drawn from; None takes a new one.
        Folds are made by it; estimators have seeds of their own.

    Returns
    -------
    MomentReference

    Examples
    --------
    >>> import gpproj
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0)
    >>> ref = gpproj.from_estimator(forest, X[:, 5:], y)
    >>> gpproj.forward_search(ref, 1, progress=False).order
    ('x0',)
    """
    kind = _likelihood_of(estimator, likelihood)
    if quantiles is not None and not kind.kind.is_scaled:
        raise ValueError(f"quantiles are for numbers; the likelihood is {kind!r}")
    predictor = _Predictor(estimator, quantiles, kind, seed_of(random_state), folds)
    options = {
        "kernel": kernel,
        "inference": sparse_of(inference, row_count(X)) or inference,  # folds keep to the plan
        "standardize": standardize,
        "nugget": nugget,
    }
    return _reference_of(predictor, options, X, y, row_groups)


@dataclass(frozen=True)
class _Predictor:
    """What is trained, and how; the same in all folds of a validation."""

    estimator: Any
    quantiles: Mapping[float, Any] | None
    likelihood: Likelihood
    seed: int
    folds: int
    classes: tuple[Any, ...] | None = None
    """Labels that the estimator is trained with, where targets are 0 and 1 here."""

    def train(self, X: Any, y: Host) -> Trained:
        """Return a function that predicts the target, trained on these rows."""
        return _train(self.estimator, X, self._labels(y))

    def train_quantiles(self, X: Any, y: Host) -> dict[float, Trained]:
        """Return a function for each quantile."""
        return {level: _train(one, X, y) for level, one in (self.quantiles or {}).items()}

    def _labels(self, y: Host) -> Any:
        if self.classes is None or not hasattr(self.estimator, "fit"):
            return y
        return np.asarray(self.classes)[y.astype(np.intp)]


def _reference_of(
    predictor: _Predictor, options: Mapping[str, Any], X: Any, y: Any, row_groups: Any = None
) -> MomentReference:
    kind, n = predictor.likelihood.kind, row_count(X)
    target = read_target(y, kind, n)
    targets = to_host(target.values)
    if predictor.classes is None:  # else those of all rows, whose folds have 0 and 1
        predictor = replace(predictor, classes=target.classes)
    groups = None if row_groups is None else read_row_groups(row_groups, n)
    together = rows_together(numbers_of("X", X), groups)
    strata = targets if kind.has_classes else None
    fold = fold_of_rows(together, strata, predictor.folds, predictor.seed)
    mean, variance, levels = _out_of_fold(predictor, X, targets, fold)
    final, final_quantiles = predictor.train(X, targets), predictor.train_quantiles(X, targets)
    least: float | None = None
    if levels is not None:
        deviation = normal_of(levels, n)[1]
        variance, least = deviation**2, float(deviation.min())

    def predict(rows: Any) -> tuple[Host, Any]:
        centre, spread = _answer(final(rows))
        if final_quantiles:
            answers = {level: _answer(one(rows)).mean for level, one in final_quantiles.items()}
            spread = normal_of(answers, centre.size, least)[1] ** 2
        return centre, spread

    def refit(X: Any, y: Any, row_groups: Any = None) -> MomentReference:
        return _reference_of(predictor, options, X, y, row_groups)

    reference = from_predictions(
        X,
        y,
        mean,
        variance,
        likelihood=predictor.likelihood,
        predict=predict,
        refit=refit,
        **options,
    )
    if row_groups is not None:
        reference = reference.with_row_groups(row_groups)
    return replace(reference, source="from_estimator")


def _likelihood_of(estimator: Any, likelihood: Likelihood | str | None) -> Likelihood:
    """Return the kind of an estimator's targets, or say what it lacks."""
    from sklearn.base import is_classifier

    trains = hasattr(estimator, "fit")
    if isinstance(estimator, type):
        raise TypeError(f"estimator must be an object; got the class {estimator.__name__}")
    if not trains and not callable(estimator):
        raise TypeError(f"estimator must have fit, or be a callable; got {estimator!r}")
    classifies = trains and is_classifier(estimator)
    if classifies and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"estimator must predict probabilities, and {estimator!r} has no predict_proba; "
            "sklearn.calibration.CalibratedClassifierCV adds them"
        )
    usual = "bernoulli" if classifies else "gaussian"
    found = named_likelihood(usual if likelihood is None else likelihood)
    if classifies and not found.kind.has_classes:
        raise ValueError(f"likelihood must be of classes for a classifier; got {likelihood!r}")
    return found


def _out_of_fold(
    predictor: _Predictor, X: Any, y: Host, fold: NDArray[np.intp]
) -> tuple[Host, Host | None, dict[float, Host] | None]:
    """Return means, variances and quantiles of every row by models of the other folds."""
    mean, variance = np.empty(y.size), np.full(y.size, np.nan)
    levels = {level: np.empty(y.size) for level in predictor.quantiles or ()}
    for number in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        seen, new = _rows(X, inside), _rows(X, outside)
        found = _answer(predictor.train(seen, y[inside])(new), outside.size)
        mean[outside] = found.mean
        if found.variance is not None:
            variance[outside] = found.variance
        for level, trained in predictor.train_quantiles(seen, y[inside]).items():
            levels[level][outside] = _answer(trained(new), outside.size).mean
    return mean, None if np.isnan(variance).any() else variance, levels or None


def _train(estimator: Any, X: Any, y: Any) -> Trained:
    """Return a function that predicts, of an estimator or a callable that is given data."""
    if not hasattr(estimator, "fit"):
        trained = estimator(X, y)
        if not callable(trained):
            raise TypeError(
                f"estimator must return a function that predicts; {estimator!r} gave {trained!r}"
            )
        return trained  # type: ignore[no-any-return]  # it is a function, and that is all we know
    from sklearn.base import clone, is_classifier

    model = clone(estimator).fit(X, y)
    if is_classifier(model):
        return lambda rows: np.asarray(model.predict_proba(rows))[:, 1]
    last = model.steps[-1][1] if hasattr(model, "steps") else model  # of a pipeline
    if "return_std" in inspect.signature(last.predict).parameters:
        return partial(_with_variance, model)
    predict: Trained = model.predict
    return predict


def _with_variance(model: Any, rows: Any) -> tuple[Any, Host]:
    mean, sd = model.predict(rows, return_std=True)
    return mean, np.asarray(sd) ** 2


class _Answer(NamedTuple):
    """What a trained model says of some rows."""

    mean: Host
    variance: Host | None


def _answer(answer: Any, rows: int | None = None) -> _Answer:
    mean, variance = answer if isinstance(answer, tuple) else (answer, None)
    found = [vector_of("estimator", part) for part in (mean, variance) if part is not None]
    if rows is not None and any(part.size != rows for part in found):
        raise ValueError(
            f"estimator must predict one number for each of {rows} rows; saw {found[0].size}"
        )
    return _Answer(found[0], found[1] if len(found) > 1 else None)


def _rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return some of the rows of a frame or an array, of the same kind."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "shape"):
        return values[rows]
    return [values[row] for row in rows]
