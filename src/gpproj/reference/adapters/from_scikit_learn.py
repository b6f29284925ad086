"""scikit-learn's Gaussian processes as references."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpproj.inference import NUGGET, Observed, Sites, laplace
from gpproj.inference.sites import DensePrior, Given
from gpproj.kernels import Kernel
from gpproj.likelihoods import Bernoulli, Gaussian
from gpproj.linalg import Host
from gpproj.reference.conditioning import training_for
from gpproj.reference.fitting import structure_of
from gpproj.reference.moments import MomentReference, Predict, moment_reference

UNEVEN = 1e-8
"""Relative difference of noise variances that counts as none."""


def from_sklearn(
    model: Any,
    *,
    kernel: Kernel | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
) -> MomentReference:
    """Make a reference of a fitted `GaussianProcessRegressor` or `GaussianProcessClassifier`.

    What its kernel adds to the diagonal (`WhiteKernel`) and `alpha` are the noise; the rest is the
    latent function. A classifier must be one of two classes.

    Parameters
    ----------
    model : sklearn.gaussian_process estimator
        Fitted, with its training data (`copy_X_train` or not).
    kernel : Kernel, optional
        Structure of the submodels; `Constant() + SquaredExponential()` when left out.
    standardize : bool
        Scale inputs and target inside, for the sake of the submodels.
    nugget : float
        Small independent variance of the latent function.

    Returns
    -------
    MomentReference

    Examples
    --------
    >>> import gpproj
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    >>> gpr = GaussianProcessRegressor(RBF([1.0, 1.0]) + WhiteKernel(0.5), normalize_y=True)
    >>> ref = gpproj.from_sklearn(gpr.fit(X[:, 6:], y))
    >>> gpproj.project(ref, ["x1"]).inputs
    ('x1',)
    """
    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.utils.validation import check_is_fitted

    settings = {"kernel": kernel, "standardize": standardize, "nugget": nugget}
    if isinstance(model, GaussianProcessRegressor):
        check_is_fitted(model, "X_train_")
        return _regression(model, settings)
    if isinstance(model, GaussianProcessClassifier):
        check_is_fitted(model, "base_estimator_")
        return _classification(model, settings)
    raise TypeError(
        "model must be a GaussianProcessRegressor or a GaussianProcessClassifier of scikit-learn; "
        f"got {type(model).__name__}"
    )


def _regression(model: Any, settings: dict[str, Any]) -> MomentReference:
    X, z = np.asarray(model.X_train_, dtype=np.float64), np.asarray(model.y_train_)
    if z.ndim != 1:
        raise ValueError(f"model must have one target; saw {z.shape[1]}")
    scale, centre = (float(np.mean(one)) for one in (model._y_train_std, model._y_train_mean))
    alpha = np.broadcast_to(np.asarray(model.alpha, dtype=np.float64), z.shape)
    K = model.kernel_(X, X)  # of two sets of points: white noise has no part in it
    white = _white(model.kernel_, X, K)
    noise = white + alpha
    if np.ptp(noise) > UNEVEN * noise.max():
        raise ValueError(
            "model has noise that differs between rows (alpha, or a heteroscedastic kernel), which "
            "cannot be converted; gpproj.from_moments takes any latent posterior"
        )
    A = K + np.diag(noise)
    gain = np.linalg.solve(A, np.column_stack([z, K]))
    mean, cov = K @ gain[:, 0], K - K @ gain[:, 1:]

    predict = partial(_regress, model, scale**2 * float(white.mean()))
    return _reference(
        model,
        settings,
        X,
        centre + scale * z,
        Gaussian(float(noise.mean()) * scale**2),
        centre + scale * mean,
        scale**2 * cov,
        predict,
    )


def _classification(model: Any, settings: dict[str, Any]) -> MomentReference:
    if len(model.classes_) != 2:
        raise ValueError(
            f"model must have two classes; saw {len(model.classes_)}: more than two are not offered"
        )
    base = model.base_estimator_
    X, y = np.asarray(base.X_train_, dtype=np.float64), np.asarray(base.y_train_, dtype=np.float64)
    K = base.kernel_(X)
    likelihood = Bernoulli("logit")
    prior = DensePrior(K)
    found = laplace.approximate(prior, Observed(likelihood, y, np.zeros_like(y)))
    if found is None or not found.converged:
        raise ValueError("model has a covariance that cannot be factorised, or no posterior mode")
    given = found.given

    predict = partial(_classify, base, given)
    labels = np.asarray(model.classes_)[y.astype(int)]
    return _reference(
        model,
        settings,
        X,
        labels,
        likelihood,
        given.marginals.mean,
        prior.covariance(given).dense(),
        predict,
        given.sites,
    )


def _regress(model: Any, white: float, new: Any) -> tuple[Host, Host]:
    """Predict the latent function of a regression."""
    latent, sd = model.predict(new, return_std=True)
    return latent, np.maximum(sd**2 - white, 0.0)


def _classify(base: Any, given: Given, new: Any) -> tuple[Host, Host]:
    """Predict the latent function of a classification."""
    rows = np.asarray(new, dtype=np.float64)
    cross = base.kernel_(base.X_train_, rows)
    _, root = given.precision.predicting(given.coefficients)
    explained = np.sum((root @ cross) ** 2, axis=0)
    return given.coefficients @ cross, np.maximum(base.kernel_.diag(rows) - explained, 0.0)


def _reference(
    model: Any,
    settings: dict[str, Any],
    X: Host,
    y: Any,
    likelihood: Any,
    mean: Host,
    cov: Host,
    predict: Predict,
    sites: Sites | None = None,
) -> MomentReference:
    inputs: Any = X
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        inputs = pd.DataFrame(X, columns=list(model.feature_names_in_))
    return moment_reference(
        training_for(inputs, y, likelihood, settings["standardize"], None),
        structure_of(settings["kernel"]),
        likelihood,
        mean,
        cov,
        nugget=settings["nugget"],
        outside=predict,
        recipe=partial(_refitted, model, settings),
        source="from_sklearn",
        own_sites=sites,
    )


def _refitted(model: Any, settings: dict[str, Any], X: Any, y: Any) -> MomentReference:
    from sklearn.base import clone

    return from_sklearn(clone(model).fit(X, y), **settings)


def _white(kernel: Any, X: Host, K: Host) -> Host:
    """Return what the kernel adds to the diagonal of one set of points alone."""
    found: Host = kernel.diag(X) - np.diagonal(K)
    return np.where(found > UNEVEN * np.diagonal(K), found, 0.0)
