"""Real data: test log density against the number of inputs (the paper's section 4.2).

For every random split of a data set: a reference by hyperparameter draws, searches, submodels along
several orders, and their mean log predictive density on the test rows. Draws, paths and scores of
every split are kept as they are found, so that a run goes on where it was stopped, and a new curve
needs no new draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import gpproj
from gpproj.execute import clock, run, together
from gpproj.linalg import on_device, room_for, same_stream
from gpproj.reproduce.figures import save
from gpproj.reproduce.split_tables import BEYOND, PAPER, draw, needed, paired, shown, suggested
from gpproj.reproduce.stages import Made, Rows, kept_model, kept_rows

if TYPE_CHECKING:
    import pandas as pd


class Setting(NamedTuple):
    """One data set of the paper."""

    name: str
    n: int
    """Training rows."""
    sizes: int
    """Inputs that the curves go up to."""
    draws: int = 100
    tune: int = 200
    chains: int = 1
    clusters: int = 20
    at: tuple[int, ...] = (1, 2, 3, 5, 8, 13, 20)
    """Sizes at which submodels are mixtures of clusters too."""


SETTINGS = {
    "boston": Setting("boston", 300, 13),
    "automobile": Setting("automobile", 150, 20),
    "crime": Setting("crime", 400, 20),
}

QUICK: dict[str, Any] = {"draws": 30, "tune": 100, "sizes": 4, "clusters": 5, "at": (1, 3)}
"""What the quick mode has less of."""

ALL_INPUTS = {"all inputs": None, "all inputs, clusters": 0, "all inputs, every draw": "draws"}
"""`clusters` of projections onto all inputs; 0 for as many as the setting says."""

PREDICTED = 1000
"""New rows whose prediction is timed."""


class Split:
    """One random split: what it is made of is kept in a folder.

    Parameters
    ----------
    setting : Setting
    folder : Path
    seed : int
    device : str, optional
        Where projections are computed; by NumPy when left out.
    """

    def __init__(
        self, setting: Setting, folder: Path, seed: int, device: str | None = None
    ) -> None:
        self.setting, self.seed, self.device = setting, seed, device
        self.folder = folder / f"split_{seed:03d}"
        X, y = getattr(gpproj.datasets, setting.name)()
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: setting.n], order[setting.n :]
        self.train = X.iloc[train], y.iloc[train]
        self.test = X.iloc[test], y.iloc[test]
        self.inputs = list(X.columns)

    def kept(self, name: str, make: Callable[[], Any], *settings: Any) -> Made:
        """Return a reference or a path, made if it is not there."""
        own = [self.setting.name, self.setting.n, self.seed, name, *settings]
        return kept_model(self.folder / _file_name(name), own, make)

    @cached_property
    def sampled(self) -> Made:
        """The reference: posterior draws with the paper's prior."""
        draws, tune, chains = self.setting.draws, self.setting.tune, self.setting.chains
        make = partial(
            gpproj.sample,
            *self.train,
            draws=draws,
            tune=tune,
            chains=chains,
            prior="log-uniform",
            random_state=self.seed,
            progress=False,
        )
        return self.kept("reference", make, draws, tune, chains)

    @cached_property
    def reference(self) -> gpproj.Reference:
        """The reference alone, where projections are computed."""
        found: gpproj.Reference = self.sampled.thing
        return found if self.device is None else found.to(self.device)

    @cached_property
    def fitted(self) -> Made:
        """The fit by marginal likelihood, whose length-scales give the ARD order."""
        return self.kept("fit", partial(gpproj.fit, *self.train, prior=None))

    def path(self, curve: str) -> Made:
        """Return the path of a curve."""
        if curve not in self._paths:
            own = self.setting
            settings = own.draws, own.tune, own.chains, own.sizes
            self._paths[curve] = self.kept(curve, partial(WAYS[curve], self), *settings)
        return self._paths[curve]

    @cached_property
    def _paths(self) -> dict[str, Made]:
        return {}

    @property
    def mixtures(self) -> gpproj.SearchPath:
        """The path of the search whose submodels project every draw by itself."""
        # No cached property: a search asks for evaluations, and may hold no lock then.
        if "mixtures" not in self._paths:
            path = self.path("projection, weak prior").thing
            there = path if self.device is None else path.to(self.device)
            self._paths["mixtures"] = Made(there.with_clusters("draws"), 0.0)
        found: gpproj.SearchPath = self._paths["mixtures"].thing
        return found

    @cached_property
    def own_density(self) -> np.ndarray:
        """Log densities of the test rows under the reference."""
        return np.asarray(self.reference.log_density(*self.test))

    def row(self, curve: str, size: int, model: Any, seconds: float, **more: Any) -> dict[str, Any]:
        """Score a model on the test rows, and against the reference row by row."""
        density = np.asarray(model.log_density(*self.test))
        away = density - self.own_density
        return {
            "split": self.seed,
            "curve": curve,
            "size": size,
            "log_density": float(density.mean()),
            "difference": float(away.mean()),
            "difference_se": float(away.std(ddof=1) / np.sqrt(away.size)),
            "added": "".join(getattr(model, "inputs", ())[-1:]),
            "seconds": round(seconds, 2),
            **more,
        }

    def predicting(self, model: Any) -> float:
        """Return the seconds of a thousand predictions."""
        X = self.test[0]
        rows = np.resize(np.arange(len(X)), PREDICTED)
        start = clock()
        model.predict_response(X.iloc[rows])
        return round(clock() - start, 4)


