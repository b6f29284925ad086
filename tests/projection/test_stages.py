"""Stages: few rows decide what is worth learning on all rows, and the answer stays that of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.optimise import State
from gpproj.projection import StagedProjector, projector_of, staged, stages
from gpproj.projection.loss import Loss
from gpproj.projection.options import ProjectionOptions
from gpproj.projection.solver import clearly_worse
from tests.fitting import fit_mode


def data(n=320, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def ref():
    return fit_mode(*data())


@pytest.fixture(scope="module")
def projectors(ref):
    whole = projector_of(ref)
    return whole, staged(whole, ref)


def sets(d=6):
    return [np.isin(np.arange(d), own) for own in ([0], [1, 2], [0, 1, 2, 5])]


def solved(projector):
    """Submodels from a few starts each."""
    return projector.solve([projector.short_starts(mask) for mask in sets()])


@pytest.fixture(scope="module")
def expected(projectors):
    return solved(projectors[0])


def test_there_are_stages_where_rows_are_many_and_the_objective_goes_by_rows(ref, projectors):
    whole, own = projectors
    assert isinstance(own, StagedProjector)
    assert (own.rows, own.few.rows, own.whole.rows) == (320, 200, 320)
    assert type(own.whole) is type(whole)
    small = fit_mode(*data(n=120))
    assert not isinstance(staged(projector_of(small), small), StagedProjector)
    for options in (
        ProjectionOptions(learn="projection"),
        ProjectionOptions(learn="loo", criterion="projection_error"),
    ):
        assert not isinstance(staged(projector_of(ref, options), ref), StagedProjector)


def test_submodels_are_those_of_all_rows(projectors, expected):
    whole, own = projectors
    span = whole.null().error
    for found, other in zip(solved(own), expected, strict=True):
        assert found.error == pytest.approx(other.error, abs=1e-3 * span)
        assert found.value <= other.value + 1e-3 * span
        assert found.converged
    assert own.null().error == pytest.approx(span, rel=1e-6)


def test_all_rows_are_asked_seldom(projectors, monkeypatch):
    """Few rows take most of the work, and the curvature found there saves some on all of them."""
    _, own = projectors
    asked = {200: 0, 320: 0}
    call = Loss.__call__

    def counted(self, parameters, lanes):
        asked[int(self.compared_with.X.shape[0])] += len(lanes)
        return call(self, parameters, lanes)

    monkeypatch.setattr(Loss, "__call__", counted)
    solved(own)
    with_curvature = asked[320]
    assert with_curvature < 0.3 * asked[200]
    asked[320] = 0
    monkeypatch.setattr(State, "with_memory", lambda state, memory: state)
    solved(own)
    assert asked[320] > 1.2 * with_curvature


def test_candidates_that_are_clearly_worse_leave_and_ties_stay(projectors):
    _, own = projectors
    masks = [np.isin(np.arange(6), one) for one in ([0, 1, 2], [0, 1, 2, 3], [0], [4])]
    fits = own.begin(masks, [own.null()], 10)
    left = own.contenders([fit.keep_best(1) for fit in fits])
    assert [fit is not None for fit in left] == [True, True, False, False]
    # Beside a submodel that is better than all of them, nobody stays.
    (best,) = own.project([masks[0]])
    assert own.contenders([fits[2].keep_best(1)], [best]) == [None]
    # A plain projector leaves nobody out.
    begun = own.whole.begin(masks[2:], [own.null()], 1)
    assert own.whole.contenders(begun) == begun


def test_a_difference_counts_where_it_exceeds_its_standard_error():
    rng = np.random.default_rng(0)
    best = rng.standard_normal(400) ** 2
    noise = rng.standard_normal((2, 400))
    noise -= noise.mean(axis=1, keepdims=True)
    noise /= noise.std(axis=1, ddof=1, keepdims=True)
    error = np.sqrt(400.0)  # of the sum of 400 differences with standard deviation one
    rows = best + np.stack(
        [0.0 * noise[0], noise[0] + 0.9 * error / 400, noise[1] + 1.1 * error / 400]
    )
    assert clearly_worse(rows).tolist() == [False, False, True]
    assert clearly_worse(np.full((2, 3), np.inf)).tolist() == [True, True]


def test_errors_of_candidates_are_on_the_scale_of_all_rows(projectors, expected):
    _, own = projectors
    null, full = own.null(), own.full(own.null())
    scaled = own.between(null, full)
    masks = sets()
    fits = scaled.begin(masks, [null], 60)
    errors, span = [one.error for one in expected], null.error - full.error
    np.testing.assert_allclose(scaled.errors(fits), errors, atol=0.1 * span)
    settled = scaled.settle([fit.keep_best(1) for fit in fits])
    np.testing.assert_allclose([one.error for one in settled], errors, atol=0.1 * span)


def test_rows_of_a_stage_have_targets_as_all_rows(ref):
    rows = stages.spread_rows(ref.training, 200)
    assert len(set(rows.tolist())) == 200
    np.testing.assert_array_equal(rows, stages.spread_rows(ref.training, 200))
    y = np.asarray(ref.training.y)
    for share in (0.05, 0.3, 0.5, 0.9):
        assert np.quantile(y[rows], share) == pytest.approx(np.quantile(y, share), abs=0.05)
    # A rare class is there in the share that it has.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    labels = np.arange(400) % 20 == 0
    rare = gpproj.condition(
        X, labels, gpproj.kernels.SquaredExponential(1.0, [1.0, 1.0]), "logit", standardize=True
    )
    own = np.asarray(rare.training.y)[stages.spread_rows(rare.training, 200)]
    assert np.mean(own == own.max()) == pytest.approx(0.05)


def test_submodels_of_low_rank_are_learned_through_pivots(projectors, expected, monkeypatch):
    whole, own = projectors
    monkeypatch.setattr(stages, "LOW_RANK", 300)
    kinds = []
    choose = StagedProjector._low_rank_target

    def chosen(self, fit):
        kinds.append(choose(self, fit))
        return kinds[-1]

    monkeypatch.setattr(StagedProjector, "_low_rank_target", chosen)
    span, found = whole.null().error, solved(own)
    assert any(kind is not None for kind in kinds)
    assert any(kind is None for kind in kinds)  # where the rank is high
    for one, other in zip(found, expected, strict=True):
        assert one.error == pytest.approx(other.error, abs=1e-3 * span)
        # What is returned is the objective itself, not what the pivots make of it.
        at = one.kernel, one.parameters[None], one.active[None]
        assert one.error == pytest.approx(float(own.criterion(own.target, *at)[0]), rel=1e-9)
    # With far too few pivots the optimum is repaired.
    monkeypatch.setattr(stages, "RESIDUAL", 10.0)
    for one, other in zip(solved(own), expected, strict=True):
        assert one.error == pytest.approx(other.error, abs=1e-2 * span)


@pytest.mark.slow
def test_a_search_finds_what_it_finds_on_all_rows(monkeypatch):
    X, y = data(seed=3)
    ref = gpproj.fit(X, y, check=False)
    found = gpproj.forward_search(ref, 4, progress=False)
    again = gpproj.forward_search(ref, 4, progress=False, n_jobs=2)
    np.testing.assert_array_equal(found.errors, again.errors)
    monkeypatch.setattr("gpproj.projection.some_rows.STAGES", ())
    expected = gpproj.forward_search(ref, 4, progress=False)
    span = expected.null_error - expected.full_error
    assert found.best_inputs(3) == expected.best_inputs(3)
    np.testing.assert_allclose(found.best_errors, expected.best_errors, atol=0.01 * span)
    assert type(found.projector) is type(expected.projector)


def test_groups_of_rows_and_repeated_rows_have_stages_too():
    X, y = data(seed=4)
    X[1::4], y[1::4] = X[::4], y[::4]
    ref = fit_mode(X, y)
    grouped = ref.with_row_groups(np.arange(320) // 4)
    for one in (ref, grouped):
        whole = projector_of(one)
        own = staged(whole, one)
        mask = np.isin(np.arange(6), [0, 1, 2])
        (found,), (other,) = (each.solve([each.short_starts(mask)]) for each in (own, whole))
        assert found.error == pytest.approx(other.error, abs=2e-3 * whole.null().error)


def test_another_reference_has_stages_of_its_own(projectors):
    _, own = projectors
    other = fit_mode(*data(seed=7))
    moved = own.of(other)
    assert isinstance(moved, StagedProjector)
    np.testing.assert_array_equal(moved.whole.target.X, other.target.X)
    assert set(map(tuple, moved.few.target.X)) <= set(map(tuple, np.asarray(other.target.X)))
    small = fit_mode(*data(n=100))
    assert not isinstance(own.of(small), StagedProjector)
    assert replace(own, tolerance=1e-3).loose.few.tolerance == own.loose.tolerance
