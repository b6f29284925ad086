"""`Projector`: where submodels start, how runners run, and what is known of their ends."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import (
    CRITERIA,
    OBJECTIVES,
    Runner,
    mask_of,
    problems_of,
    projector_of,
)
from gpproj.projection import projector as projector_module
from gpproj.projection.goal import LOOSE, PRIOR_WEIGHT, TIGHT, Goal
from gpproj.projection.objective import left_out_means
from gpproj.projection.projector import BRIEF, GAIN, NEAR, PERFECT, SCATTERED, THOROUGH, Lane
from gpproj.projection.starts import (
    BOX,
    FAST,
    FASTER,
    LOOKED_AT,
    SLOW,
    UNEXPLAINED,
    fast_starts,
    few_starts,
    from_known,
    known_values,
    reference_starts,
    scattered_starts,
    starts_at,
    usual_starts,
)

D = 4
LEARN = ("loo", "projection", "marginal_likelihood")
every_way = pytest.mark.parametrize("learn", LEARN)
both = pytest.mark.parametrize("learn", LEARN[:2])


@cache
def reference(seed):
    """An input that acts fast through another one, which leaves several optima to submodels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, D))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(30)
    return gpproj.fit(X, y)


@cache
def projector(learn="loo", seed=1, **options):
    return projector_of(reference(seed), learn, **options)


@cache
def found(learn, inputs, seed=1):
    """The submodel on some inputs, from every start there is."""
    return projector(learn, seed).project([mask_of(inputs, D)])[0]


def lengthscales(family):
    kinds = [one.kind for one in family.kernel.parameters(D)]
    return np.array([kind == "lengthscale" for kind in (*kinds, "extra")])


def value_at(projector, starts):
    goal = Goal(projector.target, projector.family, starts.active, projector.learn)
    return goal(starts.parameters, np.arange(len(starts.parameters)))[0]


def same(one, other):
    """Every number of two projections is equal, and so are their inputs."""
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


# Starts -----------------------------------------------------------------------------------------