def _along(order: Callable[[Split], Any], learn: Any, prior: Any, split: Split) -> Any:
    named = order(split)
    named = named if isinstance(named, str) else list(named)[: split.setting.sizes]
    sizes = min(split.setting.sizes, len(split.inputs))
    return gpproj.project_path(split.reference, named, learn, max_inputs=sizes, prior=prior)


def _search(prior: Any, split: Split) -> Any:
    sizes = min(split.setting.sizes, len(split.inputs))
    return gpproj.forward_search(
        split.reference, sizes, learn="projection", exchange=False, prior=prior, progress=False
    )


def _found(split: Split) -> Any:
    return split.path("projection").thing.order


def _ard(split: Split) -> Any:
    return split.fitted.thing.ard_relevance().sort_values(ascending=False, kind="stable").index


def _lasso(split: Split) -> list[str]:
    """Return the inputs in the order they enter the lasso's path; those that never do come last."""
    from sklearn.linear_model import lars_path

    X, y = (np.asarray(part, dtype=float) for part in split.train)
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    _, _, coefficients = lars_path(Z, y - y.mean(), method="lasso")
    inside = coefficients != 0.0
    entered = np.where(inside.any(axis=1), inside.argmax(axis=1), inside.shape[1])
    return [split.inputs[place] for place in np.argsort(entered, kind="stable")]


WAYS: dict[str, Callable[[Split], Any]] = {
    "projection": partial(_search, None),
    "projection, marginal likelihood": partial(_along, _found, "marginal_likelihood", None),
    "ARD": partial(_along, _ard, "projection", None),
    "ARD, marginal likelihood": partial(_along, _ard, "marginal_likelihood", None),
    "projection, weak prior": partial(_search, "weak"),
    "ARD, weak prior": partial(_along, _ard, "projection", "weak"),
    "KL, weak prior": partial(_along, lambda split: "kl", "projection", "weak"),
    "lasso, weak prior": partial(_along, _lasso, "projection", "weak"),
}
"""How the paths of the curves are made."""


def _path_rows(curve: str, split: Split) -> Iterator[dict[str, Any]]:
    path, seconds = split.path(curve)
    for size in range(len(path)):
        yield split.row(curve, size, path[size], seconds)


def _reference_rows(split: Split) -> Iterator[dict[str, Any]]:
    d, (reference, seconds), (fitted, fit_seconds) = len(split.inputs), split.sampled, split.fitted
    yield split.row("reference", d, reference, seconds, predicting=split.predicting(reference))
    yield split.row("marginal likelihood fit", d, fitted, fit_seconds)


def _cluster_rows(split: Split) -> Iterator[dict[str, Any]]:
    path = split.mixtures
    for size in split.setting.at:
        if size < len(path):
            start = clock()
            model = path.submodel(size, split.setting.clusters)
            seconds = clock() - start
            yield split.row("projection, clusters", size, model, seconds)


def _draw_rows(split: Split) -> Iterator[dict[str, Any]]:
    path = split.mixtures
    for size in range(1, len(path)):
        start = clock()
        model = path[size]
        seconds = clock() - start
        yield split.row("projection, every draw", size, model, seconds)


