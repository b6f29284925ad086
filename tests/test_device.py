"""Computing on a device by name, here the processor through torch: the answers of NumPy."""

from __future__ import annotations

import builtins
import json
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.cli import main
from gpproj.inference import inducing
from gpproj.inference.selection import greedy, greedy_batch
from gpproj.kernels import Constant, ScikitLearn, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import (
    JitterWarning,
    defers_failures,
    room_for,
)
from gpproj.projection import CRITERIA, OBJECTIVES, dense, family_of
from gpproj.projection import sparse as by_points
from gpproj.projection.objective import left_out_means
from gpproj.projection.starts import usual_starts
from tests.fitting import fit_mode

torch = pytest.importorskip("torch")

KERNEL = Constant(0.3) + SquaredExponential(1.0, [1.0, 2.0, 4.0, 4.0])
WAYS = {
    "exact": (Gaussian(0.1), "auto"),
    "sparse": (Gaussian(0.1), gpproj.Sparse(20)),
    "probit": ("probit", "auto"),
}


def make_data(n=50):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    return X, (np.sin(2 * X["a"]) + X["b"] + 0.3 * rng.standard_normal(n)).to_numpy()


def make_reference(way="exact", **options):
    X, y = make_data()
    likelihood, inference = WAYS[way]
    target = np.where(y > 0, "yes", "no") if likelihood == "probit" else y
    return gpproj.condition(X, target, KERNEL, likelihood, inference, standardize=True, **options)


@pytest.fixture(scope="module", params=WAYS)
def pair(request):
    """One reference in NumPy, and the same on a device."""
    return SimpleNamespace(
        way=request.param,
        here=make_reference(request.param),
        there=make_reference(request.param, device="cpu"),
    )


@pytest.fixture(scope="module")
def here():
    return make_reference()


@pytest.fixture(scope="module")
def there():
    return make_reference(device="cpu")


@pytest.fixture(scope="module")
def path(there):
    return gpproj.forward_search(there, 2, progress=False)


def on_torch(reference):
    parts = (reference.training.X, reference.training.y, reference.latent_mean, reference.target.X)
    return all(isinstance(part, torch.Tensor) and part.dtype == torch.float64 for part in parts)


def candidates(reference, lanes=6):
    """Parameters around the starts of the family, with inputs that differ from lane to lane."""
    rng = np.random.default_rng(1)
    masks = rng.random((lanes, reference.training.d)) < 0.6
    masks[:, 0] = True
    family = family_of(reference)
    starts = np.stack([usual_starts(family, mask).parameters[0] for mask in masks])
    return family.kernel, starts + 0.3 * rng.standard_normal(starts.shape), masks


def close(one, two, tolerance=1e-9):
    np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * np.max(np.abs(two)))


def test_data_are_moved_in_double_precision(pair):
    assert on_torch(pair.there)
    assert isinstance(pair.here.training.X, np.ndarray)
    assert pair.there.log_marginal_likelihood == pytest.approx(
        pair.here.log_marginal_likelihood, rel=1e-9
    )


def value_of(learn, target, *at):
    objective = OBJECTIVES[learn]
    return objective.value(objective.compared_with(target), *at)


objectives = pytest.mark.parametrize("learn", OBJECTIVES)


@objectives
def test_values_and_gradients_are_those_of_numpy(pair, learn):
    at = candidates(pair.here)
    found, expected = (value_of(learn, one.target, *at) for one in (pair.there, pair.here))
    assert isinstance(found.value, np.ndarray)
    close(found.value, expected.value)
    close(found.gradient, expected.gradient)


@pytest.mark.parametrize("measure", [*CRITERIA.values(), left_out_means])
def test_errors_and_predictions_are_those_of_numpy(pair, measure):
    at = candidates(pair.here)
    close(measure(pair.there.target, *at), measure(pair.here.target, *at))


@objectives
def test_slopes_are_those_of_numpy(pair, learn):
    at = candidates(pair.here)
    slopes = OBJECTIVES[learn].relevance_slopes
    close(slopes(pair.there.target, *at), slopes(pair.here.target, *at))


@pytest.mark.slow
def test_searches_find_what_numpy_finds(pair):
    found, expected = (
        gpproj.forward_search(one, progress=False) for one in (pair.there, pair.here)
    )
    assert found.order == expected.order
    close(found.errors, expected.errors, 1e-5)
    left, right = (gpproj.leave_input_out(one) for one in (pair.there, pair.here))
    pd.testing.assert_series_equal(left, right, rtol=1e-5, atol=1e-5 * expected.null_error)


