"""The calibration of left-out predictions: by bins, and in sentences where it is poor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from gpproj.linalg import Host

if TYPE_CHECKING:
    import pandas as pd

    from gpproj.reference.base import Reference

FAR = 0.999
"""Probability of the interval outside of which a target is far out."""

RARE = 1e-3
"""Probability below which something did not happen by chance."""

FEW_ROWS = 30
"""Rows below which coverage and differences of densities are not judged."""

NO_NOISE = 1e-4
"""Share of the target's variance below which noise is as good as none."""

BAND = 0.95
"""Probability of the band around what is expected."""


def calibration_table(rows: pd.DataFrame | None, bins: int) -> pd.DataFrame:
    """Return counts and shares by bins; see `ReferenceCheck.calibration`."""
    import pandas as pd

    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 2:
        raise ValueError(f"bins must be a whole number of at least 2, got {bins!r}")
    if rows is None:
        raise ValueError("no row could be left out of this reference: it has no calibration")
    real = "pit" in rows
    if not real and not rows["y"].isin([0.0, 1.0]).all():
        raise ValueError("calibration is of real targets and of classes, not of counts")
    placed = rows["pit" if real else "mean"].to_numpy()
    place = np.clip((placed * bins).astype(np.intp), 0, bins - 1)
    edges, count = np.linspace(0.0, 1.0, bins + 1), np.bincount(place, minlength=bins)
    table = {"lower": edges[:-1], "upper": edges[1:], "count": count}
    if real:
        low, high = _band(np.full(bins, float(len(rows))), np.full(bins, 1.0 / bins))
        return pd.DataFrame({**table, "share": count / len(rows), "low": low, "high": high})
    filled = count > 0
    with np.errstate(invalid="ignore"):
        predicted, share = (
            np.bincount(place, one.to_numpy(), minlength=bins) / count
            for one in (rows["mean"], rows["y"])
        )
    found = pd.DataFrame({**table, "predicted": predicted, "share": share})[filled]
    low, high = _band(count[filled].astype(np.float64), predicted[filled])
    return found.assign(low=low, high=high).reset_index(drop=True)


def _band(count: Host, probability: Host) -> tuple[Host, Host]:
    """Return shares that hold a binomial one with the probability of the band, `(b,)` each."""
    from scipy.stats import binom

    tail = 0.5 * (1.0 - BAND)
    low, high = (binom.ppf(side, count, probability) / count for side in (tail, 1.0 - tail))
    return low, high


def interval_problems(
    reference: Reference,
    rows: pd.DataFrame | None,
    coverage: pd.Series[float] | None,
    sets: NDArray[np.intp],
) -> Iterator[str]:
    """Yield what is wrong with intervals of real targets.

    Parameters
    ----------
    reference : Reference
    rows : DataFrame or None
        Predictions of left-out rows.
    coverage : Series or None
    sets : int array `(n,)`
        Labels of rows that left together.
    """
    n = np.unique(sets).size
    if rows is None or coverage is None or n < FEW_ROWS:
        return
    outside = np.abs(rows["pit"].to_numpy() - 0.5) > 0.5 * FAR
    far = np.unique(sets[outside]).size
    # P(at least `far` of all rows) if each is as rare as it should be.
    tailed = far > 0 and bdtrc(far - 1, len(rows), 1.0 - FAR) < RARE
    too_few = any(
        found < level - max(0.05, 3.0 * np.sqrt(level * (1.0 - level) / n))
        for level, found in coverage.items()
    )
    # Real data have some rows far out; they matter where they widen the intervals of all others.
    width = 3.0 * np.sqrt(0.25 / n)
    too_many = coverage[0.5] > 0.5 + (width if tailed else max(0.1, width))
    held = " and ".join(
        f"{100.0 * found:.0f} % in {100.0 * level:.0f} % intervals"
        for level, found in coverage.items()
    )
    noise = reference.learned_noise
    if too_few:
        yield (
            f"the model is too sure of itself: of left-out targets {held}; try {reference.remedy}"
        )
    elif tailed and too_many:
        yield (
            f"{int(outside.sum())} of {len(rows)} targets are far out, outside of "
            f"{100.0 * FAR:.1f} % intervals, and {held}: look at them, or try "
            'likelihood="student-t"'
        )
    elif too_many and (noise is None or noise > NO_NOISE * np.var(rows["y"].to_numpy())):
        # Noise that may not be smaller makes intervals of a computer experiment too wide.
        yield (
            f"intervals are too wide for most rows: of left-out targets {held}. Noise may have "
            'heavy tails, see likelihood="student-t", or differ between rows'
        )


def class_problems(
    reference: Reference, rows: pd.DataFrame | None, sets: NDArray[np.intp]
) -> Iterator[str]:
    """Spiegelhalter's test: the squared error of probabilities is what these promise."""
    few = np.unique(sets).size < FEW_ROWS
    if rows is None or few or not reference.training.kind.has_classes:
        return
    y, p = rows["y"].to_numpy(), rows["mean"].to_numpy()
    promised = p * (1.0 - p)
    spread = np.sqrt(np.mean((1.0 - 2.0 * p) ** 2 * promised) / y.size)
    excess = (y - p) * (1.0 - 2.0 * p)
    # Rows of a group err together: their own scatter, where it is larger.
    if abs(excess.mean()) <= 3.0 * max(spread, error_of_mean(excess, sets)):
        return
    how = "too sure" if excess.mean() > 0.0 else "too cautious"
    yield (
        f"probabilities of left-out rows are {how}: their Brier score is "
        f"{np.mean((y - p) ** 2):.3f}, and {np.mean(promised):.3f} if they were right; try "
        "gpproj.sample or another prior"
    )


def error_of_mean(values: Host, sets: NDArray[np.intp]) -> float:
    """Return the standard error of a mean over rows, of which those of a set go together."""
    label = np.unique(sets, return_inverse=True)[1]
    totals = np.bincount(label, values - values.mean())
    return float(totals.std(ddof=1) * np.sqrt(totals.size) / values.size)
