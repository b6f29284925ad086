"""Options of the forward search: race, groups, costs, stopping, extending, checkpoints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Matern52
from gpproj.projection import ProjectionOptions, mask_of, projector_of
from gpproj.search import growing
from gpproj.search import race as race_module
from gpproj.search.growing import _expected_gains
from gpproj.search.race import heats_of
from gpproj.search.results import CandidateRecord
from gpproj.search.space import SearchSpace
from gpproj.search.step import Step
from gpproj.search.units import Unit, steps_of, units_of
from gpproj.store import StoreError
from tests.fitting import fit_mode


def make_reference(n=60, seed=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    y = 2 * np.sin(X["a"]) + X["b"] + 3 * X["d"] + 0.3 * X["e"] + 0.3 * rng.standard_normal(n)
    return fit_mode(X, y)


@pytest.fixture(scope="module")
def ref():
    return make_reference()


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, progress=False)


def same(one, two):
    assert one.order == two.order
    np.testing.assert_allclose(one.errors, two.errors, rtol=0, atol=1e-12)
    pd.testing.assert_frame_equal(one.candidates, two.candidates)


def test_the_race_finds_the_exhaustive_curve(ref, path):
    exhaustive = gpproj.forward_search(ref, strategy="exhaustive", progress=False)
    excess = path.relative_errors - exhaustive.relative_errors
    assert excess.max() <= 0.01


def wide_reference():
    """Two inputs act by their product alone, and one linearly, among twenty-four."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 24))
    y = 2.0 * X[:, 7] * X[:, 19] + X[:, 12] + 0.2 * rng.standard_normal(90)
    return fit_mode(X, y)


def test_many_candidates_start_in_blocks(monkeypatch):
    ref = wide_reference()
    whole = gpproj.forward_search(ref, 3, progress=False)
    monkeypatch.setattr(race_module, "BLOCK", 6)
    monkeypatch.setattr(growing, "BLOCK", 6)
    path = gpproj.forward_search(ref, 3, progress=False)
    assert set(path.best_inputs(3)) == set(whole.best_inputs(3)) == {"x7", "x12", "x19"}
    np.testing.assert_allclose(path.best_errors[3], whole.best_errors[3], rtol=1e-3)
    began = [np.sum(one.candidates.query("step == 3")["evaluations"] > 0) for one in (path, whole)]
    assert began[0] < began[1] == 22


def test_blocks_go_on_as_long_as_they_bring_something():
    """Errors fall along the order at first: of three blocks the last one gains next to nothing."""
    errors = np.r_[np.arange(12.0)[::-1], np.full(30, 50.0)]
    began = []

    class Space:
        projector = SimpleNamespace(errors=lambda fits: errors[np.array(fits)])

        def costs(self, numbers):
            return np.ones(len(numbers))

        def begin(self, sets, known, iterations):
            began.append(len(sets))
            return [next(iter(own)) for own in sets]

    step = Step(Space(), frozenset(), SimpleNamespace(error=60.0))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(race_module, "BLOCK", 6)
        places, fits = race_module._started(step, range(42), np.arange(42), 4)
    assert began == [6, 6, 6]
    assert fits == places.tolist() == list(range(18))


def test_very_many_inputs_are_not_all_gone_through():
    assert steps_of(None, 150) == 150
    assert steps_of(None, 151) == 30
    assert steps_of(151, 151) == 151


@pytest.mark.slow
def test_many_candidates_need_few_evaluations():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 24))
    y = np.sin(2 * X[:, 3]) + X[:, 11] + 0.2 * rng.standard_normal(40)
    ref = fit_mode(X, y)
    path, exhaustive = (
        gpproj.forward_search(ref, 6, strategy, exchange=False, progress=False)
        for strategy in ("race", "exhaustive")
    )
    assert (path.relative_errors - exhaustive.relative_errors).max() <= 0.02
    spent = path.candidates["evaluations"].sum()
    assert 1.5 * spent < exhaustive.candidates["evaluations"].sum()
    table = path.candidates
    assert table.groupby("step").size().tolist() == list(range(24, 18, -1))
    idle = table[(table["step"] == 6) & (table["evaluations"] == 0)]
    assert len(idle) > 0
    assert (idle["error"] == path.errors[5]).all()
    assert not idle["converged"].any()
    ended = table[table["step"] == 6].set_index("input")["converged"]
    assert ended[path.order[-1]]


