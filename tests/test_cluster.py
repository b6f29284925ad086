"""Work on a cluster of two worker processes: the same answers, little sent, and deaths survived."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from contextlib import contextmanager

import joblib
import numpy as np
import pytest

import gpproj
from gpproj.execute import run, run_in_batches
from gpproj.execute.processes import LARGE
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian

distributed = pytest.importorskip("dask.distributed")

pytestmark = pytest.mark.slow

# Functions handed to workers are defined inside the tests: those travel whole to other processes,
# which could not import this module by its name.


@contextmanager
def two_workers():
    """A cluster of two worker processes, and joblib at it."""
    # Quiet: what happens when a worker is killed would be told at length.
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config("dask", client=client),
    ):
        yield client


@pytest.fixture(scope="module")
def workers():
    with two_workers() as client:
        yield client


@pytest.fixture(scope="module")
def doomed():
    with two_workers() as client:
        yield client


@pytest.fixture
def mortal_workers(doomed):
    """Two workers, one of which may be new in the place of one that died in another test."""
    doomed.wait_for_workers(2, timeout=30)
    yield doomed
    doomed.wait_for_workers(2, timeout=30)  # one that is being started takes long to close


@pytest.fixture(scope="module")
def reference():
    X, y = gpproj.datasets.toy_sines(n=100, random_state=0)  # matrices of 80 kB
    kernel = Constant() + SquaredExponential(12.0, [1.7, 3.9, 1.2, 4.3])
    ref = gpproj.condition(X[:, 4:], y, kernel, Gaussian(3.3))
    assert 8 * ref.training.n**2 > LARGE
    return ref


@pytest.fixture(scope="module")
def path(reference):
    return gpproj.forward_search(reference, progress=False)


def assert_same_path(one, other):
    assert one.order == other.order
    assert [one.best_inputs(k) for k in range(len(one))] == [
        other.best_inputs(k) for k in range(len(other))
    ]
    np.testing.assert_array_equal(one.best_errors, other.best_errors)
    np.testing.assert_array_equal(one.errors, other.errors)
    assert one.candidates.equals(other.candidates)
    for ours, theirs in zip(one.projections, other.projections, strict=True):
        np.testing.assert_array_equal(ours.parameters, theirs.parameters)


def watch(client):
    """Count on each worker what arrives there; return the reader of the counts."""

    def install():
        from gpproj.execute import processes

        plain = getattr(processes.run_task, "plain", processes.run_task)
        counts = {"tasks": 0, "refused": 0, "items": 0, "arrived": []}

        def run_task(task):
            results = plain(task)
            counts["tasks"] += 1
            counts["refused"] += results is None
            counts["items"] += len(task.items)
            large = processes.LARGE
            counts["arrived"] += [k for k, part in task.contents.items() if part.nbytes >= large]
            return results

        run_task.plain, run_task.counts = plain, counts
        processes.run_task = run_task

    def counts():
        from gpproj.execute import processes

        return processes.run_task.counts

    client.run(install)
    return lambda: list(client.run(counts).values())


def forget():
    """Leave a process as it is when it is new."""
    from gpproj.execute import processes

    processes._cached_functions.clear()
    processes._sent_digests.clear()


def test_the_work_is_done_by_both_workers_with_one_blas_thread(workers):
    def where(_):
        import os
        import time

        from threadpoolctl import threadpool_info

        time.sleep(0.05)
        pools = threadpool_info()
        return os.getpid(), {one["num_threads"] for one in pools if one["user_api"] == "blas"}

    found = run(where, range(6), n_jobs=None)
    assert {process for process, _ in found} == set(workers.run(os.getpid).values())
    assert all(threads == {1} for _, threads in found)


def test_workers_reuse_the_memory_of_their_arrays(workers):
    def page_faults(item):
        import resource

        import numpy as np

        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        for _ in range(100):
            np.ones(2**17)  # 256 pages
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

    assert max(run(page_faults, range(4), n_jobs=None)) < 100 * 256 / 10


@pytest.mark.parametrize("strategy", ["race", "exhaustive"])
def test_a_search_finds_the_same_path(workers, reference, path, strategy):
    options = {"strategy": strategy, "progress": False}
    if strategy == "exhaustive":
        options["max_inputs"] = 1
        path = gpproj.forward_search(reference, **options)
    assert_same_path(gpproj.forward_search(reference, n_jobs=None, **options), path)


def test_inputs_left_out_cost_the_same(workers, reference):
    alone = gpproj.leave_input_out(reference)
    assert gpproj.leave_input_out(reference, n_jobs=None).equals(alone)


@pytest.mark.parametrize("method", ["kfold", "loo"])
def test_a_validation_says_the_same(workers, reference, method):
    path = gpproj.forward_search(reference, 1, progress=False)
    options = {"method": method, "progress": False, "random_state": 0}
    if method == "kfold":
        options |= {"folds": 2}
    else:
        options |= {"points": 12}
    alone = gpproj.validate(reference, path, **options)
    shared = gpproj.validate(reference, path, n_jobs=None, **options)
    np.testing.assert_array_equal(shared.scores.mean, alone.scores.mean)
    np.testing.assert_array_equal(shared.scores.log_density, alone.scores.log_density)
    assert shared.orders == alone.orders


def test_a_search_sends_large_arrays_to_each_worker_once(workers, reference, path):
    forget()
    workers.run(forget)
    counted = watch(workers)
    assert_same_path(gpproj.forward_search(reference, n_jobs=None, progress=False), path)
    found = counted()
    for one in found:
        assert one["tasks"] > 10
        assert one["refused"] == 0
        assert len(one["arrived"]) == len(set(one["arrived"])) > 0
    assert set(found[0]["arrived"]) == set(found[1]["arrived"])


@pytest.mark.slow
def test_a_second_search_sends_no_large_array(workers, reference, path):
    gpproj.forward_search(reference, 1, n_jobs=None, progress=False)
    counted = watch(workers)
    gpproj.forward_search(reference, 2, n_jobs=None, progress=False)
    assert [one["arrived"] for one in counted()] == [[], []]


@pytest.mark.slow
def test_a_worker_that_lacks_the_arrays_is_sent_them(workers, reference, path):
    gpproj.forward_search(reference, 1, n_jobs=None, progress=False)
    first, _ = workers.scheduler_info()["workers"]
    workers.run(forget, workers=[first])
    counted = watch(workers)
    assert_same_path(gpproj.forward_search(reference, n_jobs=None, progress=False), path)
    assert sum(one["refused"] for one in counted()) > 0
    assert sum(len(one["arrived"]) for one in counted()) > 1


@pytest.mark.slow
def test_workers_that_all_lack_the_arrays_are_sent_them(workers, reference):
    alone = gpproj.leave_input_out(reference)
    for _ in range(2):
        assert gpproj.leave_input_out(reference, n_jobs=None).equals(alone)
        workers.run(forget)


def test_many_items_are_few_tasks(workers):
    counted = watch(workers)
    assert run(str, range(500), n_jobs=None) == [str(item) for item in range(500)]
    found = counted()
    assert sum(one["items"] for one in found) == 500
    assert 10 < sum(one["tasks"] for one in found) < 50


def test_batches_of_several_workers_give_what_one_gives(workers):
    def doubled(batch):
        return [2 * item for item in batch]

    assert run_in_batches(doubled, range(7), n_jobs=None) == [2 * item for item in range(7)]
    assert run_in_batches(doubled, range(7), None, alike=False) == [2 * item for item in range(7)]


def test_large_tasks_pass_without_a_warning(workers):
    large = np.arange(2_000_000.0)  # 16 MB: a warning of Dask, which is an error here

    def total(item):
        return large.sum() + item

    assert run(total, [0, 1, 2], n_jobs=None) == [large.sum() + item for item in range(3)]


def test_exceptions_reach_the_caller(workers):
    def refuse(item):
        raise RuntimeError(f"item {item} is bad")

    with pytest.raises(RuntimeError, match="item 0 is bad"):
        run(refuse, [0], n_jobs=None)
    assert run(abs, [-1, 2], n_jobs=None) == [1, 2]


class Killer(threading.Thread):
    """Kills a process as soon as a file is there."""

    def __init__(self, process, file):
        super().__init__()
        self.process, self.file = process, file
        self.killed = False

    def run(self):
        deadline = time.monotonic() + 60.0
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        if self.file.exists():
            os.kill(self.process, signal.SIGKILL)
            self.killed = True


@pytest.mark.slow
def test_a_search_survives_the_death_of_a_worker(mortal_workers, reference, path, tmp_path):
    victim, _ = mortal_workers.run(os.getpid).values()
    killer = Killer(victim, tmp_path / "search.npz")
    killer.start()
    found = gpproj.forward_search(reference, n_jobs=None, progress=False, checkpoint=killer.file)
    killer.join()
    assert killer.killed
    assert victim not in mortal_workers.run(os.getpid, on_error="ignore").values()
    assert_same_path(found, path)


@pytest.mark.slow
def test_a_task_survives_the_worker_that_was_doing_it(mortal_workers, tmp_path):
    begun = tmp_path / "begun"
    large = np.arange(LARGE / 8.0)

    def fatal_once(item):
        import os
        import signal

        if item == 1 and not begun.exists():
            begun.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return large[item]

    assert run(fatal_once, range(4), n_jobs=None) == [0.0, 1.0, 2.0, 3.0]
    assert begun.exists()
