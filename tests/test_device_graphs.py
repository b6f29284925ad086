"""Recordings of work on a device: what of them can be seen without a GPU."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gpproj.linalg import device_graphs as recording

torch = pytest.importorskip("torch")


def test_off_a_gpu_nothing_is_recorded():
    replays, seen = recording.Replays(), []

    def work(x):
        seen.append(len(x))
        return 2.0 * x

    for lanes in (3, 3, 3, 3, 3, 5, 3, 1000):
        x = np.arange(float(lanes))
        found = replays.run("twice", work, torch.zeros(1), x)
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, 2.0 * x)
    assert seen == [3, 3, 3, 3, 3, 5, 3, 1000]
    assert not replays._counts
    assert not replays._recorded


def test_recordings_are_not_pickled():
    replays = recording.Replays()
    replays._counts["name"] = 7
    replays._recorded["name"] = lambda: None  # which cannot be
    copy = pickle.loads(pickle.dumps(replays))
    assert isinstance(copy, recording.Replays)
    assert not copy._counts
    assert not copy._recorded


def test_batches_are_filled_up_with_their_last_lane():
    x = torch.arange(6.0).reshape(3, 2)
    filled = recording._filled(x, 5)
    assert torch.equal(filled, torch.cat([x, x[-1:], x[-1:]]))
    assert recording._filled(x, 3).data_ptr() != x.data_ptr()
    assert list(recording.SIZES) == sorted(set(recording.SIZES))
    assert recording.SIZES[0] == 1
