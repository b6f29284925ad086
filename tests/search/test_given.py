import numpy as np
import pytest

import gpproj
from tests.fitting import fit_mode


@pytest.fixture(scope="module")
def ref():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    y = np.sin(2 * X[:, 2]) + 0.5 * X[:, 0] + 0.1 * rng.standard_normal(40)
    return fit_mode(X, y)


@pytest.mark.parametrize("method", ["ard", "kl"])
def test_a_method_of_relevance_gives_the_order(ref, method):
    path = gpproj.project_path(ref, method, max_inputs=2)
    assert path.order == tuple(gpproj.relevance(ref, method).nlargest(2).index)


def test_a_method_is_asked_anew_of_another_reference(ref):
    path = gpproj.project_path(ref, "ard", max_inputs=2)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 4))
    other = fit_mode(X, np.sin(2 * X[:, 3]) + 0.1 * rng.standard_normal(40))
    again = path.repeat(other)
    assert again.order[0] == "x3" != path.order[0]
    assert len(again) == len(path)


def test_a_given_order_stays_as_it_is(ref):
    path = gpproj.project_path(ref, ["x1", 0, "x3"], max_inputs=2)
    assert path.order == ("x1", "x0")
    assert path.repeat(ref).order == path.order
    np.testing.assert_array_equal(path.repeat(ref).errors, path.errors)


def test_orders_that_mean_nothing_are_refused(ref):
    with pytest.raises(ValueError, match="method must be one of"):
        gpproj.project_path(ref, "guess")
    with pytest.raises(ValueError, match="max_inputs"):
        gpproj.project_path(ref, ["x1"], max_inputs=2)
