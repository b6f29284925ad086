"""Work in parallel: order, workers, threads, errors and the bar."""

from __future__ import annotations

import os
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from gpproj.execute import run

# Functions handed to workers are defined inside the tests: those travel whole to other processes,
# which could not import this module by its name.


def test_results_are_in_the_order_of_the_items(tmp_path):
    assert run(str, [3, 1, 2]) == ["3", "1", "2"]
    done = tmp_path / "done"

    def last_first(item):
        if item == 3:
            done.touch()
        deadline = time.monotonic() + 30.0
        while item == 0 and not done.exists():
            assert time.monotonic() < deadline, "the other worker never came"
            time.sleep(0.01)
        return item * 10

    assert run(last_first, [0, 1, 2, 3], n_jobs=2) == [0, 10, 20, 30]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_two_workers_give_what_one_gives(backend):
    def decompose(seed):
        matrix = np.random.default_rng(seed).standard_normal((20, 20))
        return np.linalg.inv(matrix @ matrix.T + np.eye(20))

    alone = run(decompose, range(4))
    with joblib.parallel_config(backend=backend):
        shared = run(decompose, range(4), n_jobs=2)
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_do_the_work_unless_a_backend_is_configured():
    def process(_):
        return os.getpid()

    here = os.getpid()
    assert set(run(process, [0, 1])) == {here}
    assert set(run(process, [0, 1], n_jobs=2)) == {here}
    with joblib.parallel_config(backend="loky"):
        assert here not in run(process, [0, 1], n_jobs=2)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert here not in run(process, [0, 1], n_jobs=None)


def test_no_items_no_results():
    assert run(abs, []) == []
    assert run(abs, [], n_jobs=2, progress="nothing") == []


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2", [1]])
def test_bad_numbers_of_workers_name_the_argument(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be") as caught:
        run(abs, [1], n_jobs)
    assert repr(n_jobs) in str(caught.value)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_blas_has_one_thread_inside_the_work_only(n_jobs, backend):
    def threads(item):
        import time

        import scipy.linalg  # noqa: F401  (loads a BLAS in the worker)
        from threadpoolctl import threadpool_info

        time.sleep(0.1 * item)  # workers that leave early must not set BLAS free for the others
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    inner = {"inner_max_num_threads": 2} if backend == "loky" else {}  # for other processes
    with (
        threadpool_limits(limits=2, user_api="blas"),  # for this one
        joblib.parallel_config(backend=backend, **inner),
    ):
        assert threads(0) == {2}
        assert run(threads, [0, 1, 2], n_jobs) == [{1}, {1}, {1}]
        assert threads(0) == {2}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_exceptions_reach_the_caller(n_jobs):
    def refuse(item):
        if item == 2:
            raise RuntimeError(f"item {item} is bad")
        return item

    with pytest.raises(RuntimeError, match="item 2 is bad"):
        run(refuse, [0, 1, 2, 3], n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_bar_is_shown_on_a_terminal(n_jobs, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert run(abs, [-1, -2, -3], n_jobs, progress="counting sheep") == [1, 2, 3]
    shown = capsys.readouterr()
    assert "counting sheep" in shown.err
    assert shown.out == ""


def test_no_bar_where_nobody_looks(capsys, monkeypatch):
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    assert run(abs, [-1, -2], progress="counting sheep") == [1, 2]
    shown = capsys.readouterr()
    assert shown.out + shown.err == ""
