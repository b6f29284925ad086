"""The paper's figures and tables, one module each, made with public names only."""

from __future__ import annotations

from gpproj.reproduce.toy import reproduce_toy

EXPERIMENTS = {"toy": reproduce_toy}
"""What `gpproj reproduce NAME` runs."""

__all__ = ["EXPERIMENTS", "reproduce_toy"]
