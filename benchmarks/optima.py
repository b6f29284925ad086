"""Whether projections end in the deepest valley: all subsets of small data against random restarts.

    python benchmarks/optima.py --json                          about half an hour on one core
    python benchmarks/optima.py --families ring whole --seeds 2

For every family of `benchmarks/families.py` (60 rows, four inputs) and every subset of the inputs,
SciPy's L-BFGS-B minimises the objective of the projection from ten random starts. `missed` counts
subsets where a restart ends lower than the projection by more than 1e-3 nats. `better_elsewhere`
counts subsets where an end that is *higher* predicts new rows better by more than 0.1 in R2: the
lowest optimum is then not the best model, which no optimiser can repair.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import warnings
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import joblib
import numpy as np
from families import FAMILIES
from scipy.optimize import minimize

import gpproj
from gpproj.projection import (
    Projection,
    ProjectionOptions,
    Projector,
    mask_of,
    projector_of,
)
from gpproj.projection.clusters import project_clusters
from gpproj.projection.loss import Loss

ROWS, INPUTS, NEW_ROWS, RESTARTS = 60, 4, 500, 10
MISSED, BETTER = 1e-3, 0.1


def r_squared(
    reference: gpproj.Reference,
    projector: Projector,
    found: Projection,
    inputs: tuple[int, ...],
    X: np.ndarray,
    y: np.ndarray,
) -> float:
    """Return the share of the variance of new rows that a submodel explains."""
    model = project_clusters(reference, projector, found, inputs)
    return 1.0 - float(np.mean((y - model.predict(X).mean) ** 2) / np.var(y))


def seed_of(name: str, seed: int, learn: str) -> dict[str, Any]:
    """Restart all subsets of one data set."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 60])
    X, y, _ = FAMILIES[name](rng, ROWS + NEW_ROWS, INPUTS)
    X_new, y_new = X[ROWS:], y[ROWS:]
    reference = gpproj.fit(X[:ROWS], y[:ROWS])
    projector = projector_of(reference, ProjectionOptions(learn))
    lower, upper = projector.family.bounds
    misses, elsewhere, subsets = [], [], 0
    for size in range(1, INPUTS + 1):
        for inputs in itertools.combinations(range(INPUTS), size):
            subsets += 1
            mask = mask_of(inputs, INPUTS)
            found = projector.project([mask], check=True)[0]
            loss = Loss(projector.target, projector.family, mask[None], projector.learn)

            def objective(x: np.ndarray, loss: Loss = loss) -> tuple[float, np.ndarray]:
                values, slopes = loss(x[None], np.array([0]))
                usable = np.isfinite(values[0])
                return (float(values[0]), slopes[0]) if usable else (1e10, np.zeros_like(x))

            ends = []
            for _ in range(RESTARTS):
                # Lengths over six powers of e either way, small and large variances of all kinds.
                wide = rng.uniform(np.maximum(lower, -7.0), np.minimum(upper, 4.0))
                lengths = slice(-1 - INPUTS, -1)
                wide[lengths] = rng.uniform(-3.0, 3.0, INPUTS)
                ends.append(
                    minimize(
                        objective,
                        np.clip(wide, lower, upper),
                        jac=True,
                        method="L-BFGS-B",
                        bounds=list(zip(lower, upper, strict=True)),
                        options={"maxiter": 300},
                    )
                )
            lowest = min(end.fun for end in ends)
            if lowest < found.value - MISSED:
                misses.append(round(found.value - lowest, 4))
            others = [found._replace(parameters=end.x, value=end.fun) for end in ends]
            own, *higher = (
                r_squared(reference, projector, one, inputs, X_new, y_new)
                for one in (found, *others)
            )
            if max(higher) > own + BETTER:
                elsewhere.append(round(max(higher) - own, 3))
    return {
        "family": name,
        "subsets": subsets,
        "missed": misses,
        "better_elsewhere": elsewhere,
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--learn", choices=["loo", "projection"], default="loo")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    given = parser.parse_args()
    wanted = [(name, seed) for name in given.families for seed in range(given.seeds)]
    found = joblib.Parallel(given.jobs)(
        joblib.delayed(seed_of)(*one, given.learn) for one in wanted
    )
    figures = {}
    for name in given.families:
        own = [one for one in found if one["family"] == name]
        misses, elsewhere = (
            [gap for one in own for gap in one[key]] for key in ("missed", "better_elsewhere")
        )
        figures[name] = {
            "subsets": sum(one["subsets"] for one in own),
            "missed": len(misses),
            "largest_miss": max(misses, default=0.0),
            "better_elsewhere": len(elsewhere),
            "largest_gain_elsewhere": max(elsewhere, default=0.0),
        }
    if given.json:
        print(json.dumps(figures))
        return
    for name, row in figures.items():
        print(f"{name:12s}", "  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
