"""Run an experiment of the paper, or one beside it, and write its tables and figures.

    make reproduce ARGS=toy
    make reproduce ARGS="boston --quick"
    python experiments/reproduce.py boston --device cuda --n-jobs 3

Each has a folder of its own name beside this script, unless `--out` names another one. What is
finished is kept there and not run again. Real data are read from the folder in GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# Before NumPy: repetitions that run at the same time have a core each.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import pandas as pd

from reproduction import other_targets, splits
from reproduction.ablation import reproduce_ablation
from reproduction.clusters import reproduce_clusters
from reproduction.known_truth import reproduce_known_truth
from reproduction.other_targets import reproduce_other_targets
from reproduction.real_data import reproduce_splits
from reproduction.table1 import reproduce_table1
from reproduction.toy import reproduce_toy

HERE = Path(__file__).resolve().parent
QUICK = 3
"""Repetitions of the quick mode."""


class Experiment(NamedTuple):
    """What can be run."""

    run: Callable[..., pd.DataFrame]
    """Of a folder, of the number of repetitions and of options."""
    repeats: int = 0
    """Repetitions by default; 0 where nothing is repeated."""
    kind: str = "splits"
    """What is repeated."""


EXPERIMENTS = {
    "toy": Experiment(reproduce_toy, 200, "realisations"),
    "known-truth": Experiment(reproduce_known_truth, 100, "realisations"),
    "table1": Experiment(reproduce_table1),
    **{name: Experiment(partial(reproduce_splits, name), 50) for name in splits.SETTINGS},
    "clusters": Experiment(reproduce_clusters, 10),
    "ablation": Experiment(reproduce_ablation, 10),
    **{
        name: Experiment(partial(reproduce_other_targets, name), 20)
        for name in other_targets.SETTINGS
    },
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for, and print the summary."""
    given = vars(_parser().parse_args(arguments))
    name, out, quick = given.pop("experiment"), given.pop("out"), given.pop("quick", False)
    experiment, title, counts = EXPERIMENTS[name], name, []
    if experiment.repeats:
        counts = [given.pop("repeats") or (QUICK if quick else experiment.repeats)]
        title += f": means over {counts[0]} repetitions"
    if name in splits.SETTINGS:
        given["quick"] = quick  # with fewer draws, too
    folder = out or HERE / name / ("quick" if quick else "")
    try:
        summary = experiment.run(folder, *counts, **given)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"reproduce.py: {error}")
    except KeyboardInterrupt:
        print("reproduce.py: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    print(title, summary.to_string(float_format="{:.4g}".format), sep="\n")
    print(f"written to {folder}")


def _parser() -> argparse.ArgumentParser:
    """Return the command line: every experiment has the options that it has a use for."""
    parser = argparse.ArgumentParser(
        prog="reproduce.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="experiment", required=True)
    for name, experiment in EXPERIMENTS.items():
        command = commands.add_parser(name)
        add: Callable[..., Any] = command.add_argument
        add("--out", type=Path, help="folder; experiments/NAME otherwise")
        if experiment.repeats:
            kind, default = experiment.kind, experiment.repeats
            add(f"--{kind}", type=_count, dest="repeats", help=f"how many ({default})")
            add("--n-jobs", type=int, default=1, help="how many at a time; -1 for all cores")
            add("--quick", action="store_true", help=f"only {QUICK} {kind}, in a folder of its own")
        if name in splits.SETTINGS:
            add("--device", help="where projections are computed, such as cuda")
            add(
                "--no-mixtures",
                dest="mixtures",
                action="store_false",
                help="spare what takes hours without a GPU",
            )
    return parser


def _count(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text)


if __name__ == "__main__":
    main()
