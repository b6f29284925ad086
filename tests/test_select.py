"""`gpproj select`, `predict` and `report`: a table in, an answer out, one line if it cannot be."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj import inference
from gpproj.cli import main
from gpproj.cli.display import comparison_table, score_table
from gpproj.cli.outputs import _tables, answer_of
from gpproj.cli.run import Run
from gpproj.cli.settings import Settings
from gpproj.data import raw_rows
from gpproj.linalg import LowRankCovariance


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    plt.close("all")


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


def make_table(seed=0, n=24):
    rng = np.random.default_rng(seed)
    size, age = rng.standard_normal((2, n))
    kind = rng.choice(["a", "b", "c"], n)
    price = 2 * np.sin(size) + (kind == "b") + 0.1 * rng.standard_normal(n)
    return pd.DataFrame({"size": size, "age": age, "kind": kind, "price": price})


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "houses.csv"
    make_table().to_csv(file, index=False)
    return file


OPTIONS = ("--target", "price", "--max-inputs", 2, "--folds", 2, "--seed", 3)


def completed(file, options, folder):
    """A completed run, made as users make it."""
    with pytest.MonkeyPatch.context() as patched:
        arguments = ["gpproj", "select", file, *options, "--out", folder, "--quiet"]
        patched.setattr(sys, "argv", [str(one) for one in arguments])
        with pytest.raises(SystemExit) as left:
            main()
    assert left.value.code == 0
    return folder


@pytest.fixture(scope="module")
def run(csv, tmp_path_factory):
    return completed(csv, OPTIONS, tmp_path_factory.mktemp("runs") / "run")


def make_sales(n=40):
    """Two classes, and counts with exposures, that the size explains."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((n, 2)), columns=["size", "age"])
    table["kind"] = rng.choice(["a", "b"], n)
    sold = 2.5 * table["size"] + 0.5 * rng.logistic(size=n) > 0
    table["sold"] = np.where(sold, "yes", "no")
    table["years"] = rng.uniform(0.5, 3.0, n)
    table["visits"] = rng.poisson(table["years"] * np.exp(1.0 + 0.8 * table["size"]))
    return table


