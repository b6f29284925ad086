"""Which sizes are enough: what their submodels lose, compared with what would matter.

For every predicted row i, with the log densities of a submodel, the reference and the null model,

    loss      d_i = log p_ref - log p_sub,     gain      g_i = log p_ref - log p_null,
    expected  k_i = KL(p_ref || p_sub),        expected  h_i = KL(p_ref || p_null).

If the reference is right, k_i and h_i are the expectations of d_i and g_i, without the noise of the
target. A loss of more than the share a of the gain, and b nats a row, would matter, so that a size
is judged by the mean of

    c_i = d_i - a g_i - b,   whose expectation is   e_i = k_i - a h_i - b.

mean c = mean e + mean(c - e): the last term is zero but for noise if the reference is right. Where
it differs from zero by no more than its error, the reference is trusted, and e has a say: a size is

    enough       if the upper bound of mean c is below zero; or that of a trusted mean e is, and
                 mean c is below zero by one standard error;
    not enough   if the lower bound of mean c is above zero; or that of a trusted mean e is, and
                 mean c is not below zero;
    not shown    otherwise.

A trusted e alone would not do: few rows trust any reference, and rows that a reference calls
outliers can tell two models apart that it takes for the same. So a loss that is just too large is
called enough in one of 44 cases if the reference is right, and in one of six if it is wrong.

Where no gain in log density is seen, but means or ranks are shown to tell something of the target,
sizes are judged by these in the same way.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from gpproj.data import TargetKind
from gpproj.linalg import Host
from gpproj.validation.scores import STATISTICS, Scores

Verdict = Literal["enough", "not shown", "not enough"]
ENOUGH: Verdict = "enough"
NOT_SHOWN: Verdict = "not shown"
NOT_ENOUGH: Verdict = "not enough"

ERRORS = 2.0
"""Standard errors between an estimate and its bounds, if it is normal."""

AGREES = 1.0
"""Standard errors that what was observed is away from the margin where the reference decides."""

GAIN = "gain"

FEW_EFFECTIVE_ROWS = 5.0
"""Effective rows below which a sum is said to be that of few rows."""


SMALL_LOSS = 4.0
"""A difference of elpd that is too small to matter, whatever its standard error."""


class Margin(NamedTuple):
    """The largest loss that would not matter."""

    value: float = 0.05
    unit: str = GAIN
    """"gain", a share of what the reference gains over the null model in log density, or the name
    of a statistic: nats over all rows are "elpd"."""

    def check(self, kind: TargetKind) -> Margin:
        """Return the margin, or refuse one that does not suit the targets."""
        units = (GAIN, *STATISTICS[kind])
        if self.unit not in units:
            raise ValueError(f"unit must be among {', '.join(units)}; got {self.unit!r}")
        number = isinstance(self.value, (int, float, np.number)) and not isinstance(
            self.value, bool
        )
        if not number or not 0.0 < self.value < np.inf:
            raise ValueError(f"margin must be a number above 0, got {self.value!r}")
        if self.unit == GAIN and self.value >= 1.0:
            raise ValueError(f"margin must be a share below 1 of the gain, got {self.value!r}")
        return Margin(float(self.value), self.unit)


USUAL_MARGIN = Margin()


class Bounded(NamedTuple):
    """Means over rows, and bounds of their expectations, `(s,)` each."""

    mean: Host
    low: Host
    high: Host
    effective: Host
    """How many rows carry the variance."""


class Sizes(NamedTuple):
    """What is known of every size, `(sizes,)` each."""

    verdict: tuple[Verdict, ...]
    kept: Host
    """Share of the reference's gain over the null model that is kept, as observed."""
    kept_low: Host
    """Bounds of it; NaN where the gain itself is uncertain."""
    kept_high: Host
    expected_kept: Host
    """The same as the reference expects it; NaN where that is not known."""
    trusted: NDArray[np.bool_]
    """Whether what was observed agrees with what the reference expects."""
    gains: bool
    """Whether the reference, or a submodel, is shown to gain anything over the null model."""
    effective_rows: Host

    @property
    def smallest(self) -> int | None:
        """The smallest size that is enough: sizes are tested from the largest down.

        0 where no gain over the null model is shown; None if the largest size is not enough.
        """
        return self._from_above(ENOUGH) if self.gains else 0

    @property
    def smallest_possible(self) -> int | None:
        """The smallest size that, like all larger ones, may be enough as far as is known."""
        return self._from_above(ENOUGH, NOT_SHOWN)

    def _from_above(self, *passed: Verdict) -> int | None:
        failed = [size for size, said in enumerate(self.verdict) if said not in passed]
        first = failed[-1] + 1 if failed else 0
        return first if first < len(self.verdict) else None


