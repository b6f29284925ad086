"""The command line: parse, call, print."""

from gpproj.cli.commands import app, main

__all__ = ["app", "main"]
