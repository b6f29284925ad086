"""The script that runs the experiments, called as a user would call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import reproduce
from reproduce import EXPERIMENTS, HERE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def calls(monkeypatch):
    """What the experiments were called with, for ones that do no work."""
    seen = []

    def experiment(folder, repeats=None, n_jobs=None, **more):
        seen.append((folder, repeats, n_jobs, more))
        index = pd.Index(["x0", "x1"], name="input")
        return pd.DataFrame({"drop": [1.23456, 2.0], "converged": [True, False]}, index=index)

    for name, one in EXPERIMENTS.items():
        monkeypatch.setitem(EXPERIMENTS, name, one._replace(run=experiment))
    return seen


def real(device=None, quick=False, mixtures=True):
    return {"device": device, "quick": quick, "mixtures": mixtures}


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("toy", (HERE / "toy", 200, 1, {})),
        ("toy --quick", (HERE / "toy" / "quick", 3, 1, {})),
        ("toy --realisations 7 --n-jobs 2 --out a", (Path("a"), 7, 2, {})),
        ("known-truth", (HERE / "known-truth", 100, 1, {})),
        ("table1", (HERE / "table1", None, None, {})),
        ("table1 --out a", (Path("a"), None, None, {})),
        ("clusters", (HERE / "clusters", 10, 1, {})),
        ("ablation", (HERE / "ablation", 10, 1, {})),
        ("heart", (HERE / "heart", 20, 1, {})),
        ("pima --splits 4", (HERE / "pima", 4, 1, {})),
        ("bike", (HERE / "bike", 20, 1, {})),
        ("boston", (HERE / "boston", 50, 1, real())),
        ("crime --splits 3", (HERE / "crime", 3, 1, real())),
        ("automobile --no-mixtures", (HERE / "automobile", 50, 1, real(mixtures=False))),
        (
            "boston --quick --device cuda",
            (HERE / "boston" / "quick", 3, 1, real("cuda", quick=True)),
        ),
        ("boston --quick --splits 2 --out a", (Path("a"), 2, 1, real(quick=True))),
    ],
)
def test_every_experiment_gets_its_folder_and_its_options(calls, line, called):
    reproduce.main(line.split())
    assert calls == [called]


def test_every_experiment_is_named_above():
    (mark,) = test_every_experiment_gets_its_folder_and_its_options.pytestmark
    assert {line.split()[0] for line, _ in mark.args[1]} == set(EXPERIMENTS)


def test_the_summary_is_printed(calls, capsys, tmp_path):
    reproduce.main(["toy", "--realisations", "3", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    for text in ("toy: means over 3 repetitions", "input", "x0", "1.235", f"to {tmp_path}"):
        assert text in printed
    reproduce.main(["table1"])
    assert "repetitions" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("no-such-thing", "no-such-thing"),
        ("", "experiment"),
        ("toy --realisations 0", "must be 1 or more"),
        ("toy --realisations many", "many"),
        ("toy --splits 3", "--splits"),
        ("toy --device cuda", "--device"),
        ("boston --realisations 3", "--realisations"),
        ("bike --no-mixtures", "--no-mixtures"),
        ("table1 --splits 3", "--splits"),
        ("table1 --n-jobs 2", "--n-jobs"),
    ],
)
def test_bad_arguments_are_usage_errors(calls, capsys, line, seen):
    with pytest.raises(SystemExit) as stop:
        reproduce.main(line.split())
    assert stop.value.code == 2
    assert seen in capsys.readouterr().err
    assert calls == []


@pytest.mark.parametrize(
    ("error", "code"),
    [(ValueError("no data"), "reproduce.py: no data"), (KeyboardInterrupt(), 130)],
)
def test_what_goes_wrong_is_one_line(monkeypatch, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setitem(EXPERIMENTS, "toy", EXPERIMENTS["toy"]._replace(run=fail))
    with pytest.raises(SystemExit) as stop:
        reproduce.main(["toy"])
    assert stop.value.code == code


def test_a_device_is_refused_before_anything_begins(tmp_path):
    pytest.importorskip("torch")
    with pytest.raises(SystemExit, match="device: 'nowhere' cannot be used here"):
        reproduce.main(["boston", "--device", "nowhere", "--out", str(tmp_path / "a")])
    assert not (tmp_path / "a").exists()


def test_it_runs_from_anywhere(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, HERE / "reproduce.py", "--help"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in EXPERIMENTS)