def bounded(pointwise: Host, errors: float = ERRORS) -> Bounded:
    """Return means over the rows, `(s, m)` to `(s,)`, with bounds of so many standard errors.

    Where few rows carry the variance, it is not known well itself. With the effective number of
    rows, and Satterthwaite's degrees of freedom of a variance that was estimated from them,

        e = (sum_i z_i^2)^2 / sum_i z_i^4,   z_i the distance from the mean,   f = 2 / (1/e - 1/m),

    bounds are those of Student's distribution. Of m normal rows e is m / 3 and f is m; of one row
    that outdoes all others they are 1 and 2, and bounds are 4.5 standard errors away, not 2.
    """
    m = pointwise.shape[1]
    mean = pointwise.mean(axis=1)
    away = pointwise - mean[:, None]
    largest = np.max(np.abs(away), axis=1, keepdims=True)
    scaled = away / np.where(largest > 0.0, largest, 1.0)  # fourth powers overflow
    square, fourth = np.sum(scaled**2, axis=1), np.sum(scaled**4, axis=1)
    effective = np.where(fourth > 0.0, square**2 / np.where(fourth > 0.0, fourth, 1.0), m)
    if m < 2:
        unknown = np.full(mean.shape, np.inf)
        return Bounded(mean, -unknown, unknown, effective)
    se = largest[:, 0] * np.sqrt(square / (m - 1) / m)
    reach = _reach(effective, m, errors) * se
    return Bounded(mean, mean - reach, mean + reach, effective)


def _reach(effective: Host, m: int, errors: float = ERRORS) -> Host:
    """Return how many standard errors the bounds are from the mean."""
    freedom = 2.0 / np.maximum(1.0 / effective - 1.0 / m, 1e-12)
    found: Host = stdtrit(np.minimum(freedom, m - 1.0), ndtr(errors))
    return found


def assess(scores: Scores, n: int, kind: TargetKind, margin: Margin) -> Sizes:
    """Judge every size.

    Parameters
    ----------
    scores : Scores
        One prediction for each observation; the first submodel is the null model.
    n : int
        Number of all observations.
    kind : TargetKind
    margin : Margin
    """
    density, divergence = scores.density, scores.divergence
    loss = density[0] - density[1:]
    gain = loss[0]
    if gain.size < 2 or not np.isfinite(loss).all():
        return _unknown(len(loss))
    share, shift = _share_and_shift(margin, n)
    contrast = loss - share * gain - shift
    observed = bounded(contrast)
    trusted, expected_kept = np.zeros(len(loss), dtype=bool), np.full(len(loss), np.nan)
    enough, short = observed.high < 0.0, observed.low > 0.0
    if divergence is not None:
        lost = divergence[1:]
        promise = lost - share * lost[0] - shift
        expected, surprise = bounded(promise), bounded(contrast - promise)
        trusted = (surprise.low <= 0.0) & (surprise.high >= 0.0)
        promised = lost.mean(axis=1)
        expected_kept = 1.0 - promised / (promised[0] or np.nan)
        enough |= trusted & (expected.high < 0.0) & (bounded(contrast, AGREES).high < 0.0)
        short |= trusted & (expected.low > 0.0) & (observed.mean >= 0.0)
    behind = _behind_larger(density[1:], share, shift)
    gains = bool(bounded(gain[None, :]).low[0] > 0.0 or behind[0])
    means_gain = _means_gain(scores, n, kind)
    if not _by_density(margin):
        enough, short = _by_statistic(scores, n, kind, margin)
        gains |= means_gain or bool(short[0])
    elif gains:
        short |= behind
        if margin.unit == GAIN:
            short |= _by_means(scores, n, kind, share)[1]
    elif means_gain:
        gains, (enough, short) = True, _by_means(scores, n, kind, share)
    else:  # there is nothing to lose
        enough, short = np.ones_like(enough), observed.low > 0.0
        short[0] = False
    verdicts = np.select([short, enough], [NOT_ENOUGH, ENOUGH], NOT_SHOWN)
    kept, low, high = _kept(loss, gain)
    return Sizes(
        tuple(verdicts.tolist()), kept, low, high, expected_kept, trusted, gains, observed.effective
    )


def _unknown(sizes: int) -> Sizes:
    """Return that nothing is known: of one row, and of rows that a model calls impossible."""
    nothing = np.full(sizes, np.nan)
    verdicts = (NOT_SHOWN,) * sizes
    trusted, effective = np.zeros(sizes, dtype=bool), np.ones(sizes)
    return Sizes(verdicts, nothing, nothing, nothing, nothing, trusted, True, effective)


def heavy_rows(scores: Scores, size: int) -> NDArray[np.intp]:
    """Return the fewest observations that carry half of the variance of the loss of a size."""
    loss = scores.log_density[0] - scores.log_density[1 + size]
    squares = (loss - loss.mean()) ** 2
    order = np.argsort(-squares, kind="stable")
    half = int(np.searchsorted(np.cumsum(squares[order]), 0.5 * squares.sum())) + 1
    return scores.rows[order[:half]]


def _by_density(margin: Margin) -> bool:
    return margin.unit in (GAIN, "elpd", "mlpd")


