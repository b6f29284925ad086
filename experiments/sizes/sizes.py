"""Which sizes are suggested, and what they keep on rows that nobody has seen.

    python experiments/sizes/sizes.py run boston pima --splits 50 --jobs 2
    python experiments/sizes/sizes.py run simulated --splits 50
    python experiments/sizes/sizes.py run real --splits 20 --jobs 8 --device cuda
    python experiments/sizes/sizes.py table

On every split a reference is fitted to the training rows, searched and validated in five folds, all
with their defaults. Each suggested submodel is then compared with the reference and the null model
by log densities of the test rows: the share kept is one less the reference's lead over the
submodel, divided by its lead over the null model, both on the test rows. Validations are saved in
`finished`, with the log densities of the test rows, and splits that are there are not done again;
`judge` applies the rules to them, and writes `sizes.csv`. Needs the data folder in GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import joblib
import numpy as np
import pandas as pd

import gpproj

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
import families

RESULTS = HERE / "sizes.csv"
FINISHED = HERE / "finished"


class Case(NamedTuple):
    """A data set: rows to train on, inputs at most, and the likelihood."""

    train: int
    most: int | None = None
    likelihood: str = "gaussian"


REAL = {
    "boston": Case(300),
    "automobile": Case(150),
    "crime": Case(400, 12),
    "energy": Case(300),
    "yacht": Case(150),
    "parkinsons": Case(300, 12),
    "bike": Case(300),
    "pima": Case(300, None, "bernoulli"),
    "heart": Case(180, None, "bernoulli"),
}
SIMULATED = {
    name: Case(100)
    for name in ("sines", "interaction", "stand_ins", "steps", "outliers", "nothing")
}
CASES = REAL | SIMULATED
GROUPS = {"real": tuple(REAL), "simulated": tuple(SIMULATED), "all": tuple(CASES)}
INPUTS, TEST = 10, 1000
"""Inputs of simulated data, and test rows at most."""

RULES = ("margin", "se", "elpd")


def generator(seed: int) -> np.random.Generator:
    """Return the source of everything random of a split."""
    return np.random.default_rng([seed, 25])


def split_of(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows of one split."""
    rng, n = generator(seed), CASES[name].train
    if name in SIMULATED:
        X, y, _ = families.FAMILIES[name](rng, n + TEST, INPUTS)
        return X[:n], y[:n], X[n:], y[n:]
    X, y = getattr(gpproj.datasets, name)()
    rows = rng.permutation(len(y))
    train, test = rows[:n], rows[n : n + TEST]
    return X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]


