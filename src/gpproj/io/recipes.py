"""How a reference or a path was made: the name of a function of gpproj, and its settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

from gpproj.io.plain import plain, restored

_MODULES = {
    "gpproj.reference.conditioning": ("condition",),
    "gpproj.reference.conjugate": ("sample_linear",),
    "gpproj.reference.fitting": ("fit",),
    "gpproj.reference.sampling": ("sample",),
    "gpproj.search.backward": ("backward_search",),
    "gpproj.search.forward": ("forward_search", "repeated_extension"),
    "gpproj.search.given": ("project_path",),
}

FUNCTIONS = {name: module for module, names in _MODULES.items() for name in names}
"""Functions that a recipe may be of, and the modules that define them, imported when a file has
such a recipe."""

RECIPE = "recipe"
"""Says that a setting is a recipe itself: a path that extends another knows how that was found."""

NO_SETTINGS = frozenset({"X", "y", "exposure", "reference", "checkpoint", "extend"})
"""Arguments that no file may give: data, and files that would be written."""


def plain_recipe(recipe: Any) -> dict[str, Any] | None:
    """Return the recipe as JSON; None for anything but a function of gpproj and plain settings."""
    try:
        return _plain(recipe)
    except TypeError:
        return None


def _plain(recipe: Any) -> dict[str, Any]:
    if not isinstance(recipe, partial) or recipe.args or not _is_known(recipe.func):
        raise TypeError(f"gpproj has no recipe {recipe!r}")
    settings = {
        name: {RECIPE: _plain(value)} if isinstance(value, partial) else plain(value)
        for name, value in recipe.keywords.items()
    }
    return {"name": recipe.func.__name__, "settings": settings}


def _is_known(function: Callable[..., Any]) -> bool:
    name = getattr(function, "__name__", "")
    return name in FUNCTIONS and function is function_named(name)


def function_named(name: str) -> Callable[..., Any]:
    """Return one of `FUNCTIONS`."""
    found: Callable[..., Any] = getattr(import_module(FUNCTIONS[name]), name)
    return found


def recipe_of(found: dict[str, Any] | None) -> Callable[..., Any] | None:
    """Return the function with its settings, which is not called before somebody asks for it."""
    if found is None:
        return None
    function = function_named(found["name"])
    settings = {
        name: recipe_of(value[RECIPE]) if _is_recipe(value) else restored(value)
        for name, value in found["settings"].items()
    }
    odd = set(settings) - set(signature(function).parameters) | set(settings) & NO_SETTINGS
    if odd:
        raise ValueError(f"{found['name']} has no settings {', '.join(sorted(odd))}")
    return partial(function, **settings)


def _is_recipe(value: Any) -> bool:
    return isinstance(value, dict) and RECIPE in value
