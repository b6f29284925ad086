"""What goes in and out: models saved as folders, and tables of users."""

from __future__ import annotations

from gpproj.io.saving import Saved, load, save

__all__ = ["Saved", "load", "save"]
