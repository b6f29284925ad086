"""Several lanes, several optima: what `Projector` finds by running from many starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpproj.projection import OBJECTIVES, mask_of
from gpproj.projection import solver as solver_module
from gpproj.projection.loss import Loss
from gpproj.projection.multistart import Lane, MultiStartFit
from gpproj.projection.solver import GAIN, PERFECT, SCATTERED, THOROUGH
from gpproj.projection.starts import fast_starts, few_starts, scattered_starts, usual_starts

D = 4
LEARN = ("loo", "projection", "marginal_likelihood")
every_way = pytest.mark.parametrize("learn", LEARN)
both = pytest.mark.parametrize("learn", LEARN[:2])

VALLEYS = [
    # A way to learn, the data, the inputs, and submodels on fewer of them that lead elsewhere.
    ("projection", 1, (1, 2), [(1,)]),
    ("loo", 2, (0, 1), [(0,), (1,)]),
]


@pytest.mark.parametrize(("learn", "seed", "inputs", "parents"), VALLEYS)
def test_a_valley_that_parents_do_not_lead_to_is_found(
    learn, seed, inputs, parents, projector, found
):
    own, mask = projector(learn, seed), mask_of(inputs, D)
    known = [found(learn, parent, seed) for parent in parents]
    starts = own.from_known(known[0], mask).plus(*(own.from_known(one, mask) for one in known[1:]))
    (by_parents,) = own.solve([starts])
    (end,) = own.project([mask], known)
    assert end.value < by_parents.value - 1.0
    assert end.value == pytest.approx(found(learn, inputs, seed).value, rel=1e-6)


def test_a_valley_that_no_usual_start_leads_to_is_found(projector, found):
    own, mask = projector("loo", 5), mask_of([1, 3], D)
    (usual,) = own.solve([usual_starts(own.family, mask)])
    (fast,) = own.solve([fast_starts(own.family, mask)])
    assert fast.value < usual.value - 0.3
    assert found("loo", (1, 3), 5).value == pytest.approx(fast.value, rel=1e-6)


@pytest.mark.parametrize(("learn", "seed", "inputs", "parents"), VALLEYS)
def test_a_check_leaves_a_valley_that_is_not_the_deepest(
    learn, seed, inputs, parents, monkeypatch, projector, found
):
    own, mask = projector(learn, seed), mask_of(inputs, D)
    starts = own.from_known(found(learn, parents[0], seed), mask)
    stuck = own.run(500, own.begin_at([starts]))
    turns, plain = [], scattered_starts

    def noted(family, mask, count, first):
        turns.append((count, first))
        return plain(family, mask, count, first)

    monkeypatch.setattr(solver_module, "scattered_starts", noted)
    (end,) = own.checked(stuck)
    assert end.best.value < stuck[0].best.value - 1.0
    assert end.best.value == pytest.approx(found(learn, inputs, seed).value, rel=1e-5)
    assert end.evaluations > stuck[0].evaluations
    # Once more where it found something, with other points, and not again after that.
    assert turns[:2] == [(SCATTERED, 0), (SCATTERED, SCATTERED)]
    before = len(turns)
    (again,) = own.checked([end])
    assert len(turns) == before + 1
    assert again.best.value > end.best.value - GAIN


def test_nothing_is_better_than_no_divergence(monkeypatch, projector):
    """Where the reference itself is found at once, neither its rivals nor checks take time."""
    own, everything = projector(), np.ones(D, dtype=bool)
    starts = usual_starts(own.family, everything)
    (end,) = own.solve([starts])
    assert end.value < PERFECT
    assert end.evaluations <= len(starts.parameters) + 3
    fits = own.begin_at([starts])
    monkeypatch.setattr(solver_module, "scattered_starts", None)
    assert own.checked(fits) == fits
    # The evidence has no such bound: below it may be, and everybody runs on.
    by_data = replace(own, learn=OBJECTIVES["marginal_likelihood"])
    (end,) = by_data.solve([starts])
    assert end.evaluations > 5 * len(starts.parameters)


@every_way
def test_what_a_fit_finds_does_not_depend_on_its_batch(learn, projector, same):
    own = projector(learn)
    sets = [mask_of(inputs, D) for inputs in ((0,), (1, 2), (0, 1, 3), (3,))]
    starts = [few_starts(own.family, mask) for mask in sets]
    together = own.run(12, own.begin_at(starts))
    for mask, own_starts, fit in zip(sets, starts, together, strict=True):
        (alone,) = own.run(12, own.begin_at([own_starts]))
        assert len(alone.lanes) == len(fit.lanes) == len(own_starts.parameters)
        for one, other in zip(alone.lanes, fit.lanes, strict=True):
            np.testing.assert_array_equal(one.state.x, other.state.x)
            assert one.value == other.value
            assert one.state.evaluations == other.state.evaluations
            np.testing.assert_array_equal(one.active, mask)
    ends = own.finish(together)
    for fit, end in zip(together, ends, strict=True):
        same(own.finish([fit])[0], end)
    assert own.begin_at([]) == own.run(3, []) == own.finish([]) == []
    assert own.errors([]).shape == (0,)


@both
def test_sets_that_are_projected_together_end_where_they_end_alone(learn, projector, same):
    own = projector(learn)
    sets = [mask_of(inputs, D) for inputs in ((2,), (), (0, 1), (0, 1, 2, 3))]
    for mask, end in zip(sets, own.project(sets), strict=True):
        same(own.project([mask])[0], end)


def test_fits_are_narrowed_to_their_lowest_lanes_in_order(projector):
    own, mask = projector(), mask_of([0, 2], D)
    (fit,) = own.run(3, own.begin_at([usual_starts(own.family, mask)]))
    values = [lane.value for lane in fit.lanes]
    assert fit.best.value == min(values)
    few = fit.keep_best(3)
    lowest = sorted(np.argsort(values)[:3])
    assert [lane.value for lane in few.lanes] == [values[place] for place in lowest]
    assert few.evaluations == fit.evaluations  # what was dropped is not forgotten
    assert few.spent == fit.evaluations - sum(int(one.state.evaluations[0]) for one in few.lanes)
    assert len(fit.keep_best(0).lanes) == 1
    assert len(fit.keep_best(99).lanes) == len(values)
    more = few.with_lanes(fit)
    assert len(more.lanes) == 3 + len(values)
    assert more.evaluations == few.evaluations + fit.evaluations
    first = Lane(mask, fit.best.state)
    assert MultiStartFit(mask, (first, fit.best)).best is first  # the first of several


@every_way
def test_all_values_and_gradients_are_counted(learn, projector):
    own, asked = projector(learn), []

    def counted(held, kernel, parameters, mask):
        asked.append(len(parameters))
        return own.learn.functions[0](held, kernel, parameters, mask)

    counting = replace(own, learn=replace(own.learn, functions=(counted, counted)))
    mask = mask_of([0, 2], D)
    for ask in (
        lambda one: one.project([mask]),
        lambda one: one.solve([few_starts(one.family, mask)], THOROUGH),
        lambda one: one.projections(
            [
                one.challenged(
                    one.optimised([few_starts(one.family, mask)])[0],
                    usual_starts(one.family, mask),
                )
            ]
        ),
    ):
        asked.clear()
        (end,) = ask(counting)
        assert end.evaluations == sum(asked)


def test_starts_that_lead_to_a_known_optimum_end_early(projector):
    own, mask = projector("loo"), mask_of([0, 2], D)
    starts = usual_starts(own.family, mask)
    (end,) = own.optimised([starts])
    challenged = own.challenged(end, starts)
    assert challenged.best.value == pytest.approx(end.best.value, abs=GAIN)
    (every,) = own.climbed(own.begin_at([starts]))
    assert challenged.evaluations - end.evaluations < 0.7 * every.evaluations


@pytest.mark.parametrize(("learn", "seed", "inputs", "parents"), VALLEYS)
def test_a_candidate_is_polished_from_all_usual_starts(
    learn, seed, inputs, parents, projector, found
):
    own, mask = projector(learn, seed), mask_of(inputs, D)
    near = own.from_known(found(learn, parents[0], seed), mask)
    (candidate,) = own.loose.solve([near])
    polished = own.refine(candidate)
    assert polished.value < candidate.value - 1.0
    assert polished.value == pytest.approx(found(learn, inputs, seed).value, rel=1e-6)
    assert polished.evaluations > candidate.evaluations + len(usual_starts(own.family, mask)[0])
    np.testing.assert_array_equal(polished.inputs, candidate.inputs)


@both
def test_what_is_polished_is_never_worse(learn, projector):
    own, mask = projector(learn), mask_of([0, 2], D)
    (loose,) = own.loose.solve([few_starts(own.family, mask)])
    polished = own.refine(loose)
    assert loose.value - 0.1 < polished.value <= loose.value
    assert np.abs(gradient_of(own, polished)).max() < 0.1
    best = loose._replace(value=loose.value - 1.0)  # which no start leads to
    kept = own.refine(best)
    assert kept.value == best.value
    np.testing.assert_array_equal(kept.parameters, loose.parameters)
    assert kept.evaluations > loose.evaluations
    null = own.null()
    assert own.refine(null) is null


def gradient_of(own, end):
    loss = Loss(own.target, own.family, end.active[None], own.learn)
    return loss(end.parameters[None], np.array([0]))[1][0]
