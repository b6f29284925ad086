"""What every test shares: one BLAS thread, no screen, fixed examples, and the rule on skips."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

TESTS = Path(__file__).resolve().parent
NO_DATA = "real data files absent: set GPPROJ_DATA"
NO_BROWSER = "no Chromium on the PATH to open the page with"
NO_GPU = "no GPU that torch can use"
NO_SCIPY_SWITCH = "SCIPY_ARRAY_API is not set"  # a check of scikit-learn that does not concern us
# What several tests share and takes seconds to make: `make quick` leaves out all that ask for it.
LONG_FIXTURES = {
    "tests/experiments/test_ablation.py::projected",
    "tests/experiments/test_ablation.py::written",
    "tests/reference/test_fit_classes.py::fitted",
    "tests/reference/test_fit_classes.py::sampled",
    "tests/report/test_browser.py::browser",
    "tests/report/test_sparse.py::cv",
    "tests/search/test_search_classes.py::paths",
    "tests/test_cluster.py::mortal_workers",
    "tests/test_cluster.py::workers",
    "tests/test_estimators.py::fitted",
    "tests/test_select.py::class_run",
    "tests/test_select.py::count_run",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

os.environ["MPLBACKEND"] = "Agg"
# Twice: for a BLAS that is loaded later (and for worker processes), and for one already here.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
threadpool_limits(limits=1)

settings.register_profile("gpproj", derandomize=True, deadline=None)
settings.load_profile("gpproj")


class NoSkip:
    """Where every extra is installed, a skipped test is a test that silently went missing."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        return _forbid_skip((yield))

    # A module that skips itself (`importorskip` at its top) never gets as far as a test.
    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        return _forbid_skip((yield))


def _forbid_skip(report: Any) -> Any:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2]
        if not any(fine in reason for fine in (NO_DATA, NO_BROWSER, NO_GPU, NO_SCIPY_SWITCH)):
            report.outcome = "failed"
            report.longrepr = f"GPPROJ_NO_SKIP=1 forbids this skip: {reason}"
    return report


def pytest_configure(config: pytest.Config) -> None:
    # A plugin rather than hooks of this file, which would not see the doctests under src/.
    if os.environ.get("GPPROJ_NO_SKIP") == "1":
        config.pluginmanager.register(NoSkip(), "gpproj-no-skip")


def _listed(name: str) -> set[str]:
    """Return the tests that a file beside this one names; none where it was not copied along."""
    file = TESTS / name
    return set(file.read_text().splitlines()) if file.exists() else set()


@pytest.hookimpl(tryfirst=True)  # before anything is left out by its marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make quick` and the default run leave out."""
    long, slow = LONG_FIXTURES | _listed("long.txt"), _listed("slow.txt")
    for item in items:
        module, own = item.nodeid.partition("::")[0], item.nodeid.partition("[")[0]
        asked = {f"{module}::{name}" for name in getattr(item, "fixturenames", ())}
        if not long.isdisjoint(asked | {own}):
            item.add_marker("long")
        if own in slow:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data files: `GPPROJ_DATA`, or `shared/data` beside the checkout."""
    chosen = os.environ.get("GPPROJ_DATA")
    folder = Path(chosen) if chosen else TESTS.parent.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if chosen:
        pytest.fail(f"GPPROJ_DATA={chosen} is not a folder")
    pytest.skip(NO_DATA)


@pytest.fixture(scope="session")
def browser_program() -> str:
    """Path of a Chromium: not a package, so its absence may be skipped."""
    found = [path for path in map(shutil.which, BROWSERS) if path]
    if not found:
        pytest.skip(NO_BROWSER)
    return found[0]


@pytest.fixture(scope="session")
def gpu() -> str:
    """Name of a GPU: not a package, so its absence may be skipped."""
    if not pytest.importorskip("torch").cuda.is_available():
        pytest.skip(NO_GPU)
    return "cuda"


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], dict[str, Any]]:
    """Loader of independent reference numbers: `oracle("regression")`."""

    def load(name: str) -> dict[str, Any]:
        return json.loads((TESTS / "oracles" / f"{name}.json").read_text())

    return load


@pytest.fixture
def wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wide as a terminal may be: tables of the command line are then neither folded nor cut."""
    from gpproj.cli import display

    # Both: a console that is made now asks the variable, one that was made earlier keeps its width.
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(display.console, "_width", 160)


def unremarkable(ref):
    """The same reference, with a check that has found nothing: its scores are made up."""
    import pandas as pd

    from gpproj.reference.checking import ReferenceCheck

    vars(ref)["_check"] = ReferenceCheck((), pd.Series(dtype=float), None, None, "nothing")
    return ref


