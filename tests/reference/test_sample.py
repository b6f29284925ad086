"""`sample`: the space that is sampled, draws, names, units, warnings, and known posteriors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad

import gpproj
from gpproj.data import training_set
from gpproj.inference import Evidence
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.priors import Bounds, LogNormal, LogUniform, scales
from gpproj.reference.diagnostics import warn_of_trouble
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.sampling import space_of
from gpproj.reference.space import Space
from tests.fitting import fit_mode

pytest.importorskip("nutpie")
az = pytest.importorskip("arviz")


def make_data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, 3.0 + 2 * np.sin(X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(n)


def quick(X, y, **options):
    """Draws that are right in form; too few of them to be right in number."""
    chosen = {"draws": 8, "tune": 30, "chains": 2, "random_state": 0, "progress": False} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gpproj.sample(X, y, **chosen)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    X, y = data
    return quick(pd.DataFrame(X, columns=["length", "width"]), y)


def box(*limits):
    lower, upper = np.array(limits, dtype=float).T
    return Bounds(lower, upper)


FREE = (-np.inf, np.inf)
SPACES = [
    Space(box(FREE, FREE, FREE), np.zeros(3), np.array([True, True, True])),
    Space(box((-1.0, 3.0), FREE, (2.0, 2.5)), np.zeros(3), np.array([True, True, True])),
    Space(box((-1.0, 3.0), FREE, (2.0, 2.5)), np.full(3, 7.0), np.array([True, False, True])),
]
in_spaces = pytest.mark.parametrize("space", SPACES, ids=["free", "bounded", "held"])


@in_spaces
def test_there_and_back(space):
    t = np.where(space.moving, [1.3, -20.0, 2.2], space.values)
    z = space.free(t)
    assert z.shape == (space.moving.sum(),)
    np.testing.assert_allclose(space.fixed(z), t, rtol=1e-12)
    batch = np.stack([z, z + 0.1, z - 5.0])[None, :, :]
    fixed = space.fixed(batch)
    assert fixed.shape == (1, 3, 3)
    np.testing.assert_allclose(fixed[0, 0], t, rtol=1e-12)
    np.testing.assert_array_equal(fixed[..., ~space.moving], 7.0)
    np.testing.assert_allclose(space.free(fixed[0, 1]), z + 0.1, rtol=0, atol=1e-8)
    inside = (fixed >= space.bounds.lower) & (fixed <= space.bounds.upper)
    assert inside[..., space.moving].all()


def test_starts_on_a_bound_are_moved_off_it():
    space = SPACES[1]
    for end in (-1.0, 3.0):
        start = space.fixed(space.free(np.array([end, 0.0, 2.2])))
        assert start[0] == pytest.approx(end, abs=0.004 + 1e-12)
        assert start[0] != end
    middle = space.free(np.array([1.0, 0.0, 2.25]))
    np.testing.assert_allclose(middle, 0.0, atol=1e-12)


def bent(t):
    """A log density with correlations, and its gradient."""
    A = np.array([[2.0, 0.4, -0.3], [0.4, 1.0, 0.2], [-0.3, 0.2, 3.0]])
    away = t - [0.5, -1.0, 2.3]
    value = -0.5 * np.sum((away @ A) * away, axis=-1) + np.sin(t[:, 0] * t[:, 2])
    gradient = -away @ A
    gradient[:, 0] += np.cos(t[:, 0] * t[:, 2]) * t[:, 2]
    gradient[:, 2] += np.cos(t[:, 0] * t[:, 2]) * t[:, 0]
    return Evidence(value, gradient)


def slopes(function, z, step=1e-5):
    moves = step * np.eye(z.size)
    return np.array([(function(z + h)[0] - function(z - h)[0]) / (2 * step) for h in moves])


@in_spaces
def test_the_gradient_in_the_coordinates(space):
    pulled = space.pulled_back(bent)
    rng = np.random.default_rng(0)
    for _ in range(5):
        z = rng.standard_normal(space.moving.sum())
        np.testing.assert_allclose(pulled(z)[1], slopes(pulled, z), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prior", ["weak", "log-uniform"])
def test_the_gradient_of_a_posterior_in_the_coordinates(data, prior):
    ref = fit_mode(*data)
    posterior = LogPosterior(ref.problem, scales(ref.training), prior)
    space = space_of(posterior)
    pulled = space.pulled_back(posterior.density())
    z = space.free(ref.draws.parameters[0]) + 0.3
    np.testing.assert_allclose(pulled(z)[1], slopes(pulled, z), rtol=1e-5, atol=1e-5)


def test_no_mass_is_lost_between_log_parameters_and_coordinates():
    space = Space(box((-1.0, 2.0)), np.zeros(1), np.array([True]))

    def density(t):
        return Evidence(np.cos(2 * t[:, 0]), -2 * np.sin(2 * t))

    pulled = space.pulled_back(density)
    mass = quad(lambda t: np.exp(np.cos(2 * t)), -1.0, 2.0)[0]
    assert quad(lambda z: np.exp(pulled(np.array([z]))[0]), -40.0, 40.0)[0] == pytest.approx(mass)
    half = space.free(np.array([0.3]))[0]
    part = quad(lambda t: np.exp(np.cos(2 * t)), -1.0, 0.3)[0]
    assert quad(lambda z: np.exp(pulled(np.array([z]))[0]), -40.0, half)[0] == pytest.approx(part)


def test_far_leaps_are_unlikely_and_not_errors():
    value, gradient = SPACES[1].pulled_back(bent)(np.array([1e3, 0.0, 0.0]))
    assert value == -np.inf
    assert np.isfinite(gradient).all()


def test_the_same_seed_gives_the_same_draws(data, ref):
    X, y = data
    again = quick(X, y, n_jobs=2)
    np.testing.assert_array_equal(again.draws.parameters, ref.draws.parameters)
    other = quick(X, y, random_state=1)
    assert np.abs(other.draws.parameters - ref.draws.parameters).min() > 0
    one, two = (quick(X, y, random_state=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.draws.parameters, two.draws.parameters)


def test_chains_start_apart_and_differ(ref):
    first, second = np.split(ref.draws.parameters, 2)
    assert np.abs(first - second).min() > 0


def test_the_posterior_is_named(ref):
    posterior = ref.posterior.posterior
    assert set(posterior) == {
        "constant_variance", "signal_variance", "lengthscale", "noise_variance"
    }  # fmt: skip
    assert posterior["lengthscale"].dims == ("chain", "draw", "input")
    assert posterior["lengthscale"].coords["input"].values.tolist() == ["length", "width"]
    for name in set(posterior) - {"lengthscale"}:
        assert posterior[name].dims == ("chain", "draw")
    assert dict(posterior.sizes) == {"chain": 2, "draw": 4, "input": 2}
    assert ref.posterior.sample_stats["diverging"].shape == (2, 4)
    assert ref.draws.count == 8
    np.testing.assert_allclose(ref.draws.weights, 1 / 8)
    assert "draws=8" in repr(ref)
    assert fit_mode(*make_data()).posterior is None


def test_the_posterior_holds_the_draws(ref):
    posterior, unit = ref.posterior.posterior, ref.training.scaling.target_scale**2
    values = np.exp(ref.draws.parameters)
    for column, name in [(0, "constant_variance"), (1, "signal_variance"), (4, "noise_variance")]:
        np.testing.assert_allclose(np.ravel(posterior[name]), unit * values[:, column])
    np.testing.assert_allclose(np.reshape(posterior["lengthscale"].values, (8, 2)), values[:, 2:4])
    assert ref.noise_variance == pytest.approx(float(posterior["noise_variance"].mean()))
    logs = np.log(posterior["lengthscale"]).mean(("chain", "draw"))
    np.testing.assert_allclose(ref.kernel.right.lengthscales, np.exp(logs))


def test_draws_are_rounded_up_to_whole_chains(data):
    assert quick(*data, draws=13, chains=3).draws.count == 15
    assert quick(*data, chains=1).draws.count == 8


def test_everything_is_in_the_users_units(data, ref):
    """Chains are chaotic: only powers of two leave every bit of the standardised data alone."""
    X, y = data
    other = quick(X / 4, 8 * y)
    for name, values in ref.posterior.posterior.items():
        factor = 1 if name == "lengthscale" else 64
        found = other.posterior.posterior[name]
        np.testing.assert_allclose(found.values, factor * values.values, rtol=1e-6)
    assert other.noise_variance == pytest.approx(64 * ref.noise_variance)
    np.testing.assert_allclose(other.predict(X[:3] / 4).mean, 8 * ref.predict(X[:3]).mean)


def test_constant_inputs_are_left_out_of_the_labels(data):
    X, y = data
    ref = quick(np.column_stack([X[:, 0], np.full(len(y), 2.0), X[:, 1]]), y)
    posterior = ref.posterior.posterior
    assert posterior["lengthscale"].coords["input"].values.tolist() == ["x0", "x2"]
    values = np.exp(ref.draws.parameters)
    np.testing.assert_allclose(
        np.reshape(posterior["lengthscale"].values, (8, 2)), values[:, [2, 4]]
    )
    assert np.ptp(values[:, 3]) == 0
    assert ref.ard_relevance()["x1"] == 0
    new = np.column_stack([X[:4, 0], np.full(4, 2.0), X[:4, 1]])
    moved = new.copy()
    moved[:, 1] += 5.0
    np.testing.assert_array_equal(ref.predict(new).mean, ref.predict(moved).mean)
    assert np.isfinite(ref.loo().log_density).all()
    sub = gpproj.project(ref, ["x1", "x0"], clusters=2)
    assert np.isfinite(sub.projection_error)


def test_a_second_component_has_its_own_names(data):
    ref = quick(*data, kernel=SquaredExponential() + Matern32())
    posterior = ref.posterior.posterior
    assert set(posterior) == {
        "signal_variance", "lengthscale", "signal_variance_2", "lengthscale_2", "noise_variance"
    }  # fmt: skip
    values = np.exp(ref.draws.parameters).reshape(2, 4, 7)
    unit = ref.training.scaling.target_scale**2
    np.testing.assert_allclose(posterior["lengthscale_2"].values, values[..., 4:6])
    np.testing.assert_allclose(posterior["signal_variance_2"].values, unit * values[..., 3])
    assert posterior["lengthscale_2"].dims == ("chain", "draw", "input")


def test_slopes_belong_to_inputs(data):
    posterior = quick(*data, kernel=Constant() + Linear()).posterior.posterior
    assert posterior["slope_variance"].dims == ("chain", "draw", "input")
    assert "lengthscale" not in posterior


def test_flat_priors_bound_the_draws(data):
    ref = quick(*data, prior={"lengthscale": LogUniform(0.9, 1.1)})
    scale = ref.posterior.posterior["lengthscale"]
    assert 0.9 < scale.min() < scale.max() < 1.1


def test_a_sampled_reference_is_used_as_any_other(data, ref):
    X, y = data
    path = gpproj.forward_search(ref, 1, progress=False)
    assert path.order == ("length",)
    frame = pd.DataFrame(X, columns=["length", "width"])
    assert path[1].predict(frame).mean.shape == y.shape
    assert ref.loo().mean.shape == y.shape
    assert ref.ard_relevance().max() == 1.0


def test_refitting_follows_the_recipe(data):
    X, y = data
    ref = quick(X, y, draws=10, nugget=1e-3, prior={"lengthscale": LogUniform(0.5, 2.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (ref.refit(X[:20], y[:20]) for _ in range(2))
    np.testing.assert_array_equal(one.draws.parameters, two.draws.parameters)
    assert one.draws.count == 10
    assert one.problem.nugget == 1e-3
    assert one.training.n == 20
    scale = one.posterior.posterior["lengthscale"]
    assert 0.5 < scale.min() < scale.max() < 2.0


def test_refitting_the_same_data_gives_the_same_draws(data, ref):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = ref.refit(*data)
    np.testing.assert_array_equal(again.draws.parameters, ref.draws.parameters)


def trace(draws, diverging=None):
    """Hand-made draws of one variable, `(chains, draws)`."""
    flags = np.zeros(draws.shape, dtype=bool) if diverging is None else diverging
    return az.from_dict(posterior={"noise_variance": draws}, sample_stats={"diverging": flags})


def independent(chains=4, draws=250, seed=0):
    return np.random.default_rng(seed).standard_normal((chains, draws))


def test_good_draws_are_no_trouble():
    warn_of_trouble(trace(independent()))
    warn_of_trouble(trace(independent(chains=1)))


def test_divergences_are_told():
    diverging = np.zeros((4, 250), dtype=bool)
    diverging[1, 7] = diverging[3, 100] = True
    with pytest.warns(UserWarning, match="2 of 1000 draws diverged.*stronger prior") as seen:
        warn_of_trouble(trace(independent(), diverging))
    assert len(seen) == 1


def test_chains_that_disagree_are_told():
    unequal = independent() * [[1.0], [1.0], [1.0], [5.0]]  # in width: effective sizes stay high
    with pytest.warns(UserWarning, match="chains disagree about noise_variance.*R-hat") as seen:
        warn_of_trouble(trace(unequal))
    assert len(seen) == 1


def test_draws_that_are_too_much_alike_are_told():
    sticky = independent(chains=1, draws=1000)
    for i in range(1, 1000):
        sticky[0, i] += 0.95 * sticky[0, i - 1]
    with pytest.warns(UserWarning, match="the 1000 draws of noise_variance are worth only") as seen:
        warn_of_trouble(trace(sticky))
    assert len(seen) == 1


def test_too_little_tuning_is_told_in_plain_words(data):
    with pytest.warns(UserWarning, match="sampling: .* more draws help") as seen:
        gpproj.sample(*data, draws=12, tune=10, random_state=0, progress=False)
    assert all(str(one.message).startswith("sampling: ") for one in seen)
    assert {one.filename for one in seen} == {__file__}


@pytest.mark.slow
def test_leaps_of_the_sampler_are_silent():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for seed in range(3):
            gpproj.sample(
                *make_data(seed=seed), draws=8, tune=30, random_state=seed, progress=False
            )
    assert [one for one in seen if not str(one.message).startswith("sampling: ")] == []


@pytest.mark.parametrize(
    ("absent", "text"),
    [
        (("nutpie",), r"gpproj\.sample needs nutpie; .*pip install 'gpproj\[mcmc\]'"),
        (("nutpie", "arviz"), r"needs nutpie and arviz; .*pip install 'gpproj\[mcmc\]'"),
    ],
)
def test_missing_libraries_are_named(data, monkeypatch, absent, text):
    monkeypatch.setattr(
        "gpproj.reference.mcmc.find_spec", lambda name: None if name in absent else True
    )
    with pytest.raises(ImportError, match=text):
        gpproj.sample(*data)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"draws": 7}, ValueError, "draws must be a whole number of at least 8, got 7"),
        ({"draws": 11, "chains": 3}, ValueError, "draws must be .* at least 12, got 11"),
        ({"draws": 50.0}, ValueError, "draws must be a whole number"),
        ({"draws": True}, ValueError, "draws must be a whole number"),
        ({"tune": 9}, ValueError, "tune must be a whole number of at least 10, got 9"),
        ({"tune": None}, ValueError, "tune must be"),
        ({"chains": 0}, ValueError, "chains must be a whole number of at least 1, got 0"),
        ({"chains": "two"}, ValueError, "chains must be .*'two'"),
        ({"prior": None}, ValueError, "prior must be .*sampling needs one"),
        ({"prior": "strong"}, ValueError, "prior must be .*'strong'"),
        ({"prior": {"noise": LogNormal()}}, ValueError, "prior must name .* saw 'noise'"),
        ({"kernel": "se"}, TypeError, "kernel must be .*'se'"),
        ({"likelihood": "cauchy"}, ValueError, "likelihood"),
        ({"inference": "guess"}, ValueError, "inference must be"),
        ({"nugget": -1.0}, ValueError, "nugget must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
    ],
)
def test_bad_arguments_are_named(data, options, error, text):
    with pytest.raises(error, match=text):
        gpproj.sample(*data, **options)


def flat_posterior(oracle, draws, chains, tune):
    """Log draws under flat priors, `(chains, draws, 4)`, and the figures they should have."""
    content = oracle("hmc_regression")
    case = content["cases"]["F1"]
    flat = LogUniform(np.exp(-30.0), np.exp(30.0))
    ref = quick(
        np.array(content["inputs"]["X"]),
        np.array(case["y"]),
        draws=draws,
        tune=tune,
        chains=chains,
        prior=dict.fromkeys(("signal_variance", "lengthscale", "noise_variance"), flat),
        kernel=SquaredExponential(),
        standardize=False,
        n_jobs=2,
        nugget=0.0,
    )
    posterior = ref.posterior.posterior
    columns = [posterior["signal_variance"], *np.moveaxis(posterior["lengthscale"].values, 2, 0)]
    logs = np.log(np.stack([*columns, posterior["noise_variance"]], axis=-1))
    return logs, case["importance_sampling_numpy"]


def check_posterior(logs, known, width):
    errors = np.hypot(
        [float(np.squeeze(az.mcse(column))) for column in np.moveaxis(logs, 2, 0)],
        known["mcse_mean"],
    )
    away = (logs.mean(axis=(0, 1)) - known["mean"]) / errors
    assert np.abs(away).max() < 4
    np.testing.assert_allclose(logs.std(axis=(0, 1)), known["sd"], rtol=width)


@pytest.mark.slow
def test_a_known_posterior(oracle):
    check_posterior(*flat_posterior(oracle, draws=1500, chains=2, tune=300), width=0.1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_known_posterior_to_more_digits(oracle):
    check_posterior(*flat_posterior(oracle, draws=20000, chains=4, tune=500), width=0.05)


# Median and spread of the logarithm, in absolute units.
TRUTH = {
    "constant_variance": (0.5, 0.5),
    "signal_variance": (1.0, 0.5),
    "lengthscale": (1.0, 0.4),
    "noise_variance": (0.1, 0.4),
}


def from_prior(rng, count):
    medians, spreads = np.array(list(TRUTH.values())).T
    return medians * np.exp(spreads * rng.standard_normal((count, 4)))


def covariances(values, X):
    """Of the targets at each row of values, with the default nugget, `(s, n, n)`."""
    constant, signal, lengthscale, noise = values.T[:, :, None, None]
    K = constant + signal * np.exp(-0.5 * ((X - X.T) / lengthscale) ** 2)
    return K + noise * (1 + 1e-4) * np.eye(len(X))


def simulate(rng, n=20):
    """Data simulated from the prior, and the hyperparameters behind them, `(4,)`."""
    truth, X = from_prior(rng, 1), rng.uniform(-2.0, 2.0, (n, 1))
    root = np.linalg.cholesky(covariances(truth, X)[0])
    return X, root @ rng.standard_normal(n), truth[0]


def simulated_posterior(X, y, **options):
    """Posterior draws under the prior of the simulation, `(s, 4)`."""
    # Priors are relative to the scale of the data; these come out as the ones drawn from.
    units = scales(training_set(X, y, standardize=False))
    unit = {
        "constant_variance": max(units.level, units.spread),
        "signal_variance": units.spread,
        "lengthscale": units.inputs[0],
        "noise_variance": units.spread,
    }
    prior = {name: LogNormal(m / unit[name], s) for name, (m, s) in TRUTH.items()}
    posterior = quick(X, y, prior=prior, standardize=False, **options).posterior.posterior
    return np.stack([np.ravel(posterior[name]) for name in TRUTH], axis=1)


@pytest.mark.slow
def test_a_posterior_under_a_prior_is_that_of_importance_sampling():
    rng = np.random.default_rng(1)
    X, y, _ = simulate(rng)
    values = from_prior(rng, 20000)
    A = covariances(values, X)
    fit = np.linalg.solve(A, np.broadcast_to(y[:, None], (len(A), len(y), 1)))[:, :, 0] @ y
    likelihood = np.exp(-0.5 * (fit + np.linalg.slogdet(A).logabsdet))
    weights, logs = likelihood / likelihood.sum(), np.log(values)
    mean = weights @ logs
    sd = np.sqrt(weights @ (logs - mean) ** 2)
    worth = 1 / np.sum(weights**2)
    assert worth > 500
    found = np.log(simulated_posterior(X, y, draws=800, tune=200))
    # Draws of such a smooth posterior are worth about as much as independent ones.
    error = sd * np.sqrt(1 / 400 + 1 / worth)
    assert np.abs((found.mean(axis=0) - mean) / error).max() < 4
    np.testing.assert_allclose(found.std(axis=0), sd, rtol=0.2)
    prior = np.log(np.array(list(TRUTH.values()))[:, 0])
    assert np.abs((mean - prior) / error).max() > 8


def simulated_ranks(rng, kept=63, thin=4):
    """Rank of each true parameter among posterior draws."""
    X, y, truth = simulate(rng)
    found = simulated_posterior(X, y, draws=kept * thin, tune=200, chains=1, random_state=rng)
    return np.sum(found[::thin] < truth, axis=0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_simulation_based_calibration(capsys):
    """Truths drawn from the prior have uniform ranks among draws from the posterior."""
    rng = np.random.default_rng(0)
    ranks = np.array([simulated_ranks(rng) for _ in range(400)])
    counts = np.stack([np.bincount(column // 8, minlength=8) for column in ranks.T])
    found = dict(zip(TRUTH, stats.chisquare(counts, axis=1).pvalue.round(4), strict=True))
    with capsys.disabled():
        print("\np-values of uniform ranks:", *(f"{name} {p}" for name, p in found.items()))
    assert min(found.values()) > 0.001
