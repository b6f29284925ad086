"""On a GPU: the answers of the processor, and recordings that change nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import device_graphs as recording
from gpproj.linalg import room_for
from gpproj.linalg.arrays import SHARE
from gpproj.projection import CRITERIA, OBJECTIVES, family_of
from gpproj.projection.objective import left_out_means
from gpproj.projection.starts import usual_starts
from gpproj.reference import Draws
from tests.fitting import fit_mode

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("gpu")

INPUTS = 8
WAYS = {"exact": "auto", "sparse": gpproj.Sparse(30)}
MANY_CALLS = recording.SEEN + 4


def make_pair(gpu, inference, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, INPUTS)), columns=list("abcdefgh"))
    y = np.sin(2 * X["a"]) + X["b"] + 0.5 * X["c"] + 0.3 * rng.standard_normal(n)
    kernel = Constant(0.3) + SquaredExponential(1.0, np.linspace(1.0, 6.0, INPUTS))
    here, there = (
        gpproj.condition(X, y, kernel, Gaussian(0.1), inference, standardize=True, device=device)
        for device in (None, gpu)
    )
    return SimpleNamespace(X=X, y=y, here=here, there=there)


@pytest.fixture(scope="module", params=WAYS)
def pair(request, gpu):
    return make_pair(gpu, WAYS[request.param])


@pytest.fixture(scope="module")
def exact(gpu):
    return make_pair(gpu, "auto")


def candidates(reference, lanes, seed=0):
    rng = np.random.default_rng(seed)
    masks = rng.random((lanes, INPUTS)) < 0.5
    masks[:, 0] = True
    family = family_of(reference)
    starts = np.stack([usual_starts(family, mask).parameters[0] for mask in masks])
    return family.kernel, starts + 0.3 * rng.standard_normal(starts.shape), masks


def close(one, two, tolerance=1e-9):
    np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * np.max(np.abs(two)))


def agree(found, expected):
    close(found.value, expected.value)
    close(found.gradient, expected.gradient)


def value_of(learn, target, *at):
    objective = OBJECTIVES[learn]
    return objective.value(objective.compared_with(target), *at)


objectives = pytest.mark.parametrize("learn", OBJECTIVES)
both = pytest.mark.parametrize("learn", ["loo", "projection"])


@objectives
def test_values_and_gradients_are_those_of_the_processor(pair, learn):
    at = candidates(pair.here, 9)
    agree(value_of(learn, pair.there.target, *at), value_of(learn, pair.here.target, *at))


@pytest.mark.parametrize("measure", [*CRITERIA.values(), left_out_means])
def test_errors_and_predictions_are_those_of_the_processor(pair, measure):
    at = candidates(pair.here, 9)
    close(measure(pair.there.target, *at), measure(pair.here.target, *at))


@both
def test_searches_find_what_the_processor_finds(pair, learn):
    found, expected = (
        gpproj.forward_search(one, 4, learn=learn, progress=False)
        for one in (pair.there, pair.here)
    )
    assert found.order == expected.order
    away = np.abs(found.errors - expected.errors).max()
    assert away <= 1e-3 * (expected.null_error - expected.full_error)


def test_a_fit_ends_where_the_processor_ends(exact, gpu):
    X, y = exact.X.iloc[:60, :3], exact.y[:60]
    found, expected = fit_mode(X, y, device=gpu), fit_mode(X, y)
    assert found.training.X.device.type == "cuda"
    assert found.log_marginal_likelihood == pytest.approx(
        expected.log_marginal_likelihood, rel=1e-7
    )


def test_predictions_come_back_where_their_inputs_are(pair, gpu):
    there = torch.tensor(pair.X.to_numpy(), device=gpu)
    for found, expected in (
        (pair.there, pair.here),
        tuple(gpproj.project(one, ["a", "b"]) for one in (pair.there, pair.here)),
    ):
        prediction = found.predict(pair.X)
        assert isinstance(prediction.mean, np.ndarray)
        close(prediction.mean, expected.predict(pair.X).mean, 1e-5)
        assert found.predict(there).mean.device.type == "cuda"
        density = found.log_density(there, pair.y)
        assert density.device.type == "cuda"
        close(density.cpu().numpy(), expected.log_density(pair.X, pair.y), 1e-5)


RECORDED = {"loo": "loo_divergence", "projection": "projection_error"}


@pytest.mark.parametrize("learn", RECORDED)
@pytest.mark.parametrize("lanes", [1, 3, 9, 10, 33])
def test_recorded_evaluations_are_those_that_are_not(exact, lanes, learn):
    target = gpproj.condition(
        exact.X, exact.y, exact.here.kernel, Gaussian(0.1), standardize=True, device="cuda"
    ).target
    for seed in range(MANY_CALLS):
        at = candidates(exact.here, lanes, seed)
        agree(value_of(learn, target, *at), value_of(learn, exact.here.target, *at))
        error = CRITERIA[RECORDED[learn]]
        close(error(target, *at), error(exact.here.target, *at))
    recorded = OBJECTIVES[learn].compared_with(target).replays._recorded
    assert {key[1] for key in recorded} == {next(size for size in recording.SIZES if size >= lanes)}
    assert len(recorded) == 2


def test_recordings_of_several_sizes_do_not_disturb_each_other(exact):
    target = exact.there.target
    sizes = (2, 7, 20, 11)
    expected = {
        lanes: OBJECTIVES["projection"].value(exact.here.target, *candidates(exact.here, lanes))
        for lanes in sizes
    }
    for _ in range(MANY_CALLS):
        for lanes in sizes:
            agree(
                OBJECTIVES["projection"].value(target, *candidates(exact.here, lanes)),
                expected[lanes],
            )
    assert len(target.replays._recorded) >= len(sizes)


@both
def test_clusters_in_one_batch_are_those_of_the_processor(exact, learn):
    logs = exact.here.draws.parameters + np.linspace(-0.2, 0.2, 6)[:, None]
    there, here = (replace(one, draws=Draws.equal(logs)) for one in (exact.there, exact.here))
    for inputs in (["a", "b"], ["a", "b", "c"], []):
        found, expected = (
            gpproj.project(one, inputs, learn, clusters="draws") for one in (there, here)
        )
        for figure in ("projection_error", "loo_divergence"):
            assert getattr(found, figure) == pytest.approx(getattr(expected, figure), rel=1e-4)
        close(found.log_density(exact.X, exact.y), expected.log_density(exact.X, exact.y), 1e-4)
    (batch,) = there.device_cache.values()
    held = batch.targets.left_out if learn == "loo" else batch.targets
    assert held.replays._recorded


@both
def test_several_references_in_one_batch_are_those_of_the_processor(gpu, learn):
    pairs = [make_pair(gpu, "auto", seed=seed) for seed in range(3)]
    found = gpproj.leave_input_out([one.there for one in pairs], learn=learn)
    expected = np.stack([gpproj.leave_input_out(one.here, learn=learn) for one in pairs])
    close(found.to_numpy(), expected, 1e-4)


def test_what_was_returned_is_not_written_to_again(gpu):
    replays = recording.Replays()
    where = torch.zeros(1, device=gpu)
    inputs = [np.full((3, 2), float(k)) for k in range(MANY_CALLS)]
    found = [replays.run("squares", lambda x: x**2, where, one) for one in inputs]
    assert len(replays._recorded) == 1
    for one, given in zip(found, inputs, strict=True):
        np.testing.assert_array_equal(one, given**2)


def test_batches_between_two_sizes_are_filled_up_and_cut_off_again(gpu):
    replays, where = recording.Replays(), torch.zeros(1, device=gpu)
    for lanes in (16, 9, 13, 9, 16):
        x = np.random.default_rng(lanes).random((lanes, 2))
        x.flags.writeable = False
        found = replays.run("rows", lambda one, own: one * own[:, None], where, x, x[:, 0] > 0.5)
        np.testing.assert_array_equal(found, x * (x[:, :1] > 0.5))
    assert len(replays._recorded) == 1


def test_large_batches_are_not_filled_up(gpu):
    replays = recording.Replays()
    x, where = np.zeros((recording.SIZES[-1] + 1, 1)), torch.zeros(1, device=gpu)
    for _ in range(MANY_CALLS):
        assert replays.run("ones", lambda one: one + 1.0, where, x).shape == x.shape
    assert not replays._recorded


def test_nothing_is_recorded_on_a_gpu_that_is_not_the_current_one(gpu, monkeypatch):
    replays, where = recording.Replays(), torch.zeros(1, device=gpu)
    other = where.device.index + 1
    monkeypatch.setattr(torch.cuda, "current_device", lambda: other)
    for _ in range(MANY_CALLS):
        replays.run("ones", lambda one: one + 1.0, where, np.zeros((2, 1)))
    assert not replays._recorded


def test_recordings_share_their_memory(gpu):
    n, lanes = 1024, 8
    one_matrix = 8 * lanes * n**2

    def work(x):
        A = x[:, :, None] * torch.ones((n, n), dtype=x.dtype, device=x.device)
        return (A * A).sum((1, 2))[:, None]

    def reserved():
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved()

    replays, x = recording.Replays(), np.ones((lanes, 1))
    where, seen = torch.zeros(1, device=gpu), []
    for name in range(6):
        for _ in range(recording.SEEN + 1):
            replays.run(name, work, where, x)
        seen.append(reserved())
    assert len(replays._recorded) == 6
    assert seen[-1] - seen[0] < one_matrix


def test_a_candidate_that_cannot_be_factorised_is_mended_after_a_replay(exact):
    reference = gpproj.condition(
        exact.X, exact.y, exact.here.kernel, Gaussian(0.1), nugget=0.0, device="cuda"
    )
    kernel, parameters, masks = candidates(reference, 3)
    good = OBJECTIVES["projection"].value(reference.target, kernel, parameters, masks)
    for place, one in enumerate(kernel.parameters(INPUTS)):
        if one.kind.is_scale:
            parameters[1, place] = 8.0
    parameters[1, -1] = -60.0
    for _ in range(MANY_CALLS):
        with pytest.warns(gpproj.linalg.JitterWarning):
            found = OBJECTIVES["projection"].value(reference.target, kernel, parameters, masks)
        assert np.isfinite(found.value).all()
        close(found.value[[0, 2]], good.value[[0, 2]])
        close(found.gradient[[0, 2]], good.gradient[[0, 2]])


def test_batches_have_room_by_the_memory_of_the_device(gpu):
    memory = torch.cuda.get_device_properties(gpu).total_memory
    assert room_for(torch.zeros(1, device=gpu)) == memory // SHARE


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_side_by_side_find_what_the_processor_finds(exact, n_jobs):
    found, expected = (
        gpproj.validate(
            own,
            gpproj.forward_search(own, 4, progress=False),
            "kfold",
            folds=4,  # of 112 and of 113 rows
            random_state=0,
            n_jobs=n_jobs,
            progress=False,
        )
        for own in (exact.there, exact.here)
    )
    assert found.orders == expected.orders
    close(found.scores.log_density, expected.scores.log_density, 1e-4)
