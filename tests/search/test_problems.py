"""What is said aloud when an answer may be wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.kernels import Constant, Linear
from tests.fitting import fit_mode


@pytest.fixture(scope="module")
def ref():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (60, 3))
    return fit_mode(X, np.sin(4.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(60))


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, progress=False)


def test_there_is_nothing_to_say_as_a_rule(path):
    assert path.problems == ()
    assert path[2].problems == ()


@pytest.mark.slow
def test_a_family_that_cannot_follow(ref):
    straight = gpproj.forward_search(ref, kernel=Constant() + Linear(), progress=False)
    assert any("with all inputs in it still differs" in text for text in straight.problems)
    sub = gpproj.project(ref, ["x0", "x1", "x2"], kernel=Constant() + Linear())
    assert any("with all inputs in it still differs" in text for text in sub.problems)
    with pytest.warns(UserWarning, match="predict|differs|noise") as caught:
        cv = gpproj.validate(ref, straight, folds=2, random_state=0, progress=False)
    assert any("cannot follow the reference" in str(one.message) for one in caught)
    assert "cannot follow the reference" in cv.answer()


def test_inputs_that_tell_nothing(ref):
    sub = gpproj.project(ref, ["x2"])
    assert any("tell next to nothing" in text for text in sub.problems)


def test_an_error_that_rises(path):
    found = path.projections[2]
    worse = replace(
        path,
        projections=(
            *path.projections[:2],
            found._replace(error=path.errors[1] + 0.1 * path.null_error),
            *path.projections[3:],
        ),
    )
    assert any("the error rises at size 2" in text for text in worse.problems)


def test_steps_that_improve_nothing():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    ref = fit_mode(X, X[:, 0] * X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(60))
    path = gpproj.forward_search(ref, 1, exchange=False, progress=False)
    idle = replace(
        path,
        projections=(
            path.projections[0],
            path.projections[0]._replace(inputs=path[1] and path.projections[1].inputs),
        ),
    )
    assert any("no candidate improved anything at step 1" in text for text in idle.problems)


def test_a_projection_that_did_not_converge(path):
    cut = path.projections[1]._replace(converged=False)
    short = replace(path, projections=(path.projections[0], cut, *path.projections[2:]))
    assert any("did not converge" in text for text in short.problems)


def test_two_optima_that_predict_otherwise(path):
    doubtful = path.projections[1]._replace(doubt=0.4)
    both = replace(path, projections=(path.projections[0], doubtful, *path.projections[2:]))
    assert any("another optimum has nearly the same value" in text for text in both.problems)


def test_doubt_is_measured(ref):
    """Two lanes of a fit at different optima of the same value predict differently."""
    from gpproj.projection import ProjectionOptions, projector_of
    from gpproj.projection.starts import starts_at

    projector = projector_of(ref, ProjectionOptions(prior=None))
    family = projector.family
    mask = np.array([True, True, False])
    points = [family.at(family.smooth(scale, 1.0), 0.1) for scale in (0.3, 3.0)]
    (fit,) = projector.begin_at([starts_at(points, mask)])
    assert projector._doubt(fit) == 0.0  # their values are far apart
    value = fit.lanes[0].state.value
    level = [lane._replace(state=replace(lane.state, value=value)) for lane in fit.lanes]
    assert projector._doubt(fit._replace(lanes=tuple(level))) > 0.1


def test_rows_that_cannot_be_left_out(ref):
    """Draws of another kind of model may spread more than any posterior with such noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    mean = np.sin(2.0 * X[:, 0]) + X[:, 1]
    draws = mean + 0.5 * rng.standard_normal((400, 40))
    wide = gpproj.from_draws(X, mean + 0.2 * rng.standard_normal(40), draws, noise_variance=0.04)
    assert not wide.target.left_out.separable
    assert np.abs(wide.target.left_out.mean - wide.target.latent_mean).max() == 0.0
    found = gpproj.forward_search(wide, 2, progress=False)
    assert set(found.order) == {"x0", "x1"}
    text = "no row can be left out of the reference"
    assert [one.startswith(text) for one in found.problems] == [True]
    assert gpproj.project(wide, ["x0"]).problems[0].startswith(text)
    paper = gpproj.project(wide, ["x0"], learn="projection")
    assert not any(one.startswith(text) for one in paper.problems)
    assert ref.target.left_out.separable