def test_a_unit_hopes_for_what_it_promised_when_it_last_ran():
    tried = (
        CandidateRecord(1, "a", 60.0, 9, True),
        CandidateRecord(1, "b", 70.0, 9, False),
        CandidateRecord(1, "c", 100.0, 0, False),  # not looked at
        CandidateRecord(2, "b", 50.0, 9, False),
        CandidateRecord(2, "d", 64.0, 9, False),
        CandidateRecord(3, "b", 40.0, 0, False),
    )
    path = SimpleNamespace(candidate_records=tried, errors=np.array([100.0, 60.0, 40.0, 30.0]))
    units = (Unit("a", (0,)), Unit("b", (1,), 2.0), Unit("c", (2,)), Unit("d", (3,), 2.0))
    space = SearchSpace(None, (), units)
    # From 60 to 50 at a cost of 2; never looked at; a rise from 60 to 64 counts times its cost.
    np.testing.assert_array_equal(_expected_gains(path, space, [1, 2, 3]), [5.0, np.inf, -8.0])


def test_races_narrow_down():
    for inputs in (0, 4, 5, 7, 8, 40):
        for left in (1.0, 0.1, 1e-3):
            for units in (1, 3, 12, 40, 100):
                heats = heats_of(inputs, left, units)
                assert heats.start >= heats.go_on >= heats.arrive >= 1
    assert heats_of(0, 1.0, 100).start == 100
    assert heats_of(20, 1.0, 100).start < 100
    assert heats_of(20, 1e-3, 100) < heats_of(20, 1.0, 100)


def test_long_work_is_announced(ref, capsys, monkeypatch):
    monkeypatch.setattr("gpproj.search.forward.ANNOUNCED", 0.0)
    gpproj.forward_search(ref, 1)
    told = capsys.readouterr().err
    assert re.search(r"forward search: 1 steps, about \d+ s of work", told)


@pytest.mark.parametrize("learn", ["loo", "projection", "marginal_likelihood"])
def test_slopes_tell_which_input_helps(ref, learn):
    """The hint that costs one evaluation ranks the strongest linear input first."""
    projector = projector_of(ref, ProjectionOptions(learn))
    parent = projector.project([mask_of([0], projector.d)])[0]
    _, units = units_of(ref, always=["a"])
    slopes = SearchSpace(projector, (0,), units).slopes(parent)
    assert units[int(np.argmin(slopes))].name == "d"


def test_groups_enter_together(ref):
    path = gpproj.forward_search(ref, groups={"pair": ["b", "c"], "solo": ["e"]}, progress=False)
    assert set(path.order) == {"a", "d", "pair", "solo"}
    step = path.order.index("pair") + 1
    assert path[step].inputs[-2:] == ("b", "c")
    assert len(path) == 5
    assert set(path.positions) == set(range(5))
    assert path.relative_errors[-1] == pytest.approx(0.0, abs=1e-6)


def test_inputs_that_are_always_in(ref, path):
    forced = gpproj.forward_search(ref, 2, always=["c", "a"], progress=False)
    assert forced[0].inputs == ("c", "a")
    assert forced.order[0] == "d"
    assert forced[1].inputs == ("c", "a", "d")
    assert forced.null_error == path.null_error
    assert forced.relative_errors[0] < 1.0
    assert forced.errors[0] == pytest.approx(
        gpproj.project(ref, ["c", "a"]).loo_divergence, rel=1e-2
    )


