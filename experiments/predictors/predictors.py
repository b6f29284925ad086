"""A forest and a boosted model as references, and three orders of their inputs.

In each random split a predictor is trained on some rows and made a reference. Its inputs are
ordered by a forward search, by scikit-learn's permutation importance (on the training rows) and by
the forward search of a Gaussian process that was fitted to the same rows. Submodels are projected
from the predictor along each order, and scored on the other rows by their mean log density. Run
as

    python experiments/predictors/predictors.py --splits 3

Rows that are there already are kept. The figures are in `predictors.csv`; `--validate` writes
`validation.csv`, the folds that train the predictors anew. `predictors.png` is drawn from both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.inspection import permutation_importance

import gpproj

HERE = Path(__file__).parent
ROWS, INPUTS = 300, 4
"""Training rows, and inputs of the largest submodel."""

DATA = {"boston": gpproj.datasets.boston, "pima": gpproj.datasets.pima}


def predictor(name: str, data: str, seed: int) -> Any:
    """Return an estimator for the data, untrained."""
    if name == "forest":
        kind = RandomForestRegressor if data == "boston" else RandomForestClassifier
        return kind(200, min_samples_leaf=3, random_state=seed)
    boosted = HistGradientBoostingRegressor if data == "boston" else HistGradientBoostingClassifier
    return boosted(max_iter=60, learning_rate=0.08, random_state=seed)


def one_split(data: str, split: int) -> list[dict[str, Any]]:
    """Return a row for each predictor, order and size."""
    X, y = DATA[data]()
    rows = np.random.default_rng(split).permutation(len(X))
    train, test = rows[:ROWS], rows[ROWS:]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    likelihood = "gaussian" if data == "boston" else "bernoulli"
    process = gpproj.fit(X_train, y_train, likelihood, draws=1, check=False)
    process_order = gpproj.forward_search(process, INPUTS, progress=False).order

    def score(model: Any) -> float:
        return float(np.mean(model.log_density(X_test, y_test)))

    found = [{"predictor": "process", "order": "all", "size": X.shape[1], "score": score(process)}]
    for name in ("forest", "boosting"):
        estimator = predictor(name, data, split)
        begun = time.process_time()
        reference = gpproj.from_estimator(estimator, X_train, y_train)
        search = gpproj.forward_search(reference, INPUTS, progress=False)
        seconds = time.process_time() - begun
        everything = {"predictor": name, "order": "all", "size": X.shape[1]}
        found.append({**everything, "score": score(reference), "seconds": seconds})
        fitted = estimator.fit(X_train, y_train)
        scoring = "neg_mean_squared_error" if data == "boston" else "neg_log_loss"
        importance = permutation_importance(
            fitted, X_train, y_train, scoring=scoring, n_repeats=10, random_state=split
        ).importances_mean
        permuted = tuple(X.columns[np.argsort(-importance)[:INPUTS]])
        orders = {"search": search.order, "permutation": permuted, "process": process_order}
        for way, order in orders.items():
            path = search if way == "search" else gpproj.project_path(reference, order)
            for size in range(INPUTS + 1):
                row = {"predictor": name, "order": way, "size": size, "score": score(path[size])}
                found.append({**row, "inputs": " ".join(order[:size])})
    return [{"data": data, "split": split, **row} for row in found]


def validation(data: str) -> list[dict[str, Any]]:
    """Return the scores of a predictor and its submodels in folds that train it anew."""
    X, y = DATA[data]()
    rows = np.random.default_rng(0).permutation(len(X))[:ROWS]
    found = []
    for name in ("forest", "boosting"):
        reference = gpproj.from_estimator(predictor(name, data, 0), X.iloc[rows], y.iloc[rows])
        path = gpproj.forward_search(reference, INPUTS, progress=False)
        cv = gpproj.validate(reference, path, folds=3, random_state=0, progress=False)
        for size, score in enumerate(cv.scores.log_density.mean(axis=1)):
            what = "reference" if size == 0 else str(size - 1)
            row = {"data": data, "predictor": name, "size": what, "score": float(score)}
            found.append({**row, "suggested": cv.suggest_size(), "order": " ".join(path.order)})
    return found


def draw(table: pd.DataFrame) -> None:
    """Draw the mean score at each size along each order."""
    import matplotlib.pyplot as plt

    from gpproj.plots import BLUE, GREEN, ORANGE

    colours = {"search": BLUE, "permutation": ORANGE, "process": GREEN}
    names = {"search": "search", "permutation": "permutation importance", "process": "GP's search"}
    figure, grid = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey="row", squeeze=False)
    for (data, name), part in table[table["order"] != "all"].groupby(["data", "predictor"]):
        axes = grid[list(DATA).index(str(data)), int(name == "boosting")]
        for order, some in part.groupby("order"):
            mean = some.groupby("size")["score"].mean()
            axes.plot(mean.index, mean, "o-", color=colours[str(order)], label=names[str(order)])
        own = table[
            (table["order"] == "all") & (table["predictor"] == name) & (table["data"] == data)
        ]
        axes.axhline(own["score"].mean(), color="0.5", linestyle="--", label="the predictor itself")
        axes.set_title(f"{data}, {name}")
        axes.set_xticks(range(INPUTS + 1))
    for axes in grid[-1]:
        axes.set_xlabel("inputs")
    for axes in grid[:, 0]:
        axes.set_ylabel("mean log density, test rows")
    grid[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(HERE / "predictors.png", dpi=120)


def main() -> None:
    """Measure what is not there yet, and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args()
    file = HERE / "predictors.csv"
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=["data", "split"])
    for split in range(options.splits):
        for data in DATA:
            if not ((table["data"] == data) & (table["split"] == split)).any():
                rows = pd.DataFrame(one_split(data, split))
                table = pd.concat([table, rows]) if len(table) else rows
                table.to_csv(file, index=False, float_format="%.4f")
    if options.validate:
        rows = pd.DataFrame([row for data in DATA for row in validation(data)])
        rows.to_csv(HERE / "validation.csv", index=False, float_format="%.4f")
    draw(table)


if __name__ == "__main__":
    main()
