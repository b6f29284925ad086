"""Tables as people have them: what is found out about a file, and what is said of it."""

from __future__ import annotations

import datetime
import gzip
import json
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from gpproj.data.encoding import TableError
from gpproj.io.delimited import TableForm
from gpproj.io.reading import Reading, table_of


@pytest.fixture
def read(tmp_path):
    """Write a file and read it as a table."""

    def done(content, name="a.csv", reading=None, **form):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return table_of(file, reading or Reading(TableForm(**form)))

    return done


PLAIN = "size,kind\n1.5,a\n2.25,b\n-3,a\n"
ROWS = [{"size": 1.5, "kind": "a"}, {"kind": "b", "size": 2.25}, {"size": -3, "kind": "a"}]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (PLAIN, "a.csv", None),
        (PLAIN.replace(",", "\t"), "a.tsv", None),
        (PLAIN.replace(",", "\t"), "a.csv", "separated by tabs"),
        (PLAIN.replace(",", ";"), "a.csv", "separated by semicolons"),
        (PLAIN.replace(",", ";").replace(".", ","), "a.csv", "decimal commas"),
        (PLAIN.replace(",", "\t").replace(".", ","), "a.txt", "decimal commas"),
        ('size,kind\n"1,5",a\n"2,25",b\n-3,a\n', "a.csv", "decimal commas"),
        (PLAIN.replace(",", "|"), "a.csv", "separated by bars"),
        (PLAIN.replace(",", "   "), "a.dat", None),
        ("  size \t kind\n 1.5  a \n 2.25\tb\n -3 a\n\n", "a.dat", None),
        (PLAIN, "a.dat", "separated by commas"),
        (PLAIN.replace(",", " "), "a.txt", "separated by blanks"),
        (PLAIN.replace("\n", "\r\n"), "a.csv", None),
        (PLAIN.encode("utf-8-sig"), "a.csv", None),
        (PLAIN.encode("utf-16"), "a.csv", "read as utf-16"),
        (PLAIN.encode("utf-16-le"), "a.csv", "read as utf-16-le"),
        (PLAIN.encode("utf-16-be"), "a.csv", "read as utf-16-be"),
        (PLAIN.encode("utf-32"), "a.csv", "read as utf-32"),
        (gzip.compress(PLAIN.encode()), "a.csv.gz", None),
        (PLAIN + ",\n,\n", "a.csv", None),
        (json.dumps(ROWS), "a.json", None),
        ('{"size": [1.5, 2.25, -3], "kind": ["a", "b", "a"]}', "a.json", None),
        ("\n".join(map(json.dumps, ROWS)), "a.jsonl", None),
    ],
)
def test_the_same_table_in_many_files(read, content, name, said):
    table = read(content, name)
    assert table.frame["size"].tolist() == [1.5, 2.25, -3.0]
    assert table.frame["kind"].tolist() == ["a", "b", "a"]
    assert (said or "") in " ".join(table.notes)
    assert bool(table.notes) == (said is not None)


def test_letters_of_western_windows_are_read(read):
    table = read("größe;straße\n1;äöü\n2;€\n".encode("cp1252"))
    assert table.frame.columns.tolist() == ["größe", "straße"]
    assert table.frame["straße"].tolist() == ["äöü", "€"]
    assert "read as cp1252; --encoding names another" in table.notes[0]
    assert read("a;b\n1;é\n".encode("cp850"), encoding="cp850").frame["b"].tolist() == ["é"]
    assert read("a,b\n1,\x81\n".encode("latin-1")).notes[0].startswith("the text is read as latin")


