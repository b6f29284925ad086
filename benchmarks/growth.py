"""How the cost of a fit and of a forward search grows with the rows, and with the inputs.

    python benchmarks/growth.py --rows 250 500 1000 2000 --data parkinsons --inputs 4 --jobs 2
    python benchmarks/growth.py --rows 250 500 1000 --data parkinsons --whole --json
    python benchmarks/growth.py --rows 500 --data wide --columns 10 100 1000
    python benchmarks/growth.py --rows 250 500 1000 2000 --data parkinsons --picture growth.png

Every number of rows is measured in a process of its own, so that peaks of memory are apart, after a
small fit and search that import what is needed. Rows are a random choice, and a larger choice has
the rows of the smaller ones. The other rows, a thousand at most and the same ones for every size,
test the submodels `path.best(k)`. Fits check nothing. `wide` is simulated: a smooth function of
the first five of some standard normal inputs, and noise.

`--whole` repeats each search with all candidates learned on all rows. `speed_up` is its time over
that of the usual search. `largest_excess` is the most by which the best set of any size is worse
after the usual search, as a share of what all inputs explain: (null - full). Peaks of memory are
taken before that second search.

Slopes are those of log seconds against the log of rows, or of columns, by least squares. The usual
search has stages of fewer rows where there are enough (`gpproj.projection.some_rows.STAGES`), and
costs less from there on: a slope across such a number of rows tells little. JSON has seconds of
processors too, which other work on the machine changes less. Data sets need the data folder in
GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple
from unittest.mock import patch

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import pandas as pd

import gpproj
from gpproj.projection import some_rows

SETS = ("boston", "automobile", "crime", "energy", "yacht", "parkinsons", "bike")
LOGS = ("yacht", "bike")
"""Sets whose targets are taken as logarithms, as in `benchmarks/references.py`."""

WIDE = "wide"
MATTER = 5
"""Columns that matter in the simulated data."""

TEST_ROWS = 1000
TIMED = ("fit_seconds", "search_seconds", "whole_seconds")

Rows = tuple[np.ndarray | pd.DataFrame, np.ndarray]


class Case(NamedTuple):
    """What one process measures."""

    data: str
    columns: int | None
    """Of simulated data."""
    rows: int
    most: int
    """Rows of the largest case of these data."""
    inputs: int
    jobs: int
    whole: bool
    seed: int


def simulated(n: int, d: int, seed: int, part: int) -> Rows:
    """Return a smooth function of five of d inputs, with noise.

    Columns and noise come from generators of their own, so that more rows begin with the same ones.
    """
    X = np.random.default_rng([seed, part, 0]).standard_normal((n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] + 2.0 * np.cos(X[:, 4])
    return X, f + 0.2 * np.random.default_rng([seed, part, 1]).standard_normal(n)


def loaded(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a data set, its target as numbers."""
    X, y = getattr(gpproj.datasets, name)()
    target = np.asarray(y, dtype=float)
    return X, np.log(target) if name in LOGS else target


def rows_of(case: Case) -> tuple[Rows, Rows]:
    """Return the rows to learn from, and the rows to test on."""
    if case.columns is not None:
        learned = simulated(case.rows, case.columns, case.seed, 0)
        return learned, simulated(TEST_ROWS, case.columns, case.seed, 1)
    X, y = loaded(case.data)
    order = np.random.default_rng(case.seed).permutation(len(y))
    train, test = order[: case.rows], order[case.most :][:TEST_ROWS]
    return (X.iloc[train], y[train]), (X.iloc[test], y[test])


def gigabytes() -> float:
    """Return the most memory that the process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def clock(name: str, work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what some work gives, and the seconds it took, on the clock and of processors."""
    began, busy = time.perf_counter(), time.process_time()
    found = work()
    seconds, used = time.perf_counter() - began, time.process_time() - busy
    return found, {f"{name}_seconds": seconds, f"{name}_processor_seconds": used}


def searched(reference: gpproj.Reference, case: Case) -> gpproj.SearchPath:
    """Return the path of a search."""
    return gpproj.forward_search(
        reference, max_inputs=case.inputs, n_jobs=case.jobs, progress=False
    )


