"""`ref.check()`: is a reference worth projecting? What can be seen from its own training rows.

A projection is as good as its reference. All predictions here are those of left-out rows with the
hyperparameters held, which costs one posterior for each draw of them. They have seen the row that
is predicted through the hyperparameters, so that they are a little too good: what they find wrong
is wrong, and what they find right may still be overfitted where inputs are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from gpproj.data.repeats import copies_of, repeats_of
from gpproj.likelihoods.base import AdditiveNoise
from gpproj.linalg import Host, to_host
from gpproj.reference.baselines import baselines
from gpproj.reference.calibration import (
    FEW_ROWS,
    NO_NOISE,
    RARE,
    calibration_table,
    class_problems,
    error_of_mean,
    interval_problems,
)

if TYPE_CHECKING:
    import pandas as pd

    from gpproj.reference.base import Reference

LEVELS = (0.5, 0.9)
"""Probabilities of the intervals whose coverage is counted."""

MISSED = 25.0
"""Squared errors of left-out rows over such noise, from which on it is too small for them."""

MATTERS = 0.05
"""Difference of log density a row, in nats, that is worth a word."""

SMALL_GAIN = 4.0
"""Log density over all rows that is too small to matter."""

BINS = 10
"""Of histograms."""


class ReferenceWarning(UserWarning):
    """Something about a reference that `ref.check()` has found."""


@dataclass(frozen=True, eq=False)
class ReferenceCheck:
    """What was looked at in a reference, and what is wrong with it."""

    problems: tuple[str, ...]
    """Sentences; none if nothing was found."""
    log_density: pd.Series[float]
    """Mean log density of left-out rows by the reference, by the null model and, for real targets,
    by a ridge regression; empty where no row can be left out of the reference."""
    coverage: pd.Series[float] | None
    """Share of the targets in the intervals that were predicted without them, by the probability of
    the interval; of real targets."""
    rows: pd.DataFrame | None
    """Predictions of every row without it: y, mean, variance, log_density and, of real targets,
    pit, the probability of a smaller target, which is uniform if the reference is calibrated. None
    where no row can be left out."""
    left_out: str
    """What was left out at a time: a "row", a "group" of rows that belong together, or "nothing".
    Rows that are equal in all inputs leave together, but for linear references."""

    def calibration(self, bins: int = BINS) -> pd.DataFrame:
        """Return what `gpproj.plots.calibration` draws, one row for each bin.

        Parameters
        ----------
        bins : int
            Of equal width.

        Returns
        -------
        DataFrame
            `lower` and `upper` edge and the `count` of rows. Of real targets the bins are of the
            pit, and `share` is that of the rows. Of classes they are of the predicted probability
            of the second one, without empty bins: `predicted` is its mean and `share` that of the
            second class. `low` and `high` hold the share with a probability of 95 % if the
            reference is calibrated.
        """
        return calibration_table(self.rows, bins)

    def __repr__(self) -> str:
        """List the problems, or say that there are none."""
        if not self.problems:
            return "ReferenceCheck: nothing was found to be wrong"
        return "\n".join(["ReferenceCheck:", *(f"- {problem}" for problem in self.problems)])


def check(reference: Reference) -> ReferenceCheck:
    """Look at what can be wrong with a reference; see `Reference.check`."""
    import pandas as pd

    training = reference.training
    y = to_host(
        training.scaling.restore_mean(training.y) if training.kind.is_scaled else training.y
    )
    rows, together, density = None, None, {}
    sets = np.arange(y.size)  # of rows that leave together, and are worth one when counted
    try:
        found = reference.left_out_rows()
    except ImportError:  # many draws, made where ArviZ was, which smooths their weights
        found = None
    if found is not None and np.ptp(y) > 0.0:
        predicted, together = found
        mean, variance, own = (to_host(part) for part in predicted)
        rows = pd.DataFrame({"y": y, "mean": mean, "variance": variance, "log_density": own})
        if isinstance(likelihood := reference.likelihood, AdditiveNoise):
            spread = np.maximum(variance - likelihood.response(mean, np.zeros_like(mean))[1], 0.0)
            rows["pit"] = likelihood.cumulative(y, mean, spread)
        sets = sets if together is None else together
        density = {"reference": own, **baselines(training, y, likelihood, together)}
    coverage = None
    if rows is not None and "pit" in rows:
        inside = [float(np.mean(np.abs(rows["pit"] - 0.5) <= 0.5 * level)) for level in LEVELS]
        coverage = pd.Series(inside, index=list(LEVELS), name="coverage")
    problems = [
        *_constant_problems(y),
        *_bound_problems(reference),
        *_noise_problems(reference, y, rows),
        *_repeat_problems(reference, y),
        *_baseline_problems(density, sets, reference.remedy),
        *interval_problems(reference, rows, coverage, sets),
        *class_problems(reference, rows, sets),
    ]
    means = pd.Series({name: float(np.mean(one)) for name, one in density.items()}, dtype=float)
    leaving = "nothing" if rows is None else "row" if together is None else "group"
    return ReferenceCheck(tuple(problems), means.rename("log_density"), coverage, rows, leaving)


def _constant_problems(y: Host) -> Iterator[str]:
    if np.ptp(y) == 0.0:
        yield "all targets are equal: there is nothing to predict, and nothing to select"


def _bound_problems(reference: Reference) -> Iterator[str]:
    """Hyperparameters that the data push against what is allowed."""
    for name, side in reference.at_bounds():
        if side == "upper":
            meaning = "the model explains next to nothing, or targets are far out. Look at them"
        elif name != "noise_variance":
            meaning = (
                "the function jumps from row to row. An input that numbers the rows, or stands for "
                "single ones, does that: look at it, or leave it out"
            )
        else:
            meaning = (
                "the model finds no noise. That is right for a computer experiment; for "
                "measurements look for rows that are copies, or give noise_variance a prior"
            )
        yield f"{name} is at its {side} bound: {meaning}"


def _noise_problems(reference: Reference, y: Host, rows: pd.DataFrame | None) -> Iterator[str]:
    noise = reference.learned_noise
    if noise is None or noise >= NO_NOISE * np.var(y):
        return
    missed = ""
    if rows is not None:
        squares = float(np.mean((rows["y"] - rows["mean"]) ** 2))
        if squares < MISSED * noise:
            return
        missed = f", but misses left-out ones by {100.0 * np.sqrt(squares / np.var(y)):.2g} %"
    yield (
        "the model interpolates: it passes through all training targets, with "
        f"{100.0 * np.sqrt(noise / np.var(y)):.2g} % of their standard deviation left to noise"
        f"{missed}. That is right for a computer experiment; measurements are overfitted then: see "
        "gpproj.sample, or give noise_variance a prior"
    )


def _repeat_problems(reference: Reference, y: Host) -> Iterator[str]:
    """Rows that are equal in all inputs; those of classes and counts are, where inputs are few."""
    noise, repeats = reference.learned_noise, repeats_of(reference.training.X)
    if repeats is None or not reference.training.kind.is_scaled:
        return
    several = repeats.count[repeats.label] > 1.0
    first = copies_of(reference.training.X, y)
    copied = np.zeros(y.size, dtype=bool)
    if first is not None:
        copied = np.bincount(first, minlength=y.size)[first] > 1
        yield (
            f"{int(copied.sum())} rows repeat the inputs and the target of another row: copies "
            "tell nothing new, and folds predict one of them from the other. Drop them, or keep "
            "them together with with_row_groups"
        )
    # Sum of squares within sets of equal inputs, over the noise, is chi-squared.
    centre = (repeats.total(y) / repeats.count)[repeats.label]
    squares, freedom = float(np.sum((y - centre) ** 2)), float(y.size - repeats.first.size)
    if noise is None or squares < noise * max(2.0 * freedom, float(chdtri(freedom, RARE))):
        return
    yield (
        f"{int((several & ~copied).sum())} rows have the inputs of another row and another target: "
        f"these differ by a standard deviation of {np.sqrt(squares / freedom):.3g}, and the model "
        f"has noise of {np.sqrt(noise):.3g}. An input that tells them apart may be missing, or "
        "noise_variance is too small"
    )


def _baseline_problems(
    density: dict[str, Host], sets: NDArray[np.intp], remedy: str
) -> Iterator[str]:
    if not density or np.unique(sets).size < FEW_ROWS:
        return
    for name in [name for name in density if name != "reference"]:
        gain = density["reference"] - density[name]
        mean, error = float(gain.mean()), error_of_mean(gain, sets)
        figures = f"{abs(mean):.3f} ± {error:.3f} nats a row {'better' if mean > 0 else 'worse'}"
        if name == "null" and mean < max(2.0 * error, SMALL_GAIN / gain.size):
            worse = f"it overfits; try {remedy}"
            advice = worse if mean < -2.0 * error else "there may be nothing to select"
            yield (
                "the model predicts left-out rows no better than a model without inputs "
                f"({figures}): {advice}"
            )
        if name == "ridge" and mean < -max(2.0 * error, MATTERS):
            yield (
                "a ridge regression predicts left-out rows better than the model, which is "
                f"{figures}: try {remedy}, or a linear term"
            )
