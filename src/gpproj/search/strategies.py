"""How the candidates of a step are compared, by the names of `strategy=`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gpproj.projection import Projector, staged
from gpproj.reference import Reference
from gpproj.search.race import race
from gpproj.search.step import Compare, exhaust

Strategy: TypeAlias = Literal["race", "exhaustive"]

STRATEGIES: dict[str, Compare] = {"race": race, "exhaustive": exhaust}


def search_projector(strategy: Strategy, projector: Projector, reference: Reference) -> Projector:
    """Return the projector that a search goes by: a race decides on few rows where there are many.

    An exhaustive search learns every candidate on all rows, as in the paper.
    """
    return staged(projector, reference) if strategy == "race" else projector


def comparison(strategy: Strategy, projector: Projector, *, removing: bool = False) -> Compare:
    """Return how the candidates of a step are compared.

    There is no race where they are at their optima as soon as they are begun, as all are in closed
    form, and linear submodels without one of their units.
    """
    effort = projector.effort
    if effort is not None and (removing or effort.closed_form):
        return exhaust
    return STRATEGIES[strategy]