@pytest.fixture(scope="module")
def sales(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "sales.csv"
    make_sales().to_csv(file, index=False)
    return file


SHORT = ("--max-inputs", 1, "--folds", 2, "--seed", 2)
CLASSES = ("--target", "sold", "--likelihood", "bernoulli", "--ignore", "years")
COUNTS = ("--target", "visits", "--likelihood", "poisson", "--exposure", "years")


@pytest.fixture(scope="module")
def class_run(sales, tmp_path_factory):
    options = (*CLASSES, "--ignore", "visits", *SHORT)
    return completed(sales, options, tmp_path_factory.mktemp("runs") / "classes")


@pytest.fixture(scope="module")
def count_run(sales, tmp_path_factory):
    options = (*COUNTS, "--ignore", "sold", *SHORT)
    return completed(sales, options, tmp_path_factory.mktemp("runs") / "counts")


def test_groups_of_rows_are_no_input_and_stay_together(sales, tmp_path):
    table = pd.read_csv(sales)
    table["who"] = [f"person {row // 5}" for row in range(len(table))]
    table.to_csv(tmp_path / "grouped.csv", index=False)
    options = ("--target", "age", "--row-groups", "who", "--ignore", "sold", *SHORT)
    folder = completed(tmp_path / "grouped.csv", options, tmp_path / "run")
    cv = gpproj.load(folder / "validation")
    assert "who" not in cv.reference.feature_names
    assert len(cv.reference.problem.row_groups) == 8
    for start in range(0, len(table), 5):
        own = cv.scores.fold[np.isin(cv.scores.rows, np.arange(start, start + 5))]
        assert len(set(own)) == 1


def test_a_run_holds_everything(run):
    held = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    tables = ("path", "scores", "reference", "pointwise", "candidates", "relevance", "ranking")
    assert {f"tables/{name}.csv" for name in tables} <= held
    assert {"config.json", "log.txt", "report.html"} <= held
    assert {"plots/score.png", "plots/error.png", "plots/ranking.png"} <= held
    assert {"validation/manifest.json", "submodel/manifest.json"} <= held
    assert not any(name.endswith(".tmp") for name in held)
    settings = json.loads((run / "config.json").read_text())
    assert settings["target"] == "price"
    assert settings["seed"] == 3
    assert "validation took" in (run / "log.txt").read_text()


def test_the_levels_of_a_column_enter_together(run):
    path = gpproj.load(run / "validation").path
    assert set(path.order) <= {"size", "age", "kind"}
    assert {unit.name: len(unit.positions) for unit in path.units}.get("kind", 3) == 3


def test_it_prints_a_table_the_answer_and_the_report(call, csv, tmp_path, wide_screen):
    code, out, _ = call("select", csv, *OPTIONS, "--out", tmp_path / "run")
    assert code == 0
    assert "Validated scores by size" in out
    assert gpproj.load(tmp_path / "run" / "validation").answer() in out.replace("\n", " ")
    assert "report written to" in out


@pytest.mark.slow
def test_plain_models_are_shown_beside_the_submodels(call, csv, tmp_path, wide_screen):
    folder = tmp_path / "run"
    options = ("--target", "price", "--ignore", "kind", "--max-inputs", 1, "--folds", 2)
    plain = ("--compare", "linear")
    code, out, err = call("select", csv, *options, *plain, "--out", folder)
    assert code == 0, err
    assert "Elpd less the reference, same inputs" in out
    assert json.loads((folder / "config.json").read_text())["compare"] == ["linear"]
    table = pd.read_csv(folder / "tables" / "comparison.csv")
    assert table["model"].tolist() == ["submodel", "linear"] * 2
    assert {"elpd_diff", "mlpd", "rmse", "r2_diff_se"} <= set(table)
    answer = json.loads(call("select", "--resume", folder, "--json")[1])
    assert [one["model"] for one in answer["comparison"]] == ["submodel", "linear"] * 2
    assert answer["comparison"][3]["elpd"] == pytest.approx(table["elpd"][3])


def test_plain_models_in_the_terminal_have_a_line_for_each_size(small_cv):
    cv = replace(small_cv, compared={"process": small_cv.scores, "linear": small_cv.scores})
    table = comparison_table(cv)
    models = ["submodel", "process", "linear"]
    heads = [head for model in models for head in (model, f"{model} se")]
    assert [column.header for column in table.columns] == ["size", *heads]
    assert table.row_count == 6


def test_json_is_one_line_for_machines(call, run):
    code, out, err = call("select", "--resume", run, "--json")
    assert code == 0
    assert err == ""
    answer = json.loads(out)
    assert out.count("\n") == 1
    cv = gpproj.load(run / "validation")
    assert answer["suggested_size"] == cv.smallest_enough()
    assert answer["order"] == list(cv.path.order)
    assert answer["scores"][0]["agreement"] is None


@pytest.mark.parametrize(
    ("name", "stats"),
    [
        ("small_cv", ["rmse", "r2"]),
        ("class_cv", ["accuracy", "auc"]),
        ("count_cv", ["rmse", "deviance"]),
    ],
)
def test_statistics_in_the_terminal_suit_the_targets(request, name, stats):
    table = score_table(request.getfixturevalue(name))
    heads = [column.header for column in table.columns]
    common = ["size", "input", "verdict", "kept", "elpd diff", "elpd diff se"]
    assert heads == [*common, *stats]
    assert table.row_count == 7
    last = [list(column.cells)[-1] for column in table.columns]
    assert last[:6] == ["", "reference", "", "all", "0", ""]
    assert all(last[6:])


def test_the_terminal_shows_best_inputs_that_did_not_enter_first(exchanged_cv):
    heads = [column.header for column in score_table(exchanged_cv).columns]
    assert heads[:3] == ["size", "input", "best inputs"]


def test_tables_hold_every_statistic_that_suits_the_targets(class_cv):
    tables = _tables(class_cv)
    for stat in ("elpd", "mlpd", "accuracy", "auc", "brier", "deviance"):
        assert stat in tables["scores"]
        assert stat in tables["reference"].index
    answer = answer_of(class_cv, Path("report.html"), Settings("a.csv", "y", "bernoulli"))
    assert answer["scores"][0]["auc"] > 0.0
    assert answer["likelihood"] == "bernoulli"
    assert answer["reference"]["auc"] > 0.0


def test_classes_from_a_table_to_a_report(call, class_run):
    code, out, _ = call("select", "--resume", class_run, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["likelihood"] == "bernoulli"
    assert answer["inputs"] == ["size"]
    assert answer["scores"][1]["auc"] > 0.8
    cv = gpproj.load(class_run / "validation")
    assert cv.reference.classes == cv.path[1].classes == ("no", "yes")
    page = (class_run / "report.html").read_text()
    assert "AUC" in page
    assert "--target sold --likelihood bernoulli" in page


def test_classes_are_predicted_by_name(call, class_run, sales, tmp_path):
    out = tmp_path / "predictions.csv"
    assert call("predict", class_run, sales, "--out", out, "--size", 1)[0] == 0
    table = pd.read_csv(out)
    assert table.columns.tolist() == ["class", "probability of yes", "prior_share", "far"]
    p = gpproj.load(class_run / "submodel").predict_response(make_sales()[["size"]]).mean
    np.testing.assert_allclose(table["probability of yes"], p, rtol=1e-12)
    assert table["class"].tolist() == np.where(p >= 0.5, "yes", "no").tolist()


def test_counts_are_predicted_with_their_exposure(call, count_run, sales, tmp_path):
    out, page = tmp_path / "predictions.csv", (count_run / "report.html").read_text()
    assert "--likelihood poisson --exposure years" in page
    reference = gpproj.load(count_run / "validation").reference
    assert "years" not in reference.feature_names
    assert call("predict", count_run, sales, "--out", out, "--size", 1)[0] == 0
    table, seen = pd.read_csv(out), make_sales()
    sub = gpproj.load(count_run / "validation").path[1]
    expected = sub.predict_response(seen[["size"]], seen["years"]).mean
    np.testing.assert_allclose(table["mean"], expected, rtol=1e-12)
    assert (table["lower"] >= 0).all()
    assert seen["visits"].between(table["lower"], table["upper"]).mean() > 0.85
    seen.drop(columns="years").to_csv(tmp_path / "new.csv", index=False)
    arguments = ("predict", count_run, tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    refused(call(*arguments, "--size", 1), "exposure: the table has no column 'years'")


@pytest.mark.parametrize(
    ("change", "said"), [(-1, "an older gpproj, 0.0.7, which searched"), (1, "a newer gpproj, 0.0")]
)
def test_runs_of_other_formats_are_not_continued(call, run, tmp_path, change, said):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    config = json.loads((folder / "config.json").read_text())
    other = {"format": config["format"] + change, "gpproj": "0.0.7"}
    (folder / "config.json").write_text(json.dumps(config | other))
    refused(call("select", "--resume", folder), said)


@pytest.fixture
def exchanged_run(exchanged_cv, call, monkeypatch, tmp_path, wide_screen):
    """A run whose best pair is not the one that was grown, and what it printed."""

    def found(run):
        run._prepared()
        return exchanged_cv

    monkeypatch.setattr(Run, "complete", found)
    training = exchanged_cv.reference.training
    table = raw_rows(training, range(training.n)).X.assign(price=np.arange(training.n))
    table.to_csv(tmp_path / "table.csv", index=False)
    folder = tmp_path / "run"
    code, out, err = call("select", tmp_path / "table.csv", *OPTIONS, "--out", folder)
    assert code == 0, err
    return folder, out


def test_the_best_inputs_are_told_saved_and_predicted_with(call, exchanged_run, exchanged_cv):
    folder, out = exchanged_run
    assert exchanged_cv.path[2].inputs == ("c", "a")
    assert "best inputs" in out
    assert exchanged_cv.answer() in out
    assert exchanged_cv.size_in_question == 2
    assert gpproj.load(folder / "submodel").inputs == ("a", "b")
    assert pd.read_csv(folder / "tables" / "scores.csv")["best_inputs"][2] == "a, b"
    answer = json.loads(call("select", "--resume", folder, "--json")[1])
    assert answer["inputs"] is None  # no size is shown to be enough
    assert answer["order"] == ["c", "a"]
    new = pd.DataFrame({"a": [0.5, 1.0], "b": [-1.0, 0.0]})
    new.to_csv(folder / "new.csv", index=False)
    arguments = ("predict", folder, folder / "new.csv", "--out", folder / "p.csv", "--size", 2)
    assert call(*arguments) == (0, "", "")
    mean = exchanged_cv.path.best(2).predict_response(new).mean
    np.testing.assert_allclose(pd.read_csv(folder / "p.csv")["mean"], mean, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "learn", "criterion"),
    [
        ([], "loo", None),
        (["--learn", "projection"], "projection", None),
        (
            ["--learn", "projection", "--criterion", "loo_divergence"],
            "projection",
            "loo_divergence",
        ),
    ],
)
def test_how_submodels_are_learned_is_handed_on(
    call, csv, tmp_path, monkeypatch, options, learn, criterion
):
    seen = {}

    def stop(*_, **settings):
        seen.update(settings)
        raise ValueError("seen")

    monkeypatch.setattr(gpproj, "forward_search", stop, raising=False)
    folder = tmp_path / "run"
    refused(call("select", csv, *OPTIONS, *options, "--out", folder, "--json"), "seen")
    assert (seen["learn"], seen["criterion"]) == (learn, criterion)
    seen.clear()
    refused(call("select", "--resume", folder, "--json"), "seen")
    assert (seen["learn"], seen["criterion"]) == (learn, criterion)


@pytest.mark.slow
def test_inducing_points_from_a_table_to_a_report(call, csv, tmp_path, monkeypatch):
    def refuse(self):
        raise AssertionError(f"{self!r} as a matrix")

    monkeypatch.setattr(LowRankCovariance, "dense", refuse)
    folder = tmp_path / "run"
    code, out, err = call("select", csv, *OPTIONS, "--inducing", 9, "--out", folder)
    assert code == 0, err
    told = "9 inducing points stand for 24 rows"
    assert f"note: {told}" in err
    assert told not in out
    assert told in (folder / "log.txt").read_text()
    assert json.loads((folder / "config.json").read_text())["inducing"] == 9
    cv = gpproj.load(folder / "validation")
    assert cv.reference.problem.inducing.count == 9
    assert cv.reference.recipe.keywords["inference"].inducing == 9
    page = (folder / "report.html").read_text()
    assert "--inducing 9 --folds 2 --max-inputs 2 --seed 3" in page
    assert "<dt>Inducing points</dt><dd>9, vfe</dd>" in page
    before = (folder / "tables" / "scores.csv").read_text()
    assert call("select", "--resume", folder, "--quiet") == (0, "", "")
    assert (folder / "tables" / "scores.csv").read_text() == before
    assert call("report", folder)[0] == 0
    predictions = ("predict", folder, csv, "--size", 2, "--out", tmp_path / "p.csv")
    assert call(*predictions)[0] == 0


@pytest.mark.parametrize("function", ["fit", "sample"])
@pytest.mark.parametrize(
    ("asked", "above", "expected"), [(7, 4000, 7), (0, 4000, "auto"), (None, 20, "auto")]
)
def test_inducing_points_are_handed_on(
    call, csv, tmp_path, monkeypatch, function, asked, above, expected
):
    seen = {}

    def stop(*_, **options):
        seen.update(options)
        raise ValueError("seen")

    monkeypatch.setattr(gpproj, function, stop, raising=False)
    monkeypatch.setattr(inference, "SPARSE_ABOVE", above)
    how = ["--sample"] if function == "sample" else []
    points = [] if asked is None else ["--inducing", asked]
    arguments = ("select", csv, *OPTIONS, *how, *points, "--out", tmp_path / "run", "--json")
    refused(call(*arguments), "seen")
    found = seen["inference"]
    assert (found if isinstance(found, str) else found.inducing) == expected
    log = (tmp_path / "run" / "log.txt").read_text()
    assert ("inducing points stand for 24 rows" in log) == (asked != 0)


def test_a_machine_without_enough_memory_is_told_in_one_line(call, csv, tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError("Unable to allocate 74.5 GiB for an array")

    monkeypatch.setattr(gpproj, "fit", full, raising=False)
    refused(call("select", csv, *OPTIONS, "--out", tmp_path / "run", "--json"), "74.5 GiB")


def test_exposures_that_have_changed_are_refused(call, count_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(count_run, folder)
    make_sales().assign(years=1.0).to_csv(tmp_path / "other.csv", index=False)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"data": str(tmp_path / "other.csv")}))
    refused(call("select", "--resume", folder), "has changed since the run")


def test_quiet_says_nothing(call, run):
    assert call("select", "--resume", run, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    "stage", [pytest.param("forward_search", marks=pytest.mark.slow), "validate"]
)
def test_an_interrupted_run_is_completed_to_the_same_answer(
    call, run, csv, tmp_path, monkeypatch, stage
):
    folder = tmp_path / "run"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(gpproj, stage, interrupted, raising=False)
        code, out, err = call("select", csv, *OPTIONS, "--out", folder, "--quiet")
    assert (code, out) == (130, "")
    assert err == f"gpproj: stopped; go on with gpproj select --resume {folder}\n"
    assert not (folder / "report.html").exists()
    assert call("select", "--resume", folder, "--quiet")[0] == 0
    for name in ("scores", "path", "pointwise"):
        table = f"tables/{name}.csv"
        assert (folder / table).read_text() == (run / table).read_text()


@pytest.mark.slow
def test_warnings_outlive_an_interruption(call, csv, tmp_path, monkeypatch):
    holes = make_table()
    holes.loc[3, "age"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    folder = tmp_path / "run"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(gpproj, "fit", warn_and(gpproj.fit), raising=False)
        patched.setattr(gpproj, "validate", interrupted, raising=False)
        code, _, _ = call(
            "select", tmp_path / "holes.csv", *OPTIONS, "--missing", "drop", "--out", folder
        )
    assert code == 130
    code, _, err = call("select", "--resume", folder)
    assert code == 0
    for said in ("1 of 24 rows has missing cells", "the fit was odd"):
        assert err.replace("\n", " ").count(said) == 1
        assert said in (folder / "report.html").read_text()


def test_what_is_wrong_with_the_reference_is_printed_in_sentences(call, tmp_path):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "price"])
    noise.to_csv(tmp_path / "noise.csv", index=False)
    folder = tmp_path / "run"
    options = ("--target", "price", "--folds", "2", "--max-inputs", "1", "--out", folder)
    code, out, err = call("select", tmp_path / "noise.csv", *options)
    assert code == 0
    sentence = "the model predicts left-out rows no better than a model without inputs"
    assert err.replace("\n", " ").count(f"warning: {sentence}") == 1
    assert "ReferenceWarning" not in err + out
    assert f"Note: {sentence}" in " ".join(out.split())
    assert sentence[4:] in (folder / "report.html").read_text()
    cv, settings = gpproj.load(folder / "validation"), Settings("a", "b", "gaussian")
    assert answer_of(cv, folder, settings)["problems"][0].startswith(sentence)


