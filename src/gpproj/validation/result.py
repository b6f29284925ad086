"""`Validation`: how well the submodels predict, and how many inputs are enough."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.projection import Submodel
from gpproj.reference import Reference
from gpproj.search import SearchPath
from gpproj.validation.optimism import corrected_gains
from gpproj.validation.scores import STATISTICS, Scores, Statistic, check_stats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Search = Literal["inside", "once"]
Rule = Literal["se", "elpd"]

SMALL_LOSS = 4.0
"""A loss of elpd that is too small to matter, whatever its standard error."""


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """Predictions of unseen rows by a reference and its submodels; made by `gpproj.validate`."""

    reference: Reference
    path: SearchPath
    """Of all rows: what `cv.submodel` takes submodels from."""
    method: str
    """"loo" or "kfold"."""
    search: Search
    """Whether the search was repeated without the rows that are predicted."""
    scores: Scores
    orders: tuple[tuple[str, ...], ...]
    """The order that every fold has found; the path's own if the search was not repeated."""
    k_hat: Host | None = None
    """Pareto k of every row, where draws were weighted anew."""
    refitted: tuple[int, ...] = ()
    """Rows that were left out by refits, because their k was too large."""
    chosen: tuple[int | None, ...] = ()
    """The size that a validation inside every fold suggests; empty if there was none."""
    along: Scores | None = None
    """Predictions along the path, where the best sets of some sizes are others; `scores` are of the
    best sets."""

    def along_path(self) -> Validation:
        """Return the same of the nested submodels, `path[k]` in the place of `path.best(k)`."""
        return replace(self, path=self.path.nested, scores=self.along or self.scores, along=None)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the answer, in plain words; nothing as a rule."""
        return (*self._own_problems, *self.path.problems)

    @property
    def _own_problems(self) -> tuple[str, ...]:
        difference, se = self._elpd.difference[1:], self._elpd.difference_se[1:]
        if difference[0] > 0:
            least = (
                "submodel on the inputs that are always in" if self.path.always else "null model"
            )
            return (
                f"the {least} predicts better than the reference (elpd difference "
                f"{difference[0]:.1f}): the inputs explain nothing more that generalises, or the "
                "reference overfits",
            )
        if self.search == "once" and np.any(difference > se):
            return (
                "some submodels seem to predict better than the reference: a sign that the search "
                'has overfitted; validate it too, with search="inside"',
            )
        return ()

    def answer(self) -> str:
        """Return the answer in one sentence."""
        said, inputs = self.verdict()
        sentences = [f"{said}: {', '.join(inputs)}." if inputs else f"{said}."]
        sentences += [f"Note: {problem}." for problem in self.path.problems]
        return " ".join(sentences)

    def verdict(self) -> tuple[str, tuple[str, ...]]:
        """Return the answer in two parts: what is said of the inputs, and their names."""
        d, size, steps = self.reference.training.d, self.smallest_enough(), len(self.path) - 1
        everything = f"all {d} inputs" if d > 1 else "the only input"
        if size is None:
            tried = f"of up to {_counted(steps)}" if steps else "without further inputs"
            return f"No submodel {tried} predicts as well as {everything}", ()
        inputs = self.path.best(size).inputs
        several = len(inputs) > 1
        if not inputs and self._elpd.difference[1] > 0.0:
            return f"No input helps: the null model predicts better than {everything}", ()
        if not inputs:
            return f"No input is needed: the null model predicts as well as {everything}", ()
        if size == 0:
            stay = "inputs that are always in are" if several else "input that is always in is"
            return f"The {stay} enough, {len(inputs)} of {d}", inputs
        if len(inputs) == d:
            needed = f"All {d} inputs are" if several else "The only input is"
            return f"{needed} needed", inputs
        verb = "predict" if several else "predicts"
        return f"{len(inputs)} of {d} inputs {verb} as well as all", inputs

    @property
    def pointwise(self) -> pd.DataFrame:
        """Every prediction: observation, fold, size, y, mean, log_density.

        The reference's rows have no size.
        """
        import pandas as pd

        models, m = self.scores.mean.shape
        sizes = pd.array([None, *range(models - 1)], dtype="Int64")
        return pd.DataFrame(
            {
                "size": sizes.repeat(m),
                "observation": np.tile(self.scores.rows, models),
                "fold": np.tile(self.scores.fold, models),
                "y": np.tile(self.scores.y, models),
                "mean": self.scores.mean.ravel(),
                "log_density": self.scores.log_density.ravel(),
            }
        )

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of all statistics that suit the targets."""
        return tuple(STATISTICS[self.reference.training.kind])

    def summary(self, stats: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return one row for each size.

        Parameters
        ----------
        stats : sequence of str, optional
            For all targets "elpd" and "mlpd", sum and mean of log predictive densities. For real
            targets and counts "rmse", root mean squared error, and "r2", explained variance. For
            classes "accuracy", "auc", area under the ROC curve, and "brier", mean squared error of
            the probability. For classes and counts "deviance", mean unit deviance. When left out:
            elpd, rmse and r2 of real targets; elpd, mlpd, accuracy and auc of classes; elpd, mlpd,
            rmse and deviance of counts.

        Returns
        -------
        DataFrame
            Indexed by size: the input added; `agreement`, the share of folds that have it among
            their first inputs at that size; the inputs of the best submodel of the size; and for
            each statistic of that one its value, standard error, difference to the reference and
            the standard error of that difference. `path_elpd_diff` is the difference of the nested
            submodel; `along_path()` has its other statistics.
        """
        import pandas as pd

        names = check_stats(stats, self.reference.training.kind)
        table: dict[str, object] = {"input": ["", *self.path.order]}
        table["agreement"] = [np.nan, *self._agreement()]
        sizes = range(len(self.path))
        table["best_inputs"] = [", ".join(self.path.best_inputs(size)) for size in sizes]
        for name in names:
            found = self._statistic(name)
            for label, column in zip(("", "_se", "_diff", "_diff_se"), found, strict=True):
                table[name + label] = column[1:]
        if self.along is not None:
            table["path_elpd_diff"] = self.along_path()._elpd.difference[1:]
        return pd.DataFrame(table, index=pd.RangeIndex(len(self.path), name="size"))

    def reference_summary(self, stats: str | Sequence[str] | None = None) -> pd.Series[float]:
        """Return the statistics of the reference, and their standard errors."""
        import pandas as pd

        table: dict[str, float] = {}
        for name in check_stats(stats, self.reference.training.kind):
            found = self._statistic(name)
            table |= {name: found.value[0], f"{name}_se": found.se[0]}
        return pd.Series(table, name="reference")

    def corrected(self) -> pd.DataFrame:
        """Return the elpd less what choosing among many inputs explains; a heuristic.

        Only for `search="once"`. It takes the inputs for chosen by elpd, while they were chosen by
        their divergence from the reference, which overfits less: the correction may be too large.

        Returns
        -------
        DataFrame
            Indexed by size: elpd, corrected_elpd and its difference to the reference's.
        """
        import pandas as pd

        if self.search != "once":
            raise ValueError('the correction is for search="once"; the search was validated too')
        value = self._elpd.value
        corrected = value[1] + np.append(0.0, np.cumsum(self._corrected_gains))
        return pd.DataFrame(
            {
                "elpd": value[1:],
                "corrected_elpd": corrected,
                "corrected_elpd_diff": corrected - value[0],
            },
            index=pd.RangeIndex(len(self.path), name="size"),
        )

    def suggest_size(self, rule: Rule = "se", *, corrected: bool = False) -> int | None:
        """Return the smallest size that is enough.

        Parameters
        ----------
        rule : {"se", "elpd"}
            The elpd is within one standard error (of the difference) of the reference's, or within
            4 of it: a difference that is too small to matter.
        corrected : bool
            Use the corrected elpd, see `corrected`.

        Returns
        -------
        int or None
            None, with a warning, if no size is enough.
        """
        size = self.smallest_enough(rule, corrected=corrected)
        if size is None:
            warnings.warn(
                f"no submodel of up to {len(self.path) - 1} inputs predicts as well as the "
                "reference; search further, or take the size where the curve is flat",
                UserWarning,
                stacklevel=2,
            )
        return size

    def smallest_enough(self, rule: Rule = "se", *, corrected: bool = False) -> int | None:
        """Return what `suggest_size` does, without a warning."""
        if rule not in ("se", "elpd"):
            raise ValueError(f'rule must be "se" or "elpd", got {rule!r}')
        lost = -self._elpd.difference[1:]
        if corrected:
            lost = -self.corrected()["corrected_elpd_diff"].to_numpy()
        allowed = self._elpd.difference_se[1:] if rule == "se" else SMALL_LOSS
        enough = np.flatnonzero(lost <= allowed)
        return int(enough[0]) if enough.size else None

    def submodel(self, size: int | None = None) -> Submodel:
        """Return a submodel of all rows, of the suggested size when none is given."""
        if size is None:
            size = self.suggest_size()
        if size is None:
            raise ValueError("no size is suggested: give one")
        return self.path.best(size)

    def ranking_proportions(self, cumulate: bool = False) -> pd.DataFrame:
        """Return how often each input entered at each size, over the folds.

        Parameters
        ----------
        cumulate : bool
            Count inputs that entered at that size or before.

        Returns
        -------
        DataFrame
            Sizes by inputs, those of the path of all rows first.
        """
        import pandas as pd

        if self.search != "inside":
            raise ValueError('ranking proportions need the search in every fold: search="inside"')
        found = (name for order in self.orders for name in order)
        names = list(dict.fromkeys([*self.path.order, *found]))
        steps = len(self.path.units)
        table = pd.DataFrame(0.0, index=pd.RangeIndex(1, steps + 1, name="size"), columns=names)
        for order in self.orders:
            for place, name in enumerate(order, start=1):
                table.loc[place, name] += 1.0 / len(self.orders)
        return table.cumsum() if cumulate else table

    def nested_summary(self, stats: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return the statistics of the whole procedure: search, and choice of the size.

        Needs `validate(..., nested=True)`: in every fold the submodel has the size that a
        validation of that fold alone suggests.

        Returns
        -------
        DataFrame
            One row, "chosen": the statistics as in `summary`, and the mean size.
        """
        import pandas as pd

        if not self.chosen:
            raise ValueError("nothing was nested: validate with nested=True")
        full = len(self.path) - 1
        sizes = np.array([full if size is None else size for size in self.chosen])
        own = 1 + sizes[self._place_of_fold]
        columns = np.arange(self.scores.rows.size)
        both = [self.scores.mean, self.scores.log_density]
        mean, density = (np.stack([table[0], table[own, columns]]) for table in both)
        scores = self.scores._replace(mean=mean, log_density=density).averaged()
        table: dict[str, float] = {"size": float(sizes.mean())}
        training = self.reference.training
        for name in check_stats(stats, training.kind):
            found = STATISTICS[training.kind][name](scores, training.n)
            for label, column in zip(("", "_se", "_diff", "_diff_se"), found, strict=True):
                table[name + label] = float(column[1])
        return pd.DataFrame(table, index=["chosen"])

    def plot(self, stat: str = "elpd", ax: Axes | None = None) -> Axes:
        """Draw a statistic against the size; see `gpproj.plots.score_curve`."""
        from gpproj.plots import score_curve

        return score_curve(self, stat, ax=ax)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io import save

        save(self, folder, overwrite=overwrite)

    @cached_property
    def _observed(self) -> Scores:
        return self.scores.averaged()

    def _statistic(self, name: str) -> Statistic:
        training = self.reference.training
        return STATISTICS[training.kind][name](self._observed, training.n)

    @cached_property
    def _elpd(self) -> Statistic:
        return self._statistic("elpd")

    @property
    def _corrected_gains(self) -> Host:
        density, n = self._observed.log_density[1:], self.reference.training.n
        gains = np.diff(density, axis=0)
        m = density.shape[1]
        errors = n * np.std(gains, axis=1, ddof=1) / np.sqrt(m)
        tried = Counter(one.step for one in self.path.tried)
        # Of an order that was given there is no record: it was not chosen.
        candidates = np.array([tried.get(step, 1) for step in range(1, len(gains) + 1)])
        return corrected_gains(n * gains.mean(axis=1), errors, candidates)

    def _agreement(self) -> list[float]:
        return [
            float(np.mean([name in order[:size] for order in self.orders]))
            for size, name in enumerate(self.path.order, start=1)
        ]

    @property
    def _place_of_fold(self) -> NDArray[np.intp]:
        found: NDArray[np.intp] = np.searchsorted(np.unique(self.scores.fold), self.scores.fold)
        return found

    def __repr__(self) -> str:
        """Name the method and the suggested size."""
        size = self.smallest_enough()
        enough = "no size is enough" if size is None else f"suggested size={size}"
        return f"Validation({self.method}, search {self.search}; {enough})"


def _counted(steps: int) -> str:
    return f"{steps} input" if steps == 1 else f"{steps} inputs"
