"""Random splits of real data: the reference of one, the paths of several orders, and scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lars_path

import gpproj
from reproduction.running import Made, file_name, kept_model, random_split, timed

Host = NDArray[np.float64]


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
        X, y, X_test, y_test = random_split(setting.name, seed, setting.n)
        self.train, self.test = (X, y), (X_test, y_test)
        self.inputs = list(X.columns)
        self._paths: dict[str, Made] = {}

    def kept(self, name: str, make: Callable[[], Any], *settings: Any) -> Made:
        """Return a reference or a path, made if it is not there."""
        own = [self.setting.name, self.setting.n, self.seed, name, *settings]
        return kept_model(self.folder / file_name(name), own, make)

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
    def reference(self) -> gpproj.GaussianProcessReference:
        """The reference alone, where projections are computed."""
        found: gpproj.GaussianProcessReference = self.sampled.thing
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
    def mixtures(self) -> gpproj.SearchPath:
        """The path of the search whose submodels project every draw by itself."""
        path: gpproj.SearchPath = self.path("projection, weak prior").thing
        there = path if self.device is None else path.to(self.device)
        return there.with_clusters("draws")

    def density(self, model: Any) -> Host:
        """Return log densities of the test rows."""
        return np.asarray(model.log_density(*self.test))

    @cached_property
    def own_density(self) -> Host:
        """Those of the reference."""
        return self.density(self.reference)

    def row(self, curve: str, size: int, model: Any, seconds: float, **more: Any) -> dict[str, Any]:
        """Score a model on the test rows, and against the reference row by row."""
        density = self.density(model)
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
        return round(timed(partial(model.predict_response, X.iloc[rows])).seconds, 4)


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
