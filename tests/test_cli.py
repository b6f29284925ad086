"""The command line, called as a user would call it."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from typer.testing import CliRunner

import gpproj
from gpproj.cli import app, demo
from gpproj.cli.settings import Settings

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


def test_version(command):
    done = command("--version")
    assert done.exit_code == 0
    assert done.output == f"gpproj {gpproj.__version__}\n"


def test_no_arguments_show_the_help(command):
    done = command()
    assert done.exit_code in (0, 2)  # versions of click differ
    assert "Usage" in done.output
    for name in ("demo", "select", "predict", "report"):
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
        "--compare",
        "--resume",
    ):
        assert name in done.output


def test_unknown_command_is_named(command):
    done = command("frobnicate")
    assert done.exit_code == 2
    assert "frobnicate" in done.output


def test_the_demo_is_the_shortest_example_of_the_readme():
    page = (Path(__file__).parents[1] / "README.md").read_text()
    assert f"gpproj.fit(X[:{demo.ROWS}], y[:{demo.ROWS}])" in page
    assert f"gpproj.forward_search(ref, max_inputs={demo.INPUTS})" in page
    assert "gpproj.validate(ref, path, random_state=0)" in page
    assert Settings("diabetes", "target").seed == 0


@pytest.mark.slow
def test_demo_prints_the_answer_and_writes_plots_and_report(command, small_data, tmp_path):
    out = tmp_path / "new" / "folder"
    done = command("demo", "--out", out)
    assert done.exit_code == 0, done.output
    assert re.search(
        r"about .* in all: reference .*, search .*, validation .*, report ", done.output
    )
    assert "GaussianProcessReference(n=40, inputs=3" in done.output
    assert set(re.findall(rf"\b({'|'.join(INPUTS)})\b", done.output)) == set(INPUTS)
    plots = ["error.png", "relevance.png", "score.png"]
    assert sorted(path.name for path in out.iterdir()) == [*plots[:2], "report.html", plots[2]]
    for path in out.iterdir():
        if path.suffix == ".png":
            assert path.read_bytes().startswith(PNG)
        assert str(path) in done.output.replace("\n", "")
    last = done.output.replace("\n", "")
    assert last.endswith(f"report written to {out / 'report.html'}")
