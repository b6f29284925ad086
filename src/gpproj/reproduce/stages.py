"""Repetitions of an experiment that are kept as they finish, so that nothing is run twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from gpproj import store
from gpproj.execute import run

Rows = list[dict[str, Any]]

KIND = "reproduced rows"


def repeated(
    work: Callable[[int], Iterable[dict[str, Any]]],
    repeats: int,
    folder: Path,
    settings: Any,
    n_jobs: int | None,
    title: str,
) -> Rows:
    """Return the rows of all repetitions, those kept or new ones, which are then kept.

    Parameters
    ----------
    work : callable
        From a seed (0, 1, ...) to rows.
    repeats : int
    folder : Path
        Made if it is not there; what is finished is kept in `folder/finished`.
    settings : list
        What decides the rows: those kept with other settings are run again.
    n_jobs : int or None
    title : str
        Of the display, and of the files.
    """
    finished = folder / "finished"
    finished.mkdir(parents=True, exist_ok=True)
    one = partial(_kept, work, finished, title, settings)
    found = run(one, list(range(repeats)), n_jobs, progress=title)
    return [row for rows in found for row in rows]


def _kept(
    work: Callable[[int], Iterable[dict[str, Any]]],
    folder: Path,
    title: str,
    settings: Any,
    seed: int,
) -> Rows:
    file = folder / f"{title.replace(' ', '_')}_{seed:03d}.npz"
    key = store.digest(settings, seed)
    if file.exists():
        content = store.read(file, KIND).content
        if content["key"] == key:
            kept: Rows = content["rows"]
            return kept
    rows = list(work(seed))
    store.write(file, KIND, {"key": key, "rows": rows}, {})
    return rows