def _share_and_shift(margin: Margin, n: int) -> tuple[float, float]:
    """Return the share of the gain and the nats a row that may be lost."""
    if margin.unit == "elpd":
        return 0.0, margin.value / n
    if margin.unit == "mlpd":
        return 0.0, margin.value
    return (margin.value if margin.unit == GAIN else USUAL_MARGIN.value), 0.0


def _by_statistic(
    scores: Scores, n: int, kind: TargetKind, margin: Margin
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Judge by the difference of a statistic to the reference's."""
    metric = STATISTICS[kind][margin.unit]
    sign = -1.0 if metric.larger_is_better else 1.0

    def bounds(lines: NDArray[np.intp]) -> tuple[Host, Host]:
        """Bounds of what the models lose to the first of them."""
        found = metric.compute(scores.models(lines), n)
        worse, reach = sign * found.difference[1:], ERRORS * found.difference_se[1:]
        return worse - reach, worse + reach

    every = np.arange(len(scores.mean))
    low, high = bounds(every)
    short = low > margin.value
    for size in range(len(short) - 1):
        pairs = [bounds(np.array([larger, 1 + size]))[0][0] for larger in every[size + 2 :]]
        short[size] |= max(pairs) > margin.value
    return high < margin.value, short


def _behind_larger(density: Host, share: float, shift: float) -> NDArray[np.bool_]:
    """Return which sizes are clearly worse than a larger one, by more than would matter.

    The more larger ones there are, the clearer one of them has to be better (Bonferroni).
    """
    behind = np.zeros(len(density), dtype=bool)
    for size in range(len(density) - 1):
        larger = density[size + 1 :]
        errors = float(-ndtri(ndtr(-ERRORS) / len(larger)))
        lost = larger - density[size] - share * (larger - density[0]) - shift
        behind[size] = bool(np.any(bounded(lost, errors).low > 0.0))
    return behind


def _means_gain(scores: Scores, n: int, kind: TargetKind) -> bool:
    """Say whether means, or ranks, of the reference are shown to tell anything of the target."""
    if kind.has_classes:
        found = STATISTICS[kind]["auc"].compute(scores, n)
        return bool(found.value[0] - ERRORS * found.se[0] > 0.5)
    squares = (scores.y - scores.mean[:2]) ** 2
    return bool(bounded((squares[1] - squares[0])[None, :]).low[0] > 0.0)


def _by_means(
    scores: Scores, n: int, kind: TargetKind, share: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which sizes lose less, and which more, than a share of what means or ranks tell.

    Log densities forgive a wrong mean with a large variance. Squared errors take the place of log
    densities, and of classes the area under the ROC curve above one half. Nothing is said where the
    reference's own means tell nothing.
    """
    if not _means_gain(scores, n, kind):
        nothing = np.zeros(len(scores.mean) - 1, dtype=bool)
        return nothing, nothing
    if kind.has_classes:
        found = STATISTICS[kind]["auc"].compute(scores, n)
        lost = -found.difference[1:] - share * (found.value[0] - 0.5)
        reach = ERRORS * found.difference_se[1:]
        return lost + reach < 0.0, lost - reach > 0.0
    squares = (scores.y - scores.mean) ** 2
    excess = bounded(squares[1:] - squares[0] - share * (squares[1] - squares[0]))
    return excess.high < 0.0, excess.low > 0.0


def _kept(loss: Host, gain: Host) -> tuple[Host, Host, Host]:
    """Return shares of the gain that are kept, with Fieller's bounds.

    The bounds are the shares s = 1 - r for which the mean of `d_i - r g_i` is within its error of
    zero: the roots of a quadratic in r, and none where the gain is within its error of zero.
    """
    m, mean_loss = gain.size, loss.mean(axis=1)
    mean_gain = float(mean_loss[0])
    unknown = np.full(len(loss), np.nan)
    if m < 2 or mean_gain <= 0.0:
        return unknown, unknown, unknown
    ratio = mean_loss / mean_gain
    effective = bounded(loss - ratio[:, None] * gain).effective
    t2 = _reach(effective, m) ** 2 / m
    centred, own = loss - loss.mean(axis=1, keepdims=True), gain - mean_gain
    a = mean_gain**2 - t2 * np.var(gain, ddof=1)
    b = mean_loss * mean_gain - t2 * (centred @ own) / (m - 1)
    c = mean_loss**2 - t2 * np.var(loss, axis=1, ddof=1)
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    known = a > 0.0
    a = np.where(known, a, 1.0)
    low = np.where(known, 1.0 - (b + root) / a, np.nan)
    high = np.where(known, 1.0 - (b - root) / a, np.nan)
    return 1.0 - ratio, low, high


def percentage(share: float) -> str:
    """Return a share in words, not rounded up to all of it.

    >>> percentage(0.9712), percentage(0.998), percentage(0.9999), percentage(1.02)
    ('97 %', '99.8 %', '99.9 %', 'all')
    """
    if share >= 1.0:
        return "all"
    shown = min(100.0 * share, 99.9)
    return f"{shown:.{1 if share >= 0.99 else 0}f} %"
