"""Writes the sample of a format, which later versions of gpproj have to read: `python make.py v7`.

Run it once, when the format of folders goes up, and commit what it writes. A sample stays for as
long as its format is read.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import gpproj
from gpproj.kernels import Constant, Linear, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.priors import Gamma, LogNormal
from gpproj.reference import MomentReference
from tests.fitting import fit_mode

HERE = Path(__file__).resolve().parent
NEW = pd.DataFrame({"a": [0.0, 1.5], "b": [-1.0, 0.25], "c": [0.5, 0.5], "d": [2.0, 0.0]})
Y_NEW = np.array([1.0, 2.5])
CLASSES_NEW = ["yes", "no"]
COUNTS_NEW, EXPOSURE_NEW = [0, 4], [0.5, 3.0]


def figures(thing):
    """Return numbers and sentences that a sample must give again."""
    if isinstance(thing, gpproj.Validation):
        return {
            "summary": numbers(thing.summary()),
            "along": numbers(thing.along_path().summary()),
            "comparison": numbers(thing.comparison()),
            "answer": [thing.answer()],
            "path": figures(thing.path),
        }
    if isinstance(thing, gpproj.SearchPath):
        return path_figures(thing)
    if isinstance(thing, MomentReference):
        own = [thing.latent_mean, thing.latent_cov.diagonal(), *thing.loo()]
        return {"latent": [values.tolist() for values in own], "noise": thing.noise_variance}
    lost = {}
    if isinstance(thing, gpproj.Submodel):
        names = ("posterior_kl", "projection_error", "loo_divergence")
        lost = {
            "lost": [getattr(thing, name) for name in names],
            "problems": list(thing.problems),
        }
    kind, names = thing.columns.kind, thing.columns.feature_names
    X = NEW if thing.columns.named else NEW.iloc[:, : len(names)].to_numpy()
    if kind == "real":
        own = [*thing.predict(X), thing.log_density(X, Y_NEW)]
        noise = {"noise": thing.noise_variance}
        return {**lost, "predicted": [values.tolist() for values in own], **noise}
    y, exposure = (COUNTS_NEW, EXPOSURE_NEW) if kind == "count" else (CLASSES_NEW, None)
    own = [*thing.predict(X), *thing.predict_response(X, exposure)]
    own.append(thing.log_density(X, y, exposure))
    return {**lost, "predicted": [values.tolist() for values in own]}


def path_figures(path):
    """Return what a path says, and what its submodels do: the nested and the best ones."""
    sizes = range(len(path))
    models = [path.reference, *(path[size] for size in sizes)]
    models += [path.best(size) for size in sizes if path.is_better(size)]
    said = [path.learn, path.criterion, *path.order, *path.problems]
    said += [", ".join(path.best_inputs(size)) for size in sizes]
    said += [", ".join(unit.name for unit in own.units) for own in path.pool]
    return {
        "said": said,
        "summary": numbers(path.summary()),
        "ends": [path.null_error, path.full_error],
        "pool": [own.projection.error for own in path.pool],
        "models": [figures(model) for model in models],
    }


def numbers(table):
    return table.select_dtypes("number").to_numpy().tolist()


def samples():
    """Return small things of every kind, with most of what a format has to hold."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((10, 3)), columns=list("abc"))
    y = 2.0 + np.sin(2 * X["a"]) + X["b"] + 0.2 * rng.standard_normal(10)
    prior = {"lengthscale": LogNormal(2.0, 0.5), "noise_variance": Gamma(1.0, 2.0)}
    fitted = fit_mode(X, y, kernel=Constant() + Matern52(), prior=prior)
    grouped = gpproj.forward_search(
        fitted, always=["c"], groups={"pair": ["a", "b"]}, costs={"pair": 2.0}, progress=False
    )
    sampled = gpproj.sample(X[["a", "b"]], y, 8, tune=20, random_state=0, progress=False)
    kernel = Constant(2.0) + SquaredExponential(1.0, 2.0) * Linear([1.0, 2.0, 0.5])
    given = gpproj.condition(X.to_numpy(), y, kernel, Gaussian(0.1), standardize=False)
    order = gpproj.project_path(given, ["x1", "x0"], "marginal_likelihood")
    labels = np.where(y > 2.0, "yes", "no")
    classes = gpproj.forward_search(fit_mode(X, labels, "bernoulli"), 1, progress=False)
    exposure = rng.uniform(0.5, 2.0, 10)
    counts = rng.poisson(exposure * np.exp(0.5 * y))
    rates = fit_mode(X, counts, "negative-binomial", exposure=exposure)
    inducing = gpproj.Sparse(5, "fitc", "kmeans")
    through = fit_mode(X, y, kernel=Constant() + SquaredExponential(), inference=inducing)
    searched = gpproj.forward_search(
        through, 2, learn="projection", search_rows=8, random_state=1, progress=False
    )
    points = gpproj.Sparse(X[["c", "a", "b"]][:4])
    named = gpproj.condition(X, y, kernel, Gaussian(0.1), points, standardize=True)
    draws = y.to_numpy() + 0.3 * rng.standard_normal((12, 10)) + rng.standard_normal((12, 1))
    drawn = gpproj.from_draws(X, y, draws, 3.0)
    return {
        "reference": sampled,
        "submodel": gpproj.project(sampled, ["b"], clusters=2),
        "path": order,
        "grouped": grouped,
        "validation": exchanged(rng),
        "classes": classes,
        "counts": gpproj.project(rates, ["a"]),
        "sparse": searched,
        "points": named,
        "foreign": gpproj.project_path(drawn, ["a"]),
    }


def exchanged(rng):
    """Return the validation of a path whose best pair is not the one that was grown."""
    X = pd.DataFrame(rng.standard_normal((14, 4)), columns=list("abcd"))
    y = X["a"] + X["b"]
    X["c"] = y + 0.5 * X["c"]
    kernel = Constant() + SquaredExponential(4.0, [4.0, 4.0, 8.0, 8.0])
    ref = gpproj.condition(X, y, kernel, Gaussian(0.01), standardize=True)
    path = gpproj.forward_search(ref, 2, progress=False)
    return gpproj.validate(
        ref, path, folds=2, compare=["process", "linear"], random_state=0, progress=False
    )


def main(version):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made = samples()
    (HERE / version).mkdir()
    for name, thing in made.items():
        thing.save(HERE / version / name)
    known = {name: figures(thing) for name, thing in made.items()}
    (HERE / version / "figures.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
