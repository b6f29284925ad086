"""`gpproj predict`: tables of any kind and length, through files and standard streams."""

from __future__ import annotations

import io
import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.cli import main, streams
from gpproj.cli.predicting import RunPredictor, predictor_of
from gpproj.cli.run import encoding_of
from gpproj.data.encoding import TableError
from gpproj.io.delimited import TableForm
from gpproj.io.reading import Reading, read_table
from tests.test_select import OPTIONS, completed, make_table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_table().to_csv(folder / "houses.csv", index=False)
    return completed(folder / "houses.csv", OPTIONS, folder / "run")


@pytest.fixture
def new():
    table = make_table(seed=4, n=9).drop(columns="price")
    return table.assign(code=[f"00{k}" for k in range(9)])


@pytest.fixture
def call(monkeypatch, capsys):
    """Call the command line with a text as standard input."""

    def called(*arguments, given=""):
        monkeypatch.setattr(sys, "argv", ["gpproj", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return called


def expected(run, table):
    sub = gpproj.load(run / "validation").submodel(2)
    X = encoding_of(run).inputs(table)
    lower, upper = sub.predict_interval(X)
    return pd.DataFrame({"mean": sub.predict_response(X).mean, "lower": lower, "upper": upper})


def test_every_kind_of_table_gives_the_same(run, new, call, tmp_path):
    pytest.importorskip("pyarrow")
    wanted = expected(run, new)
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_csv(tmp_path / "new.tsv", index=False, sep="\t")
    new.to_json(tmp_path / "new.jsonl", orient="records", lines=True, double_precision=15)
    new.to_parquet(tmp_path / "new.parquet")
    for kind in ("csv", "tsv", "jsonl", "parquet"):
        out = tmp_path / f"{kind}.csv"
        code, _, err = call("predict", run, tmp_path / f"new.{kind}", "--size", 2, "--out", out)
        assert code == 0, err
        found = pd.read_csv(out)
        assert found.columns.tolist() == ["mean", "lower", "upper", "prior_share", "far"]
        np.testing.assert_allclose(found[wanted.columns], wanted, rtol=1e-9)


def test_standard_streams_are_read_and_written(run, new, call, tmp_path):
    text = new.to_csv(index=False)
    code, out, err = call("predict", run, "--size", 2, given=text)
    assert (code, err) == (0, "")
    wanted = expected(run, new)
    found = pd.read_csv(io.StringIO(out))
    np.testing.assert_allclose(found[wanted.columns], wanted, rtol=1e-9)
    lines = new.to_json(orient="records", lines=True, double_precision=15)
    options = ("--from", "jsonl", "--to", "jsonl", "--id", "code")
    code, out, err = call("predict", run, "-", "--size", 2, *options, given=lines)
    assert (code, err) == (0, "")
    read = [json.loads(line) for line in out.splitlines()]
    assert [one["code"] for one in read] == new["code"].tolist()
    np.testing.assert_allclose([one["mean"] for one in read], wanted["mean"], rtol=1e-9)


def test_parts_give_what_the_whole_does(run, new, call, tmp_path, monkeypatch):
    new.to_csv(tmp_path / "new.csv", index=False)
    whole = call("predict", run, tmp_path / "new.csv", "--size", 2, "--keep")[1]
    monkeypatch.setattr(streams, "ROWS", 2)
    code, parts, err = call("predict", run, tmp_path / "new.csv", "--size", 2, "--keep")
    assert (code, parts, err) == (0, whole, "")
    assert whole.splitlines()[0].startswith("size,age,kind,code,mean,")
    assert len(whole.splitlines()) == 10


def test_texts_that_are_passed_through_become_no_formulas(capsys):
    texts = ["=1+1", "@sum", "-x", "-2.5", "fine"]
    part = pd.DataFrame({"note": texts, "=name": [1.5, -2.0, 3.0, 4.0, 5.0]})
    streams.Writer(sys.stdout, ".csv").write(part)
    names, *lines = capsys.readouterr().out.splitlines()
    assert names == "note,'=name"
    assert lines == ["'=1+1,1.5", "'@sum,-2.0", "'-x,3.0", "-2.5,4.0", "fine,5.0"]
    streams.Writer(sys.stdout, ".jsonl").write(part)
    assert [json.loads(line)["note"] for line in capsys.readouterr().out.splitlines()] == texts


def test_rows_are_said_to_be_far(run, new, call):
    new.loc[3, "size"] = 1e12
    out = call("predict", run, "--size", 2, "--id", "size", given=new.to_csv(index=False))[1]
    found = pd.read_csv(io.StringIO(out))
    assert found["far"].tolist().count("yes") == 1
    assert found["far"][3] == "yes"
    assert found["prior_share"][3] > 0.99
    assert (found["prior_share"].drop(3) < 0.9).all()
    sub = gpproj.load(run / "validation").submodel(2)
    trained = sub.prior_share(encoding_of(run).inputs(make_table()))
    assert (trained < 0.2).all()


def test_files_are_not_overwritten_silently(run, new, call, tmp_path):
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("predict", run, tmp_path / "new.csv", "--size", 2, "--out", tmp_path / "p.csv")
    assert call(*arguments)[0] == 0
    before = (tmp_path / "p.csv").read_bytes()
    code, _, err = call(*arguments, "--level", 0.5)
    assert code == 1
    assert "p.csv exists; --overwrite replaces it" in " ".join(err.split())
    assert (tmp_path / "p.csv").read_bytes() == before
    assert call(*arguments, "--level", 0.5, "--overwrite")[0] == 0
    assert (tmp_path / "p.csv").read_bytes() != before


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda t: t.drop(columns="size"), (), "the table has no column 'size'"),
        (lambda t: t, ("--id", "nowhere"), "id: the table has no column 'nowhere'"),
        (lambda t: t.assign(mean=1.0), ("--keep",), "column 'mean' has the name of a prediction"),
        (lambda t: t.assign(kind="z"), (), "column 'kind' has 'z' in row 1, which the model has n"),
        (lambda t: t.iloc[:0], (), "- has no rows"),
        (lambda t: t, ("--from", "xml"), "- must be of one of the kinds csv, tsv, txt, jsonl, ndj"),
        (lambda t: t, ("--from", "parquet"), "a Parquet table is read from its end: give a file"),
        (lambda t: t, ("--out", "p.parquet"), "p.parquet must be of one of the kinds csv, tsv"),
        (lambda t: t, ("--level", "95"), "level must be between 0 and 1, got 95"),
        (lambda t: t.rename(columns={"age": "size"}), (), "more than one column 'size'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, new, call, change, options, said):
    text = change(new).to_csv(index=False)
    code, _, err = call("predict", run, "--size", 2, *options, given=text)
    assert code == 1
    assert said in err
    assert len(err.splitlines()) == 1


def test_files_that_are_not_there_are_said(run, call, tmp_path):
    for file, said in (
        (tmp_path / "none.csv", "there is no file"),
        (tmp_path, "is a folder, not a table"),
    ):
        code, _, err = call("predict", run, file, "--size", 2)
        assert code == 1
        assert said in err


@pytest.mark.parametrize("missing", ["error", "drop", "impute"])
def test_missing_cells_are_treated_as_the_run_had_it(run, new, call, tmp_path, missing):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"missing": missing}))
    if missing == "impute":
        data = json.loads((folder / "state" / "data.json").read_text())
        for column in data["encoding"]:
            column["fill"] = {"size": 0.5, "age": 0.0, "kind": "a"}[column["name"]]
        (folder / "state" / "data.json").write_text(json.dumps(data))
    holes = new.copy()
    holes.loc[2, "size"] = np.nan
    text = holes.to_csv(index=False)
    code, out, err = call("predict", folder, "--size", 2, "--id", "code", given=text)
    if missing == "error":
        assert code == 1
        assert "column 'size' has 1 missing cells" in err
        return
    assert code == 0, err
    found = pd.read_csv(io.StringIO(out))
    assert len(found) == 9
    if missing == "drop":
        assert np.flatnonzero(found["mean"].isna()).tolist() == [2]
        assert "1 line has missing cells and no prediction" in err
    else:
        filled = new.assign(size=np.where(np.arange(9) == 2, 0.5, new["size"]))
        np.testing.assert_allclose(found["mean"], expected(run, filled)["mean"], rtol=1e-9)
        assert err == ""


