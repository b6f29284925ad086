"""The command line, called as a user would call it."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from typer.testing import CliRunner

import gpproj
from gpproj.cli import Experiment, app
from gpproj.reproduce import EXPERIMENTS

PNG = b"\x89PNG\r\n\x1a\n"
INPUTS = ["age", "bmi", "s5"]


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    plt.close("all")


@pytest.fixture
def command(wide_screen):
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def small_data(monkeypatch):
    X, y = gpproj.datasets.diabetes()
    monkeypatch.setattr(gpproj.datasets, "diabetes", lambda: (X.loc[:39, INPUTS], y.loc[:39]))


@pytest.fixture
def calls(monkeypatch):
    """What the experiments were called with, for ones that do no work."""
    seen = []

    def experiment(folder, repeats=None, n_jobs=None, **more):
        seen.append((folder, repeats, n_jobs, *more.values()))
        index = pd.Index(["x0", "x1"], name="input")
        return pd.DataFrame({"drop": [1.23456, 2.0], "converged": [True, False]}, index=index)

    for name in EXPERIMENTS:
        monkeypatch.setitem(EXPERIMENTS, name, experiment)
    return seen


def test_version(command):
    done = command("--version")
    assert done.exit_code == 0
    assert done.output == f"gpproj {gpproj.__version__}\n"


def test_no_arguments_show_the_help(command):
    done = command()
    assert done.exit_code in (0, 2)  # versions of click differ
    assert "Usage" in done.output
    for name in ("demo", "reproduce"):
        assert name in done.output


def test_select_names_its_options(command):
    done = command("select", "--help")
    assert done.exit_code == 0
    for name in (
        "--target",
        "--likelihood",
        "--sample",
        "--inducing",
        "--learn",
        "--criterion",
        "--resume",
    ):
        assert name in done.output


def test_unknown_command_is_named(command):
    done = command("frobnicate")
    assert done.exit_code == 2
    assert "frobnicate" in done.output


@pytest.mark.slow
def test_demo_prints_the_answer_and_writes_plots_and_report(command, small_data, tmp_path):
    out = tmp_path / "new" / "folder"
    done = command("demo", "--out", out)
    assert done.exit_code == 0, done.output
    assert "Reference(n=40, inputs=3" in done.output
    assert set(re.findall(rf"\b({'|'.join(INPUTS)})\b", done.output)) == set(INPUTS)
    plots = ["error.png", "relevance.png", "score.png"]
    assert sorted(path.name for path in out.iterdir()) == [*plots[:2], "report.html", plots[2]]
    for path in out.iterdir():
        if path.suffix == ".png":
            assert path.read_bytes().startswith(PNG)
        assert str(path) in done.output.replace("\n", "")
    last = done.output.replace("\n", "")
    assert last.endswith(f"report written to {out / 'report.html'}")


def test_reproduce_hands_its_arguments_on(command, calls, tmp_path):
    done = command("reproduce", "toy", "--realisations", 3, "--out", tmp_path, "--n-jobs", 2)
    assert done.exit_code == 0, done.output
    assert calls == [(tmp_path, 3, 2)]
    assert "toy: means over 3 repetitions" in done.output
    for cell in ("input", "x0", "1.235", "yes", "no"):
        assert cell in done.output


def test_reproduce_has_a_folder_for_each_experiment(command, calls, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, repeats in [("toy", 200), ("boston", 50), ("ablation", 10), ("pima", 20)]:
        done = command("reproduce", name)
        assert done.exit_code == 0, done.output
        assert calls.pop()[:3] == (Path("experiments") / name, repeats, 1)
    done = command("reproduce", "crime", "--splits", 3)
    assert calls.pop()[1] == 3


def test_real_data_can_be_reproduced_elsewhere_and_quickly(command, calls, tmp_path):
    done = command("reproduce", "boston", "--quick", "--device", "cuda")
    assert done.exit_code == 0, done.output
    assert calls.pop() == (Path("experiments") / "boston" / "quick", 3, 1, "cuda", True, True)
    done = command("reproduce", "boston", "--quick", "--splits", 2, "--out", tmp_path)
    assert calls.pop() == (tmp_path, 2, 1, None, True, True)
    done = command("reproduce", "boston", "--no-mixtures", "--out", tmp_path)
    assert calls.pop() == (tmp_path, 50, 1, None, False, False)


def test_the_table_of_data_sets_takes_a_folder_alone(command, calls, tmp_path):
    done = command("reproduce", "table1", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert calls == [(tmp_path, None, None)]
    assert "repetitions" not in done.output


def test_every_experiment_has_a_name_on_the_command_line():
    assert set(Experiment) == set(EXPERIMENTS)


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (["reproduce", "no-such-thing"], "no-such-thing"),
        (["reproduce", "toy", "--realisations", "0"], "realisations"),
        (["reproduce"], "experiment"),
        (["reproduce", "toy", "--splits", "3"], "toy has no use for --splits"),
        (["reproduce", "boston", "--realisations", "3"], "boston has no use for --realisations"),
        (["reproduce", "table1", "--splits", "3"], "table1 has no use for --splits"),
        (["reproduce", "table1", "--realisations", "3"], "table1 has no use for --realisations"),
        (["reproduce", "table1", "--n-jobs", "2"], "table1 has no use for --n-jobs"),
        (["reproduce", "toy", "--device", "cuda"], "toy has no use for --device"),
        (["reproduce", "bike", "--quick"], "bike has no use for --quick"),
    ],
)
def test_bad_arguments_are_usage_errors(command, calls, arguments, seen):
    done = command(*arguments)
    assert done.exit_code == 2
    assert seen in done.output.lower()
    assert calls == []


def test_every_experiment_can_be_asked_for():
    assert [experiment.value for experiment in Experiment] == list(EXPERIMENTS)
