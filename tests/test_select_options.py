"""What `gpproj select` hands on of its options, and what it refuses, from a terminal or a file."""

from __future__ import annotations

import json
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.cli import commands, expected, main
from gpproj.cli.folding import folds_in_time
from gpproj.cli.outputs import other_rule
from gpproj.cli.settings import Settings
from gpproj.kernels import Constant, Linear, Matern52
from gpproj.kernels.names import named_kernel


@pytest.fixture
def call(monkeypatch, capsys):
    """Call the command line; return exit code, standard output and standard error."""

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["gpproj", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return called


def refused(answer, said):
    code, out, err = answer
    assert (code, out) == (1, "")
    assert err.startswith("gpproj: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((24, 3)), columns=["size", "age", "rooms"]).round(3)
    table["kind"] = rng.choice(["a", "b", "c"], 24)
    table["week"] = np.repeat(np.arange(12), 2)[::-1]
    table["price"] = (2 * table["size"] + table["age"] / 3).round(3)
    file = tmp_path_factory.mktemp("data") / "houses.csv"
    table.to_csv(file, index=False)
    return file


class Seen(ValueError):
    """Ends a call whose arguments are known."""


@pytest.fixture
def handed_on(call, csv, tmp_path, monkeypatch):
    """Return the keywords that a function of gpproj is given."""

    def called(function, *options):
        seen = {}

        def stop(*_, **keywords):
            seen.update(keywords)
            raise Seen("seen")

        fast = partial(gpproj.fit, draws=1)
        with monkeypatch.context() as patched:
            patched.setattr(gpproj, "fit", fast, raising=False)
            patched.setattr(gpproj, function, stop, raising=False)
            arguments = ("--target", "price", "--out", tmp_path / "run", "--json", *options)
            refused(call("select", csv, *arguments), "seen")
        return seen

    return called


def test_groups_costs_and_what_is_always_in_go_by_columns(handed_on):
    options = ("--group", "looks=kind,rooms", "--cost", "looks=5", "--cost", "age=2")
    seen = handed_on("forward_search", *options, "--always", "week")
    assert seen["groups"] == {"looks": ["kind=a", "kind=b", "kind=c", "rooms"]}
    assert seen["always"] == ["week"]
    assert seen["costs"] == {"looks": 5.0, "age": 2.0, "size": 1.0, "week": 1.0}


def test_a_column_of_levels_costs_one_whatever_their_number(handed_on):
    seen = handed_on("forward_search", "--cost", "size=3", "--always", "kind")
    assert seen["groups"] is None  # the reference knows what belongs together
    assert seen["always"] == ["kind=a", "kind=b", "kind=c"]
    assert seen["costs"]["kind"] == 1.0


def test_groups_without_costs_leave_them_to_the_search(handed_on):
    assert handed_on("forward_search", "--group", "both=size,age")["costs"] is None


def test_kernel_and_prior_are_handed_on(handed_on):
    seen = handed_on("fit", "--kernel", "linear+matern52", "--prior", "weak", "--transform", "log")
    assert seen["transform"] == "log"
    assert seen["kernel"] == Constant() + Linear() + Matern52()
    assert seen["prior"] == "weak"


def test_the_usual_kernel_and_prior_are_those_of_python(handed_on):
    assert not {"kernel", "prior", "transform"} & set(handed_on("fit"))


def test_later_rows_are_predicted_from_earlier_ones(handed_on):
    options = ("--folds", "3", "--ignore", "kind", "--max-inputs", 1)
    seen = handed_on("validate", "--time", "week", *options)
    assert [(train.size, test.size) for train, test in seen["folds"]] == [(12, 4), (16, 4), (20, 4)]
    weeks = np.repeat(np.arange(12), 2)[::-1]
    for train, test in seen["folds"]:
        assert weeks[train].max() < weeks[test].min()


def test_folds_are_repeated_with_other_rows(handed_on):
    options = ("--folds", "2", "--repeats", "3", "--ignore", "kind", "--max-inputs", 1)
    pairs = handed_on("validate", *options)["folds"]
    assert len(pairs) == 6
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        assert sorted([*first[1], *second[1]]) == list(range(24))
    assert len({tuple(test) for _, test in pairs}) == 6


@pytest.mark.parametrize(
    ("times", "folds", "sizes"),
    [
        (np.arange(10.0), 5, [(5, 1), (6, 1), (7, 1), (8, 1), (9, 1)]),
        (np.arange(10.0)[::-1], 2, [(5, 2), (7, 3)]),
        (np.repeat([1.0, 2.0, 3.0], 4), 2, [(4, 4), (8, 4)]),
    ],
)
def test_rows_of_the_same_time_stay_together(times, folds, sizes):
    found = folds_in_time(times, folds)
    assert [(train.size, test.size) for train, test in found] == sizes
    assert all(times[train].max() < times[test].min() for train, test in found)


@pytest.mark.parametrize("times", [np.zeros(8), np.repeat([0.0, 1.0], 4)])
def test_too_few_times_are_refused(times):
    with pytest.raises(ValueError, match="too few different times in the later half"):
        folds_in_time(times, 2)


def test_rule_and_tolerance_decide(call, csv, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "write_outputs", lambda run, cv: kept.append(cv) or run.folder)
    monkeypatch.setattr(gpproj, "fit", partial(gpproj.fit, draws=1), raising=False)
    kept = []
    options = ("--target", "price", "--folds", 2, "--max-inputs", 1, "--ignore", "kind", "--json")
    folder = tmp_path / "run"
    tolerance = ("--tolerance", 1000, "--tolerance-unit", "elpd")
    code, out, err = call("select", csv, *options, *tolerance, "--out", folder)
    assert (code, err) == (0, "")
    assert kept[0].margin == (1000.0, "elpd")
    assert json.loads(out)["suggested_size"] == 0
    assert call("select", "--resume", folder, "--json")[0] == 0
    assert kept[1].margin == (1000.0, "elpd")
    code, out, err = call("select", csv, *options, "--rule", "elpd", "--out", tmp_path / "other")
    assert (code, err) == (0, "")
    assert json.loads(out)["suggested_size"] == kept[2].smallest_enough("elpd")
    assert json.loads(out)["reference"]["rmse"] > 0.0


def test_another_rule_has_a_sentence_of_its_own(small_cv):
    assert other_rule(small_cv, "margin") is None
    size = small_cv.smallest_enough("elpd")
    assert f"By the rule elpd, which decides here, size {size} is enough: " in other_rule(
        small_cv, "elpd"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "prise"], "target: the table has no column 'prise'; did you mean 'price'?"),
        (["--ignore", "Room"], "ignore: the table has no column 'Room'; did you mean 'rooms'?"),
        (["--group", "size,age"], "group must be as NAME=first,second, got 'size,age'"),
        (["--group", "g=size,"], "group must be as NAME=first,second"),
        (["--group", "g=size", "--group", "g=age"], "group has 'g' twice"),
        (["--group", "g=size,agee"], "group: the table has no column 'agee'; did you mean 'age'?"),
        (["--group", "g=size", "--group", "h=size"], "column 'size' is in 'g' and 'h'"),
        (["--group", "age=size,rooms"], "'age' is the name of a column outside it"),
        (["--group", "g=size,price"], "group: column 'price' is the target"),
        (["--group", "g=size", "--always", "size"], "is in the group 'g'; name that"),
        (["--cost", "size"], "cost must be as COLUMN=2, got 'size'"),
        (["--cost", "size=-1"], "cost of 'size' must be a number above 0, got -1.0"),
        (["--cost", "size=nan"], "cost must be as COLUMN=2"),
        (["--cost", "size=inf"], "must be a number above 0, got inf"),
        (["--cost", "sizes=1"], "cost: the table has no column 'sizes'; did you mean 'size'?"),
        (["--cost", "size=2", "--ignore", "size"], "cost: column 'size' is left out"),
        (["--group", "g=size", "--cost", "g=2", "--cost", "size=1"], "both have one"),
        (["--always", "sise"], "always: the table has no column 'sise'; did you mean 'size'?"),
        (["--max-inputs", "4", "--group", "g=size,age,rooms"], "at most the number of columns, 3"),
        (["--kernel", "rbf"], "kernel must be one of linear, matern32"),
        (["--kernel", "linear+linear"], "kernel must be one of linear, matern32"),
        (["--transform", "sqrt"], "transform must be one of box-cox, log, logit, yeo-johnson"),
        (["--transform", "log", "--likelihood", "poisson"], "transform is for real numbers, not"),
        (["--prior", "flat"], "prior must be one of botorch, inverse-gamma"),
        (["--time", "week", "--row-groups", "kind"], "cannot both say which rows go together"),
        (["--time", "week", "--repeats", "2"], "repeats is for random folds"),
        (["--time", "week", "--validate", "loo"], "leaves out single rows, which time forbids"),
        (["--repeats", "2", "--validate", "loo"], "repeats is for kfold"),
        (["--time", "kind"], "time: column 'kind' must hold numbers or dates"),
        (["--time", "weak"], "time: the table has no column 'weak'; did you mean 'week'?"),
        (["--folds", "25"], "folds must be at most the number of rows, 24; got 25"),
        (
            ["--row-groups", "kind", "--folds", "4"],
            "at most the number of groups of rows, 3; got 4",
        ),
        (["--time", "week", "--folds", "9"], "too few different times in the later half"),
        (["--tolerance", "0"], "tolerance must be a number above 0"),
        (["--tolerance", "2"], "tolerance must be a share below 1 of the gain"),
        (["--tolerance", "2", "--tolerance-unit", "elbow"], "tolerance-unit must be among gain"),
        (["--tolerance", "2", "--rule", "se"], "tolerance is for the rule margin"),
        (["--rule", "two"], "rule must be one of elpd, margin, se; got 'two'"),
        (["--sep", "ab"], "sep must be one character"),
        (["--encoding", "utf-99"], "encoding must be one that Python knows"),
    ],
)
def test_options_that_cannot_be_used(call, csv, tmp_path, options, said):
    folder = tmp_path / "run"
    refused(call("select", csv, "--target", "price", *options, "--out", folder), said)
    assert not folder.exists()


