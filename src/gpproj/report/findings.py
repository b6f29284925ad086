"""What a report tells, asked once of the validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.data import TargetKind, raw_rows
from gpproj.dependence import effects, has_effects
from gpproj.linalg import Host, to_host
from gpproj.projection import Submodel
from gpproj.reference import Reference
from gpproj.report.markup import number, significant
from gpproj.report.statistics import SHOWN, Shown
from gpproj.validation import Validation

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Findings:
    """The tables behind a report, and the size that it is about."""

    cv: Validation
    suggested: int | None
    size: int
    """Of the submodel that is shown: the one asked for, or suggested, or with the best score."""
    panels: int
    """Inputs whose effects are shown, at most."""
    rows: int
    """Training rows that effects are averaged over, at most."""
    points: int
    """Values of each input in its effect."""

    @property
    def kind(self) -> TargetKind:
        """Of the targets."""
        return self.cv.reference.training.kind

    @property
    def shown(self) -> tuple[Shown, Shown]:
        """The statistics that are shown beside the elpd."""
        return SHOWN[self.kind]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Statistics at each size."""
        return self.cv.summary()

    @cached_property
    def reference(self) -> pd.Series[float]:
        """Statistics of the reference."""
        return self.cv.reference_summary()

    @cached_property
    def path(self) -> pd.DataFrame:
        """The search at each size."""
        return self.cv.path.summary()

    @property
    def exchanged(self) -> list[int]:
        """Sizes whose best inputs are not the first ones that entered."""
        path = self.cv.path
        return [size for size in range(len(path)) if path.is_better(size)]

    @cached_property
    def in_order(self) -> pd.DataFrame:
        """Statistics of the first inputs that entered, the best of their size or not."""
        return self.cv.along_path().summary()

    @cached_property
    def shares(self) -> pd.DataFrame | None:
        """Share of the folds that have an input by each size; None if they did not search."""
        return self.cv.ranking_proportions(cumulate=True) if self.cv.search == "inside" else None

    @cached_property
    def submodel(self) -> Submodel:
        """The submodel that is shown."""
        return self.cv.submodel(self.size)

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.cv.reference.training.d

    @property
    def predicted(self) -> int:
        """How many observations were predicted."""
        return int(np.unique(self.cv.scores.rows).size)

    @property
    def folds(self) -> int:
        """How many times rows were left out."""
        return int(np.unique(self.cv.scores.fold).size)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """What the reference and the submodel said of every row, side by side."""
        table = self.cv.pointwise
        whole = table[table["size"].isna()].reset_index(drop=True)
        own = table[(table["size"] == self.size).fillna(False)].reset_index(drop=True)
        both = whole[["observation", "fold", "y"]].copy()
        for label, part in (("reference", whole), ("submodel", own)):
            both[f"{label}_mean"] = part["mean"]
            both[f"{label}_log_density"] = part["log_density"]
        return both

    def observed(self, y: float) -> str:
        """Return a target as the user knows it: a number, a count, or the label of its class."""
        classes = self.cv.reference.classes
        if classes is not None:
            return str(classes[int(y)])
        return number(y, 0) if self.kind.takes_exposure else significant(y)

    @property
    def drawn(self) -> list[str]:
        """Inputs whose effects are shown."""
        return list(self.submodel.inputs[: self.panels])

    @cached_property
    def effects(self) -> pd.DataFrame:
        """Effects of the inputs in the submodel and in the reference: `gpproj.effects` of both."""
        import pandas as pd

        parts: dict[str, Submodel | Reference] = {"submodel": self.submodel}
        if has_effects(self.cv.reference):
            parts["reference"] = self.cv.reference
        tables = [
            effects(model, self._X, self.drawn, self.points).assign(model=label)
            for label, model in parts.items()
        ]
        return pd.concat(tables, ignore_index=True)

    def values(self, name: str) -> Host:
        """Return the values of an input in the rows that effects are averaged over."""
        training = self.cv.reference.training
        if training.named:
            named: Host = self._X[name].to_numpy()
            return named
        return to_host(self._X)[:, training.feature_names.index(name)]

    @cached_property
    def _X(self) -> Any:
        """Training rows to average over: those that `gpproj.plots.effects` takes."""
        training = self.cv.reference.training
        n = training.n
        rows = np.random.default_rng(0).choice(n, min(self.rows, n), replace=False)
        return raw_rows(training, np.sort(rows)).X


def findings_of(cv: Validation, size: int | None, panels: int, rows: int, points: int) -> Findings:
    """Settle on a size: the one asked for, else the suggested one, else the best."""
    suggested = cv.smallest_enough()
    if size is None:
        size = suggested
    elif not 0 <= size < len(cv.path):
        raise ValueError(f"size must be from 0 to {len(cv.path) - 1}, got {size}")
    if size is None:
        elpd = cv.summary("elpd")["elpd"].fillna(-np.inf)
        size = int(elpd.idxmax())
    return Findings(cv, suggested, size, panels, rows, points)