def test_levels_that_look_like_numbers_stay_texts_in_every_part(monkeypatch):
    table = pd.DataFrame({"code": ["1", "02", "x", "3"], "size": [1.0, 2.0, 3.0, 4.0]})
    file = io.BytesIO(table.to_csv(index=False).encode())
    monkeypatch.setattr(streams, "ROWS", 2)
    parts = list(streams._parts(file, ".csv", Reading(texts=("code",))))
    assert pd.concat(parts)["code"].tolist() == ["1", "02", "x", "3"]


FRENCH = """nom;taille;note;prix
été;1,5;12 m2;-1
=x;2,25;13 m2;4,5
"a; b";inconnu;14 m2;6
d;;;
e;3,5;15 m2;7,25
"""


@pytest.mark.parametrize(
    ("encoding", "told"), [("cp1252", True), ("utf-16", True), ("utf-16", False), ("utf-8", False)]
)
def test_parts_are_read_as_the_whole_table_is(tmp_path, monkeypatch, encoding, told):
    file = tmp_path / "maisons.csv"
    file.write_bytes(FRENCH.encode(encoding))
    form = TableForm(";", ",", encoding) if told else TableForm()
    reading = Reading(form, ("note",), ("inconnu",), partial=True)
    monkeypatch.setattr(streams, "ROWS", 3)
    parts = list(streams.parts_of(str(file), ".csv", reading))
    assert len(parts) == 2
    pd.testing.assert_frame_equal(pd.concat(parts), read_table(file, reading))


def test_a_row_of_a_later_part_with_a_cell_too_many_is_named(tmp_path, monkeypatch):
    file = tmp_path / "table.csv"
    file.write_text("a,b\n1,2\n3,4\n5,6,7\n")
    monkeypatch.setattr(streams, "ROWS", 2)
    with pytest.raises(TableError, match=r"row 3 \(line 4\) has 3 cells and the first line has 2"):
        list(streams.parts_of(str(file), ".csv", Reading()))


def test_a_run_has_its_predictor(run, new):
    predictor = predictor_of(run, 2, 0.8)
    assert isinstance(predictor, RunPredictor)
    assert set(predictor.needed) <= {"size", "age", "kind"}
    only = predictor.predicted(new[list(predictor.needed)])
    assert list(only.columns) == list(predictor.names)