def test_nothing_is_left_to_search(call, csv, tmp_path):
    names = ("size", "age", "rooms", "kind", "week")
    every = [word for name in names for word in ("--always", name)]
    answer = call("select", csv, "--target", "price", *every, "--out", tmp_path / "run")
    refused(answer, "nothing is left to search")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ignore = 3", "ignore must be a name or a list of names, got 3"),
        ("ignore = [1, 2]", "ignore must be a name or a list of names, got [1, 2]"),
        ("target = 3", "target must be text, got 3"),
        ("data = []", "the setting 'data' is missing"),
        ('folds = "five"', "folds must be a whole number of at least 2, got 'five'"),
        ("folds = true", "folds must be a whole number of at least 2, got True"),
        ("header = 1", "header must be true or false, got 1"),
        ("likelihood = 1", "likelihood must be one of auto, bernoulli"),
        ("missing = []", "missing must be one of drop, error, impute, indicate; got []"),
        ("exposure = true", "exposure must be text, got True"),
        ("group = 1", "group must be a name or a list of names, got 1"),
        ("group = {g = 1}", "group 'g' must be a name or a list of names, got 1"),
        ("cost = {size = 'two'}", "cost of 'size' must be a number above 0, got 'two'"),
        ("tolerance = 'much'", "tolerance must be a number above 0, got 'much'"),
        ("device = 1", "device must be text, got 1"),
        ("out = 5", "out must be text, got 5"),
        ("likelyhood = 'poisson'", "no setting 'likelyhood'; did you mean likelihood?"),
        ("max-input = 5", "there is no setting 'max_input'; did you mean max_inputs?"),
        ("folds = ", "is not TOML"),
    ],
)
def test_files_with_settings_of_the_wrong_kind(call, csv, tmp_path, line, said):
    own = line.partition(" ")[0]
    lines = [one for one in (f'data = "{csv}"', 'target = "price"') if not one.startswith(own)]
    (tmp_path / "run.toml").write_text("\n".join([*lines, line]))
    refused(call("select", "--config", tmp_path / "run.toml", "--out", tmp_path / "run"), said)
    assert not (tmp_path / "run").exists()


