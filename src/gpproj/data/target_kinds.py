"""Kinds of targets: what the rest of the package needs to know of a target.

A likelihood of a new kind of targets adds a member here, and the statistics that suit it in
`validation.scores`.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from gpproj.data import checks
from gpproj.linalg import Array, Host


class TargetKind(StrEnum):
    """What a target is. Members are their own words."""

    REAL = "real"
    BINARY = "binary"
    COUNT = "count"

    @property
    def described(self) -> str:
        """What a target is, after "the target is"."""
        return {"real": "a real number", "binary": "of two classes", "count": "a count"}[self]

    @property
    def plural(self) -> str:
        """What several targets are called."""
        return {"real": "real targets", "binary": "classes", "count": "counts"}[self]

    @property
    def default_statistics(self) -> tuple[str, ...]:
        """Names of the statistics that a validation shows unless others are named."""
        return {
            "real": ("elpd", "rmse", "r2"),
            "binary": ("elpd", "mlpd", "accuracy", "auc"),
            "count": ("elpd", "mlpd", "rmse", "deviance"),
        }[self]

    @property
    def reported_statistics(self) -> tuple[str, str]:
        """Names of the statistics that a report shows beside the elpd, the more telling first."""
        return {
            "real": ("r2", "rmse"),
            "binary": ("auc", "accuracy"),
            "count": ("deviance", "rmse"),
        }[self]

    @property
    def is_scaled(self) -> bool:
        """Whether targets are standardised: real numbers are, which have no link either."""
        return self is TargetKind.REAL

    @property
    def has_classes(self) -> bool:
        """Whether targets are labels."""
        return self is TargetKind.BINARY

    @property
    def takes_exposure(self) -> bool:
        """Whether targets are counted over something."""
        return self is TargetKind.COUNT

    @property
    def density(self) -> str:
        """What a predictive distribution gives a target."""
        return "log density" if self.is_scaled else "log probability"

    @property
    def effect(self) -> str:
        """What effects of inputs are shown as."""
        return "prediction" if self.is_scaled else "latent function"

    def check(self, values: Array, argument: str) -> None:
        """Refuse numbers that are no targets of this kind."""
        if self.takes_exposure:
            checks.counts(values, argument)

    def strata(self, y: Host) -> Host | None:
        """Return what random folds should have about the same share of, `(n,)`; None if nothing."""
        if self.has_classes:
            return y
        return np.minimum(y, 1.0) if self.takes_exposure else None  # the share of zeros

    def lacks(self, y: Host) -> str | None:
        """Say what keeps a model from learning from these targets; None if nothing does."""
        if self.has_classes and np.ptp(y) == 0.0:
            return "one class only"
        return "no event" if self.takes_exposure and not y.any() else None

    def latent_scale(self, y: Host, offset: Host) -> tuple[float, float]:
        """Return mean square and variance of the latent function, as far as targets tell.

        Parameters
        ----------
        y, offset : arrays `(n,)`
        """
        if self.is_scaled:
            return float(np.mean(y**2)), float(np.var(y))
        if self.has_classes:
            return 1.0, 1.0
        # The variance of a log rate is that of the link.
        return float(np.log(np.mean(y) / float(np.mean(np.exp(offset))))) ** 2, 1.0
