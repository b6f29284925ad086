"""Plain models, fitted from scratch to the inputs of each submodel: what one would try instead.

"process" is a Gaussian process at the mode of its hyperparameters, as `gpproj.fit` finds it, with
the likelihood of the reference. "linear" is a linear regression on standardised inputs: Bayesian
ridge regression for real targets, and for classes and counts logistic and Poisson regression, whose
coefficients have a normal prior of variance one. Neither knows the reference. Inputs that are
constant in the rows to learn from are left out, and without any input both are a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from scipy.stats import norm

from gpproj.data import Rows, TargetKind
from gpproj.data.frames import read
from gpproj.data.scaling import Scaling, moments
from gpproj.likelihoods import Bernoulli, Gaussian, Likelihood, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import Host, to_host
from gpproj.reference import GaussianProcessReference, Reference, fit
from gpproj.search import SearchPath
from gpproj.validation.scores import Scores

USUAL: dict[TargetKind, Likelihood] = {
    TargetKind.REAL: Gaussian(),
    TargetKind.BINARY: Bernoulli(),
    TargetKind.COUNT: Poisson(),
}
"""Likelihoods of plain processes where that of the reference is of another library."""

LEARNED = (Gaussian, StudentT, Bernoulli, Poisson, NegativeBinomial)
"""Likelihoods that can be learned, wherever the reference comes from."""

FAR = 1e6
"""Standard deviations from the mean beyond which linear regressions take inputs to be no farther:
squares of what they predict stay finite."""

LARGEST = 100.0
"""Logarithms of expected counts are cut here, for the same reason."""

DISPERSIONS = (-12.0, 8.0)
"""Logarithms of the least and the largest dispersion of counts."""


class PlainPredictions(NamedTuple):
    """What a plain model predicts of new rows, in the user's units."""

    mean: Host
    """Means, `(m,)`; of classes, probabilities of the second one."""
    log_density: Host
    """Log predictive densities of the targets, `(m,)`."""


class Task(NamedTuple):
    """Rows to learn from and rows to predict, with inputs that vary in the former."""

    likelihood: Likelihood
    """Of the process."""
    X: Host
    """`(n, k)`."""
    y: Host
    """`(n,)`: 0 and 1 for classes."""
    exposure: Host | None
    X_new: Host
    """`(m, k)`."""
    y_new: Host
    exposure_new: Host | None


def _process(task: Task) -> PlainPredictions:
    """Fit a Gaussian process; a constant without inputs."""
    if not task.X.shape[1]:
        return _linear(task)
    model = fit(task.X, task.y, task.likelihood, draws=1, exposure=task.exposure, check=False)
    found = model.respond(task.X_new, task.exposure_new)
    mean = to_host(found.moments().mean)
    if task.likelihood.kind.takes_exposure:
        mean = np.minimum(mean, np.exp(LARGEST))
    return PlainPredictions(mean, to_host(found.log_density(task.y_new)))


def _linear(task: Task) -> PlainPredictions:
    """Fit a linear regression; a constant without inputs."""
    kind = task.likelihood.kind
    scaling = Scaling.standard(moments(task.X), moments(task.y) if kind.is_scaled else None)
    Z, Z_new = scaling.inputs(task.X), np.clip(scaling.inputs(task.X_new), -FAR, FAR)
    if kind.has_classes:
        return _logistic(task, Z, Z_new)
    if kind.takes_exposure:
        return _log_linear(task, Z, Z_new)
    t, t_new = scaling.target(task.y), scaling.target(task.y_new)
    if Z.shape[1]:
        from sklearn.linear_model import BayesianRidge

        mean, sd = BayesianRidge().fit(Z, t).predict(Z_new, return_std=True)
    else:  # the error of the mean is a part of that of a prediction
        n = len(t)
        mean, sd = np.zeros(len(t_new)), np.sqrt((n + 1.0) / (n - 1.0)) * np.ones(len(t_new))
    density = scaling.restore_log_density(norm.logpdf(t_new, mean, sd), t_new)
    return PlainPredictions(scaling.restore_mean(mean), density)


def _logistic(task: Task, Z: Host, Z_new: Host) -> PlainPredictions:
    f = np.full(len(Z_new), logit(task.y.mean()))
    if Z.shape[1]:
        from sklearn.linear_model import LogisticRegression

        f = LogisticRegression(max_iter=1000).fit(Z, task.y).decision_function(Z_new)
    return PlainPredictions(expit(f), Bernoulli("logit").log_likelihood(task.y_new, f))


