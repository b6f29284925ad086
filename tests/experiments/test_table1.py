"""The paper's table of data sets beside ours."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gpproj
from reproduction.splits import SETTINGS
from reproduction.table1 import NOTES, PRINTED, reproduce_table1


def give(monkeypatch, name, rows, inputs):
    X = pd.DataFrame(np.zeros((rows, inputs)))
    monkeypatch.setattr(gpproj.datasets, name, lambda: (X, pd.Series(np.zeros(rows))))


def test_the_table_says_what_agrees_and_what_does_not(monkeypatch, tmp_path):
    give(monkeypatch, "boston", 506, 13)
    give(monkeypatch, "automobile", 205, 38)
    give(monkeypatch, "crime", 1992, 101)
    folder = tmp_path / "on the way"
    shown = reproduce_table1(folder)
    table = pd.read_csv(folder / "table1.csv", index_col="data")
    assert table["agree"].to_dict() == {"boston": True, "automobile": False, "crime": False}
    assert table[["rows", "rows_paper"]].loc["automobile"].tolist() == [205, 193]
    assert table[["inputs", "inputs_paper"]].loc["crime"].tolist() == [101, 102]
    assert table["training"].tolist() == [300, 150, 400]
    assert table["note"].to_dict() == NOTES
    pd.testing.assert_frame_equal(shown, table.drop(columns="note"))


def test_other_training_rows_are_noticed(monkeypatch, tmp_path):
    for name, paper in PRINTED.items():
        give(monkeypatch, name, paper.rows, paper.inputs)
    assert reproduce_table1(tmp_path)["agree"].all()
    monkeypatch.setitem(SETTINGS, "crime", SETTINGS["crime"]._replace(n=399))
    assert reproduce_table1(tmp_path)["agree"].tolist() == [True, True, False]


def test_the_real_data_have_the_papers_sizes(monkeypatch, tmp_path, data_dir):
    monkeypatch.setenv("GPPROJ_DATA", str(data_dir))
    assert reproduce_table1(tmp_path)["agree"].all()


def test_the_table_has_the_sets_of_the_experiments():
    assert list(PRINTED) == list(NOTES) == list(SETTINGS)


@pytest.mark.parametrize("name", PRINTED)
def test_notes_are_short(name):
    assert 0 < len(NOTES[name]) < 150
