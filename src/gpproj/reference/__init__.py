"""The reference model: the narrow waist that projection, search and validation stand on."""

from __future__ import annotations

from gpproj.reference.conditioning import condition
from gpproj.reference.fitting import fit
from gpproj.reference.model import Reference
from gpproj.reference.target import Target

__all__ = ["Reference", "Target", "condition", "fit"]
