"""The commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import gpproj
from gpproj.cli.demo import demo
from gpproj.cli.display import (
    Interrupted,
    comparison_table,
    console,
    errors,
    one_line_errors,
    say,
    score_table,
)
from gpproj.cli.outputs import (
    answer_of,
    other_rule,
    validation_of,
    write_outputs,
    write_run_report,
)
from gpproj.cli.predicting import predict
from gpproj.cli.run import Run, opened
from gpproj.cli.settings import SETTINGS
from gpproj.execute import check_jobs

app = typer.Typer(
    name="gpproj",
    help="Projection predictive variable selection for Gaussian processes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


# Some versions of typer have click beside them, some inside: this is its general exception.
USAGE_ERROR: Any = typer.BadParameter.__mro__[2]


def main() -> None:
    """Run the command line; what goes wrong is said in one line."""
    try:
        code = app(standalone_mode=False)
    except USAGE_ERROR as error:  # options that do not exist, and the like
        code = say(f"{error.format_message()} See gpproj --help.", error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        code = say("interrupted", 130)
    sys.exit(code if isinstance(code, int) else 0)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"gpproj {gpproj.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def gpproj_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Projection predictive variable selection for Gaussian processes."""


app.command()(demo)


@app.command()
def select(
    data: Annotated[
        Path | None, typer.Argument(help="Table: CSV or other text, Excel, JSON or Parquet.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    likelihood: Annotated[
        str | None,
        typer.Option(
            help="auto (default): bernoulli for two classes, else gaussian. Or student-t for "
            "numbers, logit for two classes, poisson or negative-binomial for counts."
        ),
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(help="Of counts: column with what each rate is multiplied by.")
    ] = None,
    row_groups: Annotated[
        str | None,
        typer.Option(help="Column of groups of rows that stay together when rows are left out."),
    ] = None,
    sep: Annotated[
        str | None, typer.Option(help="Between cells, such as ; or tab; found out by default.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal sign, . or a comma; found out by default.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of the text, such as cp1252; found out by default.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether names come first; found out."),
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="Of a workbook; the first otherwise.")] = None,
    as_number: Annotated[
        list[str] | None,
        typer.Option(help="Column of numbers written as texts, such as 514.5 m2 or 12%."),
    ] = None,
    placeholder: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing cell, such as -999.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; must be new.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Complete the run in this folder.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    missing: Annotated[
        str | None, typer.Option(help="Missing cells: error (default), drop, impute or indicate.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="NAME=first,second: columns that enter together.")
    ] = None,
    cost: Annotated[
        list[str] | None, typer.Option(help="COLUMN=2: what a column or group costs; 1 otherwise.")
    ] = None,
    always: Annotated[
        list[str] | None, typer.Option(help="Column or group that is in from the start.")
    ] = None,
    transform: Annotated[
        str | None,
        typer.Option(help="Of a target of numbers: log, logit, box-cox or yeo-johnson."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="squared-exponential, matern32, matern52, linear, or a sum as linear+matern52; "
            "chosen by default."
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(help="Of the hyperparameters: saas, weak, botorch, inverse-gamma, ..."),
    ] = None,
    sample: Annotated[
        bool | None, typer.Option("--sample/--fit", help="Sample the hyperparameters.")
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Posterior draws (100).")] = None,
    inducing: Annotated[
        int | None,
        typer.Option(
            help="Inducing points that stand for all rows; 0 (default) has none up to 5000 rows "
            "and 200 above."
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Compute there: cuda, or another device of torch.")
    ] = None,
    validate: Annotated[
        str | None, typer.Option(help="kfold or loo; by default what suits the reference.")
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Folds of kfold (5).")] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Times to repeat kfold with other random folds (1).")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column that orders the rows: later ones are predicted from earlier."),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="Plain model to fit to the same inputs in every fold, process or linear; may be "
            "given twice."
        ),
    ] = None,
    max_inputs: Annotated[int | None, typer.Option(help="Inputs to go up to.")] = None,
    learn: Annotated[
        str | None,
        typer.Option(
            help="How submodels are learned: loo (default), projection as in the paper, or "
            "marginal_likelihood."
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(help="What they are compared by: loo_divergence or projection_error."),
    ] = None,
    rule: Annotated[
        str | None, typer.Option(help="What is enough: margin (default), se or elpd.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Largest loss that would not matter (0.05).")
    ] = None,
    tolerance_unit: Annotated[
        str | None,
        typer.Option(help="Of it: gain (a share, default) or a statistic, such as elpd or rmse."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random (0).")] = None,
    n_jobs: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Find the few columns of a table that predict another one as well as all of them.

    The folder of the run holds its settings, log, tables, plots, models and the report. A run that
    was interrupted is completed by --resume, to the same answer.
    """
    chosen = {
        name: value
        for name, value in locals().items()  # the options that are settings, by their names
        if name in SETTINGS and value is not None
    }
    if data is not None:
        chosen["data"] = str(data.resolve())
    talk = not (quiet or as_json)
    with one_line_errors():
        check_jobs(n_jobs)
        run = opened(chosen, config, out, resume, n_jobs, talk)
        try:
            cv = run.complete()
            report = write_outputs(run, cv)
        except KeyboardInterrupt:
            raise Interrupted(f"stopped; go on with gpproj select --resume {run.folder}") from None
    if as_json:
        print(
            json.dumps(
                answer_of(cv, report, run.settings) | {"notes": run.notes, "warnings": run.said}
            )
        )
    elif talk:
        for text in run.said:
            if text not in run.shown:
                errors.print(f"warning: {text}", highlight=False, markup=False)
        console.print(score_table(cv))
        if cv.compared:
            console.print(comparison_table(cv))
        console.print(cv.answer(), highlight=False)
        console.print(cv.trade_off(), highlight=False)
        if (other := other_rule(cv, run.settings.rule)) is not None:
            console.print(other, highlight=False)
        console.print(f"report written to {report}", highlight=False)


app.command()(predict)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path | None, typer.Option(help="HTML file; in the run otherwise.")] = None,
) -> None:
    """Write the report of a run anew."""
    with one_line_errors():
        file = out or run / "report.html"
        write_run_report(Run.old(run, 1, False), validation_of(run), file)
    console.print(f"report written to {file}", highlight=False)
