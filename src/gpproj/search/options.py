"""`SearchOptions`: the keywords that searches have in common, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpproj.projection import ProjectionOptions
from gpproj.search.strategies import STRATEGIES, Strategy
from gpproj.search.units import Inputs


@dataclass(frozen=True)
class SearchOptions(ProjectionOptions):
    """How a search goes, and how its submodels are learned; see `gpproj.forward_search`."""

    strategy: Strategy = "race"
    exchange: bool = True
    floating: bool = False
    groups: Mapping[str, Inputs] | None = None
    always: Inputs = ()
    costs: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy not in STRATEGIES:
            raise ValueError(f'strategy must be "race" or "exhaustive", got {self.strategy!r}')
        # Iterables are read once: recipes need them again.
        always = (self.always,) if isinstance(self.always, str) else tuple(self.always)
        object.__setattr__(self, "always", always)
        if isinstance(self.groups, Mapping):
            groups = {
                name: one if isinstance(one, str) else tuple(one)
                for name, one in self.groups.items()
            }
            object.__setattr__(self, "groups", groups)
