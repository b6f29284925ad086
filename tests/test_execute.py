"""Work in parallel: order, workers, threads, errors; how far it is."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from gpproj.execute import Progress, WholeProgress, processes, run, run_in_batches, time_text
from gpproj.execute.processes import CACHE_SIZE, LARGE, Task, pickle_function, run_task

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


@pytest.mark.parametrize(
    ("n_jobs", "alike", "sizes"),
    [(1, True, [7]), (1, False, [7]), (2, True, [1, 2, 2, 2]), (2, False, [1] * 7)],
)
def test_batches_are_few_and_results_in_the_order_of_the_items(n_jobs, alike, sizes):
    seen = []

    def negative(batch):
        seen.append(len(batch))
        return [-item for item in batch]

    found = run_in_batches(negative, range(7), n_jobs, alike=alike)
    assert found == [0, -1, -2, -3, -4, -5, -6]
    assert sorted(seen) == sizes
    assert run_in_batches(negative, [], n_jobs, alike=alike) == []


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


@pytest.fixture
def a_worker(monkeypatch):
    """This process as a worker that has done nothing yet."""
    monkeypatch.setattr(processes, "_cached_functions", type(processes._cached_functions)())


def task_of(function, items, bring=True):
    token, contents = pickle_function(function)
    brought = contents if bring else {token: contents[token]}
    return Task(token, tuple(contents), brought, items)


def matrix(n=100):
    return np.random.default_rng(0).standard_normal((n, n))


def test_a_worker_does_what_it_has_the_arrays_for(a_worker):
    first, second = matrix(), matrix() + 1.0
    assert run_task(task_of(first.take, [0, 1], bring=False)) is None
    assert run_task(task_of(first.take, [0, 1])) == first.take([0, 1]).tolist()
    assert run_task(task_of(first.__getitem__, [(0, 1)], bring=False)) == [first[0, 1]]
    assert run_task(task_of(second.take, [0], bring=False)) is None


def test_a_task_is_nothing_that_joblib_scatters():
    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(task_of(matrix().take, [0]))


def test_a_worker_makes_a_function_once(a_worker):
    class Counter:
        def __init__(self):
            self.calls, self.array = 0, matrix()

        def __call__(self, item):
            self.calls += 1
            return self.calls

    task = task_of(Counter(), [0, 0])
    assert [run_task(task), run_task(task)] == [[1, 2], [3, 4]]


def test_a_worker_forgets_the_oldest_functions(a_worker):
    arrays = [matrix() + shift for shift in range(CACHE_SIZE + 1)]
    for array in arrays:
        run_task(task_of(array.take, [0]))
    assert len(processes._cached_functions) == CACHE_SIZE
    assert run_task(task_of(arrays[0].sum, [0], bring=False)) is None
    assert run_task(task_of(arrays[1].sum, [None], bring=False)) == [arrays[1].sum()]


@pytest.mark.parametrize(
    ("made", "apart"),
    [
        (matrix(), True),
        (np.asfortranarray(matrix()), True),
        (matrix(200)[::2, ::2], True),
        (np.arange(LARGE), True),
        (matrix(200) > 0.0, False),
        (matrix(20), False),
        (np.array([None] * LARGE), False),
    ],
    ids=["C", "Fortran", "slice", "integers", "booleans", "small", "objects"],
)
def test_arrays_arrive_as_they_were(a_worker, made, apart):
    token, contents = pickle_function(made.__getitem__)
    assert len(contents) == 1 + apart
    (arrived,) = run_task(Task(token, tuple(contents), contents, [...]))
    np.testing.assert_array_equal(arrived, made)
    assert arrived.dtype == made.dtype
    if made.flags.forc:
        assert arrived.flags.c_contiguous == made.flags.c_contiguous


def test_layouts_are_told_apart():
    square = matrix()
    symmetric = square + square.T
    names = [
        set(pickle_function(array.take)[1]) for array in (symmetric, np.asfortranarray(symmetric))
    ]
    assert names[0].isdisjoint(names[1])


def test_no_task_can_change_an_array_under_the_others(a_worker):
    array = matrix()

    def change(item):
        array[item] = 0.0

    with pytest.raises(ValueError, match="read-only"):
        run_task(task_of(change, [0]))
    array[0] = 0.0  # the caller can


def test_pools_are_kept_from_call_to_call_on_demand():
    # In a process without other threads, which a pool must not be forked beside.
    code = """
import os
import joblib
import numpy as np
from gpproj.execute import run, same_workers

large = np.arange(20_000.0)
def work(item):
    return os.getpid(), large[item]

def processes():
    found = run(work, range(8), n_jobs=None)
    assert [value for _, value in found] == list(range(8))
    return {process for process, _ in found}

with joblib.parallel_config("multiprocessing", n_jobs=2):
    assert processes().isdisjoint(processes())
    with same_workers(n_jobs=None):
        first = processes()
        assert len(first | processes() | processes()) == 2
    assert first.isdisjoint(processes())
