"""How something was made, so that it can be made again of other data.

A function that makes references or paths is decorated by `remembered`, which records the settings
of the call. Nobody writes a list of keywords twice, and none can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
Made = TypeVar("Made")


class Result(NamedTuple, Generic[Made]):
    """What a function made, and how its recipe differs from the call."""

    made: Made
    """A dataclass with a field `recipe`."""
    changed: dict[str, Any]
    """Settings in place of those of the call: a seed that was drawn, iterables that were read."""
    after: Callable[[Any], Any] | None = None
    """From the recipe to another one that calls it, where the call went on from something else."""


def remembered(
    *left_out: str, **always: Any
) -> Callable[[Callable[P, Result[Made]]], Callable[P, Made]]:
    """Decorate a function so that what it makes knows its recipe.

    The recipe is the function itself with the settings of the call, as a `functools.partial`. It
    takes what was left out: data, or a reference.

    Parameters
    ----------
    *left_out : str
        Arguments that are not settings: data, files, and what shows progress.
    **always : Any
        Settings that the recipe has whatever the call had.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Line:
    ...     points: list
    ...     recipe: object = None
    >>> @remembered("points")
    ... def line(points, width=1, colour="red"):
    ...     return Result(Line(points), {"width": max(width, 1)})
    >>> line([1, 2], 0).recipe([3, 4]).recipe.keywords
    {'width': 1, 'colour': 'red'}
    """

    def decorate(function: Callable[P, Result[Made]]) -> Callable[P, Made]:
        parameters = signature(function)

        @wraps(function)
        def made(*args: P.args, **kwargs: P.kwargs) -> Made:
            result = function(*args, **kwargs)
            call = parameters.bind(*args, **kwargs)
            call.apply_defaults()
            settings = {name: own for name, own in call.arguments.items() if name not in left_out}
            recipe: Any = partial(made, **{**settings, **always, **result.changed})
            if result.after is not None:
                recipe = result.after(recipe)
            # Nobody else has seen it yet, and a copy would lose what it has computed already.
            object.__setattr__(result.made, "recipe", recipe)
            return result.made

        # What users see is what they get: not the result with its changes, but what was made.
        # (Functions may have a signature of their own; the types of Python do not know that.)
        shown = _within_result(parameters.return_annotation)
        made.__annotations__ = {**function.__annotations__, "return": shown}
        made.__signature__ = parameters.replace(return_annotation=shown)  # type: ignore[attr-defined]
        return made

    return decorate


def starting_from(recipe: Callable[..., Any], other: Any) -> dict[str, Any]:
    """Return the keyword that lets a recipe start from what it made of similar data, if it can.

    >>> starting_from(lambda X, start_from=None: X, "a fit")
    {'start_from': 'a fit'}
    >>> starting_from(abs, "a fit")
    {}
    """
    return {"start_from": other} if "start_from" in signature(recipe).parameters else {}


def _within_result(annotation: Any) -> Any:
    """Return what an annotation says of the thing that is made.

    >>> _within_result("Result[Reference]")
    'Reference'
    """
    if not isinstance(annotation, str):
        return annotation
    return annotation.removeprefix("Result[").removesuffix("]")
