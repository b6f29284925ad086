"""Newton steps: pieces of them, and how close they come to learning everything anew."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.priors import Bounds, free_parameters
from gpproj.projection.loss import Loss
from gpproj.validation.deletion import PointDeletion
from gpproj.validation.newton import (
    FLATTEST,
    HALVINGS,
    REACH,
    STEP,
    backtrack,
    gradients,
    hessians,
    newton_step,
)
from gpproj.validation.process_loo import SingleSubmodel
from tests.fitting import fit_mode

N = 40


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 4))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(N)


@pytest.fixture(scope="module")
def ref(data):
    return fit_mode(*data)


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.project_path(ref, ["x0", "x1"])


# Against learning anew


@pytest.mark.slow
def test_newton_steps_come_close_to_refits(data, ref, path):
    """Where held hyperparameters do not: they have seen the row."""
    X, y = data
    options = {"points": 10, "random_state": 0, "progress": False}
    stepped = gpproj.validate(ref, path, "loo", **options).scores
    held = gpproj.validate(ref, path, "loo", hyperparameters="held", **options).scores
    refitted = np.empty_like(stepped.log_density)
    for place, i in enumerate(stepped.rows):
        rest = np.arange(N) != i
        own = ref.refit(X[rest], y[rest])
        along = path.reproject(own)
        models = (own, along[0], along[1], along[2])
        refitted[:, place] = [model.log_density(X[[i]], y[[i]])[0] for model in models]
    for found, optimistic, expected in zip(
        stepped.log_density, held.log_density, refitted, strict=True
    ):
        assert 3 * abs(found.sum() - expected.sum()) < optimistic.sum() - expected.sum()
        assert np.corrcoef(found, expected)[0, 1] > 0.99


def gain_of_step(value, start, end):
    """The share of what an optimisation gains that one step gains."""
    best = minimize(value, end, method="BFGS").fun
    return (value(start) - value(end)) / (value(start) - best)


def test_the_step_of_a_reference_leads_to_the_optimum_without_the_row(ref):
    deletion = PointDeletion(ref, held=False)
    free = deletion.free
    influence = np.argsort(deletion.log_densities(deletion.optimum))
    for i, share in zip(influence[[0, 3, 10]], (0.7, 0.9, 0.9), strict=True):

        def value(theta, i=i):
            full = deletion.optimum.copy()
            full[free] = theta
            return deletion.loss_without(full, i)

        start, end = deletion.optimum[free], deletion.updated(int(i))[free]
        assert gain_of_step(value, start, end) > share


@pytest.mark.parametrize(("learn", "share"), [("projection", 0.9), ("loo", 0.6)])
def test_the_step_of_a_submodel_leads_to_its_projection_without_the_row(ref, learn, share):
    path = gpproj.project_path(ref, ["x0", "x1"], learn)
    deletion = PointDeletion(ref, held=False)
    influence = np.argsort(deletion.log_densities(deletion.optimum))
    for size in range(3):
        model = SingleSubmodel(ref, path.projector, path.projections[size], held=False)
        free, centre = model.free, model.parameters
        assert free.size > 1
        left = deletion(int(influence[3]))
        objective = Loss(left.target, model.family, model.mask[None, :], model.learn)

        def value(theta, centre=centre, free=free, objective=objective):
            full = centre.copy()
            full[free] = theta
            return float(objective(full[None, :], np.zeros(1, dtype=np.intp))[0][0])

        assert gain_of_step(value, centre[free], model.updated(left)[free]) > share


def test_many_parameters_are_moved_without_the_curvature_of_single_densities(ref, monkeypatch):
    """Rows with little influence move as they would with it."""
    plain, short = PointDeletion(ref, held=False), PointDeletion(ref, held=False)
    assert plain.density_hessians.shape == (len(plain.free), len(plain.free), N)
    monkeypatch.setattr("gpproj.validation.deletion.MANY", len(short.free) - 1)
    assert short.density_hessians is None
    i = int(np.argmin(np.abs(plain.density_gradients).sum(axis=0)))
    np.testing.assert_allclose(short.updated(i), plain.updated(i), atol=0.02)
    assert not np.array_equal(short.updated(i), plain.updated(i))


def test_a_path_from_a_checkpoint_is_validated_all_the_same(ref, tmp_path):
    file = tmp_path / "search.npz"
    one = gpproj.forward_search(ref, 2, checkpoint=file, progress=False)
    two = gpproj.forward_search(ref, 2, checkpoint=file, progress=False)
    assert two.projections[1] is not one.projections[1]
    scores = [
        gpproj.validate(ref, path, "loo", points=3, random_state=0, progress=False).scores
        for path in (one, two)
    ]
    np.testing.assert_allclose(scores[0].log_density, scores[1].log_density, rtol=1e-12)


# Pieces


def quartic(x):
    """Two numbers of three parameters; the last one is not free below."""
    return np.array([x[0] ** 4 + x[0] * x[1] * x[2], np.exp(x[0] - 2 * x[1])])


def test_differences_against_derivatives():
    x = np.array([0.5, -0.3, 2.0])
    free = np.array([0, 1])
    tilt = np.exp(x[0] - 2 * x[1])
    slope = np.array([[4 * x[0] ** 3 + x[1] * x[2], tilt], [x[0] * x[2], -2 * tilt]])
    np.testing.assert_allclose(gradients(quartic, x, free), slope, rtol=1e-4)
    mixed = [x[2], -2 * tilt]
    bend = np.array([[[12 * x[0] ** 2, tilt], mixed], [mixed, [0.0, 4 * tilt]]])
    np.testing.assert_allclose(hessians(quartic, x, free), bend, rtol=1e-4, atol=1e-4)
    assert gradients(quartic, x, free[:0]).shape == (0, 2)
    assert hessians(quartic, x, free[:0]).shape == (0, 0, 2)


def test_steps_go_downhill_and_not_too_far():
    rng = np.random.default_rng(0)
    for _ in range(20):
        gradient = 3 * rng.standard_normal(4)
        half = rng.standard_normal((4, 4))
        hessian = half + half.T  # some of its curvatures are negative
        step = newton_step(gradient, hessian)
        assert gradient @ step < 0
        assert np.abs(step).max() <= REACH + 1e-12
    exact = half @ half.T + 10 * np.eye(4)
    np.testing.assert_allclose(newton_step(gradient, exact), -np.linalg.solve(exact, gradient))
    assert newton_step(np.array([1e-3]), np.array([[0.0]])) == pytest.approx(-1e-3 / FLATTEST)
    assert newton_step(np.zeros(0), np.zeros((0, 0))).shape == (0,)


def test_steps_that_do_not_help_are_halved_and_then_given_up():
    bounds = Bounds(np.full(2, -10.0), np.full(2, 10.0))
    x, free = np.array([1.0, 5.0]), np.array([0])

    def found(step, value=lambda x: x[0] ** 2):
        return backtrack(value, x, free, np.array([step]), bounds).tolist()

    assert found(-1.0) == [0.0, 5.0]
    assert found(-4.0) == [-1.0, 5.0]
    assert found(-(2.0**HALVINGS)) == [-1.0, 5.0]
    assert found(1.0) == x.tolist()
    assert found(-(2.0 ** (HALVINGS + 2))) == x.tolist()
    tight = Bounds(np.array([0.8, -10.0]), bounds.upper)
    assert backtrack(lambda x: x[0], x, free, np.array([-1.0]), tight).tolist() == [0.8, 5.0]


def test_parameters_that_can_move():
    kernel = Constant() + SquaredExponential()
    # constant, signal, three length-scales, extra variance
    bounds = Bounds(np.full(6, -5.0), np.full(6, 5.0))
    parameters = np.array([0.0, 5.0, 1.0, 1.0, -5.0, 0.0])
    mask = np.array([True, False, True])
    assert free_parameters(kernel, mask, parameters, bounds, STEP).tolist() == [0, 2, 5]