def measure(name: str, seed: int, device: str | None = None) -> str:
    """Validate one split, and keep it with the log densities of the test rows."""
    case = CASES[name]
    X, y, X_test, y_test = split_of(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ref = gpproj.fit(X, y, case.likelihood, check=False, device=device)
        path = gpproj.forward_search(ref, case.most, progress=False)
        cv = gpproj.validate(ref, path, folds=5, random_state=seed, progress=False)
        models = [ref, *(path.best(size) for size in range(len(path)))]
        tested = np.stack([np.asarray(one.log_density(X_test, y_test)) for one in models])
    FINISHED.mkdir(exist_ok=True)
    cv.save(FINISHED / f"{name}_{seed}", overwrite=True)
    np.save(tests_of(name, seed), tested)
    return f"{name} {seed}"


def tests_of(name: str, seed: int) -> Path:
    """Return where the log densities of a split's test rows are kept, which is written last."""
    return FINISHED / f"{name}_{seed}.npy"


def judged(name: str, seed: int) -> pd.DataFrame:
    """Return a row for each size of one split."""
    tested, cv = np.load(tests_of(name, seed)), gpproj.load(FINISHED / f"{name}_{seed}")
    table = cv.summary("elpd").reset_index()
    found = table[["size", "verdict", "kept", "kept_low", "kept_high", "expected_kept"]].copy()
    found[["elpd_diff", "elpd_diff_se"]] = table[["elpd_diff", "elpd_diff_se"]]
    loss = tested[0] - tested[1:]
    gain = loss[0]
    contrast = loss - cv.margin.value * gain
    found["test_loss"], found["test_gain"] = loss.mean(axis=1), gain.mean()
    found["test_excess"] = contrast.mean(axis=1)
    found["test_excess_se"] = contrast.std(axis=1, ddof=1) / np.sqrt(gain.size)
    sizes = {"possible": cv.sizes.smallest_possible}
    sizes |= {rule: cv.smallest_enough(rule) for rule in RULES}
    for rule, size in sizes.items():
        found[rule] = np.nan if size is None else size
    found["missed"], found["false"] = against_truth(name, seed, cv, sizes["margin"])
    found.insert(0, "split", seed)
    found.insert(0, "data", name)
    return found


def against_truth(
    name: str, seed: int, cv: gpproj.Validation, size: int | None
) -> tuple[float, float]:
    """Return how many true inputs a suggestion lacks, and how many of its inputs are not true.

    Not numbers where nobody knows the truth, or nothing is suggested.
    """
    if name not in SIMULATED or size is None:
        return np.nan, np.nan
    truth = families.FAMILIES[name](generator(seed), 10, INPUTS)[2]
    names = cv.path.reference.feature_names
    chosen = {unit.name for unit in cv.path.best_subset(size).units}
    true = {names[position] for position in truth}
    return float(len(true - chosen)), float(len(chosen - true))


def run(names: list[str], splits: int, jobs: int, device: str | None = None) -> None:
    """Measure the splits that are missing, and judge all of them."""
    names = [one for name in names for one in GROUPS.get(name, (name,))]
    wanted = [(name, seed) for seed in range(splits) for name in names]
    parallel = joblib.Parallel(jobs, return_as="generator_unordered")
    missing = [one for one in wanted if not tests_of(*one).exists()]
    for said in parallel(joblib.delayed(measure)(*one, device) for one in missing):
        print(said, flush=True)
    judge()


def judge() -> None:
    """Write the results of all splits that are there, beside those of others that are written."""
    there = [file.stem.rsplit("_", 1) for file in FINISHED.glob("*.npy")]
    found = sorted((name, int(seed)) for name, seed in there)
    tables = [judged(*one) for one in found]
    if RESULTS.exists():
        before = pd.read_csv(RESULTS)
        own = pd.MultiIndex.from_frame(before[["data", "split"]])
        tables.append(before[~own.isin(found)])
    every = pd.concat(tables).sort_values(["data", "split", "size"], kind="stable")
    every.to_csv(RESULTS, index=False, float_format="%.5g")


def table() -> pd.DataFrame:
    """Return, for each data set and rule, how often a size was suggested and what it keeps.

    `kept` is the mean share kept on test rows, as a ratio of means over the splits; `too little`
    the share of the suggestions that lose more than 5 % of the gain by more than two standard
    errors of the test rows; `size` the median of the sizes, and `ratio` that of their ratios to the
    smallest size that keeps 95 % on the test rows.
    """
    results, lines = pd.read_csv(RESULTS), []
    for (data, rule), of_rule in (
        ((data, rule), part) for data, part in results.groupby("data") for rule in RULES
    ):
        splits = of_rule.groupby("split")
        enough = of_rule[of_rule.test_excess <= 0.0].groupby("split")["size"].min()
        chosen = of_rule[of_rule["size"] == of_rule[rule]].set_index("split")
        ratio = chosen["size"] / enough.reindex(chosen.index).clip(lower=1)
        lines.append(
            {
                "data": data,
                "rule": rule,
                "splits": splits.ngroups,
                "suggested": len(chosen),
                "kept": 1.0 - chosen.test_loss.sum() / (chosen.test_gain.sum() or np.nan),
                "too little": np.mean(chosen.test_excess > 2.0 * chosen.test_excess_se),
                "size": chosen["size"].median(),
                "ratio": ratio.median(),
            }
        )
    return pd.DataFrame(lines).round(3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("data", nargs="+", choices=[*CASES, *GROUPS])
    running.add_argument("--splits", type=int, default=20)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--device")
    commands.add_parser("judge")
    commands.add_parser("table")
    options = parser.parse_args()
    if options.command == "run":
        run(options.data, options.splits, options.jobs, options.device)
    elif options.command == "judge":
        judge()
    else:
        print(table().to_string(index=False))