assert processes() == {os.getpid()}
"""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self):
        return True


# Called in the test, not fixtures: pytest itself sets standard error anew after the fixtures.
def open_terminal(monkeypatch, columns=100):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    for variable in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    return terminal


def open_log(monkeypatch):
    open_terminal(monkeypatch)
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in many automatic builds
    return log


@pytest.fixture
def clock(monkeypatch):
    """Hands of a clock that only the test moves: `clock[0]`, in seconds."""
    hands = [1000.0]
    monkeypatch.setattr("gpproj.execute.progress.monotonic", lambda: hands[0])
    return hands


def live_threads():
    """Threads of rich that are still at work; a stopped one is given the time to notice."""
    found = [thread for thread in threading.enumerate() if "rich" in type(thread).__module__]
    for thread in found:
        thread.join(timeout=0.5)
    return [thread for thread in found if thread.is_alive()]


def assert_screen_is_free(screen):
    assert sys.stderr is screen
    assert live_threads() == []
    shown = screen.getvalue()
    assert shown.rfind(SHOW_CURSOR) > shown.rfind(HIDE_CURSOR)
    before = len(shown)
    with Progress("the next search", steps=1) as display:
        display.step(done=1)
    assert "the next search" in screen.getvalue()[before:]


def test_a_terminal_shows_step_error_best_and_time_left(clock, capsys, monkeypatch):
    terminal = open_terminal(monkeypatch)
    with Progress("forward search", steps=20) as display:
        assert live_threads()
        display.announce("about 40 s: 20 steps, 0.012 s an evaluation")
        clock[0] += 30.0
        display.step(done=3, best="rm[b]", error=0.4123)
    shown = terminal.getvalue()
    assert "forward search: about 40 s: 20 steps, 0.012 s an evaluation\n" in shown
    assert "step 0 of 20" in shown
    assert "step 3 of 20, error 0.412, best rm[b]" in shown
    assert "3 min left" in shown  # 17 steps of 10 s
    assert_screen_is_free(terminal)
    assert capsys.readouterr().out == ""


def test_a_narrow_terminal_cuts_the_name_only(monkeypatch):
    terminal = open_terminal(monkeypatch, columns=80)
    with Progress("forward search", steps=20) as display:
        display.step(done=3, best="name" * 30, error=0.4123)
    assert "step 3 of 20, error 0.412, best n" in terminal.getvalue()
    assert "s left" in terminal.getvalue()
    assert "namename" * 10 not in terminal.getvalue()


def test_resumed_steps_cost_no_time(clock, monkeypatch):
    terminal = open_terminal(monkeypatch)
    with Progress("forward search", steps=20, done=15) as display:
        clock[0] += 8.0
        display.step(done=16)
    assert "step 16 of 20" in terminal.getvalue()
    assert "32 s left" in terminal.getvalue()


def test_a_log_has_only_what_is_announced(capsys, monkeypatch):
    log = open_log(monkeypatch)
    with Progress("forward search", steps=8) as display:
        display.announce("about 30 s: " + "long " * 30)
        display.step(done=1, best="rm", error=0.5)
        display.step(done=8)
    assert log.getvalue() == "forward search: about 30 s: " + "long " * 30 + "\n"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("open_stream", [open_log, open_terminal])
def test_disabled_shows_nothing(open_stream, monkeypatch, capsys):
    error = open_stream(monkeypatch)
    with Progress("forward search", steps=2, enabled=False) as display:
        assert live_threads() == []
        display.announce("about 40 s")
        display.step(done=1, best="rm", error=0.412)
        with Progress("inner search", steps=1) as inner:  # which finds the screen free
            inner.announce("about 1 s")
    assert "forward" not in error.getvalue()
    assert "inner search" in error.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("open_stream", [open_log, open_terminal])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_display_inside_another_is_silent(open_stream, n_jobs, monkeypatch):
    error = open_stream(monkeypatch)

    def inner_work(item):
        with Progress("inner search", steps=1) as inner:
            inner.announce("about 1 s")
            inner.step(done=1)
        return item

    with Progress("outer search", steps=2) as display:
        display.announce("about 2 s")
        display.step(done=1)
        assert run(inner_work, [1, 2, 3], n_jobs, progress="inner run") == [1, 2, 3]
        display.step(done=2)
    assert "inner" not in error.getvalue()
    assert "outer search: about 2 s" in error.getvalue()


def test_a_display_inside_one_of_rich_is_silent(monkeypatch):
    terminal = open_terminal(monkeypatch)
    from rich.console import Console
    from rich.progress import Progress as Other

    with Other(console=Console(stderr=True)) as other:
        other.add_task("their bar")
        with Progress("forward search", steps=1) as display:
            display.announce("about 1 s")
            display.step(done=1)
    assert "their bar" in terminal.getvalue()
    assert "forward search" not in terminal.getvalue()
    assert_screen_is_free(terminal)


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_gives_the_terminal_back(failure, monkeypatch):
    terminal = open_terminal(monkeypatch)

    def failing():
        with Progress("forward search", steps=2) as display:
            display.step(done=1)
            assert sys.stderr is not terminal
            raise failure("in the middle")

    with pytest.raises(failure, match="in the middle"):
        failing()
    assert_screen_is_free(terminal)


def test_an_interrupt_from_the_keyboard_gives_the_terminal_back(monkeypatch):
    terminal = open_terminal(monkeypatch)

    def interrupt(item):
        signal.raise_signal(signal.SIGINT)
        return item

    # A run in the background of a shell has inherited that interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(interrupt, [1, 2], progress="counting sheep")
    finally:
        signal.signal(signal.SIGINT, before)
    assert_screen_is_free(terminal)


def test_an_interrupt_while_it_starts_gives_the_terminal_back(monkeypatch):
    terminal = open_terminal(monkeypatch)

    def interrupted(bar):
        bar.live.start()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rich.progress.Progress.start", interrupted)
        with pytest.raises(KeyboardInterrupt), Progress("forward search", steps=1):
            pass
    assert_screen_is_free(terminal)


def test_what_others_print_stays_where_it_belongs(capsys, monkeypatch):
    terminal = open_terminal(monkeypatch)
    with Progress("forward search", steps=1):
        print("a result")
        print("a warning", file=sys.stderr)
    assert capsys.readouterr().out == "a result\n"
    assert "a warning" in terminal.getvalue()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_shows_its_progress(n_jobs, capsys, monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert run(abs, [-1, -2, -3], n_jobs, progress="counting sheep") == [1, 2, 3]
    assert "counting sheep" in terminal.getvalue()
    assert "step 3 of 3" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_work_is_silent_unless_it_has_a_title(capsys, monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert run(abs, [-1, -2]) == [1, 2]
    assert terminal.getvalue() + capsys.readouterr().out == ""


def test_rich_is_loaded_only_to_show_something():
    code = """
