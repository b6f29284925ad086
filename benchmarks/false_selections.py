"""How near the estimated share of useless inputs comes to the true one, where this is known.

    python benchmarks/false_selections.py run --seeds 10
    python benchmarks/false_selections.py run --model linear --seeds 200
    python benchmarks/false_selections.py run correlated steps --first 10
    python benchmarks/false_selections.py table

Of every simulated data set a reference is fitted and searched with the defaults, which gives the
true share of useless inputs among the first ones; and `gpproj.false_selections` estimates it. Data
sets are kept in `finished`, and those that are there are not done again. `false_selections.csv` has
the means over them with their standard errors: `estimated`, the estimate; `uncut`, the same before
it is cut off at one; `among_copies`, the true share among the first inputs where copies compete,
which theory speaks of; `true`, that of the search without copies; and `excess`, `uncut` less
`true`. Linear references take a hundredth of the time, and show the method by itself.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import families
import joblib
import numpy as np
import pandas as pd

import gpproj
from gpproj.validation import copies

HERE = Path(__file__).parent
RESULTS = HERE / "false_selections.csv"
FINISHED = HERE / "finished" / "false-selections"
REPEATS = 3


def effects(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return targets of a strong, a curved and a weak effect."""
    return Z[:, 0] + np.sin(1.5 * Z[:, 1]) + 0.4 * Z[:, 2] + rng.normal(size=len(Z))


def related(rng: np.random.Generator, n: int, d: int, by: float) -> np.ndarray:
    """Return normal inputs, every two of them correlated by the same number."""
    return np.sqrt(by) * rng.normal(size=(n, 1)) + np.sqrt(1.0 - by) * rng.normal(size=(n, d))


def independent(rng: np.random.Generator, n: int, d: int) -> families.Data:
    """Three of the inputs matter."""
    X = rng.normal(size=(n, d))
    return X, effects(X, rng), [0, 1, 2]


def correlated(rng: np.random.Generator, n: int, d: int) -> families.Data:
    """The same, with all inputs correlated by 0.8."""
    X = related(rng, n, d, 0.8)
    return X, effects(X, rng), [0, 1, 2]


def many(rng: np.random.Generator, n: int, d: int) -> families.Data:
    """Five of many inputs matter."""
    X = rng.normal(size=(n, d))
    return X, X[:, :5] @ [1.0, 0.8, 0.6, 0.5, 0.4] + 0.7 * rng.normal(size=n), [*range(5)]


def discrete(rng: np.random.Generator, n: int, d: int) -> families.Data:
    """Correlated inputs, some with two values and some with four; three matter."""
    X = related(rng, n, d, 0.6)
    X[:, ::3] = X[:, ::3] > 0.3
    X[:, 1::3] = np.digitize(X[:, 1::3], [-1.0, 0.0, 1.0])
    return X, X[:, :3] @ [1.5, 0.8, 0.5] + rng.normal(size=n), [0, 1, 2]


def classes(rng: np.random.Generator, n: int, d: int) -> families.Data:
    """Two classes, by three of the inputs."""
    X = related(rng, n, d, 0.5)
    return X, (effects(2.0 * X, rng) > 0.0).astype(float), [0, 1, 2]


class Design(NamedTuple):
    """What is simulated, how much of it, and how it is modelled."""

    data: Callable[[np.random.Generator, int, int], families.Data]
    n: int = 100
    d: int = 10
    most: int = 6
    likelihood: str = "gaussian"
    copies: str = "knockoffs"


DESIGNS = {
    "nothing": Design(families.nothing),
    "independent": Design(independent),
    "correlated": Design(correlated),
    "correlated, permuted": Design(correlated, copies="permuted"),
    "many": Design(many, d=30, most=10),
    "few rows": Design(many, n=40, d=30, most=10),
    "discrete": Design(discrete),
    "classes": Design(classes, n=150, likelihood="bernoulli"),
    "stand_ins": Design(families.stand_ins),
    "interaction": Design(families.interaction),
    "steps": Design(families.steps),
    "persons": Design(families.persons),
    "replicates": Design(families.replicates),
}


LINEAR = tuple(name for name in DESIGNS if name not in ("classes", "interaction", "steps"))
"""Those whose effects a linear model sees, at least in part."""