def score(model: Any, rows: Rows) -> float:
    """Return the mean log density of some rows."""
    return round(float(np.mean(model.log_density(*rows))), 4)


def largest_excess(path: gpproj.SearchPath, whole: gpproj.SearchPath) -> float | None:
    """Return by how much the best sets are worse at most, None if there is nothing to explain."""
    explained = whole.null_error - whole.full_error
    if explained <= 0.0:
        return None
    return float(np.max(path.best_errors - whole.best_errors) / explained)


def measured(case: Case) -> dict[str, Any]:
    """Measure one case; this runs in a process of its own."""
    warnings.simplefilter("ignore")
    searched(gpproj.fit(*simulated(50, MATTER, 0, 0), check=False), case._replace(inputs=2))
    learned, tests = rows_of(case)
    reference, fit_seconds = clock("fit", lambda: gpproj.fit(*learned, check=False))
    fit_memory = gigabytes()
    path, search_seconds = clock("search", lambda: searched(reference, case))
    memory, seconds = gigabytes(), fit_seconds | search_seconds
    figures: dict[str, Any] = {
        "fit_gigabytes": round(fit_memory, 3),
        "gigabytes": round(memory, 3),
        "inputs": path.best_inputs(len(path) - 1),
        "full_error": round(path.full_error, 4),
        "errors": path.best_errors.round(4).tolist(),
        "relative_errors": path.summary()["best_relative_error"].round(4).tolist(),
        "log_densities": [score(path.best(size), tests) for size in range(len(path))],
        "reference_log_density": score(reference, tests),
    }
    if case.whole:
        with patch.object(some_rows, "STAGES", ()):
            whole, whole_seconds = clock("whole", lambda: searched(reference, case))
        seconds |= whole_seconds
        excess = largest_excess(path, whole)
        figures |= {
            "speed_up": round(seconds["whole_seconds"] / seconds["search_seconds"], 3),
            "largest_excess": None if excess is None else round(excess, 5),
            "whole_inputs": whole.best_inputs(len(whole) - 1),
            "whole_log_densities": [score(whole.best(size), tests) for size in range(len(whole))],
        }
    return {
        "data": case.data,
        "columns": learned[0].shape[1],
        "rows": case.rows,
        "test_rows": len(tests[1]),
        **{name: round(value, 3) for name, value in seconds.items()},
        **figures,
    }


def in_own_process(case: Case) -> dict[str, Any] | None:
    """Measure one case in a new process; return None if that process was ended from outside."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        try:
            return pool.submit(measured, case).result()
        except BrokenProcessPool:
            return None


def slopes_against(found: list[dict[str, Any]], size: str) -> dict[str, float]:
    """Return the slopes of log seconds against the log of a size, by what was timed."""
    sizes = [one[size] for one in found]
    if len(set(sizes)) < 2:
        return {}
    slopes = {}
    for timed in TIMED:
        if timed in found[0]:
            seconds = [one[timed] for one in found]
            slopes[timed] = round(float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]), 3)
    return slopes


def alike(found: list[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return measurements by the values of some keys."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in found:
        groups.setdefault(tuple(one[key] for key in keys), []).append(one)
    return groups


def all_slopes(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return slopes against rows for each data set, and against columns for each number of rows."""
    slopes = []
    for (data, columns), own in alike(found, "data", "columns").items():
        if by_rows := slopes_against(own, "rows"):
            slopes.append({"data": data, "columns": columns, "slopes_in_rows": by_rows})
    for (data, rows), own in alike(found, "data", "rows").items():
        if by_columns := slopes_against(own, "columns"):
            slopes.append({"data": data, "rows": rows, "slopes_in_columns": by_columns})
    return slopes


