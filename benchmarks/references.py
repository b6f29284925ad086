"""Which default makes the best reference: kernels, priors and draws around modes, beside others.

    python benchmarks/references.py run boston yacht+ --splits 20 --jobs 2
    python benchmarks/references.py run --splits 20 --jobs 8 --device cuda
    python benchmarks/references.py run --splits 3 --methods scikit-learn botorch
    python benchmarks/references.py table

Every method is fitted to the training rows of a split and scored by the mean log density of the
test rows. A plus behind the name of a data set adds twelve decoys to its inputs: noisy copies of
six of them, and six columns of noise. Rows go into `experiments/references/references.csv` as
splits finish; those that are there are not done again. Needs the data folder in GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import joblib
import numpy as np
import pandas as pd
from families import FAMILIES, with_decoys

import gpproj
from gpproj.kernels import Constant, Matern52, SquaredExponential

RESULTS = Path(__file__).parents[1] / "experiments" / "references" / "references.csv"
COLUMNS = ["data", "split", "method", "log_density", "noise", "seconds"]

TRAIN = {
    "boston": 300,
    "automobile": 150,
    "crime": 300,
    "energy": 300,
    "yacht": 184,
    "parkinsons": 300,
    "bike": 300,
}
"""Rows to train on; of the others, a thousand at most test."""

GPPROJ = {
    "former": {"kernel": Constant() + SquaredExponential(), "prior": "weak", "draws": 1},
    "default": {},
    "Matern mode": {"kernel": Constant() + Matern52(), "prior": "weak", "draws": 1},
    "saas mode": {"draws": 1},
    "weak draws": {"prior": "weak"},
    "botorch draws": {"prior": "botorch"},
    "inverse-gamma draws": {"prior": "inverse-gamma"},
}
"""Settings of `gpproj.fit`; the former default is the first."""

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Fitted = Callable[[np.ndarray, np.ndarray], np.ndarray]


def five_of(d: int) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]:
    """Return a strong signal of five inputs among d."""

    def data(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, d))
        f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] + 2.0 * np.cos(X[:, 4])
        return X, f + 0.2 * rng.normal(size=n)

    return data


def noise(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nothing but noise, twenty inputs."""
    return rng.normal(size=(n, 20)), rng.normal(size=n)


SIMULATED = {"noise": noise, "five of 100": five_of(100), "five of 1000": five_of(1000)}
DATA = [*TRAIN, *(f"{name}+" for name in TRAIN), *FAMILIES, *SIMULATED]


def split_of(name: str, seed: int) -> Rows:
    """Return training and test rows of one split."""
    rng = np.random.default_rng([seed, 23])
    if name in SIMULATED:
        X, y = SIMULATED[name](rng, 700)
        return X[:200], y[:200], X[200:], y[200:]
    if name in FAMILIES:
        X, y, _ = FAMILIES[name](rng, 600, 10)
        return X[:100], y[:100], X[100:], y[100:]
    table, target = getattr(gpproj.datasets, name.rstrip("+"))()
    X, y = table.to_numpy(dtype=float), np.asarray(target, dtype=float)
    y = np.log(y) if name.rstrip("+") in ("yacht", "bike") else y
    if name.endswith("+"):
        X = with_decoys(rng, X)
    rows, n = rng.permutation(len(y)), TRAIN[name.rstrip("+")]
    train, test = rows[:n], rows[n : n + 1000]
    return X[train], y[train], X[test], y[test]


def normal_log_density(y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the log density of a normal distribution."""
    return -0.5 * ((y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))


def fit_scikit_learn(X: np.ndarray, y: np.ndarray) -> Fitted:
    """Fit scikit-learn's process with length-scales by input and white noise, two restarts."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.ones(X.shape[1]), (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 10))
    model = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0)
    centre, scale, middle, unit = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
    scale = np.where(scale > 0.0, scale, 1.0)
    model.fit((X - centre) / scale, (y - middle) / unit)

    def log_density(new: np.ndarray, target: np.ndarray) -> np.ndarray:
        mean, sd = model.predict((new - centre) / scale, return_std=True)
        return normal_log_density((target - middle) / unit, mean, sd**2) - np.log(unit)

    return log_density


