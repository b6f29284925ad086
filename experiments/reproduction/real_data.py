"""Real data: test log density against the number of inputs (the paper's section 4.2).

For every random split of a data set: a reference by hyperparameter draws, searches, submodels along
several orders, and their mean log predictive density on the test rows. Draws, paths and scores of
every split are kept as they are found, so that a run goes on where it was stopped, and a new curve
needs no new draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

import gpproj
from reproduction.results import write
from reproduction.running import Rows, file_name, in_parallel, kept_rows, timed
from reproduction.split_tables import BEYOND, PAPER, draw, needed, paired, shown, suggested
from reproduction.splits import SETTINGS, WAYS, Setting, Split

QUICK: dict[str, Any] = {"draws": 30, "tune": 100, "sizes": 4, "clusters": 5, "at": (1, 3)}
"""What the quick mode has less of."""

ALL_INPUTS = {"all inputs": None, "all inputs, clusters": 0, "all inputs, every draw": "draws"}
"""`clusters` of projections onto all inputs; 0 for as many as the setting says."""


def _path_rows(curve: str, split: Split) -> Iterator[dict[str, Any]]:
    path, seconds = split.path(curve)
    for size in range(len(path)):
        yield split.row(curve, size, path[size], seconds)


def _reference_rows(split: Split) -> Iterator[dict[str, Any]]:
    d, (reference, seconds), (fitted, fit_seconds) = len(split.inputs), split.sampled, split.fitted
    yield split.row("reference", d, reference, seconds, predicting=split.predicting(reference))
    yield split.row("marginal likelihood fit", d, fitted, fit_seconds)


def _cluster_rows(split: Split) -> Iterator[dict[str, Any]]:
    path, clusters = split.mixtures, split.setting.clusters
    for size in (size for size in split.setting.at if size < len(path)):
        yield split.row(
            "projection, clusters", size, *timed(partial(path.submodel, size, clusters))
        )


def _draw_rows(split: Split) -> Iterator[dict[str, Any]]:
    path = split.mixtures
    for size in range(1, len(path)):
        yield split.row(
            "projection, every draw", size, *timed(partial(path.submodel, size, "draws"))
        )


def _full_rows(split: Split) -> Iterator[dict[str, Any]]:
    project = partial(gpproj.project, inputs=split.inputs, learn="projection", prior=None)
    for curve, clusters in ALL_INPUTS.items():
        own: Any = split.setting.clusters if clusters == 0 else clusters
        # The single one on the host, where its predictions are timed like all others.
        reference = split.sampled.thing if clusters is None else split.reference
        model, seconds = timed(partial(project, reference, clusters=own))
        more = {"predicting": split.predicting(model)} if clusters is None else {}
        yield split.row(curve, len(split.inputs), model, seconds, **more)


def _suggested_rows(split: Split) -> Iterator[dict[str, Any]]:
    path = split.mixtures
    validated = partial(gpproj.validate, path.reference, path, "loo", search="once", refit=False)
    cv, seconds = timed(partial(validated, progress=False))
    sizes = {
        "suggested": cv.suggest_size(),
        "suggested, one standard error": cv.suggest_size("se"),
    }
    single = split.path("projection, weak prior").thing
    for curve, size in sizes.items():
        if size is not None:
            predicting = split.predicting(single[size])
            yield split.row(curve, size, path[size], seconds, predicting=predicting)


PARTS: dict[str, Callable[[Split], Iterator[dict[str, Any]]]] = {
    "reference": _reference_rows,
    **{curve: partial(_path_rows, curve) for curve in WAYS},
    "projection, clusters": _cluster_rows,
    "projection, every draw": _draw_rows,
    "all inputs": _full_rows,
    "suggested": _suggested_rows,
}
"""What is found out about every split, part by part."""

MIXTURES = ("projection, clusters", "projection, every draw", "all inputs", "suggested")
"""Parts that project many draws by themselves: hours without a GPU."""


def reproduce_splits(
    name: str,
    folder: Path,
    splits: int = 50,
    n_jobs: int | None = 1,
    device: str | None = None,
    quick: bool = False,
    mixtures: bool = True,
) -> pd.DataFrame:
    """Run the experiment, and write tables and figures.

    `NAME.csv` has the raw results, `NAME_paired.csv` the order of the projection against that of
    the length-scales, `NAME_needed.csv` what every curve needs to come near the reference,
    `NAME_suggested.csv` what became of the suggested sizes. `NAME.png` is the paper's figure, and
    `NAME_beyond.png` has what gpproj adds.

    Parameters
    ----------
    name : {"boston", "automobile", "crime"}
    folder, splits, n_jobs
        As for all experiments. Splits that run at the same time may share a device.
    device : str, optional
        Where projections are computed, such as "cuda": every draw by itself takes hours otherwise.
    quick : bool
        Fewer draws and smaller sizes, to see in minutes that all works; what is finished is kept
        in `folder/finished_quickly`.
    mixtures : bool
        Whether to make submodels that are mixtures, and what depends on them; splits where all of
        that is finished already show it in any case.

    Returns
    -------
    DataFrame
        Mean test log density over the splits: one row for each curve, one column for each of some
        sizes.
    """
    if device is not None:
        _check(device)
    setting, finished = SETTINGS[name], folder / "finished"
    if quick:
        setting, finished = setting._replace(**QUICK), folder / "finished_quickly"
    finished.mkdir(parents=True, exist_ok=True)
    work = partial(rows_of, setting, finished, device=device, mixtures=mixtures)
    raw = pd.DataFrame(in_parallel(work, range(splits), n_jobs, f"{name} splits"))
    tables = {
        name: raw,
        f"{name}_paired": paired(raw),
        f"{name}_needed": needed(raw),
        f"{name}_suggested": suggested(raw),
    }
    write(folder, tables, {name: draw(raw, PAPER), f"{name}_beyond": draw(raw, BEYOND)})
    return shown(raw, setting.at)


def _check(device: str) -> None:
    """Refuse a device that cannot be used, before hours of sampling."""
    kernel, noise = gpproj.kernels.SquaredExponential(1.0, 1.0), gpproj.likelihoods.Gaussian(1.0)
    gpproj.condition([[0.0], [1.0]], [0.0, 1.0], kernel, noise).to(device)


def rows_of(
    setting: Setting, folder: Path, seed: int, device: str | None = None, mixtures: bool = True
) -> Rows:
    """Return the rows of one split, those kept or new ones."""
    split = Split(setting, folder, seed, device)
    split.folder.mkdir(exist_ok=True)
    files = {part: split.folder / f"{file_name(part)}.rows.json" for part in PARTS}
    mixtures = mixtures or all(files[part].exists() for part in MIXTURES)
    rows: Rows = []
    with warnings.catch_warnings():
        # Constant columns of a split, the short chains of the paper, no size that is enough.
        warnings.simplefilter("ignore", UserWarning)
        for part, make in PARTS.items():
            if mixtures or part not in MIXTURES:
                rows += kept_rows(files[part], [part, setting, seed], partial(make, split))
    return rows
