"""`forward_search`: the input that lowers the error most, again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from gpproj.execute import Progress, partners, same_workers, time_text, uses_processes
from gpproj.kernels import Kernel
from gpproj.linalg import Host, is_numpy, one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import CriterionName, Learn, Projector, projector_of
from gpproj.recipes import Result, remembered, starting_from
from gpproj.reference import Clusters, Reference
from gpproj.search.checkpoint import Checkpoint, fingerprint
from gpproj.search.growing import ForwardSearch
from gpproj.search.options import SearchOptions
from gpproj.search.path import SearchPath
from gpproj.search.race import evaluations_expected
from gpproj.search.row_sample import on_all_rows, rows_to_search
from gpproj.search.space import SearchSpace
from gpproj.search.strategies import Strategy, search_projector
from gpproj.search.units import Inputs, prefiltered, steps_of, units_of
from gpproj.store import named_path

PER_PROJECTION = 120
"""Values and gradients of one candidate of an exhaustive step, about."""

PER_EXCHANGE = 350
"""Values and gradients that looking for other sets takes at one size, about."""

ANNOUNCED = 10.0
"""Expected seconds above which a search says how long it will take."""


@remembered(
    "reference", "n_jobs", "checkpoint", "stop_below", "extend", "start_from", progress=False
)
def forward_search(
    reference: Reference,
    max_inputs: int | None = None,
    strategy: Strategy = "race",
    *,
    learn: Learn = "loo",
    criterion: CriterionName | None = None,
    exchange: bool = True,
    floating: bool = False,
    n_jobs: int | None = 1,
    progress: bool = True,
    checkpoint: str | Path | None = None,
    groups: Mapping[str, Inputs] | None = None,
    always: Inputs = (),
    costs: Mapping[str, float] | None = None,
    stop_below: float | None = None,
    prior: PriorLike = "auto",
    clusters: Clusters = None,
    kernel: Kernel | None = None,
    prefilter: tuple[str, int] | None = None,
    search_rows: int | None = None,
    random_state: int | None = 0,
    extend: SearchPath | None = None,
    start_from: SearchPath | None = None,
) -> Result[SearchPath]:
    """Add inputs one by one, each time the one that leaves the smallest error.

    Parameters
    ----------
    reference : Reference
    max_inputs : int, optional
        How many steps to take: inputs, or groups of them. All when left out, and 30 where there are
        more than 150.
    strategy : {"race", "exhaustive"}
        Race the candidates of a step, or optimise every one to convergence as in the paper; many
        times slower.
    learn : {"loo", "projection", "marginal_likelihood"}
        How submodels are learned, as for `gpproj.project`.
    criterion : {"loo_divergence", "projection_error"}, optional
        What submodels are compared by, and what `path.errors` holds: the divergence between
        predictions of single rows from the others, or the paper's error. When left out the first
        for `learn="loo"`, the second otherwise.
    exchange : bool
        After each step, look for other sets of the same size: units that are missed least are tried
        against those that promise most, and the orders of `gpproj.relevance` are candidates.
        `path.best(k)` then is the best set of each size, while `path[k]` stays nested. The paper
        has no exchanges.
    floating : bool
        Where leaving a unit out shows a better set of the size before, grow that one again at once.
    n_jobs : int or None
        Workers; -1 for all cores, None for what the configured joblib backend says. The path is the
        same whatever their number.
    progress : bool
        Show steps, the best candidate, its error and the time left on standard error.
    checkpoint : path, optional
        A file that is rewritten after every step. A search that finds one goes on from there, or
        stops where it is asked to if that came before; one of other data or settings is refused.
    groups : mapping of str to inputs, optional
        Inputs that enter together (one-hot columns), by the name of their group.
    always : inputs
        Names or positions of inputs that are in from the start; `path[0]` holds them.
    costs : mapping of str to float, optional
        Costs of inputs or groups (one otherwise): the step then goes to the largest fall of the
        error per cost, and exchanges never make a set dearer.
    stop_below : float, optional
        Stop when the relative error is below this fraction.
    prior, kernel
        As for `gpproj.project`.
    clusters : int, "draws" or None
        As for `gpproj.project`: what `path[k]` is a mixture of. The search itself compares
        projections of all draws at once.
    prefilter : (method, count), optional
        Consider only the `count` inputs (or groups) that `gpproj.relevance` with this method puts
        first, such as `("kl", 30)`: cheap, but what it leaves out is never looked at again.
    search_rows : int, optional
        Compare candidates on a random choice of that many rows, and project only the winners on
        all of them. `path.summary()` then has the relative errors of both, and `stop_below` goes by
        those of the choice. All rows when left out, or where there are no more.
    random_state : int, optional
        The seed of that choice.
    extend : SearchPath, optional
        A path of the same reference and settings to go on from; a checkpoint that is there already
        comes first.
    start_from : SearchPath, optional
        A path of other rows, such as those of all folds. Submodels on sets of inputs that it has
        looked at start where they ended there, which takes a third of the time; where they end
        here, and which sets are best, these rows say.

    Returns
    -------
    SearchPath
        If the reference is linear, so are its submodels; `learn`, `criterion`, `prior`, `clusters`
        and `kernel` have no meaning then, and are refused.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> path = gpproj.forward_search(ref, max_inputs=2)
    >>> path[2].inputs == path.order
    True
    """
    options = SearchOptions.of_call(locals())
    file = None if checkpoint is None else named_path("checkpoint", checkpoint)
    if stop_below is not None and not 0.0 <= stop_below <= 1.0:
        raise ValueError(f"stop_below must be a fraction from 0 to 1, got {stop_below!r}")
    forced, units = units_of(reference, options.groups, options.always, costs)
    if prefilter is not None:
        units = prefiltered(reference, units, prefilter)
    steps = steps_of(max_inputs, len(units))
    everything = reference
    if search_rows is not None:
        if extend is not None:
            raise ValueError("search_rows: a path on all rows cannot be extended on some of them")
        rows = rows_to_search(reference.training.n, search_rows, random_state)
        reference = reference.on_rows(rows)
    projector = projector_of(reference, options)
    own_clusters = projector.clusters_of(clusters)
    own_projector = search_projector(options.strategy, projector, reference)
    on_host = is_numpy(reference.training.X)
    elsewhere = uses_processes(n_jobs) or not on_host  # where others than partners share the work
    learned, refined = _starts_of(start_from, own_projector)
    space = SearchSpace(own_projector, forced, units, n_jobs if elsewhere else 1, learned)
    search = ForwardSearch(reference, space, options, refined)
    saved = None
    if file is not None:
        saved = Checkpoint(file, fingerprint(reference, space, options))
    path = _resumed(reference, space, saved, extend)
    if path is not None:
        path = _as_far(path, steps, stop_below)
    done = 0 if path is None else len(path.units)
    display = Progress("forward search", steps, done=done, enabled=progress)
    crew = partners(n_jobs if on_host else 1)
    with display, one_blas_thread(), crew, same_workers(n_jobs):
        if path is None:
            path = search.begin()
        left = len(path.units) < steps  # else nothing more is to be learned
        seconds = _seconds_expected(path, search.space, steps, options) if left else 0.0
        if seconds > ANNOUNCED:
            display.announce(f"{steps - done} steps, about {time_text(seconds)} of work")
        while len(path.units) < steps:
            if stop_below is not None and path.relative_errors[-1] < stop_below:
                break
            path = search.step(path)
            if saved is not None:
                saved.write(path)
            display.step(len(path.units), path.order[-1], float(path.relative_errors[-1]))
        path = replace(path, projector=projector)
        if search_rows is not None:
            path = on_all_rows(path, everything, projector_of(everything, options), n_jobs)
    # Other data are searched as far as these were.
    changed = {
        "max_inputs": len(path.units),
        "groups": options.groups,
        "always": options.always,
    }
    if extend is None:
        return Result(replace(path, clusters=own_clusters), changed)
    begun = extend.recipe
    return Result(
        replace(path, clusters=own_clusters),
        changed,
        lambda again: partial(repeated_extension, begun=begun, again=again),
    )


def repeated_extension(
    reference: Reference,
    begun: Callable[..., SearchPath] | None,
    again: Callable[..., SearchPath],
    start_from: SearchPath | None = None,
) -> SearchPath:
    """Extend the path that another reference gives to begin with."""
    if begun is None:
        raise ValueError("extend: that path does not know how it was found; search once more")
    extended = begun(reference, **starting_from(begun, start_from))
    return again(reference, extend=extended, start_from=start_from)


def _starts_of(
    other: SearchPath | None, projector: Projector
) -> tuple[dict[bytes, Host], frozenset[bytes]]:
    """Return what a path of other rows has learned of sets of the same inputs, and with all care.

    Sets are those of inputs that vary in either: one with others is not there.
    """
    if other is None or other.visited is None or other.visited.masks.shape[1] != projector.d:
        return {}, frozenset()
    return other.visited.as_starts(), other.refined


def _resumed(
    reference: Reference, space: SearchSpace, saved: Checkpoint | None, extend: SearchPath | None
) -> SearchPath | None:
    """Return the path to go on from: the checkpoint's, or the one given, or none."""
    if saved is not None and saved.exists():
        return saved.read(reference, space)
    if extend is None:
        return None
    if extend.searched is not None:
        raise ValueError("extend: a path that was searched on some rows cannot be extended")
    same = extend.reference is reference and extend.always == space.always
    alike = extend.projector.identity == space.projector.identity
    if not (same and alike and set(extend.units) <= set(space.units)):
        raise ValueError(
            "extend must be a path of the same reference with the same always, groups, costs, "
            "learn, criterion, prior and kernel"
        )
    return extend


def _as_far(path: SearchPath, steps: int, stop_below: float | None) -> SearchPath:
    """Return a path as it was where the search is asked to stop, if it has gone further."""
    if stop_below is not None:
        below = path.relative_errors[: steps + 1] < stop_below
        steps = int(below.argmax()) if below.any() else steps
    if len(path.units) <= steps:
        return path
    return replace(
        path,
        units=path.units[:steps],
        projections=path.projections[: steps + 1],
        candidate_records=tuple(one for one in path.candidate_records if one.step <= steps),
        better=path.better[: steps + 1],
        pool=(),  # of the last size that it had
    )


def _seconds_expected(
    path: SearchPath, space: SearchSpace, steps: int, options: SearchOptions
) -> float:
    """Return the time that one worker will take, from one measured evaluation."""
    seconds, units = space.projector.seconds(path.projections[-1]), space.units
    count = 0
    for taken in range(len(path.units), steps):
        left = len(units) - taken
        race_of = evaluations_expected(len(path.always) + taken, left)
        count += race_of if options.strategy == "race" else PER_PROJECTION * left
        count += PER_EXCHANGE if options.exchange and taken < 12 else 0
    return seconds * count
