"""Interactions: how much the joint effect of two inputs differs from the sum of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpproj.dependence.averages import Scale, averages, check_scale, has_effects
from gpproj.dependence.factors import Inputs, Move, factors_of
from gpproj.dependence.partial import Movable, movables
from gpproj.linalg import Array, Host, namespace, one_blas_thread, to_host
from gpproj.prediction import Mixture
from gpproj.projection import Submodel
from gpproj.reference import LinearPredictive, Reference
from gpproj.reference.sampling import check_count

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.1, 0.5, 0.9)
"""Of an input of many values, where the effect of another one is drawn."""

BLOCK = 4000
"""Rows that are predicted at a time."""

MOST_LINES = 5
"""Values or levels of an input that are all drawn; of a number with more, three quantiles are."""


def interactions(
    model: Reference | Submodel,
    X: Any,
    inputs: Iterable[str | int] | None = None,
    *,
    groups: Mapping[str, Inputs] | None = None,
) -> pd.DataFrame:
    """Return which pairs of inputs act together: how far their joint effect is from a sum.

    With F_j, F_k and F_jk the partial dependence of the latent function on one input and on both,
    each with mean zero over the m rows x_i of `X`,

        d_i   = F_jk(x_ij, x_ik) - F_j(x_ij) - F_k(x_ik),
        share = sum over i of d_i^2 / sum over i of (f(x_i) - mean f)^2,
        h     = [sum over i of d_i^2 / sum over i of F_jk(x_ij, x_ik)^2]^(1/2),

    the second being the H statistic of Friedman and Popescu (2008). Both are zero where the model
    is a sum of a function of one input and a function of the other. H is large, too, for pairs that
    do next to nothing; the share tells what matters for predictions. The scale is that of the link:
    what is a sum there is a product of rates, and none of probabilities.

    Parameters
    ----------
    model : Reference or Submodel
    X : frame or array
        Rows to average over, and to take the values of. The time grows with the cube of their
        number, and with the number of pairs.
    inputs : sequence of str or int, optional
        Names or positions, also names of categorical columns; all inputs of the model when left
        out.
    groups : mapping of str to inputs, optional
        As for `gpproj.effects`.

    Returns
    -------
    DataFrame
        One row for each pair, the largest share first: input, other, share, h.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    >>> ref = gpproj.fit(X, 3 * X[:, 0] * X[:, 1] + X[:, 2], draws=1)
    >>> table = gpproj.interactions(ref, X)
    >>> table.loc[0, ["input", "other"]].tolist(), bool(table.loc[1, "share"] < 0.02)
    (['x0', 'x1'], True)
    """
    import pandas as pd

    mixture, rows, found = _opened(model, X, inputs, groups)
    moves = [one.as_is(to_host(rows)) for one in found]
    pairs = list(combinations(range(len(found)), 2))
    every = [
        *moves,
        *([a.and_then(b) for a, b in zip(moves[j], moves[k], strict=True)] for j, k in pairs),
    ]
    with one_blas_thread():
        # A linear function has no interactions, and no need of averages to tell.
        linear = isinstance(mixture, LinearPredictive)
        centred = [np.zeros(len(rows)) for _ in every] if linear else _means(mixture, rows, every)
        whole = to_host(mixture._latent(rows).mean)
    variance = float(np.sum((whole - whole.mean()) ** 2))
    table = []
    for (j, k), joint in zip(pairs, centred[len(moves) :], strict=True):
        apart = float(np.sum((joint - centred[j] - centred[k]) ** 2))
        own = float(np.sum(joint**2))
        share, h = (apart / one if one > 0.0 else 0.0 for one in (variance, own))
        table.append((found[j].name, found[k].name, share, np.sqrt(h)))
    columns = ["input", "other", "share", "h"]
    sorted_table = pd.DataFrame(table, columns=columns).sort_values(
        "share", ascending=False, kind="stable"
    )
    return sorted_table.reset_index(drop=True)


def joint_effect(
    model: Reference | Submodel,
    X: Any,
    pair: tuple[str | int, str | int],
    points: int = 20,
    *,
    scale: Scale = "latent",
    groups: Mapping[str, Inputs] | None = None,
) -> pd.DataFrame:
    """Return what a model predicts as one input moves, at a few values of another one.

    Parameters
    ----------
    model, X, points, scale, groups
        As for `gpproj.effects`.
    pair : two inputs
        The one that moves along is that of more values; the other one is taken at all of its
        values if these are at most five, else at its quantiles of 10, 50 and 90 %.

    Returns
    -------
    DataFrame
        One row for each value of both: input, x, other, at, mean, lower, upper.
    """
    import pandas as pd

    check_count("points", points, 2)
    check_scale(scale)
    mixture, rows, found = _opened(model, X, pair, groups)
    if len(found) != 2:
        raise ValueError(f"pair must be two inputs, got {pair!r}")
    along, other = sorted(found, key=lambda one: -_distinct(one, rows))
    path, stops = along.path(rows, points), other.through(_stops(other, rows))
    moves = [move.and_then(stop) for stop in stops.moves for move in path.moves]
    with one_blas_thread():
        means = averages(mixture, rows, moves, scale)
    lower, upper = means.band(model.columns.kind, scale)
    return pd.DataFrame(
        {
            "input": along.name,
            "x": path.values * len(stops.values),
            "other": other.name,
            "at": [value for value in stops.values for _ in path.values],
            "mean": means.mean,
            "lower": lower,
            "upper": upper,
        }
    )


def _opened(
    model: Reference | Submodel,
    X: Any,
    inputs: Iterable[str | int] | None,
    groups: Mapping[str, Inputs] | None,
) -> tuple[Mixture, Array, list[Movable]]:
    """Return a model that can be asked, its rows, and what moves."""
    if not has_effects(model):
        raise TypeError(f"interactions need a model that can be asked at new inputs; got {model!r}")
    mixture = cast(Mixture, model)
    return mixture, mixture._read(X), movables(model, inputs, factors_of(model.columns, groups))


def _distinct(one: Movable, rows: Array) -> int:
    """Return the number of values; a categorical column has fewer than any number."""
    return 0 if one.levels else len(np.unique(to_host(rows[:, one.places[0]])))


def _stops(one: Movable, rows: Array) -> list[Any]:
    """Return the few values at which an input is taken."""
    if one.levels:
        return list(one.levels)
    own = one.centre[0] + one.unit[0] * to_host(rows[:, one.places[0]])
    distinct = np.unique(own)
    if len(distinct) <= MOST_LINES:
        return list(distinct.tolist())
    return list(np.unique(np.quantile(own, QUANTILES, method="nearest")).tolist())


def _means(model: Mixture, rows: Array, every: list[list[Move]]) -> list[Host]:
    """Return averages of the latent function after each move, less their mean in each list."""
    distinct = list(dict.fromkeys(move for moves in every for move in moves))
    place = {move: number for number, move in enumerate(distinct)}
    found = np.zeros(len(distinct))
    m, xp = int(rows.shape[0]), namespace(rows)
    step = max(1, BLOCK // m)
    for weight, predictor, _ in model._components():
        for start in range(0, len(distinct), step):
            some = distinct[start : start + step]
            mean = to_host(predictor.mean(xp.concat([move.of(rows) for move in some])))
            found[start : start + step] += weight * mean.reshape(len(some), m).mean(axis=1)
    values = [found[[place[move] for move in moves]] for moves in every]
    return [own - own.mean() for own in values]
