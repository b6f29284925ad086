"""Repetitions of an experiment that are kept as they finish, so that nothing is run twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gpproj
from gpproj import store
from gpproj.execute import clock, run

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
    return kept_rows(file, [settings, seed], partial(work, seed))


def kept_rows(file: Path, settings: Any, make: Callable[[], Iterable[dict[str, Any]]]) -> Rows:
    """Return rows that were kept with the same settings, or make and keep them.

    Parameters
    ----------
    file : Path
    settings : list
        What decides the rows.
    make : callable
    """
    key = store.digest(settings)
    if file.exists():
        content = store.read(file, KIND).content
        if content["key"] == key:
            kept: Rows = content["rows"]
            return kept
    rows = list(make())
    store.write(file, KIND, {"key": key, "rows": rows}, {})
    return rows


class Made(NamedTuple):
    """A reference or a path, and the seconds that it took to make."""

    thing: Any
    seconds: float


def kept_model(folder: Path, settings: Any, make: Callable[[], Any]) -> Made:
    """Return a reference or a path that was kept with the same settings, or make and keep it.

    Parameters
    ----------
    folder : Path
        Where it is, or will be.
    settings : list
        What decides it.
    make : callable
    """
    note = folder.with_suffix(".json")
    key = store.digest(settings)
    if note.exists() and folder.exists():
        told = json.loads(note.read_text())
        if told["key"] == key:
            return Made(gpproj.load(folder), told["seconds"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    start = clock()
    made = make()
    seconds = clock() - start
    made.save(folder, overwrite=True)
    store.write_text(note, json.dumps({"key": key, "seconds": seconds}))
    # As it is read, so that what follows does not depend on when it was made.
    return Made(gpproj.load(folder), seconds)
