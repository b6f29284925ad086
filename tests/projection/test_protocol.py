"""What every projector does for searches, whatever it projects."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gpproj
from gpproj.projection import LinearProjector, ProcessProjector, mask_of, projector_of
from tests.fitting import fit_mode

D = 5


def data(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    X[:, 4] = 1.0
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.standard_normal(n)


def fitted(seed=0):
    with pytest.warns(UserWarning, match="constant in X"):
        return fit_mode(*data(seed))


def moments(seed=0):
    own = fitted(seed)
    with pytest.warns(UserWarning, match="constant in X"):
        return gpproj.from_moments(*data(seed), own.latent_mean, own.latent_cov, own.noise_variance)


def linear(family, seed=0):
    X, y = data(seed)
    weights = np.array([1.0, 0.5, 0.0, 0.0, 0.0]) + 0.1 * np.random.default_rng(1).standard_normal(
        (30, D)
    )
    if family == "binomial":
        y = y > 0.0
    with pytest.warns(UserWarning, match="constant in X"):
        return gpproj.from_linear_draws(
            X, y, weights, 0.2 if family == "gaussian" else None, family
        )


KINDS = {
    "process": fitted,
    "moments": moments,
    "gaussian": lambda seed=0: linear("gaussian", seed),
    "binomial": lambda seed=0: linear("binomial", seed),
}


@pytest.fixture(scope="module", params=list(KINDS))
def make(request):
    return KINDS[request.param]


@pytest.fixture(scope="module")
def ref(make):
    return make()


@pytest.fixture(scope="module")
def projector(ref):
    return projector_of(ref)


@pytest.fixture(scope="module")
def parent(projector):
    return projector.project([mask_of([0], D)], [projector.null()])[0]


def grown(*positions):
    return [mask_of([0, position], D) for position in positions]


def test_each_kind_of_reference_has_its_projector(ref, projector):
    linear = isinstance(ref, gpproj.LinearReference)
    assert type(projector) is (LinearProjector if linear else ProcessProjector)
    assert projector.d == D
    assert projector.varying.tolist() == [True, True, True, True, False]
    assert projector.criterion.name in ("loo_divergence", "projection_error")
    with pytest.raises(TypeError, match=r"reference must be a gpproj\.Reference"):
        projector_of("something else")


def test_more_inputs_are_not_worse(projector, parent):
    null = projector.null()
    (full,) = projector.project([np.ones(D, dtype=bool)], [null, parent])
    assert null.error > parent.error > full.error
    assert not null.inputs.any()
    assert full.inputs.all()
    assert not full.active[4]


def test_candidates_begin_go_on_and_end(projector, parent):
    sets = grown(1, 2, 3)
    fits = projector.advance(projector.begin(sets, (parent,), 4), 8)
    errors = projector.errors(fits)
    assert errors.shape == (3,)
    assert np.argmin(errors) == 0
    assert all(fit.evaluations > 0 for fit in fits)
    ends = projector.finish([fit.keep_best(1) for fit in fits])
    for end, mask in zip(ends, sets, strict=True):
        np.testing.assert_array_equal(end.inputs, mask)
        assert end.converged
        assert projector.not_worse(end, (parent,)).value <= parent.value + 1e-9
    (direct,) = projector.project(sets[:1], (parent,))
    assert projector.refine(ends[0]).error == pytest.approx(direct.error, rel=1e-3, abs=1e-8)


def test_a_candidate_does_not_depend_on_its_company(projector, parent):
    sets = grown(1, 2, 3)
    together = projector.errors(projector.begin(sets, (parent,), 4, near=True))
    alone = [projector.errors(projector.begin([own], (parent,), 4, near=True))[0] for own in sets]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_sets_that_leave_inputs_out_begin_too(projector, parent):
    (pair,) = projector.project(grown(1), (parent,))
    fits = projector.begin([mask_of([1], D), mask_of([0], D)], (pair,), 6, near=True)
    ends = projector.finish(fits)
    assert ends[1].error == pytest.approx(parent.error, rel=1e-2)


def test_hints_are_one_for_each_input(projector, parent):
    assert projector.entry_slopes(parent).shape == (D,)
    assert projector.seconds(parent) >= 0.0


def test_a_projection_becomes_a_submodel(ref, projector):
    (found,) = projector.project([mask_of([0, 1], D)])
    clusters = projector.clusters_of(None)
    sub = projector.submodel(ref, found, (1, 0), clusters, 1, ("a word of warning",))
    assert sub.inputs == ("x1", "x0")
    assert sub.problems == ("a word of warning",)
    own = gpproj.project(ref, ["x1", "x0"])
    new = data(3)[0]
    np.testing.assert_allclose(sub.predict(new).mean, own.predict(new).mean, rtol=1e-2, atol=1e-2)
    completed = projector.with_figures(found)
    assert completed.error == found.error
    assert all(len(values) == 1 for values in projector.columns([completed], 1.0).values())
    assert projector.problems() == ()
    assert projector.problems_of(completed, None) == ()
    assert len(projector.problems_of(completed._replace(converged=False))) == 1


def test_the_same_projector_of_other_data(make, projector):
    other = projector.of(make(seed=5))
    assert type(other) is type(projector)
    assert (other.learn, other.criterion) == (projector.learn, projector.criterion)
    assert projector.at(make()).identity == projector.identity
    assert other.null().error != projector.null().error
    assert projector.at(make()).null().error == pytest.approx(projector.null().error)


def test_it_travels_to_other_processes(projector, parent):
    again = pickle.loads(pickle.dumps(projector))
    assert again.project([mask_of([0], D)], [again.null()])[0].error == parent.error
