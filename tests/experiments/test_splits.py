"""The experiment on real data, in miniature: what it writes, and that it goes on where it was."""

from __future__ import annotations

import shutil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from reproduction import real_data, split_tables, splits
from reproduction.real_data import ALL_INPUTS, reproduce_splits
from reproduction.running import file_name
from reproduction.split_tables import BEYOND, PAPER
from reproduction.splits import WAYS, Setting

pytest.importorskip("nutpie")
pytestmark = pytest.mark.slow


def miniature(patched):
    X, y = gpproj.datasets.diabetes()
    small = X.loc[:79, ["age", "bmi", "s5"]], y.loc[:79]
    setting = Setting("boston", 40, 2, draws=8, tune=20, clusters=2, at=(1, 5))
    patched.setattr(gpproj.datasets, "boston", lambda: small)
    patched.setitem(splits.SETTINGS, "boston", setting)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        miniature(patched)
        folder = tmp_path_factory.mktemp("made") / "on the way"
        open_before = plt.get_fignums()
        summary = reproduce_splits("boston", folder, 2)
        assert plt.get_fignums() == open_before
        calls = []
        for name in ("sample", "fit", "forward_search", "project_path", "project", "validate"):
            patched.setattr(gpproj, name, lambda *_, **__: calls.append(1))
        again = reproduce_splits("boston", folder, 2)
    return folder, summary, again, calls


def test_the_table_has_every_curve_at_every_size(written):
    folder, summary, _, _ = written
    table = pd.read_csv(folder / "boston.csv")
    every = {*PAPER, *BEYOND, *ALL_INPUTS, "reference", "marginal likelihood fit"}
    assert set(table["curve"]) - {"suggested", "suggested, one standard error"} == every
    for curve in WAYS:
        assert (
            table[table["curve"] == curve].groupby("split")["size"].apply(list).tolist()
            == [[0, 1, 2]] * 2
        )
    assert table[table["curve"] == "projection, clusters"]["size"].tolist() == [1, 1]
    assert table[table["curve"] == "projection, every draw"]["size"].tolist() == [1, 2] * 2
    assert list(summary.index) == ["reference", *PAPER, *BEYOND]
    assert list(summary.columns) == [1]  # of 1 and 5, which is too many
    assert np.isfinite(summary.to_numpy()).all()
    mean = table[(table["curve"] == "ARD") & (table["size"] == 1)]["log_density"].mean()
    assert summary.loc["ARD", 1] == pytest.approx(mean, rel=1e-3)
    for name in ("boston.png", "boston_beyond.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_differences_are_to_the_reference_row_by_row(written):
    table = pd.read_csv(written[0] / "boston.csv")
    own = table[table["curve"] == "reference"].set_index("split")["log_density"]
    away = table["log_density"] - table["split"].map(own)
    np.testing.assert_allclose(table["difference"], away, atol=1e-3)
    every = table[table["curve"] == "all inputs, every draw"]
    assert every["difference"].abs().max() < 0.02
    assert table.loc[table["curve"] == "reference", "predicting"].notna().all()


def test_what_every_curve_needs(written):
    found = pd.read_csv(written[0] / "boston_needed.csv", index_col="curve")
    assert list(found.index) == [*PAPER, *BEYOND]
    assert found["inputs"].dropna().between(0, 2).all()
    assert (found["seconds"] >= 0.0).all()
    raw = pd.DataFrame(
        {
            "curve": ["reference", *["ARD"] * 3],
            "size": [9, 0, 1, 2],
            "difference": [0.0, -1.0, -0.04, 0.0],
            "seconds": [1.0, 3.0, 3.0, 3.0],
        }
    )
    assert split_tables.needed(raw).loc["ARD"].tolist() == [1.0, 3.0]


def test_the_lasso_puts_strong_inputs_first():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))

    class Made:
        train = X, X[:, 2] * 5.0 + X[:, 0]
        inputs = ("a", "b", "c")

    assert splits._lasso(Made())[:2] == ["c", "a"]


def test_finished_splits_are_not_run_again(written):
    _, summary, again, calls = written
    assert calls == []
    pd.testing.assert_frame_equal(summary, again)


