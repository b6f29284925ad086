"""The experiment on real data, in miniature: what it writes, and that it goes on where it was."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.reproduce import reproduce_splits, splits
from gpproj.reproduce.splits import CURVES, Setting

pytest.importorskip("nutpie")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    X, y = gpproj.datasets.diabetes()
    small = X.loc[:79, ["age", "bmi", "s5"]], y.loc[:79]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpproj.datasets, "boston", lambda: small)
        patched.setitem(splits.SETTINGS, "boston", Setting("boston", 40, 2, draws=8, tune=20))
        folder = tmp_path_factory.mktemp("made") / "on the way"
        open_before = plt.get_fignums()
        summary = reproduce_splits("boston", folder, 2)
        assert plt.get_fignums() == open_before
        calls = []
        patched.setattr(splits, "_rows", lambda *arguments: calls.append(arguments) or [])
        again = reproduce_splits("boston", folder, 2)
    return folder, summary, again, calls


def test_the_table_has_every_curve_at_every_size(written):
    folder, summary, _, _ = written
    table = pd.read_csv(folder / "boston.csv")
    assert set(table["curve"]) == {*CURVES, "reference", "marginal likelihood fit"}
    for curve in CURVES:
        assert (
            table[table["curve"] == curve].groupby("split")["size"].apply(list).tolist()
            == [[0, 1, 2]] * 2
        )
    assert list(summary.columns) == ["reference", *CURVES]
    assert np.isfinite(summary.loc[2, "projection"])
    mean = table[(table["curve"] == "ARD") & (table["size"] == 1)]["log_density"].mean()
    assert summary.loc[1, "ARD"] == pytest.approx(mean, rel=1e-3)
    assert (folder / "boston.png").read_bytes().startswith(b"\x89PNG")


def test_finished_splits_are_not_run_again(written):
    _, summary, again, calls = written
    assert calls == []
    pd.testing.assert_frame_equal(summary, again)


def test_the_settings_are_the_papers():
    assert [(one.n, one.draws) for one in splits.SETTINGS.values()] == [
        (300, 100),
        (150, 100),
        (400, 100),
    ]