def _log_linear(task: Task, Z: Host, Z_new: Host) -> PlainPredictions:
    # In units in which the overall rate is one, exposures are the counts that it leads to. In any
    # other, the penalty and the tolerance of the optimiser would depend on the unit.
    n, m = len(Z), len(Z_new)
    exposure = np.ones(n) if task.exposure is None else task.exposure
    exposure_new = np.ones(m) if task.exposure_new is None else task.exposure_new
    rate = task.y.sum() / exposure.sum()
    expected, expected_new = rate * exposure, rate * exposure_new
    f, f_new = np.zeros(n), np.zeros(m)
    if Z.shape[1]:
        from sklearn.linear_model import PoissonRegressor

        # The loss is a mean over the weights: this penalty is that of a prior of variance one.
        model = PoissonRegressor(
            alpha=1.0 / expected.sum(), solver="newton-cholesky", max_iter=1000, tol=1e-6
        )
        model.fit(Z, task.y / expected, sample_weight=expected)
        f, f_new = (each @ model.coef_ + model.intercept_ for each in (Z, Z_new))
    f, f_new = f + np.log(expected), np.minimum(f_new + np.log(expected_new), LARGEST)
    observed: Likelihood = Poisson()
    if isinstance(task.likelihood, NegativeBinomial):
        observed = _dispersed(task.y, f)
    return PlainPredictions(np.exp(f_new), observed.log_likelihood(task.y_new, f_new))


def _dispersed(y: Host, f: Host) -> NegativeBinomial:
    """Return the dispersion that is most likely with these logarithms of expected counts."""

    def loss(log_dispersion: float) -> float:
        return -float(NegativeBinomial(float(np.exp(log_dispersion))).log_likelihood(y, f).sum())

    found = minimize_scalar(loss, bounds=DISPERSIONS, options={"xatol": 1e-3})
    return NegativeBinomial(float(np.exp(found.x)))


PLAIN: dict[str, Callable[[Task], PlainPredictions]] = {"process": _process, "linear": _linear}
"""Plain models by name."""


def check_compare(compare: Any) -> tuple[str, ...]:
    """Return the names of plain models in a fixed order, or refuse what is none.

    Parameters
    ----------
    compare : str, iterable of str or None
        None for none of them.

    Examples
    --------
    >>> check_compare(["linear", "process"])
    ('process', 'linear')
    """
    known = tuple(PLAIN)
    try:
        names = (
            (compare,) if isinstance(compare, str) else tuple(() if compare is None else compare)
        )
    except TypeError:
        raise TypeError(
            f"compare must be a list of names among {', '.join(known)}; got {compare!r}"
        ) from None
    for name in names:
        if name not in known:
            raise ValueError(f"compare must be among {', '.join(known)}; got {name!r}")
    return tuple(name for name in known if name in names)


def fitted_scores(
    names: Sequence[str],
    reference: Reference,
    path: SearchPath,
    training: Rows,
    new: Rows,
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
        Predictions of the new rows by the reference and the submodels.

    Returns
    -------
    dict of str to Scores
    """
    likelihood = _likelihood_of(reference)
    X, X_new = (to_host(read(rows.X, "X")) for rows in (training, new))
    y, y_new = to_host(training.y), to_host(new.y)
    exposure, exposure_new = (
        None if rows.exposure is None else to_host(rows.exposure) for rows in (training, new)
    )
    varying = moments(X).varying
    found: dict[str, list[PlainPredictions]] = {name: [] for name in names}
    for size in range(len(path)):
        units = path.best_subset(size).units
        positions = {*path.always, *(one for unit in units for one in unit.positions)}
        inputs = sorted(one for one in positions if varying[one])
        task = Task(likelihood, X[:, inputs], y, exposure, X_new[:, inputs], y_new, exposure_new)
        for name, predictions in found.items():
            predictions.append(PLAIN[name](task))
    return {
        name: Scores(
            *scores[:3],  # the same rows, folds and targets
            np.stack([scores.mean[0], *(one.mean for one in every)]),
            np.stack([scores.log_density[0], *(one.log_density for one in every)]),
        )
        for name, every in found.items()
    }


def _likelihood_of(reference: Reference) -> Likelihood:
    """Return the likelihood of plain processes: the reference's, if it can be learned."""
    own = reference.likelihood
    if isinstance(reference, GaussianProcessReference) or isinstance(own, LEARNED):
        return own
    return USUAL[reference.training.kind]
