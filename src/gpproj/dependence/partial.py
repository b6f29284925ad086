"""Partial dependence: what a model predicts as one input moves and the others stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from gpproj.data import Columns
from gpproj.data.frames import listed
from gpproj.dependence.averages import Scale, averages, check_scale, has_effects
from gpproj.dependence.factors import Factor, Inputs, Move, factors_of, within
from gpproj.linalg import Array, Host, one_blas_thread, to_host
from gpproj.prediction import Mixture
from gpproj.projection import Submodel
from gpproj.reference import Reference
from gpproj.reference.sampling import check_count

if TYPE_CHECKING:
    import pandas as pd

FEW = 10
"""An input with no more distinct values than this is taken at these, not in between."""


def effects(
    model: Reference | Submodel,
    X: Any,
    inputs: Iterable[str | int] | None = None,
    points: int = 50,
    *,
    scale: Scale = "latent",
    groups: Mapping[str, Inputs] | None = None,
) -> pd.DataFrame:
    """Return what a model predicts as one input moves, averaged over rows: partial dependence.

    With x_i the rows of `X`, the effect of the j-th input is the average

        g_j(x) = mean over i of f(x_i with its j-th value replaced by x)

    of the latent function f, or on the scale of the response that of the probability of the second
    class, or of the rate at an exposure of one. Its posterior is that of the average, from the
    joint posterior of f at all rows: a band for this curve, narrower than those of single
    predictions.

    Parameters
    ----------
    model : Reference or Submodel
    X : frame or array
        Rows to average over, as for `predict`. The time grows with the square of their number.
    inputs : sequence of str or int, optional
        Names or positions, also names of categorical columns; all inputs of the model when left
        out.
    points : int
        Values of each input, evenly from its smallest to its largest in `X`. An input with at most
        ten distinct values is taken at these.
    scale : {"latent", "response"}
        Of classes and counts: the scale of the link, or probabilities and rates.
    groups : mapping of str to inputs, optional
        Groups of inputs, as a search takes them. A group whose inputs are named `group=level` is a
        categorical column: it moves as a whole, from level to level.

    Returns
    -------
    DataFrame
        One row for each value of each input: input, x, mean, lower, upper, in the user's units. The
        last two are a band of 95 %, of single values: 1.96 standard deviations from the mean; of
        probabilities and rates the same on the scale of the link, to first order. Of a categorical
        column `x` is a level.

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
    check_scale(scale)
    if not has_effects(model):
        raise TypeError(f"effects need a model that can be asked at new inputs; got {model!r}")
    mixture = cast(Mixture, model)
    rows = mixture._read(X)
    paths = [
        one.path(rows, points) for one in movables(model, inputs, factors_of(model.columns, groups))
    ]
    with one_blas_thread():
        found = averages(mixture, rows, [move for path in paths for move in path.moves], scale)
    lower, upper = found.band(model.columns.kind, scale)
    return pd.DataFrame(
        {
            "input": pd.Series([one.name for one in paths for _ in one.moves], dtype=object),
            "x": values_of_paths(paths),
            "mean": found.mean,
            "lower": lower,
            "upper": upper,
        }
    )


class Path(NamedTuple):
    """Where an input, or a column, goes in turn."""

    name: str
    moves: list[Move]
    values: list[Any]
    """Numbers in the user's units, or levels."""


def values_of_paths(paths: list[Path]) -> Any:
    """Return the values of all paths: numbers, or numbers beside levels."""
    values = [value for path in paths for value in path.values]
    texts = any(isinstance(value, str) for value in values)
    return np.array(values, dtype=object if texts else float)


class Movable(NamedTuple):
    """An input or a categorical column of a model, and where it is in rows of the model."""

    name: str
    places: tuple[int, ...]
    centre: Host
    unit: Host
    factor: Factor | None

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels of a categorical column; none of numbers."""
        return () if self.factor is None else self.factor.levels

    def path(self, rows: Array, points: int) -> Path:
        """Return the moves through all of its values.

        Parameters
        ----------
        rows : array `(m, d)`
            On the model's scale.
        points : int
            At most so many values of a number.
        """
        if self.levels:
            return self.through(list(self.levels))
        own = to_host(rows[:, self.places[0]])
        grid = np.unique(own)
        if len(grid) > FEW:
            grid = np.linspace(grid[0], grid[-1], points)
        return self.through((self.centre[0] + self.unit[0] * grid).tolist())

    def through(self, values: list[Any]) -> Path:
        """Return the moves through some values: numbers in the user's units, or levels."""
        if self.factor is None:
            coded: list[tuple[float, ...]] = [(float(value),) for value in values]
        else:
            coded = [self.factor.coded(value) for value in values]
        scaled = [(np.array(one) - self.centre) / self.unit for one in coded]
        return Path(self.name, [Move(self.places, tuple(one.tolist())) for one in scaled], values)

    def as_is(self, rows: Host) -> list[Move]:
        """Return one move for each row: to what it has there."""
        return [Move(self.places, tuple(own.tolist())) for own in rows[:, list(self.places)]]


def movables(
    model: Reference | Submodel,
    inputs: Iterable[str | int] | None,
    factors: Iterable[Factor],
) -> list[Movable]:
    """Return the inputs and the categorical columns of a model that are asked for, in order."""
    names = model.inputs if isinstance(model, Submodel) else model.feature_names
    columns = model.columns
    whole = within(factors, names)
    by_name = {one.name: one for one in whole.values()}
    if inputs is None:
        asked = list(names)
    else:
        if isinstance(inputs, bytes) or not isinstance(inputs, Iterable):
            columns.positions(inputs)  # which says what is wrong
        asked = _asked(columns, [inputs] if isinstance(inputs, str) else inputs, by_name)
    asked = list(dict.fromkeys(whole[one].name if one in whole else one for one in asked))
    if absent := [one for one in asked if one not in names and one not in by_name]:
        raise ValueError(f"inputs must be among {listed(names)}; saw {listed(absent)}")
    return [_movable(columns, names, one, by_name.get(one)) for one in asked]


def _asked(
    columns: Columns, given: Iterable[str | int], by_name: Mapping[str, Factor]
) -> list[str]:
    """Return the names of columns that are known as such, and of single inputs."""
    known = list(given)
    columns.positions([one for one in known if one not in by_name])  # refuses repeats
    found: list[str] = []
    for one in known:
        if one in by_name:
            found.append(str(one))
        else:
            found += (columns.feature_names[place] for place in columns.positions([one]))
    return found


def _movable(columns: Columns, names: Sequence[str], name: str, factor: Factor | None) -> Movable:
    members = (name,) if factor is None else factor.inputs
    own = [columns.feature_names.index(one) for one in members]
    scaling = columns.scaling
    centre, unit = (to_host(part)[own] for part in (scaling.input_mean, scaling.input_scale))
    return Movable(name, tuple(names.index(one) for one in members), centre, unit, factor)
