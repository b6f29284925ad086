"""Batched L-BFGS: held to SciPy's on random problems, and to its word on lanes and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from gpproj.optimise import Outcome, advance, begin, concatenate_states, direction, minimise
from gpproj.optimise.memory import empty_memory, remember
from gpproj.optimise.model import _solve, constrained_step, model_of, newton_step

Floats = NDArray[np.float64]


class Problems(NamedTuple):
    objective: Callable[[Floats, NDArray[np.intp]], tuple[Floats, Floats]]
    starts: Floats
    lower: Floats
    upper: Floats


def bounded_quadratics(rng: np.random.Generator, lanes: int, parameters: int) -> Problems:
    """Convex, condition number up to 1e4, about half of the bounds active."""
    matrices = np.empty((lanes, parameters, parameters))
    for k in range(lanes):
        rotation, _ = np.linalg.qr(rng.standard_normal((parameters, parameters)))
        matrices[k] = (rotation * np.exp(rng.uniform(0.0, np.log(1e4), parameters))) @ rotation.T
    pull = 40.0 * rng.standard_normal((lanes, parameters))

    def objective(x, which):
        push = np.einsum("aij,aj->ai", matrices[which], x)
        return np.sum(x * (0.5 * push - pull[which]), axis=1), push - pull[which]

    lower = -rng.uniform(0.1, 3.0, (lanes, parameters))
    upper = rng.uniform(0.1, 3.0, (lanes, parameters))
    return Problems(objective, rng.uniform(lower, upper), lower, upper)


def rosenbrock_chains(rng: np.random.Generator, lanes: int, parameters: int) -> Problems:
    """Curved valleys, a third of the bounds tight."""

    def objective(x, which):
        left, right = x[:, :-1], x[:, 1:]
        bend = right - left**2
        gradient = np.zeros_like(x)
        gradient[:, :-1] = -400.0 * left * bend - 2.0 * (1.0 - left)
        gradient[:, 1:] += 200.0 * bend
        return np.sum(100.0 * bend**2 + (1.0 - left) ** 2, axis=1), gradient

    shape = (lanes, parameters)
    lower = np.where(rng.random(shape) < 0.3, rng.uniform(-1.0, 0.5, shape), -3.0)
    upper = np.where(rng.random(shape) < 0.3, rng.uniform(0.6, 1.5, shape), 3.0)
    return Problems(objective, rng.uniform(lower, upper), lower, upper)


def gaussian_processes(rng: np.random.Generator, lanes: int, d: int, n: int = 30) -> Problems:
    """Negative log marginal likelihoods in log parameters: signal, length-scales, constant, noise.

    Every third target is pure noise, the hardest case: plateaus and tails everywhere.
    """
    X = rng.standard_normal((lanes, n, d))
    squares = (X[:, :, None, :] - X[:, None, :, :]) ** 2
    relevance = np.exp(rng.normal(-1.0, 1.5, (lanes, d)))
    truth = np.exp(-0.5 * squares @ relevance[:, None, :, None])[..., 0] + 1e-8 * np.eye(n)
    signal = (np.linalg.cholesky(truth) @ rng.standard_normal((lanes, n, 1)))[..., 0]
    signal[::3] = 0.0
    y = signal + np.exp(rng.normal(-1.0, 0.7, (lanes, 1))) * rng.standard_normal((lanes, n))
    y = (y - y.mean(axis=1, keepdims=True)) / y.std(axis=1, keepdims=True)

    def one(x, lane):
        weights = np.exp(-2.0 * x[1 : d + 1])
        smooth = np.exp(x[0] - 0.5 * squares[lane] @ weights)
        constant, noise = np.exp(x[d + 1 :])
        factor = np.linalg.cholesky(smooth + constant + noise * np.eye(n))
        half = np.linalg.inv(factor)
        inverse = half.T @ half
        a = inverse @ y[lane]
        value = 0.5 * y[lane] @ a + np.log(np.diag(factor)).sum() + 0.5 * n * np.log(2.0 * np.pi)
        G = 0.5 * (inverse - np.outer(a, a))
        slopes = weights * np.einsum("ij,ijk->k", G * smooth, squares[lane])
        ends = [constant * G.sum(), noise * np.trace(G)]
        return value, np.concatenate([[np.sum(G * smooth)], slopes, ends])

    def objective(x, which):
        told = [one(point, lane) for point, lane in zip(x, which, strict=True)]
        return np.array([value for value, _ in told]), np.array([gradient for _, gradient in told])

    bound = np.full((lanes, d + 3), 7.0)
    return Problems(objective, rng.standard_normal(bound.shape), -bound, bound)


def scipy_from(problems: Problems, lane: int, start: Floats, **options):
    def one(x):
        value, gradient = problems.objective(x[None], np.array([lane]))
        return value[0], gradient[0]

    bounds = np.stack([problems.lower[lane], problems.upper[lane]], axis=1)
    options = {"maxiter": 5000, "maxfun": 50000, **options}
    return minimize(one, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def polished(problems: Problems, lane: int, start: Floats) -> float:
    return float(scipy_from(problems, lane, start, ftol=1e-15, gtol=1e-9, maxcor=20).fun)


FAMILIES = {
    "quadratics": lambda rng: bounded_quadratics(rng, 40, 12),
    "rosenbrock": lambda rng: rosenbrock_chains(rng, 40, 6),
    "gp-1": lambda rng: gaussian_processes(rng, 30, 1),
    "gp-2": lambda rng: gaussian_processes(rng, 30, 2),
    "gp-4": lambda rng: gaussian_processes(rng, 30, 4),
    "gp-6": lambda rng: gaussian_processes(rng, 30, 6),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_optima_and_evaluations_are_no_worse_than_scipys(family):
    """200 problems over the families; SciPy gets a second run from its optimum, we do not."""
    problems = FAMILIES[family](np.random.default_rng(2024))
    ours = minimise(*problems, max_iterations=1000)
    lanes = range(len(problems.starts))
    theirs = [
        scipy_from(problems, k, problems.starts[k], ftol=1e-9, gtol=1e-5, maxcor=10) for k in lanes
    ]
    best = np.array([polished(problems, k, run.x) for k, run in zip(lanes, theirs, strict=True)])
    excess = (ours.value - best) / np.maximum(1.0, np.abs(best))
    worse = np.flatnonzero(excess > 1e-6)
    # a lane that ends higher must at least stand in a valley of its own
    early = [k for k in worse if polished(problems, k, ours.x[k]) < ours.value[k] - 1e-6]

    assert ours.converged.all()
    assert ours.evaluations.sum() <= 1.2 * sum(run.nfev for run in theirs)
    if family == "quadratics":
        assert worse.size == 0
    assert len(early) <= 1
    assert worse.size <= np.count_nonzero(excess < -1e-6) + 0.1 * len(lanes)


def test_quadratics_end_where_no_coordinate_can_improve():
    problems = bounded_quadratics(np.random.default_rng(5), 20, 15)
    outcome = minimise(*problems, gradient_tolerance=1e-4, value_tolerance=0.0, max_iterations=2000)
    assert set(outcome.reason) == {"gradient"}
    at_lower, at_upper = outcome.x == problems.lower, outcome.x == problems.upper
    assert (at_lower | at_upper).mean() > 0.3
    assert np.all(outcome.gradient[~at_lower] < 1e-3)
    assert np.all(outcome.gradient[~at_upper] > -1e-3)


def wavy(lanes: int, parameters: int) -> Problems:
    """Many minima and bounds; every row is computed by itself, bit for bit."""
    rng = np.random.default_rng(parameters)
    centres = rng.standard_normal((lanes, parameters))
    stiffness = np.exp(rng.uniform(-2.0, 4.0, (lanes, parameters)))

    def objective(x, which):
        away, stiff = x - centres[which], stiffness[which]
        beside = np.roll(away, 1, axis=1)
        value = np.sum(stiff * away**2 + np.cos(3.0 * away) + 0.3 * away * beside, axis=1)
        pull = 0.3 * (beside + np.roll(away, -1, axis=1))
        return value, 2.0 * stiff * away - 3.0 * np.sin(3.0 * away) + pull

    width = rng.uniform(0.1, 3.0, (lanes, parameters))
    return Problems(objective, rng.uniform(-width, width), -width, width)


def assert_same(left: Outcome, right: Outcome) -> None:
    for name, one, other in zip(left._fields, left, right, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("parameters", [1, 2, 3, 8, 17, 105])
def test_a_lane_takes_the_same_steps_alone_paused_and_in_any_batch(parameters):
    problems = wavy(13, parameters)
    together = minimise(*problems, max_iterations=60)
    whole = begin(*problems)

    for lane in range(13):
        alone = advance(problems.objective, whole.keep([lane]), 60).outcome()
        assert_same(alone, Outcome(*(field[[lane]] for field in together)))

    paused = whole
    for iterations in (1, 0, 2, 7, 20, 30):
        paused = advance(problems.objective, paused, iterations)
    assert_same(paused.outcome(), together)

    some = [11, 2, 7, 3]
    raced = advance(problems.objective, advance(problems.objective, whole, 5).keep(some), 55)
    assert_same(raced.outcome(), Outcome(*(field[some] for field in together)))


def test_lanes_are_joined_and_taken_apart_without_a_trace():
    problems = wavy(5, 8)
    together = minimise(*problems, max_iterations=60)
    whole = begin(*problems)
    # three lanes that have come different ways, in another order
    ways = [advance(problems.objective, whole.keep([lane]), lane) for lane in (4, 0, 3)]
    numbers = np.array([4, 0, 3])
    state = concatenate_states(ways)
    assert state.lanes.tolist() == [0, 1, 2]
    ended = advance(lambda x, lanes: problems.objective(x, numbers[lanes]), state, 60 - numbers)
    assert ended.iterations.max() <= 60
    for lane, alone in zip(numbers, ended.split(), strict=True):
        assert alone.lanes.tolist() == [0]
        expected = Outcome(*(field[[lane]] for field in together))._replace(lanes=np.array([0]))
        assert_same(alone.outcome(), expected)


def test_every_lane_may_have_its_own_number_of_iterations():
    problems = wavy(4, 3)
    whole = begin(*problems)
    own = advance(problems.objective, whole, np.array([0, 1, 2, 3]))
    for lane in range(4):
        alone = advance(problems.objective, whole.keep([lane]), lane).outcome()
        assert_same(alone, own.keep([lane]).outcome())
    with pytest.raises(ValueError, match="iterations"):
        advance(problems.objective, whole, np.array([1, 1, 1, -1]))


def test_models_have_no_more_pairs_than_were_written():
    memory = empty_memory(3, 6, 2)
    rows, free = np.arange(3), np.ones((3, 2), dtype=bool)
    gradient = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert model_of(memory, rows, gradient, free).weights.shape == (1, 3)
    for some in ([0, 1], [1], [1], [1]):
        pair = np.full((len(some), 2), 1.0)
        remember(memory, np.array(some), pair, 2.0 * pair)
    model = model_of(memory, rows, gradient, free)
    assert model.weights.shape == (4, 3)
    assert np.count_nonzero(model.weights, axis=0).tolist() == [1, 4, 0]
    filled = model.filled(6)
    np.testing.assert_array_equal(newton_step(filled), newton_step(model))
    assert model_of(memory, rows[:1], gradient[:1], free[:1]).weights.shape == (1, 1)


def test_state_is_left_untouched_by_what_follows_it():
    problems = wavy(4, 3)
    state = begin(*problems)
    before = [np.array(field) for field in (state.x, state.value, state.memory.steps)]
    advance(problems.objective, state, 10)
    for old, new in zip(before, (state.x, state.value, state.memory.steps), strict=True):
        np.testing.assert_array_equal(old, new)


def test_finished_lanes_are_not_asked_again():
    problems = wavy(9, 4)
    asked = []

    def objective(x, which):
        asked.append(which.copy())
        return problems.objective(x, which)

    outcome = minimise(objective, *problems[1:])
    counts = np.bincount(np.concatenate(asked), minlength=9)
    np.testing.assert_array_equal(counts, outcome.evaluations)
    assert len(asked) == outcome.evaluations.max()
    assert asked[-1].size < 9


def bowl(x, which):
    return np.sum(x**2, axis=1), 2.0 * x


def test_fixed_parameters_stay_and_starts_are_clipped():
    outcome = minimise(bowl, [[5.0, 9.0, -9.0]], [1.0, 3.0, -np.inf], [1.0, 4.0, np.inf])
    np.testing.assert_allclose(outcome.x, [[1.0, 3.0, 0.0]], atol=1e-5)
    assert outcome.x[0, 0] == 1.0
    assert outcome.reason.tolist() == ["gradient"]


def test_bounds_are_met_to_the_last_bit():
    """Two roundings of `x + (bound - x)` would leave some lanes a hair inside, and a step more."""
    rng = np.random.default_rng(0)
    lower = rng.uniform(-0.01, 0.01, (500, 1))

    def plane(x, which):
        return x[:, 0], np.ones_like(x)

    outcome = minimise(plane, lower + rng.uniform(0.0, 0.5, lower.shape), lower, lower + 1.0)
    np.testing.assert_array_equal(outcome.x, lower)
    np.testing.assert_array_equal(outcome.iterations, 1)


def test_a_broken_model_gives_way_to_the_gradient(monkeypatch):
    problems = bounded_quadratics(np.random.default_rng(6), 5, 4)
    expected = minimise(*problems)
    monkeypatch.setattr(
        direction, "constrained_step", lambda model, move, held: np.full_like(move, np.nan)
    )
    outcome = minimise(*problems, max_iterations=2000)
    assert outcome.evaluations.sum() > expected.evaluations.sum()
    np.testing.assert_allclose(outcome.value, expected.value, rtol=1e-6)


def test_nothing_to_choose_and_nobody_to_ask():
    nothing = minimise(bowl, np.zeros((3, 0)), np.zeros(0), np.zeros(0))
    assert nothing.reason.tolist() == ["gradient"] * 3
    assert nothing.evaluations.tolist() == [1, 1, 1]
    all_fixed = minimise(bowl, [[2.0]], [2.0], [2.0])
    assert all_fixed.evaluations.tolist() == [1]
    nobody = minimise(bowl, np.zeros((0, 2)), [0.0, 0.0], [1.0, 1.0])
    assert nobody.x.shape == (0, 2)


@pytest.mark.parametrize("wall", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["value", "gradient"])
def test_lanes_back_off_from_infeasible_points(wall, part):
    """The minimum of -log(1 - x) - 40 x is close to a wall at one, where nothing is defined."""

    def objective(x, which):
        out = x[:, 0] >= 1.0
        inside = np.where(out[:, None], 0.0, x)
        value = -np.log1p(-inside[:, 0]) - 40.0 * inside[:, 0]
        gradient = 1.0 / (1.0 - inside) - 40.0
        if part == "value":
            return np.where(out, wall, value), gradient
        return value, np.where(out[:, None], wall, gradient)

    outcome = minimise(objective, [[-3.0], [1.5], [0.99]], [-5.0], [2.0])
    assert outcome.reason.tolist()[1] == "infeasible start"
    assert outcome.converged.tolist() == [True, False, True]
    assert outcome.value[1] == np.inf
    np.testing.assert_allclose(outcome.x[[0, 2], 0], 1.0 - 1.0 / 40.0, rtol=1e-6)


def test_flat_tails_of_log_parameters_do_not_pass_for_optima():
    """A relevance exp(-2 x) near zero: gradient and curvature vanish, the optimum is far away."""

    def objective(x, which):
        relevance = np.exp(-2.0 * x)
        away = relevance - 1.0
        return 50.0 + 0.5 * np.sum(away**2, axis=1), -2.0 * relevance * away

    starts = np.array([[6.5, 0.3], [7.0, 7.0]])
    assert np.abs(objective(starts, None)[1]).min() < 1e-5
    outcome = minimise(objective, starts, [-7.0, -7.0], [7.0, 7.0])
    np.testing.assert_allclose(outcome.x, 0.0, atol=1e-4)


def test_rounding_errors_of_the_objective_are_survived():
    problems = gaussian_processes(np.random.default_rng(3), 30, 3)
    rng = np.random.default_rng(0)

    def objective(x, which):
        value, gradient = problems.objective(x, which)
        value = 1e3 + value
        return value * (1.0 + 1e-12 * rng.standard_normal(value.shape)), gradient

    outcome = minimise(objective, *problems[1:], value_tolerance=1e-12)
    assert outcome.converged.all()


def turning_liar() -> Outcome:
    """Run an objective whose gradient is wrong from the tenth point on."""
    problems = rosenbrock_chains(np.random.default_rng(1), 1, 5)
    asked = []

    def objective(x, which):
        asked.append(which)
        value, gradient = problems.objective(x, which)
        return value, gradient if len(asked) < 10 else -gradient

    return minimise(objective, *problems[1:])


def test_reasons():
    def lying(x, which):
        return np.sum(x**2, axis=1), -2.0 * x

    assert minimise(lying, [[1.0]], [-5.0], [5.0]).reason.tolist() == ["line search"]
    assert turning_liar().reason.tolist() == ["line search"]
    problems = rosenbrock_chains(np.random.default_rng(1), 1, 5)
    short = minimise(*problems, max_iterations=3)
    assert short.reason.tolist() == ["iterations"]
    assert short.iterations.tolist() == [3]
    assert not short.converged.any()
    assert minimise(*problems, gradient_tolerance=0.0).reason.tolist() == ["value"]
    assert minimise(*problems, value_tolerance=0.0).reason.tolist() == ["gradient"]
    assert minimise(bowl, [[0.0]], [-1.0], [1.0], max_iterations=0).converged.all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"starts": [1.0, 2.0]}, "starts must be finite and of shape"),
        ({"starts": [[np.nan, 1.0]]}, "starts must be finite"),
        ({"lower": [0.0]}, r"lower must be numbers of shape \(1, 2\) or \(2,\)"),
        ({"upper": [np.nan, 1.0]}, "upper must be numbers"),
        ({"lower": [0.0, 2.0]}, "lower must not exceed upper, got 2.0 and 1.0 for parameter 1"),
        ({"gradient_tolerance": -1.0}, "gradient_tolerance must be zero or positive"),
        ({"value_tolerance": np.nan}, "value_tolerance must be zero or positive"),
        ({"memory": 0}, "memory must be at least 1 pair, got 0"),
        ({"max_iterations": -1}, "iterations must be zero or positive, got -1"),
        ({"objective": lambda x, which: (x, x)}, r"objective must return a value \(1,\)"),
    ],
)
def test_bad_arguments_are_named(changed, message):
    arguments = {"objective": bowl, "starts": [[0.0, 0.5]], "lower": [0.0, 0.0]}
    with pytest.raises(ValueError, match=message):
        minimise(**{**arguments, "upper": [1.0, 1.0], **changed})


def test_keep_wants_different_lanes_of_the_state():
    state = begin(bowl, np.ones((3, 1)), [-1.0], [1.0]).keep([2, 0])
    assert state.lanes.tolist() == [2, 0]
    for lanes in ([1], [0, 0]):
        with pytest.raises(ValueError, match=r"lanes must be different numbers out of \[2, 0\]"):
            state.keep(lanes)


def test_steps_minimise_the_dense_model():
    """Both forms of limited-memory BFGS against the matrix, with more pairs than parameters."""
    rng = np.random.default_rng(8)
    lanes, pairs, parameters = 6, 4, 3
    memory = empty_memory(lanes, pairs, parameters)
    rows = np.arange(lanes)
    hessian = np.array([5.0, 1.0, 0.2])
    for k in range(7):
        some = rows[: lanes - k]  # rings filled to different degrees
        steps = rng.standard_normal((some.size, parameters))
        remember(memory, some, steps, hessian * steps + 0.1 * np.sin(steps))
    gradient = rng.standard_normal((lanes, parameters))
    free = np.ones((lanes, parameters), dtype=bool)
    free[3:, 0] = False
    held = np.zeros_like(free)
    held[:, 1] = True
    move = np.where(held, 0.3, 0.0)
    model = model_of(memory, rows, gradient, free)
    newton, around = newton_step(model), constrained_step(model, move, held)

    for lane in rows:
        at = np.flatnonzero(free[lane])
        B = np.eye(at.size) / model.scale[lane]
        for k in reversed(range(min(pairs, int(memory.written[lane])))):
            s, y = model.steps[k, lane, at], model.changes[k, lane, at]
            B += np.outer(y, y) / (s @ y) - np.outer(B @ s, B @ s) / (s @ B @ s)
        np.testing.assert_allclose(newton[lane, at], -np.linalg.solve(B, gradient[lane, at]))
        slope = gradient[lane, at] + B @ around[lane, at]
        np.testing.assert_allclose(slope[at != 1], 0.0, atol=1e-9)
        np.testing.assert_array_equal(around[lane, 1], 0.3)
        np.testing.assert_array_equal(around[lane, ~free[lane]], 0.0)


def test_a_singular_model_spoils_its_own_lane_only():
    matrices = np.array([np.eye(2), np.zeros((2, 2)), 2.0 * np.eye(2)])
    solution = _solve(matrices, np.ones((3, 2)))
    np.testing.assert_array_equal(solution, [[1.0, 1.0], [np.nan, np.nan], [0.5, 0.5]])