def make_validation(names, n=40, folds=4, enough=3, search="inside", groups=None, always=()):
    """Scores that are made up: a submodel of `enough` steps predicts as the reference does."""
    # Here: what every test shares must not load gpproj before the BLAS threads are set.
    import numpy as np
    import pandas as pd

    import gpproj
    from gpproj.kernels import SquaredExponential
    from gpproj.likelihoods import Gaussian
    from gpproj.search import SearchPath
    from gpproj.search.units import Unit
    from gpproj.validation.result import Validation
    from gpproj.validation.scores import Scores

    rng = np.random.default_rng(0)
    d = len(names)
    X = pd.DataFrame(rng.standard_normal((n, d)), columns=names)
    y = (X.iloc[:, 0] + 0.3 * rng.standard_normal(n)).to_numpy()
    kernel = SquaredExponential(1.0, [2.0] * d)
    ref = unremarkable(gpproj.condition(X, y, kernel, Gaussian(0.1), standardize=True))
    null = gpproj.project_path(ref, [])
    units = [Unit(name, (j,)) for j, name in enumerate(names) if j not in always]
    units = units if groups is None else [Unit(*one) for one in groups]
    steps = len(units)
    path = SearchPath(
        ref,
        null.projector,
        tuple(units),
        null.projections * (steps + 1),
        null.null_error,
        null.full_error,
        always=always,
    )
    loss = np.maximum(enough - np.arange(steps + 1), 0.0) / max(enough, 1)
    good = X.iloc[:, 0].to_numpy()
    scatter = 0.01 * rng.standard_normal((steps + 1, n))
    mean = np.vstack([good, good * (1.0 - loss[:, None]) + scatter])
    density = -0.5 * ((y - mean) / 0.3) ** 2
    divergence = 0.5 * ((mean - good) / 0.3) ** 2
    scores = Scores(np.arange(n), np.arange(n) % folds, y, mean, density, divergence)
    orders = tuple(
        tuple(path.order[j] for j in np.argsort(np.arange(steps) + rng.normal(0.0, 1.0, steps)))
        for _ in range(folds)
    )
    return Validation(ref, path, "kfold", search, scores, orders)


def with_targets(cv, kind):
    """Made-up scores of targets of another kind: classes "no" and "yes", or counts."""
    from dataclasses import replace

    import numpy as np
    from scipy.special import expit
    from scipy.stats import bernoulli, poisson

    scores = cv.scores
    if kind == "binary":
        y, mean = (scores.y > 0.0).astype(float), expit(3.0 * scores.mean)
        density, classes = bernoulli.logpmf(y, mean), ("no", "yes")
    else:
        mean = np.exp(scores.mean)
        y = np.random.default_rng(0).poisson(mean[0]).astype(float)
        density, classes = poisson.logpmf(y, mean), None
    training = replace(cv.reference.training, kind=kind, classes=classes)
    return replace(
        cv,
        reference=unremarkable(replace(cv.reference, training=training)),
        scores=scores._replace(y=y, mean=mean, log_density=density),
    )


@pytest.fixture(scope="session")
def make():
    return make_validation


@pytest.fixture(scope="session", name="with_targets")
def with_targets_fixture():
    return with_targets


@pytest.fixture(scope="session")
def small_cv():
    return make_validation(["age", "bmi", "bp", "sex", "glu"])


@pytest.fixture(scope="session")
def exchanged_cv():
    """A whole run whose best pair is not the one that was grown, from the samples of formats."""
    import gpproj

    newest = max((TESTS / "io" / "formats").glob("v*"), key=lambda one: int(one.name[1:]))
    cv = gpproj.load(newest / "validation")
    assert [cv.path.is_better(size) for size in range(3)] == [False, False, True]
    assert cv.along is not None
    return cv


@pytest.fixture(scope="session")
def class_cv(small_cv):
    return with_targets(small_cv, "binary")


@pytest.fixture(scope="session")
def count_cv(small_cv):
    return with_targets(small_cv, "count")


@pytest.fixture(scope="session")
def poor_cv():
    """No submodel is as good as the reference."""
    return make_validation(["a", "b", "c"], enough=10)


@pytest.fixture(scope="session")
def large_cv():
    """A hundred inputs, some with long names."""
    names = [f"PctOfPeopleWithSomething{j}" if j % 10 == 0 else f"input{j}" for j in range(100)]
    return make_validation(names, enough=20)