@pytest.mark.parametrize(
    ("content", "header", "names", "said"),
    [
        ("1,2.5,a\n2,3.5,b\n", None, ["column1", "column2", "column3"], "--header says"),
        ("a,x,1.5\nb,y,2.5\n", None, ["column1", "column2", "column3"], "--header says"),
        ("3,?,a\n4,5,b\n", None, ["column1", "column2", "column3"], "--header says"),
        ("0,1,2\n5,6,7\n", None, ["0", "1", "2"], "--no-header takes it for data"),
        ("name,2001,2002\na,5,6\n", None, ["name", "2001", "2002"], "--no-header takes"),
        ("1,2,a\n5,6,b\n", None, ["column1", "column2", "column3"], "--header says"),
        (",x\n0,2\n1,3\n", None, ["Unnamed: 0", "x"], None),
        ("x,y\n1,2\n", False, ["column1", "column2"], None),
        ("1,2\n3,4\n", True, ["1", "2"], None),
        ("name,kind\na,b\n", None, ["name", "kind"], None),
    ],
)
def test_names_are_told_from_numbers(read, content, header, names, said):
    table = read(content, header=header)
    assert table.frame.columns.tolist() == names
    assert len(table.frame) == content.count("\n") - (names[0] != "column1")
    assert (said or "") in " ".join(table.notes)
    assert bool(table.notes) == bool(said) or "missing" in table.notes[-1]


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("x;y\n1.234,5;1\n2,5;1\n", [1234.5, 2.5]),
        ("x;y\n1.234.567;1\n2,5;1\n", [1234567.0, 2.5]),
        ("x;y\n0.123;1,5\n4.5;1,5\n", [0.123, 4.5]),
        ("x;y\n1,234;1\n2,345;1\n", [1.234, 2.345]),
        ("x;y\n1e-3;1,5\n2,5e2;1\n", [0.001, 250.0]),
        ("x;y\n1.5;1\n2.5;1\n", [1.5, 2.5]),
        ("x,y\n007,1\n12,1\n", [7, 12]),
        ("x,y\n1_000,1\n2,1\n", ["1_000", "2"]),
        ("x,y\n99999999999999999999,1\n2,1\n", [1e20, 2.0]),
        ("x,y\nTrue,1\nFALSE,1\n", [True, False]),
        ("x,y\n'=1+1,1\n'@home,1\n", ["=1+1", "@home"]),
    ],
)
def test_numbers_are_read_as_they_were_meant(read, content, values):
    cells = read(content).frame["x"].tolist()
    assert cells == values
    assert [type(one) for one in cells] == [type(one) for one in values]


def test_placeholders_are_missing_and_counted(read):
    table = read("x,y,z\n?,-,-\n1,2.5,a\n?,.,b\n2,NA,a\n")
    assert table.frame["x"].isna().tolist() == [True, False, True, False]
    assert table.frame["y"].isna().sum() == 3
    assert table.frame["z"].tolist() == ["-", "a", "b", "a"]  # a level, for all that is known
    said = " ".join(table.notes)
    assert "'?' is taken for a missing cell, 2 times in column 'x'" in said
    assert "'-' is taken for a missing cell, once in column 'y'" in said
    table = read("x,y\n-999,1\n3,a\n", reading=Reading(placeholders=("-999", "a")))
    assert table.frame.isna().to_numpy().tolist() == [[True, False], [False, True]]


def test_numbers_in_texts_are_taken_where_they_are_asked_for(read):
    content = 'area,share,when,price\n514.5 m2,12%,2020-01-03,"1,234"\n80 m2,5 %,2020-01-01,$99\n'
    content += "large,,2020-01-02,7\n"
    columns = ("area", "share", "when", "price")
    table = read(content, reading=Reading(as_number=columns))
    np.testing.assert_array_equal(table.frame["area"], [514.5, 80.0, np.nan])
    np.testing.assert_array_equal(table.frame["share"], [12.0, 5.0, np.nan])
    np.testing.assert_array_equal(table.frame["when"], [18264.0, 18262.0, 18263.0])
    np.testing.assert_array_equal(table.frame["price"], [1234.0, 99.0, 7.0])
    assert "1 cell of column 'area' holds no number: 'large'" in table.notes[-1]
    with pytest.raises(TableError, match="did you mean 'area'"):
        read(content, reading=Reading(as_number=("Area",)))
    with pytest.raises(TableError, match="column 'b' has no numbers: 'x', 'y'"):
        read("a,b\n1,x\n2,y\n", reading=Reading(as_number=("b",)))


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("x,y\n1,2\n3,4,5\n", "a.csv", r"row 2 \(line 3\) has 3 cells and the first line has 2;"),
        ("x,y\n1,2\n\n3\n4\n", "a.csv", r"row 2 \(line 4\) has 1 cells.*1 more row differs"),
        ("x,y\n1,2,3\n4,5,6\n", "a.csv", "as all rows do: the first line lacks a name"),
        ('x,y\n1,"2\n3,4\n', "a.csv", "a quotation mark is not closed"),
        ("x,x\n1,2\n", "a.csv", "more than one column 'x'.*--no-header"),
        (b"\x1f\x8b broken", "a.csv.gz", "not compressed by gzip"),
        (gzip.compress(PLAIN.encode())[:-12], "a.csv.gz", "not compressed by gzip, or not whole"),
        ("{}", "a.json", "has no rows"),
        ("[1, 2]", "a.json", "must hold objects"),
        ('{"a": [1], "b": [1, 2]}', "a.json", "columns of the same length"),
        ('{"a": 1}\n{"a": \n', "a.jsonl", "line 2: it is not JSON"),
        ('[{"a": [1, 2]}]', "a.json", "row 1 has more than one value in 'a'"),
        ("", "a.csv", "has no rows"),
    ],
)
def test_files_that_are_no_tables(read, content, name, said):
    with pytest.raises(TableError, match=said) as caught:
        read(content, name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"sep": "ab"}, "sep must be one character"),
        ({"decimal": ";"}, "decimal must be a point or a comma"),
        ({"sep": ",", "decimal": ","}, "cannot both be ','"),
        ({"encoding": "klingon"}, "encoding must be one that Python knows"),
    ],
)
def test_forms_that_no_table_has(form, said):
    with pytest.raises(TableError, match=said):
        TableForm(**form)


