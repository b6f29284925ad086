from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.search import SearchPath
from gpproj.search.units import Unit
from gpproj.validation.result import Validation
from gpproj.validation.scores import Scores


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    def show(*arguments, **options):
        raise AssertionError("plots are for the user to show")

    monkeypatch.setattr(plt, "show", show)


@pytest.fixture
def overlap():
    """Whether any two neighbours of a row of labels overlap once the figure is drawn."""

    def found(labels):
        labels[0].figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in labels]
        return any(one.overlaps(two) for one, two in pairwise(boxes))

    return found


def make_validation(names, n=40, folds=4, enough=3, search="inside", seed=0):
    """Scores that are made up: a submodel of `enough` inputs predicts as the reference does."""
    rng = np.random.default_rng(seed)
    d = len(names)
    X = pd.DataFrame(rng.standard_normal((n, d)), columns=names)
    y = (X.iloc[:, 0] + 0.3 * rng.standard_normal(n)).to_numpy()
    kernel = SquaredExponential(1.0, [2.0] * d)
    ref = gpproj.condition(X, y, kernel, Gaussian(0.1), standardize=True)
    null = gpproj.project_path(ref, [])
    units = tuple(Unit(name, (j,)) for j, name in enumerate(names))
    path = SearchPath(
        ref, null.family, units, null.projections * (d + 1), null.null_error, null.full_error
    )
    loss = np.maximum(enough - np.arange(d + 1), 0.0) / max(enough, 1)
    good = X.iloc[:, 0].to_numpy()
    scatter = 0.01 * rng.standard_normal((d + 1, n))
    mean = np.vstack([good, good * (1.0 - loss[:, None]) + scatter])
    density = -0.5 * ((y - mean) / 0.3) ** 2
    scores = Scores(np.arange(n), np.arange(n) % folds, y, mean, density)
    orders = tuple(
        tuple(names[j] for j in np.argsort(np.arange(d) + rng.normal(0.0, 1.0, d)))
        for _ in range(folds)
    )
    return Validation(ref, path, "kfold", search, scores, orders)


@pytest.fixture(scope="session")
def small_cv():
    return make_validation(["age", "bmi", "bp", "sex", "glu"])


@pytest.fixture(scope="session")
def large_cv():
    """A hundred inputs, some with long names."""
    names = [f"PctOfPeopleWithSomething{j}" if j % 10 == 0 else f"input{j}" for j in range(100)]
    return make_validation(names, enough=20)


@pytest.fixture(scope="session")
def poor_cv():
    """No submodel is as good as the reference."""
    return make_validation(["a", "b", "c"], enough=10)
