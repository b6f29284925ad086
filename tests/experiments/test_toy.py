"""The toy experiment in miniature: what it writes, and that it can be written again."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from gpproj.projection import solver
from reproduction.toy import reproduce_toy

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"
INPUTS = [f"x{j}" for j in range(8)]
COLUMNS = [
    "realisation",
    "input",
    "ard_relevance",
    "leave_input_out",
    "null_error",
    "full_error",
    "extra_share",
    "noise_sd",
    "converged",
]


@pytest.fixture(scope="module", autouse=True)
def unchecked():
    """Without checks of optima, which take most of the time and are tested elsewhere."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(solver, "CHECKS", 0)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "made" / "on the way"
    open_before = plt.get_fignums()
    summary = reproduce_toy(folder, realisations=2, n=30)
    assert plt.get_fignums() == open_before
    return summary, folder


def test_the_table_has_a_row_for_each_input_of_each_realisation(written):
    _, folder = written
    table = pd.read_csv(folder / "toy.csv")
    assert list(table.columns) == COLUMNS
    assert table["realisation"].tolist() == [0] * 8 + [1] * 8
    assert table["input"].tolist() == INPUTS * 2
    assert table["converged"].all()
    numbers = table[COLUMNS[2:-1]].to_numpy()
    assert np.isfinite(numbers).all()
    assert (numbers >= 0).all()
    for _, one in table.groupby("realisation"):
        assert one["ard_relevance"].max() == 1.0
        for shared in ("null_error", "full_error", "noise_sd"):
            assert one[shared].nunique() == 1
        assert (one["leave_input_out"] < one["null_error"]).all()
        assert (one["leave_input_out"] > one["full_error"]).all()
    assert table["noise_sd"].nunique() == 2


def test_the_figures_are_written(written):
    _, folder = written
    assert sorted(path.name for path in folder.iterdir()) == [
        "finished",
        "toy.csv",
        "toy_functions.png",
        "toy_relevance.png",
    ]
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(PNG)


def test_the_summary_holds_means_over_the_realisations(written):
    summary, folder = written
    table = pd.read_csv(folder / "toy.csv")
    assert summary.index.tolist() == INPUTS
    assert list(summary.columns) == ["ard_relevance", "leave_input_out", "drop", "extra_share"]
    table["drop"] = table["null_error"] - table["leave_input_out"]
    means = table.groupby("input")[list(summary.columns)].mean()
    # the file has six digits
    pd.testing.assert_frame_equal(summary, means, rtol=1e-4)
    null = table["null_error"].unique().mean()
    np.testing.assert_allclose(summary["drop"], null - summary["leave_input_out"], rtol=1e-4)


def test_the_same_seed_gives_the_same_rows(written, tmp_path):
    _, folder = written
    reproduce_toy(tmp_path, realisations=1, n=30)
    first = (folder / "toy.csv").read_text().splitlines()[:9]
    assert (tmp_path / "toy.csv").read_text().splitlines() == first