def fit_botorch(X: np.ndarray, y: np.ndarray) -> Fitted:
    """Fit BoTorch's default process."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    inputs, targets = (torch.tensor(part, dtype=torch.double) for part in (X, y[:, None]))
    model = SingleTaskGP(inputs, targets, input_transform=Normalize(X.shape[1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))

    def log_density(new: np.ndarray, target: np.ndarray) -> np.ndarray:
        found = model.posterior(torch.tensor(new, dtype=torch.double), observation_noise=True)
        mean, variance = (part.detach().numpy()[:, 0] for part in (found.mean, found.variance))
        return normal_log_density(target, mean, variance)

    return log_density


OTHERS = {"scikit-learn": fit_scikit_learn, "botorch": fit_botorch}


def score(name: str, seed: int, method: str, device: str | None) -> dict[str, object]:
    """Return how well one method predicts the test rows of one split."""
    X, y, X_test, y_test = split_of(name, seed)
    share, began = np.nan, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in OTHERS:
            log_density = OTHERS[method](X, y)
            seconds = time.perf_counter() - began
        else:
            reference = gpproj.fit(X, y, check=False, device=device, **GPPROJ[method])
            seconds = time.perf_counter() - began
            share = reference.noise_variance / np.var(y)
            log_density = reference.log_density
        found = float(np.mean(np.asarray(log_density(X_test, y_test))))
    return dict(zip(COLUMNS, (name, seed, method, found, share, seconds), strict=True))


def run(data: list[str], splits: int, methods: list[str], jobs: int, device: str | None) -> None:
    """Score all that is not in the file yet."""
    done = set()
    if RESULTS.exists():
        known = pd.read_csv(RESULTS)
        done = set(zip(known["data"], known["split"], known["method"], strict=True))
    tasks = [
        (name, seed, method)
        for seed in range(splits)
        for name in data
        for method in methods
        if (name, seed, method) not in done
    ]
    work = (joblib.delayed(score)(*task, device) for task in tasks)
    for row in joblib.Parallel(jobs, return_as="generator_unordered")(work):
        new = not RESULTS.exists()
        pd.DataFrame([row]).round(5).to_csv(RESULTS, mode="a", header=new, index=False)


def lead(scores: pd.DataFrame) -> str:
    """Return by how much the default predicts better than the best of its rivals, with its error.

    Rivals are the former default and those of other packages; the best one has the highest mean.
    """
    rivals = scores[["former", *OTHERS]].dropna(axis=1, how="all")
    best = str(rivals.mean().idxmax())
    gain = (scores["default"] - scores[best]).dropna()
    return f"{gain.mean():+.3f} ± {gain.sem():.3f} ({best})"


def table() -> None:
    """Print the mean difference to the former default, its standard error, and the rest."""
    found = pd.read_csv(RESULTS)
    scores = found.pivot_table(index=["data", "split"], columns="method", values="log_density")
    gains = scores.sub(scores["former"], axis=0).drop(columns="former")
    gains = gains[[name for name in (*GPPROJ, "all inputs", *OTHERS) if name in gains]]
    by_data = gains.groupby("data", sort=False)
    mean, error = by_data.mean(), by_data.sem()
    text = mean.map("{:+.3f}".format) + " ± " + error.map("{:.3f}".format)
    text = text.where(mean.notna(), "")
    text.insert(0, "former", scores["former"].groupby("data", sort=False).mean().round(3))
    text.insert(1, "splits", by_data["default"].count())
    text["default less the best rival"] = scores.groupby("data", sort=False).apply(lead)
    order = [name for name in DATA if name in text.index]
    print("| data | " + " | ".join(text.columns) + " |\n" + "|---" * (1 + text.shape[1]) + "|")
    for name in order:
        print(f"| {name} | " + " | ".join(map(str, text.loc[name])) + " |")
    print(found.groupby("method")["seconds"].median().round(2).to_string())
    left = found[found["data"] == "noise"].groupby("method")["noise"].median()
    print("share of pure noise that is left as noise, median:")
    print(left.round(3).to_string())


def main() -> None:
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["run", "table"])
    parser.add_argument("data", nargs="*", default=[])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--methods", nargs="+", default=list(GPPROJ)[:5])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device")
    given = parser.parse_args()
    if given.task == "table":
        table()
    else:
        run(given.data or DATA, given.splits, given.methods, given.jobs, given.device)


if __name__ == "__main__":
    main()
