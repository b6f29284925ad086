"""Log densities of left-out rows by models that a reference should be better than.

They are a model without inputs and, for real targets, a ridge regression. Rows that leave the
reference together leave them together too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.likelihoods import Likelihood, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import Host, to_host

PENALTIES = np.logspace(-4.0, 4.0, 33)
"""Of the ridge regression, relative to the number of rows."""

ITERATIONS = 50
"""Of the fit of a t distribution, each a weighted least-squares step."""


def baselines(
    training: TrainingSet, y: Host, likelihood: Likelihood, together: NDArray[np.intp] | None
) -> dict[str, Host]:
    """Return log densities of the targets by the name of the model, `(n,)` each.

    Parameters
    ----------
    training : TrainingSet
    y : array `(n,)`
        Targets in the user's units, classes as 0 and 1.
    likelihood : Likelihood
        Of the reference: errors of real targets have a distribution of the same kind.
    together : int array `(n,)` or None
        Labels of rows that leave together; None if each leaves by itself.
    """
    label = np.arange(y.size) if together is None else np.unique(together, return_inverse=True)[1]
    if training.kind.has_classes:
        left = _others(np.ones_like(y), label)
        share = (_others(y, label) + 0.5) / (left + 1.0)  # half a row of each class
        return {"null": np.log(np.where(y == 1.0, share, 1.0 - share))}
    if training.kind.takes_exposure:
        offset = np.zeros_like(y) if training.offset is None else to_host(training.offset)
        return {"null": _counts(y, np.exp(offset), label)}
    mean = _others(y, label) / _others(np.ones_like(y), label)
    errors = {"null": y - mean, "ridge": ridge_errors(to_host(training.X), y, label)}
    return {name: error_density(one, likelihood, label) for name, one in errors.items()}


def _others(values: Host, label: NDArray[np.intp]) -> Host:
    """Return the sums over the rows that stay while a row is left out, `(n,)`."""
    found: Host = values.sum() - np.bincount(label, values)[label]
    return found


def _counts(y: Host, exposure: Host, label: NDArray[np.intp]) -> Host:
    """Return log probabilities of counts by their common rate, with the dispersion they have.

    With the rates r of the left-out rows, `var y = r + a r^2`.
    """
    rate = exposure * (_others(y, label) + 0.5) / _others(exposure, label)
    dispersion = float(np.sum((y - rate) ** 2 - rate) / np.sum(rate**2))
    model = NegativeBinomial(dispersion) if dispersion > 0.0 else Poisson()
    return model.log_likelihood(y, np.log(rate))


def ridge_errors(X: Host, y: Host, label: NDArray[np.intp]) -> Host:
    """Return errors of rows that were left out of a ridge regression, `(n,)`.

    With the hat matrix H at a penalty and the residuals r, the errors of rows g that leave together
    are `(I - H_gg)^-1 r_g`. The penalty is that of the smallest squares.
    """
    n = y.size
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    projected = U.T @ (y - y.mean())
    best: Host = y - y.mean()
    least = np.inf
    for penalty in n * PENALTIES:
        shrunk = s**2 / (s**2 + penalty)
        residual = y - y.mean() - U @ (shrunk * projected)
        if len(groups) == n:
            hat = np.sum(U**2 * shrunk, axis=1) + 1.0 / n
            left = residual / np.maximum(1.0 - hat, 1e-12)
        else:
            left = np.empty(n)
            for rows in groups:
                kept = np.eye(rows.size) - (U[rows] * shrunk) @ U[rows].T - 1.0 / n
                left[rows] = np.linalg.lstsq(kept, residual[rows], rcond=None)[0]
        squares = float(np.sum(left**2))
        if squares < least:
            best, least = left, squares
    return best


def error_density(errors: Host, likelihood: Likelihood, label: NDArray[np.intp]) -> Host:
    """Return log densities of errors with mean zero and the spread that the others have, `(n,)`.

    For the t distribution the spread is that of all rows, a maximum of the likelihood found by its
    weights: a single row hardly moves it.
    """
    tiny = np.finfo(np.float64).tiny
    if isinstance(likelihood, StudentT):
        scale = max(float(np.mean(errors**2)), tiny)
        degrees = likelihood.degrees
        for _ in range(ITERATIONS):
            weight = (degrees + 1.0) / (degrees + errors**2 / scale)
            scale = max(float(np.mean(weight * errors**2)), tiny)
        return StudentT(scale, degrees).log_likelihood(errors, np.zeros_like(errors))
    variance = _others(errors**2, label) / _others(np.ones_like(errors), label)
    variance = np.maximum(variance, tiny)
    found: Host = -0.5 * (errors**2 / variance + np.log(2.0 * np.pi * variance))
    return found