def test_projections_on_a_device_give_the_same(written, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    miniature(monkeypatch)
    finished = tmp_path / "finished"
    for split in (written[0] / "finished").glob("split_*"):
        for name in ("reference", "fit"):
            shutil.copytree(split / name, finished / split.name / name)
            shutil.copy(split / f"{name}.json", finished / split.name)
    reproduce_splits("boston", tmp_path, 2, device="cpu")
    found, expected = (pd.read_csv(one / "boston.csv") for one in (tmp_path, written[0]))
    assert found[["split", "curve", "size"]].equals(expected[["split", "curve", "size"]])
    np.testing.assert_allclose(found["log_density"], expected["log_density"], atol=0.01)
    for split in finished.glob("split_*"):  # the path of the mixtures is lost, its rows are not
        shutil.rmtree(split / "projection_weak-prior")
        (split / "projection_clusters.rows.json").unlink()
    reproduce_splits("boston", tmp_path, 2, device="cpu")
    again = pd.read_csv(tmp_path / "boston.csv")
    np.testing.assert_allclose(again["log_density"], found["log_density"], atol=0.01)


def test_the_settings_are_the_papers():
    assert [(one.n, one.draws) for one in splits.SETTINGS.values()] == [
        (300, 100),
        (150, 100),
        (400, 100),
    ]


def test_mixtures_are_spared_unless_they_are_there(written):
    made, setting = [], Setting("boston", 40, 2, draws=12, tune=20, clusters=2, at=(1, 5))
    X, y = gpproj.datasets.diabetes()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpproj.datasets, "boston", lambda: (X.loc[:79], y.loc[:79]))
        patched.setattr(real_data, "kept_rows", lambda file, *_: made.append(file.name) or [])
        for name in ("finished", "uses_processes", "in part"):
            folder = written[0] / name
            (folder / "split_000").mkdir(parents=True, exist_ok=True)
            if name == "in part":
                (folder / "split_000" / "all-inputs.rows.json").touch()
            real_data.rows_of(setting, folder, 0, mixtures=False)
    every = [f"{file_name(part)}.rows.json" for part in real_data.PARTS]
    others = every[: -len(real_data.MIXTURES)]
    assert made == [*every, *others, *others]


def test_orders_are_compared_split_by_split(written):
    rows = [
        {"split": split, "curve": curve, "size": size, "log_density": value}
        for split, curve, size, value in [
            *((k, "projection", 0, 0.0) for k in range(4)),
            *((k, "ARD", 0, 0.0) for k in range(4)),
            *((k, "projection", 1, 10.0 * k + 1.0 + 0.1 * (-1) ** k) for k in range(4)),
            *((k, "ARD", 1, 10.0 * k) for k in range(4)),
        ]
    ]
    found = split_tables.paired(pd.DataFrame(rows)).loc["projection - ARD"]
    assert (found["size"], found["mean"]) == (1, pytest.approx(1.0))
    half = 1.96 * np.std([0.1, -0.1, 0.1, -0.1], ddof=1) / 2
    assert found["high"] - found["mean"] == pytest.approx(half)
    assert found["mean"] - found["low"] == pytest.approx(half)
    written = pd.read_csv(written[0] / "boston_paired.csv", index_col="difference")
    assert len(written) == 2 * len(split_tables.PAIRS)


def test_suggestions_are_counted(written):
    raw = pd.DataFrame(
        {
            "split": [0, 1, 2, 2, 0, 1],
            "curve": ["projection, every draw"] * 4 + ["suggested"] * 2,
            "size": [9, 9, 9, 8, 3, 5],
            "difference": [0.0, 0.0, 0.1, -0.8, -0.1, -0.3],
            "difference_se": [0.0, 0.0, 0.02, 0.01, 0.06, 0.1],
        }
    )
    found = split_tables.suggested(raw)
    assert found.loc["suggested"].tolist() == [3, 2, 1, 4.0, 2, pytest.approx(-0.1)]
    other = found.loc["suggested, one standard error"]
    assert other[["splits", "found", "found_within", "within"]].tolist() == [3, 0, 0, 1]
    assert (written[0] / "boston_suggested.csv").exists()


@pytest.mark.timeout(1800)
def test_a_split_of_real_data_goes_through_all_parts(tmp_path, data_dir, monkeypatch):
    monkeypatch.setenv("GPPROJ_DATA", str(data_dir))
    summary = reproduce_splits("boston", tmp_path, 1, quick=True)
    table = pd.read_csv(tmp_path / "boston.csv")
    assert table["split"].nunique() == 1
    for curve in ("projection", "projection, weak prior", "projection, every draw"):
        # Three good inputs lose little, and less than one does.
        assert summary.loc[curve, 3] > summary.loc[curve, 1]
        assert summary.loc[curve, 3] > summary.loc["reference", 3] - 0.5
    every = table[table["curve"] == "all inputs, every draw"]
    assert every["difference"].abs().max() < 0.01
    assert not (tmp_path / "finished").exists()  # which a full run goes on from
