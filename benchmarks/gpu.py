"""Everything on one GPU, beside the processor of the same machine.

    python benchmarks/gpu.py --json                     needs torch, a GPU, and GPPROJ_DATA

One table: a batched evaluation, whole searches of the paper's data, the toy experiment, many rows
dense and through inducing points, and how well all this agrees with the processor.
`--only evaluation,boston` runs some of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from datetime import date
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import torch

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import CRITERIA, OBJECTIVES, family_of
from gpproj.reference import running

SEARCH_ROWS = 10_000

COMPARED = 8
"""Steps of a search that the processor takes too."""

ROWS = {"boston": 300, "automobile": 150, "crime": 400}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def wait() -> None:
    """Wait until the device has done what it was asked to."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the least seconds of some repeats, and the last result."""
    seconds, found = [], None
    for _ in range(repeats):
        wait()
        begun = time.perf_counter()
        found = work()
        wait()
        seconds.append(time.perf_counter() - begun)
    return min(seconds), found


def moved(*arrays: Any) -> tuple[torch.Tensor, ...]:
    """Return arrays on the device."""
    return tuple(
        torch.as_tensor(np.asarray(one, dtype=np.float64), device=DEVICE) for one in arrays
    )


def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows of one of the paper's data sets."""
    X, y = getattr(gpproj.datasets, name)()
    rows = np.random.default_rng(0).permutation(len(y))[: ROWS[name]]
    return X.to_numpy(dtype=float)[rows], y.to_numpy(dtype=float)[rows]


