"""Statistics that a report shows beside the elpd, as it prints them."""

from __future__ import annotations

from typing import NamedTuple

from gpproj.data import TargetKind
from gpproj.plots.numbers import number, significant
from gpproj.validation.scores import STATISTICS, Metric


class Shown(NamedTuple):
    """A statistic, as a report prints it."""

    stat: str
    """Its name in `cv.summary()`."""
    metric: Metric

    @property
    def label(self) -> str:
        """The name of the statistic in a sentence."""
        return self.metric.label

    @property
    def noun(self) -> str:
        """What the statistic stands for, in words."""
        return self.metric.noun

    @property
    def title(self) -> str:
        """The label at the head of a column or line."""
        return f"{self.label[0].upper()}{self.label[1:]}"

    def text(self, value: float, more: int = 0) -> str:
        """Return a value as it is printed, with a few more decimals where differences are shown.

        Examples
        --------
        >>> auc, _ = shown_statistics(TargetKind.BINARY)
        >>> auc.text(0.8), auc.text(0.8, more=1)
        ('0.80', '0.800')
        """
        decimals = self.metric.decimals
        return significant(value) if decimals is None else number(value, decimals + more)


def shown_statistics(kind: TargetKind) -> tuple[Shown, Shown]:
    """Return the statistics that a report shows for a kind of targets."""
    first, second = kind.reported_statistics
    return Shown(first, STATISTICS[kind][first]), Shown(second, STATISTICS[kind][second])
