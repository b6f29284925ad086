"""The study of clusters, in miniature: what it writes, and that it goes on where it was."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from reproduction import clusters
from reproduction.clusters import MODELS, reproduce_clusters, summarise

pytest.importorskip("nutpie")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    X, y = gpproj.datasets.diabetes()
    small = X.loc[:79, ["age", "bmi", "s5"]], y.loc[:79]
    setting = clusters.SETTING._replace(n=40, sizes=2, draws=8, tune=20)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpproj.datasets, "boston", lambda: small)
        patched.setitem(clusters.MODELS, "20 clusters", 2)
        patched.setattr(clusters, "SETTING", setting)
        patched.setattr(clusters, "SIZES", (1, 2))
        folder = tmp_path_factory.mktemp("made") / "on the way"
        open_before = plt.get_fignums()
        summary = reproduce_clusters(folder, 2)
        assert plt.get_fignums() == open_before
        calls = []
        patched.setattr(clusters, "rows_of", lambda *_: calls.append(1) or [])
        again = reproduce_clusters(folder, 2)
    return folder, summary, again, calls


def test_the_table_has_every_model_at_every_size(written):
    folder, summary, _, _ = written
    table = pd.read_csv(folder / "clusters.csv")
    assert list(table.columns) == ["split", "model", "size", "log_density", "seconds"]
    assert set(table["model"]) == {"reference", *MODELS}
    for model in MODELS:
        sizes = table[table["model"] == model].groupby("split")["size"].apply(list)
        assert sizes.tolist() == [[1, 2]] * 2
    assert table[table["model"] == "reference"]["size"].tolist() == [3, 3]
    assert list(summary.columns) == ["reference", *MODELS]
    chosen = (table["model"] == "every draw") & (table["size"] == 2)
    mean = table.loc[chosen, "log_density"].mean()
    assert summary.loc[2, "every draw"] == pytest.approx(mean, rel=1e-3)
    assert (folder / "clusters.png").read_bytes().startswith(b"\x89PNG")


def test_mixtures_are_not_the_single_projection(written):
    _, summary, _, _ = written
    apart = summary.loc[[1, 2], list(MODELS)]
    assert np.isfinite(apart).all(axis=None)
    assert (apart.nunique(axis=1) == 3).all()


def test_finished_splits_are_not_run_again(written):
    _, summary, again, calls = written
    assert calls == []
    pd.testing.assert_frame_equal(summary, again)


def test_means_are_over_splits():
    table = pd.DataFrame(
        [
            {"split": split, "model": model, "size": size, "log_density": -split - size}
            for split in (0, 2)
            for model in ("reference", *MODELS)
            for size in ((9,) if model == "reference" else (3, 5))
        ]
    )
    means = summarise(table)
    assert means.loc[9, "reference"] == -10.0
    assert means["every draw"].dropna().tolist() == [-4.0, -6.0]


def test_the_path_is_long_enough():
    assert max(clusters.SIZES) == clusters.SETTING.sizes
