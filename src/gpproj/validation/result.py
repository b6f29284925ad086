"""`Validation`: how well the submodels predict, and how many inputs are enough."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from gpproj.linalg import Host
from gpproj.notebook import card
from gpproj.projection import Submodel
from gpproj.reference import Reference
from gpproj.search import SearchPath
from gpproj.validation.answer import trade_off, verdict
from gpproj.validation.doubts import (
    better_submodel,
    few_rows,
    overfitting,
    overpromising,
    uneven_folds,
)
from gpproj.validation.scores import STATISTICS, Scores, Statistic, elpd, statistics_table
from gpproj.validation.sizes import SMALL_LOSS, USUAL_MARGIN, Margin, Sizes, assess

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Search = Literal["inside", "once"]
Rule = Literal["margin", "se", "elpd"]


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """Predictions of unseen rows by a reference and its submodels; made by `gpproj.validate`."""

    reference: Reference
    path: SearchPath
    """The path of all rows, from which `cv.submodel` takes submodels."""
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
    """Predictions of the submodels along the path, where some are not the best ones of their sizes,
    which `scores` are of."""
    margin: Margin = USUAL_MARGIN
    """The largest loss that would not matter; `with_margin` changes it."""
    compared: Mapping[str, Scores] = field(default_factory=dict)
    """Predictions of plain models fitted to the inputs of the best submodels, by their names; their
    first line is the reference too. `comparison` has them in a table."""

    def along_path(self) -> Validation:
        """Return the validation of the nested submodels, `path[k]` in place of `path.best(k)`.

        Plain models were fitted to the inputs of the best submodels: where these are others,
        nothing is left of the comparison.
        """
        nested = replace(self, path=self.path.nested, along=None)
        if self.along is None:
            return nested
        return replace(nested, scores=self.along, compared={})

    def with_margin(self, value: float, unit: str = "gain") -> Validation:
        """Return the same validation with another largest loss that would not matter.

        Parameters
        ----------
        value : float
        unit : str
            "gain", a share of what the reference gains over the null model in elpd, or the name of
            a statistic: `cv.with_margin(4, "elpd")`, `cv.with_margin(0.1, "rmse")`. Sizes that were
            chosen in every fold went by the former margin, and are dropped.
        """
        margin = Margin(value, unit).check(self.reference.training.kind)
        return replace(self, margin=margin, chosen=())

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about what is wrong with the answer; usually there are none.

        A submodel that is better than the reference comes first, then what the reference's own
        `check()` has found, then the search and its path.
        """
        own = (*self.better_submodel, *self.reference.check().problems)
        own += self._reference_doubts
        return (*own, *uneven_folds(self), *self.path.problems)

    @property
    def better_submodel(self) -> tuple[str, ...]:
        """A sentence, if a submodel predicts clearly better than the reference."""
        return better_submodel(self, self._elpd)

    @property
    def _reference_doubts(self) -> tuple[str, ...]:
        """What makes the reference or the search doubtful, where no submodel is clearly better."""
        if self.better_submodel:
            return ()
        return overfitting(self, self._elpd) or overpromising(self)

    def answer(self) -> str:
        """Return the answer in one sentence, and what is wrong with the models behind it."""
        sentence, inputs = self.verdict()
        sentences = [f"Look first: {problem}." for problem in self.better_submodel]
        sentences.append(f"{sentence}: {', '.join(inputs)}." if inputs else f"{sentence}.")
        doubts = self._reference_doubts if self.sizes.gains else ()  # else the answer says it
        doubts += (*uneven_folds(self), *few_rows(self))
        noted = (*self.reference.check().problems, *doubts, *self.path.problems)
        sentences += [f"Note: {problem}." for problem in noted]
        return " ".join(sentences)

    def verdict(self) -> tuple[str, tuple[str, ...]]:
        """Return the answer in two parts: a statement about inputs, and their names."""
        return verdict(self, self._elpd)

    def trade_off(self) -> str:
        """Return in a sentence what a few sizes keep of what can be predicted."""
        return trade_off(self)

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
            their first inputs at that size; the inputs of the best submodel of the size; `verdict`,
            whether they are "enough", "not enough", or that one or the other was "not shown";
            `kept`, the share of the reference's gain in elpd over the null model that the submodel
            has too, its bounds of two standard errors, and the share that the reference expects
            it to keep; and for each statistic its value, standard error, difference to the
            reference and the standard error of that difference. `path_elpd_diff` is the difference
            of the nested submodel; `along_path()` has its other statistics.
        """
        import pandas as pd

        columns = self._columns(self.averaged, stats)
        table: dict[str, object] = {"input": ["", *self.path.order]}
        table["agreement"] = [np.nan, *self._agreement()]
        sizes = range(len(self.path))
        table["best_inputs"] = [", ".join(self.path.best_inputs(size)) for size in sizes]
        found = self.sizes
        table["verdict"] = found.verdict
        table |= {
            "kept": found.kept,
            "kept_low": found.kept_low,
            "kept_high": found.kept_high,
            "expected_kept": found.expected_kept,
        }
        table |= {name: column[1:] for name, column in columns.items()}
        if self.along is not None:
            table["path_elpd_diff"] = self.along_path()._elpd.difference[1:]
        return pd.DataFrame(table, index=pd.RangeIndex(len(self.path), name="size"))

    def reference_summary(self, stats: str | Sequence[str] | None = None) -> pd.Series[float]:
        """Return the statistics of the reference, and their standard errors."""
        import pandas as pd

        columns = self._columns(self.averaged, stats)
        own = {name: column[0] for name, column in columns.items() if "_diff" not in name}
        return pd.Series(own, name="reference")

    def comparison(
        self,
        stats: str | Sequence[str] | None = None,
        to: Literal["reference", "submodel"] = "reference",
    ) -> pd.DataFrame:
        """Return what plain models reach on the same inputs, beside the submodels of each size.

        Needs `validate(..., compare=["process", "linear"])`: every fold fits them from scratch to
        the inputs of its own best submodels, and predicts the same rows. Without inputs both are a
        constant.

        Parameters
        ----------
        stats : str or sequence of str, optional
            As for `summary`.
        to : {"reference", "submodel"}
            What differences are taken to: the reference, or the submodel of the same size. A
            positive `elpd_diff` to the submodel says that the plain model predicts better.

        Returns
        -------
        DataFrame
            One row for each size and model: `size`; `model`, "submodel", "process" or "linear";
            and for each statistic its value, `_se`, the standard error, `_diff`, the difference,
            and `_diff_se`, the standard error of that difference.
        """
        import pandas as pd

        if not self.compared:
            raise ValueError(
                'nothing was compared: validate with compare=["process", "linear"]; along_path '
                "keeps it only where the best submodels are the nested ones"
            )
        if to not in ("reference", "submodel"):
            raise ValueError(f'to must be "reference" or "submodel", got {to!r}')
        models = {"submodel": self.averaged}
        models |= {name: scores.averaged() for name, scores in self.compared.items()}
        tables = []
        for size in range(len(self.path)):
            lines = [(one, 1 + size) for one in models.values()]
            lines.insert(0, (self.averaged, 0) if to == "reference" else lines[0])
            scores = Scores(
                *self.averaged[:3],
                np.stack([one.mean[line] for one, line in lines]),
                np.stack([one.log_density[line] for one, line in lines]),
            )
            columns = self._columns(scores, stats)
            own = {name: column[1:] for name, column in columns.items()}
            tables.append(pd.DataFrame({"size": size, "model": list(models), **own}))
        return pd.concat(tables, ignore_index=True)

    def suggest_size(self, rule: Rule = "margin") -> int | None:
        """Return the smallest size that is enough.

        Parameters
        ----------
        rule : {"margin", "se", "elpd"}
            What is enough. "margin": the size and all larger ones are shown to lose less than the
            margin, 5 % of what the reference gains over the null model unless `with_margin` says
            otherwise, and 0 where no such gain is shown. "se": the elpd is within one standard
            error (of the difference) of the reference's. "elpd": it is within 4 of it.

        Returns
        -------
        int or None
            None, with a warning, if no size is enough.
        """
        size = self.smallest_enough(rule)
        if size is None:
            warnings.warn(
                f"no submodel of up to {len(self.path) - 1} inputs is shown to be enough: the "
                "column verdict of the summary tells those that are too small from those that "
                "could not be told; search further, or choose a size from what it keeps",
                UserWarning,
                stacklevel=2,
            )
        return size

    def smallest_enough(self, rule: Rule = "margin") -> int | None:
        """Return what `suggest_size` does, without a warning."""
        if rule not in ("margin", "se", "elpd"):
            raise ValueError(f'rule must be "margin", "se" or "elpd", got {rule!r}')
        if rule == "margin":
            return self.sizes.smallest
        lost = -self._elpd.difference[1:]
        allowed = self._elpd.difference_se[1:] if rule == "se" else SMALL_LOSS
        enough = np.flatnonzero(lost <= allowed)
        return int(enough[0]) if enough.size else None

    @property
    def size_in_question(self) -> int:
        """The suggested size; if there is none, the smallest that may be enough, or the largest."""
        found = (self.smallest_enough(), self.sizes.smallest_possible, len(self.path) - 1)
        return next(size for size in found if size is not None)

    @cached_property
    def sizes(self) -> Sizes:
        """What is known of every size: see `gpproj.validation.sizes`."""
        kind = self.reference.training.kind
        return assess(self.averaged, self._n, kind, self.margin)

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
        _, fold = np.unique(self.scores.fold, return_inverse=True)
        chosen, rows = 1 + sizes[fold], np.arange(fold.size)
        both = [self.scores.mean, self.scores.log_density]
        mean, density = (np.stack([table[0], table[chosen, rows]]) for table in both)
        scores = self.scores._replace(mean=mean, log_density=density).averaged()
        columns = self._columns(scores, stats)
        table = {"size": sizes.mean(), **{name: column[1] for name, column in columns.items()}}
        return pd.DataFrame(table, index=["chosen"])

    def plot(self, stat: str = "elpd", ax: Axes | None = None) -> Axes:
        """Draw a statistic against the size; see `gpproj.plots.score_curve`.

        "kept" is the share of what can be predicted, see `gpproj.plots.trade_off`.
        """
        from gpproj.plots import score_curve, trade_off

        return trade_off(self, ax) if stat == "kept" else score_curve(self, stat, ax=ax)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io.saving import save

        save(self, folder, overwrite=overwrite)

    @cached_property
    def averaged(self) -> Scores:
        """One prediction for each observation."""
        return self.scores.averaged()

    @property
    def _n(self) -> int:
        return self.reference.training.n

    def _columns(self, scores: Scores, stats: str | Sequence[str] | None) -> dict[str, Host]:
        return statistics_table(scores, self._n, self.reference.training.kind, stats)

    @cached_property
    def _elpd(self) -> Statistic:
        return elpd(self.averaged, self._n)

    def _agreement(self) -> list[float]:
        return [
            float(np.mean([name in order[:size] for order in self.orders]))
            for size, name in enumerate(self.path.order, start=1)
        ]

    def _repr_html_(self) -> str:
        """Show the answer and what each size keeps, in a notebook."""
        sizes, elpd = self.sizes, self._elpd
        rows = [
            (
                size,
                ", ".join(self.path.best_inputs(size)),
                sizes.verdict[size],
                float(sizes.kept[size]),
                f"{elpd.difference[1 + size]:.1f} ± {elpd.difference_se[1 + size]:.1f}",
            )
            for size in range(len(self.path))
        ]
        facts = {"method": self.method, "search": self.search, "suggested": self.smallest_enough()}
        columns = ("size", "best set", "verdict", "kept", "elpd difference")
        return card(type(self).__name__, facts, columns, rows, [self.answer()])

    def __repr__(self) -> str:
        """Name the method and the suggested size."""
        size = self.smallest_enough()
        enough = "no size is enough" if size is None else f"suggested size={size}"
        return f"Validation({self.method}, search {self.search}; {enough})"
