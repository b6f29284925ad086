"""Draws, folds and references on a device, here torch on the processor: the same in one batch."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.execute import run_gathered
from gpproj.kernels import Constant, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import batching
from gpproj.projection import clusters as clusters_module
from gpproj.projection.loss import Loss
from gpproj.reference import Draws, StackCache, Target, device_targets, running
from gpproj.validation.checkpoint import FoldCheckpoint

torch = pytest.importorskip("torch")

KERNEL = Constant(0.3) + SquaredExponential(1.0, [1.0, 2.0, 4.0, 4.0])


def make_data(n=50):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    return X, np.sin(2 * X["a"]) + X["b"] + 0.3 * rng.standard_normal(n)


def made(seed, device, n=50, **settings):
    X, y = make_data(n)
    y = y + 0.1 * np.random.default_rng(seed).standard_normal(len(y))
    X = X + 0.1 * seed * X**2
    settings = {"standardize": True, **settings}
    return gpproj.condition(X, y, KERNEL, Gaussian(0.1), device=device, **settings)


def drawn(seed, device="cpu", draws=5):
    """A reference with draws of hyperparameters, without sampling them."""
    reference = made(seed, device)
    rng = np.random.default_rng(seed)
    spread = 0.2 * rng.standard_normal((draws, reference.draws.parameters.shape[1]))
    own = Draws(reference.draws.parameters + spread, np.full(draws, 1.0 / draws))
    return replace(reference, draws=own)


@pytest.fixture(scope="module")
def there():
    return made(0, "cpu")


def close(one, two, tolerance=1e-9):
    np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * np.max(np.abs(two)))


def counted(monkeypatch, name="begin"):
    """The lanes of every batch that is begun (or advanced) from now on."""
    place = Loss if name == "begin" else batching
    batches, plain = [], getattr(place, name)

    def work(loss, *rest, **named):
        batches.append(len(loss.masks))
        return plain(loss, *rest, **named)

    monkeypatch.setattr(place, name, work)
    return batches


@pytest.mark.parametrize(
    ("learn", "prior"),
    [
        ("loo", "auto"),
        pytest.param("loo", None, marks=pytest.mark.slow),
        pytest.param("projection", "weak", marks=pytest.mark.slow),
    ],
)
def test_several_references_are_left_inputs_out_of_in_one_batch(learn, prior, monkeypatch):
    left_out = partial(gpproj.leave_input_out, learn=learn, prior=prior)
    here = [left_out(made(seed, None)) for seed in range(3)]
    references = [made(seed, "cpu") for seed in range(3)]
    batches = counted(monkeypatch)
    left_out(references[0])
    (alone,) = batches
    there = left_out(references)
    assert batches == [alone, 3 * alone]
    assert there.columns.tolist() == list("abcd")
    close(there.to_numpy(), np.stack(here), 1e-4)


def test_too_many_references_go_into_several_batches(monkeypatch):
    references = [made(seed, "cpu") for seed in range(3)]
    whole = gpproj.leave_input_out(references)
    monkeypatch.setattr(running, "room_for", lambda X: 8 * 50**2)
    batches = counted(monkeypatch)
    parted = gpproj.leave_input_out(references)
    assert len(batches) == 2
    assert batches[0] == 2 * batches[1]
    close(parted.to_numpy(), whole.to_numpy(), 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("folds", "sizes"), [(5, 1), (4, 2)])
def test_folds_are_searched_side_by_side(folds, sizes, monkeypatch):
    search = partial(gpproj.forward_search, max_inputs=3, progress=False)
    check = partial(gpproj.validate, method="kfold", folds=folds, random_state=0, progress=False)
    here, there = made(0, None), made(0, "cpu")
    expected, path = check(here, search(here)), search(there)
    batches = counted(monkeypatch, "advance")
    search(there)
    alone = len(batches)
    found = check(there, path)
    # Folds of equally many rows take hardly more batches than one: some have a step of their own.
    assert len(batches) - alone <= 1.5 * alone * sizes
    assert np.mean(batches[alone:]) > 1.2 * np.mean(batches[:alone])
    assert found.orders == expected.orders
    # On a processor tolerances are relative to the null model's error.
    close(found.scores.log_density, expected.scores.log_density, 1e-2)


def spied(monkeypatch, module, name):
    calls, plain = [], getattr(module, name)

    def work(*given, **named):
        calls.append(given)
        return plain(*given, **named)

    monkeypatch.setattr(module, name, work)
    return calls


@pytest.mark.slow
def test_folds_with_a_checkpoint_are_kept_one_by_one(there, tmp_path, monkeypatch):
    gathered = spied(monkeypatch, running, "run_gathered")
    path = gpproj.project_path(there, ["a", "b"])
    check = partial(gpproj.validate, there, path, "kfold", random_state=0, progress=False)
    expected = check(folds=3)
    assert len(gathered) == 1
    plain, seen = FoldCheckpoint.__call__, []

    def interrupted(keeper, fold):
        if fold.number == 2:
            raise KeyboardInterrupt
        seen.append(fold.number)
        return plain(keeper, fold)

    with monkeypatch.context() as patched:
        patched.setattr(FoldCheckpoint, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            check(folds=3, checkpoint=tmp_path / "kept")
    assert seen == [0, 1]
    assert len(list((tmp_path / "kept").iterdir())) == 2
    found = check(folds=3, checkpoint=tmp_path / "kept")
    assert len(gathered) == 1
    close(found.scores.log_density, expected.scores.log_density, 1e-6)


@pytest.mark.slow
def test_processes_that_are_configured_take_the_folds(there, monkeypatch):
    gathered, runs = (spied(monkeypatch, running, name) for name in ("run_gathered", "run"))
    path = gpproj.project_path(there, ["a"])
    with joblib.parallel_config("loky", n_jobs=2):
        cv = gpproj.validate(there, path, "kfold", folds=2, n_jobs=None, progress=False)
    assert (len(gathered), len(runs)) == (0, 1)
    assert len(cv.orders) == 2


def test_fewer_folds_meet_where_each_has_many_draws(monkeypatch):
    reference, sizes, plain = drawn(0), [], running.run_gathered

    def work(function, items, n_jobs, progress, *, max_threads, thread_context):
        sizes.append(max_threads)
        return plain(function, items, n_jobs, progress, max_threads=max_threads)

    monkeypatch.setattr(running, "run_gathered", work)
    monkeypatch.setattr(running, "room_for", lambda X: 4 * 50**2 * 10)
    for clusters, n_jobs in ((None, 1), (2, 1), ("draws", 1), ("draws", 3)):
        running.run_where(reference, abs, [-1], n_jobs, clusters=clusters)
    assert sizes == [10, 5, 2, 3]


def test_references_with_inducing_points_take_turns(monkeypatch):
    gathered = spied(monkeypatch, running, "run_gathered")
    sparse = made(0, "cpu", inference=gpproj.Sparse(10))
    assert running.run_where(sparse, abs, [-1, 2]) == [1, 2]
    assert gathered == []


@pytest.mark.slow
def test_clusters_of_several_references_go_into_one_batch(monkeypatch):
    def work(seed):
        return gpproj.project(drawn(seed), ["a", "b"], clusters="draws").log_density(*make_data())

    expected = [work(seed) for seed in range(3)]
    batches = counted(monkeypatch)
    work(0)
    alone, integrated = max(batches), len(batches)
    batches.clear()
    found = run_gathered(work, range(3))
    assert len(batches) == integrated
    assert max(batches) == 3 * alone
    close(np.stack(found), np.stack(expected), 1e-4)


def test_groups_are_found_again():
    targets = [made(seed, "cpu").target for seed in range(3)]
    groups = StackCache()
    first = groups.of(targets, [2, 1, 3])
    assert first.owner.tolist() == [0, 0, 1, 2, 2, 2]
    fewer = groups.of([targets[2], targets[0]], [1, 2])
    assert fewer.owner.tolist() == [2, 0, 0]
    assert fewer.stack is first.stack
    twice = groups.of([first.at(np.array([5, 0])), targets[1]], [2, 1])
    assert twice.owner.tolist() == [2, 0, 1]
    assert twice.stack is first.stack
    np.testing.assert_array_equal(twice.stack.arrays.root[2], targets[2].root)
    assert first.left_out.stack is fewer.left_out.stack
    for seed in range(device_targets.REMEMBERED):
        groups.of([targets[0], made(seed, "cpu").target], [1, 1])
    assert groups.of(targets, [1, 1, 1]).stack is not first.stack  # forgotten


def test_lanes_have_the_arrays_of_their_own_target():
    targets = [made(seed, "cpu").target for seed in range(3)]
    several = StackCache().of(targets, [1, 2, 1]).at(np.array([3, 0, 1]))
    own = several.take(torch.asarray(several.owner))
    rows = several.left_out.take(torch.asarray(several.owner))
    for lane, member in enumerate((2, 0, 1)):
        target = targets[member]
        for name in ("X", "latent_mean", "site_target", "root"):
            np.testing.assert_array_equal(getattr(own, name)[lane], getattr(target, name))
        for name in ("X", "mean", "variance", "count", "site_root"):
            np.testing.assert_array_equal(getattr(rows, name)[lane], getattr(target.left_out, name))


def test_large_groups_are_not_kept_beside_others(monkeypatch):
    monkeypatch.setattr(device_targets, "room_for", lambda X: 5 * 50**2)
    targets = [made(seed, "cpu").target for seed in range(6)]
    groups = StackCache()
    pair, others = (groups.of(targets[k : k + 2], [1, 1]) for k in (0, 2))
    assert groups.of(targets[:2], [1, 1]).stack is pair.stack  # both are known
    all_of_them = groups.of(targets, [1] * 6)
    assert groups.of(targets, [1] * 6).stack is all_of_them.stack
    for known in (pair, others):
        assert groups.of(targets[:4], [1] * 4).stack is not known.stack


def others_of(X, y, **changes):
    settings = {"kernel": KERNEL, "standardize": True, "device": "cpu", **changes}
    kernel = settings.pop("kernel")
    return gpproj.condition(X, y, kernel, Gaussian(0.1), **settings)


OTHERS = {
    "rows": lambda: others_of(*make_data(40)),
    "units": lambda: others_of(*make_data(), standardize=False),
    "a kernel": lambda: others_of(*make_data(), kernel=Constant(0.3) + Matern32(1.0, 2.0)),
    "a product": lambda: others_of(*make_data(), kernel=Constant(0.3) * SquaredExponential()),
    "inputs": lambda: others_of(
        make_data()[0][["a", "b"]], make_data()[1], kernel=SquaredExponential()
    ),
    "a library": lambda: others_of(*make_data(), device=None),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("turned", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_references_that_do_not_go_together_are_taken_one_by_one(there, other, turned):
    both = [there, OTHERS[other]()][:: -1 if turned else 1]
    found = gpproj.leave_input_out(both)
    for row, one in enumerate(both):
        expected = gpproj.leave_input_out(one)
        np.testing.assert_array_equal(found.loc[row, list(expected.index)], expected)


@pytest.mark.parametrize("wrong", [[], None, 3, ["a"]])
def test_only_references_have_inputs_left_out(wrong):
    with pytest.raises(TypeError, match="reference must be a Reference or a sequence"):
        gpproj.leave_input_out(wrong)


def test_inputs_may_be_in_another_order_in_a_batch(there):
    X, y = make_data()
    both = [there, others_of(X[list("dcba")], y, kernel=KERNEL)]
    found = gpproj.leave_input_out(both)
    assert found.columns.tolist() == list("abcd")
    for row, one in enumerate(both):
        expected = gpproj.leave_input_out(one)
        close(found.loc[row, list(expected.index)].to_numpy(), expected.to_numpy(), 1e-5)


def test_noise_may_differ_between_references_of_a_batch():
    X, y = make_data()
    noisy, quiet = (
        gpproj.condition(X, y, KERNEL, Gaussian(noise), standardize=True, device="cpu")
        for noise in (10.0, 0.01)
    )
    found = gpproj.leave_input_out([noisy, quiet], prior=None)
    for row, one in enumerate((noisy, quiet)):
        close(found.loc[row].to_numpy(), gpproj.leave_input_out(one, prior=None).to_numpy(), 1e-4)


@pytest.mark.parametrize("clusters", [2, "draws"])
@pytest.mark.parametrize("learn", ["loo", "projection", "marginal_likelihood"])
@pytest.mark.parametrize("inputs", [["a", "b"], []], ids=str)
def test_clusters_in_one_batch_are_those_of_numpy(clusters, learn, inputs):
    X, y = make_data()
    here, there = (
        gpproj.project(drawn(3, device), inputs, learn, clusters=clusters)
        for device in (None, "cpu")
    )
    assert there.clusters == here.clusters == (2 if clusters == 2 else 5)
    for figure in ("loo_divergence", "projection_error"):
        assert getattr(there, figure) == pytest.approx(getattr(here, figure), rel=1e-4)
    close(there.log_density(X, y), here.log_density(X, y), 1e-3)


@pytest.fixture
def asked(monkeypatch):
    """What clusters are compared with, in every batch of them that is learned from now on."""
    targets, plain = [], clusters_module._learned

    def noted(projector, *rest, **named):
        targets.append(projector.target)
        return plain(projector, *rest, **named)

    monkeypatch.setattr(clusters_module, "_learned", noted)
    return targets


@pytest.mark.parametrize("learn", ["loo", "projection"])
def test_clusters_go_into_one_batch(asked, learn):
    reference = drawn(3)
    gpproj.project(reference, ["a"], learn, clusters="draws")
    (targets,) = asked
    assert targets.X.shape == (50, 4)  # all have the same inputs
    assert targets.stack.arrays.root.shape == (5, 50, 50)
    assert targets.left_out.stack.arrays.mean.shape == (5, 50)


def test_what_clusters_are_compared_with_is_kept_for_all_submodels(asked):
    reference = drawn(3)
    for inputs in (["a"], ["a", "b"], []):
        gpproj.project(reference, inputs, clusters="draws")
    gpproj.project(reference, ["a"], clusters=2)
    assert asked[0] is asked[1] is asked[2]
    assert [len(one.owner) for one in asked] == [5, 5, 5, 2]


def test_too_many_clusters_go_into_several_batches(asked, monkeypatch):
    whole = gpproj.project(drawn(3), ["a"], clusters="draws")
    monkeypatch.setattr(clusters_module, "room_for", lambda X: 32 * 50**2)
    asked.clear()
    reference = drawn(3)
    parted = gpproj.project(reference, ["a"], clusters="draws")
    assert [isinstance(one, Target) for one in asked] == [False, False, True]
    assert parted.loo_divergence == pytest.approx(whole.loo_divergence, rel=1e-6)


def test_pickles_of_mixtures_hold_every_part_once():
    reference = drawn(3, draws=8)
    before = len(pickle.dumps(reference))
    sub = gpproj.project(reference, ["a"], clusters="draws")
    assert len(pickle.dumps(sub)) < 1.5 * 8 * 8 * 50**2
    assert len(pickle.dumps(reference)) < before + 8 * 50**2 * 8  # the targets do not travel
    again = pickle.loads(pickle.dumps(reference))
    assert gpproj.project(again, ["a"], clusters="draws").loo_divergence == pytest.approx(
        sub.loo_divergence, rel=1e-6
    )


def test_a_path_is_moved_with_its_reference():
    X, y = make_data()
    path = gpproj.project_path(drawn(3, None), ["a", "b"])
    moved = path.to("cpu").with_clusters("draws")
    assert torch.is_tensor(moved.reference.training.X)
    found, expected = moved[2].log_density(X, y), path.submodel(2, "draws").log_density(X, y)
    close(found, expected, 1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # five draws are few
        own, other = (
            gpproj.validate(one.reference, one, "loo", refit=False, points=8, random_state=0)
            for one in (moved, path.with_clusters("draws"))
        )
    close(own.scores.log_density, other.scores.log_density, 1e-4)
