"""scikit-learn's Gaussian processes as references."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpproj.inference import NUGGET, Observed, laplace
from gpproj.inference.sites import DensePrior, Given
from gpproj.kernels import Kernel
from gpproj.likelihoods import Bernoulli, Gaussian
from gpproj.linalg import Host
from gpproj.reference.adapters.common import (
    common_noise,
    latent_moments,
    white_noise,
    with_names,
)
from gpproj.reference.moment_making import moment_reference
from gpproj.reference.moments import MomentReference


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
    kernel, standardize, nugget
        Described at `gpproj.from_moments`.

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

    settings: dict[str, Any] = {"kernel": kernel, "standardize": standardize, "nugget": nugget}
    if isinstance(model, GaussianProcessRegressor):
        check_is_fitted(model, "X_train_")
        found = _regression(model)
    elif isinstance(model, GaussianProcessClassifier):
        check_is_fitted(model, "base_estimator_")
        found = _classification(model)
    else:
        raise TypeError(
            "model must be a GaussianProcessRegressor or a GaussianProcessClassifier of "
            f"scikit-learn; got {type(model).__name__}"
        )
    X = with_names(found.pop("X"), getattr(model, "feature_names_in_", None))
    return moment_reference(
        X, **found, **settings, refit=partial(_refitted, model, settings), source="from_sklearn"
    )


def _regression(model: Any) -> dict[str, Any]:
    """Return the arguments of `moment_reference` for a regression."""
    X, z = np.asarray(model.X_train_, dtype=np.float64), np.asarray(model.y_train_)
    if z.ndim != 1:
        raise ValueError(f"model must have one target; saw {z.shape[1]}")
    scale, centre = (float(np.mean(one)) for one in (model._y_train_std, model._y_train_mean))
    K = model.kernel_(X, X)  # of two sets of points: white noise has no part in it
    white = white_noise(model.kernel_.diag(X), K)
    noise = white + np.asarray(model.alpha, dtype=np.float64)
    mean, cov = latent_moments(K, noise, z)
    return {
        "X": X,
        "y": centre + scale * z,
        "likelihood": Gaussian(common_noise(noise, "model") * scale**2),
        "latent_mean": centre + scale * mean,
        "latent_cov": scale**2 * cov,
        "predict": partial(_regress, model, scale**2 * float(white.mean())),
    }


def _classification(model: Any) -> dict[str, Any]:
    """Return the arguments of `moment_reference` for a classification."""
    if len(model.classes_) != 2:
        raise ValueError(
            f"model must have two classes; saw {len(model.classes_)}: more than two are not offered"
        )
    base = model.base_estimator_
    X, y = np.asarray(base.X_train_, dtype=np.float64), np.asarray(base.y_train_, dtype=np.float64)
    likelihood, prior = Bernoulli("logit"), DensePrior(base.kernel_(X))
    found = laplace.approximate(prior, Observed(likelihood, y, np.zeros_like(y)))
    if found is None or not found.converged:
        raise ValueError("model has a covariance that cannot be factorised, or no posterior mode")
    given = found.given
    return {
        "X": X,
        "y": np.asarray(model.classes_)[y.astype(int)],
        "likelihood": likelihood,
        "latent_mean": given.marginals.mean,
        "latent_cov": given.covariance().dense(),
        "predict": partial(_classify, base, given),
        "sites": given.sites,
    }


def _regress(model: Any, white: float, new: Any) -> tuple[Host, Host]:
    """Predict the latent function of a regression."""
    latent, sd = model.predict(new, return_std=True)
    return latent, np.maximum(sd**2 - white, 0.0)


def _classify(base: Any, given: Given, new: Any) -> tuple[Host, Host]:
    """Predict the latent function of a classification."""
    rows = np.asarray(new, dtype=np.float64)
    cross = base.kernel_(base.X_train_, rows)
    _, root = given.predictor()
    explained = np.sum((root @ cross) ** 2, axis=0)
    return given.coefficients @ cross, np.maximum(base.kernel_.diag(rows) - explained, 0.0)


def _refitted(model: Any, settings: dict[str, Any], X: Any, y: Any) -> MomentReference:
    from sklearn.base import clone

    return from_sklearn(clone(model).fit(X, y), **settings)
