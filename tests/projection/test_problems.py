"""What is said of a submodel: rival optima, problems, and inputs that are constant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.projection import mask_of, projector_of
from gpproj.projection.multistart import NEAR, Lane, MultiStartFit
from gpproj.projection.objective import left_out_means
from gpproj.projection.problems import problems_of
from gpproj.projection.starts import starts_at

D = 4
both = pytest.mark.parametrize("learn", ["loo", "projection"])


@pytest.mark.parametrize(
    "prior", [None, *(pytest.param(one, marks=pytest.mark.slow) for one in ("weak", "reference"))]
)
@both
def test_a_constant_column_changes_nothing(learn, prior, with_and_without):
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
    assert more.varying.tolist()[:2] == [True, False]
    polished = more.refine(more.project([mask_of([0, 1], 4)])[0])
    assert polished.inputs.tolist() == [True, True, False, False]
    assert polished.active.tolist() == [True, False, False, False]
    null = more.project([mask_of([1], 4)])[0]
    assert more.refine(null) is null


def test_doubt_is_how_much_the_predictions_of_rival_optima_differ(projector, found, value_at):
    own, mask = projector(), mask_of([0, 2], D)
    end = found("loo", (0, 2))
    moved = end.parameters.copy()
    moved[[2, 4]] += 0.5
    place = starts_at([end.parameters, moved], mask)
    values = value_at(own, place)
    (fit,) = own.begin_at([place])
    assert fit.best.value == values[0]

    def told(other):
        """The doubt of a fit whose other lane has some value and stands at an end."""
        state = replace(fit.lanes[1].state, value=np.array([other]), finished=np.array([True]))
        best = replace(fit.lanes[0].state, finished=np.array([True]))
        lanes = (Lane(mask, best), Lane(mask, state))
        return own.finish([MultiStartFit(mask, lanes)])[0].doubt

    means = left_out_means(own.target, own.family.kernel, place.parameters, place.active)
    expected = np.mean((means[1] - means[0]) ** 2) / own.family.signal
    assert told(values[0] + 0.9 * NEAR) == pytest.approx(expected)
    assert expected > 1e-3
    assert told(values[0] + 1.1 * NEAR) == 0.0
    twice = MultiStartFit(mask, (fit.lanes[0], fit.lanes[0]._replace(state=fit.lanes[0].state)))
    assert own.finish([twice])[0].doubt == 0.0


def test_two_optima_of_about_the_same_value_are_a_problem(reference):
    ref = reference(0)
    sub = gpproj.project(ref, [0, 3])
    text = "another optimum has nearly the same value and predicts otherwise"
    assert any(one.startswith(text) for one in sub.problems)
    (end,) = projector_of(ref).project([mask_of([0, 3], D)], check=True)
    assert any(f"by {end.doubt:.0%} of the variance" in one for one in sub.problems)


def test_problems_are_said_and_nothing_else_is(projector, found):
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


def test_an_input_that_is_constant_is_not_missed_among_all_inputs(with_and_without):
    more, _ = with_and_without("loo", None)
    (end,) = more.project([mask_of([0, 2, 3], 4)])
    null = more.null()
    assert problems_of(more, end) == ()
    assert len(problems_of(more, end._replace(error=null.error))) == 1
