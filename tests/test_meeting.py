"""Pieces of work that meet: who is asked together, and what becomes of those who fail."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gpproj.execute import ask, check_stop, run, together
from gpproj.execute.stopping import Stopped, stoppable
from gpproj.linalg import one_blas_thread
from gpproj.optimise import minimise


class Squares:
    """Answers questions, and remembers who was asked together."""

    def __init__(self):
        self.asked = []

    def __call__(self, numbers, kept):
        self.asked.append(list(numbers))
        kept["times"] = kept.get("times", 0) + 1
        return [number**2 for number in numbers]


def alive():
    return [one for one in threading.enumerate() if one.name.startswith("Thread")]


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_everybody_is_answered_together(n_jobs):
    squares = Squares()

    def work(times):
        value = 2
        for _ in range(times):
            value = ask(squares, value)
        return value

    assert together(work, [2, 0, 1, 3], n_jobs) == [16, 2, 4, 256]
    assert squares.asked == [[2, 2, 2], [4, 4], [16]]


def test_one_works_at_a_time_unless_more_are_asked_for():
    inside, most = [], []

    def work(item):
        for _ in range(2):
            inside.append(item)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(item)
            ask(Squares(), item)

    together(work, range(4))
    assert max(most) == 1


def test_as_many_work_at_a_time_as_are_asked_for():
    gate = threading.Barrier(3, timeout=30.0)  # nobody passes before three are there

    def work(item):
        gate.wait()
        return ask(Squares(), item)

    assert together(work, range(3), n_jobs=3) == [0, 1, 4]
    gate = threading.Barrier(3, timeout=0.2)
    with pytest.raises(threading.BrokenBarrierError):
        together(work, range(3), n_jobs=2)


def test_questions_of_different_kinds_are_answered_apart():
    squares, others = Squares(), Squares()
    together(lambda item: ask(squares if item % 2 else others, item), [0, 1, 2, 3])
    assert (others.asked, squares.asked) == ([[0, 2]], [[1, 3]])


def test_work_that_is_out_of_step_comes_into_step_again():
    squares, others = Squares(), Squares()

    def work(item):
        if item != 1:
            ask(others, item)  # one has nothing to ask here
        return ask(squares, item), ask(squares, item, "later")

    assert together(work, range(4)) == [(0, 0), (1, 1), (4, 4), (9, 9)]
    assert others.asked == [[0, 2, 3]]
    assert squares.asked == [[0, 1, 2, 3]] * 2


def test_kinds_of_questions_to_one_answerer_are_answered_apart():
    squares = Squares()
    together(lambda item: ask(squares, item, item > 1), range(5))
    assert squares.asked == [[2, 3, 4], [0, 1]]


def test_what_answers_keep_lasts_as_long_as_the_meeting():
    def counted(questions, kept):
        kept["times"] = kept.get("times", 0) + 1
        return [kept["times"]] * len(questions)

    def work(item):
        return [ask(counted, item), ask(counted, item)]

    assert together(work, range(2)) == [[1, 2], [1, 2]]
    assert together(work, range(3), at_once=2) == [[1, 2]] * 3
    assert [ask(counted, 0), ask(counted, 0)] == [1, 1]  # nobody meets


def test_no_more_meet_than_there_is_room_for():
    squares = Squares()
    assert together(lambda item: ask(squares, item), range(5), at_once=2) == [0, 1, 4, 9, 16]
    assert squares.asked == [[0, 1], [2, 3], [4]]


def test_meetings_may_be_held_inside_meetings():
    squares = Squares()

    def outer(item):
        inner = together(lambda number: ask(squares, number), [item, item + 1])
        return ask(squares, sum(inner))

    assert together(outer, [0, 2]) == [1, 13**2]
    assert squares.asked == [[0, 1], [2, 3], [1, 13]]


def test_nothing_to_do_gives_nothing():
    assert together(ask, []) == []


@pytest.mark.parametrize("where", ["at once", "later", "the answer"])
def test_errors_reach_the_caller_and_all_others_are_sent_home(where):
    squares, left = Squares(), []

    def failing(numbers, kept):
        raise RuntimeError("this is bad")

    def work(item):
        try:
            if where == "at once" and item == 1:
                raise RuntimeError("this is bad")
            ask(squares, item)
            if where == "later" and item == 1:
                raise RuntimeError("this is bad")
            ask(failing if where == "the answer" else squares, item)
        finally:
            left.append(item)

    before = len(alive())
    with pytest.raises(RuntimeError, match="this is bad"):
        together(work, range(3))
    # Whoever had not begun when it failed never does.
    assert sorted(left) == ([0, 1] if where == "at once" else [0, 1, 2])
    assert len(alive()) == before


def interrupted(work, items):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            together(work, items)
    finally:
        signal.signal(signal.SIGINT, before)


def threads_of_blas():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def a_question():
    ask(Squares(), 0)


looks = pytest.mark.parametrize("look", [a_question, check_stop])


def keep_on(look, seconds=30.0):
    """Work for so long that a test which waits for the end of it fails."""
    for _ in range(int(100 * seconds)):
        time.sleep(0.01)
        look()
    raise AssertionError("nobody ended this")


@looks
@pytest.mark.parametrize("nested", [False, True])
def test_an_interrupt_from_the_keyboard_ends_the_meeting_and_leaves_nothing_behind(nested, look):
    left = []

    def work(item):
        try:
            with one_blas_thread():
                ask(Squares(), item)
                if item == 1:
                    signal.raise_signal(signal.SIGINT)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        keep_on(look)
                ask(Squares(), item)
        finally:
            left.append(item)

    def outer(item):
        ask(Squares(), item)
        return together(work, range(3)) if item == 0 else item

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

    def answer(numbers, kept):
        assert threading.current_thread() is threading.main_thread()
        raise error

    def work(item):
        try:
            ask(answer, item)
        finally:
            left.append(item)

    before = len(alive())
    with pytest.raises(error):
        together(work, range(4), n_jobs=2)
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
        together(work, range(3), n_jobs=3)
    assert sorted(left) == [0, 1, 2]
    assert len(alive()) == before


def test_nobody_is_answered_after_an_error():
    gate, squares, reached = threading.Barrier(2, timeout=30.0), Squares(), []

    def work(item):
        gate.wait()
        if item == 0:
            raise RuntimeError("this is bad")
        ask(squares, item)
        reached.append(item)

    with pytest.raises(RuntimeError, match="this is bad"):
        together(work, range(2), n_jobs=2)
    assert (squares.asked, reached) == ([], [])


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


def test_other_threads_of_the_work_are_no_members():
    squares, found = Squares(), []

    def work(item):
        inherited = copy_context()
        other = threading.Thread(target=lambda: found.append(inherited.run(ask, squares, item)))
        other.start()
        other.join()
        return ask(squares, -item)

    assert together(work, [1, 2]) == [1, 4]
    assert found == [1, 4]
    assert squares.asked == [[1], [2], [-1, -2]]


def test_every_thread_works_in_a_context_of_its_own():
    opened, closed = [], []

    @contextmanager
    def within():
        opened.append(threading.current_thread())
        yield
        closed.append(threading.current_thread())

    together(lambda item: ask(Squares(), item), range(3), within=within)
    assert len(set(opened)) == 3
    assert opened == closed


def test_the_work_sees_the_context_of_its_caller():
    colour = ContextVar("colour", default="none")
    colour.set("blue")

    def work(item):
        before = colour.get()
        colour.set("red")
        return before

    assert together(work, range(2)) == ["blue", "blue"]
    assert colour.get() == "blue"


@pytest.mark.parametrize("n_jobs", [0, "two"])
def test_bad_numbers_of_workers_name_the_argument(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        together(abs, [1], n_jobs)