def test_costs_divide_the_fall_of_the_error(ref, path):
    assert path.order[0] == "d"
    dear = gpproj.forward_search(ref, 1, costs={"d": 100.0}, progress=False)
    assert dear.order[0] != "d"
    for cost, first in [(1000.0, "d"), (1e-3, "both")]:
        grouped = gpproj.forward_search(
            ref, 1, groups={"both": ["a", "b"]}, costs={"both": cost}, progress=False
        )
        assert grouped.order[0] == first


def test_an_early_stop(ref, path):
    threshold = float(path.relative_errors[2]) + 1e-6
    short = gpproj.forward_search(ref, stop_below=threshold, progress=False)
    assert short.order == path.order[:2]


def test_a_path_is_extended_without_starting_over(ref, path):
    short = gpproj.forward_search(ref, 2, progress=False)
    longer = gpproj.forward_search(ref, extend=short, progress=False)
    same(longer, path)
    assert longer.projections[1] is short.projections[1]
    with pytest.raises(ValueError, match="extend must be a path of the same reference"):
        gpproj.forward_search(make_reference(seed=5), extend=short, progress=False)
    learned = gpproj.project_path(ref, ["a"], learn="marginal_likelihood")
    for other, options in [
        (short, {"always": ["a"]}),
        (short, {"prior": None}),
        (short, {"kernel": Constant() + Matern52()}),
        (learned, {}),
    ]:
        with pytest.raises(ValueError, match="extend must be"):
            gpproj.forward_search(ref, extend=other, progress=False, **options)


def test_a_search_of_other_rows_starts_where_another_has_ended(path):
    other = make_reference(n=50)  # the first rows of the same data
    anew = gpproj.forward_search(other, progress=False)
    near = gpproj.forward_search(other, progress=False, start_from=path)
    assert near.order == anew.order
    span = anew.null_error - anew.full_error
    assert np.max(near.best_errors - anew.best_errors) < 0.01 * span
    assert near.candidates["evaluations"].sum() < 0.7 * anew.candidates["evaluations"].sum()


def test_a_search_where_nothing_can_be_explained(ref, monkeypatch):
    plain = growing.null_and_full

    def nothing(projector, learned):
        null, _ = plain(projector, learned)
        return null, null._replace(inputs=np.ones(5, dtype=bool))

    monkeypatch.setattr(growing, "null_and_full", nothing)
    path = gpproj.forward_search(ref, 2, progress=False)
    assert np.ones(5, dtype=bool).tobytes() not in path.visited.as_starts()


def test_a_checkpoint_is_gone_on_from(ref, path, tmp_path):
    file = tmp_path / "search.npz"
    gpproj.forward_search(ref, 2, checkpoint=file, progress=False)
    assert file.exists()
    resumed = gpproj.forward_search(ref, checkpoint=file, progress=False)
    same(resumed, path)
    again = gpproj.forward_search(ref, checkpoint=file, progress=False)
    same(again, path)
    assert again[3].inputs == path[3].inputs
    X = np.random.default_rng(0).standard_normal((4, 5))
    np.testing.assert_allclose(again[3].predict(X).mean, path[3].predict(X).mean)
    assert [entry.name for entry in tmp_path.iterdir()] == ["search.npz"]


def test_a_search_that_is_resumed_stops_where_it_is_asked_to(ref, path, tmp_path):
    file = tmp_path / "search.npz"
    gpproj.forward_search(ref, 4, checkpoint=file, progress=False)
    for most in (2, 0):
        fewer = gpproj.forward_search(ref, most, checkpoint=file, progress=False)
        assert fewer.order == path.order[:most]
        np.testing.assert_array_equal(fewer.errors, path.errors[: most + 1])
        assert len(fewer.better) == most + 1
        assert set(fewer.candidates["step"]) == set(range(1, most + 1))
        assert fewer.recipe.keywords["max_inputs"] == most
    limit = float(path.relative_errors[1])
    fresh = gpproj.forward_search(ref, 4, stop_below=limit + 1e-6, progress=False)
    stopped = gpproj.forward_search(
        ref, 4, stop_below=limit + 1e-6, checkpoint=file, progress=False
    )
    assert stopped.order == fresh.order == path.order[:1]
    longer = gpproj.forward_search(ref, 1, extend=stopped, progress=False)
    assert longer.order == stopped.order
    same(gpproj.forward_search(ref, checkpoint=file, progress=False), path)