def _full_rows(split: Split) -> Iterator[dict[str, Any]]:
    for curve, clusters in ALL_INPUTS.items():
        own: Any = split.setting.clusters if clusters == 0 else clusters
        start = clock()
        # The single one on the host, where its predictions are timed like all others.
        reference = split.sampled.thing if clusters is None else split.reference
        model = gpproj.project(reference, split.inputs, "projection", prior=None, clusters=own)
        seconds = clock() - start
        timed = {"predicting": split.predicting(model)} if clusters is None else {}
        yield split.row(curve, len(split.inputs), model, seconds, **timed)


def _suggested_rows(split: Split) -> Iterator[dict[str, Any]]:
    path = split.mixtures
    start = clock()
    cv = gpproj.validate(path.reference, path, "loo", search="once", refit=False, progress=False)
    sizes = {
        "suggested": cv.suggest_size(corrected=True),
        "suggested, not corrected": cv.suggest_size(),
    }
    seconds = clock() - start
    single = split.path("projection, weak prior").thing
    for curve, size in sizes.items():
        if size is not None:
            timed = {"predicting": split.predicting(single[size])}
            yield split.row(curve, size, path[size], seconds, **timed)


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
    folder : Path
        Made if it is not there; draws, paths and scores are kept in `folder/finished`, those of
        the quick mode in `folder/finished_quickly`.
    splits : int
        Random splits; their seeds are 0, 1, ...
    n_jobs : int or None
        Splits that run at the same time.
    device : str, optional
        Where projections are computed, such as "cuda": every draw by itself takes hours otherwise.
        Several splits go side by side there, and seconds are their shares.
    quick : bool
        Fewer draws and smaller sizes, to see in minutes that all works.
    mixtures : bool
        Whether to make submodels that are mixtures, and what depends on them; splits where all of
        that is finished already show it in any case.

    Returns
    -------
    DataFrame
        Mean test log density over the splits: one row for each curve, one column for each of some
        sizes.
    """
    import pandas as pd

    setting, finished = SETTINGS[name], folder / "finished"
    if quick:
        setting, finished = setting._replace(**QUICK), folder / "finished_quickly"
    if device is not None:
        _room(device, setting)  # which refuses one that cannot be used, at once
    finished.mkdir(parents=True, exist_ok=True)
    work = partial(rows_of, setting, finished, device=device, mixtures=mixtures)
    seeds, title = list(range(splits)), f"{name} splits"
    with warnings.catch_warnings():
        # Constant columns of a split, the short chains of the paper, no size that is enough.
        warnings.simplefilter("ignore", UserWarning)
        if device is None:
            found = run(work, seeds, n_jobs, progress=title)
        else:
            room, stream = _room(device, setting), same_stream(on_device(np.zeros(1), device))
            found = together(work, seeds, n_jobs, title, at_once=room, within=stream)
    raw = pd.DataFrame([row for rows in found for row in rows])
    raw.to_csv(folder / f"{name}.csv", index=False, float_format="%.5g")
    for part, table in (
        ("paired", paired(raw)),
        ("needed", needed(raw)),
        ("suggested", suggested(raw)),
    ):
        table.to_csv(folder / f"{name}_{part}.csv", float_format="%.5g")
    save(draw(raw, PAPER), folder / f"{name}.png")
    save(draw(raw, BEYOND), folder / f"{name}_beyond.png")
    return shown(raw, setting.at)


def _room(device: str, setting: Setting) -> int:
    """Return how many splits go side by side on a device, with all their draws."""
    room = room_for(on_device(np.zeros(1), device))
    return max(room // (4 * setting.draws * setting.n**2), 1)


def rows_of(
    setting: Setting, folder: Path, seed: int, device: str | None = None, mixtures: bool = True
) -> Rows:
    """Return the rows of one split, those kept or new ones."""
    split = Split(setting, folder, seed, device)
    split.folder.mkdir(exist_ok=True)
    files = {part: split.folder / f"{_file_name(part)}.npz" for part in PARTS}
    mixtures = mixtures or all(files[part].exists() for part in MIXTURES)
    rows: Rows = []
    for part, make in PARTS.items():
        if mixtures or part not in MIXTURES:
            rows += kept_rows(files[part], [part, list(setting), seed], partial(make, split))
    return rows


def _file_name(text: str) -> str:
    return text.replace(", ", "_").replace(" ", "-")
