"""Submodels along a path: from the parent's optimum, and from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import gpproj
from gpproj.projection import elsewhere, enter, family_of, finish, project_positions
from gpproj.search import race


@pytest.fixture(scope="module")
def ref():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 4))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(30)
    return gpproj.fit(X, y)


def test_a_valley_that_the_parent_does_not_lead_to_is_found(ref):
    family = family_of(ref, None, "weak")
    parent = project_positions(ref, family, (2,))
    mask = np.array([[False, True, True, False]])
    ways = [enter(ref.target, family, mask, parent), elsewhere(ref.target, family, mask)]
    by_parent, by_other = (finish(ref.target, family, mask, [way])[0] for way in ways)
    assert by_other.value < by_parent.value - 1.0
    found = project_positions(ref, family, (2, 1), parent=parent)
    assert found.value == pytest.approx(by_other.value, rel=1e-9)
    assert found.evaluations == by_parent.evaluations + by_other.evaluations


def test_a_submodel_that_grows_is_never_worse_than_its_parent(ref):
    family = family_of(ref, None, "weak")
    parent = project_positions(ref, family, (2,))
    for new in (0, 1, 3):
        assert project_positions(ref, family, (2, new), parent=parent).value <= parent.value


def test_a_race_runs_from_elsewhere_where_the_plan_says_so(ref, monkeypatch):
    seen = []

    def counted(target, family, masks):
        seen.extend(int(mask.sum()) for mask in masks)
        return elsewhere(target, family, masks)

    monkeypatch.setattr(race, "elsewhere", counted)
    path = gpproj.forward_search(ref, 2, progress=False)
    assert {size: seen.count(size) for size in (1, 2)} == {1: 4, 2: 3}
    table = path.candidates
    assert (table["evaluations"] > race.WARM + race.FURTHER).all()
    seen.clear()
    monkeypatch.setattr(race, "heats_of", lambda *_: race.Heats(2, 1, 1, "never"))
    gpproj.forward_search(ref, 2, progress=False)
    assert seen == []
