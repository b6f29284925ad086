"""The study of known truth, in miniature: what it simulates, writes and counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction import known_truth
from reproduction.known_truth import reproduce_known_truth, simulate, summarise

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"INPUTS": 8, "ROWS": 30, "TEST_ROWS": 50, "STEPS": 1}.items():
            patched.setattr(known_truth, name, value)
        folder = tmp_path_factory.mktemp("truth")
        summary = reproduce_known_truth(folder, 1)
        patched.setattr(known_truth, "_suggested", lambda *_: pytest.fail("run again"))
        again = reproduce_known_truth(folder, 1)
    return folder, summary, again


def test_it_writes_a_table_for_each_kind_and_a_picture(written):
    folder, summary, _ = written
    truth = pd.read_csv(folder / "known_truth.csv")
    assert truth["order"].tolist() == ["projection", "ard"]
    assert truth["r2"].between(-1.0, 1.0).all()
    assert len(pd.read_csv(folder / "pure_noise.csv")) == 1
    assert (folder / "known_truth.png").read_bytes().startswith(b"\x89PNG")
    assert summary.index.tolist() == ["projection order", "ard order", "pure noise"]


def test_finished_data_sets_are_not_run_again(written):
    _, summary, again = written
    pd.testing.assert_frame_equal(summary, again)


def test_the_truth_explains_more_than_four_fifths_by_the_first_five_inputs():
    X, y = simulate(20000, 0)
    assert 1.0 - 1.0 / np.var(y) > 0.8
    assert X.shape[1] == 20
    correlation = np.corrcoef(X, rowvar=False)
    assert correlation[5, 0] == pytest.approx(0.8, abs=0.02)
    assert correlation[1, 0] == pytest.approx(0.0, abs=0.03)


def test_noise_has_nothing_to_do_with_the_inputs():
    X, y = simulate(20000, 0, relevant=False)
    assert np.abs(np.corrcoef(X, y, rowvar=False)[-1, :-1]).max() < 0.03


def test_what_passes_is_counted():
    truth = pd.DataFrame(
        {
            "order": ["projection", "projection", "ard", "ard"],
            "suggested": [5.0, 6.0, 9.0, np.nan],
            "relevant": [5, 4, 5, 5],
            "reference_r2": 0.8,
            "r2": [0.77, 0.75, 0.80, 0.70],
        }
    )
    noise = pd.DataFrame({"suggested": [0.0, 1.0, np.nan]})
    table = summarise(truth, noise)
    assert table["passed"].tolist() == [1, 1, 1]
    assert table["sets"].tolist() == [2, 2, 3]
    assert table["median_size"].tolist() == [5.5, 10.0, 1.0]