def test_the_papers_searches_do_so_too(here, there):
    found, expected = (
        gpproj.forward_search(one, 2, learn="projection", progress=False) for one in (there, here)
    )
    assert found.order == expected.order
    close(found.errors, expected.errors, 1e-5)


def test_a_fit_ends_where_numpy_ends():
    X, y = make_data()
    found, expected = fit_mode(X, y, device="cpu"), fit_mode(X, y)
    assert on_torch(found)
    assert found.log_marginal_likelihood == pytest.approx(
        expected.log_marginal_likelihood, rel=1e-8
    )
    close(found.draws.parameters, expected.draws.parameters, 1e-4)


def test_devices_that_do_not_tell_have_little_room():
    assert room_for(torch.zeros(1)) == room_for(np.zeros(1)) == 2**25


@objectives
def test_large_batches_are_done_in_parts(here, there, learn, monkeypatch):
    at = candidates(here, lanes=7)
    seen = []
    plain = dense.on_device
    monkeypatch.setattr(dense, "room_for", lambda X: 3 * here.training.n**2)
    monkeypatch.setattr(
        dense, "on_device", lambda *given: seen.append(len(given[3])) or plain(*given)
    )
    found = value_of(learn, there.target, *at)
    assert seen == [3, 3, 1]
    close(found.value, value_of(learn, here.target, *at).value)


def test_a_candidate_that_cannot_be_factorised_is_mended_alone():
    X, y = make_data()
    references = [
        gpproj.condition(X, y, KERNEL, Gaussian(0.1), nugget=0.0, device=device)
        for device in (None, "cpu")
    ]
    kernel, parameters, masks = candidates(references[0], lanes=3)
    lengthscales = [place for place, one in enumerate(kernel.parameters(4)) if one.kind.is_scale]
    parameters[1, lengthscales] = 8.0
    parameters[1, -1] = -60.0
    found = []
    for reference in references:
        with pytest.warns(JitterWarning):
            found.append(
                OBJECTIVES["projection"].value(reference.target, kernel, parameters, masks)
            )
    assert np.isfinite(found[1].value).all()
    for part in ("value", "gradient"):
        mended, expected = (getattr(one, part)[[0, 2]] for one in (found[1], found[0]))
        close(mended, expected)


def places(name, X):
    return {"frame": X, "array": X.to_numpy(), "torch": torch.tensor(X.to_numpy())}[name]


@pytest.mark.parametrize(
    ("place", "kind"), [("frame", np.ndarray), ("array", np.ndarray), ("torch", torch.Tensor)]
)
def test_predictions_come_back_where_their_inputs_are(pair, place, kind):
    X, y = make_data()
    new = places(place, X)
    labels = np.where(y > 0, "yes", "no") if pair.way == "probit" else y
    models = [(pair.there, pair.here)]
    models.append(tuple(gpproj.project(one, ["b", "a"]) for one in models[0]))
    for found, expected in models:
        for name in ("predict", "predict_response"):
            own, numpy = getattr(found, name)(new), getattr(expected, name)(X)
            assert isinstance(own.mean, kind)
            assert isinstance(own.variance, kind)
            close(np.asarray(own.mean), numpy.mean, 1e-5)
            close(np.asarray(own.variance), numpy.variance, 1e-5)
        density = found.log_density(new, labels)
        assert isinstance(density, kind)
        close(np.asarray(density), expected.log_density(X, labels), 1e-5)


def test_targets_may_be_torch_too(there):
    X, y = make_data()
    new = torch.tensor(X.to_numpy())
    density = there.log_density(new, torch.tensor(y))
    assert isinstance(density, torch.Tensor)
    close(np.asarray(density), there.log_density(X, y))


@pytest.mark.parametrize("way", ["exact", "sparse"])
def test_what_is_saved_is_loaded_on_the_host_and_moved_again(way, tmp_path):
    reference = make_reference(way, device="cpu")
    reference.save(tmp_path / "reference")
    loaded = gpproj.load(tmp_path / "reference")
    assert isinstance(loaded.training.X, np.ndarray)
    moved = loaded.to("cpu")
    assert on_torch(moved)
    at = candidates(loaded)
    for learn in OBJECTIVES:
        found, expected = (value_of(learn, one.target, *at).value for one in (moved, reference))
        close(found, expected)
    X, _ = make_data()
    for one in (loaded, moved):
        close(one.predict(X).mean, reference.predict(X).mean)
        assert on_torch(one.refit(X, make_data()[1]))  # the recipe names the device