def picture(found: list[dict[str, Any]], file: str) -> None:
    """Draw seconds against rows, both as logarithms, with the slopes in the legend."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    figure, ax = plt.subplots(figsize=(10.0, 4.5), layout="constrained")
    groups = alike(found, "data", "columns")
    markers, lines = "osD^vP*X", {"fit": ":", "search": "-", "whole": "--"}
    names = {"fit": "fit", "search": "search", "whole": "search on all rows"}
    for place, ((data, columns), own) in enumerate(groups.items()):
        slopes = slopes_against(own, "rows")
        for timed in TIMED:
            if timed not in own[0]:
                continue
            kind = timed.removesuffix("_seconds")
            label = f"{data}, {columns} inputs: {names[kind]}" if len(groups) > 1 else names[kind]
            if timed in slopes:
                label += f", slope {slopes[timed]:.2f}"
            ax.plot(
                [one["rows"] for one in own],
                [one[timed] for one in own],
                lines[kind],
                color=f"C{place}",
                marker=markers[place % len(markers)],
                label=label,
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    rows = sorted({one["rows"] for one in found})
    ax.set_xticks(rows, [str(one) for one in rows])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("rows")
    ax.set_ylabel("seconds")
    figure.legend(frameon=False, fontsize="small", loc="outside right upper")
    figure.savefig(file, dpi=150)
    plt.close(figure)


HEADINGS = {
    "data": "data",
    "columns": "columns",
    "rows": "rows",
    "fit_seconds": "fit s",
    "search_seconds": "search s",
    "gigabytes": "GB",
    "whole_seconds": "whole s",
    "speed_up": "speed-up",
    "largest_excess": "excess",
}


def print_table(found: list[dict[str, Any]]) -> None:
    """Print what was measured, and the slopes."""
    rows = []
    for one in found:
        row = {heading: one[key] for key, heading in HEADINGS.items() if key in one}
        row |= {f"error {size}": error for size, error in enumerate(one["relative_errors"])}
        row |= {f"density {size}": score for size, score in enumerate(one["log_densities"])}
        rows.append(row | {"density all": one["reference_log_density"]})
    print(pd.DataFrame(rows).to_string(index=False))
    print("Errors are relative ones, densities are mean log densities of the test rows.")
    for one in all_slopes(found):
        against = "rows" if "slopes_in_rows" in one else "columns"
        fixed = f"{one['columns']} columns" if against == "rows" else f"{one['rows']} rows"
        figures = (
            f"{timed.removesuffix('_seconds')} {slope:.2f}"
            for timed, slope in one[f"slopes_in_{against}"].items()
        )
        print(f"slopes against {against}, {one['data']}, {fixed}: {', '.join(figures)}")


def cases_of(given: argparse.Namespace) -> list[Case]:
    """Return what to measure; say what is too large for its data."""
    cases = []
    for data in given.data:
        rows = sorted(set(given.rows))
        if data != WIDE:
            most = len(loaded(data)[1])
            large = [n for n in rows if n >= most]
            if large:
                print(f"{data} has {most} rows, too few for {large} and a test", file=sys.stderr)
            rows = [n for n in rows if n < most]
        for columns in sorted(set(given.columns)) if data == WIDE else [None]:
            cases += [
                Case(data, columns, n, rows[-1], given.inputs, given.jobs, given.whole, given.seed)
                for n in rows
            ]
    return cases


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[250, 500, 1000, 2000])
    parser.add_argument("--data", nargs="+", choices=[*SETS, WIDE], default=["parkinsons"])
    parser.add_argument("--columns", nargs="+", type=int, default=[100], help=f"of {WIDE}")
    parser.add_argument("--inputs", type=int, default=4, help="steps of the search")
    parser.add_argument("--jobs", type=int, default=1, help="workers of the search")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of rows")
    parser.add_argument("--whole", action="store_true", help="also with all candidates on all rows")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--picture", metavar="FILE", help="draw seconds against rows")
    given = parser.parse_args()
    if min(given.columns) < MATTER:
        parser.error(f"--columns must be {MATTER} at least")
    found = []
    for case in cases_of(given):
        one = in_own_process(case)
        if one is None:
            print(f"{case.data}: the process with {case.rows} rows was ended", file=sys.stderr)
            continue
        found.append(one)
        if given.json:
            print(json.dumps(one), flush=True)
    if not found:
        return
    if given.json:
        for slopes in all_slopes(found):
            print(json.dumps(slopes))
    else:
        print_table(found)
    if given.picture:
        picture(found, given.picture)


if __name__ == "__main__":
    main()