def warn_and(function):
    def warned(*arguments, **options):
        import warnings

        warnings.warn("the fit was odd", UserWarning, stacklevel=2)
        return function(*arguments, **options)

    return warned


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('sample = "yes"', "sample must be true"),
        ('ignore = "none"', "'none'"),
        ("likelihood = []", "likelihood must be one of"),
        ("inducing = 2.5", "inducing must be a whole number of at least 0"),
        ('compare = ["ridge"]', "compare must be one of linear, process; got 'ridge'"),
        ("compare = 3", "compare must be a name or a list of names"),
        ('compare = "linear"\nvalidate = "loo"', "compare fits models in folds, which loo"),
    ],
)
def test_a_file_with_settings_that_mean_nothing(call, csv, tmp_path, line, said):
    (tmp_path / "run.toml").write_text(f'data = "{csv}"\ntarget = "price"\n{line}\n')
    refused(call("select", "--config", tmp_path / "run.toml", "--out", tmp_path / "run"), said)
    assert not (tmp_path / "run").exists()


def test_settings_may_come_from_a_file(call, csv, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        f'data = "{csv}"\ntarget = "age"\nmax-inputs = 1\nfolds = 2\nignore = ["kind"]\n'
        f'out = "{tmp_path / "run"}"\n'
    )
    code, _, err = call("select", "--config", config, "--target", "price", "--quiet")
    assert (code, err) == (0, "")
    settings = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (settings["target"], settings["max_inputs"], settings["ignore"]) == (
        "price",
        1,
        ["kind"],
    )


