"""What goes in and out: models saved as folders, and tables of users."""

from __future__ import annotations

from gpproj.io.loading import load

__all__ = ["load"]