def reference_of(model: str, X: np.ndarray, y: np.ndarray, likelihood: str) -> gpproj.Reference:
    """Return a reference with the defaults."""
    if model == "linear":
        return gpproj.sample_linear(X, y, draws=50, random_state=0)
    return gpproj.fit(X, y, likelihood, check=False)


def measure(model: str, name: str, seed: int) -> pd.DataFrame:
    """Return the estimated and the true shares of one data set."""
    design = DESIGNS[name]
    X, y, useful = design.data(np.random.default_rng([seed, 84]), design.n, design.d)
    useless = ~np.isin(np.arange(design.d), useful)
    size = np.arange(1, design.most + 1)
    ref = reference_of(model, X, y, design.likelihood)
    path = gpproj.forward_search(ref, design.most, progress=False)
    # Which inputs have entered beside their copies is not among the results.
    seen: list[np.ndarray] = []

    def noted(entered: list[tuple[str, bool]]) -> np.ndarray:
        order = [ref.feature_names.index(one) for one, is_copy in entered if not is_copy]
        if len(order) >= design.most:
            seen.append(np.cumsum(useless[order[: design.most]]) / size)
        return counted(entered)

    counted, copies.useless_counts = copies.useless_counts, noted
    try:
        found = gpproj.false_selections(
            ref,
            design.most,
            copies=design.copies,
            repeats=REPEATS,
            random_state=seed,
            progress=False,
        )
    finally:
        copies.useless_counts = counted
    return found.reset_index().assign(
        design=name,
        seed=seed,
        true=np.cumsum(useless[list(path.positions)]) / size,
        among_copies=np.mean(seen, axis=0),
    )


def file_of(model: str, name: str, seed: int) -> Path:
    """Return where the shares of a data set are kept."""
    return FINISHED / f"{model}_{name}_{seed}.csv"


def quiet(model: str, name: str, seed: int) -> str:
    """Measure a data set without its warnings, and keep it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure(model, name, seed).assign(model=model)
    FINISHED.mkdir(parents=True, exist_ok=True)
    found.to_csv(file_of(model, name, seed), index=False)
    return f"{model} {name} {seed}"


def run(model: str, names: list[str], seeds: range, jobs: int) -> None:
    """Measure the data sets that are missing, and write the means of all."""
    names = names or [*(LINEAR if model == "linear" else DESIGNS)]
    wanted = [(model, name, seed) for seed in seeds for name in names]
    parallel = joblib.Parallel(jobs, return_as="generator_unordered")
    missing = [one for one in wanted if not file_of(*one).exists()]
    for said in parallel(joblib.delayed(quiet)(*one) for one in missing):
        print(said, flush=True)
    write()


def write() -> None:
    """Write means over the data sets, with standard errors."""
    every = pd.concat(pd.read_csv(file) for file in FINISHED.glob("*.csv"))
    every = every.assign(estimated=every["share"], uncut=every["useless"] / every["size"])
    every["excess"] = every["uncut"] - every["true"]
    groups = every.groupby(["model", "design", "size"])
    shown = ["estimated", "uncut", "among_copies", "true", "excess"]
    table = groups[shown].mean().join(groups[shown].sem().add_suffix("_se"))
    table.insert(0, "data_sets", groups.size())
    table.to_csv(RESULTS, float_format="%.4f")


def table() -> pd.DataFrame:
    """Return estimated and true shares side by side, at a few sizes."""
    found = pd.read_csv(RESULTS)
    found["text"] = [
        f"{row.estimated:.2f} / {row.true:.2f} ({row.excess:+.2f} ± {row.excess_se:.2f})"
        for row in found.itertuples()
    ]
    found = found[found["size"].isin([1, 2, 3, 4, 6, 10])]
    return found.pivot(index=["model", "design", "data_sets"], columns="size", values="text")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("designs", nargs="*", metavar="design", help=", ".join(DESIGNS))
    running.add_argument("--model", choices=["process", "linear"], default="process")
    running.add_argument("--first", type=int, default=0)
    running.add_argument("--seeds", type=int, default=20)
    running.add_argument("--jobs", type=int, default=1)
    commands.add_parser("write")
    commands.add_parser("table")
    options = parser.parse_args()
    if options.command == "run":
        seeds = range(options.first, options.first + options.seeds)
        run(options.model, options.designs, seeds, options.jobs)
    elif options.command == "write":
        write()
    else:
        print(table().fillna("").to_string())