def test_the_report_says_how_to_make_the_run_again(run):
    settings = Settings("a b.csv", "price", ignore=("x",), sample=True, max_inputs=3)
    assert settings.command(Path("out")) == (
        "gpproj select 'a b.csv' --target price --ignore x --sample --max-inputs 3 --out out"
    )
    settings = Settings("a.csv", "price", inducing=50)
    assert settings.command(Path("o")) == "gpproj select a.csv --target price --inducing 50 --out o"
    settings = Settings("a.csv", "price", learn="projection", criterion="loo_divergence")
    assert settings.command(Path("o")) == (
        "gpproj select a.csv --target price --learn projection --criterion loo_divergence --out o"
    )
    settings = Settings("a.csv", "price", compare=("process", "linear"))
    assert settings.command(Path("o")) == (
        "gpproj select a.csv --target price --compare process --compare linear --out o"
    )
    settings = Settings("a.csv", "n", "poisson", "years at risk")
    assert settings.command(Path("out")) == (
        "gpproj select a.csv --target n --likelihood poisson --exposure 'years at risk' --out out"
    )
    assert "--target price" in (run / "report.html").read_text()


def test_new_rows_are_predicted_by_the_submodel(call, run, csv, tmp_path):
    out = tmp_path / "predictions.csv"
    assert call("predict", run, csv, "--out", out, "--size", 2)[0] == 0
    table = pd.read_csv(out)
    assert table.columns.tolist() == ["mean", "lower", "upper", "prior_share", "far"]
    cv = gpproj.load(run / "validation")
    from gpproj.cli.run import encoding_of

    X = encoding_of(run).inputs(make_table())
    sub = cv.path.best(2)
    np.testing.assert_allclose(table["mean"], sub.predict_response(X).mean, rtol=1e-12)
    lower, upper = sub.predict_interval(X)
    np.testing.assert_allclose(table["lower"], lower, rtol=1e-12)
    np.testing.assert_allclose(table["upper"], upper, rtol=1e-12)
    wide = tmp_path / "wide.csv"
    assert call("predict", run, csv, "--out", wide, "--size", 2, "--level", 0.99)[0] == 0
    assert (pd.read_csv(wide)["upper"] > table["upper"]).all()


