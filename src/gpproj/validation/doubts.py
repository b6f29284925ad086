"""What is doubtful about the answer of a validation, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import alexandergovern

from gpproj.linalg import Host
from gpproj.validation.sizes import (
    ERRORS,
    FEW_EFFECTIVE_ROWS,
    SMALL_LOSS,
    USUAL_MARGIN,
    bounded,
    heavy_rows,
)

if TYPE_CHECKING:
    from gpproj.validation.result import Validation
    from gpproj.validation.scores import Statistic

FEW_ROWS = 30
"""Predicted rows below which no submodel is called better than the reference."""

ROWS_OF_A_FOLD = 5
"""Rows from which the error of a fold's mean is known at all."""

CHANCE = 1e-3
"""Probability of calling folds uneven that are not."""

SHORTFALL = 0.1
"""Share of a promised gain that may be missing without being said."""

NAMED_ROWS = 5
"""At most so many rows are named."""


def better_submodel(cv: Validation, elpd: Statistic) -> tuple[str, ...]:
    """Return that a submodel is clearly better than the reference, if one is.

    It is if its elpd is larger by more than two standard errors of the difference, and by more than
    what is too small to matter; of few rows the standard error is not known well enough to tell.
    Where the search has seen the rows that are predicted, it is no sign of that. The null model has
    a sentence of its own in `overfitting`, and in the answer where nothing is shown to be gained.
    """
    if np.unique(cv.scores.rows).size < FEW_ROWS or cv.search == "once":
        return ()
    difference, se = elpd.difference[1:], elpd.difference_se[1:]
    clear = _clearly_above(difference, se)
    if not clear.any():
        return ()
    size = int(np.argmax(np.where(clear, difference, -np.inf)))
    if size == 0 and not cv.sizes.gains:
        return ()
    named = f"submodel of size {size}" if size or cv.path.always else "null model"
    return (
        f"the {named} predicts clearly better than the reference (elpd difference "
        f"{difference[size]:.1f} ± {se[size]:.1f}): the reference overfits, or does not suit the "
        "data, and what is as good as it says little; try gpproj.sample, another prior or kernel, "
        "and look at ref.check()",
    )


def _clearly_above(difference: Host, se: Host) -> NDArray[np.bool_]:
    """Return which differences of elpd are above zero for certain, and by what would matter."""
    found: NDArray[np.bool_] = (difference > ERRORS * se) & (difference > SMALL_LOSS)
    return found


def overfitting(cv: Validation, elpd: Statistic) -> tuple[str, ...]:
    """Return signs that the reference or the search has overfitted, in plain words."""
    difference, se = elpd.difference[1:], elpd.difference_se[1:]
    if difference[0] > min(ERRORS * se[0], SMALL_LOSS):
        least = "submodel on the inputs that are always in" if cv.path.always else "null model"
        return (
            f"the {least} predicts better than the reference (elpd difference "
            f"{difference[0]:.1f}): the inputs explain nothing more that generalises, or the "
            "reference overfits",
        )
    if cv.search == "once" and _clearly_above(difference, se).any():
        return (
            "some submodels seem to predict better than the reference: a sign that the search "
            'has overfitted; validate it too, with search="inside"',
        )
    return ()


def overpromising(cv: Validation) -> tuple[str, ...]:
    """Return that the reference gains clearly less over the null model than it expects."""
    scores = cv.averaged
    if scores.divergence is None or scores.rows.size < FEW_ROWS:
        return ()
    gain, promise = scores.log_density[0] - scores.log_density[1], scores.divergence[1]
    if not (np.isfinite(gain).all() and np.isfinite(promise).all()):
        return ()
    short = bounded(((1.0 - SHORTFALL) * promise - gain)[None, :])
    if short.low[0] <= 0.0:
        return ()
    n = cv.reference.training.n
    return (
        f"the reference expects to gain {n * promise.mean():.1f} nats over the null model and "
        f"gained {n * gain.mean():.1f}: it is too sure of what it predicts",
    )


def uneven_folds(cv: Validation) -> tuple[str, ...]:
    """Return that folds disagree about what the suggested size loses, if they do.

    The mean losses of the folds are compared with their weighted mean, as differences that have
    Student's distribution if only rows differ (the test of Alexander and Govern, 1994).
    """
    size, scores = cv.size_in_question, cv.scores
    lost = scores.log_density[0] - scores.log_density[1 + size]
    folds = [lost[scores.fold == fold] for fold in np.unique(scores.fold)]
    # Losses that are the same but for rounding have no variance that could be compared with.
    vary = (np.ptp(own) > 1e-6 * np.abs(own).max() for own in folds)
    folds = [
        own for own, one in zip(folds, vary, strict=True) if one and own.size >= ROWS_OF_A_FOLD
    ]
    if len(folds) < 2:
        return ()
    mean = np.array([own.mean() for own in folds])
    gain = float(np.mean(scores.log_density[0] - scores.log_density[1]))
    if (
        np.ptp(mean) <= USUAL_MARGIN.value * max(gain, 0.0)
        or alexandergovern(*folds).pvalue > CHANCE
    ):
        return ()
    return (
        f"folds disagree about the submodel of size {size}: on average a row loses from "
        f"{mean.min():.2f} to {mean.max():.2f} nats. What it and the reference learn depends on "
        "the rows that they see: those of all rows may predict better or worse than validated",
    )


def few_rows(cv: Validation) -> tuple[str, ...]:
    """Return which rows keep a size from being told enough, if they are few of many."""
    size = cv.sizes.smallest_possible
    if size is None or cv.smallest_enough() is not None or cv.averaged.rows.size < FEW_ROWS:
        return ()
    if cv.sizes.effective_rows[size] >= FEW_EFFECTIVE_ROWS:
        return ()
    rows = heavy_rows(cv.averaged, size)
    named = ", ".join(str(row) for row in rows[:NAMED_ROWS].tolist())
    more = f" and {rows.size - NAMED_ROWS} more" if rows.size > NAMED_ROWS else ""
    which = f"row {named} carries" if rows.size == 1 else f"rows {named}{more} carry"
    return (
        f"{which} most of what is uncertain about the loss of size {size}: look at what is special "
        "about them",
    )
