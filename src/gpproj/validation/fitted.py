"""Plain models, fitted from scratch to the inputs of each submodel: what a user would try instead.

"process" is a Gaussian process at the mode of its hyperparameters, "linear" a linear regression:
Bayesian ridge regression for real targets, logistic regression for classes, Poisson regression for
counts. Inputs are standardised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpproj.data import TargetKind
from gpproj.data import Rows as RawRows
from gpproj.linalg import Host, to_host
from gpproj.reference import fit
from gpproj.reference.base import Reference
from gpproj.search import SearchPath
from gpproj.validation.scores import Scores


class _Task(NamedTuple):
    """Rows to learn from and rows to predict, with the inputs of one size."""

    kind: TargetKind
    likelihood: Any
    X: Host
    y: Host
    exposure: Host | None
    X_new: Host
    y_new: Host
    exposure_new: Host | None


def _process(task: _Task) -> tuple[Host, Host]:
    given = {} if task.exposure is None else {"exposure": task.exposure}
    new = {} if task.exposure_new is None else {"exposure": task.exposure_new}
    model = fit(task.X, task.y, task.likelihood, draws=1, check=False, **given)
    found = model.respond(task.X_new, **new)
    return to_host(found.moments().mean), to_host(found.log_density(task.y_new))


def _linear(task: _Task) -> tuple[Host, Host]:
    from scipy.stats import norm, poisson
    from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, X_new = task.X, task.X_new
    if task.kind.has_classes:
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        share = classifier.fit(X, task.y).predict_proba(X_new)[:, 1]
        return share, np.log(np.where(task.y_new == 1.0, share, 1.0 - share))
    if task.kind.takes_exposure:
        per = np.ones(len(task.y)) if task.exposure is None else task.exposure
        per_new = np.ones(len(task.y_new)) if task.exposure_new is None else task.exposure_new
        counting = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-4, max_iter=1000))
        counting.fit(X, task.y / per, poissonregressor__sample_weight=per)
        rate = counting.predict(X_new) * per_new
        return rate, poisson.logpmf(task.y_new, rate)
    ridge = make_pipeline(StandardScaler(), BayesianRidge())
    mean, sd = ridge.fit(X, task.y).predict(X_new, return_std=True)
    return mean, norm.logpdf(task.y_new, mean, sd)


PLAIN: dict[str, Callable[[_Task], tuple[Host, Host]]] = {"process": _process, "linear": _linear}


def fitted_scores(
    names: Sequence[str],
    reference: Reference,
    path: SearchPath,
    training: RawRows,
    new: RawRows,
    scores: Scores,
) -> dict[str, Scores]:
    """Return the predictions of plain models on the best inputs of every size, reference first.

    Parameters
    ----------
    names : sequence of str
        Among `PLAIN`.
    reference : Reference
        That of the fold.
    path : SearchPath
        Likewise.
    training, new : Rows
        Rows to learn from, and to predict.
    scores : Scores
        Predictions of the reference and the submodels of the new rows.
    """
    kind, likelihood = reference.training.kind, _likelihood_of(reference)
    X, X_new = (to_host(getattr(rows.X, "to_numpy", lambda rows=rows: rows.X)()) for rows in (training, new))
    found: dict[str, Scores] = {}
    for name in names:
        means, densities = [scores.mean[0]], [scores.log_density[0]]
        for size in range(len(path)):
            inputs = [
                *path.always,
                *(one for unit in path.best_subset(size).units for one in unit.positions),
            ]
            # Without inputs a linear regression on a constant is the plain model of either kind.
            columns = (X[:, inputs], X_new[:, inputs])
            if not inputs:
                columns = (np.zeros((len(X), 1)), np.zeros((len(X_new), 1)))
            task = _Task(
                kind,
                likelihood,
                columns[0],
                to_host(training.y),
                training.exposure,
                columns[1],
                to_host(new.y),
                new.exposure,
            )
            model = PLAIN[name] if inputs else _linear
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of models that are only compared with
                mean, density = model(task)
            means.append(mean)
            densities.append(density)
        found[name] = scores._replace(
            mean=np.stack(means), log_density=np.stack(densities), divergence=None
        )
    return found


def _likelihood_of(reference: Reference) -> Any:
    """Return the likelihood that a plain process is fitted with: the reference's where it has one."""
    own = getattr(reference, "likelihood", None)
    if own is not None:
        return own
    kind = reference.training.kind
    return {"real": "gaussian", "binary": "bernoulli", "count": "poisson"}[kind]
