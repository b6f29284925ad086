"""How submodels are best learned and sets of inputs best compared: the study behind the defaults.

    python experiments/objectives/objectives.py run boston yacht+ --splits 20 --jobs 2
    python experiments/objectives/objectives.py run simulated --splits 20
    python experiments/objectives/objectives.py run crime --splits 20 --jobs 6 --device cuda
    python experiments/objectives/objectives.py tables

On every split a reference is fitted to the training rows, and two searches look for the best sets
of inputs: one compares sets by the divergence of leave-one-out predictions, one by the paper's
projection error. The sets of both are then learned in six ways, and each submodel is scored by the
mean log density of the test rows; so the way of learning is judged on the same sets, and the way of
comparing with the same way of learning. A plus behind the name of a data set adds twelve decoys to
its inputs: noisy copies of six of them, and six columns of noise. Rows go into `objectives.csv` as
splits finish; those that are there are not done again. Needs the data folder in GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import joblib
import numpy as np
import pandas as pd

import gpproj
from gpproj.kernels import Constant, SquaredExponential

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
import families

RESULTS = HERE / "objectives.csv"
SIZES = (1, 2, 3, 4, 6)
SIMULATED = {"train": 100, "test": 500, "inputs": 10, "sizes": 4}

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

SEARCHES = {
    "projection": {"learn": "projection", "prior": "weak"},
    "loo": {"learn": "loo"},
}
"""Each compares sets by its own figure."""

LEARNERS = {
    "paper, no prior": {"learn": "projection", "prior": None},
    "paper, weak": {"learn": "projection", "prior": "weak"},
    "likelihood, weak": {"learn": "marginal_likelihood", "prior": "weak"},
    "loo, no prior": {"learn": "loo", "prior": None},
    "loo, weak": {"learn": "loo", "prior": "weak"},
    "loo, reference": {"learn": "loo", "prior": "reference"},
}

COLUMNS = ["data", "split", "searched", "learned", "size", "mlpd", "error"]

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def split_of(name: str, seed: int) -> Rows:
    """Return training and test rows of one split."""
    rng = np.random.default_rng([seed, 20])
    if name not in TRAIN and name.rstrip("+") not in TRAIN:
        n, more = SIMULATED["train"], SIMULATED["test"]
        X, y, _ = families.FAMILIES[name](rng, n + more, SIMULATED["inputs"])
        return X[:n], y[:n], X[n:], y[n:]
    table, target = getattr(gpproj.datasets, name.rstrip("+"))()
    X, y = table.to_numpy(dtype=float), np.asarray(target, dtype=float)
    if name.endswith("+"):
        X = families.with_decoys(rng, X)
    rows, n = rng.permutation(len(y)), TRAIN[name.rstrip("+")]
    train, test = rows[:n], rows[n : n + 1000]
    return X[train], y[train], X[test], y[test]


def study(name: str, seed: int, device: str | None = None) -> pd.DataFrame:
    """Return the scores of all sets and all ways of learning on one split."""
    X, y, X_test, y_test = split_of(name, seed)
    reference = gpproj.fit(
        X,
        y,
        kernel=Constant() + SquaredExponential(),
        draws=1,
        prior="weak",
        check=False,
        device=device,
    )

    def scores(model: gpproj.Reference | gpproj.Submodel) -> tuple[float, float]:
        misses = y_test - model.predict_response(X_test).mean
        density = float(np.mean(model.log_density(X_test, y_test)))
        return density, float(np.sqrt(np.mean(misses**2)) / np.std(y_test))

    most = SIMULATED["sizes"] if name in families.FAMILIES else min(max(SIZES), X.shape[1])
    rows = [(name, seed, "", "reference", X.shape[1], *scores(reference))]
    known: dict[tuple[str, ...], list[tuple[str, float, float]]] = {}
    for searched, settings in SEARCHES.items():
        path = gpproj.forward_search(reference, most, progress=False, **settings)
        for size in (one for one in SIZES if one <= most):
            inputs = path.best(size).inputs
            if inputs not in known:
                models = {
                    how: gpproj.project(reference, inputs, **LEARNERS[how]) for how in LEARNERS
                }
                known[inputs] = [(how, *scores(model)) for how, model in models.items()]
            rows += [(name, seed, searched, how, size, *found) for how, *found in known[inputs]]
    return pd.DataFrame(rows, columns=COLUMNS)


def quiet(name: str, seed: int, device: str | None = None) -> pd.DataFrame:
    """Return the study of a split without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return study(name, seed, device)


def run(names: list[str], splits: int, jobs: int, device: str | None = None) -> None:
    """Add the splits that are missing to the results."""
    every = {"simulated": list(families.FAMILIES)}
    names = [one for name in names for one in every.get(name, [name])]
    done = set()
    if RESULTS.exists():
        done = set(pd.read_csv(RESULTS)[["data", "split"]].itertuples(index=False, name=None))
    wanted = [(name, seed) for seed in range(splits) for name in names]
    parallel = joblib.Parallel(jobs, return_as="generator_unordered")
    missing = (one for one in wanted if one not in done)
    for found in parallel(joblib.delayed(quiet)(*one, device) for one in missing):
        found.to_csv(
            RESULTS, mode="a", header=not RESULTS.exists(), index=False, float_format="%.5g"
        )
        print(found.data[0], found.split[0], flush=True)


def tables() -> dict[str, pd.DataFrame]:
    """Return mean gains in log density, in nats for a test row, by data set.

    Of ways of learning over the paper's with a weak prior on the same sets, and of sets that were
    compared by leave-one-out predictions over sets that were compared by projection errors, both
    learned by default. Standard errors are over splits; the last ones are of the default way of
    learning, and of the mean over the sizes.
    """
    results = pd.read_csv(RESULTS)
    results = results[results.learned != "reference"]
    index = ["data", "split", "searched", "size"]
    wide = results.pivot_table(index=index, columns="learned", values="mlpd")[list(LEARNERS)]
    over = wide.sub(wide["paper, weak"], axis=0)
    learned = over.groupby("data").mean()
    learned.insert(0, "splits", results.groupby("data").split.nunique())
    learned["standard error"] = _standard_error(over["loo, reference"])
    compared = wide["loo, reference"].unstack("searched")
    gain = compared["loo"] - compared["projection"]
    gains = gain.unstack("size").groupby("data").mean()
    gains["mean"] = gain.groupby("data").mean()
    gains["standard error"] = _standard_error(gain)
    return {"learned": learned.round(3), "compared": gains.round(3)}


def _standard_error(gains: pd.Series) -> pd.Series:
    """Return the standard error over splits of the mean gain on each data set."""
    splits = gains.groupby(["data", "split"]).mean().groupby("data")
    return splits.std() / np.sqrt(splits.count())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("data", nargs="+")
    running.add_argument("--splits", type=int, default=20)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--device", help="where to compute, such as cuda; this processor if not")
    commands.add_parser("tables")
    given = parser.parse_args()
    if given.command == "run":
        run(given.data, given.splits, given.jobs, given.device)
    else:
        for title, table in tables().items():
            print(title, table.to_string(), sep="\n", end="\n\n")
