"""The command line: parse, call, print."""

from gpproj.cli.commands import Experiment, app, main

__all__ = ["Experiment", "app", "main"]