def test_paths_of_a_device_are_saved(path, tmp_path):
    X, _ = make_data()
    path.save(tmp_path / "path")
    loaded = gpproj.load(tmp_path / "path")
    assert loaded.order == path.order
    np.testing.assert_array_equal(loaded.errors, path.errors)
    close(loaded[2].predict(X).mean, path[2].predict(X).mean)


def test_counts_move_with_their_exposure():
    X, y = make_data()
    counts, years = np.random.default_rng(0).poisson(np.exp(0.5 * y)), np.linspace(1.0, 3.0, 50)
    own = gpproj.condition(X, counts, KERNEL, "poisson", standardize=True, exposure=years)
    moved = own.to("cpu")
    assert isinstance(moved.training.offset, torch.Tensor)
    found, expected = (one.predict_response(X, years).mean for one in (moved, own))
    assert isinstance(found, np.ndarray)
    close(found, expected)


def test_a_moved_reference_is_refitted_there(here):
    X, y = make_data()
    moved = here.to("cpu")
    assert on_torch(moved.refit(X[:30], y[:30]))
    assert isinstance(here.refit(X[:30], y[:30]).training.X, np.ndarray)


@pytest.mark.slow
def test_folds_are_computed_there(here, there, path, monkeypatch):
    expected = gpproj.validate(
        here, gpproj.forward_search(here, 2, progress=False), folds=2, random_state=0
    )
    made, repeat = [], type(path).repeat_nearby
    monkeypatch.setattr(
        type(path), "repeat_nearby", lambda self, own: made.append(own) or repeat(self, own)
    )
    for reference in (there, here.to("cpu")):
        made.clear()
        own = gpproj.forward_search(reference, 2, progress=False)
        found = gpproj.validate(reference, own, folds=2, random_state=0)
        assert [on_torch(one) for one in made] == [True, True]
        assert found.orders == expected.orders
        # On a processor tolerances are relative to the null model's error.
        close(found.scores.mean, expected.scores.mean, 1e-2)
        close(found.scores.log_density, expected.scores.log_density, 1e-2)


@pytest.mark.parametrize("name", ["gpu", "", "cuda:99", 3.5])
def test_devices_that_cannot_be_used_are_named(here, name):
    X, y = make_data()
    for attempt in (
        lambda: fit_mode(X, y, device=name),
        lambda: gpproj.condition(X, y, KERNEL, Gaussian(0.1), device=name),
        lambda: here.to(name),
    ):
        with pytest.raises(ValueError, match=r"^device: .* cannot be used here"):
            attempt()


def test_missing_torch_is_named_with_its_extra(here, monkeypatch):
    X, y = make_data()
    original = builtins.__import__

    def without(name, *others):
        if name.split(".")[0] == "torch":
            raise ImportError(name)
        return original(name, *others)

    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(builtins, "__import__", without)
    text = r'^device needs torch: pip install "gpproj\[gpu\]"$'
    for attempt in (lambda: fit_mode(X, y, device="cpu"), lambda: here.to("cpu")):
        with pytest.raises(ImportError, match=text):
            attempt()


