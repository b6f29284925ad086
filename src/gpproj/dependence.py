"""Partial dependence: what a model predicts as one input moves and the others stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from gpproj.data.frames import listed
from gpproj.linalg import Array, Host, like, namespace, one_blas_thread, to_host
from gpproj.prediction import ROWS, LatentPredictor, Mixture
from gpproj.projection import Submodel
from gpproj.reference import LinearPredictive, Reference
from gpproj.reference.sampling import check_count

if TYPE_CHECKING:
    import pandas as pd

FEW = 10
"""An input with no more distinct values than this is taken at these, not in between."""

QUANTILE = 1.959963984540054
"""Quantile of the standard normal distribution: 95 % lie between minus and plus this."""


def effects(
    model: Reference | Submodel,
    X: Any,
    inputs: Iterable[str | int] | None = None,
    points: int = 50,
) -> pd.DataFrame:
    """Return what a model predicts as one input moves, averaged over rows: partial dependence.

    With x_i the rows of `X`, the effect of the j-th input is the average of the latent function

        g_j(x) = mean over i of f(x_i with its j-th value replaced by x).

    Its posterior is that of the average, from the joint posterior of f at all rows: a band for
    this curve, narrower than those of single predictions.

    Parameters
    ----------
    model : Reference or Submodel
    X : frame or array
        Rows to average over, as for `predict`. The time grows with the square of their number.
    inputs : sequence of str or int, optional
        Names or positions; all inputs of the model when left out.
    points : int
        Values of each input, evenly from its smallest to its largest in `X`. An input with at most
        ten distinct values is taken at these.

    Returns
    -------
    DataFrame
        One row for each value of each input: input, x, mean, lower, upper, in the user's units. The
        last two are 1.96 standard deviations from the mean: a band of 95 %, of single values.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> sub = gpproj.project(ref, ["x1", "x2"])
    >>> gpproj.effects(sub, X[:, 5:], points=2)["input"].tolist()
    ['x1', 'x1', 'x2', 'x2']
    """
    import pandas as pd

    check_count("points", points, 2)
    names = model.inputs if isinstance(model, Submodel) else model.feature_names
    if not has_effects(model):
        raise TypeError(f"effects need a model that can be asked at new inputs; got {model!r}")
    rows, columns = cast(Mixture, model)._read(X), model.columns
    scaling = columns.scaling
    positions = columns.exact(names) if inputs is None else columns.positions(inputs)
    chosen = [columns.feature_names[position] for position in positions]
    if absent := [name for name in chosen if name not in names]:
        raise ValueError(f"inputs must be among {listed(names)}; saw {listed(absent)}")
    moves, labels, places = [], [], []
    for name, position in zip(chosen, positions, strict=True):
        column = names.index(name)
        centre, unit = (float(part[position]) for part in (scaling.input_mean, scaling.input_scale))
        grid = _grid(to_host(rows[:, column]), points)
        moves += [Move(column, value) for value in grid]
        labels += [name] * len(grid)
        places.append(centre + unit * grid)
    with one_blas_thread():
        mean, sd = _averages(cast(Mixture, model), rows, moves)
    mean, reach = scaling.restore_mean(mean), QUANTILE * scaling.target_scale * sd
    return pd.DataFrame(
        {
            "input": pd.Series(labels, dtype=object),
            "x": np.concatenate(places) if places else np.empty(0),
            "mean": mean,
            "lower": mean - reach,
            "upper": mean + reach,
        }
    )


def has_effects(model: Reference | Submodel) -> bool:
    """Say whether a model has effects: those of a Gaussian process elsewhere are not known."""
    return isinstance(model, Mixture)


class Move(NamedTuple):
    """One input at the same value in all rows, on the model's scale."""

    column: int
    value: float


def _grid(values: Host, points: int) -> Host:
    distinct = np.unique(values)
    if len(distinct) <= FEW:
        return distinct
    return np.linspace(distinct[0], distinct[-1], points)


@singledispatch
def _averages(model: Mixture, rows: Array, moves: list[Move]) -> tuple[Host, Host]:
    """Return mean and standard deviation of the average after each move, `(len(moves),)` each."""
    xp = namespace(rows)
    columns = xp.arange(rows.shape[1], device=rows.device)[None, :]
    weights, means, variances = [], [], []
    # Draws are conditioned one after the other, and each of them only once.
    for weight, predictor, _ in model._components():
        found = np.empty((len(moves), 2))
        for place, (column, value) in enumerate(moves):
            moved = xp.where(columns == column, like(value, rows), rows)
            found[place] = average(predictor, moved)
        weights.append(weight)
        means.append(found[:, 0])
        variances.append(found[:, 1])
    share = np.array(weights)
    mean = share @ np.array(means)
    variance = share @ (np.array(variances) + (np.array(means) - mean) ** 2)
    return mean, np.sqrt(variance)


@_averages.register(LinearPredictive)
def _linear_averages(model: LinearPredictive, rows: Array, moves: list[Move]) -> tuple[Host, Host]:
    chosen = [move.column for move in moves]
    values = np.array([move.value for move in moves])
    mean, variance = model.linear.averages(to_host(rows), chosen, values)
    return mean, np.sqrt(variance)


def average(predictor: LatentPredictor, X: Array) -> tuple[float, float]:
    """Return mean and variance of the average of the latent function over rows.

    With k(x) = k(X_train, x), m rows x_i and R = root' root:

        mean = k_ b,   variance = mean over i, j of k(x_i, x_j) + extra / m - k_' R k_,

    where k_ is the mean over i of k(x_i).
    """
    xp = namespace(X)
    m = int(X.shape[0])
    theta, mask = predictor.log_parameters[None, :], predictor.mask[None, :]
    cross: Any = 0.0
    prior: Any = 0.0
    for start in range(0, m, ROWS):
        block = X[start : min(start + ROWS, m), :]
        trained = predictor.kernel.cross(theta, predictor.X, block, mask)[0, :, :]
        cross = cross + xp.sum(trained, axis=1) / m
        prior = prior + xp.sum(predictor.kernel.cross(theta, X, block, mask)) / m**2
    explained = xp.sum((predictor.whitener @ cross) ** 2)
    variance = float(prior - explained) + predictor.extra / m
    # Rounding may leave a hair below zero where the average is known.
    return float(predictor.coefficients @ cross), max(variance, 0.0)
