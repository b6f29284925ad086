"""The parabola that a lane's memory implies, and its minimisers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.optimise.memory import Flags, Floats, Integers, Memory, inner, latest_places


class Model(NamedTuple):
    """Limited-memory BFGS: `g'z + z'B z / 2` over steps z of the free coordinates."""

    gradient: Floats
    """`(a, p)`: g, zero where not free."""
    free: Floats
    """`(a, p)`: one where free, else zero; products with flags take twice as long."""
    steps: Floats
    """`(m, a, p)`: newest first."""
    changes: Floats
    """`(m, a, p)`: newest first, zero where not free."""
    weights: Floats
    """`(m, a)`: `1 / (step . change)`, or zero for a pair without curvature on what is free."""
    scale: Floats
    """`(a,)`: before any pair is heard `B = I / scale`."""

    def take(self, lanes: Flags) -> Model:
        """Return a copy of some lanes."""
        return Model(
            self.gradient[lanes],
            self.free[lanes],
            self.steps[:, lanes],
            self.changes[:, lanes],
            self.weights[:, lanes],
            self.scale[lanes],
        )

    def filled(self, room: int) -> Model:
        """Return the model with empty pairs up to a number, so that no lane depends on others."""
        empty = room - len(self.weights)
        steps, changes = (
            np.concatenate([pairs, np.zeros((empty, *pairs.shape[1:]))])
            for pairs in (self.steps, self.changes)
        )
        weights = np.concatenate([self.weights, np.zeros((empty, self.weights.shape[1]))])
        return self._replace(steps=steps, changes=changes, weights=weights)


def model_of(
    memory: Memory, rows: Integers, gradient: Floats, free: Flags, workspace: Floats | None = None
) -> Model:
    """Return the models of the given rows on their free coordinates.

    Pairs are cut down to the free coordinates; one that lost its curvature by the cut is passed
    over. A lane without a usable pair gets a Newton step along the gradient, of length at most 1.
    There are as many pairs as the lane with most of them has had so far: places in the memory that
    were never written to add nothing.

    Parameters
    ----------
    memory : Memory
    rows : (a,) integers
    gradient : (a, p) array
    free : (a, p) flags
    workspace : (2, m * a * p) array or larger, with m the room of the memory, optional
        Where the pairs are laid out in order. Touching the same memory round after round costs a
        third of what fresh memory costs.
    """
    _, room, parameters = memory.steps.shape
    pairs = min(max(int(memory.written[rows].max(initial=0)), 1), room)
    shape = (pairs, rows.size, parameters)
    size = pairs * rows.size * parameters
    if workspace is None:
        workspace = np.empty((2, size))
    steps, changes = workspace[0, :size].reshape(shape), workspace[1, :size].reshape(shape)
    places = latest_places(memory, rows, pairs)
    for laid_out, ring in ((steps, memory.steps), (changes, memory.changes)):
        # mode: with the default one NumPy goes through a buffer of its own
        ring.reshape(-1, parameters).take(rows * room + places, 0, out=laid_out, mode="clip")
    mask = free.astype(np.float64)
    changes *= mask
    bends = inner(steps, changes)
    usable = bends > memory.floors[rows, places]
    weights = np.where(usable, 1.0 / np.where(usable, bends, 1.0), 0.0)

    gradient = gradient * mask
    newest = (np.argmax(usable, axis=0), np.arange(rows.size))
    heard = usable[newest]
    stretch = np.where(heard, inner(changes[newest], changes[newest]), 1.0)
    length = np.sqrt(inner(gradient, gradient))
    scale = np.where(heard, bends[newest] / stretch, 1.0 / np.maximum(1.0, length))
    return Model(gradient, mask, steps, changes, weights, scale)


def newton_step(model: Model) -> Floats:
    """Return the minimiser `-B^-1 g` of the model by the two-loop recursion, `(a, p)`.

    >>> from gpproj.optimise.memory import empty_memory, remember
    >>> memory, row = empty_memory(1, 2, 2), np.array([0])
    >>> remember(memory, row, np.array([[1.0, 0.0]]), np.array([[4.0, 0.0]]))
    >>> newton_step(model_of(memory, row, np.array([[8.0, 2.0]]), np.array([[True, True]])))
    array([[-2. , -0.5]])
    """
    result = -model.gradient
    shares = np.empty_like(model.weights)
    for k, (step, change) in enumerate(zip(model.steps, model.changes, strict=True)):
        shares[k] = model.weights[k] * inner(step, result)
        result -= shares[k][:, None] * change
    result *= model.scale[:, None]
    for k in reversed(range(len(shares))):
        # changes are zero where not free, so that what gathers there is never heard
        share = shares[k] - model.weights[k] * inner(model.changes[k], result)
        result += share[:, None] * model.steps[k]
    return result * model.free


def constrained_step(model: Model, move: Floats, held: Flags) -> Floats:
    """Return the minimiser of the model among the steps that equal `move` where held, `(a, p)`.

    Let `theta = 1 / scale`, the pairs scaled to `s'y = 1` be columns of S and Y, R be the part of
    S'Y whose step is not newer than its change, and `W = [Y / theta^1/2, theta^1/2 S]`. Then

        B = theta (I - W N^-1 W'),   N = [[-I, (S'Y - R)'], [S'Y - R, theta S'S]].

    Let subscripts H and V pick the held rows, and those neither held nor pinned; let v be `move`
    on H, `-g / theta` on V. The slope vanishes on V for `z = v + W_V u`, `(N - W_V'W_V) u = W'v`,

        N - W_V'W_V = [[-I - Y_V'Y_V / theta, (S_H'Y_H - R)'], [S_H'Y_H - R, theta S_H'S_H]].

    Parameters
    ----------
    model : Model
    move : (a, p) array
    held : (a, p) flags
        Free coordinates whose step has been decided.

    Returns
    -------
    (a, p) array
        NaN in a lane whose equations are singular.
    """
    pairs = model.weights.shape[0]
    loose = model.free * ~held
    known = np.where(held, move, -model.gradient * model.scale[:, None])
    steps, changes = model.steps.transpose(1, 0, 2), model.changes.transpose(1, 0, 2)
    held_steps, loose_changes = steps * held[:, None, :], changes * loose[:, None, :]
    # newest first, so that a step is not newer than a change on and below the diagonal
    not_newer = np.tril(np.ones((pairs, pairs)))
    mixed = _products(held_steps, changes) - not_newer * _products(steps, changes)
    middle = np.empty((len(known), 2 * pairs, 2 * pairs))
    middle[:, :pairs, :pairs] = -_products(changes, loose_changes)
    middle[:, pairs:, :pairs] = mixed
    middle[:, :pairs, pairs:] = mixed.transpose(0, 2, 1)
    middle[:, pairs:, pairs:] = _products(steps, held_steps)
    unit, root = np.sqrt(model.weights.T), np.sqrt(model.scale)[:, None]
    factor = np.concatenate([unit * root, unit / root], axis=1)
    middle *= factor[:, :, None] * factor[:, None, :]
    unused = np.where(unit == 0.0, 1.0, 0.0)
    middle += np.concatenate([-np.ones_like(unit), unused], axis=1)[:, None, :] * np.eye(2 * pairs)

    right = np.concatenate([inner(pair, known[:, None, :]) for pair in (changes, steps)], axis=1)
    shares = factor * _solve(middle, factor * right)
    spread = np.einsum("map,am->ap", model.changes, shares[:, :pairs])
    spread += np.einsum("map,am->ap", model.steps, shares[:, pairs:])
    result: Floats = known + spread * loose
    return result


def _products(left: Floats, right: Floats) -> Floats:
    """Return the inner products of all rows within each lane, `(a, m, m)`."""
    # a stack is multiplied lane by lane, so that no lane depends on the others
    result: Floats = left @ right.transpose(0, 2, 1)
    return result


def _solve(matrices: Floats, right: Floats) -> Floats:
    """Solve one system per lane; a singular one gives NaN in its own lane only."""
    try:
        solution = np.linalg.solve(matrices, right[..., None])[..., 0]
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(right, np.nan)
        lanes = [_solve(matrices[k : k + 1], right[k : k + 1]) for k in range(len(matrices))]
        return np.concatenate(lanes)
    return solution.astype(np.float64, copy=False)