import sys
from gpproj.execute import Progress, run
with Progress("silent", steps=1, enabled=False) as display:
    display.step(done=1)
run(abs, [-1])
assert "rich" not in sys.modules
with Progress("shown", steps=1) as display:
    display.announce("about 1 s")
assert "rich" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "shown: about 1 s\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (3569.0, "59 min"),
        (3571.0, "1 h"),
        (7800.0, "2 h 10 min"),
        (108000.0, "30 h"),
    ],
)
def test_times_are_written_in_their_largest_units(seconds, text):
    assert time_text(seconds) == text


def test_stages_show_their_steps_in_one_line(clock, monkeypatch):
    terminal = open_terminal(monkeypatch, columns=120)
    with WholeProgress("select", {"fit": 10.0, "search": 30.0, "validation": 60.0}) as display:
        with display.stage("fit"):
            clock[0] += 10.0
        with display.stage("search"), Progress("forward search", steps=3) as inner:
            inner.announce("about 30 s of work")
            clock[0] += 10.0
            inner.step(done=1, best="rm", error=0.4)
    shown = terminal.getvalue()
    assert "select" in shown
    assert "step 0 of" not in shown
    assert "search: step 1 of 3, error 0.400, best rm" in shown
    assert "80 s left" not in shown  # times are said in minutes
    assert "1 min left" in shown
    assert "forward search" not in shown
    assert "about 30 s" not in shown


def test_work_that_is_slower_than_expected_says_so(clock, monkeypatch):
    terminal = open_terminal(monkeypatch, columns=120)
    with WholeProgress("select", {"fit": 10.0, "search": 10.0}) as display:
        with display.stage("fit"):
            clock[0] += 600.0
        with display.stage("search"):
            pass
    assert "9 min left" in terminal.getvalue()


def test_a_stage_that_was_done_before_takes_no_time(clock, monkeypatch):
    terminal = open_terminal(monkeypatch, columns=120)
    with WholeProgress("select", {"fit": 1000.0, "search": 10.0}) as display:
        display.skip("fit")
        with display.stage("search"):
            pass
    assert "10 s left" in terminal.getvalue()
    assert "16 min" not in terminal.getvalue()


def test_a_display_after_it_has_a_line_of_its_own(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with WholeProgress("select", {"fit": 1.0}) as display, display.stage("fit"):
        pass
    run(abs, [-1, 2], progress="counting sheep")
    assert "counting sheep" in terminal.getvalue()


@pytest.mark.parametrize("enabled", [True, False])
def test_a_log_gets_nothing_of_stages(monkeypatch, enabled):
    log = open_log(monkeypatch)
    with WholeProgress("select", {"fit": 1.0}, enabled=enabled) as display, display.stage("fit"):
        run(abs, [-1, 2], progress="counting sheep" if enabled else None)
    assert log.getvalue() == ""
