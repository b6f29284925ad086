"""The tables and numbers behind a report, each taken from the validation once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.data import TargetKind
from gpproj.dependence import Factor, factors_of, interactions, joint_effect
from gpproj.plots.folds import paired_predictions
from gpproj.plots.numbers import number, significant
from gpproj.plots.panels import averaged_rows, effect_label, effects_of_both
from gpproj.projection import Submodel
from gpproj.report.statistics import Shown, shown_statistics
from gpproj.search.alternatives import known_units
from gpproj.validation import Validation

if TYPE_CHECKING:
    import pandas as pd

EXCHANGED = 12
"""Inputs of the submodel whose stand-ins are looked for, at most: each takes as long as a step of
the search."""

PAIRED, PAIR_ROWS, PAIR_POINTS = 8, 40, 20
"""Inputs of the submodel whose pairs are looked at, the rows for it, and the points of a line."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The tables behind a report, and the size that it is about."""

    cv: Validation
    suggested: int | None
    size: int
    """Size of the submodel that is shown: the chosen one, the suggested one, or one in question."""
    panels: int
    """Largest number of inputs whose effects are shown."""
    rows: int
    """Largest number of training rows that effects are averaged over."""
    points: int
    """Number of values of each input in its effect."""
    most: int = 0
    """Largest number of stand-ins of an input."""
    target: str | None = None
    """What the target is called, if anything."""
    joint: int = 0
    """Largest number of pairs of inputs whose joint effect is shown."""

    @property
    def kind(self) -> TargetKind:
        """The kind of the targets."""
        return self.cv.reference.training.kind

    @property
    def shown(self) -> tuple[Shown, Shown]:
        """The statistics that are shown beside the elpd."""
        return shown_statistics(self.kind)

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
    def asked(self) -> tuple[str, ...]:
        """Inputs and groups of the submodel whose stand-ins are shown."""
        return self.cv.path.best_inputs(self.size)[: EXCHANGED if self.most else 0]

    @cached_property
    def stand_ins(self) -> pd.DataFrame:
        """What could stand in for the inputs of the submodel."""
        return self.cv.path.alternatives(self.size, self.most, inputs=self.asked)

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """What the search takes in one step, by name: the levels of a column are one."""
        return {unit.name: unit.positions for unit in known_units(self.cv.path)}

    @cached_property
    def factors(self) -> dict[str, Factor]:
        """Columns that are several inputs, by name."""
        columns = self.cv.reference.training.columns
        return {one.name: one for one in factors_of(columns, self.groups)}

    def columns_of(self, inputs: Iterable[str]) -> list[str]:
        """Return the columns of some inputs: levels of a column are not counted one by one."""
        column = {level: one.name for one in self.factors.values() for level in one.inputs}
        return list(dict.fromkeys(column.get(name, name) for name in inputs))

    @cached_property
    def chosen(self) -> list[str]:
        """Columns of the submodel."""
        return self.columns_of(self.submodel.inputs)

    @property
    def d(self) -> int:
        """Number of columns that inputs were made of."""
        return len(self.columns_of(self.cv.reference.feature_names))

    @property
    def predicted(self) -> int:
        """Number of observations that were predicted."""
        return int(np.unique(self.cv.scores.rows).size)

    @property
    def folds(self) -> int:
        """Number of times that rows were left out."""
        return int(np.unique(self.cv.scores.fold).size)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Predictions of the reference and of the submodel for every row, side by side."""
        return paired_predictions(self.cv, self.size)

    def observed(self, y: float) -> str:
        """Return a target as the user knows it: a number, a count, or the label of its class."""
        classes = self.cv.reference.classes
        if classes is not None:
            return str(classes[int(y)])
        return number(y, 0) if self.kind.takes_exposure else significant(y)

    @property
    def drawn(self) -> list[str]:
        """Inputs and columns whose effects are shown."""
        return self.chosen[: self.panels]

    @cached_property
    def X(self) -> Any:
        """Training rows that effects are averaged over."""
        return averaged_rows(self.cv.reference, self.rows)

    @cached_property
    def effects(self) -> pd.DataFrame:
        """Effects of the inputs in the submodel and in the reference: `gpproj.effects` of both."""
        return effects_of_both(
            self.submodel,
            self.cv.reference,
            self.X,
            self.drawn,
            self.points,
            scale="response",
            groups=self.groups,
        )

    @property
    def label(self) -> str:
        """What effects are about: the target, a probability or a rate."""
        return effect_label(self.cv.reference, "response", self.target)

    @property
    def paired(self) -> list[str]:
        """Inputs and columns whose pairs are looked at."""
        return self.chosen[: PAIRED if self.joint else 0]

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Which of them act together: `gpproj.interactions`."""
        X = averaged_rows(self.cv.reference, min(self.rows, PAIR_ROWS))
        return interactions(self.submodel, X, self.paired, groups=self.groups)

    def joint_effect(self, one: str, two: str) -> pd.DataFrame:
        """Return the joint effect of two of them."""
        X = averaged_rows(self.cv.reference, min(self.rows, PAIR_ROWS))
        points = min(self.points, PAIR_POINTS)
        how: dict[str, Any] = {"scale": "response", "groups": self.groups}
        return joint_effect(self.submodel, X, (one, two), points, **how)


def size_of(cv: Validation, size: int | None) -> tuple[int | None, int]:
    """Return the suggested size, and the one to show: that given, suggested, or in question."""
    suggested = cv.smallest_enough()
    if size is None:
        return suggested, cv.size_in_question
    if not 0 <= size < len(cv.path):
        raise ValueError(f"size must be from 0 to {len(cv.path) - 1}, got {size}")
    return suggested, size
