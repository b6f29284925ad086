"""The answer of a validation in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpproj.validation.scores import STATISTICS
from gpproj.validation.sizes import ERRORS, percentage

if TYPE_CHECKING:
    from gpproj.validation.result import Validation
    from gpproj.validation.scores import Statistic
    from gpproj.validation.sizes import Sizes


def verdict(cv: Validation, elpd: Statistic) -> tuple[str, tuple[str, ...]]:
    """Return a statement about the inputs that are enough, and their names."""
    d, size, sizes = cv.reference.training.d, cv.smallest_enough(), cv.sizes
    everything = f"all {d} inputs" if d > 1 else "the only input"
    if size is None:
        return _none_enough(cv, everything)
    inputs = cv.path.best(size).inputs
    several = len(inputs) > 1
    if not inputs and not sizes.gains:
        if elpd.difference[1] > 0.0:
            return f"No input helps: the null model predicts better than {everything}", ()
        gain, se = -elpd.difference[1], elpd.difference_se[1]
        helped = f"elpd is {gain:.1f} ± {se:.1f} above the null model's"
        return f"No input is shown to help: with {everything} the {helped}", ()
    if not inputs:
        return f"No input is needed: the null model predicts as well as {everything}", ()
    if size == 0:
        stay = "inputs that are always in are" if several else "input that is always in is"
        return f"The {stay} enough, {len(inputs)} of {d}", inputs
    if len(inputs) == d:
        needed = f"All {d} inputs are" if several else "The only input is"
        return f"{needed} needed", inputs
    if lost := clearly_lost(cv, size):
        keep = "keep" if several else "keeps"
        share = percentage(float(sizes.kept[size]))
        return f"{len(inputs)} of {d} inputs {keep} {share} of what all predict ({lost})", inputs
    verb = "predict" if several else "predicts"
    return f"{len(inputs)} of {d} inputs {verb} as well as all", inputs


def _none_enough(cv: Validation, everything: str) -> tuple[str, tuple[str, ...]]:
    """Say that no size is enough, or that it could not be shown of any."""
    sizes, steps = cv.sizes, len(cv.path) - 1
    possible = sizes.smallest_possible
    if possible is not None and possible > 0:
        inputs = cv.path.best(possible).inputs
        several = len(inputs) > 1
        keep, them = ("keep", "inputs") if several else ("keeps", "input")
        kept = f"{len(inputs)} {them} {keep} {share_of(sizes, possible)} of what all predict"
        return f"No size is shown to be enough; {kept}", inputs
    inputs_tried = f"{steps} input" if steps == 1 else f"{steps} inputs"
    tried = f"of up to {inputs_tried}" if steps else "without further inputs"
    share = float(sizes.kept[-1])
    kept = "" if np.isnan(share) or not steps else f": the largest keeps {percentage(share)}"
    return f"No submodel {tried} predicts as well as {everything}{kept}", ()


def share_of(sizes: Sizes, size: int) -> str:
    """Return the share of the gain that a size keeps, with its bounds, in words."""
    kept, low, high = (
        float(column[size]) for column in (sizes.kept, sizes.kept_low, sizes.kept_high)
    )
    if np.isnan(low):
        return "an unknown share" if np.isnan(kept) else percentage(kept)
    return f"{percentage(kept)} ({100.0 * low:.0f} to {100.0 * high:.0f} %)"


def clearly_lost(cv: Validation, size: int) -> str:
    """Return the statistics that a size loses by more than two standard errors, in words."""
    kind, lost = cv.reference.training.kind, []
    for name in kind.default_statistics:
        metric = STATISTICS[kind][name]
        found = metric.compute(cv.averaged, cv.reference.training.n)
        worse = found.difference[1 + size] * (-1.0 if metric.larger_is_better else 1.0)
        if worse > ERRORS * found.difference_se[1 + size]:
            lost.append(metric.label)
    return f"a clear loss of {' and '.join(lost)}" if lost else ""


def trade_off(cv: Validation) -> str:
    """Return in a sentence what a few sizes keep of what the reference gains over the null model.

    They are the first ones to keep half of it, 80 %, 95 % and 99 %, as observed.
    """
    sizes = cv.sizes
    if not sizes.gains or np.isnan(sizes.kept).all():
        return "Nothing is shown to be gained by inputs, so there is nothing to keep of it."
    first = (np.flatnonzero(sizes.kept >= share) for share in (0.5, 0.8, 0.95, 0.99))
    chosen = dict.fromkeys(int(found[0]) for found in first if found.size)
    if not chosen:
        chosen = {len(sizes.kept) - 1: None}
    parts: list[str] = []
    for size in chosen:
        count = len(cv.path.best(size).inputs)
        keep = "keeps" if count == 1 else "keep"
        share = float(sizes.kept[size])
        said = "all" if share >= 0.9995 else percentage(share)
        named = f"{count} input{'' if count == 1 else 's'}" if not parts else f"{count}"
        parts.append(f"{named} {keep} {said}" + ("" if parts else " of what can be predicted"))
    return ", ".join(parts) + "."
