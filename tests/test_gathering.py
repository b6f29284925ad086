"""Work whose evaluations are gathered: what makes a batch, and what happens to errors."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gpproj.execute import call_gathered, check_stop, run, run_gathered
from gpproj.execute.stopping import Stopped, stoppable
from gpproj.linalg import one_blas_thread
from gpproj.optimise import minimise


class Squares:
    """Evaluates batches, and remembers them."""

    def __init__(self):
        self.batches = []

    def __call__(self, numbers, cache):
        self.batches.append(list(numbers))
        cache["times"] = cache.get("times", 0) + 1
        return [number**2 for number in numbers]


def alive():
    return [one for one in threading.enumerate() if one.name.startswith("Thread")]


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_requests_of_all_threads_make_one_batch(n_jobs):
    squares = Squares()

    def work(times):
        value = 2
        for _ in range(times):
            value = call_gathered(squares, value)
        return value

    assert run_gathered(work, [2, 0, 1, 3], n_jobs) == [16, 2, 4, 256]
    assert squares.batches == [[2, 2, 2], [4, 4], [16]]


def test_one_thread_runs_at_a_time_by_default():
    inside, most = [], []

    def work(item):
        for _ in range(2):
            inside.append(item)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(item)
            call_gathered(Squares(), item)

    run_gathered(work, range(4))
    assert max(most) == 1


def test_n_jobs_threads_run_at_a_time():
    gate = threading.Barrier(3, timeout=30.0)  # nobody passes before three are there

    def work(item):
        gate.wait()
        return call_gathered(Squares(), item)

    assert run_gathered(work, range(3), n_jobs=3) == [0, 1, 4]
    gate = threading.Barrier(3, timeout=0.2)
    with pytest.raises(threading.BrokenBarrierError):
        run_gathered(work, range(3), n_jobs=2)


def test_requests_of_different_functions_make_different_batches():
    squares, others = Squares(), Squares()
    run_gathered(lambda item: call_gathered(squares if item % 2 else others, item), [0, 1, 2, 3])
    assert (others.batches, squares.batches) == ([[0, 2]], [[1, 3]])


def test_work_that_is_out_of_step_comes_into_step_again():
    squares, others = Squares(), Squares()

    def work(item):
        if item != 1:
            call_gathered(others, item)  # one has no request here
        return call_gathered(squares, item), call_gathered(squares, item, "later")

    assert run_gathered(work, range(4)) == [(0, 0), (1, 1), (4, 4), (9, 9)]
    assert others.batches == [[0, 2, 3]]
    assert squares.batches == [[0, 1, 2, 3]] * 2


def test_requests_of_different_kinds_make_different_batches():
    squares = Squares()
    run_gathered(lambda item: call_gathered(squares, item, item > 1), range(5))
    assert squares.batches == [[2, 3, 4], [0, 1]]


def test_the_cache_lasts_as_long_as_the_threads():
    def counted(requests, cache):
        cache["times"] = cache.get("times", 0) + 1
        return [cache["times"]] * len(requests)

    def work(item):
        return [call_gathered(counted, item), call_gathered(counted, item)]

    assert run_gathered(work, range(2)) == [[1, 2], [1, 2]]
    assert run_gathered(work, range(3), max_threads=2) == [[1, 2]] * 3
    assert [call_gathered(counted, 0), call_gathered(counted, 0)] == [1, 1]  # outside of a run


def test_there_are_no_more_threads_than_allowed():
    squares = Squares()
    assert run_gathered(lambda item: call_gathered(squares, item), range(5), max_threads=2) == [
        0,
        1,
        4,
        9,
        16,
    ]
    assert squares.batches == [[0, 1], [2, 3], [4]]


def test_gathered_runs_can_be_nested():
    squares = Squares()

    def outer(item):
        inner = run_gathered(lambda number: call_gathered(squares, number), [item, item + 1])
        return call_gathered(squares, sum(inner))

    assert run_gathered(outer, [0, 2]) == [1, 13**2]
    assert squares.batches == [[0, 1], [2, 3], [1, 13]]


def test_nothing_to_do_gives_nothing():
    assert run_gathered(call_gathered, []) == []


@pytest.mark.parametrize("where", ["at once", "later", "the answer"])
def test_errors_reach_the_caller_and_end_all_threads(where):
    squares, left = Squares(), []

    def failing(numbers, cache):
        raise RuntimeError("this is bad")

    def work(item):
        try:
            if where == "at once" and item == 1:
                raise RuntimeError("this is bad")
            call_gathered(squares, item)
            if where == "later" and item == 1:
                raise RuntimeError("this is bad")
            call_gathered(failing if where == "the answer" else squares, item)
        finally:
            left.append(item)

    before = len(alive())
    with pytest.raises(RuntimeError, match="this is bad"):
        run_gathered(work, range(3))
    # Whoever had not begun when it failed never does.
    assert sorted(left) == ([0, 1] if where == "at once" else [0, 1, 2])
    assert len(alive()) == before


def interrupted(work, items):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_gathered(work, items)
    finally:
        signal.signal(signal.SIGINT, before)


def threads_of_blas():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def a_request():
    call_gathered(Squares(), 0)


looks = pytest.mark.parametrize("look", [a_request, check_stop])


def keep_on(look, seconds=30.0):
    """Work for so long that a test which waits for the end of it fails."""
    for _ in range(int(100 * seconds)):
        time.sleep(0.01)
        look()
    raise AssertionError("nobody ended this")


@looks
@pytest.mark.parametrize("nested", [False, True])
def test_an_interrupt_from_the_keyboard_ends_the_run_and_leaves_nothing_behind(nested, look):
    left = []

    def work(item):
        try:
            with one_blas_thread():
                call_gathered(Squares(), item)
                if item == 1:
                    signal.raise_signal(signal.SIGINT)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        keep_on(look)
                call_gathered(Squares(), item)
        finally:
            left.append(item)

    def outer(item):
        call_gathered(Squares(), item)
        return run_gathered(work, range(3)) if item == 0 else item

    before, filters = len(alive()), list(warnings.filters)
    with threadpool_limits(limits=2, user_api="blas"):
        interrupted(*((outer, range(2)) if nested else (work, range(3))))
        assert sorted(left) == [0, 1, 2]
        assert len(alive()) == before
        assert threads_of_blas() == {2}
    assert warnings.filters == filters


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_or_error_while_all_wait_ends_all(error):
    left = []

    def answer(numbers, cache):
        assert threading.current_thread() is threading.main_thread()
        raise error

    def work(item):
        try:
            call_gathered(answer, item)
        finally:
            left.append(item)

    before = len(alive())
    with pytest.raises(error):
        run_gathered(work, range(4), n_jobs=2)
    assert sorted(left) == [0, 1, 2, 3]
    assert len(alive()) == before


@looks
def test_an_error_ends_those_at_work_when_they_look_next(look):
    gate, left = threading.Barrier(3, timeout=30.0), []

    def work(item):
        try:
            gate.wait()  # all are at work when one fails
            if item == 1:
                raise RuntimeError("this is bad")
            keep_on(look)
        finally:
            left.append(item)

    before = len(alive())
    with pytest.raises(RuntimeError, match="this is bad"):
        run_gathered(work, range(3), n_jobs=3)
    assert sorted(left) == [0, 1, 2]
    assert len(alive()) == before


def test_nothing_is_evaluated_after_an_error():
    gate, squares, reached = threading.Barrier(2, timeout=30.0), Squares(), []

    def work(item):
        gate.wait()
        if item == 0:
            raise RuntimeError("this is bad")
        call_gathered(squares, item)
        reached.append(item)

    with pytest.raises(RuntimeError, match="this is bad"):
        run_gathered(work, range(2), n_jobs=2)
    assert (squares.batches, reached) == ([], [])


def test_a_second_interrupt_waits_for_nobody():
    release, ended = threading.Event(), threading.Event()

    def work(item):
        signal.raise_signal(signal.SIGINT)
        with suppress(Stopped):
            keep_on(check_stop)
        signal.raise_signal(signal.SIGINT)
        release.wait(30.0)  # it does not look
        ended.set()

    interrupted(work, [0])
    assert not ended.is_set()
    release.set()
    assert ended.wait(30.0)


def test_a_flag_ends_fits_and_parallel_work_too():
    flag, calls = threading.Event(), []

    def objective(x, lanes):
        calls.append(x)
        if len(calls) == 3:
            flag.set()
        return (x**4).sum(axis=1), 4.0 * x**3

    with pytest.raises(Stopped), stoppable(flag):
        minimise(objective, [[3.0, 2.0]], [-9.0, -9.0], [9.0, 9.0])
    assert len(calls) == 3
    with pytest.raises(Stopped), stoppable(flag):
        run(calls.append, range(5))
    assert len(calls) == 4
    check_stop()  # outside nothing is ended


def test_a_flag_is_of_one_thread():
    flag, found = threading.Event(), []
    flag.set()
    with stoppable(flag):
        other = threading.Thread(target=lambda: found.append(check_stop()))
        other.start()
        other.join()
    assert found == [None]


def test_threads_that_the_work_starts_are_not_gathered():
    squares, found = Squares(), []

    def work(item):
        inherited = copy_context()
        other = threading.Thread(
            target=lambda: found.append(inherited.run(call_gathered, squares, item))
        )
        other.start()
        other.join()
        return call_gathered(squares, -item)

    assert run_gathered(work, [1, 2]) == [1, 4]
    assert found == [1, 4]
    assert squares.batches == [[1], [2], [-1, -2]]


def test_every_thread_works_in_a_context_of_its_own():
    opened, closed = [], []

    @contextmanager
    def within():
        opened.append(threading.current_thread())
        yield
        closed.append(threading.current_thread())

    run_gathered(lambda item: call_gathered(Squares(), item), range(3), thread_context=within)
    assert len(set(opened)) == 3
    assert opened == closed


def test_the_work_sees_the_context_of_its_caller():
    colour = ContextVar("colour", default="none")
    colour.set("blue")

    def work(item):
        before = colour.get()
        colour.set("red")
        return before

    assert run_gathered(work, range(2)) == ["blue", "blue"]
    assert colour.get() == "blue"


@pytest.mark.parametrize("n_jobs", [0, "two"])
def test_bad_numbers_of_workers_name_the_argument(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        run_gathered(abs, [1], n_jobs)
