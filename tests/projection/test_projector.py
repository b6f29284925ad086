"""`Projector`: what is known of the ends it finds, and of itself."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.kernels import Constant, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import CRITERIA, OBJECTIVES, ProjectionOptions, mask_of, projector_of
from gpproj.projection.loss import LOOSE, PRIOR_WEIGHT, TIGHT, Loss
from gpproj.projection.starts import few_starts

D = 4
LEARN = ("loo", "projection", "marginal_likelihood")
every_way = pytest.mark.parametrize("learn", LEARN)
both = pytest.mark.parametrize("learn", LEARN[:2])


@pytest.mark.parametrize("prior", [None, "weak", "reference"])
@pytest.mark.parametrize("criterion", CRITERIA)
@every_way
def test_an_end_is_worth_what_objective_and_criterion_say(learn, criterion, prior, projector):
    own, mask = projector(learn, criterion=criterion, prior=prior), mask_of([0, 2], D)
    (end,) = own.solve([few_starts(own.family, mask)])
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
def test_a_completed_projection_has_all_figures(learn, projector, found, same):
    own = projector(learn)
    for end in (found(learn, (0, 2)), own.null()):
        whole = own.with_figures(end)
        at = end.kernel, end.parameters[None], end.active[None]
        kl = OBJECTIVES["projection"].value(own.target, *at).value[0] / 2
        assert whole.figures.posterior_kl == pytest.approx(kl, rel=1e-12)
        for name, criterion in CRITERIA.items():
            expected = criterion(own.target, *at)[0]
            assert getattr(whole.figures, name) == pytest.approx(expected, rel=1e-12)
        assert getattr(whole.figures, own.criterion.name) == pytest.approx(end.error, rel=1e-9)
        same(whole._replace(figures=None), end)


def test_a_submodel_on_fewer_inputs_is_the_answer_where_it_is_better(projector, found):
    own = projector()
    child, parent = found("loo", (0, 2)), found("loo", (2,))
    assert child.value < parent.value
    assert own.not_worse(child, [parent]) is child
    better = own.with_figures(parent)._replace(value=child.value - 1.0)
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
def test_the_objective_never_grows_along_nested_sets(learn, prior, projector):
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
@pytest.mark.slow
@pytest.mark.parametrize(("learn", "missed"), [("loo", 1e-3), ("projection", 1.0)])
def test_without_a_prior_no_set_is_worse_than_a_part_of_it(learn, missed, projector):
    """Nothing of one set is told to another here: every optimum is found by itself."""
    own = projector(learn, prior=None)
    sets = [own for size in range(D + 1) for own in itertools.combinations(range(D), size)]
    ends = own.project([mask_of(inputs, D) for inputs in sets])
    values = {inputs: end.value for inputs, end in zip(sets, ends, strict=True)}
    for part, whole in itertools.permutations(sets, 2):
        if set(part) < set(whole):
            assert values[whole] <= values[part] + missed


def test_candidates_are_compared_loosely(projector):
    own = projector()
    assert (own.tolerance, own.loose.tolerance) == (TIGHT, LOOSE)
    assert own.loose is own.loose
    mask = mask_of([0, 2], D)
    starts = [few_starts(own.family, mask)]
    tight, loose = (one.solve(starts)[0] for one in (own, own.loose))
    assert loose.evaluations < tight.evaluations
    assert tight.value <= loose.value < tight.value + 1e-3


def test_the_null_model_has_the_constants_alone(projector, found, same):
    own = projector()
    null = own.null()
    assert isinstance(null.kernel, Constant)
    assert null.parameters.shape == (2,)
    assert not null.active.any()
    assert not own.in_family(null)
    assert own.without_inputs is own.without_inputs
    assert own.in_family(found("loo", (2,)))
    same(own.project([np.zeros(D, dtype=bool)])[0], null)


@every_way
def test_slopes_are_in_units_of_the_data(learn):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(30)
    units, scales = np.array([1.0, 1e3, 0.02]), np.array([1.0, 2.0, 3.0])
    slopes = []
    for unit in (np.ones(3), units):
        kernel = Constant(0.5) + SquaredExponential(1.5, scales * unit)
        own = projector_of(
            gpproj.condition(X * unit, y, kernel, Gaussian(0.1)), ProjectionOptions(learn)
        )
        at = own.family.at(own.family.known, 0.3)
        mask = mask_of([0], 3)
        end = own.solve([few_starts(own.family, mask)])[0]._replace(parameters=at)
        slopes.append(own.entry_slopes(end))
        assert not own.entry_slopes(own.null()).any()
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-6)
    assert np.abs(slopes[0]).min() > 1e-6


def test_a_projector_is_known_by_what_decides_its_submodels(reference):
    ref = reference(1)
    names = [
        projector_of(ref, ProjectionOptions(*options)).identity
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
    assert (
        projector_of(ref, ProjectionOptions("loo", "loo_divergence", "reference")).identity
        == names[0]
    )


@pytest.mark.parametrize("prior", ["weak", "reference"])
@both
def test_lanes_of_several_families_have_their_own_priors(learn, prior, reference):
    """As where several references are projected in one batch."""
    ref, masks = reference(1), np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
    first = projector_of(ref, ProjectionOptions(learn, prior=prior)).family
    other = replace(first, known=first.known + 1.5, units=first.units._replace(spread=3.0))
    parameters = np.stack([few_starts(first, mask).parameters[0] for mask in masks]) - 4.0
    whose = np.array([1, 0, 1])
    loss = Loss(
        ref.target,
        first,
        masks,
        OBJECTIVES[learn],
        lane_families=(first, other),
        family_of_lane=whose,
    )
    values, gradients = loss(parameters, np.arange(3))
    assert not np.allclose(
        values, Loss(ref.target, first, masks, loss.learn)(parameters, np.arange(3))[0]
    )
    for lane, family in enumerate((other, first, other)):
        one = slice(lane, lane + 1)
        alone = Loss(ref.target, family, masks[one], OBJECTIVES[learn])
        value, gradient = alone(parameters[one], np.array([0]))
        assert values[lane] == pytest.approx(value[0], rel=1e-12)
        np.testing.assert_allclose(gradients[lane], gradient[0], rtol=1e-12)
        np.testing.assert_allclose(
            loss.divergences(parameters, values)[lane], alone.divergences(parameters[one], value)[0]
        )
    some, _ = loss(parameters[[2, 0]], np.array([2, 0]))
    np.testing.assert_allclose(some, values[[2, 0]], rtol=1e-12)
    fewer = loss.at(np.array([2, 1]))
    some, _ = fewer(parameters[[2, 1]], np.arange(2))
    np.testing.assert_allclose(some, values[[2, 1]], rtol=1e-12)
