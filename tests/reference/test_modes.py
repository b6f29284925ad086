"""Laplace's approximation around modes: exact where it should be, and near quadrature elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

import gpproj
from gpproj.inference import Evidence, log_evidence
from gpproj.kernels import Constant, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.priors import Bounds, LogNormal, scales
from gpproj.reference import fitting
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.fitting import _on_more_rows, check_draws
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.modes import (
    WIDEST,
    Mode,
    distinct,
    draws_around,
    modes_of,
    settled,
    shares_of,
)
from tests.fitting import fit_mode

KERNEL = Constant() + SquaredExponential()
WIDE = Bounds(np.full(5, -50.0), np.full(5, 50.0))


def data(n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n)


def given_density(density, d=2, mask=None, box=WIDE):
    """A posterior of a constant, a signal variance, d length-scales and noise, of any density."""
    problem = gpproj.condition(*data(d=d), KERNEL, Gaussian(0.1), standardize=True).problem
    mask = np.ones(d, dtype=bool) if mask is None else np.array(mask)
    changed = SimpleNamespace(kernel=problem.kernel, likelihood=problem.likelihood, mask=mask)
    curvature = partial(by_differences, density)
    return SimpleNamespace(
        problem=changed, density=lambda: density, curvature=curvature, bounds=box
    )


def by_differences(density, x, places):
    """Minus the curvature of a density, by differences of its gradient alone."""
    points = np.vstack([x + 1e-4 * np.eye(x.size)[places], x])
    gradients = density(points).gradient[:, places]
    H = (gradients[-1] - gradients[:-1]) / 1e-4
    return 0.5 * (H + H.T)


def optimum(x, value, slope=0.0):
    x = np.atleast_2d(x)
    return SimpleNamespace(x=x, value=-np.atleast_1d(value), gradient=-slope * np.ones_like(x))


def gaussian(centre, H, height=0.0):
    """The log density of a Gaussian of curvature H, `height` at its centre."""

    def density(t):
        away = t - centre
        return Evidence(height - 0.5 * np.sum((away @ H) * away, axis=1), -away @ H)

    return density


CENTRE = np.array([0.3, -1.0, 2.0, 0.5, -2.0])


@pytest.fixture
def curvature():
    A = np.random.default_rng(0).standard_normal((5, 5))
    return A @ A.T + np.eye(5)


def test_a_gaussian_density_is_exact(curvature):
    posterior = given_density(gaussian(CENTRE, curvature, 7.0))
    (mode,) = modes_of(posterior, optimum(CENTRE, 7.0))
    np.testing.assert_allclose(mode.spread @ mode.spread.T, np.linalg.inv(curvature), rtol=1e-6)
    expected = 7.0 + 0.5 * np.linalg.slogdet(2 * np.pi * np.linalg.inv(curvature))[1]
    assert mode.log_mass == pytest.approx(expected, abs=1e-8)
    drawn = draws_around([mode], 4000, WIDE).parameters
    np.testing.assert_allclose(drawn.mean(axis=0), CENTRE, atol=0.01)
    np.testing.assert_allclose(np.cov(drawn.T), np.linalg.inv(curvature), atol=0.06)


def test_sixteen_draws_have_the_margins_of_the_gaussian():
    """Each direction has one draw in each sixteenth of its normal distribution."""
    from scipy.stats import norm

    sd = np.array([0.1, 0.5, 1.0, 0.3, 0.2])
    posterior = given_density(gaussian(CENTRE, np.diag(sd**-2.0)))
    drawn = draws_around(modes_of(posterior, optimum(CENTRE, 0.0)), 16, WIDE)
    places = np.floor(16 * norm.cdf((drawn.parameters - CENTRE) / sd)).astype(int)
    np.testing.assert_array_equal(np.sort(places, axis=0), np.tile(np.arange(16)[:, None], 5))
    np.testing.assert_allclose(drawn.weights, 1 / 16)


def test_flat_directions_are_not_followed_for_ever(curvature):
    flat = np.diag([1.0, 1.0, 1e-8, 1.0, 1.0])
    (mode,) = modes_of(given_density(gaussian(CENTRE, flat)), optimum(CENTRE, 0.0))
    sd = np.sqrt(np.diag(mode.spread @ mode.spread.T))
    np.testing.assert_allclose(sd, [1.0, 1.0, WIDEST, 1.0, 1.0], rtol=1e-5)


def test_inputs_that_are_out_are_not_moved(curvature):
    posterior = given_density(gaussian(CENTRE, curvature), mask=[True, False])
    (mode,) = modes_of(posterior, optimum(CENTRE, 0.0))
    drawn = draws_around([mode], 20, WIDE).parameters
    np.testing.assert_array_equal(drawn[:, 3], CENTRE[3])
    left = np.delete(np.delete(curvature, 3, axis=0), 3, axis=1)
    expected = 0.5 * np.linalg.slogdet(2 * np.pi * np.linalg.inv(left))[1]
    assert mode.log_mass == pytest.approx(expected, abs=1e-8)


def test_where_the_density_ends_the_mode_stands_for_itself():
    def density(t):
        beyond = np.any(t > CENTRE + 1e-9, axis=1)
        return Evidence(
            np.where(beyond, -np.inf, 0.0), np.where(beyond[:, None], np.nan, np.zeros_like(t))
        )

    (mode,) = modes_of(given_density(density), optimum(CENTRE, 0.0))
    drawn = draws_around([mode], 4, WIDE)
    np.testing.assert_array_equal(drawn.parameters, np.tile(CENTRE, (4, 1)))
    assert mode.log_mass == 0.0


def test_what_pushes_against_a_bound_stays_there():
    """Beyond the bound there is nothing: inside the density falls as an exponential one."""
    slope = np.array([0.0, 0.0, 0.0, 0.0, -20.0])

    def density(t):
        value, gradient = gaussian(CENTRE, np.diag([1.0, 1.0, 1.0, 1.0, 1e-9]))(t)
        return Evidence(value + (t - CENTRE) @ slope, gradient + slope)

    box = Bounds(np.append(np.full(4, -50.0), CENTRE[4]), np.full(5, 50.0))
    (mode,) = modes_of(given_density(density, box=box), optimum(CENTRE, 0.0, slope))
    drawn = draws_around([mode], 400, box).parameters
    np.testing.assert_array_equal(drawn[:, 4], CENTRE[4])
    np.testing.assert_allclose(drawn[:, :4].std(axis=0), 1.0, rtol=0.05)
    # An integral of exp(-20 t) in this direction, Gaussian ones in the others.
    expected = 4 * 0.5 * np.log(2 * np.pi) - np.log(20.0)
    assert mode.log_mass == pytest.approx(expected, abs=1e-4)


def test_the_same_optimum_is_one_mode_and_others_are_their_own():
    H = np.diag([4.0, 4.0, 0.3, 4.0, 4.0])
    posterior = given_density(gaussian(CENTRE, H))
    near, along = CENTRE + 0.05, CENTRE + np.array([0.0, 0.0, 1.2, 0.0, 0.0])
    far = CENTRE + np.array([0.0, 0.0, 0.0, 3.0, 0.0])
    found = modes_of(posterior, optimum([CENTRE, near, along, far], [0.0, -0.01, -0.2, -0.3]))
    assert [mode.parameters[3] for mode in found] == [CENTRE[3], far[3]]
    # What could not be evaluated is no mode.
    nothing = modes_of(posterior, optimum([CENTRE, far], [-np.inf, -np.inf]))
    assert nothing == []


def test_a_mode_settles_where_more_rows_have_their_maximum(curvature):
    """With a spread that is right, and with one that is five times too large or too small."""
    posterior = given_density(gaussian(CENTRE, curvature))
    W = np.linalg.cholesky(np.linalg.inv(1.5 * curvature))
    away = CENTRE + np.array([0.3, -0.2, 0.1, 0.4, -0.3])
    before = float(posterior.density()(away[None, :]).value[0])
    for spread in (W, 5.0 * W, 0.2 * W):
        found = settled(posterior, Mode(away, spread, 3.0), before)
        short = found.parameters - CENTRE
        assert 0.5 * short @ curvature @ short < 0.05
        # The mass has grown as the height has.
        rise = 0.5 * (away - CENTRE) @ curvature @ (away - CENTRE)
        assert found.log_mass == pytest.approx(3.0 + rise, abs=0.05)
    # One that has no spread stays where it is.
    fixed = settled(posterior, Mode(away, np.zeros((5, 0)), 3.0), before - 2.0)
    assert fixed.log_mass == pytest.approx(5.0)


def test_maxima_that_meet_on_more_rows_are_one():
    posterior = given_density(gaussian(CENTRE, np.eye(5)))
    near = Mode(CENTRE + 0.01, np.eye(5), 2.0)
    modes = [near, Mode(CENTRE, np.eye(5), 1.0), Mode(CENTRE + 5.0, np.eye(5), 3.0)]
    assert [mode.log_mass for mode in distinct(posterior, modes)] == [3.0, 2.0]


@dataclass(frozen=True)
class Known:
    """A problem of five parameters, of which only the mask matters."""

    kernel: object
    likelihood: object
    mask: object

    def with_rows_of(self, other):
        return self


@dataclass(frozen=True)
class GivenPosterior:
    """A posterior whose density on few rows is another one than on many."""

    problem: Known
    heights: tuple
    times: float = 1.0
    bounds: Bounds = WIDE

    def density(self):
        def density(x):
            value = [max(h - 0.5 * np.sum((one - at) ** 2) for at, h in self.heights) for one in x]
            nearest = [min(self.heights, key=lambda own: np.sum((one - own[0]) ** 2)) for one in x]
            slope = np.array([own[0] - one for one, own in zip(x, nearest, strict=True)])
            return Evidence(np.array(value), slope)

        return density

    def with_problem(self, **changes):
        return self

    def by_some_rows(self, most):
        return self


def test_modes_are_weighed_again_on_more_rows():
    """On few rows one mode is a little better, on many it is much worse."""
    problem = Known(*(getattr(given_density(None).problem, f.name) for f in fields(Known)))
    near, far = tuple(np.zeros(5)), tuple(np.full(5, 9.0))
    explored = GivenPosterior(problem, ((near, 1.0), (far, 0.0)), times=4.0)
    whole = GivenPosterior(problem, ((near, 1.0), (far, 90.0)))
    modes = [Mode(np.array(near), np.eye(5), 1.0), Mode(np.array(far), np.eye(5), 0.0)]
    # The second one has no draw of its own on few rows, and is weighed all the same.
    assert shares_of(modes, 1).tolist() == [1, 0]
    found = _on_more_rows(explored, whole, modes, 1)
    assert [mode.log_mass for mode in found] == pytest.approx([90.0, 1.0])
    np.testing.assert_array_equal(found[0].parameters, far)


def test_few_rows_that_stand_for_many_have_about_their_curvature():
    X, y = data(n=800, seed=2)
    ref = gpproj.condition(X, y, KERNEL, Gaussian(0.04), standardize=True)
    whole = LogPosterior(ref.problem, scales(ref.training), "weak")
    state = whole.ascended(default_starts(whole))
    (mode, *_) = modes_of(whole, state)
    (exact, *_) = modes_of(replace_curvature(whole), state)
    assert whole.by_some_rows(400).times == 2.0
    sd, expected = (np.sqrt(np.sum(one.spread**2, axis=1)) for one in (mode, exact))
    np.testing.assert_allclose(sd, expected, rtol=0.35)
    assert mode.log_mass == pytest.approx(exact.log_mass, abs=1.0)


def replace_curvature(posterior):
    """The same posterior, whose curvature is that of all rows."""
    own = SimpleNamespace(**{name: getattr(posterior, name) for name in ("problem", "bounds")})
    own.curvature = partial(by_differences, posterior.density())
    return own


@pytest.mark.parametrize("prior", ["saas", "weak"])
def test_idle_inputs_have_the_curvature_and_evidence_of_all_others(prior):
    """What one gradient tells of inputs that hardly act is what evaluations would."""
    X, y = data(n=60, d=6, seed=3)
    ref = gpproj.condition(X, y, KERNEL, Gaussian(0.04), standardize=True)
    posterior = LogPosterior(ref.problem, scales(ref.training), prior)
    x = np.log([0.5, 1.2, 0.7, 1.5, 40.0, 90.0, 200.0, 60.0, 0.05])
    assert posterior._idle(x).tolist() == [False] * 4 + [True] * 4 + [False]
    places = np.arange(9)
    expected = by_differences(posterior.density(), x, places)
    found = posterior.curvature(x, places)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())
    entries = [[place] for place in range(2, 8)]
    off = np.repeat(x[None, :], 6, axis=0)
    off[np.arange(6), np.arange(2, 8)] = np.inf
    evidence = posterior.evidence_without_each(x, entries, off)
    exact = log_evidence(ref.problem, off).value
    np.testing.assert_allclose(evidence, exact, atol=0.02)
    now = log_evidence(ref.problem, x[None, :]).value
    assert np.abs(exact - now).max() > 1.0  # some of them matter


def test_hyperparameters_of_many_rows_are_learned_from_some(monkeypatch):
    X, y = data(n=240, seed=4)
    whole = gpproj.fit(X, y, check=False)
    for name, rows in (("COMPARED", 40), ("EXPLORED", 60), ("LEARNED", 120)):
        monkeypatch.setattr(fitting, name, rows)
    some = gpproj.fit(X, y, check=False)
    assert some.training.n == 240
    new, target = data(n=500, seed=5)
    gain = np.mean(some.log_density(new, target) - whole.log_density(new, target))
    assert abs(gain) < 0.05
    # One draw is the mode on the rows that were learned from.
    one = gpproj.fit(X, y, check=False, draws=1, kernel=KERNEL)
    learned = LogPosterior(one.problem, scales(one.training), "saas").by_some_rows(120)
    density = learned.density()
    rise = learned.ascended(one.draws.parameters).value[0] + density(one.draws.parameters).value[0]
    assert -0.2 < rise <= 1e-6


@pytest.mark.parametrize(("n", "draws"), [(40, 16), (1000, 16), (2000, 8), (5000, 4)])
def test_many_rows_have_fewer_draws(n, draws):
    assert check_draws(None, None, n) == draws
    assert check_draws(7, None, n) == 7


def test_draws_are_shared_by_mass():
    def mode(at, mass):
        return Mode(np.full(5, at), 0.01 * np.eye(5), mass)

    modes = [mode(0.0, np.log(0.58)), mode(5.0, np.log(0.35)), mode(9.0, np.log(0.07))]
    drawn = draws_around(modes, 16, WIDE).parameters
    counts = [int(np.sum(np.abs(drawn[:, 0] - at) < 1.0)) for at in (0.0, 5.0, 9.0)]
    assert counts == [9, 6, 1]  # 9.28, 5.6 and 1.12 of 16
    assert np.array_equal(draws_around(modes, 16, WIDE).parameters, drawn)
    # A mode that has one draw is drawn itself, and a single draw is of the first mode.
    np.testing.assert_array_equal(drawn[-1], np.full(5, 9.0))
    np.testing.assert_array_equal(draws_around(modes, 1, WIDE).parameters, np.zeros((1, 5)))


def test_draws_keep_to_the_bounds():
    mode = Mode(np.zeros(5), 3.0 * np.eye(5), 0.0)
    drawn = draws_around([mode], 50, Bounds(np.full(5, -1.0), np.full(5, 0.5))).parameters
    assert drawn.min() == -1.0
    assert drawn.max() == 0.5


HELD = 1e-3
"""Standard deviation of what is held where it is, in its logarithm."""


@pytest.mark.parametrize("free", [("lengthscale",), ("lengthscale", "noise_variance")])
@pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()], ids=["se", "matern"])
def test_the_mass_of_a_posterior_is_that_of_quadrature(free, kernel):
    """One input: the other hyperparameters are held by a prior that is nearly a point."""
    X, y = data(n=50, d=1, seed=1)
    ref = gpproj.condition(X, y, kernel, Gaussian(0.1), standardize=True)
    prior = {
        name: LogNormal(value, 1.0 if name in free else HELD)
        for name, value in [("signal_variance", 1.0), ("lengthscale", 0.7), ("noise_variance", 0.1)]
    }
    posterior = LogPosterior(ref.problem, scales(ref.training), prior)
    (mode, *others) = modes_of(posterior, posterior.maximise(default_starts(posterior)))
    assert others == []
    names = ["signal_variance", "lengthscale", "noise_variance"]
    places = [names.index(name) for name in free]
    axes = [np.linspace(-2.0, 2.0, 101 if len(free) == 1 else 41) for _ in free]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(free))
    points = np.tile(mode.parameters, (len(grid), 1))
    points[:, places] += grid
    value = posterior.density()(points).value
    cell = sum(np.log(axis[1] - axis[0]) for axis in axes)
    held = (3 - len(free)) * np.log(HELD * np.sqrt(2 * np.pi))
    expected = logsumexp(value) + cell + held
    assert mode.log_mass == pytest.approx(expected, abs=0.1)
    # So are mean and spread of the draws, up to the skewness of the posterior.
    weights = np.exp(value - logsumexp(value))
    mean = weights @ points[:, places]
    sd = np.sqrt(weights @ (points[:, places] - mean) ** 2)
    drawn = draws_around([mode], 200, posterior.bounds).parameters[:, places]
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.35 * sd.max())
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.2)


# What fits make of it


def test_a_fit_is_sixteen_draws_around_its_mode():
    X, y = data()
    ref = gpproj.fit(X, y, check=False)
    assert ref.draws.count == fitting.DRAWS == 16
    np.testing.assert_allclose(ref.draws.weights, 1 / 16)
    assert isinstance(ref.structure.right, SquaredExponential | Matern52)
    again = gpproj.fit(X, y, check=False)
    np.testing.assert_array_equal(again.draws.parameters, ref.draws.parameters)
    lower, upper = LogPosterior(ref.problem, scales(ref.training), ref.prior).bounds
    off = np.zeros((16, upper.size), dtype=bool) if ref.draws.off is None else ref.draws.off
    inside = (ref.draws.parameters >= lower) & (ref.draws.parameters <= upper)
    assert np.all(inside | off)
    assert not np.any(inside & off)


def test_one_draw_is_the_highest_mode():
    X, y = data()
    ref = gpproj.fit(X, y, kernel=KERNEL, prior="weak", draws=1, check=False)
    assert ref.draws.count == 1
    assert ref.kernel == fit_mode(X, y).kernel
    best = ref.optimum.x[np.argmin(ref.optimum.value)]
    np.testing.assert_array_equal(ref.draws.parameters[0], best)
    density = LogPosterior(ref.problem, scales(ref.training), "weak").density()
    rng = np.random.default_rng(0)
    others = best + 0.2 * rng.standard_normal((50, best.size))
    assert density(others).value.max() < density(best[None, :]).value[0]
    # Draws of the same fit are around it.
    drawn = gpproj.fit(X, y, kernel=KERNEL, prior="weak", draws=16, check=False).draws
    np.testing.assert_allclose(np.median(drawn.parameters, axis=0), best, atol=0.5)


@pytest.mark.parametrize("draws", [0, -1, 2.5, True, "many"])
def test_bad_numbers_of_draws_are_named(draws):
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
        gpproj.fit(*data(), draws=draws)


def test_refits_keep_the_settings():
    X, y = data()
    ref = gpproj.fit(X, y, draws=5, prior="botorch", check=False)
    again = ref.refit(X[:30], y[:30])
    assert (again.draws.count, again.prior) == (5, "botorch")
    own = gpproj.fit(X[:30], y[:30], draws=5, prior="botorch", check=False)
    np.testing.assert_array_equal(again.draws.parameters, own.draws.parameters)


@pytest.mark.parametrize(
    ("likelihood", "target"),
    [
        ("bernoulli", lambda f, rng: (f + 0.5 * rng.standard_normal(f.size) > 0).astype(int)),
        ("poisson", lambda f, rng: rng.poisson(np.exp(f))),
    ],
)
def test_classes_and_counts_have_draws_too(likelihood, target):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    y = target(1.5 * np.sin(2 * X[:, 0]), rng)
    ref = gpproj.fit(X, y, likelihood, kernel=KERNEL, draws=4, check=False)
    assert ref.draws.count == 4
    assert np.ptp(ref.draws.parameters, axis=0).min() > 0.0
    assert np.all(np.isfinite(ref.log_density(X, y)))
    assert np.all(np.isfinite(ref.loo().log_density))


def test_inducing_points_have_one_draw():
    X, y = data(n=60)
    ref = gpproj.fit(X, y, inference=gpproj.Sparse(15), check=False)
    assert ref.draws.count == 1


def test_kernels_compete_on_some_of_the_rows_only(monkeypatch):
    X, y = data(n=60)
    begun, followed = [], []
    ascended, continued = LogPosterior.ascended, LogPosterior.continued

    def kind_and_rows(posterior):
        return type(posterior.problem.kernel.right).__name__, len(posterior.problem.y)

    def watched(self, starts):
        begun.append(kind_and_rows(self))
        return ascended(self, starts)

    def watched_on_all(self, fewer, factor, others):
        assert len(fewer.x) <= fitting.FOLLOWED
        followed.append(kind_and_rows(self))
        return continued(self, fewer, factor, others)

    monkeypatch.setattr(LogPosterior, "ascended", watched)
    monkeypatch.setattr(LogPosterior, "continued", watched_on_all)
    monkeypatch.setattr(fitting, "COMPARED", 25)
    for undecided, kinds in ((0.0, 1), (1e6, 2)):
        monkeypatch.setattr(fitting, "UNDECIDED", undecided)
        begun.clear(), followed.clear()
        ref = gpproj.fit(X, y, check=False)
        assert set(begun) == {("SquaredExponential", 25), ("Matern52", 25)}
        assert followed[-1] == (type(ref.structure.right).__name__, 60)
        assert len(set(followed)) == kinds
    # A kernel that is given has no rivals.
    begun.clear()
    gpproj.fit(X, y, kernel=KERNEL, check=False)
    assert set(begun) == {("SquaredExponential", 25)}


def persons(seed, n=240):
    """An input with a level for each of its values, as an age that tells the person."""
    rng = np.random.default_rng(seed)
    values, levels = rng.standard_normal(60), rng.standard_normal(60)
    person = rng.integers(60, size=n)
    X = np.c_[values[person], rng.standard_normal((n, 3))]
    return X, levels[person] + 0.4 * X[:, 1] + 0.3 * rng.standard_normal(n)


def test_what_few_rows_do_not_show_is_looked_for_on_all(monkeypatch):
    X, y = persons(0)

    def lowest():
        return gpproj.fit(X, y, check=False, draws=1, kernel=KERNEL).optimum.value.min()

    whole = lowest()
    monkeypatch.setattr(fitting, "COMPARED", 40)  # less than one row for each value
    assert lowest() == pytest.approx(whole, abs=0.01)
    monkeypatch.setattr(fitting, "starts_by_input", lambda posterior: np.empty((0, 7)))
    assert lowest() > whole + 50.0


def test_kernels_compete_with_the_same_inputs(monkeypatch):
    """A posterior of fewer length-scales has another mass: inputs go off afterwards."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    y = 3.0 * X[:, 0] + 0.01 * rng.standard_normal(60)
    counted = []
    plain = fitting.modes_of

    def watched(posterior, optimum):
        counted.append(int(posterior.problem.mask.sum()))
        return plain(posterior, optimum)

    monkeypatch.setattr(fitting, "modes_of", watched)
    ref = gpproj.fit(X, y, prior=None, check=False)
    assert not ref.problem.mask.all()
    assert counted == [3, 3, int(ref.problem.mask.sum())]
    off = ref.draws.parameters[:, 2:5][:, ~ref.problem.mask]
    assert np.ptp(off, axis=0).max() == 0.0


