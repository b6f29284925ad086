"""How well submodels predict data they have not seen, and how many inputs are enough."""

from gpproj.validation.copies import false_selections
from gpproj.validation.result import Validation
from gpproj.validation.validating import validate

__all__ = ["Validation", "false_selections", "validate"]
