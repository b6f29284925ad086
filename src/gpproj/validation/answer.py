"""The answer of a validation in words, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gpproj.validation.result import Validation
    from gpproj.validation.scores import Statistic

SMALL_LOSS = 4.0
"""A difference of elpd that is too small to matter, whatever its standard error."""

FEW_ROWS = 30
"""Predicted rows below which no submodel is called better than the reference."""


def verdict(cv: Validation, elpd: Statistic) -> tuple[str, tuple[str, ...]]:
    """Return a statement about the inputs that are enough, and their names."""
    d, size, steps = cv.reference.training.d, cv.smallest_enough(), len(cv.path) - 1
    everything = f"all {d} inputs" if d > 1 else "the only input"
    if size is None:
        inputs_tried = f"{steps} input" if steps == 1 else f"{steps} inputs"
        tried = f"of up to {inputs_tried}" if steps else "without further inputs"
        return f"No submodel {tried} predicts as well as {everything}", ()
    inputs = cv.path.best(size).inputs
    several = len(inputs) > 1
    if not inputs and elpd.difference[1] > 0.0:
        return f"No input helps: the null model predicts better than {everything}", ()
    if not inputs:
        return f"No input is needed: the null model predicts as well as {everything}", ()
    if size == 0:
        stay = "inputs that are always in are" if several else "input that is always in is"
        return f"The {stay} enough, {len(inputs)} of {d}", inputs
    if len(inputs) == d:
        needed = f"All {d} inputs are" if several else "The only input is"
        return f"{needed} needed", inputs
    verb = "predict" if several else "predicts"
    return f"{len(inputs)} of {d} inputs {verb} as well as all", inputs


def better_submodel(cv: Validation, elpd: Statistic) -> tuple[str, ...]:
    """Return that a submodel is clearly better than the reference, if one is.

    It is if its elpd is larger by more than two standard errors of the difference, and by more than
    what is too small to matter; of few rows the standard error is not known well enough to tell. Of
    the null model there is a sentence in any case.
    """
    if np.unique(cv.scores.rows).size < FEW_ROWS:
        return ()
    difference, se = elpd.difference[1:], elpd.difference_se[1:]
    clear = (difference > 2.0 * se) & (difference > SMALL_LOSS)
    if not clear.any() or (clear[0] and difference[0] == difference.max()):
        return ()
    size = int(np.argmax(np.where(clear, difference, -np.inf)))
    return (
        f"the submodel of size {size} predicts clearly better than the reference (elpd difference "
        f"{difference[size]:.1f} ± {se[size]:.1f}): the reference overfits, or does not suit the "
        "data, and what is as good as it says little; try gpproj.sample, another prior or kernel, "
        "and look at ref.check()",
    )


def overfitting(cv: Validation, elpd: Statistic) -> tuple[str, ...]:
    """Return signs that the reference or the search has overfitted, in plain words."""
    difference, se = elpd.difference[1:], elpd.difference_se[1:]
    if difference[0] > 0:
        least = "submodel on the inputs that are always in" if cv.path.always else "null model"
        return (
            f"the {least} predicts better than the reference (elpd difference "
            f"{difference[0]:.1f}): the inputs explain nothing more that generalises, or the "
            "reference overfits",
        )
    if cv.search == "once" and np.any(difference > se):
        return (
            "some submodels seem to predict better than the reference: a sign that the search "
            'has overfitted; validate it too, with search="inside"',
        )
    return ()