WAYS = {
    "usual": usual_starts,
    "few": few_starts,
    "fast": fast_starts,
    "scattered": lambda family, mask: scattered_starts(family, mask, 5),
    "reference": reference_starts,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("inputs", [(0,), (1, 3), (0, 1, 2, 3)], ids=str)
def test_starts_lie_within_the_bounds_and_use_what_is_in(way, inputs):
    family, mask = projector().family, mask_of(inputs, D)
    starts = WAYS[way](family, mask)
    assert starts.parameters.shape == (len(starts.active), family.bounds.lower.size)
    lower, upper = family.bounds
    assert np.all((starts.parameters >= lower) & (starts.parameters <= upper))
    assert not np.any(starts.active & ~mask)
    assert np.any(np.all(starts.active == mask, axis=1))
    assert len(np.unique(starts.parameters, axis=0)) == len(starts.parameters)


@every_way
def test_the_reference_itself_is_among_the_usual_starts(learn):
    own = projector(learn, prior=None)
    everything = np.ones(D, dtype=bool)
    starts = usual_starts(own.family, everything)
    np.testing.assert_array_equal(starts.parameters[-1, :-1], reference(1).known_parameters)
    assert starts.parameters[-1, -1] == own.family.bounds.lower[-1]
    values = value_at(own, starts)
    if own.learn.bounded:
        assert values[-1] == pytest.approx(0.0, abs=1e-4)
        assert np.all(values[:-1] > values[-1])
    # Of fewer inputs it has what it can have.
    fewer = usual_starts(own.family, mask_of([0, 2], D))
    np.testing.assert_array_equal(fewer.parameters[-1], starts.parameters[-1])
    assert fewer.active[-1].tolist() == [True, False, True, False]


def test_inputs_that_the_reference_does_not_use_hardly_act_at_first():
    family = replace(projector().family, used=mask_of([0, 1], D))
    mask = mask_of([1, 2, 3], D)
    values = known_values(family, mask)
    scales = values[lengthscales(family)[:-1]]
    np.testing.assert_array_equal(scales[:2], family.known[lengthscales(family)[:-1]][:2])
    np.testing.assert_allclose(np.exp(scales[2:]), SLOW * np.sqrt(3))
    for starts in (reference_starts(family, mask), fast_starts(family, mask)):
        assert not np.any(np.isin(starts.parameters, family.known[lengthscales(family)[:-1]][2:]))
    # The reference itself, as far as it goes, goes without them.
    assert usual_starts(family, mask).active[-1].tolist() == [False, True, False, False]
    nothing = usual_starts(family, mask_of([2, 3], D))
    assert np.all(nothing.active == mask_of([2, 3], D))


def test_reference_starts_have_the_extra_variances_that_are_asked_for():
    family, mask = projector().family, mask_of([0, 3], D)
    starts = reference_starts(family, mask, (1.0, 0.1))
    shares = np.exp(starts.parameters[:, -1])
    np.testing.assert_allclose(shares, [0.5 * family.signal, 0.05 * family.signal])
    np.testing.assert_array_equal(starts.parameters[0, :-1], starts.parameters[1, :-1])


def test_every_input_is_fast_once_and_once_faster():
    family, mask = projector().family, mask_of([0, 1, 3], D)
    starts = fast_starts(family, mask)
    assert len(starts.parameters) == 6
    scales = np.exp(starts.parameters[:, lengthscales(family)])
    np.testing.assert_allclose(scales[range(6), [0, 1, 3] * 2], [FAST] * 3 + [FASTER] * 3)
    slow = np.full((3, D), SLOW * np.sqrt(3))
    slow[range(3), [0, 1, 3]] = FAST
    np.testing.assert_allclose(scales[:3], slow)
    known = np.tile(np.exp(family.known[lengthscales(family)[:-1]]), (3, 1))
    known[range(3), [0, 1, 3]] = FASTER
    np.testing.assert_allclose(scales[3:], known)


def test_of_many_inputs_the_fastest_are_looked_at():
    rng = np.random.default_rng(0)
    d = LOOKED_AT + 4
    X, scales = rng.standard_normal((20, d)), np.linspace(5.0, 1.0, d)
    kernel = Constant(1.0) + SquaredExponential(1.0, scales)
    ref = gpproj.condition(X, X[:, 0], kernel, Gaussian(0.1), standardize=True)
    family = projector_of(ref).family
    starts = fast_starts(family, np.ones(d, dtype=bool))
    assert len(starts.parameters) == 2 * LOOKED_AT
    own = np.exp(starts.parameters[LOOKED_AT:, 2:-1])
    faster = np.flatnonzero(np.isclose(own, FASTER).any(axis=0))
    assert faster.tolist() == list(range(4, d))


def test_scattered_starts_fill_the_box_of_plausible_values():
    family, mask = projector().family, mask_of([0, 2], D)
    starts = scattered_starts(family, mask, 400)
    moving = np.flatnonzero(np.ptp(starts.parameters, axis=0) > 0)
    assert moving.tolist() == [0, 1, 2, 4, 6]  # constant, signal, two length-scales, extra variance
    kinds = ["constant", "signal", "lengthscale", "lengthscale"]
    ends = np.array([BOX[kind] for kind in kinds])
    units = np.array([max(family.units.level, family.units.spread), family.units.spread, 1.0, 1.0])
    lower = np.append(np.log(ends[:, 0] * units), np.log(1e-3 * family.signal))
    upper = np.append(np.log(ends[:, 1] * units), np.log(1.5 * family.signal))
    places = (starts.parameters[:, moving] - lower) / (upper - lower)
    assert np.all((places > 0.0) & (places < 1.0))
    # Evenly: every quarter of every axis has a quarter of them, and no two axes go together.
    counts = np.stack([np.histogram(axis, bins=4, range=(0, 1))[0] for axis in places.T])
    assert counts.min() > 85
    assert np.abs(np.corrcoef(places, rowvar=False) - np.eye(5)).max() < 0.1


def test_scattered_starts_go_on_where_others_ended():
    family, mask = projector().family, mask_of([0, 2], D)
    whole = scattered_starts(family, mask, 9)
    parts = [scattered_starts(family, mask, 4), scattered_starts(family, mask, 5, 4)]
    np.testing.assert_allclose(parts[0].plus(parts[1]).parameters, whole.parameters)
    np.testing.assert_array_equal(whole.active, np.tile(mask, (9, 1)))


def test_inputs_enter_slowly_and_as_in_the_reference():
    family = projector().family
    own = lengthscales(family)
    before = np.arange(7.0)
    starts = from_known(family, before, mask_of([1], D), mask_of([0, 1, 3], D))
    assert starts.active.tolist() == [[True, True, False, True]] * 2
    entered = np.flatnonzero(own)[[0, 3]]
    kept = np.setdiff1d(np.arange(7), entered)
    np.testing.assert_array_equal(starts.parameters[:, kept], before[None, kept].repeat(2, axis=0))
    np.testing.assert_allclose(np.exp(starts.parameters[0, entered]), SLOW * np.sqrt(3))
    np.testing.assert_array_equal(starts.parameters[1, entered], family.known[entered])


def test_what_leaving_inputs_explained_may_go_into_the_extra_variance():
    family, before = projector().family, np.arange(7.0)
    starts = from_known(family, before, mask_of([0, 1], D), mask_of([1], D))
    np.testing.assert_array_equal(starts.parameters, before[None])  # it is large as it is
    before[-1] = np.log(1e-3 * family.signal)
    starts = from_known(family, before, mask_of([0, 1], D), mask_of([1], D))
    np.testing.assert_array_equal(starts.parameters[:, :-1], before[None, :-1].repeat(2, axis=0))
    extras = np.exp(starts.parameters[:, -1]) / family.signal
    np.testing.assert_allclose(extras, [1e-3, UNEXPLAINED])
    assert starts.active.tolist() == [[False, True, False, False]] * 2


def test_inputs_may_enter_as_others_leave():
    family, before = projector().family, np.arange(7.0)
    before[-1] = np.log(1e-3 * family.signal)
    starts = from_known(family, before, mask_of([0], D), mask_of([1], D))
    assert len(starts.parameters) == 4
    assert len(np.unique(starts.parameters, axis=0)) == 4


def test_slopes_of_linear_components_enter_with_their_inputs():
    kernel = Constant() + SquaredExponential() + Linear()
    family = projector_of(reference(1), kernel=kernel).family
    parameters = np.full(11, 7.0)
    starts = from_known(family, parameters, mask_of([0, 1, 2], D), np.ones(D, dtype=bool))
    entered = starts.parameters != 7.0
    assert [np.flatnonzero(one).tolist() for one in entered] == [[5, 9]] * 2  # length-scale, slope


def test_what_is_known_of_other_sets_is_a_start():
    own, mask = projector(), mask_of([0, 2], D)
    parent, null = found("loo", (2,)), own.null()
    plain = own.every_start(mask)
    more = own.every_start(mask, [parent, null])  # a null model tells nothing
    np.testing.assert_array_equal(more.parameters[: len(plain.parameters)], plain.parameters)
    np.testing.assert_array_equal(
        more.parameters[len(plain.parameters) :], own.from_known(parent, mask).parameters
    )
    assert len(own.from_known(parent, mask).parameters) == 2


def test_short_starts_are_few_where_others_are_known():
    own, mask = projector(), mask_of([0, 2], D)
    parent, null = found("loo", (2,)), own.null()
    near = own.from_known(parent, mask)
    few = few_starts(own.family, mask)
    for known, expected in (([], few), ([null], few)):
        np.testing.assert_array_equal(own.short_starts(mask, known).parameters, expected.parameters)
    found_near = own.short_starts(mask, [null, parent], near=True)
    np.testing.assert_array_equal(found_near.parameters, near.parameters)
    both_kinds = own.short_starts(mask, [null, parent])
    expected = reference_starts(own.family, mask).plus(near)
    np.testing.assert_array_equal(both_kinds.parameters, expected.parameters)


# Several lanes, several optima ------------------------------------------------------------------

VALLEYS = [
    # A way to learn, the data, the inputs, and submodels on fewer of them that lead elsewhere.
    ("projection", 1, (1, 2), [(1,)]),
    ("loo", 2, (0, 1), [(0,), (1,)]),
]


@pytest.mark.parametrize(("learn", "seed", "inputs", "parents"), VALLEYS)
def test_a_valley_that_parents_do_not_lead_to_is_found(learn, seed, inputs, parents):
    own, mask = projector(learn, seed), mask_of(inputs, D)
    known = [found(learn, parent, seed) for parent in parents]
    starts = own.from_known(known[0], mask).plus(*(own.from_known(one, mask) for one in known[1:]))
    (by_parents,) = own.solve([mask], [starts])
    (end,) = own.project([mask], known)
    assert end.value < by_parents.value - 1.0
    assert end.value == pytest.approx(found(learn, inputs, seed).value, rel=1e-6)


def test_a_valley_that_no_usual_start_leads_to_is_found():
    own, mask = projector("loo", 5), mask_of([1, 3], D)
    (usual,) = own.solve([mask], [usual_starts(own.family, mask)])
    (fast,) = own.solve([mask], [fast_starts(own.family, mask)])
    assert fast.value < usual.value - 0.3
    assert found("loo", (1, 3), 5).value == pytest.approx(fast.value, rel=1e-6)


@pytest.mark.parametrize(("learn", "seed", "inputs", "parents"), VALLEYS)
def test_a_check_leaves_a_valley_that_is_not_the_deepest(learn, seed, inputs, parents, monkeypatch):
    own, mask = projector(learn, seed), mask_of(inputs, D)
    starts = own.from_known(found(learn, parents[0], seed), mask)
    stuck = own.advance(500, own.begin([starts]))
    turns, plain = [], scattered_starts

    def noted(family, mask, count, first):
        turns.append((count, first))
        return plain(family, mask, count, first)

    monkeypatch.setattr(projector_module, "scattered_starts", noted)
    (end,) = own.checked(stuck, [mask])
    assert end.best.value < stuck[0].best.value - 1.0
    assert end.best.value == pytest.approx(found(learn, inputs, seed).value, rel=1e-5)
    assert end.evaluations > stuck[0].evaluations
    # Once more where it found something, with other points, and not again after that.
    assert turns[:2] == [(SCATTERED, 0), (SCATTERED, SCATTERED)]
    before = len(turns)
    (again,) = own.checked([end], [mask])
    assert len(turns) == before + 1
    assert again.best.value > end.best.value - GAIN


def test_nothing_is_better_than_no_divergence(monkeypatch):
    """Where the reference itself is found at once, neither its rivals nor checks take time."""
    own, everything = projector(), np.ones(D, dtype=bool)
    starts = usual_starts(own.family, everything)
    (end,) = own.solve([everything], [starts])
    assert end.value < PERFECT
    assert end.evaluations <= len(starts.parameters) + 3
    runners = own.begin([starts])
    monkeypatch.setattr(projector_module, "scattered_starts", None)
    assert own.checked(runners, [everything]) == runners
    # The evidence has no such bound: below it may be, and everybody runs on.
    by_data = replace(own, learn=OBJECTIVES["marginal_likelihood"])
    (end,) = by_data.solve([everything], [starts])
    assert end.evaluations > 5 * len(starts.parameters)


@every_way
def test_what_a_runner_finds_does_not_depend_on_its_batch(learn):
    own = projector(learn)
    sets = [mask_of(inputs, D) for inputs in ((0,), (1, 2), (0, 1, 3), (3,))]
    starts = [few_starts(own.family, mask) for mask in sets]
    together = own.advance(12, own.begin(starts))
    for mask, own_starts, runner in zip(sets, starts, together, strict=True):
        (alone,) = own.advance(12, own.begin([own_starts]))
        assert len(alone.lanes) == len(runner.lanes) == len(own_starts.parameters)
        for one, other in zip(alone.lanes, runner.lanes, strict=True):
            np.testing.assert_array_equal(one.state.x, other.state.x)
            assert one.value == other.value
            assert one.state.evaluations == other.state.evaluations
            np.testing.assert_array_equal(one.active, mask)
    ends = own.end(together, sets)
    for mask, runner, end in zip(sets, together, ends, strict=True):
        same(own.end([runner], [mask])[0], end)
    assert own.begin([]) == own.advance(3, []) == own.end([], []) == []
    assert own.errors([]).shape == (0,)


@both
def test_sets_that_are_projected_together_end_where_they_end_alone(learn):
    own = projector(learn)
    sets = [mask_of(inputs, D) for inputs in ((2,), (), (0, 1), (0, 1, 2, 3))]
    for mask, end in zip(sets, own.project(sets), strict=True):
        same(own.project([mask])[0], end)


def test_runners_are_narrowed_to_their_lowest_lanes_in_order():
    own, mask = projector(), mask_of([0, 2], D)
    (runner,) = own.advance(3, own.begin([usual_starts(own.family, mask)]))
    values = [lane.value for lane in runner.lanes]
    assert runner.best.value == min(values)
    few = runner.narrowed(3)
    lowest = sorted(np.argsort(values)[:3])
    assert [lane.value for lane in few.lanes] == [values[place] for place in lowest]
    assert few.evaluations == runner.evaluations  # what was dropped is not forgotten
    assert few.spent == runner.evaluations - sum(int(one.state.evaluations[0]) for one in few.lanes)
    assert len(runner.narrowed(0).lanes) == 1
    assert len(runner.narrowed(99).lanes) == len(values)
    more = few.with_lanes(runner)
    assert len(more.lanes) == 3 + len(values)
    assert more.evaluations == few.evaluations + runner.evaluations
    first = Lane(mask, runner.best.state)
    assert Runner((first, runner.best)).best is first  # the first of several


@every_way
def test_all_values_and_gradients_are_counted(learn):
    own, asked = projector(learn), []

    def counted(held, kernel, parameters, mask):
        asked.append(len(parameters))
        return own.learn.functions[0](held, kernel, parameters, mask)

    counting = replace(own, learn=replace(own.learn, functions=(counted, counted)))
    mask = mask_of([0, 2], D)
    for ask in (
        lambda one: one.project([mask]),
        lambda one: one.solve([mask], [few_starts(one.family, mask)], BRIEF),
    ):
        asked.clear()
        (end,) = ask(counting)
        assert end.evaluations == sum(asked)
    (thorough,) = counting.solve([mask], [usual_starts(own.family, mask)], THOROUGH)
    (brief,) = counting.solve([mask], [usual_starts(own.family, mask)], BRIEF)
    assert brief.evaluations < thorough.evaluations


# What is known of an end ------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, "weak", "reference"])
@pytest.mark.parametrize("criterion", CRITERIA)
@every_way
def test_an_end_is_worth_what_objective_and_criterion_say(learn, criterion, prior):
    own, mask = projector(learn, criterion=criterion, prior=prior), mask_of([0, 2], D)
    (end,) = own.solve([mask], [few_starts(own.family, mask)])
    at = end.kernel, end.parameters[None], end.active[None]
    held = own.learn.compared_with(own.target)
    value = own.learn.value(held, *at).value[0]
    if prior is not None:
        value -= PRIOR_WEIGHT * own.family.log_prior(*at[1:]).value[0]
    assert end.value == pytest.approx(value, rel=1e-10)
    assert end.error == pytest.approx(CRITERIA[criterion](own.target, *at)[0], rel=1e-9)
    np.testing.assert_array_equal(end.inputs, mask)
    np.testing.assert_array_equal(end.active, mask)
    assert end.converged
    assert end.figures is None


@every_way
def test_a_completed_projection_has_all_figures(learn):
    own = projector(learn)
    for end in (found(learn, (0, 2)), own.null()):
        whole = own.completed(end)
        at = end.kernel, end.parameters[None], end.active[None]
        kl = OBJECTIVES["projection"].value(own.target, *at).value[0] / 2
        assert whole.figures.posterior_kl == pytest.approx(kl, rel=1e-12)
        for name, criterion in CRITERIA.items():
            expected = criterion(own.target, *at)[0]
            assert getattr(whole.figures, name) == pytest.approx(expected, rel=1e-12)
        assert getattr(whole.figures, own.criterion.name) == pytest.approx(end.error, rel=1e-9)
        same(whole._replace(figures=None), end)


def test_a_submodel_on_fewer_inputs_is_the_answer_where_it_is_better():
    own = projector()
    child, parent = found("loo", (0, 2)), found("loo", (2,))
    assert child.value < parent.value
    assert own.not_worse(child, [parent]) is child
    better = own.completed(parent)._replace(value=child.value - 1.0)
    best = better._replace(value=child.value - 2.0)
    for known in ([better], [parent, better], [better, parent]):
        answer = own.not_worse(child, known)
        assert answer.value == better.value
        np.testing.assert_array_equal(answer.inputs, child.inputs)
        np.testing.assert_array_equal(answer.active, parent.active)
        np.testing.assert_array_equal(answer.parameters, parent.parameters)
        assert answer.evaluations == child.evaluations
        assert answer.figures is None
    assert own.not_worse(child, [better, best]).value == best.value
    assert own.not_worse(child, [best, better]).value == best.value
    stranger = better._replace(active=mask_of([2, 3], D), inputs=mask_of([2, 3], D))
    assert own.not_worse(child, [stranger]) is child
    tie = better._replace(value=child.value)
    assert own.not_worse(child, [tie]) is child


@both
@pytest.mark.parametrize("prior", [None, "auto"])
def test_the_objective_never_grows_along_nested_sets(learn, prior):
    own = projector(learn, prior=prior)
    order, known = (3, 2, 1, 0), [own.null()]
    for size in range(1, D + 1):
        (end,) = own.project([mask_of(order[:size], D)], known)
        assert end.value <= known[-1].value
        np.testing.assert_array_equal(end.inputs, mask_of(order[:size], D))
        known.append(end)
    assert known[-1].value < 0.2 * known[0].value  # the rest is the prior's


# The divergence of posteriors without a prior has valleys at the bounds of its parameters, of which
# one of these 16 sets misses half a nat; searches tell sets of their parts.
@pytest.mark.parametrize(("learn", "missed"), [("loo", 1e-3), ("projection", 1.0)])
def test_without_a_prior_no_set_is_worse_than_a_part_of_it(learn, missed):
    """Nothing of one set is told to another here: every optimum is found by itself."""
    own = projector(learn, prior=None)
    sets = [own for size in range(D + 1) for own in itertools.combinations(range(D), size)]
    ends = own.project([mask_of(inputs, D) for inputs in sets])
    values = {inputs: end.value for inputs, end in zip(sets, ends, strict=True)}
    for part, whole in itertools.permutations(sets, 2):
        if set(part) < set(whole):
            assert values[whole] <= values[part] + missed


@pytest.mark.parametrize(("learn", "seed", "inputs", "parents"), VALLEYS)
def test_a_candidate_is_polished_from_all_usual_starts(learn, seed, inputs, parents):
    own, mask = projector(learn, seed), mask_of(inputs, D)
    near = own.from_known(found(learn, parents[0], seed), mask)
    (candidate,) = own.loosely.solve([mask], [near])
    polished = own.polished(candidate)
    assert polished.value < candidate.value - 1.0
    assert polished.value == pytest.approx(found(learn, inputs, seed).value, rel=1e-6)
    (usual,) = own.solve([mask], [usual_starts(own.family, mask)], BRIEF)
    assert polished.evaluations > candidate.evaluations + 0.9 * usual.evaluations
    np.testing.assert_array_equal(polished.inputs, candidate.inputs)


@both
def test_what_is_polished_is_never_worse(learn):
    own, mask = projector(learn), mask_of([0, 2], D)
    (loose,) = own.loosely.solve([mask], [few_starts(own.family, mask)])
    polished = own.polished(loose)
    assert loose.value - 0.1 < polished.value <= loose.value
    assert np.abs(gradient_of(own, polished)).max() < 0.1
    best = loose._replace(value=loose.value - 1.0)  # which no start leads to
    kept = own.polished(best)
    assert kept.value == best.value
    np.testing.assert_array_equal(kept.parameters, loose.parameters)
    assert kept.evaluations > loose.evaluations
    null = own.null()
    assert own.polished(null) is null


def gradient_of(own, end):
    goal = Goal(own.target, own.family, end.active[None], own.learn)
    return goal(end.parameters[None], np.array([0]))[1][0]


def test_candidates_are_compared_loosely():
    own = projector()
    assert (own.tolerance, own.loosely.tolerance) == (TIGHT, LOOSE)
    assert own.loosely is own.loosely
    mask = mask_of([0, 2], D)
    starts = [few_starts(own.family, mask)]
    tight, loose = (one.solve([mask], starts)[0] for one in (own, own.loosely))
    assert loose.evaluations < tight.evaluations
    assert tight.value <= loose.value < tight.value + 1e-3


def test_the_null_model_has_the_constants_alone():
    own = projector()
    null = own.null()
    assert isinstance(null.kernel, Constant)
    assert null.parameters.shape == (2,)
    assert not null.active.any()
    assert not own.is_own(null)
    assert own.without_inputs is own.without_inputs
    assert own.is_own(found("loo", (2,)))
    same(own.project([np.zeros(D, dtype=bool)])[0], null)


# Inputs that are constant -----------------------------------------------------------------------


@cache
def with_and_without(learn, prior):
    """Projectors of one reference, the first with a constant input between the others."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(30)
    kernel = Constant(0.5) + SquaredExponential(1.5, [1.0, 2.0, 3.0])
    wider = Constant(0.5) + SquaredExponential(1.5, [1.0, 5.0, 2.0, 3.0])
    plain = gpproj.condition(X, y, kernel, Gaussian(0.1))
    with pytest.warns(UserWarning, match="constant"):
        more = gpproj.condition(np.insert(X, 1, 7.0, axis=1), y, wider, Gaussian(0.1))
    return projector_of(more, learn, prior=prior), projector_of(plain, learn, prior=prior)


@pytest.mark.parametrize("prior", [None, "weak", "reference"])
@both
def test_a_constant_column_changes_nothing(learn, prior):
    more, plain = with_and_without(learn, prior)
    for wide, narrow in (
        ((0, 1), (0,)),
        ((0, 1, 3), (0, 2)),
        ((0, 1, 2, 3), (0, 1, 2)),
        ((1,), ()),
    ):
        (end,), (expected,) = more.project([mask_of(wide, 4)]), plain.project([mask_of(narrow, 3)])
        assert end.value == pytest.approx(expected.value, rel=1e-8, abs=1e-8)
        assert end.error == pytest.approx(expected.error, rel=1e-7, abs=1e-7)
        np.testing.assert_array_equal(end.inputs, mask_of(wide, 4))
        assert not end.active[1]
        if narrow:
            kept = np.delete(end.parameters, 3)
            np.testing.assert_allclose(kept[[0, 1, -1]], expected.parameters[[0, 1, -1]], atol=1e-3)
    assert more.usable([0, 1]).tolist() == [True, False, False, False]
    polished = more.polished(more.project([mask_of([0, 1], 4)])[0])
    assert polished.inputs.tolist() == [True, True, False, False]
    assert polished.active.tolist() == [True, False, False, False]
    null = more.project([mask_of([1], 4)])[0]
    assert more.polished(null) is null


# Doubts and problems ----------------------------------------------------------------------------


def test_doubt_is_how_much_the_predictions_of_rival_optima_differ():
    own, mask = projector(), mask_of([0, 2], D)
    end = found("loo", (0, 2))
    moved = end.parameters.copy()
    moved[[2, 4]] += 0.5
    place = starts_at([end.parameters, moved], mask)
    values = value_at(own, place)
    (runner,) = own.begin([place])
    assert runner.best.value == values[0]

    def told(other):
        """The doubt of a runner whose other lane has some value and stands at an end."""
        state = replace(runner.lanes[1].state, value=np.array([other]), finished=np.array([True]))
        best = replace(runner.lanes[0].state, finished=np.array([True]))
        lanes = (Lane(mask, best), Lane(mask, state))
        return own.end([Runner(lanes)], [mask])[0].doubt

    means = left_out_means(own.target, own.family.kernel, place.parameters, place.active)
    expected = np.mean((means[1] - means[0]) ** 2) / own.family.signal
    assert told(values[0] + 0.9 * NEAR) == pytest.approx(expected)
    assert expected > 1e-3
    assert told(values[0] + 1.1 * NEAR) == 0.0
    twice = Runner((runner.lanes[0], runner.lanes[0]._replace(state=runner.lanes[0].state)))
    assert own.end([twice], [mask])[0].doubt == 0.0


def test_two_optima_of_about_the_same_value_are_a_problem():
    ref = reference(0)
    sub = gpproj.project(ref, [0, 3])
    text = "another optimum has nearly the same value and predicts otherwise"
    assert any(one.startswith(text) for one in sub.problems)
    (end,) = projector_of(ref).project([mask_of([0, 3], D)], check=True)
    assert any(f"by {end.doubt:.0%} of the variance" in one for one in sub.problems)


def test_problems_are_said_and_nothing_else_is():
    own = projector()
    good, null = found("loo", (0, 1, 2, 3)), own.null()
    assert problems_of(own, good) == ()
    assert problems_of(own, null) == ()

    (text,) = problems_of(own, good._replace(converged=False))
    assert "did not converge" in text

    bad = good._replace(error=0.25 * null.error)
    (text,) = problems_of(own, bad)
    assert "differs from the reference by 25% of what the null model does" in text
    assert problems_of(own, bad, null_error=100.0 * null.error) == ()
    assert problems_of(own, bad._replace(inputs=mask_of([0, 1], D))) == ()

    (text,) = problems_of(own, good._replace(doubt=0.2))
    assert "the two differ by 20%" in text
    assert problems_of(own, good._replace(doubt=0.05)) == ()

    def with_extra(share):
        parameters = good.parameters.copy()
        parameters[-1] = np.log(share * own.family.signal)
        return good._replace(parameters=parameters)

    (text,) = problems_of(own, with_extra(0.99))
    assert "independent noise takes nearly all" in text
    assert problems_of(own, with_extra(0.99), alone=False) == ()
    assert problems_of(own, with_extra(0.5)) == ()
    assert len(problems_of(own, with_extra(0.99)._replace(converged=False, doubt=1.0))) == 3


def test_an_input_that_is_constant_is_not_missed_among_all_inputs():
    more, _ = with_and_without("loo", None)
    (end,) = more.project([mask_of([0, 2, 3], 4)])
    null = more.null()
    assert problems_of(more, end) == ()
    assert len(problems_of(more, end._replace(error=null.error))) == 1


# Slopes, names, families ------------------------------------------------------------------------


@every_way
def test_slopes_are_in_units_of_the_data(learn):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(30)
    units, scales = np.array([1.0, 1e3, 0.02]), np.array([1.0, 2.0, 3.0])
    slopes = []
    for unit in (np.ones(3), units):
        kernel = Constant(0.5) + SquaredExponential(1.5, scales * unit)
        own = projector_of(gpproj.condition(X * unit, y, kernel, Gaussian(0.1)), learn)
        at = own.family.at(own.family.known, 0.3)
        mask = mask_of([0], 3)
        end = own.solve([mask], [few_starts(own.family, mask)])[0]._replace(parameters=at)
        slopes.append(own.slopes(end))
        assert not own.slopes(own.null()).any()
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-6)
    assert np.abs(slopes[0]).min() > 1e-6


def test_a_projector_is_known_by_what_decides_its_submodels():
    ref = reference(1)
    names = [
        projector_of(ref, *options).identity
        for options in (
            ("loo",),
            ("projection",),
            ("loo", "projection_error"),
            ("loo", None, "weak"),
            ("loo", None, None),
            ("loo", None, "auto", Constant() + Matern52()),
        )
    ]
    assert len(set(names)) == len(names)
    assert projector_of(ref).identity == names[0]
    assert projector_of(ref, "loo", "loo_divergence", "reference").identity == names[0]


@pytest.mark.parametrize("prior", ["weak", "reference"])
@both
def test_lanes_of_several_families_have_their_own_priors(learn, prior):
    """As where several references are projected in one batch."""
    ref, masks = reference(1), np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
    first = projector_of(ref, learn, prior=prior).family
    other = replace(first, known=first.known + 1.5, units=first.units._replace(spread=3.0))
    parameters = np.stack([few_starts(first, mask).parameters[0] for mask in masks]) - 4.0
    whose = np.array([1, 0, 1])
    goal = Goal(ref.target, first, masks, OBJECTIVES[learn], others=(first, other), whose=whose)
    values, gradients = goal(parameters, np.arange(3))
    assert not np.allclose(
        values, Goal(ref.target, first, masks, goal.learn)(parameters, np.arange(3))[0]
    )
    for lane, family in enumerate((other, first, other)):
        one = slice(lane, lane + 1)
        alone = Goal(ref.target, family, masks[one], OBJECTIVES[learn])
        value, gradient = alone(parameters[one], np.array([0]))
        assert values[lane] == pytest.approx(value[0], rel=1e-12)
        np.testing.assert_allclose(gradients[lane], gradient[0], rtol=1e-12)
        np.testing.assert_allclose(
            goal.divergences(parameters, values)[lane], alone.divergences(parameters[one], value)[0]
        )
    some, _ = goal(parameters[[2, 0]], np.array([2, 0]))
    np.testing.assert_allclose(some, values[[2, 0]], rtol=1e-12)
    fewer = goal.at(np.array([2, 1]))
    some, _ = fewer(parameters[[2, 1]], np.arange(2))
    np.testing.assert_allclose(some, values[[2, 1]], rtol=1e-12)
