"""Where submodels start: within their bounds, and at what is known of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.kernels import KINDS, Constant, Linear, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import ProjectionOptions, mask_of, projector_of
from gpproj.projection.starts import (
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
    usual_starts,
)

D = 4
LEARN = ("loo", "projection", "marginal_likelihood")
every_way = pytest.mark.parametrize("learn", LEARN)


def lengthscales(family):
    kinds = [one.kind for one in family.kernel.parameters(D)]
    return np.array([*(kind.is_scale for kind in kinds), False])


WAYS = {
    "usual": usual_starts,
    "few": few_starts,
    "fast": fast_starts,
    "scattered": lambda family, mask: scattered_starts(family, mask, 5),
    "reference": reference_starts,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("inputs", [(0,), (1, 3), (0, 1, 2, 3)], ids=str)
def test_starts_lie_within_the_bounds_and_use_what_is_in(way, inputs, projector):
    family, mask = projector().family, mask_of(inputs, D)
    starts = WAYS[way](family, mask)
    assert starts.parameters.shape == (len(starts.active), family.bounds.lower.size)
    lower, upper = family.bounds
    assert np.all((starts.parameters >= lower) & (starts.parameters <= upper))
    assert not np.any(starts.active & ~mask)
    assert np.any(np.all(starts.active == mask, axis=1))
    assert len(np.unique(starts.parameters, axis=0)) == len(starts.parameters)


@every_way
def test_the_reference_itself_is_among_the_usual_starts(learn, reference, projector, value_at):
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


def test_inputs_that_the_reference_does_not_use_hardly_act_at_first(projector):
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


def test_reference_starts_have_the_extra_variances_that_are_asked_for(projector):
    family, mask = projector().family, mask_of([0, 3], D)
    starts = reference_starts(family, mask, (1.0, 0.1))
    shares = np.exp(starts.parameters[:, -1])
    np.testing.assert_allclose(shares, [0.5 * family.signal, 0.05 * family.signal])
    np.testing.assert_array_equal(starts.parameters[0, :-1], starts.parameters[1, :-1])


def test_every_input_is_fast_once_and_once_faster(projector):
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


def test_scattered_starts_fill_the_box_of_plausible_values(projector):
    family, mask = projector().family, mask_of([0, 2], D)
    starts = scattered_starts(family, mask, 400)
    moving = np.flatnonzero(np.ptp(starts.parameters, axis=0) > 0)
    assert moving.tolist() == [0, 1, 2, 4, 6]  # constant, signal, two length-scales, extra variance
    kinds = ["constant", "signal", "lengthscale", "lengthscale"]
    ends = np.array([KINDS[kind].plausible for kind in kinds])
    units = np.array([max(family.units.level, family.units.spread), family.units.spread, 1.0, 1.0])
    lower = np.append(np.log(ends[:, 0] * units), np.log(1e-3 * family.signal))
    upper = np.append(np.log(ends[:, 1] * units), np.log(1.5 * family.signal))
    places = (starts.parameters[:, moving] - lower) / (upper - lower)
    assert np.all((places > 0.0) & (places < 1.0))
    # Evenly: every quarter of every axis has a quarter of them, and no two axes go together.
    counts = np.stack([np.histogram(axis, bins=4, range=(0, 1))[0] for axis in places.T])
    assert counts.min() > 85
    assert np.abs(np.corrcoef(places, rowvar=False) - np.eye(5)).max() < 0.1


def test_scattered_starts_go_on_where_others_ended(projector):
    family, mask = projector().family, mask_of([0, 2], D)
    whole = scattered_starts(family, mask, 9)
    parts = [scattered_starts(family, mask, 4), scattered_starts(family, mask, 5, 4)]
    np.testing.assert_allclose(parts[0].plus(parts[1]).parameters, whole.parameters)
    np.testing.assert_array_equal(whole.active, np.tile(mask, (9, 1)))


def test_inputs_enter_slowly_and_as_in_the_reference(projector):
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


def test_what_leaving_inputs_explained_may_go_into_the_extra_variance(projector):
    family, before = projector().family, np.arange(7.0)
    starts = from_known(family, before, mask_of([0, 1], D), mask_of([1], D))
    np.testing.assert_array_equal(starts.parameters, before[None])  # it is large as it is
    before[-1] = np.log(1e-3 * family.signal)
    starts = from_known(family, before, mask_of([0, 1], D), mask_of([1], D))
    np.testing.assert_array_equal(starts.parameters[:, :-1], before[None, :-1].repeat(2, axis=0))
    extras = np.exp(starts.parameters[:, -1]) / family.signal
    np.testing.assert_allclose(extras, [1e-3, UNEXPLAINED])
    assert starts.active.tolist() == [[False, True, False, False]] * 2


def test_inputs_may_enter_as_others_leave(projector):
    family, before = projector().family, np.arange(7.0)
    before[-1] = np.log(1e-3 * family.signal)
    starts = from_known(family, before, mask_of([0], D), mask_of([1], D))
    assert len(starts.parameters) == 4
    assert len(np.unique(starts.parameters, axis=0)) == 4


def test_slopes_of_linear_components_enter_with_their_inputs(reference):
    kernel = Constant() + SquaredExponential() + Linear()
    family = projector_of(reference(1), ProjectionOptions(kernel=kernel)).family
    parameters = np.full(11, 7.0)
    starts = from_known(family, parameters, mask_of([0, 1, 2], D), np.ones(D, dtype=bool))
    entered = starts.parameters != 7.0
    assert [np.flatnonzero(one).tolist() for one in entered] == [[5, 9]] * 2  # length-scale, slope


def test_what_is_known_of_other_sets_is_a_start(projector, found):
    own, mask = projector(), mask_of([0, 2], D)
    parent, null = found("loo", (2,)), own.null()
    plain = own.every_start(mask)
    more = own.every_start(mask, [parent, null])  # a null model tells nothing
    np.testing.assert_array_equal(more.parameters[: len(plain.parameters)], plain.parameters)
    np.testing.assert_array_equal(
        more.parameters[len(plain.parameters) :], own.from_known(parent, mask).parameters
    )
    assert len(own.from_known(parent, mask).parameters) == 2


def test_short_starts_are_few_where_others_are_known(projector, found):
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
