"""Ten tables as people have them, from the command line to an answer."""

from __future__ import annotations

import json
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.cli import commands, main

OPTIONS = ("--target", "price", "--max-inputs", 1, "--folds", 2, "--prior", "weak")


def houses(n=24):
    rng = np.random.default_rng(3)
    size, age = rng.uniform(1.0, 9.0, (2, n)).round(2)
    return pd.DataFrame({"size": size, "age": age, "price": (3 * size + age / 9).round(3)})


@pytest.fixture
def select(tmp_path, monkeypatch, capsys):
    """Write a table, run the command line on it, and return the answer with what was said."""
    # Other tests write plots and reports; a single mode suffices for what is shown here.
    monkeypatch.setattr(commands, "write_outputs", lambda run, _: run.folder)
    monkeypatch.setattr(gpproj, "fit", partial(gpproj.fit, draws=1), raising=False)

    def done(content, *options, name="houses.csv", refused=False):
        file, folder = tmp_path / name, tmp_path / "run"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        arguments = ["select", file, *OPTIONS, "--out", folder, "--json", *options]
        monkeypatch.setattr(sys, "argv", ["gpproj", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        if refused:
            assert left.value.code == 1
            assert said.err.count("\n") == 1
            assert not folder.exists()
            return said.err
        assert (left.value.code, said.err) == (0, "")
        return json.loads(said.out)

    return done


def noted(answer, *said):
    for one in said:
        assert sum(one in note for note in answer["notes"]) == 1, answer["notes"]


def test_semicolons(select):
    answer = select(houses().to_csv(sep=";", index=False))
    assert answer["order"] == ["size"]
    noted(answer, "cells are separated by semicolons; --sep")


def test_decimal_commas(select):
    answer = select(houses().to_csv(sep=";", decimal=",", index=False))
    assert answer["order"] == ["size"]
    assert answer["likelihood"] == "gaussian"
    noted(answer, "numbers have decimal commas; --decimal")


def test_a_byte_order_mark_and_letters_of_windows(select):
    table = houses().rename(columns={"size": "größe"})
    answer = select(table.to_csv(index=False).encode("utf-8-sig"))
    assert answer["order"] == ["größe"]
    assert answer["notes"] == []


def test_no_names(select):
    content = houses()[["price", "size", "age"]].to_csv(index=False, header=False)
    answer = select(content, "--target", "column1")
    assert answer["order"] == ["column2"]
    noted(answer, "columns are named column1 to column3; --header says that it does")


def test_dates(select):
    table = houses().assign(day=pd.date_range("2020-01-01", periods=24).strftime("%d.%m.%Y"))
    content = table.to_csv(index=False)
    said = select(content, refused=True)
    assert "column 'day' holds dates; --ignore day leaves it out, --as-number day makes" in said
    answer = select(content, "--time", "day")
    assert answer["order"] == ["size"]


def test_numbers_of_rows(select):
    table = houses().assign(key=[f"house {row:02}" for row in range(24)])
    answer = select(table.to_csv(), "--ignore", "key")
    assert answer["order"] == ["size"]
    noted(answer, "'Unnamed: 0' has whole numbers in order, as if it numbered the rows")
    noted(answer, "--ignore 'Unnamed: 0' leaves it out")


def test_numbers_in_texts(select):
    table = houses()
    table["size"] = [f"{1000 * value:,.1f} m2" for value in table["size"]]
    content = table.to_csv(index=False)
    answer = select(content, "--as-number", "size")
    assert answer["order"] == ["size"]
    assert answer["notes"] == []


def test_missing_cells(select):
    table = houses().astype(object)
    table.loc[[3, 7], "size"] = "?"
    content = table.to_csv(index=False)
    said = select(content, refused=True)
    assert "2 of 24 rows have missing cells: size (2); --missing drop leaves rows out" in said
    answer = select(content, "--missing", "impute")
    assert answer["order"] == ["size"]
    noted(answer, "'?' is taken for a missing cell, 2 times in column 'size'")
    noted(answer, "missing cells have the median or the most frequent level")


def test_categories(select):
    table = houses().assign(kind=["=SUM(A1)", "-b", "c"] * 8)
    table["price"] += 99.0 * (table["kind"] == "-b")
    answer = select(table.to_csv(index=False))
    assert answer["order"] == ["kind"]


def test_cells_that_went_wild(select):
    table = houses().astype(object)
    table.loc[5, "age"] = "#DIV/0!"
    table.loc[9, "age"] = "-"
    rows = table.to_csv(index=False).splitlines()
    ragged = "\n".join([*rows[:4], rows[4] + ",7", *rows[5:]])
    said = select(ragged, refused=True)
    assert "row 4 (line 5) has 4 cells and the first line has 3" in said
    answer = select("\n".join([*rows, ",,", ""]), "--missing", "drop")
    assert answer["order"] == ["size"]
    noted(answer, "'#DIV/0!' is taken for a missing cell, once in column 'age'")
    noted(answer, "'-' is taken for a missing cell, once in column 'age'")
    noted(answer, "2 of 24 rows have missing cells and are left out")
