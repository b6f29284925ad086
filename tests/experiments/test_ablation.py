"""Learning by the predictive divergence: gradient, minimiser, and the study in miniature."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from reproduction import ablation, predictive
from reproduction.ablation import (
    COLOURS,
    PREDICTIVE,
    PROJECTIONS,
    reproduce_ablation,
    standardised,
    summarise,
)
from reproduction.predictive import (
    NUGGET,
    Standardised,
    at_training_rows,
    conditioned,
    family_of,
    minimise,
    parameters_of,
    predictive_divergence,
)
from tests.fitting import fit_mode

pytestmark = pytest.mark.slow


def simulated(noise, n=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * n, 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * X[:, 2] ** 2
    y = f - f.mean() + noise * rng.standard_normal(2 * n)
    unit = y[:n].std()
    return Standardised(X[:n], y[:n] / unit, X[n:], y[n:] / unit, unit)


@pytest.fixture(scope="module")
def quiet():
    split = simulated(noise=0.05)
    return split, fit_mode(split.X, split.y, standardize=False, nugget=NUGGET)


@pytest.fixture(scope="module", params=[(0,), (2, 0)])
def projected(request, quiet):
    split, ref = quiet
    inputs = list(request.param)
    subs = [
        gpproj.project(ref, inputs, "projection", prior=prior) for prior in PROJECTIONS.values()
    ]
    return split, family_of(ref, split, inputs), inputs, subs


def test_the_divergences_are_those_of_the_submodels(projected):
    _, family, _, subs = projected
    for sub in subs:
        told = at_training_rows(family, parameters_of(sub))
        assert told["projection_error"] == pytest.approx(sub.projection_error, rel=1e-6)
        assert told["posterior_kl"] == pytest.approx(sub.posterior_kl, rel=1e-6)
        assert told["extra_variance"] == pytest.approx(sub.extra_variance)


def test_more_noise_predicts_as_extra_variance_does(projected):
    split, family, inputs, subs = projected
    for sub in subs:
        same = conditioned(family, parameters_of(sub))
        X = split.X_test[:, inputs]
        named = split.X_test
        np.testing.assert_allclose(
            same.log_density(X, split.y_test), sub.log_density(named, split.y_test), rtol=1e-7
        )
        own, other = same.predict_response(X), sub.predict_response(named)
        np.testing.assert_allclose(own.mean, other.mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(own.variance, other.variance, rtol=1e-7)


def test_the_fit_at_the_training_rows_is_that_of_new_points_there(projected):
    split, family, _, subs = projected
    mean = subs[0].predict_response(split.X).mean
    told = at_training_rows(family, parameters_of(subs[0]))
    assert told["misfit"] == pytest.approx(np.sqrt(np.mean((mean - family.latent_mean) ** 2)))
    assert told["residual"] == pytest.approx(np.mean((mean - split.y) ** 2) / family.noise)
    assert told["shortest"] == pytest.approx(np.exp(parameters_of(subs[0])[2:-1]).min())


@pytest.mark.parametrize("noise", [None, 0.5])
@pytest.mark.parametrize("extra", [1e-4, 0.3])
def test_the_gradient_is_that_of_the_divergence(projected, noise, extra):
    _, family, inputs, _ = projected
    family = family._replace(noise=noise or family.noise)
    rng = np.random.default_rng(1)
    at = np.append(rng.normal(-0.5, 0.5, 2 + len(inputs)), np.log(extra))
    _, gradient = predictive_divergence(at, family)
    ends = (
        [predictive_divergence(at + sign * step, family)[0] for sign in (1.0, -1.0)]
        for step in 1e-5 * np.eye(at.size)
    )
    numerical = [(up - down) / 2e-5 for up, down in ends]
    assert np.abs(gradient).min() > 1e-3
    np.testing.assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-6 * np.abs(gradient).max())


def learned(split, ref, inputs):
    """What the training and test rows say of the projection and of the minimiser."""
    family = family_of(ref, split, inputs)
    start = parameters_of(gpproj.project(ref, inputs, "projection", prior=None))
    end, _ = minimise(family, {"projection": start})
    return [
        {
            **at_training_rows(family, parameters),
            "log_density": np.mean(
                conditioned(family, parameters).log_density(split.X_test[:, inputs], split.y_test)
            ),
        }
        for parameters in (start, end)
    ]


def test_minimising_the_divergence_interpolates_where_there_is_little_noise(quiet):
    projection, minimum = learned(*quiet, [0])
    assert minimum["projection_error"] < 0.8 * projection["projection_error"]
    assert minimum["residual"] < 0.1 * projection["residual"]
    assert minimum["shortest"] < 0.1
    assert minimum["log_density"] < projection["log_density"] - 0.3


def test_it_does_not_where_there_is_much_noise():
    split = simulated(noise=1.5)
    ref = fit_mode(split.X, split.y, standardize=False, nugget=NUGGET)
    projection, minimum = learned(split, ref, [1])
    assert minimum["projection_error"] <= projection["projection_error"]
    assert minimum["residual"] == pytest.approx(projection["residual"], rel=0.1)
    assert minimum["log_density"] == pytest.approx(projection["log_density"], abs=0.05)


def test_the_minimum_is_no_worse_than_any_start_and_within_bounds(quiet):
    split, ref = quiet
    family = family_of(ref, split, [0, 1])
    wild = np.log([1e9, 1e-9, 1e-9, 1e9, 1e9])
    start = parameters_of(gpproj.project(ref, [0, 1], "projection", prior=None))
    end, name = minimise(family, {"projection": start, "wild": wild})
    assert name in {"projection", "wild", *predictive.STARTS}
    lowest = predictive_divergence(end, family)[0]
    assert lowest <= predictive_divergence(start, family)[0]
    limits = np.log([[1e-6, 1e6], [1e-6, 1e6], [1e-2, 1e4], [1e-2, 1e4]])
    assert ((limits[:, 0] <= end[:-1]) & (end[:-1] <= limits[:, 1])).all()
    assert 1e-8 * family.noise <= np.exp(end[-1]) * (1 + 1e-9) <= 1e2


def small_diabetes():
    X, y = gpproj.datasets.diabetes()
    return X.loc[:79, ["age", "bmi", "s5"]].assign(one=1.0), y.loc[:79]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    small = small_diabetes()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpproj.datasets, "diabetes", lambda: small)
        patched.setitem(ablation.ROWS, "diabetes", 40)
        patched.setattr(ablation, "SIZES", (1, 2))
        folder = tmp_path_factory.mktemp("made") / "on the way"
        open_before = plt.get_fignums()
        summary = reproduce_ablation(folder, 2, data=["diabetes"])
        assert plt.get_fignums() == open_before
        patched.setattr(ablation, "rows_of", lambda *_: pytest.fail("run again"))
        again = reproduce_ablation(folder, 2, data=["diabetes"])
    return folder, summary, again


def test_the_table_has_every_way_at_every_size(written):
    folder, summary, _ = written
    table = pd.read_csv(folder / "ablation.csv")
    assert set(table["way"]) == {"reference", *COLOURS}
    for way in COLOURS:
        own = table[table["way"] == way]
        assert own.groupby("split")["size"].apply(list).tolist() == [[1, 2]] * 2
        numbers = own.drop(columns=["data", "way", "start", "noise_variance"]).to_numpy(dtype=float)
        assert np.isfinite(numbers).all()
        mean = own.loc[own["size"] == 2, "log_density"].mean()
        assert summary.loc[2, f"diabetes, {way}"] == pytest.approx(mean, rel=1e-3)
    assert table.loc[table["way"] == "reference", "size"].tolist() == [4, 4]
    assert (folder / "ablation.png").read_bytes().startswith(b"\x89PNG")


def test_the_minimiser_has_the_smallest_error_and_the_projection_the_smallest_divergence(written):
    table = pd.read_csv(written[0] / "ablation.csv")
    learned = table[table["way"] != "reference"].set_index(["split", "size", "way"])
    errors = learned["projection_error"].unstack("way")
    divergences = learned["posterior_kl"].unstack("way")
    assert (errors[PREDICTIVE] <= errors.min(axis=1) * (1 + 1e-4)).all()
    assert (divergences["projection"] <= divergences.min(axis=1) * (1 + 1e-4)).all()


def test_scores_are_in_units_of_the_target(written):
    table = pd.read_csv(written[0] / "ablation.csv").query("way == 'reference'")
    X, y = small_diabetes()
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(80)
        train, test = order[:40], order[40:]
        with pytest.warns(UserWarning, match="constant in X"):
            ref = fit_mode(X.iloc[train], y.iloc[train])
        row = table[table["split"] == seed].iloc[0]
        density = np.mean(ref.log_density(X.iloc[test], y.iloc[test]))
        error = y.iloc[test] - ref.predict_response(X.iloc[test]).mean
        assert row["log_density"] == pytest.approx(density, abs=1e-3)
        assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-3)


def test_finished_splits_are_not_run_again(written):
    _, summary, again = written
    pd.testing.assert_frame_equal(summary, again)


def test_splits_are_standardised_by_their_training_rows():
    split = standardised("diabetes", 3)
    assert split.X.shape == (200, 10)
    assert len(split.y_test) == 242
    np.testing.assert_allclose(split.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(split.X.std(axis=0), 1.0)
    assert abs(split.X_test.mean()) > 1e-6
    y = np.asarray(gpproj.datasets.diabetes().y)
    order = np.random.default_rng(3).permutation(len(y))
    again = split.y_test * split.unit + y[order[:200]].mean()
    np.testing.assert_allclose(again, y[order[200:]])


def test_means_are_over_splits():
    table = pd.DataFrame(
        [
            {"data": name, "split": split, "way": way, "size": size, "log_density": -split - size}
            for name in ("boston", "diabetes")
            for split in (0, 2)
            for way in ("reference", *COLOURS)
            for size in ((13,) if way == "reference" else (8, 3))
        ]
    )
    means = summarise(table)
    assert means.index.tolist() == [3, 8]
    ways = [f"{name}, {way}" for name in ("boston", "diabetes") for way in COLOURS]
    assert list(means.columns) == ways
    assert means[f"boston, {PREDICTIVE}"].tolist() == [-4.0, -9.0]