def test_the_null_model_predicts_without_inputs(call, run, tmp_path):
    (tmp_path / "new.csv").write_text("other\n1\n2\n")
    out = tmp_path / "predictions.csv"
    assert call("predict", run, tmp_path / "new.csv", "--out", out, "--size", 0)[0] == 0
    assert len(pd.read_csv(out)) == 2


def test_a_report_is_written_anew(call, run, tmp_path):
    code, out, _ = call("report", run, "--out", tmp_path / "again.html")
    assert code == 0
    assert (tmp_path / "again.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert "report written to" in out


BAD_TABLES = {
    "empty.csv": "",
    "header.csv": "size,price\n",
    "ragged.csv": "size,price\n1,2\n1,2,3\n",
    "twice.csv": "size,size,price\n1,2,3\n2,3,4\n",
    "missing.csv": "size,price\n1,2\n,3\n4,5\n",
    "text.csv": "size,price\n1,cheap\n2,dear\n",
    "names.csv": "name,price\n" + "\n".join(f"n{i},{i}" for i in range(40)) + "\n",
    "infinite.csv": "size,price\n1,2\ninf,3\n4,5\n",
    "alone.csv": "price\n1\n2\n3\n",
    "constant.csv": "size,price\n1,2\n2,2\n3,2\n",
    "row.csv": "size,price\n1,2\n",
    "blank.csv": "size,price\n,1\n,2\n,3\n",
    "binary.csv": "\x00\x01\x02",
    "other.json": "{}",
    "quote.csv": 'size,price\n"1,2\n3,4\n',
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_tables_that_cannot_be_used(call, tmp_path, name):
    (tmp_path / name).write_text(BAD_TABLES[name])
    refused(call("select", tmp_path / name, "--target", "price", "--out", tmp_path / "run"))
    assert not (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--target", "age", "--likelihood", "binomial"],
            "must be one of auto, bernoulli, gaussian",
        ),
        (["--target", "sold", "--likelihood", "gaussian"], "classes need --likelihood bernoulli"),
        (["--target", "sold", "--likelihood", "poisson"], "must be numbers, saw"),
        (["--target", "age", "--likelihood", "bernoulli"], "must have two classes; saw 40"),
        (["--target", "age", "--likelihood", "poisson"], "must be counts"),
        (["--target", "visits", "--exposure", "years"], "is for counts; name a likelihood of"),
        ([*COUNTS, "--likelihood", "gaussian"], "exposure is for counts, not for gaussian"),
        ([*CLASSES, "--exposure", "visits"], "exposure is for counts, not for bernoulli"),
        ([*COUNTS, "--exposure", "weeks"], "exposure: the table has no column 'weeks'"),
        ([*COUNTS, "--exposure", "age"], "exposure: column 'age' must be positive"),
        ([*COUNTS, "--exposure", "kind"], "exposure: column 'kind' must be numbers"),
        ([*COUNTS, "--exposure", "visits"], "exposure: column 'visits' is the target"),
        ([*COUNTS, "--ignore", "years"], "the exposure 'years' cannot be left out"),
        ([*COUNTS, "--row-groups", "weeks"], "row_groups: the table has no column 'weeks'"),
        ([*COUNTS, "--row-groups", "years"], "row_groups: column 'years' is the exposure"),
        ([*COUNTS, "--row-groups", "kind", "--validate", "loo"], "leaves out single rows"),
    ],
)
def test_targets_and_likelihoods_that_do_not_go_together(call, sales, tmp_path, arguments, said):
    refused(call("select", sales, *arguments, "--out", tmp_path / "run"), said)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("size,sold\n1,a\n2,b\n3,c\n", "must have two classes; saw 3: 'a', 'b', 'c'"),
        ("size,sold\n1,a\n2,a\n3,a\n", "must have two classes; saw 1: 'a'"),
        ("size,sold\n1,a\n2,\n3,b\n", "1 of 3 rows has missing cells: sold (1)"),
        ("size,sold\n1,2020-01-01\n2,2021-01-01\n3,2022-01-01\n", "saw 3"),
    ],
    ids=["three", "one", "missing", "dates"],
)
def test_classes_that_cannot_be_used(call, tmp_path, content, said):
    (tmp_path / "new.csv").write_text(content)
    arguments = ("--target", "sold", "--likelihood", "logit", "--out", tmp_path / "run")
    refused(call("select", tmp_path / "new.csv", *arguments), said)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--target", "cost"],
        ["--target", "price", "--ignore", "cost"],
        ["--target", "price", "--ignore", "price"],
        ["--target", "price", "--missing", "guess"],
        ["--target", "price", "--validate", "bootstrap"],
        ["--target", "price", "--folds", "1"],
        ["--target", "price", "--folds", "many"],
        ["--target", "price", "--max-inputs", "0"],
        ["--target", "price", "--max-inputs", "99"],
        ["--target", "price", "--seed", "-1"],
        ["--target", "price", "--learn", "guess"],
        ["--target", "price", "--criterion", "elpd"],
        ["--target", "price", "--draws", "2"],
        ["--target", "price", "--inducing", "-1"],
        ["--target", "price", "--inducing", "some"],
        ["--target", "price", "--n-jobs", "0"],
        ["--target", "price", "--frobnicate"],
        ["--target"],
        ["--target", "price", "extra"],
        ["--target", "price", "--config", "absent.toml"],
        ["--target", "price", "--resume", "absent"],
    ],
)
def test_arguments_that_cannot_be_used(call, csv, tmp_path, arguments):
    refused(call("select", csv, *arguments, "--out", tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_run_needs_data_and_a_folder(call, csv, tmp_path):
    refused(call("select", "--target", "price", "--out", tmp_path / "run"), "data")
    refused(call("select", csv, "--target", "price"), "--out is missing")
    refused(call("select", tmp_path / "no.csv", "--target", "price", "--out", tmp_path / "r"), "no")
    refused(call("select", tmp_path, "--target", "price", "--out", tmp_path / "r"), "folder")


def test_a_folder_that_is_there_is_never_touched(call, csv, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    refused(call("select", csv, *OPTIONS, "--out", tmp_path), "--resume")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    refused(call("select", csv, *OPTIONS, "--out", tmp_path / "mine.txt"), "there already")


def test_a_folder_that_cannot_be_written(call, csv, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        refused(call("select", csv, *OPTIONS, "--out", tmp_path / "run"), "No space left")
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', '{"format": 99}', "data = 1"])
def test_folders_that_are_no_runs(call, csv, tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    refused(call("select", "--resume", tmp_path))
    refused(call("report", tmp_path))
    refused(call("predict", tmp_path, csv, "--out", tmp_path / "p.csv"))
    assert not (tmp_path / "p.csv").exists()


def test_data_that_have_changed_are_refused(call, run, csv, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    other = tmp_path / "other.csv"
    make_table(seed=1).to_csv(other, index=False)
    config = json.loads((folder / "config.json").read_text()) | {"data": str(other)}
    (folder / "config.json").write_text(json.dumps(config))
    refused(call("select", "--resume", folder), "has changed since the run")


def test_resuming_takes_no_other_settings(call, run):
    refused(call("select", "--resume", run, "--target", "age"), "--resume takes")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x,price\n1,2\n", "no column"),
        ("size,age,kind\n1,2,z\n", "which the model has not seen"),
        ("size,age,kind\nbig,2,a\n", "must be numbers"),
        ("size,age,kind\n,2,\n", "missing cells"),
    ],
)
def test_new_rows_that_cannot_be_predicted(call, run, tmp_path, content, said):
    (tmp_path / "new.csv").write_text(content)
    arguments = ("predict", run, tmp_path / "new.csv", "--out", tmp_path / "p.csv", "--size", 2)
    refused(call(*arguments), said)
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("options", [("--size", 9), ("--level", 1.5), ("--size", -1)])
def test_predictions_that_cannot_be_made(call, run, csv, tmp_path, options):
    refused(call("predict", run, csv, "--out", tmp_path / "p.csv", *options))
    assert not (tmp_path / "p.csv").exists()


def test_predictions_into_no_folder(call, run, csv, tmp_path):
    out = tmp_path / "absent" / "p.csv"
    refused(call("predict", run, csv, "--size", "1", "--out", out), "absent")


def refused(answer, said=""):
    """One clear line on standard error, and an exit code that is not zero."""
    code, out, err = answer
    assert code not in (0, None)
    assert out == ""
    assert err.startswith("gpproj: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert said in err
