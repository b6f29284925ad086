"""Classes and counts, in miniature: what the experiment writes, and that it goes on."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from reproduction import other_targets
from reproduction.other_targets import CURVES, SETTINGS, reproduce_other_targets

pytestmark = pytest.mark.slow


def small(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((45, 2)), columns=["line", "noise"])
    if name == "bike":
        return X, pd.Series(rng.poisson(np.exp(1.0 + X["line"])))
    return X, pd.Series(1 + (X["line"] + 0.5 * rng.standard_normal(45) > 0))


@pytest.fixture(scope="module", params=["heart", "bike"])
def written(request, tmp_path_factory):
    name = request.param
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpproj.datasets, name, lambda: small(name))
        folder = tmp_path_factory.mktemp("made") / "on the way"
        open_before = plt.get_fignums()
        summary = reproduce_other_targets(name, folder, 2)
        assert plt.get_fignums() == open_before
        patched.setattr(other_targets, "rows_of", lambda *_: pytest.fail("run again"))
        again = reproduce_other_targets(name, folder, 2)
    return name, folder, summary, again


def test_the_table_has_every_curve_at_every_size(written):
    name, folder, summary, _ = written
    score = SETTINGS[name].score
    table = pd.read_csv(folder / f"{name}.csv")
    assert set(table["curve"]) == {"reference", *CURVES}
    for curve in CURVES:
        own = table[table["curve"] == curve]
        assert own.groupby("split")["size"].apply(list).tolist() == [[0, 1, 2]] * 2
        assert np.isfinite(own[["log_density", score]].to_numpy()).all()
        for column in ("log_density", score):
            mean = own.loc[own["size"] == 1, column].mean()
            assert summary.loc[1, f"{curve}, {column}"] == pytest.approx(mean, rel=1e-3)
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_one_input_is_better_than_none(written):
    name, _, summary, _ = written
    density = summary["projection, log_density"]
    assert density[1] > density[0]
    score = summary[f"projection, {SETTINGS[name].score}"]
    assert (score[1] > score[0]) == (name == "heart")


def test_finished_splits_are_not_run_again(written):
    _, _, summary, again = written
    pd.testing.assert_frame_equal(summary, again)


def test_the_three_sets_are_there():
    assert list(SETTINGS) == ["heart", "pima", "bike"]
    assert all(hasattr(gpproj.datasets, one.name) for one in SETTINGS.values())