def test_a_file_says_the_same_as_options(csv):
    lists = {"group": ["g=size,age"], "cost": ["g=2.5"], "always": "rooms"}
    tables = {"group": {"g": ["size", "age"]}, "cost": {"g": 2.5}, "always": ["rooms"]}
    common = {"data": str(csv), "target": "price", "header": False, "tolerance": 0.1}
    settings = Settings.of(common | lists, "")
    assert settings == Settings.of(common | tables, "run.toml")
    command = settings.command("run").split(" --target ")[1]
    assert command == (
        "price --no-header --group g=size,age --cost g=2.5 --always rooms --tolerance 0.1 --out run"
    )


def test_a_refused_call_does_not_block_its_folder(call, csv, tmp_path, monkeypatch):
    folder = tmp_path / "run"

    def failing(*_, **__):
        raise ValueError("the fit went wrong")

    options = ("--target", "price", "--ignore", "kind", "--max-inputs", 1, "--folds", 2, "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr(gpproj, "fit", failing, raising=False)
        refused(call("select", csv, *options, "--out", folder), "the fit went wrong")
    monkeypatch.setattr(gpproj, "fit", partial(gpproj.fit, draws=1), raising=False)
    monkeypatch.setattr(commands, "write_outputs", lambda run, _: run.folder)
    assert call("select", csv, *options, "--seed", 4, "--out", folder) == (0, "", "")
    assert json.loads((folder / "config.json").read_text())["seed"] == 4
    refused(call("select", csv, *options, "--out", folder), "is there already")


@pytest.mark.parametrize("content", ["", "[]", '{"digest": 1}', '{"encoding": [{"name": 1}]}'])
def test_damaged_notes_on_the_data_are_said_in_one_line(call, csv, tmp_path, monkeypatch, content):
    def failing(*_, **__):
        raise ValueError("the fit went wrong")

    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(gpproj, "fit", failing, raising=False)
        refused(call("select", csv, "--target", "price", "--out", folder, "--quiet"), "went wrong")
    (folder / "state" / "data.json").write_text(content)
    refused(call("select", "--resume", folder, "--quiet"), "data.json is damaged; make a new run")


def test_classes_are_found_out_and_said(call, csv, tmp_path, monkeypatch):
    table = pd.read_csv(csv).assign(sold=np.tile([0, 1], 12))
    table.to_csv(tmp_path / "sold.csv", index=False)

    def stop(*_, likelihood, **__):
        raise ValueError(f"seen {likelihood}")

    monkeypatch.setattr(gpproj, "fit", stop, raising=False)
    arguments = ("select", tmp_path / "sold.csv", "--target", "sold", "--ignore", "kind", "--out")
    code, _, err = call(*arguments, tmp_path / "run")
    assert code == 1
    first, last = err.splitlines()[0], err.splitlines()[-1]
    assert first.startswith("note: target: column 'sold' has two values, 0, 1, which are taken for")
    assert last == "gpproj: seen bernoulli"
    assert json.loads((tmp_path / "run" / "config.json").read_text())["likelihood"] == "bernoulli"
    assert "which are taken for classes" in (tmp_path / "run" / "log.txt").read_text()
    refused(call(*arguments, tmp_path / "b", "--likelihood", "gaussian", "--json"), "seen gaussian")


def test_kernels_have_names():
    assert named_kernel("squared-exponential").__class__.__name__ == "Sum"
    with pytest.raises(ValueError, match="got 'matern'"):
        named_kernel("matern")


def seconds_of(csv, monkeypatch, *, n_jobs=1, steps=3, **options):
    """What is expected of a run where an evaluation takes a millisecond."""
    monkeypatch.setattr(expected, "evaluation_seconds", lambda *_, **__: 1e-3)
    settings = Settings.of({"data": str(csv), "target": "price"} | options, "").read()
    return settings[0], expected.expected_seconds(settings[0], settings[1], steps, n_jobs)


def test_more_work_is_expected_to_take_longer(csv, monkeypatch):
    _, usual = seconds_of(csv, monkeypatch)
    assert list(usual) == ["reference", "search", "validation"]
    assert usual["validation"] > usual["search"] + usual["reference"]
    assert seconds_of(csv, monkeypatch, steps=5)[1]["search"] > usual["search"]
    assert seconds_of(csv, monkeypatch, max_inputs=1)[1]["search"] < usual["search"]
    own = seconds_of(csv, monkeypatch, kernel="linear")[1]
    assert own["reference"] == pytest.approx(usual["reference"] / 2)
    sampled = seconds_of(csv, monkeypatch, sample=True)[1]
    assert sampled["reference"] > usual["reference"]
    assert sampled["validation"] < usual["validation"]  # no folds, in which it would be repeated
    twice = seconds_of(csv, monkeypatch, repeats=2)[1]
    assert twice["validation"] == pytest.approx(2 * usual["validation"])
    assert seconds_of(csv, monkeypatch, n_jobs=2)[1]["validation"] < usual["validation"]


def test_how_long_it_takes_is_said_with_what_makes_it_shorter(csv, monkeypatch):
    settings, seconds = seconds_of(csv, monkeypatch)
    long = {"reference": 8.0, "search": 52.0, "validation": 240.0}
    assert expected.sentence(long, settings, 9, 1) == (
        "about 5 min in all: reference 8 s, search 52 s, validation 4 min; "
        "--n-jobs -1 and --max-inputs 6 make it shorter"
    )
    assert expected.sentence(long, settings, 5, 1).endswith("; --n-jobs -1 makes it shorter")
    settings, seconds = seconds_of(csv, monkeypatch, max_inputs=2)
    assert expected.sentence(seconds, settings, 9, 2).endswith(" s")


def test_an_evaluation_is_timed(csv):
    settings, prepared, _ = Settings.of({"data": str(csv), "target": "price"}, "").read()
    assert 0.0 < expected.evaluation_seconds(settings, prepared, 10) < 10.0
    assert 0.0 < expected.evaluation_seconds(settings, prepared, 10, "gaussian") < 10.0


def test_the_log_has_how_long_it_will_take(handed_on, tmp_path):
    handed_on("validate", "--max-inputs", 1, "--ignore", "kind")
    log = (tmp_path / "run" / "log.txt").read_text().splitlines()
    assert sum(" in all: reference " in line for line in log) == 1
    assert " in all: reference " in log[0]


def test_new_rows_are_read_as_the_table_of_the_run_was(tmp_path):
    settings = Settings(str(tmp_path / "a.csv"), "y", sep="|", header=False, as_number=("column2",))
    (tmp_path / "new.csv").write_text("1,5|2 m2\n2,5|3 m2\n")
    table = settings.table(tmp_path / "new.csv").frame
    assert table["column1"].tolist() == [1.5, 2.5]
    assert table["column2"].tolist() == [2.0, 3.0]
    (tmp_path / "new.tsv").write_text("1.5\n2.5\n")  # of another kind, and without the column
    assert settings.table(tmp_path / "new.tsv").frame["column1"].tolist() == [1.5, 2.5]
