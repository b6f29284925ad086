"""One page for a colleague: what a validation found, in one HTML file that needs nothing else."""

from __future__ import annotations

from gpproj.report.writing import write_report

__all__ = ["write_report"]