def additive(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return data in which the first ten inputs matter, less and less."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = sum(np.sin((1.0 + 0.1 * j) * X[:, j]) / (1.0 + 0.3 * j) for j in range(10))
    return X, f + 0.3 * rng.standard_normal(n)


def pair(X: np.ndarray, y: np.ndarray, **settings: Any) -> tuple[Any, Any]:
    """Return a fitted reference on the processor, and the same one on the device."""
    here = gpproj.fit(X, y, **settings)
    there = gpproj.condition(
        *moved(X, y),
        here.kernel,
        Gaussian(here.noise_variance),
        inference=settings.get("inference", "auto"),
        standardize=True,
    )
    return here, there


def evaluation() -> dict[str, Any]:
    """Measure one value and gradient at n = 400 for the 102 candidates of a first step."""
    here, there = pair(*real("crime"))
    d = here.training.d
    masks = np.eye(d, dtype=bool)
    family = family_of(here)
    start = np.repeat(family.starts(masks[0])[:1], d, axis=0)

    def on(ref: Any, lanes: int = d) -> Any:
        return OBJECTIVES["projection"].value(
            ref.target, family.kernel, start[:lanes], masks[:lanes]
        )

    on(there)
    seconds, found = timed(lambda: on(there), 20)
    few, _ = timed(lambda: on(there, 8), 20)
    processor, expected = timed(lambda: on(here), 2)
    A = torch.rand((d, 400, 400), dtype=torch.float64, device=DEVICE)
    product, _ = timed(lambda: A @ A, 20)
    return {
        "milliseconds": round(1e3 * seconds, 2),
        "milliseconds_8_lanes": round(1e3 * few, 2),
        "processor_milliseconds": round(1e3 * processor, 1),
        "products_of_the_same_size": round(seconds / product, 1),
        # 4 n^3 operations, two factors and inverses, P = K^-1 L and P P'; a product has 2 n^3.
        "times_the_flop_limit": round(seconds / (2.0 * product), 1),
        "value_differs_by": float(np.max(np.abs(found.value / expected.value - 1.0))),
        "gradient_differs_by": float(
            np.max(np.abs(found.gradient - expected.gradient)) / np.max(np.abs(expected.gradient))
        ),
    }


def paths(name: str, strategies: tuple[str, ...] = ("race",)) -> dict[str, Any]:
    """Measure whole searches, and compare their paths with the processor's."""
    here, there = pair(*real(name))
    told: dict[str, Any] = {}
    for strategy in strategies:
        seconds, path = timed(
            lambda s=strategy: gpproj.forward_search(there, strategy=s, progress=False)
        )
        told[strategy] = {"seconds": round(seconds, 2), "inputs": len(path) - 1}
        if strategy == "race":
            steps = min(COMPARED, len(path) - 1)
            seconds, own = timed(lambda: gpproj.forward_search(here, COMPARED, progress=False))
            told[f"processor, first {steps} inputs"] = round(seconds, 1)
            told["same order, first inputs"] = next(
                (k for k in range(steps) if path.order[k] != own.order[k]), steps
            )
            away = np.abs(path.errors[: steps + 1] - own.errors[: steps + 1])
            told["error differs by"] = float(away.max() / (own.null_error - own.full_error))
            again = CRITERIA["projection_error"](
                here.target,
                path.projections[1].kernel,
                path.projections[1].parameters[None],
                path.projections[1].active[None],
            )[0]
            told["same parameters, error differs by"] = float(abs(again / path.errors[1] - 1.0))
    return told


def toy(realisations: int = 200) -> dict[str, Any]:
    """Measure the leave-input-out projections of the paper's toy example."""
    references = []
    for seed in range(realisations):
        X, y = gpproj.datasets.toy_sines(n=300, random_state=seed)
        kernel = Constant(0.1) + SquaredExponential(10.0, np.linspace(8.0, 2.0, 8))
        references.append(gpproj.condition(*moved(X, y), kernel, Gaussian(0.09), standardize=True))
    seconds, found = timed(lambda: gpproj.leave_input_out(references))
    few, own = timed(lambda: [gpproj.leave_input_out(one) for one in references[:10]])
    away = np.abs(found.to_numpy()[:10] - np.stack(own))
    return {
        "realisations": realisations,
        "seconds": round(seconds, 1),
        "seconds of ten, one by one": round(few, 1),
        "error differs by": float(np.max(away / np.stack(own))),
    }


def known(X: np.ndarray, y: np.ndarray) -> tuple[Any, Gaussian]:
    """Return hyperparameters that suit the data, from a fit to a few rows."""
    few = gpproj.fit(X[:400], y[:400])
    return few.kernel, Gaussian(few.noise_variance)


def folds(count: int = 10) -> dict[str, Any]:
    """Measure a validation with searches inside, folds side by side and one after the other."""
    ref = gpproj.fit(*moved(*real("boston")))
    path = gpproj.forward_search(ref, progress=False)
    fit, _ = timed(lambda: ref.refit(ref.training.X, ref.training.y))

    def validated() -> Any:
        return gpproj.validate(ref, path, "kfold", folds=count, random_state=0, progress=False)

    together, cv = timed(validated)
    room, running.room_for = running.room_for, lambda X: 1
    try:
        apart, own = timed(validated)
    finally:
        running.room_for = room
    away = np.abs(cv.scores.log_density - own.scores.log_density)
    return {
        "seconds": round(together, 2),
        "seconds, one after the other": round(apart, 2),
        "seconds of one fit": round(fit, 2),
        "same orders": sum(a == b for a, b in zip(cv.orders, own.orders, strict=True)),
        "median difference of log densities": float(np.median(away)),
        "folds": count,
    }


def dense(n: int = 5000, d: int = 20, steps: int = 10) -> dict[str, Any]:
    """Measure a path at many rows with whole matrices, searched on all rows and on some."""
    X, y = additive(n, d)
    there = gpproj.condition(*moved(X, y), *known(X, y), inference="exact", standardize=True)
    told: dict[str, Any] = {}
    for name, rows in {"searched on 1500 rows": 1500, "searched on all rows": None}.items():
        seconds, path = timed(
            lambda r=rows: gpproj.forward_search(there, steps, search_rows=r, progress=False)
        )
        told[name] = {
            "seconds": round(seconds, 1),
            "order": path.order,
            "relative_errors": path.relative_errors.round(4).tolist(),
        }
    return told | {"gigabytes": gigabytes()}


def sparse(n: int, m: int = 500, d: int = 50, steps: int = 10) -> dict[str, Any]:
    """Measure a path at very many rows through inducing points."""
    X, y = additive(n, d)
    values = known(X, y)
    seconds_before, there = timed(
        lambda: gpproj.condition(
            *moved(X, y), *values, inference=gpproj.Sparse(m), standardize=True
        )
    )
    seconds, path = timed(
        lambda: gpproj.forward_search(there, steps, search_rows=SEARCH_ROWS, progress=False)
    )
    return {
        "rows": n,
        "conditioning": round(seconds_before, 1),
        "seconds": round(seconds, 1),
        "order": path.order,
        "relative_errors": path.relative_errors.round(4).tolist(),
        "gigabytes": gigabytes(),
    }


def quality() -> dict[str, Any]:
    """Compare 200 inducing points with exact inference, at the same hyperparameters."""
    X, y = gpproj.datasets.crime()
    rows = np.random.default_rng(0).permutation(len(y))[:1500]
    sets = {
        "crime, n = 1500": (X.to_numpy(dtype=float)[rows], y.to_numpy(dtype=float)[rows]),
        "simulated, n = 5000": additive(5000, 12),
    }
    told: dict[str, Any] = {}
    for name, (inputs, target) in sets.items():
        values = known(inputs, target)
        for way in ("exact", "vfe"):
            inference = "exact" if way == "exact" else gpproj.Sparse(200)
            ref = gpproj.condition(
                *moved(inputs, target), *values, inference=inference, standardize=True
            )
            seconds, path = timed(lambda r=ref: gpproj.forward_search(r, 6, progress=False))
            told[f"{name}, {way}"] = {
                "order": path.order,
                "null_minus_error": (path.null_error - path.errors).round(1).tolist(),
                "relative_errors": path.relative_errors.round(4).tolist(),
                "seconds": round(seconds, 1),
            }
    return told


def gigabytes() -> float:
    """Return the most memory that the device has lent in this part."""
    return round(torch.cuda.max_memory_allocated() / 1e9, 1) if DEVICE == "cuda" else 0.0


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "evaluation": evaluation,
    "boston": lambda: paths("boston", ("race", "exhaustive")),
    "automobile": lambda: paths("automobile"),
    "crime": lambda: paths("crime", ("race", "exhaustive")),
    "toy": toy,
    "folds": folds,
    "dense": dense,
    "quality": quality,
    "sparse": lambda: sparse(100_000),
    "million": lambda: sparse(1_000_000),
}


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--json", action="store_true", help="print JSON, one line a part")
    arguments = parser.parse_args()
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else platform.processor()
    about = {"device": device, "torch": torch.__version__, "date": date.today().isoformat()}
    print(json.dumps({"about": about}) if arguments.json else about, flush=True)
    for name in PARTS:
        if name not in arguments.only.split(","):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant columns
            if DEVICE == "cuda":
                torch.cuda.reset_peak_memory_stats()
            told = PARTS[name]()
        print(json.dumps({name: told}) if arguments.json else f"{name}: {told}", flush=True)


if __name__ == "__main__":
    main()
