"""Searches of linear references: one vectorised step against projections one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import gpproj
from gpproj.kernels import Linear
from gpproj.store import StoreError

FAMILIES = ("gaussian", "binomial", "poisson")
NAMES = list("abcdefg")


def make_reference(family="gaussian", n=80, s=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 7))
    X[:, 4] = X[:, 1] + 0.5 * rng.standard_normal(n)
    truth = np.array([0.0, 1.2, 0.0, -0.9, 0.0, 0.6, 0.0])
    weights = truth + 0.08 * rng.standard_normal((s, 7))
    eta = X @ truth
    frame = pd.DataFrame(X, columns=NAMES)
    if family == "gaussian":
        y = eta + rng.standard_normal(n)
        return gpproj.from_linear_draws(frame, y, weights, rng.uniform(0.8, 1.2, s))
    if family == "binomial":
        return gpproj.from_linear_draws(
            frame, np.where(rng.random(n) < expit(eta), "b", "a"), weights, family="binomial"
        )
    exposure = rng.uniform(0.5, 2.0, n)
    y = rng.poisson(exposure * np.exp(eta))
    return gpproj.from_linear_draws(frame, y, weights, family="poisson", exposure=exposure)


@pytest.fixture(scope="module", params=FAMILIES)
def ref(request):
    return make_reference(request.param)


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, progress=False)


def test_the_search_finds_the_truth(path):
    assert set(path.order[:3]) == {"b", "d", "f"}
    assert path.order[0] == "b"
    assert isinstance(path, gpproj.SearchPath)


def test_every_step_is_the_best_of_projections_one_by_one(ref):
    path = gpproj.forward_search(ref, strategy="exhaustive", progress=False)
    chosen = []
    for step, name in enumerate(path.order, start=1):
        left = [other for other in ref.feature_names if other not in chosen]
        errors = {o: gpproj.project(ref, [*chosen, o]).projection_error for o in left}
        table = path.candidates.query("step == @step").set_index("input")["error"]
        np.testing.assert_allclose(table[left], [errors[o] for o in left], rtol=1e-7, atol=1e-12)
        if path.relative_errors[step - 1] > 1e-9:
            assert name == min(errors, key=errors.get)
        chosen.append(name)
    assert path.candidates["converged"].all()


def test_the_race_finds_the_exhaustive_path(ref, path):
    exhaustive = gpproj.forward_search(ref, strategy="exhaustive", progress=False)
    assert path.order == exhaustive.order
    np.testing.assert_allclose(path.errors, exhaustive.errors, rtol=1e-9, atol=1e-14)
    table = path.candidates
    assert list(table.columns) == ["step", "input", "error", "evaluations", "converged"]
    assert table.groupby("step").size().tolist() == [7, 6, 5, 4, 3, 2, 1]
    idle = table[~table["converged"]]
    assert len(idle) == (0 if ref.family == "gaussian" else 4 + 3 + 2 + 1)
    # One Newton step is no optimum, but never worse than nothing.
    assert np.all(idle["error"] <= path.errors[idle["step"] - 1] + 1e-12)


def test_a_path_has_what_users_expect(ref, path):
    assert len(path) == 8
    assert path.positions == tuple(NAMES.index(name) for name in path.order)
    assert path.null_error == path.errors[0] == gpproj.project(ref, []).projection_error
    np.testing.assert_allclose(path.relative_errors, path.errors / path.null_error, atol=1e-12)
    assert path.relative_errors[0] == 1.0
    assert path.relative_errors[-1] == pytest.approx(0.0, abs=1e-9)
    assert path[3].inputs == path.order[:3]
    assert path[3] is path[3]
    table = path.summary()
    assert table["input"].tolist() == ["", *path.order]
    np.testing.assert_array_equal(table["error"], path.errors)
    assert ("noise_sd" in table) == (ref.family == "gaussian")
    assert table["converged"].all()
    assert path.plot().get_ylabel() == "relative projection error"
    assert repr(path).startswith("SearchPath(b, ")
    for wrong, error in ((8, IndexError), (-1, IndexError), ("b", TypeError)):
        with pytest.raises(error, match="size must be"):
            _ = path[wrong]
    with pytest.raises(ValueError, match="clusters is not offered"):
        path.submodel(2, clusters=3)
    with pytest.raises(ValueError, match="clusters is not offered"):
        path.with_clusters(3)
    assert path.with_clusters(None) is path


def test_submodels_of_a_path_are_those_of_project(ref, path):
    new = np.random.default_rng(1).standard_normal((5, 7))
    for size in (0, 2, 5, 7):
        own = gpproj.project(ref, path.order[:size])
        np.testing.assert_allclose(path[size].weights, own.weights, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            path[size].predict_response(new), own.predict_response(new), rtol=1e-6
        )


def test_groups_enter_together_and_forced_inputs_are_in_from_the_start(ref):
    groups = {"pair": ["a", "d"], "repeats": ["b", "e"]}
    path = gpproj.forward_search(ref, groups=groups, always=["c"], progress=False)
    assert sorted(path.order) == ["f", "g", "pair", "repeats"]
    assert path[0].inputs == ("c",)
    assert path.null_error > path.errors[0]
    taken = path.order.index("pair") + 1
    assert set(path[taken].inputs) >= {"a", "d", "c"}
    own = gpproj.project(ref, path[2].inputs)
    assert path.errors[2] == pytest.approx(own.projection_error, rel=1e-8)
    exhaustive = gpproj.forward_search(
        ref, groups=groups, always=["c"], strategy="exhaustive", progress=False
    )
    assert exhaustive.order == path.order
    first = exhaustive.candidates.query("step == 1").set_index("input")["error"]
    direct = gpproj.project(ref, ["c", "b", "e"]).projection_error
    assert first["repeats"] == pytest.approx(direct, rel=1e-8)


def test_costs_decide_and_stopping_stops(ref, path):
    dear = gpproj.forward_search(ref, 1, costs={"b": 1e6}, progress=False)
    assert dear.order[0] != "b"
    assert gpproj.forward_search(ref, 2, progress=False).order == path.order[:2]
    some = gpproj.forward_search(ref, stop_below=0.3, progress=False)
    assert some.relative_errors[-1] < 0.3 <= some.relative_errors[-2]
    assert some.order == path.order[: len(some.order)]


def test_workers_change_nothing(ref, path):
    again = gpproj.forward_search(ref, n_jobs=2, progress=False)
    assert again.order == path.order
    np.testing.assert_array_equal(again.errors, path.errors)


def test_a_given_order_is_followed(ref):
    path = gpproj.project_path(ref, ["g", "b", 3], max_inputs=2)
    assert path.order == ("g", "b")
    assert path.errors[2] == pytest.approx(gpproj.project(ref, ["g", "b"]).projection_error)
    by_rival = gpproj.project_path(ref, "kl", max_inputs=2)
    assert by_rival.order == tuple(gpproj.relevance(ref, "kl").nlargest(2).index)
    other = make_reference(ref.family, seed=3)
    assert path.repeat(other).order == path.order
    direct = gpproj.project(other, ["g"]).projection_error
    assert path.reproject(other).errors[1] == pytest.approx(direct, rel=1e-10)


def test_searches_are_repeated_on_other_data(ref):
    path = gpproj.forward_search(ref, 3, always=["c"], progress=False)
    other = make_reference(ref.family, seed=3)
    again = path.repeat(other)
    assert again.reference is other
    assert again.order == gpproj.forward_search(other, 3, always=["c"], progress=False).order
    assert path.reproject(other).order == path.order


def test_a_backward_search_goes_the_other_way(ref, path):
    back = gpproj.backward_search(ref, 2, progress=False)
    assert set(back.always) == {NAMES.index(name) for name in path.order[:2]}
    assert len(back) == 6
    assert back.errors[-1] == pytest.approx(0.0, abs=1e-14)
    assert back.errors[0] == pytest.approx(path.errors[2], rel=1e-8)
    assert np.all(np.diff(back.errors) <= 1e-12)
    assert back.repeat(make_reference(ref.family, seed=3)).candidates["step"].max() == 5


def test_leaving_each_input_out(ref):
    errors = gpproj.leave_input_out(ref)
    assert errors.index.tolist() == NAMES
    rest = [name for name in NAMES if name != "d"]
    assert errors["d"] == pytest.approx(gpproj.project(ref, rest).projection_error)
    assert set(errors.nlargest(3).index) == {"b", "d", "f"}


@pytest.mark.parametrize("family", FAMILIES)
def test_more_inputs_than_rows_and_collinear_columns(family):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 20))
    X[:, 7] = X[:, 2]
    X[:, 8] = 1.0
    weights = np.zeros((30, 20)) + 0.05 * rng.standard_normal((30, 20))
    weights[:, 2] += 2.0
    y = {
        "gaussian": X[:, 2],
        "binomial": X[:, 2] > 0,
        "poisson": rng.poisson(np.exp(X[:, 2])),
    }[family]
    noise = 0.5 if family == "gaussian" else None
    with pytest.warns(UserWarning, match="constant in X"):
        ref = gpproj.from_linear_draws(X, y, weights, noise, family)
    path = gpproj.forward_search(ref, progress=False)
    assert path.order[0] in ("x2", "x7")
    assert np.all(np.diff(path.errors) <= 1e-12)
    assert path.errors[14:] == pytest.approx(0.0, abs=1e-7)
    copy = path.candidates.query("step == 2 and input in ['x2', 'x7', 'x8']")
    np.testing.assert_allclose(copy["error"], path.errors[1], rtol=1e-9)
    assert path.summary()["converged"].all()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"prior": "log-uniform"}, "prior"),
        ({"clusters": 2}, "clusters"),
        ({"kernel": Linear()}, "kernel"),
    ],
)
def test_options_that_have_no_meaning_are_refused(options, name):
    ref = make_reference()
    with pytest.raises(ValueError, match=f"{name} is not offered for linear references"):
        gpproj.forward_search(ref, progress=False, **options)


def test_options_of_other_searches_are_refused_too():
    ref = make_reference()
    refused = r"is not offered for linear references"
    with pytest.raises(ValueError, match=f"kernel {refused}"):
        gpproj.backward_search(ref, kernel=Linear(), progress=False)
    with pytest.raises(ValueError, match=f"learn {refused}"):
        gpproj.project_path(ref, ["a"], learn="marginal_likelihood")
    with pytest.raises(ValueError, match=f"prior {refused}"):
        gpproj.leave_input_out(ref, prior="log-uniform")
    with pytest.raises(ValueError, match="method must be one of kl, variance, permutation"):
        gpproj.project_path(ref, "ard")


def test_a_step_of_gaussian_noise_costs_no_projections(monkeypatch):
    """All candidates of a step come from one product: only winners are projected."""
    import gpproj.projection.linear_projector as projector

    asked = []
    true = projector.project_draws
    monkeypatch.setattr(
        projector, "project_draws", lambda *given: asked.append(given[1]) or true(*given)
    )
    gpproj.forward_search(make_reference(), 4, exchange=False, progress=False)
    # The two ends first, then what candidates of each step are added to.
    assert [len(positions) for positions in asked] == [0, 7, 1, 2, 3]


def test_a_search_goes_on_from_a_checkpoint_or_from_a_path(ref, path, tmp_path):
    file = tmp_path / "search"
    some = gpproj.forward_search(ref, 3, checkpoint=file, progress=False)
    again = gpproj.forward_search(ref, checkpoint=file, progress=False)
    extended = gpproj.forward_search(ref, extend=some, progress=False)
    for longer in (again, extended):
        assert longer.order == path.order
        np.testing.assert_array_equal(longer.errors, path.errors)
        np.testing.assert_array_equal(longer.best_errors, path.best_errors)
    with pytest.raises(StoreError, match="other data or settings"):
        gpproj.forward_search(make_reference(ref.family, seed=1), checkpoint=file, progress=False)


def test_inputs_can_be_filtered_and_rows_chosen(ref, path):
    kept = gpproj.forward_search(ref, prefilter=("kl", 4), progress=False)
    assert set(kept.order) == set(gpproj.relevance(ref, "kl").nlargest(4).index)
    some = gpproj.forward_search(ref, 3, search_rows=60, progress=False)
    assert some.searched.rows == 60
    assert some.order == path.order[:3]
    np.testing.assert_allclose(some.errors, path.errors[:4], rtol=1e-9)
