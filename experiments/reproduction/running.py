"""How experiments run: random splits, several at a time, and results kept as they are found."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

import gpproj
from gpproj.kernels import Constant, SquaredExponential

Rows = list[dict[str, Any]]


class RandomSplit(NamedTuple):
    """Training and test rows of a data set."""

    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series


def fit_mode(X: Any, y: Any, **options: Any) -> gpproj.GaussianProcessReference:
    """Fit as the paper does: the highest mode alone, with the paper's kernel and a weak prior."""
    given = {"kernel": Constant() + SquaredExponential(), "prior": "weak", **options}
    return gpproj.fit(X, y, draws=1, check=False, **given)


def random_split(name: str, seed: int, n: int | None = None) -> RandomSplit:
    """Return a random split of a data set into `n` training rows, two thirds if left out."""
    X, y = getattr(gpproj.datasets, name)()
    order = np.random.default_rng(seed).permutation(len(y))
    n = 2 * len(y) // 3 if n is None else n
    train, test = order[:n], order[n:]
    return RandomSplit(X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test])


class Made(NamedTuple):
    """A model or a path, and the seconds that it took to make."""

    thing: Any
    seconds: float


def timed(make: Callable[[], Any]) -> Made:
    """Make something, and tell how long it took."""
    start = time.perf_counter()
    return Made(make(), time.perf_counter() - start)


def in_parallel(
    work: Callable[[int], Rows], seeds: Sequence[int], n_jobs: int | None, title: str
) -> Rows:
    """Return the rows of all seeds in their order; several workers are processes of their own."""
    console = Console(stderr=True)
    found = Parallel(n_jobs, return_as="generator")(delayed(work)(seed) for seed in seeds)
    shown = track(
        found, title, len(seeds), console=console, transient=True, disable=not console.is_terminal
    )
    return [row for rows in shown for row in rows]


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
    settings : list
        What decides the rows: those kept with other settings are run again.
    n_jobs : int or None
    title : str
        Of the display, and of the files.
    """
    finished = folder / "finished"
    finished.mkdir(parents=True, exist_ok=True)

    def one(seed: int) -> Rows:
        file = finished / f"{file_name(title)}_{seed:03d}.json"
        return kept_rows(file, [settings, seed], partial(work, seed))

    return in_parallel(one, range(repeats), n_jobs, title)


def file_name(text: str) -> str:
    """Return a text as part of the name of a file."""
    return text.replace(", ", "_").replace(" ", "-")


def kept_rows(file: Path, settings: Any, make: Callable[[], Iterable[dict[str, Any]]]) -> Rows:
    """Return rows that were kept with the same settings, or make and keep them."""
    kept = _kept_with(file, settings)
    if kept is not None:
        found: Rows = kept["rows"]
        return found
    rows = list(make())
    _write_json(file, {"settings": settings, "rows": rows})
    return rows


def kept_model(folder: Path, settings: Any, make: Callable[[], Any]) -> Made:
    """Return a reference or a path that was kept with the same settings, or make and keep it.

    Its seconds are in a file beside its folder.
    """
    note = folder.with_suffix(".json")
    kept = _kept_with(note, settings) if folder.exists() else None
    if kept is not None:
        return Made(gpproj.load(folder), kept["seconds"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    made, seconds = timed(make)
    made.save(folder, overwrite=True)
    _write_json(note, {"settings": settings, "seconds": seconds})
    # As it is read, so that what follows does not depend on when it was made.
    return Made(gpproj.load(folder), seconds)


def _kept_with(file: Path, settings: Any) -> dict[str, Any] | None:
    """Return the content of a file that was written with the same settings, if it was."""
    if not file.exists():
        return None
    kept: dict[str, Any] = json.loads(file.read_text())
    same = kept["settings"] == json.loads(json.dumps(settings))  # where tuples become lists
    return kept if same else None


def _write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a file that is all there or not at all, whenever a run is stopped."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content))
    os.replace(temporary, file)