def drawn_from(kernel, seed, n=100, new=300, noise=0.1):
    """A function of a Gaussian process of two inputs with noise: rows to fit, and others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + new, 2))
    squared = np.sum(((X[:, None] - X) / [0.7, 1.5]) ** 2, axis=-1)
    r = np.sqrt(5.0 * squared)
    K = {
        SquaredExponential: np.exp(-0.5 * squared),
        Matern52: (1.0 + r + r**2 / 3.0) * np.exp(-r),
    }[kernel]
    f = np.linalg.cholesky(K + 1e-8 * np.eye(n + new)) @ rng.standard_normal(n + new)
    y = f + noise * rng.standard_normal(n + new)
    return (X[:n], y[:n]), (X[n:], y[n:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "other"), [(SquaredExponential, Matern52), (Matern52, SquaredExponential)]
)
def test_the_kernel_of_the_data_is_chosen_more_often_than_not(kernel, other):
    """With 20 seeds 15 squared exponential and 17 Matern functions are told from the other."""
    right, gains = 0, []
    for seed in range(20):
        rows, new = drawn_from(kernel, seed)
        ref = gpproj.fit(*rows, check=False)
        right += isinstance(ref.structure.right, kernel)
        wrong = gpproj.fit(*rows, kernel=Constant() + other(), check=False)
        gains.append(np.mean(ref.log_density(*new)) - np.mean(wrong.log_density(*new)))
    assert right >= 13
    assert np.mean(gains) > 0.0
