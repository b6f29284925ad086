"""Batched L-BFGS inside bounds: many lanes in lock-step, one outcome per lane.

It stands beside SciPy's L-BFGS-B, which minimises one function at a time, because the objectives
here are cheap only in batches: all unfinished lanes are evaluated by one call per round, finished
lanes are dropped from it, and every lane tells how it ended. A race can be paused: `begin`,
`advance` by some iterations, `keep` the promising lanes, `advance` again. A lane takes the same
steps, to the last bit, alone, in any batch, and with or without pauses. Positions, gradients and
memory live on the host, wherever the objective computes.

>>> import numpy as np
>>> def objective(x, lanes):
...     return (x**4 - lanes[:, None] * x).sum(axis=1), 4 * x**3 - lanes[:, None]
>>> state = begin(objective, np.ones((3, 1)), lower=[-2.0], upper=[2.0])
>>> state = advance(objective, state, iterations=2)
>>> best = np.argsort(state.value)[:2]
>>> outcome = advance(objective, state.keep(state.lanes[best]), iterations=100).outcome()
>>> outcome.lanes.tolist(), outcome.x.round(4).ravel().tolist()
([2, 1], [0.7937, 0.63])
"""

from gpproj.optimise.lockstep import Objective, advance, begin, minimise
from gpproj.optimise.memory import Memory, empty_memory, remember
from gpproj.optimise.state import Outcome, State, concatenate_states

__all__ = [
    "Memory",
    "Objective",
    "Outcome",
    "State",
    "advance",
    "begin",
    "concatenate_states",
    "empty_memory",
    "minimise",
    "remember",
]
