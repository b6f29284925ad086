"""Statistics that a report shows beside the elpd, for each kind of targets, and their words."""

from __future__ import annotations

from typing import NamedTuple

from gpproj.data import TargetKind
from gpproj.report.markup import number, significant


class Shown(NamedTuple):
    """A statistic, as a report prints it."""

    stat: str
    """Its name in `cv.summary()`."""
    label: str
    """In a sentence."""
    noun: str
    """What it stands for, in words."""
    decimals: int | None
    """Of its value; None for a value in units of the target."""

    @property
    def title(self) -> str:
        """The label at the head of a column or line."""
        return f"{self.label[0].upper()}{self.label[1:]}"

    def text(self, value: float, more: int = 0) -> str:
        """Return a value as it is printed, with a few more decimals where differences are shown.

        Examples
        --------
        >>> auc = Shown("auc", "AUC", "area under the ROC curve", 2)
        >>> auc.text(0.8), auc.text(0.8, more=1)
        ('0.80', '0.800')
        """
        return significant(value) if self.decimals is None else number(value, self.decimals + more)


RMSE = Shown("rmse", "RMSE", "error", None)

SHOWN: dict[TargetKind, tuple[Shown, Shown]] = {
    TargetKind.REAL: (Shown("r2", "R²", "explained variance", 2), RMSE),
    TargetKind.BINARY: (
        Shown("auc", "AUC", "area under the ROC curve", 2),
        Shown("accuracy", "accuracy", "accuracy", 2),
    ),
    TargetKind.COUNT: (Shown("deviance", "mean deviance", "deviance", 2), RMSE),
}

MEANINGS: dict[TargetKind, str] = {
    TargetKind.REAL: "",
    TargetKind.BINARY: (
        "AUC: over pairs of rows, one of each class, how often the probabilities are in the right "
        "order; one half is chance. Accuracy: the share of the rows whose own class was given a "
        "probability of one half or more."
    ),
    TargetKind.COUNT: (
        "Deviance: twice the log probability that a Poisson distribution loses as its mean moves "
        "from the count itself to the prediction; smaller is better."
    ),
}
"""What they mean, where not everyone knows."""