def test_what_is_given_is_not_found_out(read):
    table = read("x;y|z\n1;2|3\n", sep="|", decimal=".")
    assert table.frame.columns.tolist() == ["x;y", "z"]
    with pytest.raises(TableError, match="not text in ascii, which --encoding names"):
        read("größe,y\n1,2\n", encoding="ascii")


def test_a_named_index_of_parquet_is_a_column(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]}, index=pd.Index(["a", "b"], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert table_of(tmp_path / "a.parquet").frame.columns.tolist() == ["id", "x", "y"]
    frame.reset_index(drop=True).to_parquet(tmp_path / "b.parquet")
    assert table_of(tmp_path / "b.parquet").frame.columns.tolist() == ["x", "y"]


def workbook(monkeypatch, sheets):
    """Stand in for openpyxl, with the part of its interface that is used."""
    module = ModuleType("openpyxl")

    class Sheet:
        def __init__(self, rows):
            self.rows = rows

        def iter_rows(self, values_only):
            assert values_only
            return iter(self.rows)

    class Book(dict):
        @property
        def sheetnames(self):
            return list(self)

    def load_workbook(file, read_only, data_only):
        assert file.read()
        assert read_only
        assert data_only
        return Book({name: Sheet(rows) for name, rows in sheets.items()})

    module.load_workbook = load_workbook
    monkeypatch.setitem(sys.modules, "openpyxl", module)


def test_a_sheet_of_a_workbook_is_a_table(read, monkeypatch):
    day = datetime.datetime(2020, 1, 2)
    rows = [
        ("size", "kind", "day", "n", None),
        (1, "a", day, "?", None),
        (2.5, 7, day, 3, None),
        (None, None, None, None, None),
        (None, "b", None, 4, None),
    ]
    workbook(monkeypatch, {"first": rows, "other": [("x",), (1.5,)]})
    table = read("content", "a.xlsx")
    np.testing.assert_array_equal(table.frame["size"], [1.0, 2.5, np.nan])
    assert table.frame["kind"].tolist() == ["a", "7", "b"]
    assert table.frame["day"].dtype.kind == "M"
    np.testing.assert_array_equal(table.frame["n"], [np.nan, 3.0, 4.0])
    assert "sheet 'first' is read; --sheet names another one" in table.notes[0]
    assert read("content", "a.xlsx", sheet="other").frame["x"].tolist() == [1.5]
    with pytest.raises(TableError, match="the workbook has no sheet 'frist'; did you mean 'first'"):
        read("content", "a.xlsx", sheet="frist")


def test_a_workbook_without_its_reader_says_what_to_install(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match=r"pip install openpyxl.*save the sheet as CSV"):
        read("content", "a.xlsx")


def test_many_rows_take_no_time(read):
    rows = [{"a": one, "b": f"t{one % 7}"} for one in range(2000)]
    table = read("\n".join(map(json.dumps, rows)), "a.jsonl")
    assert table.frame["a"].tolist() == list(range(2000))
