"""Tables of users: what becomes an input, and what is refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from gpproj.data.encoding import Encoding, TableError
from gpproj.io.tables import prepare, read_table


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "size": [1.5, 2.0, 3.0, 4.0],
            "colour": ["red", "blue", "green", "red"],
            "sold": [True, False, True, True],
            "kind": ["a", "b", "a", "b"],
            "price": [1, 2, 3, 4],
        }
    )


def test_numbers_stay_and_levels_become_inputs_that_belong_together(table):
    X, y, encoding, dropped, exposure, _ = prepare(table, "price")
    assert X.columns.tolist() == [
        "size",
        "colour=blue",
        "colour=green",
        "colour=red",
        "sold",
        "kind=b",
    ]
    assert X["colour=red"].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert X["sold"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert X["kind=b"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert encoding.groups == {
        "colour": ["colour=blue", "colour=green", "colour=red"],
        "kind": ["kind=b"],
    }
    assert dropped == 0
    assert exposure is None


def test_an_encoding_survives_json_and_reads_new_rows_in_the_same_way(table):
    X, _, encoding, *_ = prepare(table, "price")
    again = Encoding.of_plain(json.loads(json.dumps(encoding.plain())))
    assert again == encoding
    new = table.drop(columns="price").iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.inputs(new), X.iloc[::-1].reset_index(drop=True))
    assert again.needed(["colour=red", "size"]) == ("size", "colour")
    assert again.inputs(new[["kind"]], ["kind"]).columns.tolist() == ["kind=b"]


def test_levels_that_the_model_has_not_seen_are_refused(table):
    encoding = prepare(table, "price").encoding
    new = table.assign(kind=["a", "c", "a", "b"])
    with pytest.raises(TableError, match=r"column 'kind' has 'c' in row 2.*knows 'a', 'b'"):
        encoding.inputs(new)


def test_new_rows_must_be_complete(table):
    encoding = prepare(table, "price").encoding
    with pytest.raises(TableError, match="no column 'size'"):
        encoding.inputs(table.drop(columns="size"))
    with pytest.raises(TableError, match="column 'size' has 1 missing cells"):
        encoding.inputs(table.assign(size=[1.0, np.nan, 2.0, 3.0]))
    with pytest.raises(TableError, match="'size' must be numbers, saw 'big' in row 2"):
        encoding.inputs(table.assign(size=[1.0, "big", 2.0, 3.0]))


def test_missing_cells_are_counted_dropped_or_imputed(table):
    holes = table.assign(size=[1.0, np.nan, 3.0, 8.0], colour=["red", "blue", None, "red"])
    with pytest.raises(TableError, match=r"2 of 4 rows have missing cells: size \(1\), colour"):
        prepare(holes, "price")
    assert prepare(holes, "price", missing="drop").dropped == 2
    X, _, encoding, dropped, *_ = prepare(holes, "price", missing="impute")
    assert dropped == 0
    assert X["size"].tolist() == [1.0, 3.0, 3.0, 8.0]
    assert X["colour=red"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert encoding.inputs(holes)["size"].tolist() == X["size"].tolist()


def test_rows_without_a_target_are_left_out(table):
    holes = table.assign(price=[1.0, np.nan, 3.0, 4.0])
    prepared = prepare(holes, "price", missing="impute")
    assert prepared.dropped == 1
    assert prepared.y.tolist() == [1.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["no", "yes", None, "no"], ["no", "yes", "no"]),
        ([True, None, False, True], [True, False, True]),
        ([1, 2, np.nan, 2], [1, 2, 2]),
        ([0.5, 1.0, np.nan, 1.0], [0.5, 1, 1]),
        (pd.Categorical(["b", "a", None, "a"]), ["b", "a", "a"]),
    ],
    ids=["text", "truth", "whole", "fractions", "categories"],
)
def test_classes_keep_their_labels(table, cells, labels):
    prepared = prepare(table.assign(price=cells), "price", missing="drop", kind="binary")
    assert prepared.y == labels
    assert [type(one) for one in prepared.y] == [type(one) for one in labels]
    assert prepared.dropped == 1
    with pytest.raises(TableError, match=r"1 of 4 rows have missing cells: price \(1\)"):
        prepare(table.assign(price=cells), "price", kind="binary")


def test_exposures_are_no_inputs_and_never_imputed(table):
    table = table.assign(years=[0.5, np.nan, 2.0, 1.0])
    prepared = prepare(table, "price", (), "impute", "count", exposure="years")
    assert prepared.exposure.tolist() == [0.5, 2.0, 1.0]
    assert prepared.dropped == 1
    assert "years" not in prepared.X
    assert "years" not in [column.name for column in prepared.encoding.columns]


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"price": [1.0, 2.0, -3.0, 4.0]}, {}, r"must be counts.*; saw -3.0 in row 3"),
        ({"price": [1.0, np.nan, 2.5, 4.0]}, {"missing": "drop"}, r"saw 2.5 in row 3"),
        ({"price": ["a", "b", "a", "b"]}, {}, "must be numbers, saw 'a' in row 1"),
        ({"price": 0}, {}, "every count is 0"),
        ({}, {"exposure": "time"}, "exposure: the table has no column 'time'"),
        ({}, {"exposure": "price"}, "exposure: column 'price' is the target"),
        ({}, {"exposure": "size", "ignore": ["size"]}, "the exposure 'size' cannot be left out"),
        ({}, {"exposure": "kind"}, "exposure: column 'kind' must be numbers, saw 'a' in row 1"),
        ({"size": [1.0, 0.0, 2.0, 3.0]}, {"exposure": "size"}, "positive; saw 0.0 in row 2"),
        ({"price": [1, 2, 3, 1]}, {"kind": "binary"}, "two classes; saw 3: 1, 2, 3"),
        ({"price": "x"}, {"kind": "binary"}, "two classes; saw 1: 'x'"),
        ({"price": [1, "a", 1, "a"]}, {"kind": "binary"}, "labels of one kind; saw 1, 'a'"),
        ({"price": pd.date_range("2020", periods=4)}, {"kind": "binary"}, "holds dates"),
    ],
)
def test_targets_that_do_not_suit_are_refused(table, change, options, said):
    with pytest.raises(TableError, match=said) as caught:
        prepare(table.assign(**change), "price", **({"kind": "count"} | options))
    assert "\n" not in str(caught.value)


def test_text_as_target_tells_of_classes(table):
    with pytest.raises(TableError, match="two classes need --likelihood bernoulli"):
        prepare(table, "kind")


def test_a_table_of_target_and_exposure_has_no_inputs(table):
    with pytest.raises(TableError, match="no column beside the target and the exposure"):
        prepare(table[["price", "size"]], "price", kind="count", exposure="size")


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"target": "cost"}, "target: the table has no column 'cost'"),
        ({}, {"ignore": ["cost"]}, "ignore: the table has no column 'cost'"),
        ({}, {"ignore": ["price"]}, "the target 'price' cannot be left out"),
        ({"price": ["a", "b", "c", "d"]}, {}, "target: column 'price' must be numbers, saw 'a'"),
        ({"size": [1.0, np.inf, 2.0, 3.0]}, {}, "column 'size' has infinite cells"),
        ({"size": [np.nan] * 4}, {"missing": "impute"}, "column 'size' is empty"),
        ({"size": pd.date_range("2020", periods=4)}, {}, "column 'size' holds dates"),
        ({"price": [1.0, np.nan, np.nan, np.nan]}, {"missing": "drop"}, "only 1 rows are left"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(table, change, options, said):
    with pytest.raises(TableError, match=said) as caught:
        prepare(table.assign(**change), **({"target": "price"} | options))
    assert "\n" not in str(caught.value)


def test_a_column_of_names_is_refused():
    table = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "y": range(40)})
    with pytest.raises(TableError, match="'name' has 40 different texts"):
        prepare(table, "y")


def test_a_target_alone_is_no_table():
    with pytest.raises(TableError, match="no column beside the target"):
        prepare(pd.DataFrame({"y": [1.0, 2.0]}), "y")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "cannot be read as a table"),
        ("a.csv", "x,y\n", "has no rows"),
        ("a.csv", "x,y\n1,2\n3,4,5\n", "cannot be read as a table"),
        ("a.csv", "x,x\n1,2\n", "more than one column 'x'"),
        ("a.xlsx", "x", "must end in .csv"),
        ("a.csv", b"x,y\n\xff\xfe,1\n", "not text in UTF-8"),
        ("a.parquet", "x,y\n1,2\n", "a.parquet"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, name, content, said):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TableError, match=said) as caught:
        read_table(file)
    assert "\n" not in str(caught.value)


def test_absent_files_and_folders_are_refused(tmp_path):
    with pytest.raises(TableError, match="there is no file"):
        read_table(tmp_path / "a.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def test_tables_are_read_to_the_last_digit(tmp_path):
    value = 0.1 + 0.2
    (tmp_path / "a.csv").write_text(f"x,y.1,y\n{value!r},2,3\n")
    (tmp_path / "a.tsv").write_text(f"x\ty\n{value!r}\t2\n")
    assert read_table(tmp_path / "a.csv")["x"][0] == value
    assert read_table(tmp_path / "a.csv").columns.tolist() == ["x", "y.1", "y"]
    assert read_table(tmp_path / "a.tsv")["x"][0] == value