def test_a_checkpoint_is_a_path(ref):
    with pytest.raises(TypeError, match="checkpoint must be a path, got 123"):
        gpproj.forward_search(ref, 1, checkpoint=123)
    with pytest.raises(TypeError, match="checkpoint must be a path, got 123"):
        gpproj.validate(ref, checkpoint=123)


def test_a_single_name_is_one_name(ref):
    path = gpproj.forward_search(ref, 0, always="b", progress=False)
    assert path[0].inputs == ("b",)
    with pytest.raises(ValueError, match="saw the name 'ab'"):
        gpproj.forward_search(ref, 0, always="ab", progress=False)


def test_a_checkpoint_of_another_search_is_refused(ref, tmp_path):
    file = tmp_path / "search.npz"
    gpproj.forward_search(ref, 1, checkpoint=file, progress=False)
    for other, options in [
        (make_reference(seed=2), {}),
        (ref, {"strategy": "exhaustive"}),
        (ref, {"always": ["a"]}),
        (ref, {"costs": {"a": 2.0}}),
        (ref, {"groups": {"g": ["a", "b"]}}),
        (ref, {"prior": None}),
        (ref, {"kernel": Constant() + Matern52()}),
    ]:
        with pytest.raises(StoreError, match="other data or settings"):
            gpproj.forward_search(other, 1, checkpoint=file, progress=False, **options)
    file.write_bytes(b"something else")
    with pytest.raises(StoreError, match=r"search\.npz"):
        gpproj.forward_search(ref, 1, checkpoint=file, progress=False)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        gpproj.forward_search(ref, 1, checkpoint=tmp_path / "nowhere" / "f.npz", progress=False)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_killed_search_is_resumed_to_the_same_answer(ref, path, tmp_path):
    file = tmp_path / "search.npz"
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import gpproj
        from test_forward import make_reference
        gpproj.forward_search(make_reference(), checkpoint={str(file)!r}, progress=False)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 60
    while not file.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert file.exists()
    same(gpproj.forward_search(ref, checkpoint=file, progress=False), path)


@pytest.mark.slow
def test_the_path_does_not_depend_on_workers_or_their_kind(ref, path):
    from joblib import parallel_config

    same(gpproj.forward_search(ref, n_jobs=2, progress=False), path)
    with parallel_config("loky", n_jobs=2):
        same(gpproj.forward_search(ref, 2, n_jobs=None, progress=False), _cut(path, 2))


def _cut(path, steps):
    from dataclasses import replace

    tried = tuple(one for one in path.candidate_records if one.step <= steps)
    return replace(
        path,
        units=path.units[:steps],
        projections=path.projections[: steps + 1],
        candidate_records=tried,
    )


@pytest.mark.parametrize("prior", ["weak", None])
def test_constant_inputs_come_last(prior):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((40, 2)), np.ones(40)])
    with pytest.warns(UserWarning, match="constant"):
        ref = fit_mode(X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(40))
    path = gpproj.forward_search(ref, prior=prior, progress=False)
    assert path.order[-1] == "x2"
    assert path.errors[3] == pytest.approx(path.errors[2], abs=1e-3)


