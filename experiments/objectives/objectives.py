"""How submodels are best learned and compared: the study behind the defaults.

    python experiments/objectives/objectives.py run boston yacht+ --splits 20
    python experiments/objectives/objectives.py run simulated --splits 20
    python experiments/objectives/objectives.py table

On every split a reference is fitted to the training rows, and each variant searches forward for six
inputs. A variant is a way of learning (`learn=`), a prior of submodels (`prior=`) and a figure that
sets of inputs are compared by (`criterion=`). `path.best(k)` is scored by the mean log density of
the test rows. A plus behind the name of a data set adds twelve decoys to its inputs: noisy copies
of six of them, and six columns of noise. Rows go into `objectives.csv` as splits finish; those that
are there are not done again. Needs the data folder in GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import warnings
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
import pandas as pd

import gpproj

HERE = Path(__file__).parent
RESULTS = HERE / "objectives.csv"
SIZES = (1, 2, 3, 4, 6)

TRAIN = {
    "boston": 300,
    "automobile": 150,
    "crime": 400,
    "energy": 300,
    "yacht": 150,
    "parkinsons": 300,
    "bike": 300,
}
"""Rows to train on; the others test."""

VARIANTS = {
    "paper": {"learn": "projection", "prior": None},
    "paper, weak prior": {"learn": "projection", "prior": "weak"},
    "loo": {"learn": "loo", "prior": None},
    "loo, weak prior": {"learn": "loo", "prior": "weak"},
    "loo, reference prior": {"learn": "loo", "prior": "reference"},
    "loo, compared by the paper": {
        "learn": "loo",
        "prior": "reference",
        "criterion": "projection_error",
    },
    "paper, compared by loo": {
        "learn": "projection",
        "prior": "weak",
        "criterion": "loo_divergence",
    },
}

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def families() -> dict[str, object]:
    """Return the simulated families of the benchmarks."""
    file = HERE.parents[1] / "benchmarks" / "families.py"
    spec = importlib.util.spec_from_file_location("families", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["families"] = module
    spec.loader.exec_module(module)
    return dict(module.FAMILIES)


def split_of(name: str, seed: int) -> Rows:
    """Return training and test rows of one split."""
    rng = np.random.default_rng([seed, 20])
    if name not in TRAIN and name.rstrip("+") not in TRAIN:
        X, y, _ = families()[name](rng, 150 + 400, 10)  # type: ignore[operator]
        return X[:150], y[:150], X[150:], y[150:]
    table, target = getattr(gpproj.datasets, name.rstrip("+"))()
    X, y = table.to_numpy(dtype=float), np.asarray(target, dtype=float)
    if name.endswith("+"):
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        copied = Z[:, rng.integers(X.shape[1], size=6)]
        copies = 0.8 * copied + 0.6 * rng.normal(size=copied.shape)
        X = np.c_[X, copies, rng.normal(size=copies.shape)]
    rows, n = rng.permutation(len(y)), TRAIN[name.rstrip("+")]
    train, test = rows[:n], rows[n : n + 1000]
    return X[train], y[train], X[test], y[test]


def study(name: str, seed: int) -> pd.DataFrame:
    """Return the scores of all variants on one split."""
    X, y, X_test, y_test = split_of(name, seed)
    reference = gpproj.fit(X, y)
    rows = []

    def record(variant: str, size: int, model: object, predicted: np.ndarray) -> None:
        score = float(np.mean(model.log_density(X_test, y_test)))  # type: ignore[attr-defined]
        error = float(np.sqrt(np.mean((y_test - predicted) ** 2)) / np.std(y_test))
        rows.append((name, seed, variant, size, score, error))

    record("reference", X.shape[1], reference, reference.predict_response(X_test).mean)
    most = min(max(SIZES), X.shape[1])
    for variant, settings in VARIANTS.items():
        path = gpproj.forward_search(reference, most, progress=False, **settings)
        for size in (0, *SIZES):
            if size <= most:
                model = path.best(size)
                record(variant, size, model, model.predict_response(X_test).mean)
    return pd.DataFrame(rows, columns=["data", "split", "variant", "size", "mlpd", "error"])


def run(names: list[str], splits: int) -> None:
    """Add the splits that are missing to the results."""
    if names == ["simulated"]:
        names = list(families())
    for name in names:
        for seed in range(splits):
            known = pd.read_csv(RESULTS) if RESULTS.exists() else None
            if known is not None and ((known.data == name) & (known.split == seed)).any():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = study(name, seed)
            found.to_csv(
                RESULTS, mode="a", header=not RESULTS.exists(), index=False, float_format="%.5g"
            )
            print(f"{name} {seed}", flush=True)


def table(sizes: tuple[int, ...] = SIZES) -> pd.DataFrame:
    """Return the mean gain over the paper's projection with a weak prior, by data and variant."""
    results = pd.read_csv(RESULTS)
    results = results[results["size"].isin(sizes) & (results.variant != "reference")]
    wide = results.pivot_table(index=["data", "split", "size"], columns="variant", values="mlpd")
    gains = wide.sub(wide["paper, weak prior"], axis=0)[list(VARIANTS)]
    return gains.groupby("data").mean().round(3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("data", nargs="+")
    running.add_argument("--splits", type=int, default=20)
    commands.add_parser("table")
    given = parser.parse_args()
    if given.command == "run":
        run(given.data, given.splits)
    else:
        print(table().to_string())