def test_what_stays_on_the_host_says_so():
    from sklearn.gaussian_process.kernels import RBF

    X, y = make_data()
    with pytest.raises(TypeError, match="NumPy arrays only"):
        fit_mode(X, y, kernel=ScikitLearn(RBF()), device="cpu")
    draws = np.random.default_rng(0).standard_normal((20, 4))
    linear = gpproj.from_linear_draws(X, y, draws, noise_variance=np.full(20, 0.1))
    assert not hasattr(linear, "to")
    foreign = gpproj.from_moments(X, y, y, 0.1 * np.eye(50), 0.1)
    assert not hasattr(foreign, "to")


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["gpproj", *(str(argument) for argument in arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


@pytest.fixture
def csv(tmp_path):
    X, y = make_data(40)
    file = tmp_path / "table.csv"
    X[["a", "b"]].assign(price=y).to_csv(file, index=False)
    return file


@pytest.mark.slow
def test_a_run_on_a_device_answers_as_one_without(csv, tmp_path, monkeypatch, capsys):
    options = ("--target", "price", "--folds", 2, "--max-inputs", 2, "--json")
    monkeypatch.setattr("gpproj.cli.commands.write_outputs", lambda run, cv: run.folder / "none")
    answers = []
    for name, more in (("here", ()), ("there", ("--device", "cpu"))):
        out = tmp_path / name
        assert call(monkeypatch, "select", csv, *options, *more, "--out", out) == 0
        answers.append(json.loads(capsys.readouterr().out))
    here, there = answers
    assert (there["order"], there["answer"]) == (here["order"], here["answer"])
    # On a processor tolerances are relative to the null model's error.
    for own, expected in zip(there["scores"], here["scores"], strict=True):
        assert own["elpd"] == pytest.approx(expected["elpd"], rel=1e-3)
    assert json.loads((tmp_path / "there" / "config.json").read_text())["device"] == "cpu"
    assert json.loads((tmp_path / "here" / "config.json").read_text())["device"] is None
    assert call(monkeypatch, "select", "--resume", tmp_path / "there", "--json") == 0
    assert json.loads(capsys.readouterr().out) == there


def test_a_run_on_a_device_writes_all_that_it_should(csv, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    options = ("--target", "price", "--folds", 2, "--max-inputs", 1, "--device", "cpu", "--quiet")
    assert call(monkeypatch, "select", csv, *options, "--out", out) == 0
    assert "--device cpu" in (out / "report.html").read_text()
    assert call(monkeypatch, "predict", out, csv, "--size", 1, "--out", tmp_path / "new.csv") == 0
    assert len(pd.read_csv(tmp_path / "new.csv")) == 40


def test_a_run_on_an_unknown_device_leaves_no_folder(csv, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    code = call(monkeypatch, "select", csv, "--target", "price", "--device", "gpu", "--out", out)
    assert code == 1
    told = capsys.readouterr().err
    assert told.startswith("gpproj: device: 'gpu' cannot be used here")
    assert told.count("\n") == 1
    assert not out.exists()
    config = tmp_path / "run.toml"
    config.write_text(f'data = "{csv}"\ntarget = "price"\ndevice = 0\nout = "{out}"\n')
    assert call(monkeypatch, "select", "--config", config) == 1
    assert "device must be text, got 0" in capsys.readouterr().err


def test_inducing_points_of_many_submodels_are_those_of_each():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    X[:, 3] = rng.integers(0, 3, 300)  # three points are enough
    masks = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]], dtype=bool)
    kernels = [Constant(0.4) + SquaredExponential(1.0, [size] * 4) for size in (0.3, 0.5, 1.0, 2.0)]
    found = greedy_batch(kernels, torch.tensor(X), masks, 40)
    expected = [greedy(own, X, mask, 40) for own, mask in zip(kernels, masks, strict=True)]
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    assert [len(one) for one in found][2:] == [3, 40]


def test_points_are_chosen_once_for_all_lanes_of_a_batch(monkeypatch):
    reference, called = make_reference("sparse", device="cpu"), []

    def counted(kernels, *rest):
        called.append(len(kernels))
        return greedy_batch(kernels, *rest)

    monkeypatch.setattr(inducing, "greedy_batch", counted)
    masks = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    points = reference.target.inducing
    points.choose(masks)
    own = make_reference("sparse").target.inducing
    for mask in masks:
        np.testing.assert_allclose(points.points(mask).numpy(), own.points(mask), rtol=1e-12)
    points.choose(masks)
    assert called == [2]
    points.points(np.array([False, True, False, False]))
    assert called == [2, 1]  # one alone is chosen in the same way


def test_sparse_lanes_that_failed_are_done_again_with_patience(monkeypatch):
    here, there = make_reference("sparse"), make_reference("sparse", device="cpu")
    plain, seen = by_points._numbers, []

    def failing(objective, target, kernel, parameters, mask):
        numbers = plain(objective, target, kernel, parameters, mask)
        seen.append((len(parameters), defers_failures()))
        if defers_failures():
            numbers[1] = np.inf
        return numbers

    monkeypatch.setattr(by_points, "_numbers", failing)
    kernel, parameters, _ = candidates(here, 3)
    masks = np.tile([True, True, False, True], (3, 1))
    found = OBJECTIVES["projection"].value(there.target, kernel, parameters, masks)
    assert seen == [(3, True), (1, False)]
    monkeypatch.undo()
    expected = OBJECTIVES["projection"].value(here.target, kernel, parameters, masks)
    close(found.value, expected.value)
    close(found.gradient, expected.gradient)