def test_backward_search_keeps_what_is_missed_most(ref, path):
    back = gpproj.backward_search(ref, progress=False)
    assert len(back) == 6
    assert set(back.order) == set("abcde")
    assert back.order[0] == "d"
    assert back.order[-1] == "c"
    assert back[0].inputs == ()
    assert back.errors[0] == pytest.approx(path.null_error, rel=1e-6)
    assert back.errors[-1] == pytest.approx(path.errors[-1], abs=1e-4 * path.null_error)
    assert back.errors[1] == pytest.approx(path.errors[1], rel=0.02)
    exhaustive = gpproj.backward_search(ref, strategy="exhaustive", progress=False)
    assert (back.relative_errors - exhaustive.relative_errors).max() <= 0.02
    early = gpproj.backward_search(ref, min_inputs=3, progress=False)
    assert len(early) == 3
    assert len(early[0].inputs) == 3
    assert early[2].inputs[3:] == early.order
    with pytest.raises(ValueError, match="min_inputs"):
        gpproj.backward_search(ref, min_inputs=9)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"groups": {"g": ["a"], "h": ["a"]}}, ValueError, "'a' is in both 'g' and 'h'"),
        ({"groups": {"g": []}}, ValueError, "'g' has no inputs"),
        ({"groups": {"c": ["a", "b"]}}, ValueError, "'c' is also the name of an input"),
        ({"groups": {"g": ["zz"]}}, ValueError, "zz"),
        ({"groups": {"g": ["a", "b"]}, "always": ["a"]}, ValueError, "only a part of the group"),
        ({"always": ["zz"]}, ValueError, "zz"),
        ({"costs": {"zz": 1.0}}, ValueError, "costs must name inputs or groups; saw 'zz'"),
        ({"costs": {"a": 0.0}}, ValueError, r"costs\['a'\] must be positive"),
        ({"costs": {"a": "dear"}}, TypeError, r"costs\['a'\]"),
        ({"stop_below": 2.0}, ValueError, "stop_below must be a fraction"),
        ({"always": ["a"], "max_inputs": 5}, ValueError, "max_inputs must be from 0 to .* 4"),
    ],
)
def test_bad_options_are_named(ref, options, error, text):
    with pytest.raises(error, match=text):
        gpproj.forward_search(ref, progress=False, **options)


def test_a_dear_input_leaves_first(ref):
    back = gpproj.backward_search(ref, 4, costs={"d": 1e6}, progress=False)
    assert back.order == ("d",)
    assert gpproj.backward_search(ref, 4, progress=False).order != ("d",)


@pytest.mark.slow
def test_every_search_hands_its_prior_on(ref):
    for search in (
        lambda prior: gpproj.forward_search(ref, 1, prior=prior, progress=False).errors[1],
        lambda prior: gpproj.backward_search(ref, 4, prior=prior, progress=False).errors[0],
        lambda prior: gpproj.project_path(ref, ["d"], prior=prior).errors[1],
        lambda prior: gpproj.leave_input_out(ref, prior=prior)["d"],
    ):
        assert search("weak") != search(None)


def test_a_prefilter_keeps_the_inputs_that_a_rival_puts_first(ref):
    kept = gpproj.relevance(ref, "kl").sort_values(ascending=False).index[:2]
    path = gpproj.forward_search(ref, prefilter=("kl", 2), progress=False)
    assert set(path.order) == set(kept)
    assert path.full_error == pytest.approx(gpproj.forward_search(ref, 0).full_error)


def test_a_prefilter_counts_a_group_by_its_best_input(ref):
    relevances = gpproj.relevance(ref, "ard").sort_values(ascending=False)
    first, last = relevances.index[0], relevances.index[-1]
    path = gpproj.forward_search(
        ref, groups={"g": [first, last]}, prefilter=("ard", 1), progress=False
    )
    assert path.order == ("g",)


@pytest.mark.parametrize("prefilter", [("kl",), "kl", ("kl", 1.5), ("kl", 0), ("guess", 2)])
def test_bad_prefilters_are_refused(ref, prefilter):
    with pytest.raises((TypeError, ValueError), match=r"prefilter|method"):
        gpproj.forward_search(ref, prefilter=prefilter, progress=False)
