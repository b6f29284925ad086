"""Kinds of targets: what the rest of the package asks of a target, whatever its likelihood.

A likelihood of a new kind of targets adds a member and its traits here; which statistics suit it is
said in `validation.scores`, and the report's words in `report.statistics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gpproj.linalg import Host


class TargetKind(StrEnum):
    """What a target is. Members are their own words."""

    REAL = "real"
    BINARY = "binary"
    COUNT = "count"

    @property
    def described(self) -> str:
        """What a target is, after "the target is"."""
        return _TRAITS[self].described

    @property
    def is_scaled(self) -> bool:
        """Whether targets are standardised: real numbers are, which have no link either."""
        return _TRAITS[self].is_scaled

    @property
    def has_classes(self) -> bool:
        """Whether targets are labels."""
        return _TRAITS[self].has_classes

    @property
    def takes_exposure(self) -> bool:
        """Whether targets are counted over something."""
        return _TRAITS[self].takes_exposure

    @property
    def density(self) -> str:
        """What a predictive distribution gives a target."""
        return "log density" if self.is_scaled else "log probability"

    @property
    def effect(self) -> str:
        """What effects of inputs are shown as."""
        return "prediction" if self.is_scaled else "latent function"

    def strata(self, y: Host) -> Host | None:
        """Return what random folds should have about the same share of, `(n,)`; None if nothing."""
        return _TRAITS[self].strata(y)

    def lacks(self, y: Host) -> str | None:
        """Say what keeps a model from learning from these targets; None if nothing does."""
        return _TRAITS[self].lacks(y)

    def latent_scale(self, y: Host, offset: Host) -> tuple[float, float]:
        """Return mean square and variance of the latent function, as far as targets tell.

        Parameters
        ----------
        y, offset : arrays `(n,)`
        """
        return _TRAITS[self].latent_scale(y, offset)


@dataclass(frozen=True)
class _Traits:
    described: str
    strata: Callable[[Host], Host | None]
    lacks: Callable[[Host], str | None]
    latent_scale: Callable[[Host, Host], tuple[float, float]]
    is_scaled: bool = False
    has_classes: bool = False
    takes_exposure: bool = False


def _rate(y: Host, offset: Host) -> tuple[float, float]:
    """Return the scale of a log rate; its variance is that of the link."""
    return float(np.log(np.mean(y) / float(np.mean(np.exp(offset))))) ** 2, 1.0


_TRAITS = {
    TargetKind.REAL: _Traits(
        described="a real number",
        strata=lambda y: None,
        lacks=lambda y: None,
        latent_scale=lambda y, offset: (float(np.mean(y**2)), float(np.var(y))),
        is_scaled=True,
    ),
    TargetKind.BINARY: _Traits(
        described="of two classes",
        strata=lambda y: y,
        lacks=lambda y: "one class only" if np.ptp(y) == 0.0 else None,
        latent_scale=lambda y, offset: (1.0, 1.0),
        has_classes=True,
    ),
    TargetKind.COUNT: _Traits(
        described="a count",
        strata=lambda y: np.minimum(y, 1.0),  # the share of zeros
        lacks=lambda y: None if y.any() else "no event",
        latent_scale=_rate,
        takes_exposure=True,
    ),
}
