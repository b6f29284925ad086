"""How experiments run: splits, repetitions in other processes, and what is kept."""

from __future__ import annotations

import json
import os
from functools import partial

import numpy as np
import pytest

import gpproj
from reproduction.results import half_width
from reproduction.running import in_parallel, kept_rows, random_split, repeated


def rows_of(factor, seed):
    yield {"seed": seed, "value": factor * seed, "process": os.getpid()}


def test_a_split_has_every_row_once():
    X, y = gpproj.datasets.diabetes()
    for n, expected in ((None, 294), (200, 200)):
        split = random_split("diabetes", 3, n)
        assert len(split.X) == len(split.y) == expected
        rows = [*split.X.index, *split.X_test.index]
        assert sorted(rows) == list(range(len(X)))
        assert rows == [*split.y.index, *split.y_test.index]
        assert split.y.equals(y[split.X.index])
    assert not random_split("diabetes", 4, 200).X.equals(split.X)


def test_repetitions_are_kept_with_their_settings(tmp_path):
    folder = tmp_path / "on the way"
    first = repeated(partial(rows_of, 2.0), 2, folder, [2.0], 1, "some splits")
    assert [row["value"] for row in first] == [0.0, 2.0]
    names = sorted(path.name for path in (folder / "finished").iterdir())
    assert names == ["some-splits_000.json", "some-splits_001.json"]
    never = partial(pytest.fail, "run again")
    assert repeated(lambda _: never(), 2, folder, [2.0], 1, "some splits") == first
    more = repeated(partial(rows_of, 3.0), 3, folder, (3.0,), 1, "some splits")
    assert [row["value"] for row in more] == [0.0, 3.0, 6.0]


def test_work_that_fails_leaves_what_was_there(tmp_path):
    file = tmp_path / "rows.json"
    kept_rows(file, [1], lambda: [{"a": 1.5}])
    with pytest.raises(ZeroDivisionError):
        kept_rows(file, [2], lambda: [{"a": 1 / 0}])
    with pytest.raises(TypeError):
        kept_rows(file, [2], lambda: [{"a": object()}])
    assert json.loads(file.read_text()) == {"settings": [1], "rows": [{"a": 1.5}]}
    assert [path.name for path in tmp_path.iterdir()] == ["rows.json"]


@pytest.mark.slow
def test_several_at_a_time_are_in_processes_of_their_own():
    rows = in_parallel(half_rows, range(3), 2, "halves")
    assert [row["half"] for row in rows] == [0.0, 0.5, 1.0]
    assert os.getpid() not in {row["process"] for row in rows}


def half_rows(seed):
    return [{"half": seed / 2, "process": os.getpid()}]


def test_one_repetition_has_no_interval():
    assert half_width(np.array([1.0]), 1) is None
    assert half_width(np.array([1.0, 3.0]), 2) == pytest.approx(1.96 / np.sqrt(2.0))
