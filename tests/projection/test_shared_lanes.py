"""Lanes that partners run come to the same points, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import gpproj
from gpproj.execute import partners
from gpproj.optimise import State, advance
from gpproj.projection import shared_lanes
from gpproj.projection.loss import Loss
from gpproj.projection.projecting import projector_of
from gpproj.projection.shared_lanes import advance_shared, begin_shared
from gpproj.projection.starts import usual_starts
from gpproj.search.options import SearchOptions


@pytest.fixture(scope="module")
def loss():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(40)
    ref = gpproj.fit(X, y, draws=1, check=False)
    projector = projector_of(ref, SearchOptions())
    starts = usual_starts(projector.family, np.array([True, True, False]))
    loss = Loss(projector.target, projector.family, starts.active, projector.learn)
    return loss, starts.parameters


def assert_same(found, expected):
    for one, other in zip(found.as_rows(), expected.as_rows(), strict=True):
        np.testing.assert_array_equal(one, other)


def waiting(crew):
    """Wait until a partner has started: before that all work is done here."""
    import time

    from gpproj.execute import sharing

    while not sharing._crew.get().ready():
        time.sleep(0.02)


def test_partners_take_lanes_all_the_way(loss, monkeypatch):
    own, starts = loss
    begun = own.begin(starts)
    whole = advance(own, begun, 30)
    asked = []

    def noted(function, known, *rows):
        asked.append(len(rows[0]))
        return shared(function, known, *rows)

    shared = shared_lanes.shared
    monkeypatch.setattr(shared_lanes, "shared", noted)
    with partners(2) as crew:
        waiting(crew)
        assert_same(begin_shared(own, starts), begun)
        assert_same(advance_shared(own, begun, 30), whole)
    # They are dealt out anew every few iterations, and the last one runs alone.
    assert asked[0] == asked[1] == len(starts)
    assert 3 <= len(asked) <= 5
    assert sorted(asked, reverse=True) == asked
    assert (whole.iterations > shared_lanes.AT_ONCE).any()


def test_what_lanes_carry_travels_as_rows(loss):
    own, starts = loss
    state = advance(own, own.begin(starts), 5)
    again = State.of_rows(state.as_rows())
    assert_same(again, state)
    assert (again.value_tolerance, again.value_scale) == (
        state.value_tolerance,
        state.value_scale,
    )
    some = np.array([2, 0])
    moved = state.put(some, advance(own, state.take(some), 3))
    whole = advance(own, state, np.isin(np.arange(len(starts)), some) * 3)
    assert_same(moved, whole)
