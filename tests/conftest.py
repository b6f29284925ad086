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
        if NO_DATA not in reason and NO_BROWSER not in reason:
            report.outcome = "failed"
            report.longrepr = f"GPPROJ_NO_SKIP=1 forbids this skip: {reason}"
    return report


def pytest_configure(config: pytest.Config) -> None:
    # A plugin rather than hooks of this file, which would not see the doctests under src/.
    if os.environ.get("GPPROJ_NO_SKIP") == "1":
        config.pluginmanager.register(NoSkip(), "gpproj-no-skip")


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
def oracle() -> Callable[[str], dict[str, Any]]:
    """Loader of independent reference numbers: `oracle("regression")`."""

    def load(name: str) -> dict[str, Any]:
        return json.loads((TESTS / "oracles" / f"{name}.json").read_text())

    return load
