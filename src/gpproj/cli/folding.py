"""Folds of a run: random ones, repeated, or in order of time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gpproj
from gpproj.cli.checking import RunError
from gpproj.cli.settings import Settings
from gpproj.io.tables import Prepared
from gpproj.linalg import Host
from gpproj.validation.folds import folds_of

Pairs = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def method_of(settings: Settings) -> Any:
    """Return the method of validation: folds where the settings are about folds."""
    if settings.time is not None or settings.repeats > 1:
        return "kfold"
    return settings.validate


def in_folds(settings: Settings) -> bool:
    """Say whether the validation repeats everything in folds."""
    method = method_of(settings)
    grouped = settings.row_groups is not None or bool(settings.compare)
    return method == "kfold" or (method is None and (grouped or not settings.sample))


def check_folds(settings: Settings, prepared: Prepared) -> None:
    """Refuse more folds than there are rows, groups of rows or times, before any work is done."""
    if not in_folds(settings):
        return
    if prepared.times is not None:
        folds_in_time(prepared.times, settings.folds)
    most, what = len(prepared.y), "rows"
    if prepared.row_groups is not None:
        most, what = len(set(prepared.row_groups)), "groups of rows"
    if settings.folds > most:
        raise RunError(f"folds must be at most the number of {what}, {most}; got {settings.folds}")


def folds_of_run(settings: Settings, reference: gpproj.Reference, times: Host | None) -> Any:
    """Return what `gpproj.validate` takes for folds.

    Parameters
    ----------
    settings : Settings
    reference : Reference
    times : array `(n,)` or None
        What the rows are ordered by.
    """
    if times is not None:
        return folds_in_time(times, settings.folds)
    if settings.repeats == 1:
        return settings.folds
    return [
        (fold.train, fold.test)
        for repeat in range(settings.repeats)
        for fold in folds_of(reference, settings.folds, None, settings.seed + repeat)
    ]


def folds_in_time(times: Host, folds: int) -> Pairs:
    """Return folds whose rows come after all that they are predicted from.

    The later half of the rows is cut into blocks of about the same size. Each block is predicted
    from all rows before it, so that the earlier half is never predicted. Rows of the same time are
    never parted.

    Parameters
    ----------
    times : array `(n,)`
    folds : int

    Examples
    --------
    >>> [(len(train), len(test)) for train, test in folds_in_time(np.arange(12.0), 3)]
    [(6, 2), (8, 2), (10, 2)]
    """
    order = np.argsort(times, kind="stable")
    ordered, n = times[order], len(times)
    changes = np.flatnonzero(np.diff(ordered)) + 1  # where a time begins
    wanted = n // 2 + np.arange(folds) * (n - n // 2) / folds
    found = np.unique([_nearest(changes, place) for place in wanted]) if changes.size else changes
    if found.size < folds:
        raise RunError(
            f"time: there are too few different times in the later half of the rows for {folds} "
            f"folds, {found.size} at most; --folds says how many"
        )
    starts = [*found.tolist(), n]
    return [(np.sort(order[:start]), np.sort(order[start:end])) for start, end in pairwise(starts)]


def _nearest(changes: NDArray[np.intp], place: float) -> int:
    return int(changes[np.argmin(np.abs(changes - place))])
