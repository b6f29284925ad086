"""The answer of a validation in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpproj.validation.scores import STATISTICS
from gpproj.validation.sizes import ENOUGH, ERRORS, NOT_ENOUGH, SMALL_LOSS, percentage

if TYPE_CHECKING:
    from gpproj.validation.result import Validation
    from gpproj.validation.scores import Statistic
    from gpproj.validation.sizes import Sizes


UNKNOWN = "an unknown share"

SMALL_SHARE = 0.01
"""Share of what the reference gains in a statistic that is no loss to speak of."""


def verdict(cv: Validation, elpd: Statistic) -> tuple[str, tuple[str, ...]]:
    """Return a statement about the inputs that are enough, and their names."""
    d, size, sizes = len(cv.reference.column_names), cv.smallest_enough(), cv.sizes
    everything = f"all {d} inputs" if d > 1 else "the only input"
    if size is None:
        return _none_enough(cv, everything)
    inputs = cv.path.best(size).column_names
    several = len(inputs) > 1
    if not inputs and not sizes.gains:
        return _nothing_gained(elpd, everything), ()
    lost = clearly_lost(cv, size)
    if not inputs:
        if lost:
            return f"No input is needed by the margin that was set, in spite of {lost}", ()
        return f"No input is needed: the null model predicts as well as {everything}", ()
    if len(inputs) == d:
        if size and sizes.verdict[size - 1] != NOT_ENOUGH:
            return f"Fewer than {everything} are not shown to be enough", inputs
        needed = f"All {d} inputs are" if several else "The only input is"
        return f"{needed} needed", inputs
    if lost:
        keep = "keep" if several else "keeps"
        share = share_of(sizes, size)
        return f"{len(inputs)} of {d} inputs {keep} {share} of what all predict ({lost})", inputs
    if size == 0:
        stay = "inputs that are always in are" if several else "input that is always in is"
        return f"The {stay} enough, {len(inputs)} of {d}", inputs
    verb = "predict" if several else "predicts"
    return f"{len(inputs)} of {d} inputs {verb} as well as all", inputs


def _nothing_gained(elpd: Statistic, everything: str) -> str:
    """Say that no gain over the null model is shown."""
    gain, se = -elpd.difference[1], elpd.difference_se[1]
    if -gain > ERRORS * se and -gain > SMALL_LOSS:
        return f"No input helps: the null model predicts better than {everything}"
    side = "above" if gain >= 0.0 else "below"
    helped = f"elpd is {abs(gain):.1f} ± {se:.1f} {side} the null model's"
    return f"No input is shown to help: with {everything} the {helped}"


def _none_enough(cv: Validation, everything: str) -> tuple[str, tuple[str, ...]]:
    """Say that no size is enough, or that it could not be shown of any."""
    sizes, steps = cv.sizes, len(cv.path) - 1
    possible, largest = sizes.smallest_possible, len(cv.path.best(steps).column_names)
    if possible == 0:
        return "These rows cannot tell how many inputs are enough", ()
    if possible is not None:
        inputs = cv.path.best(possible).column_names
        several = len(inputs) > 1
        keep, them = ("keep", "inputs") if several else ("keeps", "input")
        kept = f"{len(inputs)} {them} {keep} {share_of(sizes, possible)} of what all predict"
        return f"No size is shown to be enough; {kept}", inputs
    inputs_tried = f"{largest} input" if largest == 1 else f"{largest} inputs"
    if ENOUGH in sizes.verdict:
        return f"The submodel on {inputs_tried} is not enough, although a smaller one is", ()
    tried = f"of up to {inputs_tried}" if steps else "without further inputs"
    share = share_of(sizes, steps)
    kept = "" if share == UNKNOWN or not steps else f": the largest keeps {share}"
    return f"No submodel {tried} predicts as well as {everything}{kept}", ()


def share_of(sizes: Sizes, size: int) -> str:
    """Return the share of the gain that a size keeps, with its bounds, in words.

    Where the gain itself is not certain, nothing is a share of it.
    """
    kept, low, high = (
        float(column[size]) for column in (sizes.kept, sizes.kept_low, sizes.kept_high)
    )
    if np.isnan(low):
        return UNKNOWN
    return f"{percentage(kept)} ({100.0 * low:.0f} to {100.0 * high:.0f} %)"


def clearly_lost(cv: Validation, size: int) -> str:
    """Return the statistics that a size loses by more than two standard errors, in words.

    Less than a hundredth of the reference's lead over the null model is no loss to speak of.
    """
    kind, lost = cv.reference.training.kind, []
    for name in kind.default_statistics:
        metric = STATISTICS[kind][name]
        found = metric.compute(cv.averaged, cv.reference.training.n)
        worse = found.difference * (-1.0 if metric.larger_is_better else 1.0)
        least = SMALL_SHARE * max(float(worse[1]), 0.0)
        if worse[1 + size] > max(ERRORS * found.difference_se[1 + size], least):
            lost.append(metric.label)
    return f"a clear loss of {' and '.join(lost)}" if lost else ""


def trade_off(cv: Validation) -> str:
    """Return in a sentence what a few sizes keep of what the reference gains over the null model.

    They are the first ones to keep half of it, 80 %, 95 % and 99 %, as observed.
    """
    sizes = cv.sizes
    if not sizes.gains:
        return "Nothing is shown to be gained by inputs, so there is nothing to keep of it."
    if np.isnan(sizes.kept_low).all():
        return "What inputs gain in elpd is too uncertain to say which share of it is kept."
    first = (np.flatnonzero(sizes.kept >= share) for share in (0.5, 0.8, 0.95, 0.99))
    chosen = dict.fromkeys(int(found[0]) for found in first if found.size)
    if not chosen:
        chosen = {len(sizes.kept) - 1: None}
    parts: list[str] = []
    for size in chosen:
        count = len(cv.path.best(size).column_names)
        keep = "keeps" if count == 1 else "keep"
        share = float(sizes.kept[size])
        said = percentage(share)
        named = f"{count} input{'' if count == 1 else 's'}" if not parts else f"{count}"
        parts.append(f"{named} {keep} {said}" + ("" if parts else " of what can be predicted"))
    return ", ".join(parts) + "."
